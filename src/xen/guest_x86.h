/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to xen/: what domctl.c and domains.c need to know of an x86-64 guest. A port to another
 * architecture provides these names: configure chooses the header (XEN_GUEST_HEADER).
 *
 * Functions that run while the guest is stopped are inline: domctl_stop() calls them for each vCPU.
 */
#ifndef XEN_GUEST_X86_H
#define XEN_GUEST_X86_H

#include "xen/domctl_abi.h"

#include <xen/foreign/x86_32.h>
#include <xen/hvm/save.h>

#include "xtop/base/registers_x86.h"
#include "xtop/base/types.h"

#define GUEST_ARCH ARCH_X86

/*
 * Bytes that struct xen_arch_domainconfig takes at the end of another structure: two words of
 * flags. In Xen 4.14 the second word is padding.
 */
#define DOMAIN_ARCH_BYTES 8

/* --- a PV guest with a 32-bit kernel ---------------------------------------------------------- */

/*
 * Xen gives the registers of a 32-bit PV guest in the layout of a 32-bit Xen, in the same memory
 * (Xen 4.17 xen/common/domctl.c, XEN_DOMCTL_getvcpucontext; public/foreign/x86_32.h).
 */
typedef struct vcpu_guest_context_x86_32 vcpu_context_32_t;

/*
 * Decodes a 32-bit PV guest's CR3, which has the upper bits of the frame in its lower bits
 * (public/arch-x86/xen-x86_32.h, xen_cr3_to_pfn()).
 */
static inline uint64_t vcpu_cr3_32(uint32_t cr3)
{
	return (uint64_t)(cr3 >> 12 | cr3 << 20) << 12;
}

static inline void vcpu_get_stack_registers_32(const vcpu_context_32_t *context,
					       struct registers *regs)
{
	regs->rip = context->user_regs.eip;
	regs->rsp = context->user_regs.esp;
	regs->rbp = context->user_regs.ebp;
	regs->fs_base = regs->gs_base = regs->gs_base_kernel = 0;
	regs->cr0 = context->ctrlreg[0];
	regs->cr3 = vcpu_cr3_32(context->ctrlreg[3]);
	regs->cr4 = context->ctrlreg[4];
	regs->width = WIDTH_32_PAE;
	regs->arch = ARCH_X86;
}

static inline void vcpu_get_other_registers_32(const vcpu_context_32_t *context,
					       struct registers *regs)
{
	const struct cpu_user_regs_x86_32 *from = &context->user_regs;

	regs->rax = from->eax, regs->rbx = from->ebx, regs->rcx = from->ecx;
	regs->rdx = from->edx, regs->rsi = from->esi, regs->rdi = from->edi;
	regs->r8 = regs->r9 = regs->r10 = regs->r11 = 0;
	regs->r12 = regs->r13 = regs->r14 = regs->r15 = 0;
	regs->rflags = from->eflags, regs->ss = from->ss;
	regs->cs = from->cs;
}

/* --- registers -------------------------------------------------------------------------------- */

/* Reads the registers that lead to a vCPU's stacks. The other members of REGS stay untouched. */
static inline void vcpu_get_stack_registers(const vcpu_guest_context_t *context, bool is_pv_32,
					    struct registers *regs)
{
	if (is_pv_32) {
		vcpu_get_stack_registers_32((const vcpu_context_32_t *)context, regs);
		return;
	}
	regs->rip = context->user_regs.rip;
	regs->rsp = context->user_regs.rsp;
	regs->rbp = context->user_regs.rbp;
	regs->fs_base = context->fs_base;
	regs->gs_base = context->gs_base_user;
	regs->gs_base_kernel = context->gs_base_kernel;
	regs->cr0 = context->ctrlreg[0];
	regs->cr3 = context->ctrlreg[3];
	regs->cr4 = context->ctrlreg[4];
	regs->width = WIDTH_64;
	regs->arch = ARCH_X86;
}

