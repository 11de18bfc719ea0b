/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callers and callees of one function, and the hottest whole chains through it. neighbours.h
 * explains the arithmetic. One pass over the nodes: the path of a node starts as a copy of its
 * parent's path, which is ready because the parent comes first.
 *
 * Two stacks of named functions are different when their leaves are different nodes. Stacks through
 * unnamed code may differ only by addresses that are not shown. Such chains read alike and become
 * one; a hash of their text finds them.
 */
#include "config.h"

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/vector.h"
#include "xtop/query/neighbours.h"

#include <stdlib.h>

/* What the pass knows of the stack that ends in a node. */
struct neighbours_path {
	uint32_t callee;      /* whom the innermost focus called; the focus if it is the leaf */
	uint32_t occurrences; /* how often the focus is in the stack */
	bool unknown;         /* a function has no name, so other stacks may read alike */
	uint64_t key;         /* hash of the frames that the user sees */
};

/* Chains with an unnamed function, before they are ranked. Chains that read alike are one. */
struct neighbours_alike {
	size_t n, keys_capacity, chains_capacity;
	uint64_t *keys; /* one key per chain */
	struct chain *chains;
	struct hash_table by_key;
};

struct neighbours_pass {
	const struct snapshot *snapshot;
	const struct snapshot_node *nodes;
	bool addresses;
	uint32_t focus;
	struct neighbours *neighbours;
	struct neighbours_path paths[SNAPSHOT_MAX_DEPTH + 1]; /* path to this node, by depth */
	uint32_t *caller_rows, *callee_rows;                  /* frames' rows + 1; 0: none yet */
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

/* Adds the samples that end in NODE, as children: a row of callees has no self. */
static void neighbours_add_ended(struct weights *weights, const struct snapshot_node *node)
{
	weights->children_live += node->self_live;
	weights->children_ticks += node->self_ticks;
	weights->children_total += node->self_total;
}

/* NODE is an outermost focus: its parent is the caller of the whole subtree. */
static void neighbours_add_caller(struct neighbours_pass *pass, const struct snapshot_node *node)
{
	struct neighbours *neighbours = pass->neighbours;
	uint32_t caller = neighbours_frame(pass, node->parent);

	weights_add_children(&neighbours->focus, node);
	weights_add_children(neighbours_row(&neighbours->callers, pass->caller_rows, caller), node);
}

/* Adds the stack that ends in NODE. PATH is the path to NODE. */
static void neighbours_add_callee(struct neighbours_pass *pass, const struct snapshot_node *node,
				  const struct neighbours_path *path)
{
	struct neighbours *neighbours = pass->neighbours;

	neighbours_add_ended(neighbours_row(&neighbours->callees, pass->callee_rows, path->callee),
			     node);
	if (path->callee == pass->focus)
		weights_add_self(&neighbours->focus, node);
	if (path->occurrences > 1)
		neighbours_add_ended(&neighbours->recursive, node);
}

static bool chain_is_hotter(const struct chain *a, const struct chain *b)
{
	if (a->weights.self_live != b->weights.self_live)
		return a->weights.self_live > b->weights.self_live;
	if (a->weights.self_ticks != b->weights.self_ticks)
		return a->weights.self_ticks > b->weights.self_ticks;
	return a->node < b->node;
}

/* Inserts NEW among the hottest. Equally hot chains keep their order in the snapshot. */
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

static void alike_deinit(struct neighbours_alike *alike)
{
	free(alike->keys);
	free(alike->chains);
	hash_table_deinit(&alike->by_key);
}

struct alike_wanted {
	const struct neighbours_alike *alike;
	uint64_t key;
};

static bool alike_is_same(const void *context, uint32_t chain)
{
	const struct alike_wanted *wanted = context;

	return wanted->alike->keys[chain] == wanted->key;
}

static bool alike_add(struct neighbours_alike *alike, uint64_t key,
		      const struct snapshot_node *node, const struct chain *chain)
{
	struct alike_wanted wanted = { alike, key };
	uint32_t found = hash_table_find(&alike->by_key, key, alike_is_same, &wanted);

	if (found != HASH_NONE) {
		weights_add_self(&alike->chains[found].weights, node);
		weights_add_children(&alike->chains[found].weights, node);
		return true;
	}
	if (!vector_reserve(alike->keys, alike->keys_capacity, alike->n + 1) ||
	    !vector_reserve(alike->chains, alike->chains_capacity, alike->n + 1) ||
	    !hash_table_add(&alike->by_key, key, (uint32_t)alike->n))
		return false;
	alike->keys[alike->n] = key;
	alike->chains[alike->n++] = *chain;
	return true;
}

static void neighbours_add_chain(struct neighbours_pass *pass, const struct snapshot_node *node,
				 uint32_t index, const struct neighbours_path *path)
{
	struct chain chain = { .node = index, .weights = weights_of(node) };

	if (!path->unknown)
		neighbours_rank_chain(pass->neighbours, chain);
	else if (!alike_add(&pass->alike, path->key, node, &chain))
		pass->failed = true;
}

static void neighbours_rank_alike(struct neighbours_pass *pass)
{
	for (size_t i = 0; i < pass->alike.n; i++)
		neighbours_rank_chain(pass->neighbours, pass->alike.chains[i]);
}

/* --- the pass --------------------------------------------------------------------------------- */

static void neighbours_visit(struct neighbours_pass *pass, uint32_t index)
{
	const struct snapshot_node *node = &pass->nodes[index];
	uint32_t depth = node->depth < SNAPSHOT_MAX_DEPTH ? node->depth : SNAPSHOT_MAX_DEPTH;
	struct neighbours_path *path = &pass->paths[depth];
	uint32_t frame = neighbours_frame(pass, index);

	*path = depth ? pass->paths[depth - 1] : (struct neighbours_path){ .callee = FRAME_NONE };
	path->key = hash_word(path->key, (uint64_t)frame + 1);
	path->unknown |= !pass->addresses && frames_get(pass->snapshot->frames, frame)->unknown;
	if (frame == pass->focus) {
		if (snapshot_node_counts(node) && !path->occurrences)
			neighbours_add_caller(pass, node);
		path->callee = frame;
		path->occurrences++;
	} else if (path->callee == pass->focus) {
		path->callee = frame;
	}
	if (!path->occurrences || !snapshot_node_counts_self(node))
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
		neighbours_deinit(&built);
		return error;
	}
	built.whole = weights_of(&pass.nodes[0]);
	built.callers.whole = built.callees.whole = built.focus;
	*neighbours = built;
	return NULL;
}

void neighbours_deinit(struct neighbours *neighbours)
{
	functions_deinit(&neighbours->callers);
	functions_deinit(&neighbours->callees);
	free(neighbours->chains);
	*neighbours = (struct neighbours){ 0 };
}
