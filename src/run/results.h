/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run writes at its end: the profile of -o, the statistics of --stats, and the instructions
 * of --annotate on stdout. Main's thread.
 */
#ifndef XTOP_RESULTS_H
#define XTOP_RESULTS_H

#include <stdint.h>

#include "run/annotation_sources.h"
#include "xtop/base/output.h"
#include "xtop/cli/options.h"
#include "xtop/pipeline/pipeline.h"
#include "xtop/query/filter.h"
#include "xtop/query/instructions.h"

/* All zeros before results_open(). */
struct results {
	const struct options *options;
	struct output_file *output, *stats; /* NULL: not asked for, or written */
};

/* The run that has ended. */
struct results_run {
	struct pipeline *pipeline;            /* stopped */
	const struct filter *filter;          /* NULL: all stacks */
	struct line_client *lines;            /* NULL without --lines */
	const struct annotation_sources *sources; /* what --annotate reads */
	const char *title;                        /* the guest, above the table of instructions */
	struct instruction_format code;           /* how instructions are written */
	uint64_t started_ns;                  /* clock_now_ns() at the start of the run */
};

/*
 * Opens the files while xtop has the user's rights. Error: a file cannot be written, or this run
 * reads or writes it already. OPTIONS outlive RESULTS.
 */
struct xtop_error *results_open(struct results *results, const struct options *options);
/* Writes and closes all files. Returns the first error; what can be written is written. */
struct xtop_error *results_write(struct results *results, const struct results_run *run);
void results_deinit(struct results *results); /* removes files that were not written */

#endif
