/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of an interpreted function: what they weigh, as text, and in exported profiles. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "profile/annotated_lines.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/export/export.h"
#include "xtop/profile/profile.h"
#include "xtop/query/instructions.h"

#define SPAN_NS 1000000000ULL

static struct frames *frames;
static struct {
	uint32_t fib, other, native;
} ids;

static uint32_t line(uint32_t function, uint32_t number)
{
	return frames_intern_line(frames, function, FRAME_LINE_KNOWN, number);
}

static uint32_t program(const char *name, uint32_t first_line)
{
	return frames_intern(frames, FRAME_KIND_USERLAND, name, "work.py", first_line);
}

/* fib() calls itself in line 12, which also calls native code; line 11 only compares. */
static struct snapshot *make(void)
{
	const uint32_t in_11[] = { line(ids.fib, 12), line(ids.fib, 11) };
	const uint32_t in_native[] = { line(ids.fib, 12), line(ids.fib, 12), ids.native };
	const uint32_t in_other[] = { line(ids.other, 12) };
	struct snapshot *snapshot;
	struct profile *profile;

	must(profile_create(1000, 0, frames, &profile));
	profile_add(profile, in_11, 2, SPAN_NS, 60, 60);
	profile_add(profile, in_native, 3, SPAN_NS, 20, 20);
	profile_add(profile, in_native, 2, SPAN_NS, 10, 10);
	profile_add(profile, in_other, 1, SPAN_NS, 10, 10);
	must(profile_copy(profile, SPAN_NS, &snapshot));
	profile_destroy(profile);
	return snapshot;
}

static struct annotation *annotate(const struct snapshot *snapshot, uint32_t frame)
{
	struct annotation *annotation = calloc(1, sizeof(*annotation));

	if (!annotation)
		abort();
	*annotation = (struct annotation){ .frame = frame, .lack = ANNOTATION_NOT_READ };
	must(annotated_lines_build(snapshot, annotation));
	return annotation;
}

static void test_weights(void)
{
	struct snapshot *snapshot = make();
	struct annotation *annotation = annotate(snapshot, ids.fib);
	const struct annotation_line *lines = annotation->lines;

	check_u64(annotation->lack, ANNOTATION_HAS_LINES, "an interpreted function has lines");
	if (check(annotation->n_lines == 2 && lines[0].line == 11 && lines[1].line == 12,
		  "each line once, in order")) {
		check(lines[0].ticks == 60 && lines[0].samples == 60 && lines[0].self_ticks == 60,
		      "a line without calls: %g, of these itself %g", lines[0].ticks,
		      lines[0].self_ticks);
		check(lines[1].ticks == 90 && lines[1].samples == 90,
		      "a line that is twice in a stack counts once: %g", lines[1].ticks);
		check(lines[1].self_ticks == 10,
		      "samples in native code are not the line's own: %g", lines[1].self_ticks);
	}
	annotation_destroy(annotation);
	annotation = annotate(snapshot, ids.native);
	check_u64(annotation->lack, ANNOTATION_NOT_READ, "native code has no such lines");
	annotation_destroy(annotation);
	annotation = annotate(snapshot, program("[py] never", 1));
	check_u64(annotation->lack, ANNOTATION_NO_LINES, "no sample met the function");
	annotation_destroy(annotation);
	snapshot_destroy(snapshot);
}

static void test_guest_text(void)
{
	static const char text[] = "\n\n\n\n\n\n\n\n\n\n\t  if n < 2;\tx\033\r\n\t\treturn n";
	struct snapshot *snapshot = make();
	struct annotation *annotation = annotate(snapshot, ids.fib);
	char page[GUEST_PAGE_SIZE];

	annotated_lines_add_text(annotation, text, 5);
	check_string(annotation->lines[0].text, "", "a file that ends before the line");
	annotated_lines_add_text(annotation, text, sizeof(text) - 1);
	check_string(annotation->lines[0].text, "if n < 2; x_",
		     "text of line 11, clean and without indentation");
	check_string(annotation->lines[1].text, "return n", "line 12, without an end");
	annotation_destroy(annotation);
	annotation = annotate(snapshot, ids.fib);
	memset(page, '\n', sizeof(page));
	memcpy(page + sizeof(page) - 4, "if n", 4);
	memset(page + 10, ' ', sizeof(page) - 14);
	annotated_lines_add_text(annotation, page, sizeof(page));
	check_string(annotation->lines[0].text, "", "a line whose page ends within it");
	annotation_destroy(annotation);
	snapshot_destroy(snapshot);
}

static size_t known_text(void *context, const char *file, uint32_t number, char *text,
			 size_t capacity)
{
	(void)context;
	return (size_t)snprintf(text, capacity, "%s",
				strcmp(file, "work.py") || number != 11 ? "" : "if n < 2:");
}

static char *print(const struct snapshot *snapshot, const struct annotation *annotation)
{
	const struct instruction_lines lines = { .text = known_text };
	const struct instruction_format format = { .syntax = SYNTAX_ATT };
	struct xtop_error *error;
	size_t size;
	char *text;
	FILE *file = open_memstream(&text, &size);

	error = export_annotation(snapshot, annotation, &lines, &format, "web01", file);
	if (error)
		fputs(error_message(error), file);
	error_destroy(error);
	fclose(file);
	return text;
}

static void test_text(void)
{
	struct snapshot *snapshot = make();
	struct annotation *annotation = annotate(snapshot, ids.fib);
	char *text = print(snapshot, annotation);
	uint32_t frame;

	check(strstr(text, "   60.00   60.00       60       11  if n < 2:\n"), "a line: %s", text);
	check(strstr(text, "   90.00   10.00       90       12\n"), "a line without text: %s",
	      text);
	free(text);
	annotation->lack = ANNOTATION_NO_LINES;
	text = print(snapshot, annotation);
	check(strstr(text, "[py] fib is interpreted, and no line of it is known; only --lines"), "without lines: %s", text);
	free(text);
	annotation_destroy(annotation);
	must(annotate_find(snapshot, "work.py:[py] fib", &frame));
	check_u64(frame, ids.fib, "the function is found by file and name");
	snapshot_destroy(snapshot);
}

/* Without --lines a function's file and first line are known. */
static void test_speedscope(void)
{
	const struct export_settings settings = { .domain = "web01" };
	struct snapshot *snapshot = make();
	size_t size;
	char *text;
	FILE *file = open_memstream(&text, &size);

	must(export_speedscope(snapshot, &settings, file));
	fclose(file);
	check(strstr(text, "{\"name\":\"[py] fib\",\"file\":\"work.py\",\"line\":10,"),
	      "speedscope: file and first line: %s", text);
	check(strstr(text, "{\"name\":\"sha256\",\"file\":\"libcrypto.so.3\"}"),
	      "speedscope: native code has none");
	free(text);
	snapshot_destroy(snapshot);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	ids.fib = program("[py] fib", 10);
	ids.other = program("[py] other", 3);
	ids.native = frames_intern(frames, FRAME_KIND_USERLAND, "sha256", "libcrypto.so.3", 0x1000);
	test_weights();
	test_guest_text();
	test_text();
	test_speedscope();
	frames_destroy(frames);
	return tap_done();
}
