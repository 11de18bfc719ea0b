/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one place where strings are cleaned. Names from a guest, a symbol file or a demangler may
 * hold anything: escape sequences that control the terminal, overrides that show a name backwards,
 * a ';' or a line end that forges a folded stack. The user must see plain text.
 *
 * Harmful characters become '_', one for each character or, where bytes are not UTF-8, for each
 * byte. A terminal that is not in UTF-8 mode takes the bytes 0x80-0x9f as C1 controls (0x9b is ESC
 * [). These bytes pass only as part of a valid character of UTF-8, which a terminal in UTF-8 mode
 * decodes.
 *
 * Pure functions; any thread.
 */
#include "config.h"

#include <assert.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/library.h"
#include "xtop/base/sorted.h"
#include "xtop/base/text.h"
#include "xtop/base/utf8.h"

struct text_range {
	uint32_t first, last;
};

#include "base/text_marks.h"

/*
 * Characters that are not seen, but may change how others are shown: General_Category Cc, Cf, Zl
 * and Zp of Unicode 14, its non-characters U+FFFE and U+FFFF, and the whole block of tags.
 */
static const struct text_range text_invisibles[] = {
	{ 0, 0x1f },      /* C0 */
	{ 0x7f, 0x9f },   /* DEL, C1 */
	{ 0xad, 0xad },   /* soft hyphen */
	{ 0x600, 0x605 }, /* Arabic number signs */
	{ 0x61c, 0x61c }, /* Arabic letter mark: bidi */
	{ 0x6dd, 0x6dd },     { 0x70f, 0x70f },     { 0x890, 0x891 },
	{ 0x8e2, 0x8e2 },     { 0x180e, 0x180e }, /* Mongolian vowel separator */
	{ 0x200b, 0x200f }, /* zero-width space and joiners, marks of direction */
	{ 0x2028, 0x202e }, /* line and paragraph separators, embeddings and overrides: bidi */
	{ 0x2060, 0x206f }, /* word joiner, invisible operators, isolates: bidi */
	{ 0xfeff, 0xfeff }, /* byte order mark, zero-width */
	{ 0xfff9, 0xfffb }, /* interlinear annotation */
	{ 0xfffe, 0xffff }, /* not characters */
	{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x13438 },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, /* invisible musical controls */
	{ 0xe0000, 0xe0fff }, /* tags, variation selectors, and what Unicode reserves for more */
};

static bool text_in_ranges(uint32_t character, const struct text_range *ranges, size_t n)
{
	size_t before = sorted_count(ranges, n, first, character);

	return before && character <= ranges[before - 1].last;
}
#define TEXT_IN(character, ranges)                                                                 \
	text_in_ranges(character, ranges, sizeof(ranges) / sizeof((ranges)[0]))

bool text_is_invisible(uint32_t character)
{
	return TEXT_IN(character, text_invisibles);
}

static bool text_is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != ';';
}

/*
 * Copies eight bytes at a time as long as all of them are plain, and returns how many bytes. The
 * terms below have the high bit of some byte set if some byte is less than 0x20, is ';', is 0x80 or
 * more, or is 0x7f or more (the classic "has a byte less than n" of Bit Twiddling Hacks).
 */
static size_t text_copy_words(char *target, const char *source, size_t size)
{
	const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
	size_t done = 0;

	for (uint64_t word, semicolon; done + sizeof(word) <= size; done += sizeof(word)) {
		memcpy(&word, source + done, sizeof(word));
		semicolon = word ^ (ones * ';');
		if ((((word - ones * 0x20) & ~word) | ((semicolon - ones) & ~semicolon) | word |
		     (word + ones)) &
		    highs)
			break;
		memcpy(target + done, &word, sizeof(word));
	}
	return done;
}

/*
 * The length of the next character of SOURCE if it may stay, or 0 if it must become '_'. *SKIPP is
 * its length in both cases. *MARKSP counts the combining marks since the last base character: a
 * pile of marks must not grow out of the line.
 */
static size_t text_next(const char *source, size_t size, unsigned *marksp, size_t *skipp)
{
	uint32_t character = 0;
	size_t length;

	*skipp = 1;
	if ((unsigned char)source[0] < 0x80)
		length = text_is_plain(source[0]);
	else
		length = utf8_decode(source, size, &character);
	if (length > 1) {
		*skipp = length;
		if (TEXT_IN(character, text_marks))
			return (*marksp)++ < TEXT_MAX_MARKS ? length : 0;
		if (text_is_invisible(character))
			length = 0;
	}
	*marksp = 0;
	return length;
}

/* What text_clean_line() writes in place of BYTE, which no name may have. */
static char text_replace(char byte)
{
	if (byte == ';')
		return ';';
	return byte == '\t' ? ' ' : '_';
}

/*
 * Cleans SOURCE from byte DONE on; the bytes before are already in TARGET. Returns the length of
 * TARGET.
 */
static size_t text_clean_rest(char *target, size_t capacity, const char *source, size_t size,
			      size_t done, bool line)
{
	unsigned marks = done ? 0 : TEXT_MAX_MARKS; /* a mark at the start has no base */
	size_t in = done, out = done;

	while (in < size) {
		size_t skip, length = text_next(source + in, size - in, &marks, &skip);

		if (out + (length ? length : 1) >= capacity)
			break;
		if (length) {
			memcpy(target + out, source + in, length);
			out += length;
		} else {
			target[out++] = line ? text_replace(source[in]) : '_';
			marks = 0;
		}
		in += skip;
	}
	target[out] = '\0';
	return out;
}

size_t text_clean(char *target, size_t capacity, const char *source, size_t size)
{
	size_t done;

	assert(capacity > 0);
	size = strnlen(source, size);
	done = text_copy_words(target, source, size < capacity ? size : capacity - 1);
	return text_clean_rest(target, capacity, source, size, done, false);
}

size_t text_clean_line(char *target, size_t capacity, const char *source, size_t size)
{
	assert(capacity > 0);
	return text_clean_rest(target, capacity, source, strnlen(source, size), 0, true);
}

/* Our tables have a plus-minus sign and a dash. */
static char text_ascii_of(uint32_t character)
{
	switch (character) {
	case 0xb1:
		return '~';
	case 0x2013:
		return '-';
	}
	return '?';
}

void text_to_ascii(char *text)
{
	char *to = text;

	while (*text) {
		uint32_t character = 0;
		size_t length = utf8_decode(text, strnlen(text, 4), &character);

		*to++ = length == 1 ? *text : text_ascii_of(character);
		text += length ? length : 1;
	}
	*to = '\0';
}

/* The first variable that is set and not empty counts (POSIX, chapter 8.2). */
static const char *text_locale_name(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value)
			return value;
	}
	return "";
}

void text_set_locale(void)
{
	const char *name = text_locale_name();

	if (!setlocale(LC_CTYPE, "") && (strcasestr(name, "utf-8") || strcasestr(name, "utf8")))
		library_set_utf8();
}
