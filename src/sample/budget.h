/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: how much of the guest's time may still be taken. A token bucket: credit grows
 * with time by the budget's share and is spent by stops; while it is overdrawn no tick is taken.
 * Over any span the stopped time is thus at most share * span, plus a tenth of a second's credit, plus
 * one stop.
 */
#ifndef SAMPLE_BUDGET_H
#define SAMPLE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_CREDIT_NS 100000000ULL  /* time whose share may be saved up */
#define BUDGET_WINDOW_NS 1000000000ULL /* over which shares and rates are measured */

struct budget {
	double credit_ns;
	uint64_t refilled_ns;
	/* the window that is being measured */
	uint64_t window_start_ns, window_stopped_ns, window_samples;
	/* of the last whole one */
	double share, share_max, rate_hz;
};

void budget_init(struct budget *budget, uint64_t now_ns);
/* What was saved up is gone: somebody before has had it. */
void budget_empty(struct budget *budget, uint64_t now_ns);
/*
 * Once a tick, also of an idle guest: closes the window when it is over, so that share and rate are
 * of now.
 */
void budget_measure(struct budget *budget, uint64_t now_ns);
/* Whether a stop may begin at NOW_NS with SHARE (0..1) of the guest's time as the limit. */
bool budget_allows(struct budget *budget, double share, uint64_t now_ns);
void budget_spend(struct budget *budget, uint64_t stopped_ns);
/* A sample was taken, with or without a stop: for the rate. */
void budget_count(struct budget *budget);

#endif
