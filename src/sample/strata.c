/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strata of ticks, one sample of each; see strata.h. */
#include "config.h"

#include "sample/strata.h"

#include <math.h>

#define STRATA_MEAN_S  3.5 /* the mean cost is that of so many seconds of ticks */
#define STRATA_RECENT  8   /* the recent cost is taken over so many samples */
#define STRATA_LEARN   16  /* one stop counts for at least 1/16 in vcpu_ns */
#define STRATA_COSTLY    512 /* each stop lowers costly_ns by 1/512 of what exceeds vcpu_ns */
#define STRATA_OUTLIER 4    /* a stop counts as at most this many times the expected cost */
#define STRATA_OWED_S  5    /* ticks of so many seconds may be owed */
#define STRATA_HEAVY   8    /* a sample may weigh as much as so many mean strata */
#define STRATA_HEAVY_S 1    /* a sample may weigh as much as the ticks of so many seconds */
#define STRATA_SPEND   0.95 /* part of the budget that is spent in the mean */
#define STRATA_BALANCE 3    /* how much the balance changes the rate, as a logarithm */
#define STRATA_FREE    0.04 /* less than exp(-STRATA_BALANCE): no balance makes it exceed 1 */
#define STRATA_SAVED   3    /* the balance rises at most to 1/3 of the greatest debt */
#define STRATA_DEBT    8    /* the greatest debt is so many stops, or the budget of a span */
#define STRATA_AHEAD   30   /* slots of the budget that are looked at ahead: the next seconds */
#define STRATA_SOON    20   /* samples of this slot and later must not cost more than is left */
#define STRATA_MOST    1e9  /* most ticks of a stratum */
#define STRATA_PART    0.03 /* a stop reads the vCPUs that this part of a span's budget pays */

void strata_init(struct strata *strata, unsigned n_vcpus, uint64_t seed)
{
	*strata = (struct strata){
		.n_vcpus = n_vcpus, .most = n_vcpus, .length = 1, .wait = 1, .random = seed | 1
	};
}

/* Uniform in [0, 1). Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). */
double strata_random(struct strata *strata)
{
	strata->random ^= strata->random << 13;
	strata->random ^= strata->random >> 7;
	strata->random ^= strata->random << 17;
	return (double)(strata->random >> 11) * 0x1p-53;
}

void strata_count(struct strata *strata, uint64_t n)
{
	uint64_t waited = n < strata->wait ? n : strata->wait;

	strata->wait -= waited;
	strata->late += n - waited;
}

/* The expected stopped time of a sample of the most vCPUs. */
static double strata_most_ns(const struct strata *strata)
{
	return strata->vcpu_ns * (strata->most + 1);
}

double strata_stop_ns(const struct strata *strata)
{
	return strata->costly_ns * (strata->most + 1);
}

/* --- learning --------------------------------------------------------------------------------- */

/*
 * Learns from a stop of N vCPUs. A stop that takes very long, because dom0 lost its CPU, hardly
 * counts. The first stop, for which nothing is mapped yet, counts only until the second stop.
 */
static void strata_learn_stop(struct strata *strata, unsigned n, uint64_t stopped_ns)
{
	double vcpu_ns = (double)stopped_ns / (n + 1);

	if (strata->n_learned >= 4)
		vcpu_ns = budget_min(vcpu_ns, STRATA_OUTLIER * strata->vcpu_ns);
	if (strata->n_learned <= STRATA_LEARN)
		strata->n_learned++;
	if (strata->n_learned <= 2)
		strata->vcpu_ns = strata->costly_ns = vcpu_ns;
	else
		strata->vcpu_ns += (vcpu_ns - strata->vcpu_ns) / (strata->n_learned - 1);
	strata->costly_ns += (strata->vcpu_ns - strata->costly_ns) / STRATA_COSTLY;
	strata->costly_ns = budget_max(strata->costly_ns, vcpu_ns);
}

/* Learns how many vCPUs are stopped. SPAN: the ticks of STRATA_MEAN_S. */
static void strata_learn_parts(struct strata *strata, double parts, double span)
{
	double length = (double)strata->length;

	strata->n_ticks = budget_min(strata->n_ticks + length, budget_max(span, length));
	strata->parts += (parts - strata->parts) * length / strata->n_ticks;
	strata->recent_parts += (parts - strata->recent_parts) / STRATA_RECENT;
}

/*
 * Chooses how many vCPUs the next stop may read. A stop of all vCPUs that takes a large part of a
 * span's budget would leave that part unused, because there must be room for it.
 */
static void strata_choose_most(struct strata *strata, double share)
{
	double n = STRATA_PART * share * (double)BUDGET_SPAN_NS / strata->vcpu_ns - 1;

	strata->most = n < strata->n_vcpus ? (unsigned)budget_max(n, 1) : strata->n_vcpus;
}

/* --- the next stratum ------------------------------------------------------------------------- */

