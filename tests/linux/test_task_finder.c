/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which task a sample belongs to that was taken while the kernel switched tasks: current is the
 * last task, the stack is the next task's, and the sampler says by which page tables it has read the
 * user's stack.
 */
#include "config.h"

#include "linux/task_finder.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"

#define PAGE        GUEST_PAGE_SIZE
#define BASE        0x55d000000000ULL /* the code of both programs */
#define STACK_BYTES 16384
#define FRESH_NS    (2 * TASKS_FRESH_NS)

struct fixture {
	struct made_linux *made;
	struct task_finder finder;
	struct program program;
	uint64_t last, next; /* task_structs of a switch: the task that ends, the task that begins */
	uint64_t last_stack, next_stack;
	uint64_t last_mm, next_mm;
};

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t word;
} sample;

static uint64_t make_mm(struct fixture *fixture, const char *path, const char *function)
{
	struct vma area = { BASE, BASE + PAGE, VMA_READ | VMA_EXEC, 1, 0 };

	program_make(&fixture->program, 0, function, 1);
	area.file = made_file(fixture->made, path, fixture->program.bytes, PROGRAM_BYTES);
	return made_mm(fixture->made, &area, 1);
}

static uint64_t make_task(struct fixture *fixture, uint32_t pid, const char *comm, uint64_t mm,
			  uint64_t *stack)
{
	uint64_t task = made_task(fixture->made, pid, pid, comm, mm, 0);

	*stack = made_object(fixture->made, STACK_BYTES, STACK_BYTES);
	made_set(fixture->made, task, TASK_STACK, *stack);
	return task;
}

/* The kernel has left LAST for NEXT. CR3 is still that of LAST, as on a PV kernel. */
static void begin(struct fixture *fixture)
{
	static const struct processes_settings none = { .debug.root_fd = -1 };

	fixture->made = made_linux_create(MADE_TREE);
	fixture->finder = (struct task_finder){ .guest = &fixture->made->guest,
						.stacks.guest = &fixture->made->guest };
	must(processes_create(&fixture->made->guest, &none, &fixture->finder.processes));
	must(tasks_create(&fixture->made->guest, &fixture->finder.tasks));
	fixture->last_mm = make_mm(fixture, "/bin/last", "in_last");
	fixture->next_mm = make_mm(fixture, "/bin/next", "in_next");
	fixture->last = make_task(fixture, 50, "last", fixture->last_mm, &fixture->last_stack);
	fixture->next = make_task(fixture, 60, "next", fixture->next_mm, &fixture->next_stack);
	sample.vcpu = (struct sample_vcpu){
		.size_bytes = sizeof(sample),
		.n_stacks = 1,
		.task = fixture->last,
		.regs = { .cr0 = 1U << 31,
			  .cr3 = made_mm_root(fixture->made, fixture->last_mm).cr3,
			  .cr4 = 0x20 },
	};
	sample.stack = (struct sample_stack){ .address = fixture->next_stack + STACK_BYTES - 0x400,
					      .size_bytes = 8 };
	sample_set_frame(&sample.vcpu, FRAME(made_mm_root(fixture->made, fixture->next_mm).cr3 >>
					     GUEST_PAGE_SHIFT));
}

static void end(struct fixture *fixture)
{
	tasks_destroy(fixture->finder.tasks);
	processes_destroy(fixture->finder.processes);
	made_linux_destroy(fixture->made);
}

static struct os_task find(struct fixture *fixture, uint64_t now_ns)
{
	struct os_task task = { .process = NULL };

	task_finder_find(&fixture->finder, &sample.vcpu, now_ns, &task);
	return task;
}

/* The function of the program that the task runs. */
static const char *function(const struct os_task *task)
{
	const struct mapping *mapping;
	static struct symtab_entry entry;

	if (!task->user || !space_find_symbol(task->user, BASE + PROGRAM_FUNCTION - PROGRAM_TEXT,
					      &entry, &mapping))
		return "none";
	return entry.name;
}

static void check_task(struct fixture *fixture, uint64_t now_ns, const char *process,
		       const char *code, const char *what)
{
	struct os_task task = find(fixture, now_ns);

	check_string(task.process, process, what);
	check_string(function(&task), code, what);
}

static void test_known(struct fixture *fixture)
{
	begin(fixture);
	tasks_find(fixture->finder.tasks, fixture->next, FRESH_NS);
	check_task(fixture, FRESH_NS + 1, "next", "in_next", "a switch to a task that is known");
	sample.stack.address = fixture->last_stack + STACK_BYTES - 0x400;
	sample_set_frame(&sample.vcpu, FRAME(0));
	check_task(fixture, FRESH_NS + 2, "last", "in_last", "before the stack is changed");
	end(fixture);
}

static void test_new(struct fixture *fixture)
{
	uint64_t stack;

	begin(fixture);
	made_put_u64(fixture->made->memory, fixture->made->guest.root,
		     fixture->next_stack + STACK_BYTES - 0x800, fixture->next);
	check_task(fixture, FRESH_NS, "next", "in_next",
		   "a switch to a new task, which its stack names");
	end(fixture);
	begin(fixture);
	check_task(fixture, FRESH_NS, "[unknown]", "none",
		   "a task that cannot be found is not current");
	sample.vcpu.task = make_task(fixture, 7, "kworker", 0, &stack);
	check_task(fixture, FRESH_NS + 1, "[unknown]", "none",
		   "the kernel thread that was left is not current either");
	end(fixture);
}

