/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ways through the screen: into every view and back, search, filter, restriction, frozen pictures
 * and pictures of the history, the list of domains, several guests, the mouse, screens that change
 * their size.
 */
#include "config.h"

#include <errno.h>
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
		      "and the way back leads to the first view");
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

/* --- search, filter, restriction -------------------------------------------------------------- */

static void cursor_is_on(struct scene *scene, const char *what)
{
	char line[256];

	scene_cursor_line(scene, line, sizeof(line));
	check(strstr(line, what), "the cursor is on %s: %s", what, line);
}

static void test_search(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "/tcp");
	cursor_is_on(&scene, "tcp_sendmsg_locked");
	screen_check(&scene, "search-prompt-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "<Enter>");
	screen_check(&scene, "search-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "n");
	cursor_is_on(&scene, "tcp_sendmsg ");
	scene_keys(&scene, 80, 24, "nn");
	cursor_is_on(&scene, "tcp_sendpage");
	scene_keys(&scene, 80, 24, "n");
	cursor_is_on(&scene, "tcp_sendmsg_locked");
	scene_keys(&scene, 80, 24, "N");
	cursor_is_on(&scene, "tcp_sendpage");
	screen_contains(&scene, 80, 24, "10,000 samples", true); /* a search hides nothing */
	scene_keys(&scene, 80, 24, "<Esc>n");
	screen_contains(&scene, 80, 24, "no search yet", true);
	scene_keys(&scene, 80, 24, "/no_such<Enter>n");
	screen_contains(&scene, 80, 24, "nothing here matches", true);
	scene_keys(&scene, 80, 24, "<Esc>/tcp(<Enter>");
	screen_contains(&scene, 80, 24, "Search: tcp(  filter \"tcp(\"",
			true); /* the error is shown */
	scene_keys(&scene, 80, 24, "<Backspace><Enter>");
	screen_contains(&scene, 80, 24, "search: tcp", true);
	scene_keys(&scene, 80, 24, "<Esc>f/copy_user<Enter>");
	screen_contains(&scene, 80, 24, "matching: 25.40 %", true);
	scene_keys(&scene, 80, 24, "<Esc>qtE/deflate<Enter>");
	cursor_is_on(&scene, "deflate_slow");
	scene_keys(&scene, 80, 24, "ap/md5<Enter>");
	cursor_is_on(&scene, "md5sum");
	scene_close(&scene);
}

static void test_restrict(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "pj<Enter>");
	screen_check(&scene, "only-gzip-80x24", 80, 24);
	screen_contains(&scene, 80, 24, "only gzip", true);
	scene_keys(&scene, 80, 24, "F");
	screen_contains(&scene, 80, 24, "  100.00    0.00", true);
	scene_keys(&scene, 80, 24, "Ft");
	screen_contains(&scene, 80, 24, "httpd", false);
	scene_keys(&scene, 80, 24, "q<Esc>");
	screen_check(&scene, "top-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "p<Tab>/busybox<Enter><Enter><Esc>");
	screen_contains(&scene, 80, 24, "only busybox", true);
	scene_keys(&scene, 80, 24, "<Esc>");
	screen_check(&scene, "top-80x24", 80, 24);
	scene_close(&scene);
}

/* Processes by container or unit: the key, the column, the restriction, a filter. */
static void test_cgroups(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	fixture_add(&scene.fixture, "httpd@docker/3f2ab1c2d3e4 _start main fib", 9000);
	fixture_add(&scene.fixture, "gzip@docker/3f2ab1c2d3e4 _start main fib", 4000);
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	scene_keys(&scene, 80, 24, "p");
	screen_check(&scene, "cgroups-column-120x40", 120, 40);
	scene_keys(&scene, 80, 24, "c");
	screen_check(&scene, "cgroups-80x24", 80, 24);
	screen_check(&scene, "cgroups-40x10", 40, 10);
	scene_keys(&scene, 80, 24, "<Enter>");
	screen_contains(&scene, 80, 24, "only docker/3f2ab1c2d3e4", true);
	screen_contains(&scene, 80, 24, "md5_file", false);
	scene_keys(&scene, 80, 24, "p");
	screen_contains(&scene, 80, 24, "(in no cgroup)", false);
	scene_keys(&scene, 80, 24, "<Esc><Esc>");
	screen_contains(&scene, 80, 24, "only docker", false);
	scene_keys(&scene, 80, 24, "\\docker/<Enter>p");
	screen_contains(&scene, 80, 24, "docker/3f2ab1c2d3e4", true);
	screen_contains(&scene, 80, 24, "(in no cgroup)", false);
	scene_close(&scene);
}

/* A view without rows says why there are none. */
static void test_empty(void)
{
	static const char *const ways[] = { "a", "t", "I", "f", "I", "p", "b" };
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "\\no_such_function<Enter>");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		scene_keys(&scene, 80, 24, ways[i]);
		screen_contains(&scene, 80, 24, "No stack matches the filter", true);
		screen_contains(&scene, 40, 10, "No stack matches the filter", true);
	}
	scene_close(&scene);
}

