/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the screen costs. Measures the refresh of each view (selection, query, drawing on a canvas)
 * with 100,000 nodes, adding a snapshot to the history, and the time from a key to its picture
 * while another thread adds 10,000 samples a second. Prints numbers; compares nothing.
 *
 *	make && tests/bench/bench_screen
 *	tests/bench/bench_screen baseline       only this view, for callgrind
 */
#include "config.h"

#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/must.h"
#include "ui/ui.h"
#include "xtop/base/clock.h"
#include "xtop/profile/profile.h"

#define DEPTH       16
#define N_FUNCTIONS 4000
#define N_NODES     100000
#define ROUNDS      31
#define NS_PER_S    1000000000ULL

static struct frames *frames;
static struct profile *profile;
static uint32_t functions[N_FUNCTIONS], processes[8];
static uint64_t sequence, state = 88172645463325252;

static uint64_t random_next(void) /* xorshift64 */
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void add_stack(uint64_t time_ns)
{
	uint32_t stack[DEPTH + 1] = { processes[random_next() % 8] };

	for (unsigned i = 1; i <= DEPTH; i++)
		stack[i] = functions[(i * 131 + random_next() % (i < DEPTH / 2 ? 2 : 40)) %
				     N_FUNCTIONS];
	profile_add(profile, stack, DEPTH + 1, time_ns, 1, 1);
}

static void fill(void)
{
	char name[128];

	must_or_die(frames_create(NULL, &frames));
	must_or_die(profile_create(PROFILE_MAX_NODES, 10 * NS_PER_S, frames, &profile));
	for (unsigned i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "process%u", i);
		processes[i] = frames_intern_process(frames, name, "");
	}
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "some_function_of_the_guest_that_has_a_name_%u", i);
		functions[i] =
			frames_intern(frames, i % 2 ? FRAME_KIND_KERNEL : FRAME_KIND_USERLAND, name,
				      i % 2 ? "[kernel]" : "libsome.so.1", 64 * i);
	}
	while (profile_nodes(profile) + DEPTH < N_NODES)
		add_stack(NS_PER_S);
}

static struct snapshot *snapshot_now(void)
{
	struct snapshot *snapshot;

	must_or_die(profile_copy(profile, (100 + sequence) * NS_PER_S, &snapshot));
	snapshot->sequence = ++sequence;
	snapshot->resolver.samples = snapshot->nodes[0].children_total;
	snapshot->resolver.weight = snapshot->total_weight;
	snapshot->run->n_vcpus = 2;
	return snapshot;
}

static int compare_u64(const void *a, const void *b)
{
	return (*(const uint64_t *)a > *(const uint64_t *)b) -
	       (*(const uint64_t *)a < *(const uint64_t *)b);
}

static void print_times(const char *what, uint64_t times[ROUNDS])
{
	qsort(times, ROUNDS, sizeof(*times), compare_u64);
	printf("%7d nodes: %-34s %8.2f ms median, %.2f worst of %d\n", N_NODES, what,
	       (double)times[ROUNDS / 2] / 1e6, (double)times[ROUNDS - 1] / 1e6, ROUNDS);
}

static void type(struct ui *ui, const char *text)
{
	for (; *text; text++)
		ui_handle(ui, &(struct input){ .code = (uint32_t)*text });
}

static const char *only; /* the view to measure; NULL: all */

static void bench_view(struct ui *ui, struct canvas *canvas, const char *way, const char *what)
{
	uint64_t take[ROUNDS], refresh[ROUNDS];

	type(ui, way);
	ui_draw(ui, canvas);
	if (only && strcmp(only, what) != 0)
		return;
	for (int round = 0; round < ROUNDS; round++) {
		struct snapshot *snapshot;
		uint64_t start;

		for (int i = 0; i < 20; i++)
			add_stack((100 + sequence) * NS_PER_S);
		start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		snapshot = snapshot_now();
		take[round] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		ui_show(ui, snapshot);
		ui_draw(ui, canvas);
		refresh[round] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	if (!*way)
		print_times("snapshot", take);
	print_times(what, refresh);
}

static void bench_history(void)
{
	struct history *history;
	uint64_t times[ROUNDS];

	must_or_die(history_create(&history));
	for (int round = 0; round < ROUNDS; round++) {
		struct snapshot *snapshot = snapshot_now();
		uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		history_add(history, snapshot);
		times[round] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		snapshot_destroy(snapshot);
	}
	print_times("of which into the history", times);
	history_destroy(history);
}

/* --- from a key to the screen while 10,000 samples a second are added ------------------------- */

static atomic_bool stop;
static struct snapshot_slot *slot;

static void *resolve(void *context)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC), added = 0;

	(void)context;
	while (!atomic_load(&stop)) {
		const struct timespec nap = { .tv_nsec = 5000000 };

		for (; added < (clock_ns(CLOCK_MONOTONIC) - start) / 100000; added++)
			add_stack((100 + sequence) * NS_PER_S);
		if (snapshot_wanted(slot))
			snapshot_publish(slot, snapshot_now());
		nanosleep(&nap, NULL);
	}
	return NULL;
}

