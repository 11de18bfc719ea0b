/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof (doc/FORMATS): Protocol Buffers in gzip, by zlib. pprof_fields.h has the schema.
 *
 * Messages are written one after the other, and none is kept: samples, locations, functions,
 * mappings, strings. A message refers to a later one by its number, so each thing gets its number
 * when it is first needed.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "export/gzip.h"
#include "export/measure.h"
#include "export/notes.h"
#include "export/pprof_locations.h"
#include "export/stacks.h"
#include "xtop/base/build_id.h"
#include "xtop/base/hash.h"
#include "xtop/base/proto.h"
#include "xtop/base/varint.h"
#include "xtop/base/vector.h"
#include "xtop/push/pprof_fields.h"
#include "xtop/supervise/line_client.h"

struct pprof_text {
	const char *text;
	size_t n_bytes;   /* length of the text */
	uint64_t address; /* becomes "0xADDR" if the text is NULL */
};

/* A file of code. Its id is 1 + its index in the array. */
struct pprof_file {
	const struct frame *frame; /* a frame with the file's module and build-id */
	uint64_t start, limit;     /* lowest and highest address of the file's locations */
};

struct pprof {
	const struct snapshot *snapshot;
	const struct export_settings *settings;
	struct measure measure;
	struct gzip *gzip;
	struct proto_buffer message, pair; /* the message being written, and a message inside it */
	uint64_t numbers[SNAPSHOT_MAX_DEPTH + NOTES_MAX];
	bool failed; /* memory was out */

	struct pprof_text *strings;
	size_t n_strings, strings_capacity;
	struct pprof_file *mappings;
	size_t n_mappings, mappings_capacity;
	struct hash_table mapping_index;
	struct pprof_locations locations;
	struct numbering functions; /* ids are one higher */
	uint32_t *labels;    /* string of each process or thread, by frame; 0 if it has none yet */
};

/* --- strings ---------------------------------------------------------------------------------- */

static uint64_t pprof_add_string(struct pprof *pprof, const char *text, size_t n_bytes,
				 uint64_t address)
{
	if (text && !n_bytes)
		return 0;
	if (!vector_reserve(pprof->strings, pprof->strings_capacity, pprof->n_strings + 1)) {
		pprof->failed = true;
		return 0;
	}
	pprof->strings[pprof->n_strings] = (struct pprof_text){ text, n_bytes, address };
	return ++pprof->n_strings; /* number 0 is not in the array */
}

static uint64_t pprof_add_text(struct pprof *pprof, const char *text)
{
	return pprof_add_string(pprof, text, strlen(text), 0);
}

static void pprof_put_bytes(struct pprof *pprof, uint32_t field, const void *bytes, size_t n)
{
	uint8_t head[VARINT_FIELD_BYTES];

	gzip_write(pprof->gzip, head,
		   (size_t)(varint_put_field(head, field, VARINT_LENGTH, n) - head));
	gzip_write(pprof->gzip, bytes, n);
}

static void pprof_put_strings(struct pprof *pprof)
{
	char buffer[FRAME_TEXT_BYTES];

	pprof_put_bytes(pprof, PPROF_PROFILE_STRING_TABLE, "", 0);
	for (size_t i = 0; i < pprof->n_strings; i++) {
		const struct pprof_text *string = &pprof->strings[i];
		const struct frame unnamed = { .unknown = true, .address = string->address };
		const char *text =
			string->text ? string->text : frame_text(&unnamed, true, buffer);

		pprof_put_bytes(pprof, PPROF_PROFILE_STRING_TABLE, text,
				string->text ? string->n_bytes : strlen(text));
	}
}

/* --- messages --------------------------------------------------------------------------------- */

static struct proto_buffer *pprof_begin(struct pprof *pprof)
{
	pprof->message.n = 0;
	return &pprof->message;
}

