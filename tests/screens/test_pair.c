/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two guests against each other, by the key d: each has a table of names of its own, in another
 * order and with code at other addresses. Golden screens of the views that compare, and what keys
 * do there.
 *
 *	            web01   web02, of 10,000 samples each
 *	copy_user    2240    1000     below tcp_sendmsg: web01 sends more
 *	longest      1000    3000     gzip works more in web02
 *	md5          6000    6000     the same
 *	old           760       -     only in web01
 */
#include "config.h"

#include <locale.h>

#include "fixture.h"
#include "golden.h"
#include "tests/support/must.h"

#define SECOND   FIXTURE_NS
#define N_GUESTS 3

struct duel {
	struct fixture fixtures[N_GUESTS];
	struct ui_settings settings;
	struct ui_pipeline pipelines[N_GUESTS];
	const struct ui_pipeline *shown[N_GUESTS];
	struct ui_source source;
	struct ui *ui;
	unsigned resets[N_GUESTS];
	uint64_t seconds;
};

static const char *const names[N_GUESTS] = { "web01", "web02", "web03" };

static void duel_reset(void *context)
{
	++*(unsigned *)context;
}

/* The message, state and losses of the second guest. */
static const char *message = "";
static enum sampler_state state = SAMPLER_RUNNING;
static uint64_t lost;

static const char *duel_message(void *context)
{
	(void)context;
	return message;
}

static void duel_fill(struct duel *duel, size_t guest)
{
	struct fixture *fixture = &duel->fixtures[guest];

	fixture->shift = guest * 0x10000;
	if (guest == 0) {
		fixture_add(fixture, "httpd _start main -tcp_sendmsg -copy_user", 2240);
		fixture_add(fixture, "gzip _start main deflate_slow longest", 1000);
		fixture_add(fixture, "md5sum _start main md5_process_block", 6000);
		fixture_add(fixture, "app _start old", 760);
		return;
	}
	fixture_add(fixture, "md5sum _start main md5_process_block", 6000);
	fixture_add(fixture, "gzip _start main deflate_slow longest", 3000);
	fixture_add(fixture, "httpd _start main -tcp_sendmsg -copy_user", 1000);
}

/* As the resolver has them: samples that are worth what they are, in 60 batches. */
static struct snapshot *duel_snapshot(struct duel *duel, size_t guest)
{
	struct snapshot *snapshot = fixture_snapshot(&duel->fixtures[guest], 2);
	double samples = (double)duel->fixtures[guest].samples;

	snapshot->effects = calloc(snapshot->n_frames, sizeof(*snapshot->effects));
	for (uint32_t i = 0; i < snapshot->n_frames; i++)
		snapshot->effects[i] = (struct snapshot_effect){ 1, 1, 1, 1 };
	snapshot->worth_live = snapshot->worth_total = (struct batches_worth){ 60, samples };
	if (guest == 1) {
		snapshot->run->sampler.state = state;
		snapshot->run->sampler.lost = lost;
		snapshot->run->sampler.stopped_share = 0.0061;
	}
	snapshot->run->vcpus[1].last_frame = snapshot->nodes[snapshot->n_nodes - 1].frame;
	return snapshot;
}

static void duel_show(struct duel *duel, size_t guest)
{
	bool changed;

	snapshot_publish(duel->pipelines[guest].slot, duel_snapshot(duel, guest));
	ui_tick(duel->ui, (100 + ++duel->seconds) * SECOND, 1700000000, &changed);
}

static void duel_open(struct duel *duel, size_t n)
{
	*duel = (struct duel){
		.settings = { .interval_s = 1, .half_life_s = 10, .budget = 0.01 },
		.source = { .n_pipelines = n, .pipelines = duel->shown },
	};
	for (size_t i = 0; i < n; i++) {
		fixture_create(&duel->fixtures[i]);
		duel_fill(duel, i);
		duel->pipelines[i] = (struct ui_pipeline){
			.context = &duel->resets[i],
			.guest = { names[i], "dom · PVH", "Linux 6.1.0", 2, (uint32_t)i + 5, "PVH" },
			.reset = duel_reset,
			.message = i == 1 ? duel_message : NULL,
		};
		must(snapshot_slot_create(&duel->pipelines[i].slot));
		duel->shown[i] = &duel->pipelines[i];
	}
	must(ui_create(&duel->settings, &duel->source, &duel->ui));
}

