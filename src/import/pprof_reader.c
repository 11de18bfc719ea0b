/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads pprof files (xtop/pprof_fields.h has the schema) of xtop, Go and others. The reader calls
 * nanopb's functions for streams, tags and varints. Code from nanopb's generator would need a whole
 * Profile in memory. The file is read twice. The first pass reads the tables to which samples
 * refer, because they may come behind the samples. The second pass reads the samples. So a file may
 * have any number of samples. The tables are bounded.
 *
 * Frames are made between the two passes. A location becomes one frame for each function that is
 * inlined there. xtop's labels "process" and "thread" become frames of processes and threads.
 */
#include "config.h"

#include "import/readers.h"

#include <inttypes.h>
#ifdef HAVE_NANOPB_FOLDER
#include <nanopb/pb_decode.h>
#else
#include <pb_decode.h>
#endif
#include <stdlib.h>
#include <string.h>

#include "xtop/cleanup.h"
#include "xtop/import.h"
#include "xtop/pprof_fields.h"
#include "xtop/vector.h"

#define PPROF_MAX_ITEMS      LIMIT(1U << 21, 1U << 8) /* of each table */
#define PPROF_MAX_TEXT_BYTES (64U << 20)
#define PPROF_BUFFER_BYTES   (64U << 10)
#define PPROF_MAX_VALUES     64 /* of a sample */
#define PPROF_MAX_STACK      (SNAPSHOT_MAX_DEPTH + 1)

struct pprof_item {
	uint64_t id;
	/* Function: name, system name. Mapping: A is the file. Location: mapping, address. */
	uint64_t a, b;
	uint32_t first, n; /* of a location: its part of lines[], later of frames[] */
};

struct pprof_table {
	struct pprof_item *items;
	size_t n, capacity;
};

struct pprof_string {
	uint32_t at, bytes;
};

struct pprof_type {
	uint64_t type, unit; /* strings */
};

struct pprof_reader {
	struct source *source;
	struct builder *builder;
	char buffer[PPROF_BUFFER_BYTES];
	size_t at, n;
	uint64_t offset;     /* of the content, behind the buffer */
	bool ended;
	struct xtop_error *error; /* from source_read() */
	const char *damage;       /* what is wrong with the content; NULL: nothing */

	char *text;
	size_t text_bytes, text_capacity;
	struct pprof_string *strings;
	size_t n_strings, strings_capacity;
	struct pprof_table functions, mappings, locations;
	uint64_t *lines; /* ids of functions, location by location */
	size_t n_lines, lines_capacity;
	uint32_t *frames; /* by line, outermost first in each location */
	struct pprof_type types[PPROF_MAX_VALUES];
	size_t n_types;
	uint64_t default_type, period, duration_ns;
	size_t count, weight; /* indices of the values that count and weigh samples */
	double per_tick;
	bool second; /* this is the second pass */
};

/* --- recognising the format ------------------------------------------------------------------- */

/* Decodes a varint and moves *AT behind it. False: it is too long, or the N bytes end in it. */
static bool pprof_decode_varint(const unsigned char *bytes, size_t n, size_t *at, uint64_t *valuep)
{
	*valuep = 0;
	for (unsigned shift = 0; shift < 64 && *at < n; shift += 7) {
		unsigned char byte = bytes[(*at)++];

		*valuep |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return shift < 63 || byte <= 1;
	}
	return false;
}

/*
 * Writers begin with any field: xtop with the kinds of values, Go with the time or the period's
 * kind. So all fields that begin in START have to be fields of a Profile, with the right wire types
 * (Protocol Buffers, "Encoding": 0 is a varint, 2 has a length).
 */
