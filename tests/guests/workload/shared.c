// SPDX-License-Identifier: GPL-2.0-or-later
/* libwork.so: one exported function that calls a static one. */
#include "work.h"

WORK static unsigned long shared_mix(unsigned long sum, const unsigned char *bytes,
				     unsigned long length)
{
	while (length--)
		sum = (sum ^ *bytes++) * 0x100000001b3; /* FNV-1a */
	return sum;
}

WORK unsigned long shared_checksum(const unsigned char *bytes, unsigned long length)
{
	unsigned long sum = 0xcbf29ce484222325;

	for (unsigned long at = 0; at < length; at += 4096)
		sum = shared_mix(sum, bytes + at, length - at < 4096 ? length - at : 4096);
	return sum;
}
