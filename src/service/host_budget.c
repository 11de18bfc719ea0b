/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The budget of all guests together; see host_budget.h. Main's thread. */
#include "config.h"

#include "xtop/service/host_budget.h"

#include <math.h>

#define HOST_BUDGET_LEARN    0.3 /* weight of the newest share; it may include a guest's start */
#define HOST_BUDGET_STEEP    0.5 /* power of the correction, because the share lags behind */
#define HOST_BUDGET_CHANGE   1.5 /* largest factor by which a step changes the stride */
#define HOST_BUDGET_BINDS    1.1 /* a lower factor is not worth a report */
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

bool host_budget_poll_news(struct host_budget *budget, uint64_t now_ns)
{
	double stride = budget->stride > HOST_BUDGET_BINDS ? budget->stride : 0;
	bool news = stride > 0 && budget->told > 0
			    ? stride > 2 * budget->told || stride < budget->told / 2
			    : stride > 0 || budget->told > 0;

	news |= host_budget_is_missed(budget) && !budget->told_missed;
	if (!news || (budget->told_ns && now_ns - budget->told_ns < HOST_BUDGET_QUIET_NS))
		return false;
	budget->told = stride;
	budget->told_missed = host_budget_is_missed(budget);
	budget->told_ns = now_ns;
	return true;
}
