/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded output: the format of doc/FORMATS, merged, sorted as LC_ALL=C sort does. */
#include "config.h"

#include "tests/support/exported.h"
#include "tests/support/profile_stacks.h"


static struct frames *frames;

static char *folded_by_cgroup(const struct snapshot *snapshot)
{
	return exported_text(snapshot, &(struct export_settings){ .by_cgroup = true },
			     export_folded);
}

static char *folded(const struct snapshot *snapshot, const char *regex, bool addresses)
{
	struct filter *filter = NULL;
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (regex)
		must(filter_create(regex, &filter));
	must(export_folded(snapshot,
			   &(struct export_settings){ .filter = filter, .addresses = addresses },
			   file));
	filter_destroy(filter);
	fclose(file);
	return text;
}

static void check_folded(const char *const *stacks, const char *regex, bool addresses,
			 const char *expected, const char *what)
{
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	char *text = folded(snapshot, regex, addresses);

	check_string(text, expected, what);
	free(text);
	snapshot_destroy(snapshot);
}

static void test_format(void)
{
	static const char *const stacks[] = {
		"@httpd;main;read 3", "@httpd;%t;.x 2", "@gzip;?10 1", "@gzip;?20 4",
		"main;read 7",        "main 1",         NULL
	};

	check_folded(
		stacks, NULL, false,
		"gzip;[unknown] 5\nhttpd;[truncated];x 2\nhttpd;main;read 3\nmain 1\nmain;read 7\n",
		"folded stacks");
	check_folded(stacks, NULL, true,
		     "gzip;0x10 1\ngzip;0x20 4\nhttpd;[truncated];x 2\n"
		     "httpd;main;read 3\nmain 1\nmain;read 7\n",
		     "folded stacks with addresses");
	check_folded(stacks, "^gzip$|^main$", false,
		     "gzip;[unknown] 5\nhttpd;main;read 3\nmain 1\nmain;read 7\n",
		     "folded stacks with a filter");
	check_folded(stacks, "nothing", false, "",
		     "folded stacks with a filter that nothing matches");
}

/*
 * Nodes with the same text are one, and so are their children: [unknown] at two addresses, f of the
 * kernel and of a program.
 */
static void test_merge(void)
{
	static const char *const stacks[] = { "?10;f;g 1",   "?20;f;g 2",    "?20;.f;g 4",
					      "?20;f;?30 8", "?10;f;?40 16", NULL };

	check_folded(stacks, NULL, false, "[unknown];f;[unknown] 24\n[unknown];f;g 7\n", "merged");
}

/* Weights are rounded, and the sum of the lines is the sum of the weights: here 7.5, then 4.75. */
static void test_weights(void)
{
	static const char *const stacks[] = { "a 1*2.5", "b 2*1", "c 1*3", NULL };
	static const char *const small[] = { "a 1*0.25", "b 1*0.25", "c 1*0.25", "d 1*4", NULL };

	check_folded(stacks, NULL, false, "a 3\nb 2\nc 3\n", "weights, not samples");
	check_folded(small, NULL, false, "b 1\nd 4\n", "what is left goes to the next line");
}

/* ' ' < '(' < '1' < ';' < 'a': lines are sorted as bytes, not stack by stack. */
static void test_order(void)
{
	static const char *const stacks[] = { "foo;x 1",      "foo 5",  "foo1;x 1",  "foo1 2",
					      "foo(int);x 1", "fooa 1", "foo (a) 3", "fo 1",
					      "a 10 3",       "a 9",    NULL };

	check_folded(stacks, NULL, false,
		     "a 10 3\na 9\nfo 1\nfoo (a) 3\nfoo 5\nfoo(int);x 1\nfoo1 2\n"
		     "foo1;x 1\nfoo;x 1\nfooa 1\n",
		     "order");
}

static size_t stack_bytes(const char *line)
{
	return strrchr(line, ' ') - line;
}

/* Random trees of names that are hard to sort: lines are sorted, each stack stands there once. */
static void test_random(void)
{
	static const char *const names[] = { "f",  "f ", "f 1", "f 12", "f(", "f!",
					     "f1", "fa", "?10", "?20",  ".f" };
	static char lines[3000][80];
	const char *stacks[3001] = { NULL };
	char *text, *last = NULL, *state;
	struct snapshot *snapshot;
	uint64_t total = 0;
	bool sorted = true, once = true;

	srand(3);
	for (size_t i = 0; i < 3000; i++) {
		for (int depth = 1 + rand() % 6; depth; depth--)
			sprintf(lines[i] + strlen(lines[i]), "%s%s", names[rand() % 11],
				depth > 1 ? ";" : "");
		sprintf(lines[i] + strlen(lines[i]), " %d", 1 + rand() % 20);
		stacks[i] = lines[i];
	}
	snapshot = stacks_snapshot(frames, stacks);
	text = folded(snapshot, NULL, false);
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		sorted = sorted && (!last || strcmp(last, line) < 0);
		once = once && (!last || stack_bytes(last) != stack_bytes(line) ||
				strncmp(last, line, stack_bytes(line)));
		total += strtoull(line + stack_bytes(line), NULL, 10);
		last = line;
	}
	check(sorted, "random stacks: sorted");
	check(once, "random stacks: each stack once");
	check_u64(total, snapshot->total_weight, "random stacks: samples");
	free(text);
	snapshot_destroy(snapshot);
}

