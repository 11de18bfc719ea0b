/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring: empty, full, and wrapped at every place. Then two threads and two processes at full
 * speed, with a checksum in every record.
 *
 * ThreadSanitizer tells memory apart by its address, and the second mapping has other addresses
 * than the first. So it sees every race on head and tail and on records that do not cross the end.
 * When a record crosses the end, it compares the part in the second mapping with other such
 * parts only. The checksums cover both.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/sample/ring.h"

#define RING_BYTES  4096
#define RECORD_HEAD sizeof(uint64_t)

static struct ring *create(size_t size_bytes)
{
	struct ring *ring = NULL;
	struct xtop_error *error = ring_create(size_bytes, &ring);

	if (error) {
		printf("Bail out! %s\n", error_message(error));
		exit(99);
	}
	return ring;
}

static unsigned char pattern(size_t record, size_t i)
{
	return (unsigned char)(record * 31 + i * 7 + (i >> 8));
}

static bool put(struct ring *ring, size_t record, size_t size_bytes)
{
	unsigned char *room = ring_reserve(ring, size_bytes);

	if (!room)
		return false;
	for (size_t i = 0; i < size_bytes; i++)
		room[i] = pattern(record, i);
	ring_commit(ring, size_bytes);
	return true;
}

/* Checks that the oldest record is RECORD of SIZE_BYTES, and releases it. */
static bool take(struct ring *ring, size_t record, size_t size_bytes)
{
	size_t got_bytes = SIZE_MAX;
	const unsigned char *bytes = ring_peek(ring, &got_bytes);

	if (!bytes || (uintptr_t)bytes % 8 || got_bytes != size_bytes)
		return false;
	for (size_t i = 0; i < size_bytes; i++)
		if (bytes[i] != pattern(record, i))
			return false;
	ring_release(ring);
	return true;
}

static bool is_empty(struct ring *ring)
{
	size_t size_bytes;

	return !ring_peek(ring, &size_bytes) && ring_used_bytes(ring) == 0;
}

static void test_sizes(void)
{
	static const size_t asked[] = { 0, 1, 4096, 4097, 8192, 1000000 },
			    got[] = { 4096, 4096, 4096, 8192, 8192, 1 << 20 };

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct ring *ring = create(asked[i]);

		check_u64(ring_size_bytes(ring), got[i], "the size of a ring is rounded up");
		ring_destroy(ring);
	}
	ring_destroy(NULL);
}

static void test_empty_and_full(void)
{
	struct ring *ring = create(RING_BYTES);
	size_t n = 0;

	check(is_empty(ring), "a new ring is empty");
	check(!ring_reserve(ring, RING_BYTES),
	      "a record of the ring's size does not fit: it has a head");
	check(!ring_reserve(ring, RING_BYTES - RECORD_HEAD + 1),
	      "a record that is one byte too large does not fit");
	check(!ring_reserve(ring, SIZE_MAX) && !ring_reserve(ring, SIZE_MAX - 6),
	      "records of absurd sizes do not fit");
	check(put(ring, 1, RING_BYTES - RECORD_HEAD), "the largest record fits");
	check_u64(ring_used_bytes(ring), RING_BYTES, "bytes in use: the largest record");
	check(!ring_reserve(ring, 0), "a full ring has no room");
	check(take(ring, 1, RING_BYTES - RECORD_HEAD) && is_empty(ring),
	      "the largest record is taken again");
	while (put(ring, n, 24))
		n++;
	check_u64(n, RING_BYTES / 32, "small records until full");
	check(take(ring, 0, 24) && put(ring, n, 24) && !put(ring, n, 24),
	      "a full ring has room for one record after one was released");
	for (size_t i = 1; i <= n; i++)
		if (!take(ring, i, 24))
			check(false, "record %zu", i);
	check(is_empty(ring), "records that were taken in order: all");
	ring_destroy(ring);
}

/* The number of the record that PEEKED is; 0: none. Numbers are their sizes. */
static size_t peek_after(struct ring *ring, uint64_t *position)
{
	size_t size_bytes = 0;

	return ring_peek_after(ring, position, &size_bytes) ? size_bytes : 0;
}

