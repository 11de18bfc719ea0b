/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines made by hand, for the function of made_annotation.h. */
#ifndef TESTS_MADE_LINES_H
#define TESTS_MADE_LINES_H

#include <stdio.h>

#include "xtop/query/instructions.h"

/* The loop has two lines, one of an inlined function; the text of one is not known. */
static inline bool made_line(void *context, const struct annotation *annotation, uint32_t distance,
			     struct instruction_line *line)
{
	bool inlined = distance >= 0x13;

	(void)context, (void)annotation;
	if (distance < 0x11 || distance > 0x16)
		return false;
	snprintf(line->place, sizeof(line->place), "%s",
		 inlined ? "is_end (inlined) line.h:77" : "deflate.c:1234");
	snprintf(line->text, sizeof(line->text), "%s", inlined ? "" : "while (!is_end(*at++));");
	return true;
}

#endif