/* Puts a message of two numbers inside the current one. */
static void pprof_put_pair(struct pprof *pprof, uint32_t field, uint32_t first,
			   uint64_t first_value, uint32_t second, uint64_t second_value)
{
	proto_put_number(&pprof->pair, first, first_value);
	proto_put_number(&pprof->pair, second, second_value);
	proto_put_message(&pprof->message, field, &pprof->pair);
}

static void pprof_end(struct pprof *pprof, uint32_t field)
{
	pprof_put_bytes(pprof, field, pprof->message.bytes, pprof->message.n);
}

/* --- files of code ---------------------------------------------------------------------------- */

/* The file of FRAME. For a process without functions, its control group counts as a file. */
static const char *pprof_module(const struct pprof *pprof, const struct frame *frame)
{
	const struct owner *owner = frames_get_owner(pprof->snapshot->frames, frame);

	return owner ? owner->cgroup : frame->module;
}

struct pprof_file_key {
	const struct pprof *pprof;
	const struct frame *frame;
};

static bool pprof_is_mapping(const void *context, uint32_t index)
{
	const struct pprof_file_key *key = context;
	const struct frame *frame = key->pprof->mappings[index].frame;

	return frame->build == key->frame->build &&
	       strcmp(pprof_module(key->pprof, frame), pprof_module(key->pprof, key->frame)) == 0;
}

/* The id of the mapping of FRAME's file; 0 if the file is unknown or memory is out. */
static uint64_t pprof_find_or_add_mapping(struct pprof *pprof, const struct frame *frame)
{
	const struct pprof_file_key key = { pprof, frame };
	const char *module = pprof_module(pprof, frame);
	uint64_t hash = hash_bytes(frame->build, module, strlen(module));
	struct pprof_file *mapping;
	uint32_t index;

	if (!*module)
		return 0;
	index = hash_table_find(&pprof->mapping_index, hash, pprof_is_mapping, &key);
	if (index == HASH_NONE) {
		index = (uint32_t)pprof->n_mappings;
		if (!vector_reserve(pprof->mappings, pprof->mappings_capacity, index + 1) ||
		    !hash_table_add(&pprof->mapping_index, hash, index)) {
			pprof->failed = true;
			return 0;
		}
		pprof->mappings[pprof->n_mappings++] =
			(struct pprof_file){ frame, frame->address, frame->address };
	}
	mapping = &pprof->mappings[index];
	if (frame->address < mapping->start)
		mapping->start = frame->address;
	if (frame->address >= mapping->limit)
		mapping->limit = frame->address + 1;
	return index + 1;
}

static uint64_t pprof_add_build_id(struct pprof *pprof, const struct frame *frame, char *text)
{
	const struct build_id *build = frames_get_build(pprof->snapshot->frames, frame);

	build_id_to_text(build, text);
	return pprof_add_text(pprof, text);
}

/* "has functions" keeps viewers from looking for names, on the machine that they run on. */
static void pprof_put_mappings(struct pprof *pprof, char (*build_ids)[BUILD_ID_TEXT_BYTES])
{
	for (size_t i = 0; i < pprof->n_mappings; i++) {
		const struct pprof_file *mapping = &pprof->mappings[i];
		struct proto_buffer *message = pprof_begin(pprof);

		proto_put_number(message, PPROF_MAPPING_ID, i + 1);
		proto_put_number(message, PPROF_MAPPING_START, mapping->start);
		proto_put_number(message, PPROF_MAPPING_LIMIT, mapping->limit);
		proto_put_number(message, PPROF_MAPPING_FILENAME,
				 pprof_add_text(pprof, pprof_module(pprof, mapping->frame)));
		proto_put_number(message, PPROF_MAPPING_BUILD_ID,
				 pprof_add_build_id(pprof, mapping->frame, build_ids[i]));
		proto_put_number(message, PPROF_MAPPING_HAS_FUNCTIONS, true);
		pprof_end(pprof, PPROF_PROFILE_MAPPING);
	}
}

/* --- functions -------------------------------------------------------------------------------- */