static void test_peek_after(void)
{
	struct ring *ring = create(RING_BYTES);
	uint64_t position = 0;

	check_u64(peek_after(ring, &position), 0, "an empty ring has no next record");
	for (size_t i = 1; i <= 3; i++)
		put(ring, i, i);
	check(peek_after(ring, &position) == 1 && peek_after(ring, &position) == 2,
	      "records one after the other, which stay");
	check(take(ring, 1, 1) && take(ring, 2, 2) && take(ring, 3, 3), "they are taken later");
	check_u64(peek_after(ring, &position), 0, "released records are left out");
	put(ring, 4, 4);
	check_u64(peek_after(ring, &position), 4, "a record that came since");
	check_u64(peek_after(ring, &position), 0, "no further one");
	position += RING_BYTES + 8;
	check_u64(peek_after(ring, &position), 4, "a position that cannot be begins anew");
	ring_destroy(ring);
}

static void test_reserve(void)
{
	struct ring *ring = create(RING_BYTES);
	void *first = ring_reserve(ring, 100);
	size_t size_bytes;

	check(first && (uintptr_t)first % 8 == 0, "a record's room is aligned to 8");
	check(ring_reserve(ring, 2000) == first && ring_reserve(ring, 0) == first,
	      "a second reserve without commit gives the same room");
	check(is_empty(ring), "a record that was not committed cannot be peeked");
	ring_commit(ring, 10); /* less than reserved */
	check(ring_reserve(ring, 0) != first, "the next record has other room");
	check_u64(ring_used_bytes(ring), 24, "bytes in use: head, ten bytes and padding");
	check(ring_peek(ring, &size_bytes) == first && size_bytes == 10,
	      "a record is read where it was written");
	check(ring_peek(ring, &size_bytes) == first, "peek twice is the same");
	ring_release(ring);
	check(is_empty(ring), "bytes in use after the release");
	ring_destroy(ring);
}

static void test_consumed(void)
{
	struct ring *ring = create(RING_BYTES);
	uint64_t first;

	check(ring_committed(ring) == 0 && ring_is_consumed(ring, 0),
	      "an empty ring has consumed all");
	put(ring, 1, 24);
	first = ring_committed(ring);
	put(ring, 2, 24);
	check_u64(first, 32, "bytes that were committed: head and bytes");
	check(!ring_is_consumed(ring, first), "a record is not consumed before it is released");
	take(ring, 1, 24);
	check(ring_is_consumed(ring, first) && !ring_is_consumed(ring, ring_committed(ring)),
	      "the first record is consumed, the second is not");
	take(ring, 2, 24);
	check(ring_is_consumed(ring, ring_committed(ring)), "both records are consumed");
	ring_destroy(ring);
}

/* Every size at every place: the start advances by 8 each round, so each record wraps somewhere. */
static void test_wrap(void)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 63, 64, 1000, 2048, 4080, 4081, 4087, 4088 };
	struct ring *ring = create(RING_BYTES);
	size_t failed = 0;

	for (size_t start = 0; start < RING_BYTES; start += 8) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			failed +=
				!put(ring, start + i, sizes[i]) || !take(ring, start + i, sizes[i]);
		failed += !put(ring, 0, 0) || !take(ring, 0, 0);
	}
	check_u64(failed, 0, "sizes from 0 to the largest, at every place");
	failed = 0;
	for (size_t size = 0; size <= RING_BYTES - RECORD_HEAD; size++)
		failed += !put(ring, size, size) || !take(ring, size, size);
	check_u64(failed, 0, "sizes that were tried: each one");
	ring_destroy(ring);
}

/* --- two sides at once ------------------------------------------------------------------------ */

/* On a busy machine a full or empty ring costs a turn of the scheduler each time. */
#define STRESS_RING_BYTES (16 << 10)
#define STRESS_RECORDS    20000
#define STRESS_MAX_BYTES  600

/* Both sides draw the same sizes. */
static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static void *produce(void *ring)
{
	uint64_t state = 1;

	for (size_t i = 0; i < STRESS_RECORDS; i++) {
		size_t size_bytes = next_random(&state) % STRESS_MAX_BYTES;

		while (!put(ring, i, size_bytes))
			sched_yield();
	}
	return NULL;
}

/* Records that differ from what was sent, or a fill beyond the size. */
static size_t consume(struct ring *ring)
{
	uint64_t state = 1;
	size_t bad = 0, size_bytes;

	for (size_t i = 0; i < STRESS_RECORDS && !bad; i++) {
		while (!ring_peek(ring, &size_bytes))
			sched_yield();
		bad += ring_used_bytes(ring) > ring_size_bytes(ring);
		bad += !take(ring, i, next_random(&state) % STRESS_MAX_BYTES);
	}
	return bad;
}

