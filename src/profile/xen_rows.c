/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells code of the guest and time in Xen apart; see xen_rows.h. Resolver's thread. */
#include "config.h"

#include "profile/xen_rows.h"

#include <math.h>
#include <stdlib.h>

#define XEN_ROWS_MAX (2U << 20) /* nodes of a snapshot; with more it gets no such rows */

/* Weights of one function, in ticks. */
struct xen_function {
	double self_live, self_ticks; /* the function's own: in guest code and in Xen */
	double xen_live, xen_ticks;   /* spent in Xen, as the trace says */
	size_t first_reason;          /* number of its first reason, plus 1; 0: it has none */
	size_t n_reasons;
};

/*
 * Weights of a reason for which one function exits, in ticks, all processes together, and all
 * reasons that have its name.
 */
struct xen_reason {
	double live, ticks;
	uint32_t frame; /* the frame with the name of the reason */
	size_t next; /* number of the function's next reason, plus 1; 0: none */
};

struct xen_rows {
	struct snapshot *snapshot;
	struct xen_function *functions; /* indexed by frame */
	struct xen_reason *reasons;
	size_t n_reasons;
	double live_scale, ticks_scale; /* ticks that a nanosecond of the trace stands for */
	uint32_t frame;
};

static struct xen_function *xen_function_of(const struct xen_rows *rows, uint32_t frame)
{
	return &rows->functions[frame_get_function(frames_get(rows->snapshot->frames, frame),
						   frame)];
}

/* The time that live weights stand for: a moment counts by the share that decay has left of it. */
static double xen_live_span_ns(double elapsed_ns, double half_life_ns)
{
	return half_life_ns > 0 ? half_life_ns / M_LN2 * (1 - exp2(-elapsed_ns / half_life_ns))
				: elapsed_ns;
}

/* The profile's ticks of one vCPU, on average. Ticks that were given up do not count. */
static double xen_count_ticks(const struct snapshot_run *run)
{
	double ticks = 0;

	for (unsigned i = 0; i < run->n_vcpus; i++)
		ticks += snapshot_vcpu_ticks(&run->vcpus[i]);
	return run->n_vcpus ? ticks / run->n_vcpus : 0;
}

/*
 * If Xen was traced for a part of the profile's time, the exits in that part stand for those of the
 * whole time.
 */
static void xen_rows_set_scales(struct xen_rows *rows, double half_life_ns)
{
	const struct snapshot *snapshot = rows->snapshot;
	const struct exits_table *exits = snapshot->run->exits;
	double elapsed_ns = (double)(snapshot->time_ns - snapshot->started_ns);
	double ticks = xen_count_ticks(snapshot->run);

	rows->ticks_scale = ticks / exits->span_ns;
	rows->live_scale = ticks / elapsed_ns * xen_live_span_ns(elapsed_ns, half_life_ns) /
			   exits->live_span_ns;
}

/* FUNCTION's reason that is called FRAME, which may be a new one. */
static struct xen_reason *xen_rows_find_reason(struct xen_rows *rows, struct xen_function *function,
					       uint32_t frame)
{
	size_t at = function->first_reason;

	while (at && rows->reasons[at - 1].frame != frame)
		at = rows->reasons[at - 1].next;
	if (at)
		return &rows->reasons[at - 1];
	rows->reasons[rows->n_reasons++] =
		(struct xen_reason){ .frame = frame, .next = function->first_reason };
	function->first_reason = rows->n_reasons;
	function->n_reasons++;
	return &rows->reasons[rows->n_reasons - 1];
}

static void xen_rows_add_cause(struct xen_rows *rows, const struct exits_cause *cause)
{
	struct xen_function *function = xen_function_of(rows, cause->place.frame);
	struct xen_reason *reason = xen_rows_find_reason(
		rows, function, rows->snapshot->run->exits->rows[cause->row].frame);
	double live = cause->live.ns * rows->live_scale;
	double ticks = cause->total.ns * rows->ticks_scale;

	reason->live += live;
	reason->ticks += ticks;
	function->xen_live += live;
	function->xen_ticks += ticks;
}

/* Sums up each function's weights. */
static void xen_rows_sum(struct xen_rows *rows)
{
	const struct snapshot *snapshot = rows->snapshot;
	const struct exits_table *exits = snapshot->run->exits;

	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		struct xen_function *function = xen_function_of(rows, snapshot->nodes[i].frame);

		function->self_live += snapshot->nodes[i].self_live;
		function->self_ticks += snapshot->nodes[i].self_ticks;
	}
	for (size_t i = exits->n_causes; i-- > 0;) {
		const struct exits_cause *cause = &exits->causes[i];

		if (cause->place.frame < snapshot->n_frames && cause->total.ns > 0 &&
		    exits->rows[cause->row].frame < snapshot->n_frames)
			xen_rows_add_cause(rows, cause);
	}
}

/*
 * The share of a function's time in Xen that one chain of its callers gets. The function's own
 * weight is SELF, the chain has WEIGHT of it, and XEN was spent in Xen. If XEN is larger than SELF,
 * it is scaled down to SELF.
 */
static double xen_factor(double weight, double self, double xen)
{
	return self > 0 && xen > 0 ? weight / fmax(self, xen) : 0;
}