/* Reads the registers that vcpu_get_stack_registers() leaves out. */
static inline void vcpu_get_other_registers(const vcpu_guest_context_t *context, bool is_pv_32,
					    struct registers *regs)
{
	const struct cpu_user_regs *from = &context->user_regs;

	if (is_pv_32) {
		vcpu_get_other_registers_32((const vcpu_context_32_t *)context, regs);
		return;
	}
	regs->rax = from->rax, regs->rbx = from->rbx, regs->rcx = from->rcx;
	regs->rdx = from->rdx, regs->rsi = from->rsi, regs->rdi = from->rdi;
	regs->r8 = from->r8, regs->r9 = from->r9, regs->r10 = from->r10, regs->r11 = from->r11;
	regs->r12 = from->r12, regs->r13 = from->r13, regs->r14 = from->r14, regs->r15 = from->r15;
	regs->rflags = from->rflags, regs->ss = from->ss;
	regs->cs = from->cs;
}

/*
 * Whether the vCPU runs user code. A PV guest's kernel does not run in ring 0, so for PV guests Xen
 * has a flag for kernel mode, at the same place in both layouts.
 */
static inline bool vcpu_is_user(const vcpu_guest_context_t *context, bool is_pv)
{
	return is_pv ? !(context->flags & VGCF_in_kernel) : (context->user_regs.cs & 3) == 3;
}

/* --- 64-bit mode ------------------------------------------------------------------------------ */

/*
 * A vCPU with PAE paging may have page tables of three levels: those of a 32-bit kernel. Xen's
 * arch_get_info_guest() gives for an HVM vCPU neither EFER nor the attributes of CS. The
 * instruction pointer or the GS base shows 64-bit mode for a kernel above 4 GiB, and for any Linux.
 * For all others, a 32-bit kernel or a unikernel at low addresses, Xen has to be asked. This pauses
 * the vCPU for a moment (Xen 4.17 xen/common/hvm/save.c, hvm_save_one()), so xtop asks while the
 * guest runs: right after the first stop that needs the answer, later in a look.
 */
struct vcpu_mode {
	bool wanted;       /* the registers of the last stop did not show the mode */
	bool is_short;     /* Xen has answered that the vCPU is not in 64-bit mode */
	uint64_t asked_ns; /* time when Xen was last asked; 0: never */
};

/* Whether REGS show the mode. A vCPU without PAE paging counts as one that shows its mode. */
static inline bool vcpu_shows_mode(const struct registers *regs)
{
	return regs->rip >> 32 || regs->gs_base_kernel >> 32 || !(regs->cr0 & CR0_PG) ||
	       !(regs->cr4 & CR4_PAE);
}

/*
 * Sets the width of REGS. Do not call this function for PV guests, whose kernels cannot change the
 * width. A vCPU without paging counts as one of 64 bits, too: CR0.PG says that it has no page
 * tables.
 */
static inline void vcpu_apply_mode(struct vcpu_mode *mode, struct registers *regs)
{
	mode->wanted = !vcpu_shows_mode(regs);
	if (mode->wanted && mode->is_short)
		regs->width = WIDTH_32_PAE;
	else if (!(regs->cr4 & CR4_PAE) && regs->cr0 & CR0_PG)
		regs->width = WIDTH_32;
}

/*
 * The question about the mode of VCPU: a domctl with VCPU_ASK_COMMAND. Xen writes to ANSWER, which
 * lies in hypercall memory.
 */
#define VCPU_ASK_COMMAND XEN_DOMCTL_gethvmcontext_partial
struct vcpu_answer {
	struct hvm_hw_cpu cpu;
};
void vcpu_ask_mode(struct xen_domctl *domctl, unsigned vcpu, struct vcpu_answer *answer);
bool vcpu_answer_is_short(const struct vcpu_answer *answer);

/* --- the domain ------------------------------------------------------------------------------- */

enum guest_type domain_type(const struct xen_domain *domain);

#endif
