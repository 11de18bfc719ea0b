/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorted arrays: binary search for where the elements end that come before a value. Any thread.
 */
#ifndef XTOP_SORTED_H
#define XTOP_SORTED_H

#include <stddef.h>

/*
 * Returns how many of N elements have CONDITION, an expression with I, an element's index. No
 * element has it after one that has not.
 */
#define sorted_count_while(n, i, condition)                                                        \
	__extension__({                                                                            \
		size_t low_ = 0, high_ = (n);                                                      \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (condition)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

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
	sorted_count_while(n, middle_, (array)[middle_].member <= (value))

#endif
