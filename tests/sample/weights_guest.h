/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest in made-up time, and runs of the whole sampler on it, for test_weights.c.
 *
 * The guest spends half of its CPU time in parallel(), on all vCPUs, and half in serial(), on one.
 * A stop takes what doc/MEASUREMENTS says. The sampler has no thread of its own here and sees no
 * other clock than this one, which goes on when the sampler sleeps, looks and stops the guest. So
 * minutes of a guest take milliseconds. The sampler draws its deadlines from the seed that it gets
 * here, so each run is the same. XTOP_SEED=N: another one.
 *
 *	parallel()  ▐██▌          ▐██▌             all vCPUs, n times as short
 *	serial()        ▐________▌    ▐________▌   one vCPU
 */
#ifndef TESTS_WEIGHTS_GUEST_H
#define TESTS_WEIGHTS_GUEST_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "tests/support/made_clock.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/fault.h"
#include "xtop/sample/budget.h"
#include "xtop/sample/ring.h"
#include "xtop/sample/sample.h"
#include "xtop/sample/sampler.h"
#include "xtop/xen/guest.h"

#define SECOND    1000000000ULL
#define MS        1000000ULL
#define STOP_NS   8770  /* doc/MEASUREMENTS: 19,151 with one vCPU, 50,296 with four */
#define VCPU_NS   10381 /* what each running vCPU adds */
#define LOOK_NS   2000
#ifdef SANITIZED
#define CHANGE_MINUTES 1 /* ten times as slow */
#else
#define CHANGE_MINUTES 2 /* how often a guest whose stops change is tried */
#endif
#define WAKEUP_NS 60000 /* a sleep ends up to so late, uniformly */

/* --- time ------------------------------------------------------------------------------------- */

static uint64_t random_state;

static double random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) * 0x1p-53;
}

static uint64_t seed = 1; /* seed of the sampler's deadlines */

/* In the place of libc's. */
ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
	(void)flags;
	memcpy(buffer, &seed, length < sizeof(seed) ? length : sizeof(seed));
	return (ssize_t)length;
}

static uint64_t wake_up_late(void)
{
	return (uint64_t)(WAKEUP_NS * random_next());
}

/* One wake of fifty is so late that deadlines have gone by. */
static uint64_t miss_deadlines(void)
{
	return random_next() < 0.02 ? 300 * MS : wake_up_late();
}

static uint64_t (*lateness)(void) = wake_up_late; /* how late the sampler wakes in the next runs */

/* --- the guest -------------------------------------------------------------------------------- */

static double stride; /* stride of the next runs; 0: none */

struct made {
	struct guest guest;
	struct control *control;
	struct ring *ring;
	/* mean length of a phase of parallel(): each takes 0.5 to 1.5 times as long */
	double phase_s;
	uint64_t until_ns; /* the end of this phase */
	uint64_t began_ns, end_ns; /* start and end of the run */
	bool parallel;
	double spent_ns[2]; /* CPU time of serial(), parallel() */
	uint64_t spent_to_ns;
	uint64_t longest_ns; /* longest time between two looks */
	uint64_t looked_ns;
	uint64_t read_every_ns, read_ns; /* how often the ring is read; 0: at each look */
	unsigned looks, life_looks;
	uint64_t pause_ns, go_on_ns, away_ns; /* an administrator pauses it, lets it go; it dies */
	uint64_t paused_seen_ns, running_seen_ns;
	/* what the samples say */
	double weights[2], ticks;
	double squares; /* sum of the squared weights */
	/* The stops of the last 10 s, in a circle; their time, and the most that it ever was. */
	struct {
		uint64_t at_ns, stopped_ns;
	} stops[8192];
	unsigned first_stop, n_stops;
	uint64_t span_ns, most_span_ns;
	uint64_t used_ns; /* stopped time from the third second on */
	uint64_t cold_ns; /* additional time of the first stop */
	/* From COSTLY_NS on stops take COST times as long. One stop of 20 takes NOISE times. */
	uint64_t costly_ns;
	double cost, noise;
	uint64_t slow_ns;     /* the first stop after this time takes 191 ms more; 0: none does */
	double heaviest;      /* the largest weight, in ticks */
	unsigned n[2], n_one; /* n_one: of those, that stand for exactly one tick */
};

