/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule that leads to the caller from what is known before an instruction; see computed_state.h.
 * Resolver's thread; pure functions.
 */
#include "config.h"

#include "unwind/computed_state.h"

#include <string.h>

#define WORD_BYTES 8

/* Finds a register that gives the CFA. Callers' frames know only those that calls preserve. */
static bool computed_find_cfa(const struct computed_state *state,
			      const struct computed_machine *machine, struct cfi_rule *rule)
{
	for (unsigned i = 0; i < COMPUTED_REGISTERS; i++) {
		unsigned reg = machine->cfa_order[i];
		const struct computed_value *value = &state->regs[reg];

		if (value->kind != VALUE_FRAME)
			continue;
		rule->kind = machine->rule_cfa;
		rule->reg = machine->cursor_registers[reg];
		rule->offset = machine->return_bytes - value->offset;
		return true;
	}
	return false;
}

/* Finds the word on the stack that holds the CFA itself, in a frame that was aligned. */
static bool computed_find_cfa_word(const struct computed_state *state,
				   const struct computed_machine *machine, struct cfi_rule *rule)
{
	for (uint64_t i = 0; i < state->n_slots; i++) {
		const struct computed_slot *slot = &state->slots[i];

		if (slot->value.kind != VALUE_FRAME || slot->value.offset != machine->return_bytes)
			continue;
		for (unsigned reg = 0; reg < COMPUTED_REGISTERS; reg++)
			if (state->regs[reg].kind == slot->place.kind) {
				rule->kind = machine->rule_deref;
				rule->reg = machine->cursor_registers[reg];
				rule->offset = slot->place.offset - state->regs[reg].offset;
				return true;
			}
	}
	return false;
}

/* The words that hold saved registers, counted from the CFA, and negative. */
struct computed_words {
	int low, high;           /* of all; low 0: there is none */
	int words[CFI_MAX_KEPT]; /* by the slots of a rule; 0: not saved */
};

/* Adds WORD to those that a rule can name. False: it lies too far from the others. */
static bool computed_add_word(struct computed_words *words, unsigned slot, int word)
{
	int low = word < words->low ? word : words->low;
	int high = !words->low || word > words->high ? word : words->high;

	if (high - low >= CFI_RULE_WORDS || low != (int16_t)low)
		return false;
	words->low = low;
	words->high = high;
	words->words[slot] = word;
	return true;
}

/* Finds a word at LOWEST or above. False: the register is saved in none. */
static bool computed_find_saved(const struct computed_state *state,
				const struct computed_machine *machine, unsigned slot,
				int32_t lowest, struct computed_words *words)
{
	unsigned reg = machine->kept[slot];

	for (uint64_t i = 0; i < state->n_slots; i++) {
		const struct computed_slot *saved = &state->slots[i];
		int32_t offset = saved->place.offset;

		if (saved->place.kind == VALUE_FRAME && saved->value.kind == VALUE_ENTRY &&
		    saved->value.reg == reg && offset % WORD_BYTES == 0 && offset >= lowest &&
		    offset < 0 &&
		    computed_add_word(words, slot,
				      (offset - machine->return_bytes) / WORD_BYTES))
			return true;
	}
	return false;
}

/*
 * A return address that has been saved is taken from the stack, though it may still be in its
 * register: a call, for whose caller the same rule holds, changes the register. Words below the
 * stack pointer do not count, as interrupts may write there. False: it is not known.
 */
static bool computed_find_return(const struct computed_state *state,
				 const struct computed_machine *machine,
				 struct computed_words *words, struct cfi_rule *rule)
{
	const struct computed_value *sp = &state->regs[REG_SP];
	unsigned reg = machine->kept[KEPT_RETURN];
	int32_t lowest = sp->kind == VALUE_FRAME ? sp->offset : INT32_MIN;

	if (reg == REG_PC)
		computed_add_word(words, KEPT_RETURN, -1);
	else if (!computed_find_saved(state, machine, KEPT_RETURN, lowest, words))
		return state->regs[reg].kind == VALUE_ENTRY && state->regs[reg].reg == reg;
	rule->saved |= 1U << machine->cfi->kept_registers[KEPT_RETURN];
	return true;
}

static void computed_find_words(const struct computed_state *state,
				const struct computed_machine *machine,
				struct computed_words *words, struct cfi_rule *rule)
{
	for (unsigned i = KEPT_RETURN + 1; i < machine->cfi->n_kept; i++) {
		unsigned reg = machine->kept[i];
		uint32_t bit = 1U << machine->cfi->kept_registers[i];

		if (state->regs[reg].kind == VALUE_ENTRY && state->regs[reg].reg == reg)
			continue;
		if (computed_find_saved(state, machine, i, INT32_MIN, words))
			rule->saved |= bit;
		else
			rule->kept &= ~bit;
	}
}

struct cfi_rule computed_state_rule(const struct computed_state *state,
				    const struct computed_machine *machine)
{
	struct cfi_rule rule = { .kept = machine->cfi->kept_mask };
	struct computed_words words = { 0 };

	if ((!computed_find_cfa(state, machine, &rule) &&
	     !computed_find_cfa_word(state, machine, &rule)) ||
	    !computed_find_return(state, machine, &words, &rule))
		return (struct cfi_rule){ .kind = RULE_NONE };
	computed_find_words(state, machine, &words, &rule);
	rule.low = (int16_t)words.low;
	rule.n_words = words.low ? (uint8_t)(words.high - words.low + 1) : 0;
	memset(rule.slot, CFI_RULE_WORDS, sizeof(rule.slot));
	for (unsigned i = 0; i < machine->cfi->n_kept; i++)
		if (words.words[i])
			rule.slot[i] = (uint8_t)(words.words[i] - words.low);
	return rule;
}
