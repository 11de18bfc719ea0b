/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reader of source lines that finds none, for tests of which file is chosen. */
#ifndef TESTS_NO_LINES_H
#define TESTS_NO_LINES_H

#include <stddef.h>

#include "xtop/supervise/line_client.h"

static void *no_lines_open(int fd, int alt_fd, const char **why)
{
	(void)fd, (void)alt_fd;
	*why = "not read here";
	return NULL;
}

static void no_lines_find(void *file, const struct line_place *place, struct line_answer *answer)
{
	(void)file, (void)place;
	answer->n = 0;
}

static void no_lines_do_nothing(void *file)
{
	(void)file;
}

static const struct line_reader no_lines_reader = { .open = no_lines_open,
						     .find = no_lines_find,
						     .trim = no_lines_do_nothing,
						     .close = no_lines_do_nothing };

#endif
