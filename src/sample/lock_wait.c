/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vCPUs that wait for a spinlock; see lock_wait.h. */
#include "config.h"

#include "sample/lock_wait.h"

void lock_wait_find(const struct per_cpus *cpus, const struct copier *copier, unsigned n_vcpus,
		    struct guest_look *look)
{
	uint64_t offset = copier->stacks.lock_wait_per_cpu;
	uint32_t nest;

	for (unsigned i = 0; i < n_vcpus; i++)
		if (look->states[i] == VCPU_BLOCKED &&
		    per_cpu_read_u32(cpus, copier, i, offset, &nest) && (int32_t)nest > 0)
			look->states[i] = VCPU_LOCK_WAIT;
}
