/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that go on in another frame (__builtin_eh_return): which rows of tables are theirs,
 * where their end is near, and when their caller is lost.
 */
#include "config.h"

#include "cfi_programs.h"
#include "unwind/eh_return.h"

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[16];
} made_stack = { .vcpu = { .n_stacks = 1 }, .stack = { .address = 0x7000, .size_bytes = 128 } };

/* A step from a function that begins with PROGRAM, with CFA 0x7030. */
static enum unwind_step step_from(const void *program, size_t bytes, struct cursor *cursor)
{
	struct cfi *cfi = compile_program(program, bytes);
	enum unwind_step step;

	cursor_init(cursor, &made_stack.vcpu);
	cursor->regs[REG_RIP] = 0x10000 + MADE_CODE + 4;
	cursor->regs[REG_RSP] = 0x7010;
	cursor->regs[REG_RBP] = 0x7020;
	step = cfi_step(cfi, 0x10000, cursor);
	cfi_destroy(cfi);
	return step;
}

static void test_caller(void)
{
	static const uint8_t both[] = { 0x0c, 6, 16, 0x80, 3, 0x81, 4 }; /* CFA rbp+16; rax, rdx */
	static const uint8_t rax[] = { 0x0c, 6, 16, 0x80, 3 };
	static const uint8_t by_rsp[] = { 0x0e, 32, 0x80, 2, 0x81, 3 };
	struct cursor cursor;

	for (unsigned i = 0; i < 16; i++)
		made_stack.words[i] = 0xa00 + i;
	check(step_from(rax, sizeof(rax), &cursor) == STEP_CALLER,
	      "a function that saves rax alone is like others");
	check(step_from(by_rsp, sizeof(by_rsp), &cursor) == STEP_CALLER,
	      "a function whose CFA is not rbp's is like others: it has loaded the registers");
	check(step_from(both, sizeof(both), &cursor) == STEP_EH_RETURN &&
		      cursor.regs[REG_RIP] == 0xa05,
	      "a function that saves rax and rdx may have lost its caller");
}

/*
 * The function's frame is [0x7010, 0x7030). Its return address is 0xa05, at 0x7028, and its rbx
 * the word at 0x7018.
 */
static bool find_caller(struct cursor *cursor)
{
	static const uint8_t saved[] = { 0x0c, 6, 16, 0x80, 3, 0x81, 4, 0x83, 3 };

	step_from(saved, sizeof(saved), cursor);
	return eh_return_find_caller(cursor, 0x7010);
}

static void test_overwritten(void)
{
	const uint32_t rbx = 1U << REG_RBX;
	struct cursor cursor;

	for (unsigned i = 0; i < 16; i++)
		made_stack.words[i] = 0xa00 + i;
	check(!find_caller(&cursor) && cursor.regs[REG_SP] == 0x7030 && cursor.known & rbx,
	      "a frame without addresses of words further out has its caller, and all registers");
	made_stack.words[9] = 0xa05;
	check(!find_caller(&cursor) && cursor.regs[REG_SP] == 0x7030,
	      "an equal word whose address the frame has not does not matter");
	made_stack.words[2] = 0x7050;
	check(!find_caller(&cursor) && cursor.known & rbx,
	      "a word further out that differs was written over nothing");
	made_stack.words[10] = 0xa03;
	check(!find_caller(&cursor) && !(cursor.known & rbx),
	      "a register whose word is also further out is not the caller's");
	made_stack.words[2] = 0x7048;
	check(find_caller(&cursor) && cursor.regs[REG_PC] == 0xa05 &&
		      cursor.regs[REG_SP] == 0x7050 && cursor.known & rbx,
	      "a return address that is also further out leads to the frame after that place");
	made_stack.words[2] = 0x7050;
	made_stack.words[4] = 0x7048;
	check(find_caller(&cursor) && cursor.known & rbx,
	      "the registers of the function that catches are known there");
	made_stack.words[4] = 0xa04;
	made_stack.words[2] = 0x7028;
	check(!find_caller(&cursor), "the address of the return address itself does not matter");
	made_stack.words[2] = 0x9000;
	check(!find_caller(&cursor), "an address outside of the stack does not matter");
}

static void test_end(void)
{
	/* call; je over a nop; mov -8(%rbp),%rbx; mov %rcx,%rsp; pop %rcx; jmp *%rcx */
	static const uint8_t end[] = { 0xe8, 0,    0,    0,    0,    0x74, 1,    0x90, 0x48,
				       0x8b, 0x5d, 0xf8, 0x48, 0x89, 0xcc, 0x59, 0xff, 0xe1 };
	uint8_t code[sizeof(end)];

	check(eh_return_is_near(end, sizeof(end), 0x1000),
	      "code with a call and a jump forwards leads to the end");
	check(eh_return_has_call(end, sizeof(end), 0x1000),
	      "code before the call has a call ahead");
	check(!eh_return_has_call(end + 5, sizeof(end) - 5, 0x1005),
	      "code after the call has no call ahead");
	check(!eh_return_is_near(end, 12, 0x1000), "code without the end does not lead to the end");
	check(!eh_return_is_near(end, 0, 0x1000), "no code does not lead to the end");
	memcpy(code, end, sizeof(end));
	code[6] = 0xf0;
	check(!eh_return_is_near(code, sizeof(code), 0x1000),
	      "code with a jump back may lead elsewhere");
	code[6] = 0x40;
	check(!eh_return_is_near(code, sizeof(code), 0x1000),
	      "code with a jump over the end may lead elsewhere");
	code[6] = 1;
	code[7] = 0xc3;
	check(!eh_return_is_near(code, sizeof(code), 0x1000),
	      "code with a ret does not lead to the end");
	code[7] = 0x06; /* no instruction of 64-bit code */
	check(!eh_return_is_near(code, sizeof(code), 0x1000),
	      "bytes that are no instruction do not lead to the end");
}

int main(void)
{
	test_caller();
	test_overwritten();
	test_end();
	return tap_done();
}
