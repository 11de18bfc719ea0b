/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pass-through functions folded away by a key, in table, tree and flame graph; the setting is kept. */
#include "config.h"

#include <locale.h>
#include <unistd.h>

#include "scene.h"

static void test_views(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "x");
	screen_check(&scene, "folded-top-80x24", 80, 24);
	screen_check(&scene, "folded-top-40x10", 40, 10);
	scene_keys(&scene, 80, 24, "tE");
	screen_check(&scene, "folded-tree-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "f");
	screen_check(&scene, "folded-flame-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "x");
	screen_contains(&scene, 80, 24, "│_start", true);
	screen_contains(&scene, 80, 24, "folded", false);
	scene_keys(&scene, 80, 24, "ax");
	screen_contains(&scene, 80, 24, "_start", false);
	scene_keys(&scene, 80, 24, "x");
	screen_check(&scene, "top-80x24", 80, 24);
	scene_close(&scene);
}

/* A zoom whose way is folded away, or comes back, does not leave an empty picture. */
static void test_zoom(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "f/deflate_slow<Enter><Enter><Esc>x");
	screen_contains(&scene, 80, 24, "not in this picture", false);
	screen_contains(&scene, 80, 24, "web01 › all", true);
	scene_close(&scene);
}

/* Callers and chains of one function are shown whole: that is what one looks there for. */
static void test_callers(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "x/^deflate_slow$<Enter><Enter>");
	screen_contains(&scene, 80, 24, "main", true);
	scene_close(&scene);
}

/* With a filter, 100 % are still all samples, and the count is of what is left. */
static void test_filter(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "x\\md5<Enter>");
	screen_contains(&scene, 80, 24, "3 folded (x)", true); /* _start, main, md5_file */
	screen_contains(&scene, 80, 24, "   9.55    9.55", true);
	scene_close(&scene);
}

/* S writes the setting, and the next start reads it. */
static void test_kept(void)
{
	char folder[] = "/tmp/xtop-test-folded-XXXXXX", path[64];
	struct scene scene;
	struct ui_rc rc;
	char *text;

	if (!mkdtemp(folder))
		abort();
	scene_open_filled(&scene);
	setenv("XDG_CONFIG_HOME", folder, 1);
	if (ui_rc_open(&scene.ui->rc, true))
		abort();
	scene_keys(&scene, 80, 24, "xS");
	ui_rc_close(&scene.ui->rc);
	scene_close(&scene);
	setenv("XDG_CONFIG_HOME", folder, 1);
	snprintf(path, sizeof(path), "%s/xtop/xtoprc", folder);
	text = file_read(path);
	check(strstr(text, "pass-through = shown\n"), "the pass-through setting is written: %s",
	      text);
	free(text);
	if (ui_rc_open(&rc, false) || ui_rc_read(&rc))
		abort();
	check(!rc.fold, "the pass-through setting is read");
	ui_rc_close(&rc);
	unlink(path);
	snprintf(path, sizeof(path), "%s/xtop", folder);
	rmdir(path);
	rmdir(folder);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_views();
	test_zoom();
	test_callers();
	test_filter();
	test_kept();
	return tap_done();
}
