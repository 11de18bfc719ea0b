/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals of differences; see interval.h. */
#include "config.h"

#include "query/interval.h"

#include <math.h>
#include <stdlib.h>

#define INTERVAL_TAIL        0.025 /* what the 95 % interval leaves out on each side */
#define INTERVAL_MIN_BATCHES 5
#define INTERVAL_MAX_Z       64 /* beyond it all chances are below 1e-300 */
#define INTERVAL_STEPS       60 /* steps of a bisection: more than a double has bits */

/* --- Student's t ------------------------------------------------------------------------------ */

/*
 * The continued fraction of the incomplete beta function, by Lentz's method (NIST Digital Library
 * of Mathematical Functions, §8.17.22).
 */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), result;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	result = d;
	for (int m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		result *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		step = d * c;
		result *= step;
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return result;
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta_regularised(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The probability that |t| with DF degrees of freedom is larger than T. */
static double student_tails(double t, double df)
{
	if (df > 1e6)
		return erfc(t / sqrt(2));
	return beta_regularised(df / 2, 0.5, df / (df + t * t));
}

static double student_quantile(double df)
{
	double low = 0, high = INTERVAL_MAX_Z;

	for (int i = 0; i < INTERVAL_STEPS; i++) {
		double middle = (low + high) / 2;

		if (student_tails(middle, df) > 2 * INTERVAL_TAIL)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* --- Wilson and Newcombe ---------------------------------------------------------------------- */

/* A share of N independent samples. */
struct share {
	double p, n;
};

static double share_wilson_half(struct share share, double z)
{
	double zz = z * z;

	return z / (1 + zz / share.n) *
	       sqrt(share.p * (1 - share.p) / share.n + zz / (4 * share.n * share.n));
}

static void share_wilson(struct share share, double z, double *low, double *high)
{
	double zz = z * z, middle = (share.p + zz / (2 * share.n)) / (1 + zz / share.n);
	double half = share_wilson_half(share, z);

	*low = fmin(middle - half, share.p);
	*high = fmax(middle + half, share.p);
}

/* hypot() is another function since glibc 2.35; nothing else in xtop wants more than 2.34. */
static double share_hypotenuse(double a, double b)
{
	return sqrt(a * a + b * b);
}

static void share_newcombe(struct share now, struct share base, double z, double *low, double *high)
{
	double difference = now.p - base.p, now_low, now_high, base_low, base_high;

	share_wilson(now, z, &now_low, &now_high);
	share_wilson(base, z, &base_low, &base_high);
	*low = difference - share_hypotenuse(now.p - now_low, base_high - base.p);
	*high = difference + share_hypotenuse(now_high - now.p, base.p - base_low);
}

/* The largest z with an interval that does not reach 0. */
static double share_distance(struct share now, struct share base)
{
	double from = 0, to = INTERVAL_MAX_Z, low, high;

	for (int i = 0; i < INTERVAL_STEPS; i++) {
		double z = (from + to) / 2;

		share_newcombe(now, base, z, &low, &high);
		if (low > 0 || high < 0)
			from = z;
		else
			to = z;
	}
	return from;
}

/* --- the two shares --------------------------------------------------------------------------- */

/* Shares of 0 and 1 would have no variance, so one sample with and one without are added. */
static double share_variance(struct share share)
{
	double p = (share.p * share.n + 1) / (share.n + 2);

	return p * (1 - p) / share.n;
}

static double side_freedom(const struct interval_side *side)
{
	return side->batches > 0 ? side->batches - 1 : 1e9;
}

static bool side_is_known(const struct interval_side *side)
{
	bool measured = side->batches > 0;

	return side->samples >= 1 && (!measured || side->batches >= INTERVAL_MIN_BATCHES);
}

/* Both shares, and Welch's degrees of freedom of their difference. */
struct side_pair {
	struct share now, base;
	double df;
};

static struct side_pair side_pair(const struct interval_side *now, const struct interval_side *base)
{
	/*
	 * An effect that comes from few samples is hardly known, so both sides use the larger one.
	 */
	double effect = fmax(now->effect, base->effect), va, vb;
	struct side_pair pair = { { now->share, now->samples / effect },
				  { base->share, base->samples / effect },
				  0 };

	va = share_variance(pair.now);
	vb = share_variance(pair.base);
	pair.df = (va + vb) * (va + vb) /
		  (va * va / side_freedom(now) + vb * vb / side_freedom(base));
	return pair;
}

bool interval_find_chance(const struct interval_side *now, const struct interval_side *base,
			  double *chancep)
{
	struct side_pair pair;

	if (!side_is_known(now) || !side_is_known(base))
		return false;
	pair = side_pair(now, base);
	*chancep = student_tails(share_distance(pair.now, pair.base), pair.df);
	return true;
}

struct interval interval_of_difference(const struct interval_side *now,
				       const struct interval_side *base)
{
	struct interval interval = { 0 };
	struct side_pair pair;

	interval.known = interval_find_chance(now, base, &interval.chance);
	if (!interval.known)
		return interval;
	pair = side_pair(now, base);
	share_newcombe(pair.now, pair.base, student_quantile(pair.df), &interval.low,
		       &interval.high);
	return interval;
}

bool interval_find_margin(const struct interval_side *side, double *marginp)
{
	struct share share = { side->share, side->samples / side->effect };
	double z;

	if (!side_is_known(side))
		return false;
	/* An effect of 1 is the least possible one, not an estimate from few batches. */
	z = student_quantile(side->effect > 1 ? side_freedom(side) : 1e9);
	*marginp = share_wilson_half(share, z);
	return true;
}

/* --- many differences ------------------------------------------------------------------------- */

static int chance_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double interval_find_limit(double *chances, size_t n, double rate)
{
	double largest = -1;

	if (n)
		qsort(chances, n, sizeof(*chances), chance_compare);
	for (size_t i = 0; i < n; i++)
		if (chances[i] <= rate * (double)(i + 1) / (double)n)
			largest = chances[i];
	return largest;
}
