/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The members that name a task in a kernel of 32 bits without BTF. Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_LAYOUT_32_H
#define XTOP_LINUX_KERNEL_LAYOUT_32_H

#include "linux/kernel/linux_guest.h"

/* THREAD_SIZE (Linux arch/x86/include/asm/page_32_types.h, arch/arm/include/asm/thread_info.h) */
#define STACK_32_BYTES 8192

/*
 * The running task of CPU 0; 0 if unknown. Precondition: GUEST has its root, LINUX_CURRENT_TASK and
 * LINUX_PER_CPU_OFFSET.
 */
uint64_t layout_32_read_current(const struct linux_guest *guest);
/*
 * Sets TASK_COMM, TASK_PID, TASK_TGID, TASK_GROUP_LEADER, TASK_STACK, TASK_FLAGS and
 * IRQ_STACK_SIZEOF of LAYOUT. Returns false and leaves *LAYOUT untouched if one is not found.
 */
bool layout_32_find(const struct linux_guest *guest, struct layout *layout);

/* --- reading of code: layout_i386.c, layout_arm32.c ------------------------------------------- */

#define LAYOUT_32_CODE_BYTES 256   /* bytes of dump_stack_print_info() that are read */
#define LAYOUT_32_TASK_BYTES 32768 /* upper limit for the size of a task_struct */

/* Offsets of two members of task_struct. */
struct layout_32_names {
	uint32_t comm, pid;
};
/*
 * Finds the members of the running task that dump_stack_print_info() prints: "PID: %d Comm: %.20s".
 * Returns false if name or pid is not found.
 */
bool layout_i386_read_code(const struct linux_guest *guest, struct layout_32_names *names);
bool layout_arm32_read_code(const struct linux_guest *guest, struct layout_32_names *names);

static inline bool layout_32_are_names(const struct layout_32_names *names)
{
	return names->comm && names->pid && names->comm < LAYOUT_32_TASK_BYTES &&
	       names->pid < LAYOUT_32_TASK_BYTES && names->pid % sizeof(uint32_t) == 0;
}

#endif
