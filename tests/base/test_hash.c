/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash table, with hashes that collide, and the hash functions. */
#include "config.h"

#include <stdlib.h>

#include "tests/support/tap.h"
#include "xtop/base/hash.h"
#include "xtop/base/vector.h"

#define N 100000

static bool is_wanted(const void *context, uint32_t element)
{
	return *(const uint32_t *)context == element;
}

static bool never(const void *context, uint32_t element)
{
	(void)context, (void)element;
	return false;
}

/* Every element is found by its hash, even if many elements have the same hash. */
static void test_table(uint64_t distinct, const char *what)
{
	struct hash_table table = { 0 };
	uint32_t found = 0, strangers = 0, n = distinct < 1000 ? 2000 : N;

	for (uint32_t i = 0; i < n; i++)
		if (!hash_table_add(&table, hash_word(1, i % distinct), i))
			break;
	for (uint32_t i = 0; i < n; i++)
		found += hash_table_find(&table, hash_word(1, i % distinct), is_wanted, &i) == i;
	for (uint32_t i = 0; i < n; i++)
		strangers += hash_table_find(&table, hash_word(1, i % distinct), never, NULL) !=
			     HASH_NONE;
	check(table.n == n && found == n, "%s", what);
	check(strangers == 0 && 2 * table.n <= table.n_slots,
	      "no element of the table is taken for another");
	hash_table_deinit(&table);
	check(hash_table_find(&table, 1, is_wanted, &n) == HASH_NONE,
	      "an empty table finds nothing");
}

static void test_functions(void)
{
	unsigned used[64] = { 0 }, most = 0;

	check(hash_bytes(1, "abcdefgh", 8) != hash_bytes(1, "abcdefgi", 8),
	      "each byte changes the hash");
	check(hash_bytes(1, "a", 1) != hash_bytes(1, "a\0", 2),
	      "the number of bytes changes the hash");
	check(hash_bytes(1, "a", 1) != hash_bytes(2, "a", 1), "the hash before changes the hash");
	for (uint64_t page = 0; page < 6400; page++)
		used[hash_slot(page << 12, 64)]++;
	for (unsigned i = 0; i < 64; i++)
		most = used[i] > most ? used[i] : most;
	check(most < 130, "neighbouring pages are spread evenly");
}

/*
 * A guest chooses names, but does not know the seed. Two pairs of words that differ in the top bit of
 * the first word, and in the bits that such a difference reached after a plain multiplication, must
 * not collide under every seed.
 */
static void test_chosen_words(void)
{
	const uint64_t top = 1ULL << 63, second = 1ULL << 63 | 1ULL << 31;
	unsigned collisions = 0;

	for (uint64_t seed = 1; seed <= 1000; seed++)
		collisions += hash_word(hash_word(seed * HASH_ODD, 7), 9) ==
			      hash_word(hash_word(seed * HASH_ODD, 7 ^ top), 9 ^ second);
	check(collisions < 10, "words that collide under all seeds: %u of 1000", collisions);
}

static void test_vector(void)
{
	volatile size_t too_many = SIZE_MAX; /* the compiler would refuse what it can see */
	size_t capacity = 0, grown = 0;
	uint32_t *array = NULL, right = 0;

	for (uint32_t i = 0; i < N; i++) {
		size_t before = capacity;

		if (!vector_reserve(array, capacity, (size_t)i + 1))
			break;
		array[i] = i;
		grown += capacity != before;
	}
	for (uint32_t i = 0; i < N; i++)
		right += array[i] == i;
	check(right == N && grown < 20, "a vector keeps what it has while it grows");
	check(!vector_reserve(array, capacity, too_many) && array[N - 1] == N - 1,
	      "a vector that cannot grow keeps what it has");
	free(array);
}

int main(void)
{
	test_table(N, "many elements, each with a hash of its own");
	test_table(3, "many elements, three hashes");
	test_functions();
	test_chosen_words();
	test_vector();
	return tap_done();
}
