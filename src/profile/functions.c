/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flat table of functions, in one pass over the nodes of a snapshot. Self is the sum over all
 * nodes of a function. Children is the sum over its outermost nodes only: a node below another of
 * the same function is already in that one's children (perf does the same, tools/perf/util/hist.c,
 * iter_add_next_cumulative_entry()). In pre-order a subtree is a range of indices, so "below" needs
 * no stack of open nodes: each function remembers where the subtree of its last outermost node
 * ends.
 */
#include "config.h"

#include "xtop/cleanup.h"
#include "xtop/functions.h"

#include <string.h>

/* What the pass knows of a frame id. */
struct functions_seen {
	uint32_t row;   /* its row + 1, 0: none yet */
	uint32_t until; /* nodes before that lie below an outermost one of it */
};

static bool functions_is_row(const struct frame *frame)
{
	switch (frame->kind) {
	case FRAME_KIND_KERNEL:
	case FRAME_KIND_USERLAND:
	case FRAME_KIND_MARK:
		return true;
	case FRAME_KIND_ROOT:
	case FRAME_KIND_PROCESS:
	case FRAME_KIND_THREAD:
		break;
	}
	return false;
}

static void functions_add_node(struct function_table *table, struct functions_seen *seen,
			       uint32_t frame, const struct snapshot_node *node, uint32_t index)
{
	struct weights *weights;

	if (!seen->row) {
		table->rows[table->n] = (struct function_row){ .frame = frame };
		seen->row = ++table->n;
	}
	weights = &table->rows[seen->row - 1].weights;
	weights->self_live += node->self_live;
	weights->self_total += node->self_total;
	if (index < seen->until)
		return;
	seen->until = node->end;
	weights->children_live += node->children_live;
	weights->children_total += node->children_total;
}

struct xtop_error *functions_build(const struct snapshot *snapshot, const struct filter *filter,
				   bool addresses, struct function_table *table)
{
	_cleanup_free_ struct snapshot_node *copy = NULL;
	_cleanup_free_ struct functions_seen *seen = calloc(snapshot->n_frames, sizeof(*seen));
	size_t most =
		snapshot->n_frames < snapshot->n_nodes ? snapshot->n_frames : snapshot->n_nodes;
	struct function_table built = { .rows = malloc(most * sizeof(*built.rows)) };
	const struct snapshot_node *nodes;
	struct xtop_error *error;

	if (!seen || !built.rows) {
		functions_free(&built);
		return error_create("no memory for a table of %zu functions", most);
	}
	error = filter_nodes(filter, snapshot, &copy, &nodes);
	if (error) {
		functions_free(&built);
		return error;
	}
	for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
		const struct frame *frame = frames_get(snapshot->frames, nodes[i].frame);
		uint32_t id = addresses ? nodes[i].frame : frame->group;

		if (nodes[i].children_total && functions_is_row(frame))
			functions_add_node(&built, &seen[id], id, &nodes[i], i);
	}
	built.whole = weights_of(&nodes[0]);
	*table = built;
	return NULL;
}

void functions_free(struct function_table *table)
{
	free(table->rows);
	*table = (struct function_table){ 0 };
}
