/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring's speed between two threads: records of a few sizes for a fixed count, best of five.
 *
 *   make bench
 */
#include "config.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "xtop/sample/ring.h"

#define BENCH_RING_BYTES (4 << 20)
#define BENCH_ROUNDS     5

struct bench {
	struct ring *ring;
	size_t n_records, size_bytes;
};

static double bench_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *bench_produce(void *context)
{
	const struct bench *bench = context;

	for (size_t i = 0; i < bench->n_records; i++) {
		void *room;

		while (!(room = ring_reserve(bench->ring, bench->size_bytes)))
			;
		memset(room, (int)i, bench->size_bytes);
		ring_commit(bench->ring, bench->size_bytes);
	}
	return NULL;
}

static uint64_t bench_consume(const struct bench *bench)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < bench->n_records; i++) {
		const unsigned char *record;
		size_t size_bytes;

		while (!(record = ring_peek(bench->ring, &size_bytes)))
			;
		for (size_t at = 0; at < size_bytes; at += 64)
			sum += record[at];
		ring_release(bench->ring);
	}
	return sum;
}

static double bench_run(struct bench *bench)
{
	double begin_s = bench_now_s();
	pthread_t producer;

	pthread_create(&producer, NULL, bench_produce, bench);
	bench_consume(bench);
	pthread_join(producer, NULL);
	return bench_now_s() - begin_s;
}

static void bench_size(struct ring *ring, size_t size_bytes, size_t n_records)
{
	struct bench bench = { .ring = ring, .size_bytes = size_bytes, .n_records = n_records };
	double best_s = bench_run(&bench);

	for (unsigned i = 1; i < BENCH_ROUNDS; i++) {
		double seconds = bench_run(&bench);

		if (seconds < best_s)
			best_s = seconds;
	}
	printf("ring: %6zu bytes a record: %8.2f million/s, %8.1f MB/s\n", size_bytes,
	       (double)n_records / best_s * 1e-6,
	       (double)n_records * (double)size_bytes / best_s * 1e-6);
}

int main(void)
{
	struct xtop_error *error;
	struct ring *ring;

	error = ring_create(BENCH_RING_BYTES, &ring);
	if (error) {
		fprintf(stderr, "bench_ring: %s\n", error_message(error));
		return 1;
	}
	bench_size(ring, 64, 10000000);
	bench_size(ring, 256, 5000000);
	bench_size(ring, 2048, 1000000);
	bench_size(ring, 65536, 50000);
	ring_destroy(ring);
	return 0;
}
