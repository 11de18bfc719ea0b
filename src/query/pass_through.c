/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pass-through functions; see pass_through.h. One pass over the nodes of a process sums each
 * function's time, and finds the one callee that may have most of it there. A second pass sums the
 * time of that callee. Only calls by a function's outermost nodes count, so that recursion counts
 * once.
 *
 * The callee comes from a vote by weight (Boyer and Moore, "MJRTY", 1981): each call by F votes
 * for its callee against the callee that leads. A callee that has more than half of all votes
 * leads at the end. The second pass counts its votes.
 */
#include "config.h"

#include "xtop/query/pass_through.h"

#include <stdlib.h>
#include <string.h>

#include "query/remove_functions.h"
#include "xtop/base/cleanup.h"

#define MAX_UNITS 3 /* one inside of the other: the guest, a process, a thread */

/* Two weights: of the live samples, and of all since start. */
struct tick_sums {
	double live, all;
};

struct pass_through_function {
	uint32_t at, until;  /* the last outermost node, and the end of its subtree */
	uint32_t callee;     /* leads in the vote of a process; FRAME_ROOT: no callee yet */
	double lead;         /* CALLEE's lead in the vote, in ticks since start */
	struct tick_sums own, children;
	struct tick_sums callees; /* what each process has of CALLEE below this function */
	struct tick_sums starts;  /* the children at nodes through which most chains of a unit go */
};

/* A part of the guest: its whole, a process, or a named thread. Its chains often begin alike. */
struct pass_through_unit {
	uint32_t end;            /* index after the unit's subtree */
	struct tick_sums chains; /* the chains that begin in the unit itself */
};

struct pass_through {
	const struct snapshot *from;
	struct pass_through_function *functions; /* one element per frame */
	struct pass_through_unit units[MAX_UNITS];
	unsigned n_units;
};

static void ticks_add_children(struct tick_sums *ticks, const struct snapshot_node *node)
{
	ticks->live += node->children_live;
	ticks->all += node->children_ticks;
}

static bool ticks_reach(const struct tick_sums *part, const struct tick_sums *whole, double share)
{
	return part->live >= share * whole->live && part->all >= share * whole->all;
}

static bool frame_is_unit(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_ROOT || frame->kind == FRAME_KIND_OWNER;
}

static bool frame_is_named_function(const struct frame *frame)
{
	return frame_is_function(frame) && !frame->unknown;
}

static const struct frame *pass_through_frame(const struct pass_through *pass, uint32_t index)
{
	return frames_get(pass->from->frames, pass->from->nodes[index].frame);
}

/* --- where chains start ----------------------------------------------------------------------- */

/*
 * Enters the unit of node INDEX, and sums the chains that begin in the unit itself. Chains below
 * [truncated] do not count: where they begin is not known.
 */
static void pass_through_enter_unit(struct pass_through *pass, uint32_t index)
{
	const struct snapshot_node *nodes = pass->from->nodes;
	struct pass_through_unit *unit = &pass->units[pass->n_units++];

	*unit = (struct pass_through_unit){ .end = nodes[index].end };
	for (uint32_t at = index + 1; at < unit->end; at = nodes[at].end) {
		const struct frame *frame = pass_through_frame(pass, at);

		if (frame_is_function(frame))
			ticks_add_children(&unit->chains, &nodes[at]);
	}
}

static void pass_through_leave_units(struct pass_through *pass, uint32_t index)
{
	while (pass->n_units && index >= pass->units[pass->n_units - 1].end)
		pass->n_units--;
}

static bool pass_through_is_start(const struct pass_through *pass, const struct snapshot_node *node)
{
	struct tick_sums children = { node->children_live, node->children_ticks };

	return pass->n_units && ticks_reach(&children, &pass->units[pass->n_units - 1].chains,
					    PASS_THROUGH_MOST);
}

/* --- the two passes --------------------------------------------------------------------------- */