/* Writes the innermost line first. */
static void pprof_put_location(struct pprof *pprof, uint32_t number)
{
	const struct pprof_place *location = &pprof->locations.list[number - 1];
	const struct frame *frame = frames_get(pprof->snapshot->frames, location->frame);
	struct proto_buffer *message = pprof_begin(pprof);

	proto_put_number(message, PPROF_LOCATION_ID, number);
	proto_put_number(message, PPROF_LOCATION_MAPPING_ID,
			 pprof_find_or_add_mapping(pprof, frame));
	if (!frame->program && (!pprof->settings->brief || pprof->settings->addresses))
		proto_put_number(message, PPROF_LOCATION_ADDRESS, frame->address);
	for (; number; number = location->outer) {
		location = &pprof->locations.list[number - 1];
		pprof_put_pair(pprof, PPROF_LOCATION_LINE, PPROF_LINE_FUNCTION_ID,
			       1 + numbering_get(&pprof->functions, location->frame),
			       PPROF_LINE_LINE,
			       source_find(pprof->snapshot, pprof->settings, location->frame).line);
	}
	pprof_end(pprof, PPROF_PROFILE_LOCATION);
}

/* Names of inlined functions have no mark: readers see from the lines that they are inlined. */
static uint64_t pprof_add_name(struct pprof *pprof, const struct frame *frame)
{
	return pprof_add_string(pprof, frame->name,
				strlen(frame->name) - pprof_inlined_mark(frame), 0);
}

static void pprof_put_function(struct pprof *pprof, uint64_t id, const struct frame *frame,
			       const struct source_position *source)
{
	bool by_address = frame->unknown && frame->address;
	struct proto_buffer *message = pprof_begin(pprof);

	proto_put_number(message, PPROF_FUNCTION_ID, id);
	proto_put_number(message, PPROF_FUNCTION_NAME,
			 by_address ? pprof_add_string(pprof, NULL, 0, frame->address)
				    : pprof_add_name(pprof, frame));
	if (!by_address && frame->raw_name != frame->name)
		proto_put_number(message, PPROF_FUNCTION_SYSTEM_NAME,
				 pprof_add_text(pprof, frame->raw_name));
	if (source->line)
		proto_put_number(message, PPROF_FUNCTION_FILENAME,
				 pprof_add_string(pprof, source->file, source->file_bytes, 0));
	pprof_end(pprof, PPROF_PROFILE_FUNCTION);
}

static void pprof_put_functions(struct pprof *pprof)
{
	for (uint32_t i = 1; i <= pprof->locations.n && !pprof->failed; i++)
		pprof_put_location(pprof, i);
	for (size_t i = 0; i < pprof->functions.n && !pprof->failed; i++) {
		uint32_t id = pprof->functions.frames[i];
		struct source_position source = source_find(pprof->snapshot, pprof->settings, id);

		pprof_put_function(pprof, i + 1, frames_get(pprof->snapshot->frames, id), &source);
	}
}

/* --- samples ---------------------------------------------------------------------------------- */

static void pprof_put_label(struct pprof *pprof, uint64_t key, uint32_t frame)
{
	uint32_t *text;

	if (frame == FRAME_NONE)
		return;
	text = &pprof->labels[frame];
	if (!*text)
		*text = (uint32_t)pprof_add_text(
			pprof, frames_get(pprof->snapshot->frames, frame)->name);
	pprof_put_pair(pprof, PPROF_SAMPLE_LABEL, PPROF_LABEL_KEY, key, PPROF_LABEL_STR, *text);
}

/* The keys of labels, and the position of a profile's two values among those of a sample. */
struct pprof_samples {
	uint64_t process, thread;
	size_t first, n_values;
	struct measure measure;
};

