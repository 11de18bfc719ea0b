/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of call-frame information that holds only for x86-64 and i386: DWARF's register numbers
 * (psABI table 3.36), the registers that a function preserves (psABI §3.2.1), and the linkers' PLT.
 * For all machines: the kinds of rules, and struct cfi_machine, which says how the machines differ.
 */
#ifndef XTOP_UNWIND_CFI_X86_H
#define XTOP_UNWIND_CFI_X86_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/register_numbers.h"

/* DWARF's numbers on any machine: arm64 has the most, x0 to x30 and sp */
#define CFI_N_REGISTERS  32
/* DWARF's numbers on x86: 16 general registers, and the return address. */
#define CFI_X86_PLACES   17
#define CFI_DWARF_RAX    0
#define CFI_DWARF_RDX    1
#define CFI_DWARF_RBX    3
#define CFI_DWARF_RBP    6
#define CFI_DWARF_RSP    7
#define CFI_DWARF_SP     CFI_DWARF_RSP
#define CFI_DWARF_RETURN 16

enum cfi_rule_kind {
	RULE_NONE,          /* the code there is unknown; rule 0 of each table */
	RULE_CFA,           /* CFA = register + offset */
	RULE_CFA_DEREF,     /* CFA = the word at register + offset: gcc's realigned frames */
	RULE_CFA_EH_RETURN, /* RULE_CFA in a function that may have lost its caller (eh_return.h) */
	RULE_CFA_PLT,       /* CFA = register + cfi_plt_bytes(pc, offset) */
	RULE_JUMP,          /* a jump to another stack: cfi_leave_jump() */
	RULE_SIGNAL_RETURN, /* a signal's handler returns there (signal_return.h) */
	RULE_OUTERMOST,     /* no caller: the return address is undefined */
	RULE_ASK,           /* libunwind evaluates the row */
	RULE_CFA_SHORT,     /* RULE_CFA in 32-bit x86 code: cfi_machine_32, words of 4 bytes */
	RULE_CFA_DEREF_SHORT,
	RULE_CFA_ARM64, /* RULE_CFA on arm64: cfi_machine_arm64 */
	RULE_CFA_DEREF_ARM64,
	RULE_CFA_ARM32, /* RULE_CFA in 32-bit Arm code: cfi_machine_arm32 */
	RULE_CFA_DEREF_ARM32,
	RULE_REGISTERS_ARM32, /* r0 to pc and CPSR of interrupted code lie at register + offset */
};

/* DWARF's numbers -> enum unwind_register: rax rdx rcx rbx rsi rdi rbp rsp r8..r15. */
static const uint8_t cfi_unwind_registers[CFI_DWARF_RETURN] = {
	REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

/* The registers that a function preserves and a step restores, in the order of cfi_rule.slot. */
enum cfi_preserved {
	PRESERVED_RETURN,
	PRESERVED_RBX,
	PRESERVED_RBP,
	PRESERVED_R12,
	PRESERVED_R13,
	PRESERVED_R14,
	PRESERVED_R15,
	N_CFI_PRESERVED
};

static const uint8_t cfi_preserved_registers[N_CFI_PRESERVED] = {
	[PRESERVED_RETURN] = REG_RIP, [PRESERVED_RBX] = REG_RBX, [PRESERVED_RBP] = REG_RBP,
	[PRESERVED_R12] = REG_R12,    [PRESERVED_R13] = REG_R13, [PRESERVED_R14] = REG_R14,
	[PRESERVED_R15] = REG_R15,
};

/* Bit i: register i (enum unwind_register) of the caller is known after a step. rsp is the CFA. */
#define CFI_PRESERVED_MASK                                                                         \
	(1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBX | 1U << REG_RBP | 1U << REG_R12 |           \
	 1U << REG_R13 | 1U << REG_R14 | 1U << REG_R15)

/*
 * What differs between x86-64, i386 (psABI i386 table 2.14, §2.2.3), arm64 and 32-bit Arm. Each
 * machine's preserved registers use the first n_preserved slots of a rule; slot 0 is the return
 * address.
 */
struct cfi_machine {
	uint8_t word_bytes;
	uint8_t n_places;  /* DWARF's numbers below this one may have rules */
	uint8_t n_numbers; /* DWARF's numbers below this one have an entry in `registers` */
	uint8_t return_number, sp_number; /* DWARF's numbers of the return address and sp */
	/* how many registers a function preserves, and the return address */
	uint8_t n_preserved;
	bool keeps_return; /* the return address may still be in its register */
	const uint8_t *registers;      /* DWARF's number -> enum unwind_register */
	const uint8_t *preserved_registers; /* slot -> enum unwind_register */
	const uint8_t *preserved_numbers;   /* slot -> DWARF's number */
	uint32_t preserved_mask; /* bit i: register i of the caller is known after a step */
	uint8_t rule_cfa;   /* enum cfi_rule_kind for CFA = register + offset */
	uint8_t rule_deref; /* enum cfi_rule_kind for CFA = the word at register + offset */
};
extern const struct cfi_machine cfi_machine_64, cfi_machine_32, cfi_machine_arm64,
	cfi_machine_arm32;

static inline const struct cfi_machine *cfi_machine(bool is_short, bool is_arm64)
{
	if (is_arm64)
		return is_short ? &cfi_machine_arm32 : &cfi_machine_arm64;
	return is_short ? &cfi_machine_32 : &cfi_machine_64;
}

/*
 * The linkers' PLT: a stub of 16 bytes pushes a word at the offset LITERAL in the stub. The CFA is
 * rsp + 8 before the push and rsp + 16 after it. Linkers always write this expression for the CFA:
 *
 *   77 08 breg7 (rsp) 8   80 00 breg16 (rip) 0   3f lit15  1a and  3N litN  2a ge  33 lit3  24 shl
 *   22 plus                                     (binutils bfd/elfxx-x86.h, lld ELF/Arch/X86_64.cpp)
 */
bool cfi_match_plt(const uint8_t *expression, int64_t size_bytes, int32_t *literal);

/* CFA - rsp at PC, which is in a stub of the PLT. */
static inline uint64_t cfi_plt_bytes(uint64_t pc, int32_t literal)
{
	return (pc & 15) >= (uint64_t)literal ? 16 : 8;
}

#endif
