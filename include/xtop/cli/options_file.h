/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to options.c: the file of --config, long options without their dashes, one a line
 * (doc/FORMATS §12). Main's thread, with the rights of who started xtop.
 */
#ifndef XTOP_OPTIONS_FILE_H
#define XTOP_OPTIONS_FILE_H

#include <stddef.h>

#include "xtop/base/error.h"

#define OPTIONS_FILE_MAX_BYTES 65536
#define OPTIONS_FILE_MAX_LINES 1024 /* of options */

/* "--NAME" or "--NAME=VALUE", each with its line's number. To begin with all zeros. */
struct options_file {
	char *text;
	size_t n;
	struct options_line {
		char *option;
		unsigned number;
	} *lines;
};

/* Reads PATH. Errors name the line. FILE is to be freed after an error, too. */
struct xtop_error *options_file_read(const char *path, struct options_file *file);
void options_file_deinit(struct options_file *file);

#endif
