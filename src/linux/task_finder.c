/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which task a sample belongs to. The sampler copied `current` and the stacks while the guest was
 * stopped. The task_struct is read afterwards, while the guest runs, so the task may have changed
 * in between:
 *
 *   current is on its own stack       current is the task
 *   current is on another's stack     a task switch: the task of that stack, among the known
 *                                     tasks, or among all (process/task_stacks.c)
 *   page tables differ                the task called exec() or ended (process/past_task.c), or
 *                                     the page frame of the sampled code tells what it ran
 *   current is not known (arm64)      see task_finder_arm64.c
 *
 * A task that cannot be determined is shown as "[unknown]". Resolver's thread.
 */
#include "config.h"

#include "linux/task_finder.h"

#include "linux/kernel/arch.h"
#include "linux/kernel/member.h"
#include "linux/task_finder_arch.h"

/* copies of guest memory older than this are read again */
#define TASK_FINDER_REFRESH_NS 50000000ULL

static void task_finder_refresh(struct task_finder *finder, uint64_t now_ns)
{
	if (now_ns < finder->next_refresh_ns)
		return;
	finder->next_refresh_ns = now_ns + TASK_FINDER_REFRESH_NS;
	memory_refresh(finder->guest->memory);
}

/* Whether the sample was taken under the page tables that MM has now. */
static bool task_finder_is_process(const struct task_finder *finder, const struct sample_vcpu *vcpu,
				   uint64_t mm)
{
	return processes_has_mm_root(finder->processes, mm, sample_get_user_root(vcpu));
}

/*
 * The user code of *TASKP, which is read again if it has changed. NULL if the task has no user
 * code, or if its code at the time of the sample is unknown.
 */
static const struct space *task_finder_user(struct task_finder *finder,
					    const struct sample_vcpu *vcpu,
					    const struct task **taskp, uint64_t now_ns)
{
	uint64_t address = *taskp ? (*taskp)->address : 0;

	for (int tries = 0; tries < 2 && *taskp && (*taskp)->mm; tries++) {
		const struct space *space = processes_find_space(finder->processes, *taskp, now_ns);

		if (task_finder_is_process(finder, vcpu, (*taskp)->mm))
			return space;
		/* The task called exec(), or another task got its task_struct: read it again. */
		memory_refresh(finder->guest->memory);
		tasks_invalidate(finder->tasks, address);
		*taskp = tasks_find(finder->tasks, address, now_ns);
	}
	if (!*taskp || (*taskp)->kernel_thread)
		return NULL;
	return processes_find_past(finder->processes, sample_get_user_root(vcpu), (*taskp)->tgid);
}

/*
 * The task's stack pointer on its own kernel stack, not on an interrupt stack. 0 if the sample has
 * no part of the task's kernel stack.
 */
static uint64_t task_finder_sp(const struct task_finder *finder, const struct sample_vcpu *vcpu)
{
	const struct sample_stack *piece = sample_first_stack(vcpu);
	uint64_t sp = 0;

	for (unsigned i = 0; !vcpu->user && i < vcpu->n_stacks;
	     i++, piece = sample_next_stack(piece))
		if (piece->kind != STACK_USER && linux_is_kernel_of(finder->guest, piece->address))
			sp = piece->address;
	return sp;
}

/*
 * Whether the sampler saw that a task other than current runs. The sampler can tell this only for a
 * program on x86-64 (sample/stacks_x86.c). On arm64 current itself has the page tables of the
 * sample.
 */
static bool task_finder_is_next(const struct sample_vcpu *vcpu)
{
	return vcpu->regs.arch != ARCH_ARM64 && sample_get_user_tables(vcpu).value;
}

/*
 * The task on whose kernel stack SP lies; 0 if not found. The search among all tasks, which begins
 * at CURRENT, is done only if current is known to be another task.
 */
static uint64_t task_finder_owner(struct task_finder *finder, const struct sample_vcpu *vcpu,
				  uint64_t current, uint64_t sp, uint64_t now_ns)
{
	uint64_t bytes = arch_stack_bytes(finder->guest);

	if (!task_finder_is_next(vcpu))
		return tasks_find_on_stack(finder->tasks, sp);
	task_stacks_learn(&finder->stacks, current);
	return task_stacks_find(&finder->stacks, finder->tasks, sp - sp % bytes + bytes, now_ns);
}

/*
 * The task_struct of the sample: current, unless the kernel is just switching to another task and
 * already uses the other task's stack (sample/stacks_x86.c). 0 if the task is unknown.
 */
static uint64_t task_finder_address(struct task_finder *finder, const struct sample_vcpu *vcpu,
				    uint64_t current, uint64_t now_ns)
{
	struct tasks *tasks = finder->tasks;
	const struct task *task = tasks_find(tasks, current, now_ns);
	uint64_t sp = task_finder_sp(finder, vcpu), next;

	if (!sp || !task || !task->stack || tasks_is_on_stack(tasks, task, sp))
		return current;
	next = task_finder_owner(finder, vcpu, current, sp, now_ns);
	task = next ? tasks_find(tasks, next, now_ns) : NULL;
	if (task && tasks_is_on_stack(tasks, task, sp))
		return next;
	return task_finder_is_next(vcpu) ? 0 : current;
}

void task_finder_learn(struct task_finder *finder, const struct registers *regs)
{
	if (regs->arch == ARCH_ARM64 && finder->tasks)
		task_finder_arm64_learn(&finder->stacks, finder->tasks, &regs->arm64);
}

