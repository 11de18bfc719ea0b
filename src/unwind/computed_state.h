/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known about registers and stack before an instruction, relative to the function's entry:
 *
 *   VALUE_FRAME  the stack pointer at the function's entry + offset
 *   VALUE_ALIGNED the stack pointer that the function has aligned, + offset
 *   VALUE_ENTRY  the value that a preserved register had at the function's entry
 *   VALUE_NUMBER the number `offset`
 *   VALUE_LOST   not known
 *
 *   at the entry   x86-64: rsp = VALUE_FRAME 0, where the return address is; rbx, rbp, r12..r15 =
 *                  VALUE_ENTRY.  arm64: sp = VALUE_FRAME 0; x19 to x30 = VALUE_ENTRY
 *
 * Words of the stack are known by their places. Where two ways lead to an instruction, values that
 * differ between the ways are lost. Resolver's thread; pure functions.
 */
#ifndef XTOP_UNWIND_COMPUTED_STATE_H
#define XTOP_UNWIND_COMPUTED_STATE_H

#include "unwind/computed_machine.h"

enum computed_kind { VALUE_LOST, VALUE_ENTRY, VALUE_FRAME, VALUE_ALIGNED, VALUE_NUMBER };

struct computed_value {
	uint8_t kind;
	uint8_t reg; /* of VALUE_ENTRY */
	uint16_t unused;
	int32_t offset; /* of VALUE_FRAME, VALUE_ALIGNED, VALUE_NUMBER */
};

/* The word at PLACE, which is VALUE_FRAME or VALUE_ALIGNED. */
struct computed_slot {
	struct computed_value place, value;
};

#define COMPUTED_MAX_SLOTS 12

/* Compared and hashed as bytes. Slots ascend by kind and offset of their places; unused: zeros. */
struct computed_state {
	struct computed_value regs[COMPUTED_REGISTERS];
	struct computed_slot slots[COMPUTED_MAX_SLOTS];
	uint64_t n_slots;
};

/* At a function's entry. */
void computed_state_init(struct computed_state *state, const struct computed_machine *machine);
/* STATE before the instruction becomes STATE behind it, if control goes to the next one. */
void computed_state_apply(struct computed_state *state, const struct instruction *instruction);
/* Whether INSTRUCTION surely leaves STATE as it is. Most do, and this check is fast. */
bool computed_state_is_kept(const struct computed_state *state,
			    const struct instruction *instruction);
/* STATE becomes what is true of both. */
void computed_state_join(struct computed_state *state, const struct computed_state *other);
/* Whether the stack pointers are known and differ: then control never goes one of the ways. */
bool computed_state_differ(const struct computed_state *state, const struct computed_state *other);
/*
 * Whether a register of ENTRY, the state at the entry, is known on both ways and would be lost: it
 * is saved on one of them only. No function has such ways.
 */
bool computed_state_mix(const struct computed_state *state, const struct computed_state *other,
			const struct computed_state *entry);
/* Notes what a branch has shown: REG and the stack pointer are equal. */
void computed_state_equate(struct computed_state *state, unsigned reg);
/* Forgets the stack pointer, if the frame pointer points to the caller's. False: it does not. */
bool computed_state_lose_stack(struct computed_state *state);
/* Whether the stack pointer is as at the entry. */
bool computed_state_has_no_frame(const struct computed_state *state);
/* Whether the return address has been taken off the stack. */
bool computed_state_is_above(const struct computed_state *state);
/*
 * Whether, in addition, all preserved registers are as in ENTRY, the state at the entry: the
 * function may return.
 */
bool computed_state_is_left(const struct computed_state *state,
			    const struct computed_state *entry);

/* --- computed_rule.c -------------------------------------------------------------------------- */

/* RULE_NONE: the return address is not known. */
struct cfi_rule computed_state_rule(const struct computed_state *state,
				    const struct computed_machine *machine);

#endif
