/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver takes samples out of the ring, unwinds them, finds names, adds the stacks to the
 * profile, and hands out snapshots. One thread, which owns the profile and the frames.
 */
#ifndef XTOP_RESOLVER_H
#define XTOP_RESOLVER_H

#include <stdbool.h>

#include "xtop/os/os.h"
#include "xtop/profile/profile.h"
#include "xtop/profile/sample_log.h"
#include "xtop/recording/recording.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/symbol/symbol.h"
#include "xtop/unwind/unwind.h"

/*
 * Nodes in the profile of one guest. With three snapshots of such a profile, FRAMES_MAX names and
 * the history, the whole program stays below 128 MiB (tests/screens/test_soak).
 */
#define RESOLVER_MAX_NODES (1U << 17)

/*
 * After control_hurry() the resolver uses at most this much CPU time, and no turn of its loop lasts
 * longer than twice this time. Then it stops reading the guest, and only counts what is left in the
 * ring. The user should wait for 200 ms at most: the rest of that time is for the sampler's end,
 * and for work that the resolver cannot interrupt.
 */
#define RESOLVER_HURRY_NS 50000000

struct resolver;

/* All pointers outlive the resolver. */
struct resolver_settings {
	struct ring *ring;
	struct control *control;
	struct snapshot_slot *slot;
	struct snapshot_slot *waits_slot; /* slot of profiles of waiting tasks; NULL: not wanted */
	const struct symbols *symbols;   /* the files of -k, or the recording's */
	struct work *work;               /* ends when the user is in a hurry; borrowed */
	struct takers_source *takers;    /* who takes the guest's physical CPUs; NULL: not known */
	struct trace_source *trace;      /* Xen's trace; NULL: not known */
	struct os *os;                   /* the system inside the guest; NULL: not looked at */
	enum unwind_how how;
	struct recording_writer *writer; /* gets every record; NULL: nothing is recorded */
	struct recorded_memory *recorded; /* a replay's memory, which OS reads; NULL: no replay */
	struct sample_log *log;          /* keeps each sample; NULL: samples are not kept */
	unsigned n_vcpus;
	uint64_t half_life_ns;           /* 0: no decay */
	size_t max_nodes;
	/*
	 * The run is compared with another one: functions differ by module, not by address.
	 */
	bool compared;
	/*
	 * Also measures how much children's shares vary, which costs a sixth of a sample's time.
	 * Otherwise their effect counts as 1.
	 */
	bool margins;
	const struct snapshot *baseline; /* the other run; NULL: none, or it is not over */
	bool live;                       /* no replay: the sampler learns from the samples, and
					  * weights decay between samples, too */
	/*
	 * Each snapshot in SLOT has the samples since the last snapshot, and the profile begins
	 * anew. Each sample is in exactly one snapshot: see snapshot.before.
	 */
	bool intervals;
	bool lines; /* frames of interpreted programs have lines */
	bool crash; /* the samples are those of crash_sampler_run() */
	/* Gets a snapshot for each second of a replay's clock; NULL: none are made. */
	void (*moment)(void *context, const struct snapshot *snapshot);
	void *moment_context;
};

struct xtop_error *resolver_create(const struct resolver_settings *settings,
				   struct resolver **resolverp);
void resolver_destroy(struct resolver *resolver); /* NULL allowed; destroy its snapshots first */

/*
 * The thread's body. Returns after control_is_finishing(), when the ring is empty; see also
 * RESOLVER_HURRY_NS.
 */
void resolver_run(struct resolver *resolver);

/*
 * Ends the sleep of the resolver's thread. For other threads, after snapshot_request(),
 * control_finish() or control_hurry().
 */
void resolver_wake(struct resolver *resolver);

/*
 * Runs CALL on the resolver's thread, between two records, and returns when CALL has returned. At
 * most one other thread at a time, while resolver_run() runs.
 */
void resolver_call(struct resolver *resolver, void (*call)(void *context), void *context);
/*
 * Another guest with N_VCPUS has taken the old guest's place, and its samples come through RING.
 * The records left in the old ring are added first. The profile goes on. Resolver's thread.
 */
void resolver_switch_guest(struct resolver *resolver, struct ring *ring, unsigned n_vcpus);

/* Adds one record. resolver_run() adds each record of the ring this way. */
void resolver_add(struct resolver *resolver, const void *record, size_t size_bytes);
/* The baseline, translated to the resolver's frames. Lives as long as the resolver. NULL: none. */
const struct snapshot *resolver_get_baseline(const struct resolver *resolver);
/* How much the shares of self, or CHILDREN, vary. Only while no thread runs resolver_run(). */
const struct batches *resolver_get_batches(const struct resolver *resolver, bool children);
/*
 * Builds an annotation of FRAME. It has the weights of SNAPSHOT, the resolver's last one. Only
 * while no thread runs resolver_run().
 */
struct xtop_error *resolver_annotate(struct resolver *resolver, const struct snapshot *snapshot,
				     uint32_t frame, struct annotation **annotationp);
/* Builds a snapshot. Only while no thread runs resolver_run(). */
struct xtop_error *resolver_snapshot(struct resolver *resolver, struct snapshot **snapshotp);
/* Builds a snapshot of the waiting tasks. Only while no thread runs resolver_run(). */
struct xtop_error *resolver_snapshot_waits(struct resolver *resolver, struct snapshot **snapshotp);

/* The recording is about to be closed: later snapshots write nothing to it. */
void resolver_end_recording(struct resolver *resolver);

#endif