/* The vCPU's current task; 0 if unknown. */
static uint64_t task_finder_current(struct task_finder *finder, const struct sample_vcpu *vcpu,
				    uint64_t now_ns)
{
	return vcpu->regs.arch == ARCH_ARM64
		       ? task_finder_arm64_current(&finder->stacks, finder->tasks, vcpu, now_ns)
		       : vcpu->task;
}

/*
 * After the sample *TASKP has ended, or runs another program. Sets *TASKP and *USER to their values
 * at TIME_NS. Returns false if the sample's task cannot be determined.
 */
static bool task_finder_find_past(struct task_finder *finder, const struct sample_vcpu *vcpu,
				  uint64_t time_ns, const struct task **taskp,
				  const struct space **user)
{
	const struct task *task = *taskp, *parent;
	uint64_t sp = task_finder_sp(finder, vcpu);

	if (!start_clock_had_started(&finder->clock, task, time_ns) ||
	    (sp && !tasks_is_on_stack(finder->tasks, task, sp)))
		return false;
	if (!past_task_is_parent_copy(finder->guest, finder->tasks, task, time_ns, &parent))
		return true;
	*user = processes_find_space(finder->processes, parent, time_ns);
	if (!task_finder_is_process(finder, vcpu, parent->mm) &&
	    processes_has_root(finder->processes, sample_get_user_root(vcpu))) {
		*user = NULL; /* the kernel is about to switch to the process of these tables */
		return true;
	}
	*taskp = parent;
	return true;
}

/* The thread pointer of TASK's user code. On arm64 the registers lack it. */
static uint64_t task_finder_thread_pointer(const struct task_finder *finder,
					   const struct sample_vcpu *vcpu, const struct task *task)
{
	uint64_t pointer = vcpu->regs.arch == ARCH_X86 ? vcpu->regs.fs_base : 0;

	if (vcpu->regs.arch != ARCH_X86)
		member_read_u64(finder->guest, task->address, TASK_THREAD_POINTER, &pointer);
	return pointer;
}

static void task_finder_task(struct task_finder *finder, const struct sample_vcpu *vcpu,
			     uint64_t now_ns, struct os_task *task)
{
	uint64_t current = task_finder_current(finder, vcpu, now_ns);
	const struct task *found, *named;
	const struct space *user;

	task->process = "[unknown]";
	if (!current)
		return;
	task_finder_refresh(finder, now_ns);
	found = tasks_find(finder->tasks, task_finder_address(finder, vcpu, current, now_ns),
			   now_ns);
	user = task_finder_user(finder, vcpu, &found, now_ns);
	if (!found)
		return;
	named = found;
	/*
	 * A task that was sampled in its own memory had started by then. Any other task has started
	 * by now.
	 */
	start_clock_update(&finder->clock, found,
			   user && task_finder_is_process(finder, vcpu, found->mm)
				   ? now_ns
				   : memory_now_ns(finder->guest->memory));
	if (!user && !found->kernel_thread &&
	    !task_finder_find_past(finder, vcpu, now_ns, &named, &user))
		return;
	*task = (struct os_task){
		.process = named->process,
		.thread = task_thread_name(named),
		.cgroup = named->cgroup,
		.pid = found->pid,
		.tgid = found->tgid,
		.kernel_thread = found->kernel_thread,
		.idle = found->idle,
		.user = user,
		.thread_pointer = user ? task_finder_thread_pointer(finder, vcpu, found) : 0,
		.ended = !found->mm && !found->kernel_thread,
	};
}

/*
 * Finds user code outside every known area. Mostly its process ended too soon. The sampler noted
 * the page frame of the sampled code, and code_pages.c knows the file whose code is there.
 */
static void task_finder_code(struct task_finder *finder, const struct sample_vcpu *vcpu,
			     uint64_t now_ns, struct os_task *task)
{
	uint64_t pc = registers_pc(&vcpu->regs);
	const struct space *page;

	if (!vcpu->user || (task->user && space_find(task->user, pc)))
		return;
	page = processes_find_by_frame(finder->processes, pc,
				       sample_get_code_frame(vcpu), now_ns);
	if (page)
		task->user = page;
}

/*
 * Names the task on i386, where address spaces are unknown. A task that has called exec() since has
 * its new name; a task that has ended has none.
 */
static void task_finder_name(struct task_finder *finder, const struct sample_vcpu *vcpu,
			     uint64_t now_ns, struct os_task *task)
{
	const struct task *found;

	task->process = "[unknown]";
	task_finder_refresh(finder, now_ns);
	found = vcpu->task ? tasks_find(finder->tasks, vcpu->task, now_ns) : NULL;
	if (!found)
		return;
	task->process = found->process;
	task->thread = task_thread_name(found);
	task->pid = found->pid;
	task->tgid = found->tgid;
	task->kernel_thread = found->kernel_thread;
	task->idle = found->idle;
}

void task_finder_find(struct task_finder *finder, const struct sample_vcpu *vcpu, uint64_t now_ns,
		      struct os_task *task)
{
	if (!finder->processes) {
		task_finder_name(finder, vcpu, now_ns, task);
		return;
	}
	task_finder_task(finder, vcpu, now_ns, task);
	task_finder_code(finder, vcpu, now_ns, task);
}
