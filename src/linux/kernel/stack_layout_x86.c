/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the stack layout of a kernel of x86-64 for the sampler. The variables with the current
 * task, the top of its stack and the interrupt stack have moved:
 *
 *                 to 6.1                    6.2 to 6.14                from 6.15
 *   current       current_task              pcpu_hot.current_task      current_task
 *   top           cpu_current_top_of_stack  pcpu_hot.top_of_stack      cpu_current_top_of_stack
 *   irq stack     hardirq_stack_ptr         pcpu_hot.hardirq_stack_ptr hardirq_stack_ptr
 *
 * (Linux commit e57ef2ed97c1 ("x86: Put hot per CPU variables into a struct"); a1e4cc0155ad
 * ("x86/percpu: Move current_task to percpu hot section") reverted that move). Symbols decide, not
 * versions. The values are offsets in the per-cpu area, or addresses; the area's base is added to
 * both.
 *
 * A kernel built for FRED leaves two words free above pt_regs (Linux
 * arch/x86/include/asm/thread_info.h, TOP_OF_KERNEL_STACK_PADDING). Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/stack_layout.h"

#include "linux/kernel/arch.h"
#include "xtop/base/registers_x86.h"

#define STACK_LAYOUT_FRED_PADDING 16

/*
 * The per-cpu address of a variable that some versions have as a member of pcpu_hot; 0 if the
 * kernel has no such variable.
 */
static uint64_t stack_layout_per_cpu(const struct linux_guest *guest, enum linux_symbol symbol,
				     enum layout_member hot)
{
	if (guest->symbols[symbol])
		return guest->symbols[symbol];
	if (guest->symbols[LINUX_PCPU_HOT] && layout_has(&guest->layout, hot))
		return guest->symbols[LINUX_PCPU_HOT] + layout_offset(&guest->layout, hot);
	return 0;
}

/*
 * Distance from the pointer to the interrupt stack to the end of that stack. The pointer points to
 * the last word (Linux commit 951c2a51ae75 ("x86/irq/64: Adjust the per CPU irq stack pointer by
 * 8")). Before that commit the pointer pointed to the end.
 */
static uint32_t stack_layout_irq_above(const struct linux_guest *guest, uint64_t address)
{
	uint64_t pointer;

	if (!linux_read_u64(guest, address, &pointer))
		return 0;
	return (uint32_t)(-pointer & GUEST_PAGE_MASK) == sizeof(uint64_t) ? sizeof(uint64_t) : 0;
}

/*
 * The address of the per-cpu area. In kernel mode gs_base has this address, in user mode
 * gs_base_kernel has it.
 */
static uint64_t stack_layout_per_cpu_base(const struct registers *regs)
{
	return linux_is_kernel(regs->gs_base_kernel) ? regs->gs_base_kernel : regs->gs_base;
}

struct linux_stacks stack_layout_x86_build(const struct linux_guest *guest,
					   const struct registers *regs)
{
	const struct layout *layout = &guest->layout;
	struct linux_stacks stacks = { 0 };

	if (!guest->has_layout || !layout_has(layout, TASK_STACK))
		return stacks;
	stacks = (struct linux_stacks){
		.kernel_cr3 = guest->root.cr3,
		.current_per_cpu =
			stack_layout_per_cpu(guest, LINUX_CURRENT_TASK, PCPU_HOT_CURRENT),
		.top_per_cpu =
			stack_layout_per_cpu(guest, LINUX_TOP_OF_STACK, PCPU_HOT_TOP_OF_STACK),
		.irq_stack_per_cpu =
			stack_layout_per_cpu(guest, LINUX_HARDIRQ_STACK, PCPU_HOT_HARDIRQ_STACK),
		.tss_per_cpu = guest->symbols[LINUX_TSS],
		.lock_wait_per_cpu = guest->symbols[LINUX_LOCK_WAIT],
		.runstate_per_cpu = guest->symbols[LINUX_RUNSTATE],
		.task_stack = layout_offset(layout, TASK_STACK),
		.stack_bytes = arch_stack_bytes(guest),
		.top_padding = guest->symbols[LINUX_FRED] ? STACK_LAYOUT_FRED_PADDING : 0,
		.regs_below_top = layout_offset_or(&guest->layout, PT_REGS_SIZEOF, PT_REGS_BYTES),
		.irq_stack_bytes = arch_stack_bytes(guest),
	};
	if (stack_layout_set_mm(&stacks, layout) && guest->symbols[LINUX_TLB_STATE] &&
	    layout_has(layout, TLB_STATE_LOADED_MM))
		stacks.loaded_mm_per_cpu = guest->symbols[LINUX_TLB_STATE] +
					   layout_offset(layout, TLB_STATE_LOADED_MM);
	stacks.irq_above = stack_layout_irq_above(guest, stack_layout_per_cpu_base(regs) +
								 stacks.irq_stack_per_cpu);
	return stacks;
}
