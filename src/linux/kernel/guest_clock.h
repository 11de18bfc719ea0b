/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of a Linux guest's own clocks at a given Xen system time. Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_GUEST_CLOCK_H
#define XTOP_LINUX_KERNEL_GUEST_CLOCK_H

#include "linux/kernel/linux_guest.h"

struct os_clock;

/*
 * Reads the guest's timekeeper, not a copy. XEN_NS may be a little before or after now. Returns
 * false and leaves *CLOCK untouched if the kernel lacks a name that is needed, if its clocksource
 * is neither "xen" nor "tsc", or if the timekeeper was written at each try.
 */
bool guest_clock_read(const struct linux_guest *guest, uint64_t xen_ns, struct os_clock *clock);

#endif
