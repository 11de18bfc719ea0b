/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses, names and page tables of Linux on x86-64 and i386; see arch.h. Any thread. */
#include "config.h"

#include "linux/kernel/arch.h"

#include "xtop/base/kernel_32.h"
#include "xtop/base/registers_x86.h"

#define I386_IMAGE_BYTES (512U << 20) /* arch/x86/include/asm/page_32_types.h KERNEL_IMAGE_SIZE */

/*
 * Linux Documentation/arch/x86/x86_64/mm.rst: the image is mapped in [-2 GiB, -1 GiB)
 * (arch/x86/include/asm/page_64_types.h, KERNEL_IMAGE_SIZE). The addresses of direct map and page
 * array are valid for 4-level paging without randomisation; kernels with variables for these
 * addresses do not need the constants.
 *
 * On i386 the image is part of the direct map, which begins with a few executable pages for real
 * mode and the BIOS. The array of struct page lies anywhere in the direct map.
 */
struct arch_addresses arch_x86_addresses(struct memory_root root)
{
	if (arch_word_bytes(root) == sizeof(uint32_t))
		return (struct arch_addresses){
			.image_start = KERNEL_32_START,
			.image_end = KERNEL_32_START + I386_IMAGE_BYTES,
			.near_end = KERNEL_32_START + I386_IMAGE_BYTES,
			.has_modules = true,
			.page_offset = KERNEL_32_START,
		};
	return (struct arch_addresses){
		.image_start = 0xffffffff80000000,
		.image_end = 0xffffffffc0000000,
		.near_end = 0xffffffffc0000000,
		.page_offset = 0xffff888000000000,
	};
}

uint64_t arch_x86_vmemmap(struct memory_root root)
{
	return arch_word_bytes(root) == sizeof(uint32_t) ? 0 : 0xffffea0000000000;
}

const struct arch_name arch_names_x86[] = {
	{ LINUX_PAGE_TABLES, "init_top_pgt" },
	{ LINUX_CURRENT_TASK, "current_task" },
	{ LINUX_PCPU_HOT, "pcpu_hot" },
	{ LINUX_TOP_OF_STACK, "cpu_current_top_of_stack" },
	{ LINUX_HARDIRQ_STACK, "hardirq_stack_ptr" },
	{ LINUX_TSS, "cpu_tss_rw" },
	{ LINUX_TLB_STATE, "cpu_tlbstate" },
	{ LINUX_LOCK_WAIT, "xen_qlock_wait_nest" },
	{ LINUX_XEN_VCPU, "xen_vcpu" },
	{ LINUX_PAGE_OFFSET, "page_offset_base" },
	{ LINUX_VMEMMAP, "vmemmap_base" },
	{ LINUX_ORC_IP_START, "__start_orc_unwind_ip" },
	{ LINUX_ORC_IP_STOP, "__stop_orc_unwind_ip" },
	{ LINUX_ORC_START, "__start_orc_unwind" },
	{ LINUX_ORC_STOP, "__stop_orc_unwind" },
	{ LINUX_HYPERCALLS, "hypercall_page" },
	{ LINUX_FRED, "asm_fred_entrypoint_user" },
	{ LINUX_GETPID, "__ia32_sys_getpid" }, /* i386's name; on x86-64 another function has it */
	{ LINUX_GETPID, "__x64_sys_getpid" },
	{ LINUX_GETPID, "sys_getpid" }, /* up to 4.16 */
	{ LINUX_ENTRY, "entry_SYSCALL_64" },
	{ LINUX_TIMER, "sysvec_apic_timer_interrupt" },
	{ LINUX_SWITCH, "__switch_to_asm" },
	{ LINUX_NEW_EXEC, "begin_new_exec" },
	{ LINUX_CGROUP_ID, "bpf_get_current_cgroup_id" },
};
const size_t n_arch_names_x86 = sizeof(arch_names_x86) / sizeof(arch_names_x86[0]);

/*
 * With page-table isolation each process has two top tables, side by side in 8 KiB. The kernel's is
 * the first (Linux arch/x86/include/asm/pgtable.h, kernel_to_user_pgdp()).
 */
bool arch_x86_is_user_tables(struct memory_root root)
{
	return root.cr3 & CR3_USER_TABLE;
}

struct memory_root arch_x86_kernel_tables(struct memory_root root)
{
	root.cr3 &= ~CR3_USER_TABLE;
	return root;
}

/*
 * All processes have page tables of the kernel's kind. With PAE the top tables of several processes
 * may lie in one page.
 */
bool arch_x86_read_root(const struct linux_guest *guest, uint64_t address, struct memory_root *root)
{
	frame_t frame;

	if (!memory_translate(guest->memory, guest->root, address, &frame))
		return false;
	*root = (struct memory_root){ .cr3 = frame.value << GUEST_PAGE_SHIFT,
				      .la57 = guest->root.la57,
				      .width = guest->root.width };
	if (root->width == WIDTH_32_PAE)
		root->cr3 |= address & GUEST_PAGE_MASK & CR3_PAE_TABLE;
	return true;
}

bool arch_x86_find_kernel_root(const struct linux_guest *guest, struct memory_root *root)
{
	uint64_t tables = guest->symbols[LINUX_PAGE_TABLES];

	return tables && arch_x86_read_root(guest, tables, root);
}

bool arch_x86_is_same_process(struct memory_root own, struct memory_root root, bool may_isolate)
{
	uint64_t bits = own.width == WIDTH_32_PAE ? CR3_PAE_TABLE : CR3_TABLE_MASK;
	uint64_t differ = (own.cr3 ^ root.cr3) & bits;

	return !differ || (may_isolate && cr3_differs_as_pair(own.cr3, differ));
}

/*
 * THREAD_SIZE (Linux arch/x86/include/asm/page_64_types.h). Stacks of interrupts have the same
 * size, and BTF has their type; with KASAN both are larger. layout_32.c sets IRQ_STACK_SIZEOF, too.
 */
#define ARCH_STACK_BYTES 16384

uint32_t arch_x86_stack_bytes(const struct linux_guest *guest)
{
	return layout_offset_or(&guest->layout, IRQ_STACK_SIZEOF, ARCH_STACK_BYTES);
}
