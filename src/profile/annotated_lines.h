/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of an interpreted function with their samples. Resolver's thread. */
#ifndef PROFILE_ANNOTATED_LINES_H
#define PROFILE_ANNOTATED_LINES_H

#include "xtop/base/error.h"
#include "xtop/profile/annotation.h"
#include "xtop/profile/snapshot.h"

/*
 * Fills in the lines of ANNOTATION if its function is interpreted. SNAPSHOT has frames of lines if
 * they are asked for (--lines). Error: out of memory.
 */
struct xtop_error *annotated_lines_build(const struct snapshot *snapshot,
					 struct annotation *annotation);

#define ANNOTATION_MAX_TEXT (512U << 10) /* bytes of a file that are read */

/* Fills in the texts of the lines. TEXT has the first N bytes of the function's file. */
void annotated_lines_add_text(struct annotation *annotation, const char *text, size_t n);

#endif
