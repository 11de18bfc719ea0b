/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The next timer of each CPU of a Linux guest. Everything read is hostile. Resolver's thread, while
 * the guest runs.
 */
#ifndef XTOP_LINUX_NEXT_TIMER_H
#define XTOP_LINUX_NEXT_TIMER_H

#include "linux/kernel/linux_guest.h"

/*
 * When CPU has its next timer interrupt, by the guest's CLOCK_MONOTONIC; OS_NO_TIMER (os.h):
 * none is set. False: that is not known.
 */
bool next_timer_read(const struct linux_guest *guest, unsigned cpu, uint64_t *timer_ns);

#endif
