/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step on x86 by the compiled table. A function preserves rbx, rbp and r12..r15 (psABI §3.2.1);
 * the caller's values of the other registers are lost. The CFA is the caller's stack pointer
 * (§3.7).
 */
#include "config.h"

#include "unwind/cfi_table.h"

#include <string.h>

#include "unwind/signal_return.h"
#include "xtop/base/sorted.h"

/* Computes *CFAP. Returns STEP_CALLER on success; leaves CURSOR as it is. */
static enum unwind_step cfi_find_cfa(const struct cfi_rule *rule, struct cursor *cursor,
				     uint64_t *cfap)
{
	uint64_t value = cursor->regs[rule->reg];

	if (!(cursor->known >> rule->reg & 1))
		return STEP_NOT_COVERED; /* the instructions may tell the frame's size */
	switch (rule->kind) {
	case RULE_CFA_PLT:
		value += cfi_plt_bytes(cursor_pc(cursor), rule->offset);
		break;
	case RULE_CFA_DEREF:
		if (!cursor_read(cursor, value + rule->offset, &value, 1))
			return STEP_CUT;
		break;
	default:
		value += rule->offset;
	}
	*cfap = value;
	return STEP_CALLER;
}

static uint64_t cfi_word(const char *words, unsigned i)
{
	uint64_t word;

	memcpy(&word, words + sizeof(word) * i, sizeof(word));
	return word;
}

/*
 * Reads a rule's words from START on if the only missing words are those below the stack pointer.
 * An epilogue has already popped these words: the registers have the caller's values again, but the
 * tables of compilers still say where the registers were saved. ROOM gets the words; the missing
 * words are taken from the registers.
 */
static const char *cfi_words_in_epilogue(const struct cfi_rule *rule, struct cursor *cursor,
					 uint64_t start, uint64_t room[CFI_RULE_WORDS])
{
	uint64_t sp = cursor->regs[REG_SP], n_popped = (sp - start) / sizeof(*room);
	const void *words;

	if (!cursor->interrupted || start % sizeof(*room) || sp % sizeof(*room) ||
	    n_popped > rule->slot[PRESERVED_RETURN])
		return NULL;
	words = cursor_bytes(cursor, sp, sizeof(*room) * (rule->n_words - n_popped));
	if (!words)
		return NULL;
	memcpy(room + n_popped, words, sizeof(*room) * (rule->n_words - n_popped));
	for (unsigned i = 0; i < N_CFI_PRESERVED; i++)
		if (rule->slot[i] < n_popped)
			room[rule->slot[i]] = cursor->regs[cfi_preserved_registers[i]];
	return (const char *)room;
}

static enum unwind_step cfi_apply(const struct cfi_rule *rule, struct cursor *cursor)
{
	uint64_t room[CFI_RULE_WORDS], start, cfa;
	enum unwind_step step;
	const char *words;

	step = cfi_find_cfa(rule, cursor, &cfa);
	if (step != STEP_CALLER)
		return step;
	start = cfa + 8 * (int64_t)rule->low;
	words = cursor_bytes(cursor, start, 8 * (size_t)rule->n_words);
	if (!words)
		words = cfi_words_in_epilogue(rule, cursor, start, room);
	if (!words)
		return STEP_CUT;
	if (!cfi_word(words, rule->slot[PRESERVED_RETURN])) /* start-up code pushed a zero */
		return STEP_OUTERMOST;
	for (unsigned i = 0; i < N_CFI_PRESERVED; i++) {
		uint64_t *reg = &cursor->regs[cfi_preserved_registers[i]];
		uint64_t word = cfi_word(words, rule->slot[i] % CFI_RULE_WORDS);
		uint64_t saved =
			(uint64_t)(rule->slot[i] / CFI_RULE_WORDS) - 1; /* all ones, or 0 */

		*reg ^= (*reg ^ word) & saved; /* no branch, because it would be unpredictable */
	}
	cursor->regs[REG_SP] = cfa;
	cursor->known = (cursor->known & rule->unchanged) | rule->saved;
	cursor->interrupted = rule->signal;
	return STEP_CALLER;
}

/*
 * Leaves a function that jumps to where setjmp() has returned, once the stack pointer is the new
 * one: the register of slot 0 has the new place, that of slot 1 the new rbp. Before this the
 * function's callers are on the stack, and its instructions tell them.
 */
static enum unwind_step cfi_leave_jump(const struct cfi_rule *rule, struct cursor *cursor)
{
	uint32_t needed = 1U << rule->reg | 1U << rule->slot[0] | 1U << rule->slot[1];
	uint64_t rbp = cursor->regs[rule->slot[1]];

