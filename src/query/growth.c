/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds which paths of a profile grew; see growth.h. Each path remembers the weight that it had in
 * the last snapshot.
 *
 * Three things move weight from path to path: the profile drops paths into [evicted] to make room,
 * frames get better names, and rows "[xen]" take from functions the share of their time that the
 * trace tells so far. Moved weight looks new where it arrives. But the sum of all new weight is
 * known: it is the growth of the whole profile. If more weight than that looks new, the new weight
 * of [evicted], and of paths that the last snapshot did not have, is lowered by one factor; with
 * rows "[xen]" that of all paths.
 */
#include "config.h"

#include "query/growth.h"

#include <math.h>
#include <stdlib.h>

#include "query/paths.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/vector.h"

#define GROWTH_SPARE_PATHS 4096 /* dropped paths that the set may keep before it is built anew */

struct growth_before {
	double ticks;
	uint32_t samples;
	uint32_t update; /* number of the last update whose snapshot had the path; 0: none */
};

struct growth {
	struct paths paths;
	struct growth_before *before; /* one element per path */
	size_t before_capacity;
	double whole;        /* ticks of all paths in the last snapshot */
	bool had_xen;        /* the last snapshot had rows "[xen]" */
	uint32_t update;     /* number of the last update; 0: all weight is new */
	uint32_t n_updates;  /* number of updates so far */
	uint64_t started_ns; /* started_ns of the last snapshot */
};

/* What one update finds out about a node of the snapshot. */
struct growth_node {
	double own, all; /* new ticks: of the node itself; of its subtree */
	uint32_t path, samples;
	bool moved; /* the new ticks may have come from another path */
};

struct xtop_error *growth_create(struct growth **growthp)
{
	*growthp = calloc(1, sizeof(**growthp));
	return *growthp ? NULL : error_create("out of memory");
}

void growth_destroy(struct growth *growth)
{
	if (!growth)
		return;
	paths_deinit(&growth->paths);
	free(growth->before);
	free(growth);
}

size_t growth_memory_bytes(const struct growth *growth)
{
	return sizeof(*growth) + paths_memory_bytes(&growth->paths) +
	       growth->before_capacity * sizeof(*growth->before);
}

/* --- what is new in each node ----------------------------------------------------------------- */

/*
 * If the last snapshot did not have the path, all is new, even if an earlier snapshot had it. A
 * path with less weight than before was dropped meanwhile, unless there are rows "[xen]", HAS_XEN.
 */
static void growth_compare(const struct growth *growth, const struct snapshot_node *node,
			   bool has_xen, struct growth_node *new)
{
	const struct growth_before *before = &growth->before[new->path];
	bool known = before->update && before->update == growth->update;

	new->own = node->self_ticks;
	new->samples = (uint32_t)node->self_total;
	new->moved = !known || has_xen || node->frame == FRAME_EVICTED;
	if (known && (has_xen || node->self_ticks >= before->ticks)) {
		new->own = fmax(0, new->own - before->ticks);
		/* fewer than before: a row whose samples are a rounded share of its time */
		new->samples -= new->samples < before->samples ? new->samples : before->samples;
	}
}

/* Finds or adds the paths of all nodes. False: out of memory. */
static bool growth_find_paths(struct growth *growth, const struct snapshot *snapshot,
			      struct growth_node *news)
{
	for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];
		size_t n = growth->paths.n;

		if (!paths_find_or_add(&growth->paths, i ? news[node->parent].path : 0, node->frame,
				       &news[i].path))
			return false;
		if (growth->paths.n == n)
			continue;
		if (!vector_reserve(growth->before, growth->before_capacity, n + 1))
			return false;
		growth->before[n] = (struct growth_before){ .update = 0 };
	}
	return true;
}

static void growth_remember(struct growth *growth, const struct snapshot *snapshot,
			    const struct growth_node *news)
{
	for (size_t i = 0; i < snapshot->n_nodes; i++)
		growth->before[news[i].path] =
			(struct growth_before){ snapshot->nodes[i].self_ticks,
						(uint32_t)snapshot->nodes[i].self_total,
						growth->update };
	growth->whole = snapshot->total_weight;
	growth->started_ns = snapshot->started_ns;
}

