/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler on a guest that runs Linux (sampler_fixture.h): its stacks, its per-CPU variables,
 * and the frame of its code.
 */
#include "config.h"

#include "tests/sample/sampler_fixture.h"
#include "xtop/base/fault.h"

static void test_stacks(void)
{
	uint64_t *page;

	begin(1);
	memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, PER_CPU, 0x600);
	memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, USER, 0x601);
	page = memory_guest_page(fixture.memory, 0x600);
	page[1] = TASK;
	page[2] = STACK + STACK_BYTES;
	memory_guest_page(fixture.memory, 0x601);
	page = memory_guest_page(fixture.memory, stack_frame(0, 1));
	page[(0x1000 - 168 + 136) / 8] = 0x33;
	page[(0x1000 - 168 + 152) / 8] = USER + 0x800;
	fixture.memory->regs[0].gs_base_kernel = PER_CPU;
	fixture.scene = give_stacks;
	run(10);
	check(fixture.taken[1].vcpus[0].n_stacks == 1 && fixture.taken[1].vcpus[0].task == 0,
	      "a sample has no task before the guest's stacks are described");
	for (unsigned i = 2; i < 10; i++)
		check(fixture.taken[i].vcpus[0].n_stacks == 2 &&
			      fixture.taken[i].vcpus[0].task == TASK &&
			      fixture.taken[i].vcpus[0].stack_bytes == STACK_BYTES - 0x800 &&
			      fixture.taken[i].vcpus[0].user_cut == CUT_NOT_PRESENT,
		      "sample %u has the task, its stack and the user's", i);
	check_u64(fixture.counts.retakes, 2, "retakes: one for the stack, one for the rest");
	end();
}

#define LOCK_WAIT 0x804 /* place in the per-CPU page; not a multiple of 8 */

/*
 * vCPU 1 sleeps from tick 5 on. Its kernel says that it waits for a lock at ticks 8 to 11. vCPU 2
 * was never awake, so nobody knows where its per-CPU variables are.
 */
static void wait_for_lock(unsigned tick)
{
	uint32_t *page = memory_guest_page(fixture.memory, 0x601);
	const struct linux_stacks stacks = {
		.kernel_cr3 = fixture.memory->regs[0].cr3,
		.current_per_cpu = 8,
		.top_per_cpu = 16,
		.stack_bytes = STACK_BYTES,
		.regs_below_top = 168,
		.lock_wait_per_cpu = LOCK_WAIT,
	};

	control_set_linux_stacks(fixture.control, &stacks);
	fixture.memory->look.states[1] = tick < 5 ? VCPU_RUNNING : VCPU_BLOCKED;
	fixture.memory->look.states[2] = VCPU_BLOCKED;
	page[LOCK_WAIT / 4] = tick >= 8 && tick < 12;
	page[LOCK_WAIT / 4 - 1] = 77;
}

static void add_per_cpu(void)
{
	for (unsigned i = 0; i < 3; i++) {
		memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, PER_CPU + i * 0x1000,
				 0x600 + i);
		memory_guest_page(fixture.memory, 0x600 + i);
		fixture.memory->regs[i].gs_base_kernel = PER_CPU + i * 0x1000;
	}
}

static void test_lock_wait(void)
{
	begin(3);
	add_per_cpu();
	fixture.memory->regs[1].cr3 = memory_guest_new_table(fixture.memory)
				      << 12; /* a process's, which may end */
	fixture.scene = wait_for_lock;
	run(13);
	check_u64(fixture.taken[3].vcpus[1].state, VCPU_RUNNING,
		  "the state of vCPU 1 while it runs");
	check(fixture.taken[5].vcpus[1].state == VCPU_BLOCKED &&
		      fixture.taken[5].vcpus[1].n_stacks == 0,
	      "an idle vCPU has no stack");
	for (unsigned i = 7; i < 11; i++)
		check(fixture.taken[i].vcpus[1].state == VCPU_LOCK_WAIT &&
			      fixture.taken[i].vcpus[1].cr3,
		      "sample %u: a vCPU that waits for a lock has registers", i);
	check(fixture.taken[11].vcpus[1].state == VCPU_BLOCKED &&
		      fixture.taken[11].vcpus[1].cr3 == 0,
	      "a vCPU that does not wait for a lock any more is idle");
	for (unsigned i = 0; i < fixture.n_taken; i++)
		check_u64(fixture.taken[i].vcpus[2].state, VCPU_BLOCKED,
			  "the state of a vCPU that was never seen awake");
	end();
}

#define RUNSTATE 0x900 /* place in the per-CPU page */