/* A search finds what closed branches hide, and opens these. */
static void test_search_closed(void)
{
	struct scene scene;
	char line[512];

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "t/^dev_queue");
	scene_cursor_line(&scene, line, sizeof(line));
	check(strstr(line, "+ httpd"), "nothing opens while the user types: %s", line);
	scene_keys(&scene, 80, 24, "<Enter>");
	scene_cursor_line(&scene, line, sizeof(line));
	check(strstr(line, "dev_queue_xmit"), "Enter goes to the match: %s", line);
	screen_contains(&scene, 80, 24, "+ gzip", true); /* other branches stay closed */
	scene_keys(&scene, 80, 24, "I/^fib$<Enter>");
	scene_cursor_line(&scene, line, sizeof(line));
	check(strstr(line, "fib"), "the same in the inverted tree: %s", line);
	scene_keys(&scene, 80, 24, "/no_such<Enter>");
	screen_contains(&scene, 80, 24, "nothing here matches", true);
	scene_close(&scene);
}

/* On a small screen the help has pages. A key that can do nothing says so. */
static void test_help_pages(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 40, 10, "h");
	screen_contains(&scene, 40, 10, "sort by another column", true);
	screen_contains(&scene, 40, 10, "flame graph", false);
	scene_keys(&scene, 40, 10, "<PgDn>");
	screen_contains(&scene, 40, 10, "sort by another column", true); /* the last line stays */
	screen_contains(&scene, 40, 10, "choose a view", false);
	screen_contains(&scene, 40, 10, "flame graph", true);
	scene_keys(&scene, 40, 10, "<End>");
	screen_contains(&scene, 40, 10, "F10 Ctrl-C", true);
	screen_contains(&scene, 40, 10, "more", false);
	scene_keys(&scene, 40, 10, "qf<Enter>");
	screen_contains(&scene, 80, 24, "fills the width already", true);
	scene_close(&scene);
}

static void test_hide(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "K1");
	screen_check(&scene, "no-kernel-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "U");
	screen_contains(&scene, 80, 24, "[.]", false);
	screen_contains(&scene, 80, 24, "no user (U)", true);
	scene_keys(&scene, 80, 24, "U");
	screen_contains(&scene, 80, 24, "no user", false);
	scene_close(&scene);
	scene_open(&scene); /* a unikernel */
	fixture_add(&scene.fixture, "swapper -cpu_startup_entry -do_idle", 100);
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	scene_keys(&scene, 80, 24, "K<Esc>");
	screen_contains(&scene, 80, 24, "All samples are kernel code, now hidden (K shows it)", true);
	scene_keys(&scene, 80, 24, "K");
	screen_contains(&scene, 80, 24, "cpu_startup_entry", true);
	scene_keys(&scene, 80, 24, "U\\idle<Enter>");
	screen_contains(&scene, 80, 24, "do_idle", true);
	scene_close(&scene);
	scene_open(&scene);
	fixture_add(&scene.fixture, "fib _start main fib", 100);
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	scene_keys(&scene, 80, 24, "U");
	screen_contains(&scene, 40, 10, "All samples are user code, now hidden", true);
	scene_close(&scene);
}

static void test_percents_of_filtered(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "\\gzip<Enter>");
	screen_contains(&scene, 80, 24, "21.00    0.00", true);
	scene_keys(&scene, 80, 24, "F");
	screen_contains(&scene, 80, 24, "100.00    0.00", true);
	screen_contains(&scene, 80, 24, "filter: gzip = 100 %", true);
	scene_keys(&scene, 80, 24, "f");
	screen_contains(&scene, 80, 24, "100 % = 2,100 samples", true);
	scene_close(&scene);
}

static void test_threshold(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "tL<C-u>20<Enter>");
	screen_check(&scene, "threshold-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "L<C-u>200<Enter>");
	screen_contains(&scene, 80, 24, "a number from 0 to 100", true);
	scene_keys(&scene, 80, 24, "<Esc>H");
	screen_contains(&scene, 80, 24, "99 Hz", false);
	scene_keys(&scene, 80, 24, "H");
	screen_contains(&scene, 80, 24, "99 Hz", true);
	scene_close(&scene);
}

static void test_raw_names(void)
{
	struct scene scene;

	scene_open(&scene);
	fixture_add(&scene.fixture, "app _start _ZN4work3runEv", 10);
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 1));
	screen_contains(&scene, 80, 24, "work::run()", true);
	scene_keys(&scene, 80, 24, "V");
	screen_contains(&scene, 80, 24, "_ZN4work3runEv", true);
	screen_contains(&scene, 80, 24, "work::run()", false);
	scene_keys(&scene, 80, 24, "fjjj");
	screen_contains(&scene, 80, 24, "_ZN4work3runEv", true);
	scene_close(&scene);
}

