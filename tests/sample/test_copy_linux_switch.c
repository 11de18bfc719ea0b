/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied for the vCPU of a Linux guest (copy_linux.h) while the kernel
 * switches tasks, and in the first instructions after user code has entered it. What a new task
 * needs is mapped before the stop.
 */
#include "config.h"

#include "copy_linux.h"

/* What a new task needs is mapped once, before the stop. */
static void test_new_task(void)
{
	const struct want in_kernel[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };
	const struct want in_user[] = { { STACK_FIRST, USER + 0x8123,
					  USER + 0x8123 + STACKS_COROUTINE_BYTES } };
	struct copy_task running = { .task = 0 };
	unsigned maps;

	begin();
	memory_guest_map(memory, kernel_cr3, PGD, regs->cr3 >> 12);
	*word_at(MM + MM_PGD) = PGD;
	*word_at(STACK_TOP - 168 + 128) = USER;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	copy_now();
	check(copied.missed, "pages are missing if nothing was mapped before the stop");
	copier.stacks.mm_pgd = MM_PGD;
	copy_prepare_task(&copier, PER_CPU, (struct memory_root){ .cr3 = kernel_cr3 }, &running);
	check(running.task == TASK && running.cr3 == regs->cr3,
	      "the task that runs is %" PRIx64 " with page tables %" PRIx64, running.task,
	      running.cr3);
	copy_now();
	check_pieces(in_kernel, 2, "a new task's stacks in a system call");
	check(!copied.missed, "no page of a new task's system call is missing");
	regs->rsp = USER + 0x8123;
	regs->rip = USER + 0x20;
	memory->user[0] = true;
	copy_now();
	check_pieces(in_user, 1, "a new task's stack in user code");
	check(!copied.missed && copied.frame.value,
	      "no page table of a new task's code is missing");
	maps = memory->maps;
	*word_at(STACK_TOP - 168 + 152) = USER;
	copy_prepare_task(&copier, PER_CPU, (struct memory_root){ .cr3 = kernel_cr3 }, &running);
	check(memory->maps == maps, "no page is mapped again for a task that goes on");
	end();
}

/* Between two tasks CR3 is the next one's. The user's stack is the last one's. */
static void test_switched_tables(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };
	struct copy_task running = { .task = TASK };
	struct registers switched;

	begin();
	copy();
	check_pieces(want, 2, "stacks before the switch");
	switched = *regs;
	switched.cr3 = memory_guest_new_table(memory) << 12;
	regs = &switched;
	copy_prepared();
	check(copied.n_stacks == 1, "by the next task's tables there is no user stack");
	running.cr3 = memory->regs[0].cr3;
	copier.running = &running;
	copy_prepared();
	check_pieces(want, 2, "by the task's own tables there is a user stack");
	check_u64(copied.frame.value, running.cr3 >> 12,
		  "the frame of the tables by which the user stack was read");
	running.task = TASK + 64;
	copy_prepared();
	check(copied.n_stacks == 1, "another task's tables are not used");
	check_u64(copied.frame.value, 0, "the frame in a sample that used the registers' tables");
	running.task = TASK;
	switched.cr3 = running.cr3 ^ CR3_USER_TABLE;
	copy_prepared();
	check_pieces(want, 2, "the next one's tables may lie beside the task's own");
	check_u64(copied.frame.value, running.cr3 >> 12,
		  "the frame of the task's tables if the next ones lie beside them");
	end();
}

/*
 * With page-table isolation the kernel leaves by a stack of the processor. There CR3 is the user's
 * table, beside the task's own.
 */
static void test_leaving_isolated(void)
{
	struct copy_task running = { .task = TASK };
	struct registers leaving;

	begin();
	leaving = *regs;
	running.cr3 = regs->cr3 & ~CR3_USER_TABLE;
	leaving.cr3 = regs->cr3 | CR3_USER_TABLE;
	leaving.rsp = EXCEPTION_END - 16;
	regs = &leaving;
	copier.running = &running;
	copy();
	check_u64(copied.frame.value, 0,
		  "the frame on the way out of the kernel: the tables are the task's");
	leaving.rsp = STACK + 0x3c00;
	copy();
	check_u64(copied.frame.value, running.cr3 >> 12,
		  "the frame on the task's own stack: the tables are another task's");
	end();
}

/*
 * The task has called exec() since its page tables were read: those of the registers are its own.
 */
