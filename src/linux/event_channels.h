/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the event channels of each vCPU of a Linux guest. They tell what can wake the vCPU while it
 * is blocked. All data is hostile. Resolver's thread, while the guest runs.
 */
#ifndef XTOP_LINUX_EVENT_CHANNELS_H
#define XTOP_LINUX_EVENT_CHANNELS_H

#include "linux/kernel/linux_guest.h"
#include "xtop/base/limit.h"
#include "xtop/os/os_events.h"

#define EVENT_CHANNELS_MAX LIMIT(4096, 16) /* the number of ports in Xen's two-level table */

/*
 * EVENTS has N elements, one for each vCPU. Returns false if the state is unknown; EVENTS then says
 * so as well. A list that cannot be read to its end, or has more than EVENT_CHANNELS_MAX elements,
 * counts as unknown.
 */
bool event_channels_read(const struct linux_guest *guest, struct os_events *events, unsigned n);

#endif
