/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: the part of copying stacks that depends on x86-64. stacks_arm64.h has the
 * part for arm64. Sampler's thread, also while the guest is stopped.
 */
#ifndef SAMPLE_STACKS_X86_H
#define SAMPLE_STACKS_X86_H

#include "sample/stacks.h"
#include "xtop/base/registers_x86.h"

/* Bytes of the registers that Linux saves when user code enters the kernel. */
#define STACKS_SAVED_REGISTERS_BYTES PT_REGS_BYTES

/*
 * Whether the page tables of the vCPU can be walked. Xen emulates the control registers of a PV
 * guest, which do not count: a PV guest always runs in 64-bit mode here. Recordings from before
 * November 2026 have no width; CR4.PAE is clear in them if the guest had 32 bits.
 */
static inline bool stacks_can_walk(const struct guest_info *guest, const struct registers *regs)
{
	return guest->type == GUEST_PV ||
	       (regs->cr0 & CR0_PG && (regs->cr4 & CR4_PAE || regs->width == WIDTH_32));
}

/*
 * Where the kernel's per-cpu variables are. Xen tells the two GS bases apart by the ring of the
 * vCPU. Around the kernel's swapgs (Linux arch/x86/entry/entry_64.S), in its first and last
 * instructions, the two are exchanged.
 */
static inline uint64_t stacks_per_cpu_base(const struct registers *regs)
{
	return address_is_kernel(regs->gs_base_kernel) ? regs->gs_base_kernel : regs->gs_base;
}

/*
 * Copies all pieces of stack that led a Linux guest's vCPU to where it is. Fills in COPY->copied
 * except the members that COPY->writer has. USER: the vCPU ran user code.
 */
void stacks_copy_linux(struct copy *copy, bool user);

/* Outside the stop: finds the task that the vCPU runs. */
struct copy_task stacks_find_running(struct copy *copy);
/*
 * After stacks_find_running(), outside the stop: maps the top of the task's stack, and the user
 * stack and the page tables of the user code, as they were when the task last entered the kernel.
 */
void stacks_map_task(struct copy *copy, const struct copy_task *running);

#endif
