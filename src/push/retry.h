/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: when the next attempt is due after a failed one. The wait doubles from
 * RETRY_FIRST_S to RETRY_LONGEST_S. Half of the wait is random, so that the senders of many hosts
 * do not come at one moment. Times come from the monotonic clock. Pure functions.
 */
#ifndef PUSH_RETRY_H
#define PUSH_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define RETRY_FIRST_S   1
#define RETRY_LONGEST_S 60
#define RETRY_ASKED_S   3600 /* longest wait that a server may ask for (Retry-After) */

struct retry {
	unsigned failures; /* failed attempts in a row */
	uint64_t due_ns;   /* time of the next attempt; 0: now */
};

void retry_succeed(struct retry *retry);
/* ASKED_S is the wait that the server asked for; 0: none. CHANCE is a random number from 0 to 1. */
void retry_fail(struct retry *retry, uint64_t now_ns, uint64_t asked_s, double chance);
bool retry_is_due(const struct retry *retry, uint64_t now_ns);

#endif
