/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler on a guest in memory. It runs on the test's own thread. Each look at the guest, once
 * a tick, calls the scene; the scene changes the guest and ends the run after the last tick. Then
 * the test reads the ring. The clock is made up: a reading takes READING_NS, and a stop takes what a
 * test says. The last test runs the sampler in its own process and in real time.
 */
#include "config.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/support/made_clock.h"
#include "tests/support/memory_guest.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/sample/budget.h"
#include "xtop/sample/sample.h"
#include "xtop/sample/sampler.h"

#define RATE_HZ    10000
#define READING_NS 1000 /* of the clock */
/* vCPU i has two pages at STACK + i * STACK_STEP; rsp is in the middle of the first. */
#define STACK           0xffffc90000100000ULL
#define STACK_STEP      0x10000ULL
#define STACK_BYTES     0x2000
#define STACK_FRAME     0x300
#define TAKEN_MAX       512
#define PROCESS_SAMPLES 300

#define MAPS_PER_S    5000 /* doc/SECURITY */
#define RENEWED_PER_S 1639 /* the same: 16,384 pages in 10 s */

/* A sample that was read from the ring. */
struct taken {
	struct sample head;
	struct {
		enum vcpu_state state;
		enum sample_cut cut, user_cut;
		uint64_t task, code_frame;
		unsigned n_stacks;
		size_t stack_bytes;
		uint64_t address, first_word, cr3;
		uint8_t user;
	} vcpus[4]; /* by number */
};

static struct memory_guest *memory;
static struct control *control;
static struct ring *ring;
static struct sampler_counts counts;
static struct taken taken[TAKEN_MAX];
static unsigned n_taken, n_ticks;
static void (*scene)(unsigned tick); /* from 1 */

static uint64_t stack_frame(unsigned vcpu, unsigned page)
{
	return STACK_FRAME + vcpu * 2 + (1 - page); /* the frames are in reverse order */
}

/* Every word of a page is VALUE. */
static void fill(uint64_t frame, uint64_t value)
{
	uint64_t *page = memory_guest_page(memory, frame);

	for (unsigned i = 0; i < 512; i++)
		page[i] = value;
}

static void add_stack(unsigned vcpu)
{
	for (unsigned page = 0; page < 2; page++) {
		fill(stack_frame(vcpu, page), 100 * vcpu + page);
		memory_guest_map(memory, memory->regs[vcpu].cr3,
				 STACK + vcpu * STACK_STEP + page * GUEST_PAGE_SIZE,
				 stack_frame(vcpu, page));
	}
	memory->regs[vcpu].rsp = STACK + vcpu * STACK_STEP + 0x800;
	memory->regs[vcpu].rip = 0xffffffff81000000 + vcpu;
}

static void on_look(struct memory_guest *guest)
{
	(void)guest;
	if (guest->looks > n_ticks)
		control_quit(control);
	else if (scene)
		scene(guest->looks);
}

static void begin_at(unsigned n_vcpus, double rate_hz)
{
	memory = memory_guest_create(n_vcpus);
	for (unsigned i = 0; i < n_vcpus; i++)
		add_stack(i);
	memory->on_look = on_look;
	must(control_create(&control));
	control_set_rate(control, rate_hz);
	control_set_budget(control, 1);
	must(ring_create(sampler_ring_bytes(n_vcpus, rate_hz), &ring));
	n_taken = 0;
	scene = NULL;
}

static void begin(unsigned n_vcpus)
{
	begin_at(n_vcpus, RATE_HZ);
}

static void end(void)
{
	check(memory->stops == memory->releases && !memory->stopped, "%u stops, %u releases",
	      memory->stops, memory->releases);
	check(memory->maps == memory->unmaps, "%u mapped, %u unmapped", memory->maps,
	      memory->unmaps);
	check_u64(memory->misuses, 0, "misuses");
	ring_destroy(ring);
	control_destroy(control);
	memory_guest_destroy(memory);
}

static void keep_vcpu(struct taken *to, const struct sample_vcpu *vcpu)
{
	const struct sample_stack *stack = sample_first_stack(vcpu);

	to->vcpus[vcpu->vcpu].state = vcpu->state;
	to->vcpus[vcpu->vcpu].cut = vcpu->cut;
	to->vcpus[vcpu->vcpu].user_cut = vcpu->user_cut;
	to->vcpus[vcpu->vcpu].task = vcpu->task;
	to->vcpus[vcpu->vcpu].code_frame = sample_get_code_frame(vcpu).value;
	to->vcpus[vcpu->vcpu].user = vcpu->user;
	to->vcpus[vcpu->vcpu].cr3 = vcpu->regs.cr3;
	to->vcpus[vcpu->vcpu].n_stacks = vcpu->n_stacks;
	if (!vcpu->n_stacks)
		return;
	to->vcpus[vcpu->vcpu].stack_bytes = stack->size_bytes;
	to->vcpus[vcpu->vcpu].address = stack->address;
	memcpy(&to->vcpus[vcpu->vcpu].first_word, stack + 1, sizeof(uint64_t));
}

static void keep(const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	struct taken *to = &taken[n_taken++];

	*to = (struct taken){ .head = *sample };
	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		keep_vcpu(to, vcpu);
}

/* Every record in the ring passes the reader's check. */
static void read_ring(void)
{
	const void *record;
	size_t size_bytes, bad = 0;

	while ((record = ring_peek(ring, &size_bytes)) && n_taken < TAKEN_MAX) {
		if (sample_check(record, size_bytes))
			keep(record);
		else
			bad++;
		ring_release(ring);
	}
	check_u64(bad, 0, "bad records");
}

static void run(unsigned ticks)
{
	n_ticks = ticks;
	sampler_run(&memory->guest, control, ring);
	control_get_counts(control, &counts);
	read_ring();
	check_u64(counts.mapped_pages, 0, "pages mapped at the end");
}

/* --- samples ---------------------------------------------------------------------------------- */

static void test_plain(void)
{
	uint64_t last_ns = 0;
	bool ordered = true;

	begin(1);
	memory->user[0] = true;
	run(20);
	check_u64(counts.state, SAMPLER_ENDED, "state");
	check_u64(n_taken, 21, "a sample a tick, and one as it quits");
	check(counts.ticks == n_taken && counts.stops == n_taken + 1 && counts.retakes == 1,
	      "%" PRIu64 " ticks, %" PRIu64 " stops, %" PRIu64 " retakes", counts.ticks,
	      counts.stops, counts.retakes);
	check(taken[0].head.flags & SAMPLE_RETAKE,
	      "the first was taken again once its pages were mapped");
	check(!(taken[1].head.flags & SAMPLE_RETAKE), "the second was not");
	for (unsigned i = 0; i < n_taken; i++) {
		ordered &= taken[i].head.time_ns > last_ns && taken[i].head.stopped_ns;
		ordered &= taken[i].head.period_ns == 1000000000 / RATE_HZ;
		last_ns = taken[i].head.time_ns;
	}
	check(ordered, "times, stopped times and periods");
	check(taken[0].vcpus[0].stack_bytes == 4096 && taken[0].vcpus[0].cut == CUT_LIMIT,
	      "a page of stack");
	check(taken[0].vcpus[0].address == STACK + 0x800 && taken[0].vcpus[0].first_word == 0,
	      "from the stack pointer");
	check(taken[0].vcpus[0].user == 1 && taken[0].vcpus[0].cr3 == memory->regs[0].cr3,
	      "with its registers");
	end();
}

