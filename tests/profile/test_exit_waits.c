/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits to run out of records of Xen's trace. */
#include "config.h"

#include <math.h>

#include "tests/profile/trace_records.h"
#include "tests/support/tap.h"

/*
 * xtop pauses the guest while it runs, which is no wait, and while it waits, which is one wait without
 * the pause.
 */
static void test_pauses(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	begin();
	put_runstate(GUEST, 0, 2, 1);
	now += 1 * US;
	put_runstate(GUEST, 0, 1, 0);
	for (unsigned i = 0; i < 3; i++) { /* paused, and goes on 9 us later */
		put_runstate(GUEST, 0, 0, 3);
		now += 30 * US;
		put_runstate(GUEST, 0, 3, 1);
		now += 9 * US;
		put_runstate(GUEST, 0, 1, 0);
	}
	put_runstate(GUEST, 0, 0, 1); /* preempted */
	now += 100 * US;
	put_runstate(GUEST, 0, 1, 3);
	now += 30 * US;
	put_runstate(GUEST, 0, 3, 1);
	now += 200 * US;
	put_runstate(GUEST, 0, 1, 0);
	put_runstate(GUEST, 0, 0, 2);
	put_runstate(GUEST, 0, 2, 3); /* woken while it is paused */
	now += 30 * US;
	put_runstate(GUEST, 0, 3, 1);
	put_runstate(GUEST, 0, 1, 0);
	put_runstate(GUEST, 0, 0, 1);
	put_runstate(GUEST, 0, 1, 3); /* somebody pauses it for 2 s */
	now += 2000000 * US;
	put_runstate(GUEST, 0, 3, 1);
	now += 10 * US;
	put_runstate(GUEST, 0, 1, 0);
	table = add_settled(exits, 0);
	check(table->wakes[0].count == 4 && fabs(table->wakes[0].ns - 311000) < 1 &&
		      table->wakes[0].longest_ns == 300000,
	      "%" PRIu64 " waits, the longest took %" PRIu64 " ns", table->wakes[0].count,
	      table->wakes[0].longest_ns);
	exits_table_destroy(table);
	exits_destroy(exits);
}

#define IDLE 0x7fff

/* The idle vCPU runs. */
static void put_idle(void)
{
	put_runstate(IDLE, 3, 1, 0);
}

