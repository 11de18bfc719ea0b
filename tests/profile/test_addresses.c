/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples by instruction: sums, decay, room, other names. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "profile/addresses.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define SECOND 1000000000ULL

static struct annotation *get(const struct addresses *addresses, uint32_t frame, uint64_t time_ns)
{
	struct annotation *annotation = calloc(1, sizeof(*annotation));

	annotation->frame = frame;
	must(addresses_get(addresses, time_ns, annotation));
	return annotation;
}

static void test_sums(void)
{
	struct addresses *addresses;
	struct annotation *annotation;

	must(addresses_create(0, &addresses));
	addresses_add(addresses, 7, 0x20, SECOND, 1);
	addresses_add(addresses, 7, 0x10, SECOND, 2);
	addresses_add(addresses, 7, 0x20, 2 * SECOND, 3);
	addresses_add(addresses, 8, 0x20, 2 * SECOND, 50);
	annotation = get(addresses, 7, 9 * SECOND);
	check_u64(annotation->n_counts, 2, "addresses of one function");
	check(annotation->counts[0].distance == 0x10 && annotation->counts[0].ticks == 2,
	      "counts ascend by distance");
	check(annotation->counts[1].ticks == 4 && annotation->counts[1].samples == 2 &&
		      annotation->counts[1].live == 4,
	      "samples of one instruction are summed, without decay");
	annotation_destroy(annotation);
	addresses_reset(addresses);
	annotation = get(addresses, 7, 9 * SECOND);
	check_u64(annotation->n_counts, 0, "after a reset there are none");
	annotation_destroy(annotation);
	addresses_destroy(addresses);
}

static void test_decays(void)
{
	struct addresses *addresses;
	struct annotation *annotation;

	must(addresses_create(10 * SECOND, &addresses));
	addresses_add(addresses, 7, 0, 100 * SECOND, 8);
	addresses_add(addresses, 7, 0, 110 * SECOND, 8);
	addresses_add(addresses, 7, 0, 105 * SECOND, 0); /* time does not go back */
	annotation = get(addresses, 7, 120 * SECOND);
	check(fabs(annotation->counts[0].live - 6) < 1e-9, "half after each half-life: %f",
	      annotation->counts[0].live);
	check(annotation->counts[0].ticks == 16, "ticks do not decay");
	annotation_destroy(annotation);
	addresses_destroy(addresses);
}

static void test_room(void)
{
	struct addresses *addresses;
	struct annotation *annotation;

	must(addresses_create(0, &addresses));
	for (uint32_t i = 0; i < 1000; i++)
		addresses_add(addresses, 1, i, SECOND, 5);
	for (uint32_t i = 0; i < 4 * ADDRESSES_MAX; i++)
		addresses_add(addresses, 2 + i % 100, i, SECOND, 1);
	check(addresses_memory_bytes(addresses) < 4U << 20, "bounded: %zu bytes",
	      addresses_memory_bytes(addresses));
	annotation = get(addresses, 1, SECOND);
	check_u64(annotation->n_counts, 1000, "the heavy ones stay");
	annotation_destroy(annotation);
	addresses_destroy(addresses);
}

static uint32_t rename_one(void *context, uint32_t frame, uint32_t *shift)
{
	(void)context;
	if (frame != 7)
		return frame;
	*shift = 0x10;
	return 8;
}

static void test_names(void)
{
	struct addresses *addresses;
	struct annotation *annotation;

	must(addresses_create(0, &addresses));
	addresses_add(addresses, 7, 0, SECOND, 1);
	addresses_add(addresses, 8, 0x10, SECOND, 2);
	addresses_add(addresses, 9, 0x10, SECOND, 4);
	addresses_rename(addresses, rename_one, NULL);
	annotation = get(addresses, 8, SECOND);
	check(annotation->n_counts == 1 && annotation->counts[0].ticks == 3,
	      "equal places are added up");
	annotation_destroy(annotation);
	annotation = get(addresses, 9, SECOND);
	check_u64(annotation->n_counts, 1, "counts of other functions stay");
	annotation_destroy(annotation);
	addresses_add(addresses, 8, 0x10, SECOND, 1);
	annotation = get(addresses, 8, SECOND);
	check(annotation->n_counts == 1 && annotation->counts[0].ticks == 4,
	      "a renamed count is found again");
	annotation_destroy(annotation);
	addresses_destroy(addresses);
}

int main(void)
{
	test_sums();
	test_decays();
	test_room();
	test_names();
	return tap_done();
}
