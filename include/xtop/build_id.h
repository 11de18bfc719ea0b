/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an ELF file's NT_GNU_BUILD_ID note: each build of a program has other ones. */
#ifndef XTOP_BUILD_ID_H
#define XTOP_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BUILD_ID_MAX_BYTES 64

struct build_id {
	size_t size_bytes; /* 0: none */
	uint8_t bytes[BUILD_ID_MAX_BYTES];
	uint64_t address; /* where the image loads bytes[0]; 0: it does not */
};

/* Whether both are known and the same. Addresses do not count. */
static inline bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->size_bytes && a->size_bytes == b->size_bytes &&
	       memcmp(a->bytes, b->bytes, a->size_bytes) == 0;
}

#endif
