/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vCPUs that wait for a spinlock; see lock_wait.h. */
#include "config.h"

#include "sample/lock_wait.h"
#include "sample/stacks_x86.h"
#include "xtop/walk.h"

void lock_wait_learn(struct lock_waits *waits, unsigned vcpu, const struct registers *regs)
{
	uint64_t base = stacks_per_cpu_base(regs);

	waits->vcpus[vcpu].per_cpu = address_is_kernel(base) ? base : 0;
	waits->vcpus[vcpu].root = walk_root(regs);
}

/* The 32-bit counter at ADDRESS; 0: it cannot be read. */
static int32_t lock_wait_read(const struct copier *copier, struct memory_root root,
			      uint64_t address)
{
	uint64_t half = address % sizeof(uint64_t), word;
	struct pieces pieces;

	if (half % sizeof(int32_t))
		return 0;
	pieces_begin(&pieces, copier->cache, NULL, copier->now_ns);
	if (pieces_read(&pieces, root, address - half, &word) != CUT_NONE)
		return 0;
	return (int32_t)(word >> 8 * half);
}

void lock_wait_find(const struct lock_waits *waits, const struct copier *copier, unsigned n_vcpus,
		    struct guest_look *look)
{
	const struct linux_stacks *stacks = &copier->stacks;

	if (!stacks->current_per_cpu || !stacks->lock_wait_per_cpu || !stacks->kernel_cr3)
		return;
	for (unsigned i = 0; i < n_vcpus; i++) {
		struct memory_root root = waits->vcpus[i].root;

		if (look->states[i] != VCPU_BLOCKED || !waits->vcpus[i].per_cpu)
			continue;
		root.cr3 = stacks->kernel_cr3; /* the process that ran may be gone */
		if (lock_wait_read(copier, root,
				   waits->vcpus[i].per_cpu + stacks->lock_wait_per_cpu) > 0)
			look->states[i] = VCPU_LOCK_WAIT;
	}
}
