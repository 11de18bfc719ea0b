/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver: takes samples out of the ring, unwinds them, finds names, folds the stacks into the
 * profile, and hands out snapshots. One thread, which owns profile and frames.
 */
#ifndef XTOP_RESOLVER_H
#define XTOP_RESOLVER_H

#include <stdbool.h>

#include "xtop/control.h"
#include "xtop/os.h"
#include "xtop/profile.h"
#include "xtop/recording.h"
#include "xtop/ring.h"
#include "xtop/symbol.h"
#include "xtop/unwind.h"

/*
 * Nodes of the profile of a guest. With three snapshots of it, as many names as FRAMES_MAX and the
 * history all of xtop stays below 128 MiB (tests/screens/test_soak).
 */
#define RESOLVER_MAX_NODES (1U << 17)

struct resolver;

/* All that is lent outlives the resolver. */
struct resolver_settings {
	struct ring *ring;
	struct control *control;
	struct snapshot_slot *slot;
	const struct symbols *symbols;   /* of -k, or the recording's */
	struct os *os;                   /* what runs inside; NULL: nobody looks */
	enum unwind_how how;
	struct recording_writer *writer; /* gets every record; NULL: none */
	struct recorded_memory *recorded; /* what OS looks at, of a recording; NULL: live, or it has none */
	unsigned n_vcpus;
	uint64_t half_life_ns;           /* 0: no decay */
	size_t max_nodes;
	bool live;                       /* samples are of now: the sampler learns from them, weights decay on */
};

struct xtop_error *resolver_create(const struct resolver_settings *settings,
				   struct resolver **resolverp);
void resolver_destroy(struct resolver *resolver); /* NULL allowed; snapshots taken from it die first */

/* The thread's body: until control_finishing() and the ring is drained. */
void resolver_run(struct resolver *resolver);

/*
 * One thread but the resolver's, while that runs: has CALL made on it, between records, and returns
 * when it was.
 */
void resolver_call(struct resolver *resolver, void (*call)(void *context), void *context);
/*
 * On the resolver's thread: the guest has been replaced by another, of N_VCPUS, whose samples come
 * through RING. What is left in the old ring is taken first; the profile goes on.
 */
void resolver_follow(struct resolver *resolver, struct ring *ring, unsigned n_vcpus);

/* One record, as it lies in the ring: what resolver_run() does with each. */
void resolver_add(struct resolver *resolver, const void *record, size_t size_bytes);
/* A snapshot now, for callers without a thread. */
struct xtop_error *resolver_snapshot(struct resolver *resolver, struct snapshot **snapshotp);

#endif
