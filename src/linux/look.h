/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One look at a task of a Linux guest: whether it runs, how it sleeps, and the numbers that tell
 * whether it has run since the look before. The guest runs meanwhile. Resolver's thread.
 *
 * Each time that a task leaves a CPU, the scheduler adds one to its nvcsw or nivcsw. A task that is
 * on no CPU at two looks, with the same sum, has not run in between: its stack is the same.
 */
#ifndef XTOP_LINUX_LOOK_H
#define XTOP_LINUX_LOOK_H

#include "linux/kernel/linux_guest.h"
#include "xtop/os/os_waits.h"

#define LOOK_SPAN_BYTES (16U << 10) /* of a task_struct, as in tasks.c */
#define LOOK_MAX_PARTS  12          /* members that a look reads */

/* What a look tells of a task. Two looks that are equal are of the same wait. */
struct look {
	uint64_t switches, start_time;
	uint32_t pid, state, exit_state, on_cpu;
};

/* Sums since the task was born. Two looks tell what came between them. 0: not known. */
struct look_sums {
	uint64_t sleeps; /* how often it has left its CPU of its own will */
	uint64_t ran_ns, delay_ns; /* how long it has run, and waited for a CPU */
};

/* On the scheduler's clock; 0: not known. */
struct look_times {
	uint64_t arrival; /* on its CPU, last */
	uint64_t queued;  /* waits for a CPU since then */
	uint64_t run_ns;  /* since its arrival */
	struct look_sums sums;
};

/* Reads looks. */
struct looker {
	const struct linux_guest *guest;
	uint32_t span_start; /* where a task_struct has the first of what a look reads */
	struct {
		uint32_t offset, size_bytes;
	} parts[LOOK_MAX_PARTS]; /* what of it is read at a time: members that lie close together */
	unsigned n_parts;
	unsigned char span[LOOK_SPAN_BYTES];
};

/* Whether GUEST's kernel has what a look needs. */
bool looker_can_read(const struct linux_guest *guest);
/* GUEST outlives the LOOKER, which is zeroed. */
void looker_init(struct looker *looker, const struct linux_guest *guest);
/* At the task_struct at TASK, as it is now and not from a copy. False: it cannot be read. */
bool looker_read(struct looker *looker, uint64_t task, struct look *look,
		 struct look_times *times);
/* The same, from a copy of this turn if there is one. */
bool looker_read_copy(struct looker *looker, uint64_t task, struct look *look,
		      struct look_times *times);
/* Addresses in all pages that a look at TASK reads, at most MAX. Returns how many. */
size_t looker_list_pages(const struct looker *looker, uint64_t task, uint64_t *addresses,
			 size_t max);

bool look_equal(const struct look *a, const struct look *b);
/* The task has ended. */
bool look_is_gone(const struct look *look);
enum os_wait_state look_state(const struct look *look);

#endif
