/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples by instruction; see addresses.h. */
#include "config.h"

#include "profile/addresses.h"

#include <stdlib.h>

#include "profile/decay.h"
#include "xtop/base/hash.h"
#include "xtop/base/vector.h"

struct address_count {
	uint32_t frame, distance;
	uint64_t time_ns; /* time when the latest sample was taken */
	double live;      /* weight at that time */
	double ticks;
	uint64_t samples;
};

struct addresses {
	uint64_t half_life_ns;
	uint64_t time_ns; /* time of the latest sample of all */
	struct address_count *counts;
	size_t n, capacity;
	struct hash_table table;
};

struct xtop_error *addresses_create(uint64_t half_life_ns, struct addresses **addressesp)
{
	struct addresses *addresses = calloc(1, sizeof(*addresses));

	if (!addresses)
		return error_create("out of memory");
	addresses->half_life_ns = half_life_ns;
	*addressesp = addresses;
	return NULL;
}

void addresses_destroy(struct addresses *addresses)
{
	if (!addresses)
		return;
	hash_table_deinit(&addresses->table);
	free(addresses->counts);
	free(addresses);
}

void addresses_reset(struct addresses *addresses)
{
	hash_table_deinit(&addresses->table);
	addresses->table = (struct hash_table){ 0 };
	addresses->n = 0;
}

/* The live weight of COUNT at TIME_NS. */
static double addresses_decayed(const struct addresses *addresses,
				const struct address_count *count, uint64_t time_ns)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.*): there are counts if N is not 0 */
	return count->live * decay_between(count->time_ns, time_ns, addresses->half_life_ns);
}

/* --- looking up ------------------------------------------------------------------------------- */

struct addresses_wanted {
	const struct addresses *addresses;
	uint32_t frame, distance;
};

static uint64_t addresses_hash(uint32_t frame, uint32_t distance)
{
	return hash_word(1, (uint64_t)frame << 32 | distance);
}

static bool addresses_is_same(const void *context, uint32_t element)
{
	const struct addresses_wanted *wanted = context;
	const struct address_count *count = &wanted->addresses->counts[element];

	return count->frame == wanted->frame && count->distance == wanted->distance;
}

static struct address_count *addresses_find(const struct addresses *addresses, uint32_t frame,
					    uint32_t distance)
{
	const struct addresses_wanted wanted = { addresses, frame, distance };
	uint32_t found = hash_table_find(&addresses->table, addresses_hash(frame, distance),
					 addresses_is_same, &wanted);

	return found == HASH_NONE ? NULL : &addresses->counts[found];
}

/* --- making room ------------------------------------------------------------------------------ */

static int addresses_compare_weight(const void *a, const void *b)
{
	const struct address_count *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? 1 : -1;
	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? 1 : -1;
	return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
}

/*
 * Makes a new index of the first N counts, whose places or names have changed. Without memory the
 * last counts are lost.
 */
static void addresses_index(struct addresses *addresses, size_t n)
{
	hash_table_deinit(&addresses->table);
	addresses->table = (struct hash_table){ 0 };
	addresses->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct address_count *count = &addresses->counts[i];

		if (!hash_table_add(&addresses->table,
				    addresses_hash(count->frame, count->distance), (uint32_t)i))
			return;
		addresses->n++;
	}
}

static void addresses_drop_lightest(struct addresses *addresses)
{
	for (size_t i = 0; i < addresses->n; i++) {
		struct address_count *count = &addresses->counts[i];

		count->live = addresses_decayed(addresses, count, addresses->time_ns);
		count->time_ns = addresses->time_ns;
	}
	qsort(addresses->counts, addresses->n, sizeof(addresses->counts[0]),
	      addresses_compare_weight);
	addresses_index(addresses, addresses->n - addresses->n / 4);
}

/* --- adding ----------------------------------------------------------------------------------- */

