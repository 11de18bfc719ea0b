/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A range of time: marked by keys and by the mouse, shown by every view, written and compared, and
 * left again. The guest's work changes each ten seconds:
 *
 *	seconds  1 to 10   idle                      11 to 20  gzip, 80 samples a second
 *	        21 to 30   md5sum, 40 samples a second, with steal
 */
#include "config.h"

#include <locale.h>
#include <unistd.h>

#include "scene.h"
#include "tests/support/pprof_message.h"
#include "xtop/export/export.h"
#include "xtop/push/pprof_fields.h"

static void scene_second(struct scene *scene, unsigned second)
{
	static double running[2], waiting[2], blocked[2];
	struct snapshot *snapshot;

	if (second == 1)
		for (unsigned i = 0; i < 2; i++)
			running[i] = waiting[i] = blocked[i] = 0;
	scene->fixture.time_ns += SECOND;
	if (second > 20)
		fixture_add(&scene->fixture, "md5sum _start main md5_file md5_process_block", 40);
	else if (second > 10)
		fixture_add(&scene->fixture, "gzip _start main deflate_slow", 80);
	snapshot = fixture_snapshot(&scene->fixture, 2);
	for (unsigned i = 0; i < 2; i++) {
		running[i] += second > 20 ? 20 : second > 10 ? 80 : 0;
		waiting[i] += second > 20 ? 20 : 0;
		blocked[i] += second > 20 ? 60 : second > 10 ? 20 : 100;
		snapshot->run->vcpus[i] = (struct snapshot_vcpu){ .user = running[i] };
		snapshot->run->vcpus[i].states[VCPU_RUNNING] = running[i];
		snapshot->run->vcpus[i].states[VCPU_RUNNABLE] = waiting[i];
		snapshot->run->vcpus[i].states[VCPU_BLOCKED] = blocked[i];
	}
	snapshot->run->sampler.stopped_ns = second * 2400000ULL;
	if (second >= 32) /* 1.24 % in this second, of a budget of 1 % */
		snapshot->run->sampler.stopped_ns += 10000000;
	if (second > 30) { /* 1795000000 is 2026-11-18 11:06:40 UTC */
		snapshot->clocks.at_ns = snapshot->time_ns;
		clocks_set(&snapshot->clocks, CLOCK_GUEST_UTC,
			   1795000000500000000ULL + second * SECOND);
		snapshot->first_clocks = snapshot->clocks;
	}
	scene->ui->now_ns += SECOND;
	ui_show(scene->ui, snapshot);
}

/*
 * The profile is reset, and for SECONDS from then on vCPU 0 of two is busy. The scene's own seconds
 * come before.
 */
static void scene_after_reset(struct scene *scene, unsigned seconds)
{
	uint64_t started_ns = scene->fixture.time_ns + SECOND;

	for (unsigned second = 1; second <= seconds; second++) {
		struct snapshot *snapshot;

		scene->fixture.time_ns += SECOND;
		snapshot = fixture_snapshot(&scene->fixture, 2);
		snapshot->started_ns = started_ns;
		snapshot->run->vcpus[0] = snapshot->run->vcpus[1] =
			(struct snapshot_vcpu){ .user = 0 };
		snapshot->run->vcpus[0].states[VCPU_RUNNING] = 100 * second;
		snapshot->run->vcpus[1].states[VCPU_BLOCKED] = 100 * second;
		scene->ui->now_ns += SECOND;
		ui_show(scene->ui, snapshot);
	}
}

static void scene_open_day(struct scene *scene)
{
	scene_open(scene);
	fixture_add(&scene->fixture, "swapper -cpu_startup_entry -do_idle", 1000);
	for (unsigned second = 1; second <= 30; second++)
		scene_second(scene, second);
}

/* [ goes back a second. */
static void scene_step(struct scene *scene, int seconds)
{
	for (int i = 0; i < abs(seconds); i++)
		scene_keys(scene, 100, 24, seconds < 0 ? "[" : "]");
}