static void duel_open_shown(struct duel *duel, size_t n)
{
	duel_open(duel, n);
	for (size_t i = 0; i < n; i++)
		duel_show(duel, i);
}

static void duel_close(struct duel *duel)
{
	ui_destroy(duel->ui);
	for (size_t i = 0; i < duel->source.n_pipelines; i++) {
		snapshot_slot_destroy(duel->pipelines[i].slot);
		fixture_destroy(&duel->fixtures[i]);
	}
}

static void duel_keys(struct duel *duel, const char *script)
{
	screen_keys(duel->ui, 80, 24, script);
}

static void duel_golden(struct duel *duel, const char *script, const char *name)
{
	char *text;

	duel_keys(duel, script);
	screen_draw(duel->ui, 80, 24, &text, NULL);
	golden_check(name, text);
	free(text);
}

/* A line of the screen has both texts; PART NULL: no line has WHAT. */
static void duel_shows(struct duel *duel, const char *what, const char *part)
{
	char *text, *rest, *line;
	bool found = false;

	screen_draw(duel->ui, 80, 24, &text, NULL);
	rest = text;
	while ((line = strsep(&rest, "\n")))
		found |= strstr(line, what) && (!part || strstr(line, part));
	check(found == (part != NULL), "the screen %s \"%s\" with \"%s\"", part ? "has" : "has no",
	      what, part ? part : "");
	free(text);
}

static void test_views(void)
{
	struct duel duel;

	duel_open_shown(&duel, 2);
	duel_golden(&duel, "u1", "pair-margins-80x24");
	duel_keys(&duel, "u2");
	duel_golden(&duel, "d", "pair-baseline-80x24");
	duel_golden(&duel, "tE", "pair-tree-80x24");
	duel_golden(&duel, "f<Down><Down>", "pair-flame-80x24");
	duel_golden(&duel, "a/longest<Enter><Enter>", "pair-callers-80x24");
	duel_golden(&duel, "<Esc><Esc>v", "pair-vcpus-80x24");
	duel_keys(&duel, "d");
	duel_shows(&duel, "against", NULL);
	duel_shows(&duel, "web01", "Tab: 1 more");
	duel_close(&duel);
}

static void test_live(void)
{
	struct duel duel;

	duel_open_shown(&duel, 2);
	duel_keys(&duel, "d");
	duel_shows(&duel, "longest", "-20.00");
	duel_shows(&duel, "fresh", NULL);
	fixture_add(&duel.fixtures[1], "app _start fresh", 10000);
	duel_show(&duel, 1);
	duel_shows(&duel, "fresh", "-50.00");
	duel_shows(&duel, "longest", "-5.00");
	fixture_add(&duel.fixtures[0], "app _start fresh", 10000);
	duel_show(&duel, 0);
	duel_shows(&duel, "fresh", " +0.00");
	duel_keys(&duel, "Z");
	fixture_add(&duel.fixtures[1], "app _start later", 20000);
	duel_show(&duel, 1);
	duel_show(&duel, 0);
	duel_shows(&duel, "fresh", " +0.00");
	duel_shows(&duel, "later", NULL);
	duel_keys(&duel, "Z");
	duel_show(&duel, 0);
	duel_shows(&duel, "later", "-50.00");
	duel_keys(&duel, "z");
	check(duel.resets[0] == 1 && duel.resets[1] == 1, "z resets both guests");
	message = "paused by somebody";
	duel_shows(&duel, "web02: paused by somebody", "");
	message = "";
	duel_close(&duel);
}

