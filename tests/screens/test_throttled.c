/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Screens of a guest whose budget is used up: for a moment, by one long stop, and all the time. The
 * rate, the meters and the view of vCPUs stay calm, and after a while a line says what is going on.
 */
#include "config.h"

#include <locale.h>

#include "scene.h"

struct throttle {
	struct scene scene;
	uint64_t skipped;
	bool late;                     /* dom0 is slow: ticks are missed, none is skipped */
	struct snapshot_vcpu vcpus[2]; /* vCPUs in the last picture */
	double mean_ns;
	uint64_t max_ns;
	const char *note; /* the resolver's; NULL: none */
};

/* A second in which TAKEN of 99 ticks gave a sample. */
static void throttle_show(struct throttle *throttle, unsigned taken)
{
	struct snapshot *snapshot = fixture_snapshot(&throttle->scene.fixture, 2);

	throttle->skipped += 99 - taken;
	if (throttle->late)
		snapshot->run->sampler.missed = throttle->skipped;
	else
		snapshot->run->sampler.skipped_budget = throttle->skipped;
	snapshot->run->sampler.samples -= throttle->skipped;
	snapshot->run->stopped.mean_ns = throttle->mean_ns;
	snapshot->run->stopped.max_ns = throttle->max_ns;
	if (throttle->note)
		snprintf(snapshot->run->notes[0], sizeof(snapshot->run->notes[0]), "%s",
			 throttle->note);
	for (unsigned i = 0; i < 2; i++) {
		throttle->vcpus[i].states[VCPU_RUNNING] += taken * (60 - 12 * i);
		throttle->vcpus[i].states[VCPU_RUNNABLE] += taken * 5;
		throttle->vcpus[i].states[VCPU_BLOCKED] += taken * (35 + 12 * i);
		throttle->vcpus[i].user += taken * (48 - 10 * i);
		snapshot->run->vcpus[i] = throttle->vcpus[i];
		snapshot->run->vcpus[i].last_frame =
			fixture_frame(&throttle->scene.fixture, "deflate_slow");
	}
	ui_show(throttle->scene.ui, snapshot);
}

static void throttle_open(struct throttle *throttle)
{
	*throttle = (struct throttle){ .mean_ns = 12100, .max_ns = 88000 };
	scene_open_filled(&throttle->scene);
	for (unsigned i = 0; i < 30; i++)
		throttle_show(throttle, 99);
}

/*
 * A stop of 50 ms: for 5 s the budget of 1 % allows no other. The seconds before that count less
 * the older they are: by a half-life of 10 s, 31 s of 99 Hz and then 5 s without a sample are 67.4
 * Hz.
 */
static void test_one_long_stop(void)
{
	struct throttle throttle;

	throttle_open(&throttle);
	throttle.max_ns = 50000000;
	for (unsigned i = 0; i < 5; i++) {
		throttle_show(&throttle, 0);
		screen_contains(&throttle.scene, 80, 24, " 0 of 99 Hz", false);
		screen_contains(&throttle.scene, 80, 24, "busy 0 ", false);
		screen_contains(&throttle.scene, 80, 24, "  65   vCPU1", true);
	}
	screen_contains(&throttle.scene, 80, 24, "67.4 of 99 Hz (budget)", true);
	screen_check(&throttle.scene, "throttled-moment-80x24", 80, 24);
	scene_keys(&throttle.scene, 80, 24, "v");
	screen_check(&throttle.scene, "throttled-moment-vcpus-80x24", 80, 24);
	scene_close(&throttle.scene);
}

