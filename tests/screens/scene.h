/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest of fixture.h on the UI: opened, driven by keys and clicks, looked at. */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include "fixture.h"
#include "golden.h"
#include "xtop/base/output.h"
#include "xtop/export/export.h"

#define SECOND FIXTURE_NS

struct scene {
	struct fixture fixture;
	struct ui_settings settings;
	struct ui_pipeline pipeline;
	const struct ui_pipeline *pipelines[1];
	struct ui_source source;
	struct ui *ui;
	unsigned resets;
	const char *message; /* NULL: none */
};

static inline const char *scene_message(void *context)
{
	const struct scene *scene = context;

	return scene->message ? scene->message : "";
}

static inline void scene_reset(void *context)
{
	((struct scene *)context)->resets++;
}

static inline struct xtop_error *scene_open_file(const char *path, bool replace, int *fdp,
						 bool *existsp)
{
	return output_open_named_fd(path, export_endings, replace, fdp, existsp);
}

static const struct output_opener scene_opener = { scene_open_file, NULL };

static inline void scene_open(struct scene *scene)
{
	*scene = (struct scene){
		.settings = { .interval_s = 1,
			      .half_life_s = 10,
			      .budget = 0.01,
			      .opener = &scene_opener },
		.pipeline = { .context = scene,
			      .reset = scene_reset,
			      .message = scene_message,
			      .guest = { "web01", "dom 5 · PVH", "Linux 6.1.0-56-amd64", 2, 5,
					 "PVH" } },
		.pipelines = { &scene->pipeline },
		.source = { .n_pipelines = 1, .pipelines = scene->pipelines },
	};
	/* tests may press any key, also the one that saves settings */
	setenv("XDG_CONFIG_HOME", "/proc/no/such/folder", 1);
	fixture_create(&scene->fixture);
	if (snapshot_slot_create(&scene->pipeline.slot) ||
	    ui_create(&scene->settings, &scene->source, &scene->ui))
		abort();
	scene->ui->now_ns = 100 * SECOND;
	scene->ui->wall_s = 1700000000; /* 2023-11-14 22:13:20 UTC */
}

static inline void scene_close(struct scene *scene)
{
	ui_destroy(scene->ui);
	snapshot_slot_destroy(scene->pipeline.slot);
	fixture_destroy(&scene->fixture);
}

/* The usual beginning: the guest of fixture.h with one picture. */
static inline void scene_open_filled(struct scene *scene)
{
	scene_open(scene);
	fixture_fill(&scene->fixture);
	ui_show(scene->ui, fixture_snapshot(&scene->fixture, 2));
}

static inline void scene_draw(struct scene *scene, int columns_, int rows, char **textp,
			      char **stylesp)
{
	screen_draw(scene->ui, columns_, rows, textp, stylesp);
}

static inline void scene_keys(struct scene *scene, int columns_, int rows, const char *script)
{
	screen_keys(scene->ui, columns_, rows, script);
}

static inline void scene_click(struct scene *scene, int columns_, int rows, int row, int column)
{
	struct input input = { INPUT_CLICK, row, column };

	scene_draw(scene, columns_, rows, NULL, NULL);
	ui_handle(scene->ui, &input);
}

static inline void screen_check(struct scene *scene, const char *name, int columns_, int rows)
{
	char *text;

	scene_draw(scene, columns_, rows, &text, NULL);
	golden_check(name, text);
	free(text);
}

/* For texts that are checked without the rest of the screen. */
static inline void screen_contains(struct scene *scene, int columns_, int rows, const char *what,
				   bool wanted)
{
	char *text;

	scene_draw(scene, columns_, rows, &text, NULL);
	if (!check(!strstr(text, what) == !wanted, "the screen %s \"%s\"",
		   wanted ? "has" : "has no", what))
		print_commented("seen", text);
	free(text);
}

/* Copies the line that has the cursor into LINE; returns its row, -1: there is no cursor. */
static inline int scene_cursor_line(struct scene *scene, char *line, size_t size)
{
	char *text, *at, *begin;
	int row = 0;

	scene_draw(scene, 80, 24, &text, NULL);
	begin = text;
	line[0] = '\0';
	at = strstr(text, "▌");
	for (const char *c = text; at && c < at; c++) {
		if (*c == '\n') {
			row++;
			begin = (char *)c + 1;
		}
	}
	if (at)
		snprintf(line, size, "%.*s", (int)strcspn(begin, "\n"), begin);
	free(text);
	return at ? row : -1;
}

/* Adds COUNT samples of STACK, and shows the next picture. */
static inline void scene_refresh(struct scene *scene, const char *stack, uint32_t count)
{
	if (count)
		fixture_add(&scene->fixture, stack, count);
	scene->ui->now_ns += SECOND;
	ui_show(scene->ui, fixture_snapshot(&scene->fixture, 2));
}

#endif
