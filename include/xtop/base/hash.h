/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash functions, and one hash table: from a hash to the numbers of the caller's elements. The
 * caller keeps the elements and compares them. One thread at a time for each table.
 *
 * Tables that are read for each frame or page keep a layout of their own, and say why.
 */
#ifndef XTOP_HASH_H
#define XTOP_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_ODD 0x9e3779b97f4a7c15ULL /* 2^64 / golden ratio: neighbours land far apart */

/* Fibonacci hashing: a number below N, from all bits of WORD. N is at most 2^32. */
static inline size_t hash_slot(uint64_t word, size_t n)
{
	return (size_t)((word * HASH_ODD >> 32) % n);
}

/*
 * Continues HASH with WORD. Both halves of the 128-bit product count: with
 * the lower half alone, two words could be chosen that collide under every seed.
 */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * HASH_ODD;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Adds the N bytes at BYTES to HASH, and then N. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n);

/* --- the table -------------------------------------------------------------------------------- */

#define HASH_NONE UINT32_MAX /* no element */

struct hash_table_slot {
	uint32_t hash, element; /* element is HASH_NONE: the slot is free */
};

/* Zeroed to begin with: empty. */
struct hash_table {
	struct hash_table_slot *slots;
	size_t n, n_slots; /* n_slots: a power of two, more than half of it free */
};

void hash_table_deinit(struct hash_table *table);

/* Whether ELEMENT is the one that is looked for. */
typedef bool hash_table_same_fn(const void *context, uint32_t element);
/* The element with HASH that SAME accepts; HASH_NONE: none. */
uint32_t hash_table_find(const struct hash_table *table, uint64_t hash, hash_table_same_fn *same,
			 const void *context);
/*
 * Adds ELEMENT, which is not in the table and is not HASH_NONE. False: out of memory; the table is
 * as it was.
 */
bool hash_table_add(struct hash_table *table, uint64_t hash, uint32_t element);

#endif