bool pprof_is_head(const char *start, size_t n)
{
	/* By field number: m is a message or string, n a number, b may be both (packed numbers). */
	static const char kinds[] = "-mmmmmmnnnnmnbnn";
	const unsigned char *bytes = (const unsigned char *)start;
	uint64_t tag, value;

	for (size_t at = 0; at < n;) {
		if (!pprof_decode_varint(bytes, n, &at, &tag))
			return at == n && n > 0;
		if (tag >> 3 == 0 || tag >> 3 >= sizeof(kinds) - 1)
			return false;
		if (!((tag & 7) == 2 && kinds[tag >> 3] != 'n') &&
		    !((tag & 7) == 0 && kinds[tag >> 3] != 'm'))
			return false;
		if (!pprof_decode_varint(bytes, n, &at, &value))
			return at == n;
		if ((tag & 7) == 2)
			at = value < n - at ? at + (size_t)value : n;
	}
	return n > 0;
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool pprof_fill(struct pprof_reader *reader)
{
	if (reader->error)
		return false;
	reader->at = 0;
	reader->error = source_read(reader->source, reader->buffer, sizeof(reader->buffer),
				    &reader->n);
	if (reader->error)
		reader->n = 0;
	reader->offset += reader->n;
	return reader->n > 0;
}

/* nanopb calls this: reads COUNT bytes into BYTES, or skips them if it is NULL. */
static bool pprof_callback(pb_istream_t *stream, pb_byte_t *bytes, size_t count)
{
	struct pprof_reader *reader = stream->state;

	while (count) {
		size_t there;

		if (reader->at == reader->n && !pprof_fill(reader)) {
			reader->ended = true;
			stream->bytes_left = 0;
			return false;
		}
		there = reader->n - reader->at < count ? reader->n - reader->at : count;
		if (bytes) {
			memcpy(bytes, reader->buffer + reader->at, there);
			bytes += there;
		}
		reader->at += there;
		count -= there;
	}
	return true;
}

static bool pprof_fail(struct pprof_reader *reader, const char *what)
{
	if (!reader->damage)
		reader->damage = what;
	return false;
}

/* --- varints ---------------------------------------------------------------------------------- */

/*
 * The next varint of STREAM if all of it is in the buffer; false: nothing was read. nanopb reads
 * each byte by two calls through pointers, and nearly all bytes of a profile are varints.
 */
static bool pprof_read_buffered(struct pprof_reader *reader, pb_istream_t *stream, uint64_t max,
				uint64_t *valuep)
{
	size_t at = reader->at, there = reader->n - at;
	size_t end = at + (there < stream->bytes_left ? there : stream->bytes_left);
	uint64_t value;

	if (!pprof_decode_varint((const unsigned char *)reader->buffer, end, &at, &value) ||
	    value > max)
		return false;
	stream->bytes_left -= at - reader->at;
	reader->at = at;
	*valuep = value;
	return true;
}

static bool pprof_read_varint(struct pprof_reader *reader, pb_istream_t *stream, uint64_t *valuep)
{
	return pprof_read_buffered(reader, stream, UINT64_MAX, valuep) ||
	       pb_decode_varint(stream, valuep);
}

/* As pb_decode_tag(). */
static bool pprof_read_tag(struct pprof_reader *reader, pb_istream_t *stream, pb_wire_type_t *wire,
			   uint32_t *tag, bool *eof)
{
	uint64_t value;

	if (!pprof_read_buffered(reader, stream, UINT32_MAX, &value))
		return pb_decode_tag(stream, wire, tag, eof);
	*wire = (pb_wire_type_t)(value & 7);
	*tag = (uint32_t)value >> 3;
	*eof = false;
	return true;
}

/* As pb_make_string_substream(). */
static bool pprof_open_inside(struct pprof_reader *reader, pb_istream_t *stream,
			      pb_istream_t *inside)
{
	uint64_t size_bytes;

	if (!pprof_read_buffered(reader, stream, UINT32_MAX, &size_bytes))
		return pb_make_string_substream(stream, inside);
	if (size_bytes > stream->bytes_left)
		return false;
	*inside = *stream;
	inside->bytes_left = size_bytes;
	stream->bytes_left -= size_bytes;
	return true;
}

/* --- what a message has ----------------------------------------------------------------------- */

/* Called for each number of a field, packed or not. False: the number is invalid. */
typedef bool pprof_number_fn(struct pprof_reader *reader, uint32_t tag, uint64_t value,
			     void *context);
/* Called for each message or string inside. STREAM ends where the message ends. */
typedef bool pprof_message_fn(struct pprof_reader *reader, uint32_t tag, pb_istream_t *stream,
			      void *context);

/* Reads field TAG, whose numbers are packed: varints, one after the other, up to the end. */
static bool pprof_read_packed(struct pprof_reader *reader, uint32_t tag, pb_istream_t *stream,
			      pprof_number_fn *number, void *context)
{
	uint64_t value;

	while (stream->bytes_left)
		if (!pprof_read_varint(reader, stream, &value) ||
		    !number(reader, tag, value, context))
			return false;
	return true;
}

/* Reads all fields of STREAM. MESSAGE NULL: fields with a length are packed numbers. */
static bool pprof_read_fields(struct pprof_reader *reader, pb_istream_t *stream,
			      pprof_number_fn *number, pprof_message_fn *message, void *context)
{
	pb_wire_type_t wire;
	pb_istream_t inside;
	uint64_t value;
	uint32_t tag;
	bool eof, ok;

	for (;;) {
		if (!pprof_read_tag(reader, stream, &wire, &tag, &eof))
			return eof && !reader->error;
		if (wire == PB_WT_VARINT) {
			if (!pprof_read_varint(reader, stream, &value) ||
			    !number(reader, tag, value, context))
				return false;
		} else if (wire == PB_WT_STRING) {
			if (!pprof_open_inside(reader, stream, &inside))
				return false;
			ok = message ? message(reader, tag, &inside, context)
				     : pprof_read_packed(reader, tag, &inside, number, context);
			if (!ok || !pb_close_string_substream(stream, &inside))
				return false;
		} else if (!pb_skip_field(stream, wire)) {
			return false;
		}
	}
}

/* --- the first pass: tables ------------------------------------------------------------------- */

static bool pprof_add_string(struct pprof_reader *reader, pb_istream_t *stream)
{
	size_t left = stream->bytes_left, bytes = left < FRAME_NAME_BYTES ? left : FRAME_NAME_BYTES;

	if (reader->n_strings == PPROF_MAX_ITEMS ||
	    reader->text_bytes + bytes > PPROF_MAX_TEXT_BYTES)
		return pprof_fail(reader, "too many strings");
	if (!vector_reserve(reader->text, reader->text_capacity, reader->text_bytes + bytes + 1) ||
	    !vector_reserve(reader->strings, reader->strings_capacity, reader->n_strings + 1))
		return pprof_fail(reader, "no memory for its strings");
	if (!pb_read(stream, (pb_byte_t *)reader->text + reader->text_bytes, bytes))
		return false;
	reader->strings[reader->n_strings++] =
		(struct pprof_string){ (uint32_t)reader->text_bytes, (uint32_t)bytes };
	reader->text_bytes += bytes;
	reader->text[reader->text_bytes++] = '\0';
	return true;
}

/* NULL: there is no such string, or it is empty. */
static const char *pprof_string(const struct pprof_reader *reader, uint64_t index)
{
	const struct pprof_string *string;

	if (index >= reader->n_strings)
		return NULL;
	string = &reader->strings[index];
	return string->bytes ? reader->text + string->at : NULL;
}

static bool pprof_type_number(struct pprof_reader *reader, uint32_t tag, uint64_t value,
			      void *context)
{
	struct pprof_type *type = context;

	(void)reader;
	if (tag == PPROF_VALUE_TYPE_TYPE)
		type->type = value;
	else if (tag == PPROF_VALUE_TYPE_UNIT)
		type->unit = value;
	return true;
}

static bool pprof_add_type(struct pprof_reader *reader, pb_istream_t *stream)
{
	if (reader->n_types == PPROF_MAX_VALUES)
		return pprof_fail(reader, "too many kinds of values");
	return pprof_read_fields(reader, stream, pprof_type_number, NULL,
				 &reader->types[reader->n_types++]);
}

static bool pprof_line_number(struct pprof_reader *reader, uint32_t tag, uint64_t value,
			      void *context)
{
	(void)reader;
	if (tag == PPROF_LINE_FUNCTION_ID)
		*(uint64_t *)context = value;
	return true;
}

static bool pprof_item_number(struct pprof_reader *reader, uint32_t tag, uint64_t value,
			      void *context)
{
	struct pprof_item *item = context;

	(void)reader;
	/* The fields of locations and functions that we read have the same numbers: 1, 2 and 3. */
	if (tag == 1)
		item->id = value;
	else if (tag == PPROF_LOCATION_MAPPING_ID || tag == PPROF_FUNCTION_NAME)
		item->a = value;
	else if (tag == PPROF_LOCATION_ADDRESS || tag == PPROF_FUNCTION_SYSTEM_NAME)
		item->b = value;
	return true;
}

static bool pprof_mapping_number(struct pprof_reader *reader, uint32_t tag, uint64_t value,
				 void *context)
{
	struct pprof_item *item = context;

	(void)reader;
	if (tag == PPROF_MAPPING_ID)
		item->id = value;
	else if (tag == PPROF_MAPPING_FILENAME)
		item->a = value;
	return true;
}

static bool pprof_location_message(struct pprof_reader *reader, uint32_t tag, pb_istream_t *stream,
				   void *context)
{
	struct pprof_item *item = context;
	uint64_t function = 0;

	if (tag != PPROF_LOCATION_LINE)
		return true;
	if (!pprof_read_fields(reader, stream, pprof_line_number, NULL, &function))
		return false;
	if (reader->n_lines == 2 * PPROF_MAX_ITEMS)
		return pprof_fail(reader, "too many lines");
	if (!vector_reserve(reader->lines, reader->lines_capacity, reader->n_lines + 1))
		return pprof_fail(reader, "no memory for its lines");
	reader->lines[reader->n_lines++] = function;
	item->n++;
	return true;
}

static bool pprof_ignore_message(struct pprof_reader *reader, uint32_t tag, pb_istream_t *stream,
				 void *context)
{
	(void)reader, (void)tag, (void)stream, (void)context;
	return true;
}

static bool pprof_add_item(struct pprof_reader *reader, struct pprof_table *table,
			   pb_istream_t *stream, pprof_number_fn *number, pprof_message_fn *message)
{
	struct pprof_item item = { .first = (uint32_t)reader->n_lines };

	if (!pprof_read_fields(reader, stream, number, message, &item))
		return false;
	if (table->n == PPROF_MAX_ITEMS)
		return pprof_fail(reader, "too many functions, locations or mappings");
	if (!vector_reserve(table->items, table->capacity, table->n + 1))
		return pprof_fail(reader, "no memory for its tables");
	table->items[table->n++] = item;
	return true;
}

static bool pprof_add_sample(struct pprof_reader *reader, pb_istream_t *stream);

static bool pprof_profile_message(struct pprof_reader *reader, uint32_t tag, pb_istream_t *stream,
				  void *context)
{
	(void)context;
	if (reader->second)
		return tag == PPROF_PROFILE_SAMPLE ? pprof_add_sample(reader, stream) : true;
	switch (tag) {
	case PPROF_PROFILE_SAMPLE_TYPE:
		return pprof_add_type(reader, stream);
	case PPROF_PROFILE_MAPPING:
		return pprof_add_item(reader, &reader->mappings, stream, pprof_mapping_number,
				      pprof_ignore_message);
	case PPROF_PROFILE_LOCATION:
		return pprof_add_item(reader, &reader->locations, stream, pprof_item_number,
				      pprof_location_message);
	case PPROF_PROFILE_FUNCTION:
		return pprof_add_item(reader, &reader->functions, stream, pprof_item_number,
				      pprof_ignore_message);
	case PPROF_PROFILE_STRING_TABLE:
		return pprof_add_string(reader, stream);
	default:
		return true;
	}
}

static bool pprof_profile_number(struct pprof_reader *reader, uint32_t tag, uint64_t value,
				 void *context)
{
	(void)context;
	if (tag == PPROF_PROFILE_DURATION_NANOS)
		reader->duration_ns = value;
	else if (tag == PPROF_PROFILE_PERIOD)
		reader->period = value;
	else if (tag == PPROF_PROFILE_DEFAULT_SAMPLE_TYPE)
		reader->default_type = value;
	return true;
}

/* --- between the passes: frames --------------------------------------------------------------- */

static int pprof_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct pprof_item *)a)->id, y = ((const struct pprof_item *)b)->id;

	return (x > y) - (x < y);
}

