/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of the time that vCPUs have run; see run_time.h. */
#include "config.h"

#include "sample/run_time.h"

/*
 * How many samples an account holds. A vCPU that sometimes sleeps is found awake more or less often
 * than it ran, by chance, and the account evens that out. Of a vCPU that sleeps half of the time, an
 * account of N samples takes chance for steal in 1 of 8 N samples: 1/2 % with 32. An account without
 * a bound would hide steal that begins after a long time without.
 */
#define RUN_TIME_SAMPLES 32

static int64_t run_time_clamp(int64_t account_ns, int64_t limit_ns)
{
	if (account_ns > limit_ns)
		return limit_ns;
	return account_ns < -limit_ns ? -limit_ns : account_ns;
}

void run_time_update(struct run_time *run_time, unsigned n_vcpus, struct guest_look *look)
{
	int64_t span_ns = run_time->time_ns ? (int64_t)(look->time_ns - run_time->time_ns) : 0;

	for (unsigned i = 0; i < n_vcpus; i++) {
		int64_t ran_ns = (int64_t)(look->cpu_ns[i] - run_time->vcpus[i].cpu_ns);
		int64_t *account_ns = &run_time->vcpus[i].account_ns;

		if (span_ns > 0)
			*account_ns += ran_ns - (run_time->vcpus[i].is_running ? span_ns : 0);
		*account_ns = run_time_clamp(*account_ns, RUN_TIME_SAMPLES * span_ns);
		if (look->states[i] == VCPU_RUNNABLE && *account_ns >= 0)
			look->states[i] = VCPU_RUNNING;
		run_time->vcpus[i].is_running = look->states[i] == VCPU_RUNNING;
		run_time->vcpus[i].cpu_ns = look->cpu_ns[i];
	}
	run_time->time_ns = look->time_ns;
}

void run_time_reset(struct run_time *run_time)
{
	run_time->time_ns = 0;
}
