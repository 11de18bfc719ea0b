/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clocks of made-up kernels: by Xen's time and by the time stamp counter, with each layout of
 * the timekeeper, while they are written, and with numbers that cannot be right.
 */
#include "config.h"

#include "linux/kernel/guest_clock.h"

#include "tests/support/made_lists.h"
#include "tests/support/tap.h"
#include "xtop/os/os_ops.h"

#define TK_CORE   0xffffffff82a00fd0ULL /* reaches into the next page */
#define SOURCE    0xffffffff82b00000ULL
#define NAME      0xffffffff82b00100ULL
#define PER_CPU   0xffffffff82b00200ULL
#define AREA      0xffff888001000000ULL
#define VCPU_INFO 0xffff888002000040ULL
#define XEN_VCPU  0x1f000ULL

static struct made_linux guest;

static void put(enum layout_member member, unsigned base, uint64_t value)
{
	made_linux_u64(&guest, TK_CORE + 8 + base + layout_offset(&guest.guest.layout, member),
		       value);
}

static void begin(const char *clocksource)
{
	made_linux_init(&guest);
	guest.guest.symbols[LINUX_TIMEKEEPER] = TK_CORE;
	guest.guest.symbols[LINUX_PER_CPU_OFFSET] = PER_CPU;
	guest.guest.symbols[LINUX_XEN_VCPU] = XEN_VCPU;
	made_linux_set(&guest, SEQCOUNT_SIZEOF, 4);
	made_linux_set(&guest, TIMEKEEPER_MONO, 8);
	made_linux_set(&guest, TIMEKEEPER_OFFS_REAL, 136);
	made_linux_set(&guest, TKR_CLOCK, 0);
	made_linux_set(&guest, TKR_MASK, 8);
	made_linux_set(&guest, TKR_CYCLE_LAST, 16);
	made_linux_set(&guest, TKR_MULT, 24);
	made_linux_set(&guest, TKR_SHIFT, 28);
	made_linux_set(&guest, TKR_XTIME_NSEC, 32);
	made_linux_set(&guest, TKR_BASE, 40);
	made_linux_set(&guest, CLOCKSOURCE_NAME, 56);
	made_linux_u64(&guest, TK_CORE, 6);
	put(TKR_CLOCK, 8, SOURCE);
	put(TKR_MASK, 8, UINT64_MAX);
	put(TKR_CYCLE_LAST, 8, 5000000);
	put(TKR_MULT, 8, 3ULL << 24 | 24ULL << 32); /* and the shift: 3 ns a cycle */
	put(TKR_XTIME_NSEC, 8, 7ULL << 24);
	put(TKR_BASE, 8, 1000000000);
	put(TIMEKEEPER_OFFS_REAL, 0, 1700000000000000000ULL);
	made_linux_u64(&guest, SOURCE + 56, NAME);
	made_linux_string(&guest, NAME, clocksource);
	/* The counter has 2 cycles a nanosecond of Xen's time; it was at 900 when that was 400. */
	made_linux_u64(&guest, PER_CPU, AREA);
	made_linux_u64(&guest, AREA + XEN_VCPU, VCPU_INFO);
	made_linux_u64(&guest, VCPU_INFO + 32, 4);
	made_linux_u64(&guest, VCPU_INFO + 40, 900);
	made_linux_u64(&guest, VCPU_INFO + 48, 400);
	made_linux_u64(&guest, VCPU_INFO + 56, 0x80000000);
}

static void end(void)
{
	made_linux_deinit(&guest);
}

static bool is_at(uint64_t xen_ns, uint64_t monotonic_ns)
{
	struct os_clock clock = { .monotonic_ns = 1 };

	if (!guest_clock_read(&guest.guest, xen_ns, &clock))
		return false;
	if (clock.monotonic_ns != monotonic_ns)
		printf("# %llu\n", (unsigned long long)clock.monotonic_ns);
	return clock.monotonic_ns == monotonic_ns &&
	       clock.real_ns == monotonic_ns + 1700000000000000000ULL;
}

static bool is_unknown(void)
{
	struct os_clock clock = { .monotonic_ns = 1, .real_ns = 2 };

	return !guest_clock_read(&guest.guest, 5000000, &clock) && clock.monotonic_ns == 1 &&
	       clock.real_ns == 2;
}

