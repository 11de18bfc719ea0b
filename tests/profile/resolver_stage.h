/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stage for tests of the resolver: ring, control, slot and a resolver for the made-up guest of
 * tests/recordings/guest.h.
 */
#ifndef TESTS_PROFILE_RESOLVER_STAGE_H
#define TESTS_PROFILE_RESOLVER_STAGE_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/recordings/guest.h"
#include "tests/support/tap.h"
#include "xtop/base/work.h"
#include "xtop/export/export.h"
#include "xtop/profile/resolver.h"

#define RING_BYTES (16 << 20) /* some 40,000 records: the resolver is busy for a while */
#define WAIT_S     60         /* how long to wait: a slow machine is no failure */

struct stage {
	struct symbols *symbols;
	struct ring *ring;
	struct control *control;
	struct snapshot_slot *slot;
	struct resolver *resolver;
	struct work work; /* the resolver's */
	pthread_t thread;
};

/* SETTINGS has what the stage itself does not fill in. */
static inline void stage_open_settings(struct stage *stage, struct resolver_settings settings)
{
	settings.n_vcpus = 2;
	settings.max_nodes = 4096;
	guest_must(ring_create(RING_BYTES, &stage->ring));
	guest_must(control_create(&stage->control));
	guest_must(snapshot_slot_create(&stage->slot));
	settings.ring = stage->ring;
	settings.control = stage->control;
	settings.slot = stage->slot;
	settings.symbols = stage->symbols;
	stage->work = (struct work){ 0 };
	settings.work = &stage->work;
	guest_must(resolver_create(&settings, &stage->resolver));
}

static inline void stage_open_with(struct stage *stage, bool live, bool with_symbols)
{
	stage->symbols = guest_symbols();
	if (!with_symbols) {
		symbols_destroy(stage->symbols);
		guest_must(symbols_create(&stage->symbols));
	}
	stage_open_settings(stage, (struct resolver_settings){ .live = live });
}

static inline void stage_open(struct stage *stage)
{
	stage_open_with(stage, false, true);
}

static inline void stage_close(struct stage *stage)
{
	snapshot_slot_destroy(stage->slot);
	resolver_destroy(stage->resolver);
	control_destroy(stage->control);
	ring_destroy(stage->ring);
	symbols_destroy(stage->symbols);
}

static inline void stage_add(struct stage *stage, const struct guest_record *record)
{
	resolver_add(stage->resolver, record->words, record->size_bytes);
}

static inline void stage_add_chain(struct stage *stage, const char *chain)
{
	static struct guest_record record;

	guest_begin(&record, 1000000, 1);
	guest_add_chain(&record, 0, chain);
	stage_add(stage, &record);
}

static inline void make_record(struct guest_record *record, const char *chain)
{
	guest_begin(record, 1000, 1);
	guest_add_chain(record, 0, chain);
}

static inline struct snapshot *stage_snapshot(struct stage *stage)
{
	struct snapshot *snapshot;

	guest_must(resolver_snapshot(stage->resolver, &snapshot));
	return snapshot;
}

/* The profile as folded stacks; the caller frees it. */
static inline char *folded(const struct snapshot *snapshot, bool addresses)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	guest_must(
		export_folded(snapshot, &(struct export_settings){ .addresses = addresses }, file));
	fclose(file);
	return text;
}

static inline void check_folded(struct stage *stage, bool addresses, const char *want,
				const char *name)
{
	struct snapshot *snapshot = stage_snapshot(stage);
	char *got = folded(snapshot, addresses);

	for (char *at = got; *at; at++)
		*at = *at == '\n' ? '|' : *at; /* TAP is lines */
	check_string(got, want, name);
	free(got);
	snapshot_destroy(snapshot);
}

static inline void *run_resolver(void *context)
{
	resolver_run(context);
	return NULL;
}

static inline void stage_start(struct stage *stage)
{
	if (pthread_create(&stage->thread, NULL, run_resolver, stage->resolver) != 0)
		abort();
}

static inline void stage_finish(struct stage *stage)
{
	control_finish(stage->control);
	pthread_join(stage->thread, NULL);
}

static inline void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* NULL: none came within WAIT_S. Does not sleep, so that the resolver is still at work then. */
static inline struct snapshot *wait_snapshot(struct snapshot_slot *slot)
{
	struct snapshot *snapshot = snapshot_take(slot);
	time_t end = time(NULL) + WAIT_S;

	while (!snapshot && time(NULL) < end) {
		sched_yield();
		snapshot = snapshot_take(slot);
	}
	return snapshot;
}

static inline bool put(struct ring *ring, const struct guest_record *record)
{
	void *room = ring_reserve(ring, record->size_bytes);

	if (!room)
		return false;
	memcpy(room, record->words, record->size_bytes);
	ring_commit(ring, record->size_bytes);
	return true;
}

#endif
