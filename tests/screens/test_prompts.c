/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prompts, the help, the mouse, and keys in any order. */
#include "config.h"

#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"
#include "tests/support/tap.h"
#include "xtop/export/export.h"

/* --- prompts, help, mouse --------------------------------------------------------------------- */

static void test_help(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "h");
	screen_check(&scene, "help-80x24", 80, 24);
	screen_check(&scene, "help-120x40", 120, 40);
	scene_keys(&scene, 80, 24, "<End>");
	screen_contains(&scene, 80, 24, "F10 Ctrl-C", true);
	scene_keys(&scene, 80, 24, "q");
	screen_check(&scene, "top-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "<Enter><F1>");
	screen_contains(&scene, 80, 24, "to the other list", true);
	scene_close(&scene);
}

/* xtop was started as root in a folder where the user may not write. */
static void test_write_elsewhere(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene.ui->settings.write_folder = "/tmp/";
	scene_keys(&scene, 80, 24, "w");
	screen_contains(&scene, 80, 24,
			"Write all since start to: /tmp/web01-20231114-221320.folded", true);
	scene_close(&scene);
}

/* --format: the ending that is proposed, and the format of a name without an ending. */
static void test_write_format(void)
{
	char path[] = "/tmp/xtop-screens-XXXXXX", written[64], *text;
	struct scene scene;
	int fd = mkstemp(path);

	if (fd < 0 || unlink(path))
		abort();
	close(fd);
	scene_open_filled(&scene);
	scene.ui->settings.write_format = export_find_format("html");
	scene_keys(&scene, 80, 24, "w");
	screen_contains(&scene, 80, 24,
			"Write all since start to: web01-20231114-221320.flame.html", true);
	scene.ui->settings.write_format = export_find_format("perf");
	scene_keys(&scene, 80, 24, "<C-u>");
	scene_keys(&scene, 80, 24, path);
	scene_keys(&scene, 80, 24, "<Enter>");
	snprintf(written, sizeof(written), "%s.perf", path);
	text = file_read(written);
	check(strstr(text, "# made by: xtop"), "without an ending the format of --format");
	free(text);
	check(!unlink(written), "a name without an ending gets the ending of --format");
	scene_close(&scene);
}

static void test_write(void)
{
	char folder[] = "/tmp/xtop-screens.XXXXXX", *text;
	struct scene scene;
	int old = open(".", O_RDONLY | O_DIRECTORY);

	if (!mkdtemp(folder) || old < 0)
		abort();
	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "w");
	screen_check(&scene, "write-prompt-80x24", 80, 24);
	if (chdir(folder))
		abort();
	scene_keys(&scene, 80, 24, "<Enter>");
	screen_contains(&scene, 80, 24, "wrote web01-20231114-221320.folded, ", true);
	text = file_read("web01-20231114-221320.folded");
	check(strstr(text, "gzip;_start;main;deflate_slow 1688\n"),
	      "the file of folded stacks has them");
	free(text);
	scene_keys(&scene, 80, 24, "w<Enter>");
	screen_contains(&scene, 80, 24, "It exists; replace it (y/n)?", true);
	scene_keys(&scene, 80, 24, "n");
	screen_contains(&scene, 80, 24, "nothing written", true);
	scene_keys(&scene, 80, 24, "w<Enter>y");
	screen_contains(&scene, 80, 24, "wrote web01-20231114-221320.folded, ", true);
	scene_keys(&scene, 80, 24, "w<C-u>/no/such/folder/x<Enter>");
	screen_contains(&scene, 80, 24, "/no/such/folder/x", true);
	screen_contains(&scene, 80, 24, "wrote", false);
	scene_keys(&scene, 80, 24, "w<C-u>-<Enter>");
	screen_contains(&scene, 80, 24, "wrote -.folded, ", true);
	scene_keys(&scene, 80, 24, "w<C-u>x.json<Enter>");
	screen_contains(&scene, 80, 24, "wrote x.speedscope.json, ", true);
	text = file_read("x.speedscope.json");
	check(strstr(text, "\"$schema\"") && !strstr(text, "only: "),
	      "the file's ending chooses the format");
	free(text);
	scene_keys(&scene, 80, 24, "w<C-u>x.json<Enter>");
	screen_contains(&scene, 80, 24, "replace it", true);
	scene_keys(&scene, 80, 24, "n");
	scene_keys(&scene, 80, 24, "\\gzip<Enter>Kw<C-u>x.perf<Enter>");
	screen_contains(&scene, 80, 24, "wrote x.perf, ", true);
	text = file_read("x.perf");
	check(strstr(text, "# only: stacks with filter gzip kernel hidden\n"),
	      "a file says what part of the picture it has: %.300s", text);
	check(strstr(text, "\ngzip 1/1 [000] ") && !strstr(text, "[kernel.kallsyms]"),
	      "the file of a filter has only that part of the picture");
	free(text);
	check(!unlink("x.speedscope.json") && !unlink("x.perf"),
	      "x.speedscope.json and x.perf were written");
	scene_keys(&scene, 80, 24, "w<Esc>");
	check(!unlink("-.folded") && !unlink("web01-20231114-221320.folded"),
	      "the files -.folded and web01-... were written");
	if (fchdir(old) || rmdir(folder))
		check(false, "%s is empty", folder);
	close(old);
	scene_close(&scene);
}

