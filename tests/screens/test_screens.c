/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Golden screens (golden.h) of a profile made by hand (fixture.h): the first view. */
#include "config.h"

#include <locale.h>
#include <unistd.h>

#include "scene.h"
#include "tests/support/tap.h"

/* --- the top view ----------------------------------------------------------------------------- */

static void test_sizes(void)
{
	struct scene scene;
	char *styles;

	scene_open_filled(&scene);
	screen_check(&scene, "top-80x24", 80, 24);
	screen_check(&scene, "top-120x40", 120, 40);
	screen_check(&scene, "top-40x10", 40, 10);
	screen_check(&scene, "too-small-39x24", 39, 24);
	screen_contains(&scene, 80, 9, "too small", true);
	for (int columns_ = 1; columns_ < 45; columns_++)
		for (int rows = 1; rows < 12; rows++)
			scene_draw(&scene, columns_, rows, NULL, NULL);
	scene_keys(&scene, 80, 24, "jj");
	scene_draw(&scene, 80, 24, NULL, &styles);
	golden_check("top-80x24-styles", styles);
	free(styles);
	scene_close(&scene);
}

static void test_ascii(void)
{
	struct canvas *canvas = canvas_create(24, 80, true);
	struct scene scene;
	char *text;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "jjj+");
	ui_draw(scene.ui, canvas);
	text = canvas_dump(canvas);
	golden_check("ascii-80x24", text);
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at >= 0x80)
			check(false, "byte %#x on an ASCII screen", (unsigned char)*at);
	free(text);
	canvas_destroy(canvas);
	scene_close(&scene);
}

/* md5 and its callers overtake: the row under the cursor stays in its place, others move. */
static void test_selection_sticks(void)
{
	struct scene scene;
	char before[256], after[256];
	int row_before, row_after;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "jjjjjjjjjjj");
	row_before = scene_cursor_line(&scene, before, sizeof(before));
	check(strstr(before, "deflate_slow"), "the cursor is on deflate_slow: %s", before);
	fixture_add(&scene.fixture, "md5sum _start main md5_file md5_process_block", 4000);
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	row_after = scene_cursor_line(&scene, after, sizeof(after));
	check(strstr(after, "deflate_slow"), "the cursor is still on deflate_slow: %s", after);
	check(row_before == row_after, "the row is on the same line: %d and %d", row_before,
	      row_after);
	screen_check(&scene, "order-changed-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "g");
	row_after = scene_cursor_line(&scene, after, sizeof(after));
	check(strstr(after, "[.] _start"), "Home goes to the hottest function: %s", after);
	scene_close(&scene);
}

/* Until the user moves the cursor it is on the hottest function, also when that is another. */
static void test_hottest_first(void)
{
	struct scene scene;
	char line[256];

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "1");
	scene_cursor_line(&scene, line, sizeof(line));
	check(strstr(line, "copy_user_generic_string"), "the cursor is on the hottest by self: %s",
	      line);
	fixture_add(&scene.fixture, "md5sum _start main md5_file md5_process_block", 4000);
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	scene_cursor_line(&scene, line, sizeof(line));
	check(strstr(line, "md5_process_block"), "the cursor is on the new hottest: %s", line);
	scene_close(&scene);
}

static void test_sort(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "1");
	screen_check(&scene, "sort-self-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "4");
	check(scene.ui->model.sort == &columns[COLUMN_SYMBOL], "4 sorts by name");
	scene_keys(&scene, 80, 24, "<");
	check(scene.ui->model.sort == &columns[COLUMN_SELF],
	      "< sorts by the next shown column on the left");
	scene_keys(&scene, 80, 24, ">>");
	check(scene.ui->model.sort == &columns[COLUMN_MODULE],
	      "> sorts by the next column on the right");
	scene_keys(&scene, 80, 24, "<F6>");
	check(scene.ui->model.sort == &columns[COLUMN_CHILDREN],
	      "F6 goes round at the last column");
	scene_click(&scene, 80, 24, 4, 15);
	check(scene.ui->model.sort == &columns[COLUMN_SELF], "a click on a header sorts");
	scene_close(&scene);
}

