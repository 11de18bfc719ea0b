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
	check(step_program(frame, sizeof(frame), &cursor) == STEP_CALLER,
	      "a step by a frame's rule reaches the caller");
	check_u64(cursor.regs[REG_RSP], 0x7030, "after a step rsp is the CFA");
	check_u64(cursor.regs[REG_RIP], 0xa05, "after a step rip is the return address");
	check_u64(cursor.regs[REG_RBP], 0xa04, "after a step rbp is the saved word");
	check_u64(cursor.regs[REG_RBX], 0xa02, "after a step rbx is the saved word");
	check_u64(cursor.regs[REG_R12], 0x1212,
		  "after a step r12, which is not saved, is unchanged");
	check(!cursor.interrupted, "after a step rip counts as a return address");
	check(cursor.known == CFI_PRESERVED_MASK,
	      "registers known after a step: %#x (expected %#x)", cursor.known, CFI_PRESERVED_MASK);
	check_u64(cursor.reached[0], 0x7030, "the bytes up to the CFA count as reached");

	start_at(&cursor, 0x11, 0x7010);
	cursor.interrupted = false; /* a return address: rip - 1 is looked up */
	check(step_program(frame, sizeof(frame), &cursor) == STEP_OUTERMOST,
	      "a return address is looked up by the byte before, in the outermost row");
	start_at(&cursor, 0x10, 0x7010);
	cursor.interrupted = false;
	check(step_program(frame, sizeof(frame), &cursor) == STEP_CALLER,
	      "a return address is looked up by the byte before, in the row before");

	start_at(&cursor, 4, 0x7070);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_CUT,
	      "a step without its stack bytes is cut");
	check_u64(cursor.regs[REG_RSP], 0x7070, "a step that is cut leaves rsp unchanged");
	start_at(&cursor, 0x100, 0x7010);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_NOT_COVERED,
	      "code after the function is not covered");
	start_at(&cursor, -1ULL, 0x7010);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_NOT_COVERED,
	      "code before the function is not covered");

	start_at(&cursor, 4, 0x7010);
	cursor.regs[REG_RBP] = 0x7040;
	check(step_program(by_rbp, sizeof(by_rbp), &cursor) == STEP_CALLER,
	      "a step by rbp reaches the caller");
	check_u64(cursor.regs[REG_RSP], 0x7050, "after a step by rbp, rsp is the CFA");
	start_at(&cursor, 4, 0x7010);
	cursor.known &= ~(1U << REG_R10);
	check(step_program(by_r10, sizeof(by_r10), &cursor) == STEP_NOT_COVERED,
	      "a CFA by an unknown r10 is left to what the instructions tell");

	made_stack.words[5] = 0;
	start_at(&cursor, 4, 0x7010);
	check(step_program(frame, sizeof(frame), &cursor) == STEP_OUTERMOST,
	      "a return address of 0 ends the chain");
}

/*
 * An epilogue pops registers, and only the CFA's rule says so: the FDE goes on naming the places
 * where they were saved. Those lie below the stack pointer, and nothing below it is copied.
 */
static void test_epilogue(void)
{
	/* rbp at CFA-16, rbx at CFA-24, r12 at CFA-32; after pop r12 and pop rbx CFA is rsp+16 */
	static const uint8_t popped[] = { 0x0e, 16, 0x86, 2, 0x83, 3, 0x8c, 4 };
	static const uint8_t return_below[] = { 0x0e, 0, 0x86, 2 };
	struct cursor cursor;

	for (unsigned i = 0; i < 16; i++)
		made_stack.words[i] = 0xa00 + i;
	start_at(&cursor, 4, 0x7000);
	cursor.regs[REG_RBX] = 0xb1b1;
	check(step_program(popped, sizeof(popped), &cursor) == STEP_CALLER,
	      "a step from an epilogue reaches the caller");
	check_u64(cursor.regs[REG_RSP], 0x7010, "after a step rsp is the CFA");
	check_u64(cursor.regs[REG_RIP], 0xa01, "after a step rip is the return address");
	check_u64(cursor.regs[REG_RBP], 0xa00, "in an epilogue rbp is still read from the stack");
	check_u64(cursor.regs[REG_RBX], 0xb1b1, "in an epilogue rbx, which was popped, is kept");
	check_u64(cursor.regs[REG_R12], 0x1212, "in an epilogue r12, which was popped, is kept");
	check_u64(cursor.reached[0], 0x7010, "the bytes up to the CFA count as reached");
	start_at(&cursor, 4, 0x7000);
	cursor.interrupted = false;
	check(step_program(popped, sizeof(popped), &cursor) == STEP_CUT,
	      "a caller, never in an epilogue, is cut");
	start_at(&cursor, 4, 0x6ff8);
	check(step_program(popped, sizeof(popped), &cursor) == STEP_CUT,
	      "an epilogue without its other words is cut");
	start_at(&cursor, 4, 0x7000);
	check(step_program(return_below, sizeof(return_below), &cursor) == STEP_CUT,
	      "a return address below the stack pointer is cut");
	start_at(&cursor, 4, 0x7079);
	check(step_program(popped, sizeof(popped), &cursor) == STEP_CUT,
	      "an odd stack pointer in an epilogue is cut");
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
	check(step_program(plt, sizeof(plt), &cursor) == STEP_CALLER,
	      "a step from a PLT stub reaches the caller");
	check_u64(cursor.regs[REG_RIP], 0xa02, "before a PLT stub's push the caller is on top");
	start_at(&cursor, 0x2b, 0x7010);
	check(step_program(plt, sizeof(plt), &cursor) == STEP_CALLER,
	      "a step from a PLT stub reaches the caller");
	check_u64(cursor.regs[REG_RIP], 0xa03,
		  "after a PLT stub's push the caller is one word above");
}

/*
 * As glibc's __longjmp: rdi has the CFA, r8 the new stack pointer, r9 the new rbp, rdx the new
 * place.
 */
static void test_jump(void)
{
	static const uint8_t jump[] = { 0x0c, 5, 0, 0x09, 7, 8, 0x09, 6, 9, 0x09, 16, 1, 0x83, 0 };
	struct cursor cursor;

	start_at(&cursor, 4, 0x7000);
	cursor.regs[REG_R8] = 0x7020;
	cursor.regs[REG_R9] = 0xbbb;
	cursor.regs[REG_RDX] = 0xddd;
	check(step_program(jump, sizeof(jump), &cursor) == STEP_NOT_COVERED,
	      "before a jump changes the stack pointer, its row tells nothing");
	start_at(&cursor, 4, 0x7020);
	cursor.regs[REG_R8] = 0x7020;
	cursor.regs[REG_R9] = 0xbbb;
	cursor.regs[REG_RDX] = 0xddd;
	check(step_program(jump, sizeof(jump), &cursor) == STEP_CALLER,
	      "a jump that has changed the stack pointer leads on");
	check_u64(cursor.regs[REG_RIP], 0xddd, "the new place");
	check_u64(cursor.regs[REG_RSP], 0x7020, "the new stack pointer");
	check_u64(cursor.regs[REG_RBP], 0xbbb, "the new rbp");
	check(!(cursor.known >> REG_RBX & 1), "rbx, whose memory was not copied, is not known");
}

int main(void)
{
	test_jump();
	test_steps();
	test_epilogue();
	test_plt();
	return tap_done();
}
