/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two runs, function by function: which functions take another share of the time now, and
 * how sure that is. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_DIFF_H
#define XTOP_DIFF_H

#include "xtop/base/error.h"
#include "xtop/profile/batches.h"
#include "xtop/profile/snapshot.h"

/* Chance alone marks at most this share of the functions that are marked significant. */
#define DIFF_FALSE_DISCOVERIES 0.05

/* One whole run. */
struct diff_side {
	const struct snapshot *snapshot;
	const struct batches *batches; /* how the compared shares vary; NULL: not measured */
	double hz;      /* ticks of a vCPU in a second; 0: not known */
	double seconds; /* how long the run took; 0: not known */
};

struct diff_row {
	const struct frame *frame;
	double base, now;           /* shares, 0 to 1 */
	double base_cpu, now_cpu;   /* vCPU-seconds a second; NAN: not known */
	bool in_base, in_now;       /* the run has the function */
	bool known, significant;    /* KNOWN: LOW, HIGH and CHANCE are set */
	double low, high;           /* the interval of NOW - BASE, 95 % */
	double chance;              /* the probability of such a difference without a change */
};

struct diff {
	size_t n, n_significant;
	struct diff_row *rows;    /* significant ones first; each part by size of the difference */
	double base_cpu, now_cpu; /* vCPU-seconds a second of all functions */
};

/* CHILDREN: compares children instead of self. Error: out of memory. */
struct xtop_error *diff_build(const struct diff_side *now, const struct diff_side *base,
			      bool children, struct diff *diff);
void diff_deinit(struct diff *diff);
/* The significant row with the largest growth; NULL: none grew. */
const struct diff_row *diff_find_grown(const struct diff *diff);

#endif
