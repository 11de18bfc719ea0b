/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler on a guest whose vCPUs wait for a physical CPU (sampler_fixture.h): which state they
 * have in a sample, whose stacks come from the cache, and when there is no stop at all.
 */
#include "config.h"

#include <sys/resource.h>

#include "tests/sample/sampler_fixture.h"
#include "xtop/base/fault.h"

/*
 * As on dom0's own physical CPU: each look finds the vCPU waiting. From tick 11 on, vCPU 0 runs for
 * three quarters of the time, vCPU 1 not at all.
 */
static void share_a_cpu(unsigned tick)
{
	fixture.memory->look.time_ns = tick * 10000000ULL;
	fixture.memory->look.states[0] = fixture.memory->look.states[1] = VCPU_RUNNABLE;
	fixture.memory->look.cpu_ns[0] += tick > 10 ? 7500000 : 10000000;
	fixture.memory->look.cpu_ns[1] += tick > 10 ? 0 : 10000000;
}

static unsigned count_running(unsigned vcpu, unsigned from, unsigned to)
{
	unsigned n = 0;

	for (unsigned i = from; i < to; i++)
		n += fixture.taken[i].vcpus[vcpu].state == VCPU_RUNNING;
	return n;
}

static void test_run_time(void)
{
	begin(2);
	fixture.scene = share_a_cpu;
	run(50);
	check_u64(count_running(0, 0, 10), 10, "RUNNING samples of a vCPU that ran all the time");
	check_u64(count_running(0, 10, 50), 30,
		  "RUNNING samples of a vCPU that ran three quarters of the time");
	check_u64(count_running(1, 10, 50), 0, "RUNNING samples of a vCPU that did not run");
	check(fixture.taken[20].vcpus[1].n_stacks == 1 && fixture.taken[20].vcpus[0].n_stacks == 1,
	      "both vCPUs that share a CPU have a stack");
	end();
}

/* vCPU 1's stack grows by BYTES. The word on its top is its own address. */
static void grow_stack(unsigned bytes)
{
	uint64_t *page = memory_guest_page(fixture.memory, stack_frame(1, 0));

	fixture.memory->regs[1].rsp -= bytes;
	page[fixture.memory->regs[1].rsp % GUEST_PAGE_SIZE / 8] = fixture.memory->regs[1].rsp;
}

/* vCPU 0 runs; vCPU 1 waits for a physical CPU, and gets one in tick 6 and in tick 11. */
static void wait_for_cpu(unsigned tick)
{
	bool moves = tick == 6 || tick == 11;

	fixture.memory->look.time_ns = tick * 10000000ULL;
	fixture.memory->look.states[1] = VCPU_RUNNABLE;
	fixture.memory->look.cpu_ns[0] += 10000000;
	fixture.memory->look.cpu_ns[1] += tick == 1 || moves ? 1000000 : 0;
	if (tick == 1 || moves)
		grow_stack(moves ? 0x100 : 0);
}

/* Its registers and stacks are those of its last sample, and Xen is not asked for them again. */
static void test_stood(void)
{
	begin(2);
	fixture.scene = wait_for_cpu;
	run(15);
	check_u64(fixture.n_taken, 16, "samples of a guest whose vCPU waits: one for each tick");
	check_u64(fixture.memory->n_cached, 16 - 3,
		  "cached reads: the vCPU that waits is read in ticks 1, 6 and 11");
	for (unsigned i = 0; i < fixture.n_taken; i++) {
		uint64_t rsp = STACK + STACK_STEP + 0x800 - (i >= 5) * 0x100 - (i >= 10) * 0x100;

		check(fixture.taken[i].vcpus[1].address == rsp &&
			      fixture.taken[i].vcpus[1].n_stacks == 1 &&
			      fixture.taken[i].vcpus[1].first_word == rsp &&
			      fixture.taken[i].vcpus[1].stack_bytes ==
				      fixture.taken[0].vcpus[1].stack_bytes,
		      "sample %u: the waiting vCPU has its stack as it is", i);
		check(fixture.taken[i].vcpus[0].n_stacks == 1,
		      "sample %u: the running vCPU has its stack", i);
	}
	end();
}

