/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds the locks that tasks wait for: a forest, built from a snapshot of waits, as lines from
 * top to bottom. Functions of their arguments alone; any thread.
 *
 *   DEADLOCK  tasks that wait for each other in a circle; one line for each circle
 *   TASK      a task that holds locks: at depth 0, or below the lock that it waits for itself
 *   LOCK      below the task that holds it; at depth 0 if no task is known to hold it
 *   WAITERS   below the lock: tasks with the same process, thread name and function
 */
#ifndef XTOP_LOCKS_H
#define XTOP_LOCKS_H

#include "xtop/profile/snapshot.h"

#define LOCKS_MAX_DEPTH 24

enum locks_line_kind { LOCKS_DEADLOCK, LOCKS_TASK, LOCKS_LOCK, LOCKS_WAITERS };

struct locks_line {
	enum locks_line_kind kind;
	unsigned depth;
	uint32_t lock; /* the lock that a task waits for, or SNAPSHOT_NO_LOCK */
	uint32_t task; /* DEADLOCK: any task of the circle; WAITERS: the one that waits longest */
	uint32_t n;    /* DEADLOCK, WAITERS: how many tasks; otherwise 1 */
};

struct locks_forest {
	size_t n;
	struct locks_line *lines;
	uint32_t waiters, locks; /* their numbers in the last whole pass */
	uint32_t deadlocks;
};

/* Error: out of memory. */
struct xtop_error *locks_build(const struct snapshot *snapshot, struct locks_forest *forest);
void locks_deinit(struct locks_forest *forest);

/*
 * TASK is the number of a task that waits for a lock. Returns the number of the task that holds the
 * lock, by the newest look at it. UINT32_MAX: no holder is known, or only a last known reader, who
 * may have left.
 */
uint32_t locks_next_in_circle(const struct snapshot_waits *waits, uint32_t task);

/* The texts of a line. All are clean. */
#define LOCKS_TEXT_BYTES 512
/* A lock, and how sure its holder is: "rwsem i_rwsem of access.log (the last known reader)". */
void locks_name(const struct snapshot *snapshot, const struct locks_line *line,
		char text[LOCKS_TEXT_BYTES]);
/*
 * A clean text for a task: "httpd: worker 4711 sleeps in do_nanosleep for 3.1 s". A circle: "a 12
 * waits for mutex 0x1, held by b 13; b 13 waits for mutex 0x2, held by a 12".
 */
void locks_describe(const struct snapshot *snapshot, const struct locks_line *line,
		    char text[LOCKS_TEXT_BYTES]);
/* The mean number of tasks that wait for the lock of LINE. */
double locks_mean(const struct snapshot *snapshot, const struct locks_line *line, bool totals);

extern const char *const locks_kind_names[N_OS_LOCK_KINDS];

#endif