/* Lists the ids of the stack's locations, innermost first. Returns how many. */
static size_t pprof_find_locations(struct pprof *pprof, const struct stack *stack)
{
	const struct frames *frames = pprof->snapshot->frames;
	const struct frame *outer = NULL;
	uint64_t *first = pprof->numbers + stack->n;
	uint32_t number = 0, lines = 0;
	size_t n;

	for (size_t i = 0; i < stack->n; i++) {
		const struct frame *frame = frames_get(frames, stack->frames[i]);
		bool inlined = outer && lines < LINE_MAX_DEPTH && pprof_is_inlined(frame, outer);

		lines = inlined ? lines + 1 : 1;
		number = pprof_locations_get(&pprof->locations, stack->frames[i],
					     inlined ? number : 0);
		first -= !inlined;
		*first = number;
		outer = frame;
	}
	n = (size_t)(pprof->numbers + stack->n - first);
	memmove(pprof->numbers, first, n * sizeof(*first));
	return n;
}

static void pprof_put_sample(struct pprof *pprof, const struct stack *stack,
			     const struct pprof_samples *samples)
{
	uint64_t values[4] = { 0 };
	struct proto_buffer *message = pprof_begin(pprof);
	size_t n;

	values[samples->first] = stack->samples;
	values[samples->first + 1] = measure_round(&samples->measure, stack->ticks);
	n = pprof_find_locations(pprof, stack);
	proto_put_numbers(message, PPROF_SAMPLE_LOCATION_ID, pprof->numbers, n);
	proto_put_numbers(message, PPROF_SAMPLE_VALUE, values, samples->n_values);
	pprof_put_label(pprof, samples->process, stack->process);
	pprof_put_label(pprof, samples->thread, stack->thread);
	pprof_end(pprof, PPROF_PROFILE_SAMPLE);
}

static struct xtop_error *pprof_put_stacks(struct pprof *pprof, const struct snapshot *snapshot,
					   const struct pprof_samples *samples)
{
	struct stacks stacks;
	struct stack stack;
	struct xtop_error *error = stacks_init(&stacks, snapshot, pprof->settings);

	if (error)
		return error;
	while (!pprof->failed && stacks_next(&stacks, &stack))
		pprof_put_sample(pprof, &stack, samples);
	stacks_deinit(&stacks);
	return NULL;
}

static struct xtop_error *pprof_put_samples(struct pprof *pprof)
{
	const struct snapshot *waits = pprof->settings->waits;
	struct pprof_samples samples = { .process = pprof_add_text(pprof, "process"),
					 .thread = pprof_add_text(pprof, "thread"),
					 .n_values = waits ? 4 : 2,
					 .measure = pprof->measure };
	struct xtop_error *error = pprof_put_stacks(pprof, pprof->snapshot, &samples);

	if (error || !waits)
		return error;
	samples.first = 2;
	samples.measure = measure_find(waits);
	return pprof_put_stacks(pprof, waits, &samples);
}

/* --- the profile ------------------------------------------------------------------------------ */

static void pprof_put_type(struct pprof *pprof, uint64_t type, uint64_t unit)
{
	pprof_put_pair(pprof, PPROF_PROFILE_SAMPLE_TYPE, PPROF_VALUE_TYPE_TYPE, type,
		       PPROF_VALUE_TYPE_UNIT, unit);
}

/*
 * A sample has two values: the number of samples and their time, the default. With waits a sample
 * has two more values. The values of the other profile are 0.
 */
