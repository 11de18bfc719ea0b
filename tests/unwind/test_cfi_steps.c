/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps by the compiled table, over a stack that is made here.
 */
#include "config.h"

#include "cfi_programs.h"

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[16];
} made_stack = { .vcpu = { .n_stacks = 1 }, .stack = { .address = 0x7000, .size_bytes = 128 } };

static enum unwind_step step_program(const void *program, size_t bytes, struct cursor *cursor)
{
	struct cfi *cfi = compile_program(program, bytes);
	enum unwind_step step = cfi_step(cfi, 0x10000, cursor);

	cfi_destroy(cfi);
	return step;
}

static void start_at(struct cursor *cursor, uint64_t offset, uint64_t rsp)
{
	cursor_init(cursor, &made_stack.vcpu);
	cursor->regs[REG_RIP] = 0x10000 + MADE_CODE + offset;
	cursor->regs[REG_RSP] = rsp;
	cursor->regs[REG_RBP] = 0xbbbb;
	cursor->regs[REG_R12] = 0x1212;
}

static void test_steps(void)
{
	static const uint8_t frame[] = { 0x0e, 32, 0x86, 2, 0x83, 4, 0x50, 0x07, 16 };
	static const uint8_t by_rbp[] = { 0x0c, 6, 16 };
	static const uint8_t by_r10[] = { 0x0c, 10, 0 };
	struct cursor cursor;

	for (unsigned i = 0; i < 16; i++)
		made_stack.words[i] = 0xa00 + i;
	start_at(&cursor, 4, 0x7010);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_CALLER, "a step");
	check_u64(cursor.regs[REG_RSP], 0x7030, "rsp is the CFA");
	check_u64(cursor.regs[REG_RIP], 0xa05, "return address");
	check_u64(cursor.regs[REG_RBP], 0xa04, "rbp");
	check_u64(cursor.regs[REG_RBX], 0xa02, "rbx");
	check_u64(cursor.regs[REG_R12], 0x1212, "r12 is unchanged");
	check(!cursor.interrupted, "a return address");
	check(cursor.known == CFI_KEPT_MASK, "known: %#x (expected %#x)", cursor.known,
	      CFI_KEPT_MASK);
	check_u64(cursor.reached[0], 0x7030, "reached");

	start_at(&cursor, 0x11, 0x7010);
	cursor.interrupted = false; /* a return address: rip - 1 is looked up */
	check(step_program(frame, sizeof(frame), &cursor) == STEP_OUTERMOST, "rip - 1 is 0x10");
	start_at(&cursor, 0x10, 0x7010);
	cursor.interrupted = false;
	check(step_program(frame, sizeof(frame), &cursor) == STEP_CALLER, "rip - 1 is 0xf");

	start_at(&cursor, 4, 0x7070);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_CUT, "the stack is cut");
	check_u64(cursor.regs[REG_RSP], 0x7070, "the cursor is unchanged");
	start_at(&cursor, 0x100, 0x7010);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_NOT_COVERED,
	      "behind the function");
	start_at(&cursor, -1ULL, 0x7010);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_NOT_COVERED,
	      "before the function");

	start_at(&cursor, 4, 0x7010);
	cursor.regs[REG_RBP] = 0x7040;
	check(step_program(by_rbp, sizeof(by_rbp), &cursor) == STEP_CALLER, "by rbp");
	check_u64(cursor.regs[REG_RSP], 0x7050, "its CFA");
	start_at(&cursor, 4, 0x7010);
	cursor.known &= ~(1U << REG_R10);
	check(step_program(by_r10, sizeof(by_r10), &cursor) == STEP_BAD,
	      "CFA by r10, which is not known");

	made_stack.words[5] = 0;
	start_at(&cursor, 4, 0x7010);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_OUTERMOST,
	      "a return address of 0");
}

/*
 * An epilogue pops registers, and only the CFA's rule says so: the FDE goes on naming the places
 * where they were saved. Those lie below the stack pointer, and nothing below it is copied.
 */
static void test_epilogue(void)
{
	/* rbp at CFA-16, rbx at CFA-24, r12 at CFA-32; behind pop r12 and pop rbx CFA is rsp+16 */
	static const uint8_t popped[] = { 0x0e, 16, 0x86, 2, 0x83, 3, 0x8c, 4 };
	static const uint8_t return_below[] = { 0x0e, 0, 0x86, 2 };
	struct cursor cursor;

	for (unsigned i = 0; i < 16; i++)
		made_stack.words[i] = 0xa00 + i;
	start_at(&cursor, 4, 0x7000);
	cursor.regs[REG_RBX] = 0xb1b1;
	check(step_program(popped, sizeof(popped), &cursor) == STEP_CALLER,
	      "a step from an epilogue");
	check_u64(cursor.regs[REG_RSP], 0x7010, "rsp is the CFA");
	check_u64(cursor.regs[REG_RIP], 0xa01, "return address");
	check_u64(cursor.regs[REG_RBP], 0xa00, "rbp is still on the stack");
	check_u64(cursor.regs[REG_RBX], 0xb1b1, "rbx was popped");
	check_u64(cursor.regs[REG_R12], 0x1212, "r12 was popped");
	check_u64(cursor.reached[0], 0x7010, "reached");
	start_at(&cursor, 4, 0x7000);
	cursor.interrupted = false;
	check(step_program(popped, sizeof(popped), &cursor) == STEP_CUT,
	      "a caller is never in an epilogue");
	start_at(&cursor, 4, 0x6ff8);
	check(step_program(popped, sizeof(popped), &cursor) == STEP_CUT,
	      "what was not popped is missing");
	start_at(&cursor, 4, 0x7000);
	check(step_program(return_below, sizeof(return_below), &cursor) == STEP_CUT,
	      "a return address below the stack pointer");
	start_at(&cursor, 4, 0x7079);
	check(step_program(popped, sizeof(popped), &cursor) == STEP_CUT, "an odd stack pointer");
}

/* The PLT stub pushes its number at 6 and jumps at 11. */
static void test_plt(void)
{
	static const uint8_t plt[] = { 0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
				       0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	struct cursor cursor;

	for (unsigned i = 0; i < 16; i++)
		made_stack.words[i] = 0xa00 + i;
	start_at(&cursor, 0x20, 0x7010);
	check(step_program(plt, sizeof(plt), &cursor) == STEP_CALLER, "PLT");
	check_u64(cursor.regs[REG_RIP], 0xa02, "before the push");
	start_at(&cursor, 0x2b, 0x7010);
	check(step_program(plt, sizeof(plt), &cursor) == STEP_CALLER, "PLT");
	check_u64(cursor.regs[REG_RIP], 0xa03, "behind the push");
}

int main(void)
{
	test_steps();
	test_epilogue();
	test_plt();
	return tap_done();
}
