/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What readers of profile files fill: frames, stacks, and counts of what the stacks say. */
#ifndef IMPORT_BUILDER_H
#define IMPORT_BUILDER_H

#include "xtop/profile.h"

/* The limit of all samples of a file together. It keeps their sums far below 2^64. */
#define BUILDER_MAX_SAMPLES (1ULL << 60)

struct builder {
	struct frames *frames;
	struct profile *profile;
	struct resolver_counts counts;
	uint64_t duration_ns; /* 0: the file does not say */
};

/* FRAMES outlive the builder. */
struct xtop_error *builder_init(struct builder *builder, struct frames *frames);
void builder_deinit(struct builder *builder);
/*
 * Adds a stack of N frame ids, outermost first. It has SAMPLES samples, more than 0, which weigh
 * TICKS together. False: the file has more than BUILDER_MAX_SAMPLES.
 */
bool builder_add(struct builder *builder, const uint32_t *frames, size_t n, uint64_t samples,
		 double ticks);
/*
 * Returns the id of the frame of a function. The names of xtop's own marks, such as "[unknown]",
 * give these marks.
 */
uint32_t builder_intern(struct builder *builder, enum frame_kind kind, const char *name,
			const char *module);

#endif
