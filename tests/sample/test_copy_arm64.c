/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied of a vCPU of arm64 (copy_arm64.h): a unikernel, and Linux in its
 * kernel and in user code.
 */
#include "config.h"

#include "copy_arm64.h"
#include "sample/per_cpu.h"
#include "xtop/sample/recipe.h"

static void test_unikernel(void)
{
	begin();
	control_set_linux_stacks(control, NULL);
	copy_poll_stacks(&copier);
	copy(false);
	check_pieces(1, "a unikernel");
	check_piece(0, STACK_FIRST, STACK + 0x3c00, STACK_END, "a unikernel");
	arm->sctlr = 0;
	copy(false);
	check(!record.vcpu.n_stacks && record.vcpu.stack_cut == CUT_NO_PAGING,
	      "a vCPU without an MMU has no stack");
	end();
}

/* Short descriptors: a table of 16 KiB, one of 1 KiB, and a page of 4 KiB for svc mode's stack. */
static void test_32_bits(void)
{
	const uint64_t sp = 0xc0345800;
	const struct sample_stack *piece;

	begin();
	((uint32_t *)memory_guest_page(memory, 0x403))[3] = 0x405 << 12 | 0x400 | 1;
	((uint32_t *)memory_guest_page(memory, 0x405))[0x100 + 0x45] = 0x500 << 12 | 0x32;
	memory_guest_page(memory, 0x500);
	*arm = (struct registers_arm64){ .pc = 0xc0300000,
					 .pstate = 0x13,
					 .sctlr = SCTLR_ARM64_M,
					 .ttbr0 = 0x400 << 12 };
	arm->x[19] = sp;
	copy(false);
	check_pieces(1, "a kernel of 32 bits");
	piece = sample_first_stack(&record.vcpu);
	check(piece->kind == STACK_FIRST && piece->address == sp &&
		      piece->address + piece->size_bytes == 0xc0346000,
	      "a kernel of 32 bits: the stack of its mode, to the end of the page");
	end();
}

static void test_system_call(void)
{
	begin();
	copy(false);
	check_pieces(2, "a system call");
	check_piece(0, STACK_FIRST, STACK + 0x3c00, STACK_END, "a system call: the task's stack");
	check_piece(1, STACK_USER, USER + 0x6000, USER + 0x7000,
		    "a system call: a page of the user's stack");
	check(record.vcpu.task == TASK && record.vcpu.user_cut == CUT_LIMIT,
	      "a system call: the task in SP_EL0");
	control_set_stack_top(control, registers_space(regs), USER + 0x6000, USER + 0x6100);
	copy(false);
	check_piece(1, STACK_USER, USER + 0x6000, USER + 0x6100,
		    "a system call: the user's stack as the resolver has learned");
	put_user(0, EL1H);
	copy(false);
	check_pieces(1, "a kernel thread");
	check(record.vcpu.user_cut == CUT_NONE, "a kernel thread has no user code");
	end();
}

static void test_user(void)
{
	begin();
	arm->pstate = 0;
	arm->sp_el0 = USER + 0x6000;
	arm->sp_el1 = STACK_END;
	arm->pc = CODE;
	copy(true);
	check_pieces(1, "user code");
	check_piece(0, STACK_FIRST, USER + 0x6000, USER + 0x7000, "user code");
	check(sample_get_code_frame(&record.vcpu).value == *entry_of(CODE) >> 12 &&
		      !record.vcpu.task,
	      "user code has the frame of its code, and no task");
	arm->sp_el0 = IRQ;
	copy(true);
	check(!record.vcpu.n_stacks && record.vcpu.stack_cut == CUT_NOT_PRESENT,
	      "a stack pointer in the kernel's half");
	end();
}

/*
 * CPU 3's word of the table leads from __entry_task to that CPU's, which has the task. The task's
 * mm tells where its first stack ends, and its page tables: the top one lies within a page.
 */
#define CPU_TABLE  UINT64_C(0xffffffc009000fe0)
#define ENTRY_TASK UINT64_C(0xffffffc0091002f0)
#define DISTANCE   UINT64_C(0x76f000000)
#define ENTRY_MM   (TASK + 0x200)
#define ENTRY_PGD  UINT64_C(0xffffff8005000200)

