/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges of addresses that may lie within each other; see elf_ranges.h. */
#include "config.h"

#include "elf/elf_ranges.h"

#include <stdlib.h>

#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"

void elf_ranges_add(struct elf_ranges *ranges, uint64_t start, uint64_t end, uint64_t die)
{
	if (start >= end || ranges->n == ELF_RANGES_MAX ||
	    !vector_reserve(ranges->list, ranges->capacity, ranges->n + 1))
		return;
	ranges->list[ranges->n++] = (struct elf_range){ start, end, die };
}

static int elf_ranges_compare(const void *a, const void *b)
{
	const struct elf_range *x = a, *y = b;

	if (x->start != y->start)
		return (x->start > y->start) - (x->start < y->start);
	return (x->end < y->end) - (x->end > y->end); /* the longer one first */
}

void elf_ranges_seal(struct elf_ranges *ranges)
{
	uint64_t highest = 0;

	if (!ranges->n)
		return;
	qsort(ranges->list, ranges->n, sizeof(*ranges->list), elf_ranges_compare);
	ranges->ends = reallocarray(NULL, ranges->n, sizeof(*ranges->ends));
	for (size_t i = 0; ranges->ends && i < ranges->n; i++) {
		if (ranges->list[i].end > highest)
			highest = ranges->list[i].end;
		ranges->ends[i] = highest;
	}
	if (!ranges->ends)
		ranges->n = 0;
}

const struct elf_range *elf_ranges_find(const struct elf_ranges *ranges, uint64_t address)
{
	for (size_t n = sorted_count(ranges->list, ranges->n, start, address);
	     n > 0 && ranges->ends[n - 1] > address; n--)
		if (ranges->list[n - 1].end > address)
			return &ranges->list[n - 1];
	return NULL;
}

void elf_ranges_deinit(struct elf_ranges *ranges)
{
	free(ranges->list);
	free(ranges->ends);
}
