/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event channels that are bound to a vCPU, grouped by their source. An event on such a channel
 * ends the vCPU's sleep unless the guest has masked the channel. Plain data.
 */
#ifndef XTOP_OS_EVENTS_H
#define XTOP_OS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#define OS_EVENTS_NAMES_BYTES 64

struct os_events {
	bool known;
	bool timer;       /* one channel is the vCPU's timer */
	uint16_t ipis;    /* channels from vCPUs of the same guest */
	uint16_t virqs;   /* channels from Xen, except the timer */
	uint16_t pirqs;   /* channels of hardware interrupts */
	uint16_t domains; /* channels from other domains */
	/*
	 * raw names of the channels from other domains, cut to the size: "vbd/51712, vif/0, port 2"
	 */
	char names[OS_EVENTS_NAMES_BYTES];
};

#endif