/* V also shows where in a function without a symbol most samples are. */
static void test_places(void)
{
	struct scene scene;
	struct snapshot *snapshot;

	scene_open(&scene);
	fixture_add(&scene.fixture, "app _start app+0x1000 leaf", 9);
	fixture_add(&scene.fixture, "app _start app+0x2000", 1);
	snapshot = fixture_snapshot(&scene.fixture, 1);
	snapshot->n_places = 1;
	snapshot->places[0].frame = fixture_frame(&scene.fixture, "app+0x1000");
	snapshot->places[0].distance_bytes = 0x5f;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "app+0x1000", true);
	screen_contains(&scene, 80, 24, "0x105f", false);
	scene_keys(&scene, 80, 24, "V");
	screen_contains(&scene, 80, 24, "app+0x1000 (0x105f)", true);
	screen_contains(&scene, 80, 24, "app+0x2000 (", false);
	scene_keys(&scene, 80, 24, "tE");
	screen_contains(&scene, 80, 24, "app+0x1000 (0x105f)", true);
	scene_keys(&scene, 80, 24, "f");
	screen_contains(&scene, 80, 24, "app+0x1000 (0x105f)", true);
	scene_keys(&scene, 80, 24, "Va");
	screen_contains(&scene, 80, 24, "app+0x1000", true);
	screen_contains(&scene, 80, 24, "0x105f", false);
	scene_close(&scene);
}

/* i says what would name a row: in every view of functions, for every kind of row. */
static void test_naming(void)
{
	static const struct frame_file whole = { "/usr/bin/app", "c0ffee", "app 1.2-3 (deb)",
						 false },
				       part = { "/opt/b", "", "", true };
	struct snapshot *snapshot;
	struct scene scene;
	uint32_t stack[3];

	scene_open(&scene);
	fixture_add(&scene.fixture, "app _start [jit]", 30);
	fixture_add(&scene.fixture, "app _start #1234", 20);
	stack[0] = frames_intern_process(scene.fixture.frames, "app", "");
	stack[1] = frames_intern_function(
		scene.fixture.frames, &(struct frame_function){ FRAME_KIND_USERLAND, "app+0x1100",
								"app", 0x1100, NULL, &whole });
	stack[2] = frames_intern_function(scene.fixture.frames,
					  &(struct frame_function){ FRAME_KIND_USERLAND, "b+0x2200",
								    "b", 0x2200, NULL, &part });
	profile_add(scene.fixture.profile, stack, 3, scene.fixture.time_ns, 50, 50);
	snapshot = fixture_snapshot(&scene.fixture, 1);
	snapshot->found_by = calloc(snapshot->n_frames, 1);
	snapshot->found_by[stack[1]] = 1 << UNWIND_BY_CFI | 1 << UNWIND_BY_COMPUTED;
	ui_show(scene.ui, snapshot);
	scene_keys(&scene, 80, 24, "/app<Enter>ni");
	screen_contains(&scene, 80, 24, "Found by   CFI, computed", true);
	screen_contains(&scene, 80, 24, "/usr/bin/app", true);
	screen_contains(&scene, 80, 24, "c0ffee", true);
	screen_contains(&scene, 80, 24, "app 1.2-3 (deb)", true);
	screen_contains(&scene, 80, 24, "--debug-dir=DIR  .build-id/c0/ffee.debug", true);
	screen_contains(&scene, 80, 24, "-k FILE", true);
	screen_contains(&scene, 80, 24, "--root", false);
	scene_keys(&scene, 80, 24, "<Esc>");
	screen_contains(&scene, 80, 24, "Children", true);
	scene_keys(&scene, 80, 24, "/b.0x<Enter>ni");
	screen_contains(&scene, 80, 24, "/opt/b", true);
	screen_contains(&scene, 80, 24, "Found by", false);
	screen_contains(&scene, 80, 24, "--root=DIR", true);
	screen_contains(&scene, 80, 24, ".gnu_debuglink", true);
	screen_contains(&scene, 80, 24, "-k FILE", false);
	scene_keys(&scene, 80, 24, "i/jit<Enter>ni");
	screen_contains(&scene, 80, 24, "/tmp/perf-PID.map", true);
	scene_keys(&scene, 80, 24, "i/start<Enter>ni");
	screen_contains(&scene, 80, 24, "It has a name.", true);
	scene_keys(&scene, 80, 24, "i/unknown<Enter>ni");
	screen_contains(&scene, 80, 24, "The file is not known", true);
	for (const char *way = "tfb<"; *way; way++) {
		char keys[] = { 'q', *way, 'i', '\0' };

		scene_keys(&scene, 80, 24, *way == '<' ? "qa<Enter>i" : keys);
		screen_contains(&scene, 80, 24, "name", true);
	}
	scene_close(&scene);
}

static void test_hint(void)
{
	struct scene scene;
	struct snapshot *snapshot;

	scene_open(&scene);
	fixture_fill(&scene.fixture);
	fixture_add(&scene.fixture, "app _start #7f3a12345678", 1500);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->resolver.samples_unknown = 1950;
	snapshot->resolver.weight_unknown = 1950;
	ui_show(scene.ui, snapshot);
	screen_check(&scene, "hint-80x24", 80, 24);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snprintf(snapshot->run->notes[0], sizeof(snapshot->run->notes[0]),
		 "no ORC tables: stacks end early");
	snprintf(snapshot->run->system, sizeof(snapshot->run->system), "Linux 6.12.1");
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "no ORC tables: stacks end early", true);
	screen_contains(&scene, 120, 24, "Linux 6.12.1", true);
	fixture_add(&scene.fixture, "app _start app+0x2724a", 5000);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->resolver.samples_offset = 5000;
	snapshot->resolver.weight_offset = 5000;
	snprintf(snapshot->run->notes[0], sizeof(snapshot->run->notes[0]),
		 "2 program files have no symbols");
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "of samples in app have no names: give its file with -k",
			true);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->resolver.samples_offset = 5000;
	snapshot->resolver.weight_offset = 5000;
	snprintf(snapshot->run->notes[0], sizeof(snapshot->run->notes[0]),
		 "debuginfod: 2 to fetch, 1.5 of 4.0 MiB");
	snapshot->run->fetching = true;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "debuginfod: 2 to fetch, 1.5 of 4.0 MiB", true);
	screen_contains(&scene, 80, 24, "have no names", false);
	snapshot = fixture_snapshot(&scene.fixture, 3);
	snapshot->run->recording_errno = ENOSPC;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "the recording is cut short: No space left on device",
			true);
	scene_close(&scene);
}

