/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stops cost the guest (sampler_fixture.h): every stop and pause is paid for, whether or not
 * it gave a sample, and the budget holds.
 */
#include "config.h"

#include "tests/sample/sampler_fixture.h"
#include "xtop/base/fault.h"
#include "xtop/sample/budget.h"

/* The second sample is one long stop. The first sample takes two short stops. */
#define CREDIT_STOP_NS 30000000
#define MOVE_STOP_NS   50000
#define MOVE_TICKS     40 /* each stop needs a frame of its own */

static void third_30_ms(struct memory_guest *guest)
{
	made_clock.now_ns += guest->stops == 3 ? CREDIT_STOP_NS : MOVE_STOP_NS;
}

/*
 * The share of a tenth of a second at 50 % is 50 ms: credit for a stop of 30 ms and for the next
 * one. The plan (sample/schedule.h) does not wait for a single long stop.
 */
static uint64_t ns_to_third_sample(bool spent)
{
	uint64_t ns;

	begin(1);
	control_set_budget(fixture.control, 0.5);
	control_set_credit_spent(spent);
	fixture.memory->on_stop = third_30_ms;
	run(20);
	control_set_credit_spent(false);
	ns = fixture.n_taken > 2 ? fixture.taken[2].head.time_ns - fixture.taken[1].head.time_ns
				 : 0;
	end();
	return ns;
}

static void test_spent_credit(void)
{
	uint64_t saved_ns = ns_to_third_sample(false), spent_ns = ns_to_third_sample(true);

	check(saved_ns && saved_ns < CREDIT_STOP_NS + CREDIT_STOP_NS / 10,
	      "saved-up credit pays for the next sample: %" PRIu64 " ns", saved_ns);
	check(spent_ns > 3 * (CREDIT_STOP_NS / 2),
	      "no credit is left after another sampler of this guest: %" PRIu64 " ns", spent_ns);
}

/* Like Xen: the guest was stopped for a while, then its registers could not be read. */
static bool refuse_late(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	struct memory_guest *guest = context;

	(void)begin_ns, (void)vcpus, (void)n;
	guest->refused_stops++;
	made_clock.now_ns += 2000000;
	return false;
}

/* 2 ms are 20 s of a budget of 0.01 %. */
static void test_refused_stop_costs(void)
{
	struct stopped_summary summary;
	struct guest_ops ops;

	begin(1);
	ops = *fixture.memory->guest.ops;
	ops.stop = refuse_late;
	fixture.memory->guest.ops = &ops;
	control_set_budget(fixture.control, 0.0001);
	run(10);
	check_u64(fixture.memory->refused_stops, 1,
		  "refused stops: the first is paid for before the next");
	check(fixture.counts.refused == 1 &&
		      fixture.counts.skipped_budget == fixture.counts.ticks - 1,
	      "%" PRIu64 " of %" PRIu64 " ticks skipped", fixture.counts.skipped_budget,
	      fixture.counts.ticks);
	control_get_stopped(fixture.control, &summary);
	check(fixture.counts.stopped_ns >= 2000000 && fixture.counts.stops == 1,
	      "a refused stop counts as stopped time: %" PRIu64 " ns", fixture.counts.stopped_ns);
	check(summary.n == 1 && summary.p50_ns >= 2000000,
	      "a refused stop is among the percentiles: %" PRIu64, summary.p50_ns);
	end();
}

/* Xen has paused vCPUs to answer questions. */
static void pause_at_third(unsigned tick)
{
	fixture.memory->look.paused_ns = tick == 3 ? 20000000 : 0;
}

static void test_pause_counts(void)
{
	struct stopped_summary summary;

	begin(1);
	fixture.scene = pause_at_third;
	control_set_budget(fixture.control, 0.001); /* 20 ms are 20 s */
	control_set_rate(fixture.control, 100);
	run(20);
	control_get_stopped(fixture.control, &summary);
	/*
	 * The third look reports the pause. Its tick was decided before; the first one has a
	 * retake.
	 */
	check(fixture.counts.skipped_budget >= fixture.counts.ticks - 3 &&
		      fixture.memory->stops <= 4,
	      "a pause of 20 ms is paid for: %" PRIu64 " of %" PRIu64 " ticks skipped, %u stops",
	      fixture.counts.skipped_budget, fixture.counts.ticks, fixture.memory->stops);
	check(fixture.counts.stopped_ns >= 20000000 &&
		      fixture.counts.stops == fixture.memory->stops + 1,
	      "a pause of 20 ms counts as stopped time: %" PRIu64 " ns", fixture.counts.stopped_ns);
	check(summary.n == fixture.counts.stops && summary.max_ns >= 20000000,
	      "a pause of 20 ms is among the percentiles: at most %" PRIu64 " ns", summary.max_ns);
	end();
}

/* how often the stack's page moves, each time just before a stop reads it */
static unsigned n_moves;

static void go_on(struct memory_guest *guest)
{
	uint64_t frame = 0x500 + guest->stops;

	if (guest->stops > n_moves)
		return;
	fill(frame, frame);
	memory_guest_map(guest, guest->regs[0].cr3, STACK, frame);
}

