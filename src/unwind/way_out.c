/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows code from one address to a return; see way_out.h. A value is described by what registers
 * have at the address: a register plus a number, or the stack word at such a sum.
 *
 * Ways that pass fewer calls are followed first: after a call that never returns lies code of
 * other functions. A return counts only if it can be the function's: each preserved register has
 * the value that it had, or one out of the frame. A jump to another function changes nothing, as
 * that function returns to the same caller.
 */
#include "config.h"

#include "unwind/way_out.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/computed_machine.h"
#include "unwind/signal_return.h"
#include "xtop/base/hash.h"
#include "xtop/base/limit.h"

#define WAY_WORD_BYTES      8
#define WAY_ALIGNMENT       16 /* alignment of the stack pointer at a call: psABI AMD64 §3.2.2 */
#define WAY_LEAST_CALLED    16 /* least bytes from the stack pointer at a call to the CFA */
#define WAY_REGISTERS       REG_PC
#define WAY_MAX_SLOTS       8    /* stack words that a way has written and may read again */
#define WAY_MAX_WAYS        128  /* ways that wait to be followed */
#define WAY_MAX_STEPS       LIMIT(2000, 64) /* most instructions of all ways together */
#define WAY_STUB_STEPS      8 /* most of a stub: endbr64, push or load, jump or call, the head */
/* Slots for addresses that ways passed. Half of them stay free. */
#define WAY_SEEN            LIMIT(4096, 256)
#define WAY_MAX_CALLS       1024 /* calls that a way passes at most */
#define WAY_JUMP_CALLS      64   /* a jump to an unknown address counts as so many calls */
#define WAY_CHUNKS          128 /* chunks that are kept from one search to the next */
#define WAY_CHUNK_BYTES     512 /* code is read in such parts of a page */
#define WAY_MAX_OFFSET      (1 << 24)
#define WAY_EXIT_BYTES      7 /* length of mov and syscall */
#define WAY_EXIT_BEFORE     4 /* instructions before mov, which set the exit status */
#define WAY_PUSH_BYTES      6 /* length of push word(%rip) */
#define WAY_LOAD_BYTES      7 /* length of mov word(%rip),%r11 */
#define WAY_CALL_BYTES      5
#define WAY_RETPOLINE_BYTES 32 /* most from a retpoline's call to what it calls */
#define WAY_REPLACE_BYTES   4 /* length of mov %r8 to %r15,(%rsp) */
#define WAY_CALL            0xe8
#define WAY_RET             0xc3
#define WAY_INT3            0xcc
#define WAY_SHORT_JUMP      0xeb
#define WAY_HLT             0xf4
#define WAY_MAX_INSTRUCTION 15 /* most bytes of one: Intel SDM vol. 2, §2.3.11 */

enum way_kind {
	WAY_LOST,     /* not known */
	WAY_REGISTER, /* the value of `reg` at the address, plus the offset */
	WAY_WORD,     /* the stack word at the value of `reg` plus the offset */
};

struct way_value {
	uint8_t kind, reg;
	int32_t offset;
};

struct way_slot {
	struct way_value place, value;
};

struct way_state {
	struct way_value regs[WAY_REGISTERS];
	struct way_slot slots[WAY_MAX_SLOTS];
	unsigned n_slots;
	int32_t least; /* bytes from the stack pointer at the address to the CFA; a lower bound */
	int32_t odd;   /* distance to the CFA modulo WAY_ALIGNMENT; -1: not known */
	bool jumped;   /* the way went on after a jump to an unknown address */
};

struct way {
	uint64_t address;
	unsigned calls; /* calls that the way has passed */
	struct way_state state;
};

struct way_chunk {
	uint64_t start; /* address of bytes[0]; 0: the chunk is empty */
	size_t n;
	uint8_t bytes[WAY_CHUNK_BYTES];
};

/* The rule of the returns that were found. */
struct way_result {
	bool found, contradicts, jumped;
	struct cfi_rule rule;
};

struct way_out {
	const struct code_source *source;
	struct way ways[WAY_MAX_WAYS];
	unsigned n_ways;
	uint64_t seen[WAY_SEEN];
	uint16_t seen_slots[WAY_SEEN / 2]; /* places in `seen` that are not 0 */
	unsigned n_seen, left_steps;
	struct way_chunk chunks[WAY_CHUNKS];
	bool missing, after_jumps, stubs_only;
	struct way_result results[2]; /* [1]: all preserved registers are restored; [0]: not all */
};

