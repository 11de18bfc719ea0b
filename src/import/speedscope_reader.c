/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope's files (file-format-schema.json of jlfwong/speedscope), as xtop, speedscope and
 * others write them: a JSON object with shared.frames and profiles. A profile is one of
 *
 *	{"type": "sampled", "name": ..., "unit": ...,
 *	 "samples": [[0, 1], [0, 2]], "weights": [8, 2]}
 *	{"type": "evented", "name": ..., "unit": ...,
 *	 "events": [{"type": "O", "frame": 0, "at": 1}, ...]}
 *
 * The numbers are indices of frames, outermost first. Events open (O) and close (C) a frame; the
 * frames that are open between two events have the time between them. One profile is read: the one
 * that speedscope would show, or the one that is asked for by its name.
 */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/readers.h"
#include "xtop/import/import.h"

/* jansson keeps all of the file, in some ten times its size. */
#define SPEEDSCOPE_MAX_BYTES LIMIT(64U << 20, 1U << 16)

reader_knows_fn speedscope_knows;
reader_read_fn speedscope_read;

struct speedscope_reader {
	struct builder *builder;
	json_t *frames, *profile;
	uint32_t *ids; /* the builder's id of each of the file's frames; FRAME_NONE: none yet */
	uint32_t stack[BUILDER_MAX_STACK];
	size_t n;
};

bool speedscope_knows(const struct import_head *head)
{
	return head->is_text && head->text[strspn(head->text, " \t\r\n")] == '{';
}

/* --- the file --------------------------------------------------------------------------------- */

struct speedscope_input {
	struct import_source *source;
	const struct import_head *head;
	size_t at, total;
	bool too_long;
	struct xtop_error *error; /* why source_read() failed */
};

/* jansson calls this for more bytes. */
static size_t speedscope_fill(void *buffer, size_t capacity, void *context)
{
	struct speedscope_input *input = context;
	size_t n = input->head->n - input->at;

	if (n) {
		n = n < capacity ? n : capacity;
		memcpy(buffer, input->head->bytes + input->at, n);
		input->at += n;
	} else {
		input->error = source_read(input->source, buffer, capacity, &n);
	}
	input->total += input->error ? 0 : n;
	input->too_long = input->total > SPEEDSCOPE_MAX_BYTES;
	return input->error || input->too_long ? (size_t)-1 : n;
}

