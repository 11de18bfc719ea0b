/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of source files: below the folders of --source-dir, and below --root at the path that
 * the program was compiled at. Paths come from debug files, and text from files: both are hostile.
 * One thread for each object: the one that shows the text.
 */
#ifndef XTOP_SOURCE_FILES_H
#define XTOP_SOURCE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "xtop/error.h"
#include "xtop/limit.h"

#define SOURCE_MAX_FILES   LIMIT(32U, 4U) /* kept; the least recently used one goes first */
#define SOURCE_MAX_BYTES   LIMIT(4U << 20, 4U << 10) /* a longer file is not read */
#define SOURCE_MAX_FOLDERS 8

struct source_files;

/*
 * FOLDERS are the N folders of --source-dir, ROOT_FD that of --root (-1: none). All are duplicated.
 * Error: out of memory or descriptors.
 */
struct xtop_error *source_files_create(const int *folders, size_t n, int root_fd,
				       struct source_files **filesp);
void source_files_destroy(struct source_files *files); /* NULL allowed */
/*
 * Copies line LINE, from 1 on, of the file that was compiled as PATH. TEXT is clean, has blanks for
 * tabs and no blanks in front. Returns the length, which is 0 if there is no such file or line.
 * Below a folder of --source-dir the file may be at PATH or at any end of PATH, the longest one
 * first: "/build/linux-6.1/net/core/dev.c" is found as net/core/dev.c.
 */
size_t source_files_get_line(struct source_files *files, const char *path, uint32_t line,
			     char *text, size_t capacity);

#endif