/* The CPU idles while a sample is taken: that is not who the vCPU waits for. */
static void test_paused_by(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	begin();
	put_runstate(GUEST, 0, 1, 0);
	put_runstate(GUEST, 1, 2, 1);
	now += 500 * US;
	put_runstate(GUEST, 0, 0, 3); /* a sample */
	put_idle();
	now += 2 * US;
	put_runstate(GUEST, 1, 1, 3);
	now += 30 * US;
	put_runstate(GUEST, 1, 3, 1);
	put_runstate(IDLE, 3, 0, 1);
	put_runstate(GUEST, 1, 1, 0);
	put_runstate(GUEST, 1, 0, 2);
	put_runstate(GUEST, 2, 2, 1); /* a cap: it waits, and nobody runs */
	put_idle();
	now += 900 * US;
	put_runstate(GUEST, 2, 1, 3);
	now += 30 * US;
	put_runstate(GUEST, 2, 3, 1);
	now += 900 * US;
	put_runstate(IDLE, 3, 0, 1);
	put_runstate(GUEST, 2, 1, 0);
	put_runstate(GUEST, 2, 0, 2);
	put_runstate(GUEST, 4, 2, 1); /* a cap: vCPU 5 runs after the pause, too, up to the cap */
	put_runstate(GUEST, 5, 1, 0);
	now += 500 * US;
	put_runstate(GUEST, 5, 0, 3);
	put_idle();
	now += 2 * US;
	put_runstate(GUEST, 4, 1, 3);
	now += 30 * US;
	put_runstate(GUEST, 4, 3, 1);
	put_runstate(GUEST, 5, 3, 1);
	put_runstate(IDLE, 3, 0, 1);
	put_runstate(GUEST, 5, 1, 0);
	now += 5000 * US;
	put_runstate(GUEST, 5, 0, 1);
	put_idle();
	now += 5000 * US;
	put_runstate(IDLE, 3, 0, 1);
	put_runstate(GUEST, 4, 1, 0);
	table = add_settled(exits, 0);
	check(table->wakes[4].longest_ns == 10502000 && table->wakes[4].longest_by == IDLE,
	      "nobody ran before the wait's end: %" PRIu32 ", %" PRIu64 " ns",
	      table->wakes[4].longest_by, table->wakes[4].longest_ns);
	check(table->wakes[1].longest_ns == 502000 && table->wakes[1].longest_by == GUEST,
	      "who ran before the pause: %" PRIu32 ", %" PRIu64 " ns", table->wakes[1].longest_by,
	      table->wakes[1].longest_ns);
	check(table->wakes[2].longest_ns == 1800000 && table->wakes[2].longest_by == IDLE,
	      "nobody ran before the pause, either: %" PRIu32 ", %" PRIu64 " ns",
	      table->wakes[2].longest_by, table->wakes[2].longest_ns);
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* The idle vCPU does some work of Xen's, or has the CPU for most of the wait. */
static void test_idle_by(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	begin();
	for (unsigned i = 0; i < 2; i++) {
		put_runstate(7, 0, 1, 0);
		put_runstate(GUEST, i, 2, 1);
		now += (i ? 20 : 480) * US;
		put_runstate(7, 0, 0, 1);
		put_idle();
		now += (i ? 480 : 20) * US;
		put_runstate(IDLE, 3, 0, 1);
		put_runstate(GUEST, i, 1, 0);
		put_runstate(GUEST, i, 0, 2);
	}
	table = add_settled(exits, 0);
	check(table->wakes[0].longest_ns == 500000 && table->wakes[0].longest_by == 7,
	      "who ran before Xen's own work: %" PRIu32, table->wakes[0].longest_by);
	check(table->wakes[1].longest_by == IDLE, "nobody ran for most of the wait: %" PRIu32,
	      table->wakes[1].longest_by);
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* Waits that are 1, 2 and 5 us long are in the histogram; one of which a part was lost is not. */
static void test_waits(void)
{
	static const unsigned us[] = { 1, 2, 5, 2000 };
	struct exits *exits = make_exits(false);
	struct exits_table *table;
	uint64_t n = 0, log2[EXITS_LOG2];

	begin();
	put_runstate(GUEST, 0, 0, 2);
	for (unsigned i = 0; i < 4; i++) {
		put_runstate(GUEST, 0, 2, 1);
		now += us[i] * US;
		if (i == 3)
			put(0x1f001, true, 4, (const uint32_t[]){ 9, 0, 0, 0 });
		put_runstate(GUEST, 0, 1, 0);
		put_runstate(GUEST, 0, 0, 2);
	}
	table = add_settled(exits, 0);
	exits_sum_waits(table, log2);
	for (unsigned i = 0; i < EXITS_LOG2; i++)
		n += log2[i];
	check(table->wakes[0].count == 3 && n == 3, "%" PRIu64 " waits", n);
	check(table->wakes[0].longest_ns == 5000, "the longest took %" PRIu64 " ns",
	      table->wakes[0].longest_ns);
	check(log2[9] == 1 && log2[10] == 1 && log2[12] == 1,
	      "each wait counts for its power of two");
	check(table->wakes[0].log2[12] == 1, "a vCPU's wait counts for its power of two");
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* Xen had no room for records from 100 us on: a pause may have been in a wait that has ended since. */
static void test_lost_pause(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;
	uint64_t first;

	begin();
	put_runstate(GUEST, 0, 0, 1);
	first = now + 100 * US;
	now += 5000 * US;
	put_runstate(GUEST, 0, 1, 0);
	put_runstate(GUEST, 0, 0, 1);
	now += 1 * US;
	put(0x1f001, true, 4,
	    (const uint32_t[]){ 9, 0, (uint32_t)first, (uint32_t)(first >> 32) });
	now += 1 * US;
	put_runstate(GUEST, 0, 1, 0);
	put_runstate(GUEST, 0, 0, 1);
	now += 7 * US;
	put_runstate(GUEST, 0, 1, 0);
	table = add_settled(exits, 0);
	check(table->wakes[0].count == 1 && table->wakes[0].longest_ns == 7000,
	      "%" PRIu64 " waits without loss, the longest took %" PRIu64 " ns",
	      table->wakes[0].count, table->wakes[0].longest_ns);
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* Adds run states of vCPU 0 as CPU's buffer has them: pairs of a time in us and "from to". */
static void add_buffer(struct exits *exits, unsigned cpu, size_t n, const unsigned (*changes)[3])
{
	begin();
	for (size_t i = 0; i < n; i++) {
		now = (2000 + changes[i][0]) * US;
		put_runstate(GUEST, 0, changes[i][1], changes[i][2]);
	}
	exits_add(exits, cpu, words, n_words * 4, name_page, NULL);
}

/* CPU 0 wakes the vCPU, which runs on CPU 1. Their buffers are read one after the other. */
static void test_two_cpus(void)
{
	static const unsigned wakes[][3] = { { 100, 2, 1 }, { 300, 2, 1 }, { 500, 2, 1 } };
	static const unsigned runs[][3] = { { 110, 1, 0 }, { 200, 0, 2 }, { 330, 1, 0 },
					    { 400, 0, 1 }, { 405, 1, 0 }, { 450, 0, 2 },
					    { 499, 1, 0 }, /* another clock, before 500 */
					    { 600, 0, 2 } };

	for (unsigned order = 0; order < 2; order++) {
		struct exits *exits = make_exits(false);
		struct exits_table *table;

		if (order == 0)
			add_buffer(exits, 0, 3, wakes);
		add_buffer(exits, 1, 8, runs);
		if (order == 1)
			add_buffer(exits, 0, 3, wakes);
		n_words = 0;
		table = add_settled(exits, 0);
		check(table->wakes[0].count == 4 && fabs(table->wakes[0].ns - 45000) < 1,
		      "waits over two buffers, order %u: %" PRIu64 ", %.0f ns", order,
		      table->wakes[0].count, table->wakes[0].ns);
		check_u64(table->wakes[0].longest_ns, 30000, "longest wait over two buffers");
		exits_table_destroy(table);
		exits_destroy(exits);
	}
}

/* So many changes at one time that not all can be kept. */
static void test_many_changes(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	for (unsigned round = 0; round < 30; round++) {
		begin();
		for (unsigned i = 0; i < 5000; i++)
			put_runstate(GUEST, 0, i % 2, !(i % 2));
		exits_add(exits, 0, words, n_words * 4, name_page, NULL);
	}
	n_words = 0;
	table = add_settled(exits, 0);
	check(table->wakes[0].count > 60000 && !table->refused, "%" PRIu64 " of 75,000 waits",
	      table->wakes[0].count);
	exits_table_destroy(table);
	exits_destroy(exits);
}

/* A clock that is as slow as it can be told, and a wait of half of all of its times. */
static void test_long_wait(void)
{
	struct exits *exits = make_exits(false);
	struct exits_table *table;

	exits_set_host(exits, GUEST, 1, false);
	begin();
	put_runstate(GUEST, 0, 2, 1);
	now += UINT64_MAX / 2;
	put_runstate(GUEST, 0, 1, 0);
	table = add_settled(exits, 0);
	check(table->wakes[0].longest_ns == 1000000000000000000ULL,
	      "a wait that fits in no number is cut: %" PRIu64 " ns", table->wakes[0].longest_ns);
	exits_table_destroy(table);
	exits_destroy(exits);
}

int main(void)
{
	test_long_wait();
	test_waits();
	test_pauses();
	test_paused_by();
	test_idle_by();
	test_lost_pause();
	test_two_cpus();
	test_many_changes();
	return tap_done();
}
