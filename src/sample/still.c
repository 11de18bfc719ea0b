/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler of --crash: it looks once at all vCPUs of a guest, which may have crashed. A crashed
 * guest still has its memory and the registers of its vCPUs if its domain was kept
 * (on_crash="preserve"). Xen has already paused its vCPUs, so one more pause changes nothing.
 *
 *   look       does the guest run, or how did it end?
 *   first      registers, and as much of the stacks as is known without the resolver
 *   wait       until the resolver has seen that sample and found out which system runs there
 *   second     the same vCPUs with all their stacks, which the resolver needs for its report
 *
 * In a guest that runs an offline vCPU has nothing to show. In a crashed guest another vCPU told it
 * to stop, and it may still have registers, so it is tried.
 *
 * The only thread of its process, in the place of sampler.c. A guest that runs is stopped for each
 * of the two samples, and up to STILL_RETAKES times more for pages that were not mapped yet.
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "sample/copy.h"
#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/sample/sampler.h"

#define STILL_CACHE_PAGES 16384 /* as in sampler.c */
#define STILL_RETAKES     4     /* page tables of four levels that lead to a stack */
#define STILL_NAP_NS      10000000

struct still {
	struct guest *guest;
	struct control *control;
	struct ring *ring;
	struct copier copier;
	struct guest_look look;
	unsigned n_wanted;
	uint16_t wanted[GUEST_MAX_VCPUS];
	struct registers regs[GUEST_MAX_VCPUS];
	bool user[GUEST_MAX_VCPUS];
	struct copied copied[GUEST_MAX_VCPUS];
	struct sampler_counts counts;
};

static void still_nap(void)
{
	const struct timespec nap = { .tv_nsec = STILL_NAP_NS };

	nanosleep(&nap, NULL);
}

static void still_publish(struct still *still, enum sampler_state state)
{
	still->counts.state = state;
	still->counts.guest_pages = still->look.pages;
	still->counts.mapped_pages = frame_cache_pages(still->copier.cache);
	still->counts.maps = frame_cache_maps(still->copier.cache);
	control_set_counts(still->control, &still->counts);
}

static void still_fail(struct still *still, const char *message)
{
	control_set_message(still->control, message);
	still_publish(still, SAMPLER_FAILED);
}

/* --- the stopped window ----------------------------------------------------------------------- */

static void still_count(struct still *still, uint64_t stopped_ns)
{
	still->counts.stops++;
	still->counts.stopped_ns += stopped_ns;
	control_count_stopped(still->control, stopped_ns);
}

/*
 * Stops the guest, reads the registers of the N vCPUs wanted[FIRST] and behind, and copies their
 * stacks to ROOM + *SIZE_BYTES, which grows by what was copied. ROOM NULL: copies nothing. False:
 * not all of these vCPUs have registers.
 */
static bool still_stop(struct still *still, unsigned first, unsigned n, char *room,
		       size_t *size_bytes)
{
	struct guest *guest = still->guest;
	uint64_t begin_ns;
	bool stopped;

	guest_expect_stops(guest);
	begin_ns = clock_now_ns();
	stopped = guest->ops->stop(guest->context, begin_ns, &still->wanted[first], n,
				   &still->regs[first], &still->user[first], NULL);
	if (stopped) {
		frame_cache_stop(still->copier.cache);
		for (unsigned i = first; room && i < first + n; i++) {
			*size_bytes += sizeof(struct sample_vcpu);
			still->copier.vcpu = still->wanted[i];
			copy_vcpu(&still->copier, &still->regs[i], still->user[i],
				  room + *size_bytes, &still->copied[i]);
			*size_bytes += still->copied[i].size_bytes;
		}
		guest->ops->release(guest->context);
	}
	still_count(still, clock_now_ns() - begin_ns);
	guest_end_stops(guest);
	if (stopped && guest->ops->read_registers)
		guest->ops->read_registers(guest->context, &still->wanted[first], n,
					   &still->regs[first]);
	return stopped;
}

/* --- around it -------------------------------------------------------------------------------- */

static bool still_is_over(const struct still *still)
{
	return still->look.life == GUEST_GONE;
}

/* Finds the vCPUs that have registers. */
static void still_choose(struct still *still)
{
	for (unsigned vcpu = 0; vcpu < still->guest->info.n_vcpus; vcpu++) {
		bool offline = still->look.states[vcpu] == VCPU_OFFLINE;

		still->wanted[still->n_wanted] = (uint16_t)vcpu;
		if (!offline ||
		    (still_is_over(still) && still_stop(still, still->n_wanted, 1, NULL, NULL)))
			still->n_wanted++;
	}
}

