/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depends on the processor in a Linux kernel's memory. Another architecture has to implement
 * this header, search_arch.h, stack_layout.h, orc_tables.h and process/process_arch.h. The code for
 * x86-64 is in *_x86.c.
 */
#ifndef XTOP_LINUX_KERNEL_ARCH_H
#define XTOP_LINUX_KERNEL_ARCH_H

#include "linux/kernel/linux_guest.h"

struct arch_addresses {
	uint64_t user_end;               /* no user address is above */
	uint64_t image_start, image_end; /* the kernel's image lies here, wherever it is moved */
	uint64_t page_offset, vmemmap;   /* where a kernel has these that does not randomise them */
};
extern const struct arch_addresses arch_addresses;

struct arch_name {
	enum linux_symbol symbol;
	const char *name;
};
/* Names that only kernels of this architecture have. If several are found, the last one counts. */
extern const struct arch_name arch_names[];
extern const size_t n_arch_names;

/* Page tables of user mode lack most of the kernel, where page-table isolation is on. */
bool arch_is_user_tables(struct memory_root root);
/* The tables of the same process that have the kernel: ROOT itself without isolation. */
struct memory_root arch_kernel_tables(struct memory_root root);
/*
 * The root of the page tables whose top table the kernel has at ADDRESS, a variable of the kernel
 * or mm_struct.pgd. False: ADDRESS is not mapped; *ROOT is untouched.
 */
bool arch_read_root(const struct linux_guest *linux_guest, uint64_t address,
		    struct memory_root *root);
/* Page tables of the kind that a vCPU with REGS uses, with the top table in FRAME. */
struct memory_root arch_root_at(const struct registers *regs, frame_t frame);
/* Whether both are of one process: with page-table isolation it has two. */
bool arch_is_same_process(struct memory_root a, struct memory_root b);

#endif
