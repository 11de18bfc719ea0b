/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler. At each tick the sampler stops the guest, reads the registers of the vCPUs, copies
 * the live part of each stack, lets the guest run and commits the sample. All other work is done
 * while the guest runs: looking which vCPUs want to run, mapping pages, cleaning up, counting.
 *
 *   sleep              until the deadline
 *   schedule, budget   is it time for a sample? If not, the tick is skipped (schedule.h, budget.h)
 *   reserve            room in the ring. If there is no room, or if the resolver is behind, the
 *                      tick is lost
 *   look               which vCPUs run or wait for a CPU? If none does, the guest is not stopped,
 *                      but for the first sample. Which vCPUs have not run since their last sample?
 *                      Their stacks come from the cache (sample_cache.h). If no wanted vCPU has
 *                      run, or if all wait for a CPU, the guest is not stopped (sampler_fill.c)
 *   stop ─┐
 *   copy  │            sampler_fill(): the stopped window, nothing else in it
 *   release ┘
 *   map                pages that the copy missed. Then stop again, at most twice; the budget pays
 *   weigh, commit
 *
 * The sampler decides before the look whether a tick gives a sample, so what the guest does at the
 * moment has no influence. While ticks give no samples, the sampler only asks every TICKS_LOOK_NS
 * whether the guest still runs.
 *
 * The only thread of its process. Allocates nothing after start.
 */
#include "config.h"

#include <string.h>

#include "sample/sampler_fill.h"
#include "xtop/base/clock.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/sample/sampler.h"
#include "xtop/xen/domctl.h"

/*
 * In the lab mapping and unmapping a page costs 33,000 instructions, so the limit is 165 million a
 * second. 99 samples a second of 8 vCPUs may need five new pages for each vCPU.
 */
#define SAMPLER_MAPS_PER_S     5000
#define SAMPLER_PAUSED_NS      100000000 /* time between looks at a paused guest */
/* If this many looks in a row find the guest paused, an administrator has paused it. */
#define SAMPLER_PAUSED_LOOKS   4
#define SAMPLER_PAUSED_LOOK_NS 500000                     /* time between two such looks */
#define SAMPLER_HOLD_NS        (FRAME_CACHE_ROUND_NS / 2) /* sooner than a sweep unmaps pages */
#define SAMPLER_CLEAN_NS       5000000                    /* shortest time between cleanings up */
/*
 * How long a sample of a Linux guest may wait in the ring. The resolver reads a program's files
 * when it first sees a process of the program. In the deterministic lab this takes 2 s for all
 * programs of a server.
 */
#define SAMPLER_BEHIND_NS 2000000000
/*
 * At first the resolver reads the files of all programs. Processes that run for long are still
 * there afterwards. So in the first seconds samples may wait for longer.
 */
#define SAMPLER_START_NS           10000000000ULL
#define SAMPLER_BEHIND_AT_START_NS 8000000000ULL
/* The ring has room for SAMPLER_BEHIND_NS. 400 samples of a vCPU, 2 s at 200 Hz, have 4 MiB. */
#define SAMPLER_STACK_BYTES    (10 << 10) /* stacks of a vCPU; more bytes are rare */
#define SAMPLER_RING_MIN_BYTES (1 << 20)
#define SAMPLER_RING_MAX_BYTES (4 << 20)
#define SAMPLER_RING_SAMPLES   4 /* this many samples of the largest size always fit */

size_t sampler_ring_bytes(unsigned n_vcpus, double rate_hz)
{
	double waiting = rate_hz * (SAMPLER_BEHIND_NS / 1e9) * n_vcpus * SAMPLER_STACK_BYTES;
	size_t largest = SAMPLER_RING_SAMPLES * sample_size_max(n_vcpus);
	size_t size = SAMPLER_RING_MAX_BYTES;

	if (waiting < SAMPLER_RING_MAX_BYTES)
		size = (size_t)waiting;
	if (size < SAMPLER_RING_MIN_BYTES)
		size = SAMPLER_RING_MIN_BYTES;
	return size > largest ? size : largest;
}

/* --- which vCPUs ------------------------------------------------------------------------------ */

