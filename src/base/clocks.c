/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks on which times can be told; see clocks.h. Any thread: plain data. */
#include "config.h"

#include "xtop/base/clocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S        1000000000
#define CLOCKS_STEP_NS  10000000 /* a larger step sets the clock; NTP slews 0.5 ms a second */
#define CLOCKS_LAST_DAY 253402300799 /* the end of year 9999 */

static const struct {
	const char *name, *description;
	bool is_utc;
} clocks_table[N_CLOCKS] = {
	[CLOCK_DOM0] = { "dom0", "dom0's CLOCK_MONOTONIC", false },
	[CLOCK_UTC] = { "utc", "dom0's UTC", true },
	[CLOCK_GUEST] = { "guest", "the guest's CLOCK_MONOTONIC", false },
	[CLOCK_GUEST_UTC] = { "guest-utc", "the guest's UTC", true },
};

void clocks_set(struct clocks *clocks, enum clock_kind kind, uint64_t ns)
{
	clocks->ahead_ns[kind] = ns - clocks->at_ns;
	clocks->known[kind] = true;
}

bool clocks_convert(const struct clocks *clocks, enum clock_kind kind, uint64_t time_ns,
		    uint64_t *converted_ns)
{
	if (kind != CLOCK_DOM0 && !clocks->known[kind])
		return false;
	*converted_ns = time_ns + clocks->ahead_ns[kind];
	return true;
}

bool clocks_convert_between(const struct clocks *a, const struct clocks *b, enum clock_kind kind,
			    uint64_t time_ns, uint64_t *converted_ns)
{
	double change_ns = (double)(int64_t)(b->ahead_ns[kind] - a->ahead_ns[kind]);
	double part;

	if (!a->known[kind] || time_ns >= b->at_ns)
		return clocks_convert(b, kind, time_ns, converted_ns);
	if (!b->known[kind] || time_ns <= a->at_ns || change_ns > CLOCKS_STEP_NS ||
	    change_ns < -CLOCKS_STEP_NS)
		return clocks_convert(a, kind, time_ns, converted_ns);
	part = (double)(time_ns - a->at_ns) / (double)(b->at_ns - a->at_ns);
	*converted_ns = time_ns + a->ahead_ns[kind] + (uint64_t)(int64_t)(part * change_ns);
	return true;
}

bool clocks_find(const char *name, enum clock_kind *kindp)
{
	for (int kind = 0; kind < N_CLOCKS; kind++)
		if (strcmp(name, clocks_table[kind].name) == 0) {
			*kindp = (enum clock_kind)kind;
			return true;
		}
	return false;
}

const char *clocks_name(enum clock_kind kind)
{
	return clocks_table[kind].name;
}

const char *clocks_describe(enum clock_kind kind)
{
	return clocks_table[kind].description;
}

const char *clocks_format(enum clock_kind kind, uint64_t ns, char text[CLOCKS_TEXT_BYTES])
{
	uint64_t s = ns / NS_PER_S, us = ns / 1000 % 1000000;
	time_t seconds = (time_t)s;
	char day[24];
	struct tm tm;

	if (clocks_table[kind].is_utc && s <= CLOCKS_LAST_DAY && gmtime_r(&seconds, &tm) &&
	    strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, CLOCKS_TEXT_BYTES, "%s.%06" PRIu64 " UTC", day, us);
	else
		snprintf(text, CLOCKS_TEXT_BYTES, "%" PRIu64 ".%06" PRIu64 " s", s, us);
	return text;
}