static void test_xen(void)
{
	begin("xen");
	check(is_at(5000000, 1000000007), "clocksource xen: time at the last tick");
	check(is_at(5000100, 1000000307), "clocksource xen: time a little after the last tick");
	check(is_at(4999900, 999999707), "clocksource xen: time a little before the last tick");
	put(TKR_MASK, 8, 0xffffff);
	put(TKR_CYCLE_LAST, 8, 0xfffff0);
	check(is_at(0x1000000, 1000000055),
	      "a counter of 24 bits that began again gives the right time");
	check(is_at(0xffffe0, 999999959), "a counter of 24 bits gives a time before its last tick");
	end();
}

static void test_tsc(void)
{
	begin("tsc");
	put(TKR_CYCLE_LAST, 8, 900);
	check(is_at(400, 1000000007), "clocksource tsc: the counter at Xen's time stamp");
	check(is_at(500, 1000000607), "clocksource tsc: 200 cycles of 3 ns later");
	check(is_at(390, 999999947), "clocksource tsc: before Xen's time stamp");
	made_linux_u64(&guest, VCPU_INFO + 56, 0x80000000 | 1ULL << 32); /* shift 1: 1 cycle a ns */
	check(is_at(500, 1000000307), "clocksource tsc: a counter at half the rate");
	made_linux_u64(&guest, VCPU_INFO + 56, 0x80000000 | 0xffULL << 32); /* -1: 4 cycles a ns */
	check(is_at(500, 1000001207), "clocksource tsc: a counter at twice the rate");
	made_linux_u64(&guest, VCPU_INFO + 32, 5);
	check(is_unknown(), "no time is read while Xen is writing at each try");
	made_linux_u64(&guest, VCPU_INFO + 32, 4);
	made_linux_u64(&guest, VCPU_INFO + 56, 0);
	check(is_unknown(), "a scale of 0 gives no time");
	made_linux_u64(&guest, VCPU_INFO + 56, 1 | 0x40ULL << 32);
	check(is_unknown(), "a shift of 64 from Xen gives no time");
	made_linux_u64(&guest, AREA + XEN_VCPU, 0x1000);
	check(is_unknown(), "a pointer to user memory gives no time");
	end();
}

static void test_layouts(void)
{
	begin("xen");
	made_linux_set(&guest, SEQCOUNT_SIZEOF, -1);
	check(is_at(5000000, 1000000007), "up to 5.9 the sequence number has four bytes");
	made_linux_set(&guest, TK_DATA_TIMEKEEPER, 8);
	made_linux_set(&guest, SEQCOUNT_SIZEOF, 64);
	check(is_at(5000000, 1000000007),
	      "from 6.13 on struct tk_data has the timekeeper's offset");
	made_linux_set(&guest, TKR_MULT, -1);
	check(is_unknown(), "a missing member gives no time");
	made_linux_set(&guest, TKR_MULT, 24);
	made_linux_set(&guest, TKR_BASE, 60000);
	check(is_unknown(), "a member that is far away gives no time");
	end();
}

static void test_hostile(void)
{
	begin("hpet");
	check(is_unknown(), "an unknown clocksource gives no time");
	end();
	begin("xen");
	made_linux_u64(&guest, TK_CORE, 7);
	check(is_unknown(), "no time is read while the guest is writing at each try");
	made_linux_u64(&guest, TK_CORE, 6);
	put(TKR_MULT, 8, 3ULL << 24 | 64ULL << 32);
	check(is_unknown(), "a shift of 64 from the guest gives no time");
	put(TKR_MULT, 8, 0xffffffffULL | 63ULL << 32);
	put(TKR_XTIME_NSEC, 8, UINT64_MAX);
	put(TKR_CYCLE_LAST, 8, 1ULL << 63);
	check(!is_unknown(), "the largest numbers give a time");
	put(TKR_CLOCK, 8, 0x1000);
	check(is_unknown(), "a clocksource in user memory gives no time");
	guest.guest.symbols[LINUX_TIMEKEEPER] = 0xffffffff90000000ULL;
	check(is_unknown(), "a clocksource on a missing page gives no time");
	guest.guest.symbols[LINUX_TIMEKEEPER] = 0;
	check(is_unknown(), "a kernel without tk_core gives no time");
	end();
}

int main(void)
{
	test_xen();
	test_tsc();
	test_layouts();
	test_hostile();
	return tap_done();
}
