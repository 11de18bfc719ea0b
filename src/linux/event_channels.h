/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event channels of each vCPU of a Linux guest: what can wake it when it is blocked. Everything
 * read is hostile. Resolver's thread, while the guest runs.
 */
#ifndef XTOP_LINUX_EVENT_CHANNELS_H
#define XTOP_LINUX_EVENT_CHANNELS_H

#include "linux/kernel/linux_guest.h"
#include "xtop/base/limit.h"
#include "xtop/os/os_events.h"

#define EVENT_CHANNELS_MAX LIMIT(4096, 16) /* Xen's two-level table has so many ports */

/*
 * EVENTS has N elements, one for each vCPU. False: that is not known, and so say EVENTS. A list
 * that cannot be read to its end, or is longer than EVENT_CHANNELS_MAX, counts as not known.
 */
bool event_channels_read(const struct linux_guest *guest, struct os_events *events, unsigned n);

#endif
