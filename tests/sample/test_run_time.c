/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts of run time over simulated minutes. A made-up vCPU sleeps, waits and runs in slices of
 * half a millisecond. Looks come about every 10 ms, or at any distance. A look finds what the vCPU
 * does just then; or, as where dom0 shares its physical CPU, it finds a vCPU that runs waiting.
 * Shares are those of the time that samples stand for.
 */
#include "config.h"

#include <math.h>

#include "sample/run_time.h"
#include "tests/support/tap.h"

#define MS       UINT64_C(1000000)
#define SLICE_NS (MS / 2)

static uint64_t random_state = 7;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

static bool happens(double share)
{
	return (double)next_random(1000000) < 1e6 * share;
}

/* How a vCPU behaves. */
struct behaviour {
	double awake; /* share of the time that it wants to run */
	double steal; /* share of AWAKE in which it gets no physical CPU */
	bool shared;  /* the look runs on the vCPU's physical CPU */
	unsigned gap_slices; /* between looks: half of it to one and a half times */
	bool told; /* the guest knows how long it waited */
	bool late; /* dom0 gets the physical CPU when the vCPU sleeps: most looks find it asleep */
};

struct made_vcpu {
	enum vcpu_state state; /* the vCPU's state in this slice */
	uint64_t time_ns, cpu_ns, waited_ns;
};

/* It sleeps, and stays awake, for 16 slices in the mean. */
static void vcpu_step(struct made_vcpu *vcpu, const struct behaviour *behaviour)
{
	bool awake = vcpu->state != VCPU_BLOCKED;

	if (happens(1.0 / 16))
		awake = happens(behaviour->awake);
	vcpu->state = !awake ? VCPU_BLOCKED
		      : happens(behaviour->steal) ? VCPU_RUNNABLE
						  : VCPU_RUNNING;
	vcpu->time_ns += SLICE_NS;
	vcpu->cpu_ns += vcpu->state == VCPU_RUNNING ? SLICE_NS : 0;
	vcpu->waited_ns += vcpu->state == VCPU_RUNNABLE ? SLICE_NS : 0;
}

/* Time by state: as it was, and as samples say. */
struct outcome {
	double was[N_VCPU_STATES], said[N_VCPU_STATES];
	double ran, waited; /* percent, by the times */
};

static struct outcome simulate(struct run_time *run_time, struct made_vcpu *vcpu,
			       const struct behaviour *behaviour, unsigned seconds)
{
	uint64_t end_ns = vcpu->time_ns + seconds * 1000 * MS;
	struct outcome outcome = { .was = { 0 } };
	struct guest_look look;

	while (vcpu->time_ns < end_ns) {
		unsigned slices = behaviour->gap_slices / 2 + 1 +
				  (unsigned)next_random(behaviour->gap_slices);

		look.time_ns = vcpu->time_ns;
		look.cpu_ns[0] = vcpu->cpu_ns;
		look.states[0] = vcpu->state;
		if (behaviour->shared && vcpu->state == VCPU_RUNNING)
			look.states[0] = VCPU_RUNNABLE;
		if (behaviour->late && happens(0.7))
			look.states[0] = VCPU_BLOCKED;
		run_time->vcpus[0].is_read = behaviour->told;
		run_time->vcpus[0].new_waited_ns = vcpu->waited_ns;
		run_time_update(run_time, 1, &look);
		outcome.said[look.states[0]] += slices * SLICE_NS;
		for (unsigned i = 0; i < slices; i++) {
			vcpu_step(vcpu, behaviour);
			outcome.was[vcpu->state] += SLICE_NS;
		}
	}
	for (int state = 0; state < N_VCPU_STATES; state++) {
		outcome.was[state] *= 100.0 / (seconds * 1000 * MS);
		outcome.said[state] *= 100.0 / (seconds * 1000 * MS);
	}
	outcome.ran = 100.0 * run_time->times[0].ran_ns / run_time->times[0].span_ns;
	outcome.waited = 100.0 * run_time->times[0].waited_ns / run_time->times[0].span_ns;
	return outcome;
}