/* From the 10th second to the 20th: gzip alone. */
static void scene_mark_gzip(struct scene *scene)
{
	scene_step(scene, -20);
	scene_keys(scene, 100, 24, "{");
	scene_step(scene, 10);
	scene_keys(scene, 100, 24, "}");
}

static void test_keys_and_views(void)
{
	struct scene scene;

	scene_open_day(&scene);
	screen_check(&scene, "range-before-100x24", 100, 24);
	scene_step(&scene, -20);
	scene_keys(&scene, 100, 24, "{");
	screen_contains(&scene, 100, 24, "the range begins here", true);
	scene_step(&scene, 10);
	scene_keys(&scene, 100, 24, "}");
	screen_check(&scene, "range-top-100x24", 100, 24);
	screen_contains(&scene, 100, 24, "100.00  100.00", true);
	screen_contains(&scene, 100, 24, "md5", false);
	screen_contains(&scene, 100, 24, "800 samples", true);
	screen_contains(&scene, 100, 24, "busy 80 steal 0", true);
	scene_keys(&scene, 100, 24, "A"); /* all of the range: the totals are the same */
	screen_contains(&scene, 100, 24, "100.00  100.00", true);
	scene_keys(&scene, 100, 24, "At");
	screen_contains(&scene, 100, 24, "md5", false);
	screen_contains(&scene, 100, 24, "100.00    0.00  ├─", false);
	scene_keys(&scene, 100, 24, "f");
	screen_contains(&scene, 100, 24, "100 % = 800 samples", true);
	scene_keys(&scene, 100, 24, "p");
	screen_contains(&scene, 100, 24, "md5sum", false);
	scene_keys(&scene, 100, 24, "v");
	screen_check(&scene, "range-vcpus-100x24", 100, 24);
	scene_keys(&scene, 100, 24, "o");
	screen_contains(&scene, 100, 24, "the lengths of stops are those since start", true);
	scene_second(&scene, 31); /* what comes does not change it */
	scene_keys(&scene, 100, 24, "a");
	screen_contains(&scene, 100, 24, "800 samples", true);
	scene_keys(&scene, 100, 24, "t<Esc>");
	screen_contains(&scene, 100, 24, "live", true);
	screen_contains(&scene, 100, 24, "md5sum", true);
	check(ui_view(scene.ui) == &tree_ops, "Esc returns to live and stays in the view");
	scene_keys(&scene, 100, 24, "<Esc>");
	check(ui_view(scene.ui) == &top_ops, "the second Esc goes back to the functions");
	scene_close(&scene);
}

/* Marks in another order, on the wrong side, and none. */
static void test_marks(void)
{
	struct scene scene;

	scene_open_day(&scene);
	scene_keys(&scene, 100, 24, "}");
	screen_contains(&scene, 100, 24, "the range ends here", true);
	scene_step(&scene, -5);
	scene_keys(&scene, 100, 24, "{");
	screen_contains(&scene, 100, 24, "200 samples", true);
	screen_contains(&scene, 100, 24, "busy 20 steal 20", true);
	scene_step(&scene, -8); /* before its beginning */
	scene_keys(&scene, 100, 24, "}");
	screen_contains(&scene, 100, 24, "the range ends here", true);
	scene_keys(&scene, 100, 24, "<Esc>");
	check(!scene.ui->guest->range.begin && !scene.ui->guest->range.end,
	      "Esc forgets the marks of the range");
	scene_mark_gzip(&scene);
	scene_keys(&scene, 100, 24, "Z");
	screen_contains(&scene, 100, 24, "live", true);
	check(!scene.ui->guest->range.begin, "Z goes on with new pictures");
	scene_mark_gzip(&scene);
	scene_keys(&scene, 100, 24, "<Enter>");
	check(ui_view(scene.ui) == &callers_ops, "callers of a function of the range");
	scene_keys(&scene, 100, 24, "<Esc>");
	screen_contains(&scene, 100, 24, "800 samples", true); /* Esc went back from the callers */
	scene_close(&scene);
	scene_open(&scene);
	scene_keys(&scene, 100, 24, "{");
	screen_contains(&scene, 100, 24, "there is no picture to mark yet", true);
	scene_close(&scene);
}

