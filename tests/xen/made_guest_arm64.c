/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See made_guest.h. */
#include "config.h"

#include "made_guest.h"

#include <string.h>

/*
 * public/arch-arm.h. 4.18 has put sve_vl where padding was; after 4.20 arm_sci_type came at the end.
 * So there are 12 or 13 bytes, and the structure around them ends at a multiple of 8.
 */
size_t made_guest_config(const struct made_domain *domain, unsigned minor, char bytes[16])
{
	const uint8_t gic_version = 2, sve_vl = 1, arm_sci_type = 1;
	const uint16_t tee_type = 1;
	const uint32_t nr_spis = 32, clock_frequency = 62500000;

	(void)domain;
	memcpy(bytes, &gic_version, 1);
	if (minor >= 18)
		memcpy(bytes + 1, &sve_vl, 1);
	memcpy(bytes + 2, &tee_type, 2);
	memcpy(bytes + 4, &nr_spis, 4);
	memcpy(bytes + 8, &clock_frequency, 4);
	if (minor >= 21)
		memcpy(bytes + 12, &arm_sci_type, 1);
	return 16;
}

void made_guest_fill_context(const struct made_domain *domain, unsigned vcpu,
			     vcpu_guest_context_t *context)
{
	(void)domain;
	context->user_regs.x14 = 0x1400 + vcpu;
	context->user_regs.x29 = 0xffff800008000000 + vcpu;
	context->user_regs.pc64 = 0xffff800010000000 + vcpu;
	context->user_regs.cpsr = 5;
	context->user_regs.sp_el0 = 0xffff000001000000 + vcpu;
	context->user_regs.sp_el1 = 0xffff800009000000 + vcpu;
	context->sctlr = 1;
	context->ttbcr = 0xf5507510;
	context->ttbr0 = 0x3000 + vcpu;
	context->ttbr1 = 0x4000 + vcpu;
}

bool made_guest_has_registers(const struct made_domain *domain, const struct registers *regs,
			      unsigned vcpu)
{
	const struct registers_arm64 *arm64 = &regs->arm64;

	(void)domain;
	return regs->arch == ARCH_ARM64 && arm64->x[14] == 0x1400 + vcpu &&
	       arm64->x[29] == 0xffff800008000000 + vcpu &&
	       arm64->pc == 0xffff800010000000 + vcpu && arm64->pstate == 5 &&
	       arm64->sp_el0 == 0xffff000001000000 + vcpu &&
	       arm64->sp_el1 == 0xffff800009000000 + vcpu && arm64->tcr == 0xf5507510 &&
	       arm64->ttbr0 == 0x3000 + vcpu && arm64->ttbr1 == 0x4000 + vcpu;
}

const char *made_guest_type_name(const struct made_domain *domain)
{
	(void)domain;
	return "PVH";
}