static void pprof_sort(struct pprof_table *table)
{
	if (table->n)
		qsort(table->items, table->n, sizeof(*table->items), pprof_compare);
}

static const struct pprof_item *pprof_find(const struct pprof_table *table, uint64_t id)
{
	const struct pprof_item key = { .id = id };

	/* Most writers count from 1 on. */
	if (id - 1 < table->n && table->items[id - 1].id == id)
		return &table->items[id - 1];
	return table->n ? bsearch(&key, table->items, table->n, sizeof(key), pprof_compare) : NULL;
}

/* Whether MODULE is a kernel or a kernel module, by the names that perf and xtop use. */
static bool pprof_is_kernel(const char *module)
{
	size_t n = strlen(module);

	return !strncmp(module, "[kernel", 7) || !strncmp(module, "[guest.kernel", 13) ||
	       (n > 3 && !strcmp(module + n - 3, ".ko"));
}

static uint32_t pprof_intern(struct pprof_reader *reader, const struct pprof_item *location,
			     const struct pprof_item *function)
{
	const struct pprof_item *mapping = pprof_find(&reader->mappings, location->a);
	const char *file = mapping ? pprof_string(reader, mapping->a) : NULL;
	const char *module = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	const char *name = function ? pprof_string(reader, function->a) : NULL;
	enum frame_kind kind = !module                   ? FRAME_KIND_FUNCTION
			       : pprof_is_kernel(module) ? FRAME_KIND_KERNEL
							 : FRAME_KIND_USERLAND;

	if (name)
		return builder_intern(reader->builder, kind, name, module);
	return frames_intern(reader->builder->frames, kind, NULL, module, location->b);
}

