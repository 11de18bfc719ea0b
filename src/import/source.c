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

#define SOURCE_KEPT_BYTES LIMIT(256U << 20, 1U << 20) /* the most of a pipe that is kept */

struct import_source {
	FILE *file;
	struct unpack_stream *stream;
	/* What a pipe has had so far, packed as it is. */
	bool keeps;
	uint8_t *kept;
	size_t kept_n, kept_capacity;
	FILE *kept_file; /* reads KEPT, instead of the pipe; NULL before source_restart() */
};

static struct xtop_error *source_keep(struct import_source *source, const void *bytes, size_t n)
{
	if (!source->keeps)
		return NULL;
	if (source->kept_n + n > SOURCE_KEPT_BYTES)
		return error_create("is read twice, and too large for a pipe: give a file");
	if (!vector_reserve(source->kept, source->kept_capacity, source->kept_n + n))
		return error_create("out of memory");
	memcpy(source->kept + source->kept_n, bytes, n);
	source->kept_n += n;
	return NULL;
}

/* An unpack_fill_fn. CONTEXT is the source. */
static struct xtop_error *source_fill(void *context, uint8_t buffer[UNPACK_FILL_BYTES], size_t *np)
{
	struct import_source *source = context;

	*np = fread(buffer, 1, UNPACK_FILL_BYTES, source->file);
	if (ferror(source->file))
		return error_create_errno(errno, "cannot be read");
	return source_keep(source, buffer, *np);
}

struct xtop_error *source_create(FILE *file, const void *head, size_t n_head,
				 struct import_source **sourcep)
{
	struct import_source *source = calloc(1, sizeof(*source));
	struct xtop_error *error;

	if (!source)
		return error_create("out of memory");
	source->file = file;
	source->keeps = fseek(file, 0, SEEK_CUR) < 0;
	error = unpack_stream_create(source_fill, source, &source->stream);
	if (!error)
		error = source_keep(source, head, n_head);
	if (!error)
		error = unpack_stream_begin(source->stream, head, n_head);
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
	unpack_stream_destroy(source->stream);
	if (source->kept_file)
		fclose(source->kept_file);
	free(source->kept);
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

	if (error)
		return error;
	if (fseek(source->file, 0, SEEK_SET) < 0)
		return error_create_errno(errno, "cannot be read twice");
	return unpack_stream_begin(source->stream, NULL, 0);
}

struct xtop_error *source_read(struct import_source *source, void *buffer, size_t capacity,
			       size_t *np)
{
	return unpack_stream_read(source->stream, buffer, capacity, np);
}