/* Completes the look by what the guest's own variables tell. */
static void sampler_look_inside(struct sampler *sampler)
{
	unsigned n_vcpus = sampler->guest->info.n_vcpus;

	if (!sampler->copier.stacks.current_per_cpu)
		return; /* no Linux, as far as is known */
	sampler_begin_reading(sampler);
	per_cpu_find_lock_waits(&sampler->per_cpus, &sampler->copier, n_vcpus, &sampler->look);
	run_time_read(&sampler->run_time, &sampler->per_cpus, &sampler->copier, n_vcpus);
	sampler_end_reading(sampler);
}

/*
 * No vCPU runs, and the guest has not been stopped yet: the first vCPU that sleeps is wanted, for
 * its registers alone. By these registers the resolver finds the system. Otherwise the resolver
 * would have to wait until a tick finds a vCPU that runs, which takes seconds in a guest that
 * sleeps.
 */
static void sampler_choose_asleep(struct sampler *sampler)
{
	for (unsigned vcpu = 0; vcpu < sampler->guest->info.n_vcpus; vcpu++)
		if (sampler->look.states[vcpu] == VCPU_BLOCKED) {
			sampler->registers_only = true;
			sampler->copies[0].copied = (struct copied){ .stack_cut = CUT_LIMIT };
			sampler->copies[0].waits = false; /* there are no stacks to cache */
			sampler->wanted[0].number = (uint16_t)vcpu;
			sampler->n_wanted = 1;
			return;
		}
}

/*
 * Leaves all but MOST of the wanted vCPUs out, at random, whatever they do: the vCPUs that are read
 * stand for the others, too.
 */
static void sampler_leave_out(struct sampler *sampler, unsigned most)
{
	unsigned n = sampler->n_wanted;

	sampler->n_wanted = sampler->n_waiting = 0;
	for (unsigned i = 0; i < n; i++) {
		if (!ticks_choose(&sampler->ticks, most - sampler->n_wanted, n - i))
			continue;
		sampler->copies[sampler->n_wanted].waits = sampler->copies[i].waits;
		sampler->n_waiting += sampler->copies[i].waits;
		sampler->wanted[sampler->n_wanted++].number = sampler->wanted[i].number;
	}
}

/* Chooses the vCPUs that are sampled: all that run or wait, or as many as the budget pays. */
static void sampler_choose(struct sampler *sampler)
{
	sampler->n_wanted = sampler->n_waiting = 0;
	sampler->registers_only = sampler->bare;
	for (unsigned vcpu = 0; vcpu < sampler->guest->info.n_vcpus; vcpu++)
		if (sampler->look.states[vcpu] > VCPU_BLOCKED) {
			bool waits = sampler->look.states[vcpu] != VCPU_RUNNING;

			sampler->n_waiting += waits;
			sampler->copies[sampler->n_wanted].waits = waits;
			sampler->wanted[sampler->n_wanted++].number = (uint16_t)vcpu;
		}
	sampler->n_awake = sampler->n_wanted;
	if (sampler->n_wanted > ticks_most_vcpus(&sampler->ticks))
		sampler_leave_out(sampler, ticks_most_vcpus(&sampler->ticks));
	if (!sampler->n_wanted && !sampler->stopped_once)
		sampler_choose_asleep(sampler);
	if (!sampler->n_wanted)
		sampler->counts.idle_ticks++;
}

/* Room for a sample with the stacks of N vCPUs and the states of all vCPUs. */
static size_t sampler_room_bytes(const struct sampler *sampler, unsigned n)
{
	return sample_size_max(n) + sampler->guest->info.n_vcpus * sizeof(struct sample_vcpu);
}

/*
 * Finds the vCPUs that have not run since their last sample, and the tasks that the others run.
 * Maps the stacks of tasks that did not run in the last tick.
 */
