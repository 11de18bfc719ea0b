/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stopped time of the last seconds; see budget.h. */
#include "config.h"

#include "xtop/sample/budget.h"

/* A stop that takes more than 1/BUDGET_STOPS of the span's budget may overdraw the budget. */
#define BUDGET_STOPS 3

void budget_init(struct budget *budget, uint64_t now_ns)
{
	*budget = (struct budget){ .slot = now_ns / BUDGET_SLOT_NS,
				   .refilled_ns = now_ns - BUDGET_ADVANCE_NS,
				   .window_start_ns = now_ns };
}

void budget_empty(struct budget *budget, uint64_t now_ns)
{
	budget->credit_ns = 0;
	budget->refilled_ns = now_ns;
}

void budget_measure(struct budget *budget, uint64_t now_ns)
{
	uint64_t span_ns = now_ns - budget->window_start_ns;

	if (span_ns < BUDGET_WINDOW_NS)
		return;
	budget->share = (double)budget->window_stopped_ns / (double)span_ns;
	budget->rate_hz = (double)budget->window_samples * 1e9 / (double)span_ns;
	if (budget->share > budget->share_max)
		budget->share_max = budget->share;
	budget->window_start_ns = now_ns;
	budget->window_stopped_ns = 0;
	budget->window_samples = 0;
}

/* Forgets the slots that have left the span. */
static void budget_move_on(struct budget *budget, uint64_t now_ns)
{
	uint64_t slot = now_ns / BUDGET_SLOT_NS;

	for (unsigned i = 0; budget->slot < slot && i < BUDGET_SLOTS; i++) {
		uint64_t *oldest = &budget->stopped_ns[++budget->slot % BUDGET_SLOTS];

		budget->sum_ns -= *oldest;
		*oldest = 0;
	}
	budget->slot = slot;
}

/* The stopped time that must be left for a stop that takes STOP_NS. */
static double budget_room_ns(double share, double stop_ns)
{
	return budget_min(stop_ns, share * (double)BUDGET_SPAN_NS / BUDGET_STOPS);
}

bool budget_allows(struct budget *budget, double share, double stop_ns, uint64_t now_ns)
{
	double earned_ns = share * (double)(now_ns - budget->refilled_ns);

	budget_move_on(budget, now_ns);
	budget->credit_ns =
		budget_min(budget->credit_ns + earned_ns, share * (double)BUDGET_SPAN_NS);
	budget->refilled_ns = now_ns;
	return budget_left_ns(budget, share, 0, 0) > budget_room_ns(share, stop_ns);
}

bool budget_may_allow(const struct budget *budget, double share, double stop_ns)
{
	return budget_left_ns(budget, share, 1, budget_leaving_ns(budget, 1)) >
	       budget_room_ns(share, stop_ns);
}

uint64_t budget_leaving_ns(const struct budget *budget, unsigned n)
{
	return budget->stopped_ns[(budget->slot + n) % BUDGET_SLOTS];
}

double budget_left_ns(const struct budget *budget, double share, unsigned n, uint64_t gone_ns)
{
	uint64_t spent_ns = budget->sum_ns - gone_ns;

	return budget_min(budget->credit_ns + share * (double)(n * BUDGET_SLOT_NS),
			  share * (double)BUDGET_SPAN_NS - (double)spent_ns);
}

void budget_spend(struct budget *budget, uint64_t stopped_ns)
{
	budget->stopped_ns[budget->slot % BUDGET_SLOTS] += stopped_ns;
	budget->sum_ns += stopped_ns;
	budget->credit_ns -= (double)stopped_ns;
	budget->window_stopped_ns += stopped_ns;
}

void budget_count(struct budget *budget)
{
	budget->window_samples++;
}
