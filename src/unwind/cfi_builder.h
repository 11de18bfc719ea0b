/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A struct cfi under construction: cfi_compile.c fills it from call-frame information, go.c from
 * Go's own tables. Resolver's thread.
 */
#ifndef XTOP_UNWIND_CFI_BUILDER_H
#define XTOP_UNWIND_CFI_BUILDER_H

#include "unwind/cfi_table.h"
#include "xtop/base/hash.h"

extern const struct cfi_rule cfi_rule_none, cfi_rule_outermost; /* RULE_NONE, RULE_OUTERMOST */

struct cfi_builder {
	struct cfi *cfi;
	size_t addresses_capacity, row_rules_capacity, rules_capacity;
	struct hash_table numbers; /* hash of a rule -> the rule's number */
	bool no_memory;            /* an allocation failed: the table will not be finished */
};

/* BASE: the first address of the table. Rule 0 is RULE_NONE. Returns false if out of memory. */
bool cfi_builder_init(struct cfi_builder *builder, uint64_t base);
void cfi_builder_deinit(struct cfi_builder *builder); /* cfi_builder_finish() may have run */

/* Returns the number of RULE. When CFI_MAX_RULES exist, a new rule becomes RULE_NONE, number 0. */
uint32_t cfi_builder_number(struct cfi_builder *builder, const struct cfi_rule *rule);
/*
 * Adds a row: RULE holds from ADDRESS on. Addresses ascend. A row at the last row's address
 * replaces the last row. ADDRESS - base < UINT32_MAX. Out of memory sets no_memory.
 */
void cfi_builder_add(struct cfi_builder *builder, uint64_t address, const struct cfi_rule *rule);
/* Adds a function, for cfi_find_function(). Functions come in the order of their addresses. */
void cfi_builder_add_function(struct cfi_builder *builder, uint64_t start, uint64_t end);
/* Returns the table, which ends at the last row's address. NULL: out of memory, or no rows. */
struct cfi *cfi_builder_finish(struct cfi_builder *builder);

#endif
