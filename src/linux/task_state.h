/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One look at a task of a Linux guest: whether it runs, how it sleeps, and the numbers that tell
 * whether it has run since the look before. The guest runs meanwhile. Resolver's thread.
 *
 * Each time that a task leaves a CPU, the scheduler adds one to its nvcsw or nivcsw. A task that is
 * on no CPU at two looks, with the same sum, has not run in between: its stack is the same.
 */
#ifndef LINUX_TASK_STATE_H
#define LINUX_TASK_STATE_H

#include "linux/kernel/linux_guest.h"
#include "xtop/os/os_waits.h"

#define TASK_STATE_SPAN_BYTES (16U << 10) /* of a task_struct, as in tasks.c */
#define TASK_STATE_MAX_PARTS  12          /* members that a look reads */

/* What a look tells of a task. Two looks that are equal are of the same wait. */
struct task_state {
	uint64_t switches, start_time;
	uint32_t pid, state, exit_state, on_cpu;
};

/* Sums since the task was born. Two looks tell what came between them. 0: not known. */
struct task_state_sums {
	uint64_t sleeps;           /* how often it has left its CPU of its own will */
	uint64_t ran_ns, delay_ns; /* how long it has run, and waited for a CPU */
};

/* On the scheduler's clock; 0: not known. */
struct task_state_times {
	uint64_t arrival; /* on its CPU, last */
	uint64_t queued;  /* waits for a CPU since then */
	uint64_t run_ns;  /* since its arrival */
	struct task_state_sums sums;
};

/* Reads looks. */
struct task_state_reader {
	const struct linux_guest *guest;
	uint32_t span_start; /* where a task_struct has the first of what a look reads */
	/* What is read at a time: members that lie close together. */
	struct {
		uint32_t offset, size_bytes;
	} parts[TASK_STATE_MAX_PARTS];
	unsigned n_parts;
	unsigned char span[TASK_STATE_SPAN_BYTES];
};

/* Whether GUEST's kernel has what a look needs. */
bool task_state_reader_can_read(const struct linux_guest *guest);
/* GUEST outlives the LOOKER, which is zeroed. */
void task_state_reader_init(struct task_state_reader *reader, const struct linux_guest *guest);
/* At the task_struct at TASK, as it is now and not from a copy. False: it cannot be read. */
bool task_state_reader_read(struct task_state_reader *reader, uint64_t task,
			    struct task_state *look, struct task_state_times *times);
/* The same, from a copy of this turn if there is one. */
bool task_state_reader_read_copy(struct task_state_reader *reader, uint64_t task,
				 struct task_state *look, struct task_state_times *times);
/* Addresses in all pages that a look at TASK reads, at most MAX. Returns how many. */
size_t task_state_reader_list_pages(const struct task_state_reader *reader, uint64_t task,
				    uint64_t *addresses, size_t max);

bool task_state_equal(const struct task_state *a, const struct task_state *b);
/* The task has ended. */
bool task_state_is_gone(const struct task_state *look);
enum os_wait_state task_state_state(const struct task_state *look);

#endif
