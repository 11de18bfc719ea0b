/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the profile costs: stacks added per second, a snapshot and the table of functions at 100,000
 * nodes, memory at a million. Prints numbers; compares nothing.
 *
 *	make && tests/bench/bench_profile
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/must.h"
#include "xtop/export/export.h"
#include "xtop/profile/profile.h"
#include "xtop/query/neighbours.h"

#define DEPTH       16
#define N_FUNCTIONS 4000
#define MS          1000000ULL

static uint32_t functions[N_FUNCTIONS];

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* the machine may be shared */
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static uint64_t random_next(uint64_t *state) /* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static struct frames *make_frames(void)
{
	struct frames *frames;

	must_or_die(frames_create(NULL, &frames));
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "some_function_of_the_guest_%u", i);
		functions[i] = frames_intern(frames, FRAME_KIND_KERNEL, name, "[kernel]",
					     0xffffffff81000000 + 64 * i);
	}
	return frames;
}

/* The outer half from a few paths, the inner half from FAN functions a level. */
static void make_stack(uint32_t stack[DEPTH], uint64_t *state, unsigned fan)
{
	for (unsigned i = 0; i < DEPTH; i++) {
		unsigned choices = i < DEPTH / 2 ? 2 : fan;

		stack[i] = functions[(i * 131 + random_next(state) % choices) % N_FUNCTIONS];
	}
}

static void bench_intern(struct frames *frames)
{
	const unsigned n = 4000000;
	uint64_t start = cpu_ns(), sum = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct frame *frame = frames_get(frames, functions[i * 7 % N_FUNCTIONS]);

		sum += frames_intern(frames, frame->kind, frame->raw_name, frame->module,
				     frame->address);
	}
	printf("frames_intern, known names          %8.1f ns (check %" PRIu64 ")\n",
	       (double)(cpu_ns() - start) / n, sum);
}

static void bench_add(const struct frames *frames, const char *what, unsigned n_stacks,
		      unsigned fan)
{
	const unsigned n = 2000000;
	uint32_t(*stacks)[DEPTH] = malloc(n_stacks * sizeof(*stacks));
	struct profile *profile;
	struct snapshot *snapshot;
	uint64_t state = 88172645463325252, start;

	for (unsigned i = 0; i < n_stacks; i++)
		make_stack(stacks[i], &state, fan);
	must_or_die(profile_create(PROFILE_MAX_NODES, 10000 * MS, frames, &profile));
	start = cpu_ns();
	for (unsigned i = 0; i < n; i++)
		profile_add(profile, stacks[i % n_stacks], DEPTH, MS * (i + 1), 1, 1);
	start = cpu_ns() - start;
	must(profile_copy(profile, 0, &snapshot));
	printf("profile_add, %-22s %8.2f M stacks/s (%u stacks of %d, %zu nodes, %" PRIu64
	       " evicted)\n",
	       what, n * 1e3 / start, n_stacks, DEPTH, snapshot->n_nodes,
	       snapshot->resolver.evicted_nodes);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
	free(stacks);
}

static struct profile *fill(const struct frames *frames, size_t n_nodes)
{
	struct profile *profile;
	uint64_t state = 1234567, time_ns = 0;
	uint32_t stack[DEPTH];

	must_or_die(profile_create(PROFILE_MAX_NODES, 10000 * MS, frames, &profile));
	while (profile_nodes(profile) + DEPTH < n_nodes) {
		make_stack(stack, &state, 40);
		profile_add(profile, stack, DEPTH, time_ns += MS, 1, 1);
	}
	return profile;
}

#define ROUNDS 21

static int compare_u64(const void *a, const void *b)
{
	return (*(const uint64_t *)a > *(const uint64_t *)b) -
	       (*(const uint64_t *)a < *(const uint64_t *)b);
}

static void print_median(const char *what, size_t n_nodes, uint64_t times[ROUNDS])
{
	qsort(times, ROUNDS, sizeof(*times), compare_u64);
	printf("%7zu nodes: %-22s %8.2f ms median, %.2f worst of %d\n", n_nodes, what,
	       times[ROUNDS / 2] / 1e6, times[ROUNDS - 1] / 1e6, ROUNDS);
}

static void bench_questions(const struct frames *frames, size_t n_nodes)
{
	struct profile *profile = fill(frames, n_nodes);
	uint64_t copy[ROUNDS], build[ROUNDS], neighbours_times[ROUNDS], start;

	for (int round = 0; round < ROUNDS; round++) {
		struct snapshot *snapshot;
		struct function_table table;
		struct neighbours neighbours;

		start = cpu_ns();
		must_or_die(profile_copy(profile, 0, &snapshot));
		copy[round] = cpu_ns() - start;
		start = cpu_ns();
		must_or_die(functions_build(snapshot, NULL, false, &table));
		build[round] = cpu_ns() - start;
		start = cpu_ns();
		must_or_die(neighbours_build(snapshot, NULL, false, functions[131 * 9], &neighbours));
		neighbours_times[round] = cpu_ns() - start;
		functions_deinit(&table);
		neighbours_deinit(&neighbours);
		snapshot_destroy(snapshot);
	}
	print_median("profile_copy", profile_nodes(profile), copy);
	print_median("functions_build", profile_nodes(profile), build);
	print_median("neighbours_build", profile_nodes(profile), neighbours_times);
	profile_destroy(profile);
}

static void bench_million(const struct frames *frames)
{
	struct profile *profile = fill(frames, PROFILE_MAX_NODES);
	FILE *null = fopen("/dev/null", "w");
	struct snapshot *snapshot;
	uint64_t start;

	printf("%7zu nodes: memory                 %8.1f MiB, %.1f bytes a node\n",
	       profile_nodes(profile), profile_memory_bytes(profile) / 1048576.0,
	       (double)profile_memory_bytes(profile) / profile_nodes(profile));
	must_or_die(profile_copy(profile, 0, &snapshot));
	start = cpu_ns();
	must_or_die(export_folded(snapshot, &(struct export_settings){ 0 }, null));
	printf("%7zu nodes: export_folded          %8.0f ms\n", snapshot->n_nodes,
	       (cpu_ns() - start) / 1e6);
	fclose(null);
	snapshot_destroy(snapshot);
	profile_destroy(profile);
}

int main(void)
{
	struct frames *frames = make_frames();

	bench_intern(frames);
	bench_add(frames, "the same ones again", 1000, 4);
	bench_add(frames, "varied", 40000, 8);
	bench_add(frames, "varied, evicting", 200000, 8);
	bench_add(frames, "never the same", 2000000, 40);
	bench_questions(frames, 100000);
	bench_million(frames);
	frames_destroy(frames);
	return 0;
}