static struct address_count *addresses_insert(struct addresses *addresses, uint32_t frame,
					      uint32_t distance)
{
	struct address_count *count;

	if (addresses->n == ADDRESSES_MAX)
		addresses_drop_lightest(addresses);
	if (!vector_reserve(addresses->counts, addresses->capacity, addresses->n + 1) ||
	    !hash_table_add(&addresses->table, addresses_hash(frame, distance),
			    (uint32_t)addresses->n))
		return NULL;
	count = &addresses->counts[addresses->n++];
	*count = (struct address_count){ .frame = frame, .distance = distance };
	return count;
}

void addresses_add(struct addresses *addresses, uint32_t frame, uint32_t distance,
		   uint64_t time_ns, double ticks)
{
	struct address_count *count = addresses_find(addresses, frame, distance);

	if (time_ns > addresses->time_ns)
		addresses->time_ns = time_ns;
	if (!count)
		count = addresses_insert(addresses, frame, distance);
	if (!count)
		return;
	count->live = addresses_decayed(addresses, count, addresses->time_ns) + ticks;
	count->time_ns = addresses->time_ns;
	count->ticks += ticks;
	count->samples++;
}

/* --- addresses under new names ---------------------------------------------------------------- */

static int addresses_compare_place(const void *a, const void *b)
{
	const struct address_count *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return (x->distance > y->distance) - (x->distance < y->distance);
}

/* Adds FROM to TO, which counts samples of FROM's instruction as well. */
static void addresses_join(const struct addresses *addresses, struct address_count *to,
			   const struct address_count *from)
{
	to->live = addresses_decayed(addresses, to, addresses->time_ns) +
		   addresses_decayed(addresses, from, addresses->time_ns);
	to->time_ns = addresses->time_ns;
	to->ticks += from->ticks;
	to->samples += from->samples;
}

void addresses_rename(struct addresses *addresses,
		      uint32_t (*find_better)(void *context, uint32_t frame, uint32_t *shift),
		      void *context)
{
	struct address_count *counts = addresses->counts;
	size_t n = 0;

	for (size_t i = 0; i < addresses->n; i++) {
		uint32_t shift = 0;

		counts[i].frame = find_better(context, counts[i].frame, &shift);
		counts[i].distance += shift;
	}
	if (addresses->n)
		qsort(counts, addresses->n, sizeof(counts[0]), addresses_compare_place);
	for (size_t i = 0; i < addresses->n; i++) {
		if (n && !addresses_compare_place(&counts[n - 1], &counts[i]))
			addresses_join(addresses, &counts[n - 1], &counts[i]);
		else
			counts[n++] = counts[i];
	}
	addresses_index(addresses, n);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int addresses_compare_distance(const void *a, const void *b)
{
	const struct annotation_count *x = a, *y = b;

	return (x->distance > y->distance) - (x->distance < y->distance);
}

struct xtop_error *addresses_get(const struct addresses *addresses, uint64_t time_ns,
				 struct annotation *annotation)
{
	size_t capacity = 0;

	for (size_t i = 0; i < addresses->n; i++) {
		const struct address_count *count = &addresses->counts[i];

		if (count->frame != annotation->frame)
			continue;
		if (!vector_reserve(annotation->counts, capacity, annotation->n_counts + 1))
			return error_create("no memory for a function's samples");
		annotation->counts[annotation->n_counts++] = (struct annotation_count){
			.distance = count->distance,
			.live = addresses_decayed(addresses, count, time_ns),
			.ticks = count->ticks,
			.samples = count->samples,
		};
	}
	if (annotation->n_counts)
		qsort(annotation->counts, annotation->n_counts, sizeof(annotation->counts[0]),
		      addresses_compare_distance);
	return NULL;
}

size_t addresses_memory_bytes(const struct addresses *addresses)
{
	return addresses->capacity * sizeof(addresses->counts[0]) +
	       addresses->table.n_slots * sizeof(addresses->table.slots[0]);
}
