/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognises the format of a profile file and reads the file; see import.h. */
#include "config.h"

#include "xtop/import/import.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/foreign_formats.h"
#include "import/readers.h"
#include "import/text_lines.h"
#include "xtop/base/cleanup.h"

#define IMPORT_LOOK_BYTES TEXT_LINES_RAW_BYTES /* bytes at the start that tell the format */
#define IMPORT_TEXT_BYTES 512             /* a text has no control characters in these */

struct import {
	const char *format;
	struct builder builder;
	char complaint[BUILDER_SKIPPED_BYTES + 128]; /* "": none */
};

/*
 * A format NAME is recognised by NAME_knows() and read by NAME_read(). The first reader that knows
 * a file reads it. Folded stacks have no mark, so their reader comes last but for pprof, which is
 * not text.
 */
#define READERS(READER)                                                                            \
	READER(speedscope) READER(gperftools) READER(perf) READER(folded) READER(pprof)

#define DECLARE(NAME)                                                                              \
	reader_knows_fn NAME##_knows;                                                              \
	reader_read_fn NAME##_read;
READERS(DECLARE)

#define ROW(NAME) { #NAME, NAME##_knows, NAME##_read },
static const struct reader import_readers[] = { READERS(ROW) };
#define N_READERS (sizeof(import_readers) / sizeof(import_readers[0]))

/* --- recognising the format ------------------------------------------------------------------- */

/* Whether the text has no control characters but newline, tab and carriage return. */
static bool import_is_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t' &&
		    text[i] != '\r')
			return false;
	return n > 0;
}

/* Skips empty lines and comments. */
static const char *import_skip_comments(const char *text)
{
	const char *next;

	for (; *text; text = next + 1) {
		size_t blanks = strspn(text, " \t\r");

		next = strchr(text, '\n');
		if ((text[blanks] != '\n' && text[0] != '#') || !next)
			break;
	}
	return text;
}

static struct xtop_error *import_find_reader(const struct import_head *head,
					     const struct reader **readerp)
{
	const char *foreign = foreign_find(head);

	if (foreign)
		return error_create("is %s", foreign);
	for (size_t i = 0; i < N_READERS; i++) {
		*readerp = &import_readers[i];
		if ((*readerp)->knows(head))
			return NULL;
	}
	return error_create("neither a recording nor a profile (folded stacks, perf script, pprof, "
			    "speedscope, gperftools)");
}

/* --- reading ---------------------------------------------------------------------------------- */

/* If the file had more lines that cannot be read than others it is something else. */
static struct xtop_error *import_judge(struct import *import)
{
	const struct builder *builder = &import->builder;

	if (builder->n_skipped > builder->n_read)
		return error_create("neither a recording nor a profile: %s",
				    builder->first_skipped);
	if (!builder->counts.samples)
		return error_create("has no samples");
	if (builder->names && !builder->n_addresses)
		return error_create("has no addresses that lack a name: leave out -k");
	if (builder->n_skipped)
		snprintf(import->complaint, sizeof(import->complaint),
			 "%" PRIu64 " of %" PRIu64 " lines of the profile were skipped, first %s",
			 builder->n_skipped, builder->n_skipped + builder->n_read,
			 builder->first_skipped);
	else if (builder->n_unnamed && !*builder->note)
		snprintf(import->complaint, sizeof(import->complaint),
			 "the files of -k name %" PRIu64 " of the %" PRIu64
			 " addresses without a name in the profile",
			 builder->n_addresses - builder->n_unnamed, builder->n_addresses);
	else
		snprintf(import->complaint, sizeof(import->complaint), "%s", builder->note);
	return NULL;
}

static struct xtop_error *import_read_format(struct import *import, struct import_source *source,
					     const struct import_head *head)
{
	const struct reader *reader;
	struct xtop_error *error = import_find_reader(head, &reader);

	if (error)
		return error;
	import->format = reader->name;
	error = reader->read(source, head, &import->builder);
	return error ? error : import_judge(import);
}

static struct xtop_error *import_read_source(struct import *import, struct import_source *source)
{
	_cleanup_free_ char *start = malloc(IMPORT_LOOK_BYTES), *text = malloc(IMPORT_LOOK_BYTES);
	struct import_head head = { .bytes = start };
	struct xtop_error *error;
	size_t n;

	if (!start || !text)
		return error_create("out of memory");
	error = source_read(source, start, IMPORT_LOOK_BYTES, &head.n);
	if (error)
		return error;
	if (!head.n)
		return error_create("is empty: neither a recording nor a profile");
	n = text_lines_decode_start(start, head.n, text, IMPORT_LOOK_BYTES);
	head.is_text = import_is_text(text, n < IMPORT_TEXT_BYTES ? n : IMPORT_TEXT_BYTES);
	head.text = import_skip_comments(text);
	return import_read_format(import, source, &head);
}

struct xtop_error *import_read(FILE *file, const void *head, size_t n_head,
			       const struct import_settings *settings, struct import **importp)
{
	struct import *import = calloc(1, sizeof(*import));
	struct import_source *source = NULL;
	struct xtop_error *error;

	if (!import)
		return error_create("out of memory");
	error = builder_init(&import->builder, settings);
	if (!error)
		error = source_create(file, head, n_head, &source);
	if (!error)
		error = import_read_source(import, source);
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
	snapshot->value = builder->value;
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

const char *import_get_value(const struct import *import)
{
	const struct builder *builder = &import->builder;

	return builder->several_values || builder->wanted ? builder->value.type : "";
}

const char *import_next_value(const struct import *import)
{
	const struct builder *builder = &import->builder;

	return builder->n_values > 1 ? builder->values[(builder->chosen + 1) % builder->n_values]
				     : NULL;
}

const char *import_get_complaint(const struct import *import)
{
	return *import->complaint ? import->complaint : NULL;
}