/* Nothing can be sorted by history, also if history is the only column. */
static void test_sort_history(void)
{
	static const struct {
		enum column_id columns[2];
		size_t n;
	} chosen[] = { { { COLUMN_HISTORY }, 1 }, { { COLUMN_HISTORY, COLUMN_SELF }, 2 } };
	struct scene scene;
	struct ui *ui;

	for (size_t i = 0; i < 2; i++) {
		scene_open(&scene);
		fixture_fill(&scene.fixture);
		memcpy(scene.settings.rc.columns, chosen[i].columns, sizeof(chosen[i].columns));
		scene.settings.rc.n_columns = chosen[i].n;
		if (ui_create(&scene.settings, &scene.source, &ui))
			abort();
		ui_destroy(scene.ui);
		scene.ui = ui;
		ui_show(ui, fixture_snapshot(&scene.fixture, 2));
		alarm(20); /* once it looked for a column for ever */
		scene_keys(&scene, 80, 24, ">");
		check(ui->model.sort == &columns[i ? COLUMN_SELF : COLUMN_CHILDREN],
		      "> with %zu columns chosen", chosen[i].n);
		scene_keys(&scene, 80, 24, "<<F6>>");
		check(ui->model.sort == &columns[i ? COLUMN_SELF : COLUMN_CHILDREN],
		      "other keys sort by the same column");
		alarm(0);
		scene_close(&scene);
	}
}

static void test_unfold(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "1+");
	screen_check(&scene, "unfold-80x24", 80, 24);
	screen_check(&scene, "unfold-40x10", 40, 10);
	scene_keys(&scene, 80, 24, "jj-");
	screen_check(&scene, "sort-self-80x24", 80,
		     24); /* folding from inside shows the screen of before */
	scene_keys(&scene, 80, 24, "++");
	screen_check(&scene, "sort-self-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "+jj<Enter>");
	screen_contains(&scene, 80, 24, "web01 › ", true);
	scene_close(&scene);
}

/* --- freeze, filter, states ------------------------------------------------------------------- */

static void test_freeze(void)
{
	struct scene scene;
	bool changed;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "Z");
	fixture_add(&scene.fixture, "md5sum _start main md5_file md5_process_block", 40000);
	snapshot_publish(scene.pipeline.slot, fixture_snapshot(&scene.fixture, 2));
	ui_tick(scene.ui, 112 * SECOND, 1700000012, &changed);
	screen_check(&scene, "frozen-80x24", 80, 24);
	check(snapshot_wanted(scene.pipeline.slot), "sampling goes on behind a frozen screen");
	scene_keys(&scene, 80, 24, "Z");
	ui_tick(scene.ui, 112 * SECOND, 1700000012, &changed);
	check(snapshot_wanted(scene.pipeline.slot),
	      "after thawing, a snapshot is requested at once");
	snapshot_publish(scene.pipeline.slot, fixture_snapshot(&scene.fixture, 2));
	ui_tick(scene.ui, 112 * SECOND + 10000000, 1700000012, &changed);
	check(changed, "the snapshot after thawing is shown when it comes");
	screen_contains(&scene, 80, 24, "frozen,", false);
	screen_contains(&scene, 80, 24, "50,000 samples", true);
	scene_close(&scene);
}

