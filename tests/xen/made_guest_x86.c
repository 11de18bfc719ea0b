/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See made_guest.h. */
#include "config.h"

#include "made_guest.h"

#include <string.h>
#include <xen/foreign/x86_32.h>

#include "xtop/base/registers_x86.h"

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

/* The page tables are in frame 0x123456, above 4 GiB: its upper bits are CR3's lower ones. */
static void made_guest_fill_context_32(unsigned vcpu, struct vcpu_guest_context_x86_32 *context)
{
	context->flags = VGCF_in_kernel;
	context->user_regs.eip = 0xc0100000 + vcpu;
	context->user_regs.esp = 0xc0200000 + vcpu;
	context->user_regs.ebp = 0xc0300000 + vcpu;
	context->user_regs.edi = 0xc0400000 + vcpu;
	context->user_regs.cs = FLAT_KERNEL_CS_X86_32;
	context->ctrlreg[0] = CR0_PG;
	context->ctrlreg[3] = 0x23456001;
	context->ctrlreg[4] = CR4_PAE;
}

static bool made_guest_has_registers_32(const struct registers *regs, unsigned vcpu)
{
	return regs->arch == ARCH_X86 && regs->width == WIDTH_32_PAE &&
	       regs->rip == 0xc0100000 + vcpu && regs->rsp == 0xc0200000 + vcpu &&
	       regs->rbp == 0xc0300000 + vcpu && regs->rdi == 0xc0400000 + vcpu &&
	       regs->cs == FLAT_KERNEL_CS_X86_32 && !regs->gs_base_kernel && !regs->r14 &&
	       regs->cr3 == 0x123456000;
}

void made_guest_fill_context(const struct made_domain *domain, unsigned vcpu,
			     vcpu_guest_context_t *context)
{
	if (domain->type == MADE_PV_32) {
		made_guest_fill_context_32(vcpu, (void *)context);
		return;
	}
	context->user_regs.rip = 0xffffffff81000000 + vcpu;
	context->user_regs.rsp = 0xffffc90000000000 + vcpu;
	context->user_regs.r14 = 0x1400 + vcpu;
	context->user_regs.cs = 0x10;
	context->gs_base_kernel = 0xffff888000000000 + vcpu;
	context->ctrlreg[3] = 0x3000 + vcpu;
}

bool made_guest_has_registers(const struct made_domain *domain, const struct registers *regs,
			      unsigned vcpu)
{
	if (domain->type == MADE_PV_32)
		return made_guest_has_registers_32(regs, vcpu);
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
