/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The budget over simulated minutes: how many stops it allows, and that no 10 s have more. */
#include "config.h"

#include <math.h>

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
	uint64_t most_ns; /* the most stopped time in any BUDGET_SPAN_NS */
};

/* The stops of the last BUDGET_SPAN_NS, in a circle. */
static struct {
	struct {
		uint64_t at_ns, stopped_ns;
	} stops[1 << 18];
	size_t first, n;
	uint64_t stopped_ns; /* sum of these stops */
} recent;

static void remember(uint64_t now_ns, uint64_t stop_ns)
{
	size_t size = sizeof(recent.stops) / sizeof(recent.stops[0]);

	for (; recent.n && recent.stops[recent.first].at_ns + BUDGET_SPAN_NS <= now_ns;
	     recent.n--) {
		recent.stopped_ns -= recent.stops[recent.first].stopped_ns;
		recent.first = (recent.first + 1) % size;
	}
	recent.stops[(recent.first + recent.n) % size].at_ns = now_ns;
	recent.stops[(recent.first + recent.n++) % size].stopped_ns = stop_ns;
	recent.stopped_ns += stop_ns;
}

/* SPAN of ticks at PERIOD; each stop lasts up to TWICE_STOP, and that is said beforehand. */
static struct outcome simulate(struct budget *budget, double share, uint64_t *now_ns,
			       uint64_t span_ns, uint64_t period_ns, uint64_t twice_stop_ns)
{
	struct outcome outcome = { .span_ns = span_ns };

	for (uint64_t end_ns = *now_ns + span_ns; *now_ns < end_ns; *now_ns += period_ns) {
		uint64_t stop_ns = 1 + next_random(twice_stop_ns);

		outcome.ticks++;
		budget_measure(budget, *now_ns);
		if (!budget_allows(budget, share, (double)twice_stop_ns, *now_ns))
			continue;
		budget_spend(budget, stop_ns);
		budget_count(budget);
		outcome.stops++;
		outcome.stopped_ns += stop_ns;
		remember(*now_ns, stop_ns);
		if (stop_ns > outcome.stop_max_ns)
			outcome.stop_max_ns = stop_ns;
		if (recent.stopped_ns > outcome.most_ns)
			outcome.most_ns = recent.stopped_ns;
	}
	return outcome;
}

/* No stops of an earlier budget. */
static void begin(struct budget *budget, uint64_t now_ns)
{
	recent.n = 0;
	recent.stopped_ns = 0;
	budget_init(budget, now_ns);
}

/* A stop of more than a third of the budget may overdraw it. */
static void check_bound(const struct outcome *outcome, double share, const char *what)
{
	double span_ns = share * (double)BUDGET_SPAN_NS,
	       over_ns = (double)outcome->stop_max_ns > span_ns / 3 ? (double)outcome->stop_max_ns
								    : 0;

	check((double)outcome->most_ns <= span_ns + over_ns,
	      "%s: %.4f of the budget in the 10 s with most", what,
	      (double)outcome->most_ns / span_ns);
}

static void test_within(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	begin(&budget, now_ns);
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

		begin(&budget, now_ns);
		/* 1 ms at 10 kHz asks for ten times the whole time */
		outcome = simulate(&budget, shares[i], &now_ns, 100 * SECOND, SECOND / 10000,
				   2000000);
		used = (double)outcome.stopped_ns / (double)outcome.span_ns;
		/*
		 * A stop that is a large part of the budget leaves that part unused. The advance is
		 * 2 s of 100; one stop may be overdrawn.
		 */
		check(used > shares[i] * 0.97 - fmin(2e6 / (double)BUDGET_SPAN_NS, shares[i] / 3) &&
			      used <= shares[i] * (1 + 2.0 / 100) + 2e6 / 100e9,
		      "binding: uses %f of %f", used, shares[i]);
		check_bound(&outcome, shares[i], "a load beyond the budget");
	}
}

/* At the start the share of two seconds may be spent at once. */
static void test_start(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	begin(&budget, now_ns);
	outcome = simulate(&budget, 0.01, &now_ns, SECOND, SECOND / 10000, 2000000);
	check(outcome.stopped_ns > 26 * 1000000 && outcome.stopped_ns <= 30 * 1000000,
	      "start: %" PRIu64 " ns in a second", outcome.stopped_ns);
	outcome = simulate(&budget, 0.01, &now_ns, 40 * SECOND, SECOND / 10000, 2000000);
	check_bound(&outcome, 0.01, "after a start");
}

/* The sampler before this one has used the advance. */
static void test_emptied(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	begin(&budget, now_ns);
	budget_empty(&budget, now_ns);
	outcome = simulate(&budget, 0.01, &now_ns, SECOND, SECOND / 10000, 2000000);
	check(outcome.stopped_ns <= 10 * 1000000 && outcome.stopped_ns > 0,
	      "emptied: %" PRIu64 " ns in a second", outcome.stopped_ns);
}

/* After 11 days without a stop, 10 s have no more than their share. */
static void test_idle_days(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	begin(&budget, now_ns);
	now_ns += 1000000 * SECOND;
	outcome = simulate(&budget, 0.01, &now_ns, 30 * SECOND, SECOND / 10000, 2000000);
	check(outcome.stops > 100, "%" PRIu64 " stops after idling", outcome.stops);
	check_bound(&outcome, 0.01, "stops after idling");
}

/* What is said to be left in the next 3 s is left then. */
static void test_left(void)
{
	struct budget budget;
	uint64_t now_ns = START;
	unsigned n_wrong = 0;

	begin(&budget, now_ns);
	for (unsigned i = 0; i < 300; i++, now_ns += BUDGET_SLOT_NS) {
		struct budget later;
		uint64_t gone_ns = 0;

		if (budget_allows(&budget, 0.01, 0, now_ns))
			budget_spend(&budget, next_random(3000000));
		later = budget;
		for (unsigned n = 1; n <= 30; n++)
			gone_ns += budget_leaving_ns(&budget, n);
		budget_allows(&later, 0.01, 0, now_ns + 30 * BUDGET_SLOT_NS);
		n_wrong += fabs(budget_left_ns(&later, 0.01, 0, 0) -
				budget_left_ns(&budget, 0.01, 30, gone_ns)) > 1;
	}
	check(!n_wrong, "what is left is foretold for 3 s: %u of 300 times wrong", n_wrong);
}

static void test_recovery(void)
{
	struct budget budget;
	struct outcome outcome;
	uint64_t now_ns = START;

	begin(&budget, now_ns);
	simulate(&budget, 0.01, &now_ns, 60 * SECOND, SECOND / 100, 20000);
	check(budget_allows(&budget, 0.01, 0, now_ns), "every tick has a stop before the long one");
	budget_spend(&budget, 100000000); /* 0.1 s: as much as 10 s may have */
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

	begin(&budget, now_ns);
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

	begin(&budget, now_ns);
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

	begin(&budget, now_ns);
	simulate(&budget, 0.5, &now_ns, 10 * SECOND, SECOND / 100, 2000);
	outcome = simulate(&budget, 0.001, &now_ns, 30 * SECOND, SECOND / 10000, 2000000);
	check(outcome.stops > 0, "%" PRIu64 " stops with a lower budget", outcome.stops);
	check_bound(&outcome, 0.001, "a lower budget holds at once");
}

int main(void)
{
	test_within();
	test_binding();
	test_start();
	test_idle_days();
	test_left();
	test_emptied();
	test_recovery();
	test_share_max();
	test_idle();
	test_lowered();
	return tap_done();
}
