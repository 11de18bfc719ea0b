/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UTF-8: every character is encoded and decoded, and wrong bytes are refused. */
#include "config.h"

#include "tests/support/tap.h"
#include "xtop/base/utf8.h"

static void test_all_characters(void)
{
	unsigned bad = 0;

	for (uint32_t character = 0; character <= 0x10ffff; character++) {
		uint32_t back = 0xffffffff;
		char bytes[4];
		size_t n = utf8_encode(character, bytes), m = utf8_decode(bytes, n, &back);

		if (character >= 0xd800 && character < 0xe000)
			bad += m != 0;
		else
			bad += m != n || back != character;
		bad += n > 1 && utf8_decode(bytes, n - 1, &back) != 0;
	}
	check_u64(bad, 0, "characters that are decoded wrongly, or although they are cut");
}

/* From RFC 3629, and from Markus Kuhn's list of typical errors of decoders. */
static void test_none(void)
{
	static const char *const none[] = { "\x80",
					    "\xbf",
					    "\xc0\x80",
					    "\xc1\xbf",
					    "\xe0\x80\x80",
					    "\xe0\x9f\xbf",
					    "\xf0\x8f\xbf\xbf",
					    "\xf4\x90\x80\x80",
					    "\xf5\x80\x80\x80",
					    "\xed\xa0\x80",
					    "\xed\xbf\xbf",
					    "\xc3(",
					    "\xe2\x82(",
					    "\xf0\x9f\x98(",
					    "\xfe",
					    "\xff" };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		uint32_t character = 7;

		check(!utf8_decode(none[i], strlen(none[i]), &character) && character == 7,
		      "number %zu is no character, and nothing is written", i);
	}
}

int main(void)
{
	test_all_characters();
	test_none();
	return tap_done();
}
