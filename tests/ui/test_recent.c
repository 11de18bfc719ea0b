/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rate and the vCPUs' time over the live window, from counters made up second by second. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/tap.h"
#include "ui/recent.h"

#define SECOND 1000000000ULL

static struct recent recent;
static struct snapshot *snapshot; /* the counters go on from picture to picture */

static void begin(double half_life_s)
{
	recent_init(&recent, half_life_s);
	snapshot_destroy(snapshot);
	snapshot = snapshot_create(0);
	if (snapshot)
		snapshot->run = calloc(1, sizeof(*snapshot->run));
	if (!snapshot || !snapshot->run)
		abort();
	snapshot->run->n_vcpus = 1;
	snapshot->run->sampler.state = SAMPLER_RUNNING;
	snapshot->run->sampler.rate_asked_hz = 100;
}

/* NS later: TAKEN samples, of which RUNNING found the vCPU running, and SKIPPED ticks. */
static void pass(uint64_t ns, unsigned taken, unsigned running, unsigned skipped)
{
	snapshot->sequence++;
	snapshot->run->sampler.elapsed_ns += ns;
	snapshot->run->sampler.samples += taken;
	snapshot->run->sampler.skipped_budget += skipped;
	snapshot->run->vcpus[0].states[VCPU_RUNNING] += running;
	snapshot->run->vcpus[0].states[VCPU_BLOCKED] += taken - running;
	recent_update(&recent, snapshot);
}

static double kernel(void)
{
	return vcpu_shares_of(&recent.vcpus[0]).kernel;
}

static void test_one_long_stop(void)
{
	double lowest = 1000, share = 0;

	begin(10);
	for (unsigned i = 0; i < 60; i++)
		pass(SECOND, 100, 60, 0);
	check(fabs(recent.rate_hz - 100) < 0.01 && !recent.lowered,
	      "the rate of full samples: %g Hz", recent.rate_hz);
	for (unsigned i = 0; i < 5; i++) {
		pass(SECOND, 0, 0, 100);
		lowest = fmin(lowest, recent.rate_hz);
		share = kernel();
		check(!recent_is_throttled(&recent), "%u s without samples do not last", i + 1);
	}
	/* Half a half-life: what was before counts 0.71 of what it did. */
	check(fabs(lowest - 100 * exp2(-0.5)) < 1, "the rate after 5 s without samples: %g Hz",
	      lowest);
	check(fabs(share - 0.6) < 0.001, "the vCPU's share stays without samples: %g", share);
	check(recent.lowered, "the rate is lower, because of the budget");
	for (unsigned i = 0; i < 60; i++) {
		pass(SECOND, 100, 60, 0);
		if (recent_is_throttled(&recent))
			check(false, "throttled %u s after samples came again", i);
	}
	check(recent.rate_hz > 99 && !recent.lowered,
	      "the rate a minute after samples came again: %g Hz", recent.rate_hz);
}

static void test_half_life(void)
{
	begin(2);
	for (unsigned i = 0; i < 600; i++)
		pass(SECOND / 10, 10, 10, 0);
	for (unsigned i = 0; i < 20; i++)
		pass(SECOND / 10, 10, 0, 0);
	check(fabs(kernel() - 0.5) < 0.02, "what is one half-life old counts half: %g", kernel());
	begin(0);
	for (unsigned i = 0; i < 40; i++)
		pass(SECOND, 100, i < 10 ? 100 : 0, 0);
	check(fabs(kernel() - 0.25) < 0.001, "without a half-life all counts: %g", kernel());
}

