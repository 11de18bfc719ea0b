/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers and callees of one function, and the hottest whole chains through it; the arithmetic
 * stands in xtop/functions.h. One pass over the nodes: what is true of a node's stack is taken over
 * from its parent, which comes before it.
 *
 * Stacks of named functions are different when their nodes are. Those through code that nobody can
 * name differ by addresses that are not shown: whole chains that read alike are one, found by a hash
 * of what they read.
 */
#include "config.h"

#include "xtop/cleanup.h"
#include "xtop/functions.h"

#include <stdlib.h>
#include <string.h>

/* What the pass knows of the stack that ends in a node. */
struct neighbours_path {
	uint32_t
		callee; /* of the innermost focus: a frame, the focus when the stack ends with it */
	uint32_t occurrences; /* of the focus */
	bool unknown;         /* a function in it has no name, others may read alike */
	uint64_t key;         /* of what it reads; never 0 */
};

/* Chains that read alike, on their way to be ranked; open addressing, at most half full. */
struct neighbours_alike {
	size_t n, capacity; /* a power of two, or 0 */
	uint64_t *keys;     /* 0: free */
	struct chain *chains;
};

struct neighbours_pass {
	const struct snapshot *snapshot;
	const struct snapshot_node *nodes;
	bool addresses;
	uint32_t focus;
	struct neighbours *neighbours;
	struct neighbours_path paths[SNAPSHOT_MAX_DEPTH + 1]; /* by depth, on the way to the node */
	uint32_t *caller_rows, *callee_rows;                  /* by frame: row + 1, 0: none yet */
	struct neighbours_alike alike;
	bool failed; /* out of memory */
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
	if (a->weights.self_total != b->weights.self_total)
		return a->weights.self_total > b->weights.self_total;
	return a->node < b->node;
}

/* Into its place among the hottest; of equal ones the first in the snapshot stays ahead. */
static void neighbours_rank_chain(struct neighbours *neighbours, struct chain new)
{
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

/* --- chains that read alike ------------------------------------------------------------------- */

#define ALIKE_FIRST_CAPACITY 256

static size_t alike_slot(const struct neighbours_alike *alike, uint64_t key)
{
	size_t at = key & (alike->capacity - 1);

	while (alike->keys[at] && alike->keys[at] != key)
		at = (at + 1) & (alike->capacity - 1);
	return at;
}

static void alike_deinit(struct neighbours_alike *alike)
{
	free(alike->keys);
	free(alike->chains);
}

static bool alike_reserve(struct neighbours_alike *alike)
{
	struct neighbours_alike grown = { .n = alike->n,
					  .capacity = alike->capacity ? 2 * alike->capacity
								      : ALIKE_FIRST_CAPACITY };

	if (2 * (alike->n + 1) <= alike->capacity)
		return true;
	grown.keys = calloc(grown.capacity, sizeof(*grown.keys));
	grown.chains = reallocarray(NULL, grown.capacity, sizeof(*grown.chains));
	if (!grown.keys || !grown.chains) {
		alike_deinit(&grown);
		return false;
	}
	for (size_t i = 0; i < alike->capacity; i++) {
		size_t at;

		if (!alike->keys[i])
			continue;
		at = alike_slot(&grown, alike->keys[i]);
		grown.keys[at] = alike->keys[i];
		grown.chains[at] = alike->chains[i];
	}
	alike_deinit(alike);
	*alike = grown;
	return true;
}

static bool alike_add(struct neighbours_alike *alike, uint64_t key, const struct chain *chain)
{
	struct weights *weights;
	size_t at;

	if (!alike_reserve(alike))
		return false;
	at = alike_slot(alike, key);
	if (!alike->keys[at]) {
		alike->keys[at] = key;
		alike->chains[at] = *chain;
		alike->n++;
		return true;
	}
	weights = &alike->chains[at].weights;
	weights->self_live += chain->weights.self_live;
	weights->self_total += chain->weights.self_total;
	weights->children_live += chain->weights.children_live;
	weights->children_total += chain->weights.children_total;
	return true;
}

static void neighbours_add_chain(struct neighbours_pass *pass, const struct snapshot_node *node,
				 uint32_t index, const struct neighbours_path *path)
{
	struct chain chain = { .node = index, .weights = weights_of(node) };

	if (!path->unknown)
		neighbours_rank_chain(pass->neighbours, chain);
	else if (!alike_add(&pass->alike, path->key, &chain))
		pass->failed = true;
}

static void neighbours_rank_alike(struct neighbours_pass *pass)
{
	for (size_t i = 0; i < pass->alike.capacity; i++)
		if (pass->alike.keys[i])
			neighbours_rank_chain(pass->neighbours, pass->alike.chains[i]);
}

/* --- the pass --------------------------------------------------------------------------------- */

static uint64_t path_key(uint64_t key, uint32_t frame)
{
	key = (key ^ ((uint64_t)frame + 1)) * 0x9e3779b97f4a7c15ULL; /* 2^64 / golden ratio */
	key ^= key >> 32;
	return key ? key : 1;
}

static void neighbours_visit(struct neighbours_pass *pass, uint32_t index)
{
	const struct snapshot_node *node = &pass->nodes[index];
	uint32_t depth = node->depth < SNAPSHOT_MAX_DEPTH ? node->depth : SNAPSHOT_MAX_DEPTH;
	struct neighbours_path *path = &pass->paths[depth];
	uint32_t frame = neighbours_frame(pass, index);

	*path = depth ? pass->paths[depth - 1] : (struct neighbours_path){ .callee = FRAME_NONE };
	path->key = path_key(path->key, frame);
	path->unknown |= !pass->addresses && frames_get(pass->snapshot->frames, frame)->unknown;
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
	neighbours_add_chain(pass, node, index, path);
}

static struct xtop_error *neighbours_pass_run(struct neighbours_pass *pass)
{
	const struct snapshot *snapshot = pass->snapshot;
	_cleanup_free_ uint32_t *rows = calloc(2 * (size_t)snapshot->n_frames, sizeof(*rows));
	size_t most =
		snapshot->n_frames < snapshot->n_nodes ? snapshot->n_frames : snapshot->n_nodes;
	struct neighbours *neighbours = pass->neighbours;

	neighbours->callers.rows = malloc(most * sizeof(*neighbours->callers.rows));
	neighbours->callees.rows = malloc(most * sizeof(*neighbours->callees.rows));
	neighbours->chains = calloc(NEIGHBOURS_MAX_CHAINS, sizeof(*neighbours->chains));
	if (!rows || !neighbours->callers.rows || !neighbours->callees.rows || !neighbours->chains)
		return error_create("no memory for the neighbours of a function");
	pass->caller_rows = rows;
	pass->callee_rows = rows + snapshot->n_frames;
	for (uint32_t i = 0; i < snapshot->n_nodes; i++)
		neighbours_visit(pass, i);
	neighbours_rank_alike(pass);
	alike_deinit(&pass->alike);
	return pass->failed ? error_create("no memory for the chains of a function") : NULL;
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
