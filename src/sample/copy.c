/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies the stacks of one vCPU; see copy.h. A unikernel has one stack, at the stack pointer. For a
 * Linux guest the functions stacks_*copy_linux() find all stacks that led to the stack pointer.
 *
 * Every address, length and pointer comes from the guest and may be anything. All pieces together
 * have at most SAMPLE_STACK_LIMIT_BYTES, so a wrong number costs bytes and nothing else.
 */
#include "config.h"

#include "sample/copy.h"
#include "sample/stacks_32.h"
#include "sample/stacks_arm64.h"
#include "sample/stacks_x86.h"
#include "xtop/memory/frame_cache.h"

/* Limits of the numbers in struct linux_stacks: no kernel has larger ones. */
#define STACKS_MAX_BYTES  4096
#define STACKS_MAX_STRUCT 32768 /* a task_struct has 9 to 14 KiB */

/* --- what the resolver says of a Linux guest's stacks ----------------------------------------- */

static bool stacks_check_bytes(uint32_t bytes)
{
	return bytes <= STACKS_MAX_BYTES && bytes % sizeof(uint64_t) == 0;
}

static bool stacks_check_size(uint32_t bytes)
{
	return bytes >= GUEST_PAGE_SIZE && bytes <= SAMPLE_STACK_LIMIT_BYTES &&
	       bytes % GUEST_PAGE_SIZE == 0;
}

static bool stacks_check_member(uint32_t offset)
{
	return offset <= STACKS_MAX_STRUCT && offset % sizeof(uint64_t) == 0;
}

static bool stacks_check(const struct linux_stacks *stacks)
{
	return stacks_check_size(stacks->stack_bytes) && stacks_check_bytes(stacks->top_padding) &&
	       stacks_check_bytes(stacks->regs_below_top) &&
	       stacks->regs_below_top >= STACKS_SAVED_REGISTERS_BYTES &&
	       (stacks->current_per_cpu != CURRENT_IN_REGISTER ||
		(stacks_check_member(stacks->task_stack) &&
		 stacks->regs_below_top >= PT_ARM64_BYTES_LEAST && !(stacks->kernel_cr3 >> 48) &&
		 !(stacks->stack_bytes & (stacks->stack_bytes - 1)))) &&
	       stacks_check_bytes(stacks->irq_above) && stacks_check_member(stacks->task_mm) &&
	       stacks_check_member(stacks->task_thread_pointer) &&
	       stacks_check_member(stacks->mm_start_stack) &&
	       stacks_check_member(stacks->mm_pgd) &&
	       (!stacks->irq_stack_per_cpu || stacks_check_size(stacks->irq_stack_bytes));
}

void copy_poll_stacks(struct copier *copier)
{
	struct linux_stacks stacks;

	if (!control_get_linux_stacks(copier->control, &copier->stacks_version, &stacks))
		return;
	if (stacks_are_32(&stacks) ? !stacks_32_check(&stacks) : !stacks_check(&stacks))
		stacks.current_per_cpu = 0;
	copier->stacks = stacks;
}

/* --- opening ---------------------------------------------------------------------------------- */

#define COPIER_CACHE_PAGES 16384 /* 64 MiB of guest memory mapped at most */

bool copier_open(struct copier *copier, const struct guest *guest, struct control *control)
{
	struct xtop_error *error;

	*copier = (struct copier){ .guest = &guest->info, .control = control };
	error = frame_cache_create(&guest->mapper, COPIER_CACHE_PAGES, FRAME_CACHE_ROUND_NS,
				   &copier->cache);
	if (!error)
		return true;
	control_set_message(control, error_message(error));
	control_set_state(control, SAMPLER_FAILED);
	error_destroy(error);
	return false;
}

/* --- a vCPU ----------------------------------------------------------------------------------- */

static inline enum sample_cut copy_unikernel(struct copy *copy)
{
	uint64_t address = registers_stack_pointer(copy->regs);
	uint64_t bytes = stacks_learned_bytes(copy, address);

	return piece_writer_add(&copy->writer, STACK_FIRST, copy->own, address,
				bytes ? bytes : COPY_UNKNOWN_BYTES);
}

static inline bool copy_can_walk(const struct guest_info *guest, const struct registers *regs)
{
	return regs->arch == ARCH_ARM64 ? stacks_arm64_can_walk(regs)
					: stacks_can_walk(guest, regs);
}

