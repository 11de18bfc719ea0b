/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What depends on the processor in a Linux kernel's memory. arch.c asks arch_x86.c, arch_arm64.c or
 * arch_arm32.c, by the guest's page tables. Another architecture has to implement this header,
 * search_arch.h, stack_layout.h, orc_tables.h and process/process_arch.h.
 */
#ifndef XTOP_LINUX_KERNEL_ARCH_H
#define XTOP_LINUX_KERNEL_ARCH_H

#include "linux/kernel/linux_guest.h"

#define ARCH_USER_END (1ULL << 56) /* no user address is above: x86-64 with five levels */

struct arch_addresses {
	uint64_t image_start, image_end; /* the kernel's image lies here, wherever it is moved */
	uint64_t near_end;    /* mostly it lies below this */
	uint64_t head_bytes;  /* _text lies at most so far before the first executable page */
	bool has_modules;     /* other code lies there, too, mostly below the image: modules */
	uint64_t page_offset; /* where a kernel has it that does not randomise it */
};
struct arch_addresses arch_get_addresses(struct memory_root root);

/* Bytes of a pointer and of a long in the kernel that has these page tables. */
static inline unsigned arch_word_bytes(struct memory_root root)
{
	return root.width == WIDTH_32 || root.width == WIDTH_32_PAE || root.width == ROOT_ARM32
		       ? 4
		       : 8;
}

struct arch_name {
	enum linux_symbol symbol;
	const char *name;
};
/* Names that only kernels of one architecture have. If several are found, the last one counts. */
extern const struct arch_name arch_names_x86[];
extern const size_t n_arch_names_x86;

/* Page tables of user mode lack most of the kernel, where page-table isolation is on. */
bool arch_is_user_tables(struct memory_root root);
/*
 * The tables that have the kernel if ROOT is of user mode under page-table isolation; else there
 * may be nothing, or ROOT itself.
 */
struct memory_root arch_kernel_tables(struct memory_root root);
/*
 * The kernel's own page tables, which have every kernel address. LINUX_GUEST has symbols, and as
 * its root the tables by which the kernel was found. False: they cannot be found.
 */
bool arch_find_kernel_root(const struct linux_guest *linux_guest, struct memory_root *root);
/*
 * Linux's PAGE_SHIFT: vm_pgoff, the page cache and page frame numbers of the kernel count in such
 * pages. Frames of Xen (frame_t) have 4 KiB, whatever the kernel's pages have.
 */
unsigned arch_page_shift(struct memory_root root);
/* The array of struct page of a kernel without a variable for it. RELEASE: "6.1.0-37-arm64". */
uint64_t arch_find_vmemmap(struct memory_root root, const char *release);
/*
 * The root of the page tables whose top table the kernel has at ADDRESS, mm_struct.pgd. False:
 * ADDRESS is not mapped; *ROOT is untouched.
 */
bool arch_read_root(const struct linux_guest *linux_guest, uint64_t address,
		    struct memory_root *root);
/* Page tables of the kind that a vCPU with REGS uses, with the top table in FRAME. */
struct memory_root arch_root_at(const struct registers *regs, frame_t frame);
/* The size of each task's kernel stack. */
uint32_t arch_stack_bytes(const struct linux_guest *linux_guest);
/*
 * Whether ROOT is of the process whose mm->pgd is OWN. MAY_ISOLATE: the kernel may have page-table
 * isolation, and then the process has two tables, OWN and another one for user mode.
 */
bool arch_is_same_process(struct memory_root own, struct memory_root root, bool may_isolate);

/* --- the same of one architecture ------------------------------------------------------------- */

struct arch_addresses arch_x86_addresses(struct memory_root root);
bool arch_x86_is_user_tables(struct memory_root root);
struct memory_root arch_x86_kernel_tables(struct memory_root root);
bool arch_x86_find_kernel_root(const struct linux_guest *linux_guest, struct memory_root *root);
bool arch_x86_read_root(const struct linux_guest *linux_guest, uint64_t address,
			struct memory_root *root);
struct memory_root arch_x86_root_at(const struct registers *regs, frame_t frame);
bool arch_x86_is_same_process(struct memory_root own, struct memory_root root, bool may_isolate);
uint64_t arch_x86_vmemmap(struct memory_root root);
uint32_t arch_x86_stack_bytes(const struct linux_guest *linux_guest);

struct arch_addresses arch_arm64_addresses(struct memory_root root);
unsigned arch_arm64_page_shift(struct memory_root root);
struct memory_root arch_arm64_kernel_tables(struct memory_root root);
bool arch_arm64_read_root(const struct linux_guest *linux_guest, uint64_t address,
			  struct memory_root *root);
struct memory_root arch_arm64_root_at(const struct registers *regs, frame_t frame);
bool arch_arm64_is_same_process(struct memory_root a, struct memory_root b);
uint64_t arch_arm64_find_vmemmap(struct memory_root root, const char *release);
uint32_t arch_arm64_stack_bytes(const struct linux_guest *linux_guest);

/* Roots are read and made as those of arm64. */
struct arch_addresses arch_arm32_addresses(void);
void arch_arm32_find_kernel_root(const struct linux_guest *linux_guest, struct memory_root *root);
bool arch_arm32_is_same_process(struct memory_root a, struct memory_root b);
uint32_t arch_arm32_stack_bytes(void);

#endif
