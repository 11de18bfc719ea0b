/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the sampler fills a record; see sampler_fill.h. There are three ways:
 *
 *   none of the wanted vCPUs has run since its last sample   copy from the cache (sample_cache.h)
 *   one or two are wanted, and wait for a physical CPU       copy while the guest runs
 *   in all other cases                                       stop, copy, release; again at most
 *                                                            twice, if pages were missing
 *
 * Sampler's thread. Allocates nothing.
 */
#include "config.h"

#include "sample/sampler_fill.h"

#include <string.h>

#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/xen/domctl.h"

#define SAMPLER_FEW     2 /* if more vCPUs wait, one of them will run before all are read */
#define SAMPLER_RETAKES 2 /* retakes of a sample: the guest may have run on to other pages */

/* Fills in the head of a record of SIZE_BYTES, which has a sample of the wanted vCPUs. */
static void sampler_set_head(struct sampler *sampler, size_t size_bytes, uint64_t time_ns,
			     uint64_t stopped_ns)
{
	sampler->head.time_ns = time_ns;
	sampler->head.stopped_ns = stopped_ns < UINT32_MAX ? (uint32_t)stopped_ns : UINT32_MAX;
	sampler->head.n_vcpus = (uint16_t)sampler->n_wanted;
	sampler->head.size_bytes = (uint32_t)size_bytes;
}

/* --- the stopped window ----------------------------------------------------------------------- */

/*
 * Copies the stacks of the I-th wanted vCPU to TO, after room for the vCPU's head. If the stacks
 * are in the cache, only leaves room for them. Returns the size of head and stacks.
 */
static size_t sampler_copy_vcpu(struct sampler *sampler, char *to, unsigned i)
{
	struct copied *copied = &sampler->copies[i].copied;

	if (sampler->registers_only)
		return sizeof(struct sample_vcpu);
	if (sampler->wanted[i].cached_cpu_ns) {
		*copied = sampler->cache.vcpus[sampler->wanted[i].number].copied;
		return sizeof(struct sample_vcpu) + copied->size_bytes;
	}
	sampler_select(sampler, sampler->wanted[i].number);
	copy_vcpu(&sampler->copier, &sampler->wanted[i].regs, sampler->wanted[i].user,
		  to + sizeof(struct sample_vcpu), copied);
	return sizeof(struct sample_vcpu) + copied->size_bytes;
}

/*
 * After the release: finds out whether a copy missed pages. If a page went away and was read as
 * zeros, any of the copies may be wrong, so all are marked.
 */
static void sampler_judge_copies(struct sampler *sampler)
{
	bool faulted = fault_count() > 0;

	sampler->missed_pages = false;
	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		struct copied *copied = &sampler->copies[i].copied;

		sampler->missed_pages |= copied->missed;
		if (!faulted || sampler->wanted[i].cached_cpu_ns)
			continue;
		copied->stack_cut = CUT_FAULT;
		copied->user_cut = copied->user_cut == CUT_NONE ? CUT_NONE : CUT_FAULT;
		copied->frame = FRAME(0);
	}
}

/* After the release: writes the head of each vCPU to ROOM, and the stacks from the cache. */
static void sampler_build_heads(struct sampler *sampler, char *room)
{
	char *to = room + sizeof(struct sample);

	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		uint16_t vcpu = sampler->wanted[i].number;

		copy_head(&sampler->copies[i].copied, &sampler->wanted[i].regs,
			  sampler->wanted[i].user, vcpu, sampler->look.states[vcpu],
			  (struct sample_vcpu *)to);
		to += sizeof(struct sample_vcpu);
		if (sampler->wanted[i].cached_cpu_ns)
			sample_cache_copy(&sampler->cache, vcpu, to);
		to += sampler->copies[i].copied.size_bytes;
	}
}

/* After the release: reads the other registers, judges the copies, and writes the heads. */
static void sampler_end_copies(struct sampler *sampler, char *room)
{
	const struct guest *guest = sampler->guest;

	if (guest->ops->read_registers)
		guest->ops->read_registers(guest->context, sampler->wanted, sampler->n_wanted);
	if (!sampler->bare)
		sampler_judge_copies(sampler);
	for (unsigned i = 0; i < sampler->n_wanted; i++)
		per_cpu_learn(&sampler->per_cpus, sampler->wanted[i].number,
			      &sampler->wanted[i].regs);
	sampler_build_heads(sampler, room);
}

/*
 * Stops the guest, copies, and releases the guest. Returns false if the guest could not be stopped;
 * an earlier copy in ROOM is unchanged then. In both cases *STOPPED_NS is the time from before the
 * stop to after the release.
 */