/* Moves the part of NODE's own weight that was spent in Xen for REASON to ROW, below XEN. */
static void xen_rows_move(const struct xen_rows *rows, const struct xen_reason *reason,
			  struct snapshot_node *node, struct snapshot_node *xen,
			  struct snapshot_node *row)
{
	const struct xen_function *function = xen_function_of(rows, node->frame);
	/* What NODE had before: its own weight and what has moved already. */
	double all_live = node->self_live + xen->children_live;
	double all_ticks = node->self_ticks + xen->children_ticks;
	double live =
		reason->live * xen_factor(all_live, function->self_live, function->xen_live);
	double ticks =
		reason->ticks * xen_factor(all_ticks, function->self_ticks, function->xen_ticks);
	uint64_t n =
		(uint64_t)((double)(node->self_total + xen->children_total) * ticks / all_ticks);

	live = fmin(live, node->self_live);
	ticks = fmin(ticks, node->self_ticks);
	n = n < node->self_total ? n : node->self_total;
	*row = (struct snapshot_node){
		.frame = reason->frame,
		.depth = node->depth + 2,
		.self_live = live,
		.children_live = live,
		.self_ticks = ticks,
		.children_ticks = ticks,
		.self_total = n,
		.children_total = n,
	};
	xen->children_live += live;
	xen->children_ticks += ticks;
	xen->children_total += n;
	node->self_live -= live;
	node->self_ticks -= ticks;
	node->self_total -= n;
}

/* How many rows NODE gets: none without weight of its own, or if its function does not exit. */
static size_t xen_rows_count(const struct xen_rows *rows, const struct snapshot_node *node)
{
	size_t n = xen_function_of(rows, node->frame)->n_reasons;

	return node->self_ticks > 0 && n && node->depth + 1 < SNAPSHOT_MAX_DEPTH ? n + 1 : 0;
}

/* Fills in the rows of the node at NODES[AT], which follow the node. */
static void xen_rows_fill(const struct xen_rows *rows, struct snapshot_node *nodes, uint32_t at)
{
	struct snapshot_node *node = &nodes[at], *xen = &nodes[at + 1];
	uint32_t n = at + 2;

	*xen = (struct snapshot_node){ .frame = rows->frame,
				       .depth = node->depth + 1,
				       .parent = at };
	for (size_t i = xen_function_of(rows, node->frame)->first_reason; i;
	     i = rows->reasons[i - 1].next) {
		xen_rows_move(rows, &rows->reasons[i - 1], node, xen, &nodes[n]);
		nodes[n].parent = at + 1;
		nodes[n].end = n + 1;
		n++;
	}
	xen->end = n;
}

/* Copies the nodes to NODES, with the new rows. PLACES: each node's new index. */
static void xen_rows_copy(const struct xen_rows *rows, struct snapshot_node *nodes,
			  uint32_t *places)
{
	const struct snapshot *snapshot = rows->snapshot;
	uint32_t at = 0;

	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];
		size_t n = xen_rows_count(rows, node);

		places[i] = at;
		nodes[at] = *node;
		nodes[at].parent = places[node->parent];
		if (n)
			xen_rows_fill(rows, nodes, at);
		at += 1 + (uint32_t)n;
	}
	places[snapshot->n_nodes] = at;
	for (size_t i = 0; i < snapshot->n_nodes; i++)
		nodes[places[i]].end = places[snapshot->nodes[i].end];
}

/* Best effort: without memory there are no such rows. */
static void xen_rows_insert(const struct xen_rows *rows)
{
	struct snapshot *snapshot = rows->snapshot;
	uint32_t *places = calloc(snapshot->n_nodes + 1, sizeof(*places));
	struct snapshot_node *nodes;
	size_t n = snapshot->n_nodes;

	for (size_t i = 0; i < snapshot->n_nodes; i++)
		n += xen_rows_count(rows, &snapshot->nodes[i]);
	nodes = n <= XEN_ROWS_MAX ? calloc(n, sizeof(*nodes)) : NULL;
	if (nodes && places) {
		xen_rows_copy(rows, nodes, places);
		free(snapshot->nodes);
		snapshot->nodes = nodes;
		snapshot->n_nodes = n;
		nodes = NULL;
	}
	free(nodes);
	free(places);
}

void xen_rows_add(struct snapshot *snapshot, uint32_t frame, uint64_t half_life_ns)
{
	struct exits_table *exits = snapshot->run->exits;
	struct xen_rows rows = { .snapshot = snapshot, .frame = frame };

	if (!exits || !exits->tracing || !(exits->live_span_ns > 0) || !(exits->span_ns > 0) ||
	    snapshot->time_ns <= snapshot->started_ns || !snapshot->n_nodes ||
	    frame >= snapshot->n_frames)
		return;
	rows.functions = calloc(snapshot->n_frames, sizeof(*rows.functions));
	rows.reasons = calloc(exits->n_causes + 1, sizeof(*rows.reasons));
	if (rows.functions && rows.reasons) {
		xen_rows_set_scales(&rows, (double)half_life_ns);
		xen_rows_sum(&rows);
		xen_rows_insert(&rows);
		for (size_t i = 0; i < snapshot->n_nodes; i++)
			if (snapshot->nodes[i].frame == frame)
				exits->xen_ticks += snapshot->nodes[i].children_live;
	}
	free(rows.functions);
	free(rows.reasons);
}
