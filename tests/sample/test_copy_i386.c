/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied of a vCPU of a 32-bit Linux guest with PAE: the task by the
 * number of the CPU, its stack, the interrupts' stack, and the user's. Every copy runs as in the
 * sampler: what is mapped outside the stop is copied in the stop.
 */
#include "config.h"

#include "tests/sample/copy_32.h"
#include "xtop/base/registers_i386.h"

#define TASK       0xc113bd80U /* task_struct */
#define STACK      0xc1c24000U /* a stack of 8 KiB, at a multiple of 8 KiB */
#define STACK_END  (STACK + 0x2000)
#define IRQ        0xc1022000U
#define IRQ_END    (IRQ + 0x2000)
#define ENTRY      0xff403000U
#define ENTRY_END  (ENTRY + 0x1000)
#define USER       0xbfc00000U
#define USER_BYTES 0x8000
#define CODE       0x08049000U

#define TABLE    0xc37d76a0U /* __per_cpu_offset */
#define CURRENT  0xc3e80808U /* current_task */
#define PER_CPU  0x04009000U /* the base of CPU 1 */
#define TASK_STACK 20

#define REGS (STACK_END - 8 - PT_I386_BYTES)

/* --- the guest -------------------------------------------------------------------------------- */

/* The entry for ADDRESS in its table of level 1. Missing tables are made. */
static uint64_t *entry_of(uint32_t address)
{
	uint64_t *top = (uint64_t *)memory_guest_page(memory, regs->cr3 >> 12) +
			(regs->cr3 & 0xfe0) / 8 + (address >> 30);
	uint64_t *entry;

	if (!*top)
		*top = next_frame++ << 12 | PTE_P;
	entry = (uint64_t *)memory_guest_page(memory, *top >> 12) + (address >> 21 & 511);
	if (!*entry)
		*entry = next_frame++ << 12 | PTE_P;
	return (uint64_t *)memory_guest_page(memory, *entry >> 12) + (address >> 12 & 511);
}

static void add_pages(uint32_t address, uint32_t size)
{
	add_valid_pages(address, size, PTE_P);
}

static void put_user(uint32_t sp, uint32_t cs)
{
	*word_at(REGS + PT_I386_AT(PT_I386_SP)) = sp;
	*word_at(REGS + PT_I386_AT(PT_I386_CS)) = cs;
}

static void begin(void)
{
	const struct linux_stacks stacks = {
		.current_per_cpu = CURRENT,
		.per_cpu_table = TABLE,
		.task_stack = TASK_STACK,
		.stack_bytes = 0x2000,
	};

	begin_guest(1);
	next_frame = 0x200;
	*regs = (struct registers){
		.rip = 0xc3010000, .rsp = STACK + 0x1c04, .width = WIDTH_32_PAE,
		.cr0 = CR0_PG,	   .cr4 = CR4_PAE,	  .cr3 = next_frame++ << 12 | 0x20,
	};
	add_pages(TASK, 64);
	add_pages(STACK, 0x2000);
	add_pages(IRQ, 0x2000);
	add_pages(USER, USER_BYTES);
	add_pages(CODE, 4096);
	add_pages(TABLE, 64);
	add_pages((uint32_t)(PER_CPU + CURRENT), 4);
	*word_at(TABLE + 4) = PER_CPU;
	*word_at((uint32_t)(PER_CPU + CURRENT)) = TASK;
	*word_at(TASK + TASK_STACK) = STACK;
	put_user(USER + 0x6004, 0x73);
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
}

static void test_kernel(void)
{
	begin();
	copy(false);
	check_u64(record.vcpu.task, TASK, "the task of a system call, by the number of the CPU");
	check_u64(copied.n_stacks, 2, "pieces of a system call");
	check_piece(0, STACK_FIRST, STACK + 0x1c04, STACK_END, "a system call: the task's stack");
	check_piece(1, STACK_USER, USER + 0x6004, USER + 0x7004, "a system call: the user's stack");
	put_user(0, 0x60);
	copy(false);
	check_u64(copied.n_stacks, 1, "a kernel thread has no user's stack");
	check(copied.user_cut == CUT_NONE, "a kernel thread misses no page");
	end();
}

static void test_user(void)
{
	begin();
	regs->rip = CODE + 8;
	regs->rsp = USER + 0x6004;
	copy(true);
	check_u64(record.vcpu.task, TASK, "the task of user code");
	check_piece(0, STACK_FIRST, USER + 0x6004, USER + 0x7004, "user code: its stack");
	check_u64(sample_get_code_frame(&record.vcpu).value, *entry_of(CODE) >> 12,
		  "the frame of the code that ran");
	regs->rsp = STACK;
	copy(true);
	check_u64(copied.n_stacks, 0, "a program's stack pointer into the kernel copies nothing");
	end();
}

