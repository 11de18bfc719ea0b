/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of --crash: where it opens, how it moves, and what it says without a report. */
#include "config.h"

#include <locale.h>

#include "scene.h"
#include "xtop/profile/crash.h"

static const struct {
	enum crash_kind kind;
	const char *text;
} lines[] = {
	{ CRASH_HEADING, "Kernel log: 6 lines" },
	{ CRASH_LINE, "[    0.000000] Linux version 6.1.0-37-amd64 (debian-kernel@lists.debian.org) "
		      "(gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0) #1 SMP ä Debian" },
	{ CRASH_LINE, "[    1.234567] web01: serving pages" },
	{ CRASH_LINE, "[   47.110815] sysrq: Trigger a crash" },
	{ CRASH_LINE, "[   47.110862] Kernel panic - not syncing: sysrq triggered crash" },
	{ CRASH_LINE, "[   47.111010] Call Trace:" },
	{ CRASH_LINE, "[   47.111044]  <TASK>" },
	{ CRASH_HEADING, "vCPUs with registers: 2" },
	{ CRASH_OWNER, "vCPU 0: pid 123  sh" },
	{ CRASH_DETAIL, "  rip ffffffff81a01180  rsp ffffc90000a2bd50  rflags 0000000000000046" },
	{ CRASH_DETAIL, "  panic+0x1a2/0x340" },
	{ CRASH_DETAIL, "  sysrq_handle_crash+0x16/0x20" },
	{ CRASH_OWNER, "vCPU 1: pid 0  swapper/1" },
	{ CRASH_DETAIL, "  stop_this_cpu+0x4d/0x60" },
	{ CRASH_HEADING, "Tasks on no CPU" },
	{ CRASH_OWNER, "pid 1  S  init" },
	{ CRASH_DETAIL, "  __schedule+0x34d/0x9e0" },
	{ CRASH_DETAIL, "  do_wait+0x15f/0x2d0" },
};
#define N_LINES (sizeof(lines) / sizeof(lines[0]))

static char text[4096];
static struct crash_line crash_lines[N_LINES];
static struct crash_report crash = { .text = text, .lines = crash_lines, .n_lines = N_LINES };

static void make_crash(void)
{
	static const size_t parts[N_CRASH_PARTS] = { 0, 7, 14 };

	for (size_t i = 0; i < N_LINES; i++) {
		crash_lines[i] = (struct crash_line){ (uint32_t)crash.text_bytes,
						      (uint8_t)lines[i].kind };
		strcpy(text + crash.text_bytes, lines[i].text);
		crash.text_bytes += strlen(lines[i].text) + 1;
	}
	memcpy(crash.parts, parts, sizeof(parts));
}

static void open_scene(struct scene *scene, bool of_crash)
{
	scene_open(scene);
	ui_destroy(scene->ui);
	scene->pipeline.of_crash = of_crash;
	if (ui_create(&scene->settings, &scene->source, &scene->ui))
		abort();
	scene->ui->now_ns = 100 * SECOND;
	scene->ui->wall_s = 1700000000;
}

static void show(struct scene *scene)
{
	struct snapshot *snapshot = fixture_snapshot(&scene->fixture, 2);

	snapshot->crash = &crash;
	snapshot->run->sampler.ending = GUEST_END_CRASH;
	ui_show(scene->ui, snapshot);
}

static void test_report(void)
{
	struct scene scene;

	open_scene(&scene, true);
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	screen_check(&scene, "crash-none", 80, 16);
	show(&scene);
	screen_check(&scene, "crash", 80, 16);
	scene_keys(&scene, 80, 16, "<Tab>");
	screen_check(&scene, "crash-vcpus", 80, 16);
	show(&scene);
	scene_keys(&scene, 80, 16, "<Tab><Tab><Tab><Down>l");
	screen_check(&scene, "crash-tasks", 80, 16);
	scene_keys(&scene, 80, 16, "<Home>lll<Left>");
	screen_check(&scene, "crash-right", 80, 16);
	scene_keys(&scene, 80, 24, "h");
	screen_check(&scene, "crash-help", 80, 24);
	scene_keys(&scene, 80, 24, "q");
	check(!scene.ui->quitting, "q closes the help");
	scene_keys(&scene, 80, 24, "q");
	check(scene.ui->quitting, "q quits after the help");
	scene_close(&scene);
}

/* From the last line on: the search goes on at the top, and back. */
static void test_search(struct scene *scene)
{
	scene_keys(scene, 80, 24, "/sysrq_");
	screen_contains(scene, 80, 24, "line 12 of 18", true);
	scene_keys(scene, 80, 24, "<Enter>N");
	screen_contains(scene, 80, 24, "line 12 of 18", true);
	scene_keys(scene, 80, 24, "/panic<Enter>");
	screen_contains(scene, 80, 24, "line 5 of 18", true);
	scene_keys(scene, 80, 24, "n");
	screen_contains(scene, 80, 24, "line 11 of 18", true);
	scene_keys(scene, 80, 24, "/zzz<Enter>");
	screen_contains(scene, 80, 24, "nothing here matches", true);
	scene_keys(scene, 80, 24, "<Esc>");
	screen_contains(scene, 80, 24, "line 11 of 18", true);
}

/* The parts of a report, again and again; and one that is all heading. */
static void test_parts(void)
{
	struct scene scene;

	open_scene(&scene, true);
	show(&scene);
	scene_keys(&scene, 80, 24, "<Tab>");
	screen_contains(&scene, 80, 24, "line 8 of 18", true);
	scene_keys(&scene, 80, 24, "<Tab>");
	screen_contains(&scene, 80, 24, "line 15 of 18", true);
	scene_keys(&scene, 80, 24, "<Tab>");
	screen_contains(&scene, 80, 24, "line 1 of 18", true);
	scene_keys(&scene, 80, 24, "<End>");
	screen_contains(&scene, 80, 24, "line 18 of 18", true);
	test_search(&scene);
	crash.is_full = true;
	screen_contains(&scene, 80, 24, "there was no room for more", true);
	crash.is_full = false;
	scene_click(&scene, 80, 24, 5, 1);
	scene_keys(&scene, 20, 4, "<Up>");
	scene_close(&scene);
}

/* With samples there is no report: R says how to get one, and goes back. */
static void test_without(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "R");
	screen_contains(&scene, 80, 24, "No report yet: only xtop --crash makes one.", true);
	scene_keys(&scene, 80, 24, "<Tab><Down><Left>l<Esc>");
	screen_contains(&scene, 80, 24, "No report", false);
	scene_close(&scene);
}

int main(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	make_crash();
	test_report();
	test_parts();
	test_without();
	return tap_done();
}
