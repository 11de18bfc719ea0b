/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler's ticks: when the next one comes, and which of them give a sample. The deadlines are
 * those of deadline.h. The budget and the schedule decide which ticks are skipped; a sample weighs
 * the ticks that it stands for. Times in ns of CLOCK_MONOTONIC. Nothing here can fail. The
 * sampler's process only.
 */
#ifndef SAMPLE_TICKS_H
#define SAMPLE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/deadline.h"
#include "sample/sample_schedule.h"
#include "xtop/sample/budget.h"
#include "xtop/sample/control.h"

#define TICKS_LOOK_NS 100000000 /* between looks at the guest while there are no samples */

struct ticks {
	struct control *control; /* for the rate, the budget, and whether xtop quits */
	struct sampler_counts *counts;
	struct budget budget;
	struct deadline deadline;
	struct sample_schedule schedule;
	double earned_ns;  /* stopped time that the budget allows for each tick */
	uint64_t period_ns; /* the last tick's */
	uint64_t n_missed; /* deadlines that went by unmet before the last tick */
	uint64_t woke_ns;  /* when the last tick began */
	bool late;         /* the last tick began more than half a period after its deadline */
};

/* Borrows CONTROL and COUNTS. */
void ticks_init(struct ticks *ticks, struct control *control, struct sampler_counts *counts,
		unsigned n_vcpus);
/* The mean time between two ticks at the rate that is asked for. */
uint64_t ticks_period_ns(const struct ticks *ticks);
/*
 * How many of the next ticks are known to give no sample. They can be slept through, but for no
 * more than about the time between two looks.
 */
uint64_t ticks_find_skipped(const struct ticks *ticks, uint64_t period_ns);
/*
 * Sleeps to the next deadline, before which N_SKIPPED others are skipped. Counts them, and returns
 * true. Returns false once xtop quits; that tick is not counted.
 */
bool ticks_sleep(struct ticks *ticks, uint64_t period_ns, uint64_t n_skipped);
/* Sleeps until then, whatever happens. */
void ticks_sleep_to(uint64_t until_ns);
/* Adds this tick, and those missed before it, to what the next sample stands for. */
void ticks_plan(struct ticks *ticks);
/* Whether this tick may give a sample. */
bool ticks_may_stop(struct ticks *ticks);
/* The weight of a sample of N vCPUs that took STOPPED_NS until NOW_NS. Plans the next one. */
uint32_t ticks_weigh(struct ticks *ticks, unsigned n, uint64_t stopped_ns, uint64_t now_ns);

#endif
