/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Golden screens of a recording that passed all stages: file, ring, resolver with its thread,
 * snapshot, UI with scripted keys. tests/recordings/record.c makes the recording.
 */
#include "config.h"

#include <locale.h>
#include <pthread.h>
#include <unistd.h>

#include "golden.h"
#include "tests/support/emulated.h"
#include "tests/support/must.h"
#include "xtop/base/cleanup.h"
#include "xtop/profile/resolver.h"
#include "xtop/recording/replay.h"

#define SECOND 1000000000ULL

struct run {
	struct symbols *symbols;
	struct recording_reader *reader;
	struct ring *ring;
	struct control *control;
	struct resolver *resolver;
	struct ui_settings settings;
	struct ui_pipeline pipeline;
	const struct ui_pipeline *pipelines[1];
	struct ui_source source;
	struct ui *ui;
};

/* Runs tests/recordings/record, which is built beside this test, before any thread starts. */
static void make_recording(const char *path)
{
	const char *top = getenv("top_builddir");
	_cleanup_free_ char *command = NULL;

	if (asprintf(&command, "%s %s/tests/recordings/record %s", emulator(),
		     top ? top : ".", path) < 0 ||
	    system(command) != 0) {
		printf("Bail out! no recording\n");
		exit(1);
	}
}

static void *run_resolver(void *context)
{
	resolver_run(context);
	return NULL;
}

/* Plays the whole recording. The resolver's last snapshot then waits in the slot. */
static void run_open(struct run *run, const char *path)
{
	struct resolver_settings settings = { .n_vcpus = 2,
					      .max_nodes = PROFILE_MAX_NODES,
					      .half_life_ns = 10 * SECOND };
	pthread_t thread;

	*run = (struct run){
		.settings = { .interval_s = 1, .half_life_s = 10 },
		.pipeline = { .guest = { "made-up", "recording · PVH", "[kernel]", 2, 0, "PVH" } },
		.pipelines = { &run->pipeline },
		.source = { .n_pipelines = 1, .pipelines = run->pipelines },
	};
	must(symbols_create(&run->symbols));
	must(recording_reader_open(path, run->symbols, &run->reader));
	must(ring_create(sample_size_max(2), &run->ring));
	must(control_create(&run->control));
	must(snapshot_slot_create(&run->pipeline.slot));
	settings.ring = run->ring;
	settings.control = run->control;
	settings.slot = run->pipeline.slot;
	settings.symbols = run->symbols;
	must(resolver_create(&settings, &run->resolver));
	if (pthread_create(&thread, NULL, run_resolver, run->resolver) != 0)
		abort();
	replay_run(run->reader, run->control, run->ring, false);
	pthread_join(thread, NULL);
	must(ui_create(&run->settings, &run->source, &run->ui));
}

static void run_close(struct run *run)
{
	ui_destroy(run->ui);
	snapshot_slot_destroy(run->pipeline.slot);
	resolver_destroy(run->resolver);
	control_destroy(run->control);
	ring_destroy(run->ring);
	recording_reader_close(run->reader);
	symbols_destroy(run->symbols);
}

static void run_check(struct run *run, const char *script, int columns_, int rows, const char *name)
{
	char *text;

	screen_keys(run->ui, columns_, rows, script);
	screen_draw(run->ui, columns_, rows, &text, NULL);
	golden_check(name, text);
	free(text);
}

static void test_screens(const char *path)
{
	struct run run;
	bool changed;

	run_open(&run, path);
	ui_tick(run.ui, 100 * SECOND, 1700000000, &changed);
	check(changed, "a tick that is due takes the last snapshot, too");
	run_check(&run, "", 80, 24, "replayed-top-80x24");
	run_check(&run, "jj<Enter>", 80, 24, "replayed-callers-80x24");
	run_check(&run, "<Esc><Home>", 120, 40, "replayed-top-120x40");
	run_check(&run, "jjjjjj+", 80, 24, "replayed-unfold-80x24");
	run_check(&run, "-\\walk|push<Enter>", 80, 24, "replayed-filter-80x24");
	run_check(&run, "<Esc>tE", 80, 24, "replayed-tree-80x24");
	run_check(&run, "I", 80, 24, "replayed-tree-inverted-80x24");
	run_check(&run, "f<Down><Down>", 80, 24, "replayed-flame-80x24");
	run_check(&run, "v", 80, 24, "replayed-vcpus-80x24");
	run_check(&run, "p", 80, 24, "replayed-groups-80x24");
	run_check(&run, "p<Enter>f", 80, 24, "replayed-module-80x24");
	run_check(&run, "aoq<Esc>", 80, 24, "replayed-end-80x24");
	run_close(&run);
}

int main(void)
{
	char folder[] = "/tmp/xtop-test-replayed-XXXXXX", path[64];

	setlocale(LC_CTYPE, "C.UTF-8");
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/recording", folder);
	make_recording(path);
	test_screens(path);
	unlink(path);
	rmdir(folder);
	return tap_done();
}
