/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known about registers and stack before an instruction, relative to the function's entry:
 *
 *   VALUE_FRAME      the stack pointer at the function's entry + offset
 *   VALUE_ALIGNED    the stack pointer that the function has aligned, + offset
 *   VALUE_ENTRY      the value that a preserved register had at the function's entry
 *   VALUE_NUMBER     the number `offset`
 *   VALUE_ELSEWHERE  an address on a stack that is not the one at the function's entry
 *   VALUE_LOST       not known
 *
 *   at the entry   x86-64: rsp = VALUE_FRAME 0, where the return address is; rbx, rbp, r12..r15 =
 *                  VALUE_ENTRY.  arm64: sp = VALUE_FRAME 0; x19 to x30 = VALUE_ENTRY
 *
 * A stack word is identified by its place. Where two paths lead to an instruction, values that
 * differ between the paths are lost. Resolver's thread; pure functions.
 */
#ifndef XTOP_UNWIND_COMPUTED_STATE_H
#define XTOP_UNWIND_COMPUTED_STATE_H

#include "unwind/computed_machine.h"

enum computed_kind {
	VALUE_LOST,
	VALUE_ENTRY,
	VALUE_FRAME,
	VALUE_ALIGNED,
	VALUE_NUMBER,
	VALUE_ELSEWHERE,
};

struct computed_value {
	uint8_t kind;
	uint8_t reg; /* VALUE_ENTRY: the register that had the value */
	uint16_t unused;
	int32_t offset; /* VALUE_FRAME, VALUE_ALIGNED, VALUE_NUMBER */
};

/* A known stack word. PLACE is VALUE_FRAME or VALUE_ALIGNED. */
struct computed_slot {
	struct computed_value place, value;
};

#define COMPUTED_MAX_SLOTS 12

/*
 * States are compared and hashed as bytes. Slots ascend by kind and offset of their places. Unused
 * slots are zeros.
 */
struct computed_state {
	struct computed_value regs[COMPUTED_REGISTERS];
	struct computed_slot slots[COMPUTED_MAX_SLOTS];
	uint64_t n_slots;
};

/* Sets the state at a function's entry. */
void computed_state_init(struct computed_state *state, const struct computed_machine *machine);
/* Changes STATE from before INSTRUCTION to before the next instruction in memory. */
void computed_state_apply(struct computed_state *state, const struct instruction *instruction);
/* Whether INSTRUCTION surely does not change STATE. Most do not, and this check is fast. */
bool computed_state_is_kept(const struct computed_state *state,
			    const struct instruction *instruction);
/* Forgets in STATE all values that differ from those in OTHER. */
void computed_state_join(struct computed_state *state, const struct computed_state *other);
/* Whether both stack pointers are known and differ: control then never takes one of the paths. */
bool computed_state_differ(const struct computed_state *state, const struct computed_state *other);
/*
 * Whether STATE has more words on the stack than OTHER, and both have saved the same registers in
 * the same places.
 */
bool computed_state_is_deeper(const struct computed_state *state,
			      const struct computed_state *other);
/*
 * Whether a preserved register's value at the function's ENTRY is known in both states, but would
 * be lost by a join because only one state has saved it. No function has two such paths.
 */
bool computed_state_mix(const struct computed_state *state, const struct computed_state *other,
			const struct computed_state *entry);
/* Notes that a branch has shown that REG and the stack pointer are equal. */
void computed_state_equate(struct computed_state *state, unsigned reg);
/*
 * Forgets the stack pointer if the frame pointer points to the caller's frame pointer. Returns
 * false if the frame pointer does not.
 */
bool computed_state_lose_stack(struct computed_state *state);
/* Whether the stack pointer has its value from the entry. */
bool computed_state_has_no_frame(const struct computed_state *state);
/*
 * Whether rbp was set to 0 without being saved, in code that has no frame. A new thread's first
 * code does this to mark the end of the chain. A compiled function makes a frame before it calls
 * another function.
 */
bool computed_state_begins_chain(const struct computed_state *state);
/* Whether x86-64's stack pointer is aligned as at a call. */
bool computed_state_is_aligned(const struct computed_state *state);
/* Whether the function has changed to another stack. */
bool computed_state_is_elsewhere(const struct computed_state *state);
/* Whether the return address has been popped off the stack. */
bool computed_state_is_above(const struct computed_state *state);
/*
 * Whether the function may return: the stack pointer and all preserved registers are as in ENTRY,
 * the state at the entry.
 */
bool computed_state_is_left(const struct computed_state *state,
			    const struct computed_state *entry);

/* --- computed_rule.c -------------------------------------------------------------------------- */

/* The rule that finds the caller from STATE. RULE_NONE: the return address is unknown. */
struct cfi_rule computed_state_rule(const struct computed_state *state,
				    const struct computed_machine *machine);
/*
 * The rule for arm64 code that goes to the address in x30 and to another stack (longjmp()), once it
 * has loaded x30 and x29: the place in x30 counts as the caller, as its callers are the ones that
 * are left. Before the code has changed stacks, the stack pointer there is unknown. RULE_NONE: x30
 * or x29 still has its value from the entry.
 */
struct cfi_rule computed_state_link_rule(const struct computed_state *state,
					 const struct computed_machine *machine);

#endif
