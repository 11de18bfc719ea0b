/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a profile file; see source.h. gzip (RFC 1952) is recognised by its first two bytes,
 * because file names tell little: pprof's "profile" often has no ending. zlib inflates the bytes. A
 * file may have several gzip members, one after the other, as `cat a.gz b.gz` writes them.
 */
#include "config.h"

#include "import/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SOURCE_RAW_BYTES (256U << 10)

struct import_source {
	FILE *file;
	unsigned char *raw; /* bytes of the file that were not inflated or copied yet */
	size_t raw_at, raw_n; /* [raw_at, raw_n) of RAW */
	unsigned long long offset; /* where RAW ends in the file */
	bool compressed, member; /* MEMBER: inside a member of gzip */
	z_stream stream;
};

/* Reads more bytes of the file. All earlier bytes must be used. At the end raw_n becomes 0. */
static struct xtop_error *source_fill(struct import_source *source)
{
	source->raw_at = 0;
	source->raw_n = fread(source->raw, 1, SOURCE_RAW_BYTES, source->file);
	source->offset += source->raw_n;
	return ferror(source->file) ? error_create_errno(errno, "cannot be read") : NULL;
}

struct xtop_error *source_create(FILE *file, const void *head, size_t n_head,
				 struct import_source **sourcep)
{
	struct import_source *source = calloc(1, sizeof(*source));

	if (source)
		source->raw = malloc(SOURCE_RAW_BYTES);
	if (!source || !source->raw) {
		source_destroy(source);
		return error_create("out of memory");
	}
	source->file = file;
	memcpy(source->raw, head, n_head);
	source->raw_n = n_head;
	source->offset = n_head;
	/* 15: the largest window; 16: a gzip header (zlib.h, inflateInit2()). */
	if (n_head >= 2 && source->raw[0] == 0x1f && source->raw[1] == 0x8b) {
		if (inflateInit2(&source->stream, 15 + 16) != Z_OK) {
			source_destroy(source);
			return error_create("out of memory");
		}
		source->compressed = source->member = true;
	}
	*sourcep = source;
	return NULL;
}

void source_destroy(struct import_source *source)
{
	if (!source)
		return;
	if (source->compressed)
		inflateEnd(&source->stream);
	free(source->raw);
	free(source);
}

static struct xtop_error *source_damaged(const struct import_source *source, const char *what)
{
	return error_create("damaged at byte %llu: %s",
			    source->offset - (source->raw_n - source->raw_at), what);
}

/* Inflates up to *LEFTP bytes to NEXT. *LEFTP becomes the rest of that room. */
static struct xtop_error *source_inflate(struct import_source *source, char *next, size_t *leftp)
{
	z_stream *stream = &source->stream;
	int status;

	if (!source->member) { /* the next member begins */
		inflateReset(stream);
		source->member = true;
	}
	stream->next_in = source->raw + source->raw_at;
	stream->avail_in = (uInt)(source->raw_n - source->raw_at);
	stream->next_out = (Bytef *)next;
	stream->avail_out = (uInt)*leftp;
	status = inflate(stream, Z_NO_FLUSH);
	source->raw_at = source->raw_n - stream->avail_in;
	*leftp = stream->avail_out;
	if (status == Z_STREAM_END)
		source->member = false;
	else if (status == Z_MEM_ERROR)
		return error_create("out of memory");
	else if (status != Z_OK && status != Z_BUF_ERROR)
		return source_damaged(source, stream->msg ? stream->msg : "no gzip data");
	return NULL;
}

static void source_copy(struct import_source *source, char *next, size_t *leftp)
{
	size_t there = source->raw_n - source->raw_at, n = there < *leftp ? there : *leftp;

	memcpy(next, source->raw + source->raw_at, n);
	source->raw_at += n;
	*leftp -= n;
}

struct xtop_error *source_read(struct import_source *source, void *buffer, size_t capacity,
			       size_t *np)
{
	struct xtop_error *error = NULL;
	size_t left = capacity;

	while (left && !error) {
		char *next = (char *)buffer + capacity - left;

		if (source->raw_at == source->raw_n) {
			error = source_fill(source);
			if (!error && !source->raw_n)
				break;
		} else if (source->compressed) {
			error = source_inflate(source, next, &left);
		} else {
			source_copy(source, next, &left);
		}
	}
	if (!error && left && source->compressed && source->member)
		error = source_damaged(source, "cut short");
	if (!error)
		*np = capacity - left;
	return error;
}
