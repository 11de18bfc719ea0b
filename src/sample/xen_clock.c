/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares Xen's system time with dom0's clock; see xen_clock.h.
 *
 *   dom0's clock    before ──────────┬────────── after
 *   Xen's time                     answer             dom0's time of the answer is not known. The
 *                                                     middle is wrong by at most half of the time
 *                                                     from `before` to `after`
 *
 * The shortest of a few tries counts, because this process may lose its CPU during a try.
 */
#include "config.h"

#include "sample/xen_clock.h"

#include "xtop/base/clock.h"

/*
 * dom0 and Xen may have measured the processor's frequency separately: in the lab their clocks
 * drift by 200 µs a second. In a tenth of a second they drift by 20 µs.
 */
#define XEN_CLOCK_STEP_NS  100000000
#define XEN_CLOCK_SLOW_NS  1000000000 /* while nobody needs the guest's clocks */
#define XEN_CLOCK_TRIES    4
#define XEN_CLOCK_SHORT_NS 20000  /* good enough: no more tries */
#define XEN_CLOCK_LONG_NS  500000 /* 0.25 ms wrong at most; longer answers are not used */

bool xen_clock_measure(struct xen_clock *clock, const struct guest *guest, bool often,
		       uint64_t now_ns, uint64_t *ahead_ns)
{
	uint64_t shortest_ns = XEN_CLOCK_LONG_NS + 1, xen_ns;

	if (!guest->ops->read_clock || now_ns < clock->next_ns)
		return false;
	for (int i = 0; i < XEN_CLOCK_TRIES && shortest_ns > XEN_CLOCK_SHORT_NS; i++) {
		uint64_t before_ns = clock_now_ns(), took_ns;

		if (!guest->ops->read_clock(guest->context, &xen_ns))
			break;
		took_ns = clock_now_ns() - before_ns;
		if (took_ns >= shortest_ns)
			continue;
		shortest_ns = took_ns;
		*ahead_ns = xen_ns - before_ns - took_ns / 2;
	}
	if (shortest_ns > XEN_CLOCK_LONG_NS)
		return false;
	clock->next_ns = now_ns + (often ? XEN_CLOCK_STEP_NS : XEN_CLOCK_SLOW_NS);
	return true;
}
