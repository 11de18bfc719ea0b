/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Varints: there and back at each length; damaged ones. */
#include "config.h"

#include "tests/support/tap.h"

#include <string.h>

#include "xtop/base/varint.h"

static void test_round(void)
{
	unsigned wrong = 0, cut = 0;

	for (unsigned bits = 0; bits < 64; bits++)
		for (int off = -1; off <= 1; off++) {
			uint64_t value = ((uint64_t)1 << bits) + (uint64_t)off, read = 0;
			uint8_t bytes[VARINT_BYTES + 1];
			const uint8_t *end = varint_put(bytes, value);
			size_t n = (size_t)(end - bytes);

			wrong += n > VARINT_BYTES || n != varint_size(value) ||
				 varint_get(bytes, end, &read) != end || read != value;
			for (size_t i = 0; i < n; i++)
				cut += varint_get(bytes, bytes + i, &read) != NULL;
		}
	check_u64(wrong, 0, "numbers that are read as other numbers");
	check_u64(cut, 0, "numbers that are cut off, and read");
}

static bool reads(const char *text, size_t n, uint64_t want)
{
	const uint8_t *bytes = (const uint8_t *)text;
	uint64_t value = ~want;

	return varint_get(bytes, bytes + n, &value) == bytes + n && value == want;
}

static void test_long(void)
{
	check(reads("\x96\x01", 2, 150), "the manual's 150 is read");
	check(reads("\x80\x00", 2, 0), "0 may be longer than it needs");
	check(reads("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX),
	      "a number of 64 bits is read");
	check(!reads("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, UINT64_MAX),
	      "a number of 65 bits is refused");
	check(!reads("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, 0),
	      "a number of eleven bytes is refused");
}

int main(void)
{
	test_round();
	test_long();
	return tap_done();
}
