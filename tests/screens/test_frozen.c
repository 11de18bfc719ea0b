/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frozen pictures, pictures of the history, and baselines. */
#include "config.h"

#include <locale.h>

#include "scene.h"

/* --- frozen pictures, pictures of the history ------------------------------------------------- */

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
	scene_refresh(&scene, "md5sum _start main md5_file md5_process_block", 90000);
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
	scene_refresh(&scene, "md5sum _start main md5_file md5_process_block", 100000);
	for (int i = 0; i < 10; i++)
		scene_refresh(&scene, "gzip _start main deflate_slow", 100000);
	screen_contains(&scene, 80, 24, "1,110,000 samples", true);
	scene_keys(&scene, 80, 24, "[[[[[[[[[[");
	screen_check(&scene, "history-80x24", 80, 24);
	screen_contains(&scene, 80, 24, "110,000 samples", true);
	screen_contains(&scene, 80, 24, "frozen, 0:10 old", true);
	scene_keys(&scene, 80, 24, "[");
	screen_contains(&scene, 80, 24, " 10,000 samples", true);
	scene_keys(&scene, 80, 24, "[");
	screen_contains(&scene, 80, 24, "this is the earliest picture", true);
	scene_refresh(&scene, NULL, 0); /* new snapshots do not move it */
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
	scene_refresh(&scene, "md5sum _start main md5_file md5_process_block", 10000);
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
	check(strstr(line, "0.00   1.00"),
	      "a filter that is 100 %% makes no difference to the baseline: %s", line);
	scene_keys(&scene, 80, 24, "F\\<C-u><Enter>");
	scene_keys(&scene, 80, 24, "<F6>");
	screen_contains(&scene, 80, 24, "Ratio▾", true);
	scene_keys(&scene, 80, 24, "B");
	check(ui_view(scene.ui) == &top_ops, "the baseline's view closes without a baseline");
	screen_contains(&scene, 80, 24, "baseline 0", false);
	scene_keys(&scene, 80, 24, "Z");
	scene.ui->now_ns += 125 * SECOND;
	scene_keys(&scene, 80, 24, "b");
	screen_contains(&scene, 80, 24, "frozen, 2:05 old", true);
	scene_keys(&scene, 80, 24, "H"); /* the message goes */
	scene_keys(&scene, 80, 24, "H");
	screen_contains(&scene, 80, 24, "baseline 2:05 ago",
			true); /* the frozen picture is as old */
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
 * One of 40 differences lies beyond its own interval of 95 %; chance makes two of 40 do so. The
 * difference counts only if chance makes none so large among 40.
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
	check(strcmp(style, "ddddddd") != 0, "a significant change is not dim: %s", style);
	scene_close(&scene);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_frozen();
	test_history();
	test_baseline_ways();
	test_baseline_of_many();
	return tap_done();
}
