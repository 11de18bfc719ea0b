/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flat table of functions; see functions.h. One pass over the nodes of a snapshot. Self is
 * the sum over all nodes of a function. Children is the sum over the function's outermost nodes
 * only: a node below another node of the same function is already part of that node's children
 * (perf does the same, tools/perf/util/hist.c, iter_add_next_cumulative_entry()). In pre-order a
 * subtree is a range of indices, so "below" needs no stack of open nodes: each function remembers
 * where the subtree of its last outermost node ends.
 */
#include "config.h"

#include "xtop/base/cleanup.h"
#include "xtop/query/functions.h"

#include <stdlib.h>

#define NO_ROW UINT32_MAX

/* What the pass knows of a row. */
struct functions_seen {
	uint32_t until;            /* end of the last outermost node's subtree */
	uint32_t process;          /* the last process in which the pass met the function */
	double of_process, most;   /* the function's children_ticks: in PROCESS; in row->process */
};

struct functions_pass {
	const struct snapshot *snapshot;
	bool addresses;
	struct function_table *table;
	struct functions_seen *seen; /* one element per row */
	uint32_t *rows_of;           /* a frame's row + 1; NO_ROW: no function; 0: not known yet */
	uint32_t process;            /* the process that the pass is in */
};

static bool functions_is_row(const struct frame *frame)
{
	switch (frame->kind) {
	case FRAME_KIND_KERNEL:
	case FRAME_KIND_USERLAND:
	case FRAME_KIND_FUNCTION:
	case FRAME_KIND_MARK:
		return true;
	case FRAME_KIND_ROOT:
	case FRAME_KIND_OWNER:
		break;
	}
	return false;
}

/* Adds a row for the frame ID if it needs one, and sets rows_of[ID]. Called once for each frame. */
static uint32_t functions_add_row(struct functions_pass *pass, uint32_t id)
{
	const struct frame *frame = frames_get(pass->snapshot->frames, id);
	uint32_t *row_of = &pass->rows_of[id];

	if (!functions_is_row(frame)) {
		*row_of = NO_ROW;
	} else if (!pass->addresses && frame->group != id) {
		*row_of = pass->rows_of[frame->group];
		/* A group is its own group, so this call does not call itself again. */
		if (!*row_of)
			*row_of = functions_add_row(pass, frame->group);
	} else {
		pass->table->rows[pass->table->n] = (struct function_row){
			.frame = id, .process = FRAME_NONE, .overloads = frame->overloads
		};
		*row_of = (uint32_t)++pass->table->n;
	}
	return *row_of;
}

/*
 * Adds TICKS of the function in PROCESS. A process is one subtree of the root, so the pass meets
 * all nodes of a function in one process one after the other. (A process that was evicted and came
 * back has two subtrees, and is counted twice.)
 */
static void functions_add_process(struct function_row *row, struct functions_seen *seen,
				  uint32_t process, double ticks)
{
	if (process == FRAME_NONE)
		return;
	if (!row->n_processes || seen->process != process) {
		seen->process = process;
		seen->of_process = 0;
		row->n_processes++;
	}
	seen->of_process += ticks;
	if (seen->of_process > seen->most) {
		seen->most = seen->of_process;
		row->process = process;
	}
}

static void functions_add_node(const struct functions_pass *pass, uint32_t at,
			       const struct snapshot_node *node, uint32_t index)
{
	struct function_row *row = &pass->table->rows[at];
	struct functions_seen *seen = &pass->seen[at];

	/* clang-tidy does not see that a row is filled before its number is in rows_of. */
	weights_add_self(&row->weights, node); /* NOLINT(clang-analyzer-core.*) */
	if (index < seen->until)
		return;
	seen->until = node->end;
	weights_add_children(&row->weights, node);
	functions_add_process(row, seen, pass->process, node->children_ticks);
}

static void functions_run(struct functions_pass *pass, const struct snapshot_node *nodes)
{
	uint32_t n = (uint32_t)pass->snapshot->n_nodes;

	for (uint32_t i = 0, next; i < n; i = next) {
		const struct snapshot_node *node = &nodes[i];
		uint32_t row;

		next = i + 1;
		if (!snapshot_node_counts(node)) {
			next = node->end;
			continue;
		}
		row = pass->rows_of[node->frame];
		if (node->depth == 1)
			pass->process = frames_is_process(pass->snapshot->frames, node->frame)
						? node->frame
						: FRAME_NONE;
		if (!row)
			row = functions_add_row(pass, node->frame);
		if (row != NO_ROW)
			functions_add_node(pass, row - 1, node, i);
	}
}

