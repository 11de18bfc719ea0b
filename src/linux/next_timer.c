/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a CPU's next timer; see next_timer.h.
 *
 *   __per_cpu_offset[CPU] + tick_cpu_device ─► struct tick_device { *evtdev; ... }
 *   evtdev ─► struct clock_event_device { next_event: ns by CLOCK_MONOTONIC; ... }
 *
 * (Linux kernel/time/tick-common.c, clockevents.c.) With Xen's timer, next_event is the time that
 * the kernel has last asked Xen for. An idle CPU that needs no timer has KTIME_MAX.
 */
#include "config.h"

#include "linux/next_timer.h"

#include "linux/lock_memory.h"
#include "xtop/os/os_ops.h"

#define NEXT_TIMER_NONE INT64_MAX /* Linux include/linux/ktime.h KTIME_MAX */

bool next_timer_read(const struct linux_guest *guest, unsigned cpu, uint64_t *timer_ns)
{
	uint64_t offsets = guest->symbols[LINUX_PER_CPU_OFFSET], base, device, next_ns;

	if (!offsets || !guest->symbols[LINUX_TICK_DEVICE] ||
	    !lock_memory_read(guest, offsets + cpu * sizeof(base), &base, sizeof(base)) ||
	    !lock_memory_read_member(guest, base + guest->symbols[LINUX_TICK_DEVICE],
				     TICK_DEVICE_EVENTS, &device) ||
	    !lock_memory_read_member(guest, device, EVENT_DEVICE_NEXT, &next_ns))
		return false;
	*timer_ns = next_ns >= NEXT_TIMER_NONE ? OS_NO_TIMER : next_ns;
	return true;
}
