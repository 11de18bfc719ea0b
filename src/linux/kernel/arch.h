/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties of a Linux kernel's memory that depend on the processor. arch.c calls arch_x86.c,
 * arch_arm64.c or arch_arm32.c, by the guest's page tables. Another architecture has to implement
 * this header, search_arch.h, stack_layout.h, orc_tables.h and process/process_arch.h.
 */
#ifndef XTOP_LINUX_KERNEL_ARCH_H
#define XTOP_LINUX_KERNEL_ARCH_H

#include "linux/kernel/linux_guest.h"

#define ARCH_USER_END (1ULL << 56) /* end of all user addresses: x86-64 with five levels */

struct arch_addresses {
	/* range in which the kernel's image lies, even if it was moved */
	uint64_t image_start, image_end;
	uint64_t near_end;    /* most guests have their image below this address */
	uint64_t head_bytes;  /* most bytes between _text and the first executable page */
	bool has_modules;     /* the range has other code, too: modules, mostly below the image */
	uint64_t page_offset; /* address of the direct map in a kernel that does not randomise it */
};
struct arch_addresses arch_get_addresses(struct memory_root root);

/* Size of a pointer and of a long in the kernel with the page tables ROOT. */
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
/* Names of symbols that are needed on x86 only. If a symbol has several names, the last counts. */
extern const struct arch_name arch_names_x86[];
extern const size_t n_arch_names_x86;

/*
 * Whether ROOT belongs to user mode under page-table isolation: then it lacks most of the kernel.
 */
bool arch_is_user_tables(struct memory_root root);
/*
 * The kernel's tables, if ROOT belongs to user mode under page-table isolation. Otherwise the
 * result may be ROOT itself, or may be no table.
 */
struct memory_root arch_kernel_tables(struct memory_root root);
/*
 * Finds the kernel's own page tables, which have every kernel address. GUEST has symbols, and
 * its root are the tables under which the kernel was found. Returns false if they cannot be found.
 */
bool arch_find_kernel_root(const struct linux_guest *guest, struct memory_root *root);
/*
 * Linux's PAGE_SHIFT. The unit of vm_pgoff, the page cache and the kernel's page frame numbers is a
 * page of that size. Frames of Xen (frame_t) have 4 KiB, whatever the kernel's page size is.
 */
unsigned arch_page_shift(struct memory_root root);
/*
 * Address of the array of struct page in a kernel that has no variable for it. RELEASE is
 * "6.1.0-37-arm64".
 */
uint64_t arch_find_vmemmap(struct memory_root root, const char *release);
/*
 * Reads the root of the page tables whose top table is at kernel ADDRESS (mm_struct.pgd). Returns
 * false and leaves *ROOT untouched if ADDRESS is not mapped.
 */
bool arch_read_root(const struct linux_guest *guest, uint64_t address, struct memory_root *root);
/* Size of a task's kernel stack. */
uint32_t arch_stack_bytes(const struct linux_guest *guest);
/*
 * Whether ROOT belongs to the process whose mm->pgd is OWN. If MAY_ISOLATE, the kernel may have
 * page-table isolation: the process then has two tables, OWN and another one for user mode.
 */
bool arch_is_same_process(struct memory_root own, struct memory_root root, bool may_isolate);

/* --- implementations for each architecture ---------------------------------------------------- */

struct arch_addresses arch_x86_addresses(struct memory_root root);
bool arch_x86_is_user_tables(struct memory_root root);
struct memory_root arch_x86_kernel_tables(struct memory_root root);
bool arch_x86_find_kernel_root(const struct linux_guest *guest, struct memory_root *root);
bool arch_x86_read_root(const struct linux_guest *guest, uint64_t address,
			struct memory_root *root);
bool arch_x86_is_same_process(struct memory_root own, struct memory_root root, bool may_isolate);
uint64_t arch_x86_vmemmap(struct memory_root root);
uint32_t arch_x86_stack_bytes(const struct linux_guest *guest);

struct arch_addresses arch_arm64_addresses(struct memory_root root);
unsigned arch_arm64_page_shift(struct memory_root root);
struct memory_root arch_arm64_kernel_tables(struct memory_root root);
bool arch_arm64_read_root(const struct linux_guest *guest, uint64_t address,
			  struct memory_root *root);
bool arch_arm64_is_same_process(struct memory_root a, struct memory_root b);
uint64_t arch_arm64_find_vmemmap(struct memory_root root, const char *release);
uint32_t arch_arm64_stack_bytes(const struct linux_guest *guest);

/* Roots of 32-bit Arm are read by arch_arm64_read_root(). */
struct arch_addresses arch_arm32_addresses(void);
void arch_arm32_find_kernel_root(const struct linux_guest *guest, struct memory_root *root);
bool arch_arm32_is_same_process(struct memory_root a, struct memory_root b);
uint32_t arch_arm32_stack_bytes(void);

#endif
