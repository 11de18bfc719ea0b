/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the next attempt is due; see retry.h. */
#include "config.h"

#include "push/retry.h"

void retry_succeed(struct retry *retry)
{
	*retry = (struct retry){ 0 };
}

void retry_fail(struct retry *retry, uint64_t now_ns, uint64_t asked_s, double chance)
{
	double wait_s = RETRY_FIRST_S;

	for (unsigned i = 0; i < retry->failures && wait_s < RETRY_LONGEST_S; i++)
		wait_s *= 2;
	if (wait_s > RETRY_LONGEST_S)
		wait_s = RETRY_LONGEST_S;
	wait_s *= (1 + chance) / 2;
	if (asked_s > RETRY_ASKED_S)
		asked_s = RETRY_ASKED_S;
	if (wait_s < (double)asked_s) /* later than asked, at random: not all senders at once */
		wait_s = (double)asked_s + chance;
	retry->failures++;
	retry->due_ns = now_ns + (uint64_t)(wait_s * 1e9);
}

bool retry_is_due(const struct retry *retry, uint64_t now_ns)
{
	return now_ns >= retry->due_ns;
}
