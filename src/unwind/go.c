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

#include "unwind/cursor_arm32.h"
#include "unwind/go_rows.h"
#include "unwind/go_switch.h"

struct go {
	struct go_rows *rows;
	struct go_stacks stacks;
};

struct xtop_error *go_compile(const struct go_table *table, struct go **gop)
{
	struct go_rows *rows;
	struct xtop_error *error = go_rows_compile(table, &rows);
	struct go *go;

	*gop = NULL;
	if (error || !rows)
		return error;
	go = calloc(1, sizeof(*go));
	if (!go) {
		go_rows_destroy(rows);
		return error_create("out of memory for Go's table of %zu functions",
				    table->n_functions);
	}
	*go = (struct go){ rows, table->stacks };
	*gop = go;
	return NULL;
}

void go_destroy(struct go *go)
{
	if (!go)
		return;
	go_rows_destroy(go->rows);
	free(go);
}

size_t go_memory_bytes(const struct go *go)
{
	return sizeof(*go) + go_rows_memory_bytes(go->rows);
}

enum unwind_step go_step(struct go *go, uint64_t bias, struct cursor *cursor)
{
	uint64_t address = cursor_pc(cursor) - bias;
	bool is_arm64 = cursor->arch == ARCH_ARM64;
	enum unwind_step step = STEP_NOT_COVERED;
	const struct go_switch *one;
	struct cfi *rows;

	if (cursor_is_arm32(cursor))
		return STEP_NOT_COVERED;
	cursor->go.stacks = &go->stacks;
	rows = go_rows_at(go->rows, address);
	one = go_rows_find_switch(go->rows, address);
	if (one)
		step = (is_arm64 ? go_switch_arm64_step : go_switch_x86_step)(one, go->rows, bias,
									      cursor);
	if (step != STEP_NOT_COVERED || !rows)
		return step;
	return (is_arm64 ? cfi_arm64_step : cfi_step)(rows, bias, cursor);
}