static bool sampler_stop_and_copy(struct sampler *sampler, char *room, uint64_t *stopped_ns)
{
	struct guest *guest = sampler->guest;
	size_t size_bytes = sizeof(struct sample);
	uint64_t begin_ns = clock_now_ns();
	bool stopped;

	stopped = guest->ops->stop(guest->context, begin_ns, sampler->wanted, sampler->n_wanted);
	if (stopped) {
		frame_cache_stop(sampler->copier.cache);
		for (unsigned i = 0; i < sampler->n_wanted; i++)
			size_bytes += sampler_copy_vcpu(sampler, room + size_bytes, i);
		guest->ops->release(guest->context);
	}
	sampler->now_ns = clock_now_ns();
	*stopped_ns = sampler->now_ns - begin_ns;
	if (!stopped)
		return false;
	sampler_end_copies(sampler, room);
	sampler_set_head(sampler, size_bytes, begin_ns, *stopped_ns);
	return true;
}

/* --- counting stops, mapping pages ------------------------------------------------------------ */

void sampler_count_stop(struct sampler *sampler, uint64_t stopped_ns)
{
	budget_spend(&sampler->ticks.budget, stopped_ns);
	sampler->counts.stops++;
	sampler->counts.stopped_ns += stopped_ns;
	control_count_stopped(sampler->control, stopped_ns);
}

/*
 * Stops, copies and counts. A refused stop counts like any other, because Xen may have stopped the
 * guest and then failed to read its vCPUs.
 */
static bool sampler_stop_counted(struct sampler *sampler, char *room)
{
	struct sampler_counts *counts = &sampler->counts;
	uint64_t stopped_ns;
	unsigned faults;
	bool taken;

	fault_arm();
	taken = sampler_stop_and_copy(sampler, room, &stopped_ns);
	faults = fault_disarm();
	sampler_count_stop(sampler, stopped_ns);
	if (!taken)
		return false;
	sampler->stopped_once = true;
	counts->faults += faults;
	if (faults)
		frame_cache_drop(sampler->copier.cache);
	return true;
}

void sampler_begin_reading(struct sampler *sampler)
{
	fault_arm();
	sampler->copier.now_ns = sampler->now_ns;
}

bool sampler_end_reading(struct sampler *sampler)
{
	unsigned faults = fault_disarm();

	sampler->counts.faults += faults;
	if (faults)
		frame_cache_drop(sampler->copier.cache);
	return !faults;
}

/*
 * Maps the pages that the stop missed. Returns false if no page was mapped: another stop at once
 * would copy no more.
 */
static bool sampler_map_missed(struct sampler *sampler)
{
	struct frame_cache *cache = sampler->copier.cache;
	uint64_t maps = frame_cache_maps(cache);

	sampler_begin_reading(sampler);
	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		if (sampler->wanted[i].cached_cpu_ns)
			continue;
		sampler_select(sampler, sampler->wanted[i].number);
		copy_prepare(&sampler->copier, &sampler->wanted[i].regs, sampler->wanted[i].user);
	}
	return sampler_end_reading(sampler) && frame_cache_maps(cache) != maps;
}

/*
 * Copies the stacks to ROOM, and again if pages were missing. Returns false if Xen refused the
 * first stop.
 *
 * The further stops need no credit: they overdraw the budget, and the next sample waits until the
 * budget has earned them. If they did need credit, tasks that were not sampled before would have
 * short chains whenever the budget is used up.
 */
static bool sampler_fill_stacks(struct sampler *sampler, char *room)
{
	sampler->missed_pages = false;
	if (!sampler_stop_counted(sampler, room))
		return false;
	for (unsigned i = 0; i < SAMPLER_RETAKES && sampler->missed_pages &&
			     sampler_map_missed(sampler) && sampler_stop_counted(sampler, room);
	     i++) {
		sampler->counts.retakes++;
		sampler->head.flags |= SAMPLE_RETAKE;
	}
	return true;
}

/* --- samples without a stop ------------------------------------------------------------------- */

/* Fills ROOM from the cache. The guest runs, but the look found that these vCPUs did not. */
static void sampler_fill_cached(struct sampler *sampler, char *room)
{
	size_t size_bytes = sizeof(struct sample);

	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		unsigned vcpu = sampler->wanted[i].number;

		sampler->wanted[i].regs = sampler->cache.vcpus[vcpu].regs;
		sampler->wanted[i].user = sampler->cache.vcpus[vcpu].user;
		sampler->copies[i].copied = sampler->cache.vcpus[vcpu].copied;
		size_bytes += sizeof(struct sample_vcpu) + sampler->copies[i].copied.size_bytes;
	}
	sampler_build_heads(sampler, room);
	sampler->counts.unstopped++;
	sampler_set_head(sampler, size_bytes, sampler->head.time_ns, 0);
}

/* Copies the stacks to ROOM while the guest runs. Returns 0 if a page was missing. */
static size_t sampler_copy_waiting(struct sampler *sampler, char *room)
{
	size_t size_bytes = sizeof(struct sample);
	bool missed = false;

	sampler_begin_reading(sampler);
	frame_cache_stop(sampler->copier.cache);
	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		sampler->wanted[i].cached_cpu_ns = 0;
		size_bytes += sampler_copy_vcpu(sampler, room + size_bytes, i);
		missed |= sampler->copies[i].copied.missed;
	}
	return sampler_end_reading(sampler) && !missed ? size_bytes : 0;
}

