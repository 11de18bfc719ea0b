/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shares of a profile are worth: the whole sampler on a made-up guest, in made-up time
 * (weights_guest.h). The share of parallel() is computed as the profile does: each vCPU of a sample
 * adds the weight of the sample.
 */
#include "config.h"

#include "tests/sample/weights_guest.h"

static void check_budget(const struct made *made, unsigned n_vcpus, double budget, double seconds,
			 double hz)
{
	double span_ns = budget * (double)BUDGET_SPAN_NS,
	       used = (double)made->used_ns / (budget * (seconds - 3) * 1e9),
	       most = (double)made->most_span_ns / span_ns, worth = effective(made, n_vcpus);

	check(used >= 0.85 || (double)counts.samples >= 0.95 * hz * seconds,
	      "%.1f %% of the budget are used", 100 * used);
	check(most <= 1, "%.1f %% of the budget in the 10 s with most", 100 * most);
	check(worth >= 0.7, "worth %.2f of a constant rate", worth);
}

static void check_share(unsigned n_vcpus, double phase_s, double hz, double budget)
{
	/* Long enough for some 2,000 samples of parallel(), if phases are short. */
	double gap_s = fmax(mean_stop_ns(n_vcpus) / budget / 1e9, fmax(stride, 1) / hz);
	double seconds = fmax(fmax(2000 * gap_s, 20 * phase_s) * (n_vcpus + 1), 60);
	struct made made;
	double error, worth;

	run(&made, n_vcpus, phase_s, hz, budget, seconds);
	error = share(made.weights) - share(made.spent_ns);
	worth = effective(&made, n_vcpus);
	/*
	 * N samples of parallel(), half of all time, of which each is worth as much as WORTH: a
	 * standard deviation of 25 / sqrt(N * WORTH) points.
	 */
	check(fabs(error) <= fmax(2, 3 * 25 / sqrt(made.n[1] * worth)),
	      "%3u vCPUs, phases of %5g s, %4g Hz, budget %4g %%: %+5.2f points; %.1f Hz, "
	      "samples %u %u, worth %.2f",
	      n_vcpus, phase_s, hz, 100 * budget, error, (double)counts.samples / seconds,
	      made.n[0], made.n[1], worth);
	check(fabs(made.ticks - (double)(counts.ticks + counts.missed)) <=
		      2 + (double)counts.ticks * 1e-3,
	      "weights are ticks: %.1f of %" PRIu64, made.ticks, counts.ticks + counts.missed);
	if (stride <= 1)
		check_budget(&made, n_vcpus, budget, seconds, hz);
}

/* All guests of a host give way: samples are as far apart as that, and stand for as many ticks. */
static void check_stride(unsigned n_vcpus, double phase_s, double value)
{
	stride = value;
	check_share(n_vcpus, phase_s, 99, 0.5);
	check(fabs((double)counts.samples * stride / (double)counts.ticks - 1) < 0.02,
	      "stride %g: %" PRIu64 " samples of %" PRIu64 " ticks", stride, counts.samples,
	      counts.ticks);
	stride = 0;
}

/* A budget that never binds is tried once for each number of vCPUs. */
static void check_budgets(unsigned n_vcpus, double phase_s)
{
	static const double budgets[] = { 0.001, 0.01, 0.1, 0.5 };
	double hz = 99;

	for (unsigned i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		check_share(n_vcpus, phase_s, hz, budgets[i]);
		if ((STOP_NS + n_vcpus * VCPU_NS) * hz / 1e9 < budgets[i])
			return;
	}
}

/* A run without any skip counts as it always did: each sample is one tick. */
static void check_full_rate(void)
{
	struct made made;

	run(&made, 8, 0.3, 99, 0.01, 100);
	check(counts.samples == counts.ticks && made.n_one == counts.samples,
	      "nothing skipped: %u of %" PRIu64 " samples stand for exactly one tick", made.n_one,
	      counts.samples);
}

/*
 * Nobody reads the ring for a while. The samples after that stand for 5 s of what was lost, none of
 * them for more of it than for its own tick.
 */
static void check_lost(void)
{
	struct made made;
	double lost;

	next = (struct made){ .read_every_ns = 60 * SECOND };
	run(&made, 4, 0.3, 99, 0.5, 200);
	next = (struct made){ .read_every_ns = 0 };
	lost = (double)counts.ticks - made.ticks;
	check(counts.lost > 5000, "%" PRIu64 " ticks lost", counts.lost);
	check(fabs(lost - ((double)counts.lost - 3 * 5 * 99)) < 3 * 99,
	      "no sample stands for %.0f of these ticks", lost);
	check(made.heaviest <= 2, "the heaviest sample stands for %.1f ticks", made.heaviest);
	check(fabs(lost - (double)counts.given_up) < 2, "%" PRIu64 " are told", counts.given_up);
}

