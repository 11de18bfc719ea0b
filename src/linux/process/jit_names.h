/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of code that a process compiled itself: looks for the process's /tmp/perf-PID.map, and
 * reads it again when it has changed. Resolver's thread.
 */
#ifndef XTOP_PROCESS_JIT_NAMES_H
#define XTOP_PROCESS_JIT_NAMES_H

#include "linux/process/guest_file.h"
#include "linux/process/memory_budget.h"
#include "linux/process/tasks.h"
#include "xtop/symbol/image.h"

/* The names of one process. Zeroed to begin with. */
struct jit_names {
	struct image *image;           /* symbols by the process's addresses; NULL: no names */
	size_t charged_bytes;          /* to the budget */
	struct file_identity identity; /* of the map that was read last */
	uint64_t due_ns, retry_delay_ns;
};

/*
 * What is read of maps, of all processes together: after JIT_NAMES_MAX_BYTES in a second, the other
 * maps wait for the next. The last one may exceed it. Zeroed to begin with.
 */
#define JIT_NAMES_MAX_BYTES (32U << 20)
struct jit_allowance {
	uint64_t since_ns, bytes; /* used since then */
};
/* True: a map of SIZE_BYTES is charged, at the most that is read of one, and may be read. */
bool jit_allowance_charge(struct jit_allowance *allowance, uint64_t size_bytes, uint64_t now_ns);

void jit_names_deinit(struct jit_names *names, struct memory_budget *budget);
/*
 * Looks for new names, if it is time. TASK is a thread of the process. names->image is another
 * image if names were read, and stays if they were not. False: there are new names, but the budget
 * is full.
 */
bool jit_names_poll(struct jit_names *names, const struct linux_guest *linux_guest,
		    struct memory_budget *budget, struct jit_allowance *allowance,
		    const struct task *task, uint64_t now_ns);

#endif