/* --- frozen pictures, pictures of the history ------------------------------------------------- */

static void refresh(struct scene *scene, const char *stack, uint32_t count)
{
	if (count)
		fixture_add(&scene->fixture, stack, count);
	scene->ui->now_ns += SECOND;
	ui_show(scene->ui, fixture_snapshot(&scene->fixture, 2));
}

/* In a frozen picture all keys work, and nothing moves. */
static void test_frozen(void)
{
	struct scene scene;
	char *before, *after;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "ZtE");
	scene.ui->now_ns += SECOND;
	scene_draw(&scene, 80, 24, &before, NULL);
	scene.ui->now_ns -= SECOND;
	refresh(&scene, "md5sum _start main md5_file md5_process_block", 90000);
	scene_draw(&scene, 80, 24, &after, NULL);
	check_string(after, before, "a frozen screen does not show new samples");
	free(before);
	free(after);
	scene_keys(&scene, 80, 24, "f<Down><Down><Enter>q");
	screen_contains(&scene, 80, 24, "100 % = 10,000 samples", true);
	scene_keys(&scene, 80, 24, "pvoa\\md5<Enter>jj<Enter>");
	screen_contains(&scene, 80, 24, "children 9.55", true);
	screen_contains(&scene, 80, 24, "frozen, 0:01 old", true);
	scene_keys(&scene, 80, 24, "<Esc><Esc>Z");
	screen_contains(&scene, 80, 24, "100,000 samples", true);
	scene_close(&scene);
}

/* A spike that has passed: ten refreshes ago md5 took almost all. */
static void test_history(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "[");
	screen_contains(&scene, 80, 24, "this is the earliest picture", true);
	refresh(&scene, "md5sum _start main md5_file md5_process_block", 100000);
	for (int i = 0; i < 10; i++)
		refresh(&scene, "gzip _start main deflate_slow", 100000);
	screen_contains(&scene, 80, 24, "1,110,000 samples", true);
	scene_keys(&scene, 80, 24, "[[[[[[[[[[");
	screen_check(&scene, "history-80x24", 80, 24);
	screen_contains(&scene, 80, 24, "110,000 samples", true);
	screen_contains(&scene, 80, 24, "frozen, 0:10 old", true);
	scene_keys(&scene, 80, 24, "[");
	screen_contains(&scene, 80, 24, " 10,000 samples", true);
	scene_keys(&scene, 80, 24, "[");
	screen_contains(&scene, 80, 24, "this is the earliest picture", true);
	refresh(&scene, NULL, 0); /* new snapshots do not move it */
	screen_contains(&scene, 80, 24, " 10,000 samples", true);
	scene_keys(&scene, 80, 24, "]]fq<Enter>q");
	screen_contains(&scene, 80, 24, "210,000 samples", true);
	scene_keys(&scene, 80, 24, "]]]]]]]]]]]]]]]]");
	screen_contains(&scene, 80, 24, "this is the latest picture", true);
	scene_keys(&scene, 80, 24, "Z");
	screen_contains(&scene, 80, 24, "frozen", false);
	screen_contains(&scene, 80, 24, "1,110,000 samples", true);
	scene_close(&scene);
}

static void test_baseline_ways(void)
{
	struct scene scene;
	char line[512];

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "B");
	screen_contains(&scene, 80, 24, "there is no baseline", true);
	scene_keys(&scene, 80, 24, "bq");
	screen_contains(&scene, 80, 24, "baseline 0:00 ago", true);
	refresh(&scene, "md5sum _start main md5_file md5_process_block", 10000);
	scene_keys(&scene, 80, 24, "b");
	screen_contains(&scene, 80, 24, "+45.22", true);
	scene_keys(&scene, 80, 24, "b");
	screen_contains(&scene, 80, 24, "+45.22",
			false); /* b kept this picture: it is compared with itself */
	scene_keys(&scene, 80, 24, "\\^httpd<Enter>");
	scene_cursor_line(&scene, line, sizeof(line));
	check(strstr(line, "0.00   1.00"), "a filter alone makes no difference to the baseline: %s",
	      line);
	scene_keys(&scene, 80, 24, "F");
	scene_cursor_line(&scene, line, sizeof(line));
	check(strstr(line, "0.00   1.00"), "nor does a filter that is 100 %%: %s", line);
	scene_keys(&scene, 80, 24, "F\\<C-u><Enter>");
	scene_keys(&scene, 80, 24, "<F6>");
	screen_contains(&scene, 80, 24, "Ratio▾", true);
	scene_keys(&scene, 80, 24, "B");
	check(ui_view(scene.ui) == &top_ops, "without a baseline its view closes");
	screen_contains(&scene, 80, 24, "baseline 0", false);
	scene_keys(&scene, 80, 24, "Z");
	scene.ui->now_ns += 125 * SECOND;
	scene_keys(&scene, 80, 24, "b");
	screen_contains(&scene, 80, 24, "frozen, 2:05 old", true);
	scene_keys(&scene, 80, 24, "H"); /* the message goes */
	scene_keys(&scene, 80, 24, "H");
	screen_contains(&scene, 80, 24, "baseline 2:05 ago",
			true); /* as old as the frozen picture */
	scene_close(&scene);
}