/* Dom0 does not run for a while. The next samples stand for the deadlines that went by. */
static void check_missed(void)
{
	double all;
	struct made made;

	lateness = miss_deadlines;
	run(&made, 4, 0.3, 99, 0.5, 200);
	lateness = wake_up_late;
	all = (double)(counts.ticks + counts.missed);
	check(counts.missed > 4000, "%" PRIu64 " ticks missed", counts.missed);
	check(made.ticks <= all && made.ticks >= all - 5 * 99,
	      "weights are ticks, those missed included: %.0f of %.0f", made.ticks, all);
	check(made.heaviest <= 2, "the heaviest sample stands for %.1f ticks", made.heaviest);
}

/*
 * SURPRISE_NS: so much longer a stop may take than the costliest before. What one minute uses depends
 * on where the samples fall, so the use is the mean of some minutes.
 */
static void check_change(const char *what, unsigned n_vcpus, double phase_s, double budget,
			 double surprise_ns)
{
	uint64_t first_seed = seed;
	struct made made;
	double span_ns = budget * (double)BUDGET_SPAN_NS, used = 0, most = 0;

	for (; seed < first_seed + CHANGE_MINUTES; seed++) {
		/* While one of 64 vCPUs runs, the budget pays more than 400 Hz. */
		run(&made, n_vcpus, phase_s, n_vcpus > 32 ? 1500 : 400, budget, 60);
		used += (double)made.used_ns / (budget * 57e9) / CHANGE_MINUTES;
		most = fmax(most, (double)made.most_span_ns / span_ns);
	}
	seed = first_seed;
	next = (struct made){ .pause_ns = 0 };
	check(used >= 0.85, "%s: %u vCPUs, phases of %g s, use %.1f %% of %g %%", what, n_vcpus,
	      phase_s, 100 * used, 100 * budget);
	check(most <= 1 + surprise_ns / span_ns, "%s: %.1f %% of the budget in the 10 s with most",
	      what, 100 * most);
}

/* Stops do not always cost what they did. */
static void check_changes(unsigned n_vcpus, double phase_s)
{
	double all_ns = STOP_NS + n_vcpus * VCPU_NS, budget = 50 * all_ns / (double)BUDGET_SPAN_NS;

	next = (struct made){ .cold_ns = (uint64_t)(5 * all_ns) };
	check_change("cold start", n_vcpus, phase_s, budget, 0);
	next = (struct made){ .costly_ns = 1030 * SECOND, .cost = 3 };
	check_change("stops cost more from second 30 on", n_vcpus, phase_s, budget * 3, 2 * all_ns);
	next = (struct made){ .costly_ns = 1030 * SECOND, .cost = 0.3 };
	check_change("stops cheaper from second 30 on", n_vcpus, phase_s, budget, 0);
	next = (struct made){ .noise = 4 };
	check_change("a stop of 20 takes four times as long", n_vcpus, phase_s, budget * 2, 0);
}

/*
 * A Linux guest with eight vCPUs whose stops take 0.2 to 1 ms and the first one 6 ms, as in the lab
 * in real time: what a person sees in the first minute, with the default budget.
 */
static void check_first_minute(void)
{
	struct made made;
	double used, error;

	next = (struct made){ .cold_ns = 5 * MS, .costly_ns = 1, .cost = 10.6 };
	run(&made, 8, 1, 99, 0.01, 60);
	used = (double)made.used_ns / (0.01 * 57e9);
	error = share(made.weights) - share(made.spent_ns);
	check(used >= 0.85 && used <= 1, "%.2f %% of the time stopped from second 3 to 60", used);
	run(&made, 8, 1, 99, 0.01, 600);
	check(fabs(share(made.weights) - share(made.spent_ns)) <= 3,
	      "the share of parallel(): %+.2f points after 60 s, %+.2f after 600", error,
	      share(made.weights) - share(made.spent_ns));
	next = (struct made){ .pause_ns = 0 };
}

/*
 * Dom0 loses its CPU in a stop, which takes twice the budget of 10 s. For that long there are no
 * samples, and the one that comes then stands for a part of it only.
 */
static void check_slow_stop(void)
{
	struct made made;
	double worth;

	next = (struct made){ .slow_ns = 1010 * SECOND, .costly_ns = 1, .cost = 10.6 };
	run(&made, 8, 1, 99, 0.01, 60);
	next = (struct made){ .pause_ns = 0 };
	worth = made.ticks * made.ticks / made.squares;
	check(made.heaviest <= 2 * 99 + 1, "a stop of 191 ms: the heaviest sample stands for %.1f s",
	      made.heaviest / 99);
	check(worth >= 0.15 * (double)counts.samples, "%" PRIu64 " samples are worth %.0f",
	      counts.samples, worth);
	check(counts.given_up > 99, "%" PRIu64 " ticks are in no sample", counts.given_up);
}

