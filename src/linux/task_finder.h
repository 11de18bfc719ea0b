/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which task of a Linux guest a sample belongs to, and which user code that task ran. */
#ifndef XTOP_LINUX_TASK_FINDER_H
#define XTOP_LINUX_TASK_FINDER_H

#include "linux/process/past_task.h"
#include "linux/process/processes.h"
#include "linux/process/task_stacks.h"
#include "linux/process/tasks.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"

/* The owner creates and destroys the parts. */
struct task_finder {
	const struct linux_guest *guest;
	struct tasks *tasks;
	struct processes *processes;
	struct task_stacks stacks; /* its guest is `guest` */
	struct clock_gap clock; /* of start times */
	uint64_t next_refresh_ns; /* copies of guest memory are used until then */
};

/* A vCPU of the guest has REGS. */
void task_finder_learn(struct task_finder *finder, const struct registers *regs);
/* TASK is zeroed. VCPU ran at NOW_NS. */
void task_finder_find(struct task_finder *finder, const struct sample_vcpu *vcpu, uint64_t now_ns,
		      struct os_task *task);

#endif
