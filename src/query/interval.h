/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How sure a share is, and a difference between two shares. Functions of their
 * arguments alone; any thread.
 *
 * The interval is Newcombe's for the difference of two proportions (R. G. Newcombe, Statistics in
 * Medicine 17, 1998, method 10): it combines Wilson's score intervals of both. It also holds for
 * shares near 0, where a function came or went. We change two things. The number of samples is
 * divided by the design effect (batches.h), because samples are not independent. Student's t
 * replaces the normal distribution, with Welch's degrees of freedom from the numbers of batches.
 */
#ifndef QUERY_INTERVAL_H
#define QUERY_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

struct interval_side {
	double share;   /* 0 to 1 */
	double samples; /* how many samples of equal weight would know as much */
	double effect;  /* the design effect; 1 or more */
	double batches; /* batches that EFFECT was measured in; 0: it was not measured */
};

struct interval {
	bool known;       /* false: there are too few batches, or no samples */
	double low, high; /* the 95 % interval of NOW - BASE */
	/* The probability of such a difference, or a larger one, if the shares are equal. */
	double chance;
};

struct interval interval_of_difference(const struct interval_side *now,
				       const struct interval_side *base);
/* Computes only the chance, in a sixth of the time. False: the chance is not known. */
bool interval_find_chance(const struct interval_side *now, const struct interval_side *base,
			  double *chancep);
/*
 * How far the true share may be from SIDE's: half the width of Wilson's score interval, 95 %.
 * False: there are too few batches, or no samples.
 */
bool interval_find_margin(const struct interval_side *side, double *marginp);
/*
 * Returns the largest of N chances that is significant; negative: no chance is. Chance alone causes
 * at most the share RATE of the differences up to that one (Y. Benjamini, Y. Hochberg, J. R.
 * Statist. Soc. B 57, 1995). Sorts CHANCES.
 */
double interval_find_limit(double *chances, size_t n, double rate);

#endif
