/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deadlines by a made-up clock. A made-up guest spends 40 % of each 1/99 s in one function; samples
 * of it have to say so at every rate. The seeds are fixed, so the results are always the same.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "sample/schedule.h"
#include "tests/support/tap.h"

#define SECOND   1000000000ULL
#define START    (123456 * SECOND)
#define GUEST_HZ 99.0
#define SHARE    0.4
#define N_PHASES 20
#define N_RUNS   200

static uint64_t period_of(double hz)
{
	return (uint64_t)(1e9 / hz);
}

/* The percentage of SPAN_NS in the function. The guest's first cycle began PHASE cycles ago. */
static double sample_guest(double hz, uint64_t seed, uint64_t span_ns, double phase)
{
	struct deadline deadline;
	unsigned n = 0, in = 0;
	uint64_t now_ns = START;

	deadline_init(&deadline, seed);
	for (;; n++) {
		double cycles;

		deadline_next(&deadline, period_of(hz), now_ns);
		now_ns = deadline.at_ns;
		if (now_ns >= START + span_ns)
			return 100.0 * in / n;
		cycles = (double)(now_ns - START) * GUEST_HZ / 1e9 + phase;
		in += cycles - floor(cycles) < SHARE;
	}
}

/* Whatever the guest was doing when sampling began: the mean of many runs is the true share. */
static void test_no_lockstep(double hz)
{
	double worst = 0;

	for (unsigned i = 0; i < N_PHASES; i++) {
		double sum = 0;

		for (unsigned seed = 1; seed <= N_RUNS; seed++)
			sum += sample_guest(hz, seed, 10 * SECOND, (double)i / N_PHASES);
		if (fabs(sum / N_RUNS - 100 * SHARE) > worst)
			worst = fabs(sum / N_RUNS - 100 * SHARE);
	}
	check(worst < 1, "-F %g: %d runs of 10 s are %.2f points off at worst", hz, N_RUNS, worst);
}

/*
 * One run deviates by BOUND points at most (standard deviation); WITHIN of all runs by less than 3.
 */
static void test_deviation(double hz, unsigned span_s, double bound, double within)
{
	double squares = 0;
	unsigned hits = 0;

	for (unsigned seed = 1; seed <= N_RUNS; seed++) {
		double phase = (double)seed / N_RUNS;
		double off = sample_guest(hz, seed, span_s * SECOND, phase) - 100 * SHARE;

		squares += off * off;
		hits += fabs(off) <= 3;
	}
	check(sqrt(squares / N_RUNS) < bound && hits >= within * N_RUNS,
	      "-F %g: after %u s %.2f points off, %u of %d runs within 3", hz, span_s,
	      sqrt(squares / N_RUNS), hits, N_RUNS);
}

/* --- periods ---------------------------------------------------------------------------------- */

#define N_BINS 10

/*
 * Each period is the mean ± 25 %, and each deviation is nearly as likely as any other. Where the
 * place turns round, part of the step leads back: small deviations are a little more frequent.
 */
static void test_periods(void)
{
	struct deadline deadline;
	uint64_t period_ns = period_of(99), before_ns;
	unsigned bins[N_BINS] = { 0 }, n = 100000, beyond = 0, uneven = 0;

	deadline_init(&deadline, 1);
	deadline_next(&deadline, period_ns, START);
	for (unsigned i = 0; i < n; i++) {
		double deviation;

		before_ns = deadline.at_ns;
		deadline_next(&deadline, period_ns, before_ns);
		deviation = (double)(deadline.at_ns - before_ns) / (double)period_ns - 1;
		beyond += fabs(deviation) > 0.2500001;
		bins[(unsigned)((fmin(fmax(deviation, -0.25), 0.2499) + 0.25) * 2 * N_BINS)]++;
	}
	check_u64(beyond, 0, "periods that are off by more than 25 %");
	for (unsigned i = 0; i < N_BINS; i++)
		uneven += bins[i] < n / N_BINS * 3 / 4 || bins[i] > n / N_BINS * 5 / 4;
	check(!uneven, "spread evenly: %u %u %u %u %u %u %u %u %u %u", bins[0], bins[1], bins[2],
	      bins[3], bins[4], bins[5], bins[6], bins[7], bins[8], bins[9]);
}

/* -F 99 is 99 samples in every second, but for the one that may lie on either side of its end. */
static void test_mean(void)
{
	struct deadline deadline;
	uint64_t period_ns = period_of(99), now_ns = START, missed = 0, n = 0, bad = 0;

	deadline_init(&deadline, 2);
	for (uint64_t second = 1; second <= 10000; second++) {
		uint64_t in_second = 0;

		for (;; in_second++) {
			missed += deadline_next(&deadline, period_ns, now_ns);
			now_ns = deadline.at_ns;
			if (now_ns >= START + second * SECOND)
				break;
		}
		in_second += second > 1; /* the one that ended the second before */
		n += in_second;
		bad += in_second < 98 || in_second > 100;
	}
	check_u64(missed, 0, "deadlines that were missed in 10,000 s");
	check_u64(bad, 0, "seconds without 98 to 100 samples");
	check(n >= 989999 && n <= 990002, "10,000 s: %" PRIu64 " samples", n);
}

