/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clocks of a Linux guest; see guest_clock.h. The kernel does not count nanoseconds: the kernel
 * counts cycles of a clocksource, and its timekeeper converts cycles to time. At each tick of its
 * timer the kernel updates the timekeeper.
 *
 *   Xen's system time ──► cycles ──► CLOCK_MONOTONIC ──► CLOCK_REALTIME
 *
 *   clocksource xen   cycles are Xen's system time (Linux arch/x86/xen/time.c)
 *   clocksource tsc   cycles are the guest's time stamp counter. Xen tells each vCPU how to get
 *                     from its counter to system time (struct vcpu_time_info, Xen 4.17
 *                     public/xen.h), including scale and offset of the guest. xtop inverts this
 *                     formula:
 *                       system time = system_time + ((tsc - tsc_timestamp) << shift) * mul >> 32
 *   monotonic         base + ((cycles - cycle_last) * mult + xtime_nsec >> shift) of tkr_mono
 *   real              monotonic + offs_real          (Linux v6.12 kernel/time/timekeeping.c)
 *
 * The timekeeper lies after a sequence number: up to 6.12 in the variable tk_core, an anonymous
 * struct; from 6.13 on in tk_core, a struct tk_data; from 6.17 on in timekeeper_data[0].
 *
 * The guest may write both structs while they are read. During a write the sequence number is odd,
 * and after the write the number has changed. The bytes of one copy may have been copied in any
 * order, so three copies are made: the second one is used if the first and the third have the same
 * sequence number.
 *
 * All data is hostile. Wrong numbers give wrong times and do no other harm: no number that is read
 * here is a length or an index, and the sums are modulo 2^64.
 */
#include "config.h"

#include "linux/kernel/guest_clock.h"

#include <string.h>

#include "xtop/os/os_ops.h"

#define CLOCK_TRIES          4
/* limit for a timekeeper up to offs_real: 144 bytes in 5.10 to 6.12 */
#define CLOCK_MAX_BYTES      1024
#define CLOCK_NAME_BYTES     16
#define CLOCK_SEQUENCE_BYTES 4 /* seqcount_t, without lockdep */

/* Offset of struct vcpu_time_info in Xen 4.17 public/xen.h, struct vcpu_info on x86-64. */
#define VCPU_INFO_TIME 32

struct vcpu_time {
	uint32_t version, padding;
	uint64_t tsc_timestamp, system_time;
	uint32_t tsc_to_system_mul;
	int8_t tsc_shift;
	uint8_t flags, more[2];
};
_Static_assert(sizeof(struct vcpu_time) == 32, "Xen's ABI");

struct timekeeper {
	uint64_t clocksource, mask, cycle_last, xtime_nsec, base, offs_real;
	uint32_t mult, shift;
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads SIZE_BYTES, at most a page, from guest memory and not from an earlier copy. */
static bool clock_read_fresh(const struct linux_guest *guest, uint64_t address, void *buffer,
			     size_t size_bytes)
{
	uint64_t offset = address & GUEST_PAGE_MASK;
	size_t n = (offset + size_bytes + GUEST_PAGE_MASK) >> GUEST_PAGE_SHIFT;
	char pages[2 * GUEST_PAGE_SIZE];

	if (memory_read_pages(guest->memory, guest->root, address - offset, pages, n) != n)
		return false;
	memcpy(buffer, pages + offset, size_bytes);
	return true;
}

/* Reads the struct at ADDRESS, which begins with its sequence number. */
static bool clock_read_steady(const struct linux_guest *guest, uint64_t address, void *buffer,
			      size_t size_bytes)
{
	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint32_t before, after;

		if (!clock_read_fresh(guest, address, &before, sizeof(before)) ||
		    !clock_read_fresh(guest, address, buffer, size_bytes) ||
		    !clock_read_fresh(guest, address, &after, sizeof(after)))
			return false;
		if (before == after && before % 2 == 0)
			return true;
	}
	return false;
}

/* Distance from the sequence number to the timekeeper. */
static uint64_t clock_timekeeper_at(const struct layout *layout)
{
	unsigned bytes = CLOCK_SEQUENCE_BYTES;

	if (layout_has(layout, TK_DATA_TIMEKEEPER))
		return layout_offset(layout, TK_DATA_TIMEKEEPER);
	if (layout_has(layout, SEQCOUNT_SIZEOF)) /* the number is larger with lockdep, PREEMPT_RT */
		bytes = layout_offset(layout, SEQCOUNT_SIZEOF);
	return (bytes + 7) & ~7ULL;
}

/* The number of SIZE_BYTES at BASE + MEMBER. */
static uint64_t clock_number(const char *base, const struct layout *layout,
			     enum layout_member member, size_t size_bytes)
{
	uint64_t value = 0;

	memcpy(&value, base + layout_offset(layout, member), size_bytes);
	return value;
}