static struct xtop_error *speedscope_load(struct import_source *source,
					  const struct import_head *head, json_t **rootp)
{
	struct speedscope_input input = { .source = source, .head = head };
	json_error_t wrong;

	if (head->n >= 3 && !memcmp(head->bytes, "\xef\xbb\xbf", 3))
		input.at = 3;
	*rootp = json_load_callback(speedscope_fill, &input, JSON_ALLOW_NUL, &wrong);
	if (input.error)
		return input.error;
	if (input.too_long)
		return error_create("is larger than %u MiB, which is all of JSON that xtop reads",
				    SPEEDSCOPE_MAX_BYTES >> 20);
	return *rootp ? NULL
		      : error_create("damaged in line %d of JSON: %s", wrong.line, wrong.text);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* xtop writes the module as "module", or as "file" where no source line is known. */
static uint32_t speedscope_intern(struct speedscope_reader *reader, const json_t *frame)
{
	const char *name = json_string_value(json_object_get(frame, "name"));
	const char *module = json_string_value(json_object_get(frame, "module"));

	if (!module && !json_object_get(frame, "line"))
		module = json_string_value(json_object_get(frame, "file"));
	return builder_intern_code(reader->builder, name, module, 0);
}

/* The builder's id of the frame at INDEX of the shared ones. FRAME_NONE: it is not there. */
static uint32_t speedscope_find(struct speedscope_reader *reader, const json_t *index)
{
	json_int_t i = json_integer_value(index);

	if (!json_is_integer(index) || i < 0 || (size_t)i >= json_array_size(reader->frames))
		return FRAME_NONE;
	if (reader->ids[i] == FRAME_NONE)
		reader->ids[i] =
			speedscope_intern(reader, json_array_get(reader->frames, (size_t)i));
	return reader->ids[i];
}

static bool speedscope_push(struct speedscope_reader *reader, const json_t *index)
{
	uint32_t id = speedscope_find(reader, index);

	if (id == FRAME_NONE || reader->n == BUILDER_MAX_STACK)
		return false;
	reader->stack[reader->n++] = id;
	return true;
}

/* Only the innermost frame can be closed. */
static bool speedscope_pop(struct speedscope_reader *reader, const json_t *index)
{
	if (!reader->n || reader->stack[reader->n - 1] != speedscope_find(reader, index))
		return false;
	reader->n--;
	return true;
}

/* Adds the stack, with WEIGHT. False: there are too many samples. */
static bool speedscope_add(struct speedscope_reader *reader, double weight)
{
	reader->builder->n_read++;
	return !(weight > 0) || !isfinite(weight) ||
	       builder_add(reader->builder, reader->stack, reader->n, 1, weight);
}

/* --- profiles --------------------------------------------------------------------------------- */

static struct xtop_error *speedscope_refuse(size_t i, const char *what)
{
	return error_create("damaged: entry %zu of the profile: %s", i + 1, what);
}

static struct xtop_error *speedscope_read_samples(struct speedscope_reader *reader)
{
	const json_t *samples = json_object_get(reader->profile, "samples"),
		     *weights = json_object_get(reader->profile, "weights"), *sample, *index;
	size_t i, j;

	/* Older writers have no weights: each sample counts 1. */
	if (weights && json_array_size(weights) != json_array_size(samples))
		return error_create("damaged: the profile has %zu samples, but %zu weights",
				    json_array_size(samples), json_array_size(weights));
	json_array_foreach(samples, i, sample)
	{
		const json_t *weight = json_array_get(weights, i);

		reader->n = 0;
		json_array_foreach(sample, j, index)
		{
			if (!speedscope_push(reader, index))
				return speedscope_refuse(i,
							 "a frame that is not there, or too many");
		}
		if (!speedscope_add(reader, weights ? json_number_value(weight) : 1))
			return speedscope_refuse(i, "too many samples");
	}
	return NULL;
}

static struct xtop_error *speedscope_read_events(struct speedscope_reader *reader)
{
	const json_t *events = json_object_get(reader->profile, "events"), *event;
	double at = json_number_value(json_object_get(reader->profile, "startValue"));
	size_t i;

	json_array_foreach(events, i, event)
	{
		const char *type = json_string_value(json_object_get(event, "type"));
		double now = json_number_value(json_object_get(event, "at"));

		if (!type || now < at)
			return speedscope_refuse(i, "no type, or a time before the last one");
		if (reader->n && !speedscope_add(reader, now - at))
			return speedscope_refuse(i, "too many samples");
		at = now;
		if (type[0] == 'O' && !speedscope_push(reader, json_object_get(event, "frame")))
			return speedscope_refuse(i, "a frame that is not there, or too many");
		if (type[0] == 'C' && !speedscope_pop(reader, json_object_get(event, "frame")))
			return speedscope_refuse(i, "closes another frame than the innermost one");
	}
	return reader->n ? speedscope_refuse(i, "the end, but frames are still open") : NULL;
}

/*
 * Puts what profile I of PROFILES is called into NAME: "main", "main (2)" if an earlier one has
 * that name, "profile 3" if it has none. After as many as the screen offers, names stay as they
 * are.
 */
static void speedscope_name(const json_t *profiles, size_t i, char name[BUILDER_VALUE_BYTES])
{
	const json_t *own = json_object_get(json_array_get(profiles, i), "name");
	unsigned alike = 1;

	if (!json_is_string(own)) {
		snprintf(name, BUILDER_VALUE_BYTES, "profile %zu", i + 1);
		return;
	}
	for (size_t j = 0; j < i && i < BUILDER_MAX_VALUES; j++)
		alike += json_equal(own, json_object_get(json_array_get(profiles, j), "name"));
	if (alike == 1)
		snprintf(name, BUILDER_VALUE_BYTES, "%s", json_string_value(own));
	else
		snprintf(name, BUILDER_VALUE_BYTES, "%s (%u)", json_string_value(own), alike);
}

/* The number of the first profile that calls itself NAME; N: there is none. */
static size_t speedscope_find_own(const json_t *profiles, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *own = json_object_get(json_array_get(profiles, i), "name");

		if (json_is_string(own) && !strcmp(json_string_value(own), name))
			return i;
	}
	return n;
}

