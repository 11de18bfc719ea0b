/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinds Go's code; see go.h. go_x86.c and go_arm64.c describe the frames. On both architectures
 * only the stack pointer and the frame pointer survive a call. Functions in assembly follow the
 * same rules, except functions that set the stack pointer themselves:
 *
 *   goexit, mstart, rt0_go ...          have no caller, or never return: outermost
 *   systemstack, mcall, asmcgocall ...  change to the thread's other stack (go_switch.h)
 *   others with GO_SP_WRITE             have no rows
 */
#include "config.h"

#include "unwind/go.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/cfi_builder.h"
#include "unwind/cursor_arm32.h"
#include "unwind/go_rules.h"
#include "unwind/go_switch.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/work.h"

struct go {
	struct cfi *rows;
	struct go_switches switches;
	struct go_stacks stacks;
};

/* --- names ------------------------------------------------------------------------------------ */

bool go_is_one_of(const struct go_function *function, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (go_has_name(function, names[i]))
			return true;
	return false;
}

bool go_handles_signals(const struct go_function *function)
{
	static const char *const names[] = { "runtime.sigtramp", "runtime.cgoSigtramp" };

	return GO_IS_ONE_OF(function, names);
}

/*
 * Whether FUNCTION has no caller. gogo() starts a goroutine and never returns. Go's own chains end
 * where a signal arrived (Go src/runtime/traceback.go); ours continue with the interrupted code.
 */
static bool go_is_outermost(const struct go_function *function)
{
	static const char *const unmarked[] = { "runtime.goexit", "runtime.mstart",
						"runtime.rt0_go" };
	static const char *const names[] = { "runtime.gogo", "gogo" };

	if (go_handles_signals(function))
		return false;
	if (function->flags & (GO_TOP | GO_UNMARKED))
		return function->flags & GO_TOP || GO_IS_ONE_OF(function, unmarked) ||
		       GO_IS_ONE_OF(function, names);
	return function->flags & GO_ASSEMBLY && GO_IS_ONE_OF(function, names);
}

/* Functions written in Go always have a dot in their names. */
bool go_is_assembly(const struct go_function *function)
{
	return function->flags & GO_ASSEMBLY ||
	       (function->flags & GO_UNMARKED &&
		!memchr(function->name, '.', function->name_bytes));
}

/* --- rows ------------------------------------------------------------------------------------- */

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

static void go_add_function(struct cfi_builder *rows, struct go_switches *switches,
			    const struct go_table *table, const struct go_function *function)
{
	bool is_switch = go_switches_add(switches, function);

	rows->cfi->n_fdes++;
	if (go_is_outermost(function)) {
		cfi_builder_add(rows, function->start, &cfi_rule_outermost);
		cfi_builder_add(rows, function->end, &cfi_rule_none);
	} else if (is_switch || !(function->flags & GO_SP_WRITE)) {
		go_add_depths(rows, table, function);
	}
}

/* Adds all functions. A function out of address order is left out and counted. */
static void go_add_functions(struct cfi_builder *rows, struct go_switches *switches,
			     const struct go_table *table)
{
	uint64_t reached = rows->cfi->base;

	for (size_t i = 0;
	     i < table->n_functions && !rows->no_memory &&
	     !work_step(table->work, "unwind tables", i, table->n_functions);
	     i++) {
		struct go_function function;

		if (!go_table_read(table, i, &function) || function.start < reached ||
		    function.end - rows->cfi->base >= UINT32_MAX ||
		    rows->cfi->n_rows + 2 >= CFI_MAX_ROWS) {
			rows->cfi->n_refused++;
			continue;
		}
		go_add_function(rows, switches, table, &function);
		reached = function.end;
	}
}

static bool go_find_base(const struct go_table *table, uint64_t *base)
{
	struct go_function function;

	for (size_t i = 0; i < table->n_functions; i++)
		if (go_table_read(table, i, &function)) {
			*base = function.start;
			return true;
		}
	return false;
}

struct xtop_error *go_compile(const struct go_table *table, struct go **gop)
{
	_cleanup_(cfi_builder_deinit) struct cfi_builder rows = { 0 };
	struct go *go;
	uint64_t base;

	*gop = NULL;
	if (!go_find_base(table, &base))
		return NULL;
	go = calloc(1, sizeof(*go));
	if (go && cfi_builder_init(&rows, base)) {
		go_add_functions(&rows, &go->switches, table);
		go->stacks = table->stacks;
		if (!rows.no_memory && !rows.cfi->n_rows) { /* no function has depths */
			free(go);
			return NULL;
		}
		go->rows = cfi_builder_finish(&rows);
	}
	if (!go || !go->rows) {
		free(go);
		return error_create("out of memory for Go's table of %zu functions",
				    table->n_functions);
	}
	*gop = go;
	return NULL;
}

void go_destroy(struct go *go)
{
	if (!go)
		return;
	cfi_destroy(go->rows);
	free(go);
}

size_t go_memory_bytes(const struct go *go)
{
	return sizeof(*go) + cfi_memory_bytes(go->rows);
}

/* --- a step ----------------------------------------------------------------------------------- */

enum unwind_step go_step(struct go *go, uint64_t bias, struct cursor *cursor)
{
	const struct go_switch *one = go_switches_find(&go->switches, cursor_pc(cursor) - bias);
	bool is_arm64 = cursor->arch == ARCH_ARM64;
	enum unwind_step step = STEP_NOT_COVERED;

	if (cursor_is_arm32(cursor))
		return STEP_NOT_COVERED;
	cursor->go.stacks = &go->stacks;
	if (one)
		step = (is_arm64 ? go_switch_arm64_step : go_switch_x86_step)(
			&go->switches, one, go->rows, bias, cursor);
	if (step != STEP_NOT_COVERED)
		return step;
	return (is_arm64 ? cfi_arm64_step : cfi_step)(go->rows, bias, cursor);
}
