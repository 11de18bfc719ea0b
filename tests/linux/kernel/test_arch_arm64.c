/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where an arm64 kernel lies, by TCR_EL1. Expected numbers are those of Linux
 * Documentation/arch/arm64/memory.rst (v6.1, v6.12) for 48 bits, and for other sizes what the
 * formulas of arch/arm64/include/asm/memory.h give by hand.
 */
#include "config.h"

#include "linux/kernel/arch.h"
#include "linux/kernel/stack_layout.h"
#include "tests/support/tap.h"

#define TG1_16K 1
#define TG1_4K  2
#define TG1_64K 3

/* Page tables of a kernel with so many bits of addresses in both halves, and pages by TG1. */
static struct memory_root root_with(unsigned bits, uint64_t granule1)
{
	struct registers regs = { .arch = ARCH_ARM64 };

	regs.arm64.tcr = granule1 << TCR_ARM64_TG1_SHIFT |
			 (uint64_t)(64 - bits) << TCR_ARM64_T1SZ_SHIFT | (64 - bits);
	regs.arm64.ttbr0 = 0x43abd181;
	regs.arm64.ttbr1 = 0x2000041efe001;
	return walk_root(&regs);
}

static struct memory_root root_of(unsigned bits)
{
	return root_with(bits, TG1_4K);
}

static void test_addresses(unsigned bits, uint64_t page_offset, uint64_t modules)
{
	const struct arch_addresses addresses = arch_get_addresses(root_of(bits));

	check(addresses.page_offset == page_offset, "%u bits: direct map at %llx", bits,
	      (unsigned long long)addresses.page_offset);
	check(addresses.image_start == modules, "%u bits: modules and image from %llx", bits,
	      (unsigned long long)addresses.image_start);
	check(addresses.near_end > addresses.image_start &&
		      addresses.near_end < addresses.image_end &&
		      addresses.image_end > addresses.image_start,
	      "%u bits: the usual range begins with the image's first addresses", bits);
}

/* T1SZ has six bits. The guest chooses them, so none may lead to a shift that C does not define. */
static void test_any_size(void)
{
	unsigned n = 0;

	for (unsigned bits = 1; bits <= 64; bits++) {
		const struct arch_addresses addresses = arch_get_addresses(root_of(bits));

		n += addresses.image_end > addresses.image_start &&
		     addresses.page_offset < addresses.image_start &&
		     arch_find_vmemmap(root_of(bits), "6.1") > addresses.image_start;
	}
	check_u64(n, 64, "every size gives addresses in order");
}

static void test_vmemmap(unsigned bits, const char *release, uint64_t expected)
{
	uint64_t vmemmap = arch_find_vmemmap(root_of(bits), release);

	check(vmemmap == expected, "%u bits, %s: struct pages at %llx (expected %llx)", bits,
	      release, (unsigned long long)vmemmap, (unsigned long long)expected);
}

/* Both formulas count in the kernel's pages: 2^(PAGE_SHIFT - 6) bytes of memory for a byte. */
static void test_page_sizes(void)
{
	struct memory_root small = root_with(48, TG1_16K), large = root_with(48, TG1_64K);

	check_u64(arch_page_shift(root_of(48)), 12, "a granule of 4 KiB is read from TCR_EL1");
	check_u64(arch_page_shift(small), 14, "a granule of 16 KiB is read from TCR_EL1");
	check_u64(arch_page_shift(large), 16, "a granule of 64 KiB is read from TCR_EL1");
	check_u64(arch_page_shift(root_with(48, 0)), 12,
		  "the reserved granule is taken for the usual one");
	check_u64(arch_page_shift((struct memory_root){ .width = WIDTH_64 }), 12,
		  "pages of x86 have 4 KiB");
	check_u64(arch_find_vmemmap(small, "6.1.0"), 0xffffff0000000000,
		  "struct pages with pages of 16 KiB");
	check_u64(arch_find_vmemmap(large, "6.1.0"), 0xffffffc000000000,
		  "struct pages with pages of 64 KiB");
	check_u64(arch_find_vmemmap(small, "6.12.0"), 0xffffff7fc0000000,
		  "struct pages of 6.12 with pages of 16 KiB");
	check_u64(arch_find_vmemmap(large, "6.12.0"), 0xffffffdfc0000000,
		  "struct pages of 6.12 with pages of 64 KiB");
	/* VA_BITS_MIN is 47: the direct map has 2^52 - 2^46 bytes. */
	check_u64(arch_find_vmemmap(root_with(52, TG1_16K), "6.12.0"),
		  0xffffffffc0000000 - 0xfc000000000,
		  "struct pages of 6.12 with pages of 16 KiB and 52 bits");
	check_u64(arch_get_addresses(root_with(52, TG1_16K)).image_start, 0xffffc00000000000,
		  "the image's addresses with pages of 16 KiB and 52 bits");
	check_u64(arch_kernel_tables(small).arm64.table1 - small.arm64.table1, 0x8000,
		  "the trampoline's tables are two pages before the kernel's, 16 KiB");
	check_u64(arch_kernel_tables(large).arm64.table1 - large.arm64.table1, 0x20000,
		  "the trampoline's tables are two pages before the kernel's, 64 KiB");
}

