/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder in which xtop keeps its findings about guests' kernels for the next start: one file
 * for each domain, kernel.UUID. The broker holds the folder open, and gives main only the file of a
 * domain that main may see. So a guest that takes over main reaches no other domain's file.
 */
#ifndef XTOP_CACHE_FOLDER_H
#define XTOP_CACHE_FOLDER_H

#include "xtop/base/limit.h"

#define CACHE_FOLDER_MAX_FILES  16
#define CACHE_FOLDER_MAX_BYTES  (128U << 20) /* limit for all files together */
#define CACHE_FOLDER_FILE_BYTES (32U << 20)  /* limit for one file, which the writer obeys */

/*
 * Makes the folder PATH, an absolute path, and its parent folders, and opens PATH. Returns -1 if
 * PATH is not ours alone, or if a parent belongs neither to us nor to root; then xtop keeps
 * nothing.
 */
int cache_folder_open(const char *path);
/*
 * Opens the file of the domain UUID in FOLDER to read and write, and makes it if it is missing.
 * Removes the files that were not used for the longest time, as many as the limits demand. Returns
 * -1 if the domain's file is not ours alone.
 */
int cache_folder_open_file(int folder, const char *uuid);

#endif