/* Whether the wanted vCPUs still wait, and have not run since this tick's first look. */
static bool sampler_still_waits(struct sampler *sampler)
{
	const struct guest_ops *ops = sampler->guest->ops;
	bool waits = ops->look(sampler->guest->context, &sampler->later) &&
		     sampler->later.life == GUEST_RUNS;

	if (waits && sampler->later.paused_ns)
		sampler_count_stop(sampler, sampler->later.paused_ns);
	for (unsigned i = 0; i < sampler->n_wanted && waits; i++) {
		unsigned vcpu = sampler->wanted[i].number;

		waits = sampler->later.states[vcpu] == VCPU_RUNNABLE &&
			sampler->later.cpu_ns[vcpu] == sampler->look.cpu_ns[vcpu];
	}
	return waits;
}

/*
 * Copies registers and stacks of the wanted vCPUs, which wait, to ROOM while the guest runs.
 * Returns 0 if one of them has run meanwhile, or if a page was missing.
 */
static size_t sampler_peek(struct sampler *sampler, char *room)
{
	size_t size_bytes = 0;

	if (sampler->guest->ops->peek(sampler->guest->context, sampler->wanted, sampler->n_wanted))
		size_bytes = sampler_copy_waiting(sampler, room);
	return size_bytes && sampler_still_waits(sampler) ? size_bytes : 0;
}

/*
 * If all wanted vCPUs wait for a physical CPU, they stand still without a stop. Their registers and
 * stacks are read while the guest runs; afterwards Xen tells whether one of them has run meanwhile.
 * Returns false if the sample takes a stop: not all wait, one has run, or a page was missing.
 */
static bool sampler_fill_waiting(struct sampler *sampler, char *room)
{
	uint64_t begin_ns;
	size_t size_bytes;

	if (!sampler->guest->ops->peek || sampler->n_waiting != sampler->n_wanted ||
	    sampler->n_wanted > SAMPLER_FEW || sampler->registers_only)
		return false;
	begin_ns = clock_now_ns();
	size_bytes = sampler_peek(sampler, room);
	if (!size_bytes) {
		sampler->counts.retakes++;
		return false;
	}
	sampler->stopped_once = true;
	sampler->now_ns = clock_now_ns();
	sampler_end_copies(sampler, room);
	sampler_set_head(sampler, size_bytes, begin_ns, sampler->later.paused_ns);
	return true;
}

/* --- a sample --------------------------------------------------------------------------------- */

/* Appends the idle vCPUs, each with its state alone, to the wanted vCPUs. */
static void sampler_append_idle(struct sampler *sampler, char *room)
{
	struct sample *head = &sampler->head;

	for (unsigned vcpu = 0; vcpu < sampler->guest->info.n_vcpus; vcpu++) {
		if (sampler->look.states[vcpu] > VCPU_BLOCKED ||
		    (sampler->n_wanted && sampler->wanted[0].number == vcpu))
			continue;
		*(struct sample_vcpu *)(room + head->size_bytes) = (struct sample_vcpu){
			.size_bytes = sizeof(struct sample_vcpu),
			.vcpu = (uint16_t)vcpu,
			.state = (uint8_t)sampler->look.states[vcpu],
		};
		head->size_bytes += sizeof(struct sample_vcpu);
		head->n_vcpus++;
	}
}

/*
 * Sets the alarm of guard and keeper, unless the alarm was set a moment ago: at a high rate each
 * tick would pay for two system calls. The alarm then goes off somewhat sooner than it would.
 */
static void sampler_expect_stops(struct sampler *sampler)
{
	if (sampler->alarm_ns && sampler->now_ns - sampler->alarm_ns < STOP_ALARM_NS / 2)
		return;
	guest_expect_stops(sampler->guest);
	sampler->alarm_ns = sampler->now_ns;
}

void sampler_end_stops(struct sampler *sampler, uint64_t sleep_ns)
{
	if (!sampler->alarm_ns ||
	    sampler->now_ns + sleep_ns - sampler->alarm_ns < STOP_ALARM_NS)
		return;
	guest_end_stops(sampler->guest);
	sampler->alarm_ns = 0;
}

bool sampler_fill(struct sampler *sampler, char *room)
{
	bool filled = true;

	if (sampler->n_wanted && sampler->n_cached == sampler->n_wanted) {
		sampler_fill_cached(sampler, room);
	} else if (sampler->n_wanted && !sampler_fill_waiting(sampler, room)) {
		sampler_expect_stops(sampler);
		filled = sampler_fill_stacks(sampler, room);
	}
	if (filled)
		sampler_append_idle(sampler, room);
	return filled;
}
