/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of one function as text (--annotate). */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/export/export.h"
#include "xtop/query/instructions.h"

#define ANNOTATE_MAX_NAMED 8 /* functions that a message lists */

/* --- which function --------------------------------------------------------------------------- */

/* NAME: a function, or "MODULE:FUNCTION". */
static bool annotate_fits(const struct frame *frame, const char *name)
{
	size_t n = strlen(frame->module);

	if (!frame_is_function(frame) || frame->unknown)
		return false;
	if (!strcmp(frame->name, name) || !strcmp(frame->raw_name, name))
		return true;
	return n && !strncmp(frame->module, name, n) && name[n] == ':' &&
	       (!strcmp(frame->name, name + n + 1) || !strcmp(frame->raw_name, name + n + 1));
}

/* The function of FRAME. With --lines FRAME may be a place in a function. */
static uint32_t annotate_function(const struct snapshot *snapshot, uint32_t frame)
{
	return frame_get_function(frames_get(snapshot->frames, frame), frame);
}

/* Counts the samples that ended in each function. The caller frees the counts. */
static uint64_t *annotate_count(const struct snapshot *snapshot)
{
	uint64_t *samples = calloc(snapshot->n_frames ? snapshot->n_frames : 1, sizeof(*samples));

	for (size_t i = 0; samples && i < snapshot->n_nodes; i++)
		samples[annotate_function(snapshot, snapshot->nodes[i].frame)] +=
			snapshot->nodes[i].self_total;
	return samples;
}

static struct xtop_error *annotate_choose(const struct snapshot *snapshot, const char *name,
					  const uint64_t *samples, uint32_t *framep)
{
	char list[512] = "";
	uint32_t found = FRAME_NONE;
	size_t n = 0, used = 0;
	bool met = false;

	for (uint32_t i = 0; i < snapshot->n_frames; i++) {
		const struct frame *frame = frames_get(snapshot->frames, i);

		if (frame->line_file || !annotate_fits(frame, name))
			continue;
		met = true;
		if (!samples[i] && !frame->program)
			continue;
		found = i;
		if (n++ < ANNOTATE_MAX_NAMED && used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.40s:%.60s",
						 n > 1 ? ", " : "", frame->module, frame->name);
	}
	if (n > 1)
		return error_create("--annotate: several functions are called %s: %s%s", name, list,
				    n > ANNOTATE_MAX_NAMED ? ", ..." : "");
	if (!n && met)
		return error_create("--annotate: no sample ended in %s itself, only in what it "
				    "calls",
				    name);
	if (!n)
		return error_create("--annotate: no sample met a function called %s (-b lists "
				    "those that were met)",
				    name);
	*framep = found;
	return NULL;
}

struct xtop_error *annotate_find(const struct snapshot *snapshot, const char *name,
				 uint32_t *framep)
{
	uint64_t *samples = annotate_count(snapshot);
	struct xtop_error *error = samples ? annotate_choose(snapshot, name, samples, framep)
					   : error_create("no memory to find a function");

	free(samples);
	return error;
}

/* --- text of the annotation ------------------------------------------------------------------- */

static void annotate_print_head(const struct snapshot *snapshot,
				const struct annotation *annotation, const char *title, FILE *file)
{
	const struct frame *frame = frames_get(snapshot->frames, annotation->frame);
	double whole = snapshot->total_weight;

	fprintf(file, "%s\n", title);
	fprintf(file, "%s%s%s  at %llx, %llu bytes: %llu samples, %.2f %% of all\n", frame->name,
		*frame->module ? "  " : "", frame->module, (unsigned long long)annotation->address,
		(unsigned long long)annotation->size_bytes,
		(unsigned long long)annotation->self_samples,
		whole > 0 ? 100 * annotation->self_ticks / whole : 0);
	if (annotation->no_bounds)
		fprintf(file, "Nobody knows where the function begins: this is from the sampled "
			      "address on.\n");
	fprintf(file,
		"A sample counts for the instruction that the stopped vCPU would have run "
		"next.\n\n%7s %8s %18s  %s\n",
		"Percent", "Samples", "Address", "Instruction");
}

static void annotate_print_row(const struct snapshot *snapshot, const struct annotation *annotation,
			       const struct instruction_row *row,
			       const struct instruction_format *format, FILE *file)
{
	char address[24], text[INSTRUCTION_TEXT_BYTES];

	instructions_print_address(annotation, row, format, address);
	instructions_print(annotation, snapshot->frames, row, format, text);
	if (row->samples)
		fprintf(file, "%7.2f %8llu %18s  %s\n", instructions_percent(annotation, row, true),
			(unsigned long long)row->samples, address, text);
	else
		fprintf(file, "%7s %8s %18s  %s\n", "", "", address, text);
}