struct way_out *way_out_create(const struct code_source *source)
{
	struct way_out *way_out = calloc(1, sizeof(*way_out));

	if (way_out)
		way_out->source = source;
	return way_out;
}

void way_out_destroy(struct way_out *way_out)
{
	free(way_out);
}

size_t way_out_memory_bytes(void)
{
	return sizeof(struct way_out);
}

/* --- code ------------------------------------------------------------------------------------- */

static struct way_chunk *way_chunk_of(struct way_out *way_out, uint64_t address)
{
	return &way_out->chunks[address / WAY_CHUNK_BYTES % WAY_CHUNKS];
}

static const struct way_chunk *way_find_chunk(struct way_out *way_out, uint64_t address)
{
	uint64_t start = address & ~(uint64_t)(WAY_CHUNK_BYTES - 1);
	struct way_chunk *chunk = way_chunk_of(way_out, start);

	if (chunk->start == start && chunk->n)
		return chunk;
	chunk->start = start;
	chunk->n = way_out->source->read(way_out->source->context, start, chunk->bytes,
					 sizeof(chunk->bytes));
	way_out->missing |= !chunk->n;
	return chunk->n ? chunk : NULL;
}

/* Reads the bytes of one instruction, or fewer if code is missing. Returns their number. */
static size_t way_read(struct way_out *way_out, uint64_t address,
		       uint8_t bytes[WAY_MAX_INSTRUCTION])
{
	size_t n = 0;

	while (n < WAY_MAX_INSTRUCTION) {
		const struct way_chunk *chunk = way_find_chunk(way_out, address + n);
		size_t at = (size_t)(address + n) % WAY_CHUNK_BYTES, piece;

		if (!chunk || at >= chunk->n)
			break;
		piece = chunk->n - at < WAY_MAX_INSTRUCTION - n ? chunk->n - at
								: WAY_MAX_INSTRUCTION - n;
		memcpy(bytes + n, chunk->bytes + at, piece);
		n += piece;
	}
	return n;
}

static bool way_decode(struct way_out *way_out, uint64_t address, struct instruction *instruction)
{
	uint8_t bytes[WAY_MAX_INSTRUCTION];
	size_t n = way_read(way_out, address, bytes);

	return n && instruction_x86_decode(bytes, n, address, instruction);
}

/*
 * Reads the last bytes before ADDRESS, at most N, out of one chunk. Returns their number. No way
 * leads there, so none is missing.
 */
static size_t way_read_before(struct way_out *way_out, uint64_t address, uint8_t *bytes, size_t n)
{
	bool missing = way_out->missing;
	const struct way_chunk *chunk = way_find_chunk(way_out, address - 1);
	size_t end = (size_t)(address - 1) % WAY_CHUNK_BYTES + 1;

	way_out->missing = missing;
	n = end < n ? end : n;
	if (!chunk || end > chunk->n)
		return 0;
	memcpy(bytes, chunk->bytes + end - n, n);
	return n;
}

/* Whether ADDRESS is in the code that a signal's handler returns to. */
static bool way_is_signal_return(struct way_out *way_out, uint64_t address)
{
	uint8_t code[WAY_MAX_INSTRUCTION], before[SIGNAL_RETURN_BYTES];
	size_t n = way_read(way_out, address, code);

	if (signal_return_begins(code, n))
		return true;
	return n > 1 && code[0] == 0x0f && code[1] == 0x05 && /* syscall */
	       signal_return_ends(code, n, before,
				  way_read_before(way_out, address, before, sizeof(before)));
}

/* --- state ------------------------------------------------------------------------------------ */

static const struct way_value way_lost = { .kind = WAY_LOST };

static struct way_value way_add(struct way_value value, int64_t by)
{
	int64_t offset = value.offset + by;

	if (!by)
		return value;
	if (value.kind != WAY_REGISTER || offset > WAY_MAX_OFFSET || offset < -WAY_MAX_OFFSET)
		return way_lost;
	value.offset = (int32_t)offset;
	return value;
}

static bool way_is_same(const struct way_value *a, const struct way_value *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->offset == b->offset;
}

