/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers and stack before an instruction; see computed_state.h. */
#include "config.h"

#include "unwind/computed_state.h"

#include <string.h>

#define WORD_BYTES 8

/* No stack has offsets beyond this. */
#define COMPUTED_MAX_OFFSET (1 << 28)

static const struct computed_value computed_lost = { .kind = VALUE_LOST };

static bool computed_is_place(const struct computed_value *value)
{
	return value->kind == VALUE_FRAME || value->kind == VALUE_ALIGNED;
}

static bool computed_is_same(const struct computed_value *a, const struct computed_value *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void computed_state_init(struct computed_state *state)
{
	*state = (struct computed_state){ 0 };
	for (unsigned i = 0; i < N_CFI_KEPT; i++)
		if (cfi_kept_registers[i] < REG_PC)
			state->regs[cfi_kept_registers[i]] = (struct computed_value){
				.kind = VALUE_ENTRY, .reg = cfi_kept_registers[i]
			};
	state->regs[REG_SP] =
		(struct computed_value){ .kind = VALUE_FRAME, .offset = -WORD_BYTES };
}

/* --- values ----------------------------------------------------------------------------------- */

static struct computed_value computed_add(struct computed_value value, int64_t by)
{
	int64_t offset = value.offset + by;

	if (!by)
		return value;
	if (!computed_is_place(&value) || offset > COMPUTED_MAX_OFFSET ||
	    offset < -COMPUTED_MAX_OFFSET)
		return computed_lost;
	value.offset = (int32_t)offset;
	return value;
}

/* --- words of the stack ----------------------------------------------------------------------- */

static int computed_order(const struct computed_value *a, const struct computed_value *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static void computed_remove_slot(struct computed_state *state, uint64_t i)
{
	state->n_slots--;
	memmove(&state->slots[i], &state->slots[i + 1],
		(state->n_slots - i) * sizeof(state->slots[0]));
	state->slots[state->n_slots] = (struct computed_slot){ 0 };
}

/* The bytes [place, place + SIZE_BYTES) are written. */
static void computed_overwrite(struct computed_state *state, const struct computed_value *place,
			       int32_t size_bytes)
{
	for (uint64_t i = state->n_slots; i-- > 0;) {
		const struct computed_value *slot = &state->slots[i].place;

		if (slot->kind == place->kind && slot->offset < place->offset + size_bytes &&
		    place->offset < slot->offset + WORD_BYTES)
			computed_remove_slot(state, i);
	}
}

/* If there is no room, the word stays unknown. */
static void computed_store(struct computed_state *state, struct computed_value place,
			   struct computed_value value)
{
	uint64_t i = 0;

	if (!computed_is_place(&place))
		return;
	computed_overwrite(state, &place, WORD_BYTES);
	if (value.kind == VALUE_LOST || state->n_slots == COMPUTED_MAX_SLOTS)
		return;
	while (i < state->n_slots && computed_order(&state->slots[i].place, &place) < 0)
		i++;
	memmove(&state->slots[i + 1], &state->slots[i],
		(state->n_slots - i) * sizeof(state->slots[0]));
	state->slots[i] = (struct computed_slot){ .place = place, .value = value };
	state->n_slots++;
}

static struct computed_value computed_load(const struct computed_state *state,
					   struct computed_value place)
{
	if (computed_is_place(&place))
		for (uint64_t i = 0; i < state->n_slots; i++)
			if (computed_is_same(&state->slots[i].place, &place))
				return state->slots[i].value;
	return computed_lost;
}

/*
 * VALUE as register REG keeps it. The address of a local variable is forgotten: no function
 * restores its stack pointer from one. The address of a saved register is kept: OpenSSL's assembly
 * returns by it.
 *
 *     lea 0x68(%rsp),%rsi;  mov (%rsi),%r15;  mov 8(%rsi),%r14 ...;  lea 0x30(%rsi),%rsp;  ret
 */
static struct computed_value computed_copy(const struct computed_state *state, unsigned reg,
					   struct computed_value value)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	if (reg != REG_SP && reg != REG_RBP && value.kind == VALUE_FRAME &&
	    sp->kind == VALUE_FRAME && value.offset > sp->offset && value.offset < -WORD_BYTES &&
	    computed_load(state, value).kind != VALUE_ENTRY)
		return computed_lost;
	return value;
}

/* --- effects ---------------------------------------------------------------------------------- */

static void computed_push(struct computed_state *state, const struct instruction *instruction)
{
	struct computed_value value = computed_lost, *sp = &state->regs[REG_SP];

	if (instruction->source != REG_NONE)
		value = state->regs[instruction->source];
	*sp = computed_add(*sp, -(int)instruction->size);
	if (instruction->size == WORD_BYTES)
		computed_store(state, *sp, value);
	else if (computed_is_place(sp))
		computed_overwrite(state, sp, instruction->size);
}

static void computed_pop(struct computed_state *state, const struct instruction *instruction)
{
	struct computed_value *sp = &state->regs[REG_SP], value = computed_load(state, *sp);

	*sp = computed_add(*sp, instruction->size);
	if (instruction->dest != REG_NONE)
		state->regs[instruction->dest] =
			instruction->size == WORD_BYTES ? value : computed_lost;
}

/* Only one aligned stack pointer is followed at a time. */
static void computed_align(struct computed_state *state, const struct instruction *instruction)
{
	struct computed_value *dest = &state->regs[instruction->dest];

	if (instruction->dest != REG_SP) {
		*dest = computed_lost;
		return;
	}
	for (unsigned i = 0; i < REG_PC; i++)
		if (state->regs[i].kind == VALUE_ALIGNED)
			state->regs[i] = computed_lost;
	for (uint64_t i = state->n_slots; i-- > 0;)
		if (state->slots[i].place.kind == VALUE_ALIGNED ||
		    state->slots[i].value.kind == VALUE_ALIGNED)
			computed_remove_slot(state, i);
	*dest = (struct computed_value){ .kind = VALUE_ALIGNED };
}

static void computed_leave(struct computed_state *state)
{
	struct computed_value *frame = &state->regs[REG_RBP], *sp = &state->regs[REG_SP];

	*sp = computed_add(*frame, WORD_BYTES);
	*frame = computed_load(state, *frame);
}

/* A called function writes below the stack pointer. */
static void computed_call(struct computed_state *state)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	for (uint64_t i = state->n_slots; i-- > 0 && computed_is_place(sp);)
		if (state->slots[i].place.kind == sp->kind &&
		    state->slots[i].place.offset < sp->offset)
			computed_remove_slot(state, i);
}

