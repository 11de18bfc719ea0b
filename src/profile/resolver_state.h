/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of resolver.h: resolver.c adds samples to the profiles, resolver_snapshots.c
 * hands out what is in them. Resolver's thread, but for the members that another thread's call
 * needs.
 */
#ifndef PROFILE_RESOLVER_STATE_H
#define PROFILE_RESOLVER_STATE_H

#include <pthread.h>

#include "profile/fold.h"
#include "xtop/profile/resolver.h"

struct resolver {
	struct resolver_settings settings;
	struct frames *frames;
	struct names *names;
	struct profile *profile;
	struct addresses *addresses;
	struct seen_code *code;
	struct snapshot *baseline; /* NULL: none */
	struct batches *self, *children; /* CHILDREN NULL: nobody asks */
	struct waits *waits; /* NULL: nobody has asked for tasks that wait */
	struct crash_report *crash;   /* NULL: nobody asks, or not yet */
	bool seen_first_crash_sample; /* the first sample of crash_sampler_run() has come */
	uint64_t sequence, waits_sequence, resets;
	struct vcpu_times forgotten[GUEST_MAX_VCPUS]; /* the times at the last reset */
	uint64_t latest_ns;    /* time of the latest sample, on the samples' clock */
	uint64_t period_ns;    /* of that sample: the mean time between two ticks */
	uint64_t lag_ns;       /* the longest since the last snapshot */
	uint64_t missed_ns;    /* an interval's end for which there was no memory; 0: none */
	size_t record_bytes;   /* the largest record of the last turn that had any */
	uint64_t next_poll_ns; /* for missing names */
	uint64_t next_clocks_ns;
	struct clocks clocks, first_clocks; /* the newest; the first since start or reset */
	/* When the thread first saw control_hurry(); 0: not yet. */
	uint64_t hurry_turn_ns; /* in this turn, by the clock */
	uint64_t hurry_cpu_ns;  /* at all, by the thread's CPU time */
	struct fold fold;      /* has the counts */
	struct fold_found_by found_by;
	struct recording_needs needs; /* what a recording needs of the current sample */
	/* What another thread wants to run on this thread; CALL NULL: nothing. */
	pthread_mutex_t lock;
	pthread_cond_t called, wake; /* the call has returned; this thread is to look */
	bool woken;
	void (*call)(void *context);
	void *call_context;
};

/* --- resolver.c ------------------------------------------------------------------------------- */

/* Creates the profile of waiting tasks when it is first needed. NULL: out of memory. */
struct waits *resolver_get_waits(struct resolver *resolver);
/* Forgets the profiles and the counts. */
void resolver_forget(struct resolver *resolver);

/* --- resolver_snapshots.c --------------------------------------------------------------------- */

/* The slot gets a snapshot, if there is memory for one: else the reader asks again. */
void resolver_publish(struct resolver *resolver, bool at_end);
/* The same for waits, if the reader wants them now; at the end, if anybody has asked for them. */
void resolver_publish_waits(struct resolver *resolver, bool at_end);
/* MOMENT has the replay's counters after the last sample. Best effort. */
void resolver_publish_moment(struct resolver *resolver, const struct recording_moment *moment);

#endif
