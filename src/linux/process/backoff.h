/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delays between attempts to read missing data. Each delay is twice as long as the one before. */
#ifndef XTOP_PROCESS_BACKOFF_H
#define XTOP_PROCESS_BACKOFF_H

#include <stdint.h>

/* The delay after DELAY_NS, which is 0 before the first attempt. At most MAX_NS. */
static inline uint64_t backoff_next_ns(uint64_t delay_ns, uint64_t first_ns, uint64_t max_ns)
{
	if (!delay_ns)
		return first_ns;
	return delay_ns > max_ns / 2 ? max_ns : 2 * delay_ns;
}

#endif
