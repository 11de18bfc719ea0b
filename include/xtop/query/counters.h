/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of a snapshot, in one table for --stats, the screen and the history. A new counter
 * is a member of its struct (resolver_counts, os_counts, sampler_counts) and a line in the table of
 * counters.c. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_COUNTERS_H
#define XTOP_COUNTERS_H

#include "xtop/profile/snapshot.h"

/* The part of xtop that counts. */
enum counter_group {
	COUNTERS_STOPPED,  /* struct stopped_summary */
	COUNTERS_SAMPLER,  /* struct sampler_counts */
	COUNTERS_RESOLVER, /* struct resolver_counts */
	COUNTERS_OS,       /* struct os_counts */
};

enum counter_kind {
	COUNTER_U64,
	COUNTER_DOUBLE,
	COUNTER_ARRAY, /* an array of uint64_t */
	COUNTER_TICKS, /* an array of double; whole numbers are shown */
};

struct counter {
	enum counter_group group;
	enum counter_kind kind;
	const char *name;              /* the name in --stats and doc/FORMATS; never changes */
	size_t offset; /* offset in struct snapshot_run; the resolver's: in struct snapshot */
	const char *const *elements;   /* arrays: the names of its elements */
	size_t n;                      /* arrays: how many */
};

/* In the order of --stats. */
extern const struct counter counters[];
extern const size_t n_counters;

/* What a vCPU was doing, by enum vcpu_state. */
extern const char *const counter_vcpu_states[N_VCPU_STATES];

/* What the screen calls the elements of four arrays. Unlike their names, these words may change. */
extern const char *const counter_stop_words[N_UNWIND_STOPS];
extern const char *const counter_unwind_by_words[N_UNWIND_BYS];
extern const char *const counter_cut_words[N_SAMPLE_CUTS];
extern const char *const counter_unknown_cause_words[N_UNKNOWN_CAUSES];

/*
 * Subtracts BEFORE from the counters of resolver and sampler that only grow. If the profile was
 * reset in between, the resolver's counters keep their values, which are since the reset. A counter
 * that is less than in BEFORE keeps its value, too.
 */
void counters_subtract(struct snapshot *snapshot, const struct snapshot *before);
/* COUNTER's number in SNAPSHOT, or the first number of its array. */
const void *counter_value(const struct counter *counter, const struct snapshot *snapshot);

#endif