static void test_threads(void)
{
	struct ring *ring = create(STRESS_RING_BYTES);
	pthread_t producer;

	pthread_create(&producer, NULL, produce, ring);
	check_u64(consume(ring), 0, "bad records between two threads");
	pthread_join(producer, NULL);
	check(is_empty(ring), "records left between two threads");
	ring_destroy(ring);
}

static void test_processes(void)
{
	struct ring *ring = create(STRESS_RING_BYTES);
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		produce(ring);
		_exit(0);
	}
	check_u64(consume(ring), 0, "bad records between two processes");
	waitpid(pid, &status, 0);
	check(status == 0 && is_empty(ring), "records left between two processes");
	ring_destroy(ring);
}

/* A third thread may ask for the fill at any time, while both counters change. */
static _Atomic bool watch_ends;

static void *watch(void *context)
{
	struct ring *ring = context;
	size_t beyond = 0;

	while (!watch_ends)
		beyond += ring_used_bytes(ring) > ring_size_bytes(ring);
	return (void *)beyond;
}

static void *produce_small(void *ring)
{
	for (size_t i = 0; i < STRESS_RECORDS; i++)
		while (!put(ring, i, 8))
			sched_yield();
	return NULL;
}

/* Records of a producer that died, one that it had not committed, then those of its successor. */
static void test_take_over(void)
{
	struct ring *ring = create(RING_BYTES);
	pid_t pid = fork();

	if (pid == 0) {
		put(ring, 1, 100);
		put(ring, 2, 200);
		memset(ring_reserve(ring, 300), 0xff, 300);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0) {
		ring_adopt_producer(ring);
		_exit(!put(ring, 3, 300));
	}
	waitpid(pid, NULL, 0);
	check(take(ring, 1, 100) && take(ring, 2, 200), "a record of the first producer");
	check(take(ring, 3, 300), "a record of the second producer");
	check(!ring_peek(ring, &(size_t){ 0 }), "no record but those of both producers");
	ring_destroy(ring);
}

static void test_fill(void)
{
	struct ring *ring = create(STRESS_RING_BYTES);
	pthread_t watcher, producer;
	void *beyond;

	pthread_create(&watcher, NULL, watch, ring);
	pthread_create(&producer, NULL, produce_small, ring);
	for (size_t i = 0; i < STRESS_RECORDS; i++)
		while (!take(ring, i, 8))
			sched_yield();
	watch_ends = true;
	pthread_join(producer, NULL);
	pthread_join(watcher, &beyond);
	check_u64((size_t)beyond, 0, "fills seen beyond the size");
	ring_destroy(ring);
}

/* --- the other side is not trusted ------------------------------------------------------------ */

/*
 * head and tail are on the page before the bytes (ring.c). Whatever the consumer's process writes
 * there, the producer gets room inside the ring or none.
 */
static void test_hostile_consumer(void)
{
	static const uint64_t tails[] = {
		0, 8, 4096, 4104, 1 << 20, UINT64_MAX, UINT64_MAX - 4095, 1ULL << 63
	};
	struct ring *ring = create(RING_BYTES);
	char *bytes = (char *)ring_reserve(ring, 0) - RECORD_HEAD;
	uint64_t *tail = (uint64_t *)(void *)(bytes - RING_BYTES + 64);
	size_t outside = 0;

	for (size_t round = 0; round < 4000; round++) {
		char *room;

		*tail = tails[round % (sizeof(tails) / sizeof(tails[0]))];
		room = ring_reserve(ring, round % RING_BYTES);
		if (!room)
			continue;
		outside += room < bytes || room + round % RING_BYTES > bytes + 2 * RING_BYTES;
		memset(room, 0xff, round % RING_BYTES);
		ring_commit(ring, round % RING_BYTES);
	}
	check_u64(outside, 0, "rooms outside the ring");
	check(ring_used_bytes(ring) <= RING_BYTES, "use stays within the size");
	ring_destroy(ring);
}

int main(void)
{
	test_sizes();
	test_empty_and_full();
	test_peek_after();
	test_reserve();
	test_consumed();
	test_wrap();
	test_threads();
	test_processes();
	test_take_over();
	test_fill();
	test_hostile_consumer();
	return tap_done();
}
