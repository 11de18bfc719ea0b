/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How task_finder.c finds the running task on arm64. On x86 the sampler itself finds the task. */
#ifndef XTOP_LINUX_TASK_FINDER_ARCH_H
#define XTOP_LINUX_TASK_FINDER_ARCH_H

#include "linux/process/task_stacks.h"
#include "linux/process/tasks.h"
#include "xtop/sample/sample.h"

/* Learns from REGS of a vCPU which stack belongs to which of TASKS. */
void task_finder_arm64_learn(struct task_stacks *stacks, struct tasks *tasks,
			     const struct registers_arm64 *regs);
/* The task_struct of the task that runs on VCPU; 0 if unknown. */
uint64_t task_finder_arm64_current(struct task_stacks *stacks, struct tasks *tasks,
				   const struct sample_vcpu *vcpu, uint64_t now_ns);

#endif
