/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From what is known of a kernel to the numbers of struct stack_recipe. Where current, the top of
 * its stack and the interrupt stack are kept has moved:
 *
 *                 to 6.1                    6.2 to 6.14                from 6.15
 *   current       current_task              pcpu_hot.current_task      current_task
 *   top           cpu_current_top_of_stack  pcpu_hot.top_of_stack      cpu_current_top_of_stack
 *   irq stack     hardirq_stack_ptr         pcpu_hot.hardirq_stack_ptr hardirq_stack_ptr
 *
 * (Linux commit e57ef2ed97c1 ("x86: Put hot per CPU variables into a struct"); a1e4cc0155ad
 * ("x86/percpu: Move current_task to percpu hot section") took it out again). Symbols decide, not
 * versions. The values are offsets in the per-cpu area, or addresses to which the area's base is
 * added all the same.
 *
 * A kernel built for FRED leaves two words free above pt_regs (Linux
 * arch/x86/include/asm/thread_info.h, TOP_OF_KERNEL_STACK_PADDING). Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/recipe.h"

#define RECIPE_STACK_BYTES  16384 /* THREAD_SIZE and IRQ_STACK_SIZE unless BTF knows better */
#define RECIPE_REGS_BYTES   168   /* struct pt_regs */
#define RECIPE_FRED_PADDING 16

/* Per-cpu place of a variable that is, or was for a while, a member of pcpu_hot. 0: not there. */
static uint64_t recipe_per_cpu(const struct linux_guest *guest, enum linux_symbol symbol,
			       enum layout_member hot)
{
	if (guest->symbols[symbol])
		return guest->symbols[symbol];
	if (guest->symbols[LINUX_PCPU_HOT] && layout_has(&guest->layout, hot))
		return guest->symbols[LINUX_PCPU_HOT] + layout_offset(&guest->layout, hot);
	return 0;
}

static uint32_t recipe_number(const struct linux_guest *guest, enum layout_member member,
			      uint32_t otherwise)
{
	return layout_has(&guest->layout, member) ? layout_offset(&guest->layout, member)
						  : otherwise;
}

/*
 * The pointer to the interrupt stack points to its last word (Linux commit 951c2a51ae75
 * ("x86/irq/64: Adjust the per CPU irq stack pointer by 8")), before that to its end.
 */
static uint32_t recipe_irq_above(const struct linux_guest *guest, uint64_t address)
{
	uint64_t pointer;

	if (!linux_read_u64(guest, address, &pointer))
		return 0;
	return (uint32_t)(-pointer & GUEST_PAGE_MASK) == sizeof(uint64_t) ? sizeof(uint64_t) : 0;
}

struct stack_recipe recipe_make(const struct linux_guest *guest, const struct registers *regs)
{
	struct stack_recipe recipe = { 0 };

	if (!guest->has_layout || !layout_has(&guest->layout, TASK_STACK))
		return recipe;
	recipe = (struct stack_recipe){
		.kernel_cr3 = guest->root.cr3,
		.current_per_cpu = recipe_per_cpu(guest, LINUX_CURRENT_TASK, PCPU_HOT_CURRENT),
		.top_per_cpu = recipe_per_cpu(guest, LINUX_TOP_OF_STACK, PCPU_HOT_TOP_OF_STACK),
		.irq_stack_per_cpu =
			recipe_per_cpu(guest, LINUX_HARDIRQ_STACK, PCPU_HOT_HARDIRQ_STACK),
		.tss_per_cpu = guest->symbols[LINUX_TSS],
		.task_stack = layout_offset(&guest->layout, TASK_STACK),
		.stack_bytes = recipe_number(guest, IRQ_STACK_SIZEOF, RECIPE_STACK_BYTES),
		.top_padding = guest->symbols[LINUX_FRED] ? RECIPE_FRED_PADDING : 0,
		.regs_below_top = recipe_number(guest, PT_REGS_SIZEOF, RECIPE_REGS_BYTES),
		.irq_stack_bytes = recipe_number(guest, IRQ_STACK_SIZEOF, RECIPE_STACK_BYTES),
	};
	if (layout_has(&guest->layout, TASK_MM) && layout_has(&guest->layout, MM_START_STACK)) {
		recipe.task_mm = layout_offset(&guest->layout, TASK_MM);
		recipe.mm_start_stack = layout_offset(&guest->layout, MM_START_STACK);
	}
	recipe.irq_above = recipe_irq_above(
		guest,
		(linux_is_kernel(regs->gs_base_kernel) ? regs->gs_base_kernel : regs->gs_base) +
			recipe.irq_stack_per_cpu);
	return recipe;
}
