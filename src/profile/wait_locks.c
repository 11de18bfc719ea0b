/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of locks; see wait_locks.h.
 *
 * Tasks are added to the current pass. When that pass is whole, it replaces the pass before, so a
 * snapshot never has half a pass. Then the holders that do not wait for a lock themselves are added
 * to the waiters: each once, however many locks it holds.
 */
#include "config.h"

#include "profile/wait_locks.h"

#include <stdlib.h>
#include <string.h>

#include "profile/decay.h"
#include "xtop/base/hash.h"
#include "xtop/base/text.h"

struct lock_row {
	struct snapshot_lock lock; /* `now` and the holder are the last whole pass's */
	uint64_t seen_ns;          /* time of the lock's last waiter; time of live_ticks */
	/* These members tell what the current pass has seen so far. */
	uint32_t now, holder_pid;
	uint8_t certainty;
};

struct wait_locks {
	uint64_t half_life_ns;
	struct hash_table index;
	struct lock_row *rows;  /* an array of WAIT_LOCKS_MAX */
	uint32_t n_rows;
	uint64_t refused;       /* number of waits for which there was no room */
	/* Arrays of WAIT_LOCKS_MAX_TASKS. WHOLE has the tasks of the last whole pass. */
	struct snapshot_lock_task *tasks, *holders, *whole;
	uint32_t n_tasks, n_holders, n_whole;
};

struct wait_locks *wait_locks_create(uint64_t half_life_ns)
{
	struct wait_locks *locks = calloc(1, sizeof(*locks));

	if (!locks)
		return NULL;
	locks->half_life_ns = half_life_ns;
	locks->rows = calloc(WAIT_LOCKS_MAX, sizeof(*locks->rows));
	locks->tasks = calloc(WAIT_LOCKS_MAX_TASKS, sizeof(*locks->tasks));
	locks->holders = calloc(WAIT_LOCKS_MAX_TASKS, sizeof(*locks->holders));
	locks->whole = calloc(WAIT_LOCKS_MAX_TASKS, sizeof(*locks->whole));
	if (locks->rows && locks->tasks && locks->holders && locks->whole)
		return locks;
	wait_locks_destroy(locks);
	return NULL;
}

void wait_locks_destroy(struct wait_locks *locks)
{
	if (!locks)
		return;
	hash_table_deinit(&locks->index);
	free(locks->rows);
	free(locks->tasks);
	free(locks->holders);
	free(locks->whole);
	free(locks);
}

