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
#include <time.h>

#include "sample/copy.h"
#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/sample/sampler.h"

#define CRASH_SAMPLER_CACHE_PAGES 16384 /* SAMPLER_CACHE_PAGES of sampler.c */
#define CRASH_SAMPLER_RETAKES     4     /* one for each level of page tables */
#define CRASH_SAMPLER_NAP_NS      10000000

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

static void crash_sampler_nap(void)
{
	const struct timespec nap = { .tv_nsec = CRASH_SAMPLER_NAP_NS };

	nanosleep(&nap, NULL);
}

static void crash_sampler_publish(struct crash_sampler *sampler, enum sampler_state state)
{
	sampler->counts.state = state;
	sampler->counts.guest_pages = sampler->look.pages;
	sampler->counts.mapped_pages = frame_cache_pages(sampler->copier.cache);
	sampler->counts.maps = frame_cache_maps(sampler->copier.cache);
	control_set_counts(sampler->control, &sampler->counts);
}

static void crash_sampler_fail(struct crash_sampler *sampler, const char *message)
{
	control_set_message(sampler->control, message);
	crash_sampler_publish(sampler, SAMPLER_FAILED);
}

/* --- the stopped window ----------------------------------------------------------------------- */

static void crash_sampler_count(struct crash_sampler *sampler, uint64_t stopped_ns)
{
	sampler->counts.stops++;
	sampler->counts.stopped_ns += stopped_ns;
	control_count_stopped(sampler->control, stopped_ns);
}

/*
 * Stops the guest, reads the registers of N vCPUs, from wanted[FIRST] on, and copies their stacks
 * to ROOM + *SIZE_BYTES, which grows by what was copied. ROOM NULL: copies nothing. Returns false
 * if not all of these vCPUs have registers.
 */
static bool crash_sampler_stop(struct crash_sampler *sampler, unsigned first, unsigned n,
			       char *room, size_t *size_bytes)
{
	struct guest *guest = sampler->guest;
	uint64_t begin_ns;
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
	crash_sampler_count(sampler, clock_now_ns() - begin_ns);
	guest_end_stops(guest);
	if (stopped && guest->ops->read_registers)
		guest->ops->read_registers(guest->context, &sampler->wanted[first], n);
	return stopped;
}

/* --- around it -------------------------------------------------------------------------------- */

static bool crash_sampler_is_over(const struct crash_sampler *sampler)
{
	return sampler->look.life == GUEST_GONE;
}

/* Finds the vCPUs that have registers. */
static void crash_sampler_choose(struct crash_sampler *sampler)
{
	for (unsigned vcpu = 0; vcpu < sampler->guest->info.n_vcpus; vcpu++) {
		bool offline = sampler->look.states[vcpu] == VCPU_OFFLINE;

		sampler->wanted[sampler->n_wanted].number = (uint16_t)vcpu;
		if (!offline || (crash_sampler_is_over(sampler) &&
				 crash_sampler_stop(sampler, sampler->n_wanted, 1, NULL, NULL)))
			sampler->n_wanted++;
	}
}

/* Maps the pages that the copies need. */
static bool crash_sampler_map(struct crash_sampler *sampler)
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
	return !faults;
}

static bool crash_sampler_misses(const struct crash_sampler *sampler)
{
	for (unsigned i = 0; i < sampler->n_wanted; i++)
		if (sampler->copied[i].missed)
			return true;
	return false;
}

/* If a page went away during the copies, it was read as zeros, and any copy may be wrong. */
static void crash_sampler_judge(struct crash_sampler *sampler, unsigned faults)
{
	sampler->counts.faults += faults;
	for (unsigned i = 0; faults && i < sampler->n_wanted; i++)
		sampler->copied[i].cut = sampler->copied[i].user_cut = CUT_FAULT;
	if (faults)
		frame_cache_drop(sampler->copier.cache);
}

/* Every vCPU with registers counts as running: an idle one would have no stack (sample.h). */
static void crash_sampler_build_heads(const struct crash_sampler *sampler, char *to)
{
	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		*(struct sample_vcpu *)to =
			copy_head(&sampler->copied[i], &sampler->wanted[i].regs,
				  sampler->wanted[i].user, sampler->wanted[i].number, VCPU_RUNNING);
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
		memset(room, 0, size_bytes); /* so that its pages have memory before the stop */
	for (unsigned i = 0; taken && i <= CRASH_SAMPLER_RETAKES; i++) {
		crash_sampler_map(sampler);
		size_bytes = sizeof(struct sample);
		fault_arm();
		taken = crash_sampler_stop(sampler, 0, sampler->n_wanted, room, &size_bytes);
		crash_sampler_judge(sampler, fault_disarm());
		if (!crash_sampler_misses(sampler))
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
		crash_sampler_nap();
	copy_poll_stacks(&sampler->copier);
}

/* Takes both samples. Returns NULL, or a message that says why there are none. */
static const char *crash_sampler_look(struct crash_sampler *sampler)
{
	const struct guest_ops *ops = sampler->guest->ops;

	if (!ops->look(sampler->guest->context, &sampler->look) ||
	    (crash_sampler_is_over(sampler) && sampler->look.end == GUEST_END_UNKNOWN))
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
	struct xtop_error *error;
	const char *failure;

	sampler = (struct crash_sampler){ .guest = guest, .control = control, .ring = ring };
	sampler.copier = (struct copier){ .guest = &guest->info, .control = control };
	error = frame_cache_create(&guest->mapper, CRASH_SAMPLER_CACHE_PAGES, FRAME_CACHE_ROUND_NS,
				   &sampler.copier.cache);
	if (error) {
		control_set_message(control, error_message(error));
		control_set_state(control, SAMPLER_FAILED);
		error_destroy(error);
		return;
	}
	failure = crash_sampler_look(&sampler);
	crash_sampler_publish(&sampler, SAMPLER_RUNNING);
	while (!failure && !control_is_quitting(control))
		crash_sampler_nap();
	frame_cache_drop(sampler.copier.cache); /* a mapping keeps a dead domain as a zombie */
	if (failure)
		crash_sampler_fail(&sampler, failure);
	else
		crash_sampler_publish(&sampler, SAMPLER_ENDED);
	frame_cache_destroy(sampler.copier.cache);
}