static void test_evicted(void)
{
	struct profile *profile;
	struct snapshot *snapshot;
	char line[16], *text;

	must(profile_create(16, HALF_LIFE, frames, &profile));
	for (unsigned i = 1; i <= 16; i++) {
		snprintf(line, sizeof(line), "leaf%u %u", i, i);
		stacks_add(profile, frames, 1, line);
	}
	must(profile_copy(profile, 1, &snapshot));
	text = folded(snapshot, NULL, false);
	check(!strncmp(text, "[evicted] 3\nleaf10 10\n", 22), "[evicted] has its line: %.22s",
	      text);
	free(text);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* The deepest stack with the longest names: a line of 20 megabytes. */
static void test_deep(void)
{
	uint32_t stack[SNAPSHOT_MAX_DEPTH];
	char name[FRAME_NAME_BYTES], *text;
	struct profile *profile;
	struct snapshot *snapshot;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (unsigned i = 0; i < SNAPSHOT_MAX_DEPTH; i++)
		stack[i] = stacks_frame(frames, name);
	must(profile_create(16384, HALF_LIFE, frames, &profile));
	profile_add(profile, stack, SNAPSHOT_MAX_DEPTH, 1, 1, 1);
	must(profile_copy(profile, 1, &snapshot));
	text = folded(snapshot, NULL, false);
	check_u64(strlen(text), SNAPSHOT_MAX_DEPTH * FRAME_NAME_BYTES + 2,
		  "length of the deepest stack's line");
	free(text);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* Names that look like other stacks, counts or lines: each stack still has exactly one line. */
static void test_forged(void)
{
	static const char *const names[] = {
		"a;b 5\nroot;c",
		"x\r\ny 7",
		"\u2028line\u2029end",
		"\xc2\x85next",
		"\v\f\t",
		"\"quoted\", 'so'",
		"f 12",
		"=cmd|' /C'!A0",
		"\xff;\xfe",
		"\xef\xbc\x9b",
		" ",
		"\x1b[2J;",
	};
	static const size_t n = sizeof(names) / sizeof(names[0]);
	static const enum frame_kind kinds[] = { FRAME_KIND_KERNEL, FRAME_KIND_USERLAND };
	struct profile *profile;
	struct snapshot *snapshot;
	char *text, *line, *rest;
	size_t lines = 0;

	must(profile_create(4096, HALF_LIFE, frames, &profile));
	for (size_t i = 0; i < n; i++) {
		uint32_t stack[4];

		stack[0] = frames_intern_process(frames, names[i], names[i]);
		stack[1] = frames_intern_thread(frames, names[(i + 1) % n], stack[0]);
		for (size_t j = 2; j < 4; j++)
			stack[j] = frames_intern(frames, kinds[j - 2], names[(i + j) % n],
						 names[(i + 2 * j) % n], 0);
		profile_add(profile, stack, 4, 1, 1000, 1000);
	}
	must(profile_copy(profile, 1, &snapshot));
	rest = text = folded(snapshot, NULL, false);
	while ((line = strsep(&rest, "\n")) && *line) {
		size_t semicolons = 0;

		for (const char *at = line; *at; at++) {
			semicolons += *at == ';';
			if ((unsigned char)*at < ' ' || *at == 0x7f)
				check(false, "control byte in: %s", line);
		}
		check_u64(semicolons, 3, "semicolons between the frames of a line");
		check_string(strrchr(line, ' '), " 1000", "the count comes last in a line");
		lines++;
	}
	check_u64(lines, n, "one line for each stack");
	free(text);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

/* Lines are sorted with the group in front, and "a-b;" stands before "a;". */
static void test_cgroups(void)
{
	static const char *const stacks[] = { "@web@a;main;read 3",
					      "@web@a-b;main;read 2",
					      "@sh@a;main 5",
					      "@web@docker/3f2a;main;read 7",
					      "@web;main;read 1",
					      "@web@a;main 4",
					      "idle 6",
					      NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	char *text = folded_by_cgroup(snapshot);

	check_string(text,
		     "[no cgroup];idle 6\n[no cgroup];web;main;read 1\na-b;web;main;read 2\n"
		     "a;sh;main 5\na;web;main 4\na;web;main;read 3\n"
		     "docker/3f2a;web;main;read 7\n",
		     "folded stacks by control group");
	free(text);
	text = folded(snapshot, NULL, false);
	check_string(text, "idle 6\nsh;main 5\nweb;main 4\nweb;main;read 13\n",
		     "folded stacks by process: one name, one line");
	free(text);
	text = folded(snapshot, "docker/", false);
	check_string(text, "web;main;read 7\n", "folded stacks with a filter for a control group");
	free(text);
	snapshot_destroy(snapshot);
}

static void test_formats(void)
{
	const struct export_format *format = export_find_format("folded");

	check(format && format->write == export_folded, "--format=folded is known");
	check_string(format ? format->ending : NULL, ".folded",
		     "ending of files of --format=folded");
	check(!export_find_format("fold") && !export_find_format(""),
	      "abbreviations of a format are not known");
	check(export_find_ending("a.pb.gz") == export_find_format("pprof"), "x.pb.gz is pprof");
	check(export_find_ending("a/b.json") == export_find_format("speedscope"),
	      "x.json is speedscope");
	check(export_find_ending("a.txt") == format && export_find_ending(".json") == format &&
		      export_find_ending("-") == format,
	      "any other file has folded stacks");
	check(export_knows_ending("a.pb.gz") && export_knows_ending("x.y/b.folded"),
	      "endings of formats are known");
	check(export_knows_ending("a") && export_knows_ending("-") && export_knows_ending("x.y/b") &&
		      export_knows_ending("../.b") && export_knows_ending("x.y/"),
	      "a name without an ending asks for none");
	check(!export_knows_ending("a.png") && !export_knows_ending("x.svg/b.pb"),
	      "other endings are not known");
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_formats();
	test_cgroups();
	test_format();
	test_merge();
	test_weights();
	test_order();
	test_random();
	test_evicted();
	test_deep();
	test_forged();
	frames_destroy(frames);
	return tap_done();
}