/* In 100 columns there are 57 cells, a second each; the newest is column 64. */
static void test_mouse(void)
{
	struct scene scene;
	int row;

	scene_open_day(&scene);
	scene_draw(&scene, 100, 24, NULL, NULL);
	row = scene.ui->model.screen.history_row;
	check(row == 3, "the line of the last minutes is row %d", row);
	scene_click(&scene, 100, 24, row, 50); /* second 16 */
	screen_contains(&scene, 100, 24, "the range begins here", true);
	scene_click(&scene, 100, 24, row, 60);
	screen_contains(&scene, 100, 24, "range, ended 0:04 ago · 560 samples · 0:10", true);
	screen_check(&scene, "range-clicked-100x24", 100, 24);
	scene_click(&scene, 100, 24, row, 64);
	screen_contains(&scene, 100, 24, "live", true); /* a third click begins another one */
	scene_click(&scene, 100, 24, row, 20);
	check(!scene.ui->guest->range.end, "a click before the first moment marks nothing");
	scene_close(&scene);
}

static void test_write_and_compare(void)
{
	char folder[] = "/tmp/xtop-test-range-XXXXXX", path[64], keys_[128];
	struct scene scene;
	char *text;

	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/f.folded", folder);
	scene_open_day(&scene);
	scene_mark_gzip(&scene);
	snprintf(keys_, sizeof(keys_), "w<C-u>%s<Enter>", path);
	scene_keys(&scene, 100, 24, keys_);
	text = file_read(path);
	check(!strcmp(text, "gzip;_start;main;deflate_slow 800\n"), "the file has the range: %s",
	      text);
	free(text);
	scene_keys(&scene, 100, 24, "b<Esc>");
	scene_keys(&scene, 100, 24, "<Esc>"); /* live again */
	scene_keys(&scene, 100, 24, "b");
	screen_contains(&scene, 100, 24, "100.00", true);
	screen_contains(&scene, 100, 24, "md5_process_block", true);
	scene_close(&scene);
	unlink(path);
	rmdir(folder);
}

/* Whether one of the profile's strings is TEXT. */
static bool has_string(struct field profile, const char *text)
{
	struct field string;

	for (uint64_t i = 0;; i++) {
		string = find_field(profile.bytes, profile.n, PPROF_PROFILE_STRING_TABLE, i);
		if (!string.bytes)
			return false;
		if (string.n == strlen(text) && !memcmp(string.bytes, text, string.n))
			return true;
	}
}

/* A pprof file of a range tells the range's time, and the guest as -o tells it. */
static void test_pprof(void)
{
	char path[] = "/tmp/xtop-test-range-XXXXXX.pb.gz", keys_[128];
	int fd = mkstemps(path, sizeof(".pb.gz") - 1);
	struct field profile = { 0 };
	struct scene scene;
	FILE *file;

	if (fd < 0 || unlink(path))
		abort();
	close(fd);
	scene_open_day(&scene);
	scene.ui->settings.write_format = export_find_format("pprof");
	scene.ui->model.time.clock = CLOCK_GUEST_UTC;
	for (unsigned second = 31; second <= 34; second++)
		scene_second(&scene, second);
	scene_step(&scene, -2);
	scene_keys(&scene, 100, 24, "{");
	scene_step(&scene, 1);
	scene_keys(&scene, 100, 24, "}w");
	screen_contains(&scene, 100, 24, "Write the range to: ", true);
	snprintf(keys_, sizeof(keys_), "<C-u>%s<Enter>", path);
	scene_keys(&scene, 100, 24, keys_);
	file = fopen(path, "r");
	if (!check(file, "the range's file is written"))
		return;
	profile.bytes = pprof_read(file, &profile.n);
	if (check(profile.bytes, "the range's file is a pprof file")) {
		/* 11:07:12.5 */
		check_u64(number_of(profile, PPROF_PROFILE_TIME_NANOS, 0), 1795000032500000000,
			  "beginning of the range in its file");
		check_u64(number_of(profile, PPROF_PROFILE_DURATION_NANOS, 0), SECOND,
			  "length of the range in its file");
		check(has_string(profile, "guest: web01, PVH"),
		      "the range's file has the guest's name and type");
		check(has_string(profile, "md5_process_block"), "the range's file has a function");
	}
	free((void *)profile.bytes);
	fclose(file);
	unlink(path);
	scene_close(&scene);
}

