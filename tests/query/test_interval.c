/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals of differences, against published figures; which of many differences count. */
#include "config.h"

#include <math.h>

#include "query/interval.h"
#include "tests/support/tap.h"

static struct interval_side side(double hits, double n)
{
	return (struct interval_side){ .share = hits / n, .samples = n, .effect = 1 };
}

static void check_near(double got, double want, double off, const char *what)
{
	check(fabs(got - want) <= off, "%s: %.5f (expected %.5f)", what, got, want);
}

/* R. G. Newcombe, Statistics in Medicine 17 (1998), table II, method 10. */
static void test_newcombe(void)
{
	static const struct {
		double a, n, b, m, low, high;
	} published[] = { { 56, 70, 48, 80, 0.0524, 0.3339 },
			  { 9, 10, 3, 10, 0.1705, 0.8090 },
			  { 10, 10, 0, 10, 0.6075, 1.0000 } };

	for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
		struct interval_side a = side(published[i].a, published[i].n);
		struct interval_side b = side(published[i].b, published[i].m);
		struct interval interval = interval_of_difference(&a, &b);

		check(interval.known, "the interval is known");
		check_near(interval.low, published[i].low, 0.00006, "low");
		check_near(interval.high, published[i].high, 0.00006, "high");
	}
}

/* An interval reaches 0 exactly when the chance is 5 % or more. */
static void test_chance(void)
{
	struct interval_side base = side(100, 1000), now;

	for (int hits = 60; hits <= 150; hits += 5) {
		struct interval interval;

		now = side(hits, 1000);
		interval = interval_of_difference(&now, &base);
		check((interval.low <= 0 && interval.high >= 0) == (interval.chance >= 0.05),
		      "%d against 100: %.4f..%.4f, chance %.4f", hits, interval.low, interval.high,
		      interval.chance);
	}
	now = side(0, 100000);
	base = side(50000, 100000);
	check(interval_of_difference(&now, &base).chance < 1e-100,
	      "a share that fell from a half to 0 is no chance");
	now = base;
	check_near(interval_of_difference(&now, &base).chance, 1, 1e-9, "equal shares");
}

/* An effect of 4 is worth a quarter of the samples; with few batches the interval is wider. */
static void test_effect(void)
{
	struct interval_side a = side(300, 1000), b = side(200, 1000), c = side(75, 250),
			     d = side(50, 250);
	struct interval four, quarter;

	a.effect = 4;
	four = interval_of_difference(&a, &b); /* the larger one counts for both */
	quarter = interval_of_difference(&c, &d);
	check_near(four.low, quarter.low, 1e-12, "low");
	check_near(four.high, quarter.high, 1e-12, "high");
	a = side(300, 1000);
	a.batches = b.batches = 6; /* 10 degrees of freedom: t is 2.228 instead of 1.960 */
	four = interval_of_difference(&a, &b);
	a.batches = b.batches = 0;
	quarter = interval_of_difference(&a, &b);
	check_near((four.high - four.low) / (quarter.high - quarter.low), 2.228 / 1.960, 0.01,
		   "few batches");
	a.batches = 3;
	check(!interval_of_difference(&a, &b).known, "an interval of too few batches is not known");
	a = side(0, 1);
	a.samples = 0;
	check(!interval_of_difference(&a, &b).known, "an interval without samples is not known");
}

/* Y. Benjamini, Y. Hochberg, J. R. Statist. Soc. B 57 (1995), §4.1: four of fifteen. */
static void test_many(void)
{
	double chances[] = { 0.5719, 0.0019, 0.0298, 0.0001, 0.3240, 0.0201, 1.0000, 0.0459,
			     0.0095, 0.4262, 0.0344, 0.6528, 0.0004, 0.7590, 0.0278 };
	double one[] = { 0.06 };

	check_near(interval_find_limit(chances, 15, 0.05), 0.0095, 0,
		   "the largest significant chance");
	check(interval_find_limit(one, 1, 0.05) < 0, "one large chance is not significant");
	check(interval_find_limit(NULL, 0, 0.05) < 0, "no functions have no significant chance");
}

int main(void)
{
	test_newcombe();
	test_chance();
	test_effect();
	test_many();
	return tap_done();
}
