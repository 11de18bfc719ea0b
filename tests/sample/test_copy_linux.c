/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied for the vCPU of a Linux guest (copy_linux.h): in user code, in a
 * system call, in interrupts and exceptions, and when pages are not mapped yet.
 */
#include "config.h"

#include "copy_linux.h"

static void test_system_call(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };
	const struct want learned[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP },
					{ STACK_USER, USER + 0x8000, USER + 0x8abc } };

	begin();
	copy();
	check_pieces(want, 2, "a system call");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	check(copied.task == TASK, "a system call has the task %" PRIx64, copied.task);
	control_set_stack_top(control, regs->cr3, USER + 0x8000, USER + 0x8abc);
	control_set_stack_top(control, regs->cr3, STACK, STACK + 0x3d00);
	copy();
	check_pieces(learned, 2, "a system call: the user stack as learned, the task's whole");
	end();
}

static void test_task_stack_by_task(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP - 16 }, user_piece };

	begin();
	stacks.top_per_cpu = 0;
	stacks.top_padding = 16;
	put_regs(STACK_TOP, 0, 0);
	put_regs(STACK_TOP - 16, 0x33, USER + 0x8000);
	copy();
	check_pieces(want, 2, "the top of the task's stack by task->stack, less the padding");
	*word_at(PER_CPU + TOP) = STACK_TOP - 16;
	stacks.top_per_cpu = TOP;
	copy();
	check_pieces(want, 2, "the top of the task's stack by the per-cpu top");
	end();
}

static void test_one_table(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP } };

	begin();
	stacks.kernel_cr3 = 0;
	regs->cr3 = kernel_cr3;
	copy();
	check_pieces(want, 1, "the vCPU's own table serves for the kernel");
	check_cuts(CUT_LIMIT, CUT_NOT_PRESENT);
	check(copied.task == TASK, "the task is read through the vCPU's own table");
	end();
}

static void test_user_mode(void)
{
	const struct want want[] = { { STACK_FIRST, USER + 0x123,
				       USER + 0x123 + STACKS_COROUTINE_BYTES } };

	begin();
	memory->user[0] = true;
	regs->rsp = USER + 0x123;
	copy();
	check_pieces(want, 1, "user code");
	check_cuts(CUT_LIMIT, CUT_NONE);
	check(copied.task == TASK, "the task of user code is read through the kernel's table");
	stacks.kernel_cr3 = 0;
	copy();
	check_pieces(want, 1, "user code, no table for the kernel");
	check(copied.task == 0, "user code has no task without a table for the kernel");
	end();
}

/* Only the frame of the page that user code ran in is wanted: it is neither read nor mapped. */
static void test_code_frame(void)
{
	const uint64_t code = 0x0000555555554000ULL;

	begin();
	add_pages(code, 0x1000);
	regs->rip = code + 0x123;
	copy();
	check_u64(copied.frame.value, 0, "no code frame for kernel code");
	memory->user[0] = true;
	regs->rsp = USER + 0x120;
	copy_now();
	check(copied.missed && copied.frame.value == 0,
	      "no code frame while its page tables are not mapped");
	copy();
	check_u64(copied.frame.value, frame_of(code), "the code frame of user code");
	check(!frame_cache_find(copier.cache, FRAME(frame_of(code))),
	      "the page of the code frame is not mapped");
	regs->rip = code + 0x1000;
	copy();
	check_u64(copied.frame.value, 0, "no code frame for a page that is not there");
	regs->rip = 0x0000800000000000ULL;
	copy();
	check_u64(copied.frame.value, 0, "no code frame for an address that is none");
	regs->rip = 0xffffffffff600000ULL;
	copy();
	check_u64(copied.frame.value, 0, "no code frame for vsyscall, in the kernel's half");
	regs->rip = code;
	*memory_guest_entry(memory, regs->cr3, 4, 1, code) = 0x000ffffffffff000ULL | PTE_P;
	copy();
	check_u64(copied.frame.value, 0xffffffffffULL, "the code frame with the largest number");
	stacks.current_per_cpu = 0;
	copy();
	check_u64(copied.frame.value, 0, "no code frame for a guest that is no Linux");
	end();
}