static int functions_by_frame(const void *a, const void *b)
{
	uint32_t x = ((const struct function_row *)a)->frame,
		 y = ((const struct function_row *)b)->frame;

	return (x > y) - (x < y);
}

/*
 * Marks each row whose function has an overload in another row. It was met before the others, so
 * its name has no parameters. May put the rows in another order.
 */
static void functions_mark_overloaded(struct function_table *table)
{
	bool any = false;

	for (size_t i = 0; i < table->n; i++)
		any |= table->rows[i].overloads != 0;
	if (any)
		qsort(table->rows, table->n, sizeof(*table->rows), functions_by_frame);
	for (size_t i = 0; any && i < table->n; i++) {
		const struct function_row key = { .frame = table->rows[i].overloads };
		struct function_row *first = key.frame ? bsearch(&key, table->rows, table->n,
								 sizeof(key), functions_by_frame)
						       : NULL;

		if (first)
			first->overloaded = true;
	}
}

struct xtop_error *functions_build(const struct snapshot *snapshot, const struct filter *filter,
				   bool addresses, struct function_table *table)
{
	_cleanup_free_ struct snapshot_node *copy = NULL;
	size_t most =
		snapshot->n_frames < snapshot->n_nodes ? snapshot->n_frames : snapshot->n_nodes;
	_cleanup_free_ struct functions_seen *seen = calloc(most, sizeof(*seen));
	_cleanup_free_ uint32_t *rows_of = calloc(snapshot->n_frames, sizeof(*rows_of));
	struct function_table built = { .rows = malloc(most * sizeof(*built.rows)) };
	struct functions_pass pass = { snapshot, addresses, &built, seen, rows_of, FRAME_NONE };
	const struct snapshot_node *nodes;
	struct xtop_error *error;

	*table = (struct function_table){ 0 };
	if (!seen || !rows_of || !built.rows) {
		functions_deinit(&built);
		return error_create("no memory for a table of %zu functions", most);
	}
	error = filter_nodes(filter, snapshot, &copy, &nodes);
	if (error) {
		functions_deinit(&built);
		return error;
	}
	functions_run(&pass, nodes);
	functions_mark_overloaded(&built);
	built.whole = weights_of(&nodes[0]);
	*table = built;
	return NULL;
}

void functions_deinit(struct function_table *table)
{
	free(table->rows);
	*table = (struct function_table){ 0 };
}

const char *functions_name(const struct frames *frames, const struct function_row *row,
			   bool addresses, char buffer[FRAME_NAME_BYTES])
{
	const struct frame *frame = frames_get(frames, row->frame);

	return row->overloaded ? frame_whole_name(frame, buffer)
			       : frame_text(frame, addresses, buffer);
}

/* --- against a baseline ----------------------------------------------------------------------- */

struct xtop_error *functions_join(struct function_table *table, struct function_table *base)
{
	size_t n = table->n;
	struct function_row *rows;

	if (base->n)
		qsort(base->rows, base->n, sizeof(*base->rows), functions_by_frame);
	if (table->n)
		qsort(table->rows, table->n, sizeof(*table->rows), functions_by_frame);
	rows = reallocarray(table->rows, table->n + base->n + 1, sizeof(*rows));
	if (!rows)
		return error_create("no memory for a table of %zu functions", table->n + base->n);
	table->rows = rows;
	for (size_t i = 0, j = 0; j < base->n; j++) {
		while (i < n && rows[i].frame < base->rows[j].frame)
			i++;
		if (i < n && rows[i].frame == base->rows[j].frame)
			rows[i].base = (uint32_t)j + 1;
		else
			rows[table->n++] =
				(struct function_row){ .frame = base->rows[j].frame,
						       .process = FRAME_NONE,
						       .overloads = base->rows[j].overloads,
						       .base = (uint32_t)j + 1 };
	}
	functions_mark_overloaded(table);
	return NULL;
}