/* Prints the source line of ROW if it differs from BEFORE, the previous row's line. */
static void annotate_print_line(const struct annotation *annotation,
				const struct instruction_row *row,
				const struct instruction_lines *lines,
				struct instruction_line *before, FILE *file)
{
	struct instruction_line line;

	if (!lines || !lines->find(lines->context, annotation, row->distance, &line) ||
	    !strcmp(line.place, before->place))
		return;
	*before = line;
	fprintf(file, "%37s%s%s%s\n", "", line.place, line.text[0] ? "  " : "", line.text);
}

static void annotate_print_rest(const struct instructions *instructions,
				const struct annotation *annotation, FILE *file)
{
	double rest = instructions_rest(instructions, annotation, true);

	if (annotation->size_bytes > annotation->n_bytes)
		fprintf(file, "The first %u of %llu bytes are shown.\n", annotation->n_bytes,
			(unsigned long long)annotation->size_bytes);
	if (rest > 0.005)
		fprintf(file, "%7.2f %% of the samples are at instructions that are not shown.\n",
			rest);
}

static double annotate_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void annotate_print_program(const struct snapshot *snapshot,
				   const struct annotation *annotation,
				   const struct instruction_lines *lines, const char *title,
				   FILE *file)
{
	const struct frame *frame = frames_get(snapshot->frames, annotation->frame);
	double whole = snapshot->total_weight;

	fprintf(file, "%s\n%s%s%s: %llu samples, %.2f %% of all\n", title, frame->name,
		*frame->module ? "  " : "", frame->module,
		(unsigned long long)annotation->self_samples,
		annotate_percent(annotation->self_ticks, whole));
	fprintf(file,
		"Shares of all samples that were in a line, or in what the line called, and "
		"in the function itself.\n\n%8s %7s %8s %8s  %s\n",
		"Children", "Self", "Samples", "Line", "Text");
	for (size_t i = 0; i < annotation->n_lines; i++) {
		const struct annotation_line *line = &annotation->lines[i];
		char text[INSTRUCTION_LINE_BYTES] = "";

		if (lines && lines->text)
			lines->text(lines->context, frame->module, line->line, text, sizeof(text));
		if (!*text)
			snprintf(text, sizeof(text), "%s", line->text);
		fprintf(file, "%8.2f %7.2f %8llu %8u%s%s\n", annotate_percent(line->ticks, whole),
			annotate_percent(line->self_ticks, whole),
			(unsigned long long)line->samples, line->line, *text ? "  " : "", text);
	}
}

/* Says why there is no code; continues "the code of NAME". */
static const char *annotate_lack(enum annotation_lack lack)
{
	switch (lack) {
	case ANNOTATION_NO_CODE:
		return "is not known";
	case ANNOTATION_ARM32:
		return "cannot be shown: xtop does not decode instructions of 32-bit Arm";
	case ANNOTATION_NO_LINES:
		return "is interpreted, and no line of it is known; only --lines finds lines";
	case ANNOTATION_HAS_LINES:
	case ANNOTATION_NOT_READ:
	case ANNOTATION_HAS_CODE:
		break;
	}
	return "could not be read, or is not in the recording";
}

struct xtop_error *export_annotation(const struct snapshot *snapshot,
				     const struct annotation *annotation,
				     const struct instruction_lines *lines,
				     const struct instruction_format *format, const char *title,
				     FILE *file)
{
	struct instruction_line line = { .place = "" };
	struct instructions instructions = { 0 };
	struct xtop_error *error;

	if (annotation->lack == ANNOTATION_HAS_LINES) {
		annotate_print_program(snapshot, annotation, lines, title, file);
		return NULL;
	}
	if (annotation->lack != ANNOTATION_HAS_CODE)
		return error_create("--annotate: the code of %s %s",
				    frames_get(snapshot->frames, annotation->frame)->name,
				    annotate_lack(annotation->lack));
	error = instructions_update(&instructions, annotation);
	if (error)
		return error;
	annotate_print_head(snapshot, annotation, title, file);
	for (size_t i = 0; i < instructions.n; i++) {
		annotate_print_line(annotation, &instructions.rows[i], lines, &line, file);
		annotate_print_row(snapshot, annotation, &instructions.rows[i], format, file);
	}
	annotate_print_rest(&instructions, annotation, file);
	instructions_deinit(&instructions);
	return NULL;
}
