/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorted arrays: binary search for the last element that begins at or before a value. Any thread.
 */
#ifndef XTOP_SORTED_H
#define XTOP_SORTED_H

#include <stddef.h>

/*
 * Returns how many of the N elements of ARRAY, 0 to N, have a MEMBER that is at most VALUE. The
 * elements are structures that ascend by MEMBER, a number. If elements are ranges, only the last of
 * the counted elements can contain VALUE. ARRAY may be NULL if N is 0. VALUE is evaluated once for
 * each step.
 *
 * 	size_t n = sorted_count(list, list_n, start, address);
 * 	return n && address < list[n - 1].end ? &list[n - 1] : NULL;
 */
#define sorted_count(array, n, member, value)                                                      \
	__extension__({                                                                            \
		size_t low_ = 0, high_ = (n);                                                      \
		while (low_ < high_) {                                                             \
			size_t middle_ = low_ + (high_ - low_) / 2;                                \
			if ((array)[middle_].member <= (value))                                    \
				low_ = middle_ + 1;                                                \
			else                                                                       \
				high_ = middle_;                                                   \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
