/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made code where a path, a jump or the size of a symbol is not what it seems: code after a call
 * that never returns, jumps that a kernel patches, functions that reach beyond the code, and code
 * that is missing at first.
 */
#include "config.h"

#include <time.h>

#include "computed_code.h"

/*
 * Code of Bash: an argument is pushed for a call that never returns. Only a table of jumps leads to
 * the code after the call. There the argument is not on the stack, nor is it where that code jumps.
 */
static void test_pushed_for_ever(void)
{
	/* clang-format off */
	static const uint8_t bytes[0x42] = {
		0x53,                         /* 1000: push %rbx */
		0x85, 0xff,                   /* 1001: test %edi,%edi */
		0x74, 0x1b,                   /* 1003: je 1020 */
		0xe8, 0x36, 0x00, 0x00, 0x00, /* 1005: call 1040 */
		0x85, 0xc0,                   /* 100a: test %eax,%eax */
		0x5b, 0xc3,                   /* 100c: pop %rbx; ret */
		[0x20] = 0x56,                /* 1020: push %rsi */
		0xe8, 0x1a, 0x00, 0x00, 0x00, /* 1021: call 1040 */
		0xe8, 0x15, 0x00, 0x00, 0x00, /* 1026: call 1040 */
		0xeb, 0xdf,                   /* 102b: jmp 100c */
		[0x40] = 0xc3, 0xcc,          /* 1040: ret; int3 */
	};
	/* clang-format on */
	struct code code = { bytes, sizeof(bytes), { { 0x1000, 0x102d }, { 0x1040, 0x1042 } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "where a deeper path meets another one", 0x100c, 1);
	check_step(computed, "the call that never returns", 0x1021, 2);
	check_step(computed, "code that only a table of jumps leads to", 0x102b, 1);
	computed_destroy(computed);
}

/* Code as it stands in a Linux kernel's file, before the kernel patches its jumps. */
static void test_patched_jumps(void)
{
	static const uint8_t skips[] = {
		0x48, 0x83, 0xec, 0x08, /* 1000: sub $8,%rsp */
		0xeb, 0x02,             /* 1004: jmp 1008 */
		0x85, 0xff,             /* 1006: test %edi,%edi */
		0x48, 0x83, 0xc4, 0x08, /* 1008: add $8,%rsp */
		0xc3,                   /* 100c: ret */
	};
	static const uint8_t leaves[0x26] = {
		0x48, 0x83, 0xec, 0x08,    /* 1000: sub $8,%rsp */
		0xeb, 0x1a, 0x90,          /* 1004: jmp 1020; nop */
		0x48, 0x83, 0xc4, 0x08,    /* 1007: add $8,%rsp */
		0xc3,                      /* 100b: ret */
		[0x20] = 0x85, 0xff,       /* 1020: test %edi,%edi */
		0x75, 0xe2, 0xeb, 0xe0,    /* 1022: jne 1006; jmp 1006 */
	};
	struct code skipping = { skips, sizeof(skips), { { 0x1000, 0x100d } } };
	struct code leaving = { leaves, sizeof(leaves), { { 0x1000, 0x100c } } };
	struct computed *computed = create_computed(&skipping);

	check_step(computed, "after a jump that may become a nop", 0x1006, 1);
	computed_destroy(computed);
	computed = create_computed(&leaving);
	check_step(computed, "after code of no function", 0x1006, 1);
	check_step(computed, "stray code that no function has", 0x1022, 1);
	computed_destroy(computed);
}

/* --- wrong sizes of symbols ------------------------------------------------------------------- */

/* A function whose symbol reaches beyond the code, by a byte or by far, is read once, like any. */
static void test_beyond_code(uint64_t beyond)
{
	/* push %rbx; nop; pop %rbx; ret */
	static const uint8_t bytes[4] = { 0x53, 0x90, 0x5b, 0xc3 };
	struct code code = { bytes, sizeof(bytes), { { PLACE, PLACE + sizeof(bytes) + beyond } } };
	struct computed *computed = create_computed(&code);
	unsigned before;

	check_step(computed, "a function that ends after the code", PLACE + 1, 1);
	before = n_reads;
	check_step(computed, "a function that ends after the code", PLACE + 2, 1);
	check_step(computed, "a function that ends after the code", PLACE + 3, 0);
	check(n_reads == before, "a function whose code is there is read once");
	computed_destroy(computed);
}

/* 3 GiB are not looked through byte by byte: that would take half a minute. */
static void test_huge_function(void)
{
	static const uint8_t bytes[4] = { 0x53, 0x90, 0x5b, 0xc3 };
	const uint64_t size_bytes = 3ULL << 30;
	struct code code = { bytes, sizeof(bytes), { { PLACE, PLACE + size_bytes } } };
	struct computed *computed = create_of_size(&code, size_bytes);
	struct cursor cursor;
	clock_t before;

	before = clock();
	check(step_from(computed, PLACE + 1, &cursor) != STEP_CALLER,
	      "a function of 3 GiB is not followed");
	check(clock() - before < CLOCKS_PER_SEC,
	      "a function of 3 GiB takes less than a second (%ld us)",
	      (long)(clock() - before) * 1000000 / CLOCKS_PER_SEC);
	computed_destroy(computed);
}

/* After the last function that a call leads to there may be much that is not its code. */
static void test_far_end(void)
{
	static uint8_t bytes[600 << 10] = {
		0xe8, 0x0b, 0, 0, 0,     /* 1000: call 1010 */
		[0xf] = 0xc3,            /* 100f: ret */
		0x53, 0x90, 0x5b, 0xc3,  /* 1010: push %rbx; nop; pop %rbx; ret */
	};
	struct code code = { bytes, sizeof(bytes), { { 0 } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "a function before 600 KiB without calls", 0x1011, 1);
	check_step(computed, "a function before 600 KiB without calls", 0x1013, 0);
	computed_destroy(computed);
}

#define HIDDEN 0x200 /* offset of the code that is missing in the first turn */

static uint64_t turn_of_hidden(void *context)
{
	return *(const uint64_t *)context;
}

/* 1000: je 1200; jmp *%rax; pop %rbx; pop %rbp; ret .. 1200: pop %rbx; ret */
static size_t read_hidden(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	static const uint8_t bytes[HIDDEN + 2] = {
		0x0f, 0x84, 0xfa, 0x01, 0, 0, 0xff, 0xe0, 0x5b, 0x5d, 0xc3, [HIDDEN] = 0x5b, 0xc3,
	};
	uint64_t end = turn_of_hidden(context) < 2 ? HIDDEN : sizeof(bytes), at = address - PLACE;
	uint64_t n = at < end ? end - at : 0;

	n_reads++;
	n = n < size_bytes ? n : size_bytes;
	memcpy(buffer, bytes + at, n);
	return n;
}

static bool find_no_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context, (void)address, (void)start, (void)end;
	return false;
}

/* A rule found after a jump is a guess as long as a way without a jump may still return. */
static void test_guess_ends(void)
{
	uint64_t turn = 1;
	const struct code_source source = { .read = read_hidden,
					    .find_function = find_no_function,
					    .turn = turn_of_hidden,
					    .context = &turn };
	struct computed *computed;
	unsigned before;

	elf_tables_fatal(computed_create(&source, PLACE, PLACE + HIDDEN + 2, &computed));
	check_step(computed, "a guess after a jump while code is missing", PLACE, 2);
	before = n_reads;
	check_step(computed, "the guess again in its turn", PLACE, 2);
	check(n_reads == before, "the guess is not made again in its turn");
	turn = 2;
	check_step(computed, "a way without a jump, once its code is there", PLACE, 1);
	computed_destroy(computed);
}

int main(void)
{
	test_pushed_for_ever();
	test_patched_jumps();
	test_beyond_code(1);
	test_beyond_code(1ULL << 62);
	test_huge_function();
	test_far_end();
	test_guess_ends();
	return tap_done();
}
