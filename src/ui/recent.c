/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened between the last two pictures; see recent.h. */
#include "config.h"

#include "ui/recent.h"

/* A reset sets counters back to 0: then all of the new value is new. */
static uint64_t increase(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static void recent_update_vcpu(const struct snapshot_vcpu *now, struct snapshot_vcpu *before,
			     struct snapshot_vcpu *between)
{
	bool was_reset = now->states[VCPU_BLOCKED] < before->states[VCPU_BLOCKED] ||
			 now->states[VCPU_RUNNING] < before->states[VCPU_RUNNING];

	for (int state = 0; state < N_VCPU_STATES; state++)
		between->states[state] =
			now->states[state] - (was_reset ? 0 : before->states[state]);
	between->user = now->user - (was_reset ? 0 : before->user);
	between->times = now->times;
	if (!was_reset) {
		between->times.span_ns -= before->times.span_ns;
		between->times.ran_ns -= before->times.ran_ns;
		between->times.waited_ns -= before->times.waited_ns;
	}
	*before = *now;
}

void recent_update(struct recent *recent, const struct snapshot *snapshot)
{
	const struct sampler_counts *sampler = &snapshot->sampler;
	uint64_t ns = increase(sampler->elapsed_ns, recent->elapsed_ns);

	if (snapshot->sequence == recent->sequence)
		return;
	if (ns) {
		uint64_t taken = increase(sampler->samples, recent->taken);

		recent->rate_hz = (double)taken * 1e9 / (double)ns;
		recent->lowered = sampler->skipped_budget > recent->skipped;
	}
	recent->taken = sampler->samples;
	recent->skipped = sampler->skipped_budget;
	recent->elapsed_ns = sampler->elapsed_ns;
	recent->sequence = snapshot->sequence;
	for (unsigned i = 0; i < snapshot->n_vcpus && i < GUEST_MAX_VCPUS; i++)
		recent_update_vcpu(&snapshot->vcpus[i], &recent->counts[i], &recent->vcpus[i]);
}

/* Of the time that the vCPU ran, the share in user code. */
static double vcpu_user_share(const struct snapshot_vcpu *vcpu)
{
	double running = (double)vcpu->states[VCPU_RUNNING], user = (double)vcpu->user;

	return running > user ? user / running : running > 0;
}

/* Of the time that the vCPU neither ran nor wanted to, the share in which it waited for a lock. */
static double vcpu_lock_share(const struct snapshot_vcpu *vcpu)
{
	double lock = (double)vcpu->states[VCPU_LOCK_WAIT];
	double idle = (double)(vcpu->states[VCPU_BLOCKED] + vcpu->states[VCPU_OFFLINE]);

	return lock > 0 ? lock / (lock + idle) : 0;
}

/* How much of its time the vCPU ran, and how much it waited for a physical CPU. */
static void vcpu_run_shares(const struct snapshot_vcpu *vcpu, double *running, double *steal)
{
	const struct vcpu_times *times = &vcpu->times;
	double ticks = (double)snapshot_vcpu_ticks(vcpu), span_ns = (double)times->span_ns;

	if (span_ns > 0) {
		*running = (double)times->ran_ns / span_ns;
		*steal = (double)times->waited_ns / span_ns;
	} else {
		*running = (double)vcpu->states[VCPU_RUNNING] / ticks;
		*steal = (double)vcpu->states[VCPU_RUNNABLE] / ticks;
	}
	*running = *running < 1 ? *running : 1;
	*steal = *steal < 1 - *running ? *steal : 1 - *running;
}

struct vcpu_shares vcpu_shares_of(const struct snapshot_vcpu *vcpu)
{
	double running, steal, user, lock;

	if (!snapshot_vcpu_ticks(vcpu))
		return (struct vcpu_shares){ .idle = 0 };
	vcpu_run_shares(vcpu, &running, &steal);
	user = running * vcpu_user_share(vcpu);
	lock = (1 - running - steal) * vcpu_lock_share(vcpu);
	return (struct vcpu_shares){ .user = user,
				     .kernel = running - user,
				     .steal = steal,
				     .lock = lock,
				     .idle = 1 - running - steal - lock };
}