static unsigned made_running(const struct made *made)
{
	return made->parallel ? made->guest.info.n_vcpus : 1;
}

/* Brings phases and CPU times up to this moment. */
static void made_advance(struct made *made)
{
	while (made->spent_to_ns < made_clock.now_ns) {
		uint64_t to_ns =
			made->until_ns < made_clock.now_ns ? made->until_ns : made_clock.now_ns;

		made->spent_ns[made->parallel] +=
			(double)(to_ns - made->spent_to_ns) * made_running(made);
		made->spent_to_ns = to_ns;
		if (to_ns < made->until_ns)
			return;
		made->parallel = !made->parallel;
		made->until_ns += (uint64_t)((0.5 + random_next()) * made->phase_s * 1e9 *
					     (made->parallel ? 1 : made->guest.info.n_vcpus));
	}
}

static void made_read(struct made *made)
{
	const struct sample *sample;
	size_t size_bytes;

	while ((sample = ring_peek(made->ring, &size_bytes))) {
		const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
		double weight = (double)sample->weight / SAMPLE_WEIGHT_TICK, cpu_ticks = 0;
		unsigned running = 0;

		for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
			running += vcpu->state == VCPU_RUNNING;
			if (vcpu->state == VCPU_RUNNING)
				cpu_ticks += (double)sample_get_weight(sample, vcpu) /
					     SAMPLE_WEIGHT_TICK;
		}
		made->weights[running > 1 || made->guest.info.n_vcpus == 1 || sample->vcpu_weight
				      ? made->parallel
				      : 0] += cpu_ticks;
		made->ticks += weight;
		made->squares += weight * weight;
		made->heaviest = fmax(made->heaviest, weight);
		made->n_one += sample->weight == SAMPLE_WEIGHT_TICK;
		made->n[made->parallel]++;
		ring_release(made->ring);
	}
}

/* What the screen sees of the pause, as of the tick before. */
static void made_notice(struct made *made)
{
	struct sampler_counts counts;

	control_get_counts(made->control, &counts);
	if (counts.state == SAMPLER_GUEST_PAUSED && !made->paused_seen_ns)
		made->paused_seen_ns = made_clock.now_ns;
	if (counts.state == SAMPLER_RUNNING && made->paused_seen_ns && !made->running_seen_ns)
		made->running_seen_ns = made_clock.now_ns;
}

static bool made_look_life(void *context, struct guest_look *look)
{
	struct made *made = context;

	made->life_looks++;
	if (made_clock.now_ns - made->read_ns >= made->read_every_ns) {
		made->read_ns = made_clock.now_ns;
		made_read(made); /* before the phase changes */
	}
	if (made_clock.now_ns - made->looked_ns > made->longest_ns && made->looked_ns)
		made->longest_ns = made_clock.now_ns - made->looked_ns;
	made->looked_ns = made_clock.now_ns;
	made_clock.now_ns += LOOK_NS;
	made_advance(made);
	if (made_clock.now_ns > made->end_ns)
		control_quit(made->control);
	look->life = made_clock.now_ns >= made->pause_ns && made_clock.now_ns < made->go_on_ns
			     ? GUEST_PAUSED_BY_OTHERS
			     : GUEST_RUNS;
	if (made->away_ns && made_clock.now_ns >= made->away_ns)
		look->life = GUEST_GONE;
	look->pages = 1000;
	made_notice(made);
	return true;
}

static bool made_look(void *context, struct guest_look *look)
{
	struct made *made = context;

	made_look_life(context, look);
	made->looks++;
	made->life_looks--;
	for (unsigned i = 0; i < made->guest.info.n_vcpus; i++)
		look->states[i] = i < made_running(made) ? VCPU_RUNNING : VCPU_BLOCKED;
	return true;
}

