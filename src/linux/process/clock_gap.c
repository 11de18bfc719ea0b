/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Relates a clock of the guest to ours, by times that the guest has written; see clock_gap.h. */
#include "config.h"

#include "linux/process/clock_gap.h"

/* Compares gaps by the sign of their difference, because the guest's clock may be ahead of ours. */
static bool clock_gap_is_less(uint64_t a_ns, uint64_t b_ns)
{
	return (int64_t)(a_ns - b_ns) < 0;
}

void clock_gap_update(struct clock_gap *gap, uint64_t time, uint64_t now_ns, uint64_t span_ns)
{
	uint64_t gap_ns = now_ns - time;

	if (!time)
		return;
	if (!gap->since_ns) {
		*gap = (struct clock_gap){ now_ns, gap_ns, gap_ns };
	} else if (now_ns - gap->since_ns >= span_ns) {
		gap->previous_gap_ns = gap->gap_ns;
		gap->gap_ns = gap_ns;
		gap->since_ns = now_ns;
	}
	if (clock_gap_is_less(gap_ns, gap->gap_ns))
		gap->gap_ns = gap_ns;
}

bool clock_gap_get(const struct clock_gap *gap, uint64_t time, uint64_t *time_ns)
{
	bool previous = clock_gap_is_less(gap->previous_gap_ns, gap->gap_ns);

	if (!time || !gap->since_ns)
		return false;
	*time_ns = time + (previous ? gap->previous_gap_ns : gap->gap_ns);
	return true;
}
