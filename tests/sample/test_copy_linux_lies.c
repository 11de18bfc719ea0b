/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied for the vCPU of a Linux guest (copy_linux.h) in which every word
 * may be a lie: pointers, registers, stacks without an end, and the resolver's own numbers.
 */
#include "config.h"

#include "copy_linux.h"

/* Addresses where no stack and no task can be. */
static const uint64_t bad_pointers[] = { 0,
					 8,
					 1ULL << 63,
					 (1ULL << 63) - 8,
					 UINT64_MAX,
					 UINT64_MAX - 7,
					 UINT64_MAX - 4095,
					 STACK_TOP + 4,
					 USER + 0x100,
					 0x0000800000000000,
					 0xffff7ffffffffff8,
					 0xffffc90000204008 };

static void test_bad_pointers(void)
{
	begin();
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		*word_at(PER_CPU + CURRENT) = bad_pointers[i];
		copy();
		check(copied.task == 0 || copied.task == bad_pointers[i], "a task at %" PRIx64,
		      bad_pointers[i]);
		check(copied.n_stacks == 2, "a wrong task costs no piece of stack");
	}
	*word_at(PER_CPU + CURRENT) = TASK;
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		*word_at(PER_CPU + TOP) = bad_pointers[i];
		copy();
		check(copied.n_stacks >= 1 && copied.task == TASK,
		      "a top at %" PRIx64 ": %u pieces", bad_pointers[i], copied.n_stacks);
	}
	stacks.top_per_cpu = 0;
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		*word_at(TASK + TASK_STACK) = bad_pointers[i];
		copy();
		check(copied.n_stacks >= 1, "task->stack at %" PRIx64 ": %u pieces",
		      bad_pointers[i], copied.n_stacks);
	}
	end();
}

static void test_bad_registers(void)
{
	const struct want only[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP } };

	begin();
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		regs->gs_base_kernel = bad_pointers[i];
		copy();
		check(copied.task == 0, "no task by a GS base of %" PRIx64, bad_pointers[i]);
	}
	regs->gs_base_kernel = PER_CPU;
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		if (bad_pointers[i] == USER + 0x100) /* a stack can be there */
			continue;
		put_regs(STACK_TOP, 0x33, bad_pointers[i]);
		copy();
		check_pieces(only, 1, "a user stack that cannot be");
		check_cuts(CUT_LIMIT, CUT_NOT_PRESENT);
	}
	memory->user[0] = true;
	regs->rsp = STACK + 0x3c00;
	copy();
	check_u64(copied.n_stacks, 0, "user code with a stack pointer of the kernel's");
	check_cuts(CUT_NOT_PRESENT, CUT_NONE);
	end();
}

/* A function has moved the stack pointer to pages that it has not touched yet. */
static void test_untouched(void)
{
	const uint64_t sp = USER - 0x1110;
	const struct want in_kernel[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP },
					  { STACK_USER, USER, sp + STACKS_COROUTINE_BYTES } };
	const struct want in_user[] = { { STACK_FIRST, USER, sp + STACKS_COROUTINE_BYTES } };

	begin();
	put_regs(STACK_TOP, 0x33, sp);
	copy();
	check_pieces(in_kernel, 2, "a page fault: the stack from the first page on that is there");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	put_regs(STACK_TOP, 0x33, USER - 0x4010);
	copy();
	check_u64(copied.n_stacks, 1, "five pages that are not there");
	check_cuts(CUT_LIMIT, CUT_NOT_PRESENT);
	control_set_stack_top(control, regs->cr3, sp, sp + 0x100);
	put_regs(STACK_TOP, 0x33, sp);
	copy();
	check_u64(copied.n_stacks, 1, "what is known to be live is not there");
	memory->user[0] = true;
	control_set_stack_top(control, regs->cr3, sp, sp + STACKS_COROUTINE_BYTES);
	regs->rsp = sp;
	copy();
	check_pieces(in_user, 1, "user code: the stack from the first page on that is there");
	end();
}

/* No circle of links is followed for ever, and nothing is copied twice. */
static void test_cycles(void)
{
	begin();
	regs->rsp = IRQ_END - 0x200;
	*word_at(IRQ_END - 8) = IRQ_END - 0x100;
	copy();
	check_u64(copied.n_stacks, 2, "an interrupt stack that interrupted itself");
	*word_at(IRQ_END - 8) = EXCEPTION_END - 0x100;
	*word_at(EXCEPTION_END - 8) = IRQ_END - 0x180;
	control_set_stack_top(control, regs->cr3, EXCEPTION, EXCEPTION_END);
	copy();
	check_u64(copied.n_stacks, 3, "two stacks that interrupted each other");
	*word_at(EXCEPTION_END - 8) = IRQ_END - 0x280; /* a place below what was copied */
	copy();
	check_u64(copied.n_stacks, 4,
		  "stacks that interrupt each other ever deeper: links end at the limit");
	end();
}

