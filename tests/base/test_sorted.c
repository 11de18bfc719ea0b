/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sorted_count() with arrays of every length up to 40, against counting one by one. */
#include "config.h"

#include "tests/support/tap.h"
#include "xtop/base/sorted.h"

struct element {
	int other;
	uint32_t start;
};

static size_t count_slowly(const struct element *elements, size_t n, uint64_t value)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += elements[i].start <= value;
	return count;
}

int main(void)
{
	const uint64_t beyond = 1ULL << 32;
	struct element elements[40];
	unsigned wrong = 0;

	/* 1, 1, 4, 9, 16, ...: two that are equal, and gaps. */
	for (size_t i = 0; i < 40; i++)
		elements[i] = (struct element){ .start = i ? i * i : 1 };
	for (size_t n = 0; n <= 40; n++)
		for (uint64_t value = 0; value < 1700; value++)
			wrong += sorted_count(elements, n, start, value) !=
				 count_slowly(elements, n, value);
	check_u64(wrong, 0, "wrong indices for any number of elements");
	check_u64(sorted_count((struct element *)NULL, 0, start, 5), 0,
		  "index in an empty array, which is NULL");
	check_u64(sorted_count(elements, 40, start, beyond), 40, "index of a value beyond 32 bits");
	return tap_done();
}