/*
 * The shortest length that keeps within the budget of the next seconds if each sample costs as much
 * as is expected. The next stratum begins in REST ticks. At the end of the stratum there must be
 * room for two stops of as many vCPUs as a stop may read, the second a costly one. One is for the
 * sample of the stratum, the other for the sample after that, which may come at once.
 */
static double strata_find_least(const struct strata *strata, const struct budget *budget,
				const struct strata_limits *limits, double rest)
{
	double cost_ns = strata->vcpu_ns * budget_max(strata->parts, strata->recent_parts),
	       reserve_ns = strata_most_ns(strata) + strata_stop_ns(strata),
	       slot = (double)BUDGET_SLOT_NS / (double)limits->period_ns, least = 1;
	uint64_t gone_ns = 0;

	if (budget_left_ns(budget, limits->share, 0, 0) >=
	    reserve_ns + cost_ns * STRATA_AHEAD * slot)
		return 1;
	for (unsigned i = 1; i <= STRATA_AHEAD; i++) {
		double left_ns;

		gone_ns += budget_leaving_ns(budget, i);
		left_ns = budget_left_ns(budget, limits->share, i, gone_ns) - reserve_ns;
		if (left_ns <= 0)
			least = budget_max(1, i * slot - rest);
		else if (i >= STRATA_SOON)
			least = budget_max(least, i * slot * budget_min(1, cost_ns / left_ns));
	}
	return least;
}

/*
 * The length that spends the budget in the mean. The last stratum had N_TICKS, and its sample cost
 * STOPPED_NS.
 */
static double strata_find_mean(struct strata *strata, double n_ticks, double stopped_ns,
			       const struct strata_limits *limits)
{
	double earned_ns = STRATA_SPEND * limits->share * (double)limits->period_ns,
	       span_ns = limits->share * (double)BUDGET_SPAN_NS,
	       most_ns = budget_max(span_ns, STRATA_DEBT * strata_most_ns(strata)), even;

	strata->balance_ns += n_ticks * earned_ns - stopped_ns;
	strata->balance_ns =
		budget_max(-most_ns, budget_min(most_ns / STRATA_SAVED, strata->balance_ns));
	even = strata->vcpu_ns * strata->parts / earned_ns;
	strata->even = even;
	if (even < STRATA_FREE)
		return even; /* every tick gives a sample, whatever the balance */
	return even * exp(-STRATA_BALANCE * strata->balance_ns / most_ns);
}

/* The next stratum begins REST ticks after the sample. */
static void strata_begin(struct strata *strata, double length, uint64_t rest)
{
	uint64_t before = 0;

	strata->length = 1;
	if (length > 1) {
		strata->length =
			(uint64_t)(budget_min(length, STRATA_MOST) + strata_random(strata));
		before = (uint64_t)((double)strata->length * strata_random(strata));
	}
	strata->wait = rest + 1 + before;
	strata->late = 0;
	strata->rest = strata->length - 1 - before;
}

/*
 * For how many ticks of its own stratum a sample stands. The other ticks are owed. After the first
 * stop nobody knows yet how long strata will be, so the next stratum's sample stands for a single
 * tick.
 */
static uint64_t strata_weigh(const struct strata *strata, const struct strata_limits *limits)
{
	double most;

	if (strata->length == 1 || strata->n_learned == 1)
		return 1;
	most = budget_max(STRATA_HEAVY * budget_max(strata->even, limits->stride),
			  STRATA_HEAVY_S * 1e9 / (double)limits->period_ns);

	return most < (double)strata->length ? (uint64_t)most : strata->length;
}

uint64_t strata_sample(struct strata *strata, unsigned n, uint64_t stopped_ns,
		       const struct budget *budget, const struct strata_limits *limits)
{
	double a_second = 1e9 / (double)limits->period_ns, mean, least;
	uint64_t length = strata->length, late = strata->late,
		 over = late > strata->rest ? late - strata->rest : 0,
		 rest = strata->rest - (late - over), weight = strata_weigh(strata, limits),
		 paid = strata->owed + over < weight ? strata->owed + over : weight,
		 owed = strata->owed + over - paid + (length - weight),
		 most_owed = (uint64_t)(STRATA_OWED_S * a_second);

	strata->owed = owed < most_owed ? owed : most_owed;
	strata->given_up += owed - strata->owed;
	if (n && stopped_ns)
		strata_learn_stop(strata, n, stopped_ns);
	if (strata->n_learned)
		strata_choose_most(strata, limits->share);
	strata_learn_parts(strata, n ? n + 1 : 0, STRATA_MEAN_S * a_second);
	mean = strata_find_mean(strata, (double)(length + over), (double)stopped_ns, limits);
	least = budget_max(strata_find_least(strata, budget, limits, (double)rest), limits->stride);
	strata_begin(strata, budget_max(mean, least), rest);
	return weight + paid;
}