/* Builds the frames of all locations. A location without lines gets one unnamed frame. */
static bool pprof_build_frames(struct pprof_reader *reader)
{
	size_t n = 0;

	pprof_sort(&reader->mappings);
	pprof_sort(&reader->functions);
	pprof_sort(&reader->locations);
	reader->frames = calloc(reader->n_lines + reader->locations.n + 1, sizeof(*reader->frames));
	if (!reader->frames)
		return pprof_fail(reader, "no memory for its functions");
	for (size_t i = 0; i < reader->locations.n; i++) {
		struct pprof_item *location = &reader->locations.items[i];
		size_t first = n;

		/* The innermost line comes first. */
		for (uint32_t j = location->n; j-- > 0;)
			reader->frames[n++] = pprof_intern(
				reader, location,
				pprof_find(&reader->functions, reader->lines[location->first + j]));
		if (n == first)
			reader->frames[n++] = pprof_intern(reader, location, NULL);
		location->first = (uint32_t)first;
		location->n = (uint32_t)(n - first);
	}
	return true;
}

static bool pprof_string_is(const struct pprof_reader *reader, uint64_t string, const char *text)
{
	const char *is = pprof_string(reader, string);

	return is && !strcmp(is, text);
}

/*
 * Chooses the value that weighs a sample: the default one, or else the last one, as pprof does. If
 * it is in nanoseconds, the period turns it into ticks. The number of samples is the nearest value
 * in "count" at or before the weight: Go's heap profiles have objects before bytes, once for all
 * that was allocated and once for what is in use.
 */
