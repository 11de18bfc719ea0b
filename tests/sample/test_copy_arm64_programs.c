/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied of a vCPU of arm64 (copy_arm64.h) that runs programs of 32 bits,
 * or Go.
 */
#include "config.h"

#include "copy_arm64.h"
#include "xtop/sample/go_stacks.h"

/* In user code: sp is x13, and the upper halves of registers are not defined. */
static void test_user32(void)
{
	begin();
	arm->pstate = USR;
	arm->sp_el0 = 0;
	arm->sp_el1 = STACK_END;
	arm->pc = CODE | 0xbad00000000;
	arm->x[13] = (USER32 + 0x100) | 0xbad00000000;
	arm->x[19] = USER + 0x6000; /* sp of svc mode, if there were one */
	copy(true);
	check_pieces(1, "32-bit user code");
	check_piece(0, STACK_FIRST, USER32 + 0x100, USER32 + 0x1100, "32-bit user code");
	check(sample_get_code_frame(&record.vcpu).value == *entry_of(CODE) >> 12 &&
		      record.vcpu.stack_cut == CUT_LIMIT,
	      "32-bit user code has the frame of its code");
	control_set_linux_stacks(control, NULL);
	copy_poll_stacks(&copier);
	copy(true);
	check_pieces(1, "32-bit user code before the kernel is known");
	check_piece(0, STACK_FIRST, USER32 + 0x100, USER32 + 0x1100,
		    "32-bit user code before the kernel is known");
	end();
}

static void test_system_call32(void)
{
	begin();
	put_user32((USER32 + 0x200) | 0xbad00000000, CODE);
	copy(false);
	check_pieces(2, "a system call of 32-bit code");
	check_piece(0, STACK_FIRST, STACK + 0x3c00, STACK_END,
		    "a system call of 32-bit code: the task's stack");
	check_piece(1, STACK_USER, USER32 + 0x200, USER32 + 0x1200,
		    "a system call of 32-bit code: the user's stack, at x13");
	end();
}

/* SP_EL0 is 0. The user's x13 is in the vCPU, or on the task's stack. */
static void test_entering32(void)
{
	begin();
	put_user32(USER32 + 0x200, CODE + 8); /* an earlier entry has saved these registers */
	arm->sp_el0 = 0;
	arm->sp_el1 = STACK_END;
	arm->spsr_el1 = USR;
	arm->elr_el1 = CODE + 16;
	arm->x[13] = USER32 + 0x180;
	copy(false);
	check_pieces(1, "32-bit code has entered");
	check_piece(0, STACK_USER, USER32 + 0x180, USER32 + 0x1180, "32-bit code has entered");
	arm->sp_el1 = STACK_END - 336;
	copy(false);
	check_pieces(2, "32-bit code has entered, while registers are saved");
	check_piece(0, STACK_FIRST, STACK_END - 336, STACK_END,
		    "32-bit code has entered, while registers are saved");
	check_piece(1, STACK_USER, USER32 + 0x180, USER32 + 0x1180,
		    "32-bit code has entered: the user's stack is at x13");
	arm->x[13] = 0;
	copy(false);
	check_piece(1, STACK_USER, USER32 + 0x200, USER32 + 0x1200,
		    "32-bit code has entered and x13 is cleared: the saved x13");
	arm->x[13] = STACK; /* anything */
	arm->elr_el1 = CODE + 8;
	copy(false);
	check_piece(1, STACK_USER, USER32 + 0x200, USER32 + 0x1200,
		    "on the way back to 32-bit code: the saved x13");
	arm->x[13] = USER32 + 0x180;
	arm->elr_el1 = arm->pc; /* an interrupt in the kernel has set it */
	arm->spsr_el1 = EL1H;
	copy(false);
	check_pieces(2, "on the way back, before ELR_EL1 is the user's");
	check_piece(1, STACK_USER, USER32 + 0x200, USER32 + 0x1200,
		    "on the way back, before ELR_EL1 is the user's: the saved x13");
	put_user(USER + 0x6000, 0);
	arm->sp_el0 = USER + 0x6000;
	copy(false);
	check_piece(1, STACK_USER, USER + 0x6000, USER + 0x7000,
		    "on the way back to 64-bit code: SP_EL0");
	arm->spsr_el1 = arm->elr_el1 = 0;
	copy(false);
	check_pieces(1, "64-bit code");
	check_piece(0, STACK_USER, USER + 0x6000, USER + 0x7000, "64-bit code has SP_EL0");
	end();
}

#define GO_STRUCTS   UINT64_C(0x0000004000000000) /* a part of Go's heap */
#define GO_M         GO_STRUCTS
#define GO_THREAD_G0 (GO_STRUCTS + 0x400)
#define GO_SIGNAL_G  (GO_STRUCTS + 0x600)
#define GO_CURG      (GO_STRUCTS + 0x800)
#define GO_STACK     UINT64_C(0x0000004000100000) /* the goroutine's, 16 KiB */
#define GO_STACK_END (GO_STACK + 0x4000)
#define GO_SIGNAL    UINT64_C(0x0000004000200000)
#define GO_PC        UINT64_C(0x0000000000401234)

