/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of the time that vCPUs have run; see run_time.h. */
#include "config.h"

#include "sample/run_time.h"

/*
 * How many samples an account holds. A vCPU that sometimes sleeps is found awake more or less often
 * than it ran, by chance, and the account evens that out. An account of N samples takes chance for
 * steal in 1 of 8 N samples at most: 1/2 % with 32. An account without a bound would hide steal
 * that begins after a long time without.
 */
#define RUN_TIME_SAMPLES 32

static int64_t run_time_clamp(int64_t account_ns, int64_t limit_ns)
{
	if (account_ns > limit_ns)
		return limit_ns;
	return account_ns < -limit_ns ? -limit_ns : account_ns;
}

/* The state of a vCPU for a sample that stands for SPAN_NS. RAN_NS: how much of that it ran. */
static enum vcpu_state run_time_state(int64_t *account_ns, enum vcpu_state state, int64_t ran_ns,
				      int64_t span_ns)
{
	int64_t limit_ns = RUN_TIME_SAMPLES * span_ns;

	*account_ns = run_time_clamp(*account_ns + ran_ns, limit_ns);
	if (state == VCPU_RUNNABLE && *account_ns >= span_ns / 2)
		state = VCPU_RUNNING;
	if (state == VCPU_RUNNING)
		*account_ns = run_time_clamp(*account_ns - span_ns, limit_ns);
	return state;
}

void run_time_update(struct run_time *run_time, unsigned n_vcpus, struct guest_look *look)
{
	int64_t span_ns = (int64_t)(look->time_ns - run_time->time_ns);
	bool is_first = !run_time->time_ns;

	for (unsigned i = 0; i < n_vcpus; i++) {
		int64_t ran_ns = (int64_t)(look->cpu_ns[i] - run_time->cpu_ns[i]);

		run_time->cpu_ns[i] = look->cpu_ns[i];
		if (!is_first && span_ns > 0)
			look->states[i] = run_time_state(&run_time->account_ns[i], look->states[i],
							 ran_ns, span_ns);
	}
	run_time->time_ns = look->time_ns;
}
