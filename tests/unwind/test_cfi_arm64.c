/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame information with the numbers of arm64, on any machine. The stack begins at STACK; in
 * the function sp points there when all has been saved.
 */
#include "config.h"

#include <string.h>

#include "tests/support/tap.h"
#include "unwind/cfi_table.h"
#include "unwind/cursor_arm32.h"
#include "xtop/unwind/unwind.h"

#define STACK  UINT64_C(0xffff800008100000)
#define CODE   UINT64_C(0xffff800008010000)
#define CALLER (CODE + 0x500)
#define TCR    (2ULL << 30 | 16ULL << 16 | 16)
#define PAC    UINT64_C(0x0053000000000000)
#define WORDS  80

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[WORDS];
} made;

/*
 * A function as gcc -mbranch-protection=standard makes it, at CODE:
 *
 *   0  paciasp   4  stp x29, x30, [sp, #-32]!   8  mov x29, sp   12  stp x19, x20, [sp, #16]   16 ...
 */
static struct {
	uint8_t cie[20], fde[40];
} eh_frame = {
	/* code in units of 4, data of -8; the return address is in x30; CFA sp + 0 */
	.cie = { 16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x00, 0x0c, 31, 0 },
	.fde = { 36,   0,    0,    0,    24,   0,    0,    0,                   /* length, CIE */
		 0x00, 0x00, 0x01, 0x08, 0x00, 0x80, 0xff, 0xff,                /* CODE */
		 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0,             /* 0x40 */
		 0x41, 0x2d,                                                    /* 4: signed */
		 0x41, 0x0e, 32,   0x9d, 4,    0x9e, 3,                         /* 8: x29, x30 */
		 0x42, 0x93, 2,    0x94, 1 },                                   /* 16: x19, x20 */
};

/* __kernel_rt_sigreturn() of the vDSO, at CODE: CFA x29, where x29 and x30 are. */
static struct {
	uint8_t cie[24], fde[36];
} vdso = {
	.cie = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 'S', 0, 4, 0x78, 30, 1, 0x00, 0x0c, 31, 0 },
	.fde = { 32,   0,    0,    0,    28,   0,    0,    0,
		 0x00, 0x00, 0x01, 0x08, 0x00, 0x80, 0xff, 0xff,
		 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0,
		 0x0c, 29,   0,    0x9d, 0,    0x11, 30,   0x7f },
};

static struct cfi *compile(const void *bytes, size_t size_bytes)
{
	const struct cfi_sections sections = {
		.eh_frame = { .bytes = bytes,
			      .size_bytes = size_bytes,
			      .address = CODE + 0x10000,
			      .is_arm64 = true },
	};
	struct cfi *cfi = NULL;
	struct xtop_error *error = cfi_compile(&sections, &cfi);

	check(!error, "call-frame information of arm64 is compiled");
	error_destroy(error);
	return cfi;
}

static void begin(uint32_t offset, struct cursor *cursor)
{
	struct registers_arm64 *regs = &made.vcpu.regs.arm64;

	memset(&made, 0, sizeof(made));
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1,
					  .stack_cut = CUT_LIMIT,
					  .regs = { .arch = ARCH_ARM64 } };
	made.stack = (struct sample_stack){ .address = STACK, .size_bytes = sizeof(made.words) };
	made.words[0] = 0x2929;
	made.words[1] = CALLER ^ PAC;
	made.words[2] = 0x1919;
	made.words[3] = 0x2020;
	*regs = (struct registers_arm64){ .pc = CODE + offset, .pstate = 5, .tcr = TCR };
	for (unsigned i = 0; i < 31; i++)
		regs->x[i] = 0xc00 + i;
	regs->sp_el1 = offset < 8 ? STACK + 32 : STACK;
	regs->x[30] = offset < 8 ? CALLER : 0xbad0;
	cursor_init(cursor, &made.vcpu);
}

