/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the sampler share; see sampler_fixture.h. */
#include "config.h"

#include "tests/sample/sampler_fixture.h"

#define STACK_FRAME 0x300

struct sampler_fixture fixture;

uint64_t stack_frame(unsigned vcpu, unsigned page)
{
	return STACK_FRAME + vcpu * 2 + (1 - page); /* the frames are in reverse order */
}

void fill(uint64_t frame, uint64_t value)
{
	uint64_t *page = memory_guest_page(fixture.memory, frame);

	for (unsigned i = 0; i < 512; i++)
		page[i] = value;
}

static void add_stack(unsigned vcpu)
{
	for (unsigned page = 0; page < 2; page++) {
		fill(stack_frame(vcpu, page), 100 * vcpu + page);
		memory_guest_map(fixture.memory, fixture.memory->regs[vcpu].cr3,
				 STACK + vcpu * STACK_STEP + page * GUEST_PAGE_SIZE,
				 stack_frame(vcpu, page));
	}
	fixture.memory->regs[vcpu].rsp = STACK + vcpu * STACK_STEP + 0x800;
	fixture.memory->regs[vcpu].rip = 0xffffffff81000000 + vcpu;
}

static void on_look(struct memory_guest *guest)
{
	(void)guest;
	if (guest->looks > fixture.n_ticks)
		control_quit(fixture.control);
	else if (fixture.scene)
		fixture.scene(guest->looks);
}

void begin_at(unsigned n_vcpus, double rate_hz)
{
	fixture.memory = memory_guest_create(n_vcpus);
	for (unsigned i = 0; i < n_vcpus; i++)
		add_stack(i);
	fixture.memory->on_look = on_look;
	must(control_create(&fixture.control));
	control_set_rate(fixture.control, rate_hz);
	control_set_budget(fixture.control, 1);
	must(ring_create(sampler_ring_bytes(n_vcpus, rate_hz), &fixture.ring));
	fixture.n_taken = 0;
	fixture.scene = NULL;
}

void begin(unsigned n_vcpus)
{
	begin_at(n_vcpus, RATE_HZ);
}

void end(void)
{
	check(fixture.memory->stops == fixture.memory->releases && !fixture.memory->stopped,
	      "each stop has a release: %u stops, %u releases", fixture.memory->stops,
	      fixture.memory->releases);
	check(fixture.memory->maps == fixture.memory->unmaps,
	      "each mapped page is unmapped: %u mapped, %u unmapped", fixture.memory->maps,
	      fixture.memory->unmaps);
	check_u64(fixture.memory->misuses, 0,
		  "calls that misuse the guest, such as a mapping in a stop");
	ring_destroy(fixture.ring);
	control_destroy(fixture.control);
	memory_guest_destroy(fixture.memory);
}

static void keep_vcpu(struct taken *to, const struct sample_vcpu *vcpu)
{
	const struct sample_stack *stack = sample_first_stack(vcpu);

	to->vcpus[vcpu->vcpu].state = vcpu->state;
	to->vcpus[vcpu->vcpu].stack_cut = vcpu->stack_cut;
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
	struct taken *to = &fixture.taken[fixture.n_taken++];

	*to = (struct taken){ .head = *sample };
	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		keep_vcpu(to, vcpu);
}

void read_ring(void)
{
	const void *record;
	size_t size_bytes, bad = 0;

	while ((record = ring_peek(fixture.ring, &size_bytes)) && fixture.n_taken < TAKEN_MAX) {
		if (sample_check(record, size_bytes))
			keep(record);
		else
			bad++;
		ring_release(fixture.ring);
	}
	check_u64(bad, 0, "records in the ring that no reader accepts");
}

void run(unsigned ticks)
{
	fixture.n_ticks = ticks;
	sampler_run(&fixture.memory->guest, fixture.control, fixture.ring);
	control_get_counts(fixture.control, &fixture.counts);
	read_ring();
	check_u64(fixture.counts.mapped_pages, 0, "pages still mapped when sampling has ended");
}

void give_stacks(unsigned tick)
{
	const struct linux_stacks stacks = {
		.current_per_cpu = 8,
		.top_per_cpu = 16,
		.stack_bytes = STACK_BYTES,
		.regs_below_top = 168,
	};

	if (tick == 3)
		control_set_linux_stacks(fixture.control, &stacks);
}
