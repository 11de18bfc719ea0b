/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the budget of the host; see host_share.h. Main's thread. */
#include "config.h"

#include "xtop/service/host_share.h"

#include <stdio.h>

#include "xtop/base/usage.h"
#include "xtop/supervise/broker.h"

_Static_assert(HOST_BUDGET_MAX_GUESTS == PIPELINES_MAX_GUESTS, "each guest has a stride");

/*
 * CPU time that main, the broker, samplers and their watchers have used until now. GUESTS gets that
 * of each guest's sampler and watchers.
 */
static uint64_t host_share_cpu_ns(const struct pipelines *pipelines,
				  uint64_t guests[PIPELINES_MAX_GUESTS])
{
	uint64_t cpu_ns = 0;

	usage_read(&cpu_ns, NULL);
	cpu_ns += broker_cpu_ns();
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(pipelines, i);
		struct sampler_counts counts;

		guests[i] = 0;
		if (!pipeline)
			continue;
		control_get_counts(pipeline_control(pipeline), &counts);
		guests[i] = counts.cpu_ns + control_get_watchers_cpu(pipeline_control(pipeline));
		cpu_ns += guests[i];
	}
	return cpu_ns;
}

static void host_share_describe(const struct host_budget *budget, char line[HOST_SHARE_LINE_BYTES])
{
	if (budget->reported > 0)
		snprintf(line, HOST_SHARE_LINE_BYTES,
			 "--host-budget: all guests take %.2g %% of a CPU; rates give way to "
			 "%.3g of %.4g Hz%s",
			 100 * budget->share, budget->hz / budget->reported, budget->hz,
			 host_budget_is_missed(budget)
				 ? "; it is not reached, as watching takes more than that"
				 : "");
	else
		snprintf(line, HOST_SHARE_LINE_BYTES, "--host-budget: all rates are %.4g Hz again",
			 budget->hz);
}

bool host_share_keep(struct host_budget *budget, const struct pipelines *pipelines,
		     uint64_t others_ns, uint64_t now_ns, char line[HOST_SHARE_LINE_BYTES])
{
	uint64_t guests[PIPELINES_MAX_GUESTS], cpu_ns;

	if (!host_budget_is_due(budget, now_ns))
		return false;
	cpu_ns = host_share_cpu_ns(pipelines, guests) + others_ns;
	host_budget_update(budget, cpu_ns, now_ns);
	host_budget_update_guests(budget, guests, PIPELINES_MAX_GUESTS);
	for (size_t i = 0; i < PIPELINES_MAX_GUESTS; i++) {
		struct pipeline *pipeline = pipelines_get(pipelines, i);

		if (pipeline)
			control_set_stride(pipeline_control(pipeline), budget->guests[i].stride);
	}
	if (!host_budget_poll_news(budget, now_ns))
		return false;
	host_share_describe(budget, line);
	return true;
}