/* Forgets all paths: for the next update all weight is new. */
static void growth_forget(struct growth *growth)
{
	paths_deinit(&growth->paths);
	growth->whole = 0;
	growth->update = 0;
}

/* Builds the set anew if it has many paths that the profile dropped. False: out of memory. */
static bool growth_sweep(struct growth *growth, const struct snapshot *snapshot,
			 struct growth_node *news)
{
	if (growth->paths.n <= snapshot->n_nodes + snapshot->n_nodes / 4 + GROWTH_SPARE_PATHS)
		return true;
	paths_deinit(&growth->paths);
	if (!growth_find_paths(growth, snapshot, news))
		return false;
	growth_remember(growth, snapshot, news);
	return true;
}

/* There are GROWN new ticks. If more look new, lowers those that may have moved by the excess. */
static void growth_correct(struct growth_node *news, size_t n, double grown)
{
	double moved = 0, all = 0, factor;

	for (size_t i = 0; i < n; i++) {
		all += news[i].own;
		moved += news[i].moved ? news[i].own : 0;
	}
	if (all <= grown * (1 + 1e-9) || !(moved > 0))
		return;
	factor = moved > all - grown ? (moved - (all - grown)) / moved : 0;
	for (size_t i = 0; i < n; i++) {
		if (!news[i].moved)
			continue;
		news[i].own *= factor;
		news[i].samples = (uint32_t)(news[i].samples * factor + 0.5);
	}
}

/* --- the nodes that grew ---------------------------------------------------------------------- */

/* Sums the new ticks of each subtree. Returns how many nodes grew; the root always counts. */
static size_t growth_sum(const struct snapshot *snapshot, struct growth_node *news)
{
	size_t n = 0;

	for (size_t i = snapshot->n_nodes; i-- > 0;) {
		news[i].all += news[i].own;
		if (i)
			news[snapshot->nodes[i].parent].all += news[i].all;
		n += !i || news[i].all > 0;
	}
	return n;
}

/* Copies the nodes that grew. open[d]: the last node of depth d that was copied. */
static void growth_fill(const struct snapshot *snapshot, const struct growth_node *news,
			struct snapshot *grown)
{
	uint32_t open[SNAPSHOT_MAX_DEPTH + 1] = { 0 }, at = 0;

	for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		if (i && !(news[i].all > 0)) {
			i = node->end - 1;
			continue;
		}
		open[node->depth] = at;
		grown->nodes[at] = (struct snapshot_node){ .frame = node->frame,
							   .parent = i ? open[node->depth - 1] : 0,
							   .end = at + 1,
							   .depth = node->depth,
							   .self_live = news[i].own,
							   .children_live = news[i].own,
							   .self_ticks = news[i].own,
							   .children_ticks = news[i].own,
							   .self_total = news[i].samples,
							   .children_total = news[i].samples };
		at++;
	}
	snapshot_nodes_close(grown->nodes, at);
	snapshot_nodes_sum(grown->nodes, at);
	grown->frames = snapshot->frames;
	grown->n_frames = snapshot->n_frames;
}

struct snapshot *growth_update(struct growth *growth, const struct snapshot *snapshot)
{
	_cleanup_free_ struct growth_node *news = calloc(snapshot->n_nodes, sizeof(*news));
	struct snapshot *grown;
	const struct exits_table *exits = snapshot->run ? snapshot->run->exits : NULL;
	bool has_xen = exits && exits->xen_ticks > 0;
	double whole = snapshot->total_weight;

	if (snapshot->started_ns != growth->started_ns) /* the profile was reset */
		growth->update = 0;
	if (growth->update && whole >= growth->whole)
		whole -= growth->whole;
	if (!news || !growth_find_paths(growth, snapshot, news)) {
		growth_forget(growth);
		return NULL;
	}
	for (uint32_t i = 0; i < snapshot->n_nodes; i++)
		growth_compare(growth, &snapshot->nodes[i], has_xen || growth->had_xen, &news[i]);
	growth->had_xen = has_xen;
	growth_correct(news, snapshot->n_nodes, whole);
	grown = snapshot_create(growth_sum(snapshot, news));
	if (grown)
		growth_fill(snapshot, news, grown);
	growth->update = ++growth->n_updates;
	growth_remember(growth, snapshot, news);
	if (!growth_sweep(growth, snapshot, news))
		growth_forget(growth);
	return grown;
}
