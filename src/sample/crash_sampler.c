/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler of --crash: samples all vCPUs of a guest, which may have crashed, twice. A crashed
 * guest still has its memory and the registers of its vCPUs if its domain was kept
 * (on_crash="preserve"). Xen has already paused its vCPUs, so one more pause changes nothing.
 *
 *   look       does the guest run, or how did it end?
 *   first      registers, and as much of the stacks as is known without the resolver
 *   wait       until the resolver has seen that sample and found out which system runs there
 *   second     these vCPUs with all their stacks, which the resolver needs for its report
 *
 * In a guest that runs, an offline vCPU has nothing to show. In a crashed guest the vCPU that
 * crashed has told the others to stop. An offline vCPU may still have registers, so it is tried.
 *
 * The only thread of its process, in the place of sampler.c. A guest that runs is stopped for each
 * of the two samples, and up to CRASH_SAMPLER_RETAKES times more for pages that were not mapped
 * yet.
 */
#include "config.h"

#include <string.h>

#include "sample/copy.h"
#include "sample/schedule.h"
#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/sample/sampler.h"

#define CRASH_SAMPLER_RETAKES     4     /* one retake for each level of page tables */
#define CRASH_SAMPLER_NAP_NS      10000000 /* time between two polls of ring and control block */

struct crash_sampler {
	struct guest *guest;
	struct control *control;
	struct ring *ring;
	struct copier copier;
	struct guest_look look;
	unsigned n_wanted;
	struct guest_vcpu wanted[GUEST_MAX_VCPUS]; /* the vCPUs that have registers */
	struct copied copied[GUEST_MAX_VCPUS];     /* what was copied of each wanted vCPU */
	struct sampler_counts counts;
};

static void crash_sampler_publish(struct crash_sampler *sampler, enum sampler_state state)
{
	sampler->counts.state = state;
	sampler->counts.guest_pages = sampler->look.pages;
	sampler->counts.mapped_pages = frame_cache_pages(sampler->copier.cache);
	sampler->counts.maps = frame_cache_maps(sampler->copier.cache);
	control_set_counts(sampler->control, &sampler->counts);
}

/* --- the stopped window ----------------------------------------------------------------------- */

/*
 * Stops the guest, reads the registers of N vCPUs, from wanted[FIRST] on, and copies their stacks
 * to ROOM + *SIZE_BYTES, which grows by what was copied. ROOM NULL: copies nothing. Returns false
 * if not all of these vCPUs have registers.
 */
static bool crash_sampler_stop(struct crash_sampler *sampler, unsigned first, unsigned n,
			       char *room, size_t *size_bytes)
{
	struct guest *guest = sampler->guest;
	uint64_t begin_ns, stopped_ns;
	bool stopped;

	guest_expect_stops(guest);
	begin_ns = clock_now_ns();
	stopped = guest->ops->stop(guest->context, begin_ns, &sampler->wanted[first], n);
	if (stopped) {
		frame_cache_stop(sampler->copier.cache);
		for (unsigned i = first; room && i < first + n; i++) {
			*size_bytes += sizeof(struct sample_vcpu);
			sampler->copier.vcpu = sampler->wanted[i].number;
			copy_vcpu(&sampler->copier, &sampler->wanted[i].regs,
				  sampler->wanted[i].user, room + *size_bytes, &sampler->copied[i]);
			*size_bytes += sampler->copied[i].size_bytes;
		}
		guest->ops->release(guest->context);
	}
	stopped_ns = clock_now_ns() - begin_ns;
	sampler->counts.stops++;
	sampler->counts.stopped_ns += stopped_ns;
	control_count_stopped(sampler->control, stopped_ns);
	guest_end_stops(guest);
	if (stopped && guest->ops->read_registers)
		guest->ops->read_registers(guest->context, &sampler->wanted[first], n);
	return stopped;
}

/* --- pages, copies, counts -------------------------------------------------------------------- */

/* Finds the vCPUs that have registers. */
static void crash_sampler_choose(struct crash_sampler *sampler)
{
	for (unsigned vcpu = 0; vcpu < sampler->guest->info.n_vcpus; vcpu++) {
		bool offline = sampler->look.states[vcpu] == VCPU_OFFLINE;

		sampler->wanted[sampler->n_wanted].number = (uint16_t)vcpu;
		if (!offline || (sampler->look.life == GUEST_GONE &&
				 crash_sampler_stop(sampler, sampler->n_wanted, 1, NULL, NULL)))
			sampler->n_wanted++;
	}
}

/* Maps the pages that the copies need. */
static void crash_sampler_map(struct crash_sampler *sampler)
{
	unsigned faults;

	fault_arm();
	sampler->copier.now_ns = clock_now_ns();
	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		sampler->copier.vcpu = sampler->wanted[i].number;
		copy_prepare(&sampler->copier, &sampler->wanted[i].regs, sampler->wanted[i].user);
	}
	faults = fault_disarm();
	if (faults)
		frame_cache_drop(sampler->copier.cache);
	sampler->counts.faults += faults;
}

