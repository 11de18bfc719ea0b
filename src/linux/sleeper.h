/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is kept of a task of a Linux guest between two looks at it. Plain data, written by
 * sleepers.c. Resolver's thread.
 */
#ifndef XTOP_LINUX_SLEEPER_H
#define XTOP_LINUX_SLEEPER_H

#include "linux/lock_task.h"
#include "linux/task_state.h"

struct sleeper {
	uint32_t pid;
	uint64_t struct_pid, task; /* addresses */
	struct task_state state;
	struct task_state_sums sums; /* sums at the last look */
	uint64_t seen_ns;            /* time of the last look, on our clock */
	uint64_t began_ns;           /* time when the wait began, on our clock; 0 if the task ran */
	uint64_t left; /* time when the task left its CPU, on the scheduler's clock; 0 if unknown */
	/* time of an earlier look, on our clock, before the wait began; 0 if there was none */
	uint64_t from_ns;
	void *kept;            /* the sink's data */
	struct lock_wait lock; /* lock that the task waits for */
	/* raw name of the lock; "" if there is none, or if it is not determined yet */
	char lock_name[OS_LOCK_NAME_BYTES];
	bool lock_reported; /* the lock was reported to the sink */
};

/* The tasks of a pass, ascending by pid. */
struct sleeper_list {
	struct sleeper *list;
	size_t n, capacity;
};

#endif