static void check_step(struct cfi *cfi, uint32_t offset, uint64_t fp, uint64_t x19,
		       const char *what)
{
	struct cursor cursor;
	enum unwind_step step;

	begin(offset, &cursor);
	step = cfi_arm64_step(cfi, 0, &cursor);
	check(step == STEP_CALLER && cursor.regs[REG_PC] == CALLER &&
		      cursor.regs[REG_SP] == STACK + 32 && !cursor.interrupted,
	      "%s: step %d, pc %#jx, sp %#jx", what, step, (uintmax_t)cursor.regs[REG_PC],
	      (uintmax_t)cursor.regs[REG_SP]);
	check(cursor.regs[REG_ARM64_FP] == fp && cursor.regs[cursor_arm64_registers[19]] == x19 &&
		      cursor.regs[cursor_arm64_registers[21]] == 0xc00 + 21,
	      "%s: x29 %#jx, x19 %#jx", what, (uintmax_t)cursor.regs[REG_ARM64_FP],
	      (uintmax_t)cursor.regs[cursor_arm64_registers[19]]);
}

static void test_steps(struct cfi *cfi)
{
	struct cursor cursor;

	check_step(cfi, 0, 0xc00 + 29, 0xc00 + 19, "a frame before any register is saved");
	begin(4, &cursor);
	cursor.regs[REG_ARM64_LR] ^= PAC;
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_CALLER && cursor.regs[REG_PC] == CALLER,
	      "a signed x30 is stripped");
	check_step(cfi, 8, 0x2929, 0xc00 + 19, "x29 and x30 are saved");
	check_step(cfi, 12, 0x2929, 0xc00 + 19, "a frame before x19 is saved");
	check_step(cfi, 16, 0x2929, 0x1919, "a frame with all registers saved");
}

static void test_ends(struct cfi *cfi)
{
	struct cursor cursor;

	begin(0x40, &cursor);
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_NOT_COVERED,
	      "code after the function is not covered");
	begin(16, &cursor);
	made.stack.size_bytes = 24;
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_CUT,
	      "a frame whose saved words were not copied is cut");
	begin(16, &cursor);
	made.words[1] = 0;
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_OUTERMOST,
	      "a return address of 0 ends the chain");
	begin(0, &cursor);
	cursor.known &= ~(1U << REG_ARM64_LR);
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_BAD,
	      "a leaf with an unknown x30 has no caller");
	begin(16, &cursor);
	cfi_arm64_step(cfi, 0, &cursor);
	check(!(cursor.known & 1) && cursor.known >> REG_ARM64_FP & 1 &&
		      cursor.known >> cursor_arm64_registers[28] & 1,
	      "after a step x0 is unknown, and x28 and x29 are known");
	begin(16, &cursor);
	check(cfi_step(cfi, 0, &cursor) == STEP_NOT_COVERED,
	      "the step of x86 does not use a rule of arm64");
}

/*
 * Registers are saved at the low end of a frame: 8,064 bytes below the CFA, as for 2,000 numbers.
 */
static void test_large_frame(void)
{
	static const uint8_t program[] = {
		0x41, 0x0e, 0x80, 0x3f, 0x9d, 0xf0, 0x07, 0x9e, 0xef, 0x07, 0, 0, 0, 0, 0,
	};
	uint8_t kept[sizeof(program)];
	struct cursor cursor;
	enum unwind_step step;
	struct cfi *cfi;

	memcpy(kept, eh_frame.fde + 25, sizeof(kept));
	memcpy(eh_frame.fde + 25, program, sizeof(program));
	cfi = compile(&eh_frame, sizeof(eh_frame));
	begin(8, &cursor);
	step = cfi ? cfi_arm64_step(cfi, 0, &cursor) : STEP_BAD;
	check(step == STEP_CALLER && cursor.regs[REG_PC] == CALLER &&
		      cursor.regs[REG_SP] == STACK + 8064 && cursor.regs[REG_ARM64_FP] == 0x2929,
	      "a frame of 8,064 bytes: step %d, pc %#jx, sp %#jx", step,
	      (uintmax_t)cursor.regs[REG_PC], (uintmax_t)cursor.regs[REG_SP]);
	cfi_destroy(cfi);
	memcpy(eh_frame.fde + 25, kept, sizeof(kept));
}

/*
 * As glibc's __longjmp: before 4 nothing is said; then the CFA is x0, and the registers lie above
 * it; from 16 on they are said to be the caller's. The instructions tell more.
 */
