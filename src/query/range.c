/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A range of time; see range.h. The growth of each moment is a small tree. These trees are merged
 * into one tree of paths. Each path links to its first child and to its next sibling, and a walk
 * along these links gives the nodes in pre-order.
 */
#include "config.h"

#include "query/range.h"

#include <stdlib.h>

#include "xtop/base/vector.h"
#include "xtop/query/counters.h"

struct range_sum {
	double ticks;
	uint64_t samples;
	uint32_t first, last; /* paths of the first and last child; 0: there is none */
	uint32_t next;        /* path of the next sibling; 0: this is the last child */
};

void range_deinit(struct range *range)
{
	paths_deinit(&range->paths);
	free(range->sums);
	exits_sum_deinit(&range->exits);
	takers_sum_deinit(&range->takers);
}

static bool range_find_or_add(struct range *range, uint32_t parent, uint32_t frame, uint32_t *pathp)
{
	uint32_t n = (uint32_t)range->paths.n;

	if (!paths_find_or_add(&range->paths, parent, frame, pathp))
		return false;
	if (range->paths.n == n)
		return true;
	if (!vector_reserve(range->sums, range->capacity, n + 1))
		return false;
	range->sums[n] = (struct range_sum){ .ticks = 0 };
	if (!n)
		return true;
	if (range->sums[parent].last)
		range->sums[range->sums[parent].last].next = n;
	else
		range->sums[parent].first = n;
	range->sums[parent].last = n;
	return true;
}

static struct xtop_error *range_no_memory(void)
{
	return error_create("no memory for a range of time");
}

struct xtop_error *range_begin(struct range *range, const struct snapshot *first)
{
	uint32_t root;

	if (!range_find_or_add(range, 0, FRAME_ROOT, &root) ||
	    !takers_sum_add(&range->takers, snapshot_get_run(first)->takers))
		return range_no_memory();
	return NULL;
}

static double range_waits_ticks(const struct snapshot *before, const struct snapshot *now)
{
	if (!now->waits)
		return 0;
	return now->waits->span_ticks -
	       (!before->waits || snapshot_was_reset(before, now) ? 0 : before->waits->span_ticks);
}

struct xtop_error *range_add(struct range *range, const struct snapshot *before,
			     const struct history_moment *moment)
{
	uint32_t paths[HISTORY_MOMENT_NODES];

	for (size_t i = 0; i < moment->n_grown; i++) {
		const struct history_node *node = &moment->grown[i];

		if (!range_find_or_add(range, i ? paths[node->parent] : 0, node->frame, &paths[i]))
			return range_no_memory();
		range->sums[paths[i]].ticks += node->self_ticks;
		range->sums[paths[i]].samples += node->self_total;
	}
	range->waits_ticks += range_waits_ticks(before, moment->head);
	if (!exits_sum_add(&range->exits, snapshot_get_run(before)->exits,
			   snapshot_get_run(moment->head)->exits, moment->exits) ||
	    !takers_sum_add(&range->takers, snapshot_get_run(moment->head)->takers))
		return range_no_memory();
	return NULL;
}

/* The path that follows PATH in pre-order; 0: PATH was the last one. */
static uint32_t range_next(const struct range *range, uint32_t path, uint32_t *depth)
{
	if (range->sums[path].first) {
		++*depth;
		return range->sums[path].first;
	}
	while (path && !range->sums[path].next) {
		path = range->paths.list[path].parent;
		--*depth;
	}
	return path ? range->sums[path].next : 0;
}

static void range_fill(const struct range *range, struct snapshot *snapshot)
{
	uint32_t open[SNAPSHOT_MAX_DEPTH + 1] = { 0 }, path = 0, depth = 0, i = 0;

	do {
		const struct range_sum *sum = &range->sums[path];

		open[depth] = i;
		snapshot->nodes[i] = (struct snapshot_node){
			.frame = range->paths.list[path].frame,
			.parent = depth ? open[depth - 1] : 0,
			.end = i + 1,
			.depth = depth,
			.self_live = sum->ticks,
			.children_live = sum->ticks,
			.self_ticks = sum->ticks,
			.children_ticks = sum->ticks,
			.self_total = sum->samples,
			.children_total = sum->samples,
		};
		i++;
		path = range_next(range, path, &depth);
	} while (path);
	snapshot_nodes_close(snapshot->nodes, i);
	snapshot_nodes_sum(snapshot->nodes, i);
	snapshot->live_weight = snapshot->total_weight = snapshot->nodes[0].children_ticks;
}

struct xtop_error *range_build(struct range *range, const struct snapshot *first,
			       const struct snapshot *last, struct snapshot **snapshotp)
{
	/* Hypercalls are only known since the start, and events only now. */
	struct snapshot *snapshot = snapshot_create_like(last, range->paths.n, 0);

	if (!snapshot)
		return range_no_memory();
	range_fill(range, snapshot);
	counters_subtract(snapshot, first);
	/* Nothing tells what the samples between two moments are worth. */
	snapshot->worth_live = snapshot->worth_total = (struct batches_worth){ .samples = 0 };
	snapshot->started_ns = first->time_ns;
	snapshot->first_clocks = first->clocks;
	if (snapshot->waits)
		snapshot->waits->span_ticks = snapshot->waits->span_live = range->waits_ticks;
	if (snapshot->run) {
		snapshot->run->exits = exits_sum_build(&range->exits);
		snapshot->run->takers = takers_sum_build(&range->takers);
	}
	*snapshotp = snapshot;
	return NULL;
}