/* The profile that is asked for, or the one that speedscope shows. */
static struct xtop_error *speedscope_choose(struct speedscope_reader *reader, const json_t *root)
{
	const json_t *profiles = json_object_get(root, "profiles");
	const char *wanted = reader->builder->wanted;
	char name[BUILDER_VALUE_BYTES];
	size_t n = json_array_size(profiles),
	       at = (size_t)json_integer_value(json_object_get(root, "activeProfileIndex")),
	       found = wanted ? speedscope_find_own(profiles, n, wanted) : n;

	if (found < n) {
		at = found;
		wanted = NULL;
	}
	for (size_t i = 0; wanted && i < n; i++) {
		speedscope_name(profiles, i, name);
		if (!strcmp(name, wanted)) {
			at = i;
			wanted = NULL;
		}
	}
	at = at < n ? at : 0;
	for (size_t i = 0; i < n; i++) {
		speedscope_name(profiles, i, name);
		builder_offer_value(reader->builder, name, i == at);
	}
	reader->profile = json_array_get(profiles, at);
	if (wanted)
		return error_create("has no profile called '%s'", wanted);
	if (!reader->profile)
		return error_create("JSON, but not speedscope's: it has no profiles");
	speedscope_name(profiles, at, name);
	reader->builder->several_values = n > 1;
	if (n > 1)
		builder_note(reader->builder, "%zu profiles are in the file; this is '%s'", n,
			     name);
	builder_set_value(reader->builder, n > 1 ? name : "weight",
			  json_string_value(json_object_get(reader->profile, "unit")), 1);
	return NULL;
}

static struct xtop_error *speedscope_read_root(struct speedscope_reader *reader, const json_t *root)
{
	struct xtop_error *error;
	const char *type;
	size_t n;

	reader->frames = json_object_get(json_object_get(root, "shared"), "frames");
	if (!json_is_array(reader->frames))
		return error_create(
			"JSON, but not speedscope's: it has no shared frames. If speedscope "
			"opens the file, it exports one that xtop reads");
	n = json_array_size(reader->frames);
	reader->ids = malloc((n + 1) * sizeof(*reader->ids));
	if (!reader->ids)
		return error_create("out of memory");
	memset(reader->ids, 0xff, n * sizeof(*reader->ids));
	error = speedscope_choose(reader, root);
	if (error)
		return error;
	type = json_string_value(json_object_get(reader->profile, "type"));
	return type && !strcmp(type, "evented") ? speedscope_read_events(reader)
						: speedscope_read_samples(reader);
}

struct xtop_error *speedscope_read(struct import_source *source, const struct import_head *head,
				   struct builder *builder)
{
	struct speedscope_reader *reader = calloc(1, sizeof(*reader));
	json_t *root = NULL;
	struct xtop_error *error;

	if (!reader)
		return error_create("out of memory");
	reader->builder = builder;
	source_forget(source);
	error = speedscope_load(source, head, &root);
	if (!error)
		error = speedscope_read_root(reader, root);
	json_decref(root);
	free(reader->ids);
	free(reader);
	return error;
}