static bool clock_read_timekeeper(const struct linux_guest *guest, struct timekeeper *keeper)
{
	static const enum layout_member members[] = { TIMEKEEPER_MONO, TIMEKEEPER_OFFS_REAL,
						      TKR_CLOCK,       TKR_MASK,
						      TKR_CYCLE_LAST,  TKR_MULT,
						      TKR_SHIFT,       TKR_XTIME_NSEC,
						      TKR_BASE };
	const struct layout *layout = &guest->layout;
	uint64_t at = clock_timekeeper_at(layout);
	char bytes[CLOCK_MAX_BYTES];
	unsigned mono;
	size_t end;

	/* The types that are read late tell where the timekeeper is: struct tk_data. */
	if (!guest->symbols[LINUX_TIMEKEEPER] || layout->partial ||
	    !layout_has_all(layout, members))
		return false;
	mono = layout_offset(layout, TIMEKEEPER_MONO);
	end = layout_offset(layout, TIMEKEEPER_OFFS_REAL);
	for (size_t i = 2; i < sizeof(members) / sizeof(members[0]); i++)
		if (mono + layout_offset(layout, members[i]) > end)
			end = mono + layout_offset(layout, members[i]);
	end += at + sizeof(uint64_t);
	if (end > sizeof(bytes) ||
	    !clock_read_steady(guest, guest->symbols[LINUX_TIMEKEEPER], bytes, end))
		return false;
	*keeper = (struct timekeeper){
		.clocksource = clock_number(bytes + at + mono, layout, TKR_CLOCK, 8),
		.mask = clock_number(bytes + at + mono, layout, TKR_MASK, 8),
		.cycle_last = clock_number(bytes + at + mono, layout, TKR_CYCLE_LAST, 8),
		.mult = (uint32_t)clock_number(bytes + at + mono, layout, TKR_MULT, 4),
		.shift = (uint32_t)clock_number(bytes + at + mono, layout, TKR_SHIFT, 4),
		.xtime_nsec = clock_number(bytes + at + mono, layout, TKR_XTIME_NSEC, 8),
		.base = clock_number(bytes + at + mono, layout, TKR_BASE, 8),
		.offs_real = clock_number(bytes + at, layout, TIMEKEEPER_OFFS_REAL, 8),
	};
	return keeper->shift < 64;
}

/* --- cycles ----------------------------------------------------------------------------------- */

/*
 * Reads vCPU 0's time information from Xen. A vCPU that sleeps has old numbers, which are still
 * valid.
 */
static bool clock_read_vcpu_time(const struct linux_guest *guest, struct vcpu_time *time)
{
	uint64_t base, info;

	return guest->symbols[LINUX_XEN_VCPU] && guest->symbols[LINUX_PER_CPU_OFFSET] &&
	       linux_read_u64(guest, guest->symbols[LINUX_PER_CPU_OFFSET], &base) &&
	       linux_read_u64(guest, base + guest->symbols[LINUX_XEN_VCPU], &info) &&
	       linux_is_kernel(info) &&
	       clock_read_steady(guest, info + VCPU_INFO_TIME, time, sizeof(*time));
}

static bool clock_tsc(const struct linux_guest *guest, uint64_t xen_ns, uint64_t *cycles)
{
	struct vcpu_time time;
	__int128 scaled;

	if (!clock_read_vcpu_time(guest, &time) || !time.tsc_to_system_mul ||
	    time.tsc_shift < -31 || time.tsc_shift > 31)
		return false;
	scaled = ((__int128)(int64_t)(xen_ns - time.system_time) * ((__int128)1 << 32)) /
		 time.tsc_to_system_mul;
	scaled = time.tsc_shift < 0 ? scaled * ((__int128)1 << -time.tsc_shift)
				    : scaled / ((__int128)1 << time.tsc_shift);
	*cycles = time.tsc_timestamp + (uint64_t)scaled;
	return true;
}

static bool clock_cycles(const struct linux_guest *guest, const struct timekeeper *keeper,
			 uint64_t xen_ns, uint64_t *cycles)
{
	uint64_t name_at = keeper->clocksource + layout_offset(&guest->layout, CLOCKSOURCE_NAME);
	char name[CLOCK_NAME_BYTES];
	uint64_t at;

	if (!linux_is_kernel(keeper->clocksource) || !linux_read_u64(guest, name_at, &at) ||
	    !linux_is_kernel(at) ||
	    !memory_read_string(guest->memory, guest->root, at, name, sizeof(name)))
		return false;
	if (strcmp(name, "tsc") == 0 || strcmp(name, "tsc-early") == 0)
		return clock_tsc(guest, xen_ns, cycles);
	*cycles = xen_ns;
	return strcmp(name, "xen") == 0;
}

bool guest_clock_read(const struct linux_guest *guest, uint64_t xen_ns, struct os_clock *clock)
{
	struct timekeeper keeper;
	uint64_t cycles, delta;
	__int128 ns;

	if (!layout_has(&guest->layout, CLOCKSOURCE_NAME) ||
	    !clock_read_timekeeper(guest, &keeper) ||
	    !clock_cycles(guest, &keeper, xen_ns, &cycles))
		return false;
	/* XEN_NS may be before the last tick: DELTA is negative then. */
	delta = (cycles - keeper.cycle_last) & keeper.mask;
	if (delta > keeper.mask / 2)
		delta |= ~keeper.mask;
	ns = ((__int128)(int64_t)delta * keeper.mult + keeper.xtime_nsec) >> keeper.shift;
	clock->monotonic_ns = keeper.base + (uint64_t)ns;
	clock->real_ns = clock->monotonic_ns + keeper.offs_real;
	return true;
}
