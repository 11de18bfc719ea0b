/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiling call-frame information: runs the FDEs of an image in the order of their code and writes
 * their rows down. Many rows are the same (a vmlinux has some 300,000 rows and 2,000 rules), so a
 * row is an address and the number of a rule.
 *
 * When two FDEs cover an address, the FDE that begins nearer to the address wins. A row that fits
 * no rule, because of an expression or a register saved in another register, is left to libunwind
 * if the row is safe for libunwind. Resolver's thread.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/cfi_program.h"
#include "unwind/cfi_table.h"
#include "xtop/cleanup.h"
#include "xtop/hash.h"
#include "xtop/vector.h"
#include "xtop/work.h"

/* --- a row's rule ----------------------------------------------------------------------------- */

/* breg OFFSET deref. This is tried for each row: a number of 64 bits has 10 bytes at most. */
#define CFI_MAX_DEREF_BYTES 12

static bool cfi_match_deref(const uint8_t *expression, int64_t size_bytes, struct cfi_rule *rule)
{
	struct cfi_reader reader = { expression, expression + size_bytes, false };
	uint64_t number;
	int64_t offset;

	if (size_bytes > CFI_MAX_DEREF_BYTES)
		return false;
	number = cfi_read(&reader, 1) - 0x70;
	offset = cfi_read_sleb(&reader);
	if (cfi_read(&reader, 1) != 0x06 || reader.bad || reader.at != reader.end ||
	    number >= CFI_DWARF_RETURN || offset != (int32_t)offset)
		return false;
	rule->kind = RULE_CFA_DEREF;
	rule->reg = cfi_unwind_registers[number];
	rule->offset = offset;
	return true;
}

static bool cfi_rule_of_cfa(const struct cfi_state *state, struct cfi_rule *rule)
{
	switch (state->cfa) {
	case CFA_REGISTER:
		rule->kind = RULE_CFA;
		rule->reg = cfi_unwind_registers[state->cfa_register];
		rule->offset = state->cfa_offset;
		return rule->offset == state->cfa_offset;
	case CFA_EXPRESSION:
		if (cfi_match_plt(state->cfa_expression, state->cfa_offset, &rule->offset)) {
			rule->kind = RULE_CFA_PLT;
			rule->reg = REG_SP;
			return true;
		}
		return cfi_match_deref(state->cfa_expression, state->cfa_offset, rule);
	case CFA_UNSAID:
		break;
	}
	return false;
}

/* All saved registers must be words within one stretch of CFI_RULE_WORDS. */
static bool cfi_rule_of_words(const struct cfi_state *state, struct cfi_rule *rule)
{
	int64_t low = INT64_MAX, high = INT64_MIN;

	for (unsigned i = 0; i < N_CFI_KEPT; i++) {
		const struct cfi_place *place = &state->registers[cfi_kept_numbers[i]];

		if (place->where != WHERE_OFFSET)
			continue;
		if (place->value % 8 || place->value / 8 != (int8_t)(place->value / 8))
			return false;
		low = place->value / 8 < low ? place->value / 8 : low;
		high = place->value / 8 > high ? place->value / 8 : high;
	}
	rule->low = low;
	rule->n_words = high - low + 1;
	return high - low < CFI_RULE_WORDS;
}

/* Whether no rule of another register matters; the stack pointer is the CFA by default. */
static bool cfi_others_are_plain(const struct cfi_state *state, bool signal)
{
	const struct cfi_place *sp = &state->registers[CFI_DWARF_SP];

	if (sp->where != WHERE_UNSAID && !(sp->where == WHERE_VAL_OFFSET && !sp->value))
		return false;
	for (unsigned i = 0; signal && i < CFI_DWARF_RETURN; i++)
		if (state->registers[i].where != WHERE_UNSAID)
			return false;
	return true;
}

/* False: no rule can say it. */
static bool cfi_rule_of_state(const struct cfi_state *state, bool signal, struct cfi_rule *rule)
{
	if (state->registers[CFI_DWARF_RETURN].where != WHERE_OFFSET ||
	    !cfi_others_are_plain(state, signal) || !cfi_rule_of_cfa(state, rule) ||
	    !cfi_rule_of_words(state, rule))
		return false;
	rule->signal = signal;
	rule->kept = CFI_KEPT_MASK;
	for (unsigned i = 0; i < N_CFI_KEPT; i++) {
		const struct cfi_place *place = &state->registers[cfi_kept_numbers[i]];
		uint32_t bit = 1U << cfi_kept_registers[i];

		rule->slot[i] = CFI_RULE_WORDS;
		switch (place->where) {
		case WHERE_UNSAID:
		case WHERE_SAME:
			break;
		case WHERE_UNDEFINED:
			rule->kept &= ~bit;
			break;
		case WHERE_OFFSET:
			rule->slot[i] = place->value / 8 - rule->low;
			rule->saved |= bit;
			break;
		default:
			return false;
		}
	}
	return true;
}

