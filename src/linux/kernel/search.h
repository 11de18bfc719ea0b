/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the data for which a kernel without CONFIG_KALLSYMS_ALL has no symbols. */
#ifndef XTOP_LINUX_KERNEL_SEARCH_H
#define XTOP_LINUX_KERNEL_SEARCH_H

#include "linux/kernel/linux_guest.h"

/*
 * Fills in those of GUEST's symbols[] that are 0 and can be found: LINUX_END, LINUX_BANNER,
 * LINUX_PAGE_TABLES, LINUX_NOTES_*, LINUX_BTF_*, LINUX_ORC_*, LINUX_CURRENT_TASK,
 * LINUX_TOP_OF_STACK, LINUX_HARDIRQ_STACK, LINUX_PAGE_OFFSET, LINUX_VMEMMAP, LINUX_MODULES,
 * LINUX_BPF_KALLSYMS. On arm64 also LINUX_PER_CPU_OFFSET, LINUX_RUNSTATE and LINUX_ENTRY_TASK, on
 * i386 LINUX_PER_CPU_OFFSET, on 32-bit Arm LINUX_PER_CPU_OFFSET and LINUX_EXIDX_*.
 *
 * Precondition: GUEST has LINUX_TEXT. The symbols of this list from LINUX_CURRENT_TASK on, except
 * LINUX_EXIDX_*, are found only if GUEST has the functions from LINUX_FIRST_FUNCTION on.
 * GUEST->root is the root of a vCPU. RANGES are the N ranges of the image, ascending. All ranges
 * except the text are read, at most 64 MiB.
 */
void search_symbols(struct linux_guest *guest, const struct memory_range *ranges, size_t n);

#endif