static bool way_is_place(const struct way_value *value)
{
	return value->kind == WAY_REGISTER && (value->reg == REG_SP || value->reg == REG_RBP);
}

static struct way_value way_load(const struct way_state *state, struct way_value place)
{
	if (!way_is_place(&place))
		return way_lost;
	for (unsigned i = 0; i < state->n_slots; i++)
		if (way_is_same(&state->slots[i].place, &place))
			return state->slots[i].value;
	place.kind = WAY_WORD;
	return place;
}

/* Drops the oldest slot for a new one. A word without a slot counts as lost when it is read. */
static void way_store(struct way_state *state, struct way_value place, struct way_value value)
{
	if (!way_is_place(&place))
		return;
	for (unsigned i = 0; i < state->n_slots; i++)
		if (way_is_same(&state->slots[i].place, &place)) {
			state->slots[i].value = value;
			return;
		}
	if (state->n_slots == WAY_MAX_SLOTS) {
		memmove(state->slots, state->slots + 1,
			sizeof(state->slots) - sizeof(state->slots[0]));
		state->n_slots--;
	}
	state->slots[state->n_slots++] = (struct way_slot){ place, value };
}

static void way_apply(struct way_state *state, const struct instruction *instruction)
{
	struct way_value *regs = state->regs, *sp = &regs[REG_SP], value = way_lost;

	switch ((enum instruction_effect)instruction->effect) {
	case EFFECT_PUSH:
		if (instruction->source != REG_NONE && instruction->size == WAY_WORD_BYTES)
			value = regs[instruction->source];
		*sp = way_add(*sp, -(int)instruction->size);
		way_store(state, *sp, value);
		break;
	case EFFECT_POP:
		if (instruction->size == WAY_WORD_BYTES)
			value = way_load(state, *sp);
		*sp = way_add(*sp, instruction->size);
		if (instruction->dest != REG_NONE)
			regs[instruction->dest] = value;
		break;
	case EFFECT_ADD:
		regs[instruction->dest] = way_add(regs[instruction->source], instruction->value);
		break;
	case EFFECT_LOAD:
		regs[instruction->dest] =
			way_load(state, way_add(regs[instruction->source], instruction->value));
		break;
	case EFFECT_STORE:
		if (instruction->source != REG_NONE)
			value = regs[instruction->source];
		way_store(state, way_add(regs[instruction->dest], instruction->value), value);
		break;
	case EFFECT_NUMBER:
	case EFFECT_MOVE:
	case EFFECT_ALIGN:
		regs[instruction->dest] = way_lost;
		break;
	case EFFECT_LEAVE:
		*sp = way_add(regs[REG_RBP], WAY_WORD_BYTES);
		regs[REG_RBP] = way_load(state, regs[REG_RBP]);
		break;
	case EFFECT_LOSE:
		break;
	}
	for (uint32_t lost = instruction->lost & ((1U << WAY_REGISTERS) - 1); lost;
	     lost &= lost - 1)
		regs[__builtin_ctz(lost)] = way_lost;
}

/* Notes that the function calls: it has moved and aligned the stack pointer by then. */
static void way_note_call(struct way_state *state)
{
	const struct way_value *sp = &state->regs[REG_SP];
	int32_t least = sp->offset + WAY_LEAST_CALLED;

	if (sp->kind != WAY_REGISTER || sp->reg != REG_SP)
		return;
	state->least = least > state->least ? least : state->least;
	state->odd = sp->offset & (WAY_ALIGNMENT - 1);
}

/* --- returns ---------------------------------------------------------------------------------- */

/*
 * Notes where the caller's register of SLOT is: at its return, a way leaves *VALUE in the register.
 * Returns false if *VALUE is neither what the register had nor a word of the frame below the CFA.
 */
static bool way_add_register(const struct way_value *value, const struct way_value *cfa,
			     unsigned slot, int words[N_CFI_PRESERVED], uint32_t *unchanged)
{
	unsigned reg = cfi_preserved_registers[slot];
	int32_t offset = value->offset - cfa->offset;

	if (value->kind == WAY_REGISTER && value->reg == reg && !value->offset)
		return true;
	*unchanged &= ~(1U << reg);
	if (value->kind != WAY_WORD)
		return false;
	if (value->reg != cfa->reg)
		return true;
	if (offset % 8 == 0 && offset < -8 && offset / 8 >= -CFI_RULE_WORDS)
		words[slot] = offset / 8;
	return offset % 8 == 0 && offset < -8;
}

