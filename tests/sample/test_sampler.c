/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler on a guest in memory (sampler_fixture.h): what a sample has, which vCPUs are in it,
 * and what happens when pages move or go away. The last test but one runs the sampler in its own
 * process and in real time.
 */
#include "config.h"

#include <sys/wait.h>
#include <time.h>

#include "tests/sample/sampler_fixture.h"
#include "xtop/base/fault.h"

#define PROCESS_SAMPLES 300

/*
 * --- samples -----------------------------------------------------------------------------------
 */

static void test_plain(void)
{
	uint64_t last_ns = 0;
	bool ordered = true;

	begin(1);
	fixture.memory->user[0] = true;
	run(20);
	check_u64(fixture.counts.state, SAMPLER_ENDED,
		  "the sampler's state once it was told to quit");
	check_u64(fixture.n_taken, 21, "samples: one a tick, and one as the sampler quits");
	check(fixture.counts.ticks == fixture.n_taken &&
		      fixture.counts.stops == fixture.n_taken + 1 && fixture.counts.retakes == 1,
	      "%" PRIu64 " ticks, %" PRIu64 " stops, %" PRIu64 " retakes", fixture.counts.ticks,
	      fixture.counts.stops, fixture.counts.retakes);
	check(fixture.taken[0].head.flags & SAMPLE_RETAKE,
	      "the first sample was taken again once its pages were mapped");
	check(!(fixture.taken[1].head.flags & SAMPLE_RETAKE),
	      "the second sample was not taken again");
	for (unsigned i = 0; i < fixture.n_taken; i++) {
		ordered &=
			fixture.taken[i].head.time_ns > last_ns && fixture.taken[i].head.stopped_ns;
		ordered &= fixture.taken[i].head.period_ns == 1000000000 / RATE_HZ;
		last_ns = fixture.taken[i].head.time_ns;
	}
	check(ordered, "samples have ascending times, stopped times and periods");
	check(fixture.taken[0].vcpus[0].stack_bytes == 4096 &&
		      fixture.taken[0].vcpus[0].stack_cut == CUT_LIMIT,
	      "a sample has a page of stack if nothing is known of the stack's end");
	check(fixture.taken[0].vcpus[0].address == STACK + 0x800 &&
		      fixture.taken[0].vcpus[0].first_word == 0,
	      "the copied stack begins at the stack pointer");
	check(fixture.taken[0].vcpus[0].user == 1 &&
		      fixture.taken[0].vcpus[0].cr3 == fixture.memory->regs[0].cr3,
	      "a sample has the vCPU's registers and mode");
	end();
}

static uint64_t quit_after_first(void)
{
	if (fixture.memory->looks == 1)
		control_quit(fixture.control);
	return 0;
}

static void test_quits_while_it_sleeps(void)
{
	begin_at(1, 1);
	made_clock.late = quit_after_first;
	run(5);
	made_clock.late = NULL;
	check(fixture.counts.ticks == 1 && fixture.n_taken == 1,
	      "a sampler that quits in a sleep does not count the next tick: %" PRIu64
	      " ticks, %u samples",
	      fixture.counts.ticks, fixture.n_taken);
	end();
}

static void test_counts(void)
{
	struct stopped_summary summary;

	begin(2);
	run(30);
	control_get_stopped(fixture.control, &summary);
	check_u64(summary.n, fixture.counts.stops,
		  "stopped times in the histogram: one for each stop");
	check_u64(fixture.memory->stops, fixture.counts.stops,
		  "stops that the counters have: all that the guest has seen");
	check(fixture.counts.stopped_ns >= summary.n * summary.min_ns &&
		      fixture.counts.stopped_ns <= summary.n * summary.max_ns,
	      "the sum of stopped times fits the least and the most of them");
	check_u64(fixture.counts.maps, fixture.memory->maps,
		  "maps that the counters have: all that the guest has seen");
	check(fixture.counts.elapsed_ns >= 29 * 1000000000ULL / RATE_HZ,
	      "the elapsed time has all periods");
	check(fixture.counts.rate_asked_hz == RATE_HZ,
	      "the counters have the rate that was asked for");
	check(fixture.counts.cpu_ns > 0, "the counters have the sampler's CPU time");
	end();
}

