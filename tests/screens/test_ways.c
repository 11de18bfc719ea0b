/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ways into views and back, by keys and by the mouse, and screens that change their size.
 */
#include "config.h"

#include <locale.h>

#include "scene.h"

/* --- into views and back ---------------------------------------------------------------------- */

/* Keys come faster than the screen is drawn. */
static void test_ahead(void)
{
	static const struct input keys_[] = { { 'f', 0, 0 }, { '/', 0, 0 }, { 'f', 0, 0 },
					      { 'i', 0, 0 }, { 'b', 0, 0 }, { INPUT_ENTER, 0, 0 } };
	struct scene scene;

	scene_open_filled(&scene);
	scene_draw(&scene, 80, 24, NULL, NULL);
	for (size_t i = 0; i < sizeof(keys_) / sizeof(keys_[0]); i++)
		ui_handle(scene.ui, &keys_[i]);
	screen_contains(&scene, 80, 24, "nothing here matches", false);
	screen_contains(&scene, 80, 24, "▌fib", true);
	scene_close(&scene);
}

static void test_every_view_and_back(void)
{
	static const struct {
		const char *keys, *there;
		const struct view_ops *view;
	} ways[] = {
		{ "t", "Call tree", &tree_ops },
		{ "<F5>", "Call tree", &tree_ops },
		{ "f", "100 % = ", &flame_ops },
		{ "<F7>", "100 % = ", &flame_ops },
		{ "v", "Steal", &vcpus_ops },
		{ "p", "Process", &groups_ops },
		{ "o", "What xtop takes", &overhead_ops },
		{ "b", "Delta", &baseline_ops },
		{ "<Enter>", "Whole chains", &callers_ops },
		{ "h", "Keys in the function table", &help_ops },
		{ "?", "Keys in the function table", &help_ops },
		{ "<F1>", "Keys in the function table", &help_ops },
		{ "<F2>", "Views, and the keys", &choose_ops },
	};
	struct scene scene;

	scene_open_filled(&scene);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		scene_keys(&scene, 80, 24, ways[i].keys);
		check(ui_view(scene.ui) == ways[i].view, "%s opens the view", ways[i].keys);
		screen_contains(&scene, 80, 24, ways[i].there, true);
		scene_keys(&scene, 80, 24, i % 2 ? "q" : "<Esc>");
		check(ui_view(scene.ui) == &top_ops && !scene.ui->quitting,
		      "the way back leads to the first view");
	}
	scene_keys(&scene, 80, 24, "tfvpotv");
	check(scene.ui->guest->views.n == 2, "views are not piled up");
	scene_keys(&scene, 80, 24, "a");
	check(ui_view(scene.ui) == &top_ops, "a goes to the first view");
	scene_keys(&scene, 80, 24, "<F2>jj<Enter>");
	check(ui_view(scene.ui) == &flame_ops, "a view is chosen from the list");
	scene_keys(&scene, 80, 24, "q");
	scene_keys(&scene, 80, 24, "q");
	check(scene.ui->quitting, "q at the first view quits");
	scene_close(&scene);
}

/* A long module name must leave room for the function's name. */
static void test_callers_module(void)
{
	static const char module[] = "libboost_program_options-mt-x64-of-somebody.so.1.74.0";
	struct scene scene;
	uint32_t ids[2];

	scene_open(&scene);
	ids[0] = frames_intern_process(scene.fixture.frames, "app", "");
	ids[1] = frames_intern(scene.fixture.frames, FRAME_KIND_USERLAND, "parse_line", module, 0);
	profile_add(scene.fixture.profile, ids, 2, scene.fixture.time_ns, 100, 100);
	scene.fixture.samples = 100;
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	scene_keys(&scene, 80, 24, "<Enter>");
	screen_contains(&scene, 80, 24, "web01 › parse_line", true);
	screen_contains(&scene, 80, 24, "children 100.00  self 100.00  libboost_", true);
	screen_contains(&scene, 80, 24, "…so.1.74.0", true);
	screen_contains(&scene, 230, 24, module, true);
	scene_close(&scene);
}