/* Puts the words of saved registers, which are numbers of words from the CFA, into RULE. */
static void way_add_words(const int words[N_CFI_PRESERVED], struct cfi_rule *rule)
{
	int low = -1;

	for (unsigned i = 0; i < N_CFI_PRESERVED; i++)
		low = words[i] < low ? words[i] : low;
	rule->low = (int16_t)low;
	rule->n_words = (uint8_t)-low;
	memset(rule->slot, CFI_RULE_WORDS, sizeof(rule->slot));
	for (unsigned i = 0; i < N_CFI_PRESERVED; i++)
		if (words[i]) {
			rule->slot[i] = (uint8_t)(words[i] - low);
			rule->saved |= 1U << cfi_preserved_registers[i];
			rule->unchanged |= 1U << cfi_preserved_registers[i];
		}
}

/*
 * Makes the rule of a way that returns with STATE. *WELL: all preserved registers are the caller's.
 * Returns false if no function can return so.
 */
static bool way_make_rule(const struct way_state *state, struct cfi_rule *rule, bool *well)
{
	struct way_value cfa = way_add(state->regs[REG_SP], WAY_WORD_BYTES);
	int words[N_CFI_PRESERVED] = { [PRESERVED_RETURN] = -1 };

	if (!way_is_place(&cfa) ||
	    (cfa.reg == REG_SP &&
	     (cfa.offset < state->least ||
	      (state->odd >= 0 && (cfa.offset & (WAY_ALIGNMENT - 1)) != state->odd))))
		return false;
	*rule = (struct cfi_rule){ .kind = RULE_CFA,
				   .reg = cfa.reg,
				   .offset = cfa.offset,
				   .unchanged = CFI_PRESERVED_MASK };
	*well = true;
	for (unsigned i = PRESERVED_RETURN + 1; i < N_CFI_PRESERVED; i++)
		*well &= way_add_register(&state->regs[cfi_preserved_registers[i]], &cfa, i, words,
					  &rule->unchanged);
	way_add_words(words, rule);
	return true;
}

/*
 * Notes that a way returns with STATE. A way without all preserved registers counts only if there
 * is no other: programs like PHP keep variables in such registers.
 */
static void way_return(struct way_out *way_out, const struct way_state *state, bool is_stub)
{
	struct way_result *result;
	struct cfi_rule rule;
	bool well;

	if ((way_out->stubs_only && !is_stub) || !way_make_rule(state, &rule, &well))
		return;
	result = &way_out->results[well];
	result->contradicts |= result->found &&
			       (rule.reg != result->rule.reg || rule.offset != result->rule.offset);
	if (!result->found)
		result->rule = rule;
	result->jumped = state->jumped && (!result->found || result->jumped);
	result->found = true;
}

/* --- ways ------------------------------------------------------------------------------------- */

/* Adds ADDRESS to those that ways have passed. False: it is there already, or there is no room. */
static bool way_is_new(struct way_out *way_out, uint64_t address)
{
	size_t i = hash_slot(address, WAY_SEEN);

	while (way_out->seen[i] && way_out->seen[i] != address)
		i = (i + 1) % WAY_SEEN;
	if (way_out->seen[i] || way_out->n_seen == WAY_SEEN / 2)
		return false;
	way_out->seen[i] = address;
	way_out->seen_slots[way_out->n_seen++] = (uint16_t)i;
	return true;
}

static void way_push(struct way_out *way_out, uint64_t address, unsigned calls,
		     const struct way_state *state)
{
	struct way *way = &way_out->ways[way_out->n_ways];

	if (!address || way_out->n_ways == WAY_MAX_WAYS || calls > WAY_MAX_CALLS)
		return;
	*way = (struct way){ address, calls, *state };
	way_out->n_ways++;
}

/* Whether a function ends at ADDRESS, right after a call. Then the call never returns. */
static bool way_ends_at(struct way_out *way_out, uint64_t address)
{
	struct instruction instruction;

	return way_decode(way_out, address, &instruction) &&
	       (instruction.filler || (instruction.marks_target && address % WAY_ALIGNMENT == 0));
}