static void test_jump(void)
{
	static const uint8_t program[] = {
		0x41, 0x0c, 0,	  0,	0x11, 29, 0x76, 0x11, 30, 0x75, /* 4: x29, x30 at CFA + 80, 88 */
		0x43, 0x08, 29, 0x08, 30,                              /* 16: same values */
	};
	uint8_t kept[sizeof(program)];
	struct cursor cursor;
	struct cfi *cfi;

	memcpy(kept, eh_frame.fde + 25, sizeof(kept));
	memcpy(eh_frame.fde + 25, program, sizeof(program));
	cfi = compile(&eh_frame, sizeof(eh_frame));
	for (uint32_t at = 0; cfi && at < 0x40; at += 4) {
		begin(at, &cursor);
		check(cfi_arm64_step(cfi, 0, &cursor) == (at < 4 ? STEP_CALLER : STEP_NOT_COVERED),
		      "rows that tell where a jump leads are not used: %#x", at);
	}
	cfi_destroy(cfi);
	memcpy(eh_frame.fde + 25, kept, sizeof(kept));
}

static void test_refused(void)
{
	struct cfi *cfi;

	eh_frame.cie[14] = 16;
	cfi = compile(&eh_frame, sizeof(eh_frame));
	check(!cfi, "a CIE with the return register of x86-64 is refused");
	cfi_destroy(cfi);
	eh_frame.cie[14] = 30;
}

/* --- 32 bits ---------------------------------------------------------------------------------- */

#define CODE_32   UINT64_C(0xc0010000)
#define CALLER_32 (CODE_32 + 0x500)
#define STACK_32  UINT64_C(0xc0800000)

/*
 * A .debug_frame as clang makes it: a function at CODE_32, and one without a caller after it.
 *
 *   0  push {r4, r11, lr}   4  sub sp, sp, #20   8 ...
 */
static uint8_t debug_frame[] = {
	/* version 3, code in units of 1, data of -4; the return address is in lr; CFA sp + 0 */
	12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x7c, 14, 0x0c, 13, 0,
	/* CFA sp + 12: lr, r11, r4; CFA sp + 32 */
	28, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0x01, 0xc0, 0x40, 0, 0, 0,
	0x44, 0x0e, 12, 0x8e, 1, 0x8b, 2, 0x84, 3, 0x44, 0x0e, 32, 0, 0, 0, 0,
	16, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x00, 0x01, 0xc0, 0x40, 0, 0, 0, 0x07, 14, 0, 0,
};

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint32_t words[WORDS];
} made_32;

static void begin_32(uint32_t offset, uint64_t sp, struct cursor *cursor)
{
	struct registers_arm64 *regs = &made_32.vcpu.regs.arm64;

	memset(&made_32, 0, sizeof(made_32));
	made_32.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made_32),
					     .state = VCPU_RUNNING,
					     .n_stacks = 1,
					     .stack_cut = CUT_LIMIT,
					     .regs = { .arch = ARCH_ARM64 } };
	made_32.stack = (struct sample_stack){ .address = STACK_32,
					       .size_bytes = sizeof(made_32.words) };
	made_32.words[5] = 0x0404;
	made_32.words[6] = 0x1111;
	made_32.words[7] = CALLER_32 | 1;
	*regs = (struct registers_arm64){ .pc = CODE_32 + offset, .pstate = 0x13 };
	for (unsigned i = 0; i < 13; i++)
		regs->x[i] = 0xc00 + i;
	regs->x[19] = sp;
	regs->x[18] = offset ? 0xbad0 : CALLER_32 | 1;
	cursor_init(cursor, &made_32.vcpu);
}

static void check_step_32(struct cfi *cfi, uint32_t offset, uint64_t sp, uint64_t r4, uint64_t fp,
			  const char *what)
{
	struct cursor cursor;
	enum unwind_step step;

	begin_32(offset, sp, &cursor);
	step = cfi_arm64_step(cfi, 0, &cursor);
	check(step == STEP_CALLER && cursor.regs[REG_PC] == CALLER_32 && cursor.thumb &&
		      cursor.regs[REG_SP] == STACK_32 + 32 && cursor.regs[4] == r4 &&
		      cursor.regs[REG_ARM32_R11] == fp && cursor.regs[REG_ARM32_R7] == 0xc07,
	      "%s: step %d, pc %#jx, sp %#jx", what, step, (uintmax_t)cursor.regs[REG_PC],
	      (uintmax_t)cursor.regs[REG_SP]);
}

