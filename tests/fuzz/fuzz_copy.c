/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sampler copies out of a stopped guest: all stacks of a Linux guest, and its current
 * task. The memory, the registers and struct linux_stacks come from the input. The result must be a
 * record that passes sample_check().
 */
#include "config.h"

#include "guest.h"
#include "sample/copy.h"
#include "xtop/fault.h"
#include "xtop/frame_cache.h"

static struct fuzz_guest *memory;

static void *guest_map(void *context, frame_t frame)
{
	void *page = aligned_alloc(GUEST_PAGE_SIZE, GUEST_PAGE_SIZE);
	(void)context;

	if (!page)
		abort();
	if (frame.value >= 1 && frame.value <= 4)
		memcpy(page, memory->tables[frame.value - 1], GUEST_PAGE_SIZE);
	else if (frame.value >= 0x100 && frame.value < 0x110)
		memcpy(page, memory->pool + (frame.value - 0x100) * 512, GUEST_PAGE_SIZE);
	else {
		free(page);
		return NULL;
	}
	return page;
}

static void guest_unmap(void *context, void *page)
{
	(void)context;
	free(page);
}

static const struct mapper mapper = { .map = guest_map, .unmap = guest_unmap };

/* Mostly plausible numbers. */
static void take_stacks(struct fuzz *fuzz, struct control *control)
{
	struct linux_stacks stacks = {
		.current_per_cpu = fuzz_u16(fuzz),
		.top_per_cpu = fuzz_u16(fuzz),
		.irq_stack_per_cpu = fuzz_u16(fuzz),
		.task_stack = fuzz_u8(fuzz) * 8,
		.stack_bytes = 16384,
		.top_padding = fuzz_u8(fuzz) % 3 * 8,
		.regs_below_top = 168,
		.irq_stack_bytes = 16384,
		.irq_above = 8,
	};

	uint8_t how = fuzz_u8(fuzz);

	if (how & 2) {
		stacks.current_per_cpu = CURRENT_IN_REGISTER;
		stacks.regs_below_top = PT_ARM64_BYTES;
	}
	if (how & 1)
		fuzz_take(fuzz, &stacks, sizeof(stacks));
	control_set_linux_stacks(control, &stacks);
}

/* Entries of x86-64's tables that are present and writable are tables or pages of arm64, too. */
static void take_arm64(struct registers *regs)
{
	struct registers_arm64 *arm64 = &regs->arm64;

	regs->arch = ARCH_ARM64;
	arm64->ttbr0 = arm64->ttbr1 = 4 << GUEST_PAGE_SHIFT;
	arm64->sctlr |= SCTLR_ARM64_M;
	arm64->pstate &= ~PSTATE_ARM64_AARCH32;
	arm64->tcr = 2ULL << TCR_ARM64_TG1_SHIFT | 16ULL << TCR_ARM64_T1SZ_SHIFT | 16;
	arm64->sp_el0 = FUZZ_GUEST_BASE + (uint32_t)arm64->sp_el0;
	arm64->sp_el1 = FUZZ_GUEST_BASE + (uint32_t)arm64->sp_el1;
	arm64->x[29] = FUZZ_GUEST_BASE + (uint32_t)arm64->x[29];
}

static void take_regs(struct fuzz *fuzz, struct registers *regs)
{
	uint8_t how;

	fuzz_take(fuzz, regs, sizeof(*regs));
	how = fuzz_u8(fuzz);
	if (how & 0x80) {
		take_arm64(regs);
	} else if (how & 3) {
		regs->cr3 = 4 << GUEST_PAGE_SHIFT;
		regs->cr0 |= 1U << 31;
		regs->cr4 = 1U << 5;
		regs->gs_base_kernel = FUZZ_GUEST_BASE + (uint16_t)regs->gs_base_kernel;
		regs->rsp = FUZZ_GUEST_BASE + (uint32_t)regs->rsp;
	}
}

static void copy(struct copier *copier, const struct registers *regs, bool user)
{
	static union {
		struct {
			struct sample sample;
			struct sample_vcpu vcpu;
		};
		char bytes[1 << 17];
	} record;
	struct copied copied;

	copy_prepare(copier, regs, user);
	copy_vcpu(copier, regs, user, (char *)(&record.vcpu + 1), &copied);
	record.vcpu = (struct sample_vcpu){ .state = VCPU_RUNNING, .user = user };
	record.vcpu.n_stacks = (uint8_t)copied.n_stacks;
	record.vcpu.cut = (uint8_t)copied.cut;
	record.vcpu.user_cut = (uint8_t)copied.user_cut;
	sample_set_frame(&record.vcpu, copied.frame);
	fuzz_must(sample_get_frame(&record.vcpu).value == copied.frame.value,
		  "a frame has 40 bits");
	record.vcpu.size_bytes = (uint32_t)(sizeof(record.vcpu) + copied.size_bytes);
	record.sample = (struct sample){ .n_vcpus = 1, .weight = SAMPLE_WEIGHT_TICK };
	record.sample.size_bytes = (uint32_t)sizeof(record.sample) + record.vcpu.size_bytes;
	fuzz_must(record.sample.size_bytes <= sample_size_max(1), "a record fits");
	fuzz_must(sample_check(&record, record.sample.size_bytes), "a record is right");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct control *control;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct guest_info guest = { .type = GUEST_PVH, .n_vcpus = 1 };
	struct copier copier = { .guest = &guest, .now_ns = 1000000000 };
	struct registers regs;
	uint8_t flags = fuzz_u8(&fuzz);

	memory = fuzz_guest();
	if (!control) {
		fault_install();
		fuzz_succeed(control_create(&control));
	}
	take_stacks(&fuzz, control);
	take_regs(&fuzz, &regs);
	control_set_stack_top(control, regs.cr3, regs.rsp, regs.rsp + fuzz_u16(&fuzz));
	fuzz_guest_fill(memory, &fuzz);
	copier.control = control;
	fuzz_succeed(frame_cache_create(&mapper, flags & 2 ? 4 : 64, FRAME_CACHE_ROUND_NS,
					&copier.cache));
	copy_poll_stacks(&copier);
	frame_cache_stop(copier.cache);
	fault_arm();
	copy(&copier, &regs, flags & 1);
	fault_disarm();
	frame_cache_destroy(copier.cache);
	return 0;
}
