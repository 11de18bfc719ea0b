/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --crash in batch mode. Main's thread. */
#ifndef RUN_CRASH_REPORT_H
#define RUN_CRASH_REPORT_H

#include <stdio.h>

#include "xtop/pipeline/pipeline.h"

/*
 * Waits for the report of PIPELINE's guest and prints it to FILE. TITLE is clean. Error: the guest
 * has no report, or FILE cannot be written.
 */
struct xtop_error *crash_report_print(const struct pipeline *pipeline, const char *title,
				      FILE *file);

#endif
