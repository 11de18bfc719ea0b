/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to sample/: copies the stacks of a vCPU out of the stopped guest. Sampler's thread. */
#ifndef SAMPLE_COPY_H
#define SAMPLE_COPY_H

#include "sample/stacks.h"

/*
 * Makes COPIER ready to copy from GUEST. Returns false if memory is out; CONTROL then says that the
 * sampler failed. The caller destroys copier->cache.
 */
bool copier_open(struct copier *copier, const struct guest *guest, struct control *control);

/*
 * Reads what the resolver has written about the stacks of a Linux guest. Impossible numbers count
 * as "no Linux". Call this once a tick, outside the stop.
 */
void copy_poll_stacks(struct copier *copier);

/*
 * In the stop: copies the known live part of a vCPU's stacks to TO. REGS are the vCPU's registers.
 * USER: the vCPU ran user code. TO has room for SAMPLE_MAX_STACKS heads and
 * SAMPLE_STACK_LIMIT_BYTES. A page that is not mapped yet ends the copy of its stack.
 */
void copy_vcpu(struct copier *copier, const struct registers *regs, bool user, char *to,
	       struct copied *copied);

/*
 * After the stop: fills HEAD, the head of VCPU's part of a record. COPIED, REGS and USER are what
 * the caller of copy_vcpu() has; the copied bytes come after the head.
 */
void copy_head(const struct copied *copied, const struct registers *regs, bool user, uint16_t vcpu,
	       enum vcpu_state state, struct sample_vcpu *head);

/*
 * Outside the stop: maps the pages that copy_vcpu() would need for REGS now. Returns how many bytes
 * copy_vcpu() would copy.
 */
size_t copy_prepare(struct copier *copier, const struct registers *regs, bool user);

/*
 * Outside the stop, for a Linux guest: finds the task that runs now, and puts it into RUNNING. If
 * RUNNING had another task, maps the pages that a copy of the new task's stacks will most likely
 * need, so that the task's first sample seldom needs a second stop. PER_CPU_BASE (arm64: 0) and
 * ROOT come from the vCPU's last sample.
 */
void copy_prepare_task(struct copier *copier, uint64_t per_cpu_base, struct memory_root root,
		       struct copy_task *running);

#endif