/* Stops of 1.1 ms, always. */
static void test_costly_stops(void)
{
	struct throttle throttle;

	throttle_open(&throttle);
	throttle.mean_ns = 1100000;
	throttle.max_ns = 3300000;
	for (unsigned i = 0; i < 8; i++)
		throttle_show(&throttle, 9);
	screen_contains(&throttle.scene, 80, 24, "--budget", false);
	for (unsigned i = 0; i < 40; i++)
		throttle_show(&throttle, 9);
	screen_check(&throttle.scene, "throttled-80x24", 80, 24);
	screen_contains(&throttle.scene, 120, 30,
			"stops take 1.1 ms: 9.09 Hz with --budget=1, 99 Hz with --budget=12",
			true);
	scene_keys(&throttle.scene, 80, 24, "[");
	screen_contains(&throttle.scene, 80, 24, "12 of 99 Hz (budget)", true);
	screen_contains(&throttle.scene, 80, 24, "with --budget=12", true);
	for (unsigned i = 0; i < 5; i++)
		throttle_show(&throttle, 99);
	scene_keys(&throttle.scene, 80, 24, "Z");
	screen_contains(&throttle.scene, 80, 24, "--budget", false);
	throttle.mean_ns = 40000000;
	for (unsigned i = 0; i < 20; i++)
		throttle_show(&throttle, 1);
	screen_contains(&throttle.scene, 80, 24,
			"0.25 Hz with --budget=1, 25 Hz with --budget=100", true);
	scene_close(&throttle.scene);
}

/* The longest line about costly stops fits a narrow terminal whole. */
static void test_very_costly_stops(void)
{
	struct throttle throttle;
	bool changed;

	throttle_open(&throttle);
	throttle.scene.ui->model.budget = 0.0002;
	throttle.mean_ns = throttle.max_ns = 12340000;
	for (unsigned i = 0; i < 48; i++)
		throttle_show(&throttle, 0);
	screen_contains(&throttle.scene, 80, 24,
			"stops take 12.3 ms: 0.0162 Hz with --budget=0.02, "
			"81 Hz with --budget=100",
			true);
	/* Another hint has its turn. */
	throttle.note = "a note";
	throttle_show(&throttle, 0);
	screen_contains(&throttle.scene, 80, 24, "a note", false);
	ui_tick(throttle.scene.ui, 10000000000, 0, &changed);
	screen_contains(&throttle.scene, 80, 24, "a note", true);
	screen_contains(&throttle.scene, 80, 24, "--budget", false);
	ui_tick(throttle.scene.ui, 20000000000, 0, &changed);
	scene_close(&throttle.scene);
}

/* A dom0 without a CPU for the sampler: the rate is lower, and the budget is not to blame. */
static void test_late(void)
{
	struct throttle throttle;

	throttle_open(&throttle);
	throttle.late = true;
	for (unsigned i = 0; i < 40; i++)
		throttle_show(&throttle, 66);
	screen_contains(&throttle.scene, 80, 24, "(budget)", false);
	screen_check(&throttle.scene, "late-80x24", 80, 24);
	scene_close(&throttle.scene);
}

/* A stop of 0.3 s takes half a minute to pay back. */
static void test_paid_back(void)
{
	struct throttle throttle;

	throttle_open(&throttle);
	throttle.max_ns = 300000000;
	for (unsigned i = 0; i < 15; i++)
		throttle_show(&throttle, 0);
	screen_contains(&throttle.scene, 80, 24,
			"a stop of 300 ms takes 30.0 s of the budget of 1 %, 6.0 s of --budget=5",
			true);
	scene_close(&throttle.scene);
}

/* Dom0 does not run for 10 s. Nothing is known about these seconds. */
static void test_gap(void)
{
	struct throttle throttle;

	throttle_open(&throttle);
	screen_contains(&throttle.scene, 80, 24, "?", false);
	throttle.late = true;
	throttle.skipped = 0;
	for (unsigned i = 0; i < 10; i++)
		throttle_show(&throttle, 0);
	throttle_show(&throttle, 99);
	screen_contains(&throttle.scene, 80, 24, "????", true);
	scene_close(&throttle.scene);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_one_long_stop();
	test_costly_stops();
	test_very_costly_stops();
	test_paid_back();
	test_late();
	test_gap();
	return tap_done();
}