static void test_interval_and_reset(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "s<C-u>0<Enter>");
	screen_check(&scene, "interval-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "<C-u>2.5<Enter>");
	check(scene.ui->settings.interval_s == 2.5, "the interval of the prompt is used: %g",
	      scene.ui->settings.interval_s);
	scene_keys(&scene, 80, 24, "z");
	check(scene.resets == 1, "z resets the profile");
	screen_contains(&scene, 80, 24, "profile reset", true);
	scene_keys(&scene, 80, 24, "A");
	screen_contains(&scene, 80, 24, "since start", true);
	scene_close(&scene);
}

/* -T 10.4 ends after 10.4 seconds, not at the next full second. */
static void test_time_limit(void)
{
	struct scene scene;
	uint64_t wait_ns;
	bool changed;

	scene_open_filled(&scene);
	scene.ui->settings.time_s = 10.4;
	wait_ns = ui_tick(scene.ui, 100 * SECOND, 0, &changed);
	check(wait_ns <= SECOND, "with a time limit a tick waits for a second at most: %.3f s",
	      (double)wait_ns / 1e9);
	wait_ns = ui_tick(scene.ui, 110 * SECOND + SECOND / 4, 0, &changed);
	check(wait_ns <= SECOND * 3 / 20 + 1 && !scene.ui->quitting,
	      "a tick waits no longer than the time limit: %.3f s", (double)wait_ns / 1e9);
	wait_ns = ui_tick(scene.ui, 110 * SECOND + SECOND * 2 / 5 + 1, 0, &changed);
	check(scene.ui->quitting && !wait_ns, "the run ends at the time limit");
	scene_close(&scene);
}

static void test_mouse(void)
{
	struct scene scene;
	char line[256];

	scene_open_filled(&scene);
	scene_click(&scene, 80, 24, 8, 30);
	check(scene_cursor_line(&scene, line, sizeof(line)) == 8, "a click selects its row: %s",
	      line);
	scene_click(&scene, 80, 24, 23, 3);
	screen_contains(&scene, 80, 24, "Keys in the function table", true);
	scene_keys(&scene, 80, 24, "q");
	scene_click(&scene, 80, 24, 23, 50);
	for (int column = 0; column < 80; column++)
		scene_click(&scene, 80, 24, 22, column);
	scene_close(&scene);
}

/* The domain's name, chosen by its owner, is trusted no more than its symbols. */
static void test_hostile_domain(void)
{
	struct scene scene;
	struct ui *ui;

	scene_open_filled(&scene);
	scene.pipeline.guest.name = "../we\033[31mb\n01";
	if (ui_create(&scene.settings, &scene.source, &ui))
		abort();
	ui_destroy(scene.ui);
	scene.ui = ui;
	ui->wall_s = 1700000000;
	ui_show(ui, fixture_snapshot(&scene.fixture, 2));
	scene_keys(&scene, 80, 24, "w");
	screen_contains(&scene, 80, 24, "Write all since start to: _._we_[31mb_01-2023", true);
	screen_contains(&scene, 80, 24, "\033", false);
	scene_close(&scene);
}

/* Random keys and clicks in all views: nothing may break. */
static void test_any_key(void)
{
	static const uint32_t more[] = {
		INPUT_UP,        INPUT_DOWN,   INPUT_LEFT,      INPUT_RIGHT,    INPUT_PAGE_UP,
		INPUT_PAGE_DOWN, INPUT_HOME,   INPUT_END,       INPUT_DELETE,   INPUT_ENTER,
		INPUT_TAB,       INPUT_ESCAPE, INPUT_BACKSPACE, INPUT_WHEEL_UP, INPUT_WHEEL_DOWN,
		INPUT_CLICK,     INPUT_RESIZE, INPUT_F(1),      INPUT_F(2),     INPUT_F(3),
		INPUT_F(4),      INPUT_F(5),   INPUT_F(6),      INPUT_F(7),     INPUT_F(8),
		INPUT_F(9)
	};
	struct scene scene;
	uint64_t random = 42;

	scene_open_filled(&scene);
	for (int i = 0; i < 20000; i++) {
		struct input input;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		input = (struct input){ (uint32_t)(random >> 33) % 126 + 1,
					(int)(random >> 40) % 26, (int)(random >> 50) % 82 };
		if (random >> 63)
			input.code = more[(random >> 33) % (sizeof(more) / sizeof(more[0]))];
		if (scene.ui->question == QUESTION_WRITE || scene.ui->question == QUESTION_REPLACE)
			input.code = INPUT_ESCAPE; /* write no files here */
		ui_handle(scene.ui, &input);
		if (i % 50 == 0) {
			fixture_add(&scene.fixture, fixture_stacks[(random >> 20) % 16].stack, 100);
			ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
		}
		if (i % 10 == 0)
			scene_draw(&scene, 40 + (int)(random >> 30) % 80,
				   10 + (int)(random >> 45) % 30, NULL, NULL);
	}
	check(true, "20,000 random keys break nothing");
	scene_close(&scene);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_help();
	test_write();
	test_write_format();
	test_write_elsewhere();
	test_interval_and_reset();
	test_time_limit();
	test_mouse();
	test_hostile_domain();
	test_any_key();
	return tap_done();
}