static void sampler_find_tasks(struct sampler *sampler)
{
	sampler->n_cached = 0;
	if (sampler->registers_only)
		return;
	sampler_begin_reading(sampler);
	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		struct guest_vcpu *vcpu = &sampler->wanted[i];
		struct per_cpu *per_cpu = &sampler->per_cpus.vcpus[vcpu->number];

		sampler_select(sampler, vcpu->number);
		vcpu->cached_cpu_ns =
			sample_cache_find(&sampler->cache, vcpu->number,
					  sampler->look.cpu_ns[vcpu->number], &sampler->copier);
		if (vcpu->cached_cpu_ns)
			sampler->n_cached++;
		else
			copy_prepare_task(&sampler->copier, per_cpu->base, per_cpu->root,
					  &per_cpu->running);
	}
	if (sampler_end_reading(sampler))
		return;
	sampler->n_cached = 0;
	for (unsigned i = 0; i < sampler->n_wanted; i++)
		sampler->wanted[i].cached_cpu_ns = 0;
}

/*
 * After a sample, which is in ROOM: caches the stacks of the vCPUs that wait for a physical CPU,
 * and the registers of the other vCPUs, which tell where their stacks are.
 */
static void sampler_update_cache(struct sampler *sampler, const char *room)
{
	const char *from = room + sizeof(struct sample);

	for (unsigned i = 0; i < sampler->n_wanted; i++) {
		const struct guest_vcpu *vcpu = &sampler->wanted[i];

		from += sizeof(struct sample_vcpu);
		if (sampler->copies[i].waits && !vcpu->cached_cpu_ns && !sampler->bare)
			sample_cache_put(&sampler->cache, vcpu, sampler->look.cpu_ns[vcpu->number],
					 &sampler->copies[i].copied, from);
		else if (!vcpu->cached_cpu_ns)
			sample_cache_put_registers(&sampler->cache, vcpu);
		from += sampler->copies[i].copied.size_bytes;
	}
}

/* Maps the pages that the next sample of a sleeping vCPU needs, and counts them as used. */
static void sampler_hold_pages(struct sampler *sampler)
{
	sampler->held_ns = sampler->now_ns;
	sampler_begin_reading(sampler);
	for (unsigned vcpu = 0; vcpu < sampler->guest->info.n_vcpus; vcpu++) {
		sampler_select(sampler, vcpu);
		sample_cache_hold_pages(&sampler->cache, vcpu, &sampler->copier);
	}
	sampler_end_reading(sampler);
}

/*
 * Keeps the pages mapped that the next sample needs, and maps them again in each
 * FRAME_CACHE_ROUND_NS. If the next sample is further away than that, or if the guest is paused,
 * nothing stays mapped.
 */
static void sampler_keep_pages(struct sampler *sampler, enum sampler_state state)
{
	if (state != SAMPLER_RUNNING || ticks_wait_ns(&sampler->ticks) > FRAME_CACHE_ROUND_NS) {
		frame_cache_drop(sampler->copier.cache);
		sampler->held_ns = 0;
		return;
	}
	if (!sampler->bare && sampler->now_ns - sampler->held_ns >= SAMPLER_HOLD_NS)
		sampler_hold_pages(sampler);
	frame_cache_sweep(sampler->copier.cache, sampler->now_ns);
}

/*
 * Gives memory to the pages of ROOM that a sample of N vCPUs takes. The sampler calls this before
 * the look for as many vCPUs as the last tick had, and after the look if there are more. The guest
 * would run on during faults between look and stop: the beginning of a piece of work would be seen
 * too seldom.
 */
static void sampler_touch(struct sampler *sampler, char *room, unsigned n)
{
	ring_touch(sampler->ring, room, sampler_room_bytes(sampler, n));
	sampler->n_touched = n;
}

/* Does what takes long, before the look of a tick whose sample goes into ROOM. */
static void sampler_prepare(struct sampler *sampler, char *room)
{
	sampler_touch(sampler, room, sampler->n_wanted ? sampler->n_wanted : 1);
	if (!sampler->held_ns && !sampler->bare)
		sampler_hold_pages(sampler);
}

/*
 * Looks whether the resolver lags so much that no sample may be added. The resolver finds the
 * process of a Linux guest's sample only when it takes the sample out of the ring. If the sample
 * has waited too long, the process may be gone. So once a sample has waited for SAMPLER_BEHIND_NS,
 * or at the start for SAMPLER_BEHIND_AT_START_NS, nothing is added until the ring is empty: in a
 * ring that stays full every sample would be seconds old. Samples of a unikernel do not age.
 */