void computed_state_apply(struct computed_state *state, const struct instruction *instruction)
{
	struct computed_value *regs = state->regs;

	switch ((enum instruction_effect)instruction->effect) {
	case EFFECT_LOSE:
		break;
	case EFFECT_PUSH:
		computed_push(state, instruction);
		break;
	case EFFECT_POP:
		computed_pop(state, instruction);
		break;
	case EFFECT_ADD:
		regs[instruction->dest] = computed_copy(
			state, instruction->dest,
			computed_add(regs[instruction->source], instruction->value));
		break;
	case EFFECT_ALIGN:
		computed_align(state, instruction);
		break;
	case EFFECT_STORE:
		computed_store(state, computed_add(regs[instruction->dest], instruction->value),
			       instruction->source == REG_NONE ? computed_lost
							       : regs[instruction->source]);
		break;
	case EFFECT_LOAD:
		regs[instruction->dest] = computed_load(
			state, computed_add(regs[instruction->source], instruction->value));
		break;
	case EFFECT_LEAVE:
		computed_leave(state);
		break;
	}
	if (instruction->flow == FLOW_CALL)
		computed_call(state);
	for (unsigned i = 0; i < REG_PC; i++)
		if (instruction->lost >> i & 1)
			regs[i] = computed_lost;
}

bool computed_state_is_kept(const struct computed_state *state,
			    const struct instruction *instruction)
{
	uint32_t lost = instruction->lost;

	switch ((enum instruction_effect)instruction->effect) {
	case EFFECT_LOSE:
		break;
	case EFFECT_ADD:
	case EFFECT_LOAD:
		if (computed_is_place(&state->regs[instruction->source]) ||
		    state->regs[instruction->source].kind == VALUE_ENTRY)
			return false;
		lost |= 1U << instruction->dest;
		break;
	case EFFECT_ALIGN:
		if (instruction->dest == REG_SP)
			return false;
		lost |= 1U << instruction->dest;
		break;
	case EFFECT_STORE:
		if (computed_is_place(&state->regs[instruction->dest]))
			return false;
		break;
	default:
		return false;
	}
	for (; lost; lost &= lost - 1)
		if (state->regs[__builtin_ctz(lost)].kind != VALUE_LOST)
			return false;
	return instruction->flow != FLOW_CALL || !state->n_slots ||
	       state->slots[0].place.kind != state->regs[REG_SP].kind ||
	       state->slots[0].place.offset >= state->regs[REG_SP].offset;
}

/* --- two ways --------------------------------------------------------------------------------- */

void computed_state_join(struct computed_state *state, const struct computed_state *other)
{
	for (unsigned i = 0; i < REG_PC; i++)
		if (!computed_is_same(&state->regs[i], &other->regs[i]))
			state->regs[i] = computed_lost;
	for (uint64_t i = state->n_slots; i-- > 0;) {
		const struct computed_slot *slot = &state->slots[i];
		struct computed_value there = computed_load(other, slot->place);

		if (!computed_is_same(&there, &slot->value))
			computed_remove_slot(state, i);
	}
}

bool computed_state_differ(const struct computed_state *state, const struct computed_state *other)
{
	const struct computed_value *a = &state->regs[REG_SP], *b = &other->regs[REG_SP];

	return computed_is_place(a) && computed_is_place(b) && !computed_is_same(a, b);
}

