// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures what a tick of the sampler costs dom0. The real sampler runs on a live guest in this
 * process, with the priority that the guard gives it. This file replaces clock_nanosleep() to take
 * the times.
 *
 *   tick DOMAIN N [HZ [BUDGET]]
 *
 * BUDGET is the share of its time that the guest may be stopped, 0 to 1 (1). With 0.000001 nearly
 * every tick is one that is not taken to keep within the budget.
 *
 * Prints one line of JSON, medians:
 *
 *   tick_ns    from waking to the next sleep
 *   wake_ns    from the deadline to waking. If the guest sleeps, this is the cost of waking: timer
 *              interrupt, Xen, dom0's kernel. If the guest is busy on the only CPU, it is the time
 *              until Xen gives the CPU to dom0, which costs nobody anything
 *   life_ns    a look that asks whether the guest still runs: one call to Xen
 *   look_ns    a look that also asks for the states of all vCPUs: one call more for each
 *
 * "ticks" says how many ticks these N stand for: the sampler sleeps through most of those without a
 * stop.
 *
 * In the lab with --deterministic these are instructions. Xen's own figure of dom0's CPU time is of
 * no use there, because it includes the emulator's jumps over idle time. Each record is released
 * from the ring at once; tick_ns does not include that. Nobody tells the sampler how deep stacks
 * are, so it copies more than in real use.
 */
#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/must.h"
#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/sample/sampler.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/domctl.h"

#define MAX_TICKS 10000

static struct control *control;
static struct ring *ring;
static uint64_t ticks[MAX_TICKS], wakes[MAX_TICKS], looks[MAX_TICKS], woke_ns;
static unsigned n, n_wanted;

/* Replaces libc's, for the sampler. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
	uint64_t slept_ns = clock_now_ns();
	size_t bytes;
	int status;

	if (woke_ns && n < n_wanted)
		ticks[n] = slept_ns - woke_ns;
	while (ring_peek(ring, &bytes))
		ring_release(ring);
	status = (int)syscall(SYS_clock_nanosleep, clock, flags, until, left);
	woke_ns = clock_now_ns();
	if (n < n_wanted)
		wakes[n++] =
			woke_ns - ((uint64_t)until->tv_sec * 1000000000 + (uint64_t)until->tv_nsec);
	else
		control_quit(control);
	return status;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values)
{
	qsort(values, n, sizeof(values[0]), compare);
	return values[n / 2];
}

static uint64_t measure_looks(void *context, bool (*look)(void *, struct guest_look *))
{
	static struct guest_look seen;

	for (unsigned i = 0; i < n; i++) {
		uint64_t begin_ns = clock_now_ns();

		if (!look(context, &seen))
			must_or_die(error_create("Xen does not answer"));
		looks[i] = clock_now_ns() - begin_ns;
	}
	return median(looks);
}

int main(int argc, char **argv)
{
	struct sched_param fifo = { .sched_priority = 1 };
	struct sampler_counts counts;
	struct guest_info info;
	struct stop_area *area;
	struct guest guest;
	uint64_t life_ns, look_ns;

	n_wanted = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	if (!n_wanted || n_wanted > MAX_TICKS)
		must_or_die(error_create("usage: tick DOMAIN N [HZ [BUDGET]], N at most %u", MAX_TICKS));
	must_or_die(guest_find(argv[1], &info));
	must_or_die(stop_area_create(&info, &area));
	must_or_die(domctl_open(&info, area, STOP_SAMPLER, &guest));
	must_or_die(control_create(&control));
	control_set_rate(control, argc > 3 ? atof(argv[3]) : 1000);
	must_or_die(ring_create(sampler_ring_bytes(info.n_vcpus, control_get_rate(control)), &ring));
	control_set_budget(control, argc > 4 ? atof(argv[4]) : 1);
	fault_install();
	if (sched_setscheduler(0, SCHED_FIFO, &fifo) < 0)
		must_or_die(error_create("not allowed the sampler's priority"));

	sampler_run(&guest, control, ring);
	life_ns = measure_looks(guest.context, guest.ops->look_life);
	look_ns = measure_looks(guest.context, guest.ops->look);
	guest.ops->close(guest.context);

	control_get_counts(control, &counts);
	printf("{\"n\": %u, \"ticks\": %llu, \"samples\": %llu, \"lost\": %llu, \"late\": %llu, "
	       "\"tick_ns\": %llu, \"wake_ns\": %llu, \"life_ns\": %llu, \"look_ns\": %llu}\n",
	       n, (unsigned long long)counts.ticks, (unsigned long long)counts.samples,
	       (unsigned long long)counts.lost, (unsigned long long)counts.late,
	       (unsigned long long)median(ticks), (unsigned long long)median(wakes),
	       (unsigned long long)life_ns, (unsigned long long)look_ns);
	return 0;
}
