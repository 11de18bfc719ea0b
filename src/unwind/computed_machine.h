/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to unwinding by instructions: what differs between architectures. Each architecture's
 * file fills one struct computed_machine. The architecture of the code (code.h) selects one of
 * them.
 */
#ifndef XTOP_UNWIND_COMPUTED_MACHINE_H
#define XTOP_UNWIND_COMPUTED_MACHINE_H

#include "unwind/cfi_table.h"
#include "unwind/instruction.h"
#include "xtop/base/vcpu.h"

/* How many registers a state has: those of struct instruction except REG_PC, the last one. */
#define COMPUTED_REGISTERS REG_PC

#define COMPUTED_CALL_BEFORE_BYTES 8 /* bytes checked before a call's target: the longest filler */

struct computed_machine {
	bool (*decode)(const uint8_t *bytes, size_t n, uint64_t address,
		       struct instruction *instruction);
	/* Whether BYTES may end in a call. */
	bool (*ends_call)(const uint8_t bytes[INSTRUCTION_MAX_CALL_BYTES]);
	/*
	 * Finds the first direct call that begins in [*ATP, END), where *ATP lies at ADDRESS, and
	 * returns its target. Advances *ATP past the call's first byte. Returns false if there is
	 * no call. call_bytes bytes are readable at each address below END.
	 */
	bool (*find_call)(const uint8_t **atp, const uint8_t *end, uint64_t address,
			  uint64_t *target);
	/* Whether BEFORE can be the last bytes of a function, or of the filler after one. */
	bool (*ends_function)(const uint8_t before[COMPUTED_CALL_BEFORE_BYTES]);
	enum unwind_step (*rule_step)(const struct cfi_rule *rule, struct cursor *cursor);
	const struct cfi_machine *cfi;
	/* Slot of a rule -> register of a state. REG_PC: no register, because a call pushes it. */
	const uint8_t *preserved;
	const uint8_t *cursor_registers; /* register of a state -> register of a cursor */
	const uint8_t *cfa_order;        /* a state's registers in the order tried for the CFA */
	uint8_t return_bytes;            /* bytes that a call pushes */
	uint8_t call_bytes;              /* length of a direct call */
};

extern const struct computed_machine computed_machine_x86, computed_machine_arm64;

static inline const struct computed_machine *computed_machine(enum guest_arch arch)
{
	return arch == ARCH_ARM64 ? &computed_machine_arm64 : &computed_machine_x86;
}

#endif
