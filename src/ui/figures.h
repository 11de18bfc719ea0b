/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as text for the screen. Each writes into BUFFER and returns it. */
#ifndef UI_FIGURES_H
#define UI_FIGURES_H

#include <stdint.h>

/* "21,873" */
const char *format_count(uint64_t count, char buffer[32]);
/* "11.9 µs" */
const char *format_time(double ns, char buffer[32]);
/* "3:41" */
const char *format_elapsed(uint64_t ns, char buffer[32]);
/* "31 MiB" */
const char *format_bytes(uint64_t bytes, char buffer[32]);

/* Times by powers of two: [i] counts those of at least 2^i ns, but less than 2^(i+1) ns. */
#define HISTOGRAM_POWERS     40
#define HISTOGRAM_LINE_BYTES 192
struct histogram_span {
	unsigned first, end; /* powers between which all times are; equal: there are none */
	uint64_t most;       /* the largest count */
};
struct histogram_span histogram_find_span(const uint64_t log2[HISTOGRAM_POWERS]);
/* "16.4 µs to  32.8 µs      800 ████": the line of POWER, whose bar is longest where MOST is. */
const char *format_histogram_line(const uint64_t log2[HISTOGRAM_POWERS], unsigned power,
				  uint64_t most, char buffer[HISTOGRAM_LINE_BYTES]);

#endif
