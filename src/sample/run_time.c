/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long vCPUs ran and waited, and how far Xen's clock is ahead; see run_time.h. */
#include "config.h"

#include "sample/run_time.h"

#include "xtop/base/clock.h"

/*
 * An account holds at most the time of this many samples. By chance, a vCPU that sometimes sleeps
 * is found awake more or less often than it ran; the account evens that out. If a vCPU sleeps half
 * of the time, an account of N samples mistakes chance for steal in 1 of 8 N samples: 1/2 % with
 * 32. An account without a bound would hide steal that begins after a long time without steal.
 */
#define RUN_TIME_SAMPLES 32

#define RUNSTATE_RUNNABLE_AT 24 /* offset of time[RUNSTATE_runnable] */

void run_time_read(struct run_time *run_time, const struct per_cpus *cpus,
		   const struct copier *copier, unsigned n_vcpus)
{
	uint64_t offset = copier->stacks.runstate_per_cpu;

	for (unsigned i = 0; i < n_vcpus; i++)
		run_time->vcpus[i].is_read =
			offset && per_cpu_read_u64(cpus, copier, i, offset + RUNSTATE_RUNNABLE_AT,
						   &run_time->vcpus[i].new_waited_ns);
}

static int64_t run_time_clamp(int64_t account_ns, int64_t limit_ns)
{
	if (account_ns > limit_ns)
		return limit_ns;
	return account_ns < -limit_ns ? -limit_ns : account_ns;
}

/* Brings the vCPU's account up to date. Returns the state of the vCPU for the sample. */
static enum vcpu_state run_time_state(struct run_time *run_time, unsigned vcpu,
				      enum vcpu_state state, int64_t ran_ns, int64_t span_ns)
{
	int64_t *account_ns = &run_time->vcpus[vcpu].account_ns;

	if (run_time->vcpus[vcpu].state == VCPU_RUNNING)
		ran_ns -= span_ns;
	*account_ns = run_time_clamp(*account_ns + ran_ns, RUN_TIME_SAMPLES * span_ns);
	return state == VCPU_RUNNABLE && *account_ns >= 0 ? VCPU_RUNNING : state;
}

/*
 * Whether the guest was told how long the vCPU has waited since the last sample. A time that is
 * shorter than before tells nothing.
 */
static bool run_time_is_known(const struct run_time *run_time, unsigned vcpu)
{
	return run_time->vcpus[vcpu].is_read && run_time->vcpus[vcpu].was_read &&
	       run_time->vcpus[vcpu].new_waited_ns >= run_time->vcpus[vcpu].waited_ns;
}

/*
 * Returns the share of waiting in the time in which the vCPU does not run, as the recent samples
 * tell. If no sample found the vCPU asleep, the share is 1: then the vCPU does not sleep, even if
 * all samples found it running.
 */
static double run_time_wait_share(struct run_time *run_time, unsigned vcpu, enum vcpu_state state)
{
	double *waits = &run_time->vcpus[vcpu].waits, *sleeps = &run_time->vcpus[vcpu].sleeps;

	*waits = *waits * (1 - 1.0 / RUN_TIME_SAMPLES) + (state == VCPU_RUNNABLE);
	*sleeps = *sleeps * (1 - 1.0 / RUN_TIME_SAMPLES) +
		  (state != VCPU_RUNNABLE && state != VCPU_RUNNING);
	return *sleeps > 0 ? *waits / (*waits + *sleeps) : 1;
}

/*
 * Adds WAITED_NS, but so that the sum is no longer than the time in which the vCPU did not run. A
 * look takes a while, so one difference may be too large and the next too small; only sums are
 * checked. If dom0 has lost the CPU between the clock and Xen's count, the true sum gets smaller
 * until the next look. Readers subtract earlier times from later ones, so the sum that they see
 * never gets smaller.
 */
static void run_time_add_waited(struct run_time *run_time, unsigned vcpu, double waited_ns)
{
	struct vcpu_times *times = &run_time->times[vcpu];
	double *ahead_ns = &run_time->vcpus[vcpu].ahead_ns;
	double rest_ns = (double)times->span_ns - (double)times->ran_ns;
	double sum_ns = (double)times->waited_ns - *ahead_ns + waited_ns;

	if (sum_ns > rest_ns)
		sum_ns = rest_ns;
	if (sum_ns < 0)
		sum_ns = 0;
	if (sum_ns > (double)times->waited_ns)
		times->waited_ns = (uint64_t)sum_ns;
	*ahead_ns = (double)times->waited_ns - sum_ns;
}