/* Kernel threads have no user's registers on their stacks, so the sampler says nothing of them. */
static void test_kernel_thread(struct fixture *fixture)
{
	uint64_t stack, thread;

	begin(fixture);
	thread = make_task(fixture, 7, "kworker", 0, &stack);
	sample.stack.address = stack + STACK_BYTES - 0x400;
	sample_set_frame(&sample.vcpu, FRAME(0));
	check_task(fixture, FRESH_NS, "last", "in_last", "a stack that nobody is known to have");
	tasks_find(fixture->finder.tasks, thread, FRESH_NS);
	check_task(fixture, FRESH_NS + 1, "kworker", "none",
		   "a switch to a kernel thread that is known");
	end(fixture);
}

/*
 * On arm64 with CONFIG_ARM64_SW_TTBR0_PAN the sampler names the tables of current, which runs: on
 * its own stack, or on that of interrupts. (The made tables are those of x86-64. Their number is
 * all that counts here.)
 */
static void test_hidden_user(struct fixture *fixture)
{
	uint64_t table, stack;

	begin(fixture);
	table = made_mm_root(fixture->made, fixture->last_mm).cr3;
	make_task(fixture, 7, "irq", 0, &stack);
	sample.stack.address = stack + STACK_BYTES - 0x400; /* stack of no known task */
	sample.vcpu.regs = (struct registers){ .arch = ARCH_ARM64,
					       .arm64 = { .pstate = 5, .sp_el0 = fixture->last } };
	sample_set_frame(&sample.vcpu, FRAME(table >> GUEST_PAGE_SHIFT));
	check_task(fixture, FRESH_NS, "last", "in_last",
		   "arm64: the task below an interrupts' stack");
	sample.stack.address = fixture->last_stack + STACK_BYTES - 0x400;
	check_task(fixture, FRESH_NS + 1, "last", "in_last", "arm64: the task on its own stack");
	sample_set_frame(&sample.vcpu, FRAME(0));
	check_task(fixture, FRESH_NS + 2, "last", "none",
		   "arm64: a task's code is not known by TTBR0 alone");
	end(fixture);
}

/*
 * Where no variable of the kernel tells the task of user code, SP_EL1 is the end of its stack. (The
 * made tables are those of x86-64, as above.)
 */
static void test_arm64_user(struct fixture *fixture)
{
	struct registers_arm64 *regs = &sample.vcpu.regs.arm64;
	struct registers kernel = { .arch = ARCH_ARM64 };

	begin(fixture);
	kernel.arm64 = (struct registers_arm64){ .pstate = 5, .sp_el0 = fixture->last };
	sample.vcpu.n_stacks = sample.vcpu.task = 0;
	sample.vcpu.user = 1;
	sample.vcpu.regs = (struct registers){ .arch = ARCH_ARM64 };
	sample_set_frame(&sample.vcpu, FRAME(0));
	regs->sp_el1 = fixture->next_stack + STACK_BYTES;
	regs->ttbr0 = made_mm_root(fixture->made, fixture->next_mm).cr3;
	check_task(fixture, FRESH_NS, "[unknown]", "none",
		   "arm64: a stack that nobody is known to have");
	tasks_find(fixture->finder.tasks, fixture->next, FRESH_NS);
	check_task(fixture, FRESH_NS + 1, "next", "in_next", "arm64: the task whose stack it is");
	sample.vcpu.task = fixture->last;
	regs->ttbr0 = made_mm_root(fixture->made, fixture->last_mm).cr3;
	check_task(fixture, FRESH_NS + 2, "last", "in_last",
		   "arm64: the task that the sampler has read");
	sample.vcpu.task = 0;
	regs->sp_el1 = BASE;
	check_task(fixture, FRESH_NS + 3, "[unknown]", "none",
		   "arm64: SP_EL1 in the user's half is no stack");
	task_finder_learn(&fixture->finder, &kernel);
	check_u64(fixture->finder.stacks.any_task, fixture->last,
		  "arm64: SP_EL0 in the kernel is a task");
	kernel.arm64 = (struct registers_arm64){ .pstate = 0, .sp_el0 = fixture->next };
	task_finder_learn(&fixture->finder, &kernel);
	check_u64(fixture->finder.stacks.any_task, fixture->last,
		  "arm64: SP_EL0 in user mode is not a task");
	end(fixture);
}

/* The kernel's first instruction makes room for the user's registers. SP_EL0 is the user's still. */
static void test_arm64_entering(struct fixture *fixture)
{
	struct registers_arm64 *regs = &sample.vcpu.regs.arm64;

	begin(fixture);
	made_put_u64(fixture->made->memory, fixture->made->guest.root,
		     fixture->next_stack + STACK_BYTES - 0x800, fixture->next);
	sample.vcpu.n_stacks = sample.vcpu.task = 0;
	sample.vcpu.regs = (struct registers){ .arch = ARCH_ARM64 };
	sample_set_frame(&sample.vcpu, FRAME(0));
	regs->pstate = 5;
	regs->sp_el1 = fixture->next_stack + STACK_BYTES - PT_ARM64_BYTES;
	regs->ttbr0 = made_mm_root(fixture->made, fixture->next_mm).cr3;
	check_task(fixture, FRESH_NS, "next", "in_next", "arm64: the kernel is being entered");
	end(fixture);
}

int main(void)
{
	static struct fixture fixture;

	test_known(&fixture);
	test_new(&fixture);
	test_kernel_thread(&fixture);
	test_hidden_user(&fixture);
	test_arm64_user(&fixture);
	test_arm64_entering(&fixture);
	return tap_done();
}