#define N_GUESTS 32
#define N_TICKS  1900 /* ticks of each guest: 100 s at 19 Hz */

static int compare_times(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

/*
 * Guests whose samplers start at one moment are not stopped together. With 608 ticks a second at
 * entirely random times, 1 - exp(-0.608) = 45.6 % would follow another one within 1 ms.
 */
static void test_bunches(void)
{
	static uint64_t at_ns[N_GUESTS * N_TICKS];
	uint64_t seed = 1, period_ns = period_of(19);
	unsigned close = 0, n = 0;

	for (unsigned i = 0; i < N_GUESTS; i++) {
		struct deadline deadline;

		seed = seed * 6364136223846793005 + 1442695040888963407; /* Knuth's MMIX */
		deadline_init(&deadline, seed ^ seed >> 32);
		deadline.at_ns = START;
		for (unsigned k = 0; k < N_TICKS; k++) {
			deadline_next(&deadline, period_ns, deadline.at_ns);
			at_ns[n++] = deadline.at_ns;
		}
	}
	qsort(at_ns, n, sizeof(*at_ns), compare_times);
	for (unsigned i = 1; i < n; i++)
		close += at_ns[i] - at_ns[i - 1] < SECOND / 1000;
	check(close > 0.42 * n && close < 0.49 * n,
	      "32 guests at 19 Hz: %.1f %% of the ticks follow another within 1 ms", 100.0 * close / n);
}

static void test_seeds(void)
{
	struct deadline a, b;
	unsigned same = 0;

	deadline_init(&a, 0);
	deadline_init(&b, deadline_draw_seed());
	for (unsigned i = 0; i < 100; i++) {
		deadline_next(&a, period_of(99), START + i * period_of(99));
		deadline_next(&b, period_of(99), START + i * period_of(99));
		same += a.at_ns == b.at_ns;
	}
	check(same < 5, "another seed gives other deadlines: %u of 100 are the same", same);
}

/* --- missed ----------------------------------------------------------------------------------- */

/* Each tick takes TICK_NS. Deadlines that went by are counted; none is caught up. */
static void check_missed(uint64_t tick_ns, const char *what)
{
	struct deadline deadline;
	uint64_t period_ns = SECOND / 100, now_ns = START, missed = 0, n = 0, past = 0, slots;

	deadline_init(&deadline, 3);
	for (; n < 1000; n++) {
		missed += deadline_next(&deadline, period_ns, now_ns);
		past += deadline.at_ns < now_ns;
		now_ns = deadline.at_ns + tick_ns;
	}
	slots = (deadline.at_ns - START) / period_ns + 1;
	check_u64(past, 0, "deadlines in the past");
	check(missed + n == slots, "%s: %" PRIu64 " met and %" PRIu64 " missed of %" PRIu64, what,
	      n, missed, slots);
	check(missed <= n * (tick_ns / period_ns + 1) && missed >= (n - 1) * (tick_ns / period_ns),
	      "%s: %" PRIu64 " missed", what, missed);
}

static void test_missed(void)
{
	check_missed(SECOND / 100 * 7 / 10, "ticks of 0.7 periods");
	check_missed(SECOND / 100 * 34 / 10, "ticks of 3.4 periods");
	check_missed(0, "ticks of no time");
}

/* Ticks that take 0.7 periods fit between any two deadlines. */
static void test_none_missed(void)
{
	struct deadline deadline;
	uint64_t period_ns = SECOND / 100, missed = 0;

	deadline_init(&deadline, 4);
	deadline_next(&deadline, period_ns, START);
	for (unsigned i = 0; i < 1000; i++)
		missed += deadline_next(&deadline, period_ns, deadline.at_ns + period_ns * 7 / 10);
	check_u64(missed, 0, "missed by ticks of 0.7 periods");
}

/* An administrator has paused the guest: 10 Hz for a while. Nothing is missed by the change. */
static void test_other_period(void)
{
	struct deadline deadline;
	uint64_t now_ns = START, missed = 0, bad = 0;

	deadline_init(&deadline, 5);
	for (unsigned i = 0; i < 400; i++) {
		uint64_t period_ns = i / 20 % 2 ? SECOND / 10 : SECOND / 100;

		missed += deadline_next(&deadline, period_ns, now_ns);
		bad += deadline.at_ns < now_ns || deadline.at_ns > now_ns + 2 * period_ns;
		now_ns = deadline.at_ns;
	}
	check_u64(missed, 0, "missed when the rate changes");
	check_u64(bad, 0, "deadlines out of reach");
}

int main(void)
{
	static const double rates[] = { 99, 33, 9, 100, 98, 50, 49.5, 198, 1000 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		test_no_lockstep(rates[i]);
	test_deviation(99, 10, 2, 0.9);
	test_deviation(100, 10, 2, 0.9);
	test_deviation(33, 10, 2.7, 0.75);
	test_deviation(9, 10, 5.3, 0.35);
	test_deviation(99, 60, 0.75, 0.99);
	test_deviation(33, 60, 1.1, 0.99);
	test_deviation(9, 240, 1.1, 0.98);
	test_periods();
	test_mean();
	test_bunches();
	test_seeds();
	test_none_missed();
	test_missed();
	test_other_period();
	return tap_done();
}
