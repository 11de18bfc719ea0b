/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How sure a difference between two shares is. Functions of their arguments alone.
 *
 * The interval is Newcombe's for the difference of two proportions (R. G. Newcombe, Statistics in
 * Medicine 17, 1998, method 10): Wilson's score intervals of both, put together. It also holds for
 * shares near 0, where a function came or went. Instead of samples it takes independent samples:
 * samples over the design effect (xtop/batches.h). Instead of the normal distribution it takes
 * Student's t, with the degrees of freedom that the numbers of batches give (Welch).
 */
#ifndef QUERY_INTERVAL_H
#define QUERY_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

struct interval_side {
	double share;   /* 0 to 1 */
	double samples; /* as if of equal weight */
	double effect;  /* the design effect; 1 or more */
	double batches; /* that EFFECT was taken from; 0: it was not measured */
};

struct interval {
	bool known;       /* false: there are too few batches, or no samples */
	double low, high; /* of the difference NOW - BASE, 95 % */
	/* The probability of such a difference, or a larger one, if there is none. */
	double chance;
};

struct interval interval_of_difference(const struct interval_side *now,
				       const struct interval_side *base);
/*
 * Of N chances, which ones are significant, if at most the share RATE of those called so shall be
 * called so wrongly: the largest chance that is (Y. Benjamini, Y. Hochberg, J. R. Statist. Soc. B
 * 57, 1995). Sorts CHANCES. Negative: none is.
 */
double interval_significant(double *chances, size_t n, double rate);

#endif