static void check_times(const char *what, const struct outcome *outcome, double points)
{
	check(fabs(outcome->waited - outcome->was[VCPU_RUNNABLE]) <= points &&
		      fabs(outcome->ran - outcome->was[VCPU_RUNNING]) <= 0.2,
	      "%s: by times, steal %.1f %% is %.1f, running %.1f is %.1f", what,
	      outcome->was[VCPU_RUNNABLE], outcome->waited, outcome->was[VCPU_RUNNING],
	      outcome->ran);
}

static void check_shares(const char *what, struct behaviour behaviour, double points)
{
	struct run_time run_time = { .time_ns = 0 };
	struct made_vcpu vcpu = { .state = VCPU_RUNNING, .time_ns = 5000 * MS, .cpu_ns = 17 * MS };
	struct outcome outcome = simulate(&run_time, &vcpu, &behaviour, 60);

	check(fabs(outcome.said[VCPU_RUNNABLE] - outcome.was[VCPU_RUNNABLE]) <= points &&
		      fabs(outcome.said[VCPU_RUNNING] - outcome.was[VCPU_RUNNING]) <= points,
	      "%s: steal %.1f %% is shown as %.1f, running %.1f as %.1f", what,
	      outcome.was[VCPU_RUNNABLE], outcome.said[VCPU_RUNNABLE], outcome.was[VCPU_RUNNING],
	      outcome.said[VCPU_RUNNING]);
	check_times(what, &outcome, points);
}

/* Busy all the time: Xen's count leaves no doubt. */
static void test_busy(void)
{
	for (int steal = 0; steal <= 100; steal += 25) {
		double share = steal / 100.0;

		check_shares("busy on dom0's CPU", (struct behaviour){ 1, share, true, 20, false, false }, 0.5);
		check_shares("busy on others' CPU", (struct behaviour){ 1, share, false, 20, false, false }, 1);
		check_shares("busy, throttled", (struct behaviour){ 1, share, true, 400, false, false }, 2);
	}
}

/*
 * How much a vCPU slept is known from looks alone: 6,000 of them know a half within 1.3 points, at
 * two standard deviations.
 */
static void test_sleeps(void)
{
	check_shares("half asleep, alone", (struct behaviour){ 0.5, 0, false, 20, false, false }, 1.5);
	check_shares("half asleep, on dom0's CPU",
		     (struct behaviour){ 0.5, 0, true, 20, false, false }, 1.5);
	check_shares("half asleep, robbed", (struct behaviour){ 0.5, 0.4, true, 20, false, false }, 2);
	check_shares("half asleep, robbed by others",
		     (struct behaviour){ 0.5, 0.4, false, 20, false, false }, 2);
	check_shares("seldom awake", (struct behaviour){ 0.05, 0, true, 20, false, false }, 1);
}

/* What Xen says of a vCPU that runs is true. */
static void test_alone(void)
{
	struct run_time run_time = { .time_ns = 0 };
	struct made_vcpu vcpu = { .state = VCPU_RUNNING, .time_ns = MS };
	struct outcome outcome =
		simulate(&run_time, &vcpu, &(struct behaviour){ 0.5, 0, false, 20, false, false }, 60);

	check(outcome.said[VCPU_RUNNABLE] == 0, "no steal where Xen sees none: %.2f %%",
	      outcome.said[VCPU_RUNNABLE]);
}

/* What Xen tells the guest is exact, whatever the looks find. */
static void test_told(void)
{
	static const struct behaviour behaviours[] = {
		{ 1, 0.5, true, 20, true, false },   { 1, 0, false, 20, true, false },
		{ 0.5, 0.4, true, 20, true, true },  { 0.5, 0.4, false, 400, true, true },
		{ 0.1, 0.9, true, 20, true, true },
	};

	for (size_t i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++) {
		struct run_time run_time = { .time_ns = 0 };
		struct made_vcpu vcpu = { .state = VCPU_RUNNING, .time_ns = MS, .waited_ns = MS };
		struct outcome outcome = simulate(&run_time, &vcpu, &behaviours[i], 60);

		check_times("a wait that the guest was told of is steal", &outcome, 0.2);
	}
}

