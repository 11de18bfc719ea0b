/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The next timer of each CPU of a Linux guest. All data is hostile. Resolver's thread, while the
 * guest runs.
 */
#ifndef XTOP_LINUX_NEXT_TIMER_H
#define XTOP_LINUX_NEXT_TIMER_H

#include "linux/kernel/linux_guest.h"

/*
 * Reads the time of CPU's next timer interrupt, on the guest's CLOCK_MONOTONIC; OS_NO_TIMER (os.h)
 * if none is set. Returns false if the time is unknown.
 */
bool next_timer_read(const struct linux_guest *guest, unsigned cpu, uint64_t *timer_ns);

#endif
