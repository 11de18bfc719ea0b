/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Division of 64 bits for kernels of 32, which are linked without a library for it. */
#ifndef TINY_LONG_DIVISION_H
#define TINY_LONG_DIVISION_H

#include <stdint.h>

/* One bit after the other. */
static inline uint64_t long_division(uint64_t dividend, uint64_t divisor, uint64_t *rest)
{
	uint64_t quotient = 0, left = 0;

	for (int bit = 63; bit >= 0; bit--) {
		left = left << 1 | (dividend >> bit & 1);
		if (left < divisor)
			continue;
		left -= divisor;
		quotient |= 1ULL << bit;
	}
	*rest = left;
	return quotient;
}

#endif
