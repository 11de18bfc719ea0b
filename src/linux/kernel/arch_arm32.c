/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses and page tables of Linux on 32-bit Arm; see arch.h. Any thread.
 *
 * The image is part of the direct map, which begins at 3 GiB (CONFIG_VMSPLIT_3G). Modules lie in
 * the 16 MiB below (Linux Documentation/arch/arm/memory.rst). With CONFIG_STRICT_KERNEL_RWX the
 * code begins with the first section after _text; a section has 1 MiB, or 2 MiB with long
 * descriptors, and _text is 32 KiB after the beginning of one (arch/arm/kernel/vmlinux.lds.S,
 * TEXT_OFFSET of arch/arm/Makefile).
 *
 * The kernel's own tables are in TTBR1 (arch/arm/mm/proc-v7-2level.S and -3level.S):
 *
 *   short descriptors   swapper_pg_dir. TTBCR.N is 0: TTBR0 translates all addresses, and each
 *                       process has a copy of the kernel's part
 *   long descriptors    the table of the last GiB in swapper_pg_dir. Before it lie one page with
 *                       the top table, and one page for each of the other GiB
 *                       (asm/pgtable-3level-hwdef.h, TTBR1_OFFSET)
 */
#include "config.h"

#include "linux/kernel/arch.h"

#define ARM32_PAGE_OFFSET      KERNEL_32_START
#define ARM32_IMAGE_BYTES      (512U << 20)
#define ARM32_HEAD_BYTES       ((2U << 20) - (32U << 10))
#define ARM32_TTBR1_OFFSET     (4 * GUEST_PAGE_SIZE)
#define ARM32_STACK_BYTES      8192U /* asm/thread_info.h, THREAD_SIZE */
#define ARM32_SHORT_TABLE      0xffffc000ULL
#define ARM32_LONG_TABLE       0x000000ffffffffe0ULL

struct arch_addresses arch_arm32_addresses(void)
{
	return (struct arch_addresses){
		.image_start = ARM32_PAGE_OFFSET,
		.image_end = ARM32_PAGE_OFFSET + ARM32_IMAGE_BYTES,
		.near_end = ARM32_PAGE_OFFSET + ARM32_IMAGE_BYTES,
		.head_bytes = ARM32_HEAD_BYTES,
		.has_modules = true,
		.page_offset = ARM32_PAGE_OFFSET,
	};
}

/* The guest may run with user access turned off (EPD0). */
void arch_arm32_find_kernel_root(const struct linux_guest *guest, struct memory_root *root)
{
	uint64_t table = guest->root.arm64.table1;

	*root = guest->root;
	root->arm64.off0 = 0;
	root->arm64.size0 = 0;
	root->arm64.table0 = root->arm64.is_long ? table - ARM32_TTBR1_OFFSET : table;
}

/*
 * The bits that are not compared are memory attributes at the lower end, and an ASID at the upper
 * end.
 */
bool arch_arm32_is_same_process(struct memory_root a, struct memory_root b)
{
	return !((a.arm64.table0 ^ b.arm64.table0) &
		 (a.arm64.is_long ? ARM32_LONG_TABLE : ARM32_SHORT_TABLE));
}

uint32_t arch_arm32_stack_bytes(void)
{
	return ARM32_STACK_BYTES;
}
