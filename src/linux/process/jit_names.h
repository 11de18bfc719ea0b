/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that a process compiled itself. Searches for the process's /tmp/perf-PID.map, and
 * reads it again when it has changed. Resolver's thread.
 */
#ifndef XTOP_PROCESS_JIT_NAMES_H
#define XTOP_PROCESS_JIT_NAMES_H

#include "linux/process/guest_file.h"
#include "linux/process/memory_budget.h"
#include "linux/process/tasks.h"
#include "xtop/symbol/image.h"

/* Names of one process. Zeroed at first. */
struct jit_names {
	struct image *image;  /* symbols at addresses of the process; NULL if there are no names */
	size_t charged_bytes; /* memory charged to the budget */
	struct file_identity identity; /* identity of the map that was last read */
	uint64_t due_ns, retry_delay_ns;
};

/*
 * Limits the reading of maps of all processes together: after JIT_NAMES_MAX_BYTES in a second, the
 * other maps wait for the next second. The last map may exceed the limit. Zeroed at first.
 */
#define JIT_NAMES_MAX_BYTES (32U << 20)
struct jit_allowance {
	uint64_t since_ns, bytes; /* start of the second, and bytes used since */
};
/* Charges a map of SIZE_BYTES, but at most the limit for one map. Returns false if it must wait. */
bool jit_allowance_charge(struct jit_allowance *allowance, uint64_t size_bytes, uint64_t now_ns);

void jit_names_deinit(struct jit_names *names, struct memory_budget *budget);
/*
 * Looks for new names, if it is time. TASK is a thread of the process. If names were read,
 * names->image is another image. Returns false if there are new names but the budget is full.
 */
bool jit_names_poll(struct jit_names *names, const struct linux_guest *guest,
		    struct memory_budget *budget, struct jit_allowance *allowance,
		    const struct task *task, uint64_t now_ns);

#endif
