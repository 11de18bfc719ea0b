/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope's file format (doc/FORMATS): one JSON object with a profile of the type "sampled", or
 * two: of samples and of waits. It is written as it comes. A JSON library such as jansson would
 * first build the whole object: 2 million integers for 100,000 stacks of 20 functions, some 100 MB.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <math.h>
#include <string.h>

#include "export/json.h"
#include "export/measure.h"
#include "export/notes.h"
#include "export/stacks.h"
#include "xtop/base/build_id.h"

struct speedscope {
	struct json json;
	const struct snapshot *snapshot;
	const struct export_settings *settings;
	struct numbering numbers;
};

/* --- stacks ----------------------------------------------------------------------------------- */

static struct xtop_error *speedscope_put_samples(struct speedscope *speedscope,
						 const struct snapshot *snapshot)
{
	struct stacks stacks;
	struct stack stack;
	struct xtop_error *error = stacks_init(&stacks, snapshot, speedscope->settings);

	if (error)
		return error;
	json_open(&speedscope->json, "samples", '[');
	while (stacks_next(&stacks, &stack)) {
		json_open(&speedscope->json, NULL, '[');
		for (size_t i = 0; i < stack.n_whole; i++)
			json_u64(&speedscope->json, NULL,
				 numbering_get(&speedscope->numbers, stack.whole[i]));
		json_close(&speedscope->json, ']');
	}
	json_close(&speedscope->json, ']');
	stacks_deinit(&stacks);
	return NULL;
}

static void speedscope_put_number(struct json *json, const char *name, double value)
{
	if (value < 0x1p53 && value == floor(value))
		json_u64(json, name, (uint64_t)value);
	else
		json_double(json, name, value);
}

/* *SUMP becomes the sum of all weights. */
static struct xtop_error *speedscope_put_weights(struct speedscope *speedscope,
						 const struct snapshot *snapshot,
						 const struct measure *measure, double *sump)
{
	struct stacks stacks;
	struct stack stack;
	struct xtop_error *error = stacks_init(&stacks, snapshot, speedscope->settings);

	if (error)
		return error;
	*sump = 0;
	json_open(&speedscope->json, "weights", '[');
	while (stacks_next(&stacks, &stack)) {
		double value = stack.ticks * measure->per_tick;

		if (measure->factor == 1)
			value = (double)measure_round(measure, stack.ticks);
		*sump += value;
		speedscope_put_number(&speedscope->json, NULL, value);
	}
	json_close(&speedscope->json, ']');
	stacks_deinit(&stacks);
	return NULL;
}

/* The units that speedscope's schema has; "none" for others. */
static const char *speedscope_unit(const struct measure *measure)
{
	static const char *const units[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds", "bytes" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(measure->unit, units[i]) == 0)
			return units[i];
	return "none";
}

/* WHAT is appended to the guest's name; may be "". */
static struct xtop_error *speedscope_put_profile(struct speedscope *speedscope,
						 const struct snapshot *snapshot, const char *what)
{
	const char *domain = speedscope->settings->domain;
	struct json *json = &speedscope->json;
	char name[NOTES_LINE_BYTES];
	struct xtop_error *error;
	const struct measure measure = measure_find(snapshot);
	double sum = 0;

	snprintf(name, sizeof(name), "%s%s", domain ? domain : "", what);
	json_open(json, NULL, '{');
	json_text(json, "type", "sampled");
	json_text(json, "name", *what ? name : domain);
	json_text(json, "unit", speedscope_unit(&measure));
	error = speedscope_put_samples(speedscope, snapshot);
	if (!error)
		error = speedscope_put_weights(speedscope, snapshot, &measure, &sum);
	json_u64(json, "startValue", 0);
	speedscope_put_number(json, "endValue", sum);
	json_close(json, '}');
	return error;
}

static struct xtop_error *speedscope_put_profiles(struct speedscope *speedscope)
{
	const struct snapshot *waits = speedscope->settings->waits;
	struct xtop_error *error;

	json_open(&speedscope->json, "profiles", '[');
	error = speedscope_put_profile(speedscope, speedscope->snapshot, waits ? ": CPU" : "");
	if (!error && waits)
		error = speedscope_put_profile(speedscope, waits, ": waits");
	json_close(&speedscope->json, ']');
	return error;
}

/* --- what the stacks are made of -------------------------------------------------------------- */

/*
 * "file" is the source file with the line that most samples of the function pass through. Where no
 * line is known, "file" is the module. Otherwise the module has a member of its own.
 */
static void speedscope_put_place(struct speedscope *speedscope, uint32_t id)
{
	const struct frames *frames = speedscope->snapshot->frames;
	const char *home = frames_get_home(frames, frames_get(frames, id));
	struct source_position source = source_find(speedscope->snapshot, speedscope->settings, id);
	struct json *json = &speedscope->json;
	char file[FRAME_NAME_BYTES];

	if (!source.line) {
		if (*home)
			json_text(json, "file", home);
		return;
	}
	snprintf(file, sizeof(file), "%.*s", (int)source.file_bytes, source.file);
	json_text(json, "file", file);
	json_u64(json, "line", source.line);
	json_text(json, "module", home);
}

static void speedscope_put_frames(struct speedscope *speedscope)
{
	const struct frames *frames = speedscope->snapshot->frames;
	struct json *json = &speedscope->json;

	json_open(json, "frames", '[');
	for (size_t i = 0; i < speedscope->numbers.n; i++) {
		const struct frame *frame = frames_get(frames, speedscope->numbers.frames[i]);
		const struct build_id *build = frames_get_build(frames, frame);
		char text[FRAME_TEXT_BYTES], build_id[BUILD_ID_TEXT_BYTES];

		json_open(json, NULL, '{');
		json_text(json, "name", frame_text(frame, speedscope->settings->addresses, text));
		speedscope_put_place(speedscope, speedscope->numbers.frames[i]);
		build_id_to_text(build, build_id);
		if (build)
			json_text(json, "build_id", build_id);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void speedscope_put_notes(struct speedscope *speedscope)
{
	struct notes notes;

	notes_build(speedscope->snapshot, speedscope->settings, &notes);
	json_open(&speedscope->json, "notes", '[');
	for (size_t i = 0; i < notes.n; i++)
		json_text(&speedscope->json, NULL, notes.lines[i]);
	json_close(&speedscope->json, ']');
}

static struct xtop_error *speedscope_put(struct speedscope *speedscope)
{
	struct json *json = &speedscope->json;
	struct xtop_error *error;

	json_open(json, NULL, '{');
	json_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(json, "exporter", PACKAGE_STRING);
	json_text(json, "name", speedscope->settings->domain);
	json_u64(json, "activeProfileIndex", 0);
	speedscope_put_notes(speedscope);
	error = speedscope_put_profiles(speedscope);
	json_open(json, "shared", '{');
	speedscope_put_frames(speedscope);
	json_close(json, '}');
	json_close(json, '}');
	fputc('\n', json->file);
	return error;
}

struct xtop_error *export_speedscope(const struct snapshot *snapshot,
				     const struct export_settings *settings, FILE *file)
{
	struct speedscope speedscope = { .json = { .file = file, .compact = true },
					 .snapshot = snapshot,
					 .settings = settings };
	struct xtop_error *error = NULL;

	if (numbering_init_both(&speedscope.numbers, snapshot, settings))
		error = speedscope_put(&speedscope);
	else
		speedscope.numbers.failed = true;
	if (!error && speedscope.numbers.failed)
		error = error_create("no memory to write a speedscope file");
	numbering_deinit(&speedscope.numbers);
	return error;
}
