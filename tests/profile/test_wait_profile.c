/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of tasks that wait: weights, means, what is now, the longest wait, when passes begin,
 * and what intervals have.
 */
#include "config.h"

#include <pthread.h>

#include "tests/profile/waits_guest.h"
#include "xtop/profile/resolver.h"
#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"

static void test_weights(void)
{
	struct snapshot *snapshot;

	begin();
	tasks[1].address += 0x1000; /* another site */
	tasks[2].state = OS_WAIT_BLOCKED;
	tasks[2].waited_ns = 3 * S;
	for (int i = 0; i < 10; i++) {
		poll_at(100 * S + i * PERIOD);
		tasks[2].waited_ns += PERIOD;
	}
	snapshot = take(105 * S);
	check(snapshot->waits && !snapshot->waits->unsupported, "a snapshot of waits");
	check(snapshot->waits->span_ticks == 5000, "the span is what passes stand for, in ms");
	check(snapshot->total_weight == 15000, "three tasks wait 5 s each");
	check(snapshot->live_weight / snapshot->waits->span_live > 2.99 &&
		      snapshot->live_weight / snapshot->waits->span_live < 3.01,
	      "live means decay as the span does");
	check_u64(snapshot->waits->n_rows, 2, "a row for each site");
	check(snapshot->waits->rows[0].now == 2 &&
		      snapshot->waits->rows[0].states ==
			      (1 << OS_WAIT_SLEEPING | 1 << OS_WAIT_BLOCKED),
	      "a row has the number of tasks and their states");
	check_u64(snapshot->waits->rows[0].longest_ns, 3 * S + 9 * PERIOD, "the longest wait");
	snapshot_destroy(snapshot);

	tasks[2].moved = true;
	tasks[2].waited_ns = 0;
	tasks[2].ended_ns = 9 * S;
	tasks[0].waits = false;
	poll_at(106 * S);
	snapshot = take(106 * S);
	check(snapshot->waits->rows[0].longest_ns == 9 * S && snapshot->waits->rows[0].now == 1,
	      "the end of a wait may be longer than its last look");
	snapshot_destroy(snapshot);
	waits_reset(waits);
	poll_at(107 * S);
	snapshot = take(107 * S);
	check(snapshot->waits->n_rows == 2 && snapshot->total_weight == 1000,
	      "after a reset tasks that wait on are there again");
	snapshot_destroy(snapshot);
	end();
}

static void test_passes(void)
{
	begin();
	turns = 0;
	check(poll_at(100 * S) && !poll_at(100 * S + 400 * MS), "one pass begins in each period");
	check(poll_at(100 * S + 500 * MS), "the next pass begins a period later");
	guest.answer = OS_WAITS_MORE;
	check(!waits_is_torn(waits, 101 * S), "both passes are whole");
	check(poll_at(101 * S) && poll_at(101 * S + MS), "a pass goes on at once");
	check(waits_is_torn(waits, 101 * S + MS), "a pass that goes on is torn");
	check(!waits_is_torn(waits, 102 * S), "after a second nobody waits for its end");
	guest.answer = OS_WAITS_WHOLE;
	check(poll_at(101 * S + 2 * MS) && !poll_at(101 * S + 3 * MS),
	      "a torn pass is not shown until it is whole");
	check(!waits_is_torn(waits, 101 * S + 3 * MS), "a whole pass is not torn");
	check_u64(turns, 5, "turns of three passes, one of them torn");
	end();
}

/* Turns of a pass that begins at NOW_NS and never ends, until it leaves the CPU to others. */
static unsigned turns_at(uint64_t now_ns, uint64_t period_ns)
{
	unsigned before = turns;
	bool done, more;

	do
		waits_poll(waits, now_ns, period_ns, &done, &more);
	while (more && turns - before < 1000);
	return turns - before;
}

