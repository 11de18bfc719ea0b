/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rate and the vCPUs' time over the live window. */
#include "config.h"

#include "ui/recent.h"

#include <math.h>
#include <string.h>

#define LOWERED_SHARE    0.05 /* share of skipped ticks from which on the rate is lowered */
#define THROTTLED_NS     10000000000ULL
#define THROTTLED_END_NS 3000000000ULL

void recent_init(struct recent *recent, double half_life_s)
{
	*recent = (struct recent){ .half_life_s = half_life_s };
}

/* A reset sets counters back to 0. Then the whole new value is the increase. */
static uint64_t increase(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* The weight that a sum keeps after NS. */
static double recent_decay(const struct recent *recent, uint64_t ns)
{
	return recent->half_life_s > 0 ? exp2(-(double)ns / 1e9 / recent->half_life_s) : 1;
}

static uint64_t recent_add(uint64_t sum_ns, double decay, uint64_t ns)
{
	return (uint64_t)((double)sum_ns * decay + 0.5) + ns;
}

void vcpu_add_increase(struct snapshot_vcpu *sum, double decay, const struct snapshot_vcpu *from,
		       const struct snapshot_vcpu *to)
{
	for (int state = 0; state < N_VCPU_STATES; state++)
		sum->states[state] =
			sum->states[state] * decay + to->states[state] - from->states[state];
	sum->user = sum->user * decay + to->user - from->user;
	sum->times.span_ns =
		recent_add(sum->times.span_ns, decay, to->times.span_ns - from->times.span_ns);
	sum->times.ran_ns =
		recent_add(sum->times.ran_ns, decay, to->times.ran_ns - from->times.ran_ns);
	sum->times.waited_ns = recent_add(sum->times.waited_ns, decay,
					  to->times.waited_ns - from->times.waited_ns);
}

/* After a reset of the profile, counts and sums begin at 0 again. */
static void recent_reset_vcpus(struct recent *recent, uint64_t started_ns)
{
	memset(recent->counts, 0, sizeof(recent->counts));
	memset(recent->vcpus, 0, sizeof(recent->vcpus));
	recent->started_ns = started_ns;
}

static void recent_forget(struct recent *recent)
{
	recent->window_ns = recent->window_taken = recent->window_skipped = 0;
	recent->rate_hz = 0;
	recent->lowered = false;
}

/* SKIPPED: ticks that were skipped in the last NS. */
static void recent_watch_budget(struct recent *recent, uint64_t ns, uint64_t skipped)
{
	double ticks = recent->window_taken + recent->window_skipped;

	recent->lowered = recent->window_skipped > LOWERED_SHARE * ticks;
	recent->lowered_ns = recent->lowered ? recent->lowered_ns + ns : 0;
	recent->full_ns = skipped ? 0 : recent->full_ns + ns;
}

/*
 * Leaves out time without sampling: the guest was paused or away, or the resolver was still finding
 * out which system runs.
 */
static void recent_update_rate(struct recent *recent, const struct sampler_counts *sampler,
			       uint64_t ns, double decay)
{
	uint64_t skipped = increase(sampler->skipped_budget, recent->skipped);

	if (sampler->waited > recent->waited)
		recent_forget(recent);
	if (!recent->runs || !ns || sampler->waited > recent->waited)
		return;
	recent->window_ns = recent->window_ns * decay + (double)ns;
	recent->window_taken =
		recent->window_taken * decay + (double)increase(sampler->samples, recent->taken);
	recent->window_skipped = recent->window_skipped * decay + (double)skipped;
	recent->rate_hz = recent->window_taken * 1e9 / recent->window_ns;
	recent_watch_budget(recent, ns, skipped);
}

void recent_update(struct recent *recent, const struct snapshot *snapshot)
{
	const struct sampler_counts *sampler = &snapshot_get_run(snapshot)->sampler;
	uint64_t ns = increase(sampler->elapsed_ns, recent->elapsed_ns);
	double decay = recent_decay(recent, ns);

	if (snapshot->sequence == recent->sequence)
		return;
	if (!recent->sequence)
		recent->runs = true;
	recent_update_rate(recent, sampler, ns, decay);
	recent->runs = sampler->state == SAMPLER_RUNNING;
	recent->taken = sampler->samples;
	recent->skipped = sampler->skipped_budget;
	recent->waited = sampler->waited;
	recent->elapsed_ns = sampler->elapsed_ns;
	recent->sequence = snapshot->sequence;
	if (snapshot->started_ns != recent->started_ns)
		recent_reset_vcpus(recent, snapshot->started_ns);
	for (unsigned i = 0; i < snapshot_get_run(snapshot)->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		const struct snapshot_vcpu *vcpu = &snapshot_get_run(snapshot)->vcpus[i];

		vcpu_add_increase(&recent->vcpus[i], decay, &recent->counts[i], vcpu);
		recent->counts[i] = *vcpu;
	}
}

void recent_begin(struct recent *recent, const struct snapshot *snapshot)
{
	recent_update(recent, snapshot);
	recent_forget(recent);
	for (unsigned i = 0; i < GUEST_MAX_VCPUS; i++)
		recent->vcpus[i] = (struct snapshot_vcpu){ .user = 0 };
}

bool recent_is_throttled(const struct recent *recent)
{
	return recent->lowered_ns >= THROTTLED_NS && recent->full_ns < THROTTLED_END_NS;
}

/* The share of running time in user code. */
static double vcpu_user_share(const struct snapshot_vcpu *vcpu)
{
	double running = vcpu->states[VCPU_RUNNING], user = (double)vcpu->user;

	return running > user ? user / running : running > 0;
}

/* The share of waits for locks in the time in which the vCPU neither ran nor wanted to run. */
static double vcpu_lock_share(const struct snapshot_vcpu *vcpu)
{
	double lock = (double)vcpu->states[VCPU_LOCK_WAIT];
	double idle = (double)(vcpu->states[VCPU_BLOCKED] + vcpu->states[VCPU_OFFLINE]);

	return lock > 0 ? lock / (lock + idle) : 0;
}

/* The shares of time in which the vCPU ran, and in which it waited for a physical CPU. */
static void vcpu_run_shares(const struct snapshot_vcpu *vcpu, double *running, double *steal)
{
	const struct vcpu_times *times = &vcpu->times;
	double ticks = snapshot_vcpu_ticks(vcpu), span_ns = (double)times->span_ns;

	if (span_ns > 0) {
		*running = (double)times->ran_ns / span_ns;
		*steal = (double)times->waited_ns / span_ns;
	} else {
		*running = vcpu->states[VCPU_RUNNING] / ticks;
		*steal = vcpu->states[VCPU_RUNNABLE] / ticks;
	}
	*running = *running < 1 ? *running : 1;
	*steal = *steal < 1 - *running ? *steal : 1 - *running;
}

struct vcpu_shares vcpu_shares_of(const struct snapshot_vcpu *vcpu)
{
	double running, steal, user, lock;

	if (!(snapshot_vcpu_ticks(vcpu) > 0))
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
