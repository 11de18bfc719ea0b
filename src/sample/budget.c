/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The token bucket for stops; see budget.h. */
#include "config.h"

#include "xtop/sample/budget.h"

void budget_init(struct budget *budget, uint64_t now_ns)
{
	/* A full bucket: nobody has stopped this guest for a while. */
	*budget = (struct budget){ .refilled_ns = now_ns - BUDGET_CREDIT_NS,
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

bool budget_allows(struct budget *budget, double share, uint64_t now_ns)
{
	double most = share * (double)BUDGET_CREDIT_NS;

	budget->credit_ns += share * (double)(now_ns - budget->refilled_ns);
	budget->refilled_ns = now_ns;
	if (budget->credit_ns > most)
		budget->credit_ns = most;
	return budget->credit_ns > 0;
}

void budget_spend(struct budget *budget, uint64_t stopped_ns)
{
	budget->credit_ns -= (double)stopped_ns;
	budget->window_stopped_ns += stopped_ns;
}

void budget_count(struct budget *budget)
{
	budget->window_samples++;
}