/* The guest changes the page while the old one is being mapped: two more stops, then no more. */
static void test_retake_again(void)
{
	n_moves = 2;
	begin(1);
	fixture.memory->on_stop = go_on;
	run(1);
	check(fixture.counts.retakes == 2 && fixture.taken[0].vcpus[0].n_stacks == 1 &&
		      fixture.taken[0].vcpus[0].first_word == 0x502,
	      "a page that moved twice is copied at the second retake");
	end();
	n_moves = 3;
	begin(1);
	fixture.memory->on_stop = go_on;
	run(1);
	check(fixture.taken[0].vcpus[0].stack_cut == CUT_NOT_MAPPED &&
		      fixture.taken[0].head.flags & SAMPLE_RETAKE,
	      "a page that moved three times is not asked for a third time");
	check(fixture.taken[1].vcpus[0].n_stacks == 1 &&
		      fixture.taken[1].vcpus[0].first_word == 0x503,
	      "a page that moved three times is copied at the next tick");
	end();
}

/* The guest moves its stack's page before each stop, and each stop takes 50 us. */
static void move_always(struct memory_guest *guest)
{
	made_clock.now_ns += MOVE_STOP_NS;
	n_moves = guest->stops;
	go_on(guest);
}

/* Each sample takes three stops, which the budget does not allow at once. It holds on average. */
static void test_retakes_are_paid(void)
{
	uint64_t most_ns, began_ns, span_ns;

	begin(1);
	fixture.memory->on_stop = move_always;
	control_set_budget(fixture.control, 0.01);
	began_ns = clock_now_ns();
	run(MOVE_TICKS);
	span_ns = clock_now_ns() - began_ns;
	most_ns = (span_ns + BUDGET_ADVANCE_NS) / 100 + 3 * (MOVE_STOP_NS + 100000);
	check(fixture.counts.retakes == 2 * fixture.n_taken && fixture.n_taken > 10,
	      "%" PRIu64 " retakes of %u samples", fixture.counts.retakes, fixture.n_taken);
	check(fixture.counts.stopped_ns <= most_ns,
	      "stopped for %" PRIu64 " ns of %" PRIu64 " (at most %" PRIu64 ")",
	      fixture.counts.stopped_ns, span_ns, most_ns);
	end();
}

static void linger(struct memory_guest *guest)
{
	(void)guest;
	made_clock.now_ns += 2000000;
}

/*
 * At a share of 0.01 %, 2 ms take 20 s to earn. A sample without its stack is worth nothing, so the
 * first one is taken again without credit. The budget earns both stops before the next sample.
 */
static void test_budget(void)
{
	begin(1);
	fixture.memory->on_stop = linger;
	control_set_budget(fixture.control, 0.0001);
	run(10);
	check_u64(fixture.memory->stops, 2, "stops that a budget of 0.01 % allows in ten ticks");
	check_u64(fixture.counts.skipped_budget, fixture.counts.ticks - 1,
		  "ticks that a budget of 0.01 % skips");
	check(fixture.n_taken == 1 && fixture.taken[0].vcpus[0].n_stacks == 1 &&
		      fixture.taken[0].head.flags & SAMPLE_RETAKE,
	      "the only sample within a budget of 0.01 %% is whole");
	end();
}

/* The first COSTLY_STOPS take long. The rate falls until the budget has paid for them. */
#define COSTLY_STOPS 60
#define CHEAP_STOPS  200

static struct sampler_counts costly; /* counts of the last of these */
static uint64_t skipped_later;

static void linger_at_first(struct memory_guest *guest)
{
	if (guest->stops <= COSTLY_STOPS)
		made_clock.now_ns += 5000000;
}

static void watch_skips(unsigned tick)
{
	(void)tick;
	control_get_counts(fixture.control, &fixture.counts);
	if (fixture.counts.stops <= COSTLY_STOPS)
		costly = fixture.counts;
	if (fixture.counts.stops <= COSTLY_STOPS + 40)
		skipped_later = fixture.counts.skipped_budget;
	if (fixture.counts.stops >= COSTLY_STOPS + CHEAP_STOPS)
		control_quit(fixture.control);
}

/*
 * Stops of 5 ms with a budget of 50 %, at 500 Hz. Saved-up credit pays for some of them, then one
 * in 10 ms is allowed. When stops cost next to nothing again, every tick has its stop.
 */
static void test_budget_binds_and_lets_go(void)
{
	begin(1);
	fixture.memory->on_stop = linger_at_first;
	fixture.scene = watch_skips;
	control_set_rate(fixture.control, 500);
	control_set_budget(fixture.control, 0.5);
	control_set_stack_top(fixture.control, fixture.memory->regs[0].cr3, STACK,
			      STACK + 0x820); /* all fit in the ring */
	run(5000);
	check_u64(fixture.counts.lost, 0, "samples lost while stops are costly");
	check(costly.skipped_budget > 0, "%" PRIu64 " ticks skipped while stops are costly",
	      costly.skipped_budget);
	check(costly.stopped_ns <= 0.5 * (double)costly.elapsed_ns + 0.05e9 + 10e6,
	      "%" PRIu64 " ns stopped of %" PRIu64 " meanwhile", costly.stopped_ns,
	      costly.elapsed_ns);
	check_u64(fixture.counts.skipped_budget, skipped_later,
		  "ticks skipped in all: none once stops are cheap again");
	check(fixture.counts.stopped_ns <= 0.5 * (double)fixture.counts.elapsed_ns + 0.05e9 + 10e6,
	      "%" PRIu64 " ns stopped of %" PRIu64, fixture.counts.stopped_ns,
	      fixture.counts.elapsed_ns);
	end();
}

int main(void)
{
	fault_install();
	made_clock.reading_ns = READING_NS;
	test_spent_credit();
	test_refused_stop_costs();
	test_pause_counts();
	test_retake_again();
	test_retakes_are_paid();
	test_budget();
	test_budget_binds_and_lets_go();
	return tap_done();
}
