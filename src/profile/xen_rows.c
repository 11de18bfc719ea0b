/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells code of the guest and time in Xen apart; see xen_rows.h. Resolver's thread. */
#include "config.h"

#include "profile/xen_rows.h"

#include <math.h>
#include <stdlib.h>

/* Weights of one function, in ticks. */
struct xen_function {
	double self_live, self_ticks; /* all of it */
	double xen_live, xen_ticks;   /* what was spent in Xen */
};

struct xen_rows {
	struct snapshot *snapshot;
	struct xen_function *functions; /* by frame */
	uint32_t frame;
};

static struct xen_function *xen_function_of(const struct xen_rows *rows, uint32_t frame)
{
	return &rows->functions[frame_get_function(frames_get(rows->snapshot->frames, frame),
						   frame)];
}

static double xen_part(double xen, double self)
{
	return self > 0 ? fmin(xen / self, 1) : 0;
}

/* The time in which live weights were gathered, each moment with what is left of its weight. */
static double xen_live_span_ns(double elapsed_ns, double half_life_ns)
{
	return half_life_ns > 0 ? half_life_ns / M_LN2 * (1 - exp2(-elapsed_ns / half_life_ns))
				: elapsed_ns;
}

/*
 * Sums up what each function has. Xen may have been traced for a part of the profile's time only:
 * then the exits of that part stand for all.
 */
static void xen_rows_sum(struct xen_rows *rows, double ns_per_tick, double half_life_ns)
{
	const struct snapshot *snapshot = rows->snapshot;
	const struct exits_table *exits = snapshot->run->exits;
	double elapsed_ns = (double)(snapshot->time_ns - snapshot->started_ns);
	double live = xen_live_span_ns(elapsed_ns, half_life_ns) / exits->live_span_ns;
	double ticks = elapsed_ns / exits->span_ns;

	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		struct xen_function *function = xen_function_of(rows, snapshot->nodes[i].frame);

		function->self_live += snapshot->nodes[i].self_live;
		function->self_ticks += snapshot->nodes[i].self_ticks;
	}
	for (size_t i = 0; i < exits->n_causes; i++) {
		const struct exits_cause *cause = &exits->causes[i];
		struct xen_function *function;

		if (cause->frame >= snapshot->n_frames)
			continue;
		function = xen_function_of(rows, cause->frame);
		function->xen_live += cause->live.ns * live / ns_per_tick;
		function->xen_ticks += cause->total.ns * ticks / ns_per_tick;
	}
}

/* Moves the part of NODE's own weight that was spent in Xen to XEN. Returns false if it is 0. */
static bool xen_rows_split(const struct xen_rows *rows, struct snapshot_node *node,
			   struct snapshot_node *xen)
{
	const struct xen_function *function = xen_function_of(rows, node->frame);
	double live = node->self_live * xen_part(function->xen_live, function->self_live);
	double ticks = node->self_ticks * xen_part(function->xen_ticks, function->self_ticks);
	uint64_t n = node->self_ticks > 0
			     ? (uint64_t)((double)node->self_total * ticks / node->self_ticks + 0.5)
			     : 0;

	if (!(ticks > 0))
		return false;
	*xen = (struct snapshot_node){
		.frame = rows->frame,
		.depth = node->depth + 1,
		.self_live = live,
		.children_live = live,
		.self_ticks = ticks,
		.children_ticks = ticks,
		.self_total = n,
		.children_total = n,
	};
	node->self_live -= live;
	node->self_ticks -= ticks;
	node->self_total -= n;
	return true;
}

/* Whether NODE gets a row: it has weight of its own, and its function exits. */
static bool xen_rows_wants(const struct xen_rows *rows, const struct snapshot_node *node)
{
	return node->self_ticks > 0 && xen_function_of(rows, node->frame)->xen_ticks > 0 &&
	       node->depth < SNAPSHOT_MAX_DEPTH;
}

/* Copies the nodes to NODES, each new row just below its node. PLACES: where each node went. */
static void xen_rows_copy(const struct xen_rows *rows, struct snapshot_node *nodes,
			  uint32_t *places)
{
	const struct snapshot *snapshot = rows->snapshot;
	uint32_t n = 0;

	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];
		uint32_t at = n++;

		places[i] = at;
		nodes[at] = *node;
		nodes[at].parent = places[node->parent];
		if (!xen_rows_wants(rows, node) || !xen_rows_split(rows, &nodes[at], &nodes[n]))
			continue;
		nodes[n].parent = at;
		nodes[n].end = n + 1;
		n++;
	}
	places[snapshot->n_nodes] = n;
	for (size_t i = 0; i < snapshot->n_nodes; i++)
		nodes[places[i]].end = places[snapshot->nodes[i].end];
}

/* Best effort: without memory there are no such rows. */
static void xen_rows_insert(const struct xen_rows *rows)
{
	struct snapshot *snapshot = rows->snapshot;
	struct snapshot_node *nodes = calloc(2 * snapshot->n_nodes, sizeof(*nodes));
	uint32_t *places = calloc(snapshot->n_nodes + 1, sizeof(*places));

	if (nodes && places) {
		xen_rows_copy(rows, nodes, places);
		free(snapshot->nodes);
		snapshot->nodes = nodes;
		snapshot->n_nodes = places[snapshot->n_nodes];
		nodes = NULL;
	}
	free(nodes);
	free(places);
}

void xen_rows_add(struct snapshot *snapshot, uint32_t frame, double ns_per_tick,
		  uint64_t half_life_ns)
{
	struct exits_table *exits = snapshot->run->exits;
	struct xen_rows rows = { .snapshot = snapshot, .frame = frame };

	if (!exits || !exits->tracing || !(exits->live_span_ns > 0) || !(exits->span_ns > 0) ||
	    !(ns_per_tick > 0) || !snapshot->n_nodes || frame >= snapshot->n_frames)
		return;
	rows.functions = calloc(snapshot->n_frames, sizeof(*rows.functions));
	if (!rows.functions)
		return;
	xen_rows_sum(&rows, ns_per_tick, (double)half_life_ns);
	xen_rows_insert(&rows);
	for (size_t i = 0; i < snapshot->n_nodes; i++)
		if (snapshot->nodes[i].frame == frame)
			exits->xen_ticks += snapshot->nodes[i].self_live;
	free(rows.functions);
}
