/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: which vCPUs are blocked because their kernel waits for a spinlock. Sampler's
 * thread, while the guest runs.
 *
 * Linux's paravirtual spinlock does not spin for long. The waiter tells Xen to block its vCPU until
 * the holder sends an event (SCHEDOP_poll). Xen calls such a vCPU blocked, as it calls an idle
 * vCPU. But the waiter counts itself in a per-CPU variable as long as it waits:
 *
 *	arch/x86/xen/spinlock.c, xen_qlock_wait()     xen_qlock_wait_nest > 0
 *
 * Linux has this variable from 4.20 on. It is more than 1 when an interrupt came and its handler
 * waits for another lock. In a kernel without the variable, or without its symbol
 * (CONFIG_KALLSYMS_ALL), such a vCPU counts as idle.
 *
 * If a guest lies, its idle vCPUs are sampled, at the cost of its own budget.
 */
#ifndef SAMPLE_LOCK_WAIT_H
#define SAMPLE_LOCK_WAIT_H

#include "sample/per_cpu.h"

/*
 * Sets the state of blocked vCPUs that wait for a lock to VCPU_LOCK_WAIT in LOOK. Reads one word
 * for each blocked vCPU.
 */
void lock_wait_find(const struct per_cpus *cpus, const struct copier *copier, unsigned n_vcpus,
		    struct guest_look *look);

#endif
