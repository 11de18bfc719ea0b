/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See kept_locks.h. Each line of the forest is about a lock, or about a task and the lock that it
 * waits for. Both are taken with the first line that is about them. All tasks of a circle are taken
 * with its line, which is above all others: so a deadlock is known in the past, too.
 */
#include "config.h"

#include "query/kept_locks.h"

#include <stdlib.h>

#include "xtop/base/cleanup.h"
#include "xtop/query/locks.h"

struct kept_locks {
	const struct snapshot_waits *from;
	struct snapshot_waits *to;
	uint32_t *locks; /* by lock of FROM: lock of TO, counted from 1; 0: not taken */
	bool *tasks;     /* by task of FROM: taken */
};

/* False: there is no room. */
static bool kept_locks_add_lock(struct kept_locks *kept, uint32_t lock)
{
	struct snapshot_waits *to = kept->to;

	if (lock >= kept->from->n_locks || kept->locks[lock])
		return true;
	if (to->n_locks == KEPT_LOCKS_MAX)
		return false;
	to->locks[to->n_locks++] = kept->from->locks[lock];
	kept->locks[lock] = (uint32_t)to->n_locks;
	return true;
}

/* TASK stands for N tasks. */
static bool kept_locks_add_task(struct kept_locks *kept, uint32_t task, uint32_t n)
{
	const struct snapshot_lock_task *from = &kept->from->lock_tasks[task];
	struct snapshot_waits *to = kept->to;

	if (kept->tasks[task])
		return true;
	if (to->n_lock_tasks == KEPT_LOCKS_MAX || !kept_locks_add_lock(kept, from->lock))
		return false;
	to->lock_tasks[to->n_lock_tasks] = *from;
	to->lock_tasks[to->n_lock_tasks].others = n - 1;
	if (from->lock < kept->from->n_locks)
		to->lock_tasks[to->n_lock_tasks].lock = kept->locks[from->lock] - 1;
	to->n_lock_tasks++;
	kept->tasks[task] = true;
	return true;
}

static bool kept_locks_add_circle(struct kept_locks *kept, uint32_t task, uint32_t n)
{
	for (uint32_t i = 0; i < n && task < kept->from->n_lock_tasks; i++) {
		if (!kept_locks_add_task(kept, task, 1))
			return false;
		task = locks_next_in_circle(kept->from, task);
	}
	return true;
}

static bool kept_locks_add_line(struct kept_locks *kept, const struct locks_line *line)
{
	switch (line->kind) {
	case LOCKS_DEADLOCK:
		return kept_locks_add_circle(kept, line->task, line->n);
	case LOCKS_LOCK:
		return kept_locks_add_lock(kept, line->lock);
	case LOCKS_TASK:
	case LOCKS_WAITERS:
		break;
	}
	return kept_locks_add_task(kept, line->task, line->n);
}

static void kept_locks_add(struct kept_locks *kept, const struct locks_forest *forest)
{
	struct snapshot_waits *to = kept->to;
	void *smaller;

	for (size_t i = 0; i < forest->n; i++)
		if (!kept_locks_add_line(kept, &forest->lines[i]))
			break;
	qsort(to->lock_tasks, to->n_lock_tasks, sizeof(*to->lock_tasks),
	      snapshot_compare_lock_tasks);
	smaller = reallocarray(to->locks, to->n_locks + 1, sizeof(*to->locks));
	to->locks = smaller ? smaller : to->locks;
	smaller = reallocarray(to->lock_tasks, to->n_lock_tasks + 1, sizeof(*to->lock_tasks));
	to->lock_tasks = smaller ? smaller : to->lock_tasks;
}

void kept_locks_take(const struct snapshot *from, struct snapshot_waits *to)
{
	_cleanup_free_ uint32_t *locks = calloc(from->waits->n_locks + 1, sizeof(*locks));
	_cleanup_free_ bool *tasks = calloc(from->waits->n_lock_tasks + 1, sizeof(*tasks));
	struct kept_locks kept = { from->waits, to, locks, tasks };
	struct locks_forest forest = { .n = 0 };

	if (!locks || !tasks || !from->waits->n_lock_tasks)
		return;
	error_destroy(locks_build(from, &forest));
	if (forest.n) {
		to->locks = calloc(KEPT_LOCKS_MAX + 1, sizeof(*to->locks));
		to->lock_tasks = calloc(KEPT_LOCKS_MAX + 1, sizeof(*to->lock_tasks));
	}
	if (to->locks && to->lock_tasks)
		kept_locks_add(&kept, &forest);
	locks_deinit(&forest);
}