/* vCPU 1 is found asleep at each look, but it was told that it waited for 4 of each 10 ms. */
static void tell_waiting(unsigned tick)
{
	const struct linux_stacks stacks = {
		.kernel_cr3 = fixture.memory->regs[0].cr3,
		.current_per_cpu = 8,
		.top_per_cpu = 16,
		.stack_bytes = STACK_BYTES,
		.regs_below_top = 168,
		.runstate_per_cpu = RUNSTATE,
	};
	uint64_t *runstate = (uint64_t *)memory_guest_page(fixture.memory, 0x601) + RUNSTATE / 8;

	control_set_linux_stacks(fixture.control, &stacks);
	fixture.memory->look.time_ns = tick * 10000000ULL;
	fixture.memory->look.cpu_ns[0] = fixture.memory->look.time_ns;
	fixture.memory->look.cpu_ns[1] = fixture.memory->look.time_ns / 2;
	fixture.memory->look.states[1] = tick < 3 ? VCPU_RUNNING : VCPU_BLOCKED;
	runstate[2] = 111; /* running */
	runstate[3] = tick * 4000000ULL;
}

static void test_runstate(void)
{
	struct vcpu_times times[3];
	uint64_t span_ns, ticks;

	begin(3);
	add_per_cpu();
	fixture.scene = tell_waiting;
	run(50);
	control_get_times(fixture.control, times, 3);
	span_ns = times[0].span_ns;
	check(span_ns == 490000000 && times[0].ran_ns == span_ns && !times[0].waited_ns,
	      "vCPU 0 ran all the time, %" PRIu64 " ns", span_ns);
	check_u64(times[1].ran_ns, span_ns / 2, "vCPU 1 ran half of the time");
	/* 4 of each 10 ms. The guest told nothing about the first 5 ms: they may count as waits. */
	ticks = span_ns / 10000000;
	check(times[1].waited_ns >= (ticks - 3) * 4000000 &&
		      times[1].waited_ns <= (ticks - 1) * 4000000 + 5000000,
	      "vCPU 1 waited as long as the guest was told: %" PRIu64 " ns", times[1].waited_ns);
	end();
}

/* The page of the counter goes away while nobody looks. */
static void lose_counter(unsigned tick)
{
	if (tick <= 13)
		wait_for_lock(tick == 13 ? 8 : tick);
	if (tick == 13)
		memory_guest_revoke(fixture.memory, 0x601);
}

static void test_lock_wait_lost(void)
{
	begin(3);
	add_per_cpu();
	fixture.scene = lose_counter;
	run(16);
	check(fixture.taken[11].vcpus[1].state == VCPU_BLOCKED &&
		      fixture.taken[10].vcpus[1].state == VCPU_LOCK_WAIT,
	      "vCPU 1 waits for the lock until the counter says that it does not");
	check_u64(fixture.counts.faults, 1, "faults that were counted");
	check_u64(fixture.taken[12].vcpus[1].state, VCPU_BLOCKED,
		  "the state of a vCPU whose lock counter cannot be read");
	check_u64(fixture.counts.state, SAMPLER_ENDED,
		  "the state after a counter's page went away: sampling goes on");
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
	memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, PER_CPU, 0x600);
	memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, USER, 0x601);
	memory_guest_map(fixture.memory, fixture.memory->regs[0].cr3, CODE, 0x602);
	memory_guest_page(fixture.memory, 0x600);
	memory_guest_page(fixture.memory, 0x601);
	fixture.memory->user[0] = true;
	fixture.memory->regs[0].gs_base_kernel = PER_CPU;
	fixture.memory->regs[0].rsp = USER + 0x800;
	fixture.memory->regs[0].rip = CODE + 0x10;
	fixture.memory->on_stop = vanish_code_table;
	fixture.scene = give_stacks;
	run(8);
	check_u64(fixture.taken[1].vcpus[0].code_frame, 0,
		  "the frame of code before the guest's stacks are described");
	for (unsigned i = 2; i < 5; i++)
		check_u64(fixture.taken[i].vcpus[0].code_frame, 0x602,
			  "the frame of the code that a vCPU ran");
	check_u64(fixture.taken[5].vcpus[0].code_frame, 0,
		  "the frame of code whose page table goes away under the walk");
	check_u64(fixture.taken[5].vcpus[0].stack_cut, CUT_FAULT,
		  "why a stack ends in a sample in which a page table went away");
	check_u64(fixture.taken[7].vcpus[0].code_frame, 0,
		  "the frame of code whose page table has gone");
	end();
}

int main(void)
{
	fault_install();
	made_clock.reading_ns = READING_NS;
	test_stacks();
	test_lock_wait();
	test_lock_wait_lost();
	test_runstate();
	test_code_frame();
	return tap_done();
}