static bool sampler_poll_lag(struct sampler *sampler)
{
	bool ages = sampler->copier.stacks.current_per_cpu;
	uint64_t behind_ns = SAMPLER_BEHIND_NS;

	if (!ages || ring_is_consumed(sampler->ring, sampler->waiting_to)) {
		sampler->waiting_to = ring_committed(sampler->ring);
		sampler->waiting_ns = sampler->now_ns;
	}
	if (!ages)
		sampler->start_ns = sampler->now_ns;
	if (sampler->now_ns - sampler->start_ns < SAMPLER_START_NS)
		behind_ns = SAMPLER_BEHIND_AT_START_NS;
	if (sampler->now_ns - sampler->waiting_ns <= behind_ns)
		return false;
	sampler->waiting_to = ring_committed(sampler->ring);
	return true;
}

/* The weight of each vCPU that was read, if other awake vCPUs were left out. */
static uint32_t sampler_weigh_vcpu(const struct sampler *sampler)
{
	uint64_t weight = (uint64_t)sampler->head.weight * sampler->n_awake / sampler->n_wanted;

	return weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
}

/* Takes the sample of a tick. The guest runs. ROOM in the ring has room for all vCPUs. */
static void sampler_tick(struct sampler *sampler, char *room)
{
	uint64_t stopped_ns = sampler->counts.stopped_ns;

	sampler_look_inside(sampler);
	sampler_choose(sampler);
	if (sampler->n_wanted > sampler->n_touched)
		sampler_touch(sampler, room, sampler->n_wanted);
	run_time_update(&sampler->run_time, sampler->guest->info.n_vcpus, &sampler->look);
	copy_poll_stacks(&sampler->copier);
	sampler_find_tasks(sampler);
	sampler->head = (struct sample){
		.size_bytes = sizeof(struct sample),
		.flags = sampler->ticks.late ? SAMPLE_LATE : 0,
		.time_ns = sampler->now_ns,
		.period_ns = (uint32_t)sampler->ticks.period_ns,
	};
	if (!sampler_fill(sampler, room)) {
		sampler->counts.refused++;
		return;
	}
	sampler_update_cache(sampler, room);
	sampler->head.weight = ticks_weigh(&sampler->ticks, sampler->n_wanted,
					   sampler->counts.stopped_ns - stopped_ns);
	if (sampler->n_wanted < sampler->n_awake)
		sampler->head.vcpu_weight = sampler_weigh_vcpu(sampler);
	*(struct sample *)room = sampler->head;
	ring_commit(sampler->ring, sampler->head.size_bytes);
	sampler->counts.samples++;
	budget_count(&sampler->ticks.budget);
}

static void sampler_publish_counts(struct sampler *sampler, enum sampler_state state)
{
	struct sampler_counts *counts = &sampler->counts;
	uint64_t now_ns = sampler->now_ns;

	budget_measure(&sampler->ticks.budget, now_ns);
	sampler->published_ns = now_ns;
	counts->state = state;
	counts->rate_asked_hz = control_get_rate(sampler->control);
	counts->rate_now_hz = sampler->ticks.budget.rate_hz;
	counts->stopped_share = sampler->ticks.budget.share;
	counts->stopped_share_max = sampler->ticks.budget.share_max;
	counts->elapsed_ns = now_ns - sampler->started_ns;
	counts->guest_pages = sampler->look.pages;
	counts->mapped_pages = frame_cache_pages(sampler->copier.cache);
	counts->maps = sampler->earlier_maps + frame_cache_maps(sampler->copier.cache);
	if (now_ns - sampler->cpu_measured_ns >= BUDGET_WINDOW_NS || state != SAMPLER_RUNNING) {
		counts->cpu_ns = sampler->earlier_cpu_ns + clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		sampler->cpu_measured_ns = now_ns;
	}
	control_set_counts(sampler->control, counts);
	control_set_times(sampler->control, sampler->run_time.times, sampler->guest->info.n_vcpus);
}

/* --- the guest's life ------------------------------------------------------------------------- */

/*
 * Whether the guest must not be stopped now: after the first stop the resolver takes a while to
 * learn from that sample what the next samples need.
 */