/* 40 functions with equal shares; then f7 has MORE samples than they. Styles of its row. */
static void show_many(struct scene *scene, unsigned more, char style[8])
{
	char stack[64], *text, *styles, *row;

	scene_open(scene);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(stack, sizeof(stack), "httpd _start main f%u", i);
		fixture_add(&scene->fixture, stack, 25);
	}
	ui_show(scene->ui, fixture_snapshot(&scene->fixture, 2));
	scene_keys(scene, 100, 24, "Ab"); /* A: all weights count alike */
	for (unsigned i = 0; i < 40; i++) {
		snprintf(stack, sizeof(stack), "httpd _start main f%u", i);
		fixture_add(&scene->fixture, stack, i == 7 ? 25 + more : 25);
	}
	ui_show(scene->ui, fixture_snapshot(&scene->fixture, 2));
	scene_keys(scene, 100, 24, "<Down>"); /* the cursor has a style of its own */
	scene_draw(scene, 100, 24, &text, &styles);
	row = strstr(text, "] f7 ");
	*style = '\0';
	if (check(row, "f7 has a row"))
		for (size_t line = 0, at = 0; &text[at] < row; at++) {
			line += text[at] == '\n';
			/* the column Delta */
			if (text[at] == '\n')
				snprintf(style, 8, "%.7s", styles + line * 101 + 17);
		}
	free(text);
	free(styles);
}

/*
 * Of 40 differences one lies beyond its own interval of 95 %, as chance makes two of them. Only if
 * chance makes none so large among 40 does it count.
 */
static void test_baseline_of_many(void)
{
	struct scene scene;
	char style[8];

	show_many(&scene, 34, style);
	screen_contains(&scene, 100, 24, "+0.2..+2.9", true);
	screen_contains(&scene, 100, 24,
			" 0 of 40 differ significantly (Benjamini-Hochberg: at most 5 %", true);
	check(!strcmp(style, "ddddddd"), "a change that may be chance is dim: %s", style);
	scene_close(&scene);
	show_many(&scene, 200, style);
	screen_contains(&scene, 100, 24, " 1 of 40 differ significantly", true);
	check(strcmp(style, "ddddddd") != 0, "a change that is none is not: %s", style);
	scene_close(&scene);
}

/* --- domains, several guests ------------------------------------------------------------------ */

struct host {
	struct scene scene;
	struct ui_pipeline pipelines[2];
	unsigned n_open, opened, closed, listed;
	uint64_t cpu_ns;
	bool broken;
	bool nameless;  /* the list has no names */
	bool rebooted;  /* web01 has a new id */
	size_t without; /* so many domains are gone: those with the lowest ids but dom0 */
	/* With all guests. */
	unsigned n_begun, n_offered; /* of the pipelines */
	const struct ui_pipeline *over;
	struct ui_source source;
};

static struct xtop_error *host_list(void *context, struct ui_domain **domainsp, size_t *np)
{
	static const struct ui_domain some[] = {
		{ "Domain-0", 0, "PV", "running", 1, 0, 1 << 20, "", "this is where xtop runs" },
		{ "web01", 5, "PVH", "running", 2, 0, 512 << 10, "Linux 6.1.0-56-amd64", NULL },
		{ "cache\033[31m02", 6, "PV", "blocked", 1, 0, 64 << 10, "unikernel", NULL },
		{ "a-domain-with-a-very-long-name-indeed", 17, "HVM", "paused", 128, 0, 3 << 20, "",
		  NULL },
	};
	struct host *host = context;

	host->listed++;
	if (host->broken)
		return error_create("the list of domains cannot be read");
	*domainsp = malloc(sizeof(some));
	memcpy(*domainsp, some, sizeof(some));
	*np = sizeof(some) / sizeof(some[0]);
	for (size_t i = 0; i < *np; i++)
		(*domainsp)[i].cpu_ns = host->cpu_ns * i;
	for (size_t i = 0; i < *np && host->nameless; i++)
		(*domainsp)[i].name[0] = '\0';
	if (host->rebooted)
		(*domainsp)[1].id = 15;
	*np -= host->without;
	memmove(*domainsp + 1, *domainsp + 1 + host->without, (*np - 1) * sizeof(some[0]));
	return NULL;
}