static void test_32(void)
{
	const struct cfi_sections sections = {
		.debug_frame = { .bytes = debug_frame,
				 .size_bytes = sizeof(debug_frame),
				 .is_short = true,
				 .is_arm64 = true },
	};
	struct cursor cursor;
	struct cfi *cfi = NULL;

	error_destroy(cfi_compile(&sections, &cfi));
	check(cfi, "32 bits: call-frame information is compiled");
	check_step_32(cfi, 0, STACK_32 + 32, 0xc04, 0xc0b, "32 bits: the caller is in lr, in Thumb code");
	check_step_32(cfi, 4, STACK_32 + 20, 0x0404, 0x1111,
		      "32 bits: a frame with all registers saved");
	check_step_32(cfi, 8, STACK_32, 0x0404, 0x1111, "32 bits: below the locals");
	begin_32(0, STACK_32 + 32, &cursor);
	cursor.regs[REG_PC] = CODE_32 + 4;
	cursor.interrupted = false;
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_BAD,
	      "32 bits: after a call, an unsaved lr gives no caller");
	begin_32(0x44, STACK_32, &cursor);
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_OUTERMOST, "32 bits: lr is undefined");
	begin(8, &cursor);
	cursor.regs[REG_PC] = CODE_32 + 8;
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_NOT_COVERED,
	      "a table of 32 bits does not cover a vCPU of 64 bits");
	cfi_destroy(cfi);
}

/*
 * A signal's handler returns to __kernel_rt_sigreturn(), with the stack pointer at the kernel's
 * frame: struct siginfo, 128 bytes, and struct ucontext. x30 of the interrupted code is old.
 */
static void test_signal(struct cfi *cfi)
{
	uint64_t *saved = made.words + 39;
	struct cursor cursor;

	begin(0x20, &cursor);
	made.vcpu.user = true;
	made.vcpu.regs.arm64.pstate = 0;
	made.vcpu.regs.arm64.sp_el0 = STACK;
	cursor_init(&cursor, &made.vcpu);
	cursor.interrupted = false;
	cursor.known = 1U << REG_PC | 1U << REG_SP;
	for (unsigned i = 0; i < 31; i++)
		saved[i] = 0xd00 + i;
	saved[31] = 0x7000;
	saved[32] = CALLER;
	saved[35] = UINT64_C(0x0000021046508001); /* the record of SIMD registers */
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_CALLER && cursor.regs[REG_PC] == CALLER &&
		      cursor.regs[REG_SP] == 0x7000 && cursor.interrupted &&
		      cursor.known == UINT32_MAX && cursor.regs[REG_ARM64_LR] == 0xd00 + 30 &&
		      cursor.regs[cursor_arm64_registers[19]] == 0xd00 + 19,
	      "a signal frame gives the interrupted registers");
	begin(0x20, &cursor);
	made.vcpu.user = true;
	saved[33] = 5; /* EL1: no signal's frame */
	cursor_init(&cursor, &made.vcpu);
	cursor.regs[REG_ARM64_FP] = STACK;
	check(cfi_arm64_step(cfi, 0, &cursor) == STEP_CALLER && cursor.regs[REG_PC] == CALLER &&
		      cursor.regs[REG_SP] == STACK,
	      "without a signal frame the table's rule is used");
}

int main(void)
{
	struct cfi *cfi = compile(&eh_frame, sizeof(eh_frame));

	if (!cfi)
		return 1;
	test_steps(cfi);
	test_ends(cfi);
	cfi_destroy(cfi);
	cfi = compile(&vdso, sizeof(vdso));
	if (!cfi)
		return 1;
	test_signal(cfi);
	cfi_destroy(cfi);
	test_large_frame();
	test_jump();
	test_refused();
	test_32();
	return tap_done();
}