/* Both vCPUs wait for a physical CPU. vCPU 0 gets one in tick 6. */
static void wait_both(unsigned tick)
{
	fixture.memory->look.time_ns = tick * 10000000ULL;
	fixture.memory->look.states[0] = fixture.memory->look.states[1] = VCPU_RUNNABLE;
	fixture.memory->look.cpu_ns[0] += tick == 1 || tick == 6 ? 1000000 : 0;
	fixture.memory->look.cpu_ns[1] += tick == 1 ? 1000000 : 0;
	if (tick == 1)
		grow_stack(0);
}

/* Where no vCPU has run since the last sample, the guest is not stopped. */
static void test_all_stood(void)
{
	unsigned n_stopped = 0;

	begin(2);
	fixture.scene = wait_both;
	run(10);
	for (unsigned i = 0; i < fixture.n_taken; i++) {
		check(fixture.taken[i].vcpus[0].n_stacks == 1 &&
			      fixture.taken[i].vcpus[1].n_stacks == 1 &&
			      fixture.taken[i].vcpus[1].first_word == STACK + STACK_STEP + 0x800 &&
			      fixture.taken[i].head.weight,
		      "sample %u has the stacks of both waiting vCPUs", i);
		n_stopped += fixture.taken[i].head.stopped_ns > 0;
	}
	check(fixture.n_taken >= 10 && n_stopped == 2, "%u of %u samples took a stop", n_stopped,
	      fixture.n_taken);
	check(fixture.counts.stops == 2 + fixture.counts.retakes &&
		      fixture.memory->stops == fixture.counts.stops,
	      "two vCPUs that wait take two stops, and their retakes: %" PRIu64,
	      fixture.counts.stops);
	end();
}

static bool (*real_stop)(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n);

/* Between the third look and the stop after it, the vCPU that waits runs for a moment. */
static bool stop_late(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	if (fixture.memory->looks == 3) {
		fixture.memory->look.cpu_ns[1] += 10;
		grow_stack(0x10);
	}
	return real_stop(context, begin_ns, vcpus, n);
}

static void test_not_run_until_the_stop(void)
{
	struct guest_ops ops;
	uint64_t rsp;

	begin(2);
	fixture.scene = wait_for_cpu;
	ops = *fixture.memory->guest.ops;
	real_stop = ops.stop;
	ops.stop = stop_late;
	fixture.memory->guest.ops = &ops;
	run(4);
	rsp = STACK + STACK_STEP + 0x800;
	check_u64(fixture.taken[1].vcpus[1].address, rsp,
		  "sample 1: the stack of a vCPU that waits");
	check_u64(fixture.taken[2].vcpus[1].address, rsp - 0x10,
		  "sample 2: the stack of a vCPU that has run since the look");
	check(fixture.taken[2].vcpus[1].first_word == rsp - 0x10,
	      "sample 2: the stack's bytes are new, too");
	check_u64(fixture.taken[3].vcpus[1].address, rsp - 0x10,
		  "sample 3: the stack of that vCPU, read anew");
	check_u64(fixture.taken[4].vcpus[1].address, rsp - 0x10,
		  "sample 4: the stack of that vCPU, which waits");
	check_u64(fixture.memory->n_cached, 2, "reads from the cache: samples 1 and 4");
	end();
}

/*
 * The vCPU waits for a physical CPU, and has run between two ticks. The first tick needs a stop, as
 * nothing is mapped yet. Each later one has two looks, the first one with an even number.
 */
static void wait_alone(unsigned look)
{
	fixture.memory->look.states[0] = VCPU_RUNNABLE;
	fixture.memory->look.cpu_ns[0] += look == 1 || look % 2 == 0 || look == 9 ? 1000000 : 0;
}

