/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers of x86-64 and i386, and an expression that linkers write; see cfi_x86.h. Any
 * thread; pure functions.
 */
#include "config.h"

#include "unwind/cfi_x86.h"

#include <string.h>

bool cfi_match_plt(const uint8_t *expression, int64_t size_bytes, int32_t *literal)
{
	static const uint8_t before[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a },
			     after[] = { 0x2a, 0x33, 0x24, 0x22 };
	uint8_t number;

	if (size_bytes != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(expression, before, sizeof(before)) != 0 ||
	    memcmp(expression + sizeof(before) + 1, after, sizeof(after)) != 0)
		return false;
	number = expression[sizeof(before)] - 0x30;
	if (number > 31)
		return false;
	*literal = number;
	return true;
}

/* DWARF's numbers of the registers in enum cfi_preserved. */
static const uint8_t cfi_preserved_numbers[N_CFI_PRESERVED] = {
	CFI_DWARF_RETURN, CFI_DWARF_RBX, CFI_DWARF_RBP, 12, 13, 14, 15,
};

const struct cfi_machine cfi_machine_64 = {
	.word_bytes = 8,
	.n_places = CFI_X86_PLACES,
	.n_numbers = CFI_DWARF_RETURN,
	.return_number = CFI_DWARF_RETURN,
	.sp_number = CFI_DWARF_SP,
	.n_preserved = N_CFI_PRESERVED,
	.registers = cfi_unwind_registers,
	.preserved_registers = cfi_preserved_registers,
	.preserved_numbers = cfi_preserved_numbers,
	.preserved_mask = CFI_PRESERVED_MASK,
	.rule_cfa = RULE_CFA,
	.rule_deref = RULE_CFA_DEREF,
};

/* DWARF's order: eax ecx edx ebx esp ebp esi edi; eip is number 8. */
static const uint8_t cfi_registers_32[] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX,
					    REG_RSP, REG_RBP, REG_RSI, REG_RDI };
static const uint8_t cfi_preserved_registers_32[] = { REG_RIP, REG_RBX, REG_RBP, REG_RSI, REG_RDI };
static const uint8_t cfi_preserved_numbers_32[] = { 8, 3, 5, 6, 7 };

_Static_assert(sizeof(cfi_preserved_numbers_32) <= N_CFI_PRESERVED, "each register has a slot");

const struct cfi_machine cfi_machine_32 = {
	.word_bytes = 4,
	.n_places = CFI_X86_PLACES,
	.n_numbers = sizeof(cfi_registers_32),
	.return_number = 8,
	.sp_number = 4,
	.n_preserved = sizeof(cfi_preserved_numbers_32),
	.registers = cfi_registers_32,
	.preserved_registers = cfi_preserved_registers_32,
	.preserved_numbers = cfi_preserved_numbers_32,
	.preserved_mask = 1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBX | 1U << REG_RBP |
			  1U << REG_RSI | 1U << REG_RDI,
	.rule_cfa = RULE_CFA_SHORT,
	.rule_deref = RULE_CFA_DEREF_SHORT,
};
