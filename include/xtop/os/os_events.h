/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event channels that are bound to a vCPU, by what is behind them. An event on one of them ends
 * the vCPU's sleep, unless the guest has masked it. Plain data.
 */
#ifndef XTOP_OS_EVENTS_H
#define XTOP_OS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#define OS_EVENTS_NAMES_BYTES 64

struct os_events {
	bool known;
	bool timer;       /* one is the vCPU's timer */
	uint16_t ipis;    /* from other vCPUs of the guest, or from itself */
	uint16_t virqs;   /* from Xen, without the timer */
	uint16_t pirqs;   /* interrupts of hardware */
	uint16_t domains; /* from other domains */
	/* of those, raw: "vbd/51712, vif/0, port 2", as far as there is room */
	char names[OS_EVENTS_NAMES_BYTES];
};

#endif
