/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Xen's description of an x86-64 guest while the guest runs; see guest_x86.h. */
#include "config.h"

#include "xen/guest_x86.h"

SAME_SIZE(vcpu_guest_context, 5168);
SAME_OFFSET(vcpu_guest_context, flags, 512);
SAME_OFFSET(vcpu_guest_context, user_regs, 520);
SAME_OFFSET(vcpu_guest_context, ctrlreg, 4984);
SAME_OFFSET(vcpu_guest_context, fs_base, 5144);
SAME_SIZE(vcpu_guest_context_x86_32, 2800);
SAME_OFFSET(vcpu_guest_context_x86_32, flags, 512);
SAME_OFFSET(vcpu_guest_context_x86_32, user_regs, 516);
SAME_OFFSET(vcpu_guest_context_x86_32, ctrlreg, 2716);
SAME_SIZE(hvm_hw_cpu, 1032);
SAME_OFFSET(hvm_hw_cpu, msr_efer, 992);

#define EFER_LMA (1ULL << 10) /* 64-bit mode is on; Intel SDM vol. 3A §4.1.1 */

void vcpu_ask_mode(struct xen_domctl *domctl, unsigned vcpu, struct vcpu_answer *answer)
{
	struct xen_domctl_hvmcontext_partial *partial = &domctl->u.hvmcontext_partial;

	*partial = (struct xen_domctl_hvmcontext_partial){ .type = HVM_SAVE_CODE(CPU),
							   .instance = vcpu,
							   .bufsz = HVM_SAVE_LENGTH(CPU) };
	set_xen_guest_handle_raw(partial->buffer, (uint8_t *)&answer->cpu);
}

bool vcpu_answer_is_short(const struct vcpu_answer *answer)
{
	return !(answer->cpu.msr_efer & EFER_LMA);
}

/*
 * PVH is HVM without emulated devices but the local APIC (Xen 4.17 public/arch-x86/xen.h,
 * XEN_X86_EMU_*).
 */
enum guest_type domain_type(const struct xen_domain *domain)
{
	if (!(domain->flags & XEN_DOMINF_hvm_guest))
		return GUEST_PV;
	return domain->emulation_flags & XEN_X86_EMU_IOAPIC ? GUEST_HVM : GUEST_PVH;
}
