/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of --config: long options without their dashes, one a line (doc/FORMATS §12). Main's
 * thread, with the rights of the user who started xtop.
 */
#ifndef XTOP_OPTIONS_FILE_H
#define XTOP_OPTIONS_FILE_H

#include <stddef.h>

#include "xtop/base/error.h"

#define OPTIONS_FILE_MAX_BYTES 65536
#define OPTIONS_FILE_MAX_LINES 1024 /* lines that are options */

/* The options of a file, "--NAME" or "--NAME=VALUE", with the numbers of their lines. */
struct options_file {
	char *text;
	size_t n;
	struct options_line {
		char *option;
		unsigned number;
	} *lines;
};

/*
 * Reads PATH into FILE, which is all zeros. Errors name the line. Deinit FILE after an error, too.
 */
struct xtop_error *options_file_read(const char *path, struct options_file *file);
void options_file_deinit(struct options_file *file);

#endif