static uint64_t quit_after_first(void)
{
	if (memory->looks == 1)
		control_quit(control);
	return 0;
}

static void test_quits_while_it_sleeps(void)
{
	begin_at(1, 1);
	made_clock.late = quit_after_first;
	run(5);
	made_clock.late = NULL;
	check(counts.ticks == 1 && n_taken == 1,
	      "the tick that did not come any more: %" PRIu64 " ticks, %u samples", counts.ticks,
	      n_taken);
	end();
}

static void test_counts(void)
{
	struct stopped_summary summary;

	begin(2);
	run(30);
	control_get_stopped(control, &summary);
	check_u64(summary.n, counts.stops, "stopped times");
	check_u64(memory->stops, counts.stops, "stops");
	check(counts.stopped_ns >= summary.n * summary.min_ns &&
		      counts.stopped_ns <= summary.n * summary.max_ns,
	      "stopped in all");
	check_u64(counts.maps, memory->maps, "maps");
	check(counts.elapsed_ns >= 29 * 1000000000ULL / RATE_HZ, "elapsed");
	check(counts.rate_asked_hz == RATE_HZ, "rate asked");
	check(counts.cpu_ns > 0, "processor time");
	end();
}

static void learn(unsigned tick)
{
	if (tick == 3)
		control_set_stack_top(control, memory->regs[0].cr3, STACK, STACK + 0x820);
	if (tick == 6)
		control_set_stack_top(control, memory->regs[0].cr3, STACK, STACK + STACK_BYTES);
	if (tick == 9)
		control_set_stack_top(control, memory->regs[0].cr3, STACK, STACK + 0x100);
	if (tick == 12)
		control_set_stack_top(control, memory->regs[0].cr3, STACK, STACK + 0xfffff);
}

static void test_learned(void)
{
	begin(1);
	scene = learn;
	run(15);
	check_u64(taken[1].vcpus[0].stack_bytes, 4096, "not learned");
	check_u64(taken[2].vcpus[0].stack_bytes, 0x20, "learned");
	check_u64(taken[5].vcpus[0].stack_bytes, STACK_BYTES - 0x800, "learned to be longer");
	check_u64(taken[8].vcpus[0].stack_bytes, 4096, "learned wrong: too low");
	check_u64(taken[11].vcpus[0].stack_bytes, STACK_BYTES - 0x800, "learned wrong: too high");
	check_u64(taken[11].vcpus[0].cut, CUT_NOT_PRESENT, "ends where the stack does");
	check_u64(counts.retakes, 1, "retakes");
	end();
}

static void test_bare(void)
{
	begin(2);
	memory->look.states[1] = VCPU_BLOCKED;
	memory->user[0] = true;
	n_ticks = 10;
	sampler_run_bare(&memory->guest, control, ring);
	control_get_counts(control, &counts);
	read_ring();
	check(counts.stops == n_taken && n_taken == 11 && counts.retakes == 0,
	      "a stop a tick: %" PRIu64 " for %u samples", counts.stops, n_taken);
	check_u64(memory->maps, 0, "pages mapped");
	check(taken[3].head.stopped_ns && taken[3].vcpus[0].cr3 == memory->regs[0].cr3 &&
		      taken[3].vcpus[0].user == 1,
	      "registers are there");
	check(taken[3].vcpus[0].n_stacks == 0 && taken[3].vcpus[0].cut == CUT_LIMIT,
	      "the stack was cut at once");
	check(taken[3].vcpus[1].state == VCPU_BLOCKED, "the idle vCPU is in the sample");
	end();
}

/* --- what the guest does ---------------------------------------------------------------------- */

static void block(unsigned tick)
{
	memory->look.time_ns = tick * 10000000ULL; /* and no vCPU runs, by Xen's count */
	memory->look.states[0] = tick > 5 ? VCPU_BLOCKED : VCPU_RUNNING;
	memory->look.states[1] = VCPU_BLOCKED;
	memory->look.states[2] = tick > 5 ? VCPU_OFFLINE : VCPU_RUNNABLE;
	memory->look.states[3] = VCPU_OFFLINE;
}

static void sleep_always(unsigned tick)
{
	(void)tick;
	memory->look.states[0] = VCPU_BLOCKED;
}

/*
 * A reading may be a system call. A tick reads the clock when it begins to sleep and when it wakes; a
 * stop reads it before and after. The start, the first sample's retake and the CPU time of each second
 * read a few more.
 */
static void test_few_readings(void)
{
	uint64_t before = made_clock.readings, n;

	begin(1);
	run(200);
	n = made_clock.readings - before;
	check(n_taken >= 200 && n <= 4 * counts.ticks + 20,
	      "the clock is read %" PRIu64 " times in %" PRIu64 " ticks with a stop", n,
	      counts.ticks);
	end();
	before = made_clock.readings;
	begin(1);
	scene = sleep_always;
	run(200);
	n = made_clock.readings - before;
	check(counts.idle_ticks >= 200 && n <= 2 * counts.ticks + 20,
	      "the clock is read %" PRIu64 " times in %" PRIu64 " ticks without one", n,
	      counts.ticks);
	end();
}

static void test_blocked(void)
{
	begin(4);
	scene = block;
	run(10);
	check(memory->n_stopped_vcpus == 2 && memory->stopped_vcpus[0] == 0 &&
		      memory->stopped_vcpus[1] == 2,
	      "only those that want to run are read");
	check_u64(memory->stops, 6, "stops: five, and a retake");
	check(counts.idle_ticks >= 5, "idle ticks: %" PRIu64, counts.idle_ticks);
	check_u64(taken[1].head.n_vcpus, 4, "all are in the sample");
	check(taken[1].vcpus[0].state == VCPU_RUNNING && taken[1].vcpus[0].n_stacks == 1,
	      "running");
	check(taken[1].vcpus[2].state == VCPU_RUNNABLE && taken[1].vcpus[2].n_stacks == 1,
	      "runnable");
	check(taken[1].vcpus[1].state == VCPU_BLOCKED && taken[1].vcpus[1].n_stacks == 0,
	      "blocked: its state alone");
	check(taken[1].vcpus[3].state == VCPU_OFFLINE && taken[1].vcpus[3].n_stacks == 0,
	      "offline: the same");
	check(taken[7].head.n_vcpus == 4 && taken[7].head.stopped_ns == 0 && taken[7].head.time_ns,
	      "idle sample");
	check(counts.stops == 6, "nobody wants to run: not stopped");
	end();
}

static void sleep_long(unsigned tick)
{
	memory->look.states[0] = tick == 1 || tick > 40 ? VCPU_RUNNING : VCPU_BLOCKED;
}

/* A vCPU that has slept for 40 s: its stack's pages are still mapped, and one stop is enough. */
static void test_long_sleep(void)
{
	begin_at(1, 1);
	scene = sleep_long;
	run(41);
	check(n_taken >= 41 && taken[40].vcpus[0].n_stacks == 1, "asleep for long: then a stack");
	check(!(taken[40].head.flags & SAMPLE_RETAKE) && counts.retakes == 1,
	      "of the first stop: %" PRIu64 " retakes", counts.retakes);
	end();
}

static void wake_late(unsigned tick)
{
	memory->look.states[0] = VCPU_OFFLINE;
	memory->look.states[1] = tick > 5 ? VCPU_RUNNING : VCPU_BLOCKED;
	memory->look.states[2] = VCPU_BLOCKED;
}

