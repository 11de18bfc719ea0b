/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied of a vCPU of Linux of 32-bit Arm: the task by the number of the
 * CPU, its stack, the interrupts' stack, and the user's. Every copy runs as in the sampler: what is
 * mapped outside the stop is copied in the stop.
 */
#include "config.h"

#include "tests/sample/copy_32.h"

#define TASK       0xc214b700U
#define STACK      0xc880c000U /* a stack of 8 KiB, at a multiple of 8 KiB */
#define STACK_END  (STACK + 0x2000)
#define IRQ        0xc8800000U
#define IRQ_END    (IRQ + 0x2000)
#define USER       0xbec38000U
#define CODE       0x00008000U
#define TABLE      0xc160b564U /* __per_cpu_offset */
#define CURRENT    0xc1538858U /* the task in a run queue */
#define PER_CPU    0x05988000U /* the base of CPU 1 */
#define TASK_STACK 540
#define REGS       (STACK_END - 8 - 72)

#define VALID 3

static uint64_t kernel_top;

/* Long descriptors: the kernel's GiB has its own table, in TTBR1. */
static uint64_t *entry_of(uint32_t address)
{
	uint64_t *top = (uint64_t *)memory_guest_page(memory, regs->arm64.ttbr0 >> 12) +
			(address >> 30);
	uint64_t *entry;

	entry = address >> 30 == 3 ? (uint64_t *)memory_guest_page(memory, kernel_top)
				   : (uint64_t *)memory_guest_page(memory, *top >> 12);
	entry += address >> 21 & 511;
	if (!*entry)
		*entry = next_frame++ << 12 | VALID;
	return (uint64_t *)memory_guest_page(memory, *entry >> 12) + (address >> 12 & 511);
}

static void add_pages(uint32_t address, uint32_t size)
{
	add_valid_pages(address, size, VALID);
}

static void put_user(uint32_t sp, uint32_t cpsr)
{
	*word_at(REGS + 4 * 13) = sp;
	*word_at(REGS + 4 * 16) = cpsr;
}

static void set(uint32_t mode, uint32_t sp, uint32_t pc)
{
	regs->arm64.pstate = PSTATE_ARM64_AARCH32 | mode;
	regs->arm64.x[registers_arm32_sp_place(mode)] = sp;
	regs->arm64.pc = pc;
}

static void begin(void)
{
	const struct linux_stacks stacks = {
		.current_per_cpu = CURRENT,
		.per_cpu_table = TABLE,
		.task_stack = TASK_STACK,
		.stack_bytes = 0x2000,
	};
	uint64_t top;

	begin_guest(1);
	next_frame = 0x200;
	top = next_frame++;
	kernel_top = next_frame++;
	*regs = (struct registers){ .arch = ARCH_ARM64 };
	regs->arm64.sctlr = 1;
	regs->arm64.tcr = TTBCR_ARM32_EAE | 2 << TTBCR_ARM32_T1SZ_SHIFT;
	regs->arm64.ttbr0 = top << 12;
	regs->arm64.ttbr1 = kernel_top << 12;
	for (unsigned i = 0; i < 3; i++)
		((uint64_t *)memory_guest_page(memory, top))[i] = next_frame++ << 12 | VALID;
	set(ARM32_MODE_SVC, STACK + 0x1c04, 0xc0410000);
	add_pages(TASK, 1024);
	add_pages(STACK, 0x2000);
	add_pages(IRQ, 0x2000);
	add_pages(USER, 0x8000);
	add_pages(CODE, 4096);
	add_pages(TABLE, 64);
	add_pages((uint32_t)(PER_CPU + CURRENT), 4);
	*word_at(TABLE + 4) = PER_CPU;
	*word_at((uint32_t)(PER_CPU + CURRENT)) = TASK;
	*word_at(TASK + TASK_STACK) = STACK;
	put_user(USER + 0x6004, ARM32_MODE_USR);
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
	put_user(0, ARM32_MODE_SVC);
	copy(false);
	check_u64(copied.n_stacks, 1, "a kernel thread has no user's stack");
	check(copied.user_cut == CUT_NONE, "a kernel thread misses no page");
	put_user(USER + 0x6004, ARM32_MODE_USR);
	regs->arm64.tcr |= 1 << TTBCR_ARM32_EPD0_SHIFT;
	copy(false);
	check_piece(1, STACK_USER, USER + 0x6004, USER + 0x7004,
		    "a system call: the user's stack by TTBR0, which is turned off");
	end();
}

static void test_entering(void)
{
	begin();
	set(ARM32_MODE_SVC, STACK_END - 8, 0xc0400180);
	regs->arm64.x[REGISTER_ARM32_SP] = USER + 0x5004;
	regs->arm64.spsr_el1 = ARM32_MODE_USR;
	copy(false);
	check_piece(1, STACK_USER, USER + 0x5004, USER + 0x6004,
		    "a system call that begins: the user's stack before its pointer is saved");
	regs->arm64.spsr_el1 = ARM32_MODE_SVC;
	copy(false);
	check_piece(1, STACK_USER, USER + 0x6004, USER + 0x7004,
		    "a system call: the user's stack as its pointer was saved");
	end();
}

static void test_user(void)
{
	begin();
	set(ARM32_MODE_USR, USER + 0x6004, CODE + 8);
	copy(true);
	check_u64(record.vcpu.task, TASK, "the task of user code");
	check_piece(0, STACK_FIRST, USER + 0x6004, USER + 0x7004, "user code: its stack");
	check_u64(sample_get_code_frame(&record.vcpu).value, *entry_of(CODE) >> 12,
		  "the frame of the code that ran");
	set(ARM32_MODE_USR, STACK, CODE + 8);
	copy(true);
	check_u64(copied.n_stacks, 0, "a program's stack pointer into the kernel copies nothing");
	end();
}

static void test_interrupt(void)
{
	begin();
	set(ARM32_MODE_SVC, IRQ + 0x1f00, 0xc0410000);
	copy(false);
	check_piece(0, STACK_FIRST, IRQ + 0x1f00, IRQ_END, "an interrupt: the interrupts' stack");
	check_piece(1, STACK_LINKED, STACK, STACK_END, "an interrupt: all of the task's stack");
	check_piece(2, STACK_USER, USER + 0x6004, USER + 0x7004, "an interrupt: the user's stack");
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

int main(void)
{
	test_kernel();
	test_entering();
	test_user();
	test_interrupt();
	test_unknown();
	return tap_done();
}