static void run_time_add(struct run_time *run_time, unsigned vcpu, uint64_t span_ns,
			 uint64_t ran_ns)
{
	double rest_ns = (double)span_ns - (double)ran_ns;
	double share = run_time_wait_share(run_time, vcpu, run_time->vcpus[vcpu].state);

	run_time->times[vcpu].span_ns += span_ns;
	run_time->times[vcpu].ran_ns += ran_ns;
	if (run_time_is_known(run_time, vcpu))
		run_time_add_waited(run_time, vcpu,
				    (double)(run_time->vcpus[vcpu].new_waited_ns -
					     run_time->vcpus[vcpu].waited_ns));
	else
		run_time_add_waited(run_time, vcpu, share * rest_ns);
}

void run_time_update(struct run_time *run_time, unsigned n_vcpus, struct guest_look *look)
{
	bool is_first = !run_time->time_ns || look->time_ns <= run_time->time_ns;
	uint64_t span_ns = is_first ? 0 : look->time_ns - run_time->time_ns;

	for (unsigned i = 0; i < n_vcpus; i++) {
		uint64_t before_ns = run_time->vcpus[i].cpu_ns, ran_ns = 0;

		if (!is_first && look->cpu_ns[i] > before_ns)
			ran_ns = look->cpu_ns[i] - before_ns;
		if (!is_first)
			run_time_add(run_time, i, span_ns, ran_ns);
		look->states[i] = run_time_state(run_time, i, look->states[i], (int64_t)ran_ns,
						 (int64_t)span_ns);
		run_time->vcpus[i].cpu_ns = look->cpu_ns[i];
		run_time->vcpus[i].waited_ns = run_time->vcpus[i].new_waited_ns;
		run_time->vcpus[i].was_read = run_time->vcpus[i].is_read;
		run_time->vcpus[i].is_read = false;
		run_time->vcpus[i].state = look->states[i];
	}
	run_time->time_ns = look->time_ns;
}

void run_time_reset(struct run_time *run_time)
{
	run_time->time_ns = 0;
}

/* --- Xen's clock ------------------------------------------------------------------------------ */

/*
 * dom0 and Xen may have measured the processor's frequency separately: in the lab their clocks
 * drift by 200 µs a second. In a tenth of a second they drift by 20 µs.
 */
#define XEN_CLOCK_STEP_NS  100000000
#define XEN_CLOCK_SLOW_NS  1000000000 /* the interval while nobody needs the guest's clocks */
#define XEN_CLOCK_TRIES    4
#define XEN_CLOCK_SHORT_NS 20000  /* an answer this fast ends the tries */
#define XEN_CLOCK_LONG_NS  500000 /* slower answers are not used: 0.25 ms wrong at most */

/*
 * Compares Xen's system time with dom0's clock.
 *
 *   dom0's clock    before ──────────┬────────── after
 *   Xen's time                     answer             dom0's time of the answer is not known. The
 *                                                     middle is wrong by at most half of the time
 *                                                     from `before` to `after`
 *
 * The shortest of a few tries counts, because this process may lose its CPU during a try.
 */
bool xen_clock_measure(struct xen_clock *clock, const struct guest *guest, bool often,
		       uint64_t now_ns, uint64_t *ahead_ns)
{
	uint64_t shortest_ns = XEN_CLOCK_LONG_NS + 1, xen_ns;

	if (!guest->ops->read_clock || now_ns < clock->next_ns)
		return false;
	for (int i = 0; i < XEN_CLOCK_TRIES && shortest_ns > XEN_CLOCK_SHORT_NS; i++) {
		uint64_t before_ns = clock_now_ns(), took_ns;

		if (!guest->ops->read_clock(guest->context, &xen_ns))
			break;
		took_ns = clock_now_ns() - before_ns;
		if (took_ns >= shortest_ns)
			continue;
		shortest_ns = took_ns;
		*ahead_ns = xen_ns - before_ns - took_ns / 2;
	}
	if (shortest_ns > XEN_CLOCK_LONG_NS)
		return false;
	clock->next_ns = now_ns + (often ? XEN_CLOCK_STEP_NS : XEN_CLOCK_SLOW_NS);
	return true;
}