static bool sampler_is_on_hold(const struct sampler *sampler)
{
	return control_is_on_hold(sampler->control) && sampler->stopped_once;
}

/*
 * Looks at the guest. Another xtop stops the guest for one sample at a time; only a longer pause is
 * an administrator's. STATES: also look at the states of the vCPUs. Returns false if Xen did not
 * answer.
 */
static bool sampler_look_at_guest(struct sampler *sampler, enum sampler_state before, bool states)
{
	unsigned tries = before == SAMPLER_GUEST_PAUSED ? 1 : SAMPLER_PAUSED_LOOKS;
	const struct guest_ops *ops = sampler->guest->ops;
	void *context = sampler->guest->context;

	for (unsigned i = 0; i < tries; i++) {
		if (i)
			ticks_sleep_to(clock_now_ns() + SAMPLER_PAUSED_LOOK_NS);
		if (!(states ? ops->look : ops->look_life)(context, &sampler->look))
			return false;
		if (sampler->look.paused_ns)
			sampler_count_stop(sampler, sampler->look.paused_ns);
		if (sampler->look.life != GUEST_PAUSED_BY_OTHERS)
			break;
	}
	sampler->looked_ns = sampler->now_ns;
	return true;
}

/*
 * Returns room in the ring for a sample of this tick, which may be ON_HOLD. NULL: no sample; the
 * counters say why.
 */
static char *sampler_reserve(struct sampler *sampler, bool on_hold)
{
	char *room;

	if (on_hold) {
		sampler->counts.waited++;
		return NULL;
	}
	if (!ticks_may_stop(&sampler->ticks)) {
		sampler->counts.skipped_budget++;
		return NULL;
	}
	room = sampler_poll_lag(sampler)
		       ? NULL
		       : ring_reserve(sampler->ring,
				      sampler_room_bytes(sampler, sampler->guest->info.n_vcpus));
	sampler->counts.lost += !room;
	return room;
}

/*
 * Returns the guest's state. Looks at the guest if there is ROOM for a sample, or if the last look
 * was long ago; otherwise the state is still BEFORE.
 */
static enum sampler_state sampler_look(struct sampler *sampler, enum sampler_state before,
				       const char *room)
{
	static const enum sampler_state states[] = {
		[GUEST_RUNS] = SAMPLER_RUNNING,
		[GUEST_PAUSED_BY_OTHERS] = SAMPLER_GUEST_PAUSED,
		[GUEST_GONE] = SAMPLER_GUEST_AWAY,
	};
	enum sampler_state state;

	if (!room && before == SAMPLER_RUNNING &&
	    sampler->now_ns - sampler->looked_ns < TICKS_LOOK_NS / 2)
		return before;
	if (!sampler_look_at_guest(sampler, before, room))
		return SAMPLER_GUEST_AWAY;
	state = states[sampler->look.life];
	if (state == SAMPLER_GUEST_AWAY)
		sampler->counts.ending = sampler->look.end;
	else
		frame_cache_update_pages(sampler->copier.cache, sampler->look.pages);
	return state;
}

static void sampler_compare_clocks(struct sampler *sampler)
{
	uint64_t ahead_ns;

	if (xen_clock_measure(&sampler->xen_clock, sampler->guest,
			      sampler->copier.stacks.current_per_cpu, sampler->now_ns, &ahead_ns))
		control_set_xen_clock(sampler->control, ahead_ns);
}

/*
 * Cleans up after a tick, unless this function cleaned up a moment ago. The readers of the counters
 * can wait a little, and longer if there is no sample.
 */
static void sampler_clean_up(struct sampler *sampler, enum sampler_state before,
			     enum sampler_state state, const char *room)
{
	uint64_t pause_ns = room ? SAMPLER_CLEAN_NS : TICKS_LOOK_NS;

	if (state == before && sampler->now_ns - sampler->published_ns < pause_ns)
		return;
	sampler_compare_clocks(sampler);
	sampler_keep_pages(sampler, state);
	sampler_publish_counts(sampler, state);
}