static void test_exec(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };
	struct copy_task running = { .task = TASK };

	begin();
	memory_guest_map(memory, kernel_cr3, PGD, regs->cr3 >> 12);
	*word_at(MM + MM_PGD) = PGD;
	stacks.mm_pgd = MM_PGD;
	copy();
	running.cr3 = memory_guest_new_table(memory) << 12;
	copier.running = &running;
	copy_prepared();
	check_pieces(want, 2, "stacks after exec()");
	check_u64(copied.frame.value, 0,
		  "the frame after exec(): the tables of the registers are used");
	end();
}

/* Wrong numbers cost pages and nothing else. */
static void test_bad_task(void)
{
	const uint64_t words[] = { 0, 1, PGD + 1, USER, UINT64_MAX, UINT64_MAX - 7, STACK_TOP };
	uint64_t *places[5];

	begin();
	memory_guest_map(memory, kernel_cr3, PGD, regs->cr3 >> 12);
	*word_at(MM + MM_PGD) = PGD;
	stacks.mm_pgd = MM_PGD;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	places[0] = word_at(PER_CPU + CURRENT);
	places[1] = word_at(PER_CPU + TOP);
	places[2] = word_at(TASK + TASK_MM);
	places[3] = word_at(MM + MM_PGD);
	places[4] = word_at(STACK_TOP - 168 + 152);
	for (size_t i = 0; i < COUNT(places); i++)
		for (size_t j = 0; j < COUNT(words); j++) {
			struct copy_task running = { .task = 0 };
			uint64_t good = *places[i];

			*places[i] = words[j];
			copy_prepare_task(&copier, PER_CPU,
					  (struct memory_root){ .cr3 = kernel_cr3 }, &running);
			*places[i] = good;
			check(running.task == TASK || i == 0,
			      "the task is found although word %zu is %" PRIx64, i, words[j]);
		}
	check(frame_cache_pages(copier.cache) < 64, "wrong words cost few mapped pages");
	end();
}

/* --- switching, entering ---------------------------------------------------------------------- */

/* current is still the last task; the stack is the next task's already. */
static void test_switch(void)
{
	const uint64_t next = STACK + 0x8000;
	const struct want want[] = { { STACK_FIRST, next + 0x3b00, next + 0x4000 },
				     { STACK_USER, USER + 0x4000,
				       USER + 0x4000 + STACKS_COROUTINE_BYTES } };

	begin();
	add_pages(next, 0x4000);
	put_regs(next + 0x4000, 0x33, USER + 0x4000);
	regs->rsp = next + 0x3b00;
	copy();
	check_pieces(want, 2, "stacks while the kernel switches tasks");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	check_u64(copied.frame.value, regs->cr3 >> 12,
		  "the frame in a sample taken while the kernel switches tasks");
	put_regs(next + 0x4000, 0x10, USER + 0x4000);
	copy();
	check(copied.n_stacks == 2 && sample_first_stack(&record.vcpu)->kind == STACK_FIRST,
	      "the stack of a kernel thread has no proof");
	check_user_piece(USER + 0x8000,
			 "the user stack belongs to current if the new stack has no proof");
	check_u64(copied.frame.value, 0, "the frame in a sample whose new stack has no proof");
	end();
	begin();
	add_pages(ENTRY_AREA + 0x4000, 0x4000);
	put_regs(ENTRY_AREA + 0x8000, 0x33, USER + 0x4000);
	regs->rsp = ENTRY_AREA + 0x7000;
	copy();
	check_user_piece(USER + 0x8000,
			 "the user stack belongs to current on the processor's own stacks");
	end();
}

/* A switch in a PV kernel: CR3, too, is still the last task's. loaded_mm is the next task's. */
static void test_switch_tables(void)
{
	const uint64_t next = STACK + 0x8000;
	const struct want want[] = { { STACK_FIRST, next + 0x3b00, next + 0x4000 },
				     { STACK_USER, USER + 0x4000,
				       USER + 0x4000 + STACKS_COROUTINE_BYTES } };
	struct registers switched;

	begin();
	add_pages(next, 0x4000);
	put_regs(next + 0x4000, 0x33, USER + 0x4000);
	switched = *regs;
	switched.rsp = next + 0x3b00;
	switched.cr3 = memory_guest_new_table(memory) << 12;
	memory_guest_map(memory, kernel_cr3, PGD, regs->cr3 >> 12);
	*word_at(MM + MM_PGD) = PGD;
	*word_at(PER_CPU + LOADED_MM) = MM;
	stacks.mm_pgd = MM_PGD;
	regs = &switched;
	copy();
	check(copied.n_stacks == 1, "the last task's tables do not have the next one's stack");
	check_u64(copied.frame.value, switched.cr3 >> 12,
		  "the frame of the tables by which a PV switch looked for the stack");
	stacks.loaded_mm_per_cpu = LOADED_MM;
	copy();
	check_pieces(want, 2, "stacks while a PV kernel switches tasks");
	check_u64(copied.frame.value, memory->regs[0].cr3 >> 12,
		  "the frame of the next task's tables in a PV switch");
	*word_at(PER_CPU + LOADED_MM) = 1; /* LOADED_MM_SWITCHING */
	copy();
	check(copied.n_stacks == 1, "no mm is loaded: by the tables of the registers");
	end();
}