/* A guest with so many tasks that a pass takes longer than a period. */
static void test_cost(void)
{
	struct snapshot *snapshot;

	begin();
	guest.answer = OS_WAITS_MORE;
	guest.turn_cpu_ns = 10 * MS;
	check_u64(turns_at(100 * S, S), 20, "a pass may use 200 ms of CPU time");
	check_u64(turns_at(100 * S + 500 * MS, S), 0,
		  "a pass that used its CPU time waits for the next period");
	check_u64(turns_at(101 * S, S), 20, "a pass goes on in the next period");
	check_u64(turns_at(102 * S, 100 * MS), 5, "at 10 Hz it may use half of a period");
	check_u64(turns_at(102 * S + 50 * MS, 100 * MS), 0, "half of a period is left for samples");
	guest.answer = OS_WAITS_WHOLE;
	guest.end_cpu_ns = 7 * MS;
	check_u64(turns_at(103 * S, 100 * MS), 1, "the pass ends in the next turn");
	guest.turn_cpu_ns = guest.end_cpu_ns = 0;
	snapshot = take(103 * S);
	check_u64(snapshot->waits->cpu_ns, 46 * 10 * MS + 7 * MS,
		  "the CPU time includes the end of a pass");
	snapshot_destroy(snapshot);
	end();
}

/* Two tasks that wait all the time. A pass sees the second one two half-lives after the first. */
static void test_slow_pass(void)
{
	struct snapshot *snapshot;

	begin();
	tasks[1].address += 0x1000;
	tasks[0].weight_ns = tasks[1].weight_ns = 20 * S;
	for (unsigned i = 0; i < 4; i++) {
		tasks[0].waits = !(i & 1);
		tasks[1].waits = i & 1;
		tasks[2].waits = false;
		guest.answer = i & 1 ? OS_WAITS_WHOLE : OS_WAITS_MORE;
		poll_at((100 + 20 * i) * S);
		snapshot_destroy(take((105 + 20 * i) * S));
	}
	snapshot = take(170 * S);
	for (size_t i = 1; i < snapshot->n_nodes; i++) {
		double mean = snapshot->nodes[i].self_live / snapshot->waits->span_live;

		if (snapshot->nodes[i].self_total)
			check(mean > 0.99 && mean < 1.01, "a slow pass: one task, mean %.2f", mean);
	}
	snapshot_destroy(snapshot);
	end();
}

static void test_runnable(void)
{
	struct snapshot *snapshot;
	const struct snapshot_node *last;

	begin();
	tasks[1].waits = tasks[2].waits = false;
	tasks[0].state = OS_WAIT_RUNNABLE;
	poll_at(100 * S);
	snapshot = take(100 * S);
	last = &snapshot->nodes[snapshot->n_nodes - 1];
	check_string(frames_get(frames, last->frame)->name, WAIT_RUNNABLE_MARK,
		     "a task that wants a CPU has a mark");
	check(snapshot->waits->rows[0].kind == WAIT_CPU, "a runnable task waits for a CPU");
	snapshot_destroy(snapshot);
	end();
}

static void test_other(void)
{
	struct snapshot *snapshot;

	begin();
	guest.known = false;
	poll_at(100 * S);
	snapshot = take(100 * S);
	check(!snapshot->waits->unsupported, "before a vCPU ran nothing is known");
	snapshot_destroy(snapshot);
	guest.other = true;
	poll_at(101 * S);
	snapshot = take(101 * S);
	check(snapshot->waits->unsupported, "a unikernel has no list of tasks");
	snapshot_destroy(snapshot);
	guest.known = true;
	guest.answer = OS_WAITS_NONE;
	poll_at(102 * S);
	snapshot = take(102 * S);
	check(snapshot->waits->unsupported,
	      "a kernel without the needed symbols has no list of tasks");
	snapshot_destroy(snapshot);
	end();
}

