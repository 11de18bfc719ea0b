/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a replay one by one: when, where, which task, which call chain. The profile keeps
 * only sums. The resolver's thread adds samples; when it has ended, main reads them.
 *
 * Call chains that begin alike share their nodes, so a sample takes 32 bytes and what is new in its
 * chain. Both are bounded (SAMPLE_LOG_MAX_...). A sample for which there is no room is counted.
 */
#ifndef XTOP_SAMPLE_LOG_H
#define XTOP_SAMPLE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/clocks.h"
#include "xtop/base/error.h"

#define SAMPLE_LOG_MAX_SAMPLES (1U << 23) /* 256 MiB: 23 hours of one vCPU at 99 Hz */
#define SAMPLE_LOG_MAX_NODES   (1U << 21) /* 16 MiB, and as much for their index */
#define SAMPLE_LOG_MAX_CLOCKS  (1U << 18) /* 12 MiB: three days */

struct logged_sample {
	uint64_t time_ns;  /* the sample's time, on the samples' clock */
	double ticks;      /* the sample's weight */
	uint32_t node;     /* the innermost frame's node */
	uint32_t pid, tid; /* 0: not known */
	uint32_t vcpu;
};

struct logged_node {
	uint32_t frame, parent; /* PARENT: a node; the root, node 0, is its own parent */
};

struct sample_log;

struct xtop_error *sample_log_create(struct sample_log **logp);
void sample_log_destroy(struct sample_log *log); /* NULL allowed */
/* Sets SAMPLE's node to the end of the chain of N FRAMES, outermost first. Keeps a copy. */
void sample_log_add(struct sample_log *log, struct logged_sample *sample, const uint32_t *frames,
		    size_t n);
/* Frames got better names. FIND_BETTER returns the frame that takes FRAME's place. */
void sample_log_rename(struct sample_log *log,
		       uint32_t (*find_better)(void *context, uint32_t frame), void *context);
void sample_log_clear(struct sample_log *log); /* forgets all samples, but no clocks */
/* Adds a reading of the clocks, later than those before. Beyond the limit nothing happens. */
void sample_log_add_clocks(struct sample_log *log, const struct clocks *clocks);

/* All samples, *NP of them, in the order of the recording. */
const struct logged_sample *sample_log_get(const struct sample_log *log, size_t *np);
struct logged_node sample_log_node(const struct sample_log *log, uint32_t node);
/* Converts a sample's TIME_NS to the clock KIND. False: that clock's time is not known. */
bool sample_log_convert(const struct sample_log *log, enum clock_kind kind, uint64_t time_ns,
			uint64_t *converted_ns);
/* How many samples were not kept: beyond the bound, or without memory. */
uint64_t sample_log_lost(const struct sample_log *log);

#endif