/* A long time without steal leaves no credit that would hide the next. */
static void test_onset(void)
{
	struct run_time run_time = { .time_ns = 0 };
	struct made_vcpu vcpu = { .state = VCPU_RUNNING, .time_ns = MS };
	struct outcome outcome;

	simulate(&run_time, &vcpu, &(struct behaviour){ 0.5, 0, true, 20, false, false }, 600);
	outcome = simulate(&run_time, &vcpu, &(struct behaviour){ 1, 0.5, true, 20, false, false }, 2);
	check(outcome.said[VCPU_RUNNABLE] >= outcome.was[VCPU_RUNNABLE] - 18,
	      "in the first two seconds %.1f %% is shown as %.1f", outcome.was[VCPU_RUNNABLE],
	      outcome.said[VCPU_RUNNABLE]);
	outcome = simulate(&run_time, &vcpu, &(struct behaviour){ 1, 0.5, true, 20, false, false }, 2);
	check(fabs(outcome.said[VCPU_RUNNABLE] - outcome.was[VCPU_RUNNABLE]) < 2,
	      "in the next two %.1f %% as %.1f", outcome.was[VCPU_RUNNABLE],
	      outcome.said[VCPU_RUNNABLE]);
}

static enum vcpu_state look_once(struct run_time *run_time, uint64_t time_ns, uint64_t cpu_ns,
				 enum vcpu_state state)
{
	struct guest_look look = { .time_ns = time_ns };

	look.states[0] = state;
	look.cpu_ns[0] = cpu_ns;
	run_time_update(run_time, 1, &look);
	return look.states[0];
}

static void test_edges(void)
{
	struct run_time run_time = { .time_ns = 0 };

	check(look_once(&run_time, 10 * MS, 900 * MS, VCPU_RUNNABLE) == VCPU_RUNNING,
	      "the state of a runnable vCPU in the first sample");
	check(look_once(&run_time, 20 * MS, 910 * MS, VCPU_RUNNABLE) == VCPU_RUNNING,
	      "the state of a runnable vCPU that ran all the time");
	check(look_once(&run_time, 30 * MS, 910 * MS, VCPU_RUNNABLE) == VCPU_RUNNABLE,
	      "the state of a runnable vCPU that did not run at all");
	check(look_once(&run_time, 40 * MS, 920 * MS, VCPU_BLOCKED) == VCPU_BLOCKED,
	      "the state of a vCPU that ran and sleeps now");
	check(look_once(&run_time, 50 * MS, 930 * MS, VCPU_LOCK_WAIT) == VCPU_LOCK_WAIT &&
		      look_once(&run_time, 60 * MS, 930 * MS, VCPU_OFFLINE) == VCPU_OFFLINE,
	      "the states of vCPUs that are not runnable stay");
	check(look_once(&run_time, 70 * MS, 930 * MS, VCPU_RUNNABLE) == VCPU_RUNNING &&
		      look_once(&run_time, 80 * MS, 930 * MS, VCPU_RUNNABLE) == VCPU_RUNNING,
	      "time that a vCPU ran while it was found asleep counts when it is awake");
	check(look_once(&run_time, 90 * MS, 930 * MS, VCPU_RUNNABLE) == VCPU_RUNNABLE,
	      "time that a vCPU ran while it was found asleep counts once");
	run_time_reset(&run_time);
	check(look_once(&run_time, 9000 * MS, 930 * MS, VCPU_RUNNABLE) == VCPU_RUNNING,
	      "a pause is not steal");
	look_once(&run_time, 9010 * MS, 0, VCPU_RUNNING);
	look_once(&run_time, 9020 * MS, UINT64_MAX / 2, VCPU_RUNNING);
	for (unsigned i = 0; i < 40; i++)
		look_once(&run_time, (9030 + 10 * i) * MS, UINT64_MAX / 2, VCPU_RUNNABLE);
	check(look_once(&run_time, 9430 * MS, UINT64_MAX / 2, VCPU_RUNNABLE) == VCPU_RUNNABLE,
	      "a wrong count is forgotten");
}

