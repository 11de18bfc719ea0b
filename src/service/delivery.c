/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of the profiles, as lines for the user; see delivery.h. */
#include "config.h"

#include "xtop/service/delivery.h"

#include <inttypes.h>
#include <stdio.h>

#include "xtop/base/clock.h"

#define DELIVERY_QUIET_NS 60000000000ULL /* time between lines on what becomes of profiles */

/*
 * Whether profiles were refused and the user does not know. A server that refuses all profiles for
 * one reason, such as a collector of another version, is reported once.
 */
static bool delivery_has_refusal(const struct push_status *status, const struct push_status *told)
{
	return status->refused > told->refused &&
	       (!told->refused || !told->failing || status->answer != told->answer);
}

bool delivery_update(struct delivery *delivery, struct push *push, bool last, char *line)
{
	struct push_status status, *told = &delivery->status;
	uint64_t now_ns = clock_now_ns();
	bool worse, better;

	push_get_status(push, &status);
	if (status.exposed && !told->exposed) {
		told->exposed = true;
		snprintf(line, DELIVERY_LINE_BYTES,
			 "--push: the password or token is sent over http://, which does not "
			 "encrypt it; use https://");
		return true;
	}
	if (!last && delivery->reported_ns && now_ns - delivery->reported_ns < DELIVERY_QUIET_NS)
		return false;
	worse = (status.failing && !told->failing) || delivery_has_refusal(&status, told) ||
		status.dropped > told->dropped;
	better = !worse && !status.failing && told->failing;
	if (worse)
		snprintf(line, DELIVERY_LINE_BYTES,
			 "--push: %s (%" PRIu64 " profiles wait, %" PRIu64 " were refused, %" PRIu64
			 " dropped)",
			 status.message[0] ? status.message : "there was no room", status.waiting,
			 status.refused, status.dropped);
	else if (better)
		snprintf(line, DELIVERY_LINE_BYTES, "--push: profiles are delivered again");
	if (worse || better)
		delivery->reported_ns = now_ns;
	*told = status;
	return worse || better;
}
