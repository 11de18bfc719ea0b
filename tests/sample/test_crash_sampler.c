/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler of --crash on a guest in memory: one that runs, one that has crashed, one that is
 * gone. A thread of the test is the resolver: it takes the samples, and between the first and the
 * second one it tells how long the stacks are.
 */
#include "config.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/support/memory_guest.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/fault.h"
#include "xtop/sample/sample.h"
#include "xtop/sample/sampler.h"

#define N_VCPUS     3
#define STACK       0xffffc90000100000ULL /* vCPU i has four pages at STACK + i * STACK_STEP */
#define STACK_STEP  0x10000ULL
#define STACK_FRAME 0x300
#define STACK_PAGES 4
#define MAX_TAKEN   4

struct taken {
	unsigned n_vcpus;
	struct {
		bool there;
		uint8_t state, user;
		uint64_t rip, last_word;
		size_t stack_bytes;
		enum sample_cut stack_cut;
	} vcpus[N_VCPUS];
};

static struct {
	struct memory_guest *memory;
	struct control *control;
	struct ring *ring;
	unsigned offline; /* bit i: stop() refuses vCPU i as one that was never started */
	/* The guest's own. */
	bool (*stop)(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n);
} guest;
/* What the resolver does and has seen. */
static struct resolver {
	struct taken taken[MAX_TAKEN];
	unsigned n_taken;
	bool quits; /* before the second sample */
} resolver;

static void begin(void)
{
	guest.memory = memory_guest_create(N_VCPUS);
	for (unsigned i = 0; i < N_VCPUS; i++) {
		for (unsigned page = 0; page < STACK_PAGES; page++) {
			uint64_t frame = STACK_FRAME + i * STACK_PAGES + page;
			uint64_t *words = memory_guest_page(guest.memory, frame);

			for (unsigned k = 0; k < 512; k++)
				words[k] = 100 * i + page;
			memory_guest_map(guest.memory, guest.memory->regs[i].cr3,
					 STACK + i * STACK_STEP + page * GUEST_PAGE_SIZE, frame);
		}
		guest.memory->regs[i].rsp = STACK + i * STACK_STEP + 0x800;
		guest.memory->regs[i].rip = 0xffffffff81000000 + i;
	}
	must(control_create(&guest.control));
	must(ring_create(sampler_ring_bytes(N_VCPUS, RATE_MIN_HZ), &guest.ring));
	resolver = (struct resolver){ .n_taken = 0 };
	guest.offline = 0;
}

static void end(void)
{
	check(guest.memory->stops == guest.memory->releases && !guest.memory->stopped &&
		      !guest.memory->misuses,
	      "%u stops, %u releases", guest.memory->stops, guest.memory->releases);
	check(guest.memory->maps == guest.memory->unmaps, "no page stays mapped");
	ring_destroy(guest.ring);
	control_destroy(guest.control);
	memory_guest_destroy(guest.memory);
}

static void keep(const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);
	struct taken *to = &resolver.taken[resolver.n_taken++];

	*to = (struct taken){ .n_vcpus = sample->n_vcpus };
	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu)) {
		const struct sample_stack *stack = sample_first_stack(vcpu);
		size_t bytes = vcpu->n_stacks ? stack->size_bytes : 0;

		to->vcpus[vcpu->vcpu].there = true;
		to->vcpus[vcpu->vcpu].state = vcpu->state;
		to->vcpus[vcpu->vcpu].user = vcpu->user;
		to->vcpus[vcpu->vcpu].rip = vcpu->regs.rip;
		to->vcpus[vcpu->vcpu].stack_cut = vcpu->stack_cut;
		to->vcpus[vcpu->vcpu].stack_bytes = bytes;
		if (bytes)
			memcpy(&to->vcpus[vcpu->vcpu].last_word,
			       (const char *)(stack + 1) + bytes - 8, 8);
	}
}

static void *resolve(void *unused)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	struct sampler_counts counts = { .state = SAMPLER_STARTING };
	const void *record;
	size_t size_bytes;

	(void)unused;
	while (counts.state <= SAMPLER_GUEST_PAUSED && resolver.n_taken < 2) {
		nanosleep(&nap, NULL);
		control_get_counts(guest.control, &counts);
		record = ring_peek(guest.ring, &size_bytes);
		if (!record)
			continue;
		check(sample_check(record, size_bytes), "sample %u is whole", resolver.n_taken + 1);
		keep(record);
		for (unsigned i = 0; i < N_VCPUS; i++)
			control_set_stack_top(
				guest.control, guest.memory->regs[i].cr3, guest.memory->regs[i].rsp,
				STACK + i * STACK_STEP + STACK_PAGES * GUEST_PAGE_SIZE);
		if (resolver.quits)
			control_quit(guest.control);
		ring_release(guest.ring);
		if (resolver.quits)
			return NULL;
	}
	control_quit(guest.control);
	return NULL;
}

/* As Xen: one vCPU that has no registers, and the whole stop fails. */
static bool stop_some(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (guest.offline >> vcpus[i].number & 1)
			return false;
	return guest.stop(context, begin_ns, vcpus, n);
}

