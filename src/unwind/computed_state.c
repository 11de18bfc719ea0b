/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers and stack before an instruction; see computed_state.h. Pure functions. */
#include "config.h"

#include "unwind/computed_state.h"

#include <string.h>

#define WORD_BYTES 8

/* No stack frame is larger. */
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

void computed_state_init(struct computed_state *state, const struct computed_machine *machine)
{
	*state = (struct computed_state){ 0 };
	for (unsigned i = 0; i < machine->cfi->n_preserved; i++)
		if (machine->preserved[i] < COMPUTED_REGISTERS)
			state->regs[machine->preserved[i]] =
				(struct computed_value){ .kind = VALUE_ENTRY,
							 .reg = machine->preserved[i] };
	state->regs[REG_SP] = (struct computed_value){ .kind = VALUE_FRAME };
}

/* --- values ----------------------------------------------------------------------------------- */

static struct computed_value computed_add(struct computed_value value, int64_t by)
{
	int64_t offset = value.offset + by;

	if (!by || value.kind == VALUE_ELSEWHERE)
		return value;
	if ((!computed_is_place(&value) && value.kind != VALUE_NUMBER) ||
	    offset > COMPUTED_MAX_OFFSET ||
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

/* Forgets the words that overlap [PLACE, PLACE + SIZE_BYTES), which is overwritten. */
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

/* Notes that the word at PLACE is VALUE now. If there is no room, the word stays unknown. */
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
 * What a state stores when REG is set to VALUE. The address of a local variable is not stored: no
 * function restores its stack pointer from such an address. The address of a saved register is
 * stored, because OpenSSL's assembly returns by it:
 *
 *     lea 0x68(%rsp),%rsi;  mov (%rsi),%r15;  mov 8(%rsi),%r14 ...;  lea 0x30(%rsi),%rsp;  ret
 */
static struct computed_value computed_copy(const struct computed_state *state, unsigned reg,
					   struct computed_value value)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	if (reg != REG_SP && reg != REG_RBP && value.kind == VALUE_FRAME &&
	    sp->kind == VALUE_FRAME && value.offset > sp->offset && value.offset < 0 &&
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

/* A state has only one aligned stack pointer: forgets all values relative to an earlier one. */
static void computed_align(struct computed_state *state, const struct instruction *instruction)
{
	struct computed_value *dest = &state->regs[instruction->dest];

	if (instruction->dest != REG_SP) {
		*dest = computed_lost;
		return;
	}
	if (dest->kind == VALUE_ELSEWHERE)
		return;
	for (unsigned i = 0; i < COMPUTED_REGISTERS; i++)
		if (state->regs[i].kind == VALUE_ALIGNED)
			state->regs[i] = computed_lost;
	for (uint64_t i = state->n_slots; i-- > 0;)
		if (state->slots[i].place.kind == VALUE_ALIGNED ||
		    state->slots[i].value.kind == VALUE_ALIGNED)
			computed_remove_slot(state, i);
	*dest = (struct computed_value){ .kind = VALUE_ALIGNED };
}

static void computed_move(struct computed_state *state, const struct instruction *instruction)
{
	struct computed_value *dest = &state->regs[instruction->dest];
	const struct computed_value *by = &state->regs[instruction->source];

	if (dest->kind == VALUE_ELSEWHERE)
		return;
	*dest = by->kind == VALUE_NUMBER
			? computed_add(*dest, (int64_t)by->offset * instruction->value)
			: computed_lost;
}

static void computed_leave(struct computed_state *state)
{
	struct computed_value *frame = &state->regs[REG_RBP], *sp = &state->regs[REG_SP];

	*sp = computed_add(*frame, WORD_BYTES);
	*frame = computed_load(state, *frame);
}

/* Forgets the words below the stack pointer, where a called function writes. */
static void computed_call(struct computed_state *state)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	for (uint64_t i = state->n_slots; i-- > 0 && computed_is_place(sp);)
		if (state->slots[i].place.kind == sp->kind &&
		    state->slots[i].place.offset < sp->offset)
			computed_remove_slot(state, i);
}

static void computed_store_words(struct computed_state *state,
				 const struct instruction *instruction)
{
	struct computed_value *base = &state->regs[instruction->dest];
	struct computed_value place = computed_add(*base, instruction->value);

	computed_store(state, place,
		       instruction->source == REG_NONE ? computed_lost
						       : state->regs[instruction->source]);
	if (instruction->pair)
		computed_store(state, computed_add(place, WORD_BYTES),
			       instruction->second == REG_NONE ? computed_lost
							       : state->regs[instruction->second]);
	*base = computed_add(*base, instruction->moves);
}

/* Reads both words before changing a register, because a loaded register may be the base. */
static void computed_load_words(struct computed_state *state,
				const struct instruction *instruction)
{
	struct computed_value *base = &state->regs[instruction->source];
	struct computed_value place = computed_add(*base, instruction->value);
	struct computed_value first = computed_load(state, place), second = computed_lost;

	if (instruction->pair)
		second = computed_load(state, computed_add(place, WORD_BYTES));
	*base = computed_add(*base, instruction->moves);
	state->regs[instruction->dest] = first;
	if (instruction->pair)
		state->regs[instruction->second] = second;
}

/*
 * Whether INSTRUCTION, before STATE, sets the stack pointer to an address on another stack: to a
 * fixed address, or to an unknown value while no register has an address on the function's stack.
 * A function that has taken room of any size keeps such an address, with which it finds its frame.
 */
static bool computed_changes_stack(const struct computed_state *state,
				   const struct instruction *instruction)
{
	if (instruction->begins)
		return instruction->lost >> REG_SP & 1;
	if (!(instruction->lost >> REG_SP & 1) &&
	    ((instruction->effect != EFFECT_ADD && instruction->effect != EFFECT_LOAD) ||
	     instruction->dest != REG_SP || instruction->source == REG_SP))
		return false;
	for (unsigned i = 0; i < COMPUTED_REGISTERS; i++)
		if (i != REG_SP && computed_is_place(&state->regs[i]))
			return false;
	return true;
}

void computed_state_apply(struct computed_state *state, const struct instruction *instruction)
{
	bool changes_stack = computed_changes_stack(state, instruction);
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
		computed_store_words(state, instruction);
		break;
	case EFFECT_LOAD:
		computed_load_words(state, instruction);
		break;
	case EFFECT_NUMBER:
		regs[instruction->dest] = (struct computed_value){ .kind = VALUE_NUMBER,
								   .offset = instruction->value };
		break;
	case EFFECT_MOVE:
		computed_move(state, instruction);
		break;
	case EFFECT_LEAVE:
		computed_leave(state);
		break;
	}
	if (instruction->flow == INSTRUCTION_CALL)
		computed_call(state);
	for (unsigned i = 0; i < COMPUTED_REGISTERS; i++)
		if (instruction->lost >> i & 1)
			regs[i] = computed_lost;
	if (instruction->begins && instruction->lost >> REG_RBP & 1)
		regs[REG_RBP] = (struct computed_value){ .kind = VALUE_NUMBER };
	if (changes_stack && (regs[REG_SP].kind == VALUE_LOST || regs[REG_SP].kind == VALUE_NUMBER))
		regs[REG_SP] = (struct computed_value){ .kind = VALUE_ELSEWHERE };
}

bool computed_state_is_kept(const struct computed_state *state,
			    const struct instruction *instruction)
{
	uint32_t lost = instruction->lost;

	if (instruction->begins)
		return false;
	switch ((enum instruction_effect)instruction->effect) {
	case EFFECT_LOSE:
		break;
	case EFFECT_ADD:
	case EFFECT_LOAD:
		if (state->regs[instruction->source].kind != VALUE_LOST)
			return false;
		lost |= 1U << instruction->dest;
		if (instruction->pair)
			lost |= 1U << instruction->second;
		break;
	case EFFECT_ALIGN:
		if (instruction->dest == REG_SP)
			return false;
		lost |= 1U << instruction->dest;
		break;
	case EFFECT_STORE:
		if (computed_is_place(&state->regs[instruction->dest]) ||
		    (instruction->moves && state->regs[instruction->dest].kind != VALUE_LOST))
			return false;
		break;
	default:
		return false;
	}
	for (; lost; lost &= lost - 1)
		if (state->regs[__builtin_ctz(lost)].kind != VALUE_LOST)
			return false;
	return instruction->flow != INSTRUCTION_CALL || !state->n_slots ||
	       state->slots[0].place.kind != state->regs[REG_SP].kind ||
	       state->slots[0].place.offset >= state->regs[REG_SP].offset;
}

/* --- two paths -------------------------------------------------------------------------------- */

void computed_state_join(struct computed_state *state, const struct computed_state *other)
{
	for (unsigned i = 0; i < COMPUTED_REGISTERS; i++)
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

/* Finds the slot that has the value of REG at the entry. Returns false if no slot has it. */
static bool computed_has(const struct computed_state *state, unsigned reg, uint64_t *slot)
{
	for (uint64_t i = 0; i < state->n_slots; i++)
		if (state->slots[i].value.kind == VALUE_ENTRY &&
		    state->slots[i].value.reg == reg) {
			*slot = i;
			return true;
		}
	return false;
}

bool computed_state_mix(const struct computed_state *state, const struct computed_state *other,
			const struct computed_state *entry)
{
	for (unsigned i = 0; i < COMPUTED_REGISTERS; i++) {
		bool here = computed_is_same(&state->regs[i], &entry->regs[i]);
		bool there = computed_is_same(&other->regs[i], &entry->regs[i]);
		uint64_t slot;

		if (entry->regs[i].kind == VALUE_ENTRY && here != there &&
		    !computed_has(here ? state : other, i, &slot) &&
		    computed_has(here ? other : state, i, &slot))
			return true;
	}
	return false;
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
	    saved.kind != VALUE_ENTRY || saved.reg != REG_RBP)
		return false;
	state->regs[REG_SP] = computed_lost;
	return true;
}

bool computed_state_has_no_frame(const struct computed_state *state)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	return sp->kind == VALUE_FRAME && !sp->offset;
}