static void learn(unsigned tick)
{
	if (tick == 3)
		control_set_stack_top(fixture.control, fixture.memory->regs[0].cr3, STACK,
				      STACK + 0x820);
	if (tick == 6)
		control_set_stack_top(fixture.control, fixture.memory->regs[0].cr3, STACK,
				      STACK + STACK_BYTES);
	if (tick == 9)
		control_set_stack_top(fixture.control, fixture.memory->regs[0].cr3, STACK,
				      STACK + 0x100);
	if (tick == 12)
		control_set_stack_top(fixture.control, fixture.memory->regs[0].cr3, STACK,
				      STACK + 0xfffff);
}

static void test_learned(void)
{
	begin(1);
	fixture.scene = learn;
	run(15);
	check_u64(fixture.taken[1].vcpus[0].stack_bytes, 4096,
		  "bytes of a stack whose end was not learned");
	check_u64(fixture.taken[2].vcpus[0].stack_bytes, 0x20,
		  "bytes of a stack whose end was learned");
	check_u64(fixture.taken[5].vcpus[0].stack_bytes, STACK_BYTES - 0x800,
		  "bytes of a stack that was learned to be longer");
	check_u64(fixture.taken[8].vcpus[0].stack_bytes, 4096,
		  "bytes of a stack whose learned end is below the stack pointer");
	check_u64(fixture.taken[11].vcpus[0].stack_bytes, STACK_BYTES - 0x800,
		  "bytes of a stack whose learned end is beyond its pages");
	check_u64(fixture.taken[11].vcpus[0].stack_cut, CUT_NOT_PRESENT,
		  "why a copy ends at the last page that is there");
	check_u64(fixture.counts.retakes, 1, "retakes: only the first sample has one");
	end();
}

static void test_bare(void)
{
	begin(2);
	fixture.memory->look.states[1] = VCPU_BLOCKED;
	fixture.memory->user[0] = true;
	fixture.n_ticks = 10;
	sampler_run_bare(&fixture.memory->guest, fixture.control, fixture.ring);
	control_get_counts(fixture.control, &fixture.counts);
	read_ring();
	check(fixture.counts.stops == fixture.n_taken && fixture.n_taken == 11 &&
		      fixture.counts.retakes == 0,
	      "without stacks each tick has one stop: %" PRIu64 " for %u samples",
	      fixture.counts.stops, fixture.n_taken);
	check_u64(fixture.memory->maps, 0, "pages mapped while no stacks are copied");
	check(fixture.taken[3].head.stopped_ns &&
		      fixture.taken[3].vcpus[0].cr3 == fixture.memory->regs[0].cr3 &&
		      fixture.taken[3].vcpus[0].user == 1,
	      "a sample without stacks has registers");
	check(fixture.taken[3].vcpus[0].n_stacks == 0 &&
		      fixture.taken[3].vcpus[0].stack_cut == CUT_LIMIT,
	      "a sample without stacks says that they were cut");
	check(fixture.taken[3].vcpus[1].state == VCPU_BLOCKED,
	      "a sample without stacks has the idle vCPU");
	end();
}

/*
 * --- which vCPUs -------------------------------------------------------------------------------
 */

static void block(unsigned tick)
{
	fixture.memory->look.time_ns = tick * 10000000ULL; /* and no vCPU runs, by Xen's count */
	fixture.memory->look.states[0] = tick > 5 ? VCPU_BLOCKED : VCPU_RUNNING;
	fixture.memory->look.states[1] = VCPU_BLOCKED;
	fixture.memory->look.states[2] = tick > 5 ? VCPU_OFFLINE : VCPU_RUNNABLE;
	fixture.memory->look.states[3] = VCPU_OFFLINE;
}