static void begin_entry_task(void)
{
	struct linux_stacks stacks;

	begin();
	stacks = copier.stacks;
	add_pages(CPU_TABLE, 32);
	add_pages(ENTRY_TASK + DISTANCE, 8);
	*word_at(CPU_TABLE + 3 * 8) = DISTANCE;
	*word_at(ENTRY_TASK + DISTANCE) = TASK;
	*word_at(TASK + 64) = ENTRY_MM;
	*word_at(ENTRY_MM + 128) = USER + 0x7800;
	*word_at(ENTRY_MM + 136) = ENTRY_PGD;
	*entry_of(ENTRY_PGD) = lower << 12 | ENTRY;
	stacks.per_cpu_table = CPU_TABLE;
	stacks.entry_task_per_cpu = ENTRY_TASK;
	stacks.task_mm = 64;
	stacks.mm_start_stack = 128;
	stacks.mm_pgd = 136;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	copier.vcpu = 3;
}

static void enter_user(void)
{
	arm->pstate = 0;
	arm->sp_el0 = USER + 0x6000;
	arm->sp_el1 = STACK_END;
	arm->pc = CODE;
}

static void test_entry_task(void)
{
	begin_entry_task();
	enter_user();
	copy(true);
	check(record.vcpu.task == TASK, "user code has its task: %#" PRIx64, record.vcpu.task);
	check_piece(0, STACK_FIRST, USER + 0x6000, USER + 0x7800,
		    "user code of a known task: all of its first stack");
	arm->pstate = EL1H;
	arm->sp_el1 = STACK_END - 336;
	copy(false);
	check(record.vcpu.task == TASK, "user code that enters the kernel has its task");
	check_piece(0, STACK_USER, USER + 0x6000, USER + 0x7800,
		    "user code that enters the kernel: all of its stack");
	arm->pstate = 0;
	arm->ttbr1 = lower << 12; /* page-table isolation does so */
	copy(true);
	check(record.vcpu.task == TASK, "the task is read by the kernel's tables, not the vCPU's");
	*word_at(ENTRY_TASK + DISTANCE) = USER;
	copy(true);
	check(!record.vcpu.task, "a task in the user's half");
	*word_at(ENTRY_TASK + DISTANCE) = TASK;
	copier.vcpu = 4;
	copy(true);
	check(!record.vcpu.task && record.vcpu.n_stacks == 1, "no page has that CPU's word");
	copier.vcpu = 3;
	*word_at(CPU_TABLE + 3 * 8) = -ENTRY_TASK;
	copy(true);
	check(!record.vcpu.task, "a distance into the user's half");
	end();
}

/* Whether the sample's last piece is a list of the words FIRST and SECOND. */
static bool has_list(uint64_t first, uint64_t second)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);
	const uint64_t *words;

	for (unsigned i = 0; i + 1U < record.vcpu.n_stacks; i++)
		piece = sample_next_stack(piece);
	words = (const uint64_t *)(piece + 1);
	return record.vcpu.n_stacks && piece->kind == STACK_LIST &&
	       piece->size_bytes == 2 * sizeof(*words) && words[0] == first && words[1] == second;
}

/*
 * An interpreter's frames: a list that the thread pointer leads to. The task has the thread pointer.
 */
#define TASK_THREAD_POINTER_AT 24
#define THREAD                 (USER + 0x100)
#define NODE                   (USER + 0x1800)

static void test_interpreter(void)
{
	const struct recipe recipe = {
		.base = 16, .by_thread = 1, .n_loads = 1, .n_words = 1, .words = { 8 }
	};
	struct recipe other = recipe; /* another process, tables in the next page */
	struct registers next_process;

	begin_entry_task();
	next_process = *regs;
	copier.stacks.task_thread_pointer = TASK_THREAD_POINTER_AT;
	*word_at(TASK + TASK_THREAD_POINTER_AT) = THREAD;
	*word_at(THREAD + 16) = NODE;
	*word_at(NODE) = NODE + 0x800; /* the next node */
	*word_at(NODE + 0x800) = 0;
	*word_at(NODE + 8) = 111;
	*word_at(NODE + 0x808) = 222;
	next_process.arm64.ttbr0 += GUEST_PAGE_SIZE;
	other.words[0] = 16;
	control_set_recipe(control, registers_space(regs), &recipe);
	control_set_recipe(control, registers_space(&next_process), &other);
	copy(false);
	check(has_list(111, 222), "a system call: the interpreter's frames, as its own recipe says");
	enter_user();
	copy(true);
	check(has_list(111, 222), "user code: the interpreter's frames");
	arm->pstate = EL1H;
	arm->sp_el1 = STACK_END - 336;
	copy(false);
	check(has_list(111, 222), "user code that enters the kernel: the interpreter's frames");
	copier.stacks.task_thread_pointer = 0;
	copy(false);
	check(record.vcpu.n_stacks == 1, "the place of threads' pointers is not known");
	end();
}

/* As copy(), with the pages that are mapped already. */
static void copy_now(bool user)
{
	frame_cache_stop(copier.cache);
	copy_vcpu(&copier, regs, user, (char *)record.bytes, &copied);
	copy_head(&copied, regs, user, copier.vcpu, VCPU_RUNNING, &record.vcpu);
}

