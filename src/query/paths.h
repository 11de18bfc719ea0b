/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of paths in a call tree. Each path has a number, which never changes; the root is path 0.
 * Only one thread at a time uses a set.
 */
#ifndef QUERY_PATHS_H
#define QUERY_PATHS_H

#include "xtop/base/hash.h"
#include "xtop/profile/snapshot.h"

struct path {
	uint32_t parent, frame;
};

/* A zeroed set is empty. */
struct paths {
	struct path *list;
	size_t n, capacity;
	struct hash_table table;
};

void paths_deinit(struct paths *paths);
/*
 * Finds or adds the path to FRAME below PARENT. Add the root first, below itself. False: out of
 * memory.
 */
bool paths_find_or_add(struct paths *paths, uint32_t parent, uint32_t frame, uint32_t *pathp);
size_t paths_memory_bytes(const struct paths *paths);

#endif
