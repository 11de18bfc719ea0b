/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a profile file; see source.h. How they are packed is recognised by the first bytes,
 * because file names tell little: pprof's "profile" often has no ending.
 */
#include "config.h"

#include "import/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/limit.h"
#include "xtop/base/unpack.h"
#include "xtop/base/vector.h"

#define SOURCE_RAW_BYTES  (256U << 10)
#define SOURCE_KEPT_BYTES LIMIT(256U << 20, 1U << 20) /* the most of a pipe that is kept */

struct import_source {
	FILE *file;
	uint8_t *raw;         /* bytes of the file that were not unpacked or copied yet */
	size_t raw_at, raw_n; /* [raw_at, raw_n) of RAW */
	unsigned long long offset; /* where RAW ends in the file */
	struct unpacker *unpacker; /* NULL: the file is not packed */
	/* What a pipe has had so far, packed as it is. */
	bool keeps;
	uint8_t *kept;
	size_t kept_n, kept_capacity;
	FILE *kept_file; /* reads KEPT, instead of the pipe; NULL before source_restart() */
};

static struct xtop_error *source_keep_raw(struct import_source *source)
{
	if (!source->keeps)
		return NULL;
	if (source->kept_n + source->raw_n > SOURCE_KEPT_BYTES)
		return error_create("is read twice, and too large for a pipe: give a file");
	if (!vector_reserve(source->kept, source->kept_capacity, source->kept_n + source->raw_n))
		return error_create("out of memory");
	memcpy(source->kept + source->kept_n, source->raw, source->raw_n);
	source->kept_n += source->raw_n;
	return NULL;
}

/* Reads more bytes of the file. All earlier bytes must be used. At the end raw_n becomes 0. */
static struct xtop_error *source_fill(struct import_source *source)
{
	source->raw_at = 0;
	source->raw_n = fread(source->raw, 1, SOURCE_RAW_BYTES, source->file);
	source->offset += source->raw_n;
	if (ferror(source->file))
		return error_create_errno(errno, "cannot be read");
	return source_keep_raw(source);
}

/* Takes the first N bytes of the file, which were read before, and prepares to unpack. */
static struct xtop_error *source_begin(struct import_source *source, const void *head, size_t n)
{
	enum unpack_format format = unpack_find_format(head, n);

	memcpy(source->raw, head, n);
	source->raw_at = 0;
	source->raw_n = n;
	source->offset = n;
	unpacker_destroy(source->unpacker);
	source->unpacker = NULL;
	return format == UNPACK_NONE ? NULL : unpacker_create(format, &source->unpacker);
}

struct xtop_error *source_create(FILE *file, const void *head, size_t n_head,
				 struct import_source **sourcep)
{
	struct import_source *source = calloc(1, sizeof(*source));
	struct xtop_error *error;

	if (source)
		source->raw = malloc(SOURCE_RAW_BYTES);
	if (!source || !source->raw) {
		source_destroy(source);
		return error_create("out of memory");
	}
	source->file = file;
	source->keeps = fseek(file, 0, SEEK_CUR) < 0;
	error = source_begin(source, head, n_head);
	if (!error)
		error = source_keep_raw(source);
	if (error)
		source_destroy(source);
	else
		*sourcep = source;
	return error;
}

void source_destroy(struct import_source *source)
{
	if (!source)
		return;
	unpacker_destroy(source->unpacker);
	if (source->kept_file)
		fclose(source->kept_file);
	free(source->kept);
	free(source->raw);
	free(source);
}

void source_forget(struct import_source *source)
{
	source->keeps = false;
	free(source->kept);
	source->kept = NULL;
}

/* Opens what a pipe had. */
static struct xtop_error *source_open_kept(struct import_source *source)
{
	source->keeps = false;
	source->kept_file = fmemopen(source->kept, source->kept_n, "r");
	if (!source->kept_file)
		return error_create_errno(errno, "cannot be read twice");
	source->file = source->kept_file;
	return NULL;
}

struct xtop_error *source_restart(struct import_source *source)
{
	struct xtop_error *error = source->keeps ? source_open_kept(source) : NULL;
	uint8_t head[UNPACK_HEAD_BYTES];

	if (error)
		return error;
	if (fseek(source->file, 0, SEEK_SET) < 0)
		return error_create_errno(errno, "cannot be read twice");
	return source_begin(source, head, fread(head, 1, sizeof(head), source->file));
}

static struct xtop_error *source_damaged(const struct import_source *source, const char *what)
{
	return error_create("damaged at byte %llu: %s",
			    source->offset - (source->raw_n - source->raw_at), what);
}

/* Unpacks up to *LEFTP bytes to NEXT. *LEFTP becomes the rest of that room. */
static struct xtop_error *source_unpack(struct import_source *source, uint8_t *next, size_t *leftp)
{
	struct unpack_step step = { source->raw + source->raw_at, source->raw_n - source->raw_at,
				    next, *leftp };
	const char *wrong = unpacker_run(source->unpacker, &step);

	source->raw_at = source->raw_n - step.in_bytes;
	*leftp = step.out_bytes;
	return wrong ? source_damaged(source, wrong) : NULL;
}

static void source_copy(struct import_source *source, uint8_t *next, size_t *leftp)
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
		uint8_t *next = (uint8_t *)buffer + capacity - left;

		if (source->raw_at == source->raw_n) {
			error = source_fill(source);
			if (!error && !source->raw_n)
				break;
		} else if (source->unpacker) {
			error = source_unpack(source, next, &left);
		} else {
			source_copy(source, next, &left);
		}
	}
	if (!error && left && source->unpacker && !unpacker_is_whole(source->unpacker))
		error = source_damaged(source, "cut short");
	if (!error)
		*np = capacity - left;
	return error;
}