/* Whether the frame is gone in STATE: a jump then leads to another function, and is no switch's. */
static bool way_has_popped(const struct way_state *state)
{
	const struct way_value *sp = &state->regs[REG_SP];

	return sp->reg != REG_SP || sp->offset > 0;
}

/*
 * Whether the jump at ADDRESS, through a word of memory, ends the head of a PLT: push word(%rip);
 * jmp *word(%rip). A stub has pushed another word before it has jumped to the head.
 */
static bool way_is_plt_head(struct way_out *way_out, uint64_t address)
{
	uint8_t before[WAY_PUSH_BYTES];

	return way_read_before(way_out, address, before, sizeof(before)) == sizeof(before) &&
	       before[0] == 0xff && before[1] == 0x35;
}

/* Whether BYTES are mov %r8 to %r15,(%rsp), as the end of a retpoline has it. */
static bool way_replaces_return(const uint8_t *bytes)
{
	return bytes[0] == 0x4c && bytes[1] == 0x89 && (bytes[2] & 0xc7) == 0x04 &&
	       bytes[3] == 0x24;
}

/* Whether the call at ADDRESS jumps to a word that the instruction before it has loaded. */
static bool way_has_loaded(struct way_out *way_out, uint64_t address)
{
	static const uint8_t load[] = { 0x4c, 0x8b, 0x1d };
	uint8_t before[WAY_LOAD_BYTES];

	return way_read_before(way_out, address, before, sizeof(before)) == sizeof(before) &&
	       memcmp(before, load, sizeof(load)) == 0;
}

/*
 * Whether the call at ADDRESS is a jump, of a stub or the head in LLD's -z retpolineplt:
 *
 *	mov word(%rip),%r11; call 1f
 *	1: mov %r11,(%rsp); ret
 *
 * With -z now stubs load the word and jump to the head, which begins with the call.
 */
static bool way_is_retpoline(struct way_out *way_out, uint64_t address)
{
	uint8_t bytes[WAY_MAX_INSTRUCTION];
	struct instruction call;

	return way_decode(way_out, address, &call) && call.flow == INSTRUCTION_CALL &&
	       call.length == WAY_CALL_BYTES &&
	       (call.target - address <= WAY_RETPOLINE_BYTES || way_has_loaded(way_out, address)) &&
	       way_read(way_out, call.target, bytes) > WAY_REPLACE_BYTES &&
	       way_replaces_return(bytes) && bytes[WAY_REPLACE_BYTES] == WAY_RET;
}

/* Whether the call of a retpoline returns to ADDRESS. */
static bool way_is_after_retpoline(struct way_out *way_out, uint64_t address)
{
	uint8_t before[WAY_CALL_BYTES];

	return way_read_before(way_out, address, before, sizeof(before)) == sizeof(before) &&
	       before[0] == WAY_CALL && way_is_retpoline(way_out, address - WAY_CALL_BYTES);
}

/* Whether a ret at ADDRESS ends a retpoline, and so jumps. A filler or a loop precedes the end. */
static bool way_is_retpoline_end(struct way_out *way_out, uint64_t address)
{
	uint8_t before[2 + WAY_REPLACE_BYTES], bytes[WAY_MAX_INSTRUCTION];

	return way_read(way_out, address, bytes) && bytes[0] == WAY_RET &&
	       way_read_before(way_out, address, before, sizeof(before)) == sizeof(before) &&
	       way_replaces_return(before + 2) &&
	       (before[0] == WAY_SHORT_JUMP || before[1] == WAY_INT3);
}

/*
 * Whether the jump at ADDRESS is a function: it begins where functions do, after one that has
 * ended, and a filler follows it at NEXT. qsort() of musl calls the comparison by such a function.
 */
static bool way_stands_alone(struct way_out *way_out, uint64_t address, uint64_t next)
{
	uint8_t before[COMPUTED_CALL_BEFORE_BYTES];

	return address % WAY_ALIGNMENT == 0 && way_ends_at(way_out, next) &&
	       way_read_before(way_out, address, before, sizeof(before)) == sizeof(before) &&
	       computed_machine_x86.ends_function(before);
}

/* WAY goes on at NEXT, after a jump to an unknown address. */
static void way_jump(struct way_out *way_out, struct way *way, uint64_t next)
{
	way->state.jumped = true;
	way_push(way_out, next, way->calls + WAY_JUMP_CALLS, &way->state);
}

