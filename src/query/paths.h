/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of paths in a call tree. A path is a number, which stays the same; path 0 is the root. Any
 * thread, one at a time for each set.
 */
#ifndef QUERY_PATHS_H
#define QUERY_PATHS_H

#include "xtop/hash.h"
#include "xtop/snapshot.h"

struct path {
	uint32_t parent, frame;
};

/* Zeroed to begin with: empty. */
struct paths {
	struct path *list;
	size_t n, capacity;
	struct hash_table table;
};

void paths_deinit(struct paths *paths);
/* The path to FRAME below PARENT, added if new; in an empty set the root. False: out of memory. */
bool paths_find_or_add(struct paths *paths, uint32_t parent, uint32_t frame, uint32_t *pathp);
size_t paths_memory_bytes(const struct paths *paths);

#endif
