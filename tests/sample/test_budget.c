/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The budget over simulated minutes: how many stops it allows, and that it never allows more. */
#include "config.h"

#include "tests/support/tap.h"
#include "xtop/sample/budget.h"

#define SECOND 1000000000ULL
#define START  (123456 * SECOND)

static uint64_t random_state = 7;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

struct outcome {
	uint64_t ticks, stops, stopped_ns, span_ns;
	uint64_t stop_max_ns;
	double worst_ns; /* the most by which any span exceeded share * span */
};

/*
 * SPAN of ticks at PERIOD; each stop lasts up to TWICE_STOP. Among all spans that end now, the one
 * with the largest excess began where stopped - share * time was lowest.
 */
static struct outcome simulate(struct budget *budget, double share, uint64_t *now_ns,
			       uint64_t span_ns, uint64_t period_ns, uint64_t twice_stop_ns)
{
	struct outcome outcome = { .span_ns = span_ns };
	double above_ns = 0, lowest_ns = 0;

	for (uint64_t end_ns = *now_ns + span_ns; *now_ns < end_ns; *now_ns += period_ns) {
		uint64_t stop_ns = 1 + next_random(twice_stop_ns);

		outcome.ticks++;
		above_ns -= share * (double)period_ns;
		if (above_ns < lowest_ns)
			lowest_ns = above_ns;
		budget_measure(budget, *now_ns);
		if (!budget_allows(budget, share, *now_ns))
			continue;
		budget_spend(budget, stop_ns);
		budget_count(budget);
		outcome.stops++;
		outcome.stopped_ns += stop_ns;
		above_ns += (double)stop_ns;
		if (stop_ns > outcome.stop_max_ns)
			outcome.stop_max_ns = stop_ns;
		if (above_ns - lowest_ns > outcome.worst_ns)
			outcome.worst_ns = above_ns - lowest_ns;
	}
	return outcome;
}

static void check_bound(const struct outcome *outcome, double share, const char *what)
{
	double bound_ns = share * BUDGET_CREDIT_NS + (double)outcome->stop_max_ns;

	/* The calculation above is exact to the credit of one period. */
	check(outcome->worst_ns <= bound_ns * 1.001 + 1000,
	      "%s: no span exceeds the share by more than %.0f ns: %.0f", what, bound_ns,
	      outcome->worst_ns);
}

static void test_within(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	budget_init(&budget, now_ns);
	outcome = simulate(&budget, 0.01, &now_ns, 300 * SECOND, SECOND / 100,
			   40000); /* 20 us at 100 Hz: 0.2 % */
	check_u64(outcome.ticks - outcome.stops, 0, "ticks without a stop are skipped");
	check(budget.share > 0.001 && budget.share < 0.003, "measured share %f", budget.share);
	check(budget.rate_hz > 98 && budget.rate_hz < 102, "measured rate %f", budget.rate_hz);
	check_bound(&outcome, 0.01, "a load within the budget");
}

static void test_binding(void)
{
	static const double shares[] = { 0.0001, 0.001, 0.01, 0.1, 1 };

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		struct budget budget;
		struct outcome outcome;
		uint64_t now_ns = START;
		double used;

		budget_init(&budget, now_ns);
		/* 1 ms at 10 kHz asks for ten times the whole time */
		outcome = simulate(&budget, shares[i], &now_ns, 300 * SECOND, SECOND / 10000,
				   2000000);
		used = (double)outcome.stopped_ns / (double)outcome.span_ns;
		/*
		 * the tenth of a second saved up at the start is a 3000th of the span, one stop is
		 * at most a 1500th of the budget's
		 */
		check(used > shares[i] * 0.98 && used <= shares[i] * (1 + 1.0 / 3000) + 2e6 / 300e9,
		      "binding: uses %f of %f", used, shares[i]);
		check_bound(&outcome, shares[i], "a load beyond the budget");
	}
}