/* The resolver learns from the first stop which system it is, so there is one though nothing runs. */
static void test_asleep(void)
{
	begin(3);
	scene = wake_late;
	run(10);
	check(taken[0].head.stopped_ns && taken[0].vcpus[1].state == VCPU_BLOCKED &&
		      taken[0].vcpus[1].cr3 == memory->regs[1].cr3,
	      "asleep: the registers of one vCPU");
	check(taken[0].vcpus[1].n_stacks == 0 && taken[0].vcpus[2].cr3 == 0,
	      "asleep: no stack, and nothing of the others");
	check_u64(taken[0].head.n_vcpus, 3, "asleep: all are in the sample");
	check(!taken[1].head.stopped_ns && !taken[4].head.stopped_ns && counts.idle_ticks == 4,
	      "asleep: no other stop");
	check(taken[5].vcpus[1].state == VCPU_RUNNING && taken[5].vcpus[1].n_stacks == 1,
	      "awake: its stack");
	end();
}

/*
 * As on dom0's own physical CPU: each look finds the vCPU waiting. From tick 11 on, vCPU 0 runs for
 * three quarters of the time, vCPU 1 not at all.
 */
static void share_a_cpu(unsigned tick)
{
	memory->look.time_ns = tick * 10000000ULL;
	memory->look.states[0] = memory->look.states[1] = VCPU_RUNNABLE;
	memory->look.cpu_ns[0] += tick > 10 ? 7500000 : 10000000;
	memory->look.cpu_ns[1] += tick > 10 ? 0 : 10000000;
}

static unsigned count_running(unsigned vcpu, unsigned from, unsigned to)
{
	unsigned n = 0;

	for (unsigned i = from; i < to; i++)
		n += taken[i].vcpus[vcpu].state == VCPU_RUNNING;
	return n;
}

static void test_run_time(void)
{
	begin(2);
	scene = share_a_cpu;
	run(50);
	check_u64(count_running(0, 0, 10), 10, "it ran all the time");
	check_u64(count_running(0, 10, 50), 30, "it ran three quarters of the time");
	check_u64(count_running(1, 10, 50), 0, "it did not run");
	check(taken[20].vcpus[1].n_stacks == 1 && taken[20].vcpus[0].n_stacks == 1,
	      "both have a stack");
	end();
}

/* vCPU 1's stack grows by BYTES. The word on its top is its own address. */
static void grow_stack(unsigned bytes)
{
	uint64_t *page = memory_guest_page(memory, stack_frame(1, 0));

	memory->regs[1].rsp -= bytes;
	page[memory->regs[1].rsp % GUEST_PAGE_SIZE / 8] = memory->regs[1].rsp;
}

/* vCPU 0 runs; vCPU 1 waits for a physical CPU, and gets one in tick 6 and in tick 11. */
static void wait_for_cpu(unsigned tick)
{
	bool moves = tick == 6 || tick == 11;

	memory->look.time_ns = tick * 10000000ULL;
	memory->look.states[1] = VCPU_RUNNABLE;
	memory->look.cpu_ns[0] += 10000000;
	memory->look.cpu_ns[1] += tick == 1 || moves ? 1000000 : 0;
	if (tick == 1 || moves)
		grow_stack(moves ? 0x100 : 0);
}

/* Its registers and stacks are those of its last sample, and Xen is not asked for them again. */
static void test_stood(void)
{
	begin(2);
	scene = wait_for_cpu;
	run(15);
	check_u64(n_taken, 16, "all ticks have a sample");
	check_u64(memory->n_cached, 16 - 3, "the vCPU that waits is read in ticks 1, 6 and 11");
	for (unsigned i = 0; i < n_taken; i++) {
		uint64_t rsp = STACK + STACK_STEP + 0x800 - (i >= 5) * 0x100 - (i >= 10) * 0x100;

		check(taken[i].vcpus[1].address == rsp && taken[i].vcpus[1].n_stacks == 1 &&
			      taken[i].vcpus[1].first_word == rsp &&
			      taken[i].vcpus[1].stack_bytes == taken[0].vcpus[1].stack_bytes,
		      "sample %u: the stack as it is", i);
		check(taken[i].vcpus[0].n_stacks == 1, "sample %u: the other one's", i);
	}
	end();
}

/* Both vCPUs wait for a physical CPU. vCPU 0 gets one in tick 6. */
static void wait_both(unsigned tick)
{
	memory->look.time_ns = tick * 10000000ULL;
	memory->look.states[0] = memory->look.states[1] = VCPU_RUNNABLE;
	memory->look.cpu_ns[0] += tick == 1 || tick == 6 ? 1000000 : 0;
	memory->look.cpu_ns[1] += tick == 1 ? 1000000 : 0;
	if (tick == 1)
		grow_stack(0);
}

/* Where no vCPU has run since the last sample, the guest is not stopped. */
static void test_all_stood(void)
{
	unsigned n_stopped = 0;

	begin(2);
	scene = wait_both;
	run(10);
	for (unsigned i = 0; i < n_taken; i++) {
		check(taken[i].vcpus[0].n_stacks == 1 && taken[i].vcpus[1].n_stacks == 1 &&
			      taken[i].vcpus[1].first_word == STACK + STACK_STEP + 0x800 &&
			      taken[i].head.weight,
		      "sample %u has both", i);
		n_stopped += taken[i].head.stopped_ns > 0;
	}
	check(n_taken >= 10 && n_stopped == 2, "%u of %u samples took a stop", n_stopped, n_taken);
	check(counts.stops == 2 + counts.retakes && memory->stops == counts.stops,
	      "%" PRIu64 " stops", counts.stops);
	end();
}

static bool (*real_stop)(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n);

/* Between the third look and the stop after it, the vCPU that waits runs for a moment. */
static bool stop_late(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	if (memory->looks == 3) {
		memory->look.cpu_ns[1] += 10;
		grow_stack(0x10);
	}
	return real_stop(context, begin_ns, vcpus, n);
}

/*
 * The vCPU waits for a physical CPU, and has run between two ticks. The first tick needs a stop, as
 * nothing is mapped yet. Each later one has two looks, the first one with an even number.
 */
static void wait_alone(unsigned look)
{
	memory->look.states[0] = VCPU_RUNNABLE;
	memory->look.cpu_ns[0] += look == 1 || look % 2 == 0 || look == 9 ? 1000000 : 0;
}

static bool peek(void *context, struct guest_vcpu *vcpus, unsigned n)
{
	(void)context;
	for (unsigned i = 0; i < n; i++) {
		vcpus[i].regs = memory->regs[vcpus[i].number];
		vcpus[i].user = false;
	}
	return true;
}

/* A guest whose vCPU waits is not stopped, unless the vCPU runs while it is read. */
static void test_waiting(void)
{
	struct guest_ops ops;

	begin(1);
	scene = wait_alone;
	ops = *memory->guest.ops;
	ops.peek = peek;
	memory->guest.ops = &ops;
	run(21);
	for (unsigned i = 0; i < n_taken; i++)
		check(taken[i].vcpus[0].n_stacks == 1 && taken[i].head.weight &&
			      taken[i].vcpus[0].address == STACK + 0x800 &&
			      (taken[i].head.stopped_ns > 0) == (i == 0 || i == 4),
		      "sample %u: its stack", i);
	check(n_taken >= 10 && memory->stops == 3,
	      "%u stops for %u samples: the first one and its retake, and one that was overtaken",
	      memory->stops, n_taken);
	end();
}

static long faults_at_look, faults_before_stop;