void computed_state_equate(struct computed_state *state, unsigned reg)
{
	if (computed_is_place(&state->regs[reg]))
		state->regs[REG_SP] = state->regs[reg];
}

bool computed_state_lose_stack(struct computed_state *state)
{
	const struct computed_value *frame = &state->regs[REG_RBP];
	struct computed_value saved = computed_load(state, *frame);

	if (!computed_is_place(&state->regs[REG_SP]) || frame->kind != VALUE_FRAME ||
	    frame->offset != -2 * WORD_BYTES || saved.kind != VALUE_ENTRY || saved.reg != REG_RBP)
		return false;
	state->regs[REG_SP] = computed_lost;
	return true;
}

bool computed_state_has_no_frame(const struct computed_state *state)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	return sp->kind == VALUE_FRAME && sp->offset == -WORD_BYTES;
}

bool computed_state_is_above(const struct computed_state *state)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	return sp->kind == VALUE_FRAME && sp->offset > -WORD_BYTES;
}

bool computed_state_is_left(const struct computed_state *state)
{
	for (unsigned i = 0; i < N_CFI_KEPT; i++) {
		unsigned reg = cfi_kept_registers[i];

		if (reg < REG_PC && (state->regs[reg].kind != VALUE_ENTRY ||
				     state->regs[reg].reg != reg))
			return false;
	}
	return computed_state_has_no_frame(state);
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Finds a register that gives the CFA. Callers' frames know only those that calls preserve. */
static bool computed_find_cfa(const struct computed_state *state, struct cfi_rule *rule)
{
	static const uint8_t order[] = { REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13,
					 REG_R14, REG_R15, REG_R10, REG_R11, REG_RAX,
					 REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_R8, REG_R9 };

	for (size_t i = 0; i < sizeof(order); i++) {
		const struct computed_value *value = &state->regs[order[i]];

		if (value->kind != VALUE_FRAME)
			continue;
		rule->kind = RULE_CFA;
		rule->reg = order[i];
		rule->offset = -value->offset;
		return true;
	}
	return false;
}

/* Finds the word on the stack that holds the CFA itself, in a frame that was aligned. */
static bool computed_find_cfa_word(const struct computed_state *state, struct cfi_rule *rule)
{
	for (uint64_t i = 0; i < state->n_slots; i++) {
		const struct computed_slot *slot = &state->slots[i];

		if (slot->value.kind != VALUE_FRAME || slot->value.offset)
			continue;
		for (unsigned reg = 0; reg < REG_PC; reg++)
			if (state->regs[reg].kind == slot->place.kind) {
				rule->kind = RULE_CFA_DEREF;
				rule->reg = (uint8_t)reg;
				rule->offset = slot->place.offset - state->regs[reg].offset;
				return true;
			}
	}
	return false;
}

/* The number of the word below the CFA where REG is saved, negative. 0: it is not saved. */
static int computed_find_saved(const struct computed_state *state, unsigned reg)
{
	for (uint64_t i = 0; i < state->n_slots; i++) {
		const struct computed_slot *slot = &state->slots[i];
		int word = slot->place.offset / WORD_BYTES;

		if (slot->place.kind == VALUE_FRAME && slot->value.kind == VALUE_ENTRY &&
		    slot->value.reg == reg && slot->place.offset % WORD_BYTES == 0 &&
		    word < -1 && word >= -CFI_RULE_WORDS)
			return word;
	}
	return 0;
}

static void computed_rule_of_register(const struct computed_state *state, unsigned i,
				      int words[N_CFI_KEPT], struct cfi_rule *rule)
{
	unsigned reg = cfi_kept_registers[i];
	const struct computed_value *value = &state->regs[reg];

	if (value->kind == VALUE_ENTRY && value->reg == reg)
		return;
	words[i] = computed_find_saved(state, reg);
	if (words[i])
		rule->saved |= 1U << reg;
	else
		rule->kept &= ~(1U << reg);
	if (words[i] < rule->low)
		rule->low = (int8_t)words[i];
}

struct cfi_rule computed_state_rule(const struct computed_state *state)
{
	struct cfi_rule rule = { .low = -1, .saved = 1U << REG_PC, .kept = CFI_KEPT_MASK };
	int words[N_CFI_KEPT] = { 0 };

	if (!computed_find_cfa(state, &rule) && !computed_find_cfa_word(state, &rule))
		return (struct cfi_rule){ .kind = RULE_NONE };
	words[KEPT_RETURN] = -1;
	for (unsigned i = 0; i < N_CFI_KEPT; i++)
		if (i != KEPT_RETURN)
			computed_rule_of_register(state, i, words, &rule);
	rule.n_words = (uint8_t)-rule.low;
	for (unsigned i = 0; i < N_CFI_KEPT; i++)
		rule.slot[i] = words[i] ? (uint8_t)(words[i] - rule.low) : CFI_RULE_WORDS;
	return rule;
}
