/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a Linux guest's own clocks show at a moment of Xen's system time. Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_GUEST_CLOCK_H
#define XTOP_LINUX_KERNEL_GUEST_CLOCK_H

#include "linux/kernel/linux_guest.h"

struct os_clock;

/*
 * Reads the guest's timekeeper, fresh. XEN_NS may lie a little before or after now. False: the
 * kernel does not name what it takes, its clocksource is neither "xen" nor "tsc", or it was written
 * at each try; *CLOCK is untouched.
 */
bool guest_clock_read(const struct linux_guest *guest, uint64_t xen_ns, struct os_clock *clock);

#endif