static void check_user_bytes(uint64_t bytes, const char *what)
{
	const struct want want = { STACK_FIRST, USER + 0x120, USER + 0x120 + bytes };

	copy();
	check_pieces(&want, 1, what);
}

/* A stack that was never seen is copied as far as its creator says. */
static void test_new_stack(void)
{
	begin();
	memory->user[0] = true;
	regs->rsp = USER + 0x120;
	*word_at(MM + START_STACK) = USER + 0x5000;
	check_user_bytes(0x4ee0, "a program's stack, to start_stack");
	regs->fs_base = USER + 0x2000;
	check_user_bytes(0x1ee0, "a thread's stack, to its thread pointer");
	control_set_stack_top(control, regs->cr3, regs->rsp, USER + 0x1000);
	check_user_bytes(0xee0, "a learned end is better than the thread pointer");
	regs->fs_base = 0;
	*word_at(MM + START_STACK) = USER + 0x4120;
	regs->rsp = USER + 0x120 + STACK_REGION_BYTES;
	copy();
	check_u64(record.vcpu.n_stacks, 1, "pieces of a stack above start_stack");
	check_u64(sample_first_stack(&record.vcpu)->size_bytes, STACKS_COROUTINE_BYTES,
		  "a start_stack below the stack pointer is none");
	end();
	begin();
	memory->user[0] = true;
	regs->rsp = USER + 0x120;
	add_pages(USER + USER_BYTES, 0x1000);
	*word_at(MM + START_STACK) = USER + 0x121 + SAMPLE_STACK_LIMIT_BYTES;
	check_user_bytes(STACKS_COROUTINE_BYTES, "a start_stack that is too far away is none");
	*word_at(MM + START_STACK) = USER + 0x120 + SAMPLE_STACK_LIMIT_BYTES;
	check_user_bytes(SAMPLE_STACK_LIMIT_BYTES, "a start_stack that is just not too far");
	*word_at(TASK + TASK_MM) = 0;
	check_user_bytes(STACKS_COROUTINE_BYTES, "a stack of a task without memory");
	*word_at(TASK + TASK_MM) = MM;
	stacks.mm_start_stack = 0;
	check_user_bytes(STACKS_COROUTINE_BYTES,
			 "a stack in a kernel whose start_stack nobody knows");
	end();
}

/* A new user stack is found in a system call as well. */
static void test_new_stack_in_kernel(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP },
				     { STACK_USER, USER + 0x8000, USER + 0xa340 } };

	begin();
	*word_at(MM + START_STACK) = USER + 0xa340;
	copy();
	check_pieces(want, 2, "a system call on a new stack");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	end();
}

/*
 * The first instructions of a system call run on the user's stack; pt_regs are of the call before.
 */
static void test_entry(void)
{
	const struct want want[] = { { STACK_FIRST, USER + 0x9008,
				       USER + 0x9008 + STACKS_COROUTINE_BYTES } };

	begin();
	regs->rsp = USER + 0x9008;
	copy();
	check_pieces(want, 1, "a system call that has just entered the kernel");
	check_cuts(CUT_LIMIT, CUT_NONE);
	end();
}

static void test_interrupt(void)
{
	const struct want want[] = { { STACK_FIRST, IRQ_END - 0x208, IRQ_END },
				     { STACK_LINKED, STACK + 0x3a40, STACK_TOP },
				     user_piece };
	const struct want last[] = { { STACK_FIRST, IRQ_END - 8, IRQ_END }, want[1], user_piece };

	begin();
	regs->rsp = IRQ_END - 0x208;
	*word_at(IRQ_END - 8) = STACK + 0x3a40;
	copy();
	check_pieces(want, 3, "an interrupt, on the interrupt stack");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	regs->rsp = IRQ_END - 8;
	copy();
	check_pieces(last, 3, "an interrupt that is about to leave its stack");
	regs->rsp = IRQ_END - 0x208;
	stacks.irq_stack_per_cpu = 0;
	copy();
	check_pieces(want, 3, "an interrupt stack whose end is told by the hole after it");
	add_pages(IRQ_END, 0x4000);
	copy();
	check_u64(copied.n_stacks, 2, "no link onto a stack whose end is not known");
	control_set_stack_top(control, regs->cr3, regs->rsp, IRQ_END);
	copy();
	check_pieces(want, 3, "an interrupt stack whose end was learned");
	end();
}

