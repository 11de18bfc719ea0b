/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an ELF file's NT_GNU_BUILD_ID note: each build of a program has different bytes. */
#ifndef XTOP_BUILD_ID_H
#define XTOP_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BUILD_ID_MAX_BYTES 64
#define BUILD_ID_TEXT_BYTES (2 * BUILD_ID_MAX_BYTES + 1)

struct build_id {
	size_t size_bytes; /* 0: none */
	uint8_t bytes[BUILD_ID_MAX_BYTES];
	uint64_t address; /* address of bytes[0] in the loaded image; 0: the note is not loaded */
};

/* Whether A and B are both known and have equal bytes. Their addresses may differ. */
static inline bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->size_bytes && a->size_bytes == b->size_bytes &&
	       memcmp(a->bytes, b->bytes, a->size_bytes) == 0;
}

/* The build-id in hexadecimal, as readelf prints it; "" if BUILD has no bytes or is NULL. */
static inline void build_id_to_text(const struct build_id *build, char text[BUILD_ID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	size_t n = build ? build->size_bytes : 0;

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[build->bytes[i] >> 4];
		text[2 * i + 1] = digits[build->bytes[i] & 15];
	}
	text[2 * n] = '\0';
}

#endif
