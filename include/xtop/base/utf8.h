/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UTF-8 (RFC 3629, Unicode 14 table 3-7), one character at a time. Pure functions; any thread. */
#ifndef XTOP_UTF8_H
#define XTOP_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the character at the beginning of the SIZE bytes at SOURCE; SIZE is not 0. Returns its
 * length, 0 if these bytes are no valid character. The second byte tells overlong forms, surrogates
 * and numbers above U+10FFFF from valid characters:
 *
 *	first    second   excluded by the second byte
 *	c2..df   80..bf   (c0 and c1 would be overlong)
 *	e0       a0..bf   overlong
 *	ed       80..9f   surrogates
 *	f0       90..bf   overlong
 *	f4       80..8f   above U+10FFFF
 */
static inline size_t utf8_decode(const char *source, size_t size, uint32_t *characterp)
{
	const unsigned char *bytes = (const unsigned char *)source;
	unsigned char first = bytes[0], low = 0x80, high = 0xbf;
	size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t character = first & (0xff >> (length + 1));

	if (first < 0x80) {
		*characterp = first;
		return 1;
	}
	if (first < 0xc2 || first > 0xf4 || size < length)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (bytes[1] < low || bytes[1] > high)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (bytes[i] & 0x3f);
	}
	*characterp = character;
	return length;
}

/* Encodes CHARACTER, at most U+10FFFF, without a NUL. Returns the number of bytes. */
static inline size_t utf8_encode(uint32_t character, char bytes[4])
{
	static const unsigned char firsts[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	for (size_t i = length - 1; i > 0; i--, character >>= 6)
		bytes[i] = (char)(0x80 | (character & 0x3f));
	bytes[0] = (char)(firsts[length] | character);
	return length;
}

#endif