static void test_throttled(void)
{
	unsigned said = 0;

	begin(10);
	for (unsigned i = 1; i <= 30 && !said; i++) {
		pass(SECOND, 10, 10, 90);
		said = recent_is_throttled(&recent) ? i : 0;
	}
	check(said >= 8 && said <= 12, "throttling is told after %u s", said);
	check(fabs(recent.rate_hz - 10) < 0.01 && recent.lowered, "the rate while throttled: %g Hz",
	      recent.rate_hz);
	pass(SECOND, 100, 10, 0);
	check(recent_is_throttled(&recent), "throttling does not end after one good second");
	for (unsigned i = 0; i < 3; i++)
		pass(SECOND, 100, 10, 0);
	check(!recent_is_throttled(&recent), "throttling ends after four good seconds");
	begin(10);
	for (unsigned i = 0; i < 60; i++)
		pass(SECOND, 97, 10, 3);
	check(!recent.lowered && !recent_is_throttled(&recent),
	      "ticks of which 3 %% are lost are no throttling");
}

/* Time in which nothing was to be sampled does not lower the rate. */
static void test_not_sampled(void)
{
	begin(10);
	snapshot->run->sampler.waited = 60;
	pass(SECOND, 40, 40, 0);
	check(recent.rate_hz == 0, "the rate is not known on hold");
	pass(SECOND, 100, 40, 0);
	check(fabs(recent.rate_hz - 100) < 0.01, "the rate after the hold: %g Hz", recent.rate_hz);
	snapshot->run->sampler.state = SAMPLER_GUEST_PAUSED;
	pass(SECOND / 2, 50, 40, 0);
	for (unsigned i = 0; i < 20; i++)
		pass(SECOND, 0, 0, 0);
	check(fabs(recent.rate_hz - 100) < 0.01, "the rate while paused by an administrator: %g Hz",
	      recent.rate_hz);
	snapshot->run->sampler.state = SAMPLER_RUNNING;
	pass(SECOND, 30, 0, 0);
	pass(SECOND, 100, 0, 0);
	check(fabs(recent.rate_hz - 100) < 0.01, "the rate after the administrator's pause: %g Hz",
	      recent.rate_hz);
}

/* NS later, of which the vCPU ran for RAN_NS. A tick has found it running, another one sleeping. */
static void run(uint64_t ns, uint64_t ran_ns)
{
	snapshot->run->vcpus[0].times.span_ns += ns;
	snapshot->run->vcpus[0].times.ran_ns += ran_ns;
	pass(ns, 2, 1, 0);
}

static void reset(void)
{
	snapshot->run->vcpus[0] = (struct snapshot_vcpu){ .user = 0 };
	snapshot->started_ns++;
}

static void test_reset(void)
{
	begin(10);
	for (unsigned i = 0; i < 10; i++)
		pass(SECOND, 100, 100, 0);
	reset();
	pass(SECOND, 10, 0, 0);
	check(kernel() == 0, "after a reset only new samples count: %g", kernel());

	/* Two resets, and as many ticks after each. */
	begin(10);
	run(SECOND, SECOND);
	reset();
	run(SECOND, SECOND);
	reset();
	run(SECOND - 1, SECOND / 4);
	check(fabs(kernel() - 0.25) < 0.001, "after a second reset, with as many ticks: %g",
	      kernel());
	reset();
	run(2 * SECOND, SECOND / 5);
	check(fabs(kernel() - 0.1) < 0.001, "after a third reset, with more time: %g", kernel());
}

/* A picture of the history: the window begins with the picture before it. */
static void test_begin(void)
{
	begin(10);
	pass(100 * SECOND, 100, 100, 9900);
	recent_init(&recent, 10);
	recent_begin(&recent, snapshot);
	check(recent.rate_hz == 0 && !recent.lowered && kernel() == 0,
	      "a window that begins is empty");
	pass(SECOND, 50, 25, 0);
	check(fabs(recent.rate_hz - 50) < 0.01 && fabs(kernel() - 0.5) < 0.001,
	      "rate and share of the window's first second: %g Hz, %g", recent.rate_hz, kernel());
}

int main(void)
{
	test_one_long_stop();
	test_half_life();
	test_throttled();
	test_not_sampled();
	test_reset();
	test_begin();
	snapshot_destroy(snapshot);
	return tap_done();
}