/* Another guest has the CPU in between, and each look finds the vCPU running. */
static void test_found_running(void)
{
	struct run_time run_time = { .time_ns = 0 };

	for (unsigned i = 1; i <= 20; i++)
		look_once(&run_time, 1000 * MS + 100 * MS * i, 50 * MS * i, VCPU_RUNNING);
	check(run_time.times[0].waited_ns == 950 * MS && run_time.times[0].ran_ns == 950 * MS,
	      "never found waiting, it ran half of the time: it waited %.0f ms of %.0f",
	      (double)run_time.times[0].waited_ns / MS, (double)run_time.times[0].span_ns / MS);
}

/*
 * The vCPU is stopped for 0.1 of each 10 ms, and runs else. At each tenth look dom0 loses the CPU
 * for 4 ms after it has read the clock, so the vCPU has run for longer than the time that passed.
 */
static void test_late_looks(void)
{
	struct run_time run_time = { .time_ns = 0 };
	const struct vcpu_times *times = &run_time.times[0];
	unsigned n_smaller = 0;

	for (uint64_t i = 0; i < 6000; i++) {
		uint64_t late_ns = i % 10 == 9 ? 4 * MS : 0, before_ns = times->waited_ns;

		look_once(&run_time, 1000 * MS + 10 * MS * i,
			  900 * MS + i * (10 * MS - MS / 10) + late_ns, VCPU_RUNNABLE);
		n_smaller += times->waited_ns < before_ns;
	}
	check(n_smaller == 0, "late looks: the time that it waited gets less at %u", n_smaller);
	check(fabs((double)times->waited_ns / (double)times->span_ns - 0.01) < 0.0001,
	      "late looks: it waited %.0f ms of %.0f", (double)times->waited_ns / MS,
	      (double)times->span_ns / MS);
}

static void tell(struct run_time *run_time, uint64_t time_ns, uint64_t cpu_ns, bool is_told,
		 uint64_t told_ns)
{
	run_time->vcpus[0].is_read = is_told;
	run_time->vcpus[0].new_waited_ns = told_ns;
	look_once(run_time, time_ns, cpu_ns, VCPU_BLOCKED);
}

/* The guest's own memory may say anything, and may not be readable. */
static void test_lies(void)
{
	struct run_time run_time = { .time_ns = 0 };
	const struct vcpu_times *times = &run_time.times[0];

	tell(&run_time, 10 * MS, 100 * MS, true, 500 * MS);
	tell(&run_time, 20 * MS, 106 * MS, true, 502 * MS);
	check(times->span_ns == 10 * MS && times->ran_ns == 6 * MS && times->waited_ns == 2 * MS,
	      "the times begin with the first sample");
	tell(&run_time, 30 * MS, 112 * MS, true, 900 * MS);
	check_u64(times->waited_ns, 8 * MS,
		  "the waiting time is at most what Xen's count of running leaves");
	tell(&run_time, 40 * MS, 112 * MS, true, 100 * MS);
	check_u64(times->waited_ns, 8 * MS, "a count of waiting that goes back tells nothing");
	tell(&run_time, 50 * MS, 112 * MS, true, 103 * MS);
	check_u64(times->waited_ns, 11 * MS, "waiting counts from the number that went back");
	tell(&run_time, 60 * MS, 112 * MS, false, 0);
	tell(&run_time, 70 * MS, 112 * MS, true, 109 * MS);
	check_u64(times->waited_ns, 11 * MS,
		  "the waiting time stays while the count is not readable");
	tell(&run_time, 80 * MS, 112 * MS, true, 110 * MS);
	check_u64(times->waited_ns, 12 * MS,
		  "waiting grows by the count when it is readable again");
	tell(&run_time, 90 * MS, UINT64_MAX, true, UINT64_MAX);
	check(times->waited_ns <= times->span_ns, "absurd counts of waiting are bounded");
}

int main(void)
{
	test_busy();
	test_sleeps();
	test_alone();
	test_onset();
	test_edges();
	test_told();
	test_found_running();
	test_late_looks();
	test_lies();
	return tap_done();
}
