/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler and its ring (sampler_fixture.h): the ring's size, a resolver that is slow or
 * hostile, and a guest that makes the sampler map many pages.
 */
#include "config.h"

#include "tests/sample/sampler_fixture.h"
#include "xtop/base/fault.h"

#define MAPS_PER_S    5000 /* doc/SECURITY */
#define RENEWED_PER_S 1639 /* doc/SECURITY: 16,384 pages in 10 s */

static void test_ring_full(void)
{
	uint64_t fits;

	begin(1);
	ring_destroy(fixture.ring);
	must(ring_create(2 * sample_size_max(1), &fixture.ring));
	control_set_stack_top(fixture.control, fixture.memory->regs[0].cr3, STACK,
			      STACK + STACK_BYTES);
	run(60);
	fits = fixture.n_taken;
	check(fits > 3 && fits < 60, "%" PRIu64 " samples fit", fits);
	check_u64(fixture.counts.lost, fixture.counts.ticks - fits,
		  "samples that a full ring loses");
	check_u64(fixture.memory->stops, fits + 1,
		  "stops of a guest whose ring is full: only for samples that fit");
	end();
}

#define SLOW_HZ   100
#define READ_TICK 240 /* first tick at which the ring is read; the run has 280 ticks */
#define BUSY_HZ   200
#define BUSY_TICK 360 /* first tick at which the ring is read; the run has 380 ticks */

#define START_TICKS (11 * SLOW_HZ) /* samples may wait for longer in the first 10 s */

static unsigned n_taken_late, n_taken_early;
static uint64_t read_ns;

/* The resolver reads nothing for 2.4 s, then all at once, then after each tick. */
static void read_late(unsigned tick)
{
	give_stacks(tick);
	if (tick < READ_TICK)
		return;
	read_ring();
	if (tick > READ_TICK)
		return;
	n_taken_late = fixture.n_taken;
	read_ns = fixture.taken[fixture.n_taken - 1].head.time_ns;
}

/* read_late() after 11 s in which the ring was read. */
static void read_late_after_start(unsigned tick)
{
	if (tick >= START_TICKS) {
		read_late(tick - START_TICKS);
		return;
	}
	give_stacks(tick);
	read_ring();
	n_taken_early += fixture.n_taken;
	fixture.n_taken = 0;
}

static void run_unread(void (*how)(unsigned tick), unsigned n_ticks)
{
	begin_at(1, SLOW_HZ);
	fixture.scene = how;
	run(n_ticks);
}

/* The resolver reads the files of a server's programs for 1.8 s. */
static void read_files(unsigned tick)
{
	give_stacks(tick);
	control_set_stack_top(fixture.control, fixture.memory->regs[0].cr3, STACK,
			      STACK + STACK_BYTES);
	if (tick >= BUSY_TICK)
		read_ring();
}

/*
 *	vCPUs    samples a second    ring, in MiB
 *	1        19                  1
 *	1        99                  2
 *	1        200                 4
 *	4        19                  2
 *	1        20,000              4
 *	128      1                   64, for the largest samples
 */
static void test_ring_size(void)
{
	static const struct {
		unsigned n_vcpus;
		double rate_hz;
		size_t mib;
	} rows[] = { { 1, 19, 1 }, { 1, 99, 2 },          { 1, 200, 4 },
		     { 4, 19, 2 }, { 1, RATE_MAX_HZ, 4 }, { GUEST_MAX_VCPUS, 1, 64 } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_at(rows[i].n_vcpus, rows[i].rate_hz);
		check(ring_size_bytes(fixture.ring) == rows[i].mib << 20,
		      "ring of %u vCPUs at %.0f Hz: %zu bytes", rows[i].n_vcpus, rows[i].rate_hz,
		      ring_size_bytes(fixture.ring));
		end();
	}
}

static void test_busy(void)
{
	begin_at(1, BUSY_HZ);
	fixture.scene = read_files;
	run(BUSY_TICK + 20);
	check_u64(fixture.taken[BUSY_TICK / 2].vcpus[0].stack_bytes, STACK_BYTES - 0x800,
		  "bytes of a stack whose end was learned");
	check_u64(fixture.counts.lost, 0, "samples lost while the resolver reads files for 1.8 s");
	end();
}

