/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads pprof files (pprof_fields.h has the schema) of xtop, Go and others. The file is read
 * twice. The first pass reads the tables to which samples refer, because they may come after the
 * samples. The second pass reads the samples. So a file may have any number of samples.
 *
 * The labels "process" and "thread" become frames of processes and threads; see
 * pprof_labels.h for others, and for those with numbers.
 */
#include "config.h"

#include "import/readers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/pprof_labels.h"
#include "import/pprof_tables.h"
#include "xtop/push/pprof_fields.h"

/* --- one sample ------------------------------------------------------------------------------- */

struct pprof_stack {
	const struct pprof_tables *tables;
	uint32_t
		frames[BUILDER_MAX_STACK]; /* FIRST and later, outermost first; filled backwards */
	size_t first;
	uint64_t values[PPROF_MAX_VALUES];
	size_t n_values;
	uint64_t key, text, unit; /* numbers of a label's strings */
	int64_t number;           /* a label's value if it has no text */
	const char *process, *thread;
	struct pprof_labels labels; /* labels other than process and thread */
};

struct pprof_reader {
	struct builder *builder;
	struct pprof_stream stream;
	struct pprof_tables tables;
	struct pprof_stack sample;
	uint64_t n_negative; /* samples whose weight is below zero */
};

/* Room is left for process and thread. */
static void pprof_stack_begin(struct pprof_stack *sample)
{
	sample->first = BUILDER_MAX_STACK;
	sample->n_values = 0;
	sample->process = sample->thread = NULL;
	pprof_labels_begin(&sample->labels);
}

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
	if (location->n > sample->first - 2)
		return pprof_stream_fail(stream, "a stack is too deep");
	sample->first -= location->n;
	memcpy(sample->frames + sample->first, tables->frames + location->first,
	       location->n * sizeof(sample->frames[0]));
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
	else if (tag == PPROF_LABEL_NUM)
		sample->number = (int64_t)value;
	else if (tag == PPROF_LABEL_NUM_UNIT)
		sample->unit = value;
	return true;
}

static bool pprof_sample_message(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
				 void *context)
{
	struct pprof_stack *sample = context;
	const char *key, *value;

	if (tag != PPROF_SAMPLE_LABEL)
		return pprof_stream_read_packed(stream, tag, fields, pprof_sample_number, context);
	sample->key = sample->text = sample->unit = 0;
	sample->number = 0;
	if (!pprof_stream_read_fields(stream, fields, pprof_label_number, NULL, sample))
		return false;
	key = pprof_tables_string(sample->tables, sample->key);
	value = pprof_tables_string(sample->tables, sample->text);
	if (!key || (!value && !sample->number))
		return true;
	if (!value)
		pprof_labels_add_number(&sample->labels, key, sample->number,
					pprof_tables_string(sample->tables, sample->unit));
	else if (!strcmp(key, "process"))
		sample->process = value;
	else if (!strcmp(key, "thread"))
		sample->thread = value;
	else
		pprof_labels_add(&sample->labels, key, value);
	return true;
}

/* How many samples SAMPLE stands for. At least one: SAMPLE has weight. */
static uint64_t pprof_reader_count(const struct pprof_tables *tables,
				   const struct pprof_stack *sample, double ticks)
{
	double count = 1;

	if (tables->count < tables->n_types)
		count = (double)(int64_t)sample->values[tables->count];
	else if (tables->per_tick > 1)
		count = ticks;
	return count >= 0.5 && count < 0x1p53 ? (uint64_t)(count + 0.5) : 1;
}

/*
 * Puts the frames of SAMPLE's process and thread before its stack. The other labels are the
 * process's group; without a process they are in its place.
 */