/* Stacks with learned ends; each points to the next. */
static void test_many_links(void)
{
	const uint64_t first = 0xffffc90001000000, step = 0x10000;
	const struct sample_stack *piece;

	begin();
	for (uint64_t at = first; at < first + 6 * step; at += step) {
		add_pages(at, 0x1000);
		*word_at(at + 0xff8) = at + step + 0xf00;
		control_set_stack_top(control, regs->cr3, at, at + 0x1000);
	}
	regs->rsp = first + 0xe00;
	copy();
	check_u64(copied.n_stacks, 1 + SAMPLE_MAX_LINKS + 1, "pieces of a long chain");
	piece = sample_first_stack(&record.vcpu);
	for (unsigned i = 0; i < SAMPLE_MAX_LINKS; i++)
		piece = sample_next_stack(piece);
	check(piece->kind == STACK_LINKED && piece->address == first + 3 * step + 0xf00,
	      "the last but one is the third link");
	end();
}

/* However long each stack claims to be, all together stay below the limit. */
static void test_limit(void)
{
	const struct sample_stack *piece;
	size_t sum = 0;

	begin();
	stacks.stack_bytes = SAMPLE_STACK_LIMIT_BYTES;
	add_pages(STACK_TOP - 0x10000, 0xc000);
	regs->rsp = STACK_TOP - 0xc000;
	control_set_stack_top(control, regs->cr3, USER + 0x8000, USER + 0x10000);
	copy();
	piece = sample_first_stack(&record.vcpu);
	for (unsigned i = 0; i < copied.n_stacks; i++, piece = sample_next_stack(piece))
		sum += piece->size_bytes;
	check(copied.n_stacks == 2 && sum == SAMPLE_STACK_LIMIT_BYTES,
	      "all pieces together stay at the limit: %u pieces, %zu bytes", copied.n_stacks, sum);
	regs->rsp = STACK_TOP - 0x10000;
	copy();
	check_u64(copied.n_stacks, 1,
		  "a task's stack that takes the limit leaves nothing for the user's");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	end();
}

static void test_bad_stacks(void)
{
	const struct want unikernel[] = { { STACK_FIRST, STACK + 0x3000,
					    STACK + 0x3000 + COPY_UNKNOWN_BYTES } };
	struct linux_stacks good;
	uint32_t *numbers[] = { &stacks.stack_bytes,    &stacks.top_padding,
				&stacks.regs_below_top, &stacks.irq_stack_bytes,
				&stacks.irq_above,      &stacks.task_mm,
				&stacks.mm_start_stack, &stacks.mm_pgd };

	begin();
	good = stacks;
	regs->cr3 = kernel_cr3;
	regs->rsp = STACK + 0x3000;
	for (size_t i = 0; i < COUNT(numbers); i++)
		for (unsigned j = 0; j < 3; j++) {
			stacks = good;
			*numbers[i] = j == 0   ? 4
				      : j == 1 ? UINT32_MAX
					       : SAMPLE_STACK_LIMIT_BYTES + 8;
			copy();
			check_pieces(unikernel, 1,
				     "an impossible struct linux_stacks counts as no Linux");
			check(copied.task == 0,
			      "no piece goes beyond the limit if number %zu is %" PRIu32, i,
			      *numbers[i]);
		}
	stacks = good;
	stacks.irq_stack_per_cpu = stacks.irq_stack_bytes = 0;
	copy();
	check(copied.task == TASK, "without an interrupt stack its size does not matter");
	stacks.task_stack = UINT32_MAX;
	stacks.top_per_cpu = 0;
	copy();
	check(copied.task == TASK && copied.n_stacks == 1, "a per-cpu offset may be anything");
	stacks = good;
	stacks.kernel_cr3 = UINT64_MAX;
	copy_prepared();
	check(copied.missed && copied.task == 0 && copied.n_stacks == 0,
	      "a kernel's table that does not exist");
	check_cuts(CUT_NOT_MAPPED, CUT_NONE);
	end();
}

int main(void)
{
	test_bad_pointers();
	test_bad_registers();
	test_untouched();
	test_cycles();
	test_many_links();
	test_limit();
	test_bad_stacks();
	return tap_done();
}
