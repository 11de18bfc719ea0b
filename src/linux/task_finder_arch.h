/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What task_finder.c asks of one architecture's registers. The sampler itself finds x86's task. */
#ifndef XTOP_LINUX_TASK_FINDER_ARCH_H
#define XTOP_LINUX_TASK_FINDER_ARCH_H

#include "linux/task_finder.h"

/* A vCPU has REGS: learns which stack is whose. FINDER has tasks. */
void task_finder_arm64_learn(struct task_finder *finder, const struct registers_arm64 *regs);
/* The task_struct of the task that runs on VCPU; 0: not known. */
uint64_t task_finder_arm64_current(struct task_finder *finder, const struct sample_vcpu *vcpu,
				   uint64_t now_ns);

#endif
