/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a function's share varies. Samples of one second resemble each other: a program that is
 * in a loop at one tick is mostly in the same loop at the next tick. So an interval that counts
 * samples as independent is too narrow. Here the ticks of each function are summed over batches of
 * a second. The variance between these sums tells how many independent samples would know as much.
 *
 * With x ticks of the function and n of all in a batch, and p = sum x / sum n over all batches, the
 * variance of p is k / (k - 1) * sum (x - p n)^2 / (sum n)^2 for k batches (a ratio estimator, as
 * in Cochran, Sampling Techniques, §6.4). Phases of seconds make a batch resemble the one before
 * it. So the variance is multiplied by (1 + r) / (1 - r) if the correlation r of neighbours is more
 * than chance. Sums of x, x^2, x n, n and n^2, and sums of products of neighbours, are kept twice:
 * with equal weights for all batches, and with live weights.
 *
 * The design effect is this variance, divided by the variance of independent samples: 1 or more.
 *
 * One thread at a time.
 */
#ifndef XTOP_BATCHES_H
#define XTOP_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/base/limit.h"

/* At most this many functions are measured: those seen first. Each takes 120 bytes. */
#define BATCHES_MAX_FUNCTIONS LIMIT(1U << 16, 1U << 6)

struct batches;

/* HALF_LIFE_NS: the half-life of live weights. 0: live weights do not decay. */
struct xtop_error *batches_create(uint64_t half_life_ns, struct batches **batchesp);
void batches_destroy(struct batches *batches); /* NULL allowed */
void batches_reset(struct batches *batches);
/* Begins a sample taken at TIME_NS with the weight TICKS. An earlier time counts as the latest. */
void batches_begin(struct batches *batches, uint64_t time_ns, double ticks);
/* Counts FRAME in the current sample. A second call for one sample changes nothing. */
void batches_count(struct batches *batches, uint32_t frame);

/* How much all batches tell, the current one included. */
struct batches_worth {
	double batches; /* number of batches; if weights are live, (sum w)^2 / sum w^2 */
	double samples; /* the effective number of samples, (sum ticks)^2 / sum ticks^2 */
};
struct batches_worth batches_get_worth(const struct batches *batches, bool live);
/* The design effect of FRAME's share. 1 if FRAME was not seen or not measured. */
double batches_get_effect(const struct batches *batches, uint32_t frame, bool live);

#endif
