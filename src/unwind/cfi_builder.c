/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a struct cfi: rows come in the order of their addresses, and the table of blocks last.
 * Many rows are the same (a vmlinux has some 300,000 rows and 2,000 rules), so a row is an address
 * and the number of a rule. Resolver's thread.
 */
#include "config.h"

#include "unwind/cfi_builder.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/shared_array.h"
#include "xtop/base/vector.h"

const struct cfi_rule cfi_rule_none = { .kind = RULE_NONE };
const struct cfi_rule cfi_rule_outermost = { .kind = RULE_OUTERMOST };

bool cfi_builder_init(struct cfi_builder *builder, uint64_t base)
{
	*builder = (struct cfi_builder){ .cfi = calloc(1, sizeof(*builder->cfi)) };
	if (!builder->cfi)
		return false;
	memset(builder->cfi->cache, 0xff, sizeof(builder->cfi->cache));
	builder->cfi->base = base;
	cfi_builder_number(builder, &cfi_rule_none);
	return !builder->no_memory;
}

void cfi_builder_deinit(struct cfi_builder *builder)
{
	cfi_destroy(builder->cfi);
	hash_table_deinit(&builder->numbers);
	*builder = (struct cfi_builder){ 0 };
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Hashes four words. Runs for each row, so this is faster than hash_bytes(). */
static uint64_t cfi_hash(const struct cfi_rule *rule)
{
	uint64_t parts[4];

	_Static_assert(sizeof(parts) == sizeof(*rule), "a rule is four words");
	memcpy(parts, rule, sizeof(parts));
	return hash_word(hash_word(hash_word(parts[0], parts[1]), parts[2]), parts[3]);
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

uint32_t cfi_builder_number(struct cfi_builder *builder, const struct cfi_rule *rule)
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

/* --- rows ------------------------------------------------------------------------------------- */

static bool cfi_reserve_row(struct cfi_builder *builder)
{
	struct cfi *cfi = builder->cfi;
	size_t wanted = cfi->n_rows + 1U;

	return vector_reserve(cfi->addresses, builder->addresses_capacity, wanted) &&
	       vector_reserve(cfi->row_rules, builder->row_rules_capacity, wanted);
}

void cfi_builder_add(struct cfi_builder *builder, uint64_t address, const struct cfi_rule *rule)
{
	struct cfi *cfi = builder->cfi;
	uint32_t number = cfi_builder_number(builder, rule), offset = address - cfi->base;

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

void cfi_builder_add_function(struct cfi_builder *builder, uint64_t start, uint64_t end)
{
	struct cfi *cfi = builder->cfi;

	if (start >= end)
		return;
	if (!vector_reserve(cfi->functions, cfi->functions_capacity, cfi->n_functions + 1)) {
		builder->no_memory = true;
		return;
	}
	cfi->functions[cfi->n_functions++] = (struct cfi_function){
		.start = (uint32_t)(start - cfi->base), .end = (uint32_t)(end - cfi->base)
	};
}

/* --- the finished table ----------------------------------------------------------------------- */

/*
 * Chooses the block size so that a block has about four rows. The last entry ends the last block.
 */
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

/* Shares the arrays with equal tables: programs of other guests may use the same library. */
static void cfi_share(struct cfi *cfi)
{
	cfi->addresses = shared_array_put(cfi->addresses, cfi->n_rows * sizeof(*cfi->addresses));
	cfi->row_rules = shared_array_put(cfi->row_rules, cfi->n_rows * sizeof(*cfi->row_rules));
	cfi->rules = shared_array_put(cfi->rules, cfi->n_rules * sizeof(*cfi->rules));
	cfi->blocks = shared_array_put(cfi->blocks, cfi->n_blocks * sizeof(*cfi->blocks));
	cfi->functions =
		shared_array_put(cfi->functions, cfi->n_functions * sizeof(*cfi->functions));
}

struct cfi *cfi_builder_finish(struct cfi_builder *builder)
{
	struct cfi *cfi = builder->cfi;

	if (builder->no_memory || !cfi->n_rows || !cfi_finish(cfi))
		return NULL;
	builder->cfi = NULL;
	cfi_share(cfi);
	return cfi;
}

void cfi_destroy(struct cfi *cfi)
{
	if (!cfi)
		return;
	shared_array_free(cfi->addresses, cfi->n_rows * sizeof(*cfi->addresses));
	shared_array_free(cfi->row_rules, cfi->n_rows * sizeof(*cfi->row_rules));
	shared_array_free(cfi->rules, cfi->n_rules * sizeof(*cfi->rules));
	shared_array_free(cfi->blocks, cfi->n_blocks * sizeof(*cfi->blocks));
	shared_array_free(cfi->functions, cfi->n_functions * sizeof(*cfi->functions));
	free(cfi);
}

size_t cfi_memory_bytes(const struct cfi *cfi)
{
	return sizeof(*cfi) + cfi->n_rows * (sizeof(*cfi->addresses) + sizeof(*cfi->row_rules)) +
	       cfi->n_rules * sizeof(*cfi->rules) + cfi->n_blocks * sizeof(*cfi->blocks) +
	       cfi->functions_capacity * sizeof(*cfi->functions);
}
