/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the guest may be stopped. Over any BUDGET_SPAN_NS the stopped time is at most the
 * budget's share of that span, if stops take no longer than callers expect. Stopped time is counted
 * in slots of BUDGET_SLOT_NS:
 *
 *   |--|--|--|--|  ...  |--|--|
 *    ▲ leaves the span        ▲ now
 *
 * A start has no past: the share of BUDGET_ADVANCE_NS may be spent at once, and later stopped time
 * is earned first. A stop that takes more than a span's share is paid back in full. One thread.
 */
#ifndef XTOP_BUDGET_H
#define XTOP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_SPAN_NS    10000000000ULL
#define BUDGET_SLOT_NS    100000000ULL
#define BUDGET_SLOTS      (BUDGET_SPAN_NS / BUDGET_SLOT_NS + 1) /* the oldest slot counts whole */
#define BUDGET_ADVANCE_NS 2000000000ULL /* time whose share may be spent at the start */
#define BUDGET_WINDOW_NS 1000000000ULL /* shares and rates are measured over this time */

/* The smaller and the larger of two numbers. fmin() and fmax() would be calls, as NaN has rules. */
static inline double budget_min(double a, double b)
{
	return a < b ? a : b;
}

static inline double budget_max(double a, double b)
{
	return a > b ? a : b;
}

struct budget {
	uint64_t stopped_ns[BUDGET_SLOTS]; /* stopped time in each slot, at slot % BUDGET_SLOTS */
	uint64_t sum_ns;                   /* stopped time in all slots */
	uint64_t slot;                     /* number of the current slot */
	double credit_ns;                  /* time earned and not spent, at most a span's share */
	uint64_t refilled_ns; /* time when credit was last added */
	/* Start, stopped time and samples of the window that is being measured. */
	uint64_t window_start_ns, window_stopped_ns, window_samples;
	/* Stopped share and samples a second in the last whole window; the largest share so far. */
	double share, share_max, rate_hz;
};

/* Starts with the share of BUDGET_ADVANCE_NS as credit. */
void budget_init(struct budget *budget, uint64_t now_ns);
/* Takes all credit back: an earlier sampler may have used the credit. */
void budget_empty(struct budget *budget, uint64_t now_ns);
/* Closes the window when its time is over. Call this once a tick, also for an idle guest. */
void budget_measure(struct budget *budget, uint64_t now_ns);
/*
 * Whether a stop that takes STOP_NS may begin at NOW_NS. SHARE (0..1) of the guest's time is the
 * limit.
 */
bool budget_allows(struct budget *budget, double share, double stop_ns, uint64_t now_ns);
/* Whether budget_allows() could say yes until one more slot is over. */
bool budget_may_allow(const struct budget *budget, double share, double stop_ns);
/* The stopped time that leaves the span with slot N from now on, 1 to BUDGET_SLOTS - 1. */
uint64_t budget_leaving_ns(const struct budget *budget, unsigned n);
/*
 * The stopped time that may be spent N slots after the last budget_allows(); negative: overdrawn.
 * GONE_NS is the stopped time that leaves the span until then.
 */
double budget_left_ns(const struct budget *budget, double share, unsigned n, uint64_t gone_ns);
/* Counts STOPPED_NS as spent at the time of the last budget_allows(). */
void budget_spend(struct budget *budget, uint64_t stopped_ns);
/* Counts one more sample, with or without a stop, for the rate. */
void budget_count(struct budget *budget);

#endif
