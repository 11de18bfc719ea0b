/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of a function on the screen: golden screens, keys, live shares, what is missing. */
#include "config.h"

#include <locale.h>

#include "scene.h"
#include "tests/support/made_annotation.h"
#include "tests/support/made_lines.h"

/* Another picture, with an annotation if the screen asked for one. */
static void next_picture(struct scene *scene, double live_of_first)
{
	struct snapshot *snapshot = fixture_snapshot(&scene->fixture, 2);
	uint32_t frame = snapshot_annotated(scene->pipeline.slot);

	if (frame != FRAME_NONE) {
		snapshot->annotation =
			made_annotation(frame, fixture_frame(&scene->fixture, "longest_match"));
		snapshot->annotation->counts[0].live = live_of_first;
	}
	scene->ui->now_ns += SECOND;
	ui_show(scene->ui, snapshot);
}

static void open_function(struct scene *scene)
{
	scene_open_filled(scene);
	scene_keys(scene, 80, 24, "/deflate_slow<Enter>m");
	next_picture(scene, 10);
}

static void check_sizes(struct scene *scene, const char *name)
{
	static const struct {
		int columns, rows;
	} sizes[] = { { 80, 24 }, { 120, 40 }, { 40, 10 } };
	char file[128], *styles;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(file, sizeof(file), "annotate%s-%dx%d", name, sizes[i].columns,
			 sizes[i].rows);
		screen_check(scene, file, sizes[i].columns, sizes[i].rows);
	}
	scene_draw(scene, 80, 24, NULL, &styles);
	snprintf(file, sizeof(file), "annotate%s-80x24-styles", name);
	golden_check(file, styles);
	free(styles);
}

static void cursor_is_on(struct scene *scene, const char *what, const char *name)
{
	char line[512];

	scene_cursor_line(scene, line, sizeof(line));
	check(strstr(line, what) != NULL, "%s: %s", name, line);
}

static void test_screens(void)
{
	struct scene scene;

	open_function(&scene);
	scene_keys(&scene, 80, 24, "<Esc><Esc>m");
	next_picture(&scene, 10);
	check_sizes(&scene, "");
	scene_keys(&scene, 80, 24, "j");
	check_sizes(&scene, "-jumps");
	scene_keys(&scene, 80, 24, "Ir");
	check_sizes(&scene, "-intel");
	scene_close(&scene);
}

static void test_keys(void)
{
	struct scene scene;

	open_function(&scene);
	cursor_is_on(&scene, "jne    +0x11", "the cursor begins on the hottest");
	scene_keys(&scene, 80, 24, "<Enter>");
	cursor_is_on(&scene, "movzbl", "Enter goes where a jump leads");
	next_picture(&scene, 2000);
	cursor_is_on(&scene, "movzbl", "the cursor stays when shares change");
	scene_keys(&scene, 80, 24, "H");
	cursor_is_on(&scene, "push   %rbp", "H goes to what is the hottest now");
	scene_keys(&scene, 80, 24, "/rep<Enter>");
	cursor_is_on(&scene, "rep movsb", "/ searches in the text");
	scene_keys(&scene, 80, 24, "/longest<Enter>");
	cursor_is_on(&scene, "call   longest_match", "/ searches in names of called functions");
	scene_keys(&scene, 80, 24, "n");
	cursor_is_on(&scene, "call   longest_match", "n finds no other match");
	scene_keys(&scene, 80, 24, "<Enter>");
	check_u64(snapshot_annotated(scene.pipeline.slot),
		  fixture_frame(&scene.fixture, "longest_match"), "Enter follows the call");
	screen_contains(&scene, 80, 24, "Waiting for the code", true);
	next_picture(&scene, 10);
	screen_contains(&scene, 80, 24, "… › longest_match", true);
	scene_keys(&scene, 80, 24, "<Esc>");
	check_u64(snapshot_annotated(scene.pipeline.slot),
		  fixture_frame(&scene.fixture, "deflate_slow"),
		  "Esc goes back to the caller's instructions");
	next_picture(&scene, 10);
	cursor_is_on(&scene, "call   longest_match", "to the call");
	scene_keys(&scene, 80, 24, "<Down><Down><Down><Down><Down><Enter>");
	screen_contains(&scene, 80, 24, "nobody knows a function there", true);
	scene_keys(&scene, 80, 24, "<Up><Enter>");
	screen_contains(&scene, 80, 24, "no call or jump with a known target", true);
	scene_keys(&scene, 80, 24, "q");
	check_u64(snapshot_annotated(scene.pipeline.slot), FRAME_NONE,
		  "when the view is closed nothing is asked for");
	scene_close(&scene);
}

/* From the list of callers and callees, by the function's own row. */
static void test_own_row(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "/deflate_slow<Enter><Enter><Tab>/(itself)<Esc><Enter>");
	check_u64(snapshot_annotated(scene.pipeline.slot),
		  fixture_frame(&scene.fixture, "deflate_slow"),
		  "Enter on (itself) opens the instructions");
	next_picture(&scene, 10);
	scene_keys(&scene, 80, 24, "h");
	screen_check(&scene, "annotate-help-80x24", 80, 24);
	scene_close(&scene);
}