static void test_processes(void)
{
	struct memory_root a = root_of(48), b = a, kernel;

	b.arm64.table0 &= ~1ULL; /* CnP */
	check(arch_is_same_process(a, b, true), "a table with a flag is the same process's");
	b.arm64.table0 += 0x80;
	check(!arch_is_same_process(a, b, true),
	      "two tables that are close are different processes'");
	kernel = arch_kernel_tables(a);
	check(!arch_is_user_tables(a) && kernel.arm64.table1 == a.arm64.table1 + 0x2000 &&
		      kernel.arm64.table0 == a.arm64.table0,
	      "the kernel's tables are after those of the trampoline");
}

/* KASLR: at most 2^45 + 2^46 from where the image is otherwise, and an image of 64 MiB. */
static void test_randomised(void)
{
	const struct arch_addresses addresses = arch_get_addresses(root_of(48));
	uint64_t last = 0xffff800008000000 + (1ULL << 45) + (1ULL << 46);

	check(addresses.image_end >= last + (64 << 20),
	      "the image's range has the last address of a moved image");
	check(addresses.image_end < 0xfffff80000000000,
	      "the image's range ends before the struct pages");
}

static void test_stacks(void)
{
	struct linux_guest guest = { .root = { .arm64 = { .kind = ROOT_ARM64 } } };

	guest.root.arm64.granule1 = 2;
	check_u64(arch_stack_bytes(&guest), 16384, "stacks have 16 KiB with pages of 4 KiB");
	guest.root.arm64.granule1 = 1;
	check_u64(arch_stack_bytes(&guest), 16384, "stacks have 16 KiB with pages of 16 KiB");
	guest.root.arm64.granule1 = 3;
	check_u64(arch_stack_bytes(&guest), 65536, "stacks have 64 KiB with pages of 64 KiB");
}

static void set(struct linux_guest *guest, enum layout_member member, int32_t offset)
{
	guest->layout.values[member] = offset;
}

/* The sampler finds the user's page tables by the task only if all three members are known. */
static void test_stack_layout(void)
{
	struct linux_guest guest = { .root = root_of(48), .has_layout = true };
	struct linux_stacks stacks;

	for (int i = 0; i < LAYOUT_MEMBERS; i++)
		set(&guest, (enum layout_member)i, -1);
	set(&guest, TASK_STACK, 32);
	set(&guest, TASK_MM, 1200);
	set(&guest, MM_PGD, 104);
	stacks = stack_layout_arm64_build(&guest);
	check(stacks.task_stack == 32 && !stacks.task_mm && !stacks.mm_pgd,
	      "the stack layout lacks a process's stack if mm_struct.start_stack is unknown");
	set(&guest, MM_START_STACK, 336);
	stacks = stack_layout_arm64_build(&guest);
	check(stacks.task_mm == 1200 && stacks.mm_start_stack == 336 && stacks.mm_pgd == 104,
	      "the stack layout has the task's mm, its stack's end and its page tables");
	set(&guest, MM_PGD, -1);
	check_u64(stack_layout_arm64_build(&guest).mm_pgd, 0,
		  "the stack layout lacks page tables if mm_struct.pgd is unknown");
}

int main(void)
{
	test_stack_layout();
	test_stacks();
	test_randomised();
	test_addresses(48, 0xffff000000000000, 0xffff800000000000);
	test_addresses(52, 0xfff0000000000000, 0xffff800000000000);
	test_addresses(39, 0xffffff8000000000, 0xffffffc000000000);
	test_vmemmap(48, "6.1.0-56-arm64", 0xfffffc0000000000);
	test_vmemmap(48, "5.10.0-30-arm64", 0xfffffc0000000000);
	/* 2 TiB, which end 1 GiB before the end */
	test_vmemmap(48, "6.12.117+deb12-arm64", 0xfffffdffc0000000);
	test_vmemmap(48, "7.0.1", 0xfffffdffc0000000);
	test_vmemmap(48, "6.9.0", 0xfffffdffc0000000);
	/* (2^52 - 2^47) / 64 bytes */
	test_vmemmap(52, "6.12.1", 0xffffffffc0000000 - 0x3e0000000000);
	test_any_size();
	test_page_sizes();
	test_processes();
	return tap_done();
}
