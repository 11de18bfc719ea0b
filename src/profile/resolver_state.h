/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver's state, private to resolver.c, which adds samples to the profiles, to
 * resolver_snapshots.c, which hands out snapshots, and to resolver_exits.c. Resolver's thread,
 * except for the members below LOCK.
 */
#ifndef PROFILE_RESOLVER_STATE_H
#define PROFILE_RESOLVER_STATE_H

#include <pthread.h>

#include "profile/fold.h"
#include "xtop/profile/resolver.h"

#define RESOLVER_AHEAD_SPACES 64

struct resolver {
	struct resolver_settings settings;
	struct frames *frames;
	struct names *names;
	struct profile *profile;
	struct addresses *addresses;
	struct seen_code *code;
	struct runtimes *runtimes;
	struct snapshot *baseline; /* NULL: none */
	struct batches *self, *children;
	struct resolver_exits *exits; /* NULL: Xen is not traced */
	struct takers_table *takers; /* the recording's latest; NULL: none */
	struct waits *waits; /* NULL: nobody has asked for tasks that wait */
	struct crash_report *crash;   /* NULL: not wanted, or not built yet */
	bool seen_first_crash_sample; /* the first sample of crash_sampler_run() has come */
	uint64_t sequence, waits_sequence, resets;
	struct vcpu_times forgotten[GUEST_MAX_VCPUS]; /* the times at the last reset */
	uint64_t latest_ns;    /* time of the latest sample, on the samples' clock */
	uint64_t period_ns;    /* the latest sample's mean time between two ticks */
	uint64_t lag_ns;       /* the longest lag since the last snapshot */
	uint64_t missed_ns;    /* an interval's end for which there was no memory; 0: none */
	size_t record_bytes;   /* the largest record of the last turn that had any */
	uint64_t next_poll_ns; /* time to look for missing names again */
	/* How far resolver_look_ahead() has got in the ring, and a hash table of its processes. */
	uint64_t ahead, ahead_spaces[RESOLVER_AHEAD_SPACES];
	uint64_t next_clocks_ns; /* time to read the clocks again */
	struct clocks clocks, first_clocks; /* newest reading; first one since start or reset */
	/* When the thread first saw control_hurry(); 0: not yet. */
	uint64_t hurry_turn_ns; /* the time in the current turn */
	uint64_t hurry_cpu_ns;  /* the thread's CPU time in the first such turn */
	struct fold fold;      /* resolves samples and counts them */
	struct fold_found_by found_by;
	struct recording_needs needs; /* what a recording needs of the current sample */
	/* LOCK guards the members below. CALL is what another thread runs here; NULL: nothing. */
	pthread_mutex_t lock;
	pthread_cond_t called, wake; /* CALL has returned; the resolver's thread is to wake up */
	bool woken;
	void (*call)(void *context);
	void *call_context;
};

/* --- resolver_state.c ------------------------------------------------------------------------- */

/* Creates the profile of waiting tasks when it is first needed. NULL: out of memory. */
struct waits *resolver_get_waits(struct resolver *resolver);
/* Forgets the profiles and the counts. */
void resolver_forget(struct resolver *resolver);

/* --- resolver_exits.c ------------------------------------------------------------------------- */

/* Keeps what VCPU of the current sample ran, to name exits of its process. */
void resolver_note_vcpu(struct resolver *resolver, const struct sample_vcpu *vcpu);
/* Adds the chunks of Xen's trace that have come. */
void resolver_poll_exits(struct resolver *resolver);
/* Replay a recording's notes. Return false if there is no memory, or if lengths are wrong. */
bool resolver_replay_trace(struct resolver *resolver, const struct recording_note *note,
			   size_t size_bytes);
bool resolver_replay_takers(struct resolver *resolver, const struct recording_note *note,
			    size_t size_bytes);
/* Returns who takes the guest's CPUs; NULL: nobody has looked. The caller frees the table. */
struct takers_table *resolver_get_takers(const struct resolver *resolver);
/* NULL: Xen was not traced. The caller destroys the table. */
struct exits_table *resolver_get_exits(const struct resolver *resolver);
/* Whether FRAME is "[xen]". */
bool resolver_is_xen_row(const struct resolver *resolver, uint32_t frame);
/* Puts rows "[xen]" into SNAPSHOT, which is complete. */
void resolver_add_xen_rows(struct resolver *resolver, struct snapshot *snapshot);
/* Replaces functions of exits by those with a better name. */
void resolver_rename_exits(struct resolver *resolver);
void resolver_reset_exits(struct resolver *resolver);
void resolver_destroy_exits(struct resolver *resolver);

/* --- resolver_snapshots.c --------------------------------------------------------------------- */

/* Puts a snapshot into the slot. If there is no memory for a snapshot, the reader asks again. */
void resolver_publish(struct resolver *resolver, bool at_end);
/* Publishes the waits, if the reader wants them now; at the end, if they were ever wanted. */
void resolver_publish_waits(struct resolver *resolver, bool at_end);
/* MOMENT has the replay's counters after the last sample. Best effort. */
void resolver_publish_moment(struct resolver *resolver, const struct recording_moment *moment);

#endif