static struct xtop_error *host_open(void *context, const struct ui_domain *domain,
				    const struct ui_pipeline **pipelinep)
{
	struct host *host = context;

	if (domain->id == 6)
		return error_create("cache02: no symbols, give them with -k");
	host->opened++;
	host->n_open++;
	*pipelinep = &host->pipelines[domain->id == 17];
	return NULL;
}

static void host_close(void *context, const struct ui_pipeline *pipeline)
{
	struct host *host = context;

	(void)pipeline;
	host->closed++;
	host->n_open--;
}

static const struct ui_pipeline *host_next(void *context)
{
	struct host *host = context;

	if (host->n_offered == host->n_begun)
		return NULL;
	host->n_open++;
	return &host->pipelines[host->n_offered++];
}

static bool host_is_over(void *context, const struct ui_pipeline *pipeline)
{
	return ((struct host *)context)->over == pipeline;
}

/* N_PIPELINES 0: nothing was named, so the list of domains comes first. */
static void host_start(struct host *host, size_t n_pipelines)
{
	const struct ui_pipeline *const *pipelines;
	struct ui_settings settings;

	*host = (struct host){ .cpu_ns = 0 };
	scene_open(&host->scene);
	ui_destroy(host->scene.ui);
	host->pipelines[0] = host->scene.pipeline;
	host->pipelines[1] = host->scene.pipeline;
	host->pipelines[1].guest.name = "a-domain-with-a-very-long-name-indeed";
	host->pipelines[1].guest.id = 17;
	if (snapshot_slot_create(&host->pipelines[1].slot))
		abort();
	pipelines = (const struct ui_pipeline *const[]){ &host->pipelines[0], &host->pipelines[1] };
	host->source = (struct ui_source){ .context = host,
					   .n_pipelines = n_pipelines,
					   .pipelines = pipelines,
					   .list = host_list,
					   .open = host_open,
					   .close = host_close };
	settings = host->scene.settings;
	settings.host = "Xen 4.17.7 · 2 CPUs";
	if (ui_create(&settings, &host->source, &host->scene.ui))
		abort();
	host->scene.ui->now_ns = 100 * SECOND;
}

static void host_end(struct host *host)
{
	ui_destroy(host->scene.ui);
	host->scene.ui = NULL;
	check(host->n_open == 0, "every opened pipeline is closed");
	snapshot_slot_destroy(host->pipelines[1].slot);
	scene_close(&host->scene);
}

static void test_domains(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	host.cpu_ns = SECOND / 4;
	ui_tick(scene->ui, 101 * SECOND, 0, &changed);
	check(changed, "the list changes with time");
	screen_check(scene, "domains-80x24", 80, 24);
	screen_check(scene, "domains-120x40", 120, 40);
	screen_check(scene, "domains-40x10", 40, 10);
	scene_keys(scene, 80, 24, "h");
	screen_check(scene, "help-domains-80x24", 80, 24);
	scene_keys(scene, 80, 24, "hq");
	check(scene->ui->quitting, "q in the list quits if there is no guest");
	scene->ui->quitting = false;
	scene_keys(scene, 80, 24, "k<Enter>");
	screen_contains(scene, 80, 24, "this is where xtop runs", true);
	check(!host.opened, "a domain with an obstacle is not opened");
	scene_keys(scene, 80, 24, "jj<Enter>");
	screen_contains(scene, 80, 24, "cache02: no symbols", true);
	scene_keys(scene, 80, 24, "k<Enter>");
	check(host.opened == 1 && ui_view(scene->ui) == &top_ops, "web01 is profiled");
	fixture_fill(&scene->fixture);
	snapshot_publish(host.pipelines[0].slot, fixture_snapshot(&scene->fixture, 2));
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	scene_keys(scene, 80, 24, "D");
	check(ui_view(scene->ui) == &domains_ops && host.n_open == 1,
	      "D shows the list, and the guest stays");
	scene_keys(scene, 80, 24, "<Esc>");
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	scene_keys(scene, 80, 24, "D<End><Enter>");
	check(host.n_open == 2, "a second guest is profiled beside the first");
	scene_keys(scene, 80, 24, "<Tab>");
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	scene_keys(scene, 80, 24, "<Esc>");
	check(host.closed == 1 && ui_view(scene->ui) == &domains_ops,
	      "Esc goes back to the list and ends profiling");
	host.broken = true;
	ui_tick(scene->ui, 104 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "the list of domains cannot be read", true);
	screen_contains(scene, 80, 24, "web01", true);
	scene_keys(scene, 80, 24, "qqq");
	check(scene->ui->quitting, "q quits when no guest is left");
	host_end(&host);
}

