/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes functions out of the stacks of a snapshot; see take_out.h. The nodes that stay are in
 * pre-order again. A new index is never above the old one, so one pass moves the nodes in place.
 */
#include "config.h"

#include "query/take_out.h"

#include <stdlib.h>

#include "xtop/cleanup.h"

struct take_out {
	struct snapshot_node *nodes;
	/* by old index: the new index of the node, or of its nearest ancestor that stays */
	uint32_t *places;
	uint32_t *before; /* by old index: how many nodes before it stay */
};

static void take_out_move(const struct take_out *out, uint32_t index)
{
	struct snapshot_node node = out->nodes[index];
	uint32_t parent = index ? out->places[node.parent] : 0, to = out->before[index];

	if (out->before[index + 1] == to) {
		out->nodes[parent].self_live += node.self_live;
		out->nodes[parent].self_ticks += node.self_ticks;
		out->nodes[parent].self_total += node.self_total;
		out->places[index] = parent;
		return;
	}
	node.depth = index ? out->nodes[parent].depth + 1 : 0;
	node.parent = parent;
	node.end = out->before[node.end];
	out->nodes[to] = node;
	out->places[index] = to;
}

struct xtop_error *nodes_take_out(struct snapshot *snapshot, const uint8_t *marks, uint8_t mark)
{
	size_t n = snapshot->n_nodes;
	_cleanup_free_ uint32_t *before = malloc((n + 1) * sizeof(*before));
	_cleanup_free_ uint32_t *places = malloc(n * sizeof(*places));
	struct take_out out = { snapshot->nodes, places, before };
	uint32_t stay = 0;

	if (!before || !places)
		return error_create("no memory to hide functions among %zu nodes", n);
	for (size_t i = 0; i < n; i++) {
		before[i] = stay;
		stay += !i || !(marks[snapshot->nodes[i].frame] & mark);
	}
	before[n] = stay;
	for (uint32_t i = 0; i < n; i++)
		take_out_move(&out, i);
	snapshot->n_nodes = stay;
	return NULL;
}
