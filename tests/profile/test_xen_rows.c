/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows "[xen]": a function's own weight is divided into guest code and time in Xen. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/xen_rows.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/export/export.h"
#include "xtop/profile/profile.h"
#include "xtop/query/functions.h"
#include "xtop/query/neighbours.h"

#define SPAN_NS 1000000000ULL

static struct frames *frames;
static struct {
	uint32_t alpha, beta, xen, exits[2];
} ids;

/*
 * alpha has 60 ticks, and 40 below beta, which has 20 of its own. Each of the two vCPUs has TICKS, idle
 * or not. Two processes have the first reason for an exit.
 */
static struct snapshot *make(double traced_ns, double in_xen_ns, double ticks)
{
	struct exits_cause *causes = calloc(3, sizeof(*causes));
	struct exits_row *rows = calloc(2, sizeof(*rows));
	static const double part[] = { 0.5, 0.3, 0.2 };
	struct snapshot *snapshot;
	struct profile *profile;

	must(profile_create(1000, 0, frames, &profile));
	profile_add(profile, &ids.alpha, 1, SPAN_NS, 60, 60);
	profile_add(profile, (const uint32_t[]){ ids.beta, ids.alpha }, 2, 2 * SPAN_NS, 40, 40);
	profile_add(profile, &ids.beta, 1, 2 * SPAN_NS, 20, 20);
	must(profile_copy(profile, 2 * SPAN_NS, &snapshot));
	profile_destroy(profile);
	snapshot->run->exits = calloc(1, sizeof(*snapshot->run->exits));
	*snapshot->run->exits = (struct exits_table){
		.tracing = true,
		.live_span_ns = traced_ns,
		.span_ns = traced_ns,
		.n_rows = 2,
		.rows = rows,
		.n_causes = 3,
		.causes = causes,
	};
	rows[0].frame = ids.exits[0];
	rows[1].frame = ids.exits[1];
	for (unsigned i = 0; i < 3; i++) {
		causes[i] = (struct exits_cause){ .row = i == 2, .place = { ids.alpha, i } };
		causes[i].live.ns = causes[i].total.ns = in_xen_ns * part[i];
	}
	snapshot->run->n_vcpus = 2;
	snapshot->run->vcpus[0].states[VCPU_RUNNING] = 90;
	snapshot->run->vcpus[0].states[VCPU_BLOCKED] = ticks - 90;
	snapshot->run->vcpus[1].states[VCPU_RUNNING] = 30;
	snapshot->run->vcpus[1].states[VCPU_BLOCKED] = ticks - 30;
	xen_rows_add(snapshot, ids.xen, 0);
	return snapshot;
}

static void check_rows(const struct snapshot *snapshot, const char *want, const char *what)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(export_folded(snapshot, &(struct export_settings){ 0 }, file));
	fclose(file);
	for (char *at = text; (at = strchr(at, '\n'));)
		*at = '|';
	check_string(text, want, what);
	free(text);
}

/* Ends and parents are right: children's weights add up from the back. */
static void check_tree(const struct snapshot *snapshot)
{
	double *sums = calloc(snapshot->n_nodes, sizeof(*sums));
	bool right = true;

	for (size_t i = snapshot->n_nodes; i-- > 0;) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		sums[i] += node->self_ticks;
		right &= fabs(sums[i] - node->children_ticks) < 1e-6 && node->end > i &&
			 node->end <= snapshot->nodes[node->parent].end &&
			 (!i || node->depth == snapshot->nodes[node->parent].depth + 1);
		if (i)
			sums[node->parent] += sums[i];
	}
	check(right, "the tree is whole");
	free(sums);
}

/* How many nodes have FRAME. */
static unsigned count_nodes(const struct snapshot *snapshot, uint32_t frame)
{
	unsigned n = 0;

	for (size_t i = 0; i < snapshot->n_nodes; i++)
		n += snapshot->nodes[i].frame == frame;
	return n;
}