	if (!cursor->interrupted || ~cursor->known & needed ||
	    cursor->regs[REG_SP] != cursor->regs[rule->reg])
		return STEP_NOT_COVERED;
	cursor->regs[REG_RIP] = cursor->regs[rule->slot[PRESERVED_RETURN]];
	cursor->regs[REG_RBP] = rbp;
	cursor->known = 1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBP;
	cursor->interrupted = false;
	return STEP_CALLER;
}

/* cfi_apply() in 32-bit code. Does not handle an epilogue that has popped registers. */
static enum unwind_step cfi_apply_short(const struct cfi_rule *rule, struct cursor *cursor)
{
	const struct cfi_machine *machine = &cfi_machine_32;
	uint64_t cfa = (uint32_t)(cursor->regs[rule->reg] + rule->offset), words[CFI_RULE_WORDS];

	if (!(cursor->known >> rule->reg & 1) || cursor->word_bytes != machine->word_bytes)
		return STEP_BAD;
	if (rule->kind == RULE_CFA_DEREF_SHORT && !cursor_read_short(cursor, cfa, &cfa, 1))
		return STEP_CUT;
	if (!cursor_read_short(cursor, cfa + machine->word_bytes * (int64_t)rule->low, words,
			       rule->n_words))
		return STEP_CUT;
	if (!words[rule->slot[PRESERVED_RETURN]])
		return STEP_OUTERMOST;
	for (unsigned i = 0; i < machine->n_preserved; i++)
		if (rule->slot[i] < rule->n_words)
			cursor->regs[machine->preserved_registers[i]] = words[rule->slot[i]];
	cursor->regs[REG_SP] = cfa;
	cursor->known = (cursor->known & rule->unchanged) | rule->saved;
	cursor->interrupted = rule->signal;
	return STEP_CALLER;
}

/* The number of the rule at OFFSET < span. */
static uint32_t cfi_find_rule(struct cfi *cfi, uint32_t offset)
{
	struct cfi_hit *hit = &cfi->cache[offset * 0x9e3779b1U >> (32 - CFI_CACHE_BITS)];

	if (hit->offset != offset) {
		hit->offset = offset;
		hit->rule = cfi->row_rules[cfi_row(cfi, offset)];
	}
	return hit->rule;
}

const struct cfi_rule *cfi_find(struct cfi *cfi, uint64_t address)
{
	uint64_t offset = address - cfi->base;

	return offset < cfi->span ? &cfi->rules[cfi_find_rule(cfi, (uint32_t)offset)] : NULL;
}

enum unwind_step cfi_rule_step(const struct cfi_rule *rule, struct cursor *cursor)
{
	enum unwind_step step;

	switch (rule->kind) {
	case RULE_CFA:
	case RULE_CFA_DEREF:
	case RULE_CFA_PLT:
		return cfi_apply(rule, cursor);
	case RULE_CFA_EH_RETURN:
		step = cfi_apply(rule, cursor);
		return step == STEP_CALLER ? STEP_EH_RETURN : step;
	case RULE_CFA_SHORT:
	case RULE_CFA_DEREF_SHORT:
		return cfi_apply_short(rule, cursor);
	case RULE_JUMP:
		return cfi_leave_jump(rule, cursor);
	case RULE_SIGNAL_RETURN:
		return signal_return_step(cursor);
	case RULE_OUTERMOST:
		return STEP_OUTERMOST;
	default:
		return STEP_NOT_COVERED;
	}
}

enum unwind_step cfi_step(struct cfi *cfi, uint64_t bias, struct cursor *cursor)
{
	const struct cfi_rule *rule = cfi_find(cfi, cursor_pc(cursor) - bias);

	return rule ? cfi_rule_step(rule, cursor) : STEP_NOT_COVERED;
}

bool cfi_find_function(const struct cfi *cfi, uint64_t address, uint64_t *start, uint64_t *end)
{
	uint64_t offset = address - cfi->base;
	size_t n = sorted_count(cfi->functions, cfi->n_functions, start, offset);

	if (!n || offset >= cfi->functions[n - 1].end)
		return false;
	*start = cfi->base + cfi->functions[n - 1].start;
	*end = cfi->base + cfi->functions[n - 1].end;
	return true;
}

bool cfi_asks(const struct cfi *cfi, uint64_t start, uint64_t end)
{
	uint64_t first = start - cfi->base, last = end - cfi->base;

	if (start < cfi->base || start >= end || first >= cfi->span)
		return false;
	for (uint32_t row = cfi_row(cfi, first); row < cfi->n_rows && cfi->addresses[row] < last;
	     row++)
		if (cfi->rules[cfi->row_rules[row]].kind == RULE_ASK)
			return true;
	return false;
}