/* Sleeps to the next tick. Returns false once xtop quits. */
static bool sampler_sleep(struct sampler *sampler, enum sampler_state state)
{
	struct ticks *ticks = &sampler->ticks;
	uint64_t period_ns = ticks_period_ns(ticks), n_skipped = 0;
	bool goes_on;

	if (state == SAMPLER_GUEST_PAUSED)
		period_ns = SAMPLER_PAUSED_NS;
	else if (!sampler_is_on_hold(sampler))
		n_skipped = ticks_find_skipped(ticks, period_ns);
	sampler_end_stops(sampler, 2 * (1 + n_skipped) * period_ns);
	goes_on = ticks_sleep(ticks, sampler->now_ns, period_ns, n_skipped);
	sampler->now_ns = ticks->woke_ns;
	return goes_on;
}

static enum sampler_state sampler_loop(struct sampler *sampler)
{
	enum sampler_state state = SAMPLER_RUNNING, before;

	while (sampler_sleep(sampler, state)) {
		bool on_hold = sampler_is_on_hold(sampler);
		char *room = NULL;

		before = state;
		if (state == SAMPLER_RUNNING && !on_hold)
			ticks_plan(&sampler->ticks);
		if (state == SAMPLER_RUNNING)
			room = sampler_reserve(sampler, on_hold);
		if (room)
			sampler_prepare(sampler, room);
		state = sampler_look(sampler, before, room);
		if (state == SAMPLER_GUEST_AWAY)
			return state;
		if (state != SAMPLER_RUNNING || on_hold)
			run_time_reset(&sampler->run_time);
		if (state == SAMPLER_RUNNING && room)
			sampler_tick(sampler, room);
		sampler_clean_up(sampler, before, state, room);
	}
	return SAMPLER_ENDED;
}

/*
 * Continues the counters of an earlier sampler, if there was one: that sampler hung, or the guest
 * was another domain. The sampler only adds to these numbers and publishes them again.
 */
static void sampler_adopt_counts(struct sampler *sampler)
{
	struct sampler_counts *counts = &sampler->counts;

	control_get_counts(sampler->control, counts);
	control_get_times(sampler->control, sampler->run_time.times, sampler->guest->info.n_vcpus);
	sampler->earlier_cpu_ns = counts->cpu_ns;
	sampler->earlier_maps = counts->maps;
	sampler->started_ns = sampler->now_ns - counts->elapsed_ns;
	sampler->ticks.budget.share = counts->stopped_share; /* valid until a second has passed */
	sampler->ticks.budget.share_max = counts->stopped_share_max;
	if (control_is_credit_spent())
		budget_empty(&sampler->ticks.budget, sampler->now_ns);
}

static void sampler_sample(struct guest *guest, struct control *control, struct ring *ring,
			   bool bare)
{
	static struct sampler sampler; /* too large for a stack */
	enum sampler_state end;

	sampler = (struct sampler){ .guest = guest, .control = control, .ring = ring };
	sampler.bare = bare;
	for (unsigned i = 0; bare && i < GUEST_MAX_VCPUS; i++)
		sampler.copies[i].copied.stack_cut = CUT_LIMIT;
	if (!copier_open(&sampler.copier, guest, control))
		return;
	if (!bare)
		sample_cache_create(&sampler.cache, guest->info.n_vcpus);
	ticks_init(&sampler.ticks, control, &sampler.counts, guest->info.n_vcpus);
	sampler.now_ns = clock_now_ns(); /* a time within the budget's first second */
	frame_cache_set_limit(sampler.copier.cache, SAMPLER_MAPS_PER_S, sampler.now_ns);
	sampler_adopt_counts(&sampler);
	sampler_compare_clocks(&sampler);
	sampler_publish_counts(&sampler, SAMPLER_RUNNING);
	end = sampler_loop(&sampler);
	sampler_end_stops(&sampler, STOP_ALARM_NS);
	frame_cache_drop(sampler.copier.cache); /* a mapping keeps a dead domain as a zombie */
	sampler_publish_counts(&sampler, end);
	frame_cache_destroy(sampler.copier.cache);
	sample_cache_destroy(&sampler.cache);
}

void sampler_run(struct guest *guest, struct control *control, struct ring *ring)
{
	sampler_sample(guest, control, ring, false);
}

void sampler_run_bare(struct guest *guest, struct control *control, struct ring *ring)
{
	sampler_sample(guest, control, ring, true);
}
