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

/* Fibonacci hashing: maps WORD, all bits of which count, to a number below N. N is at most 2^32. */
static inline size_t hash_slot(uint64_t word, size_t n)
{
	return (size_t)((word * HASH_ODD >> 32) % n);
}

/*
 * Mixes WORD into HASH. Both halves of the 128-bit product count: with the lower half alone, two
 * words could be chosen that collide under every seed.
 */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * HASH_ODD;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Mixes the N bytes at BYTES into HASH, and then the number N. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n);

/* --- the table -------------------------------------------------------------------------------- */

#define HASH_NONE UINT32_MAX /* no element */

struct hash_table_slot {
	uint32_t hash, element; /* element is HASH_NONE: the slot is free */
};

/* A hash table. All zeros is an empty one. */
struct hash_table {
	struct hash_table_slot *slots;
	size_t n, n_slots; /* n_slots: a power of two, more than half of it free */
};

void hash_table_deinit(struct hash_table *table);

/* Whether ELEMENT is the wanted one. CONTEXT says what is wanted. */
typedef bool hash_table_same_fn(const void *context, uint32_t element);
/* Returns the element with HASH that SAME accepts, or HASH_NONE if there is none. */
uint32_t hash_table_find(const struct hash_table *table, uint64_t hash, hash_table_same_fn *same,
			 const void *context);
/*
 * Adds ELEMENT, which is not in the table and is not HASH_NONE. Returns false if memory is out; the
 * table is then unchanged.
 */
bool hash_table_add(struct hash_table *table, uint64_t hash, uint32_t element);

#endif