/* In the flame graph, q goes back to the zoom of before. */
static void test_zoom_back(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "f/^gzip$<Enter><Enter>");
	screen_contains(&scene, 80, 24, "web01 › gzip", true);
	scene_keys(&scene, 80, 24, "<Esc>/longest<Enter><Enter><Esc>");
	screen_contains(&scene, 80, 24, "web01 › longest_match", true);
	scene_keys(&scene, 80, 24, "q");
	screen_contains(&scene, 80, 24, "web01 › gzip", true);
	scene_keys(&scene, 80, 24, "q");
	screen_contains(&scene, 80, 24, "web01 › all", true);
	scene_keys(&scene, 80, 24,
		   "/^gzip$<Enter><Enter><Esc>/longest<Enter><Enter><Up><Enter><Esc>");
	screen_contains(&scene, 80, 24, "web01 › deflate_slow", true);
	scene_keys(&scene, 80, 24, "q");
	screen_contains(&scene, 80, 24, "web01 › gzip", true);
	scene_keys(&scene, 80, 24, "<Home><Enter>"); /* zooms out to all */
	screen_contains(&scene, 80, 24, "web01 › all", true);
	scene_keys(&scene, 80, 24, "q");
	check(ui_view(scene.ui) == &top_ops, "q leaves the flame graph when nothing is zoomed");
	scene_close(&scene);
}

static void test_ctrl_c(void)
{
	static const char *const ways[] = { "",        "t", "f",    "v", "p",  "o", "b",
					    "<Enter>", "h", "<F2>", "/", "\\", "w", "s" };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct input input = { .code = INPUT_CTRL_C };
		struct scene scene;

		scene_open_filled(&scene);
		scene_keys(&scene, 80, 24, ways[i]);
		ui_handle(scene.ui, &input);
		check(scene.ui->quitting, "Ctrl-C quits after \"%s\"", ways[i]);
		scene_close(&scene);
	}
}

/* --- mouse, sizes ----------------------------------------------------------------------------- */

static void test_mouse_everywhere(void)
{
	static const char *const ways[] = { "a", "t", "f",       "v", "p",
					    "o", "b", "<Enter>", "h", "<F2>" };
	struct scene scene;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		scene_open_filled(&scene);
		scene_keys(&scene, 80, 24, ways[i]);
		for (int row = 0; row < 23; row++)
			for (int column = 0; column < 80; column += 7)
				scene_click(&scene, 80, 24, row, column);
		for (int wheel = 0; wheel < 50; wheel++) {
			struct input input = { wheel % 3 ? INPUT_WHEEL_DOWN : INPUT_WHEEL_UP, 5,
					       5 };

			scene_draw(&scene, 80, 24, NULL, NULL);
			ui_handle(scene.ui, &input);
		}
		check(!scene.ui->quitting, "clicks and the wheel do not quit after %s", ways[i]);
		scene_close(&scene);
	}
	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "t");
	scene_click(&scene, 80, 24, 7, 30);
	scene_click(&scene, 80, 24, 7, 30);
	screen_contains(&scene, 80, 24, "- app", true);
	scene_keys(&scene, 80, 24, "f");
	scene_click(&scene, 80, 24, 6, 40);
	screen_contains(&scene, 80, 24, " gzip ", true);
	scene_click(&scene, 80, 24, 6, 40);
	screen_contains(&scene, 80, 24, "web01 › gzip", true);
	scene_click(&scene, 80, 24, 23, 75);
	check(scene.ui->quitting, "a click on the bottom line presses F10");
	scene_close(&scene);
}