static long count_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static void run_at_times(unsigned tick)
{
	memory->look.states[0] = tick % 8 ? VCPU_BLOCKED : VCPU_RUNNING;
	faults_at_look = count_faults();
}

static bool stop_and_count(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	/* Its code has run, its own memory was used; and run_at_times() was called. */
	if (memory->looks > 16 && memory->looks <= n_ticks)
		faults_before_stop += count_faults() - faults_at_look;
	return real_stop(context, begin_ns, vcpus, n);
}

/* The pages of a new ring get their memory before the look, even if the guest slept until then. */
static void test_touched_before_the_look(void)
{
	struct guest_ops ops;

	begin_at(1, 200);
	scene = run_at_times;
	ops = *memory->guest.ops;
	real_stop = ops.stop;
	ops.stop = stop_and_count;
	memory->guest.ops = &ops;
	run(64);
	check(!faults_before_stop && counts.stops >= 8,
	      "%ld faults between look and stop, %" PRIu64 " stops", faults_before_stop,
	      counts.stops);
	end();
}

static void test_not_run_until_the_stop(void)
{
	struct guest_ops ops;
	uint64_t rsp;

	begin(2);
	scene = wait_for_cpu;
	ops = *memory->guest.ops;
	real_stop = ops.stop;
	ops.stop = stop_late;
	memory->guest.ops = &ops;
	run(4);
	rsp = STACK + STACK_STEP + 0x800;
	check_u64(taken[1].vcpus[1].address, rsp, "sample 1: it waits");
	check_u64(taken[2].vcpus[1].address, rsp - 0x10, "sample 2: it has run since the look");
	check(taken[2].vcpus[1].first_word == rsp - 0x10, "its stack, too");
	check_u64(taken[3].vcpus[1].address, rsp - 0x10, "sample 3: read anew");
	check_u64(taken[4].vcpus[1].address, rsp - 0x10, "sample 4: it waits");
	check_u64(memory->n_cached, 2, "samples 1 and 4 have what was kept");
	end();
}

static void learn_while_it_waits(unsigned tick)
{
	wait_for_cpu(tick < 6 ? tick : 2);
	memory->look.time_ns = tick * 10000000ULL;
	if (tick == 4)
		control_set_stack_top(control, memory->regs[1].cr3, STACK + STACK_STEP + 0x800,
				      STACK + STACK_STEP + 0xa00);
}

/* What is known of the stack's length changes meanwhile. */
static void test_stood_and_learned(void)
{
	begin(2);
	scene = learn_while_it_waits;
	run(5);
	check_u64(taken[2].vcpus[1].stack_bytes, taken[0].vcpus[1].stack_bytes, "kept");
	check_u64(taken[3].vcpus[1].stack_bytes, 0x200, "the length learned meanwhile");
	check_u64(taken[5].vcpus[1].stack_bytes, 0x200, "that copy is kept");
	check_u64(memory->n_cached, 4, "but for the first sample and the one with a new length");
	end();
}

static void move_stack(unsigned tick)
{
	if (tick == 4) { /* the page at the stack pointer is another frame now */
		fill(0x500, 4);
		memory_guest_map(memory, memory->regs[0].cr3, STACK, 0x500);
	}
	if (tick == 8) { /* another address space with a stack at the same address */
		memory->regs[0].cr3 = memory_guest_new_table(memory) << 12;
		fill(0x501, 8);
		memory_guest_map(memory, memory->regs[0].cr3, STACK, 0x501);
	}
	if (tick == 12) { /* ballooned out and in again: the frame's number stays */
		memory->look.pages++;
		memory_guest_exchange(memory, 0x501);
		fill(0x501, 12);
	}
}

static void test_tables_change(void)
{
	begin(1);
	scene = move_stack;
	run(16);
	for (unsigned tick = 1; tick <= 16; tick++)
		check_u64(taken[tick - 1].vcpus[0].first_word, tick < 16 ? tick / 4 * 4 : 12,
			  "the page that is there now");
	check_u64(counts.retakes, 4, "retakes: at first and after each change");
	end();
}

static void vanish_in_stop(struct memory_guest *guest)
{
	if (guest->looks == 5)
		memory_guest_revoke(guest, stack_frame(0, 0));
}

static void test_revoked(void)
{
	begin(2);
	memory->on_stop = vanish_in_stop;
	run(10);
	check_u64(counts.faults, 1, "faults");
	check(taken[3].vcpus[0].cut == CUT_LIMIT && taken[3].vcpus[1].cut == CUT_LIMIT, "before");
	check_u64(taken[4].vcpus[0].cut, CUT_FAULT, "the page goes away under the copy");
	check_u64(taken[5].vcpus[0].cut, CUT_NOT_MAPPED, "then Xen does not map it");
	check(taken[5].vcpus[1].cut == CUT_LIMIT && taken[9].vcpus[1].cut == CUT_LIMIT,
	      "the other vCPU goes on");
	check(n_taken >= 10, "so do the samples");
	end();
}

/*
 * A page table that has gone away reads as zeros, "not present", for all vCPUs that share it. That
 * is not what the guest's tables say.
 */
static void vanish_table(struct memory_guest *guest)
{
	if (guest->looks == 5 && guest->n_frames)
		memory_guest_revoke(guest, guest->regs[0].cr3 >> 12);
}

static void test_revoked_table(void)
{
	begin(2);
	memory->on_stop = vanish_table;
	run(8);
	check_u64(counts.faults, 1, "faults");
	check(taken[4].vcpus[0].cut == CUT_FAULT && taken[4].vcpus[1].cut == CUT_FAULT,
	      "both are told");
	end();
}

static void stack_at_the_end(unsigned tick)
{
	if (tick == 1) {
		fill(0x502, 1);
		memory_guest_map(memory, memory->regs[0].cr3, UINT64_MAX, 0x502);
		memory->regs[0].rsp = UINT64_MAX - 15;
	}
}

static void test_end_of_addresses(void)
{
	begin(1);
	scene = stack_at_the_end;
	run(5);
	/* And read_ring() found no bad record. */
	check_u64(taken[2].vcpus[0].stack_bytes, 15, "the end of the address space");
	end();
}

/* --- what goes wrong -------------------------------------------------------------------------- */

/* A page that Xen never maps must not cost the guest a second stop at each tick. */
static void test_never_mapped(void)
{
	begin(1);
	memory_guest_revoke(memory, stack_frame(0, 0));
	run(20);
	check(memory->stops <= n_taken + 1, "%u stops for %u samples", memory->stops, n_taken);
	check_u64(taken[19].vcpus[0].cut, CUT_NOT_MAPPED, "cut");
	end();
}

/* Looks 3 to 6 belong to one tick, which looks again before it believes a pause; 7 to the next. */
static void pause_and_go(unsigned look)
{
	memory->look.life = look >= 3 && look <= 7 ? GUEST_PAUSED_BY_OTHERS : GUEST_RUNS;
	if (look == 7) {
		control_get_counts(control, &counts);
		check_u64(counts.state, SAMPLER_GUEST_PAUSED, "state while paused");
	}
}

static void test_paused(void)
{
	begin(1);
	scene = pause_and_go;
	run(11);
	check(n_taken == counts.ticks - 3,
	      "no samples while others have it paused, nor at the tick that sees it run again: "
	      "%u of %" PRIu64 " ticks",
	      n_taken, counts.ticks);
	end();
}

