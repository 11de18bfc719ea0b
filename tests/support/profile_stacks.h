/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles for tests, written as folded stacks: "main;f;g 3" adds 3 samples of one tick each,
 * "main;f;g 3*2.5" samples that stand for 2.5 ticks each. Names stand for
 *
 *	name   kernel function of [kernel]       @name  process; @name@group: in a control group
 *	.name  user function of prog             ?10    nobody can name the address 0x10
 *	%t     [truncated]
 */
#ifndef TESTS_PROFILE_STACKS_H
#define TESTS_PROFILE_STACKS_H

#include "must.h"
#include "tap.h"

#include <stdlib.h>

#include "xtop/profile/profile.h"

#define SECOND    1000000000ULL
#define HALF_LIFE (10 * SECOND)

static inline uint32_t stacks_process(struct frames *frames, const char *name)
{
	const char *group = strchr(name, '@');
	char *alone = strndup(name, strcspn(name, "@"));
	uint32_t id = frames_intern_process(frames, alone, group ? group + 1 : "");

	free(alone);
	return id;
}

static inline uint32_t stacks_frame(struct frames *frames, const char *name)
{
	switch (*name) {
	case '@':
		return stacks_process(frames, name + 1);
	case '.':
		return frames_intern(frames, FRAME_KIND_USERLAND, name + 1, "prog", 0x1000);
	case '?':
		return frames_intern(frames, FRAME_KIND_KERNEL, NULL, "[kernel]",
				     strtoull(name + 1, NULL, 16));
	case '%':
		return FRAME_TRUNCATED;
	default:
		return frames_intern(frames, FRAME_KIND_KERNEL, name, "[kernel]", 0x2000);
	}
}

static inline void stacks_add(struct profile *profile, struct frames *frames, uint64_t time_ns,
			      const char *line)
{
	uint32_t ids[64];
	size_t n = 0;
	char *copy = strdup(line), *count = strrchr(copy, ' '), *state, *end;
	uint32_t samples = (uint32_t)strtoul(count + 1, &end, 10);

	*count = '\0';
	for (char *name = strtok_r(copy, ";", &state); name; name = strtok_r(NULL, ";", &state))
		ids[n++] = stacks_frame(frames, name);
	profile_add(profile, ids, n, time_ns, samples,
		    *end == '*' ? samples * strtod(end + 1, NULL) : samples);
	free(copy);
}

/* A snapshot of LINES, NULL-terminated, all at time 1. */
static inline struct snapshot *stacks_snapshot(struct frames *frames, const char *const *lines)
{
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(4096, HALF_LIFE, frames, &profile));
	while (*lines)
		stacks_add(profile, frames, 1, *lines++);
	must(profile_copy(profile, 1, &snapshot));
	profile_destroy(profile);
	return snapshot;
}

/* The deepest stacks there can be, with a fork at each function. */
static inline struct snapshot *stacks_deepest(struct frames *frames)
{
	uint32_t stack[SNAPSHOT_MAX_DEPTH];
	struct profile *profile;
	struct snapshot *snapshot;
	char name[32];

	must(profile_create(PROFILE_MAX_NODES, HALF_LIFE, frames, &profile));
	for (unsigned i = 0; i < SNAPSHOT_MAX_DEPTH - 1; i++) {
		snprintf(name, sizeof(name), "deep_%u", i);
		stack[i] = stacks_frame(frames, name);
		profile_add(profile, stack, i + 1, 1, 1, 1);
		stack[i + 1] = stacks_frame(frames, "leaf");
		profile_add(profile, stack, i + 2, 1, 1, 1);
	}
	must(profile_copy(profile, 1, &snapshot));
	profile_destroy(profile);
	return snapshot;
}

/*
 * "all 0/6\n main 1/6\n  f 5/5\n": indented by depth, self/children in totals. The caller frees it.
 */
static inline char *stacks_tree(const struct snapshot *snapshot)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		fprintf(file, "%*s%s %" PRIu64 "/%" PRIu64 "\n", (int)node->depth, "",
			frames_get(snapshot->frames, node->frame)->name, node->self_total,
			node->children_total);
	}
	fclose(file);
	return text;
}

/* NULL if the nodes are as snapshot.h promises; otherwise the broken promise. */
static inline const char *stacks_broken(const struct snapshot *snapshot)
{
	const struct snapshot_node *nodes = snapshot->nodes;
	uint64_t *sums = calloc(snapshot->n_nodes, sizeof(*sums));
	const char *broken = NULL;

	if (nodes[0].parent != 0 || nodes[0].depth != 0 || nodes[0].end != snapshot->n_nodes)
		broken = "root";
	for (size_t i = snapshot->n_nodes; i-- > 0;) {
		const struct snapshot_node *parent = &nodes[nodes[i].parent];

		if (sums[i] + nodes[i].self_total != nodes[i].children_total)
			broken = "sum";
		if (nodes[i].end <= i || nodes[i].end > parent->end)
			broken = "end";
		if (nodes[i].self_live > nodes[i].children_live ||
		    nodes[i].children_live > parent->children_live * (1 + 1e-9))
			broken = "live";
		if (i && (nodes[i].parent >= i || nodes[i].depth != parent->depth + 1))
			broken = "parent";
		if (i)
			sums[nodes[i].parent] += nodes[i].children_total;
	}
	free(sums);
	return broken;
}

#endif
