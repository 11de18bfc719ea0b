/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for a physical CPU; see run_waits.h. */
#include "config.h"

#include "profile/run_waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"

/*
 * For so long a change waits for earlier changes in other CPUs' buffers. The reader empties all
 * buffers each 10 ms. When it is later than 200 ms, a busy CPU's buffer of 128 KiB has overflowed.
 */
#define RUN_WAITS_LATE_NS  200e6
#define RUN_WAITS_LONG_NS  1e18 /* longer times are cut: they might not fit into a uint64_t */
#define RUN_WAITS_BEGIN_NS 1e5  /* time in which all vCPUs of a guest are paused */
#define RUN_WAITS_STOP_NS  2e7  /* a CPU that idles longer does not wait for a sample's end */
#define RUN_WAITS_IDLE     0.1  /* a CPU that idled for a smaller part of a wait was not why */
#define RUN_WAITS_MAX      LIMIT(65536, 64) /* changes that are kept */

void run_waits_deinit(struct run_waits *waits)
{
	free(waits->changes);
}

/* --- changes in the order of time ------------------------------------------------------------- */

/* VCPU waited until TSC; BY ran on its CPU then. */
static void run_waits_end(struct run_waits_vcpu *vcpu, uint64_t tsc, uint32_t by,
			  double ns_per_cycle)
{
	double cycles = tsc > vcpu->runnable ? (double)(tsc - vcpu->runnable) : 0;
	double ns = fmin(cycles * ns_per_cycle, RUN_WAITS_LONG_NS);

	vcpu->wakes.count++;
	vcpu->wakes.ns += ns;
	time_histogram_add(&vcpu->times, ns);
	if (ns <= (double)vcpu->wakes.longest_ns)
		return;
	vcpu->wakes.longest_ns = (uint64_t)ns;
	vcpu->wakes.longest_by = by;
}

/*
 * Who ran on the CPU that VCPU waited for until CHANGE. A pause stops all vCPUs of the guest, so
 * their CPU is idle until one of them goes on. In that case the answer is who ran before the pause.
 * The idle vCPU also runs Xen's own work for a moment (Xen 4.17 xen/common/tasklet.c). If the CPU
 * idled for a small part of the wait only, the answer is who ran before.
 */
static uint32_t run_waits_find_by(const struct run_waits_vcpu *vcpu,
				  const struct run_change *change, double ns_per_cycle)
{
	double since = (double)change->idle_since;
	double earlier_ns = ((double)vcpu->offline - since) * ns_per_cycle;
	double idle_ns = ((double)change->tsc - since) * ns_per_cycle;
	double waited_ns = ((double)change->tsc - (double)vcpu->runnable) * ns_per_cycle;

	if (change->idle_since && idle_ns < RUN_WAITS_IDLE * waited_ns)
		return change->by_earlier;
	if (!change->idle_since || !vcpu->was_paused || fabs(earlier_ns) > RUN_WAITS_BEGIN_NS ||
	    idle_ns > RUN_WAITS_STOP_NS)
		return change->by;
	return change->by_earlier;
}

/*
 * Takes in the next change of a vCPU's state. The clocks of two CPUs may differ a little: a vCPU
 * may seem to run before it was runnable. Each sample pauses the vCPUs, and a paused vCPU is
 * offline (Xen 4.17 xen/common/sched/core.c, vcpu_sleep_nosync_locked(), vcpu_wake(),
 * sched_switch_units()). A pause neither begins nor ends a wait: a vCPU that waited before the
 * pause waits on after it, and so does a vCPU that was woken during the pause. The time of the
 * pause does not count as waiting.
 */
