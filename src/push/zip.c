/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip of bytes in memory; see zip.h. */
#include "config.h"

#include "push/zip.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

#define ZIP_GZIP        16 /* added to windowBits: gzip's header (zlib's manual, deflateInit2) */
#define ZIP_FIRST_BYTES 65536
#define ZIP_LEVEL       Z_BEST_SPEED /* a quarter less CPU time per request, 8 % more bytes */

/* Returns whether the whole content is in *BYTESP. */
static bool zip_inflate(z_stream *stream, size_t max_bytes, unsigned char **bytesp, size_t *np)
{
	size_t capacity = 0;
	int status = Z_OK;

	for (*np = 0; status == Z_OK && *np == capacity && capacity < max_bytes;) {
		unsigned char *longer;

		capacity = capacity ? 2 * capacity : ZIP_FIRST_BYTES;
		capacity = capacity < max_bytes ? capacity : max_bytes;
		longer = realloc(*bytesp, capacity);
		if (!longer)
			return false;
		*bytesp = longer;
		stream->next_out = longer + *np;
		stream->avail_out = (uInt)(capacity - *np);
		status = inflate(stream, Z_NO_FLUSH);
		*np = capacity - stream->avail_out;
	}
	return status == Z_STREAM_END && *np;
}

void *zip_unpack(const void *bytes, size_t size_bytes, size_t max_bytes, size_t *size_bytesp)
{
	z_stream stream = { .next_in = (Bytef *)bytes, .avail_in = (uInt)size_bytes };
	unsigned char *content = NULL;
	bool whole;
	size_t n;

	if (size_bytes > UINT_MAX || max_bytes > UINT_MAX ||
	    inflateInit2(&stream, MAX_WBITS + ZIP_GZIP) != Z_OK)
		return NULL;
	whole = zip_inflate(&stream, max_bytes, &content, &n);
	inflateEnd(&stream);
	if (!whole) {
		free(content);
		return NULL;
	}
	*size_bytesp = n;
	return content;
}

void *zip_pack(const void *bytes, size_t size_bytes, size_t *size_bytesp)
{
	z_stream stream = { .next_in = (Bytef *)bytes, .avail_in = (uInt)size_bytes };
	unsigned char *file;
	uLong capacity;

	if (size_bytes > UINT_MAX / 2 ||
	    deflateInit2(&stream, ZIP_LEVEL, Z_DEFLATED, MAX_WBITS + ZIP_GZIP,
			 MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	capacity = deflateBound(&stream, (uLong)size_bytes);
	file = malloc(capacity);
	stream.next_out = file;
	stream.avail_out = (uInt)capacity;
	if (!file || deflate(&stream, Z_FINISH) != Z_STREAM_END) {
		free(file);
		file = NULL;
	}
	deflateEnd(&stream);
	if (file)
		*size_bytesp = capacity - stream.avail_out;
	return file;
}