static void test_exception(void)
{
	const struct want want[] = { { STACK_FIRST, EXCEPTION_END - 0x300, EXCEPTION_END },
				     { STACK_LINKED, STACK + 0x3a40, STACK_TOP },
				     user_piece };
	const struct want both[] = { { STACK_FIRST, EXCEPTION_END - 0x300, EXCEPTION_END },
				     { STACK_LINKED, IRQ_END - 0x80, IRQ_END },
				     { STACK_LINKED, STACK + 0x3a40, STACK_TOP },
				     user_piece };

	begin();
	regs->rsp = EXCEPTION_END - 0x300;
	*word_at(EXCEPTION_END - 16) = STACK + 0x3a40;
	*word_at(EXCEPTION_END - 8) = 0x18;
	copy();
	check_pieces(want, 3, "an exception, on its stack");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	*word_at(EXCEPTION_END - 16) = IRQ_END - 0x80;
	*word_at(IRQ_END - 8) = STACK + 0x3a40;
	copy();
	check_pieces(both, 4, "an exception in an interrupt");
	add_pages(EXCEPTION_END, 0x1000);
	control_set_stack_top(control, regs->cr3, regs->rsp, EXCEPTION_END);
	copy();
	check_pieces(both, 4, "an exception stack without a hole whose end was learned");
	end();
}

static void test_kernel_thread(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP } };

	begin();
	put_regs(STACK_TOP, 0, 0);
	copy();
	check_pieces(want, 1, "a kernel thread");
	check_cuts(CUT_LIMIT, CUT_NONE);
	check(copied.task == TASK, "a kernel thread has a task");
	end();
}

/*
 * CR0 and CR4 are Xen's, kernel and user code both run in ring 3, and Xen tells the kernel by cs.
 */
static void test_pv(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };

	begin();
	memory->guest.info.type = GUEST_PV;
	regs->cr0 = regs->cr4 = 0;
	regs->cs = 0xe033;
	put_regs(STACK_TOP, 0x33, USER + 0x8000);
	copy();
	check_pieces(want, 2, "PV, a system call");
	put_regs(STACK_TOP, 0xe030, STACK + 0x3e00);
	copy();
	check_pieces(want, 1, "PV, pt_regs of the kernel");
	check_cuts(CUT_LIMIT, CUT_NONE);
	end();
}

static void test_retake(void)
{
	const struct want want[] = { { STACK_FIRST, IRQ_END - 0x208, IRQ_END },
				     { STACK_LINKED, STACK + 0x3a40, STACK_TOP },
				     user_piece };

	begin();
	regs->rsp = IRQ_END - 0x208;
	*word_at(IRQ_END - 8) = STACK + 0x3a40;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	copy_now();
	check(copied.missed && !copied.n_stacks && !copied.task,
	      "nothing is copied while no page is mapped");
	check_cuts(CUT_NOT_MAPPED, CUT_NONE);
	copy();
	check_pieces(want, 3, "all stacks are copied once their pages are mapped");
	memory_guest_map(memory, regs->cr3, USER + 0x8000, 0x4ff); /* the guest moves its page */
	memory_guest_page(memory, 0x4ff);
	copy_now();
	check(copied.missed, "a copy misses the user's page when the guest moved it");
	check_pieces(want, 2, "the kernel's stacks are copied while the user's page is missing");
	check_cuts(CUT_LIMIT, CUT_NOT_MAPPED);
	copy();
	check_pieces(want, 3, "all stacks are copied once the moved page is mapped");
	end();
}

int main(void)
{
	test_system_call();
	test_task_stack_by_task();
	test_one_table();
	test_user_mode();
	test_code_frame();
	test_new_stack();
	test_new_stack_in_kernel();
	test_entry();
	test_interrupt();
	test_exception();
	test_kernel_thread();
	test_pv();
	test_retake();
	return tap_done();
}
