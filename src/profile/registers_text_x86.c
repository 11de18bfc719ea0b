/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of x86-64, in the order of a Linux kernel's own report; see registers_text.h. */
#include "config.h"

#include <stdio.h>

#include "profile/registers_text.h"

#define REGISTERS_PER_LINE 3

bool registers_put_line_x86(const struct registers *regs, unsigned i,
			    char text[REGISTERS_TEXT_BYTES])
{
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
		{ "rip", regs->rip }, { "rsp", regs->rsp }, { "rflags", regs->rflags },
		{ "rax", regs->rax }, { "rbx", regs->rbx }, { "rcx", regs->rcx },
		{ "rdx", regs->rdx }, { "rsi", regs->rsi }, { "rdi", regs->rdi },
		{ "rbp", regs->rbp }, { "r8", regs->r8 },   { "r9", regs->r9 },
		{ "r10", regs->r10 }, { "r11", regs->r11 }, { "r12", regs->r12 },
		{ "r13", regs->r13 }, { "r14", regs->r14 }, { "r15", regs->r15 },
		{ "cr0", regs->cr0 }, { "cr3", regs->cr3 }, { "cr4", regs->cr4 },
	};
	size_t used = 0;

	if (i >= sizeof(all) / sizeof(all[0]) / REGISTERS_PER_LINE)
		return false;
	for (unsigned k = 0; k < REGISTERS_PER_LINE; k++)
		used += (size_t)snprintf(text + used, REGISTERS_TEXT_BYTES - used, "%s%s %016llx",
					 k ? "  " : "", all[REGISTERS_PER_LINE * i + k].name,
					 (unsigned long long)all[REGISTERS_PER_LINE * i + k].value);
	return true;
}
