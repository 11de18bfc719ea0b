/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of paths in a call tree; see paths.h. A hash table over a list. */
#include "config.h"

#include "query/paths.h"

#include <stdlib.h>

#include "xtop/base/vector.h"

struct paths_key {
	const struct paths *paths;
	struct path path;
};

void paths_deinit(struct paths *paths)
{
	hash_table_deinit(&paths->table);
	free(paths->list);
	*paths = (struct paths){ .n = 0 };
}

static bool paths_is_same(const void *context, uint32_t element)
{
	const struct paths_key *key = context;
	const struct path *path = &key->paths->list[element];

	return path->parent == key->path.parent && path->frame == key->path.frame;
}

bool paths_find_or_add(struct paths *paths, uint32_t parent, uint32_t frame, uint32_t *pathp)
{
	const struct paths_key key = { paths, { parent, frame } };
	uint64_t hash = hash_word(0, (uint64_t)parent << 32 | frame);
	uint32_t found = hash_table_find(&paths->table, hash, paths_is_same, &key);

	if (found == HASH_NONE) {
		found = (uint32_t)paths->n;
		if (!vector_reserve(paths->list, paths->capacity, paths->n + 1) ||
		    !hash_table_add(&paths->table, hash, found))
			return false;
		paths->list[paths->n++] = key.path;
	}
	*pathp = found;
	return true;
}

size_t paths_memory_bytes(const struct paths *paths)
{
	return paths->capacity * sizeof(*paths->list) +
	       paths->table.n_slots * sizeof(*paths->table.slots);
}
