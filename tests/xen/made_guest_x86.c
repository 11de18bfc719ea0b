/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See made_guest.h. */
#include "config.h"

#include "made_guest.h"

#include <string.h>

#include "xtop/registers_x86.h"

/* public/arch-x86/xen.h. 4.15 has put misc_flags where 4.14 has padding. */
size_t made_guest_config(const struct made_domain *domain, unsigned minor, char bytes[16])
{
	static const uint32_t emulation_flags[] = { [MADE_PVH] = XEN_X86_EMU_LAPIC,
						    [MADE_HVM] = XEN_X86_EMU_ALL };
	uint32_t flags = domain->type < MADE_PVH ? 0 : emulation_flags[domain->type];
	uint32_t misc_flags = 0;

	memcpy(bytes, &flags, sizeof(flags));
	if (minor >= 15)
		memcpy(bytes + sizeof(flags), &misc_flags, sizeof(misc_flags));
	return 8;
}

void made_guest_fill_context(unsigned vcpu, vcpu_guest_context_t *context)
{
	context->user_regs.rip = 0xffffffff81000000 + vcpu;
	context->user_regs.rsp = 0xffffc90000000000 + vcpu;
	context->user_regs.r14 = 0x1400 + vcpu;
	context->user_regs.cs = 0x10;
	context->gs_base_kernel = 0xffff888000000000 + vcpu;
	context->ctrlreg[3] = 0x3000 + vcpu;
}

bool made_guest_has_registers(const struct registers *regs, unsigned vcpu)
{
	return regs->arch == ARCH_X86 && regs->rip == 0xffffffff81000000 + vcpu &&
	       regs->rsp == 0xffffc90000000000 + vcpu && regs->r14 == 0x1400 + vcpu &&
	       regs->cr3 == 0x3000 + vcpu && regs->gs_base_kernel == 0xffff888000000000 + vcpu;
}

const char *made_guest_type_name(const struct made_domain *domain)
{
	static const char *const names[] = {
		[MADE_PV] = "PV", [MADE_PV_32] = "PV", [MADE_PVH] = "PVH", [MADE_HVM] = "HVM"
	};

	return names[domain->type];
}

const char *const made_guest_pv_32_error =
	"domain '12' is a PV guest with a 32-bit kernel: xtop reads such kernels in PVH and HVM guests "
	"alone";
