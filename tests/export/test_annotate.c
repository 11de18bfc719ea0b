/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --annotate: which function is meant, and the text. */
#include "config.h"

#include "tests/screens/fixture.h"
#include "tests/support/made_annotation.h"
#include "tests/support/made_lines.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/export/export.h"
#include "xtop/query/instructions.h"

static void find(const struct snapshot *snapshot, const char *name, const char *message)
{
	uint32_t frame = FRAME_NONE;
	struct xtop_error *error = annotate_find(snapshot, name, &frame);

	check_string(error ? error_message(error) : "found", message, name);
	error_destroy(error);
}

static struct instruction_format format;

static char *print(const struct snapshot *snapshot, const struct annotation *annotation)
{
	const struct instruction_lines lines = { .find = made_line };
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct xtop_error *error =
		export_annotation(snapshot, annotation, &lines, &format, "web01 PVH", file);

	if (error)
		fputs(error_message(error), file);
	error_destroy(error);
	fclose(file);
	return text;
}

int main(void)
{
	struct annotation *annotation;
	struct snapshot *snapshot;
	struct fixture fixture;
	uint32_t frame;
	char *text;

	fixture_create(&fixture);
	fixture_fill(&fixture);
	frames_intern(fixture.frames, FRAME_KIND_USERLAND, "never", "app", 0x9000);
	fixture_add(&fixture, "app _start write", 5);
	frame = frames_intern(fixture.frames, FRAME_KIND_KERNEL, "write", "[kernel]", 0x77);
	profile_add(fixture.profile, &frame, 1, FIXTURE_NS, 1, 1);
	must(profile_copy(fixture.profile, FIXTURE_NS, &snapshot));
	find(snapshot, "deflate_slow", "found");
	find(snapshot, "libz.so.1.2.13:deflate_slow", "found");
	find(snapshot, "libz.so.1.2:deflate_slow",
	     "--annotate: no sample met a function called libz.so.1.2:deflate_slow (-b lists those "
	     "that were met)");
	find(snapshot, "deflate",
	     "--annotate: no sample met a function called deflate (-b lists those that were met)");
	find(snapshot, "main",
	     "--annotate: no sample ended in main itself, only in what it calls");
	find(snapshot, "write",
	     "--annotate: several functions are called write: libc.so.6:write, [kernel]:write");
	find(snapshot, "[kernel]:write", "found");
	find(snapshot, "httpd",
	     "--annotate: no sample met a function called httpd (-b lists those that were met)");

	must(annotate_find(snapshot, "deflate_slow", &frame));
	annotation = made_annotation(frame, fixture_frame(&fixture, "longest_match"));
	text = print(snapshot, annotation);
	check(strstr(text,
		     "web01 PVH\ndeflate_slow  libz.so.1.2.13  at ffffffff81200fe0, 71 bytes: "
		     "1000 samples, "),
	      "annotation: the head");
	check(strstr(text, "  25.00      250              +0x11  movzbl (%rbx),%eax\n"),
	      "annotation: an instruction with samples");
	check(strstr(text, " deflate.c:1234  while (!is_end(*at++));\n  25.00 ") &&
		      !strstr(strstr(text, "deflate.c") + 1, "deflate.c"),
	      "annotation: a source line where it begins, with its text");
	check(strstr(text, " is_end (inlined) line.h:77\n  11.00 "),
	      "annotation: a line of an inlined function, without text");
	check(strstr(text, "                              +0x25  call   longest_match\n"),
	      "annotation: an instruction without samples");
	check(strstr(text, "   5.00 % of the samples are at instructions that are not shown.\n"),
	      "annotation: the share of instructions that are not shown");
	check(strstr(text, "would have run next"), "annotation: the meaning of a sample's address");
	free(text);
	format = (struct instruction_format){ SYNTAX_INTEL, ADDRESSES_ABSOLUTE, false };
	text = print(snapshot, annotation);
	check(strstr(text, "  25.00      250   ffffffff81200ff1  movzx  eax,byte ptr [rbx]\n"),
	      "annotation: an instruction in Intel's syntax with its address: %s", text);
	free(text);
	annotation->lack = ANNOTATION_NOT_READ;
	text = print(snapshot, annotation);
	check_string(text,
		     "--annotate: the code of deflate_slow could not be read, or is not in the "
		     "recording",
		     "annotation without code: the error");
	free(text);
	annotation->lack = ANNOTATION_ARM32;
	text = print(snapshot, annotation);
	check(strstr(text, "xtop does not decode instructions of 32-bit Arm"),
	      "annotation of 32-bit Arm: the error: %s", text);
	free(text);
	annotation_destroy(annotation);
	snapshot_destroy(snapshot);
	fixture_destroy(&fixture);
	return tap_done();
}