static bool pprof_choose_values(struct pprof_reader *reader)
{
	size_t n = reader->n_types;

	if (!n)
		return pprof_fail(reader, "no kinds of values");
	reader->weight = n - 1;
	for (size_t i = 0; i < n; i++)
		if (reader->default_type && reader->types[i].type == reader->default_type)
			reader->weight = i;
	reader->count = reader->weight;
	for (size_t i = 0; i < n; i++) {
		size_t at = (reader->weight + n - i) % n;

		if (pprof_string_is(reader, reader->types[at].unit, "count")) {
			reader->count = at;
			break;
		}
	}
	reader->per_tick = 1;
	if (reader->period &&
	    pprof_string_is(reader, reader->types[reader->weight].unit, "nanoseconds"))
		reader->per_tick = (double)reader->period;
	return true;
}

/* --- the second pass: samples ----------------------------------------------------------------- */

struct pprof_stack {
	uint32_t frames[PPROF_MAX_STACK]; /* innermost first */
	size_t n;
	uint64_t values[PPROF_MAX_VALUES];
	size_t n_values;
	uint64_t key, text; /* of a label */
	const char *process, *thread;
};

static bool pprof_sample_number(struct pprof_reader *reader, uint32_t tag, uint64_t value,
				void *context)
{
	struct pprof_stack *sample = context;
	const struct pprof_item *location;

	if (tag == PPROF_SAMPLE_VALUE) {
		if (sample->n_values == reader->n_types)
			return pprof_fail(reader, "a sample has too many values");
		sample->values[sample->n_values++] = value;
	}
	if (tag != PPROF_SAMPLE_LOCATION_ID)
		return true;
	location = pprof_find(&reader->locations, value);
	if (!location)
		return pprof_fail(reader, "a sample names a location that does not exist");
	for (uint32_t i = location->n; i-- > 0 && sample->n < PPROF_MAX_STACK - 2;)
		sample->frames[sample->n++] = reader->frames[location->first + i];
	return true;
}

