/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hypercalls by stub and call path: which frames are stubs, sums, order, stacks that are short. */
#include "config.h"

#include <string.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/profile/profile.h"
#include "xtop/query/hypercalls.h"

static struct frames *frames;
static struct profile *profile;

static void add(const char *stack, unsigned n)
{
	uint32_t ids[16];
	char copy[256], *saved = NULL, *name;
	size_t depth = 0;

	strcpy(copy, stack);
	for (name = strtok_r(copy, " ", &saved); name; name = strtok_r(NULL, " ", &saved))
		ids[depth++] = name[0] == '@' ? frames_intern_process(frames, name + 1, "")
					      : frames_intern(frames, FRAME_KIND_KERNEL, name,
							      "[kernel]", 0x1000);
	for (unsigned i = 0; i < n; i++)
		profile_add(profile, ids, depth, 1000, 1, 1);
}

static const char *name(uint32_t frame)
{
	return frame == FRAME_NONE ? "-" : frames_get(frames, frame)->name;
}

static void check_row(const struct hypercalls *calls, size_t i, const char *want, uint64_t samples)
{
	const struct hypercalls_row *row = i < calls->n ? &calls->rows[i] : NULL;
	char text[256] = "";

	if (row)
		snprintf(text, sizeof(text), "%s < %s < %s < %s", name(row->stub),
			 name(row->callers[0]), name(row->callers[1]), name(row->callers[2]));
	check_string(text, want, "there is a row of hypercalls");
	check(row && row->weights.self_total == samples, "%llu samples",
	      (unsigned long long)samples);
}

int main(void)
{
	struct snapshot *snapshot;
	struct hypercalls calls;

	must(frames_create(NULL, &frames));
	must(profile_create(1024, 0, frames, &profile));
	add("@a main write xen_mc_flush xen_hypercall_multicall", 3);
	add("@b main write xen_mc_flush xen_hypercall_multicall", 4);
	add("@b main read xen_mc_flush xen_hypercall_multicall", 2);
	add("@a xen_hypercall_sched_op", 1);
	add("@a main xen_hypercall_hvm irq", 8);
	add("@a main hypercall_pager", 9);
	add("@a main my_xen_hypercall_x", 9);
	must(profile_copy(profile, 1000, &snapshot));
	must(hypercalls_build(snapshot, true, &calls));
	check(calls.n == 3, "rows: %zu", calls.n);
	check_row(&calls, 0, "xen_hypercall_multicall < xen_mc_flush < write < main", 7);
	check_row(&calls, 1, "xen_hypercall_multicall < xen_mc_flush < read < main", 2);
	check_row(&calls, 2, "xen_hypercall_sched_op < - < - < -", 1);
	hypercalls_deinit(&calls);
	snapshot_destroy(snapshot);
	snapshot = snapshot_create(1);
	snapshot->frames = frames;
	must(hypercalls_build(snapshot, false, &calls));
	check(!calls.n && !calls.rows, "an empty profile has no hypercalls");
	hypercalls_deinit(&calls);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
	frames_destroy(frames);
	return tap_done();
}
