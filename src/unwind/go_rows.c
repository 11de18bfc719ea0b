/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of a Go program in portions; see go_rows.h. A portion is GO_PORTION_FUNCTIONS functions
 * of the list of functions:
 *
 *   address ─► portions[i].start ─► its functions' records, names, depths ─► struct cfi
 *
 * kubelet has 100,000 functions, whose table has 30 MB; a program runs in a few hundred of them.
 */
#include "config.h"

#include "unwind/go_rows.h"

#include <stdlib.h>

#include "unwind/cfi_builder.h"
#include "unwind/go_rules.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/limit.h"
#include "xtop/base/sorted.h"
#include "xtop/base/work.h"

#define GO_PORTION_FUNCTIONS LIMIT(64, 4)

struct go_portion {
	uint64_t start; /* start of the portion's first function */
	size_t first;   /* the index of the portion's first function */
	bool built;
	struct cfi *rows; /* NULL: no function has rows, or out of memory */
};

struct go_rows {
	struct go_table table;       /* used for portions that were not built */
	struct go_switches switches; /* switches in portions that were built */
	size_t n_rows, memory_bytes; /* rows and size of all portions */
	size_t n;
	struct go_portion portions[];
};

/* --- one function ----------------------------------------------------------------------------- */

static void go_add_depths(struct cfi_builder *rows, const struct go_table *table,
			  const struct go_function *function)
{
	uint64_t reached = function->start;
	struct go_depths depths;

	go_depths_start(&depths, table, function);
	while (go_depths_next(&depths) && rows->cfi->n_rows + 2 < CFI_MAX_ROWS) {
		struct cfi_rule rule = table->is_arm64 ? go_arm64_rule(function, depths.depth)
						       : go_x86_rule(function, depths.depth);

		cfi_builder_add(rows, depths.row_start, &rule);
		reached = depths.row_end;
	}
	cfi_builder_add(rows, reached, &cfi_rule_none);
}

static void go_add_function(struct go_rows *all, struct cfi_builder *rows,
			    const struct go_function *function)
{
	bool is_switch = go_switches_add(&all->switches, function);

	rows->cfi->n_fdes++;
	if (go_is_outermost(function)) {
		cfi_builder_add(rows, function->start, &cfi_rule_outermost);
		cfi_builder_add(rows, function->end, &cfi_rule_none);
	} else if (is_switch || !(function->flags & GO_SP_WRITE)) {
		go_add_depths(rows, &all->table, function);
	}
}

/* --- one portion ------------------------------------------------------------------------------ */

static size_t go_portion_end(const struct go_rows *rows, size_t i)
{
	return i + 1 < rows->n ? rows->portions[i + 1].first : rows->table.n_functions;
}

/* Adds a portion's functions. A function out of address order is left out. */
static void go_add_functions(struct go_rows *all, struct cfi_builder *rows, size_t first,
			     size_t end)
{
	const struct go_table *table = &all->table;
	uint64_t reached = rows->cfi->base;

	for (size_t i = first; i < end && !rows->no_memory &&
			       !work_step(table->work, "unwind tables", i, table->n_functions);
	     i++) {
		struct go_function function;

		if (!go_table_read(table, i, &function) || function.start < reached ||
		    function.end - rows->cfi->base >= UINT32_MAX ||
		    all->n_rows + rows->cfi->n_rows + 2 >= CFI_MAX_ROWS) {
			rows->cfi->n_refused++;
			continue;
		}
		go_add_function(all, rows, &function);
		reached = function.end;
	}
}

/* Returns false if memory is out. */
static bool go_portion_build(struct go_rows *all, size_t i)
{
	_cleanup_(cfi_builder_deinit) struct cfi_builder rows = { 0 };
	struct go_portion *portion = &all->portions[i];

	portion->built = true;
	if (!cfi_builder_init(&rows, portion->start))
		return false;
	go_add_functions(all, &rows, portion->first, go_portion_end(all, i));
	if (!rows.no_memory && !rows.cfi->n_rows)
		return true;
	portion->rows = cfi_builder_finish(&rows);
	if (!portion->rows)
		return false;
	all->n_rows += portion->rows->n_rows;
	all->memory_bytes += cfi_memory_bytes(portion->rows);
	return true;
}

/* --- all portions ----------------------------------------------------------------------------- */

/*
 * Finds where the portions begin. The start of some may not be readable now: the portion before
 * has their functions, too.
 */
static void go_rows_divide(struct go_rows *rows)
{
	const struct go_table *table = &rows->table;
	uint64_t start, end, reached = 0;

	for (size_t i = 0; i < table->n_functions; i++) {
		if (rows->n && i < rows->portions[rows->n - 1].first + GO_PORTION_FUNCTIONS)
			continue;
		if (!go_table_get_range(table, i, &start, &end) || (rows->n && start <= reached))
			continue;
		rows->portions[rows->n++] = (struct go_portion){ .start = start, .first = i };
		reached = start;
	}
}

static bool go_rows_build_all(struct go_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		if (!go_portion_build(rows, i))
			return false;
	return true;
}

struct xtop_error *go_rows_compile(const struct go_table *table, struct go_rows **rowsp)
{
	size_t most = table->n_functions / GO_PORTION_FUNCTIONS + 1;
	struct go_rows *rows = calloc(1, sizeof(*rows) + most * sizeof(rows->portions[0]));

	*rowsp = NULL;
	if (rows) {
		rows->table = *table;
		go_rows_divide(rows);
	}
	if (!rows || (!table->need && !go_rows_build_all(rows))) {
		go_rows_destroy(rows);
		return error_create("out of memory for Go's table of %zu functions",
				    table->n_functions);
	}
	if (!rows->n || (!table->need && !rows->n_rows)) { /* no function has depths */
		go_rows_destroy(rows);
		return NULL;
	}
	*rowsp = rows;
	return NULL;
}

void go_rows_destroy(struct go_rows *rows)
{
	for (size_t i = 0; rows && i < rows->n; i++)
		cfi_destroy(rows->portions[i].rows);
	free(rows);
}

size_t go_rows_memory_bytes(const struct go_rows *rows)
{
	return sizeof(*rows) + rows->n * sizeof(rows->portions[0]) + rows->memory_bytes;
}

/* --- an address ------------------------------------------------------------------------------- */

struct cfi *go_rows_at(struct go_rows *rows, uint64_t address)
{
	size_t n = sorted_count(rows->portions, rows->n, start, address);

	if (!n)
		return NULL;
	/* Best effort: without memory the portion has no rows. */
	if (!rows->portions[n - 1].built)
		go_portion_build(rows, n - 1);
	return rows->portions[n - 1].rows;
}

const struct cfi_rule *go_rows_find(struct go_rows *rows, uint64_t address)
{
	struct cfi *portion = go_rows_at(rows, address);

	return portion ? cfi_find(portion, address) : NULL;
}

const struct go_switch *go_rows_find_switch(struct go_rows *rows, uint64_t address)
{
	return go_rows_at(rows, address) ? go_switches_find(&rows->switches, address) : NULL;
}
