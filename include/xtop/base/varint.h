/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of Protocol Buffers ("Encoding" in their manual). A field is a tag and a value. The tag is
 * 8 * number of the field + type of the value:
 *
 *   0   a number
 *   2   a number N and N bytes: a text, a message or packed numbers
 *
 * Numbers and tags are varints: 7 bits a byte, the lowest first; the top bit says that another byte
 * follows.
 */
#ifndef XTOP_VARINT_H
#define XTOP_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define VARINT_BYTES       10                 /* the most bytes for 64 bits */
#define VARINT_FIELD_BYTES (2 * VARINT_BYTES) /* a tag and a number, at most */

enum varint_type { VARINT_NUMBER = 0, VARINT_LENGTH = 2 };

/* Writes VALUE at AT, where VARINT_BYTES must fit. Returns the end of the written bytes. */
static inline uint8_t *varint_put(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/*
 * Writes a tag and a number or length at AT, where VARINT_FIELD_BYTES must fit. Returns their end.
 */
static inline uint8_t *varint_put_field(uint8_t *at, uint32_t field, enum varint_type type,
					uint64_t value)
{
	return varint_put(varint_put(at, field << 3 | type), value);
}

/* Number of bytes of VALUE as a varint. */
static inline size_t varint_size(uint64_t value)
{
	size_t n = 1;

	for (; value >= 0x80; value >>= 7)
		n++;
	return n;
}

/*
 * Decodes the number at AT. Returns its end, or NULL if the number is cut off at END or has more
 * than 64 bits.
 */
static inline const uint8_t *varint_get(const uint8_t *at, const uint8_t *end, uint64_t *valuep)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = *at++;

		if (shift == 63 && byte > 1)
			return NULL;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*valuep = value;
			return at;
		}
	}
	return NULL;
}

#endif
