/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of one of the guest's files: read from the guest's page cache, or from a process that
 * maps the file. Some of the bytes may not be in the guest's memory now.
 */
#ifndef XTOP_BYTES_H
#define XTOP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	/*
	 * Reads [offset, offset + size_bytes). Returns how many bytes could be read, from the
	 * front. The rest of BUFFER is undefined.
	 */
	size_t (*read)(void *context, uint64_t offset, void *buffer, size_t size_bytes);
	void *context;
	uint64_t size_bytes; /* size of the file; UINT64_MAX if it is not known */
};

static inline bool bytes_read(const struct bytes *bytes, uint64_t offset, void *buffer,
			      size_t size_bytes)
{
	return bytes->read(bytes->context, offset, buffer, size_bytes) == size_bytes;
}

/* A range of bytes of a copy that could not be read, as offsets into the copy. */
struct bytes_gap {
	size_t start, end;
};

/* Whether one of the N GAPS has a byte from START up to END. GAPS ascend and do not overlap. */
bool bytes_gaps_touch(const struct bytes_gap *gaps, size_t n, size_t start, size_t end);

#endif