/* All guests are profiled (--all): they come and go by themselves. */
static void test_all_guests(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	host.source.next = host_next;
	host.source.is_over = host_is_over;
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	check(ui_view(scene->ui) == &domains_ops && !scene->ui->n_guests,
	      "all guests: the list comes first");
	host.n_begun = 2;
	ui_tick(scene->ui, 101 * SECOND, 0, &changed);
	check(scene->ui->n_guests == 2 && ui_view(scene->ui) == &domains_ops,
	      "guests come without being picked");
	fixture_fill(&scene->fixture);
	snapshot_publish(host.pipelines[0].slot, fixture_snapshot(&scene->fixture, 2));
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Enter>");
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	check(!host.opened, "the picked one was profiled already");
	host.over = &host.pipelines[0];
	ui_tick(scene->ui, 103 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "tcp_sendmsg_locked", true);
	check(!host.closed, "the guest on the screen ends, and stays there");
	host.over = NULL;
	scene_keys(scene, 80, 24, "q");
	ui_tick(scene->ui, 104 * SECOND, 0, &changed);
	check(ui_view(scene->ui) == &domains_ops && scene->ui->n_guests == 2 && !host.closed,
	      "q leads to the list, and profiling goes on");
	host.over = &host.pipelines[0];
	ui_tick(scene->ui, 105 * SECOND, 0, &changed);
	check(scene->ui->n_guests == 1 && host.closed == 1, "a guest that has ended goes");
	host.over = NULL;
	scene_keys(scene, 80, 24, "<Enter>");
	check(host.n_open == 2 && scene->ui->n_guests == 2, "one that is left out can be picked");
	scene_keys(scene, 80, 24, "D<End><Enter>");
	host.over = &host.pipelines[0];
	ui_tick(scene->ui, 106 * SECOND, 0, &changed);
	check(host.closed == 2 && scene->ui->n_guests == 1, "its end closes it, once");
	scene_keys(scene, 80, 24, "q");
	scene_keys(scene, 80, 24, "q");
	check(scene->ui->quitting, "q in the list quits");
	host.n_open--; /* the run ends the other one, not the screen */
	host_end(&host);
}

static void test_domains_know(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	host.pipelines[1].guest.system = "storage.elf";
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "storage.elf", false);
	scene_keys(scene, 80, 24, "<End><Enter>");
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	check(host.n_open == 1, "the domain is profiled");
	host.listed = 0;
	scene_keys(scene, 80, 24, "<Esc>");
	check(host.closed == 1 && host.listed == 1, "Esc ends profiling and reads the list once");
	screen_contains(scene, 80, 24, "storage.elf", true);
	ui_tick(scene->ui, 103 * SECOND, 0, &changed);
	screen_contains(scene, 80, 24, "storage.elf", true);
	scene_keys(scene, 80, 24, "<End><Enter>");
	ui_tick(scene->ui, 105 * SECOND, 0, &changed);
	host.listed = 0;
	host_end(&host);
	check(!host.listed, "the list is not read at the end");
}

static const char *host_notice_reboot(void *context)
{
	struct host *host = context;

	host->pipelines[0].guest.id = 15;
	return "";
}

/* Ids tell domains without a name apart. The name tells a guest that has a new id. */
static void test_domains_apart(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	host.nameless = true;
	host.pipelines[0].guest.name = host.pipelines[1].guest.name = "";
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<End><Enter>D");
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Home><Enter>");
	check(host.n_open == 2, "two domains without a name are two guests");
	scene_keys(scene, 80, 24, "<Esc><End><Enter>");
	check(host.opened == 2 && host.n_open == 1, "the other one is still profiled");
	host_end(&host);

	host_start(&host, 0);
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Home><Enter>D");
	host.rebooted = true;
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Home><Enter>");
	check(host.opened == 1, "a domain that rebooted is the same guest");
	host.nameless = true;
	host.pipelines[0].guest.name = "";
	host.pipelines[0].message = host_notice_reboot;
	host.pipelines[0].context = &host;
	scene_keys(scene, 80, 24, "D");
	fixture_fill(&scene->fixture);
	snapshot_publish(host.pipelines[0].slot, fixture_snapshot(&scene->fixture, 2));
	ui_tick(scene->ui, 104 * SECOND, 0, &changed);
	scene_keys(scene, 80, 24, "<Home><Enter>");
	check(host.opened == 1, "also without a name, once the pipeline knows the new id");
	host_end(&host);
}

static void check_marked(struct host *host, const char *name, const char *what)
{
	char marked[64], line[256];

	snprintf(marked, sizeof(marked), "▌ %s ", name);
	scene_cursor_line(&host->scene, line, sizeof(line));
	check(!strncmp(line, marked, strlen(marked)), "%s: %s is marked: %s", what, name, line);
}

/* NAMES: what the rows show, from the first row on. */
static void check_domains(struct host *host, const char *names, const char *what)
{
	char *text, seen[256] = "", *line;
	int row = 0;

	scene_draw(&host->scene, 80, 24, &text, NULL);
	for (char *rest = text; row < 6 && (line = strsep(&rest, "\n")); row++) {
		size_t length = strlen(seen);
		char *name = line + strspn(line, "▌ ");

		if (row >= 2)
			snprintf(seen + length, sizeof(seen) - length, "%s%.*s", length ? " " : "",
				 (int)strcspn(name, " "), name);
	}
	check_string(seen, names, what);
	free(text);
}

