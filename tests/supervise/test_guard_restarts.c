/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guard replaces a sampler that hangs: how often, and after what rest for the guest. */
#include "config.h"

#include "tests/supervise/guard_fixture.h"
#include "tests/support/tap.h"
#include "xtop/base/restarts.h"

/* The guest gets its time back, and then another sampler goes on. */
static void test_hangs_once(void)
{
	struct sampler_counts counts;
	struct stopped_summary stopped;
	uint64_t stops, released_ns, rest_ns;

	fixture.budget = 0.1;
	begin(HANGS_ONCE, 1);
	while (!scene->end_ns)
		nap_ms(1);
	check(!scene->spent, "hangs once: the first sampler has the credit of one second");
	released_ns = scene->end_ns;
	while (scene->samplers < 2)
		nap_ms(1);
	rest_ns = scene->started_ns - released_ns;
	stops = count_stops();
	nap_ms(100);
	counts = counts_now();
	control_get_stopped(fixture.control, &stopped);
	check(goes_on() && counts.state == SAMPLER_RUNNING && counts.restarts == 1,
	      "hangs once: a sampler runs (state %d), after one restart: %llu", counts.state,
	      (unsigned long long)counts.restarts);
	check(count_stops() > stops + 20,
	      "hangs once: the next sampler stops the guest more than 20 times: %llu",
	      (unsigned long long)(count_stops() - stops));
	check(stopped.n == 1 && stopped.max_ns >= 30000000 && counts.stopped_ns >= 30000000,
	      "hangs once: the stop that hung is counted, with at least 30 ms: %.1f ms",
	      (double)stopped.max_ns / 1e6);
	check(counts.stopped_share >= 0.03 && counts.stopped_share_max >= 0.03,
	      "hangs once: the stopped share of its second is 3 %% or more: %.1f %%, most %.1f %%",
	      100 * counts.stopped_share, 100 * counts.stopped_share_max);
	check(scene->spent, "hangs once: the next sampler has no credit");
	check(rest_ns >= 9 * stopped.max_ns,
	      "hangs once: the guest runs nine times as long before the next sampler: %.0f ms",
	      (double)rest_ns / 1e6);
	end(1, "hangs once");
	fixture.budget = 1;
}

/* The guard is told to quit while it gives the guest its time back. */
static void test_hangs_and_quits(void)
{
	uint64_t begin_ns;

	fixture.budget = 0.01;
	begin(HANGS, 0);
	while (!counts_now().restarts)
		nap_ms(1);
	begin_ns = now_ns();
	control_quit(fixture.control);
	wait_for_end(1000);
	check(now_ns() - begin_ns < 1000000000 && counts_now().state == SAMPLER_ENDED,
	      "hangs, then is to quit: the sampler has ended (state %d) within 1 s: %.0f ms",
	      counts_now().state, (double)(now_ns() - begin_ns) / 1e6);
	end(0, "hangs, then is to quit");
	fixture.budget = 1;
}

static void test_hangs_always(void)
{
	begin(HANGS, 1);
	wait_for_end(2000);
	check_u64(counts_now().restarts, RESTARTS_MAX, "hangs always: restarts");
	check_u64((uint64_t)scene->samplers, 1 + RESTARTS_MAX, "hangs always: samplers");
	check_message("the sampler hung while the guest stood still", "hangs always");
	end(1, "hangs always");
}

int main(void)
{
	fixture_begin();
	test_hangs_once();
	test_hangs_and_quits();
	test_hangs_always();
	return tap_done();
}