static bool pprof_label_number(struct pprof_reader *reader, uint32_t tag, uint64_t value,
			       void *context)
{
	struct pprof_stack *sample = context;

	(void)reader;
	if (tag == PPROF_LABEL_KEY)
		sample->key = value;
	else if (tag == PPROF_LABEL_STR)
		sample->text = value;
	return true;
}

static bool pprof_sample_message(struct pprof_reader *reader, uint32_t tag, pb_istream_t *stream,
				 void *context)
{
	struct pprof_stack *sample = context;

	if (tag != PPROF_SAMPLE_LABEL)
		return pprof_read_packed(reader, tag, stream, pprof_sample_number, context);
	sample->key = sample->text = 0;
	if (!pprof_read_fields(reader, stream, pprof_label_number, NULL, sample))
		return false;
	if (pprof_string_is(reader, sample->key, "process"))
		sample->process = pprof_string(reader, sample->text);
	else if (pprof_string_is(reader, sample->key, "thread"))
		sample->thread = pprof_string(reader, sample->text);
	return true;
}

static bool pprof_add_sample(struct pprof_reader *reader, pb_istream_t *stream)
{
	struct pprof_stack sample = { .n = 0 };
	struct frames *frames = reader->builder->frames;
	uint32_t stack[PPROF_MAX_STACK + 2];
	double ticks;
	uint64_t count;
	size_t n = 0;

	if (!pprof_read_fields(reader, stream, pprof_sample_number, pprof_sample_message, &sample))
		return false;
	if (sample.n_values != reader->n_types)
		return pprof_fail(reader, "a sample has too few values");
	ticks = (double)(int64_t)sample.values[reader->weight] / reader->per_tick;
	count = sample.values[reader->count];
	if (!(ticks > 0)) /* the difference of two profiles has negative weights */
		return true;
	if (sample.process)
		stack[n++] = frames_intern(frames, FRAME_KIND_PROCESS, sample.process, NULL, 0);
	if (sample.process && sample.thread)
		stack[n++] = frames_intern(frames, FRAME_KIND_THREAD, sample.thread, sample.process,
					   0);
	while (sample.n)
		stack[n++] = sample.frames[--sample.n];
	if (!builder_add(reader->builder, stack, n, count && count < 1ULL << 53 ? count : 1, ticks))
		return pprof_fail(reader, "too many samples");
	return true;
}

/* --- both passes ------------------------------------------------------------------------------ */

static struct xtop_error *pprof_pass(struct pprof_reader *reader, struct source *source,
				     const char *start, size_t n, bool second)
{
	pb_istream_t stream = { .callback = pprof_callback,
				.state = reader,
				.bytes_left = SIZE_MAX };

	reader->source = source;
	reader->second = second;
	memcpy(reader->buffer, start, n);
	reader->at = 0;
	reader->n = reader->offset = n;
	reader->ended = false;
	if (pprof_read_fields(reader, &stream, pprof_profile_number, pprof_profile_message, NULL))
		return NULL;
	if (reader->error)
		return reader->error;
	return error_create("damaged at byte %" PRIu64 " of its content: %s",
			    reader->offset - (reader->n - reader->at),
			    reader->damage  ? reader->damage
			    : reader->ended ? "cut short"
					    : "no pprof message");
}

struct xtop_error *pprof_read_tables(struct source *source, const char *start, size_t n,
				     struct builder *builder, struct pprof_reader **readerp)
{
	struct pprof_reader *reader = calloc(1, sizeof(*reader));
	struct xtop_error *error;

	if (!reader)
		return error_create("out of memory");
	*readerp = reader;
	reader->builder = builder;
	error = pprof_pass(reader, source, start, n, false);
	if (!error && (!pprof_choose_values(reader) || !pprof_build_frames(reader)))
		error = error_create("damaged: %s", reader->damage);
	builder->duration_ns = reader->duration_ns;
	return error;
}

struct xtop_error *pprof_read_samples(struct pprof_reader *reader, struct source *source,
				      const char *start, size_t n)
{
	return pprof_pass(reader, source, start, n, true);
}

void pprof_reader_destroy(struct pprof_reader *reader)
{
	if (!reader)
		return;
	free(reader->text);
	free(reader->strings);
	free(reader->functions.items);
	free(reader->mappings.items);
	free(reader->locations.items);
	free(reader->lines);
	free(reader->frames);
	free(reader);
}