static void test_filter(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "\\md5|gzip");
	screen_check(&scene, "filter-prompt-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "<Enter>");
	screen_check(&scene, "filter-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "\\(<Enter>");
	screen_contains(&scene, 80, 24, "Filter: md5|gzip(", true);
	check(scene.ui->question == QUESTION_FILTER && scene.ui->prompt.error[0],
	      "the prompt says what is wrong with a regex: %s", scene.ui->prompt.error);
	scene_keys(&scene, 80, 24, "<C-u>no_such_function<Enter>");
	screen_check(&scene, "filter-none-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "<Esc>");
	screen_check(&scene, "top-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "\\gzip<Esc>");
	screen_check(&scene, "top-80x24", 80, 24); /* Esc in the prompt clears the filter, too */
	scene_close(&scene);
}

static void test_unfold_filtered(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "\\sendfile<Enter>1+");
	screen_check(&scene, "unfold-filtered-80x24", 80, 24);
	scene_close(&scene);
}

/* A large file is read: the header says so instead of a picture, and again when that changes. */
static void test_reading(void)
{
	struct scene scene;
	bool changed;

	scene_open(&scene);
	screen_contains(&scene, 80, 24, "starting", true);
	ui_tick(scene.ui, 100 * SECOND, 0, &changed);
	scene.message = "reading libnode.so.115: symbols 34 %";
	ui_tick(scene.ui, 101 * SECOND, 0, &changed);
	check(changed, "the screen is drawn anew when a reading begins");
	screen_contains(&scene, 80, 24, "reading libnode.so.115: symbols 34 %", true);
	ui_tick(scene.ui, 101 * SECOND, 0, &changed);
	check(!changed, "the screen is not drawn anew while nothing changes");
	fixture_fill(&scene.fixture);
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	scene.message = "reading libjvm.so …";
	screen_contains(&scene, 80, 24, "reading libjvm.so …", true);
	scene_close(&scene);
}

static void test_states(void)
{
	struct scene scene;
	struct snapshot *snapshot;

	scene_open_filled(&scene);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->sampler.state = SAMPLER_GUEST_GONE;
	snapshot->at_end = true;
	ui_show(scene.ui, snapshot);
	screen_check(&scene, "guest-gone-80x24", 80, 24);
	screen_check(&scene, "guest-gone-40x10", 40, 10);

	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->sampler.state = SAMPLER_GUEST_AWAY;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "the guest is gone: last view", true);

	scene.message = "the sampler's process died: signal 9";
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->sampler.state = SAMPLER_ENDED;
	snapshot->at_end = true;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "end of samples: the sampler's process died: signal 9",
			true);

	scene.message = NULL;
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->sampler.state = SAMPLER_GUEST_PAUSED;
	snapshot->run->sampler.lost = 99;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "paused by an administrator", true);
	screen_contains(&scene, 80, 24, "lost 99", true);

	scene.message = "the sampler's process died: signal 9";
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->sampler.state = SAMPLER_FAILED;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "sampling failed: the sampler's process died: signal 9",
			true);

	scene.message = "web01 reboots, waiting for its return";
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->sampler.state = SAMPLER_GUEST_AWAY;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "web01 reboots, waiting for its return: last view", true);
	scene.message = "web01 is back as domain 7 after 12 s, the profile goes on";
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	screen_contains(&scene, 80, 24, "web01 is back as domain 7 after 12 s", true);
	scene.message = NULL;

	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->sampler.refused = 7;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "refused 7", true);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->sampler.restarts = 3;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "sampler restarted 3", true);
	scene_close(&scene);
}

static void test_nothing_yet(void)
{
	struct scene scene;
	struct snapshot *snapshot;

	scene_open(&scene);
	screen_check(&scene, "starting-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "jk+<Enter>wZAq"); /* there is nothing yet to act on */
	check(scene.ui->quitting, "q in the first view quits");
	scene.ui->quitting = false;
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 0));
	screen_check(&scene, "no-samples-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "jkgG+-C<Enter>12<F6><PgDn><PgUp>");
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->resolver.states[VCPU_BLOCKED] = 99;
	ui_show(scene.ui, snapshot);
	screen_contains(&scene, 80, 24, "the guest is idle", true);
	scene_close(&scene);
}

/* --- callers and callees ---------------------------------------------------------------------- */

/* Counts the requests in SECONDS from *NOW_NSP on. Each one is answered at once. */
static unsigned count_pictures(struct scene *scene, uint64_t *now_nsp, unsigned seconds)
{
	uint64_t end_ns = *now_nsp + seconds * SECOND;
	unsigned n = 0;
	bool changed;

	for (; *now_nsp < end_ns; *now_nsp += SECOND / 200) {
		ui_tick(scene->ui, *now_nsp, 1700000000, &changed);
		if (!snapshot_wanted(scene->pipeline.slot))
			continue;
		n++;
		snapshot_publish(scene->pipeline.slot, fixture_snapshot(&scene->fixture, 2));
	}
	return n;
}