static void pprof_reader_add_owners(struct frames *frames, struct pprof_stack *sample)
{
	const char *group, *thread = sample->thread;
	uint32_t process = FRAME_NONE;

	if (!sample->process && thread) {
		pprof_labels_add(&sample->labels, "thread", thread);
		thread = NULL;
	}
	group = pprof_labels_group(&sample->labels);
	if (sample->process)
		process = frames_intern_process(frames, sample->process, group);
	else if (group)
		process = frames_intern_process(frames, group, NULL);
	if (process == FRAME_NONE)
		return;
	if (thread)
		sample->frames[--sample->first] = frames_intern_thread(frames, thread, process);
	sample->frames[--sample->first] = process;
}

/* Adds the sample's stack to the profile. */
static bool pprof_reader_add_stack(struct pprof_reader *reader, struct pprof_stack *sample)
{
	double ticks =
		(double)(int64_t)sample->values[reader->tables.weight] / reader->tables.per_tick;

	if (!(ticks > 0)) {
		reader->n_negative += ticks < 0;
		return true;
	}
	pprof_reader_add_owners(reader->builder->frames, sample);
	return builder_add(reader->builder, sample->frames + sample->first,
			   BUILDER_MAX_STACK - sample->first,
			   pprof_reader_count(&reader->tables, sample, ticks), ticks);
}

/* --- the two passes --------------------------------------------------------------------------- */

static bool pprof_reader_add_sample(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
				    void *context)
{
	struct pprof_reader *reader = context;
	struct pprof_stack *sample = &reader->sample;

	if (tag != PPROF_PROFILE_SAMPLE)
		return true;
	pprof_stack_begin(sample);
	if (!pprof_stream_read_fields(stream, fields, pprof_sample_number, pprof_sample_message,
				      sample))
		return false;
	if (sample->n_values != reader->tables.n_types)
		return pprof_stream_fail(stream, "a sample has too few values");
	if (!pprof_reader_add_stack(reader, sample))
		return pprof_stream_fail(stream, "too many samples");
	return true;
}

static bool pprof_reader_ignore_number(struct pprof_stream *stream, uint32_t tag, uint64_t value,
				       void *context)
{
	(void)stream, (void)tag, (void)value, (void)context;
	return true;
}

static struct xtop_error *pprof_read_tables(struct pprof_reader *reader,
					    struct import_source *source,
					    const struct import_head *head)
{
	struct pprof_stream *stream = &reader->stream;
	struct xtop_error *error;

	pprof_stream_begin(stream, source, head->bytes, head->n);
	error = pprof_stream_read(stream, pprof_tables_add_number, pprof_tables_add_message,
				  &reader->tables);
	if (!error && !pprof_tables_finish(&reader->tables, stream, reader->builder))
		error = error_create("%s%s", *stream->what ? "" : "damaged: ", stream->damage);
	reader->builder->duration_ns = reader->tables.duration_ns;
	return error;
}

static struct xtop_error *pprof_read_samples(struct pprof_reader *reader,
					     struct import_source *source)
{
	struct xtop_error *error = source_restart(source);

	if (error)
		return error;
	pprof_stream_begin(&reader->stream, source, "", 0);
	return pprof_stream_read(&reader->stream, pprof_reader_ignore_number,
				 pprof_reader_add_sample, reader);
}

reader_knows_fn pprof_knows;
reader_read_fn pprof_read;

bool pprof_knows(const struct import_head *head)
{
	return pprof_is_head(head->bytes, head->n);
}

struct xtop_error *pprof_read(struct import_source *source, const struct import_head *head,
			      struct builder *builder)
{
	struct pprof_reader *reader = calloc(1, sizeof(*reader));
	struct xtop_error *error;

	if (!reader)
		return error_create("out of memory");
	reader->builder = builder;
	reader->sample.tables = &reader->tables;
	error = pprof_read_tables(reader, source, head);
	if (!error)
		error = pprof_read_samples(reader, source);
	if (reader->n_negative) /* the difference of two profiles has some */
		builder_note(builder, "samples with a negative value are left out: %" PRIu64,
			     reader->n_negative);
	pprof_tables_deinit(&reader->tables);
	free(reader);
	return error;
}
