/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the guest may be stopped for a sample. This is a token bucket: credit grows with time by
 * the budget's share, stops spend it, and no sample begins without credit. So over any span the
 * stopped time is at most share * span, plus share * BUDGET_CREDIT_NS, plus the stops of one
 * sample. One thread.
 */
#ifndef XTOP_BUDGET_H
#define XTOP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_CREDIT_NS 100000000ULL  /* at most the credit of this time is saved up */
#define BUDGET_WINDOW_NS 1000000000ULL /* shares and rates are measured over this time */

struct budget {
	double credit_ns; /* negative: overdrawn by the last stop */
	uint64_t refilled_ns; /* when credit was last added */
	/* Start, stopped time and samples of the window that is being measured. */
	uint64_t window_start_ns, window_stopped_ns, window_samples;
	/* Stopped share and samples a second in the last whole window; the largest share so far. */
	double share, share_max, rate_hz;
};

/* Starts with a full bucket. */
void budget_init(struct budget *budget, uint64_t now_ns);
/* Goes on with an empty bucket: an earlier sampler may have used the credit. */
void budget_empty(struct budget *budget, uint64_t now_ns);
/* Closes the window when its time is over. Call this once a tick, also for an idle guest. */
void budget_measure(struct budget *budget, uint64_t now_ns);
/* Whether a stop may begin at NOW_NS. SHARE (0..1) of the guest's time is the limit. */
bool budget_allows(struct budget *budget, double share, uint64_t now_ns);
/* The guest was stopped for STOPPED_NS. */
void budget_spend(struct budget *budget, uint64_t stopped_ns);
/* Counts one more sample, with or without a stop, for the rate. */
void budget_count(struct budget *budget);

#endif
