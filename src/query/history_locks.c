/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The locks of one moment of a history; see history_locks.h. Each line of the forest is about a
 * lock, or about a task and the lock that it waits for. Both are taken with the first line about
 * them. All tasks of a circle are taken with its line, which is above all others: so a deadlock is
 * known in the past, too.
 */
#include "config.h"

#include "query/history_locks.h"

#include <stdlib.h>

#include "xtop/base/cleanup.h"
#include "xtop/query/locks.h"

struct history_locks {
	const struct snapshot_waits *from;
	struct snapshot_waits *to;
	uint32_t *locks; /* TO's lock of each of FROM's locks, counted from 1; 0: not taken */
	bool *tasks;     /* which of FROM's tasks are taken */
};

/* Adds LOCK. False: there is no room. */
static bool history_locks_add_lock(struct history_locks *copy, uint32_t lock)
{
	struct snapshot_waits *to = copy->to;

	if (lock >= copy->from->n_locks || copy->locks[lock])
		return true;
	if (to->n_locks == HISTORY_LOCKS_MAX)
		return false;
	to->locks[to->n_locks++] = copy->from->locks[lock];
	copy->locks[lock] = (uint32_t)to->n_locks;
	return true;
}

/* Adds TASK, which stands for N tasks. False: there is no room. */
static bool history_locks_add_task(struct history_locks *copy, uint32_t task, uint32_t n)
{
	const struct snapshot_lock_task *from = &copy->from->lock_tasks[task];
	struct snapshot_waits *to = copy->to;

	if (copy->tasks[task])
		return true;
	if (to->n_lock_tasks == HISTORY_LOCKS_MAX || !history_locks_add_lock(copy, from->lock))
		return false;
	to->lock_tasks[to->n_lock_tasks] = *from;
	to->lock_tasks[to->n_lock_tasks].others = n - 1;
	if (from->lock < copy->from->n_locks)
		to->lock_tasks[to->n_lock_tasks].lock = copy->locks[from->lock] - 1;
	to->n_lock_tasks++;
	copy->tasks[task] = true;
	return true;
}

static bool history_locks_add_circle(struct history_locks *copy, uint32_t task, uint32_t n)
{
	for (uint32_t i = 0; i < n && task < copy->from->n_lock_tasks; i++) {
		if (!history_locks_add_task(copy, task, 1))
			return false;
		task = locks_next_in_circle(copy->from, task);
	}
	return true;
}

static bool history_locks_add_line(struct history_locks *copy, const struct locks_line *line)
{
	switch (line->kind) {
	case LOCKS_DEADLOCK:
		return history_locks_add_circle(copy, line->task, line->n);
	case LOCKS_LOCK:
		return history_locks_add_lock(copy, line->lock);
	case LOCKS_TASK:
	case LOCKS_WAITERS:
		break;
	}
	return history_locks_add_task(copy, line->task, line->n);
}

static void history_locks_add(struct history_locks *copy, const struct locks_forest *forest)
{
	struct snapshot_waits *to = copy->to;
	void *smaller;

	for (size_t i = 0; i < forest->n; i++)
		if (!history_locks_add_line(copy, &forest->lines[i]))
			break;
	qsort(to->lock_tasks, to->n_lock_tasks, sizeof(*to->lock_tasks),
	      snapshot_compare_lock_tasks);
	smaller = reallocarray(to->locks, to->n_locks + 1, sizeof(*to->locks));
	to->locks = smaller ? smaller : to->locks;
	smaller = reallocarray(to->lock_tasks, to->n_lock_tasks + 1, sizeof(*to->lock_tasks));
	to->lock_tasks = smaller ? smaller : to->lock_tasks;
}

void history_locks_take(const struct snapshot *from, struct snapshot_waits *to)
{
	_cleanup_free_ uint32_t *locks = calloc(from->waits->n_locks + 1, sizeof(*locks));
	_cleanup_free_ bool *tasks = calloc(from->waits->n_lock_tasks + 1, sizeof(*tasks));
	struct history_locks copy = { from->waits, to, locks, tasks };
	struct locks_forest forest = { .n = 0 };

	if (!locks || !tasks || !from->waits->n_lock_tasks)
		return;
	error_destroy(locks_build(from, &forest));
	if (forest.n) {
		to->locks = calloc(HISTORY_LOCKS_MAX + 1, sizeof(*to->locks));
		to->lock_tasks = calloc(HISTORY_LOCKS_MAX + 1, sizeof(*to->lock_tasks));
	}
	if (to->locks && to->lock_tasks)
		history_locks_add(&copy, &forest);
	locks_deinit(&forest);
}