/* In an interrupt's first instructions the task's stack has the registers of the entry before. */
static void test_interrupt_entry(void)
{
	const uint64_t top = ENTRY_AREA + 0x1000;
	const struct want want[] = { { STACK_FIRST, top - 48, top },
				     { STACK_USER, USER + 0x4000,
				       USER + 0x4000 + STACKS_COROUTINE_BYTES } };

	begin();
	add_pages(ENTRY_AREA, 0x2000);
	*word_at(top - 32) = 0x33;
	*word_at(top - 16) = USER + 0x4000;
	*word_at(top - 8) = 0x2b;
	regs->rsp = top - 48;
	regs->gs_base = PER_CPU; /* before swapgs */
	regs->gs_base_kernel = 0;
	copy();
	check_pieces(want, 2, "an interrupt of user code");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	check(copied.task == TASK, "the task is found before the GS bases are swapped");
	*word_at(top - 32) = 0x10;
	regs->gs_base = 0;
	regs->gs_base_kernel = PER_CPU;
	copy();
	check_user_piece(USER + 0x8000,
			 "an interrupt of the kernel: the task's stack tells the user stack");
	*word_at(top - 32) = 0x33;
	regs->rsp = top - 32;
	copy();
	check_user_piece(
		USER + 0x8000,
		"no room for what the processor saves: the task's stack tells the user stack");
	end();
}

/* A system call with isolated page tables: rsp is CR3, and the user's is in the TSS. */
static void test_system_call_entry(void)
{
	const struct want want[] = { { STACK_USER, USER + 0x3008,
				       USER + 0x3008 + STACKS_COROUTINE_BYTES } };
	const uint64_t sp = USER + 0x3008;

	begin();
	add_pages(PER_CPU + TSS, 0x100);
	stacks.tss_per_cpu = TSS;
	*word_at(PER_CPU + TSS + 16) = sp << 32 | 0x12345678;
	*word_at(PER_CPU + TSS + 24) = 0x12345678ULL << 32 | sp >> 32;
	regs->rsp = regs->cr3 | 1ULL << 63 | 0x1003;
	copy();
	check_pieces(want, 1, "rsp is CR3 with flags");
	check_cuts(CUT_NONE, CUT_LIMIT);
	stacks.tss_per_cpu = 0;
	copy();
	check_u64(copied.n_stacks, 1, "the TSS is not known: the user stack by the task's stack");
	check_user_piece(USER + 0x8000, "the TSS is not known: the user stack of the last entry");
	end();
}

/* A system call while it saves the user's registers: those below are of the last entry. */
static void test_system_call_pushes(void)
{
	const uint64_t sp = USER + 0x3008;
	const struct want want[] = { { STACK_FIRST, STACK_TOP - 8, STACK_TOP },
				     { STACK_USER, sp, sp + STACKS_COROUTINE_BYTES } };

	begin();
	add_pages(PER_CPU + TSS, 0x100);
	stacks.tss_per_cpu = TSS;
	*word_at(PER_CPU + TSS + 16) = sp << 32;
	*word_at(PER_CPU + TSS + 24) = sp >> 32;
	regs->rsp = STACK_TOP;
	copy();
	check_pieces(want + 1, 1, "a system call that has pushed nothing yet");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	regs->rsp = STACK_TOP - 8;
	copy();
	check_pieces(want, 2, "a system call that has pushed the stack segment");
	regs->rsp = STACK_TOP - 16;
	copy();
	check_user_piece(USER + 0x8000, "a system call that has pushed the stack pointer");
	stacks.tss_per_cpu = 0;
	regs->rsp = STACK_TOP - 8;
	copy();
	check_user_piece(USER + 0x8000, "the TSS is not known");
	end();
}

int main(void)
{
	test_new_task();
	test_bad_task();
	test_switched_tables();
	test_leaving_isolated();
	test_exec();
	test_switch();
	test_switch_tables();
	test_interrupt_entry();
	test_system_call_entry();
	test_system_call_pushes();
	return tap_done();
}
