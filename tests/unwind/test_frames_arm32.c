/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of its frame a function of ARM code has made. The functions are Debian's 6.1 kernel's
 * (armmp-lpae), shortened, and made of what compilers write.
 */
#include "config.h"

#include "tests/support/tap.h"
#include "unwind/frames_arm32.h"

#define NONE   UINT32_MAX
#define LINK   0x80000000U
#define N(code) (sizeof(code) / sizeof((code)[0]))

/* WANTED[i]: the depth at instruction i, with LINK if lr has the return address; NONE. */
static void check_function(const uint32_t *code, const uint32_t *wanted, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++) {
		struct frame_arm32 frame = { 0 };
		bool found =
			frame_arm32_find((const uint8_t *)code, 4 * n, 4 * i, &frame);
		uint32_t is = found ? frame.depth_bytes | (frame.in_link ? LINK : 0) : NONE;

		check(is == wanted[i], "%s, at instruction %zu: the frame is %#x (expected %#x)",
		      what, i, is, wanted[i]);
	}
}

static void test_plain(void)
{
	static const uint32_t code[] = {
		0xe92d4ff0, /* push {r4-r11, lr} */
		0xed2d8b02, /* vpush {d8} */
		0xe24ddf4b, /* sub sp, sp, #300 */
		0xebfffffe, /* bl */
		0xe28ddf4b, /* add sp, sp, #300 */
		0xecbd8b02, /* vpop {d8} */
		0xe8bd8ff0, /* pop {r4-r11, pc} */
	};
	static const uint32_t wanted[] = { LINK, 36, 44, 344, 344, 44, 36 };

	check_function(code, wanted, N(code), "a frame");
}

/* A function without a frame. It begins with a place for a tracer, which is not used. */
static void test_leaf(void)
{
	static const uint32_t code[] = {
		0xe52de004, /* str lr, [sp, #-4]! */
		0xe28dd004, /* add sp, sp, #4 */
		0xe3500000, /* cmp r0, #0 */
		0x012fff1e, /* bxeq lr */
		0xe320f000, /* nop */
		0xe1c100d0, /* ldrd r0, r1, [r1] */
		0xe12fff1e, /* bx lr */
	};
	static const uint32_t wanted[] = { LINK, 4, LINK, LINK, LINK, LINK, LINK };

	check_function(code, wanted, N(code), "a leaf");
}

/* __mod_memcg_lruvec_state() uses lr, and has saved it a second time for a moment. */
static void test_saved_twice(void)
{
	static const uint32_t code[] = {
		0xe92d4070, /* push {r4-r6, lr} */
		0xe52de004, /* str lr, [sp, #-4]! */
		0xe28dd004, /* add sp, sp, #4 */
		0xee1def90, /* mrc p15, 0, lr, c13, c0, 4 */
		0xe793200e, /* ldr r2, [r3, lr] */
		0x98bd8070, /* popls {r4-r6, pc} */
		0xebfffffe, /* bl */
		0xe8bd8070, /* pop {r4-r6, pc} */
	};
	static const uint32_t wanted[] = { LINK, 16, 20, 16, 16, 16, 16, 16 };

	check_function(code, wanted, N(code), "lr saved twice");
}

/* idle_cpu(): two ways out, and a jump back. */
static void test_frame_pointer(void)
{
	static const uint32_t code[] = {
		0xe92d0810, /* push {r4, r11} */
		0xe28db004, /* add r11, sp, #4 */
		0xe1510002, /* cmp r1, r2 */
		0x0a000003, /* beq 8 */
		0xe3a00000, /* mov r0, #0 */
		0xe24bd004, /* sub sp, r11, #4 */
		0xe8bd0810, /* pop {r4, r11} */
		0xe12fff1e, /* bx lr */
		0xe3520000, /* cmp r2, #0 */
		0x1afffff9, /* bne 4 */
		0xeafffff9, /* b 5 */
	};
	static const uint32_t wanted[] = { LINK,     LINK | 8, LINK | 8, LINK | 8,
					   LINK | 8, LINK | 8, LINK | 8, LINK,
					   LINK | 8, LINK | 8, LINK | 8 };

	check_function(code, wanted, N(code), "r11");
}

/* A frame after the first test, a call at the end, and code that only jumps back lead to. */
static void test_ways(void)
{
	static const uint32_t code[] = {
		0xe3500000, /* cmp r0, #0 */
		0x0a000007, /* beq 10 */
		0xe92d4010, /* push {r4, lr} */
		0xebfffffe, /* bl */
		0xe3500000, /* cmp r0, #0 */
		0x18bd8010, /* popne {r4, pc} */
		0xe8bd4010, /* pop {r4, lr} */
		0xeafffffe, /* b elsewhere: here itself */
		0xe1a00000, /* mov r0, r0: no path leads here */
		0xea000000, /* b 11 */
		0xe12fff1e, /* bx lr */
		0xe12fff1e, /* bx lr */
	};
	static const uint32_t wanted[] = { LINK, LINK, LINK, 8,	   8,	 8,
					   8,	 LINK, NONE, NONE, LINK, NONE };

	check_function(code, wanted, N(code), "several paths to one instruction");
}

static void test_unknown(void)
{
	static const uint32_t part[] = {
		0xe1a00004, /* mov r0, r4 */
		0xebfffffe, /* bl */
		0xeafffffe, /* b */
	};
	static const uint32_t variable[] = {
		0xe92d4800, /* push {r11, lr} */
		0xe04dd003, /* sub sp, sp, r3 */
		0xe320f000, /* nop */
		0xe8bd8800, /* pop {r11, pc} */
	};
	static const uint32_t lost[] = {
		0xe59de000, /* ldr lr, [sp] */
		0xe12fff1e, /* bx lr */
	};
	static const uint32_t none[] = { NONE, NONE, NONE };
	static const uint32_t of_variable[] = { LINK, 8, NONE, NONE };
	static const uint32_t of_lost[] = { LINK, NONE };
	struct frame_arm32 frame;

	check_function(part, none, N(part), "a part that was put elsewhere");
	check_function(variable, of_variable, N(variable), "a frame of any size");
	check_function(lost, of_lost, N(lost), "a changed lr that was not saved");
	check(!frame_arm32_find((const uint8_t *)part, sizeof(part), 64, &frame),
	      "an offset after the function gives no frame");
}

int main(void)
{
	test_plain();
	test_leaf();
	test_saved_twice();
	test_frame_pointer();
	test_ways();
	test_unknown();
	return tap_done();
}
