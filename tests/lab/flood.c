// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A main that an attacker controls: it asks the broker for the list of domains again and again,
 * while a guest is sampled. The sampler must not notice.
 *
 *   flood DOMAIN
 *
 * Samples DOMAIN for SECONDS without and then with such questions, and compares how long the stops
 * took in the mean: one question takes milliseconds, so a single one that interrupts a stop of 20
 * us shows in the mean of 400. (The highest percentiles tell nothing: QEMU gives the other CPU a
 * turn of 100 us within two stops of a hundred.) Checks the priorities of xtop's processes: a
 * question that is answered at a higher priority than the sampler's may interrupt a stop. dom0 has
 * one CPU in the lab, so it never does so here. TAP on stdout.
 */
#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/children.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/sample/sampler.h"
#include "xtop/supervise/broker.h"

#define SECONDS 4
#define RATE_HZ 99

static struct guest_info info;

struct measured {
	unsigned asked;
	struct sampler_counts counts;
	struct stopped_summary stopped;
	double late_percent; /* share of ticks that came late */
};

/*
 * Each process is the child of the one before. The broker has the priority of main, no real-time
 * one.
 */
static void check_priorities(void)
{
	static const char *const names[] = { "broker", "starter", "keeper", "guard", "sampler" };
	static const int priorities[] = { 0, 0, 2, 2, 1 };
	pid_t pid = getpid();

	for (unsigned i = 0; i < 5; i++) {
		struct sched_param param = { .sched_priority = -1 };

		pid = child_of(pid);
		sched_getparam(pid, &param);
		check(pid && param.sched_priority == priorities[i], "%s: real-time priority %d",
		      names[i], param.sched_priority);
	}
}

static void drain(struct ring *ring)
{
	size_t size_bytes;

	while (ring_peek(ring, &size_bytes))
		ring_release(ring);
}

static void ask(struct measured *measured)
{
	struct guest_listing *list;
	size_t n;

	must(guest_list(&list, &n));
	free(list);
	measured->asked++;
}

static void measure(bool flood, const char *what, struct measured *measured)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct guest_process process;
	struct control *control;
	uint64_t until_ns;
	struct ring *ring;

	*measured = (struct measured){ .asked = 0 };
	must(control_create(&control));
	control_set_rate(control, RATE_HZ);
	control_set_budget(control, 0.9);
	must(ring_create(sampler_ring_bytes(info.n_vcpus, RATE_HZ), &ring));
	must(guard_start(&info, control, ring, &process));
	until_ns = clock_now_ns() + SECONDS * 1000000000ULL;
	while (clock_now_ns() < until_ns) {
		drain(ring);
		if (flood)
			ask(measured);
		else
			nanosleep(&nap, NULL);
	}
	if (!flood)
		check_priorities();
	control_get_counts(control, &measured->counts);
	control_get_stopped(control, &measured->stopped);
	guard_stop(&process, control);
	ring_destroy(ring);
	control_destroy(control);
	measured->late_percent = 100.0 * (double)(measured->counts.late + measured->counts.missed) /
				 (double)(measured->counts.ticks + measured->counts.missed + 1);
	printf("# %s: %u questions, %llu ticks, %llu late, %llu missed (%.1f %%), stopped p50 %llu "
	       "p99 %llu max %llu mean %.0f ns\n",
	       what, measured->asked, (unsigned long long)measured->counts.ticks,
	       (unsigned long long)measured->counts.late,
	       (unsigned long long)measured->counts.missed, measured->late_percent,
	       (unsigned long long)measured->stopped.p50_ns,
	       (unsigned long long)measured->stopped.p99_ns,
	       (unsigned long long)measured->stopped.max_ns, measured->stopped.mean_ns);
}

int main(int argc, char **argv)
{
	/* A main that lets the user choose the guest: with -d it may not ask for the list. */
	const struct broker_settings settings = { .run = sampler_run, .budget = 0.9 };
	struct measured quiet, flooded;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(broker_start(&settings));
	must(guest_find(argc == 2 ? argv[1] : "", &info));
	measure(false, "quiet", &quiet);
	measure(true, "flooded", &flooded);
	check(flooded.counts.stops > SECONDS * RATE_HZ / 4, "samples are taken meanwhile");
	check(flooded.asked > 5, "questions are answered");
	check(flooded.stopped.mean_ns <= quiet.stopped.mean_ns * 1.5,
	      "a flood of questions makes no stop longer");
	broker_stop();
	return tap_done();
}
