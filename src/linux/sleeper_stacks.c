/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of tasks that do not run; see sleeper_stacks.h. */
#include "config.h"

#include "linux/sleeper_stacks.h"

#include "linux/kernel/arch.h"
#include "linux/kernel/member.h"
#include "linux/process/sleeper_arch.h"

bool sleeper_stacks_can_read(const struct linux_guest *guest)
{
	return layout_has(&guest->layout, TASK_SP) && layout_has(&guest->layout, TASK_STACK) &&
	       arch_stack_bytes(guest) <= SLEEPER_STACK_BYTES;
}

void sleeper_stacks_init(struct sleeper_stacks *stacks, const struct linux_guest *guest,
			 struct tasks *tasks, struct processes *processes)
{
	stacks->guest = guest;
	stacks->tasks = tasks;
	stacks->processes = processes;
	stacks->size_bytes = arch_stack_bytes(guest);
}

/* Where the bytes of the sample's next stack go. */
static unsigned char *sleeper_stacks_next_piece(struct sleeper_stacks *stacks)
{
	return (unsigned char *)&stacks->sample + stacks->sample.vcpu.size_bytes +
	       sizeof(struct sample_stack);
}

static void sleeper_stacks_add_piece(struct sleeper_stacks *stacks, enum sample_stack_kind kind,
			       uint64_t address, size_t size_bytes)
{
	struct sample_vcpu *vcpu = &stacks->sample.vcpu;
	struct sample_stack *piece =
		(struct sample_stack *)(void *)((char *)vcpu + vcpu->size_bytes);

	*piece = (struct sample_stack){ address, (uint32_t)size_bytes, kind };
	vcpu->size_bytes += (uint32_t)(sizeof(*piece) + ((size_bytes + 7) & ~(size_t)7));
	vcpu->n_stacks++;
}

/*
 * Reads kernel memory from the guest, not from copies of pages. A copy may be older than the look
 * before, and the look afterwards would not notice.
 */
static bool sleeper_stacks_read_now(const struct linux_guest *guest, uint64_t address, void *bytes,
			      size_t size_bytes)
{
	return memory_read_again(guest->memory, guest->root, address, bytes, size_bytes) ==
	       size_bytes;
}

static bool sleeper_stacks_read_word(const struct linux_guest *guest, uint64_t task,
			       enum layout_member member, uint64_t *word)
{
	unsigned word_bytes = linux_word_bytes(guest);

	*word = 0;
	return sleeper_stacks_read_now(guest, task + layout_offset(&guest->layout, member), word,
				       word_bytes) &&
	       linux_is_kernel_of(guest, *word) && *word % word_bytes == 0;
}

/*
 * Reads the registers that the task switch stored in the task_struct, if not all are on the stack.
 */
static bool sleeper_stacks_read_context(struct sleeper_stack *stack)
{
	const struct layout *layout = &stack->guest->layout;

	return !layout_has(layout, TASK_CONTEXT) ||
	       sleeper_stacks_read_now(stack->guest,
				       stack->task + layout_offset(layout, TASK_CONTEXT),
				       stack->context, sizeof(stack->context));
}

/* Reads the live part of the kernel stack of the task at ADDRESS, and its registers. */
static bool sleeper_stacks_read_kernel(struct sleeper_stacks *stacks, uint64_t address)
{
	const struct linux_guest *guest = stacks->guest;
	struct sample_vcpu *vcpu = &stacks->sample.vcpu;
	struct sleeper_stack found = { .guest = guest, .task = address };
	unsigned char *bytes;
	uint64_t stack, sp;
	size_t size;

	*vcpu = (struct sample_vcpu){ .size_bytes = sizeof(*vcpu),
				      .state = VCPU_RUNNING,
				      .task = address };
	if (!sleeper_stacks_read_word(guest, address, TASK_STACK, &stack) ||
	    !sleeper_stacks_read_word(guest, address, TASK_SP, &sp) ||
	    sp - stack >= stacks->size_bytes)
		return false;
	size = stack + stacks->size_bytes - sp;
	bytes = sleeper_stacks_next_piece(stacks);
	found.sp = sp;
	found.bytes = bytes;
	found.size_bytes = size;
	if (!sleeper_stacks_read_now(guest, sp, bytes, size) ||
	    !sleeper_stacks_read_context(&found) ||
	    !sleeper_arch_get_registers(&found, &vcpu->regs))
		return false;
	sleeper_stacks_add_piece(stacks, STACK_FIRST, sp, size);
	return true;
}

/* Reads the innermost pages of the user stack, at the point where the task entered the kernel. */
static void sleeper_stacks_read_user(struct sleeper_stacks *stacks, const struct task *task)
{
	const struct sample_stack *kernel = sample_first_stack(&stacks->sample.vcpu);
	struct sample_vcpu *vcpu = &stacks->sample.vcpu;
	const struct sleeper_stack found = { .guest = stacks->guest,
					     .task = task->address,
					     .sp = kernel->address,
					     .bytes = kernel + 1,
					     .size_bytes = kernel->size_bytes };
	struct memory_root root;
	size_t size, there;
	uint64_t sp;

	if (!task->mm || !processes_get_root(stacks->processes, task->mm, &root) ||
	    !sleeper_arch_get_user_sp(&found, &sp))
		return;
	sleeper_arch_set_root(&vcpu->regs, root);
	size = SLEEPER_USER_BYTES - (sp & GUEST_PAGE_MASK);
	there = memory_read_again(stacks->guest->memory, root, sp,
				  sleeper_stacks_next_piece(stacks), size);
	vcpu->user_cut = there == size ? CUT_LIMIT : CUT_NOT_PRESENT;
	sleeper_stacks_add_piece(stacks, STACK_USER, sp, there);
}

/*
 * The task at ADDRESS; NULL if it cannot be read. The copy that tasks.c keeps is not used: the task
 * has moved since, and most threads set their name just before they begin to wait.
 */
static const struct task *sleeper_stacks_find_task(struct sleeper_stacks *stacks, uint64_t address,
						   const struct task_state *state, uint64_t now_ns)
{
	const struct task *task;

	tasks_invalidate(stacks->tasks, address);
	task = tasks_find(stacks->tasks, address, now_ns);
	return task && task->pid == state->pid && task->start_time == state->start_time ? task
											: NULL;
}

bool sleeper_stacks_read(struct sleeper_stacks *stacks, uint64_t address,
			 const struct task_state *state, uint64_t now_ns, struct os_task *owner)
{
	const struct task *task = sleeper_stacks_find_task(stacks, address, state, now_ns);
	const struct space *user;
	uint64_t thread_pointer = 0;

	if (!task)
		return false;
	user = processes_find_space(stacks->processes, task, now_ns);
	if (!sleeper_stacks_read_kernel(stacks, address))
		return false;
	sleeper_stacks_read_user(stacks, task);
	member_read_u64(stacks->guest, address, TASK_THREAD_POINTER, &thread_pointer);
	*owner = (struct os_task){
		.process = task->process,
		.thread = task_thread_name(task),
		.cgroup = task->cgroup,
		.pid = task->pid,
		.tgid = task->tgid,
		.kernel_thread = task->kernel_thread,
		.user = user,
		.thread_pointer = thread_pointer,
	};
	return true;
}
