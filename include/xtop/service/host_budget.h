/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --host-budget: the CPU time that xtop may take of dom0 for all guests together. Every
 * HOST_BUDGET_STEP_NS all processes' CPU time is added up. If that is too much, a sample is taken
 * at every STRIDE-th tick only, of all guests alike (control_set_stride()). Main's thread.
 *
 * What does not depend on the rate, such as looks whether the guests are there, stays. With very
 * many guests that alone may be more than the budget. Then the stride ends at a sample a second:
 * fewer would save little, and show little. The user is told so.
 */
#ifndef XTOP_HOST_BUDGET_H
#define XTOP_HOST_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_BUDGET_STEP_NS   2000000000ULL
#define HOST_BUDGET_SLOWEST_HZ 1.0

/* To begin with all zeros but for the first members. */
struct host_budget {
	double limit;      /* of one CPU, 0..1; 0: no limit */
	double hz;         /* the rate that was asked for */
	double share;      /* of one CPU, lately; 0: not known yet */
	double stride;     /* 0: not set, as 1 */
	uint64_t step_ns;  /* when CPU_NS was read; 0: not yet */
	uint64_t cpu_ns;
	double told;       /* the stride that the user knows; 0: none, rates are as asked for */
	bool told_missed;  /* the user knows that it is not reached */
	uint64_t told_ns;
};

/* Whether it is time to add up. */
bool host_budget_is_due(const struct host_budget *budget, uint64_t now_ns);
/* CPU_NS: of all processes, since any moment. It may be less than last: some of them have gone. */
void host_budget_update(struct host_budget *budget, uint64_t cpu_ns, uint64_t now_ns);
/* Rates are as low as they get, and it is still too much. */
bool host_budget_is_missed(const struct host_budget *budget);
/*
 * Whether the user should hear about the stride: when rates begin to give way, when they give way
 * twice as much or half as much, when that is not enough, and when they no longer do; a line a
 * minute at most.
 */
bool host_budget_has_news(struct host_budget *budget, uint64_t now_ns);

#endif