/* Another xtop's stops, seen now and then. */
static void stop_by_another(unsigned look)
{
	memory->look.life = look % 5 == 3 || look % 5 == 4 ? GUEST_PAUSED_BY_OTHERS : GUEST_RUNS;
	control_get_counts(control, &counts);
	if (look > 1 && counts.state != SAMPLER_RUNNING)
		check(false, "the state is paused from look %u on", look);
}

static void test_another_xtop(void)
{
	begin(1);
	scene = stop_by_another;
	run(50);
	check(n_taken == counts.ticks && n_taken >= 30, "a sample at each tick: %u of %" PRIu64,
	      n_taken, counts.ticks);
	end();
}

static void go_away(unsigned tick)
{
	if (tick == 5)
		memory->look.life = GUEST_GONE;
	memory->look.end = GUEST_END_REBOOT;
}

static void no_answer(unsigned tick)
{
	memory->refuse_look = tick == 5;
}

static void test_gone(void (*how)(unsigned), const char *what)
{
	begin(1);
	scene = how;
	run(1000);
	check(counts.state == SAMPLER_GUEST_AWAY && n_taken == 4 && memory->looks == 5,
	      "%s: ends at once, after %u samples", what, n_taken);
	end();
}

static double share_seen; /* what the screen shows at the second look */

static void see_share(unsigned tick)
{
	struct sampler_counts now;

	control_get_counts(control, &now);
	if (tick == 2)
		share_seen = now.stopped_share;
}

/* Another sampler with the same control and ring: the first one hung, or the guest rebooted. */
static void test_goes_on(void)
{
	struct sampler_counts before;
	unsigned stops;

	begin(1);
	scene = go_away;
	run(1000);
	check_u64(control_get_ending(&counts), GUEST_END_REBOOT, "why it went away");
	before = counts;
	before.restarts = 2; /* the guard's */
	before.stopped_share = 0.05; /* the guard's, too: the sampler before hung */
	control_set_counts(control, &before);
	control_restart(control);
	control_set_hold(control);
	control_set_guest_unknown(control);
	memory->look.life = GUEST_RUNS;
	memory->looks = 0;
	scene = see_share;
	stops = memory->stops;
	run(20);
	check(memory->stops - stops <= 2, "on hold again after the first stop: %u stops",
	      memory->stops - stops);
	check(counts.samples > before.samples && counts.ticks > before.ticks + 15 &&
		      counts.stops > before.stops && counts.maps > before.maps &&
		      counts.elapsed_ns > before.elapsed_ns && counts.restarts == 2,
	      "counters go on: %" PRIu64 " samples after %" PRIu64, counts.samples, before.samples);
	check(share_seen == 0.05, "the share of the last second until there is another: %g",
	      share_seen);
	check_u64(counts.state, SAMPLER_ENDED, "then quits");
	end();
}

#define CREDIT_STOP_NS 30000000 /* of the second sample; the first one takes two short stops */
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
	control_set_budget(control, 0.5);
	control_set_credit_spent(spent);
	memory->on_stop = third_30_ms;
	run(20);
	control_set_credit_spent(false);
	ns = n_taken > 2 ? taken[2].head.time_ns - taken[1].head.time_ns : 0;
	end();
	return ns;
}

static void test_spent_credit(void)
{
	uint64_t saved_ns = ns_to_third_sample(false), spent_ns = ns_to_third_sample(true);

	check(saved_ns && saved_ns < CREDIT_STOP_NS + CREDIT_STOP_NS / 10,
	      "saved-up credit pays for the next sample: %" PRIu64 " ns", saved_ns);
	check(spent_ns > 3 * (CREDIT_STOP_NS / 2),
	      "none is left after another sampler of this guest: %" PRIu64 " ns", spent_ns);
}

static void refuse_some(unsigned tick)
{
	memory->refuse_stop = tick > 2 && tick <= 5;
}

static void test_stop_refused(void)
{
	begin(1);
	scene = refuse_some;
	run(8);
	check_u64(counts.refused, 3, "refused");
	check_u64(n_taken, counts.ticks - 3, "the others are taken");
	end();
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
	ops = *memory->guest.ops;
	ops.stop = refuse_late;
	memory->guest.ops = &ops;
	control_set_budget(control, 0.0001);
	run(10);
	check_u64(memory->refused_stops, 1, "a refused stop is paid for before the next");
	check(counts.refused == 1 && counts.skipped_budget == counts.ticks - 1,
	      "%" PRIu64 " of %" PRIu64 " ticks skipped", counts.skipped_budget, counts.ticks);
	control_get_stopped(control, &summary);
	check(counts.stopped_ns >= 2000000 && counts.stops == 1, "it counts: %" PRIu64 " ns",
	      counts.stopped_ns);
	check(summary.n == 1 && summary.p50_ns >= 2000000, "among the percentiles, too: %" PRIu64,
	      summary.p50_ns);
	end();
}

/* Xen's clock is five seconds ahead; its first answer takes so long that it is of no use. */
static unsigned n_clock_reads;

static bool read_clock(void *context, uint64_t *xen_ns)
{
	(void)context;
	if (!n_clock_reads++)
		made_clock.now_ns += 5000000;
	*xen_ns = clock_now_ns() + 5000000000;
	return true;
}

static bool refuse_clock(void *context, uint64_t *xen_ns)
{
	(void)context, (void)xen_ns;
	n_clock_reads++;
	return false;
}

static void test_xen_clock(void)
{
	struct guest_ops ops;
	uint64_t ahead_ns = 0;

	begin(1);
	run(3);
	check(!control_get_xen_clock(control, &ahead_ns), "no clock of Xen's");
	ops = *memory->guest.ops;
	ops.read_clock = refuse_clock;
	memory->guest.ops = &ops;
	run(3);
	check(n_clock_reads && !control_get_xen_clock(control, &ahead_ns), "no answer");
	n_clock_reads = 0;
	ops.read_clock = read_clock;
	run(3);
	check(control_get_xen_clock(control, &ahead_ns) && ahead_ns > 4999000000 &&
		      ahead_ns < 5001000000,
	      "Xen's clock is %" PRIu64 " ns ahead", ahead_ns);
	check(n_clock_reads >= 2, "asked %u times", n_clock_reads);
	end();
}

/* Xen has paused vCPUs to answer questions. */
static void pause_at_third(unsigned tick)
{
	memory->look.paused_ns = tick == 3 ? 20000000 : 0;
}

static void test_pause_counts(void)
{
	struct stopped_summary summary;

	begin(1);
	scene = pause_at_third;
	control_set_budget(control, 0.001); /* 20 ms are 20 s */
	control_set_rate(control, 100);
	run(20);
	control_get_stopped(control, &summary);
	/* The third look reports the pause. Its tick was decided before; the first one has a retake. */
	check(counts.skipped_budget >= counts.ticks - 3 && memory->stops <= 4,
	      "paid for: %" PRIu64 " of %" PRIu64 " ticks skipped, %u stops", counts.skipped_budget,
	      counts.ticks, memory->stops);
	check(counts.stopped_ns >= 20000000 && counts.stops == memory->stops + 1,
	      "counted: %" PRIu64 " ns", counts.stopped_ns);
	check(summary.n == counts.stops && summary.max_ns >= 20000000,
	      "among the percentiles: at most %" PRIu64 " ns", summary.max_ns);
	end();
}

static void refuse_after(struct memory_guest *guest)
{
	guest->refuse_stop = guest->stops == 1; /* the retake of the first tick */
}

static void allow(unsigned tick)
{
	if (tick > 1)
		memory->refuse_stop = false;
}