/*
 * The process of a sample is looked up later, so samples of a Linux guest must not wait for long.
 */
static void test_behind(void)
{
	uint64_t waited_ns;

	run_unread(read_late_after_start, START_TICKS + 280);
	waited_ns = read_ns - fixture.taken[0].head.time_ns;
	check(waited_ns > 1900000000 && waited_ns < 2300000000,
	      "unread samples of a Linux guest span %.2f s, with room for more",
	      (double)waited_ns / 1e9);
	check(fixture.n_taken > n_taken_late + 10 &&
		      fixture.taken[n_taken_late].head.time_ns > read_ns + 200000000,
	      "new samples come once the old ones are read");
	check_u64(fixture.counts.lost, fixture.counts.ticks - fixture.n_taken - n_taken_early,
		  "samples that are lost while the resolver is behind");
	check_u64(fixture.memory->stops, fixture.counts.stops,
		  "stops while the resolver is behind: only for samples");
	check(fixture.counts.stops <= fixture.n_taken + n_taken_early + fixture.counts.retakes,
	      "%" PRIu64 " stops for %u samples", fixture.counts.stops,
	      fixture.n_taken + n_taken_early);
	end();
	run_unread(read_late, 280);
	check_u64(fixture.counts.lost, 0, "samples that are lost if the resolver is behind at the start");
	end();
	run_unread(NULL, 280);
	check_u64(fixture.counts.lost, 0, "samples that a unikernel loses while the ring has room");
	end();
}

/*
 * The resolver's process parses what the guest made, and it can write to the ring. Here it does so
 * at the worst moment, just after the copy. The sampler relies on its own memory only.
 */
static void scribble(struct memory_guest *guest)
{
	(void)guest;
	memset(ring_reserve(fixture.ring, 0), 0xff,
	       sizeof(struct sample) + sizeof(struct sample_vcpu));
}

static void mix(unsigned tick)
{
	(void)tick;
	fixture.memory->look.states[2] = VCPU_BLOCKED;
}

static void test_hostile_reader(void)
{
	const void *record;
	size_t size_bytes;

	begin(3);
	fixture.memory->on_release = scribble;
	fixture.scene = mix;
	fixture.n_ticks = 10;
	sampler_run(&fixture.memory->guest, fixture.control, fixture.ring);
	while ((record = ring_peek(fixture.ring, &size_bytes))) {
		if (size_bytes > sample_size_max(3))
			check(false, "no record is larger than its room: %zu bytes", size_bytes);
		ring_release(fixture.ring);
		fixture.n_taken++;
	}
	check(fixture.n_taken >= 10,
	      "a reader that writes to the ring does not change sizes: %u records",
	      fixture.n_taken);
	end();
}

/* The guest balloons all the time, so that every page has to be mapped anew in each tick. */
static void balloon(unsigned tick)
{
	size_t size_bytes;

	fixture.memory->look.pages = 1000 + tick;
	while (ring_peek(fixture.ring, &size_bytes))
		ring_release(fixture.ring);
}

static void test_maps_are_bounded(void)
{
	uint64_t begin_ns = clock_now_ns(), most;

	begin(4);
	control_set_rate(fixture.control, 2000);
	fixture.scene = balloon;
	run(1500);
	most = MAPS_PER_S + (MAPS_PER_S + RENEWED_PER_S) * (clock_now_ns() - begin_ns) / 1000000000;
	check(fixture.memory->maps <= most,
	      "%u pages mapped by a guest that balloons, at most %" PRIu64, fixture.memory->maps,
	      most);
	check(fixture.memory->maps > MAPS_PER_S, "a guest that balloons reaches the bound of maps");
	end();
}

int main(void)
{
	fault_install();
	made_clock.reading_ns = READING_NS;
	test_ring_full();
	test_ring_size();
	test_busy();
	test_behind();
	test_maps_are_bounded();
	test_hostile_reader();
	return tap_done();
}
