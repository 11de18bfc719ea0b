/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The older run that a run is compared with: the file of --baseline for the screen, the older file
 * of --diff for a table. Main's thread.
 */
#ifndef XTOP_COMPARISON_H
#define XTOP_COMPARISON_H

#include <stdio.h>

#include "xtop/pipeline/pipelines.h"

/* All zeros: nothing is compared. */
struct comparison {
	const struct options *options;
	struct options base_options; /* the options of the older run */
	struct pipeline *base;       /* the older run; NULL: nothing is compared */
	struct snapshot *baseline;   /* the older run's samples, for the screen; NULL with --diff */
	bool read;                   /* the older file was read to its end */
	bool stopped;                /* pipeline_stop() was called for BASE */
	struct xtop_error *failure;  /* what is wrong with the older file, for the screen */
};

/* Opens the older file if OPTIONS name one. Needs rights. OPTIONS outlive COMPARISON. */
struct xtop_error *comparison_open(struct comparison *comparison, const struct options *options,
				   const struct host_files *files);
/*
 * Reads the screen's baseline to its end. With --diff the two files are read at the same time. If
 * both names mean one file, the two readers would share its offset (inputs.h), so the older run is
 * read first.
 */
struct xtop_error *comparison_start(struct comparison *comparison);
/* The screen that shows the baseline must have ended. */
void comparison_deinit(struct comparison *comparison);
/*
 * Waits until both files have been read, stops PIPELINES, and prints the table of --diff to FILE. A
 * function that grew by more than the options allow is an error, too.
 */
struct xtop_error *comparison_print(struct comparison *comparison, struct pipelines *pipelines,
				    FILE *file);

#endif
