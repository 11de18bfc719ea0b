/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a made-up server of debug files has. Called in the process that fetches, which may write
 * below its cache and nowhere else: fetch_start_with() needs settings with a cache.
 */
#ifndef FETCHED_FILE_H
#define FETCHED_FILE_H

#include <stddef.h>

/* A new file of N bytes in the cache, as the library makes one. Returns its descriptor, or -1. */
int fetched_file_make(const void *bytes, size_t n);

#endif