/* The header says of both guests how many samples there are, what stops them, how they end. */
static void test_header(void)
{
	struct duel duel;

	duel_open_shown(&duel, 2);
	fixture_add(&duel.fixtures[1], "app _start more", 2345);
	duel_show(&duel, 1);
	duel_keys(&duel, "d");
	duel_shows(&duel, " · 10,000 samples · 3:", "Base web02: stopped 0.61 % · 12,345 samples");
	lost = 7;
	duel_show(&duel, 1);
	duel_shows(&duel, "Base web02: stopped 0.61 %, lost 7 · 12,345 samples", "");
	lost = 0;
	state = SAMPLER_GUEST_PAUSED;
	duel_show(&duel, 1);
	duel_shows(&duel, " web02: paused by an administrator", "");
	state = SAMPLER_GUEST_GONE;
	duel_show(&duel, 1);
	duel_shows(&duel, " web02: the guest is gone: last view", "Base web02: stopped 0.61 %");
	duel_shows(&duel, "longest", "");
	state = SAMPLER_FAILED;
	message = "no memory";
	duel_show(&duel, 1);
	duel_shows(&duel, " web02: sampling failed: no memory", "");
	duel_golden(&duel, "", "pair-failed-80x24");
	state = SAMPLER_RUNNING;
	message = "";
	duel_show(&duel, 1);
	duel_shows(&duel, "failed", NULL);
	duel_close(&duel);
}

/* Places in functions without a symbol go with their functions, whose order is another one here. */
static void test_places(void)
{
	struct duel duel;
	struct snapshot *snapshot;
	bool changed;

	duel_open(&duel, 2);
	fixture_add(&duel.fixtures[0], "app _start app+0x1000", 500);
	fixture_add(&duel.fixtures[0], "app _start app+0x2000", 500);
	duel.fixtures[1].shift = 0;
	fixture_add(&duel.fixtures[1], "app _start app+0x2000", 500);
	snapshot = duel_snapshot(&duel, 0);
	snapshot->n_places = 2;
	snapshot->places[0].frame = fixture_frame(&duel.fixtures[0], "app+0x1000");
	snapshot->places[0].distance_bytes = 0x5f;
	snapshot->places[1].frame = fixture_frame(&duel.fixtures[0], "app+0x2000");
	snapshot->places[1].distance_bytes = 0x6f;
	snapshot_publish(duel.pipelines[0].slot, snapshot);
	ui_tick(duel.ui, 100 * SECOND, 1700000000, &changed);
	duel_show(&duel, 1);
	duel_keys(&duel, "dVq");
	duel_shows(&duel, "app+0x1000 (0x105f)", "");
	duel_shows(&duel, "app+0x2000 (0x106f)", "");
	duel_close(&duel);
}

static void test_ways(void)
{
	struct duel duel;

	duel_open(&duel, 2);
	duel_show(&duel, 0);
	duel_keys(&duel, "d");
	duel_shows(&duel, "there is no picture of web02 yet", "");
	duel_show(&duel, 1);
	duel_keys(&duel, "d");
	duel_shows(&duel, "web01 against web02", "");
	check(ui_view(duel.ui) == &baseline_ops, "d shows the comparison");
	duel_keys(&duel, "b");
	duel_shows(&duel, "the baseline is what web02 does now", "");
	duel_keys(&duel, "<Tab>");
	duel_shows(&duel, "web02 against web01", "");
	duel_shows(&duel, "longest", "+20.00");
	duel_keys(&duel, "\\gzip<Enter>/longest<Enter>q");
	check(ui_view(duel.ui) == &top_ops, "q leaves the comparison's view");
	duel_keys(&duel, "q");
	duel_shows(&duel, " web02 ", "Tab: 1 more");
	check(!duel.ui->quitting, "q leaves the pair for the guest alone");
	duel_shows(&duel, "longest", "");
	duel_keys(&duel, "d");
	duel_shows(&duel, "web02 against web01", "");
	duel_keys(&duel, "B");
	duel_shows(&duel, "against", NULL);
	duel_close(&duel);

	duel_open(&duel, 1);
	duel_show(&duel, 0);
	duel_keys(&duel, "d");
	duel_shows(&duel, "there is no other guest", "");
	duel_close(&duel);

	duel_open_shown(&duel, 3);
	duel_keys(&duel, "d<Tab>");
	duel_shows(&duel, "web02 against web03", "");
	duel_keys(&duel, "<Tab>");
	duel_shows(&duel, "web03 against web01", "");
	duel_close(&duel);
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	test_views();
	test_live();
	test_header();
	test_places();
	test_ways();
	return tap_done();
}
