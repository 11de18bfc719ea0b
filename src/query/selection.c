/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a snapshot; see selection.h. Two passes over the nodes in pre-order. The first
 * pass removes the weight of stacks that do not count. If a node meets a condition, its whole
 * subtree meets the condition, so the pass remembers for each condition where that subtree ends.
 * The second pass removes hidden nodes (remove_functions.h).
 */
#include "config.h"

#include "xtop/query/selection.h"

#include <stdlib.h>
#include <string.h>

#include "query/remove_functions.h"
#include "xtop/base/cleanup.h"
#include "xtop/query/waits.h"

bool selection_is_all(const struct selection *selection)
{
	return !selection->filter && selection->process == FRAME_NONE && !selection->cgroup &&
	       !selection->module && !selection->hide_kernel && !selection->hide_user &&
	       !selection->hide_idle;
}

/* --- which stacks ----------------------------------------------------------------------------- */

static bool selection_is_in_module(const struct selection *selection, const struct frame *frame)
{
	if (!frame_is_function(frame))
		return false;
	return frame->module == selection->module || !strcmp(frame->module, selection->module);
}

static bool selection_is_in_cgroup(const struct selection *selection, const struct owner *owner)
{
	return owner && owner->kind == OWNER_PROCESS && !strcmp(owner->cgroup, selection->cgroup);
}

static bool selection_hides(const struct selection *selection, const struct frame *frame)
{
	return (selection->hide_kernel && frame->kind == FRAME_KIND_KERNEL) ||
	       (selection->hide_user && frame->kind != FRAME_KIND_KERNEL &&
		frame_is_function(frame));
}

/* Which conditions a frame meets. Computed once for each frame: there are far more nodes. */
enum selection_met {
	SELECTION_ASKED = 1, /* the other bits are known */
	SELECTION_PROCESS = 2,
	SELECTION_MODULE = 4,
	SELECTION_HIDDEN = 8,
	SELECTION_CGROUP = 16,
};

static uint8_t selection_ask(const struct selection *selection, const struct snapshot *from,
			     uint32_t frame)
{
	uint8_t met = SELECTION_ASKED;

	if (selection->process == FRAME_NONE || frame == selection->process)
		met |= SELECTION_PROCESS;
	if (!selection->cgroup ||
	    selection_is_in_cgroup(selection,
				   frames_get_owner(from->frames, frames_get(from->frames, frame))))
		met |= SELECTION_CGROUP;
	if (!selection->module ||
	    selection_is_in_module(selection, frames_get(from->frames, frame)))
		met |= SELECTION_MODULE;
	if (selection_hides(selection, frames_get(from->frames, frame)))
		met |= SELECTION_HIDDEN;
	return met;
}

/* For each condition: the end of the last subtree that meets it. */
struct selection_open {
	uint32_t process, cgroup, module;
	struct filter_walk filter;
};

/* Whether the stack of node INDEX counts. The subtree of the node ends at END. */
static bool selection_counts(uint8_t met, uint32_t index, uint32_t end,
			     struct selection_open *open)
{
	if ((met & SELECTION_PROCESS) && index >= open->process)
		open->process = end;
	if ((met & SELECTION_CGROUP) && index >= open->cgroup)
		open->cgroup = end;
	if ((met & SELECTION_MODULE) && index >= open->module)
		open->module = end;
	return index < open->process && index < open->cgroup && index < open->module;
}

/*
 * Copies the nodes to TO; only stacks that count have weight. CLASSES: stacks that wait for work do
 * not count; NULL: they do.
 */
static void selection_weigh(const struct selection *selection, const struct snapshot *from,
			    const struct wait_classes *classes, uint8_t *asked,
			    struct snapshot_node *to)
{
	struct selection_open open = { 0 };

	for (uint32_t i = 0; i < from->n_nodes; i++) {
		const struct snapshot_node *node = &from->nodes[i];
		uint8_t *met = &asked[node->frame];
		bool counts;

		if (!*met)
			*met = selection_ask(selection, from, node->frame);
		counts = selection_counts(*met, i, node->end, &open);
		if (selection->filter &&
		    !filter_walk_passes(selection->filter, from, &open.filter, i))
			counts = false;
		if (counts && classes && snapshot_node_counts_self(node))
			counts = !waits_site_of(from, classes, i).idle;
		to[i] = *node;
		to[i].self_live = to[i].children_live = counts ? node->self_live : 0;
		to[i].self_ticks = to[i].children_ticks = counts ? node->self_ticks : 0;
		to[i].self_total = to[i].children_total = counts ? node->self_total : 0;
	}
	snapshot_nodes_sum(to, from->n_nodes);
}

struct xtop_error *selection_apply(const struct selection *selection, const struct snapshot *from,
				   struct snapshot *to)
{
	_cleanup_free_ uint8_t *asked = NULL, *classes = NULL;
	struct xtop_error *error = NULL;
	struct snapshot made = *from;

	if (selection_is_all(selection)) {
		*to = made;
		return NULL;
	}
	asked = calloc(from->n_frames, sizeof(*asked));
	classes = calloc(from->n_frames, sizeof(*classes));
	made.nodes = asked && classes ? snapshot_nodes_create(from->n_nodes) : NULL;
	if (!made.nodes)
		return error_create("no memory to select among %zu nodes", from->n_nodes);
	selection_weigh(selection, from,
			selection->hide_idle && from->waits
				? &(struct wait_classes){ classes, from->n_frames }
				: NULL,
			asked, made.nodes);
	if (selection->hide_kernel || selection->hide_user)
		error = nodes_remove_functions(&made, asked, SELECTION_HIDDEN);
	made.live_weight = made.nodes[0].children_live;
	made.total_weight = made.nodes[0].children_ticks;
	if (error)
		free(made.nodes);
	else
		*to = made;
	return error;
}

void selection_deinit(struct snapshot *to, const struct snapshot *from)
{
	if (to->nodes != from->nodes)
		free(to->nodes);
	to->nodes = NULL;
}
