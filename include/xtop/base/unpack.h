/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacks what gzip (RFC 1952), xz or zstd (RFC 8878) have packed, as it comes. A file may have
 * several packed parts, one after the other, as `cat a.gz b.gz` writes them. Bytes may be hostile:
 * memory is limited. Any thread, one at a time for each unpacker.
 */
#ifndef XTOP_UNPACK_H
#define XTOP_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "xtop/base/error.h"

enum unpack_format { UNPACK_NONE, UNPACK_GZIP, UNPACK_XZ, UNPACK_ZSTD };

/* How a file that begins with the N bytes at HEAD is packed. UNPACK_HEAD_BYTES tell it. */
#define UNPACK_HEAD_BYTES 6
enum unpack_format unpack_find_format(const void *head, size_t n);

struct unpacker;
/* FORMAT is not UNPACK_NONE. Error: out of memory, or this xtop was built without the format. */
struct xtop_error *unpacker_create(enum unpack_format format, struct unpacker **unpackerp);
void unpacker_destroy(struct unpacker *unpacker); /* NULL allowed */

/* Bytes that are still to be unpacked, and room for unpacked ones. A step moves both. */
struct unpack_step {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
};
/* Unpacks until bytes or room are used up. Returns what is wrong with the bytes; NULL: nothing. */
const char *unpacker_run(struct unpacker *unpacker, struct unpack_step *step);
/* Whether the bytes so far end where a packed part ends, as a whole file does. */
bool unpacker_is_whole(const struct unpacker *unpacker);

/* --- unpack_stream.c: bytes that may be packed, from front to back ---------------------------- */

#define UNPACK_FILL_BYTES (64U << 10)
/* Reads the file's next bytes into BUFFER. *NP is set, and is 0 only at the end of the file. */
typedef struct xtop_error *unpack_fill_fn(void *context, uint8_t buffer[UNPACK_FILL_BYTES],
					  size_t *np);

struct unpack_stream;
/* unpack_stream_begin() comes before the first read. CONTEXT is for FILL. */
struct xtop_error *unpack_stream_create(unpack_fill_fn *fill, void *context,
					struct unpack_stream **streamp);
void unpack_stream_destroy(struct unpack_stream *stream); /* NULL allowed */
/*
 * Begins at a file's first byte. The caller has already read its first N bytes, which are at HEAD,
 * at most UNPACK_FILL_BYTES.
 */
struct xtop_error *unpack_stream_begin(struct unpack_stream *stream, const void *head, size_t n);
bool unpack_stream_is_packed(const struct unpack_stream *stream);
/*
 * Reads up to CAPACITY bytes into BUFFER. *NP is less than CAPACITY only at the end of the file. An
 * error names the place in the packed file.
 */
struct xtop_error *unpack_stream_read(struct unpack_stream *stream, void *buffer, size_t capacity,
				      size_t *np);

/* The context of unpack_fill_file(), which reads a file at offsets. Fails for a pipe. */
struct unpack_file {
	int fd;
	off_t offset; /* place in the file of the bytes to read next */
};
struct xtop_error *unpack_fill_file(void *context, uint8_t buffer[UNPACK_FILL_BYTES], size_t *np);

/*
 * A stream of what the file FD has packed, from its first byte on. Bytes that cannot be unpacked
 * are a read error, EBADMSG. The stream reads a duplicate of FD at offsets, and cannot be moved
 * itself. NULL: the file is not packed, or is a pipe; or xtop was built without its format.
 */
FILE *unpack_open(int fd);

#endif