static void function_vote(struct pass_through_function *function, uint32_t callee, double ticks)
{
	if (function->callee == callee) {
		function->lead += ticks;
	} else if (function->lead >= ticks) {
		function->lead -= ticks;
	} else {
		function->lead = ticks - function->lead;
		function->callee = callee;
	}
}

/* False: the node lies below another node of its function, which already has its time. */
static bool function_enter(struct pass_through_function *function, uint32_t index,
			   const struct snapshot_node *node)
{
	if (index < function->until)
		return false;
	function->at = index;
	function->until = node->end;
	return true;
}

/* The function that calls node INDEX. NULL: the call does not come from its outermost node. */
static struct pass_through_function *pass_through_caller(struct pass_through *pass, uint32_t index)
{
	uint32_t parent = pass->from->nodes[index].parent;
	struct pass_through_function *caller =
		&pass->functions[pass->from->nodes[parent].frame];

	return index && caller->at == parent ? caller : NULL;
}

static void pass_through_weigh(struct pass_through *pass, uint32_t index)
{
	const struct snapshot_node *node = &pass->from->nodes[index];
	struct pass_through_function *function = &pass->functions[node->frame];
	struct pass_through_function *caller = pass_through_caller(pass, index);

	if (caller)
		function_vote(caller, node->frame, node->children_ticks);
	function->own.live += node->self_live;
	function->own.all += node->self_ticks;
	if (!function_enter(function, index, node))
		return;
	ticks_add_children(&function->children, node);
	if (pass_through_is_start(pass, node))
		ticks_add_children(&function->starts, node);
}

static void pass_through_sum_process(struct pass_through *pass, uint32_t from, uint32_t end)
{
	for (uint32_t i = from; i < end; i++) {
		pass_through_leave_units(pass, i);
		if (frame_is_unit(pass_through_frame(pass, i)) && pass->n_units < MAX_UNITS)
			pass_through_enter_unit(pass, i);
		pass_through_weigh(pass, i);
	}
}

/*
 * Whether the call by CALLER to node INDEX is one to the callee that leads. A function that mostly
 * calls itself hands nothing on, and neither does one with only [evicted] below it.
 */
static bool pass_through_calls_leader(const struct pass_through *pass,
				      const struct pass_through_function *caller, uint32_t index)
{
	const uint32_t callee = pass->from->nodes[index].frame;

	return caller->callee == callee && caller != &pass->functions[callee] &&
	       frame_is_function(pass_through_frame(pass, index));
}

static void pass_through_sum_callees(struct pass_through *pass, uint32_t from, uint32_t end)
{
	const struct snapshot_node *nodes = pass->from->nodes;

	for (uint32_t i = from; i < end; i++)
		pass->functions[nodes[i].frame].until = 0;
	for (uint32_t i = from; i < end; i++) {
		struct pass_through_function *caller = pass_through_caller(pass, i);

		if (caller && pass_through_calls_leader(pass, caller, i))
			ticks_add_children(&caller->callees, &nodes[i]);
		function_enter(&pass->functions[nodes[i].frame], i, &nodes[i]);
	}
	for (uint32_t i = from; i < end; i++) {
		pass->functions[nodes[i].frame].callee = FRAME_ROOT;
		pass->functions[nodes[i].frame].lead = 0;
	}
}

/* The index after the nodes from INDEX on that are one process's, or no process's. */
static uint32_t pass_through_find_end(const struct pass_through *pass, uint32_t index)
{
	if (pass_through_frame(pass, index)->kind == FRAME_KIND_OWNER)
		return pass->from->nodes[index].end;
	do
		index++;
	while (index < pass->from->n_nodes &&
	       pass_through_frame(pass, index)->kind != FRAME_KIND_OWNER);
	return index;
}