static void run_waits_update(struct run_waits *waits, const struct run_change *change,
			     double ns_per_cycle)
{
	struct run_waits_vcpu *vcpu = &waits->vcpus[change->vcpu];
	bool is_early = vcpu->runs_early;
	uint64_t paused = vcpu->paused;

	vcpu->runs_early = false;
	vcpu->paused = 0;
	if (paused && change->tsc > vcpu->offline)
		paused += change->tsc - vcpu->offline;
	if (change->is == RUN_STATE_OFFLINE) {
		vcpu->paused = change->was == RUN_STATE_BLOCKED ? change->tsc : vcpu->runnable;
		vcpu->offline = change->tsc;
	}
	switch (change->is) {
	case RUN_STATE_RUNNABLE:
		vcpu->was_paused = change->was == RUN_STATE_OFFLINE;
		vcpu->runnable = vcpu->was_paused ? paused : change->tsc;
		if (!vcpu->runnable)
			return;
		if (!is_early || change->was == RUN_STATE_RUNNING)
			return;
		run_waits_end(vcpu, change->tsc, UINT32_MAX, ns_per_cycle);
		break;
	case RUN_STATE_RUNNING:
		vcpu->runs_early = !vcpu->runnable;
		if (vcpu->runnable)
			run_waits_end(vcpu, change->tsc,
				      run_waits_find_by(vcpu, change, ns_per_cycle), ns_per_cycle);
		break;
	default:
		break;
	}
	vcpu->runnable = 0;
}

/* Forgets all waits: lost records may have had a pause, or the end of a wait. */
static void run_waits_forget(struct run_waits *waits)
{
	for (unsigned i = 0; i < waits->n_vcpus; i++) {
		waits->vcpus[i].runnable = waits->vcpus[i].paused = 0;
		waits->vcpus[i].runs_early = false;
	}
}

/* Records up to TSC were lost. */
static void run_waits_lose(struct run_waits *waits, uint64_t tsc)
{
	run_waits_forget(waits);
	if (tsc > waits->lost_until)
		waits->lost_until = tsc;
}

static int run_waits_compare(const void *pointer_a, const void *pointer_b)
{
	const struct run_change *a = pointer_a, *b = pointer_b;

	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Evaluates the changes that are older than TSC. */
static void run_waits_settle(struct run_waits *waits, uint64_t tsc, double ns_per_cycle)
{
	size_t i = 0;

	if (!waits->n)
		return;
	qsort(waits->changes, waits->n, sizeof(*waits->changes), run_waits_compare);
	for (; i < waits->n && waits->changes[i].tsc < tsc; i++)
		if (waits->changes[i].vcpu == UINT16_MAX)
			run_waits_lose(waits, waits->changes[i].lost_until);
		else if (waits->changes[i].tsc >= waits->lost_until)
			run_waits_update(waits, &waits->changes[i], ns_per_cycle);
	waits->n -= i;
	memmove(waits->changes, waits->changes + i, waits->n * sizeof(*waits->changes));
}

/* --- records ---------------------------------------------------------------------------------- */

bool run_waits_add(struct run_waits *waits, const struct run_change *change)
{
	if (!vector_reserve(waits->changes, waits->capacity, waits->n + 1))
		return false;
	waits->changes[waits->n] = *change;
	waits->changes[waits->n++].number = waits->next_number++;
	if (change->vcpu != UINT16_MAX && change->vcpu >= waits->n_vcpus)
		waits->n_vcpus = change->vcpu + 1U;
	return true;
}

void run_waits_pass(struct run_waits *waits, uint64_t tsc, double ns_per_cycle)
{
	double late = ns_per_cycle > 0 ? RUN_WAITS_LATE_NS / ns_per_cycle : 0;
	uint64_t cycles = late < (double)tsc ? (uint64_t)late : tsc;

	if (waits->n >= RUN_WAITS_MAX)
		cycles = 0;
	else if (tsc >= waits->settled && tsc - waits->settled < cycles / 2)
		return;
	waits->settled = tsc;
	run_waits_settle(waits, tsc - cycles, ns_per_cycle);
}

void run_waits_begin(struct run_waits *waits, double ns_per_cycle)
{
	run_waits_settle(waits, UINT64_MAX, ns_per_cycle);
	run_waits_forget(waits);
	waits->settled = waits->lost_until = 0;
}

void run_waits_reset(struct run_waits *waits)
{
	waits->n = 0;
	waits->settled = waits->lost_until = 0;
	memset(waits->vcpus, 0, sizeof(waits->vcpus));
}

void run_waits_get(const struct run_waits *waits, struct exits_table *table)
{
	for (unsigned i = 0; i < waits->n_vcpus; i++) {
		const struct run_waits_vcpu *vcpu = &waits->vcpus[i];
		struct exits_wakes *wakes = &table->wakes[i];

		*wakes = vcpu->wakes;
		if (!wakes->longest_ns)
			wakes->longest_by = UINT32_MAX;
		time_histogram_sum_up(&vcpu->times, wakes);
	}
}
