/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: what the per-CPU variables of a Linux guest tell, while the guest runs: words
 * for run_time.c, the running tasks, and which vCPUs wait for a spinlock. Sampler's thread.
 *
 * The registers in a vCPU's last sample tell where its per-CPU variables are. On arm64 the
 * registers only tell the page tables; struct linux_stacks has the table of the variables' places.
 * The variables of a vCPU that was never sampled cannot be read. The guest may write anything into
 * the variables.
 */
#ifndef SAMPLE_PER_CPU_H
#define SAMPLE_PER_CPU_H

#include "sample/copy.h"

/* What the sampler knows of one CPU. */
struct per_cpu {
	uint64_t base;            /* address of the per-CPU variables on x86; 0: not known */
	struct memory_root root;  /* page tables in the vCPU's last sample */
	struct copy_task running; /* running task that copy_prepare_task() has found */
};

struct per_cpus {
	struct per_cpu vcpus[GUEST_MAX_VCPUS];
};

/* Call this with the registers of every vCPU that was sampled. */
void per_cpu_learn(struct per_cpus *cpus, unsigned vcpu, const struct registers *regs);
/*
 * Reads the variable of VCPU at OFFSET, a "per-cpu" number of struct linux_stacks. Maps pages if
 * necessary. Returns false if the variable cannot be read; *VALUE is untouched then.
 */
bool per_cpu_read_u64(const struct per_cpus *cpus, const struct copier *copier, unsigned vcpu,
		      uint64_t offset, uint64_t *value);

/*
 * Finds the blocked vCPUs whose kernel waits for a spinlock, and sets their state in LOOK to
 * VCPU_LOCK_WAIT. Reads one word for each blocked vCPU.
 *
 * Linux's paravirtual spinlock does not spin for long. The waiter tells Xen to block its vCPU until
 * the holder sends an event (SCHEDOP_poll). Xen calls such a vCPU blocked, as it calls an idle
 * vCPU. But the waiter counts itself in a per-CPU variable as long as it waits:
 *
 *	arch/x86/xen/spinlock.c, xen_qlock_wait()     xen_qlock_wait_nest > 0
 *
 * Linux has this variable from 4.20 on. The variable is more than 1 when an interrupt came and its
 * handler waits for another lock. In a kernel without the variable, or without its symbol
 * (CONFIG_KALLSYMS_ALL), such a vCPU counts as idle.
 *
 * If a guest lies, its idle vCPUs are sampled, at the cost of its own budget.
 */
void per_cpu_find_lock_waits(const struct per_cpus *cpus, const struct copier *copier,
			     unsigned n_vcpus, struct guest_look *look);

#endif
