/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of owners; see owners.h. Resolver's thread, but for owners_get(). */
#include "config.h"

#include "xtop/profile/owners.h"

#include <stdlib.h>
#include <string.h>

struct owners_key {
	const struct owners *owners;
	const struct owner *owner;
};

void owners_deinit(struct owners *owners)
{
	for (uint32_t i = 0; i < OWNERS_MAX / OWNERS_CHUNK; i++)
		free(owners->chunks[i]);
	hash_table_deinit(&owners->index);
}

const struct owner *owners_get(const struct owners *owners, uint32_t id)
{
	return owners->chunks[(id - 1) / OWNERS_CHUNK] + (id - 1) % OWNERS_CHUNK;
}

/*
 * Whether only the name of OWNER's process counts, not which process it is. Always so for threads
 * without a name: they are few, and nobody looks for one of them.
 */
static bool owners_ignores_process(const struct owners *owners, const struct owner *owner)
{
	return owners->by_name || !*owner->name;
}

static bool owners_is_same(const void *context, uint32_t id)
{
	const struct owners_key *key = context;
	const struct owner *wanted = key->owner, *owner = owners_get(key->owners, id);

	if (owner->kind != wanted->kind || strcmp(owner->name, wanted->name) != 0 ||
	    strcmp(owner->cgroup, wanted->cgroup) != 0)
		return false;
	if (owner->process == wanted->process)
		return true;
	return owners_ignores_process(key->owners, wanted) && owner->process != OWNER_NONE &&
	       wanted->process != OWNER_NONE &&
	       !strcmp(owners_get(key->owners, owner->process)->name,
		       owners_get(key->owners, wanted->process)->name);
}

static uint64_t owners_hash(const struct owners *owners, const struct owner *owner)
{
	bool by_name = owners_ignores_process(owners, owner) && owner->process != OWNER_NONE;
	uint64_t hash =
		hash_word(owners->seed ^ owner->kind, by_name ? OWNER_NONE : owner->process);

	/* A guest may have many processes with threads of one name, so their names are needed. */
	if (by_name) {
		const char *process = owners_get(owners, owner->process)->name;

		hash = hash_bytes(hash, process, strlen(process));
	}
	hash = hash_bytes(hash, owner->cgroup, strlen(owner->cgroup));
	return hash_bytes(hash, owner->name, strlen(owner->name));
}

const struct owner *owners_find(const struct owners *owners, const struct owner *key)
{
	const struct owners_key wanted = { owners, key };
	uint32_t id = hash_table_find(&owners->index, owners_hash(owners, key), owners_is_same,
				      &wanted);

	return id == HASH_NONE ? NULL : owners_get(owners, id);
}

uint32_t owners_add(struct owners *owners, const struct owner *owner)
{
	struct owner **chunk = &owners->chunks[owners->n / OWNERS_CHUNK];

	if (owners->n == OWNERS_MAX)
		return OWNER_NONE;
	if (!*chunk)
		*chunk = malloc(OWNERS_CHUNK * sizeof(**chunk));
	if (!*chunk ||
	    !hash_table_add(&owners->index, owners_hash(owners, owner), owners->n + 1))
		return OWNER_NONE;
	(*chunk)[owners->n % OWNERS_CHUNK] = *owner;
	return ++owners->n;
}

size_t owners_memory_bytes(const struct owners *owners)
{
	size_t n_chunks = (owners->n + OWNERS_CHUNK - 1) / OWNERS_CHUNK;

	return n_chunks * OWNERS_CHUNK * sizeof(struct owner) +
	       owners->index.n_slots * sizeof(*owners->index.slots);
}
