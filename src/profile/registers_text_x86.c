/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of x86-64, or of 32-bit x86 code, in the order of a Linux kernel's own report; see
 * registers_text.h.
 */
#include "config.h"

#include <stdio.h>

#include "profile/registers_text.h"

#define REGISTERS_PER_LINE 3

struct register_text {
	const char *name;
	uint64_t value;
};

/* Puts line I of the N registers to TEXT, each with DIGITS digits. */
static bool registers_put_some(const struct register_text *all, unsigned n, int digits, unsigned i,
			       char text[REGISTERS_TEXT_BYTES])
{
	size_t used = 0;

	if (i * REGISTERS_PER_LINE >= n)
		return false;
	for (unsigned k = i * REGISTERS_PER_LINE; k < n && k < (i + 1) * REGISTERS_PER_LINE; k++)
		used += (size_t)snprintf(text + used, REGISTERS_TEXT_BYTES - used, "%s%s %0*llx",
					 used ? "  " : "", all[k].name, digits,
					 (unsigned long long)all[k].value);
	return true;
}

/* 32-bit code has no other registers. Below a 64-bit kernel CR3 may have more digits. */
static bool registers_put_line_i386(const struct registers *regs, unsigned i,
				    char text[REGISTERS_TEXT_BYTES])
{
	const struct register_text all[] = {
		{ "eip", regs->rip }, { "esp", regs->rsp }, { "eflags", regs->rflags },
		{ "eax", regs->rax }, { "ebx", regs->rbx }, { "ecx", regs->rcx },
		{ "edx", regs->rdx }, { "esi", regs->rsi }, { "edi", regs->rdi },
		{ "ebp", regs->rbp }, { "cr0", regs->cr0 }, { "cr3", regs->cr3 },
		{ "cr4", regs->cr4 },
	};

	return registers_put_some(all, sizeof(all) / sizeof(all[0]), 8, i, text);
}

bool registers_put_line_x86(const struct registers *regs, unsigned i,
			    char text[REGISTERS_TEXT_BYTES])
{
	const struct register_text all[] = {
		{ "rip", regs->rip }, { "rsp", regs->rsp }, { "rflags", regs->rflags },
		{ "rax", regs->rax }, { "rbx", regs->rbx }, { "rcx", regs->rcx },
		{ "rdx", regs->rdx }, { "rsi", regs->rsi }, { "rdi", regs->rdi },
		{ "rbp", regs->rbp }, { "r8", regs->r8 },   { "r9", regs->r9 },
		{ "r10", regs->r10 }, { "r11", regs->r11 }, { "r12", regs->r12 },
		{ "r13", regs->r13 }, { "r14", regs->r14 }, { "r15", regs->r15 },
		{ "cr0", regs->cr0 }, { "cr3", regs->cr3 }, { "cr4", regs->cr4 },
	};

	if (code_word_bytes(regs->width, regs->cs) == sizeof(uint32_t))
		return registers_put_line_i386(regs, i, text);
	return registers_put_some(all, sizeof(all) / sizeof(all[0]), 16, i, text);
}
