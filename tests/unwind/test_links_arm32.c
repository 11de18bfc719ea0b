/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions of 32-bit Arm code have their return address at each of their instructions. The
 * functions are what gcc 12 and clang 14 made, as their disassembly showed them.
 */
#include "config.h"

#include <string.h>

#include "tests/support/tap.h"
#include "unwind/links_arm32.h"

#define CODE 0xc0010000

static struct {
	const void *bytes;
	size_t size_bytes;
	unsigned n_reads;
	bool closed;
} code;

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	(void)context;
	code.n_reads++;
	if (address - CODE > code.size_bytes || size_bytes > code.size_bytes - (address - CODE))
		return 0;
	memcpy(buffer, (const char *)code.bytes + (address - CODE), size_bytes);
	return size_bytes;
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	*start = CODE;
	*end = CODE + code.size_bytes;
	return address >= *start && address < *end;
}

static void close_code(void *context)
{
	(void)context;
	code.closed = true;
}

/*
 * EXPECTED has a letter for each instruction. It tells where the return address is just before the
 * instruction runs: l in lr, f in the frame, ? not told.
 */
static void check_function(const void *bytes, size_t size_bytes, const uint8_t *steps,
			   const char *expected, const char *what)
{
	const struct code_source source = { .read = read_code,
					    .find_function = find_function,
					    .close = close_code };
	struct links *links = NULL;
	char text[64] = "";
	size_t at = 0, n = strlen(expected);

	code.bytes = bytes;
	code.size_bytes = size_bytes;
	error_destroy(links_create(&source, &links));
	for (size_t i = 0; i < n; i++) {
		bool in_link = false, known = links_find(links, CODE + at, steps, &in_link);

		text[i] = !known ? '?' : in_link ? 'l' : 'f';
		at += steps ? steps[i] : 4;
	}
	check_string(text, expected, what);
	code.closed = false;
	links_destroy(links);
	check(code.closed, "%s: the source is closed", what);
}

#define CHECK_ARM(expected, what, ...)                                                            \
	do {                                                                                      \
		const uint32_t bytes[] = { __VA_ARGS__ };                                         \
		check_function(bytes, sizeof(bytes), NULL, expected, what);                       \
	} while (0)

static void test_arm(void)
{
	CHECK_ARM("llffff", "clang", 0xe92d4830, /* push {r4, r5, r11, lr} */
		  0xe28db008, 0xe1a04000, /* add r11, sp, #8; mov r4, r0 */
		  0xebfffffe, 0xe1a05000, /* bl; mov r5, r0 */
		  0xe8bd8830);            /* pop {r4, r5, r11, pc} */
	CHECK_ARM("lllff", "gcc", 0xe92d4800, 0xe1a01000, /* push {fp, lr}; mov r1, r0 */
		  0xe28db004, 0xebfffffe, 0xe8bd8800);    /* add fp, sp, #4; bl; pop {fp, pc} */
	CHECK_ARM("llllll", "a leaf of gcc's", 0xe52db004, /* str fp, [sp, #-4]! */
		  0xe28db000, 0xe0000090, 0xe28bd000,      /* add fp, sp, #0; mul; add sp, fp, #0 */
		  0xe49db004, 0xe12fff1e);                 /* ldr fp, [sp], #4; bx lr */
	CHECK_ARM("ll", "a leaf without a frame", 0xe0000090, 0xe12fff1e);
	CHECK_ARM("llff?", "code after the function is unknown", 0xe92d4800, 0xe28db004,
		  0xe1a00000, 0xe1a00000);
	CHECK_ARM("ll???", "calls, and no frame pointer", 0xe92d4010, /* push {r4, lr} */
		  0xebfffffe, 0xe1a00000, 0xebfffffe, 0xe8bd8010);
	CHECK_ARM("llffllff", "a jump to another function at the end", 0xe92d4800, 0xe1a0b00d,
		  0xebfffffe, 0xe8bd4800, /* mov fp, sp; bl; pop {fp, lr} */
		  0xe1a00000, 0xeafffffe, /* nop; b */
		  0xebfffffe, 0xe8bd8800);
}

#define CHECK_THUMB(expected, what, steps, ...)                                                   \
	do {                                                                                      \
		const uint16_t bytes[] = { __VA_ARGS__ };                                         \
		check_function(bytes, sizeof(bytes), (const uint8_t *)(steps), expected, what);   \
	} while (0)

static void test_thumb(void)
{
	CHECK_THUMB("llfffff", "Thumb, clang", "\2\2\2\4\2\2\2", 0xb5b0, /* push {r4, r5, r7, lr} */
		    0xaf02, 0x4604, 0xf7ff, 0xfffe,                          /* add r7, sp; mov; bl */
		    0x4605, 0x1c60, 0xbdb0);
	CHECK_THUMB("lll", "Thumb, a leaf", "\4\2\2", 0xfb00, 0xf000, 0x4770, 0x4770);
	CHECK_THUMB("llffllf", "Thumb, long instructions", "\4\2\4\4\2\4\2", 0xe92d, 0x4880, /* push.w */
		    0x466f, 0xf7ff, 0xfffe, 0xe8bd, 0x4880, /* mov r7, sp; bl; pop.w {r7, r11, lr} */
		    0xbf00, 0xf7ff, 0xbffe, 0xbf00);        /* nop; b.w; nop */
}

static void test_cache(void)
{
	const struct code_source source = { .read = read_code, .find_function = find_function };
	const uint32_t bytes[] = { 0xe92d4800, 0xe28db004, 0xe1a00000 };
	struct links *links = NULL;
	bool in_link = true;

	code.bytes = bytes;
	code.size_bytes = sizeof(bytes);
	code.n_reads = 0;
	error_destroy(links_create(&source, &links));
	for (unsigned i = 0; i < 10; i++)
		check(links_find(links, CODE + 8, false, &in_link) && !in_link,
		      "code of a known function gives an answer");
	check_u64(code.n_reads, 1, "code is read once");
	check(!links_find(links, CODE + 0x100000, false, &in_link),
	      "code of an unknown function gives no answer");
	links_destroy(links);
}

int main(void)
{
	test_arm();
	test_thumb();
	test_cache();
	return tap_done();
}
