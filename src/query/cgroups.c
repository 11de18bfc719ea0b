/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes by control group; see groups.h. The table of processes is cut into parts: each
 * part is a process with its threads. The parts are sorted by their group, and each group gets a
 * row above its parts:
 *
 *   nginx    nginx.service           nginx.service
 *   python3  docker/3f2ab1c2d3e4       nginx
 *   nginx    docker/3f2ab1c2d3e4     docker/3f2ab1c2d3e4
 *                                      python3
 *                                      nginx
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/query/groups.h"

/* A process and its threads. */
struct cgroup_part {
	size_t first, n; /* rows in the table of processes */
	const char *cgroup;
	struct weights of_cgroup;         /* sum over all parts of the group */
	struct weights unknown_of_cgroup; /* sum of the parts' samples without a name */
};

/* Puts parts of one group together, in their order in the table of processes. */
static int cgroup_compare_names(const void *pointer_a, const void *pointer_b)
{
	const struct cgroup_part *a = pointer_a, *b = pointer_b;
	int result = strcmp(a->cgroup, b->cgroup);

	return result ? result : (a->first > b->first) - (a->first < b->first);
}

static int cgroup_compare_weights(const void *pointer_a, const void *pointer_b, void *totals)
{
	const struct cgroup_part *a = pointer_a, *b = pointer_b;
	double weight_a = a->of_cgroup.children_live, weight_b = b->of_cgroup.children_live;

	if (*(const bool *)totals) {
		weight_a = a->of_cgroup.children_ticks;
		weight_b = b->of_cgroup.children_ticks;
	}
	if (weight_a != weight_b)
		return weight_a < weight_b ? 1 : -1;
	return cgroup_compare_names(a, b);
}

static size_t cgroup_split(const struct groups *processes, struct cgroup_part *parts)
{
	size_t n = 0;

	for (size_t i = 0; i < processes->n; i++) {
		if (!n || !processes->rows[i].is_thread)
			parts[n++] = (struct cgroup_part){ .first = i,
							   .cgroup = processes->rows[i].cgroup };
		parts[n - 1].n++;
	}
	return n;
}

/* Adds up the parts of each group, and puts the sum into each part. */
static void cgroup_sum(const struct groups *processes, struct cgroup_part *parts, size_t n)
{
	qsort(parts, n, sizeof(*parts), cgroup_compare_names);
	for (size_t i = 0, next; i < n; i = next) {
		struct weights sum = { 0 }, unknown = { 0 };

		for (next = i; next < n && !strcmp(parts[next].cgroup, parts[i].cgroup); next++) {
			weights_add(&sum, &processes->rows[parts[next].first].weights);
			weights_add(&unknown, &processes->rows[parts[next].first].unknown);
		}
		for (size_t j = i; j < next; j++) {
			parts[j].of_cgroup = sum;
			parts[j].unknown_of_cgroup = unknown;
		}
	}
}

static void cgroup_put_rows(const struct groups *processes, const struct cgroup_part *parts,
			    size_t n, struct groups *groups)
{
	for (size_t i = 0; i < n; i++) {
		const struct group_row *rows = &processes->rows[parts[i].first];

		if (!i || strcmp(parts[i - 1].cgroup, parts[i].cgroup) != 0)
			groups->rows[groups->n++] = (struct group_row){
				.frame = rows->frame,
				.name = parts[i].cgroup,
				.cgroup = parts[i].cgroup,
				.is_cgroup = true,
				.weights = parts[i].of_cgroup,
				.unknown = parts[i].unknown_of_cgroup,
			};
		memcpy(&groups->rows[groups->n], rows, parts[i].n * sizeof(*rows));
		groups->n += parts[i].n;
	}
}

struct xtop_error *groups_build_cgroups(const struct snapshot *snapshot, bool totals,
					struct groups *groups)
{
	struct groups processes, made = { 0 };
	_cleanup_free_ struct cgroup_part *parts = NULL;
	struct xtop_error *error = groups_build_processes(snapshot, totals, &processes);
	size_t n;

	if (error)
		return error;
	made.whole = processes.whole;
	parts = malloc((processes.n + 1) * sizeof(*parts));
	made.rows = malloc((2 * processes.n + 1) * sizeof(*made.rows));
	if (parts && made.rows) {
		n = cgroup_split(&processes, parts);
		cgroup_sum(&processes, parts, n);
		qsort_r(parts, n, sizeof(*parts), cgroup_compare_weights, &totals);
		cgroup_put_rows(&processes, parts, n, &made);
		*groups = made;
	} else {
		free(made.rows);
		error = error_create("no memory for the table of control groups");
	}
	groups_deinit(&processes);
	return error;
}
