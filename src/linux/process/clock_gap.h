/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a clock of the guest is behind ours, measured with times that the guest wrote down. A
 * time is read after it was written, so
 *
 *     gap = our clock when a time was read - that time
 *
 * is at least the true difference of the clocks, and close to it if the time had just been written.
 * The smallest gap of the last seconds converts times of the guest to ours. It is estimated again
 * in every span, because the clocks drift apart, and the guest's clock may be set back relative to
 * ours (a guest that was suspended). Any thread.
 */
#ifndef XTOP_PROCESS_CLOCK_GAP_H
#define XTOP_PROCESS_CLOCK_GAP_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed at first. */
struct clock_gap {
	uint64_t since_ns; /* our clock when the span began; 0 before the first time is read */
	uint64_t gap_ns;   /* smallest gap of the span */
	uint64_t previous_gap_ns; /* smallest gap of the span before */
};

/*
 * Records that TIME of the guest was read at NOW_NS. TIME is 0 if the guest has not written one.
 * SPAN_NS is the length of a span.
 */
void clock_gap_update(struct clock_gap *gap, uint64_t time, uint64_t now_ns, uint64_t span_ns);
/*
 * Converts TIME of the guest to our clock, modulo 2^64. Returns false if TIME is 0, or if no time
 * was read yet.
 */
bool clock_gap_get(const struct clock_gap *gap, uint64_t time, uint64_t *time_ns);

#endif
