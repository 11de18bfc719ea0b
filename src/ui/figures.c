/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as text. */
#include "config.h"

#include "ui/figures.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S            1000000000
#define HISTOGRAM_BAR_CELLS 24

const char *format_count(uint64_t count, char buffer[32])
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count), out = 0;

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buffer[out++] = ',';
		buffer[out++] = digits[i];
	}
	buffer[out] = '\0';
	return buffer;
}

/* Uses the largest unit of which VALUE is at least 1. Values below SMALL have a decimal. */
static const char *format_scaled(double value, double step, const char *const *units, size_t n,
				 double small, char *buffer)
{
	size_t unit = 0;

	while (value >= step && unit + 1 < n) {
		value /= step;
		unit++;
	}
	snprintf(buffer, 32, value < small && unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buffer;
}

const char *format_time(double ns, char buffer[32])
{
	static const char *const units[] = { "ns", "µs", "ms", "s" };

	return format_scaled(ns, 1000, units, 4, 100, buffer);
}

const char *format_bytes(uint64_t bytes, char buffer[32])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };

	return format_scaled((double)bytes, 1024, units, 5, 10, buffer);
}

const char *format_elapsed(uint64_t ns, char buffer[32])
{
	unsigned long long s = ns / NS_PER_S;

	if (s < 3600)
		snprintf(buffer, 32, "%llu:%02llu", s / 60, s % 60);
	else
		snprintf(buffer, 32, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	return buffer;
}

struct histogram_span histogram_find_span(const uint64_t log2[HISTOGRAM_POWERS])
{
	struct histogram_span span = { HISTOGRAM_POWERS, 0, 0 };

	for (unsigned i = 0; i < HISTOGRAM_POWERS; i++) {
		if (!log2[i])
			continue;
		span.first = span.first < i ? span.first : i;
		span.end = i + 1;
		span.most = log2[i] > span.most ? log2[i] : span.most;
	}
	if (!span.end)
		span.first = 0;
	return span;
}

/* Writes the bar of COUNT to TEXT. The longest bar shows MOST. */
static void figures_put_bar(char *text, uint64_t count, uint64_t most)
{
	size_t cells = most ? (size_t)((double)count * HISTOGRAM_BAR_CELLS / (double)most) : 0;

	text[0] = '\0';
	for (size_t i = 0; i < cells; i++)
		text = stpcpy(text, "█");
	if (!cells && count)
		stpcpy(text, "▌");
}

const char *format_histogram_line(const uint64_t log2[HISTOGRAM_POWERS], unsigned power,
				  uint64_t most, char buffer[HISTOGRAM_LINE_BYTES])
{
	char from[32], to[32], count[32], bar[4 * HISTOGRAM_BAR_CELLS + 4];

	figures_put_bar(bar, log2[power], most);
	snprintf(buffer, HISTOGRAM_LINE_BYTES, "%8s to %8s %8s %s",
		 format_time((double)(1ULL << power), from),
		 format_time((double)(2ULL << power), to), format_count(log2[power], count), bar);
	return buffer;
}
