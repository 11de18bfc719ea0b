/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a Linux guest's per-CPU variables tell; see per_cpu.h. */
#include "config.h"

#include "sample/per_cpu.h"
#include "sample/stacks_x86.h"

void per_cpu_learn(struct per_cpus *cpus, unsigned vcpu, const struct registers *regs)
{
	uint64_t base = regs->arch == ARCH_X86 ? stacks_per_cpu_base(regs) : 0;

	cpus->vcpus[vcpu].base = address_is_kernel(base) ? base : 0;
	cpus->vcpus[vcpu].root = walk_root(regs);
}

/*
 * On arm64: reads what is added to a per-CPU variable's address on VCPU. On arm64 Linux numbers
 * CPUs as Xen numbers vCPUs: in the order of the device tree that Xen makes (Linux
 * arch/arm64/kernel/smp.c, of_parse_and_init_cpus()).
 */
static bool per_cpu_find_distance(struct piece_writer *writer, const struct linux_stacks *stacks,
				  struct memory_root root, unsigned vcpu, uint64_t *distance)
{
	return stacks->per_cpu_table &&
	       piece_writer_read(writer, root, stacks->per_cpu_table + sizeof(*distance) * vcpu,
				 distance) == CUT_NONE;
}

bool per_cpu_read_u64(const struct per_cpus *cpus, const struct copier *copier, unsigned vcpu,
		      uint64_t offset, uint64_t *value)
{
	const struct linux_stacks *stacks = &copier->stacks;
	struct memory_root root = cpus->vcpus[vcpu].root;
	uint64_t base = cpus->vcpus[vcpu].base;
	struct piece_writer writer;

	if (!stacks->current_per_cpu || !stacks->kernel_cr3 || !offset)
		return false;
	piece_writer_begin(&writer, copier->cache, NULL, copier->now_ns);
	if (root.width == ROOT_ARM64) {
		root.arm64.table1 = stacks->kernel_cr3;
		if (!per_cpu_find_distance(&writer, stacks, root, vcpu, &base) ||
		    !address_is_kernel(base + offset))
			return false;
	} else if (!base) {
		return false;
	} else {
		root.cr3 = stacks->kernel_cr3; /* the page tables of the process may be gone */
	}
	return piece_writer_read(&writer, root, base + offset, value) == CUT_NONE;
}

static bool per_cpu_read_u32(const struct per_cpus *cpus, const struct copier *copier,
			     unsigned vcpu, uint64_t offset, uint32_t *value)
{
	uint64_t half = offset % sizeof(uint64_t), word;

	if (half % sizeof(uint32_t) ||
	    !per_cpu_read_u64(cpus, copier, vcpu, offset - half, &word))
		return false;
	*value = (uint32_t)(word >> 8 * half);
	return true;
}

void per_cpu_find_lock_waits(const struct per_cpus *cpus, const struct copier *copier,
			     unsigned n_vcpus, struct guest_look *look)
{
	uint64_t offset = copier->stacks.lock_wait_per_cpu;
	uint32_t nest;

	for (unsigned i = 0; i < n_vcpus; i++)
		if (look->states[i] == VCPU_BLOCKED &&
		    per_cpu_read_u32(cpus, copier, i, offset, &nest) && (int32_t)nest > 0)
			look->states[i] = VCPU_LOCK_WAIT;
}
