/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a call tree of the table of exits; see exits_profile.h. */
#include "config.h"

#include "xtop/query/exits_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"

static int exits_profile_compare(const void *pointer_a, const void *pointer_b)
{
	const struct exits_cause *a = pointer_a, *b = pointer_b;

	if (a->place.process != b->place.process)
		return a->place.process < b->place.process ? -1 : 1;
	if (a->place.frame != b->place.frame)
		return a->place.frame < b->place.frame ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Whether the exits have a time of at least 1 ns, and names. An entry of a PV guest has no time. */
static bool exits_profile_takes(const struct snapshot *snapshot, const struct exits_cause *cause)
{
	const struct exits_row *rows = snapshot->run->exits->rows;

	return nearbyint(cause->total.ns) > 0 && cause->place.frame < snapshot->n_frames &&
	       cause->place.process < snapshot->n_frames &&
	       rows[cause->row].frame < snapshot->n_frames;
}

/* Adds a node without weight below PARENT. Returns its number. */
static uint32_t exits_profile_add(struct snapshot *profile, uint32_t parent, uint32_t frame)
{
	uint32_t at = (uint32_t)profile->n_nodes++;
	struct snapshot_node *nodes = profile->nodes;

	nodes[at] = (struct snapshot_node){ .frame = frame,
					    .parent = parent,
					    .end = at + 1,
					    .depth = at ? nodes[parent].depth + 1 : 0 };
	return at;
}

/* Whole nanoseconds: files with whole numbers then have nanoseconds, too. */
static void exits_profile_weigh(struct snapshot_node *node, const struct exits_cause *cause)
{
	node->self_live = node->children_live = nearbyint(cause->live.ns);
	node->self_ticks = node->children_ticks = nearbyint(cause->total.ns);
	node->self_total = node->children_total = cause->total.count;
}

/* Adds the nodes of CAUSES, which are sorted by process, then by function. */
static void exits_profile_fill(struct snapshot *profile, const struct snapshot *from,
			       const struct exits_cause *causes)
{
	const struct exits_table *table = from->run->exits;
	uint32_t root = exits_profile_add(profile, 0, FRAME_ROOT), process = root, at;
	uint32_t function = root; /* stays below PROCESS, which is the root where none is known */

	for (size_t i = 0; i < table->n_causes; i++) {
		const struct exits_place *place = &causes[i].place;

		if (!exits_profile_takes(from, &causes[i]))
			continue;
		if (profile->nodes[process].frame != place->process) {
			process = exits_profile_add(profile, root, place->process);
			function = root;
		}
		if (function == root || profile->nodes[function].frame != place->frame)
			function = exits_profile_add(profile, process, place->frame);
		at = exits_profile_add(profile, function, table->rows[causes[i].row].frame);
		exits_profile_weigh(&profile->nodes[at], &causes[i]);
	}
	snapshot_nodes_close(profile->nodes, profile->n_nodes);
	snapshot_nodes_sum(profile->nodes, profile->n_nodes);
}

struct xtop_error *exits_profile_create(const struct snapshot *snapshot, struct snapshot **top)
{
	const struct exits_table *table = snapshot_get_run(snapshot)->exits;
	size_t n = table ? table->n_causes : 0;
	_cleanup_free_ struct exits_cause *causes = calloc(n + 1, sizeof(*causes));
	struct snapshot *profile = snapshot_create(1 + 3 * n);

	if (!table || !causes || !profile) {
		snapshot_destroy(profile);
		return error_create(table ? "no memory for a profile of exits"
					  : "Xen was not traced: no exits are known");
	}
	memcpy(causes, table->causes, n * sizeof(*causes));
	qsort(causes, n, sizeof(*causes), exits_profile_compare);
	profile->n_nodes = 0;
	profile->frames = snapshot->frames;
	profile->n_frames = snapshot->n_frames;
	profile->time_ns = snapshot->time_ns;
	profile->started_ns = snapshot->started_ns;
	profile->value = (struct snapshot_value){ "xen", "nanoseconds", 1 };
	exits_profile_fill(profile, snapshot, causes);
	profile->live_weight = profile->nodes[0].children_live;
	profile->total_weight = profile->nodes[0].children_ticks;
	*top = profile;
	return NULL;
}
