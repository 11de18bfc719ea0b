/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removes functions from the stacks of a snapshot; see remove_functions.h. The nodes that stay are
 * in pre-order again. A new index is never above the old one, so one pass moves the nodes in place.
 */
#include "config.h"

#include "query/remove_functions.h"

#include <stdlib.h>

#include "xtop/base/cleanup.h"

struct removal {
	struct snapshot_node *nodes;
	/* One per old index: the new index of the node, or of its nearest ancestor that stays. */
	uint32_t *places;
	uint32_t *before; /* one per old index: how many nodes before it stay */
};

static void removal_move(const struct removal *removal, uint32_t index)
{
	struct snapshot_node node = removal->nodes[index];
	uint32_t parent = index ? removal->places[node.parent] : 0, to = removal->before[index];

	if (removal->before[index + 1] == to) {
		removal->nodes[parent].self_live += node.self_live;
		removal->nodes[parent].self_ticks += node.self_ticks;
		removal->nodes[parent].self_total += node.self_total;
		removal->places[index] = parent;
		return;
	}
	node.depth = index ? removal->nodes[parent].depth + 1 : 0;
	node.parent = parent;
	node.end = removal->before[node.end];
	removal->nodes[to] = node;
	removal->places[index] = to;
}

struct xtop_error *nodes_remove_functions(struct snapshot *snapshot, const uint8_t *marks,
					  uint8_t mark)
{
	size_t n = snapshot->n_nodes;
	_cleanup_free_ uint32_t *before = malloc((n + 1) * sizeof(*before));
	_cleanup_free_ uint32_t *places = malloc(n * sizeof(*places));
	struct removal removal = { snapshot->nodes, places, before };
	uint32_t stay = 0;

	if (!before || !places)
		return error_create("no memory to hide functions among %zu nodes", n);
	for (size_t i = 0; i < n; i++) {
		before[i] = stay;
		stay += !i || !(marks[snapshot->nodes[i].frame] & mark);
	}
	before[n] = stay;
	for (uint32_t i = 0; i < n; i++)
		removal_move(&removal, i);
	snapshot->n_nodes = stay;
	return NULL;
}