static void pass_through_sum(struct pass_through *pass)
{
	for (uint32_t i = 0, end; i < pass->from->n_nodes; i = end) {
		end = pass_through_find_end(pass, i);
		pass_through_sum_process(pass, i, end);
		pass_through_sum_callees(pass, i, end);
	}
}

/* --- which functions -------------------------------------------------------------------------- */

static bool pass_through_is_folded(const struct pass_through *pass, uint32_t id)
{
	const struct pass_through_function *function = &pass->functions[id];
	struct tick_sums left = { function->children.live - function->own.live,
				  function->children.all - function->own.all };

	return function->children.all > 0 &&
	       frame_is_named_function(frames_get(pass->from->frames, id)) &&
	       ticks_reach(&left, &function->children, 1 - PASS_THROUGH_OWN) &&
	       (ticks_reach(&function->callees, &function->children, PASS_THROUGH_MOST) ||
		ticks_reach(&function->starts, &function->children, PASS_THROUGH_MOST));
}

enum { MARK_FOLDED = 1, MARK_STAYS = 2 };

/* Marks the functions that have nodes. Returns how many are folded away. */
static size_t pass_through_mark(const struct pass_through *pass, uint8_t *marks)
{
	size_t n = 0;

	for (uint32_t i = 0; i < pass->from->n_nodes; i++) {
		uint32_t id = pass->from->nodes[i].frame;

		if (marks[id])
			continue;
		marks[id] = pass_through_is_folded(pass, id) ? MARK_FOLDED : MARK_STAYS;
		n += marks[id] == MARK_FOLDED;
	}
	return n;
}

/* *TO becomes FROM without the functions that are MARK_FOLDED in MARKS. */
static struct xtop_error *pass_through_remove(const struct snapshot *from, const uint8_t *marks,
						struct snapshot *to)
{
	struct snapshot made = *from;
	struct xtop_error *error;

	made.nodes = snapshot_nodes_create(from->n_nodes);
	if (!made.nodes)
		return error_create("no memory to fold functions of %zu nodes away", from->n_nodes);
	memcpy(made.nodes, from->nodes, from->n_nodes * sizeof(*made.nodes));
	error = nodes_remove_functions(&made, marks, MARK_FOLDED);
	if (error)
		free(made.nodes);
	else
		*to = made;
	return error;
}

struct xtop_error *pass_through_fold(const struct snapshot *from, struct snapshot *to, size_t *np)
{
	_cleanup_free_ struct pass_through_function *functions =
		calloc(from->n_frames, sizeof(*functions));
	_cleanup_free_ uint8_t *marks = calloc(from->n_frames, sizeof(*marks));
	struct pass_through pass = { .from = from, .functions = functions };
	struct xtop_error *error;
	size_t n;

	if (!functions || !marks)
		return error_create("no memory to fold functions of %zu nodes away", from->n_nodes);
	pass_through_sum(&pass);
	n = pass_through_mark(&pass, marks);
	error = pass_through_remove(from, marks, to);
	if (!error)
		*np = n;
	return error;
}

/* The functions that were folded away have nodes in FROM, but not in FOLDED. */
struct xtop_error *pass_through_fold_same(const struct snapshot *from,
					  const struct snapshot *folded,
					  const struct snapshot *other, struct snapshot *to)
{
	uint32_t n = from->n_frames > other->n_frames ? from->n_frames : other->n_frames;
	_cleanup_free_ uint8_t *marks = calloc(n, sizeof(*marks));

	if (!marks)
		return error_create("no memory to fold functions of %zu nodes away",
				    other->n_nodes);
	for (size_t i = 0; i < from->n_nodes; i++)
		marks[from->nodes[i].frame] = MARK_FOLDED;
	for (size_t i = 0; i < folded->n_nodes; i++)
		marks[folded->nodes[i].frame] = MARK_STAYS;
	return pass_through_remove(other, marks, to);
}

void pass_through_deinit(struct snapshot *to)
{
	free(to->nodes);
	to->nodes = NULL;
}