/* A function that exits has the row below it in every table, however few samples it has. */
static void check_tables(const struct snapshot *snapshot)
{
	struct function_table functions;
	struct neighbours neighbours;
	double row = 0, callee = 0;

	must(functions_build(snapshot, NULL, false, &functions));
	for (size_t i = 0; i < functions.n; i++)
		if (functions.rows[i].frame == ids.xen)
			row = functions.rows[i].weights.children_ticks;
	check(fabs(row - 1) < 1e-6, "the functions' row [xen] has %g ticks", row);
	functions_deinit(&functions);
	must(neighbours_build(snapshot, NULL, false, ids.alpha, &neighbours));
	for (size_t i = 0; i < neighbours.callees.n; i++)
		if (neighbours.callees.rows[i].frame == ids.xen)
			callee = neighbours.callees.rows[i].weights.children_ticks;
	check(fabs(callee - 1) < 1e-6, "alpha's callee [xen] has %g ticks", callee);
	neighbours_deinit(&neighbours);
}

int main(void)
{
	const char *quarter = "alpha 45|alpha;[xen];[exit CPUID] 12|alpha;[xen];[exit HLT] 3|"
			      "beta 20|beta;alpha 30|beta;alpha;[xen];[exit CPUID] 8|"
			      "beta;alpha;[xen];[exit HLT] 2|";
	struct snapshot *snapshot;
	uint32_t other;

	must(frames_create(NULL, &frames));
	ids.alpha = frames_intern(frames, FRAME_KIND_KERNEL, "alpha", "tiny", 1);
	ids.beta = frames_intern(frames, FRAME_KIND_KERNEL, "beta", "tiny", 2);
	ids.xen = frames_intern(frames, FRAME_KIND_MARK, "[xen]", NULL, 0);
	ids.exits[0] = frames_intern(frames, FRAME_KIND_MARK, "[exit CPUID]", NULL, 0);
	ids.exits[1] = frames_intern(frames, FRAME_KIND_MARK, "[exit HLT]", NULL, 0);

	snapshot = make((double)SPAN_NS, 0.25e9, 100);
	check_rows(snapshot, quarter, "a quarter of alpha's time was in Xen");
	check_tree(snapshot);
	check_u64(count_nodes(snapshot, ids.exits[0]), 2,
		  "rows of a reason of two processes, below two chains");
	check(fabs(snapshot->run->exits->xen_ticks - 25) < 1e-6, "the header's sum is %g ticks",
	      snapshot->run->exits->xen_ticks);
	snapshot_destroy(snapshot);

	other = ids.exits[1];
	ids.exits[1] = ids.exits[0];
	snapshot = make((double)SPAN_NS, 0.25e9, 100);
	check_u64(count_nodes(snapshot, ids.exits[0]), 2,
		  "two reasons of one name have one row below each of two chains");
	snapshot_destroy(snapshot);
	ids.exits[1] = other;

	snapshot = make((double)SPAN_NS / 2, 0.125e9, 100);
	check_rows(snapshot, quarter, "Xen was traced for half of the time");
	snapshot_destroy(snapshot);

	/* The more ticks of a second were given up, the less an exit stands for. */
	snapshot = make((double)SPAN_NS, 0.125e9, 200);
	check_rows(snapshot, quarter, "an exit stands for the ticks that the vCPUs have");
	snapshot_destroy(snapshot);

	snapshot = make((double)SPAN_NS, 3e9, 100);
	check_rows(snapshot,
		   "alpha;[xen];[exit CPUID] 48|alpha;[xen];[exit HLT] 12|beta 20|"
		   "beta;alpha;[xen];[exit CPUID] 32|beta;alpha;[xen];[exit HLT] 8|",
		   "no function has more in Xen than in all");
	check_tree(snapshot);
	snapshot_destroy(snapshot);

	/* No row has the time of a sample. */
	snapshot = make((double)SPAN_NS, 0.01e9, 100);
	check_tables(snapshot);
	snapshot_destroy(snapshot);

	snapshot = make(0, 0, 100);
	check_rows(snapshot, "alpha 60|beta 20|beta;alpha 40|", "nothing was traced yet");
	snapshot_destroy(snapshot);
	frames_destroy(frames);
	return tap_done();
}