/* As xtop(1) says: the first click selects a row, the second one opens it. */
static void test_second_click(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_click(&scene, 80, 24, 5, 30);
	check(ui_view(scene.ui) == &top_ops, "the first click selects a row");
	scene_click(&scene, 80, 24, 6, 30);
	check(ui_view(scene.ui) == &top_ops, "a click on another row selects, too");
	scene_keys(&scene, 80, 24, "/^write$<Enter><Home>/^main$<Enter>");
	scene_click(&scene, 80, 24, scene_cursor_line(&scene, (char[256]){ "" }, 256), 30);
	check(ui_view(scene.ui) == &callers_ops, "a click on the selected row opens it");
	screen_contains(&scene, 80, 24, "web01 › main", true);
	scene_click(&scene, 80, 24, 6, 60); /* httpd_serve, the hottest callee */
	screen_contains(&scene, 80, 24, "main › httpd_serve", false);
	scene_click(&scene, 80, 24, 6, 30);
	scene_click(&scene, 80, 24, 6, 60);
	screen_contains(&scene, 80, 24, "main › httpd_serve",
			false); /* each click was in the other list */
	scene_click(&scene, 80, 24, 6, 60);
	screen_contains(&scene, 80, 24, "web01 › main › httpd_serve", true);
	scene_keys(&scene, 80, 24, "ab");
	scene_click(&scene, 80, 24, 7, 40);
	check(ui_view(scene.ui) == &baseline_ops, "in the baseline the first click selects");
	scene_click(&scene, 80, 24, 7, 40);
	check(ui_view(scene.ui) == &callers_ops, "in the baseline the second click opens the row");
	scene_keys(&scene, 80, 24, "p");
	scene_click(&scene, 80, 24, 6, 40); /* the second of the modules */
	scene_click(&scene, 80, 24, 6, 10);
	screen_contains(&scene, 80, 24, "only ", false);
	scene_click(&scene, 80, 24, 6, 10);
	screen_contains(&scene, 80, 24, "only gzip", true);
	scene_close(&scene);
}

/* Another size before and after each refresh: views must not use the size of before. */
static void test_resize(void)
{
	static const char *const ways[] = { "a", "t", "tE",      "f", "f<Down><Down>", "v", "p",
					    "o", "b", "<Enter>", "h", "<F2>" };
	struct scene scene;
	uint64_t random = 7;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		scene_open_filled(&scene);
		scene_keys(&scene, 80, 24, ways[i]);
		for (int n = 0; n < 200; n++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			scene_draw(&scene, 1 + (int)(random >> 33) % 300,
				   1 + (int)(random >> 43) % 100, NULL, NULL);
			if (n % 3 == 0)
				scene_refresh(&scene, fixture_stacks[(random >> 20) % 16].stack, 10);
			scene_keys(&scene, 1 + (int)(random >> 40) % 300,
				   1 + (int)(random >> 50) % 100, "j");
		}
		screen_contains(&scene, 80, 24, "F10Quit", true);
		scene_close(&scene);
	}
}

/* The overhead view says what was not kept, but only if there is something. */
static void test_no_room(void)
{
	struct snapshot *snapshot;
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 40, "o");
	screen_contains(&scene, 80, 40, "no room", false);
	screen_contains(&scene, 80, 40, "waited", false);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->os = (struct os_counts){ .areas_left_out = 12,
						.files_no_room = 3,
						.files_cut = 4,
						.files_too_large = 5,
						.jit_no_room = 6,
						.processes_evicted = 7,
						.tasks_evicted = 8,
						.tasks_refused = 10,
						.cgroups_unreadable = 13,
						.modules_cut = 11 };
	snapshot->run->sampler.waited = 77;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 120, 40, "areas 12   files 3   parts of files 9   compiled code 6",
			true);
	screen_contains(&scene, 120, 40, "parts of modules 11   processes 7   tasks 8", true);
	screen_contains(&scene, 120, 40, "tasks that had ended 10   cgroups not read 13", true);
	screen_contains(&scene, 120, 40, "77 ticks, until it was known what runs inside", true);
	scene_close(&scene);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_every_view_and_back();
	test_ahead();
	test_callers_module();
	test_zoom_back();
	test_ctrl_c();
	test_mouse_everywhere();
	test_second_click();
	test_resize();
	test_no_room();
	return tap_done();
}