static struct sampler_counts run(void)
{
	struct guest_ops ops = *guest.memory->guest.ops;
	struct sampler_counts counts;
	pthread_t thread;

	guest.stop = ops.stop;
	ops.stop = stop_some;
	guest.memory->guest.ops = &ops;
	pthread_create(&thread, NULL, resolve, NULL);
	crash_sampler_run(&guest.memory->guest, guest.control, guest.ring);
	pthread_join(thread, NULL);
	control_get_counts(guest.control, &counts);
	return counts;
}

/* All vCPUs of MASK, each with BYTES of stack up to the word LAST of vCPU 0, and no others. */
static bool has(const struct taken *sample, unsigned mask, size_t bytes, uint64_t last)
{
	for (unsigned i = 0; i < N_VCPUS; i++) {
		bool wanted = mask >> i & 1;

		if (sample->vcpus[i].there != wanted)
			return false;
		if (wanted && (sample->vcpus[i].rip != 0xffffffff81000000 + i ||
			       sample->vcpus[i].state != VCPU_RUNNING ||
			       sample->vcpus[i].stack_bytes != bytes ||
			       sample->vcpus[i].last_word != 100 * i + last))
			return false;
	}
	return true;
}

static void test_running(void)
{
	struct sampler_counts counts;

	begin();
	guest.memory->look.states[1] = VCPU_BLOCKED;
	guest.memory->look.states[2] = VCPU_OFFLINE;
	guest.memory->user[0] = true;
	counts = run();
	check(counts.state == SAMPLER_ENDED && resolver.n_taken == 2,
	      "a guest that runs gives two samples");
	check(has(&resolver.taken[0], 3, GUEST_PAGE_SIZE, 1),
	      "the first sample has the page that is copied of an unknown stack");
	check(has(&resolver.taken[1], 3, STACK_PAGES * GUEST_PAGE_SIZE - 0x800, STACK_PAGES - 1),
	      "the second sample has all stacks, also that of a blocked vCPU");
	check(resolver.taken[1].vcpus[0].user && !resolver.taken[1].vcpus[1].user,
	      "both samples tell which vCPUs ran user code");
	check(counts.stops == guest.memory->stops && counts.stops <= 12 && counts.stopped_ns > 0,
	      "%llu stops, all counted", (unsigned long long)counts.stops);
	check(!guest.memory->refused_stops, "a vCPU that is offline is not asked for registers");
	end();
}

static void test_crashed(void)
{
	struct sampler_counts counts;

	begin();
	guest.memory->look.life = GUEST_GONE;
	guest.memory->look.end = GUEST_END_CRASH;
	for (unsigned i = 0; i < N_VCPUS; i++)
		guest.memory->look.states[i] = VCPU_OFFLINE;
	guest.offline = 1 << 2;
	counts = run();
	check(counts.state == SAMPLER_ENDED && resolver.n_taken == 2,
	      "a guest that has crashed gives two samples");
	check(counts.ending == GUEST_END_CRASH, "how the crashed guest ended");
	check(has(&resolver.taken[1], 3, STACK_PAGES * GUEST_PAGE_SIZE - 0x800, STACK_PAGES - 1),
	      "vCPUs that were told to stop have their registers; one never started has none");
	end();
}

static void test_missing(void)
{
	begin();
	*memory_guest_entry(guest.memory, guest.memory->regs[0].cr3, 4, 1,
			    STACK + 2 * GUEST_PAGE_SIZE) = 0;
	run();
	check(resolver.n_taken == 2 && resolver.taken[1].vcpus[0].stack_cut == CUT_NOT_PRESENT &&
		      resolver.taken[1].vcpus[0].stack_bytes == 2 * GUEST_PAGE_SIZE - 0x800 &&
		      resolver.taken[1].vcpus[1].stack_bytes == 4 * GUEST_PAGE_SIZE - 0x800,
	      "a stack with a hole ends at the hole");
	end();
}

static void fails(const char *what, const char *word)
{
	struct sampler_counts counts = run();

	check(counts.state == SAMPLER_FAILED && !resolver.n_taken &&
		      strstr(control_get_message(guest.control), word),
	      "%s: %s", what, control_get_message(guest.control));
	end();
}

static void test_failures(void)
{
	begin();
	guest.memory->look.life = GUEST_GONE;
	guest.memory->look.end = GUEST_END_UNKNOWN;
	fails("destroyed", "preserve");
	begin();
	guest.memory->refuse_look = true;
	fails("Xen does not answer", "gone");
	begin();
	guest.memory->refuse_stop = true;
	fails("no stop", "registers");
	begin();
	for (unsigned i = 0; i < N_VCPUS; i++)
		guest.memory->look.states[i] = VCPU_OFFLINE;
	fails("all offline, and it runs", "no vCPU");
	begin();
	resolver.quits = true;
	check(run().state == SAMPLER_ENDED && resolver.n_taken == 1,
	      "one sample is taken if the user quits before the second");
	end();
}

int main(void)
{
	fault_install();
	test_running();
	test_crashed();
	test_missing();
	test_failures();
	return tap_done();
}
