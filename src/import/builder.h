/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to import/: builds the profile of a file out of frames and stacks. Main's thread. */
#ifndef IMPORT_BUILDER_H
#define IMPORT_BUILDER_H

#include "xtop/profile/profile.h"

/* At most this many samples in a file. The limit keeps sums of samples far below 2^64. */
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
 * Adds a stack of N frame ids, outermost first. It has SAMPLES samples, more than 0, which together
 * weigh TICKS. False: the file has more than BUILDER_MAX_SAMPLES.
 */
bool builder_add(struct builder *builder, const uint32_t *frames, size_t n, uint64_t samples,
		 double ticks);
/*
 * The id of a frame; added if new. The names of xtop's own marks, such as "[unknown]", give these
 * marks. MODULE NULL: none. FRAME_KIND_OWNER: a process.
 */
uint32_t builder_intern(struct builder *builder, enum frame_kind kind, const char *name,
			const char *module);

#endif
