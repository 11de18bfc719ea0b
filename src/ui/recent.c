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

struct vcpu_shares vcpu_shares_of(const struct snapshot_vcpu *vcpu)
{
	double running = (double)vcpu->states[VCPU_RUNNING], user = (double)vcpu->user;
	double ticks = (double)snapshot_vcpu_ticks(vcpu);

	if (!(ticks > 0))
		return (struct vcpu_shares){ .idle = 0 };
	return (struct vcpu_shares){
		.user = user / ticks,
		.kernel = (running > user ? running - user : 0) / ticks,
		.steal = (double)vcpu->states[VCPU_RUNNABLE] / ticks,
		.lock = (double)vcpu->states[VCPU_LOCK_WAIT] / ticks,
		.idle = (double)(vcpu->states[VCPU_BLOCKED] + vcpu->states[VCPU_OFFLINE]) / ticks,
	};
}