/* The next slot from I on that has a register's value at the entry; n_slots if there is none. */
static uint64_t computed_next_saved(const struct computed_state *state, uint64_t i)
{
	while (i < state->n_slots && state->slots[i].value.kind != VALUE_ENTRY)
		i++;
	return i;
}

bool computed_state_is_deeper(const struct computed_state *state,
			      const struct computed_state *other)
{
	const struct computed_value *sp = &state->regs[REG_SP], *other_sp = &other->regs[REG_SP];
	uint64_t i = 0, j = 0;

	if (sp->kind != VALUE_FRAME || other_sp->kind != VALUE_FRAME ||
	    sp->offset >= other_sp->offset)
		return false;
	for (;; i++, j++) {
		i = computed_next_saved(state, i);
		j = computed_next_saved(other, j);
		if (i == state->n_slots || j == other->n_slots)
			return i == state->n_slots && j == other->n_slots;
		if (memcmp(&state->slots[i], &other->slots[j], sizeof(state->slots[i])) != 0)
			return false;
	}
}

bool computed_state_begins_chain(const struct computed_state *state)
{
	const struct computed_value *sp = &state->regs[REG_SP], *frame = &state->regs[REG_RBP];

	if (sp->kind != VALUE_FRAME || sp->offset < 0 || frame->kind != VALUE_NUMBER ||
	    frame->offset)
		return false;
	for (uint64_t i = 0; i < state->n_slots; i++)
		if (state->slots[i].value.kind == VALUE_ENTRY &&
		    state->slots[i].value.reg == REG_RBP)
			return false;
	return true;
}

bool computed_state_is_aligned(const struct computed_state *state)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	return sp->kind == VALUE_ALIGNED ||
	       (sp->kind == VALUE_FRAME && (sp->offset & 15) == WORD_BYTES);
}

bool computed_state_is_elsewhere(const struct computed_state *state)
{
	return state->regs[REG_SP].kind == VALUE_ELSEWHERE;
}

bool computed_state_is_above(const struct computed_state *state)
{
	const struct computed_value *sp = &state->regs[REG_SP];

	return sp->kind == VALUE_FRAME && sp->offset > 0;
}

bool computed_state_is_left(const struct computed_state *state,
			    const struct computed_state *entry)
{
	for (unsigned i = 0; i < COMPUTED_REGISTERS; i++)
		if (entry->regs[i].kind != VALUE_LOST &&
		    !computed_is_same(&state->regs[i], &entry->regs[i]))
			return false;
	return true;
}