/* WAY ends at a jump through a register or a word, before NEXT, or goes on after it. */
static void way_leave(struct way_out *way_out, struct way *way, bool is_word, uint64_t next)
{
	struct way_value *sp = &way->state.regs[REG_SP];

	bool is_head = is_word && way_is_plt_head(way_out, way->address);

	if (is_head)
		*sp = way_add(*sp, 2 * WAY_WORD_BYTES);
	if (is_word || way_has_popped(&way->state) ||
	    (!sp->offset && way_stands_alone(way_out, way->address, next)))
		way_return(way_out, &way->state, is_head);
	else if (way_out->after_jumps && !way_ends_at(way_out, next))
		way_jump(way_out, way, next);
}

/* WAY is at a call that is a jump. Without a load, the call has to begin where functions do. */
static void way_leave_retpoline(struct way_out *way_out, struct way *way)
{
	struct way_value *sp = &way->state.regs[REG_SP];
	bool has_loaded = way_has_loaded(way_out, way->address);

	if (has_loaded && way_is_plt_head(way_out, way->address - WAY_LOAD_BYTES))
		*sp = way_add(*sp, 2 * WAY_WORD_BYTES);
	if (has_loaded || way_has_popped(&way->state) ||
	    (!sp->offset && way->address % WAY_ALIGNMENT == 0))
		way_return(way_out, &way->state, true);
}

/* Whether a stub, or the head, can have INSTRUCTION: they push, load %r11 and jump. */
static bool way_is_of_stub(const struct instruction *instruction)
{
	return instruction->effect == EFFECT_PUSH || instruction->filler ||
	       instruction->marks_target || instruction->flow == INSTRUCTION_JUMP ||
	       instruction->flow == INSTRUCTION_INDIRECT || instruction->flow == INSTRUCTION_CALL ||
	       (instruction->effect == EFFECT_LOSE && instruction->lost == 1U << REG_R11);
}

/* Follows WAY up to a return, a call, or where it is not known how control goes on. */
static void way_follow(struct way_out *way_out, struct way *way)
{
	struct instruction instruction;

	while (way_out->left_steps && way_is_new(way_out, way->address) &&
	       way_decode(way_out, way->address, &instruction) &&
	       (!way_out->stubs_only || way_is_of_stub(&instruction))) {
		uint64_t next = way->address + instruction.length;

		way_out->left_steps--;
		switch ((enum instruction_flow)instruction.flow) {
		case INSTRUCTION_NEXT:
			break;
		case INSTRUCTION_CALL:
			if (way_is_retpoline(way_out, way->address)) {
				way_leave_retpoline(way_out, way);
				return;
			}
			if (way_out->stubs_only)
				return;
			way_note_call(&way->state);
			way_apply(&way->state, &instruction);
			if (!way_ends_at(way_out, next))
				way_push(way_out, next, way->calls + 1, &way->state);
			return;
		case INSTRUCTION_BRANCH:
			way_push(way_out, instruction.target, way->calls, &way->state);
			break;
		case INSTRUCTION_JUMP:
			way->address = instruction.target;
			continue;
		case INSTRUCTION_RETURN:
			way_return(way_out, &way->state, false);
			return;
		case INSTRUCTION_INDIRECT:
			way_leave(way_out, way, instruction.target, next);
			return;
		case INSTRUCTION_TRAP:
		case INSTRUCTION_END:
			return;
		}
		way_apply(&way->state, &instruction);
		way->address = next;
	}
}

/* Takes a way that has passed the fewest calls. */
static bool way_take(struct way_out *way_out, struct way *way)
{
	unsigned best = 0;

	if (!way_out->n_ways)
		return false;
	for (unsigned i = 1; i < way_out->n_ways; i++)
		if (way_out->ways[i].calls < way_out->ways[best].calls)
			best = i;
	*way = way_out->ways[best];
	way_out->ways[best] = way_out->ways[--way_out->n_ways];
	return true;
}

/*
 * Begins to search from ADDRESS. The code there is read anew, although it may be known, so that a
 * source that lets little be read in a turn bounds the number of searches.
 */
