/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads per-CPU variables; see per_cpu.h. */
#include "config.h"

#include "sample/per_cpu.h"
#include "sample/stacks_x86.h"
#include "xtop/walk.h"

void per_cpu_learn(struct per_cpus *cpus, unsigned vcpu, const struct registers *regs)
{
	uint64_t base = regs->arch == ARCH_X86 ? stacks_per_cpu_base(regs) : 0;

	cpus->vcpus[vcpu].base = address_is_kernel(base) ? base : 0;
	cpus->vcpus[vcpu].root = walk_root(regs);
}

bool per_cpu_read_u64(const struct per_cpus *cpus, const struct copier *copier, unsigned vcpu,
		      uint64_t offset, uint64_t *value)
{
	const struct linux_stacks *stacks = &copier->stacks;
	struct memory_root root = cpus->vcpus[vcpu].root;
	struct pieces pieces;

	if (!stacks->current_per_cpu || !stacks->kernel_cr3 || !offset || !cpus->vcpus[vcpu].base)
		return false;
	root.cr3 = stacks->kernel_cr3; /* the page tables of the process may be gone */
	pieces_begin(&pieces, copier->cache, NULL, copier->now_ns);
	return pieces_read(&pieces, root, cpus->vcpus[vcpu].base + offset, value) == CUT_NONE;
}

bool per_cpu_read_u32(const struct per_cpus *cpus, const struct copier *copier, unsigned vcpu,
		      uint64_t offset, uint32_t *value)
{
	uint64_t half = offset % sizeof(uint64_t), word;

	if (half % sizeof(uint32_t) ||
	    !per_cpu_read_u64(cpus, copier, vcpu, offset - half, &word))
		return false;
	*value = (uint32_t)(word >> 8 * half);
	return true;
}

void per_cpu_find_task(struct per_cpus *cpus, struct copier *copier, unsigned vcpu)
{
	copy_prepare_task(copier, cpus->vcpus[vcpu].base, cpus->vcpus[vcpu].root,
			  &cpus->vcpus[vcpu].running);
}
