/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to unwinding by instructions: what differs between architectures. The file of each
 * architecture fills one struct computed_machine. Code chooses by the image (code.h).
 */
#ifndef XTOP_UNWIND_COMPUTED_MACHINE_H
#define XTOP_UNWIND_COMPUTED_MACHINE_H

#include "unwind/cfi_table.h"
#include "unwind/instruction.h"
#include "xtop/base/vcpu.h"

#define COMPUTED_REGISTERS REG_PC /* of a state: those of struct instruction but REG_PC */

#define COMPUTED_CALL_BEFORE_BYTES 8 /* before a target: the longest filler */

struct computed_machine {
	bool (*decode)(const uint8_t *bytes, size_t n, uint64_t address,
		       struct instruction *instruction);
	/* Whether BYTES may end in a call. */
	bool (*ends_call)(const uint8_t bytes[INSTRUCTION_MAX_CALL_BYTES]);
	/*
	 * The target of the first direct call that begins in [*ATP, END); *ATP is behind its start
	 * then. *ATP lies at ADDRESS. False: there is none. call_bytes can be read at each.
	 */
	bool (*find_call)(const uint8_t **atp, const uint8_t *end, uint64_t address,
			  uint64_t *target);
	/* Whether BEFORE can be the last bytes of a function, or of the filler behind one. */
	bool (*ends_function)(const uint8_t before[COMPUTED_CALL_BEFORE_BYTES]);
	enum unwind_step (*rule_step)(const struct cfi_rule *rule, struct cursor *cursor);
	const struct cfi_machine *cfi;
	/* By the slots of a rule: the register of a state; REG_PC: none, a call pushes it. */
	const uint8_t *kept;
	const uint8_t *cursor_registers; /* by the registers of a state */
	const uint8_t *cfa_order;        /* registers of a state: where the CFA is looked for */
	uint8_t rule_cfa, rule_deref;    /* enum cfi_rule_kind */
	uint8_t return_bytes;            /* that a call pushes */
	uint8_t call_bytes;              /* of a direct call */
};

extern const struct computed_machine computed_machine_x86, computed_machine_arm64;

static inline const struct computed_machine *computed_machine(enum guest_arch arch)
{
	return arch == ARCH_ARM64 ? &computed_machine_arm64 : &computed_machine_x86;
}

#endif
