/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Search, filter, restriction, and what else changes which part of a profile is shown. */
#include "config.h"

#include <errno.h>
#include <locale.h>

#include "scene.h"

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
	check(strstr(line, "fib"), "Enter goes to the match in the inverted tree: %s", line);
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

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
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
	return tap_done();
}
