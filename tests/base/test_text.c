/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cleaning strings: removes what controls a terminal, misleads the eye or forges a line. */
#include "config.h"

#include "tests/support/tap.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>

#include "xtop/base/text.h"
#include "xtop/profile/frames.h"

static const struct {
	const char *what, *source, *clean;
} cases[] = {
	{ "plain", "tcp_sendmsg_locked", "tcp_sendmsg_locked" },
	{ "empty", "", "" },
	{ "all of ASCII that may stay", "foo<int, 3>(char const*)::{lambda}#1 ~!$%&'\"^`|\\@?",
	  "foo<int, 3>(char const*)::{lambda}#1 ~!$%&'\"^`|\\@?" },
	{ "escape sequence", "a\033[2Jb", "a_[2Jb" },
	{ "C0", "\001\007\b\t\r\n\037x", "_______x" },
	{ "DEL", "a\177b", "a_b" },
	{ "DEL in the eighth byte", "1234567\1779abcdefgh", "1234567_9abcdefgh" },
	{ "DEL in the first byte of eight", "\1772345678", "_2345678" },
	{ "semicolon", "a;b;c", "a_b_c" },
	{ "semicolon in the ninth byte", "12345678;", "12345678_" },
	{ "line end in the eighth byte", "1234567\n9abcdefgh", "1234567_9abcdefgh" },
	{ "C1 raw",
	  "a\x9b"
	  "31mb",
	  "a_31mb" },
	{ "C1 in UTF-8",
	  "a\xc2\x9b"
	  "31mb",
	  "a_31mb" },
	{ "all of C1's ends", "\xc2\x80\xc2\x9f\xc2\xa1", "__\xc2\xa1" },
	{ "bidi embeddings and overrides", "\u202a\u202b\u202c\u202d\u202e.", "_____." },
	{ "bidi isolates", "\u2066\u2067\u2068\u2069.", "____." },
	{ "zero-width and marks", "\u200b\u200c\u200d\u200e\u200f.", "_____." },
	{ "byte order mark", "\ufeffmain", "_main" },
	{ "line and paragraph separator", "a\u2028b\u2029c", "a_b_c" },
	{ "Arabic letter mark, soft hyphen, tag", "\u061c\u00ad\U000e0041", "___" },
	{ "ends of the block of tags", "a\U000e0000\U000e0100\U000e0fff\U000e1000",
	  "a___\U000e1000" },
	{ "letters of two, three and four bytes", "\u00fc\u20ac\u6f22\U0001f600",
	  "\u00fc\u20ac\u6f22\U0001f600" },
	{ "first and last of each length", "\u07ff\u0800\uffef\U00010000\U0010ffff",
	  "\u07ff\u0800\uffef\U00010000\U0010ffff" },
	{ "continuation alone", "a\x80\xbf", "a__" },
	{ "cut off", "a\xe2\x82", "a__" },
	{ "cut off by a letter", "\xe2\x82z", "__z" },
	{ "overlong /", "\xc0\xaf", "__" },
	{ "overlong NUL of three bytes", "\xe0\x80\x80", "___" },
	{ "overlong of four bytes", "\xf0\x82\x82\xac", "____" },
	{ "surrogate", "\xed\xa0\x80", "___" },
	{ "last before and first after the surrogates", "\xed\x9f\xbf\xee\x80\x80",
	  "\xed\x9f\xbf\xee\x80\x80" },
	{ "above U+10FFFF", "\xf4\x90\x80\x80", "____" },
	{ "never a first byte", "\xf5\xff\xfe", "___" },
	{ "accents", "e\u0301 a\u0323\u0302", "e\u0301 a\u0323\u0302" },
	{ "accent without a base", "\u0301x", "_x" },
	{ "pile of marks", "z\u0300\u0301\u0302\u0303\u0304\u0305y",
	  "z\u0300\u0301\u0302\u0303_\u0305y" },
	{ "marks of other scripts", "a\u20d0\u20d1\u0483\u064b\u064cb",
	  "a\u20d0\u20d1\u0483\u064b_b" },
};

static void test_cases(void)
{
	char clean[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t length =
			text_clean(clean, sizeof(clean), cases[i].source, strlen(cases[i].source));

		check_string(clean, cases[i].clean, cases[i].what);
		check(length == strlen(clean), "%s: length %zu", cases[i].what, length);
	}
}

