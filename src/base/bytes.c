/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gaps in the bytes of a file; see bytes.h. Any thread; pure functions. */
#include "config.h"

#include "xtop/base/bytes.h"

#include "xtop/base/sorted.h"

bool bytes_gaps_touch(const struct bytes_gap *gaps, size_t n, size_t start, size_t end)
{
	size_t before = sorted_count(gaps, n, end, start); /* gaps that end before START or there */

	return before < n && gaps[before].start < end;
}
