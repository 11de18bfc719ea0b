/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --host-budget: the CPU time that xtop may take of dom0 for all guests together. Every
 * HOST_BUDGET_STEP_NS all processes' CPU time is added up. If that is too much, a sample is taken
 * at every STRIDE-th tick only (control_set_stride()). A guest whose samples cost more than the
 * others' gives way more, so that one costly guest does not slow down all. Main's thread.
 *
 * Some work does not depend on the rate, such as looks whether the guests are there. With very many
 * guests that work alone may be more than the budget. So the stride ends at a sample a second:
 * fewer samples would save little, and show little. The user is told so.
 */
#ifndef XTOP_HOST_BUDGET_H
#define XTOP_HOST_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_BUDGET_MAX_GUESTS 64
#define HOST_BUDGET_STEP_NS   2000000000ULL
#define HOST_BUDGET_SLOWEST_HZ 1.0

struct host_budget_guest {
	uint64_t cpu_ns; /* CPU time of its sampler and watchers until the last step; 0: no guest */
	double weight;   /* cost of a sample, as a multiple of the guests' mean; 0: not known yet */
	double stride;   /* ticks from one sample to the next; 0: not known yet */
};

/* The caller sets limit and hz; the others begin as zeros. */
struct host_budget {
	double limit;      /* the allowed share of one CPU, 0..1; 0: no limit */
	double hz;         /* the rate that was asked for */
	double share;      /* the share of one CPU that was used lately; 0: not known yet */
	double stride;     /* a mean guest's ticks from one sample to the next; 0 counts as 1 */
	uint64_t step_ns;  /* time when cpu_ns was read; 0: never */
	uint64_t cpu_ns;   /* CPU time of all processes until then */
	double reported;   /* the stride that the user knows; 0: rates are as asked for */
	bool reported_missed; /* the user knows that the limit is not kept */
	uint64_t reported_ns; /* time of that report */
	struct host_budget_guest guests[HOST_BUDGET_MAX_GUESTS];
};

/* Whether it is time to add up CPU times. */
bool host_budget_is_due(const struct host_budget *budget, uint64_t now_ns);
/*
 * Sets the stride by CPU_NS, the CPU time of all processes. CPU_NS may be less than at the last
 * call: processes may have ended.
 */
void host_budget_update(struct host_budget *budget, uint64_t cpu_ns, uint64_t now_ns);
/*
 * Sets the strides of guests, once host_budget_update() was called. CPU_NS has the CPU time until
 * now of each of N guests' samplers and watchers; 0: there is no such guest.
 */
void host_budget_update_guests(struct host_budget *budget, const uint64_t *cpu_ns, size_t n);
/* Whether the limit is not kept although rates are as low as they get. */
bool host_budget_is_missed(const struct host_budget *budget);
/*
 * Whether the user should hear about the stride: when rates become lower than asked for, when the
 * stride has doubled or halved since, when the limit is missed all the same, and when rates are as
 * asked for again. At most once a minute.
 */
bool host_budget_poll_news(struct host_budget *budget, uint64_t now_ns);

#endif