/* For each capacity: as many whole characters as fit, and nothing is written after them. */
static void test_cut(void)
{
	const char source[] = "ab\u20acd\u00fc\nx"; /* a b eee d uu _ x */
	static const size_t lengths[] = { 0, 0, 1, 2, 2, 2, 5, 6, 6, 8, 9, 10, 10 };

	for (size_t capacity = 1; capacity < sizeof(lengths) / sizeof(lengths[0]); capacity++) {
		char *clean = malloc(capacity); /* AddressSanitizer finds an overflow */
		size_t length = text_clean(clean, capacity, source, strlen(source));

		check(length == lengths[capacity] && strlen(clean) == length,
		      "capacity %zu: \"%s\"", capacity, clean);
		free(clean);
	}
}

static void test_size(void)
{
	char comm[4] = { 'b', 'a', 's', 'h' }, clean[16];

	text_clean(clean, sizeof(clean), comm, sizeof(comm));
	check_string(clean, "bash", "a copy of a source without a NUL");
	text_clean(clean, sizeof(clean), "a\xe2\x82\xac", 3);
	check_string(clean, "a__", "a copy whose size cuts a character");
	text_clean(clean, sizeof(clean), "ab\0cd", 5);
	check_string(clean, "ab", "a copy of a source that a NUL ends");
}

/* A line is no name: what would forge one may stay. */
static void test_line(void)
{
	char clean[64];
	size_t length = text_clean_line(clean, sizeof(clean), "a;b\tc\033[2J\x9b\u202e;\n", 15);

	check_string(clean, "a;b c_[2J__;_", "a line keeps ';', tabs become blanks, no more");
	check(length == strlen(clean), "the length of a cleaned text is %zu", length);
	text_clean_line(clean, 4, "12;45", 5);
	check_string(clean, "12;", "as much of a line as fits");
	text_clean_line(clean, sizeof(clean), "1234567;9abcdef", 9);
	check_string(clean, "1234567;9", "a line without a NUL");
}

static void test_long(void)
{
	char source[5000], clean[FRAME_NAME_BYTES];

	memset(source, 'x', sizeof(source));
	check_u64(text_clean(clean, sizeof(clean), source, sizeof(source)), 4095,
		  "4096 bytes with the NUL");
	for (size_t i = 0; i < sizeof(source); i += 2)
		memcpy(source + i, "\u0301", 2);
	text_clean(clean, sizeof(clean), source, sizeof(source));
	check(!strncmp(clean, "_\u0301\u0301\u0301\u0301_\u0301", 12),
	      "a flood of marks is broken up");
}

/* Random bytes become UTF-8 that a second cleaning does not change. */
static void test_random(void)
{
	char source[64], once[256], twice[256];
	bool stable = true;

	srand(1);
	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof(source); i++)
			source[i] =
				rand() % 4
					? "\xe2\x80\xae\xcc\x81\xc2\x9b\xf0\x9f;a\xed\xa0"[rand() %
											   14]
					: rand();
		text_clean(once, sizeof(once), source, sizeof(source));
		text_clean(twice, sizeof(twice), once, sizeof(once));
		stable = stable && !strcmp(once, twice) && !strpbrk(once, ";\n\033");
	}
	check(stable, "random bytes: clean text stays as it is");
}

static void test_ascii(void)
{
	static const struct {
		const char *text, *ascii;
	} in_ascii[] = {
		{ "", "" },
		{ "memcpy", "memcpy" },
		{ "na\u00efve \u20ac \U0001f600!", "na?ve ? ?!" },
		{ "e\u0301", "e?" },
		{ "\u00b1 \u2013", "~ -" },
		{ "\x9b"
		  "31m\xe2\x82",
		  "?31m??" },
		{ "\xff\xc0\xaf", "???" },
	};

	for (size_t i = 0; i < sizeof(in_ascii) / sizeof(in_ascii[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", in_ascii[i].text);
		text_to_ascii(text);
		check_string(text, in_ascii[i].ascii,
			     "text with a ? for each byte or character beyond ASCII");
	}
}

/* No system has the files of these locales. */
static void test_locale(const char *name, bool is_utf8)
{
	setlocale(LC_CTYPE, "C");
	setenv("LC_ALL", name, 1);
	text_set_locale();
	check(!strcmp(nl_langinfo(CODESET), "UTF-8") == is_utf8, "the character set of %s", name);
}

int main(void)
{
	test_cases();
	test_cut();
	test_size();
	test_line();
	test_long();
	test_random();
	test_ascii();
	test_locale("xx_XX.UTF-8", true);
	test_locale("xx_XX.utf8", true);
	test_locale("C", false);
	return tap_done();
}
