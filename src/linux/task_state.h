/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a task of a Linux guest at one moment: whether it runs, how it sleeps, and numbers
 * that tell whether it has run since an earlier reading. The guest runs meanwhile. Resolver's
 * thread.
 *
 * Each time that a task leaves a CPU, the scheduler adds one to its nvcsw or nivcsw. A task that is
 * on no CPU at two readings, with the same sum, has not run in between: its stack is unchanged.
 */
#ifndef LINUX_TASK_STATE_H
#define LINUX_TASK_STATE_H

#include "linux/kernel/linux_guest.h"
#include "xtop/os/os_waits.h"

/* most bytes of a task_struct that are read, as in tasks.c */
#define TASK_STATE_SPAN_BYTES (16U << 10)
#define TASK_STATE_MAX_PARTS  12 /* members of a task_struct that are read */

/* Scheduling state of a task. Two equal states belong to the same wait. */
struct task_state {
	uint64_t switches, start_time;
	uint32_t pid, state, exit_state, on_cpu;
};

/* Sums since the task was born. 0 if unknown. */
struct task_state_sums {
	uint64_t sleeps;           /* how often the task has left its CPU of its own will */
	uint64_t ran_ns, delay_ns; /* how long the task has run, and has waited for a CPU */
};

/* Times on the scheduler's clock; 0 if unknown. */
struct task_state_times {
	uint64_t arrival; /* time when the task last got its CPU */
	uint64_t queued;  /* start of the wait for a CPU */
	uint64_t run_ns;  /* how long the task has run since its arrival */
	struct task_state_sums sums;
};

/* Reads the states of tasks. */
struct task_state_reader {
	const struct linux_guest *guest;
	uint32_t span_start; /* offset of the first member that is read in a task_struct */
	/* Groups of members that lie close together. Each group is read at once. */
	struct {
		uint32_t offset, size_bytes;
	} parts[TASK_STATE_MAX_PARTS];
	unsigned n_parts;
	unsigned char span[TASK_STATE_SPAN_BYTES];
};

/* Whether the layout of GUEST's kernel is known well enough. */
bool task_state_reader_can_read(const struct linux_guest *guest);
/* READER is zeroed. GUEST outlives it. */
void task_state_reader_init(struct task_state_reader *reader, const struct linux_guest *guest);
/*
 * Reads the state of the task_struct at TASK from guest memory, not from a copy. Returns false if
 * it cannot be read.
 */
bool task_state_reader_read(struct task_state_reader *reader, uint64_t task,
			    struct task_state *state, struct task_state_times *times);
/*
 * Reads the state of the task_struct at TASK from this turn's copy of guest memory, if there is
 * one.
 */
bool task_state_reader_read_copy(struct task_state_reader *reader, uint64_t task,
				 struct task_state *state, struct task_state_times *times);
/* The addresses of all pages that reading TASK's state needs, at most MAX. Returns how many. */
size_t task_state_reader_list_pages(const struct task_state_reader *reader, uint64_t task,
				    uint64_t *addresses, size_t max);

bool task_state_equal(const struct task_state *a, const struct task_state *b);
/* The task has ended. */
bool task_state_is_gone(const struct task_state *state);
enum os_wait_state task_state_wait_state(const struct task_state *state);

#endif
