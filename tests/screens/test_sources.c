/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines beside functions, in callers and callees and in the tree: key M. Key X. Lines in files. */
#include "config.h"

#include <locale.h>
#include <unistd.h>

#include "scene.h"
#include "tests/support/must.h"
#include "xtop/export/export.h"

static bool no_line(void *context, const struct annotation *annotation, uint32_t distance,
		    struct instruction_line *line)
{
	(void)context, (void)annotation, (void)distance, (void)line;
	return false;
}

/* A picture in which two functions have lines. */
static struct snapshot *make_picture(struct scene *scene)
{
	struct frames *frames = scene->fixture.frames;
	uint32_t line = frames_intern(frames, FRAME_KIND_MARK, "deflate.c:1234", NULL, 0);
	uint32_t long_line = frames_intern(frames, FRAME_KIND_MARK,
					   "a-very-long-name-of-a-source-file.c:100000", NULL, 0);
	struct snapshot *snapshot = fixture_snapshot(&scene->fixture, 2);

	snapshot->sources = calloc(snapshot->n_frames, sizeof(*snapshot->sources));
	if (!snapshot->sources)
		abort();
	for (uint32_t i = 0; i < snapshot->n_frames; i++)
		snapshot->sources[i] = FRAME_NONE;
	snapshot->sources[fixture_frame(&scene->fixture, "deflate_slow")] = line;
	snapshot->sources[fixture_frame(&scene->fixture, "longest_match")] = long_line;
	return snapshot;
}

/* The key w writes the lines that the picture has. */
static void test_write(struct scene *scene)
{
	char path[] = "/tmp/xtop-screens-XXXXXX.perf", keys_[128], *text;

	int fd = mkstemps(path, sizeof(".perf") - 1);

	if (fd < 0 || unlink(path))
		abort();
	close(fd);
	scene->ui->settings.write_format = export_find_format("perf");
	snprintf(keys_, sizeof(keys_), "w<C-u>%s<Enter>", path);
	scene_keys(scene, 100, 30, keys_);
	text = file_read(path);
	check(strstr(text, " deflate_slow+0x0 (libz.so.1.2.13)\n  deflate.c:1234\n"),
	      "perf's text has a line: %.300s", text);
	check(!strstr(text, " main+0x0 (app)\n  "), "perf's text has no line where none is known");
	free(text);
	unlink(path);
}

int main(void)
{
	const struct instruction_lines lines = { .find = no_line };
	const struct line_expander_settings settings = { .inlined = true };
	struct scene scene;

	setlocale(LC_CTYPE, "C.UTF-8");
	scene_open(&scene);
	fixture_fill(&scene.fixture);
	ui_show(scene.ui, make_picture(&scene));
	scene_keys(&scene, 100, 30, "tE");
	screen_contains(&scene, 100, 30, "deflate.c:1234", false);
	scene_keys(&scene, 100, 30, "M");
	screen_contains(&scene, 100, 30, "with the option --lines", true);
	scene_keys(&scene, 100, 30, "X");
	screen_contains(&scene, 100, 30, "with the option --lines", true);
	scene.ui->model.code.lines = &lines;
	scene_keys(&scene, 100, 30, "M");
	screen_check(&scene, "sources-tree-100x40", 100, 40);
	scene_keys(&scene, 80, 24, "h");
	screen_check(&scene, "sources-help-tree-80x24", 80, 24);
	scene_keys(&scene, 100, 30, "<Esc>a/deflate_slow<Enter><Enter>");
	screen_check(&scene, "sources-callers-100x30", 100, 30);
	screen_check(&scene, "sources-callers-80x24", 80, 24);
	screen_check(&scene, "sources-callers-40x12", 40, 12);
	scene_keys(&scene, 100, 30, "M");
	screen_contains(&scene, 100, 30, "deflate.c:1234", false);

	test_write(&scene);
	must(line_expander_create(&settings, &scene.ui->guest->expander));
	scene_keys(&scene, 100, 30, "X");
	check(!line_expander_has_inlined(scene.ui->guest->expander), "X hides inlined functions");
	screen_contains(&scene, 100, 30, "inlined functions are no frames from the next", true);
	scene_keys(&scene, 100, 30, "X");
	check(line_expander_has_inlined(scene.ui->guest->expander),
	      "a second X makes inlined functions frames");

	scene_keys(&scene, 100, 30, "<Esc><Esc>m"); /* that table of lines knows no frame */
	check_u64(snapshot_annotated(scene.pipeline.slot), FRAME_NONE,
		  "nobody is asked for the instructions of an inlined function");
	screen_contains(&scene, 100, 30, "or an inlined one: it has no code of its own", true);
	scene_close(&scene);
	return tap_done();
}
