/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of source files: below the folders of --source-dir, below --root at the path that the
 * program was compiled at, and from debuginfod servers (fetch.h), in this order. Paths come
 * from debug files, and text from files: both are hostile.
 *
 * A thread of its own reads the files, because a disk or a network may be slow. The thread that
 * shows the text asks, gets what is there, and looks again later. No other thread asks.
 */
#ifndef XTOP_SOURCE_CACHE_H
#define XTOP_SOURCE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/build_id.h"
#include "xtop/base/error.h"
#include "xtop/base/limit.h"

/* files that are kept; the least recently used one goes first */
#define SOURCE_MAX_FILES   LIMIT(32U, 4U)
#define SOURCE_MAX_BYTES   LIMIT(4U << 20, 4U << 10) /* a longer file is not read */
#define SOURCE_MAX_FOLDERS 8

struct fetch;
struct source_cache;

/*
 * FOLDERS are the N folders of --source-dir; ROOT_FD is the folder of --root, or -1. All
 * descriptors are duplicated. FETCH asks servers; NULL: nobody does. The thread starts with the
 * first question. Error: out of memory or descriptors.
 */
struct xtop_error *source_cache_create(const int *folders, size_t n, int root_fd,
				       struct fetch *fetch, struct source_cache **filesp);
void source_cache_destroy(struct source_cache *files); /* NULL allowed */
/*
 * Copies line LINE, from 1 on, of the file that was compiled as PATH into the program BUILD. TEXT
 * is clean, has blanks for tabs and no blanks in front. Returns the length, which is 0 if there is
 * no such file or line, or not yet. Below a folder of --source-dir the file may be at PATH or at
 * any end of PATH, the longest one first: "/build/linux-6.1/net/core/dev.c" is found as
 * net/core/dev.c.
 */
size_t source_cache_get_line(struct source_cache *files, const struct build_id *build,
			     const char *path, uint32_t line, char *text, size_t capacity);
/* Whether files have come since the last call. */
bool source_cache_poll(struct source_cache *files);
/* Waits until all files that were asked for have come, for SECONDS at most. */
void source_cache_wait(struct source_cache *files, double seconds);

#endif
