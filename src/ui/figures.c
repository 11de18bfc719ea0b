/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as text. */
#include "config.h"

#include "ui/figures.h"

#include <stddef.h>
#include <stdio.h>

#define NS_PER_S 1000000000

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