/*
 * Copies the stacks of a vCPU to TO. TO NULL: maps the pages that a copy needs. The function is
 * inline, because a call would lengthen the stop.
 */
static inline __attribute__((always_inline)) void
copy_all(struct copier *copier, const struct registers *regs, bool user, char *to,
	 struct copied *copied)
{
	struct copy copy; /* set field by field: the guest is stopped, each instruction counts */

	copied->task = 0;
	copied->frame = FRAME(0);
	copied->stack_cut = copied->user_cut = CUT_NONE;
	piece_writer_begin(&copy.writer, copier->cache, to, copier->now_ns);
	copy.copier = copier;
	copy.regs = regs;
	copy.copied = copied;
	copy.own = walk_root(regs);
	if (!copy_can_walk(copier->guest, regs))
		copied->stack_cut = CUT_NO_PAGING;
	else if (!copier->stacks.current_per_cpu ||
		 (regs->arch == ARCH_ARM64 &&
		  stacks_are_32(&copier->stacks) != registers_is_arm32(regs)))
		copied->stack_cut = copy_unikernel(&copy);
	else if (regs->arch == ARCH_ARM64 && stacks_are_32(&copier->stacks))
		stacks_arm32_copy_linux(&copy, user);
	else if (regs->arch == ARCH_ARM64)
		stacks_arm64_copy_linux(&copy, user);
	else if (stacks_are_32(&copier->stacks))
		stacks_i386_copy_linux(&copy, user);
	else
		stacks_copy_linux(&copy, user);
	copied->size_bytes = copy.writer.size_bytes;
	copied->n_stacks = copy.writer.n;
	copied->missed = copy.writer.missed;
}

void copy_vcpu(struct copier *copier, const struct registers *regs, bool user, char *to,
	       struct copied *copied)
{
	copy_all(copier, regs, user, to, copied);
}

void copy_head(const struct copied *copied, const struct registers *regs, bool user, uint16_t vcpu,
	       enum vcpu_state state, struct sample_vcpu *head)
{
	head->size_bytes = (uint32_t)(sizeof(*head) + copied->size_bytes);
	head->vcpu = vcpu;
	head->state = (uint8_t)state;
	head->user = user;
	head->n_stacks = (uint8_t)copied->n_stacks;
	head->stack_cut = (uint8_t)copied->stack_cut;
	head->user_cut = (uint8_t)copied->user_cut;
	head->task = copied->task;
	head->regs = *regs;
	sample_set_frame(head, copied->frame);
}

size_t copy_prepare(struct copier *copier, const struct registers *regs, bool user)
{
	struct copied copied;

	copy_all(copier, regs, user, NULL, &copied);
	return copied.size_bytes;
}

/*
 * Sets RUNNING to the task that runs. If that is not TASK, maps the pages that a copy of the
 * running task's stacks needs.
 */
static void copy_prepare_running(struct copier *copier, uint64_t per_cpu_base,
				 struct memory_root root, uint64_t task, struct copy_task *running)
{
	bool is_arm64 = root.width == ROOT_ARM64;
	/* Registers that lead to the per-CPU variables, and to no stack. */
	struct registers regs = { .arch = is_arm64 ? ARCH_ARM64 : ARCH_X86,
				  .gs_base_kernel = per_cpu_base };
	struct copied copied = { .task = 0 };
	struct copy copy = { .copier = copier, .regs = &regs, .copied = &copied, .own = root };

	piece_writer_begin(&copy.writer, copier->cache, NULL, copier->now_ns);
	*running = is_arm64 ? stacks_arm64_find_running(&copy) : stacks_find_running(&copy);
	if (!running->task || running->task == task)
		return;
	if (is_arm64)
		stacks_arm64_map_task(&copy, running);
	else
		stacks_map_task(&copy, running);
}

void copy_prepare_task(struct copier *copier, uint64_t per_cpu_base, struct memory_root root,
		       struct copy_task *running)
{
	uint64_t task = running->task;

	*running = (struct copy_task){ .task = 0 };
	if (copier->stacks.current_per_cpu && !stacks_are_32(&copier->stacks) &&
	    (root.width == ROOT_ARM64 || per_cpu_base))
		copy_prepare_running(copier, per_cpu_base, root, task, running);
}