/*
 * The first stop takes as long as five others: the sample after it, of which nobody knows yet when
 * it may come, does not rule the profile of the first minute.
 */
static void check_cold_start(void)
{
	for (unsigned n_vcpus = 1; n_vcpus <= 64; n_vcpus *= 8) {
		double all_ns = STOP_NS + n_vcpus * VCPU_NS, worth;
		struct made made;

		next = (struct made){ .cold_ns = (uint64_t)(5 * all_ns) };
		run(&made, n_vcpus, 0.02, 99, 50 * all_ns / (double)BUDGET_SPAN_NS, 60);
		worth = effective(&made, n_vcpus);
		check(worth >= 0.7, "cold start of %u vCPUs: worth %.2f of a constant rate",
		      n_vcpus, worth);
	}
	next = (struct made){ .pause_ns = 0 };
}

/* A guest that is seldom stopped is looked at all the same: it may go away. */
static void check_looks(double budget)
{
	struct made made;

	run(&made, 128, 3, 99, budget, 100);
	check(made.longest_ns <= 111 * MS,
	      "budget %g %%: it is seen every %.0f ms at least, with %.1f samples a second",
	      100 * budget, (double)made.longest_ns / MS, (double)counts.samples / 100);
	check(made.looks == counts.samples && made.life_looks <= 1001,
	      "%u looks at the vCPUs for %" PRIu64 " samples of %" PRIu64 " ticks, %u at its life",
	      made.looks, counts.samples, counts.ticks, made.life_looks);
}

/* At 0.001 % a stop of 1.3 ms is paid for in two minutes. What others do is seen all the same. */
static void check_life(void)
{
	struct made made;

	next = (struct made){ .pause_ns = 1010 * SECOND,
			      .go_on_ns = 1020 * SECOND,
			      .away_ns = 1030 * SECOND };
	run(&made, 128, 3, 99, 0.00001, 100);
	next = (struct made){ .pause_ns = 0 };
	check(counts.samples <= 2, "%" PRIu64 " samples", counts.samples);
	check(made.paused_seen_ns - made.pause_ns < 250 * MS, "a pause is seen after %.0f ms",
	      (double)(made.paused_seen_ns - made.pause_ns) / MS);
	check(made.running_seen_ns - made.go_on_ns < 350 * MS,
	      "the end of a pause is seen after %.0f ms",
	      (double)(made.running_seen_ns - made.go_on_ns) / MS);
	check(counts.state == SAMPLER_GUEST_AWAY && made_clock.now_ns - made.away_ns < 150 * MS,
	      "a guest's end is seen after %.0f ms",
	      (double)(made_clock.now_ns - made.away_ns) / MS);
}

int main(void)
{
	static const unsigned n_vcpus[] = { 1, 2, 4, 8, 16, 32, 64 };
	static const double phases_s[] = { 0.02, 0.05, 0.3, 1, 3 };
	/*
	 * The work grows with the square of the vCPUs; with sanitizers it takes ten times as long.
	 */
#ifdef SANITIZED
	static const size_t n_phases[] = { 5, 5, 1, 1, 1 };
#else
	static const size_t n_phases[] = { 5, 5, 5, 5, 5, 4, 1 };
#endif

	if (getenv("XTOP_SEED"))
		seed = strtoull(getenv("XTOP_SEED"), NULL, 0);
	fault_install();
	for (unsigned v = 0; v < sizeof(n_phases) / sizeof(n_phases[0]); v++)
		for (size_t p = 0; p < n_phases[v]; p++)
			check_budgets(n_vcpus[v], phases_s[p]);
#ifndef SANITIZED
	check_share(128, 0.02, 99, 0.01);
	check_share(128, 1, 99, 0.01);
	check_share(128, 0.3, 99, 0.001);
#endif
	check_share(128, 0.3, 99, 0.1);
	check_full_rate();
	check_stride(1, 0.3, 5.2);
	check_stride(8, 0.02, 5.2);
	check_stride(8, 1, 1.5);
	check_stride(2, 0.3, 40);
	check_life();
	for (unsigned v = 0; v < 7; v++)
		for (size_t p = 0; p < 5; p += 2)
			check_changes(n_vcpus[v], phases_s[p]);
	check_cold_start();
	check_first_minute();
	check_slow_stop();
	check_lost();
	check_missed();
	check_looks(0.001);
	check_looks(0.0001);
	return tap_done();
}