static void pprof_put_head(struct pprof *pprof, const struct notes *notes)
{
	const struct export_settings *settings = pprof->settings;
	const struct snapshot *snapshot = pprof->snapshot;
	struct proto_buffer *profile = pprof_begin(pprof);
	uint64_t time = pprof_add_text(pprof, pprof->measure.type),
		 unit = pprof_add_text(pprof, pprof->measure.unit),
		 count = pprof_add_text(pprof, "count");

	pprof_put_type(pprof, pprof_add_text(pprof, "samples"), count);
	pprof_put_type(pprof, time, unit);
	if (settings->waits) {
		pprof_put_type(pprof, pprof_add_text(pprof, "waits"), count);
		pprof_put_type(pprof, pprof_add_text(pprof, "wait"), unit);
	}
	pprof_put_pair(pprof, PPROF_PROFILE_PERIOD_TYPE, PPROF_VALUE_TYPE_TYPE, time,
		       PPROF_VALUE_TYPE_UNIT, unit);
	proto_put_number(profile, PPROF_PROFILE_PERIOD, measure_round(&pprof->measure, 1));
	proto_put_number(profile, PPROF_PROFILE_DEFAULT_SAMPLE_TYPE, time);
	proto_put_number(profile, PPROF_PROFILE_TIME_NANOS, settings->wall_ns);
	if (snapshot->started_ns)
		proto_put_number(profile, PPROF_PROFILE_DURATION_NANOS,
				 snapshot->time_ns - snapshot->started_ns);
	for (size_t i = 0; i < notes->n; i++)
		pprof->numbers[i] = pprof_add_text(pprof, notes->lines[i]);
	proto_put_numbers(profile, PPROF_PROFILE_COMMENT, pprof->numbers, notes->n);
	gzip_write(pprof->gzip, profile->bytes, profile->n);
}

/* Writes the tables that samples refer to. Returns false if memory is out. */
static bool pprof_put_tables(struct pprof *pprof)
{
	char(*build_ids)[BUILD_ID_TEXT_BYTES];

	pprof_put_functions(pprof);
	build_ids = calloc(pprof->n_mappings + 1, sizeof(*build_ids));
	if (pprof->failed || !build_ids) {
		free(build_ids);
		return false;
	}
	pprof_put_mappings(pprof, build_ids);
	pprof_put_strings(pprof);
	free(build_ids);
	return !pprof->failed && !pprof->message.failed && !pprof->pair.failed &&
	       !pprof->locations.failed && !pprof->functions.failed;
}

static struct xtop_error *pprof_put(struct pprof *pprof)
{
	struct notes notes;
	struct xtop_error *error;

	notes_build(pprof->snapshot, pprof->settings, &notes);
	pprof_put_head(pprof, &notes);
	error = pprof_put_samples(pprof);
	if (!error && !pprof_put_tables(pprof))
		error = error_create("no memory to write a pprof file");
	return error;
}

static bool pprof_init(struct pprof *pprof, const struct snapshot *snapshot,
		       const struct export_settings *settings, FILE *file)
{
	pprof->snapshot = snapshot;
	pprof->settings = settings;
	pprof->measure = measure_find(snapshot);
	pprof->labels = calloc(stacks_n_frames(snapshot, settings), sizeof(*pprof->labels));
	pprof->gzip = settings->gzip ? settings->gzip : gzip_create(false);
	if (pprof->gzip)
		gzip_begin(pprof->gzip, file);
	return pprof_locations_init(&pprof->locations, stacks_n_frames(snapshot, settings)) &&
	       numbering_init_both(&pprof->functions, snapshot, settings) && pprof->labels &&
	       pprof->gzip;
}

static void pprof_destroy(struct pprof *pprof)
{
	if (!pprof)
		return;
	hash_table_deinit(&pprof->mapping_index);
	free(pprof->mappings);
	free(pprof->strings);
	pprof_locations_deinit(&pprof->locations);
	numbering_deinit(&pprof->functions);
	free(pprof->labels);
	free(pprof->message.bytes);
	free(pprof->pair.bytes);
	if (pprof->gzip)
		gzip_end(pprof->gzip);
	if (pprof->gzip != pprof->settings->gzip)
		gzip_destroy(pprof->gzip);
	free(pprof);
}

struct xtop_error *export_pprof(const struct snapshot *snapshot,
				const struct export_settings *settings, FILE *file)
{
	struct pprof *pprof = calloc(1, sizeof(*pprof));
	struct xtop_error *error;

	if (pprof && pprof_init(pprof, snapshot, settings, file))
		error = pprof_put(pprof);
	else
		error = error_create("no memory to write a pprof file");
	pprof_destroy(pprof);
	return error;
}
