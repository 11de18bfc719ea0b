/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers and callees of one function, and the hottest whole chains through it; the arithmetic
 * stands in xtop/functions.h. One pass over the nodes: what is true of a node's stack is taken over
 * from its parent, which comes before it.
 */
#include "config.h"

#include "xtop/cleanup.h"
#include "xtop/functions.h"

#include <string.h>

/* What the pass knows of the stack that ends in a node. */
struct neighbours_path {
	uint32_t
		callee; /* of the innermost focus: a frame, the focus when the stack ends with it */
	uint32_t occurrences; /* of the focus */
};

struct neighbours_pass {
	const struct snapshot *snapshot;
	const struct snapshot_node *nodes;
	bool addresses;
	uint32_t focus;
	struct neighbours *neighbours;
	struct neighbours_path *paths;       /* by node */
	uint32_t *caller_rows, *callee_rows; /* by frame: row + 1, 0: none yet */
};

static uint32_t neighbours_frame(const struct neighbours_pass *pass, uint32_t node)
{
	uint32_t frame = pass->nodes[node].frame;

	return pass->addresses ? frame : frames_get(pass->snapshot->frames, frame)->group;
}

static struct weights *neighbours_row(struct function_table *table, uint32_t *rows, uint32_t frame)
{
	if (!rows[frame]) {
		table->rows[table->n] = (struct function_row){ .frame = frame };
		rows[frame] = ++table->n;
	}
	return &table->rows[rows[frame] - 1].weights;
}

static void weights_add(struct weights *to, double live, uint64_t total)
{
	to->children_live += live;
	to->children_total += total;
}

/* NODE is an outermost focus: all of its subtree was brought about by its parent. */
static void neighbours_add_caller(struct neighbours_pass *pass, const struct snapshot_node *node)
{
	struct neighbours *neighbours = pass->neighbours;
	uint32_t caller = neighbours_frame(pass, node->parent);

	weights_add(&neighbours->focus, node->children_live, node->children_total);
	weights_add(neighbours_row(&neighbours->callers, pass->caller_rows, caller),
		    node->children_live, node->children_total);
}

/* The stacks that end in NODE, which has PATH. */
static void neighbours_add_callee(struct neighbours_pass *pass, const struct snapshot_node *node,
				  const struct neighbours_path *path)
{
	struct neighbours *neighbours = pass->neighbours;

	weights_add(neighbours_row(&neighbours->callees, pass->callee_rows, path->callee),
		    node->self_live, node->self_total);
	if (path->callee == pass->focus) {
		neighbours->focus.self_live += node->self_live;
		neighbours->focus.self_total += node->self_total;
	}
	if (path->occurrences > 1)
		weights_add(&neighbours->recursive, node->self_live, node->self_total);
}

static bool chain_is_hotter(const struct chain *a, const struct chain *b)
{
	if (a->weights.self_live != b->weights.self_live)
		return a->weights.self_live > b->weights.self_live;
	return a->weights.self_total > b->weights.self_total;
}

/* Into its place among the hottest; of equal ones the first seen stays ahead. */
static void neighbours_add_chain(struct neighbours *neighbours, const struct snapshot_node *node,
				 uint32_t index)
{
	struct chain new = { .node = index, .weights = weights_of(node) };
	struct chain *chains = neighbours->chains;
	size_t at;

	if (neighbours->n_chains < NEIGHBOURS_MAX_CHAINS)
		neighbours->n_chains++;
	else if (!chain_is_hotter(&new, &chains[NEIGHBOURS_MAX_CHAINS - 1]))
		return;
	for (at = neighbours->n_chains - 1; at > 0 && chain_is_hotter(&new, &chains[at - 1]); at--)
		chains[at] = chains[at - 1];
	chains[at] = new;
}

static void neighbours_visit(struct neighbours_pass *pass, uint32_t index)
{
	const struct snapshot_node *node = &pass->nodes[index];
	struct neighbours_path *path = &pass->paths[index];
	uint32_t frame = neighbours_frame(pass, index);

	*path = index ? pass->paths[node->parent]
		      : (struct neighbours_path){ .callee = FRAME_NONE };
	if (frame == pass->focus) {
		if (node->children_total && !path->occurrences)
			neighbours_add_caller(pass, node);
		path->callee = frame;
		path->occurrences++;
	} else if (path->callee == pass->focus) {
		path->callee = frame;
	}
	if (!path->occurrences || !node->self_total)
		return;
	neighbours_add_callee(pass, node, path);
	neighbours_add_chain(pass->neighbours, node, index);
}

static struct xtop_error *neighbours_pass_run(struct neighbours_pass *pass)
{
	const struct snapshot *snapshot = pass->snapshot;
	_cleanup_free_ uint32_t *rows = calloc(2 * (size_t)snapshot->n_frames, sizeof(*rows));
	_cleanup_free_ struct neighbours_path *paths = calloc(snapshot->n_nodes, sizeof(*paths));
	size_t most =
		snapshot->n_frames < snapshot->n_nodes ? snapshot->n_frames : snapshot->n_nodes;
	struct neighbours *neighbours = pass->neighbours;

	neighbours->callers.rows = malloc(most * sizeof(*neighbours->callers.rows));
	neighbours->callees.rows = malloc(most * sizeof(*neighbours->callees.rows));
	neighbours->chains = calloc(NEIGHBOURS_MAX_CHAINS, sizeof(*neighbours->chains));
	if (!rows || !paths || !neighbours->callers.rows || !neighbours->callees.rows ||
	    !neighbours->chains)
		return error_create("no memory for the neighbours of a function");
	pass->caller_rows = rows;
	pass->callee_rows = rows + snapshot->n_frames;
	pass->paths = paths;
	for (uint32_t i = 0; i < snapshot->n_nodes; i++)
		neighbours_visit(pass, i);
	return NULL;
}

struct xtop_error *neighbours_build(const struct snapshot *snapshot, const struct filter *filter,
				    bool addresses, uint32_t frame, struct neighbours *neighbours)
{
	_cleanup_free_ struct snapshot_node *copy = NULL;
	struct neighbours built = { 0 };
	struct neighbours_pass pass = { .snapshot = snapshot,
					.addresses = addresses,
					.neighbours = &built };
	struct xtop_error *error = filter_nodes(filter, snapshot, &copy, &pass.nodes);

	if (error)
		return error;
	pass.focus = addresses ? frame : frames_get(snapshot->frames, frame)->group;
	error = neighbours_pass_run(&pass);
	if (error) {
		neighbours_free(&built);
		return error;
	}
	built.whole = weights_of(&pass.nodes[0]);
	built.callers.whole = built.callees.whole = built.focus;
	*neighbours = built;
	return NULL;
}

void neighbours_free(struct neighbours *neighbours)
{
	functions_free(&neighbours->callers);
	functions_free(&neighbours->callees);
	free(neighbours->chains);
	*neighbours = (struct neighbours){ 0 };
}
