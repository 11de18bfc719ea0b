/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run is compared with: the file of --baseline for the screen, the older file of --diff for
 * a table. Main's thread.
 */
#ifndef XTOP_COMPARISON_H
#define XTOP_COMPARISON_H

#include <stdio.h>

#include "xtop/pipeline/pipelines.h"

/* To begin with all zeros: nothing is compared. */
struct comparison {
	const struct options *options;
	struct options base_options; /* of BASE */
	struct pipeline *base;       /* NULL: nothing is compared */
	struct snapshot *baseline;   /* of BASE, for the screen; NULL: none */
	bool read;                   /* BASE, to its end */
	bool stopped;
	struct xtop_error *failure;  /* what is wrong with the file, for the screen */
};

/* Opens the file that OPTIONS name, if they name one. Needs rights. OPTIONS outlive COMPARISON. */
struct xtop_error *comparison_open(struct comparison *comparison, const struct options *options);
/*
 * Reads the screen's baseline to its end. With --diff both files are read at the same time, unless
 * they are one: then both readers would share its offset (inputs.h), so the older run is read
 * first.
 */
struct xtop_error *comparison_start(struct comparison *comparison);
void comparison_deinit(struct comparison *comparison); /* after all who show the baseline */
/*
 * Waits until both files have been read, stops PIPELINES, and prints the table of --diff to FILE. A
 * function that grew by more than the options allow is an error, too.
 */
struct xtop_error *comparison_print(struct comparison *comparison, struct pipelines *pipelines,
				    FILE *file);

#endif
