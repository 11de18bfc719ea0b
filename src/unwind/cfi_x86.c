/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions that only x86-64's linkers write; see cfi_x86.h. Any thread; pure functions. */
#include "config.h"

#include "unwind/cfi_x86.h"

#include <string.h>

bool cfi_match_plt(const uint8_t *expression, int64_t size_bytes, int32_t *literal)
{
	static const uint8_t before[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a },
			     behind[] = { 0x2a, 0x33, 0x24, 0x22 };
	uint8_t number;

	if (size_bytes != sizeof(before) + 1 + sizeof(behind) ||
	    memcmp(expression, before, sizeof(before)) != 0 ||
	    memcmp(expression + sizeof(before) + 1, behind, sizeof(behind)) != 0)
		return false;
	number = expression[sizeof(before)] - 0x30;
	if (number > 31)
		return false;
	*literal = number;
	return true;
}