/* The first stop of the tick has given a whole sample: it is kept. */
static void test_retake_refused(void)
{
	begin(1);
	memory->on_release = refuse_after;
	scene = allow;
	run(3);
	check_u64(memory->refused_stops, 1, "the retake was refused");
	check(n_taken == counts.ticks && taken[0].vcpus[0].cut == CUT_NOT_MAPPED &&
		      !(taken[0].head.flags & SAMPLE_RETAKE),
	      "the first try is the sample");
	end();
}

static unsigned n_moves; /* of the stack's page, each time just before it is read */

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
	memory->on_stop = go_on;
	run(1);
	check(counts.retakes == 2 && taken[0].vcpus[0].n_stacks == 1 &&
		      taken[0].vcpus[0].first_word == 0x502,
	      "the second time it is there");
	end();
	n_moves = 3;
	begin(1);
	memory->on_stop = go_on;
	run(1);
	check(taken[0].vcpus[0].cut == CUT_NOT_MAPPED && taken[0].head.flags & SAMPLE_RETAKE,
	      "not asked a third time");
	check(taken[1].vcpus[0].n_stacks == 1 && taken[1].vcpus[0].first_word == 0x503,
	      "but at the next tick");
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
	memory->on_stop = move_always;
	control_set_budget(control, 0.01);
	began_ns = clock_now_ns();
	run(MOVE_TICKS);
	span_ns = clock_now_ns() - began_ns;
	most_ns = (span_ns + BUDGET_CREDIT_NS) / 100 + 3 * (MOVE_STOP_NS + 100000);
	check(counts.retakes == 2 * n_taken && n_taken > 10,
	      "%" PRIu64 " retakes of %u samples", counts.retakes, n_taken);
	check(counts.stopped_ns <= most_ns, "stopped for %" PRIu64 " ns of %" PRIu64 " (at most %"
	      PRIu64 ")", counts.stopped_ns, span_ns, most_ns);
	end();
}

static void test_ring_full(void)
{
	uint64_t fits;

	begin(1);
	ring_destroy(ring);
	must(ring_create(2 * sample_size_max(1), &ring));
	control_set_stack_top(control, memory->regs[0].cr3, STACK, STACK + STACK_BYTES);
	run(60);
	fits = n_taken;
	check(fits > 3 && fits < 60, "%" PRIu64 " samples fit", fits);
	check_u64(counts.lost, counts.ticks - fits, "lost");
	check_u64(memory->stops, fits + 1, "the guest is not stopped for nothing");
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
	memory->on_stop = linger;
	control_set_budget(control, 0.0001);
	run(10);
	check_u64(memory->stops, 2, "stops");
	check_u64(counts.skipped_budget, counts.ticks - 1, "skipped");
	check(n_taken == 1 && taken[0].vcpus[0].n_stacks == 1 && taken[0].head.flags & SAMPLE_RETAKE,
	      "one sample, whole");
	end();
}

/* The first COSTLY_STOPS take long. The rate falls until the budget has paid for them. */
#define COSTLY_STOPS 60
#define CHEAP_STOPS  200

static struct sampler_counts costly; /* as of the last of these */
static uint64_t skipped_later;

static void linger_at_first(struct memory_guest *guest)
{
	if (guest->stops <= COSTLY_STOPS)
		made_clock.now_ns += 5000000;
}

static void watch_skips(unsigned tick)
{
	(void)tick;
	control_get_counts(control, &counts);
	if (counts.stops <= COSTLY_STOPS)
		costly = counts;
	if (counts.stops <= COSTLY_STOPS + 20)
		skipped_later = counts.skipped_budget;
	if (counts.stops >= COSTLY_STOPS + CHEAP_STOPS)
		control_quit(control);
}

/*
 * Stops of 5 ms with a budget of 50 %, at 500 Hz. Saved-up credit pays for some of them, then one
 * in 10 ms is allowed. When stops cost next to nothing again, every tick has its stop.
 */
static void test_budget_binds_and_lets_go(void)
{
	begin(1);
	memory->on_stop = linger_at_first;
	scene = watch_skips;
	control_set_rate(control, 500);
	control_set_budget(control, 0.5);
	control_set_stack_top(control, memory->regs[0].cr3, STACK,
			      STACK + 0x820); /* all fit in the ring */
	run(5000);
	check_u64(counts.lost, 0, "lost");
	check(costly.skipped_budget > 0, "%" PRIu64 " ticks skipped while stops are costly",
	      costly.skipped_budget);
	check(costly.stopped_ns <= 0.5 * (double)costly.elapsed_ns + 0.05e9 + 10e6,
	      "%" PRIu64 " ns stopped of %" PRIu64 " meanwhile", costly.stopped_ns,
	      costly.elapsed_ns);
	check_u64(counts.skipped_budget, skipped_later, "none skipped afterwards");
	check(counts.stopped_ns <= 0.5 * (double)counts.elapsed_ns + 0.05e9 + 10e6,
	      "%" PRIu64 " ns stopped of %" PRIu64, counts.stopped_ns, counts.elapsed_ns);
	end();
}

/* --- a Linux guest ---------------------------------------------------------------------------- */

#define PER_CPU 0xffff888000010000ULL
#define TASK    0xffff888000020000ULL
#define USER    0x00007ffc00000000ULL

/* The description of the stacks comes at tick 3: samples before are those of any guest. */
static void give_stacks(unsigned tick)
{
	const struct linux_stacks stacks = {
		.current_per_cpu = 8,
		.top_per_cpu = 16,
		.stack_bytes = STACK_BYTES,
		.regs_below_top = 168,
	};

	if (tick == 3)
		control_set_linux_stacks(control, &stacks);
}

static void test_stacks(void)
{
	uint64_t *page;

	begin(1);
	memory_guest_map(memory, memory->regs[0].cr3, PER_CPU, 0x600);
	memory_guest_map(memory, memory->regs[0].cr3, USER, 0x601);
	page = memory_guest_page(memory, 0x600);
	page[1] = TASK;
	page[2] = STACK + STACK_BYTES;
	memory_guest_page(memory, 0x601);
	page = memory_guest_page(memory, stack_frame(0, 1));
	page[(0x1000 - 168 + 136) / 8] = 0x33;
	page[(0x1000 - 168 + 152) / 8] = USER + 0x800;
	memory->regs[0].gs_base_kernel = PER_CPU;
	scene = give_stacks;
	run(10);
	check(taken[1].vcpus[0].n_stacks == 1 && taken[1].vcpus[0].task == 0,
	      "before the stacks are described");
	for (unsigned i = 2; i < 10; i++)
		check(taken[i].vcpus[0].n_stacks == 2 && taken[i].vcpus[0].task == TASK &&
			      taken[i].vcpus[0].stack_bytes == STACK_BYTES - 0x800 &&
			      taken[i].vcpus[0].user_cut == CUT_NOT_PRESENT,
		      "sample %u has the task, its stack and the user's", i);
	check_u64(counts.retakes, 2, "retakes: one for the stack, one for the rest");
	end();
}

#define LOCK_WAIT 0x804 /* in the per-CPU page; not a multiple of 8 */

/*
 * vCPU 1 sleeps from tick 5 on. Its kernel says that it waits for a lock at ticks 8 to 11. vCPU 2
 * was never awake, so nobody knows where its per-CPU variables are.
 */
