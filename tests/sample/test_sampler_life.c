/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler on a guest that is paused, goes away or refuses a stop (sampler_fixture.h).
 */
#include "config.h"

#include "tests/sample/sampler_fixture.h"
#include "xtop/base/fault.h"

/* Looks 3 to 6 belong to one tick, which looks again before it believes a pause; 7 to the next. */
static void pause_and_go(unsigned look)
{
	fixture.memory->look.life = look >= 3 && look <= 7 ? GUEST_PAUSED_BY_OTHERS : GUEST_RUNS;
	if (look == 7) {
		control_get_counts(fixture.control, &fixture.counts);
		check_u64(fixture.counts.state, SAMPLER_GUEST_PAUSED,
			  "the sampler's state while others have the guest paused");
	}
}

static void test_paused(void)
{
	begin(1);
	fixture.scene = pause_and_go;
	run(11);
	check(fixture.n_taken == fixture.counts.ticks - 3,
	      "no samples while others have it paused, nor at the tick that sees it run again: "
	      "%u of %" PRIu64 " ticks",
	      fixture.n_taken, fixture.counts.ticks);
	end();
}

/* Another xtop's stops, seen now and then. */
static void stop_by_another(unsigned look)
{
	fixture.memory->look.life =
		look % 5 == 3 || look % 5 == 4 ? GUEST_PAUSED_BY_OTHERS : GUEST_RUNS;
	control_get_counts(fixture.control, &fixture.counts);
	if (look > 1 && fixture.counts.state != SAMPLER_RUNNING)
		check(false, "the state is paused from look %u on", look);
}

static void test_another_xtop(void)
{
	begin(1);
	fixture.scene = stop_by_another;
	run(50);
	check(fixture.n_taken == fixture.counts.ticks && fixture.n_taken >= 30,
	      "a sample at each tick: %u of %" PRIu64, fixture.n_taken, fixture.counts.ticks);
	end();
}

static void go_away(unsigned tick)
{
	if (tick == 5)
		fixture.memory->look.life = GUEST_GONE;
	fixture.memory->look.end = GUEST_END_REBOOT;
}

static void no_answer(unsigned tick)
{
	fixture.memory->refuse_look = tick == 5;
}

static void test_gone(void (*how)(unsigned), const char *what)
{
	begin(1);
	fixture.scene = how;
	run(1000);
	check(fixture.counts.state == SAMPLER_GUEST_AWAY && fixture.n_taken == 4 &&
		      fixture.memory->looks == 5,
	      "%s: sampling ends at once, after %u samples", what, fixture.n_taken);
	end();
}

static double share_seen; /* what the screen shows at the second look */

static void see_share(unsigned tick)
{
	struct sampler_counts now;

	control_get_counts(fixture.control, &now);
	if (tick == 2)
		share_seen = now.stopped_share;
}

/* Another sampler with the same control and ring: the first one hung, or the guest rebooted. */
static void test_goes_on(void)
{
	struct sampler_counts before;
	unsigned stops;

	begin(1);
	fixture.scene = go_away;
	run(1000);
	check_u64(control_get_ending(&fixture.counts), GUEST_END_REBOOT, "how the guest ended");
	before = fixture.counts;
	before.restarts = 2;         /* the guard's */
	before.stopped_share = 0.05; /* the guard's, too: the sampler before hung */
	control_set_counts(fixture.control, &before);
	control_restart(fixture.control);
	control_set_hold(fixture.control);
	control_set_guest_known(fixture.control, false);
	fixture.memory->look.life = GUEST_RUNS;
	fixture.memory->looks = 0;
	fixture.scene = see_share;
	stops = fixture.memory->stops;
	run(20);
	check(fixture.memory->stops - stops <= 2,
	      "the next sampler is on hold after its first stop: %u stops",
	      fixture.memory->stops - stops);
	check(fixture.counts.samples > before.samples && fixture.counts.ticks > before.ticks + 15 &&
		      fixture.counts.stops > before.stops && fixture.counts.maps > before.maps &&
		      fixture.counts.elapsed_ns > before.elapsed_ns && fixture.counts.restarts == 2,
	      "the next sampler goes on with the counters: %" PRIu64 " samples after %" PRIu64,
	      fixture.counts.samples, before.samples);
	check(share_seen == 0.05,
	      "the next sampler shows the last share until a second has passed: %g", share_seen);
	check_u64(fixture.counts.state, SAMPLER_ENDED, "the state after the next sampler quits");
	end();
}

static void refuse_some(unsigned tick)
{
	fixture.memory->refuse_stop = tick > 2 && tick <= 5;
}

static void test_stop_refused(void)
{
	begin(1);
	fixture.scene = refuse_some;
	run(8);
	check_u64(fixture.counts.refused, 3, "ticks whose stop Xen refuses");
	check_u64(fixture.n_taken, fixture.counts.ticks - 3,
		  "samples: all ticks whose stop Xen does not refuse");
	end();
}

/* Xen's clock is five seconds ahead; its first answer takes so long that it is of no use. */
static unsigned n_clock_reads;

static bool read_clock(void *context, uint64_t *xen_ns)
{
	(void)context;
	if (!n_clock_reads++)
		made_clock.now_ns += 5000000;
	*xen_ns = clock_now_ns() + 5000000000;
	return true;
}

static bool refuse_clock(void *context, uint64_t *xen_ns)
{
	(void)context, (void)xen_ns;
	n_clock_reads++;
	return false;
}

static void test_xen_clock(void)
{
	struct guest_ops ops;
	uint64_t ahead_ns = 0;

	begin(1);
	run(3);
	check(!control_get_xen_clock(fixture.control, &ahead_ns),
	      "a guest without read_clock() gives no clock of Xen's");
	ops = *fixture.memory->guest.ops;
	ops.read_clock = refuse_clock;
	fixture.memory->guest.ops = &ops;
	run(3);
	check(n_clock_reads && !control_get_xen_clock(fixture.control, &ahead_ns),
	      "a Xen that does not answer gives no clock");
	n_clock_reads = 0;
	ops.read_clock = read_clock;
	run(3);
	check(control_get_xen_clock(fixture.control, &ahead_ns) && ahead_ns > 4999000000 &&
		      ahead_ns < 5001000000,
	      "Xen's clock is %" PRIu64 " ns ahead", ahead_ns);
	check(n_clock_reads >= 2, "Xen is asked again if its answer took long: %u times",
	      n_clock_reads);
	end();
}

static void refuse_after(struct memory_guest *guest)
{
	guest->refuse_stop = guest->stops == 1; /* the retake of the first tick */
}

static void allow(unsigned tick)
{
	if (tick > 1)
		fixture.memory->refuse_stop = false;
}

/* The first stop of the tick has given a whole sample: it is kept. */
static void test_retake_refused(void)
{
	begin(1);
	fixture.memory->on_release = refuse_after;
	fixture.scene = allow;
	run(3);
	check_u64(fixture.memory->refused_stops, 1, "retakes that Xen refused");
	check(fixture.n_taken == fixture.counts.ticks &&
		      fixture.taken[0].vcpus[0].stack_cut == CUT_NOT_MAPPED &&
		      !(fixture.taken[0].head.flags & SAMPLE_RETAKE),
	      "the first try is the sample if Xen refuses the retake");
	end();
}

int main(void)
{
	fault_install();
	made_clock.reading_ns = READING_NS;
	test_paused();
	test_another_xtop();
	test_gone(go_away, "the guest is gone");
	test_gone(no_answer, "Xen does not answer");
	test_goes_on();
	test_stop_refused();
	test_xen_clock();
	test_retake_refused();
	return tap_done();
}
