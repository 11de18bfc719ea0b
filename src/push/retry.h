/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: when the next attempt is due after one that failed. The wait doubles from
 * RETRY_FIRST_S to RETRY_LONGEST_S. Half of it is chance, so that the senders of many hosts do not
 * come at one moment. Times are of the monotonic clock. Pure functions.
 */
#ifndef PUSH_RETRY_H
#define PUSH_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define RETRY_FIRST_S   1
#define RETRY_LONGEST_S 60
#define RETRY_ASKED_S   3600 /* a server may ask for this wait at most (Retry-After) */

struct retry {
	unsigned failures; /* number of failures in a row */
	uint64_t due_ns;   /* when the next attempt is due; 0: now */
};

void retry_succeed(struct retry *retry);
/* Counts a failure. ASKED_S is the wait that the server asked for, or 0; CHANCE is 0 .. 1. */
void retry_fail(struct retry *retry, uint64_t now_ns, uint64_t asked_s, double chance);
bool retry_is_due(const struct retry *retry, uint64_t now_ns);

#endif
