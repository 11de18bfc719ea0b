/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the rule that finds the caller from the state before an instruction; see computed_state.h.
 * Resolver's thread; pure functions.
 */
#include "config.h"

#include "unwind/computed_state.h"

#include <string.h>

#define WORD_BYTES 8

/* Whether a called function keeps REG: only such registers are known in callers' frames. */
static bool computed_is_preserved(const struct computed_machine *machine, unsigned reg)
{
	if (reg == REG_SP)
		return true;
	for (unsigned i = 0; i < machine->cfi->n_preserved; i++)
		if (machine->preserved[i] == reg)
			return true;
	return false;
}

/*
 * Finds a register from which the CFA is computed: among the registers that called functions keep
 * if PRESERVED, else among the others.
 */
static bool computed_find_cfa(const struct computed_state *state,
			      const struct computed_machine *machine, bool preserved,
			      struct cfi_rule *rule)
{
	for (unsigned i = 0; i < COMPUTED_REGISTERS; i++) {
		unsigned reg = machine->cfa_order[i];
		const struct computed_value *value = &state->regs[reg];

		if (value->kind != VALUE_FRAME || computed_is_preserved(machine, reg) != preserved)
			continue;
		rule->kind = machine->cfi->rule_cfa;
		rule->reg = machine->cursor_registers[reg];
		rule->offset = machine->return_bytes - value->offset;
		return true;
	}
	return false;
}

/* Whether SLOT has the CFA. Words below the stack pointer do not count: they change at any time. */
static bool computed_has_cfa(const struct computed_state *state,
			     const struct computed_machine *machine,
			     const struct computed_slot *slot)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	return slot->value.kind == VALUE_FRAME && slot->value.offset == machine->return_bytes &&
	       (sp->kind != slot->place.kind || slot->place.offset >= sp->offset);
}

/*
 * Finds the stack word that has the CFA, in a frame that was aligned, and a register that leads to
 * the word: one that called functions keep if PRESERVED, else another one.
 */
static bool computed_find_cfa_word(const struct computed_state *state,
				   const struct computed_machine *machine, bool preserved,
				   struct cfi_rule *rule)
{
	for (uint64_t i = 0; i < state->n_slots; i++) {
		const struct computed_slot *slot = &state->slots[i];

		if (!computed_has_cfa(state, machine, slot))
			continue;
		for (unsigned j = 0; j < COMPUTED_REGISTERS; j++) {
			unsigned reg = machine->cfa_order[j];

			if (state->regs[reg].kind != slot->place.kind ||
			    computed_is_preserved(machine, reg) != preserved)
				continue;
			rule->kind = machine->cfi->rule_deref;
			rule->reg = machine->cursor_registers[reg];
			rule->offset = slot->place.offset - state->regs[reg].offset;
			return true;
		}
	}
	return false;
}

/* The words of saved registers, as negative numbers of words from the CFA. */
struct computed_words {
	int low, high;           /* the lowest and the highest word; low 0: there is no word */
	int words[CFI_MAX_PRESERVED]; /* slot of a rule -> word; 0: the register is not saved */
};

/* Adds WORD for SLOT. Returns false if WORD is too far from the others for one rule. */
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

/* Finds a word at LOWEST or above that has the register of SLOT. Returns false if none has. */
static bool computed_find_saved(const struct computed_state *state,
				const struct computed_machine *machine, unsigned slot,
				int32_t lowest, struct computed_words *words)
{
	unsigned reg = machine->preserved[slot];

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
 * Finds the return address. Returns false if it is unknown. If the return address was saved, the
 * rule takes it from the stack, even if its register still has it: after a call the register has
 * changed, and the rule must hold there, too. Words below the stack pointer do not count, because
 * interrupts may overwrite them.
 */
static bool computed_find_return(const struct computed_state *state,
				 const struct computed_machine *machine,
				 struct computed_words *words, struct cfi_rule *rule)
{
	const struct computed_value *sp = &state->regs[REG_SP];
	unsigned reg = machine->preserved[PRESERVED_RETURN];
	int32_t lowest = sp->kind == VALUE_FRAME ? sp->offset : INT32_MIN;

	if (reg == REG_PC)
		computed_add_word(words, PRESERVED_RETURN, -1);
	else if (!computed_find_saved(state, machine, PRESERVED_RETURN, lowest, words))
		return state->regs[reg].kind == VALUE_ENTRY && state->regs[reg].reg == reg;
	rule->saved |= 1U << machine->cfi->preserved_registers[PRESERVED_RETURN];
	return true;
}

static void computed_find_words(const struct computed_state *state,
				const struct computed_machine *machine,
				struct computed_words *words, struct cfi_rule *rule)
{
	for (unsigned i = PRESERVED_RETURN + 1; i < machine->cfi->n_preserved; i++) {
		unsigned reg = machine->preserved[i];
		uint32_t bit = 1U << machine->cfi->preserved_registers[i];

		if (state->regs[reg].kind == VALUE_ENTRY && state->regs[reg].reg == reg)
			continue;
		if (computed_find_saved(state, machine, i, INT32_MIN, words))
			rule->saved |= bit;
		else
			rule->unchanged &= ~bit;
	}
}

struct cfi_rule computed_state_rule(const struct computed_state *state,
				    const struct computed_machine *machine)
{
	struct cfi_rule rule = { .unchanged = machine->cfi->preserved_mask };
	struct computed_words words = { 0 };

	if ((!computed_find_cfa(state, machine, true, &rule) &&
	     !computed_find_cfa_word(state, machine, true, &rule) &&
	     !computed_find_cfa(state, machine, false, &rule) &&
	     !computed_find_cfa_word(state, machine, false, &rule)) ||
	    !computed_find_return(state, machine, &words, &rule))
		return (struct cfi_rule){ .kind = RULE_NONE };
	computed_find_words(state, machine, &words, &rule);
	rule.low = (int16_t)words.low;
	rule.n_words = words.low ? (uint8_t)(words.high - words.low + 1) : 0;
	memset(rule.slot, CFI_RULE_WORDS, sizeof(rule.slot));
	for (unsigned i = 0; i < machine->cfi->n_preserved; i++)
		if (words.words[i])
			rule.slot[i] = (uint8_t)(words.words[i] - words.low);
	return rule;
}

struct cfi_rule computed_state_link_rule(const struct computed_state *state,
					 const struct computed_machine *machine)
{
	const struct cfi_machine *cfi = machine->cfi;
	struct cfi_rule rule = { .kind = cfi->rule_cfa,
				 .reg = REG_SP,
				 .unchanged = cfi->preserved_mask };

	for (unsigned i = 0; i < cfi->n_preserved; i++)
		if (state->regs[machine->preserved[i]].kind == VALUE_ENTRY)
			rule.unchanged &= ~(1U << cfi->preserved_registers[i]);
	if (state->regs[machine->preserved[PRESERVED_RETURN]].kind == VALUE_ENTRY ||
	    !(rule.unchanged >> REG_RBP & 1))
		return (struct cfi_rule){ .kind = RULE_NONE };
	if (!computed_state_is_elsewhere(state))
		rule.unchanged &= ~(1U << REG_SP);
	memset(rule.slot, CFI_RULE_WORDS, sizeof(rule.slot));
	return rule;
}
