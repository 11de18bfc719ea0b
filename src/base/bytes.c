/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gaps in the bytes of a file; see bytes.h. Any thread; pure functions. */
#include "config.h"

#include "xtop/base/bytes.h"

bool bytes_gaps_touch(const struct bytes_gap *gaps, size_t n, size_t start, size_t end)
{
	size_t low = 0, high = n;

	while (low < high) { /* find the first gap that ends after START */
		size_t middle = low + (high - low) / 2;

		if (gaps[middle].end > start)
			high = middle;
		else
			low = middle + 1;
	}
	return low < n && gaps[low].start < end;
}