static void sleep_always(unsigned tick)
{
	(void)tick;
	fixture.memory->look.states[0] = VCPU_BLOCKED;
}

/*
 * A reading may be a system call. A tick reads the clock when it begins to sleep and when it wakes;
 * a stop reads it before and after. The start, the first sample's retake and the CPU time of each
 * second read a few more.
 */
static void test_few_readings(void)
{
	uint64_t before = made_clock.readings, n;

	begin(1);
	run(200);
	n = made_clock.readings - before;
	check(fixture.n_taken >= 200 && n <= 4 * fixture.counts.ticks + 20,
	      "the clock is read %" PRIu64 " times in %" PRIu64 " ticks with a stop", n,
	      fixture.counts.ticks);
	end();
	before = made_clock.readings;
	begin(1);
	fixture.scene = sleep_always;
	run(200);
	n = made_clock.readings - before;
	check(fixture.counts.idle_ticks >= 200 && n <= 2 * fixture.counts.ticks + 20,
	      "the clock is read %" PRIu64 " times in %" PRIu64 " ticks without one", n,
	      fixture.counts.ticks);
	end();
}

static void test_blocked(void)
{
	begin(4);
	fixture.scene = block;
	run(10);
	check(fixture.memory->n_stopped_vcpus == 2 && fixture.memory->stopped_vcpus[0] == 0 &&
		      fixture.memory->stopped_vcpus[1] == 2,
	      "the stop reads only vCPUs that want to run");
	check_u64(fixture.memory->stops, 6, "stops: five, and a retake");
	check(fixture.counts.idle_ticks >= 5, "idle ticks: %" PRIu64, fixture.counts.idle_ticks);
	check_u64(fixture.taken[1].head.n_vcpus, 4,
		  "vCPUs in a sample of which two want to run: all");
	check(fixture.taken[1].vcpus[0].state == VCPU_RUNNING &&
		      fixture.taken[1].vcpus[0].n_stacks == 1,
	      "a running vCPU has its state and a stack");
	check(fixture.taken[1].vcpus[2].state == VCPU_RUNNABLE &&
		      fixture.taken[1].vcpus[2].n_stacks == 1,
	      "a runnable vCPU has its state and a stack");
	check(fixture.taken[1].vcpus[1].state == VCPU_BLOCKED &&
		      fixture.taken[1].vcpus[1].n_stacks == 0,
	      "a blocked vCPU has its state alone");
	check(fixture.taken[1].vcpus[3].state == VCPU_OFFLINE &&
		      fixture.taken[1].vcpus[3].n_stacks == 0,
	      "an offline vCPU has its state alone");
	check(fixture.taken[7].head.n_vcpus == 4 && fixture.taken[7].head.stopped_ns == 0 &&
		      fixture.taken[7].head.time_ns,
	      "a sample without busy vCPUs has all states and no stopped time");
	check(fixture.counts.stops == 6, "the guest is not stopped while no vCPU wants to run");
	end();
}

static void sleep_long(unsigned tick)
{
	fixture.memory->look.states[0] = tick == 1 || tick > 40 ? VCPU_RUNNING : VCPU_BLOCKED;
}

/* A vCPU that has slept for 40 s: its stack's pages are still mapped, and one stop is enough. */
static void test_long_sleep(void)
{
	begin_at(1, 1);
	fixture.scene = sleep_long;
	run(41);
	check(fixture.n_taken >= 41 && fixture.taken[40].vcpus[0].n_stacks == 1,
	      "a vCPU that wakes after 40 s has a stack");
	check(!(fixture.taken[40].head.flags & SAMPLE_RETAKE) && fixture.counts.retakes == 1,
	      "a vCPU that wakes after 40 s needs no retake: %" PRIu64 " retakes",
	      fixture.counts.retakes);
	end();
}

static void wake_late(unsigned tick)
{
	fixture.memory->look.states[0] = VCPU_OFFLINE;
	fixture.memory->look.states[1] = tick > 5 ? VCPU_RUNNING : VCPU_BLOCKED;
	fixture.memory->look.states[2] = VCPU_BLOCKED;
}