/* Source lines between instructions, when somebody knows them. */
static void test_source_lines(void)
{
	const struct instruction_lines lines = { .find = made_line };
	struct scene scene;

	open_function(&scene);
	scene_keys(&scene, 80, 24, "s");
	screen_contains(&scene, 80, 24, "with the option --lines", true);
	scene.ui->model.code.lines = &lines;
	scene_keys(&scene, 80, 24, "H");
	check_sizes(&scene, "-lines");
	scene_keys(&scene, 80, 24, "j");
	check_sizes(&scene, "-lines-jumps");
	scene_keys(&scene, 80, 24, "s");
	screen_contains(&scene, 80, 24, "deflate.c:1234", false);
	scene_keys(&scene, 80, 24, "sj<End>");
	screen_contains(&scene, 80, 12, "ret", true);
	cursor_is_on(&scene, "ret", "the last instruction is reached");
	scene_keys(&scene, 80, 12, "H");
	scene_keys(&scene, 80, 12, "<Up><Up><Up><Up><Up>");
	screen_contains(&scene, 80, 12, "while (!is_end(*at++));", true);
	cursor_is_on(&scene, "movzbl", "an instruction below a source line is reached");
	scene_close(&scene);
}

/* While the screen is frozen, shares stay. */
static void test_frozen(void)
{
	struct scene scene;

	open_function(&scene);
	scene_keys(&scene, 80, 24, "Z");
	next_picture(&scene, 2000);
	screen_contains(&scene, 80, 24, "200.00", false);
	scene_keys(&scene, 80, 24, "Z");
	next_picture(&scene, 2000);
	screen_contains(&scene, 80, 24, "200.00", true);
	scene_close(&scene);
}

static size_t program_text(void *context, const char *file, uint32_t line, char *text,
			   size_t capacity)
{
	(void)context;
	return (size_t)snprintf(
		text, capacity, "%s",
		strcmp(file, "libz.so.1.2.13") || line == 31 ? "" : "for match in candidates:");
}

/* An interpreted function has lines, with samples in them and in what they call. */
static void test_program(void)
{
	static const struct annotation_line lines[] = {
		{ 28, 900, 1000, 1000, 400, 500, "what dom0 has comes first" },
		{ 31, 600, 700, 700, 0, 0, "if length > best_length:" },
		{ 140, 188, 188, 188, 188, 188, "" },
	};
	const struct instruction_lines texts = { .find = made_line, .text = program_text };
	struct snapshot *snapshot;
	struct annotation *annotation;
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "/deflate_slow<Enter>m");
	snapshot = fixture_snapshot(&scene.fixture, 2);
	annotation = made_annotation(snapshot_annotated(scene.pipeline.slot), 1);
	annotation->lack = ANNOTATION_HAS_LINES;
	annotation->n_lines = sizeof(lines) / sizeof(lines[0]);
	annotation->lines = malloc(sizeof(lines));
	if (!annotation->lines)
		abort();
	memcpy(annotation->lines, lines, sizeof(lines));
	snapshot->annotation = annotation;
	scene.ui->model.code.lines = &texts;
	ui_show(scene.ui, snapshot);
	check_sizes(&scene, "-program");
	cursor_is_on(&scene, "28", "the cursor begins on the hottest line");
	scene_keys(&scene, 80, 24, "<Down><Down>");
	cursor_is_on(&scene, "140", "Down goes to the next line");
	scene_keys(&scene, 80, 24, "H");
	cursor_is_on(&scene, "28", "H goes to the hottest line");
	scene_keys(&scene, 80, 24, "<Enter>jIr/x<Enter>n");
	cursor_is_on(&scene, "28", "keys of instructions do nothing");
	scene_close(&scene);
}

static struct annotation *late_annotation(void *context, const struct snapshot *last, uint32_t frame)
{
	struct scene *scene = context;

	(void)last;
	return made_annotation(frame, fixture_frame(&scene->fixture, "longest_match"));
}

static void test_lacks(void)
{
	static const struct {
		enum annotation_lack lack;
		uint64_t samples;
		const char *text;
	} lacks[] = {
		{ ANNOTATION_NOT_READ, 5, "could not be read yet, or is not in the recording" },
		{ ANNOTATION_NOT_READ, 0, "No sample ended in this function itself" },
		{ ANNOTATION_NO_CODE, 5, "This is no function" },
		{ ANNOTATION_NO_LINES, 5, "An interpreted function: only --lines finds" },
		{ ANNOTATION_ARM32, 5, "of a 32-bit Arm guest cannot be shown" },
	};
	struct scene scene;

	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		struct snapshot *snapshot;

		open_function(&scene);
		snapshot = fixture_snapshot(&scene.fixture, 2);
		snapshot->annotation = made_annotation(snapshot_annotated(scene.pipeline.slot), 1);
		snapshot->annotation->lack = lacks[i].lack;
		snapshot->annotation->self_samples = lacks[i].samples;
		ui_show(scene.ui, snapshot);
		screen_contains(&scene, 80, 24, lacks[i].text, true);
		screen_contains(&scene, 40, 10, lacks[i].text, strlen(lacks[i].text) < 30);
		scene_keys(&scene, 80, 24, "HjIr<Enter><Down>/x<Enter>n");
		scene_close(&scene);
	}

	/* a recording that has been played: nobody else answers */
	scene_open(&scene);
	fixture_fill(&scene.fixture);
	scene.pipeline.annotate = late_annotation;
	{
		struct snapshot *snapshot = fixture_snapshot(&scene.fixture, 2);

		snapshot->at_end = true;
		ui_show(scene.ui, snapshot);
	}
	scene_keys(&scene, 80, 24, "/deflate_slow<Enter>m");
	screen_contains(&scene, 80, 24, "jne    +0x11", true);
	scene_close(&scene);
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	test_screens();
	test_keys();
	test_own_row();
	test_source_lines();
	test_program();
	test_frozen();
	test_lacks();
	return tap_done();
}
