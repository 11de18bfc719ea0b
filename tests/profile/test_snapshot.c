/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slot with two threads: snapshots are whole, names can be read, requests are answered. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include <pthread.h>
#include <sched.h>

#define N_PUBLISHED 20000

static struct snapshot *numbered(uint64_t sequence)
{
	struct snapshot *snapshot = snapshot_create(1 + sequence % 7);

	snapshot->sequence = sequence;
	for (size_t i = 0; i < snapshot->n_nodes; i++)
		snapshot->nodes[i].self_total = sequence;
	return snapshot;
}

static void test_slot(void)
{
	struct snapshot_slot *slot;
	struct snapshot *taken;

	must(snapshot_slot_create(&slot));
	check(!snapshot_wanted(slot), "a new slot has no request");
	check(!snapshot_take(slot), "a new slot has no snapshot");
	snapshot_request(slot);
	snapshot_request(slot);
	check(snapshot_wanted(slot), "the resolver sees the request");
	snapshot_publish(slot, numbered(1));
	check(!snapshot_wanted(slot), "a published snapshot answers the request");
	snapshot_publish(slot, numbered(2));
	taken = snapshot_take(slot);
	check_u64(taken->sequence, 2, "the reader takes the newest snapshot");
	check(!snapshot_take(slot), "a snapshot can be taken only once");
	snapshot_publish(slot, numbered(3));
	snapshot_slot_destroy(slot); /* leaks are AddressSanitizer's to find */
	snapshot_destroy(taken);
}

struct race {
	struct snapshot_slot *slot;
	struct frames *frames;
};

/* The next snapshot. It has a new frame, named by the snapshot's number. */
static struct snapshot *named(struct race *race, uint64_t sequence)
{
	struct snapshot *snapshot = numbered(sequence);
	char name[24];

	snprintf(name, sizeof(name), "%" PRIu64, sequence);
	stacks_frame(race->frames, name);
	snapshot->frames = race->frames;
	snapshot->n_frames = frames_count(race->frames);
	return snapshot;
}

/* Every other snapshot is published without a request, so that some replace an untaken one. */
static void *publisher(void *context)
{
	struct race *race = context;

	for (uint64_t sequence = 1; sequence <= N_PUBLISHED; sequence++) {
		while (sequence % 2 && !snapshot_wanted(race->slot))
			sched_yield();
		snapshot_publish(race->slot, named(race, sequence));
	}
	return NULL;
}

static bool is_whole(const struct snapshot *snapshot)
{
	const struct frame *frame = frames_get(snapshot->frames, snapshot->n_frames - 1);
	bool whole = strtoull(frame->name, NULL, 10) == snapshot->sequence;

	for (size_t i = 0; i < snapshot->n_nodes; i++)
		whole = whole && snapshot->nodes[i].self_total == snapshot->sequence;
	return whole;
}

static void test_race(void)
{
	struct race race;
	uint64_t last = 0, n = 0;
	bool whole = true, forward = true;
	pthread_t thread;

	must(snapshot_slot_create(&race.slot));
	must(frames_create(NULL, &race.frames));
	snapshot_request(race.slot);
	pthread_create(&thread, NULL, publisher, &race);
	while (last < N_PUBLISHED) {
		struct snapshot *taken = snapshot_take(race.slot);

		if (!taken) {
			sched_yield();
			continue;
		}
		whole = whole && is_whole(taken);
		forward = forward && taken->sequence > last;
		last = taken->sequence;
		n++;
		snapshot_destroy(taken);
		snapshot_request(race.slot);
	}
	pthread_join(thread, NULL);
	snapshot_slot_destroy(race.slot);
	frames_destroy(race.frames);
	check(whole, "%" PRIu64 " of %d taken, all whole, each with its newest name", n,
	      N_PUBLISHED);
	check(forward, "never an older one after a newer one");
}

int main(void)
{
	test_slot();
	test_race();
	snapshot_destroy(NULL);
	return tap_done();
}