/*
 * The resolver learns from the first stop which system it is, so there is one though nothing runs.
 */
static void test_asleep(void)
{
	begin(3);
	fixture.scene = wake_late;
	run(10);
	check(fixture.taken[0].head.stopped_ns && fixture.taken[0].vcpus[1].state == VCPU_BLOCKED &&
		      fixture.taken[0].vcpus[1].cr3 == fixture.memory->regs[1].cr3,
	      "the first sample of a sleeping guest has the registers of one vCPU");
	check(fixture.taken[0].vcpus[1].n_stacks == 0 && fixture.taken[0].vcpus[2].cr3 == 0,
	      "the first sample of a sleeping guest has no stack, and no other registers");
	check_u64(fixture.taken[0].head.n_vcpus, 3,
		  "vCPUs in the first sample of a sleeping guest: all");
	check(!fixture.taken[1].head.stopped_ns && !fixture.taken[4].head.stopped_ns &&
		      fixture.counts.idle_ticks == 4,
	      "a sleeping guest is stopped once");
	check(fixture.taken[5].vcpus[1].state == VCPU_RUNNING &&
		      fixture.taken[5].vcpus[1].n_stacks == 1,
	      "a vCPU that wakes up has a stack");
	end();
}

/*
 * --- pages -------------------------------------------------------------------------------------
 */

static void move_stack(unsigned tick)
{
	if (tick == 4) { /* the page at the stack pointer is another frame now */
		fill(0x500, 4);
		memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, STACK, 0x500);
	}
	if (tick == 8) { /* another address space with a stack at the same address */
		fixture.memory->regs[0].cr3 = memory_guest_new_table(fixture.memory) << 12;
		fill(0x501, 8);
		memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, STACK, 0x501);
	}
	if (tick == 12) { /* ballooned out and in again: the frame's number stays */
		fixture.memory->look.pages++;
		memory_guest_exchange(fixture.memory, 0x501);
		fill(0x501, 12);
	}
}

static void test_tables_change(void)
{
	begin(1);
	fixture.scene = move_stack;
	run(16);
	for (unsigned tick = 1; tick <= 16; tick++)
		check_u64(fixture.taken[tick - 1].vcpus[0].first_word,
			  tick < 16 ? tick / 4 * 4 : 12,
			  "the word on the stack comes from the page that is there now");
	check_u64(fixture.counts.retakes, 4, "retakes: at first and after each change of the page");
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
	fixture.memory->on_stop = vanish_in_stop;
	run(10);
	check_u64(fixture.counts.faults, 1, "faults that were counted");
	check(fixture.taken[3].vcpus[0].stack_cut == CUT_LIMIT &&
		      fixture.taken[3].vcpus[1].stack_cut == CUT_LIMIT,
	      "both stacks are whole before a page goes away");
	check_u64(fixture.taken[4].vcpus[0].stack_cut, CUT_FAULT,
		  "why a copy ends whose page goes away under it");
	check_u64(fixture.taken[5].vcpus[0].stack_cut, CUT_NOT_MAPPED,
		  "why a copy ends whose page Xen does not map any more");
	check(fixture.taken[5].vcpus[1].stack_cut == CUT_LIMIT &&
		      fixture.taken[9].vcpus[1].stack_cut == CUT_LIMIT,
	      "the other vCPU's stack is copied on");
	check(fixture.n_taken >= 10, "samples go on after a page went away");
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
	fixture.memory->on_stop = vanish_table;
	run(8);
	check_u64(fixture.counts.faults, 1, "faults that were counted");
	check(fixture.taken[4].vcpus[0].stack_cut == CUT_FAULT &&
		      fixture.taken[4].vcpus[1].stack_cut == CUT_FAULT,
	      "both vCPUs of a lost page table say that their copies may be wrong");
	end();
}

static void stack_at_the_end(unsigned tick)
{
	if (tick == 1) {
		fill(0x502, 1);
		memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, UINT64_MAX, 0x502);
		fixture.memory->regs[0].rsp = UINT64_MAX - 15;
	}
}

