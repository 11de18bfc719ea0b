/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses arch_x86.c, arch_arm64.c or arch_arm32.c by the guest's page tables; see arch.h. Any
 * thread.
 */
#include "config.h"

#include "linux/kernel/arch.h"

struct arch_addresses arch_get_addresses(struct memory_root root)
{
	if (root.width == ROOT_ARM32)
		return arch_arm32_addresses();
	return root.width == ROOT_ARM64 ? arch_arm64_addresses(root) : arch_x86_addresses(root);
}

/* The tables of an arm64 vCPU do not show whether they belong to user mode. */
bool arch_is_user_tables(struct memory_root root)
{
	return !root_is_arm(root) && arch_x86_is_user_tables(root);
}

/* A kernel of 32-bit Arm has no page-table isolation. */
struct memory_root arch_kernel_tables(struct memory_root root)
{
	if (root.width == ROOT_ARM32)
		return root;
	return root.width == ROOT_ARM64 ? arch_arm64_kernel_tables(root)
					: arch_x86_kernel_tables(root);
}

/* On arm64 the tables of the upper half are the kernel's own: the kernel was found through them. */
bool arch_find_kernel_root(const struct linux_guest *guest, struct memory_root *root)
{
	if (!root_is_arm(guest->root))
		return arch_x86_find_kernel_root(guest, root);
	if (guest->root.width == ROOT_ARM32)
		arch_arm32_find_kernel_root(guest, root);
	else
		*root = guest->root;
	return true;
}

unsigned arch_page_shift(struct memory_root root)
{
	return root.width == ROOT_ARM64 ? arch_arm64_page_shift(root) : GUEST_PAGE_SHIFT;
}

/* Kernels of 32 bits have the array at any address. */
uint64_t arch_find_vmemmap(struct memory_root root, const char *release)
{
	if (root.width == ROOT_ARM32)
		return 0;
	return root.width == ROOT_ARM64 ? arch_arm64_find_vmemmap(root, release)
					: arch_x86_vmemmap(root);
}

bool arch_read_root(const struct linux_guest *guest, uint64_t address, struct memory_root *root)
{
	return root_is_arm(guest->root) ? arch_arm64_read_root(guest, address, root)
					: arch_x86_read_root(guest, address, root);
}

uint32_t arch_stack_bytes(const struct linux_guest *guest)
{
	if (guest->root.width == ROOT_ARM32)
		return arch_arm32_stack_bytes();
	return guest->root.width == ROOT_ARM64 ? arch_arm64_stack_bytes(guest)
					       : arch_x86_stack_bytes(guest);
}

/* On Arm both tables of a process have the same user part, so the user parts are compared. */
bool arch_is_same_process(struct memory_root own, struct memory_root root, bool may_isolate)
{
	if (own.width == ROOT_ARM32)
		return arch_arm32_is_same_process(own, root);
	return own.width == ROOT_ARM64 ? arch_arm64_is_same_process(own, root)
				       : arch_x86_is_same_process(own, root, may_isolate);
}
