/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the profile of a file; see builder.h. */
#include "config.h"

#include "import/builder.h"
#include "xtop/import/import.h"

#include <math.h>
#include <string.h>

struct xtop_error *builder_init(struct builder *builder, struct frames *frames)
{
	*builder = (struct builder){ .frames = frames };
	return profile_create(IMPORT_MAX_NODES, 0, frames, &builder->profile);
}

void builder_deinit(struct builder *builder)
{
	profile_destroy(builder->profile);
}

static void builder_count(struct builder *builder, const uint32_t *frames, size_t n,
			  uint64_t samples, double ticks)
{
	struct resolver_counts *counts = &builder->counts;
	enum unwind_stop stop = UNWIND_COMPLETE;

	/* [truncated] comes right below process and thread */
	for (size_t i = 0; i < n && i < 3; i++)
		if (frames[i] == FRAME_TRUNCATED)
			stop = UNWIND_CUT;
	if (n > SNAPSHOT_MAX_DEPTH)
		stop = UNWIND_TOO_DEEP;
	counts->samples += samples;
	counts->weight += ticks;
	counts->stops[stop] += samples;
	if (stop != UNWIND_COMPLETE)
		counts->weight_truncated += ticks;
	if (n && !frames_get(builder->frames, frames[n - 1])->unknown)
		return;
	counts->samples_unknown += samples;
	counts->weight_unknown += ticks;
}

bool builder_add(struct builder *builder, const uint32_t *frames, size_t n, uint64_t samples,
		 double ticks)
{
	if (samples > BUILDER_MAX_SAMPLES - builder->counts.samples)
		return false;
	builder_count(builder, frames, n, samples, ticks);
	profile_add(builder->profile, frames, n, 1, samples,
		    nearbyint(ticks * SAMPLE_WEIGHT_TICK) / SAMPLE_WEIGHT_TICK);
	return true;
}

uint32_t builder_intern(struct builder *builder, enum frame_kind kind, const char *name,
			const char *module)
{
	if (name[0] == '[') {
		if (!strcmp(name, "[truncated]"))
			return FRAME_TRUNCATED;
		if (!strcmp(name, "[evicted]"))
			return FRAME_EVICTED;
		if (!strcmp(name, "[unknown]"))
			name = NULL;
	}
	return kind == FRAME_KIND_OWNER ? frames_intern_process(builder->frames, name, NULL)
					: frames_intern(builder->frames, kind, name, module, 0);
}