static void way_begin(struct way_out *way_out, uint64_t address)
{
	way_chunk_of(way_out, address)->n = 0;
	while (way_out->n_seen)
		way_out->seen[way_out->seen_slots[--way_out->n_seen]] = 0;
	way_out->n_ways = 0;
	way_out->left_steps = way_out->stubs_only ? WAY_STUB_STEPS : WAY_MAX_STEPS;
	way_out->missing = false;
	memset(way_out->results, 0, sizeof(way_out->results));
}

/*
 * Whether the code at ADDRESS, CODE, which no call precedes, leaves its stack: makecontext() puts
 * the address of such code (mov %rbx,%rsp) where the context's function returns to.
 */
static bool way_leaves_stack(struct way_out *way_out, uint64_t address, const uint8_t *code)
{
	uint8_t before[INSTRUCTION_MAX_CALL_BYTES];

	return code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xdc &&
	       way_read_before(way_out, address, before, sizeof(before)) == sizeof(before) &&
	       !computed_machine_x86.ends_call(before);
}

/* hlt stands in _start, and exit after clone(): Linux arch/x86/entry/syscalls/syscall_64.tbl. */
bool way_out_ends_thread(struct way_out *way_out, uint64_t address)
{
	static const uint8_t exits[][WAY_EXIT_BYTES] = {
		{ 0xb8, 60, 0, 0, 0, 0x0f, 0x05 }, /* mov $60,%eax; syscall */
		{ 0xb8, 231, 0, 0, 0, 0x0f, 0x05 },
	};
	uint8_t bytes[WAY_MAX_INSTRUCTION] = { 0 };

	for (unsigned i = 0; i < WAY_EXIT_BEFORE; i++) {
		size_t n = way_read(way_out, address, bytes);
		struct instruction instruction;

		if (n >= WAY_EXIT_BYTES && (memcmp(bytes, exits[0], WAY_EXIT_BYTES) == 0 ||
					    memcmp(bytes, exits[1], WAY_EXIT_BYTES) == 0))
			return true;
		if (!i && way_leaves_stack(way_out, address, bytes))
			return true;
		if (!i && n && bytes[0] == WAY_HLT)
			return way_ends_at(way_out, address + 1);
		if (!n || !instruction_x86_decode(bytes, n, address, &instruction) ||
		    instruction.flow != INSTRUCTION_NEXT)
			return false;
		address += instruction.length;
	}
	return false;
}

bool way_out_find(struct way_out *way_out, uint64_t address, bool called, bool after_jumps,
		  struct cfi_rule *rule, bool *missing)
{
	struct way_state start = { .least = WAY_WORD_BYTES, .odd = -1 };
	const struct way_result *result;
	struct way way;
	unsigned calls = WAY_MAX_CALLS;
	bool found;

	for (unsigned i = 0; i < WAY_REGISTERS; i++)
		if (!called || !(instruction_call_lost >> i & 1))
			start.regs[i] = (struct way_value){ WAY_REGISTER, (uint8_t)i, 0 };
	way_begin(way_out, address);
	way_out->after_jumps = after_jumps;
	if (called && way_is_after_retpoline(way_out, address))
		address -= WAY_CALL_BYTES; /* no way leaves the loop that the call returns to */
	else if (called)
		way_note_call(&start);
	if (way_is_signal_return(way_out, address)) {
		*rule = (struct cfi_rule){ .kind = RULE_SIGNAL_RETURN };
		*missing = false;
		return true;
	}
	if (!called && way_is_retpoline_end(way_out, address)) {
		start.regs[REG_SP] = way_add(start.regs[REG_SP], WAY_WORD_BYTES);
		way_return(way_out, &start, true);
	} else {
		way_push(way_out, address, 0, &start);
	}
	while (way_take(way_out, &way) && way.calls <= calls) {
		way_follow(way_out, &way);
		if (way_out->results[true].found)
			calls = way.calls;
	}
	result = &way_out->results[way_out->results[true].found];
	found = result->found && !result->contradicts;
	*missing = way_out->missing && (!found || result->jumped);
	*rule = result->rule;
	return found;
}

bool way_out_find_stub(struct way_out *way_out, uint64_t address, bool called,
		       struct cfi_rule *rule)
{
	bool found, missing;

	way_out->stubs_only = true;
	found = way_out_find(way_out, address, called, false, rule, &missing);
	way_out->stubs_only = false;
	return found;
}