static bool peek(void *context, struct guest_vcpu *vcpus, unsigned n)
{
	(void)context;
	for (unsigned i = 0; i < n; i++) {
		vcpus[i].regs = fixture.memory->regs[vcpus[i].number];
		vcpus[i].user = false;
	}
	return true;
}

/* A guest whose vCPU waits is not stopped, unless the vCPU runs while it is read. */
static void test_waiting(void)
{
	struct guest_ops ops;

	begin(1);
	fixture.scene = wait_alone;
	ops = *fixture.memory->guest.ops;
	ops.peek = peek;
	fixture.memory->guest.ops = &ops;
	run(21);
	for (unsigned i = 0; i < fixture.n_taken; i++)
		check(fixture.taken[i].vcpus[0].n_stacks == 1 && fixture.taken[i].head.weight &&
			      fixture.taken[i].vcpus[0].address == STACK + 0x800 &&
			      (fixture.taken[i].head.stopped_ns > 0) == (i == 0 || i == 4),
		      "sample %u: a vCPU that waits alone has its stack, without a stop if it stood still",
		      i);
	check(fixture.n_taken >= 10 && fixture.memory->stops == 3,
	      "%u stops for %u samples: the first one and its retake, and one that was overtaken",
	      fixture.memory->stops, fixture.n_taken);
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
	fixture.memory->look.states[0] = tick % 8 ? VCPU_BLOCKED : VCPU_RUNNING;
	faults_at_look = count_faults();
}

static bool stop_and_count(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	/* Its code has run, its own memory was used; and run_at_times() was called. */
	if (fixture.memory->looks > 16 && fixture.memory->looks <= fixture.n_ticks)
		faults_before_stop += count_faults() - faults_at_look;
	return real_stop(context, begin_ns, vcpus, n);
}

/* The pages of a new ring get their memory before the look, even if the guest slept until then. */
static void test_touched_before_the_look(void)
{
	struct guest_ops ops;

	begin_at(1, 200);
	fixture.scene = run_at_times;
	ops = *fixture.memory->guest.ops;
	real_stop = ops.stop;
	ops.stop = stop_and_count;
	fixture.memory->guest.ops = &ops;
	run(64);
	check(!faults_before_stop && fixture.counts.stops >= 8,
	      "%ld faults between look and stop, %" PRIu64 " stops", faults_before_stop,
	      fixture.counts.stops);
	end();
}

static void learn_while_it_waits(unsigned tick)
{
	wait_for_cpu(tick < 6 ? tick : 2);
	fixture.memory->look.time_ns = tick * 10000000ULL;
	if (tick == 4)
		control_set_stack_top(fixture.control, fixture.memory->regs[1].cr3,
				      STACK + STACK_STEP + 0x800, STACK + STACK_STEP + 0xa00);
}

/* What is known of the stack's length changes meanwhile. */
static void test_stood_and_learned(void)
{
	begin(2);
	fixture.scene = learn_while_it_waits;
	run(5);
	check_u64(fixture.taken[2].vcpus[1].stack_bytes, fixture.taken[0].vcpus[1].stack_bytes,
		  "bytes of the stack from the cache");
	check_u64(fixture.taken[3].vcpus[1].stack_bytes, 0x200,
		  "bytes of a cached stack whose length was learned meanwhile");
	check_u64(fixture.taken[5].vcpus[1].stack_bytes, 0x200,
		  "bytes of the next sample: the copy with the new length is cached");
	check_u64(fixture.memory->n_cached, 4,
		  "reads from the cache: all but the first sample and the one with a new length");
	end();
}

int main(void)
{
	fault_install();
	made_clock.reading_ns = READING_NS;
	test_run_time();
	test_stood();
	test_all_stood();
	test_not_run_until_the_stop();
	test_touched_before_the_look();
	test_waiting();
	test_stood_and_learned();
	return tap_done();
}