/* What the line says is seen without colours: where others took time, where xtop took too much. */
static void test_marks_of_time(void)
{
	struct canvas *console = canvas_create(24, 100, CHARSET_CONSOLE);
	struct scene scene;
	char *text;

	scene_open_day(&scene);
	for (unsigned second = 31; second <= 33; second++)
		scene_second(&scene, second);
	screen_contains(&scene, 100, 24, "···▇▇▇▇▇▇▇▇▇▇⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤⣤!⣤▏", true);
	screen_check(&scene, "range-stopped-100x24", 100, 24);
	ui_draw(scene.ui, console);
	text = canvas_dump(console);
	check(strstr(text, "███░░░░░░░░░░░!░│"), "a console's font has other dots: %.400s", text);
	free(text);
	canvas_destroy(console);
	scene_keys(&scene, 100, 24, "h");
	screen_contains(&scene, 100, 24, "minutes: ⣶ steal, ! stopped", true);
	scene_close(&scene);
}

/* A small screen has no such line; a narrow one has fewer words. */
static void test_sizes(void)
{
	struct scene scene;

	scene_open_day(&scene);
	screen_contains(&scene, 40, 10, "busy", false);
	screen_contains(&scene, 50, 24, "busy 20", true);
	screen_contains(&scene, 50, 24, "steal", false);
	scene_close(&scene);
}

/* A range in which the profile was reset has the load since then. */
static void test_reset(void)
{
	struct scene scene;

	scene_open_day(&scene);
	scene_after_reset(&scene, 40);
	scene_step(&scene, -50); /* ten seconds before the reset */
	scene_keys(&scene, 100, 24, "{");
	scene_step(&scene, 49);
	scene_keys(&scene, 100, 24, "}");
	screen_contains(&scene, 100, 24, "busy 50 steal 0", true);
	scene_close(&scene);
}

/* --clock: the header tells when the picture was taken, and when the range began and ended. */
static void test_clock(void)
{
	struct scene scene;

	scene_open_day(&scene);
	screen_contains(&scene, 100, 24, " UTC", false);
	scene.ui->model.time.is_shown = true;
	scene.ui->model.time.clock = CLOCK_GUEST_UTC;
	screen_contains(&scene, 130, 24, "time: guest-utc not known", true);
	for (unsigned second = 31; second <= 34; second++)
		scene_second(&scene, second);
	screen_contains(&scene, 130, 24, "11:07:14.500 UTC", true);
	scene_step(&scene, -2);
	scene_keys(&scene, 130, 24, "{");
	scene_step(&scene, 1);
	scene_keys(&scene, 130, 24, "}");
	screen_contains(&scene, 130, 24, "11:07:12.500 UTC to 11:07:13.500 UTC", true);
	scene_close(&scene);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_keys_and_views();
	test_marks();
	test_mouse();
	test_clock();
	test_write_and_compare();
	test_pprof();
	test_marks_of_time();
	test_sizes();
	test_reset();
	return tap_done();
}