/* Its first word is where the task's stack goes on; the frame that changed stacks is below that. */
static void test_interrupt(void)
{
	begin();
	regs->rsp = IRQ + 0x1f00;
	*word_at(IRQ) = STACK + 0x1d00;
	copy(false);
	check_piece(0, STACK_FIRST, IRQ + 0x1f00, IRQ_END, "an interrupt: the interrupts' stack");
	check_piece(1, STACK_LINKED, STACK + 0x1d00 - 64, STACK_END,
		    "an interrupt: the task's stack");
	check_piece(2, STACK_USER, USER + 0x6004, USER + 0x7004, "an interrupt: the user's stack");
	*word_at(IRQ) = STACK + 0x10;
	copy(false);
	check_piece(1, STACK_LINKED, STACK, STACK_END,
		    "an interrupt: no byte below the task's stack");
	*word_at(IRQ) = IRQ + 0x100;
	copy(false);
	check_u64(copied.n_stacks, 2, "a link to the same stack is none");
	*word_at(IRQ) = 0x1000;
	copy(false);
	check_u64(copied.n_stacks, 2, "a link to user memory is none");
	end();
}

/* The task's stack still has the registers of the entry before. */
static void test_entry_stack(void)
{
	begin();
	add_pages(ENTRY, 0x1000);
	regs->rsp = ENTRY_END - 20;
	*word_at(ENTRY_END - 16) = 0x73;
	*word_at(ENTRY_END - 8) = USER + 0x5004;
	*word_at(ENTRY_END - 4) = 0x7b;
	copy(false);
	check_piece(0, STACK_FIRST, ENTRY_END - 20, ENTRY_END,
		    "entering the kernel: the entry stack");
	check_piece(1, STACK_USER, USER + 0x5004, USER + 0x6004,
		    "entering the kernel: the user's stack as the processor saved it");
	*word_at(ENTRY_END - 4) = 0x68;
	copy(false);
	check_piece(
		1, STACK_USER, USER + 0x6004, USER + 0x7004,
		"entering the kernel: the user's stack by the task's, if other words are there");
	end();
}

/* The task's stack has 0 as the user's stack pointer, or the one of an entry before. */
static void test_sysenter(void)
{
	begin();
	*word_at(REGS + PT_I386_AT(PT_I386_SP)) = 0;
	*word_at(REGS + PT_I386_AT(PT_I386_BP)) = USER + 0x5004;
	regs->rbp = USER + 0x4004;
	regs->rsp = REGS;
	copy(false);
	check_piece(1, STACK_USER, USER + 0x5004, USER + 0x6004, "sysenter: by the saved ebp");
	regs->rsp = REGS + PT_I386_AT(PT_I386_AX);
	copy(false);
	check_piece(1, STACK_USER, USER + 0x4004, USER + 0x5004, "sysenter: by ebp itself");
	*word_at(REGS + PT_I386_AT(PT_I386_SP)) = USER + 0x6004;
	regs->rsp = STACK_END - 12;
	copy(false);
	check_piece(1, STACK_USER, USER + 0x4004, USER + 0x5004, "sysenter: before 0 is pushed");

	add_pages(ENTRY, 0x1000);
	*word_at(REGS + PT_I386_AT(PT_I386_SP)) = USER + 0x6004;
	*word_at(REGS + PT_I386_AT(PT_I386_IP)) = CODE + 0x10;
	regs->rsp = ENTRY_END - 8;
	copy(false);
	check_piece(1, STACK_USER, USER + 0x4004, USER + 0x5004, "sysenter: the empty entry stack");
	regs->rcx = USER + 0x6004;
	regs->rdx = CODE + 0x10;
	copy(false);
	check_piece(1, STACK_LINKED, REGS, STACK_END, "sysexit: the user's registers");
	check_piece(2, STACK_USER, USER + 0x6004, USER + 0x7004, "sysexit: the user's stack");
	end();
}

static void test_unknown(void)
{
	begin();
	*word_at(TABLE + 4) = PER_CPU + 0x1000000;
	copy(false);
	check_u64(record.vcpu.task, 0, "a per-CPU area that is not there: no task");
	check_piece(0, STACK_FIRST, STACK + 0x1c04, STACK_END,
		    "a per-CPU area that is not there: the kernel's stack is copied");
	end();
}

/* Numbers that no kernel has. */
static void test_refused(void)
{
	struct linux_stacks stacks = { .current_per_cpu = CURRENT, .per_cpu_table = TABLE,
				       .task_stack = TASK_STACK,   .stack_bytes = 0x3000 };

	begin();
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	check(!copier.stacks.current_per_cpu, "a stack's size is a power of 2");
	stacks.stack_bytes = 0x2000;
	stacks.per_cpu_table = 1ULL << 32;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	check(!copier.stacks.current_per_cpu, "the table is in the first 4 GiB");
	end();
}

int main(void)
{
	test_kernel();
	test_user();
	test_interrupt();
	test_entry_stack();
	test_sysenter();
	test_unknown();
	test_refused();
	return tap_done();
}