/*
 * Before the stop: what runs. Its pages are mapped for its system call and for its user code, which
 * a copy in the stop then does not miss.
 */
static void test_running(void)
{
	struct copy_task running = { .task = 0 };
	unsigned maps;

	begin_entry_task();
	put_user(USER + 0x6000, 0);
	*word_at(STACK_END - 336 + 256) = CODE;
	copy_prepare_task(&copier, 0, walk_root(regs), &running);
	check(running.task == TASK && running.cr3 == (lower << 12 | 0x200),
	      "the task is %" PRIx64 " with page tables %" PRIx64, running.task, running.cr3);
	*word_at(ENTRY_MM + 136) = ENTRY_PGD - 0x200;
	running.task = 0;
	copy_prepare_task(&copier, 0, walk_root(regs), &running);
	check(running.cr3 == lower << 12, "page tables %" PRIx64, running.cr3);
	arm->sp_el1 = STACK_END - 0x400;
	copy_now(false);
	check(!copied.missed && record.vcpu.n_stacks == 2,
	      "no page of a new task's system call is missing");
	enter_user();
	arm->pc = CODE + 0x20;
	copy_now(true);
	check(!copied.missed && copied.frame.value, "no page of a new task's user code is missing");
	maps = memory->maps;
	*word_at(STACK_END - 336 + 248) = USER;
	copy_prepare_task(&copier, 0, walk_root(regs), &running);
	check(memory->maps == maps, "no page is mapped again for a task that goes on");
	*word_at(TASK + 64) = 0;
	running.task = 0;
	copy_prepare_task(&copier, 0, walk_root(regs), &running);
	check(running.task == TASK && !running.cr3, "a kernel thread has no page tables");
	end();
}

static void test_interrupt(void)
{
	begin();
	arm->sp_el1 = IRQ + 0x3e00;
	arm->x[REGISTER_ARM64_FP] = IRQ + 0x3e40;
	*word_at(IRQ + 0x3e40) = IRQ + 0x3f00;
	*word_at(IRQ + 0x3f00) = STACK + 0x3b00;
	copy(false);
	check_pieces(3, "an interrupt");
	check_piece(0, STACK_FIRST, IRQ + 0x3e00, IRQ_END, "an interrupt: the interrupts' stack");
	check_piece(1, STACK_LINKED, STACK + 0x3b00, STACK_END,
		    "an interrupt: the task's stack from its record on");
	check_piece(2, STACK_USER, USER + 0x6000, USER + 0x7000, "an interrupt: the user's stack");
	*word_at(IRQ + 0x3f00) = IRQ + 0x3e40;
	copy(false);
	check_pieces(2, "an interrupt: records that do not ascend lead nowhere");
	*word_at(IRQ + 0x3f00) = USER;
	copy(false);
	check_pieces(2, "an interrupt: a record in the user's half leads nowhere");
	end();
}

/* The kernel has just been entered, or is about to be left: SP_EL0 is the user's. */
static void test_entering(void)
{
	begin();
	arm->sp_el0 = USER + 0x6000;
	arm->sp_el1 = STACK_END - 336;
	copy(false);
	check_pieces(1, "user code is entering the kernel");
	check_piece(0, STACK_USER, USER + 0x6000, USER + 0x7000,
		    "user code is entering the kernel: its stack alone");
	end();
}

/* As CONFIG_ARM64_SW_TTBR0_PAN has it: while the kernel runs, TTBR0 is an empty table. */
static void begin_hidden(void)
{
	begin();
	memory_guest_page(memory, reserved);
	add_pages(MM, 4096);
	*word_at(TASK + TASK_MM) = MM;
	*word_at(MM + MM_PGD) = PGD;
	*entry_of(PGD) = lower << 12 | ENTRY;
	copier.stacks.task_mm = TASK_MM;
	copier.stacks.mm_pgd = MM_PGD;
	arm->ttbr0 = reserved << 12;
}

static void check_hidden(const char *what)
{
	copy(false);
	check_pieces(1, what);
	check(record.vcpu.user_cut == CUT_NOT_PRESENT && !sample_get_user_tables(&record.vcpu).value,
	      "%s: the user's stack is cut", what);
}