static struct cfi_rule cfi_make_rule(const struct cfi_state *state, bool signal)
{
	struct cfi_rule rule = { 0 };

	if (state->registers[CFI_DWARF_RETURN].where == WHERE_UNDEFINED)
		return (struct cfi_rule){ .kind = RULE_OUTERMOST };
	if (state->cfa == CFA_UNSAID)
		return (struct cfi_rule){ .kind = RULE_NONE };
	if (cfi_rule_of_state(state, signal, &rule))
		return rule;
	return (struct cfi_rule){ .kind = cfi_state_is_safe(state) ? RULE_ASK : RULE_NONE };
}

/* --- the table -------------------------------------------------------------------------------- */

/* A table under construction. */
struct cfi_builder {
	struct cfi *cfi;
	size_t addresses_capacity, row_rules_capacity, rules_capacity;
	struct hash_table numbers; /* of rules */
	struct cfi_program *program;
	size_t left_bytes; /* of programs that may still be run */
	bool no_memory;
};

static void cfi_builder_deinit(struct cfi_builder *builder)
{
	cfi_destroy(builder->cfi);
	free(builder->program);
	hash_table_deinit(&builder->numbers);
}

/* Three words: done for each row, so it is not left to hash_bytes(). */
static uint64_t cfi_hash(const struct cfi_rule *rule)
{
	uint64_t parts[3];

	_Static_assert(sizeof(parts) == sizeof(*rule), "a rule is three words");
	memcpy(parts, rule, sizeof(parts));
	return hash_word(hash_word(parts[0], parts[1]), parts[2]);
}

struct cfi_wanted {
	const struct cfi *cfi;
	const struct cfi_rule *rule;
};

static bool cfi_is_same_rule(const void *context, uint32_t number)
{
	const struct cfi_wanted *wanted = context;

	return memcmp(&wanted->cfi->rules[number], wanted->rule, sizeof(*wanted->rule)) == 0;
}

/* The number of RULE. When there are CFI_MAX_RULES, a new one becomes RULE_NONE, number 0. */
static uint32_t cfi_intern(struct cfi_builder *builder, const struct cfi_rule *rule)
{
	struct cfi *cfi = builder->cfi;
	const struct cfi_wanted wanted = { cfi, rule };
	uint64_t hash = cfi_hash(rule);
	uint32_t number = hash_table_find(&builder->numbers, hash, cfi_is_same_rule, &wanted);

	if (number != HASH_NONE)
		return number;
	if (cfi->n_rules == CFI_MAX_RULES)
		return 0;
	if (!vector_reserve(cfi->rules, builder->rules_capacity, cfi->n_rules + 1U) ||
	    !hash_table_add(&builder->numbers, hash, cfi->n_rules)) {
		builder->no_memory = true;
		return 0;
	}
	cfi->rules[cfi->n_rules] = *rule;
	return cfi->n_rules++;
}

static bool cfi_reserve_row(struct cfi_builder *builder)
{
	struct cfi *cfi = builder->cfi;
	size_t wanted = cfi->n_rows + 1U;

	return vector_reserve(cfi->addresses, builder->addresses_capacity, wanted) &&
	       vector_reserve(cfi->row_rules, builder->row_rules_capacity, wanted);
}

/* RULE holds from ADDRESS on. Addresses ascend; a row at the last row's address replaces it. */
static void cfi_add_row(struct cfi_builder *builder, uint64_t address, const struct cfi_rule *rule)
{
	struct cfi *cfi = builder->cfi;
	uint32_t number = cfi_intern(builder, rule), offset = address - cfi->base;

	if (cfi->n_rows && cfi->addresses[cfi->n_rows - 1] == offset)
		cfi->n_rows--;
	if (cfi->n_rows && cfi->row_rules[cfi->n_rows - 1] == number)
		return;
	if (!cfi_reserve_row(builder)) {
		builder->no_memory = true;
		return;
	}
	cfi->addresses[cfi->n_rows] = offset;
	cfi->row_rules[cfi->n_rows++] = number;
	cfi->n_asks += rule->kind == RULE_ASK;
}

static const struct cfi_rule nothing = { .kind = RULE_NONE };