/* Maps the pages that the copies need. False: a page went away while it was read. */
static bool still_map(struct still *still)
{
	unsigned faults;

	fault_arm();
	still->copier.now_ns = clock_now_ns();
	for (unsigned i = 0; i < still->n_wanted; i++) {
		still->copier.vcpu = still->wanted[i];
		copy_prepare(&still->copier, &still->regs[i], still->user[i]);
	}
	faults = fault_disarm();
	if (faults)
		frame_cache_drop(still->copier.cache);
	still->counts.faults += faults;
	return !faults;
}

static bool still_misses(const struct still *still)
{
	for (unsigned i = 0; i < still->n_wanted; i++)
		if (still->copied[i].missed)
			return true;
	return false;
}

/* If a page went away during the copies it was read as zeros, and any copy may be wrong. */
static void still_judge(struct still *still, unsigned faults)
{
	still->counts.faults += faults;
	for (unsigned i = 0; faults && i < still->n_wanted; i++)
		still->copied[i].cut = still->copied[i].user_cut = CUT_FAULT;
	if (faults)
		frame_cache_drop(still->copier.cache);
}

/* Every vCPU with registers counts as running: an idle one would have no stack (sample.h). */
static void still_build_heads(const struct still *still, char *to)
{
	for (unsigned i = 0; i < still->n_wanted; i++) {
		*(struct sample_vcpu *)to = copy_head(&still->copied[i], &still->regs[i],
						      still->user[i], still->wanted[i],
						      VCPU_RUNNING);
		to += sizeof(struct sample_vcpu) + still->copied[i].size_bytes;
	}
}

/* Commits a sample of all vCPUs that have registers. False: Xen refuses. */
static bool still_sample(struct still *still)
{
	size_t size_bytes = sample_size_max(still->n_wanted);
	char *room = ring_reserve(still->ring, size_bytes);
	bool taken = room && still_stop(still, 0, still->n_wanted, NULL, NULL);

	if (taken)
		memset(room, 0, size_bytes); /* so that its pages have memory before the stop */
	for (unsigned i = 0; taken && i <= STILL_RETAKES; i++) {
		still_map(still);
		size_bytes = sizeof(struct sample);
		fault_arm();
		taken = still_stop(still, 0, still->n_wanted, room, &size_bytes);
		still_judge(still, fault_disarm());
		if (!still_misses(still))
			break;
	}
	if (!taken)
		return false;
	still_build_heads(still, room + sizeof(struct sample));
	*(struct sample *)room = (struct sample){ .size_bytes = (uint32_t)size_bytes,
						  .n_vcpus = (uint16_t)still->n_wanted,
						  .time_ns = clock_now_ns(),
						  .weight = SAMPLE_WEIGHT_TICK };
	ring_commit(still->ring, size_bytes);
	still->counts.samples++;
	return true;
}

/* Waits until the resolver has seen the first sample, and reads where the stacks are. */
static void still_wait(struct still *still)
{
	uint64_t committed = ring_committed(still->ring);

	while (!ring_is_consumed(still->ring, committed) && !control_is_quitting(still->control))
		still_nap();
	copy_poll_stacks(&still->copier);
}

/* Takes both samples. Returns NULL, or a message that says why there are none. */
static const char *still_look(struct still *still)
{
	const struct guest_ops *ops = still->guest->ops;

	if (!ops->look(still->guest->context, &still->look) ||
	    (still_is_over(still) && still->look.end == GUEST_END_UNKNOWN))
		return "the guest is gone: only on_crash=\"preserve\" keeps one that has crashed";
	still->counts.ending = still->look.end;
	still_choose(still);
	still_publish(still, SAMPLER_RUNNING);
	if (!still->n_wanted)
		return "no vCPU of the guest has registers";
	if (!still_sample(still))
		return "Xen does not tell the registers of the guest's vCPUs";
	still_wait(still);
	if (!control_is_quitting(still->control) && !still_sample(still))
		return "the guest is gone";
	return NULL;
}

void sampler_run_still(struct guest *guest, struct control *control, struct ring *ring)
{
	static struct still still; /* too large for a stack */
	struct xtop_error *error;
	const char *failure;

	still = (struct still){ .guest = guest, .control = control, .ring = ring };
	still.copier = (struct copier){ .guest = &guest->info, .control = control };
	error = frame_cache_create(&guest->mapper, STILL_CACHE_PAGES, FRAME_CACHE_ROUND_NS,
				   &still.copier.cache);
	if (error) {
		control_set_message(control, error_message(error));
		control_set_state(control, SAMPLER_FAILED);
		error_destroy(error);
		return;
	}
	failure = still_look(&still);
	still_publish(&still, SAMPLER_RUNNING);
	while (!failure && !control_is_quitting(control))
		still_nap();
	frame_cache_drop(still.copier.cache); /* a mapping keeps a dead domain as a zombie */
	if (failure)
		still_fail(&still, failure);
	else
		still_publish(&still, SAMPLER_ENDED);
	frame_cache_destroy(still.copier.cache);
}