static void test_hidden_user(void)
{
	begin_hidden();
	copy(false);
	check_pieces(2, "TTBR0 is empty");
	check_piece(1, STACK_USER, USER + 0x6000, USER + 0x7000,
		    "TTBR0 is empty: the user's stack by the tables of the task's mm");
	check_u64(sample_get_user_tables(&record.vcpu).value, lower,
		  "TTBR0 is empty: the frame of the tables that were used");
	control_set_stack_top(control, sample_get_user_space(&record.vcpu), USER + 0x6000,
			      USER + 0x6100);
	copy(false);
	check_piece(1, STACK_USER, USER + 0x6000, USER + 0x6100,
		    "TTBR0 is empty: the user's stack as learned from user code");
	put_user32(USER32 + 0x200, CODE);
	copy(false);
	check_piece(1, STACK_USER, USER32 + 0x200, USER32 + 0x1200,
		    "TTBR0 is empty: a user's stack of 32 bits");
	put_user(USER + 0x6000, 0);
	arm->ttbr0 |= ROOT_ARM64_CNP | 7ULL << 48; /* has an address-space identifier */
	copy(false);
	check_pieces(2, "other bits of TTBR0 tell nothing");
	arm->ttbr0 = lower << 12;
	*word_at(MM + MM_PGD) = IRQ;
	copy(false);
	check_pieces(2, "while the kernel copies from the user TTBR0 is the user's");
	check_u64(sample_get_user_tables(&record.vcpu).value, 0,
		  "TTBR0 is the user's: the sample has no other tables");
	end();
}

static void test_hidden_wrong(void)
{
	begin_hidden();
	copier.stacks.mm_pgd = 0;
	check_hidden("the place of pgd is not known");
	copier.stacks.mm_pgd = MM_PGD;
	*word_at(TASK + TASK_MM) = 0;
	check_hidden("a task without mm");
	*word_at(TASK + TASK_MM) = MM;
	*word_at(MM + MM_PGD) = USER;
	check_hidden("a table in the user's half");
	*word_at(MM + MM_PGD) = PGD + 64;
	check_hidden("a small table somewhere in its page");
	*word_at(MM + MM_PGD) = PGD + 4096;
	check_hidden("a table that is nowhere");
	end();
}

/* Numbers of the resolver that cannot be right: as if no Linux were there. */
static void test_wrong_numbers(void)
{
	struct linux_stacks stacks = { .current_per_cpu = CURRENT_IN_REGISTER,
				       .task_stack = TASK_STACK,
				       .stack_bytes = 0x3000,
				       .regs_below_top = 336 };

	begin();
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	check(!copier.stacks.current_per_cpu, "a stack is a power of two");
	stacks.stack_bytes = 0x4000;
	stacks.regs_below_top = 168;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	check(!copier.stacks.current_per_cpu, "pt_regs has 336 bytes");
	end();
}

/* CPU 3's word of the table leads from xen_runstate to that CPU's, by the kernel's own tables. */
static void test_per_cpu(void)
{
	static const uint64_t table = 0xffffffc009000fe0, variable = 0xffffffc009100980,
			      distance = 0x76f000000;
	static struct per_cpus cpus;
	struct linux_stacks stacks;
	uint64_t value = 1;

	begin();
	stacks = copier.stacks;
	add_pages(table, 32);
	add_pages(variable + distance, 4096);
	*word_at(table + 3 * 8) = distance;
	per_cpu_learn(&cpus, 3, regs);
	per_cpu_learn(&cpus, 4, regs);
	check(!per_cpu_read_u64(&cpus, &copier, 3, variable, &value) && value == 1,
	      "a variable is not read while the table of CPUs is not known");
	stacks.per_cpu_table = table;
	stacks.runstate_per_cpu = variable;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	check(copier.stacks.runstate_per_cpu == variable, "arm64 may have a table of CPUs");
	check(per_cpu_read_u64(&cpus, &copier, 3, variable + 24, &value) &&
		      value == (variable + distance + 24) / 8 * 8,
	      "the CPU's variable: %#" PRIx64, value);
	arm->ttbr1 = lower << 12; /* page-table isolation does so */
	per_cpu_learn(&cpus, 3, regs);
	check(per_cpu_read_u64(&cpus, &copier, 3, variable + 24, &value),
	      "by the kernel's tables, not the vCPU's");
	check(!per_cpu_read_u64(&cpus, &copier, 4, variable, &value),
	      "no page has that CPU's word");
	*word_at(table + 3 * 8) = -variable;
	check(!per_cpu_read_u64(&cpus, &copier, 3, variable, &value),
	      "a distance into the user's half");
	copy(false);
	check_pieces(2, "the stacks are copied although a CPU's variable was read");
	end();
}

int main(void)
{
	test_unikernel();
	test_32_bits();
	test_system_call();
	test_user();
	test_entry_task();
	test_interpreter();
	test_running();
	test_interrupt();
	test_entering();
	test_hidden_user();
	test_hidden_wrong();
	test_wrong_numbers();
	test_per_cpu();
	return tap_done();
}
