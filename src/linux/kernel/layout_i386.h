/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What names a task in a kernel of i386 without BTF. Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_LAYOUT_I386_H
#define XTOP_LINUX_KERNEL_LAYOUT_I386_H

#include "linux/kernel/linux_guest.h"

#define I386_STACK_BYTES 8192 /* THREAD_SIZE (Linux arch/x86/include/asm/page_32_types.h) */

/*
 * The running task of CPU 0; 0: not known. GUEST has its root, LINUX_CURRENT_TASK and
 * LINUX_PER_CPU_OFFSET.
 */
uint64_t layout_i386_read_current(const struct linux_guest *guest);
/*
 * Sets TASK_COMM, TASK_PID, TASK_TGID, TASK_GROUP_LEADER, TASK_STACK, TASK_FLAGS and
 * IRQ_STACK_SIZEOF of LAYOUT. False: they are not found; *LAYOUT is untouched.
 */
bool layout_i386_find(const struct linux_guest *guest, struct layout *layout);

#endif