void wait_locks_reset(struct wait_locks *locks)
{
	hash_table_deinit(&locks->index);
	locks->n_rows = locks->n_tasks = locks->n_holders = locks->n_whole = 0;
	locks->refused = 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

static uint64_t wait_locks_hash(uint64_t address, uint64_t space)
{
	return hash_word(hash_word(0, address), space);
}

struct lock_key {
	const struct wait_locks *locks;
	const struct lock_id *id;
};

static bool wait_locks_is_row(const void *context, uint32_t number)
{
	const struct lock_key *key = context;
	const struct snapshot_lock *lock = &key->locks->rows[number].lock;

	return lock->address == key->id->address && lock->space == key->id->space &&
	       lock->kind == key->id->kind;
}

/* HASH_NONE: there is none. */
static uint32_t wait_locks_find(const struct wait_locks *locks, const struct lock_id *id)
{
	const struct lock_key key = { locks, id };

	return hash_table_find(&locks->index, wait_locks_hash(id->address, id->space),
			       wait_locks_is_row, &key);
}

/*
 * The row of the lock that WAIT is for. SNAPSHOT_NO_LOCK: there is no room, or the lock is not
 * known and the wait is over.
 */
static uint32_t wait_locks_find_or_add(struct wait_locks *locks, const struct os_lock_wait *wait)
{
	const struct lock_id id = { wait->kind, wait->address, wait->space };
	uint32_t row = wait_locks_find(locks, &id);
	struct snapshot_lock *lock;

	if (row != HASH_NONE)
		return row;
	if (wait->is_over || locks->n_rows == WAIT_LOCKS_MAX ||
	    !hash_table_add(&locks->index, wait_locks_hash(id.address, id.space), locks->n_rows))
		return SNAPSHOT_NO_LOCK;
	locks->rows[locks->n_rows] = (struct lock_row){ 0 };
	lock = &locks->rows[locks->n_rows].lock;
	lock->kind = (uint8_t)wait->kind;
	lock->address = wait->address;
	lock->space = wait->space;
	text_clean(lock->name, sizeof(lock->name), wait->name, sizeof(wait->name));
	return locks->n_rows++;
}

static double wait_locks_decay(const struct wait_locks *locks, const struct lock_row *row,
			       uint64_t now_ns)
{
	return decay_between(row->seen_ns, now_ns, locks->half_life_ns);
}

static void wait_locks_update_row(struct wait_locks *locks, struct lock_row *row,
				  const struct os_lock_wait *wait, uint64_t now_ns, double ticks)
{
	struct snapshot_lock *lock = &row->lock;

	lock->live_ticks = lock->live_ticks * wait_locks_decay(locks, row, now_ns) + ticks;
	lock->ticks += ticks;
	row->seen_ns = now_ns;
	lock->waits += wait->is_new;
	if (wait->waiter.waited_ns > lock->longest_ns)
		lock->longest_ns = wait->waiter.waited_ns;
	if (wait->is_over)
		return;
	row->now++;
	row->certainty = (uint8_t)wait->certainty;
	row->holder_pid = wait->holder.pid;
}

/* --- a pass ----------------------------------------------------------------------------------- */

static struct snapshot_lock_task lock_task_of(const struct os_lock_task *task,
					      const struct wait_place *place, uint32_t lock)
{
	struct snapshot_lock_task told = { .pid = task->pid,
					   .process = place->process,
					   .thread = place->thread,
					   .site = place->site,
					   .lock = lock,
					   .cpu = task->cpu,
					   .on_cpu = task->on_cpu,
					   .state = task->state,
					   .waited_ns = task->waited_ns,
					   .address = task->address,
					   .n_frames = place->n };

	memcpy(told.frames, place->frames, place->n * sizeof(place->frames[0]));
	return told;
}

void wait_locks_add(struct wait_locks *locks, const struct os_lock_wait *wait,
		    const struct wait_place *waiter, const struct wait_place *holder,
		    uint64_t now_ns, double ticks)
{
	struct snapshot_lock_task *task;
	uint32_t row;

	row = locks->n_tasks == WAIT_LOCKS_MAX_TASKS ? SNAPSHOT_NO_LOCK
						     : wait_locks_find_or_add(locks, wait);
	if (row == SNAPSHOT_NO_LOCK) {
		locks->refused += !wait->is_over;
		return;
	}
	wait_locks_update_row(locks, &locks->rows[row], wait, now_ns, ticks);
	if (wait->is_over)
		return;
	task = &locks->tasks[locks->n_tasks++];
	*task = lock_task_of(&wait->waiter, waiter, row);
	task->holder_pid = wait->holder.pid;
	task->certainty = (uint8_t)wait->certainty;
	if (!wait->holder.pid || locks->n_holders == WAIT_LOCKS_MAX_TASKS)
		return;
	locks->holders[locks->n_holders++] =
		lock_task_of(&wait->holder, holder, SNAPSHOT_NO_LOCK);
}

void wait_locks_end(struct wait_locks *locks, const struct lock_id *lock, uint64_t waited_ns)
{
	uint32_t row = lock->kind == OS_LOCK_NONE ? HASH_NONE : wait_locks_find(locks, lock);

	if (row != HASH_NONE && waited_ns > locks->rows[row].lock.longest_ns)
		locks->rows[row].lock.longest_ns = waited_ns;
}

/* Sorts the tasks of the pass by pid, and adds the holders that do not wait. */
static void wait_locks_add_holders(struct wait_locks *locks)
{
	uint32_t n = locks->n_tasks;

	qsort(locks->tasks, n, sizeof(*locks->tasks), snapshot_compare_lock_tasks);
	qsort(locks->holders, locks->n_holders, sizeof(*locks->holders),
	      snapshot_compare_lock_tasks);
	for (uint32_t i = 0; i < locks->n_holders && locks->n_tasks < WAIT_LOCKS_MAX_TASKS; i++) {
		const struct snapshot_lock_task *holder = &locks->holders[i];

		if ((i && holder->pid == holder[-1].pid) ||
		    bsearch(holder, locks->tasks, n, sizeof(*holder),
			    snapshot_compare_lock_tasks))
			continue;
		locks->tasks[locks->n_tasks++] = *holder;
	}
	qsort(locks->tasks, locks->n_tasks, sizeof(*locks->tasks), snapshot_compare_lock_tasks);
}

/* When the table is nearly full, forgets locks that nobody has waited for lately. */
static void wait_locks_drop_old(struct wait_locks *locks, uint64_t now_ns)
{
	uint32_t n = 0;

	if (locks->n_rows < WAIT_LOCKS_MAX / 4 * 3)
		return;
	hash_table_deinit(&locks->index);
	for (uint32_t i = 0; i < locks->n_rows; i++) {
		const struct lock_row *row = &locks->rows[i];

		if (!row->lock.now && now_ns - row->seen_ns > WAIT_LOCKS_FORGET_NS)
			continue;
		for (uint32_t task = 0; n != i && task < locks->n_whole; task++)
			if (locks->whole[task].lock == i)
				locks->whole[task].lock = n;
		locks->rows[n] = *row;
		hash_table_add(&locks->index, wait_locks_hash(row->lock.address, row->lock.space),
			       n);
		n++;
	}
	locks->n_rows = n;
}

void wait_locks_end_pass(struct wait_locks *locks, uint64_t now_ns)
{
	struct snapshot_lock_task *whole = locks->whole;

	for (uint32_t i = 0; i < locks->n_rows; i++) {
		struct lock_row *row = &locks->rows[i];

		row->lock.now = row->now;
		row->lock.certainty = row->certainty;
		row->lock.holder_pid = row->holder_pid;
		row->now = row->holder_pid = row->certainty = 0;
	}
	wait_locks_add_holders(locks);
	locks->whole = locks->tasks;
	locks->n_whole = locks->n_tasks;
	locks->tasks = whole;
	locks->n_tasks = locks->n_holders = 0;
	wait_locks_drop_old(locks, now_ns);
}

/* --- snapshots -------------------------------------------------------------------------------- */

void wait_locks_copy(const struct wait_locks *locks, uint64_t now_ns, struct snapshot_waits *to)
{
	to->locks_refused = locks->refused;
	if (!locks->n_rows)
		return;
	to->locks = calloc(locks->n_rows, sizeof(*to->locks));
	to->lock_tasks = calloc(locks->n_whole ? locks->n_whole : 1, sizeof(*to->lock_tasks));
	if (!to->locks || !to->lock_tasks)
		return;
	for (uint32_t i = 0; i < locks->n_rows; i++) {
		to->locks[i] = locks->rows[i].lock;
		to->locks[i].live_ticks *= wait_locks_decay(locks, &locks->rows[i], now_ns);
	}
	to->n_locks = locks->n_rows;
	memcpy(to->lock_tasks, locks->whole, locks->n_whole * sizeof(*to->lock_tasks));
	to->n_lock_tasks = locks->n_whole;
}
