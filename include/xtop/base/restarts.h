/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often a process that failed is started again. One thread at a time. */
#ifndef XTOP_RESTARTS_H
#define XTOP_RESTARTS_H

#include <stdbool.h>
#include <stdint.h>

#define RESTARTS_MAX       3
#define RESTARTS_WINDOW_NS 60000000000ULL /* RESTARTS_MAX restarts are allowed in this time */

/* The last restarts of one process. All zeros: there were none. */
struct restarts {
	uint64_t at_ns[RESTARTS_MAX]; /* times of the last restarts, ascending; 0: no restart */
};

/*
 * Counts one more restart at NOW_NS, a time on any clock but never 0. Returns false if there were
 * too many. Then the caller must not restart the process, and the restart is not counted.
 */
static inline bool restarts_allow(struct restarts *restarts, uint64_t now_ns)
{
	if (restarts->at_ns[0] && now_ns - restarts->at_ns[0] < RESTARTS_WINDOW_NS)
		return false;
	for (unsigned i = 1; i < RESTARTS_MAX; i++)
		restarts->at_ns[i - 1] = restarts->at_ns[i];
	restarts->at_ns[RESTARTS_MAX - 1] = now_ns;
	return true;
}

#endif
