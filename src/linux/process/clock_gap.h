/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a clock of the guest is behind ours, by times that the guest wrote down. Nothing is read
 * before it happened, so
 *
 *     gap = our clock when a time was read - that time
 *
 * is never less than the guest's clock is behind ours, and close to it if the time had just been
 * written. The smallest gap of the last seconds turns times of the guest into ours. It is estimated
 * anew every span, as the clocks drift apart, and the guest's may be set back relative to ours (a
 * guest that was suspended). Any thread.
 */
#ifndef XTOP_PROCESS_CLOCK_GAP_H
#define XTOP_PROCESS_CLOCK_GAP_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed to begin with. */
struct clock_gap {
	uint64_t since_ns;        /* our clock when the span began; 0: no time was read yet */
	uint64_t gap_ns;          /* the smallest gap of the span */
	uint64_t previous_gap_ns; /* the smallest gap of the span before it */
};

/* TIME of the guest was read at NOW_NS; 0: the guest has not written one. A span has SPAN_NS. */
void clock_gap_update(struct clock_gap *gap, uint64_t time, uint64_t now_ns, uint64_t span_ns);
/* TIME of the guest on our clock, modulo 2^64. False: TIME is 0, or nothing is known. */
bool clock_gap_get(const struct clock_gap *gap, uint64_t time, uint64_t *time_ns);

#endif