/* The first samples are shown at once, the next pictures soon; then the interval holds. */
static void test_first_pictures(void)
{
	uint64_t now_ns = 100 * SECOND;
	struct scene scene;
	unsigned n;

	scene_open(&scene);
	n = count_pictures(&scene, &now_ns, 1);
	check(n >= 40 && n <= 51, "without samples there is a request every 20 ms (%u)", n);
	fixture_fill(&scene.fixture);
	n = count_pictures(&scene, &now_ns, 1);
	check(n >= 5 && n <= 7, "in the first second with samples requests become rarer (%u)", n);
	check_u64(count_pictures(&scene, &now_ns, 10), 10, "requests in ten seconds with samples");
	scene.ui->settings.interval_s = 5;
	count_pictures(&scene, &now_ns, 5);
	check_u64(count_pictures(&scene, &now_ns, 20), 4,
		  "requests in 20 seconds at an interval of 5 seconds");
	scene_close(&scene);
}

static void test_callers(void)
{
	struct scene scene;
	char *text;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "\\sendmsg_locked<Enter>jjjjjjjj<Enter>");
	scene_keys(&scene, 80, 24, "q<Esc>");
	scene_keys(&scene, 80, 24, "gjjjjjj<Enter>");
	scene_draw(&scene, 80, 24, &text, NULL);
	check(strstr(text, "web01 › tcp_sendmsg_locked"), "the focus is tcp_sendmsg_locked");
	free(text);
	screen_check(&scene, "callers-80x24", 80, 24);
	screen_check(&scene, "callers-120x40", 120, 40);
	screen_check(&scene, "callers-40x10", 40, 10);
	scene_click(&scene, 80, 24, 5, 15);
	screen_check(&scene, "callers-by-name-80x24", 80, 24);
	scene_click(&scene, 80, 24, 5, 45);
	scene_keys(&scene, 80, 24, "<Tab>");
	screen_check(&scene, "callers-80x24", 80, 24);
	scene_keys(&scene, 80, 24, ">");
	screen_contains(&scene, 80, 24, "Callee▾", true);
	scene_keys(&scene, 80, 24, "<");
	scene_keys(&scene, 80, 24, "<Tab>j<Enter>");
	screen_check(&scene, "callees-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "<Left>");
	screen_contains(&scene, 80, 24, "web01 › tcp_sendmsg_locked ", true);
	scene_keys(&scene, 80, 24, "<Esc>");
	screen_contains(&scene, 80, 24, "Children▾", true);
	check(!scene.ui->quitting, "Esc in callers and callees does not quit");
	scene_keys(&scene, 80, 24, "<Esc><Esc>");
	check(!scene.ui->quitting, "Esc in the first view does not quit");
	scene_close(&scene);
}

/* In "main fib fib fib fib", main calls fib and fib calls itself. Each sample counts once. */
static void test_callers_recursion(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "\\fib<Enter><Enter>");
	screen_check(&scene, "recursion-80x24", 80, 24);
	scene_close(&scene);
}

/* The trail of functions is bounded, however long the user goes on. */
static void test_trail_is_bounded(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "gjjjjjj<Enter>");
	for (int i = 0; i < 200; i++)
		scene_keys(&scene, 80, 24, "<Enter><Tab>");
	screen_contains(&scene, 80, 24, "web01", true);
	for (int i = 0; i < 70; i++)
		scene_keys(&scene, 80, 24, "<Left>");
	screen_contains(&scene, 80, 24, "Children▾", true);
	scene_close(&scene);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_sizes();
	test_ascii();
	test_selection_sticks();
	test_hottest_first();
	test_sort();
	test_sort_history();
	test_unfold();
	test_unfold_filtered();
	test_freeze();
	test_filter();
	test_reading();
	test_states();
	test_nothing_yet();
	test_first_pictures();
	test_callers();
	test_callers_recursion();
	test_trail_is_bounded();
	return tap_done();
}
