/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where jumps lead from the code that a loader starts: from 32-bit code by a far jump or a far
 * return, then by a jump to a known address; not beyond a call. Then each byte damaged.
 */
#include "config.h"

#include <string.h>

#include "tests/support/tap.h"
#include "xtop/unwind/entry_jumps.h"

#define PHYSICAL 0x100000ULL
#define VIRTUAL  0xffffffff80100000ULL

enum { START32 = 0, START64 = 0x40, START = 0x60, LRET32 = 0x70, PLAIN = 0x80, CALLED = 0x90 };

/* clang-format off */
static const uint8_t code[] = {
	/* 00 32 bits: mov $32,%eax; mov %eax,%cr4; call 28; .. rdmsr; wrmsr; jmp 1a;
	 *  1a: lgdtl 0x1000; ljmpl $8,$0x100040; 28: ret */
	0xb8, 0x20, 0x00, 0x00, 0x00, 0x0f, 0x22, 0xe0, 0xe8, 0x1b, 0x00, 0x00,
	0x00, 0xb9, 0x80, 0x00, 0x00, 0xc0, 0x0f, 0x32, 0x0f, 0x30, 0xeb, 0x02,
	0x0f, 0x0b, 0x0f, 0x01, 0x15, 0x00, 0x10, 0x00, 0x00, 0xea, 0x40, 0x00,
	0x10, 0x00, 0x08, 0x00, 0xc3, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00,
	/* 40 64 bits: xor %eax,%eax; mov %eax,%ss; mov $0xffffffff80100060,%rax; jmp *%rax */
	0x31, 0xc0, 0x8e, 0xd0, 0x48, 0xc7, 0xc0, 0x60, 0x00, 0x10, 0x80, 0xff,
	0xe0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	/* 60 call 0; hlt; jmp 28 */
	0xe8, 0x9b, 0xff, 0xff, 0xff, 0xf4, 0xeb, 0xc0, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00,
	/* 70 32 bits: pushl $8; mov $0x100040,%eax; pushl %eax; lretl */
	0x6a, 0x08, 0xb8, 0x40, 0x00, 0x10, 0x00, 0x50, 0xcb, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00,
	/* 80 64 bits: cld; mov $0x1234,%edi; jmp 60 */
	0xfc, 0xbf, 0x34, 0x12, 0x00, 0x00, 0xeb, 0xd8, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00,
	/* 90 call 60; jmp 80 */
	0xe8, 0xcb, 0xff, 0xff, 0xff, 0xeb, 0xe9, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00,
};
/* clang-format on */

static uint8_t bytes[sizeof(code)];

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	uint64_t offset = address - VIRTUAL;

	(void)context;
	if (offset >= sizeof(bytes))
		return 0;
	if (size_bytes > sizeof(bytes) - offset)
		size_bytes = sizeof(bytes) - offset;
	memcpy(buffer, bytes + offset, size_bytes);
	return size_bytes;
}

static bool place(void *context, uint64_t target, uint64_t *address)
{
	(void)context;
	if (target - PHYSICAL < sizeof(bytes))
		target += VIRTUAL - PHYSICAL;
	if (target - VIRTUAL >= sizeof(bytes))
		return false;
	*address = target;
	return true;
}

static void find(struct entry_points *entries)
{
	const struct code_source source = { .read = read_code };

	entry_jumps_find(&source, place, NULL, entries);
}

/* The entries of a kernel that begins at ELF, and as a PVH guest at PVH; 0: it is none. */
static struct entry_points entries_of(uint64_t elf, uint64_t pvh)
{
	struct entry_points entries = { .elf = elf ? VIRTUAL + elf : 0,
					.pvh = pvh ? VIRTUAL + pvh : 0 };

	find(&entries);
	return entries;
}

static void check_jumps(const struct entry_points *entries, uint64_t first, uint64_t second,
			const char *what)
{
	unsigned n = (first != 0) + (second != 0);

	check(entries->n_jumps == n && (n < 1 || entries->jumps[0] == VIRTUAL + first) &&
		      (n < 2 || entries->jumps[1] == VIRTUAL + second),
	      "%s: %u jumps, to %llx and %llx (expected %u)", what, entries->n_jumps,
	      (unsigned long long)entries->jumps[0], (unsigned long long)entries->jumps[1], n);
}

static void test_jumps(void)
{
	struct entry_points entries = { .pvh = VIRTUAL + START32 };

	memcpy(bytes, code, sizeof(code));
	find(&entries);
	check_jumps(&entries, START64, START, "a far jump, then a jump by a register");
	entries = entries_of(START, LRET32);
	check_jumps(&entries, START64, 0, "a far return, then a jump to the ELF entry");
	entries = entries_of(PLAIN, 0);
	check_jumps(&entries, START, 0, "an entry in 64-bit mode that jumps");
	entries = entries_of(CALLED, 0);
	check_jumps(&entries, 0, 0, "a jump after a call");
	entries = entries_of(0x400, 0x500);
	check_jumps(&entries, 0, 0, "entries without code");
}

static void test_bounds(void)
{
	const struct entry_points entries = {
		.elf = 0x100, .pvh = 0x200, .jumps = { 0x300 }, .n_jumps = 1
	};

	check(entry_points_lie_in(&entries, 0xf0, 0x110), "the ELF entry lies in a function");
	check(entry_points_lie_in(&entries, 0x200, 0x201), "the PVH entry begins a function");
	check(entry_points_lie_in(&entries, 0x2f0, 0x310), "a jump's target lies in a function");
	check(!entry_points_lie_in(&entries, 0x210, 0x300), "a function ends before an entry");
}

/* Whatever the bytes are, the search ends, and finds code alone. */
static void test_damaged(void)
{
	unsigned wrong = 0;

	for (size_t at = 0; at < sizeof(code); at++)
		for (unsigned byte = 0; byte < 256; byte++) {
			struct entry_points entries = { .elf = VIRTUAL + PLAIN,
							.pvh = VIRTUAL };

			memcpy(bytes, code, sizeof(code));
			bytes[at] = (uint8_t)byte;
			find(&entries);
			for (unsigned i = 0; i < entries.n_jumps; i++)
				wrong += entries.jumps[i] - VIRTUAL >= sizeof(bytes);
		}
	check_u64(wrong, 0, "targets outside the code, for damaged bytes");
}

int main(void)
{
	test_jumps();
	test_bounds();
	test_damaged();
	return tap_done();
}