static void bench_key(struct ui *ui, struct canvas *canvas)
{
	static const char *const keys_[] = { "t", "E", "f", "p", "a", "1", "2", "b", "a" };
	uint64_t times[ROUNDS];
	pthread_t thread;

	if (pthread_create(&thread, NULL, resolve, NULL))
		abort();
	for (int round = 0; round < ROUNDS; round++) {
		const struct timespec nap = { .tv_nsec = 20000000 };
		bool changed;
		uint64_t start;

		nanosleep(&nap, NULL);
		start = clock_ns(CLOCK_MONOTONIC);
		ui_tick(ui, start, 0, &changed);
		type(ui, keys_[(size_t)round % (sizeof(keys_) / sizeof(keys_[0]))]);
		ui_draw(ui, canvas);
		times[round] = clock_ns(CLOCK_MONOTONIC) - start;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	print_times("key to screen, 10,000 samples/s", times);
}

/* --- instructions ----------------------------------------------------------------------------- */

#define N_INSTRUCTIONS 10000

/*
 * A function of 10,000 instructions of four bytes: loads, and jumps to and fro. Its samples are at
 * one of ten. Code that changes with each refresh is decoded again each time.
 */
static struct annotation *make_annotation(uint32_t frame, bool changes)
{
	static const uint8_t load[] = { 0x48, 0x8b, 0x43, 0x18 };
	static const uint8_t branch[] = { 0x74, 0x20, 0x66, 0x90 };
	struct annotation *annotation = calloc(1, sizeof(*annotation));
	static uint64_t version = 1;

	annotation->frame = frame;
	annotation->address = 0xffffffff81000000;
	annotation->size_bytes = annotation->n_bytes = 4 * N_INSTRUCTIONS;
	annotation->bytes = malloc(annotation->n_bytes);
	for (uint32_t i = 0; i < N_INSTRUCTIONS; i++)
		memcpy(annotation->bytes + 4 * i, i % 8 ? load : branch, 4);
	annotation->n_counts = N_INSTRUCTIONS / 10;
	annotation->counts = calloc(annotation->n_counts, sizeof(annotation->counts[0]));
	for (uint32_t i = 0; i < annotation->n_counts; i++)
		annotation->counts[i] = (struct annotation_count){ 40 * i, 1, 1, 1 };
	annotation->self_live = annotation->self_ticks = annotation->n_counts;
	annotation->self_samples = annotation->n_counts;
	annotation->version = version += changes;
	return annotation;
}

static void bench_instructions(struct ui *ui, struct canvas *canvas, bool changes, const char *what)
{
	uint64_t times[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct snapshot *snapshot = snapshot_now();
		uint64_t start;

		if (snapshot_annotated(slot) != FRAME_NONE)
			snapshot->annotation = make_annotation(snapshot_annotated(slot), changes);
		type(ui, "h"); /* the picture without the view */
		ui_show(ui, snapshot);
		start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		type(ui, "h"); /* the view: update and drawing */
		ui_draw(ui, canvas);
		times[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	print_times(what, times);
}

static void reset(void *context)
{
	(void)context;
}

int main(int argc, char **argv)
{
	struct canvas *canvas = canvas_create(50, 200, CHARSET_FULL);
	struct ui_pipeline pipeline = { .guest = { "web01", "dom 5", "", 2, 5, NULL }, .reset = reset };
	const struct ui_pipeline *const pipelines[] = { &pipeline };
	struct ui_source source = { .n_pipelines = 1, .pipelines = pipelines };
	struct ui_settings settings = { .interval_s = 0.1, .half_life_s = 10 };
	struct ui *ui;

	only = argc > 1 ? argv[1] : NULL;
	setlocale(LC_CTYPE, "C.UTF-8");
	must_or_die(snapshot_slot_create(&slot));
	pipeline.slot = slot;
	fill();
	must_or_die(ui_create(&settings, &source, &ui));
	ui->now_ns = NS_PER_S;
	ui_show(ui, snapshot_now());
	bench_view(ui, canvas, "", "top");
	if (!only)
		bench_history();
	bench_view(ui, canvas, "+j+j+j+", "top, 4 unfolded");
	bench_view(ui, canvas, "\\guest_[13]\n", "top, filtered");
	bench_view(ui, canvas, "\\\025\n", "top, filter off"); /* Ctrl-U */
	bench_view(ui, canvas, "K", "top, no kernel");
	bench_view(ui, canvas, "K\n", "callers and callees");
	bench_view(ui, canvas, "t", "call tree, closed");
	bench_view(ui, canvas, "E", "call tree, all open");
	bench_view(ui, canvas, "I", "call tree, inverted, closed");
	bench_view(ui, canvas, "E", "call tree, inverted, all open");
	bench_view(ui, canvas, "f", "flame");
	bench_view(ui, canvas, "I", "flame, inverted");
	bench_view(ui, canvas, "p", "processes and modules");
	bench_view(ui, canvas, "b", "baseline");
	type(ui, "a");
	if (!only || !strcmp(only, "instructions")) {
		type(ui, "m");
		bench_instructions(ui, canvas, false, "10,000 instructions");
		bench_instructions(ui, canvas, true, "the same, code changes");
		type(ui, "j");
		bench_instructions(ui, canvas, true, "and jumps are drawn");
		type(ui, "q");
	}
	if (!only)
		bench_key(ui, canvas);
	ui_destroy(ui);
	snapshot_slot_destroy(slot);
	profile_destroy(profile);
	frames_destroy(frames);
	canvas_destroy(canvas);
	return 0;
}