static void wait_for_lock(unsigned tick)
{
	uint32_t *page = memory_guest_page(memory, 0x601);
	const struct linux_stacks stacks = {
		.kernel_cr3 = memory->regs[0].cr3,
		.current_per_cpu = 8,
		.top_per_cpu = 16,
		.stack_bytes = STACK_BYTES,
		.regs_below_top = 168,
		.lock_wait_per_cpu = LOCK_WAIT,
	};

	control_set_linux_stacks(control, &stacks);
	memory->look.states[1] = tick < 5 ? VCPU_RUNNING : VCPU_BLOCKED;
	memory->look.states[2] = VCPU_BLOCKED;
	page[LOCK_WAIT / 4] = tick >= 8 && tick < 12;
	page[LOCK_WAIT / 4 - 1] = 77;
}

static void add_per_cpu(void)
{
	for (unsigned i = 0; i < 3; i++) {
		memory_guest_map(memory, memory->regs[0].cr3, PER_CPU + i * 0x1000, 0x600 + i);
		memory_guest_page(memory, 0x600 + i);
		memory->regs[i].gs_base_kernel = PER_CPU + i * 0x1000;
	}
}

static void test_lock_wait(void)
{
	begin(3);
	add_per_cpu();
	memory->regs[1].cr3 = memory_guest_new_table(memory) << 12; /* a process's, which may end */
	scene = wait_for_lock;
	run(13);
	check_u64(taken[3].vcpus[1].state, VCPU_RUNNING, "it runs");
	check(taken[5].vcpus[1].state == VCPU_BLOCKED && taken[5].vcpus[1].n_stacks == 0,
	      "it is idle");
	for (unsigned i = 7; i < 11; i++)
		check(taken[i].vcpus[1].state == VCPU_LOCK_WAIT && taken[i].vcpus[1].cr3,
		      "sample %u: it waits for a lock, and has registers", i);
	check(taken[11].vcpus[1].state == VCPU_BLOCKED && taken[11].vcpus[1].cr3 == 0,
	      "it is idle again");
	for (unsigned i = 0; i < n_taken; i++)
		check_u64(taken[i].vcpus[2].state, VCPU_BLOCKED, "never seen awake");
	end();
}

#define RUNSTATE 0x900 /* in the per-CPU page */

/* vCPU 1 is found asleep at each look, but it was told that it waited for 4 of each 10 ms. */
static void tell_waiting(unsigned tick)
{
	const struct linux_stacks stacks = {
		.kernel_cr3 = memory->regs[0].cr3,
		.current_per_cpu = 8,
		.top_per_cpu = 16,
		.stack_bytes = STACK_BYTES,
		.regs_below_top = 168,
		.runstate_per_cpu = RUNSTATE,
	};
	uint64_t *runstate = (uint64_t *)memory_guest_page(memory, 0x601) + RUNSTATE / 8;

	control_set_linux_stacks(control, &stacks);
	memory->look.time_ns = tick * 10000000ULL;
	memory->look.cpu_ns[0] = memory->look.time_ns;
	memory->look.cpu_ns[1] = memory->look.time_ns / 2;
	memory->look.states[1] = tick < 3 ? VCPU_RUNNING : VCPU_BLOCKED;
	runstate[2] = 111; /* running */
	runstate[3] = tick * 4000000ULL;
}

static void test_runstate(void)
{
	struct vcpu_times times[3];
	uint64_t span_ns, ticks;

	begin(3);
	add_per_cpu();
	scene = tell_waiting;
	run(50);
	control_get_times(control, times, 3);
	span_ns = times[0].span_ns;
	check(span_ns == 490000000 && times[0].ran_ns == span_ns &&
		      !times[0].waited_ns,
	      "vCPU 0 ran all the time, %" PRIu64 " ns", span_ns);
	check_u64(times[1].ran_ns, span_ns / 2, "vCPU 1 ran half of the time");
	/* 4 of each 10 ms. The guest told nothing about the first 5 ms: they may count as waits. */
	ticks = span_ns / 10000000;
	check(times[1].waited_ns >= (ticks - 3) * 4000000 &&
		      times[1].waited_ns <= (ticks - 1) * 4000000 + 5000000,
	      "and waited %" PRIu64 " ns", times[1].waited_ns);
	end();
}

/* The page of the counter goes away while nobody looks. */
static void lose_counter(unsigned tick)
{
	if (tick <= 13)
		wait_for_lock(tick == 13 ? 8 : tick);
	if (tick == 13)
		memory_guest_revoke(memory, 0x601);
}

static void test_lock_wait_lost(void)
{
	begin(3);
	add_per_cpu();
	scene = lose_counter;
	run(16);
	check(taken[11].vcpus[1].state == VCPU_BLOCKED &&
		      taken[10].vcpus[1].state == VCPU_LOCK_WAIT,
	      "before");
	check_u64(counts.faults, 1, "faults");
	check_u64(taken[12].vcpus[1].state, VCPU_BLOCKED, "what cannot be read does not wait");
	check_u64(counts.state, SAMPLER_ENDED, "and sampling goes on");
	end();
}

#define CODE 0x0000555555554000ULL

/* The page table of the code goes away: what was read of it is not what the guest has there. */
static void vanish_code_table(struct memory_guest *guest)
{
	if (guest->looks == 6)
		memory_guest_revoke(
			guest, *memory_guest_entry(guest, guest->regs[0].cr3, 4, 2, CODE) >> 12);
}

static void test_code_frame(void)
{
	begin(1);
	memory_guest_map(memory, memory->regs[0].cr3, PER_CPU, 0x600);
	memory_guest_map(memory, memory->regs[0].cr3, USER, 0x601);
	memory_guest_map(memory, memory->regs[0].cr3, CODE, 0x602);
	memory_guest_page(memory, 0x600);
	memory_guest_page(memory, 0x601);
	memory->user[0] = true;
	memory->regs[0].gs_base_kernel = PER_CPU;
	memory->regs[0].rsp = USER + 0x800;
	memory->regs[0].rip = CODE + 0x10;
	memory->on_stop = vanish_code_table;
	scene = give_stacks;
	run(8);
	check_u64(taken[1].vcpus[0].code_frame, 0, "before the stacks are described");
	for (unsigned i = 2; i < 5; i++)
		check_u64(taken[i].vcpus[0].code_frame, 0x602, "the frame of its code");
	check_u64(taken[5].vcpus[0].code_frame, 0, "a page table that goes away under the walk");
	check_u64(taken[5].vcpus[0].cut, CUT_FAULT, "told");
	check_u64(taken[7].vcpus[0].code_frame, 0, "and cannot be had then");
	end();
}

#define SLOW_HZ   100
#define READ_TICK 240 /* of 280 */
#define BUSY_HZ   200
#define BUSY_TICK 360 /* of 380 */

static unsigned n_taken_late;
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
	n_taken_late = n_taken;
	read_ns = taken[n_taken - 1].head.time_ns;
}

static void run_unread(void (*how)(unsigned tick))
{
	begin_at(1, SLOW_HZ);
	scene = how;
	run(280);
}

/* The resolver reads the files of a server's programs for 1.8 s. */
static void read_files(unsigned tick)
{
	give_stacks(tick);
	control_set_stack_top(control, memory->regs[0].cr3, STACK, STACK + STACK_BYTES);
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
	} rows[] = { { 1, 19, 1 },
		     { 1, 99, 2 },
		     { 1, 200, 4 },
		     { 4, 19, 2 },
		     { 1, RATE_MAX_HZ, 4 },
		     { GUEST_MAX_VCPUS, 1, 64 } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin_at(rows[i].n_vcpus, rows[i].rate_hz);
		check(ring_size_bytes(ring) == rows[i].mib << 20,
		      "ring of %u vCPUs at %.0f Hz: %zu bytes", rows[i].n_vcpus, rows[i].rate_hz,
		      ring_size_bytes(ring));
		end();
	}
}

