/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of arm64, also in 32-bit code, in the order of a Linux kernel's own
 * report; see registers_text.h.
 */
#include "config.h"

#include <stdio.h>

#include "profile/registers_text.h"

#define REGISTERS_PER_LINE 3

static bool registers_put_line_arm32(const struct registers_arm64 *from, unsigned i,
				     char text[REGISTERS_TEXT_BYTES])
{
	bool is_own = registers_arm64_is_32(from); /* the kernel has 32 bits */
	const struct {
		const char *name;
		uint64_t value;
	} others[] = {
		{ "pc", from->pc },
		{ "cpsr", from->pstate },
		{ is_own ? "ttbcr" : "tcr", from->tcr },
		{ "ttbr0", from->ttbr0 },
		{ "ttbr1", from->ttbr1 },
		{ "sctlr", from->sctlr },
	};
	const unsigned n_others = sizeof(others) / sizeof(others[0]);
	size_t used = 0;

	if (i >= (n_others + N_REGISTERS_ARM32) / REGISTERS_PER_LINE)
		return false;
	for (unsigned k = REGISTERS_PER_LINE * i; k < REGISTERS_PER_LINE * (i + 1); k++) {
		char number[8];
		bool is_other = k < n_others;
		unsigned r = k - n_others;

		snprintf(number, sizeof(number), "r%u", r);
		if (r == REGISTER_ARM32_SP || r == REGISTER_ARM32_LR)
			snprintf(number, sizeof(number), r == REGISTER_ARM32_SP ? "sp" : "lr");
		used += (size_t)snprintf(
			text + used, REGISTERS_TEXT_BYTES - used, "%s%s %08llx", used ? "  " : "",
			is_other ? others[k].name : number,
			(unsigned long long)(is_other ? others[k].value
						      : registers_arm32_get(from, r)));
	}
	return true;
}

bool registers_put_line_arm64(const struct registers *regs, unsigned i,
			      char text[REGISTERS_TEXT_BYTES])
{
	const struct registers_arm64 *from = &regs->arm64;
	const struct {
		const char *name;
		uint64_t value;
	} others[] = {
		{ "pc", from->pc },        { "sp", registers_arm64_sp(from) },
		{ "pstate", from->pstate }, { "sp_el0", from->sp_el0 },
		{ "sp_el1", from->sp_el1 }, { "tcr", from->tcr },
		{ "ttbr0", from->ttbr0 },  { "ttbr1", from->ttbr1 },
	};
	const unsigned n_others = sizeof(others) / sizeof(others[0]);
	const unsigned n = n_others + sizeof(from->x) / sizeof(from->x[0]);
	size_t used = 0;

	if (registers_arm64_runs_32(from))
		return registers_put_line_arm32(from, i, text);
	if (i >= n / REGISTERS_PER_LINE)
		return false;
	for (unsigned k = REGISTERS_PER_LINE * i; k < REGISTERS_PER_LINE * (i + 1); k++) {
		char number[8];
		bool is_other = k < n_others;

		snprintf(number, sizeof(number), "x%u", k - n_others);
		used += (size_t)snprintf(
			text + used, REGISTERS_TEXT_BYTES - used, "%s%s %016llx", used ? "  " : "",
			is_other ? others[k].name : number,
			(unsigned long long)(is_other ? others[k].value : from->x[k - n_others]));
	}
	return true;
}
