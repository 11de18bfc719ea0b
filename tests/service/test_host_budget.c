/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --host-budget: rates give way until all guests together take what they may, and come back. */
#include "xtop/service/host_budget.h"

#include <math.h>

#include "tests/support/tap.h"

#define SECOND_NS 1000000000ULL

/* A made-up host: FIXED of a CPU, and COST_NS for each sample of N guests. */
struct host {
	struct host_budget budget;
	double fixed, cost_ns;
	unsigned n;
	uint64_t now_ns, cpu_ns;
	double share; /* share of the last step */
	unsigned told;
};

static void run(struct host *host, unsigned seconds)
{
	for (unsigned i = 0; i < seconds * 10; i++) {
		double stride = fmax(host->budget.stride, 1);

		host->share = host->fixed +
			      host->n * host->budget.hz / stride * host->cost_ns / 1e9;
		host->now_ns += SECOND_NS / 10;
		host->cpu_ns += (uint64_t)(host->share * SECOND_NS / 10);
		if (host_budget_is_due(&host->budget, host->now_ns))
			host_budget_update(&host->budget, host->cpu_ns, host->now_ns);
		host->told += host_budget_poll_news(&host->budget, host->now_ns);
	}
}

static struct host make(double limit, double hz, unsigned n, double fixed)
{
	return (struct host){ .budget = { .limit = limit, .hz = hz },
			      .fixed = fixed, .cost_ns = 50e3, .n = n, .now_ns = SECOND_NS };
}

static void test_enough(void)
{
	struct host host = make(0.02, 19, 10, 0.002);

	run(&host, 300);
	check(!host_budget_is_missed(&host.budget), "the budget is kept");
	check(host.budget.stride == 1 && host.told == 0, "1.15 %% of 2: nothing gives way");
}

static void test_too_much(void)
{
	struct host host = make(0.02, 99, 32, 0.004); /* 16.2 % at the rate that was asked for */

	run(&host, 60);
	check(fabs(host.share - 0.02) < 0.001, "32 guests at 99 Hz use 0.02 after a minute: %.4f",
	      host.share);
	check(fabs(host.budget.stride - 9.9) < 0.5, "each 9.9th tick is used: %.2f",
	      host.budget.stride);
	run(&host, 600);
	check(fabs(host.share - 0.02) < 0.0002, "the share stays at 0.02: %.4f", host.share);
	check(host.told >= 1 && host.told <= 3, "a line says so 1 to 3 times: %u", host.told);
	host.n = 2;
	run(&host, 300);
	check(host.budget.stride == 1 && host.budget.reported == 0,
	      "guests have gone: rates come back, which is said");
}

static void test_fixed(void)
{
	struct host host = make(0.02, 19, 64, 0.03);

	run(&host, 600);
	check(host.budget.stride == 19 && host_budget_is_missed(&host.budget),
	      "what does not depend on the rate is too much: a sample a second, and it is known");
	check(host.budget.reported_missed && host.told <= 3,
	      "lines say that the budget is missed, 3 at most: %u", host.told);
}

/* Runs four guests, of which the last costs COST times as much, until the budget is kept. */
static struct host_budget run_costly(double cost)
{
	struct host_budget budget = { .limit = 0.02, .hz = 99 };
	uint64_t cpu_ns[4] = { SECOND_NS, SECOND_NS, SECOND_NS, SECOND_NS };
	uint64_t now_ns = SECOND_NS, all_ns = 0;

	for (unsigned i = 0; i < 3000; i++) {
		now_ns += SECOND_NS / 10;
		for (unsigned j = 0; j < 4; j++) {
			double hz = budget.hz / fmax(budget.guests[j].stride, 1);
			uint64_t used_ns = (uint64_t)(hz * 100e3 * (j == 3 ? cost : 1) / 10);

			cpu_ns[j] += used_ns;
			all_ns += used_ns;
		}
		if (!host_budget_is_due(&budget, now_ns))
			continue;
		host_budget_update(&budget, all_ns, now_ns);
		host_budget_update_guests(&budget, cpu_ns, 4);
	}
	return budget;
}

static void test_costly(void)
{
	struct host_budget budget = run_costly(9);

	check(fabs(budget.share - 0.02) < 0.001, "a costly guest: the share is %.4f", budget.share);
	check(budget.guests[3].stride > 5 * budget.guests[0].stride,
	      "a costly guest gives way more than the others: %.2f, %.2f", budget.guests[3].stride,
	      budget.guests[0].stride);
	budget = run_costly(1);
	check(fabs(budget.share - 0.02) < 0.001, "guests alike: the share is %.4f", budget.share);
	check(fabs(budget.guests[3].stride - budget.guests[0].stride) < 0.01 &&
		      fabs(budget.guests[0].stride - budget.stride) < 0.01,
	      "guests alike have one stride: %.2f", budget.stride);
}

/* In the place of a costly guest comes another one, whose counters begin anew. */
static void test_costly_goes(void)
{
	struct host_budget budget = run_costly(9);
	const uint64_t cpu_ns[4] = { UINT64_MAX / 2, UINT64_MAX / 2, UINT64_MAX / 2, 1 };

	host_budget_update_guests(&budget, cpu_ns, 4);
	check(budget.guests[3].weight == 1, "a new guest is no costly one: %g",
	      budget.guests[3].weight);
}

/* A guest's pipeline takes its counters along when it goes. */
static void test_gone(void)
{
	struct host host = make(0.02, 99, 32, 0.004);
	double stride;

	run(&host, 120);
	stride = host.budget.stride;
	host.cpu_ns /= 2;
	run(&host, 3);
	check(fabs(host.budget.stride - stride) < 0.5, "counters that have gone say nothing");
	host.budget.limit = 0;
	check(!host_budget_is_due(&host.budget, host.now_ns + 100 * SECOND_NS),
	      "a budget without a limit is never due");
}

int main(void)
{
	test_enough();
	test_too_much();
	test_fixed();
	test_costly();
	test_costly_goes();
	test_gone();
	return tap_done();
}