/* Adds the rows of FDE below END, and a row that says that nothing is known behind them. */
static void cfi_add_fde(struct cfi_builder *builder, const struct cfi_fde *fde, uint64_t end)
{
	struct cfi_program *program = builder->program;
	uint64_t reached = fde->start;

	cfi_program_start(program, fde);
	while (cfi_program_next(program) && program->row_start < end) {
		struct cfi_rule rule = cfi_make_rule(&program->state, fde->cie.signal);

		cfi_add_row(builder, program->row_start, &rule);
		reached = program->row_end;
	}
	if (program->bad)
		builder->cfi->n_refused++;
	cfi_add_row(builder, reached < end ? reached : end, &nothing);
	builder->cfi->n_fdes++;
}

static bool cfi_may_add(struct cfi_builder *builder, const struct cfi_fde *fde)
{
	size_t bytes = fde->program_bytes + fde->cie.program_bytes;

	if (fde->end - builder->cfi->base >= UINT32_MAX || bytes > builder->left_bytes ||
	    builder->cfi->n_rows + bytes + 2 > CFI_MAX_ROWS)
		return false;
	builder->left_bytes -= bytes;
	return true;
}

static void cfi_add_list(struct cfi_builder *builder, const struct cfi_sections *sections,
			 const struct cfi_list *list)
{
	struct cfi *cfi = builder->cfi;

	cfi->n_refused = list->refused;
	memset(cfi->cache, 0xff, sizeof(cfi->cache));
	cfi->base = list->places[0].start;
	cfi_intern(builder, &nothing);
	for (size_t i = 0; i < list->n && !builder->no_memory && !work_is_over(); i++) {
		uint64_t next = i + 1 < list->n ? list->places[i + 1].start : UINT64_MAX;
		struct cfi_fde fde;

		if (!cfi_read_fde(sections, &list->places[i], &fde) ||
		    !cfi_may_add(builder, &fde)) {
			cfi->n_refused++;
			continue;
		}
		cfi_add_fde(builder, &fde, fde.end < next ? fde.end : next);
	}
}

/* A block has about four rows. The last entry closes the last block. */
static bool cfi_build_blocks(struct cfi *cfi)
{
	uint32_t row = 0;

	cfi->span = cfi->addresses[cfi->n_rows - 1];
	while (cfi->span >> cfi->block_shift > cfi->n_rows / 4 + 1)
		cfi->block_shift++;
	cfi->n_blocks = (cfi->span >> cfi->block_shift) + 2;
	cfi->blocks = malloc(cfi->n_blocks * sizeof(*cfi->blocks));
	if (!cfi->blocks)
		return false;
	for (uint32_t block = 0; block < cfi->n_blocks; block++) {
		uint64_t offset = (uint64_t)block << cfi->block_shift;

		while (row + 1 < cfi->n_rows && cfi->addresses[row + 1] <= offset)
			row++;
		cfi->blocks[block] = row;
	}
	return true;
}

static bool cfi_finish(struct cfi *cfi)
{
	void *addresses = realloc(cfi->addresses, cfi->n_rows * sizeof(*cfi->addresses)),
	     *rules = realloc(cfi->row_rules, cfi->n_rows * sizeof(*cfi->row_rules));

	if (addresses)
		cfi->addresses = addresses;
	if (rules)
		cfi->row_rules = rules;
	return addresses && rules && cfi_build_blocks(cfi);
}

struct xtop_error *cfi_compile(const struct cfi_sections *sections, struct cfi **cfip)
{
	_cleanup_(cfi_builder_deinit) struct cfi_builder builder = {
		.left_bytes = CFI_MAX_PROGRAM_BYTES
	};
	_cleanup_(cfi_list_deinit) struct cfi_list list = { 0 };
	struct xtop_error *error = cfi_list_init(sections, &list);

	if (error)
		return error;
	if (!list.n) {
		*cfip = NULL;
		return NULL;
	}
	builder.cfi = calloc(1, sizeof(*builder.cfi));
	builder.program = malloc(sizeof(*builder.program));
	if (builder.cfi && builder.program)
		cfi_add_list(&builder, sections, &list);
	if (!builder.cfi || !builder.program || builder.no_memory ||
	    (builder.cfi->n_fdes && !cfi_finish(builder.cfi)))
		return error_create("out of memory for an unwind table of %zu functions", list.n);
	*cfip = builder.cfi->n_fdes ? no_cleanup_ptr(builder.cfi) : NULL;
	return NULL;
}

void cfi_destroy(struct cfi *cfi)
{
	if (!cfi)
		return;
	free(cfi->addresses);
	free(cfi->row_rules);
	free(cfi->rules);
	free(cfi->blocks);
	free(cfi);
}

size_t cfi_memory_bytes(const struct cfi *cfi)
{
	return sizeof(*cfi) + cfi->n_rows * (sizeof(*cfi->addresses) + sizeof(*cfi->row_rules)) +
	       cfi->n_rules * sizeof(*cfi->rules) + cfi->n_blocks * sizeof(*cfi->blocks);
}
