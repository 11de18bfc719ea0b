/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is kept of a task of a Linux guest between two looks at it: plain data, written by
 * sleepers.c. Resolver's thread.
 */
#ifndef XTOP_LINUX_SLEEPER_H
#define XTOP_LINUX_SLEEPER_H

#include "linux/lock_finder.h"
#include "linux/task_state.h"

struct sleeper {
	uint32_t pid;
	uint64_t struct_pid, task; /* addresses */
	struct task_state look;
	struct task_state_sums sums; /* of that look */
	uint64_t seen_ns;  /* of that look, on our clock */
	uint64_t began_ns; /* the wait, on our clock; 0: the task ran */
	uint64_t left;     /* the same on the scheduler's clock; 0: not known */
	uint64_t from_ns;  /* it had not begun then, on our clock; 0: no look was before it */
	void *kept;        /* the sink's */
	struct lock_wait lock; /* that it waits for */
	char lock_name[OS_LOCK_NAME_BYTES]; /* raw; "": none, or not told yet */
	bool lock_told; /* to the sink */
};

/* The tasks of a pass, ascending by pid. */
struct sleeper_list {
	struct sleeper *list;
	size_t n, capacity;
};

#endif
