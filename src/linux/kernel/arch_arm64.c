/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses and page tables of Linux on arm64; see arch.h. Any thread.
 *
 * A kernel has VA_BITS of 39, 42, 47, 48 or 52 address bits, and a kernel with 52 bits also runs on
 * processors that have 48. TCR_EL1.T1SZ tells how many are used (Linux Documentation/arch/arm64/
 * memory.rst, arch/arm64/include/asm/memory.h, from v5.4):
 *
 *   -2^VA_BITS            PAGE_OFFSET: the direct map
 *   -2^(min(48, VA_BITS) - 1)   the end of the direct map; modules, 128 MiB, from 6.5 2 GiB
 *   above                 vmalloc; the image is its first area, unless KASLR moves the image
 *                         by up to three quarters of the vmalloc area (kaslr.c: 2^(bits - 3),
 *                         and at random up to 2^(bits - 2))
 *   at the end            the array of struct page
 */
#include "config.h"

#include "linux/kernel/arch.h"

#include <stdio.h>

#define ARM64_VA_BITS_LEAST 36 /* pages of 16 KiB, two levels (arch/arm64/Kconfig) */
#define ARM64_VA_BITS_MOST  52
/* most address bits of areas other than direct map and struct page (asm/memory.h, VA_BITS_MIN) */
#define ARM64_VA_BITS_MIN     48
#define ARM64_VA_BITS_MIN_16K 47 /* a kernel of 52 bits with pages of 16 KiB may have so few */
#define ARM64_PAGE_SHIFT_16K  14
#define ARM64_NEAR_BYTES    (4ULL << 30) /* modules, and an image that was not moved */
#define ARM64_HEAD_BYTES    (64ULL << 10) /* .head.text, a SEGMENT_ALIGN before _stext */
/* log2 of the size of a struct page, 64 bytes (STRUCT_PAGE_MAX_SHIFT) */
#define ARM64_PAGE_LOG 6
/*
 * tramp_pg_dir is in front of reserved_pg_dir and swapper_pg_dir (arch/arm64/kernel/vmlinux.lds.S;
 * TRAMP_SWAPPER_OFFSET of asm/memory.h, 2 * PAGE_SIZE in v6.1 and v6.12), each of one page.
 */
#define ARM64_TRAMP_PAGES 2

unsigned arch_arm64_page_shift(struct memory_root root)
{
	return root_arm64_page_shift(root.arm64);
}

/* The guest chose TCR_EL1.T1SZ: it may have any value. */
static unsigned arm64_bits(struct memory_root root)
{
	unsigned bits = 64 - (unsigned)root.arm64.size1;

	return bits < ARM64_VA_BITS_LEAST  ? ARM64_VA_BITS_LEAST
	       : bits > ARM64_VA_BITS_MOST ? ARM64_VA_BITS_MOST
					   : bits;
}

static unsigned arm64_bits_min(struct memory_root root)
{
	unsigned bits = arm64_bits(root);

	if (bits <= ARM64_VA_BITS_MIN)
		return bits;
	return arch_arm64_page_shift(root) == ARM64_PAGE_SHIFT_16K ? ARM64_VA_BITS_MIN_16K
								   : ARM64_VA_BITS_MIN;
}

struct arch_addresses arch_arm64_addresses(struct memory_root root)
{
	uint64_t start = -(1ULL << (arm64_bits_min(root) - 1));

	return (struct arch_addresses){
		.image_start = start,
		.image_end = start + (7ULL << (arm64_bits_min(root) - 4)),
		.near_end = start + ARM64_NEAR_BYTES,
		.head_bytes = ARM64_HEAD_BYTES,
		.has_modules = true,
		.page_offset = -(1ULL << arm64_bits(root)),
	};
}

/* From 6.9 on the array ends 1 GiB before the end of all addresses (asm/memory.h, VMEMMAP_END). */
uint64_t arch_arm64_find_vmemmap(struct memory_root root, const char *release)
{
	uint64_t direct_bytes = (1ULL << arm64_bits(root)) - (1ULL << (arm64_bits_min(root) - 1));
	unsigned shift = arch_arm64_page_shift(root) - ARM64_PAGE_LOG, major = 0, minor = 0;

	sscanf(release, "%u.%u", &major, &minor);
	if (major > 6 || (major == 6 && minor >= 9))
		return -(1ULL << 30) - (direct_bytes >> shift);
	return -(1ULL << (arm64_bits(root) - shift));
}

struct memory_root arch_arm64_kernel_tables(struct memory_root root)
{
	root.arm64.table1 += (uint64_t)ARM64_TRAMP_PAGES << arch_arm64_page_shift(root);
	return root;
}

/* The top table may be smaller than a page, and lie anywhere within a page. */
bool arch_arm64_read_root(const struct linux_guest *guest, uint64_t address,
			  struct memory_root *root)
{
	frame_t frame;

	if (!memory_translate(guest->memory, guest->root, address, &frame))
		return false;
	*root = guest->root;
	root->arm64.table0 = frame.value << GUEST_PAGE_SHIFT | (address & GUEST_PAGE_MASK);
	return true;
}

bool arch_arm64_is_same_process(struct memory_root a, struct memory_root b)
{
	return !((a.arm64.table0 ^ b.arm64.table0) & ~ROOT_ARM64_CNP);
}

/* 16 KiB, or a page if that is larger (asm/memory.h, THREAD_SHIFT with CONFIG_VMAP_STACK). */
#define ARM64_STACK_BYTES (16U << 10)

uint32_t arch_arm64_stack_bytes(const struct linux_guest *guest)
{
	uint32_t page_bytes = 1U << arch_arm64_page_shift(guest->root);

	return page_bytes > ARM64_STACK_BYTES ? page_bytes : ARM64_STACK_BYTES;
}
