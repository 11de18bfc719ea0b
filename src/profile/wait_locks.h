/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks that tasks wait for: one row for each lock, with figures since start or reset, and the
 * tasks that waited for locks or held them in the last whole pass. Both are bounded. Resolver's
 * thread.
 *
 *   os_waits_sink.lock() ─► wait_locks_add() ─► wait_locks_end_pass() ─► wait_locks_copy()
 */
#ifndef PROFILE_WAIT_LOCKS_H
#define PROFILE_WAIT_LOCKS_H

#include "xtop/base/limit.h"
#include "xtop/os/os_locks.h"
#include "xtop/profile/snapshot.h"

#define WAIT_LOCKS_MAX       LIMIT(1024, 16)
#define WAIT_LOCKS_MAX_TASKS LIMIT(4096, 32)
#define WAIT_LOCKS_FORGET_NS 600000000000ULL /* a row without waiters may go after this time */

struct wait_locks;

/* What tells one lock from another. */
struct lock_id {
	enum os_lock_kind kind;
	uint64_t address, space; /* SPACE: the address space of user code; 0: the kernel's */
};

/* Where a task is, as frames; FRAME_NONE: not known. */
struct wait_place {
	uint32_t process, thread, site;
	uint32_t n; /* number of FRAMES; 0: not known */
	uint32_t frames[SNAPSHOT_LOCK_FRAMES]; /* the innermost functions, the innermost first */
};

/* HALF_LIFE_NS is the profile's. NULL: out of memory. */
struct wait_locks *wait_locks_create(uint64_t half_life_ns);
void wait_locks_destroy(struct wait_locks *locks); /* NULL allowed */
void wait_locks_reset(struct wait_locks *locks);

/*
 * Adds a waiter and the holder of its lock to the current pass. The wait weighs TICKS. A wait that
 * is over only updates the figures of a lock that is known.
 */
void wait_locks_add(struct wait_locks *locks, const struct os_lock_wait *wait,
		    const struct wait_place *waiter, const struct wait_place *holder,
		    uint64_t now_ns, double ticks);
/*
 * A wait for LOCK is over. It may be the longest one, if the lock is known. OS_LOCK_NONE: the task
 * waited for no lock.
 */
void wait_locks_end(struct wait_locks *locks, const struct lock_id *lock, uint64_t waited_ns);
/* The current pass has seen all tasks. The next wait begins a new pass. */
void wait_locks_end_pass(struct wait_locks *locks, uint64_t now_ns);
/* Fills in the locks of TO. Best effort: without memory the snapshot has none. */
void wait_locks_copy(const struct wait_locks *locks, uint64_t now_ns, struct snapshot_waits *to);

#endif
