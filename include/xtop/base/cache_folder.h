/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder in which xtop keeps for the next start what it has found out: one file for each
 * domain, kernel.UUID. The broker has the folder, and gives main the file of a domain that main may
 * see. So what a guest makes of main reaches no other domain's file.
 */
#ifndef XTOP_CACHE_FOLDER_H
#define XTOP_CACHE_FOLDER_H

#include "xtop/base/limit.h"

#define CACHE_FOLDER_MAX_FILES  16
#define CACHE_FOLDER_MAX_BYTES  (128U << 20) /* limit for all files together */
#define CACHE_FOLDER_FILE_BYTES (32U << 20)  /* limit for one file; its writer keeps to it */

/*
 * Makes the folder PATH, an absolute path, and those above it. -1: it is not ours alone, or one
 * above it belongs neither to us nor to root: nothing is kept.
 */
int cache_folder_open(const char *path);
/*
 * Opens the file of the domain UUID in FOLDER to read and write, and makes it if it is missing.
 * Removes the files that were not used for the longest time, as many as the limits demand. -1: it
 * is not a file of ours alone.
 */
int cache_folder_open_file(int folder, const char *uuid);

#endif