static void put_g(uint64_t g, uint64_t low, uint64_t high)
{
	*word_at(g + GO_G_STACK_LOW) = low;
	*word_at(g + GO_G_STACK_HIGH) = high;
	*word_at(g + GO_G_M) = GO_M;
	*word_at(g + GO_G_SELF) = g;
	*word_at(g + GO_G_SP) = 0;
	*word_at(g + GO_G_PC) = GO_PC;
}

/* User code at SP, with G in x28. */
static void begin_go(uint64_t sp, uint64_t g)
{
	begin();
	add_pages(GO_STRUCTS, 4096);
	add_pages(GO_STACK, 0x4000);
	add_pages(GO_SIGNAL, 0x2000);
	*word_at(GO_M + GO_M_G0) = GO_THREAD_G0;
	*word_at(GO_M + 80) = GO_SIGNAL_G;
	*word_at(GO_M + 192) = GO_CURG;
	*word_at(GO_M + 200) = 0;
	put_g(GO_THREAD_G0, USER, USER + 0x7000);
	put_g(GO_SIGNAL_G, GO_SIGNAL, GO_SIGNAL + 0x2000);
	put_g(GO_CURG, GO_STACK, GO_STACK_END);
	arm->pstate = 0;
	arm->pc = CODE + 8;
	arm->sp_el0 = sp;
	arm->x[28] = g;
}

static uint64_t first_word(unsigned i)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);
	uint64_t word;

	while (i--)
		piece = sample_next_stack(piece);
	memcpy(&word, piece + 1, sizeof(word));
	return word;
}

static void check_left(const char *what)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);

	check_pieces(2, what);
	if (record.vcpu.n_stacks < 2)
		return;
	piece = sample_next_stack(piece);
	check(piece->kind == STACK_GOROUTINE && piece->address == GO_STACK + 0xff8 &&
		      piece->address + piece->size_bytes == GO_STACK_END && first_word(1) == GO_PC,
	      "%s: the second piece is the goroutine's stack", what);
}

/* Deep in a goroutine: all of its stack is copied, before the resolver knows anything. */
static void test_go(void)
{
	begin_go(GO_STACK + 8, GO_CURG);
	copy(true);
	check_pieces(1, "a goroutine");
	check_piece(0, STACK_FIRST, GO_STACK + 8, GO_STACK_END, "a goroutine");
	*word_at(GO_CURG + GO_G_M) = GO_M + 8;
	copy(true);
	check(record.vcpu.n_stacks == 1 && record.vcpu.size_bytes < 6000,
	      "a thread whose x28 is no g has no goroutine");
	end();
}

static void test_go_on_g0(void)
{
	const struct go_stacks other = { .g = GO_G_IN_REGISTER, .gsignal = 80, .curg = 200 };

	begin_go(USER + 0x5000, GO_THREAD_G0);
	*word_at(GO_CURG + GO_G_SP) = GO_STACK + 0x1000;
	control_set_go_stacks(
		control, registers_space(regs),
		&(struct go_stacks){ .g = GO_G_IN_REGISTER, .gsignal = 80, .curg = 192 }, false);
	copy(true);
	check_left("on g0's stack");
	*word_at(STACK_END - 336 + 8 * 28) = GO_THREAD_G0;
	put_user(USER + 0x5000, 0);
	*arm = (struct registers_arm64){
		.pc = 0xffffffc008010000,
		.pstate = EL1H,
		.sp_el0 = TASK,
		.sp_el1 = STACK_END - 336 - 64,
		.sctlr = SCTLR_ARM64_M,
		.tcr = TCR,
		.ttbr0 = lower << 12,
		.ttbr1 = upper << 12,
	};
	copy(false);
	check(record.vcpu.n_stacks == 3 && first_word(2) == GO_PC,
	      "a thread of Go in the kernel has its goroutine: %u pieces", record.vcpu.n_stacks);
	control_set_go_stacks(control, registers_space(regs), &other, false);
	copy(false);
	check_pieces(2, "a version of Go that has curg elsewhere");
	end();
}

/* x28 belongs to no mode of a program of 32 bits. */
static void test_go_and_32_bits(void)
{
	begin_go(0, GO_CURG);
	arm->pstate = USR;
	arm->x[13] = USER32 + 0x100;
	copy(true);
	check_pieces(1, "32-bit code has no goroutine");
	check_piece(0, STACK_FIRST, USER32 + 0x100, USER32 + 0x1100, "32-bit code");
	end();
}

int main(void)
{
	test_user32();
	test_system_call32();
	test_entering32();
	test_go();
	test_go_on_g0();
	test_go_and_32_bits();
	return tap_done();
}
