/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The budget of all guests together; see host_budget.h. Main's thread. */
#include "config.h"

#include "xtop/service/host_budget.h"

#include <math.h>

#define HOST_BUDGET_LEARN    0.3 /* weight of the newest share; it may include a guest's start */
#define HOST_BUDGET_STEEP    0.5 /* power of the correction, because the share lags behind */
#define HOST_BUDGET_CHANGE   1.5 /* largest factor by which a step changes the stride */
#define HOST_BUDGET_BINDS    1.1 /* a lower factor is not worth a report */
#define HOST_BUDGET_DEAREST  4.0 /* weights beyond it, or below its inverse, are cut */
#define HOST_BUDGET_QUIET_NS 60000000000ULL

bool host_budget_is_due(const struct host_budget *budget, uint64_t now_ns)
{
	return budget->limit > 0 &&
	       (!budget->step_ns || now_ns - budget->step_ns >= HOST_BUDGET_STEP_NS);
}

static double host_budget_bound(double value, double min, double max)
{
	return value < min ? min : value > max ? max : value;
}

static double host_budget_most(const struct host_budget *budget)
{
	return fmax(budget->hz / HOST_BUDGET_SLOWEST_HZ, 1);
}

bool host_budget_is_missed(const struct host_budget *budget)
{
	return budget->limit > 0 && budget->stride >= host_budget_most(budget) &&
	       budget->share > budget->limit * HOST_BUDGET_BINDS;
}

void host_budget_update(struct host_budget *budget, uint64_t cpu_ns, uint64_t now_ns)
{
	double most = host_budget_most(budget), share, factor;
	bool known = budget->step_ns && cpu_ns >= budget->cpu_ns && now_ns > budget->step_ns;

	share = known ? (double)(cpu_ns - budget->cpu_ns) / (double)(now_ns - budget->step_ns) : 0;
	budget->step_ns = now_ns;
	budget->cpu_ns = cpu_ns;
	if (!known || !(budget->limit > 0))
		return;
	budget->share = budget->share > 0
				? budget->share + HOST_BUDGET_LEARN * (share - budget->share)
				: share;
	factor = host_budget_bound(pow(budget->share / budget->limit, HOST_BUDGET_STEEP),
				   1 / HOST_BUDGET_CHANGE, HOST_BUDGET_CHANGE);
	budget->stride = host_budget_bound(fmax(budget->stride, 1) * factor, 1, most);
}

/* What the guest would have cost since the last step at its full rate. 0: not known. */
static double host_budget_cost(const struct host_budget_guest *guest, uint64_t cpu_ns)
{
	if (!guest->cpu_ns || cpu_ns <= guest->cpu_ns)
		return 0;
	return (double)(cpu_ns - guest->cpu_ns) * fmax(guest->stride, 1);
}

/* A new guest, or one in the place of another, counts as a mean one. */
static void host_budget_weigh(struct host_budget_guest *guest, double cost, double mean)
{
	double weight = 1;

	if (cost > 0)
		weight = host_budget_bound(cost / mean, 1 / HOST_BUDGET_DEAREST,
					   HOST_BUDGET_DEAREST);
	if (cost > 0 && guest->weight > 0)
		guest->weight += HOST_BUDGET_LEARN * (weight - guest->weight);
	else
		guest->weight = 1;
}

void host_budget_update_guests(struct host_budget *budget, const uint64_t *cpu_ns, size_t n)
{
	double costs[HOST_BUDGET_MAX_GUESTS], sum = 0, known = 0;

	for (size_t i = 0; i < n && i < HOST_BUDGET_MAX_GUESTS; i++) {
		costs[i] = host_budget_cost(&budget->guests[i], cpu_ns[i]);
		sum += costs[i];
		known += costs[i] > 0;
	}
	for (size_t i = 0; i < n && i < HOST_BUDGET_MAX_GUESTS; i++) {
		struct host_budget_guest *guest = &budget->guests[i];

		host_budget_weigh(guest, costs[i], sum / fmax(known, 1));
		guest->cpu_ns = cpu_ns[i];
		guest->stride = host_budget_bound(1 + (fmax(budget->stride, 1) - 1) * guest->weight,
						  1, host_budget_most(budget));
	}
}

bool host_budget_poll_news(struct host_budget *budget, uint64_t now_ns)
{
	double stride = budget->stride > HOST_BUDGET_BINDS ? budget->stride : 0;
	bool news = stride > 0 && budget->reported > 0
			    ? stride > 2 * budget->reported || stride < budget->reported / 2
			    : stride > 0 || budget->reported > 0;

	news |= host_budget_is_missed(budget) && !budget->reported_missed;
	if (!news || (budget->reported_ns && now_ns - budget->reported_ns < HOST_BUDGET_QUIET_NS))
		return false;
	budget->reported = stride;
	budget->reported_missed = host_budget_is_missed(budget);
	budget->reported_ns = now_ns;
	return true;
}
