/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flame graphs as SVG and HTML: what is in the files. tests/readers opens them in a browser.
 */
#include "config.h"

#include "tests/support/exported.h"
#include "tests/support/profile_stacks.h"

#include <string.h>


static struct frames *frames;

static char *written(const struct snapshot *snapshot, export_write_fn *write)
{
	const struct export_settings settings = { .domain = "<b>web01</b>" };

	return exported_text(snapshot, &settings, write);
}

static size_t times(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static void check_picture(export_write_fn *write, const char *end, const char *what)
{
	static const char *const stacks[] = { "@httpd;main;.a<b> 3", "@httpd;main 1", "]]>&\" 1",
					      NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	char *text = written(snapshot, write);

	printf("# %s\n", what);
	check(strlen(text) > strlen(end) && !strcmp(text + strlen(text) - strlen(end), end),
	      "a picture is whole");
	check(strstr(text, "<title>main, [kernel]: 80.00 %, itself 20.00 %</title>"),
	      "a cell has a tooltip with shares");
	check(strstr(text, "<title>a&lt;b&gt;, prog: 60.00 %, itself 60.00 %</title>"),
	      "names are escaped in the picture");
	check(strstr(text, "[\"a\\u003cb\\u003e\",2,"),
	      "names are escaped in the script's profile");
	check(!strstr(text, "]]>&") && !strstr(text, "<b>"), "no name ends a script or begins a tag");
	check(strstr(text, "\"depth\":[0,1,2,3,1],\"self\":[0,0,1,3,1]"),
	      "the script has the tree in pre-order");
	check_u64(times(text, "made by: xtop "), 1, "the picture's notes, once");
	check_u64(times(text, "http:") + times(text, "https:") - times(text, "http://www.w3.org/"), 0,
		  "addresses in a picture besides those of XML's name spaces");
	check(strstr(text, "&lt;/b&gt;: 5.0 s of virtual CPUs<"), "the title of virtual CPUs");
	free(text);
	snapshot->waits = calloc(1, sizeof(*snapshot->waits));
	text = written(snapshot, write);
	check(strstr(text, "&lt;/b&gt;: 0.0 s that tasks waited<"), "the title of waits");
	free(text);
	snapshot_destroy(snapshot);
}

/* Kernel, programs and libraries have colours of their own, in the picture and for the script. */
static void test_colours(void)
{
	static const struct {
		const char *name, *module;
		enum frame_kind kind;
		char class;
	} cells[] = { { "vfs_read", "[kernel]", FRAME_KIND_KERNEL, 'k' },
		      { "ext4_read", "[ext4]", FRAME_KIND_KERNEL, 'k' },
		      { "main", "prog", FRAME_KIND_USERLAND, 'u' },
		      { "read", "libc.so.6", FRAME_KIND_USERLAND, 'l' },
		      { "clock", "[vdso]", FRAME_KIND_USERLAND, 'l' },
		      { NULL, "prog", FRAME_KIND_USERLAND, 'n' },
		      { "httpd", "", FRAME_KIND_OWNER, 'p' } };
	struct profile *profile;
	struct snapshot *snapshot;
	char *text, expected[128];

	must(profile_create(PROFILE_MAX_NODES, HALF_LIFE, frames, &profile));
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		uint32_t id = cells[i].kind == FRAME_KIND_OWNER
				      ? frames_intern_process(frames, cells[i].name, NULL)
				      : frames_intern(frames, cells[i].kind, cells[i].name,
						      cells[i].module, 0x7000);

		profile_add(profile, &id, 1, 1, 1, 1);
	}
	must(profile_copy(profile, 1, &snapshot));
	text = written(snapshot, export_svg);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		const char *name = cells[i].name ? cells[i].name : "[unknown]", *class, *title;

		snprintf(expected, sizeof(expected), "<title>%s%s%s: 14.29 %%", name,
			 *cells[i].module ? ", " : "", cells[i].module);
		title = strstr(text, expected);
		if (!check(title, "%s has a cell", expected))
			continue;
		/* the rectangle stands before its title */
		for (class = title; strncmp(class, "<rect class=\"", 13); class--)
			;
		check(class[13] == cells[i].class, "%s has class %c: %c", name, cells[i].class,
		      class[13]);
		snprintf(expected, sizeof(expected), "[\"%s\",%d,", name,
			 (int)(strchr("pkulnt", cells[i].class) - "pkulnt"));
		check(strstr(text, expected), "the script has %s", expected);
	}
	check(strstr(text, "\"kinds\":[\"p\",\"k\",\"u\",\"l\",\"n\",\"t\"]"),
	      "the script has the classes");
	free(text);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

static void test_empty(void)
{
	static const char *const stacks[] = { NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	char *text = written(snapshot, export_html);

	check(strstr(text, "\"depth\":[0],\"self\":[0]"),
	      "the picture of an empty profile is empty");
	check(strstr(text, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"),
	      "a browser loads nothing for the page");
	free(text);
	snapshot_destroy(snapshot);
}

/* However many cells there are, the picture for browsers without scripts has few thousand. */
static void test_many(void)
{
	struct profile *profile;
	struct snapshot *snapshot;
	char *text, name[32];
	uint32_t stack[2];

	must(profile_create(PROFILE_MAX_NODES, HALF_LIFE, frames, &profile));
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "outer_%u", i / 10);
		stack[0] = stacks_frame(frames, name);
		snprintf(name, sizeof(name), "inner_%u", i);
		stack[1] = stacks_frame(frames, name);
		profile_add(profile, stack, 2, 1, 1, 1 + i % 7);
	}
	must(profile_copy(profile, 1, &snapshot));
	text = written(snapshot, export_svg);
	check(times(text, "<g><rect") > 1000 && times(text, "<g><rect") <= 3000,
	      "a picture of 3,000 cells at most");
	check_u64(times(text, "\"inner_"), 20000, "cells that the script has of 20,000");
	free(text);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

static void test_deepest(void)
{
	struct snapshot *snapshot = stacks_deepest(frames);
	char *text = written(snapshot, export_html);

	check(strstr(text, "</html>"), "the picture of the deepest stacks is whole");
	free(text);
	snapshot_destroy(snapshot);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	check_picture(export_svg, "]]></script>\n</svg>\n", "SVG");
	check_picture(export_html, "</body>\n</html>\n", "HTML");
	test_colours();
	test_empty();
	test_many();
	test_deepest();
	frames_destroy(frames);
	return tap_done();
}