/* Counts a stop of STOPPED_NS. */
static void made_count_stop(struct made *made, uint64_t stopped_ns)
{
	unsigned size = sizeof(made->stops) / sizeof(made->stops[0]);

	while (made->n_stops &&
	       made->stops[made->first_stop].at_ns + BUDGET_SPAN_NS <= made_clock.now_ns) {
		made->span_ns -= made->stops[made->first_stop].stopped_ns;
		made->first_stop = (made->first_stop + 1) % size;
		made->n_stops--;
	}
	made->stops[(made->first_stop + made->n_stops++) % size].at_ns = made_clock.now_ns;
	made->stops[(made->first_stop + made->n_stops - 1) % size].stopped_ns = stopped_ns;
	made->span_ns += stopped_ns;
	if (made->span_ns > made->most_span_ns)
		made->most_span_ns = made->span_ns;
	if (made_clock.now_ns > made->began_ns + 3 * SECOND)
		made->used_ns += stopped_ns;
}

static bool made_stop(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	struct made *made = context;
	uint64_t stopped_ns = STOP_NS + n * VCPU_NS;

	(void)begin_ns;
	for (unsigned i = 0; i < n; i++) {
		vcpus[i].regs = (struct registers){ .rsp = 0 };
		vcpus[i].user = false;
	}
	if (made->costly_ns && made_clock.now_ns >= made->costly_ns)
		stopped_ns = (uint64_t)((double)stopped_ns * made->cost);
	if (made->noise > 0 && random_next() < 0.05)
		stopped_ns = (uint64_t)((double)stopped_ns * made->noise);
	stopped_ns += made->cold_ns;
	made->cold_ns = 0;
	if (made->slow_ns && made_clock.now_ns >= made->slow_ns) {
		stopped_ns += 191 * MS;
		made->slow_ns = 0;
	}
	made_count_stop(made, stopped_ns);
	made_clock.now_ns += stopped_ns;
	return true;
}

static void made_release(void *context)
{
	(void)context;
}

static void *made_map(void *context, frame_t frame)
{
	(void)context, (void)frame;
	return NULL;
}

static const struct guest_ops made_ops = {
	.look = made_look, .look_life = made_look_life, .stop = made_stop, .release = made_release
};

/* --- runs ------------------------------------------------------------------------------------- */

static struct sampler_counts counts;

static struct made next; /* how the next run differs */

static void run(struct made *made, unsigned n_vcpus, double phase_s, double hz, double budget,
		double seconds)
{
	random_state = 88172645463325252ULL;
	made_clock.now_ns = 1000 * SECOND;
	made_clock.late = lateness;
	*made = (struct made){ .phase_s = phase_s,
			       .read_every_ns = next.read_every_ns,
			       .pause_ns = next.pause_ns,
			       .go_on_ns = next.go_on_ns,
			       .away_ns = next.away_ns,
			       .cold_ns = next.cold_ns,
			       .costly_ns = next.costly_ns,
			       .cost = next.cost,
			       .noise = next.noise,
			       .slow_ns = next.slow_ns,
			       .began_ns = made_clock.now_ns,
			       .until_ns = made_clock.now_ns,
			       .spent_to_ns = made_clock.now_ns,
			       .end_ns = made_clock.now_ns + (uint64_t)(seconds * 1e9) };
	made->guest = (struct guest){ .ops = &made_ops,
				      .context = made,
				      .mapper = { .map = made_map, .context = made },
				      .info.n_vcpus = n_vcpus };
	must(control_create(&made->control));
	must(ring_create(sampler_ring_bytes(n_vcpus, hz), &made->ring));
	control_set_rate(made->control, hz);
	control_set_budget(made->control, budget);
	control_set_stride(made->control, stride);
	sampler_run(&made->guest, made->control, made->ring);
	made_read(made);
	control_get_counts(made->control, &counts);
	control_destroy(made->control);
	ring_destroy(made->ring);
}

static double share(const double values[2])
{
	return 100 * values[1] / (values[0] + values[1]);
}

/* What a stop costs in the mean, if stops come at a constant rate. */
static double mean_stop_ns(unsigned n_vcpus)
{
	double n = n_vcpus;

	return STOP_NS + VCPU_NS * (n > 1 ? 2 * n / (n + 1) : 1);
}

/*
 * How many samples at a constant rate would be worth as much as those of the run, for each that the
 * run's stopped time would have paid.
 */
static double effective(const struct made *made, unsigned n_vcpus)
{
	double worth = made->ticks * made->ticks / made->squares;

	return worth / ((double)counts.stopped_ns / mean_stop_ns(n_vcpus));
}

#endif
