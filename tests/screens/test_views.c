/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Golden screens of every view, each on a usual, a wide and a tiny screen, and its styles. */
#include "config.h"

#include <locale.h>

#include "scene.h"

/* Ten refreshes in which md5sum comes and goes, so that the history has something to show. */
static void scene_open_lively(struct scene *scene)
{
	scene_open(scene);
	fixture_fill(&scene->fixture);
	for (int i = 0; i < 10; i++) {
		struct snapshot *snapshot;

		fixture_add(&scene->fixture, "httpd _start main httpd_serve write", 40);
		fixture_add(&scene->fixture, "gzip _start main deflate_slow", 20 + 10 * (i % 3));
		if (i >= 3 && i < 7)
			fixture_add(&scene->fixture,
				    "md5sum _start main md5_file md5_process_block", 60 * (i - 2));
		snapshot = fixture_snapshot(&scene->fixture, 2);
		snapshot->run->vcpus[0].last_frame = fixture_frame(&scene->fixture, "deflate_slow");
		fixture_overhead(snapshot);
		scene->ui->now_ns += SECOND;
		ui_show(scene->ui, snapshot);
	}
}

static void views_check(struct scene *scene, const char *name)
{
	static const struct {
		int columns, rows;
	} sizes[] = { { 80, 24 }, { 120, 40 }, { 40, 10 } };
	char *styles, file[128];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(file, sizeof(file), "view-%s-%dx%d", name, sizes[i].columns,
			 sizes[i].rows);
		scene_draw(scene, sizes[i].columns, sizes[i].rows, NULL, NULL);
		screen_check(scene, file, sizes[i].columns, sizes[i].rows);
	}
	scene_draw(scene, 80, 24, NULL, &styles);
	snprintf(file, sizeof(file), "view-%s-80x24-styles", name);
	golden_check(file, styles);
	free(styles);
}

static void test_views(void)
{
	struct scene scene;

	scene_open_lively(&scene);
	views_check(&scene, "top");
	scene_keys(&scene, 80, 24, "t");
	views_check(&scene, "tree");
	scene_keys(&scene, 80, 24, "+jj+");
	views_check(&scene, "tree-open");
	scene_keys(&scene, 80, 24, "E");
	views_check(&scene, "tree-all");
	scene_keys(&scene, 80, 24, "CIj+");
	views_check(&scene, "tree-inverted");
	scene_keys(&scene, 80, 24, "f");
	views_check(&scene, "flame");
	scene_keys(&scene, 80, 24, "<Down><Down><Down><Down>");
	views_check(&scene, "flame-moved");
	scene_keys(&scene, 80, 24, "<Enter>/tcp_<Enter>");
	views_check(&scene, "flame-zoomed");
	scene_keys(&scene, 80, 24, "<Esc>I");
	views_check(&scene, "flame-inverted");
	scene_keys(&scene, 80, 24, "v");
	views_check(&scene, "vcpus");
	scene_keys(&scene, 80, 24, "p");
	views_check(&scene, "groups");
	scene_click(&scene, 80, 24, 4, 35);
	screen_contains(&scene, 80, 24, "Children▾     Self", true);
	scene_keys(&scene, 80, 24, ">");
	screen_contains(&scene, 80, 24, "Self▾", true);
	scene_keys(&scene, 80, 24, "<");
	scene_click(&scene, 80, 24, 4, 48);
	screen_contains(&scene, 80, 24, "Self▾", true);
	scene_click(&scene, 80, 24, 4, 60);
	screen_contains(&scene, 80, 24, "Self▾", true);
	scene_keys(&scene, 80, 24, "o");
	views_check(&scene, "overhead");
	scene_keys(&scene, 80, 24, "<F2>");
	views_check(&scene, "choose");
	scene_keys(&scene, 80, 24, "<Esc>ah");
	views_check(&scene, "help-top");
	scene_close(&scene);
}

static void test_baseline(void)
{
	struct scene scene;

	scene_open_lively(&scene);
	scene_keys(&scene, 80, 24, "b");
	fixture_add(&scene.fixture, "httpd _start main -tcp_retransmit_skb", 500);
	fixture_add(&scene.fixture, "gzip _start main deflate_slow", 2000);
	scene.ui->now_ns += 60 * SECOND;
	ui_show(scene.ui, fixture_snapshot(&scene.fixture, 2));
	views_check(&scene, "baseline");
	scene_close(&scene);
}

static bool interpreters;

static bool toggle_interpreters(void *context)
{
	(void)context;
	interpreters = !interpreters;
	return interpreters;
}