/* The sampler before this one has used the saved-up credit. */
static void test_emptied(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	budget_init(&budget, now_ns);
	budget_empty(&budget, now_ns);
	outcome = simulate(&budget, 0.01, &now_ns, SECOND, SECOND / 10000, 2000000);
	check(outcome.stopped_ns <= 10 * 1000000 + outcome.stop_max_ns && outcome.stopped_ns > 0,
	      "emptied: %" PRIu64 " ns in a second", outcome.stopped_ns);
}

static void test_saved_credit_is_bounded(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	budget_init(&budget, now_ns);
	now_ns += 1000000 * SECOND; /* idle for 11 days */
	outcome = simulate(&budget, 0.01, &now_ns, SECOND, SECOND / 10000, 2000000);
	check(outcome.stopped_ns <= 11 * 1000000 + outcome.stop_max_ns,
	      "after idling: %" PRIu64 " ns in a second", outcome.stopped_ns);
	check_bound(&outcome, 0.01, "stops after idling");
}

static void test_recovery(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	budget_init(&budget, now_ns);
	simulate(&budget, 0.01, &now_ns, 60 * SECOND, SECOND / 100, 20000);
	check(budget_allows(&budget, 0.01, now_ns), "every tick has a stop before the long one");
	budget_spend(&budget, 100000000); /* 0.1 s: ten seconds' worth */
	outcome = simulate(&budget, 0.01, &now_ns, 8 * SECOND, SECOND / 100, 20000);
	check_u64(outcome.stops, 0, "stops while a long one is paid back");
	simulate(&budget, 0.01, &now_ns, 4 * SECOND, SECOND / 100, 20000);
	outcome = simulate(&budget, 0.01, &now_ns, 10 * SECOND, SECOND / 100, 20000);
	check_u64(outcome.stops, outcome.ticks,
		  "every tick has a stop after the long one is paid back");
	check(budget.rate_hz > 98 && budget.rate_hz < 102,
	      "the full rate is measured after the long stop: %f", budget.rate_hz);
}

static void test_share_max(void)
{
	struct budget budget;
	uint64_t now_ns = START;

	budget_init(&budget, now_ns);
	simulate(&budget, 0.5, &now_ns, 10 * SECOND, SECOND / 100, 2000);
	check(budget.share_max < 0.001, "the share of a light load: %f", budget.share_max);
	simulate(&budget, 0.5, &now_ns, 5 * SECOND, SECOND / 100,
		 4000000); /* 2 ms at 100 Hz: 20 % */
	check(budget.share_max > 0.15 && budget.share_max < 0.25, "the share of a heavy load: %f",
	      budget.share_max);
	simulate(&budget, 0.5, &now_ns, 10 * SECOND, SECOND / 100, 2000);
	check(budget.share < 0.001 && budget.share_max > 0.15,
	      "the share of now is %f, the most was %f", budget.share, budget.share_max);
}

/* An idle guest is not stopped: share and rate must fall all the same. */
static void test_idle(void)
{
	struct budget budget;
	uint64_t now_ns = START;

	budget_init(&budget, now_ns);
	simulate(&budget, 0.5, &now_ns, 5 * SECOND, SECOND / 100, 4000000);
	for (unsigned i = 0; i < 300; i++, now_ns += SECOND / 100)
		budget_measure(&budget, now_ns);
	check(budget.share == 0 && budget.rate_hz == 0, "idle: share %f, rate %f", budget.share,
	      budget.rate_hz);
}

static void test_lowered(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	budget_init(&budget, now_ns);
	simulate(&budget, 0.5, &now_ns, 10 * SECOND, SECOND / 100, 2000);
	outcome = simulate(&budget, 0.001, &now_ns, SECOND, SECOND / 10000, 2000000);
	check(outcome.stopped_ns <= 1100000 + outcome.stop_max_ns,
	      "a lower budget holds at once: %" PRIu64 " ns", outcome.stopped_ns);
}

int main(void)
{
	test_within();
	test_binding();
	test_saved_credit_is_bounded();
	test_emptied();
	test_recovery();
	test_share_max();
	test_idle();
	test_lowered();
	return tap_done();
}
