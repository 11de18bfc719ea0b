/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the task of a Linux guest to which a sample belongs, and the user code that the task ran.
 */
#ifndef XTOP_LINUX_TASK_FINDER_H
#define XTOP_LINUX_TASK_FINDER_H

#include "linux/process/past_task.h"
#include "linux/process/processes.h"
#include "linux/process/task_stacks.h"
#include "linux/process/tasks.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"

/* The owner creates and destroys what the pointers name. */
struct task_finder {
	const struct linux_guest *guest;
	struct tasks *tasks;
	struct processes *processes;
	struct task_stacks stacks; /* stacks.guest equals guest */
	struct clock_gap clock;    /* relates start times of tasks to the sampler's clock */
	uint64_t next_refresh_ns; /* copies of guest memory are used until then */
};

/* Learns from REGS of one of the guest's vCPUs which stack belongs to which task. */
void task_finder_learn(struct task_finder *finder, const struct registers *regs);
/* Fills in TASK, which is zeroed. VCPU ran at NOW_NS. */
void task_finder_find(struct task_finder *finder, const struct sample_vcpu *vcpu, uint64_t now_ns,
		      struct os_task *task);

#endif
