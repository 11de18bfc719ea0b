/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognises the format of a profile file and reads the file; see import.h. */
#include "config.h"

#include "xtop/import/import.h"

#include <stdlib.h>

#include "import/readers.h"

#define IMPORT_LOOK_BYTES 512 /* the bytes at the start of a file that tell its format */
#define IMPORT_HEAD_BYTES 8   /* read before source_create(); more than gzip's magic number */

struct import {
	const char *format;
	struct builder builder;
};

/* Whether the bytes are text: no control characters but newline, tab and carriage return. */
static bool import_is_text(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t' &&
		    bytes[i] != '\r')
			return false;
	return true;
}

/* Starts to read the file again from its first byte. This fails for a pipe. */
static struct xtop_error *import_reopen(FILE *file, struct import_source **sourcep)
{
	char head[IMPORT_HEAD_BYTES];
	size_t n;

	source_destroy(*sourcep);
	*sourcep = NULL;
	if (fseek(file, 0, SEEK_SET) < 0)
		return error_create("pprof profiles are read twice: give a file instead of a pipe");
	n = fread(head, 1, sizeof(head), file);
	return source_create(file, head, n, sourcep);
}

static struct xtop_error *import_read_pprof(struct import *import, FILE *file,
					    struct import_source **sourcep, char *start, size_t n)
{
	struct pprof_reader *reader = NULL;
	struct xtop_error *error;

	import->format = "pprof";
	error = pprof_read_tables(*sourcep, start, n, &import->builder, &reader);
	if (!error)
		error = import_reopen(file, sourcep);
	if (!error)
		error = pprof_read_samples(reader, *sourcep);
	pprof_reader_destroy(reader);
	return error;
}

static struct xtop_error *import_read_source(struct import *import, FILE *file,
					     struct import_source **sourcep)
{
	char start[IMPORT_LOOK_BYTES];
	struct xtop_error *error;
	size_t n;

	error = source_read(*sourcep, start, sizeof(start), &n);
	if (error)
		return error;
	if (!n)
		return error_create("is empty: neither a recording nor a profile");
	if (import_is_text(start, n)) {
		import->format = "folded";
		return folded_read(*sourcep, start, n, &import->builder);
	}
	if (!pprof_is_head(start, n))
		return error_create("neither a recording nor a profile (folded stacks, pprof)");
	return import_read_pprof(import, file, sourcep, start, n);
}

struct xtop_error *import_read(FILE *file, const void *head, size_t n_head, struct frames *frames,
			       struct import **importp)
{
	struct import *import = calloc(1, sizeof(*import));
	struct import_source *source = NULL;
	struct xtop_error *error;

	if (!import)
		return error_create("out of memory");
	error = builder_init(&import->builder, frames);
	if (!error)
		error = source_create(file, head, n_head, &source);
	if (!error)
		error = import_read_source(import, file, &source);
	if (!error && !import->builder.counts.samples)
		error = error_create("has no samples");
	source_destroy(source);
	if (error)
		import_destroy(import);
	else
		*importp = import;
	return error;
}

void import_destroy(struct import *import)
{
	if (!import)
		return;
	builder_deinit(&import->builder);
	free(import);
}

struct xtop_error *import_snapshot(const struct import *import, struct snapshot **snapshotp)
{
	const struct builder *builder = &import->builder;
	struct resolver_counts counts = builder->counts;
	struct snapshot *snapshot;
	struct xtop_error *error = profile_copy(builder->profile, 1, &snapshot);

	if (error)
		return error;
	counts.evicted_nodes = snapshot->resolver.evicted_nodes;
	counts.frames_refused = snapshot->resolver.frames_refused;
	snapshot->resolver = counts;
	snapshot->started_ns = 1;
	snapshot->time_ns = 1 + builder->duration_ns;
	snapshot->sequence = 1;
	snapshot->at_end = true;
	snapshot_run_destroy(snapshot->run);
	snapshot->run = NULL;
	*snapshotp = snapshot;
	return NULL;
}

const char *import_get_format(const struct import *import)
{
	return import->format;
}
