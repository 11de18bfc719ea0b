/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who takes a guest's physical CPUs, in words. Functions of their arguments alone; any thread. */
#ifndef XTOP_TAKERS_ADVICE_H
#define XTOP_TAKERS_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/sample/takers.h"

#define TAKERS_NAME_BYTES   80
#define TAKERS_ADVICE_BYTES 200
#define TAKERS_ADVICE_LINES 8

struct takers_advice {
	size_t n;
	char lines[TAKERS_ADVICE_LINES][TAKERS_ADVICE_BYTES];
};

/* A share of TAKEN: since start if TOTALS, else live. */
static inline double taken_get(struct taken taken, bool totals)
{
	return totals ? taken.total : taken.live;
}

/* The taker's name, clean: "db07", "dom0", "Xen, or nobody". It is in BUFFER, or a constant. */
const char *takers_name(const struct takers_table *table, uint32_t domid,
			char buffer[TAKERS_NAME_BYTES]);
/* "dom0 71 %, db07 29 %": who took most of the vCPU's steal; "": it has none. */
void takers_describe_vcpu(const struct takers_table *table, const struct taken_vcpu *vcpu,
			  char text[TAKERS_ADVICE_BYTES]);
/* What one can do about it, where that is clear. */
void takers_advise(const struct takers_table *table, bool totals, struct takers_advice *advice);

#endif