static void test_timers(void)
{
	struct snapshot *snapshot;

	begin();
	poll_at(100 * S);
	snapshot = take(100 * S);
	snapshot->run->n_vcpus = 3;
	waits_get_wakes(waits, snapshot);
	check(snapshot->run->vcpus[0].timer_ns == OS_NO_TIMER &&
		      snapshot->run->vcpus[0].timer_read_ns == 100 * S,
	      "a vCPU without a timer is told so");
	check(snapshot->run->vcpus[1].timer_ns == 5 * S &&
		      snapshot->run->vcpus[1].timer_read_ns == 100 * S,
	      "a vCPU's next timer is known");
	check(!snapshot->run->vcpus[2].timer_read_ns, "a timer that was not read is not known");
	check(snapshot->run->events && snapshot->run->events[0].known &&
		      snapshot->run->events[0].domains == 1,
	      "event channels of a vCPU are known");
	check_string(snapshot->run->events[0].names, "vbd/_[2J", "names of devices are cleaned");
	check(!snapshot->run->events[1].known, "channels that were not read are not known");
	snapshot_destroy(snapshot);
	end();
}

/* --- intervals -------------------------------------------------------------------------------- */

static void *run_resolver(void *resolver)
{
	resolver_run(resolver);
	return NULL;
}

static void nap(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

/* The weight of SNAPSHOT and those that it brings along; frees it. */
static double drain(struct snapshot *snapshot)
{
	double weight = 0;

	for (const struct snapshot *at = snapshot; at; at = at->before)
		weight += at->total_weight;
	snapshot_destroy(snapshot);
	return weight;
}

/*
 * Samples and waits have intervals of their own. The end of one of samples forgets no waits, and
 * each wait is in one interval: with those that nobody took, their sum is all that was told.
 */
static void test_intervals(void)
{
	struct resolver_settings settings = { .n_vcpus = 1, .max_nodes = 1024, .live = true,
					      .intervals = true,
					      .os = (struct os *)(void *)&system_ };
	struct snapshot_slot *slots[2];
	struct resolver *resolver;
	double weight = 0, least = 1e9;
	pthread_t thread;

	begin();
	must(ring_create(1 << 20, &settings.ring));
	must(control_create(&settings.control));
	must(snapshot_slot_create(&slots[0]));
	must(snapshot_slot_create(&slots[1]));
	settings.slot = slots[0];
	settings.waits_slot = slots[1];
	settings.symbols = symbols;
	control_set_waits_hz(settings.control, 10);
	must(resolver_create(&settings, &resolver));
	turns = 0;
	if (pthread_create(&thread, NULL, run_resolver, resolver) != 0)
		abort();
	for (int i = 0; i < 3; i++) {
		struct snapshot *snapshot = NULL;
		unsigned before = turns;
		double one;

		while (turns - before < 5)
			nap(1);
		snapshot_request(slots[0]);
		nap(100); /* the interval of samples ends before that of waits */
		snapshot_request(slots[1]);
		for (int j = 0; j < 10000 && !snapshot; j++, nap(1))
			snapshot = snapshot_take(slots[1]);
		one = drain(snapshot);
		least = one < least ? one : least;
		weight += one;
		snapshot_destroy(snapshot_take(slots[0]));
	}
	nap(250);
	snapshot_request(slots[1]); /* nobody takes that one */
	nap(250);
	control_finish(settings.control);
	pthread_join(thread, NULL);
	weight += drain(snapshot_take(slots[1]));
	/* The first of five looks may belong to the interval before, and the last not be over. */
	check(least >= 3 * N * 500, "an interval has all its looks, not those since samples were "
				    "published: %g ms", least);
	check(turns >= 10 && weight == turns * N * 500.0, "%u looks: %g ms in all intervals",
	      turns, weight);
	resolver_destroy(resolver);
	snapshot_slot_destroy(slots[0]);
	snapshot_slot_destroy(slots[1]);
	control_destroy(settings.control);
	ring_destroy(settings.ring);
	end();
}

int main(void)
{
	test_weights();
	test_passes();
	test_cost();
	test_slow_pass();
	test_runnable();
	test_other();
	test_timers();
	test_intervals();
	return tap_done();
}
