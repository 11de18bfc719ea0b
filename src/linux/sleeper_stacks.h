/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the stacks of a task of a Linux guest that is on no CPU, as a sample of one vCPU. The guest
 * runs meanwhile, so the caller checks the task before and after reading them. Resolver's thread.
 */
#ifndef XTOP_LINUX_SLEEPER_STACKS_H
#define XTOP_LINUX_SLEEPER_STACKS_H

#include "linux/process/processes.h"
#include "linux/process/tasks.h"
#include "linux/task_state.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"

#define SLEEPER_STACK_BYTES (64U << 10) /* arm64 with pages of 64 KiB; else 16, with KASAN 32 */
#define SLEEPER_USER_BYTES  (2 * GUEST_PAGE_SIZE)

struct sleeper_stacks {
	const struct linux_guest *guest;
	struct tasks *tasks;
	struct processes *processes;
	uint32_t size_bytes; /* size of a kernel stack */
	/* A sample of one vCPU with two stacks, the kernel's first. */
	struct {
		struct sample_vcpu vcpu;
		unsigned char stacks[2 * sizeof(struct sample_stack) + SLEEPER_STACK_BYTES +
				     SLEEPER_USER_BYTES];
	} sample;
};

bool sleeper_stacks_can_read(const struct linux_guest *guest);
/* STACKS is zeroed. All pointers outlive it. */
void sleeper_stacks_init(struct sleeper_stacks *stacks, const struct linux_guest *guest,
			 struct tasks *tasks, struct processes *processes);
/*
 * Fills in stacks->sample with the stacks of the task at ADDRESS, whose state was STATE, and OWNER
 * with the task's names. Both are valid until the next call. Returns false if the task cannot be
 * read.
 */
bool sleeper_stacks_read(struct sleeper_stacks *stacks, uint64_t address,
			 const struct task_state *state, uint64_t now_ns, struct os_task *owner);

#endif