/*
 * Judges the copies of a stop, during which FAULTS pages went away. Such pages were read as zeros,
 * so any copy may be wrong. Returns whether a copy missed a page that was not mapped yet.
 */
static bool crash_sampler_judge(struct crash_sampler *sampler, unsigned faults)
{
	bool missed = false;

	sampler->counts.faults += faults;
	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		missed |= sampler->copied[i].missed;
		if (faults)
			sampler->copied[i].stack_cut = sampler->copied[i].user_cut = CUT_FAULT;
	}
	if (faults)
		frame_cache_drop(sampler->copier.cache);
	return missed;
}

/* Every vCPU with registers counts as running: an idle one would have no stack (sample.h). */
static void crash_sampler_build_heads(const struct crash_sampler *sampler, char *to)
{
	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		copy_head(&sampler->copied[i], &sampler->wanted[i].regs, sampler->wanted[i].user,
			  sampler->wanted[i].number, VCPU_RUNNING, (struct sample_vcpu *)to);
		to += sizeof(struct sample_vcpu) + sampler->copied[i].size_bytes;
	}
}

/* Commits a sample of all vCPUs that have registers. Returns false if Xen refuses. */
static bool crash_sampler_sample(struct crash_sampler *sampler)
{
	size_t size_bytes = sample_size_max(sampler->n_wanted);
	char *room = ring_reserve(sampler->ring, size_bytes);
	bool taken = room && crash_sampler_stop(sampler, 0, sampler->n_wanted, NULL, NULL);

	if (taken)
		memset(room, 0, size_bytes); /* gives memory to the room's pages before the stop */
	for (unsigned i = 0; taken && i <= CRASH_SAMPLER_RETAKES; i++) {
		crash_sampler_map(sampler);
		size_bytes = sizeof(struct sample);
		fault_arm();
		taken = crash_sampler_stop(sampler, 0, sampler->n_wanted, room, &size_bytes);
		if (!crash_sampler_judge(sampler, fault_disarm()))
			break;
	}
	if (!taken)
		return false;
	crash_sampler_build_heads(sampler, room + sizeof(struct sample));
	*(struct sample *)room = (struct sample){ .size_bytes = (uint32_t)size_bytes,
						  .n_vcpus = (uint16_t)sampler->n_wanted,
						  .time_ns = clock_now_ns(),
						  .weight = SAMPLE_WEIGHT_TICK };
	ring_commit(sampler->ring, size_bytes);
	sampler->counts.samples++;
	return true;
}

/* Waits until the resolver has seen the first sample, and reads where the stacks are. */
static void crash_sampler_wait(struct crash_sampler *sampler)
{
	uint64_t committed = ring_committed(sampler->ring);

	while (!ring_is_consumed(sampler->ring, committed) &&
	       !control_is_quitting(sampler->control))
		ticks_sleep_to(clock_now_ns() + CRASH_SAMPLER_NAP_NS);
	copy_poll_stacks(&sampler->copier);
}

/* Takes both samples. Returns NULL, or a message that says why there are no samples. */
static const char *crash_sampler_look(struct crash_sampler *sampler)
{
	const struct guest_ops *ops = sampler->guest->ops;

	if (!ops->look(sampler->guest->context, &sampler->look) ||
	    (sampler->look.life == GUEST_GONE && sampler->look.end == GUEST_END_UNKNOWN))
		return "the guest is gone: only on_crash=\"preserve\" keeps one that has crashed";
	sampler->counts.ending = sampler->look.end;
	crash_sampler_choose(sampler);
	crash_sampler_publish(sampler, SAMPLER_RUNNING);
	if (!sampler->n_wanted)
		return "no vCPU of the guest has registers";
	if (!crash_sampler_sample(sampler))
		return "Xen does not tell the registers of the guest's vCPUs";
	crash_sampler_wait(sampler);
	if (!control_is_quitting(sampler->control) && !crash_sampler_sample(sampler))
		return "the guest is gone";
	return NULL;
}

void crash_sampler_run(struct guest *guest, struct control *control, struct ring *ring)
{
	static struct crash_sampler sampler; /* too large for a stack */
	const char *failure;

	sampler = (struct crash_sampler){ .guest = guest, .control = control, .ring = ring };
	if (!copier_open(&sampler.copier, guest, control))
		return;
	failure = crash_sampler_look(&sampler);
	crash_sampler_publish(&sampler, SAMPLER_RUNNING);
	while (!failure && !control_is_quitting(control))
		ticks_sleep_to(clock_now_ns() + CRASH_SAMPLER_NAP_NS);
	frame_cache_drop(sampler.copier.cache); /* a mapping keeps a dead domain as a zombie */
	if (failure)
		control_set_message(control, failure);
	crash_sampler_publish(&sampler, failure ? SAMPLER_FAILED : SAMPLER_ENDED);
	frame_cache_destroy(sampler.copier.cache);
}
