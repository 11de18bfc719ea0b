/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a CPU's next timer comes, in a made-up kernel, and numbers that cannot be right. */
#include "config.h"

#include "linux/next_timer.h"

#include "tests/support/made_linux.h"
#include "tests/support/tap.h"
#include "xtop/os/os_ops.h"

#define TICK_DEVICE 0x1f000ULL

static struct made_linux *made;
static uint64_t areas[2], devices[2]; /* per-cpu areas and timer devices of two CPUs */

static void put(uint64_t address, uint64_t value)
{
	made_put_u64(made->memory, made->guest.root, address, value);
	memory_refresh(made->guest.memory);
}

static void begin(void)
{
	uint64_t offsets;

	made = made_linux_create(MADE_TREE);
	offsets = made_object(made, 64, 64);
	made->guest.symbols[LINUX_PER_CPU_OFFSET] = offsets;
	made->guest.symbols[LINUX_TICK_DEVICE] = TICK_DEVICE;
	for (unsigned i = 0; i < 2; i++) {
		areas[i] = made_object(made, 64, 64) - TICK_DEVICE;
		devices[i] = made_object(made, 64, 64);
		put(offsets + 8 * i, areas[i]);
		put(areas[i] + TICK_DEVICE + made_offset(made, TICK_DEVICE_EVENTS), devices[i]);
		put(devices[i] + made_offset(made, EVENT_DEVICE_NEXT), 1000 + i);
	}
}

static void check_timer(unsigned cpu, uint64_t want, const char *what)
{
	uint64_t timer_ns = 0;

	check(next_timer_read(&made->guest, cpu, &timer_ns) && timer_ns == want, "%s: %llu", what,
	      (unsigned long long)timer_ns);
}

static void check_unknown(unsigned cpu, const char *what)
{
	uint64_t timer_ns = 77;

	check(!next_timer_read(&made->guest, cpu, &timer_ns) && timer_ns == 77, "the timer is unknown: %s", what);
}

int main(void)
{
	begin();
	check_timer(0, 1000, "CPU 0");
	check_timer(1, 1001, "CPU 1");
	put(devices[1] + made_offset(made, EVENT_DEVICE_NEXT), INT64_MAX);
	check_timer(1, OS_NO_TIMER, "no timer is set");
	check_unknown(2, "a CPU without an area of its own");
	put(areas[1] + TICK_DEVICE + made_offset(made, TICK_DEVICE_EVENTS), 0x1234);
	check_unknown(1, "no address of the kernel");
	put(areas[0] + TICK_DEVICE + made_offset(made, TICK_DEVICE_EVENTS), 0xffffff0000000000);
	check_unknown(0, "an address that cannot be read");
	made_without(made, EVENT_DEVICE_NEXT);
	check_unknown(0, "a kernel without such a member");
	made->guest.symbols[LINUX_TICK_DEVICE] = 0;
	check_unknown(0, "a kernel that does not name it");
	made_linux_destroy(made);
	return tap_done();
}