/* Domains come and go: the cursor stays on its domain, and first on the first guest. */
static void test_domains_come_and_go(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 0);
	host.without = 3;
	ui_tick(scene->ui, 100 * SECOND, 0, &changed);
	check_marked(&host, "Domain-0", "there is no guest yet");
	host.without = 1;
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	check_marked(&host, "cache_[31m02", "two guests came");
	host.without = 0;
	ui_tick(scene->ui, 104 * SECOND, 0, &changed);
	check_marked(&host, "cache_[31m02", "a guest above it came");
	scene_keys(scene, 80, 24, "<Home>");
	check_marked(&host, "web01", "Home");
	scene_keys(scene, 80, 24, "j");
	host.without = 1;
	ui_tick(scene->ui, 106 * SECOND, 0, &changed);
	check_marked(&host, "cache_[31m02", "the cursor was moved, and the guest above went");
	host.without = 2;
	ui_tick(scene->ui, 108 * SECOND, 0, &changed);
	check_marked(&host, "a-domain…-indeed", "the domain under the cursor went");
	host.without = 0;
	ui_tick(scene->ui, 110 * SECOND, 0, &changed);
	check_domains(&host, "Domain-0 web01 cache_[31m02 a-domain…-indeed", "sorted by id");
	scene_keys(scene, 80, 24, "<F6>");
	host.cpu_ns = SECOND;
	ui_tick(scene->ui, 112 * SECOND, 0, &changed);
	check_domains(&host, "a-domain…-indeed cache_[31m02 web01 Domain-0", "sorted by CPU");
	check_marked(&host, "a-domain…-indeed", "sorting keeps the cursor on its domain");
	scene_keys(scene, 80, 24, ">");
	check_domains(&host, "a-domain…-indeed Domain-0 web01 cache_[31m02", "sorted by memory");
	scene_click(scene, 80, 24, 1, 4);
	check_domains(&host, "Domain-0 a-domain…-indeed cache_[31m02 web01",
		      "a click sorts by name");
	check_marked(&host, "a-domain…-indeed", "a click keeps the cursor on its domain");
	scene_keys(scene, 80, 24, "<");
	check_domains(&host, "a-domain…-indeed Domain-0 web01 cache_[31m02",
		      "the columns go round");
	host_end(&host);
}

static void test_two_guests(void)
{
	struct host host;
	struct scene *scene = &host.scene;
	bool changed;

	host_start(&host, 2);
	fixture_fill(&scene->fixture);
	ui_show(scene->ui, fixture_snapshot(&scene->fixture, 2));
	screen_contains(scene, 120, 24, "Tab: 1 more", true);
	scene_keys(scene, 80, 24, "t<Tab>");
	check(ui_view(scene->ui) == &top_ops, "each guest has views of its own");
	screen_contains(scene, 80, 24, "starting", true);
	fixture_add(&scene->fixture, "md5sum _start main", 1);
	snapshot_publish(host.pipelines[0].slot, fixture_snapshot(&scene->fixture, 2));
	ui_tick(scene->ui, 102 * SECOND, 0, &changed);
	check(!changed, "a new picture of the other guest changes nothing on the screen");
	scene_keys(scene, 80, 24, "<Tab>");
	screen_contains(scene, 80, 24, "10,001 samples", true);
	check(ui_view(scene->ui) == &tree_ops, "a guest is shown in the view of before");
	scene_keys(scene, 80, 24, "aqx");
	check(scene->ui->quitting, "q quits: guests that were named do not lead to the list");
	host_end(&host);
}

/* The hint for one guest is not shown for another whose picture has the same number. */
static void test_hint_of_guest(void)
{
	struct snapshot *snapshot;
	struct host host;
	bool changed;

	host_start(&host, 2);
	fixture_fill(&host.scene.fixture);
	snapshot = fixture_snapshot(&host.scene.fixture, 2);
	snprintf(snapshot->run->notes[0], sizeof(snapshot->run->notes[0]),
		 "no ORC tables: stacks end early");
	ui_show(host.scene.ui, snapshot);
	screen_contains(&host.scene, 80, 24, "no ORC tables", true);
	snapshot = fixture_snapshot(&host.scene.fixture, 2);
	snapshot->sequence--;
	snapshot_publish(host.pipelines[1].slot, snapshot);
	ui_tick(host.scene.ui, 102 * SECOND, 0, &changed);
	scene_keys(&host.scene, 80, 24, "<Tab>");
	screen_contains(&host.scene, 80, 24, "a-domain", true);
	screen_contains(&host.scene, 80, 24, "no ORC tables", false);
	scene_keys(&host.scene, 80, 24, "<Tab>");
	screen_contains(&host.scene, 80, 24, "no ORC tables", true);
	host_end(&host);
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
	check(ui_view(scene.ui) == &top_ops, "the first click selects");
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
	check(ui_view(scene.ui) == &callers_ops, "and the second one opens");
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
				refresh(&scene, fixture_stacks[(random >> 20) % 16].stack, 10);
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
	test_search();
	test_restrict();
	test_cgroups();
	test_empty();
	test_search_closed();
	test_help_pages();
	test_hide();
	test_percents_of_filtered();
	test_threshold();
	test_raw_names();
	test_places();
	test_naming();
	test_hint();
	test_frozen();
	test_history();
	test_baseline_ways();
	test_baseline_of_many();
	test_domains();
	test_all_guests();
	test_domains_know();
	test_domains_apart();
	test_domains_come_and_go();
	test_two_guests();
	test_hint_of_guest();
	test_mouse_everywhere();
	test_second_click();
	test_resize();
	test_no_room();
	return tap_done();
}
