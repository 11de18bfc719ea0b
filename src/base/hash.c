/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash functions and the hash table; see hash.h. Open addressing, linear probing. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"

#define HASH_MIN_SLOTS 64

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const char *at = bytes;
	size_t left = n;
	uint64_t word;

	/* This memcpy() has a constant size, so it is one instruction. */
	for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = hash_word(hash, word);
	}
	if (left) {
		word = 0;
		memcpy(&word, at, left);
		hash = hash_word(hash, word);
	}
	return hash_word(hash, n);
}

void hash_table_deinit(struct hash_table *table)
{
	free(table->slots);
	*table = (struct hash_table){ 0 };
}

uint32_t hash_table_find(const struct hash_table *table, uint64_t hash, hash_table_same_fn *same,
			 const void *context)
{
	uint32_t wanted = (uint32_t)hash;

	if (!table->n_slots)
		return HASH_NONE;
	for (size_t i = wanted & (table->n_slots - 1);; i = (i + 1) & (table->n_slots - 1)) {
		const struct hash_table_slot *slot = &table->slots[i];

		if (slot->element == HASH_NONE ||
		    (slot->hash == wanted && same(context, slot->element)))
			return slot->element;
	}
}

static void hash_table_put(struct hash_table *table, struct hash_table_slot slot)
{
	size_t i = slot.hash & (table->n_slots - 1);

	while (table->slots[i].element != HASH_NONE)
		i = (i + 1) & (table->n_slots - 1);
	table->slots[i] = slot;
}

static bool hash_table_grow(struct hash_table *table)
{
	struct hash_table grown = { .n = table->n };

	grown.n_slots = table->n_slots ? 2 * table->n_slots : HASH_MIN_SLOTS;
	grown.slots = reallocarray(NULL, grown.n_slots, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	memset(grown.slots, 0xff, grown.n_slots * sizeof(*grown.slots)); /* HASH_NONE */
	for (size_t i = 0; i < table->n_slots; i++)
		if (table->slots[i].element != HASH_NONE)
			hash_table_put(&grown, table->slots[i]);
	free(table->slots);
	*table = grown;
	return true;
}

bool hash_table_add(struct hash_table *table, uint64_t hash, uint32_t element)
{
	if (2 * (table->n + 1) >= table->n_slots && !hash_table_grow(table))
		return false;
	hash_table_put(table, (struct hash_table_slot){ (uint32_t)hash, element });
	table->n++;
	return true;
}