/* Whose functions new stacks have is the resolver's matter: the key asks, and the header tells. */
static void test_interpreters(void)
{
	struct scene scene;
	struct snapshot *snapshot;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "Y");
	screen_contains(&scene, 80, 24, "Y is for a guest or a recording that is being read", true);
	scene.pipeline.toggle_interpreters = toggle_interpreters;
	scene_keys(&scene, 80, 24, "Y");
	screen_contains(&scene, 80, 24, "from now on stacks have the functions of interpreters",
			true);
	check(interpreters, "the key asks for the interpreters' functions");
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->interpreters = true;
	ui_show(scene.ui, snapshot);
	scene_keys(&scene, 80, 24, "j");
	screen_contains(&scene, 80, 24, "interpreters (Y)", true);
	scene_keys(&scene, 80, 24, "Y");
	screen_contains(&scene, 80, 24, "functions of interpreted programs", true);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->at_end = true;
	ui_show(scene.ui, snapshot);
	scene_keys(&scene, 80, 24, "Y");
	screen_contains(&scene, 80, 24, "--interpreters is for all", true);
	screen_contains(&scene, 80, 24, "interpreters (Y)", false);
	check(!interpreters, "at the end of a recording the key changes nothing");
	scene_close(&scene);
}

/* The timers of vCPUs, which are known while tasks that wait are looked at. */
static void test_timers(void)
{
	struct scene scene;
	struct snapshot *snapshot;

	scene_open_lively(&scene);
	scene_keys(&scene, 80, 24, "v");
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->clocks = (struct clocks){ .at_ns = 100 * SECOND };
	clocks_set(&snapshot->clocks, CLOCK_GUEST, 7 * SECOND);
	snapshot->run->vcpus[0].timer_read_ns = snapshot->run->vcpus[1].timer_read_ns =
		101 * SECOND;
	snapshot->run->vcpus[0].timer_ns = 8 * SECOND + 3200000;
	snapshot->run->vcpus[1].timer_ns = OS_NO_TIMER;
	snapshot->run->events = calloc(2, sizeof(*snapshot->run->events));
	snapshot->run->events[0] = (struct os_events){
		.known = true,
		.timer = true,
		.ipis = 5,
		.virqs = 1,
		.domains = 3,
		.names = "vbd/51712, vif/0, port 2",
	};
	scene.ui->now_ns += SECOND;
	ui_show(scene.ui, snapshot);
	screen_check(&scene, "view-vcpus-timer-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "<Down>");
	screen_check(&scene, "view-vcpus-no-timer-80x24", 80, 24);
	scene_close(&scene);
}

/*
 * vCPU 0 waits for spinlocks most of its time, vCPU 1 seldom. After a refresh without such waits,
 * their places stay.
 */
static void test_lock_waits(void)
{
	struct scene scene;
	struct snapshot *snapshot;

	scene_open_lively(&scene);
	scene_keys(&scene, 80, 24, "v");
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->vcpus[0].states[VCPU_LOCK_WAIT] = 1500;
	snapshot->run->vcpus[1].states[VCPU_LOCK_WAIT] = 30;
	snapshot->resolver.states[VCPU_LOCK_WAIT] = 1530;
	scene.ui->now_ns += SECOND;
	ui_show(scene.ui, snapshot);
	views_check(&scene, "lock-waits");
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->vcpus[0].states[VCPU_LOCK_WAIT] = 1500;
	snapshot->run->vcpus[1].states[VCPU_LOCK_WAIT] = 30;
	snapshot->resolver.states[VCPU_LOCK_WAIT] = 1530;
	scene.ui->now_ns += SECOND;
	ui_show(scene.ui, snapshot);
	views_check(&scene, "lock-waits-over");
	scene_close(&scene);
}

/* The selected vCPU's hypercalls; a vCPU that was unplugged. */
static void test_calls(void)
{
	struct scene scene;
	struct snapshot *snapshot;

	scene_open_lively(&scene);
	scene_keys(&scene, 80, 24, "v");
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->calls = calloc(snapshot->run->n_vcpus, sizeof(*snapshot->run->calls));
	snapshot->run->calls[0].calls[0] = (struct snapshot_call){
		fixture_frame(&scene.fixture, "xen_hypercall_event_channel_op"), 90
	};
	snapshot->run->calls[0].calls[1] =
		(struct snapshot_call){ fixture_frame(&scene.fixture, "xen_hypercall_sched_op"),
					240 };
	snapshot->run->vcpus[1].states[VCPU_OFFLINE] = 1e6;
	scene.ui->now_ns += SECOND;
	ui_show(scene.ui, snapshot);
	views_check(&scene, "calls");
	scene_close(&scene);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_views();
	test_baseline();
	test_lock_waits();
	test_timers();
	test_interpreters();
	test_calls();
	return tap_done();
}