static void test_end_of_addresses(void)
{
	begin(1);
	fixture.scene = stack_at_the_end;
	run(5);
	/* And read_ring() found no bad record. */
	check_u64(fixture.taken[2].vcpus[0].stack_bytes, 15,
		  "bytes of a stack 15 bytes below the end of the address space");
	end();
}

/* A page that Xen never maps must not cost the guest a second stop at each tick. */
static void test_never_mapped(void)
{
	begin(1);
	memory_guest_revoke(fixture.memory, stack_frame(0, 0));
	run(20);
	check(fixture.memory->stops <= fixture.n_taken + 1,
	      "a page that Xen never maps costs one retake: %u stops for %u samples",
	      fixture.memory->stops, fixture.n_taken);
	check_u64(fixture.taken[19].vcpus[0].stack_cut, CUT_NOT_MAPPED,
		  "why the copy of a page ends that Xen never maps");
	end();
}

/*
 * --- in a process of its own -------------------------------------------------------------------
 */

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

	for (; (record = ring_peek(fixture.ring, &size_bytes)); ring_release(fixture.ring))
		n += sample_check(record, size_bytes);
	return n;
}

static int sample_in_child(void)
{
	fixture.memory->on_look = NULL;
	sampler_run(&fixture.memory->guest, fixture.control, fixture.ring);
	return fixture.memory->misuses || fixture.memory->maps != fixture.memory->unmaps ||
	       fixture.memory->stops != fixture.memory->releases;
}

static void test_process(void)
{
	int status = -1;
	unsigned total = 0;
	pid_t pid;

	made_clock.real = true;
	begin(2);
	control_set_rate(fixture.control, 2000);
	pid = fork();
	if (pid == 0)
		_exit(sample_in_child());
	for (unsigned i = 0; i < 2000 && total < PROCESS_SAMPLES;
	     i++) { /* 10 s, should the machine be that busy */
		nap_ms(5);
		total += count_ring();
	}
	control_quit(fixture.control);
	waitpid(pid, &status, 0);
	total += count_ring();
	control_get_counts(fixture.control, &fixture.counts);
	check(status == 0, "the sampler's process ends well (%#x)", status);
	check_u64(fixture.counts.state, SAMPLER_ENDED,
		  "the state that the sampler's process leaves behind");
	check(total + fixture.counts.lost + fixture.counts.skipped_budget == fixture.counts.ticks,
	      "each tick has a sample or a counter: %u samples, %" PRIu64
	      " ticks: all accounted for",
	      total, fixture.counts.ticks);
	check(total >= PROCESS_SAMPLES, "a sampler in its own process gives enough samples: %u",
	      total);
	end();
}

static unsigned sleeps;

/* The guard's signal ends a sleep 50 ms before its time. */
static uint64_t wake_to_quit(void)
{
	if (++sleeps < 20)
		return 0;
	control_quit(fixture.control);
	return -50000000ULL;
}

/* Ticks that were to be skipped in the rest of that sleep have not come. */
static void test_quit_in_a_sleep(void)
{
	begin(1);
	control_set_rate(fixture.control, 1000);
	control_set_budget(fixture.control, 1e-6);
	sleeps = 0;
	made_clock.late = wake_to_quit;
	run(100000);
	made_clock.late = NULL;
	check(fixture.counts.skipped_budget > 1000,
	      "%" PRIu64 " ticks are skipped with a tiny budget", fixture.counts.skipped_budget);
	check(fixture.counts.ticks + fixture.counts.missed <=
		      fixture.counts.elapsed_ns / 1000000 + 2,
	      "%" PRIu64 " ticks in %" PRIu64 " ms", fixture.counts.ticks + fixture.counts.missed,
	      fixture.counts.elapsed_ns / 1000000);
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
	test_tables_change();
	test_revoked();
	test_revoked_table();
	test_end_of_addresses();
	test_never_mapped();
	test_process();
	return tap_done();
}
