/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A day at the screen, played fast: 86,400 refreshes of a guest whose profile keeps changing, with
 * a key now and then. Memory must not grow after the first hour.
 */
#include "config.h"

#include <locale.h>
#include <malloc.h>

#include "scene.h"

#define DAY_S  86400
#define HOUR_S 3600

/*
 * Bytes that malloc() has given out. Sanitizers have their own malloc(), and other C libraries than
 * glibc do not tell: these play two hours only.
 */
#if defined(SANITIZED) || !defined(HAVE_MALLINFO2)
#define PLAYED_S (2 * HOUR_S)

static size_t memory_used(void)
{
	return 0;
}
#else
#define PLAYED_S DAY_S

static size_t memory_used(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
#endif

int main(void)
{
	static const char *const scripts[] = { "t",
					       "E",
					       "f",
					       "<Down>",
					       "v",
					       "p",
					       "o",
					       "b",
					       "a",
					       "+",
					       "<Enter>",
					       "q",
					       "[",
					       "[",
					       "]",
					       "Z",
					       "\\gzip<Enter>",
					       "<Esc>",
					       "B",
					       "a",
					       "/main<Enter>",
					       "n",
					       "<Esc>",
					       "C" };
	struct canvas *canvas = canvas_create(24, 80, CHARSET_FULL);
	struct scene scene;
	size_t after_hour = 0, most = 0, now;

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	scene_open_filled(&scene);
	for (unsigned second = 1; second <= PLAYED_S; second++) {
		fixture_add(&scene.fixture, fixture_stacks[second % 16].stack, 99);
		scene.fixture.time_ns += SECOND;
		scene.ui->now_ns += SECOND;
		ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
		if (second % 60 == 0)
			scene_keys(&scene, 80, 24,
				   scripts[second / 60 % (sizeof(scripts) / sizeof(scripts[0]))]);
		if (scene.ui->quitting)
			scene.ui->quitting = false;
		ui_draw(scene.ui, canvas);
		now = memory_used();
		if (second <= HOUR_S)
			after_hour = now > after_hour ? now : after_hour;
		most = now > most ? now : most;
	}
	check(most <= after_hour + after_hour / 50 + 4096,
	      "memory does not grow: %.1f KiB at most in the first hour, %.1f KiB in the day",
	      (double)after_hour / 1024, (double)most / 1024);
	canvas_destroy(canvas);
	scene_close(&scene);
	return tap_done();
}
