/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to xen/: what domctl.c and domains.c need to know of an arm64 guest, by the names that
 * guest_x86.h has, too. Functions that run while the guest is stopped are inline.
 *
 * Xen gives no TPIDR_EL0 and no TPIDR_EL1 (Xen 4.17 public/arch-arm.h, struct vcpu_guest_context):
 * neither the thread pointer of user code nor the kernel's per-CPU offset is known.
 */
#ifndef XEN_GUEST_ARM64_H
#define XEN_GUEST_ARM64_H

#include "xen/domctl_abi.h"

#include <string.h>

#include "xtop/base/types.h"

#define GUEST_ARCH ARCH_ARM64

/*
 * Bytes that struct xen_arch_domainconfig takes at the end of another structure. It has the
 * versions of the interrupt controller and of TEE, the number of interrupts and the frequency of
 * the clock: 12 bytes and padding. sve_vl (4.18) lies in padding between them. arm_sci_type (after
 * 4.20, under an unchanged version of domctls) lies in the padding at the end.
 */
#define DOMAIN_ARCH_BYTES 16

/* Reads the registers that lead to a vCPU's stacks. The other members of REGS stay untouched. */
static inline void vcpu_get_stack_registers(const vcpu_guest_context_t *context, bool is_pv_32,
					    struct registers *regs)
{
	const struct vcpu_guest_core_regs *from = &context->user_regs;

	(void)is_pv_32;
	regs->arm64.x[REGISTER_ARM64_GO_G] = from->x28;
	regs->arm64.x[REGISTER_ARM64_FP] = from->x29;
	/* the stack pointer of 32-bit user code that enters the kernel: sample/stacks_arm32.c */
	regs->arm64.x[REGISTER_ARM32_SP] = from->x13;
	regs->arm64.elr_el1 = from->elr_el1;
	regs->arm64.spsr_el1 = from->spsr_el1;
	regs->arm64.pc = from->pc64;
	regs->arm64.pstate = from->cpsr;
	regs->arm64.sp_el0 = from->sp_el0;
	regs->arm64.sp_el1 = from->sp_el1;
	regs->arm64.sctlr = context->sctlr;
	regs->arm64.tcr = context->ttbcr;
	regs->arm64.ttbr0 = context->ttbr0;
	regs->arm64.ttbr1 = context->ttbr1;
	regs->arch = ARCH_ARM64;
	if (from->cpsr & PSTATE_ARM64_AARCH32) /* each mode's stack pointer is one of them */
		memcpy(regs->arm64.x, from, sizeof(regs->arm64.x));
}

/*
 * Reads the registers that vcpu_get_stack_registers() leaves out. x0 to x30 are the first words of
 * user_regs.
 */
static inline void vcpu_get_other_registers(const vcpu_guest_context_t *context, bool is_pv_32,
					    struct registers *regs)
{
	(void)is_pv_32;
	memcpy(regs->arm64.x, &context->user_regs, sizeof(regs->arm64.x));
}

static inline bool vcpu_is_user(const vcpu_guest_context_t *context, bool is_pv)
{
	(void)is_pv;
	return pstate_arm64_is_user(context->user_regs.cpsr);
}

/* --- the mode --------------------------------------------------------------------------------- */

/*
 * The state of the question for a vCPU's mode. TCR_EL1 and PSTATE tell the mode, so Xen is never
 * asked.
 */
struct vcpu_mode {
	bool wanted, is_short; /* always false */
	uint64_t asked_ns;
};

static inline bool vcpu_shows_mode(const struct registers *regs)
{
	(void)regs;
	return true;
}

static inline void vcpu_apply_mode(struct vcpu_mode *mode, struct registers *regs)
{
	(void)mode;
	(void)regs;
}

#define VCPU_ASK_COMMAND XEN_DOMCTL_getvcpuinfo /* a call that is never made */
struct vcpu_answer {
	uint64_t unused;
};
void vcpu_ask_mode(struct xen_domctl *domctl, unsigned vcpu, struct vcpu_answer *answer);
bool vcpu_answer_is_short(const struct vcpu_answer *answer);

/* --- the domain ------------------------------------------------------------------------------- */

enum guest_type domain_type(const struct xen_domain *domain);

#endif