static void test_busy(void)
{
	begin_at(1, BUSY_HZ);
	scene = read_files;
	run(BUSY_TICK + 20);
	check_u64(taken[BUSY_TICK / 2].vcpus[0].stack_bytes, STACK_BYTES - 0x800, "6 KiB each");
	check_u64(counts.lost, 0, "while files are read no sample is lost");
	end();
}

/*
 * The process of a sample is looked up later, so samples of a Linux guest must not wait for long.
 */
static void test_behind(void)
{
	uint64_t waited_ns;

	run_unread(read_late);
	waited_ns = read_ns - taken[0].head.time_ns;
	check(waited_ns > 1900000000 && waited_ns < 2300000000,
	      "samples for %.2f s only, with room for more", (double)waited_ns / 1e9);
	check(n_taken > n_taken_late + 10 && taken[n_taken_late].head.time_ns > read_ns + 200000000,
	      "new ones once these are read");
	check_u64(counts.lost, counts.ticks - n_taken, "the others are lost");
	check_u64(memory->stops, counts.stops, "and not stopped for");
	check(counts.stops <= n_taken + counts.retakes, "%" PRIu64 " stops for %u samples",
	      counts.stops, n_taken);
	end();
	run_unread(NULL);
	check_u64(counts.lost, 0, "samples of a unikernel wait as long as there is room");
	end();
}

/*
 * The resolver's process parses what the guest made, and it can write to the ring. Here it does so
 * at the worst moment, just after the copy. The sampler relies on its own memory only.
 */
static void scribble(struct memory_guest *guest)
{
	(void)guest;
	memset(ring_reserve(ring, 0), 0xff, sizeof(struct sample) + sizeof(struct sample_vcpu));
}

static void mix(unsigned tick)
{
	(void)tick;
	memory->look.states[2] = VCPU_BLOCKED;
}

/* The guest balloons all the time, so that every page has to be mapped anew in each tick. */
static void balloon(unsigned tick)
{
	size_t size_bytes;

	memory->look.pages = 1000 + tick;
	while (ring_peek(ring, &size_bytes))
		ring_release(ring);
}

static void test_maps_are_bounded(void)
{
	uint64_t begin_ns = clock_now_ns(), most;

	begin(4);
	control_set_rate(control, 2000);
	scene = balloon;
	run(1500);
	most = MAPS_PER_S + (MAPS_PER_S + RENEWED_PER_S) * (clock_now_ns() - begin_ns) / 1000000000;
	check(memory->maps <= most, "%u pages mapped by a guest that balloons, at most %" PRIu64,
	      memory->maps, most);
	check(memory->maps > MAPS_PER_S, "that bound was reached");
	end();
}

static void test_hostile_reader(void)
{
	const void *record;
	size_t size_bytes;

	begin(3);
	memory->on_release = scribble;
	scene = mix;
	n_ticks = 10;
	sampler_run(&memory->guest, control, ring);
	while ((record = ring_peek(ring, &size_bytes))) {
		if (size_bytes > sample_size_max(3))
			check(false, "a record of %zu bytes", size_bytes);
		ring_release(ring);
		n_taken++;
	}
	check(n_taken >= 10, "%u records, none beyond its room", n_taken);
	end();
}

/* --- in a process of its own ------------------------------------------------------------------ */

static void nap_ms(long ms)
{
	struct timespec nap = { .tv_nsec = ms * 1000000 };

	nanosleep(&nap, NULL);
}

/* Samples in the ring. Bad records do not count, so their samples are missed. */
static unsigned count_ring(void)
{
	const void *record;
	size_t size_bytes;
	unsigned n = 0;

	for (; (record = ring_peek(ring, &size_bytes)); ring_release(ring))
		n += sample_check(record, size_bytes);
	return n;
}

static int sample_in_child(void)
{
	memory->on_look = NULL;
	sampler_run(&memory->guest, control, ring);
	return memory->misuses || memory->maps != memory->unmaps ||
	       memory->stops != memory->releases;
}

static void test_process(void)
{
	int status = -1;
	unsigned total = 0;
	pid_t pid;

	made_clock.real = true;
	begin(2);
	control_set_rate(control, 2000);
	pid = fork();
	if (pid == 0)
		_exit(sample_in_child());
	for (unsigned i = 0; i < 2000 && total < PROCESS_SAMPLES;
	     i++) { /* 10 s, should the machine be that busy */
		nap_ms(5);
		total += count_ring();
	}
	control_quit(control);
	waitpid(pid, &status, 0);
	total += count_ring();
	control_get_counts(control, &counts);
	check(status == 0, "the sampler's process ends well (%#x)", status);
	check_u64(counts.state, SAMPLER_ENDED, "state");
	check(total + counts.lost + counts.skipped_budget == counts.ticks,
	      "%u samples, %" PRIu64 " ticks: all accounted for", total, counts.ticks);
	check(total >= PROCESS_SAMPLES, "samples: %u", total);
	end();
}

static unsigned sleeps;

/* The guard's signal ends a sleep 50 ms before its time. */
static uint64_t wake_to_quit(void)
{
	if (++sleeps < 20)
		return 0;
	control_quit(control);
	return -50000000ULL;
}

/* Ticks that were to be skipped in the rest of that sleep have not come. */
static void test_quit_in_a_sleep(void)
{
	begin(1);
	control_set_rate(control, 1000);
	control_set_budget(control, 1e-6);
	sleeps = 0;
	made_clock.late = wake_to_quit;
	run(100000);
	made_clock.late = NULL;
	check(counts.skipped_budget > 1000, "%" PRIu64 " ticks are skipped",
	      counts.skipped_budget);
	check(counts.ticks + counts.missed <= counts.elapsed_ns / 1000000 + 2,
	      "%" PRIu64 " ticks in %" PRIu64 " ms", counts.ticks + counts.missed,
	      counts.elapsed_ns / 1000000);
	end();
}

int main(void)
{
	fault_install();
	made_clock.reading_ns = READING_NS;
	test_plain();
	test_quits_while_it_sleeps();
	test_quit_in_a_sleep();
	test_counts();
	test_learned();
	test_bare();
	test_few_readings();
	test_blocked();
	test_long_sleep();
	test_asleep();
	test_run_time();
	test_stood();
	test_all_stood();
	test_not_run_until_the_stop();
	test_touched_before_the_look();
	test_waiting();
	test_stood_and_learned();
	test_tables_change();
	test_revoked();
	test_revoked_table();
	test_end_of_addresses();
	test_never_mapped();
	test_paused();
	test_another_xtop();
	test_gone(go_away, "gone");
	test_gone(no_answer, "no answer");
	test_goes_on();
	test_spent_credit();
	test_stop_refused();
	test_refused_stop_costs();
	test_pause_counts();
	test_xen_clock();
	test_retake_refused();
	test_retake_again();
	test_retakes_are_paid();
	test_ring_full();
	test_budget();
	test_budget_binds_and_lets_go();
	test_stacks();
	test_lock_wait();
	test_lock_wait_lost();
	test_runstate();
	test_code_frame();
	test_ring_size();
	test_busy();
	test_behind();
	test_maps_are_bounded();
	test_hostile_reader();
	test_process();
	return tap_done();
}
