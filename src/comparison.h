/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --diff: waits until two files have been read, compares them, prints the table. Main's thread. */
#ifndef XTOP_COMPARISON_H
#define XTOP_COMPARISON_H

#include <stdio.h>

#include "pipeline.h"

/* Returns when all of PIPELINE's recording has been played. */
void comparison_wait(const struct pipeline *pipeline);
/* Returns when the guest's system is known, or after SECONDS. */
void comparison_wait_for_system(const struct pipeline *pipeline, double seconds);
/*
 * Compares what two stopped pipelines have read, and prints to FILE. A function that grew by more
 * than OPTIONS allow is an error, too.
 */
struct xtop_error *comparison_print(struct pipeline *now, struct pipeline *base,
				    const struct options *options, FILE *file);

#endif
