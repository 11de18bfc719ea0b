/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Xen's description of an arm64 guest; see guest_arm64.h. */
#include "config.h"

#include XEN_GUEST_HEADER

SAME_SIZE(vcpu_guest_context, 352);
SAME_OFFSET(vcpu_guest_context, user_regs, 8);
SAME_OFFSET(vcpu_guest_context, sctlr, 320);
SAME_OFFSET(vcpu_guest_context, ttbcr, 328);
SAME_OFFSET(vcpu_guest_context, ttbr1, 344);
SAME_OFFSET(vcpu_guest_core_regs, x29, 29 * sizeof(uint64_t));
SAME_OFFSET(vcpu_guest_core_regs, pc64, 31 * sizeof(uint64_t));

void vcpu_ask_mode(struct xen_domctl *domctl, unsigned vcpu, struct vcpu_answer *answer)
{
	(void)domctl;
	(void)vcpu;
	(void)answer;
}

bool vcpu_answer_is_short(const struct vcpu_answer *answer)
{
	(void)answer;
	return false;
}

/* All arm64 guests have hardware-assisted paging and no emulated devices: xl calls them PVH. */
enum guest_type domain_type(const struct xen_domain *domain)
{
	(void)domain;
	return GUEST_PVH;
}
