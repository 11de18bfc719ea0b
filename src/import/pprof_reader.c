/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads pprof files (pprof_fields.h has the schema) of xtop, Go and others. The file is read
 * twice. The first pass reads the tables to which samples refer, because they may come after the
 * samples. The second pass reads the samples. So a file may have any number of samples.
 *
 * xtop's labels "process" and "thread" become frames of processes and threads.
 */
#include "config.h"

#include "import/readers.h"

#include <stdlib.h>

#include "import/pprof_tables.h"
#include "xtop/import/import.h"
#include "xtop/push/pprof_fields.h"

#define PPROF_MAX_STACK (SNAPSHOT_MAX_DEPTH + 1)

struct pprof_reader {
	struct builder *builder;
	struct pprof_stream stream;
	struct pprof_tables tables;
};

/* --- one sample ------------------------------------------------------------------------------- */

struct pprof_stack {
	const struct pprof_tables *tables;
	uint32_t frames[PPROF_MAX_STACK]; /* innermost first */
	size_t n;
	uint64_t values[PPROF_MAX_VALUES];
	size_t n_values;
	uint64_t key, text; /* numbers of a label's strings */
	const char *process, *thread;
};

static bool pprof_sample_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
				void *context)
{
	struct pprof_stack *sample = context;
	const struct pprof_tables *tables = sample->tables;
	const struct pprof_item *location;

	if (tag == PPROF_SAMPLE_VALUE) {
		if (sample->n_values == tables->n_types)
			return pprof_stream_fail(stream, "a sample has too many values");
		sample->values[sample->n_values++] = value;
	}
	if (tag != PPROF_SAMPLE_LOCATION_ID)
		return true;
	location = pprof_tables_find_location(tables, value);
	if (!location)
		return pprof_stream_fail(stream, "a sample names a location that does not exist");
	for (uint32_t i = location->n; i-- > 0 && sample->n < PPROF_MAX_STACK - 2;)
		sample->frames[sample->n++] = tables->frames[location->first + i];
	return true;
}

static bool pprof_label_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
			       void *context)
{
	struct pprof_stack *sample = context;

	(void)stream;
	if (tag == PPROF_LABEL_KEY)
		sample->key = value;
	else if (tag == PPROF_LABEL_STR)
		sample->text = value;
	return true;
}

static bool pprof_sample_message(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
				 void *context)
{
	struct pprof_stack *sample = context;

	if (tag != PPROF_SAMPLE_LABEL)
		return pprof_stream_read_packed(stream, tag, fields, pprof_sample_number, context);
	sample->key = sample->text = 0;
	if (!pprof_stream_read_fields(stream, fields, pprof_label_number, NULL, sample))
		return false;
	if (pprof_tables_string_is(sample->tables, sample->key, "process"))
		sample->process = pprof_tables_string(sample->tables, sample->text);
	else if (pprof_tables_string_is(sample->tables, sample->key, "thread"))
		sample->thread = pprof_tables_string(sample->tables, sample->text);
	return true;
}

/* Adds the sample's stack to the profile, with the frames of its process and thread. */
static bool pprof_reader_add_stack(struct pprof_reader *reader, const struct pprof_stack *sample)
{
	struct frames *frames = reader->builder->frames;
	uint64_t count = sample->values[reader->tables.count];
	double ticks =
		(double)(int64_t)sample->values[reader->tables.weight] / reader->tables.per_tick;
	uint32_t stack[PPROF_MAX_STACK + 2];
	size_t n = 0;

	if (!(ticks > 0)) /* the difference of two profiles has negative weights */
		return true;
	if (sample->process)
		stack[n++] = frames_intern_process(frames, sample->process, NULL);
	if (sample->process && sample->thread)
		stack[n++] = frames_intern_thread(frames, sample->thread, stack[0]);
	for (size_t i = sample->n; i-- > 0;)
		stack[n++] = sample->frames[i];
	return builder_add(reader->builder, stack, n, count && count < 1ULL << 53 ? count : 1,
			   ticks);
}

/* --- both passes ------------------------------------------------------------------------------ */

static bool pprof_reader_add_sample(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
				    void *context)
{
	struct pprof_reader *reader = context;
	struct pprof_stack sample = { .tables = &reader->tables };

	if (tag != PPROF_PROFILE_SAMPLE)
		return true;
	if (!pprof_stream_read_fields(stream, fields, pprof_sample_number, pprof_sample_message,
				      &sample))
		return false;
	if (sample.n_values != reader->tables.n_types)
		return pprof_stream_fail(stream, "a sample has too few values");
	if (!pprof_reader_add_stack(reader, &sample))
		return pprof_stream_fail(stream, "too many samples");
	return true;
}

static bool pprof_reader_ignore_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
				       void *context)
{
	(void)stream, (void)tag, (void)value, (void)context;
	return true;
}

struct xtop_error *pprof_read_tables(struct import_source *source, const char *start, size_t n,
				     struct builder *builder, struct pprof_reader **readerp)
{
	struct pprof_reader *reader = calloc(1, sizeof(*reader));
	struct pprof_stream *stream;
	struct xtop_error *error;

	if (!reader)
		return error_create("out of memory");
	*readerp = reader;
	reader->builder = builder;
	stream = &reader->stream;
	pprof_stream_begin(stream, source, start, n);
	error = pprof_stream_read(stream, pprof_tables_add_number, pprof_tables_add_message,
				  &reader->tables);
	if (!error && !pprof_tables_finish(&reader->tables, stream, builder))
		error = error_create("damaged: %s", stream->damage);
	builder->duration_ns = reader->tables.duration_ns;
	return error;
}

struct xtop_error *pprof_read_samples(struct pprof_reader *reader, struct import_source *source)
{
	pprof_stream_begin(&reader->stream, source, "", 0);
	return pprof_stream_read(&reader->stream, pprof_reader_ignore_number,
				 pprof_reader_add_sample, reader);
}

void pprof_reader_destroy(struct pprof_reader *reader)
{
	if (!reader)
		return;
	pprof_tables_deinit(&reader->tables);
	free(reader);
}
