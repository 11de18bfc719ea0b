/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sampler copies out of a stopped guest: all stacks of a Linux guest, and its current
 * task. The memory, the registers and struct linux_stacks come from the input. Or the guest is made
 * below, with a thread of a Go program or with a kernel of 32 bits, and the input says where the
 * vCPU is and changes words. The result must be a record that passes sample_check(). It is unwound,
 * without tables.
 */
#include "config.h"

#include "guest.h"
#include "sample/copy.h"
#include "xtop/base/fault.h"
#include "xtop/base/registers_i386.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/sample/go_stacks.h"
#include "xtop/unwind/unwind.h"

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
		stacks.entry_task_per_cpu = FUZZ_GUEST_BASE;
		stacks.task_mm = 16;
		stacks.mm_pgd = 24;
	}
	if (how & 4) {
		stacks.per_cpu_table = (uint32_t)FUZZ_GUEST_BASE;
		stacks.stack_bytes = 8192;
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
	if (arm64->pstate & PSTATE_ARM64_AARCH32)
		arm64->pstate &= ~PSTATE_ARM64_MODE; /* 32-bit user code */
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

/* --- a thread of Go --------------------------------------------------------------------------- */

/* Addresses in a page of the pool. */
#define KERNEL(page, offset) (FUZZ_GUEST_BASE + (page) * GUEST_PAGE_SIZE + (offset))
#define USER(page, offset)   (0x7fff00000000 + (page) * GUEST_PAGE_SIZE + (offset))
#define ENTRY_AREA(page)     (0xfffffe0000000000 + (page) * GUEST_PAGE_SIZE)

#define MADE_CR3 (4ULL << GUEST_PAGE_SHIFT)

/* Kernel: page 0 is per-cpu, 1 task and mm, 2 to 5 the task's stack, 6 and 7 the interrupts'. */
#define MADE_PER_CPU   KERNEL(0, 0)
#define MADE_TASK      KERNEL(1, 0)
#define MADE_MM        KERNEL(1, 0x800)
#define MADE_TOP       KERNEL(6, 0)
#define MADE_IRQ_END   KERNEL(8, 0)
#define MADE_USER_REGS (MADE_TOP - 168)

/* User: page 10 is the signals' stack, 11 has the words of Go, 12 and 14 stacks of g and g0. */
#define MADE_TLS     USER(11, 0x100)
#define MADE_G       USER(11, 0x200)
#define MADE_M       USER(11, 0x400)
#define MADE_G0      USER(11, 0x600)
#define MADE_GSIGNAL USER(11, 0x800)

static const struct linux_stacks made_stacks = {
	.current_per_cpu = 0x10,
	.top_per_cpu = 0x18,
	.irq_stack_per_cpu = 0x20,
	.tss_per_cpu = 0x100,
	.task_stack = 8,
	.stack_bytes = 4 * GUEST_PAGE_SIZE,
	.regs_below_top = 168,
	.irq_stack_bytes = 2 * GUEST_PAGE_SIZE,
	.irq_above = 8,
	.task_mm = 16,
	.mm_pgd = 24,
};
static const struct go_stacks made_go = { .g = -8, .gsignal = 72, .curg = 192 };

/* Where the vCPU is. */
static const uint64_t made_places[] = {
	USER(12, 0x800), USER(14, 0x800),    USER(10, 0x80),        KERNEL(5, 0x400),
	KERNEL(7, 0x100), ENTRY_AREA(9) - 40, ENTRY_AREA(9) - 0x100, MADE_CR3,
};

static void put(uint64_t address, uint64_t value)
{
	memory->pool[address % FUZZ_GUEST_BYTES / sizeof(value)] = value;
}

static void make_kernel(void)
{
	put(MADE_PER_CPU + made_stacks.current_per_cpu, MADE_TASK);
	put(MADE_PER_CPU + made_stacks.top_per_cpu, MADE_TOP);
	put(MADE_PER_CPU + made_stacks.irq_stack_per_cpu, MADE_IRQ_END - made_stacks.irq_above);
	put(MADE_TASK + made_stacks.task_stack, KERNEL(2, 0));
	put(MADE_TASK + made_stacks.task_mm, MADE_MM);
	put(MADE_MM + made_stacks.mm_pgd, KERNEL(9, 0));
	put(MADE_USER_REGS + 8 * PT_REGS_CS, 0x33);
	put(MADE_USER_REGS + 8 * PT_REGS_RSP, USER(14, 0x900));
	put(MADE_USER_REGS + 8 * PT_REGS_RBP, USER(14, 0x980));
	put(MADE_USER_REGS + 8 * PT_REGS_RIP, USER(15, 0x10));
	put(MADE_IRQ_END - 8, KERNEL(5, 0x500)); /* the stack that was interrupted */
	/* What the processor saves on an entry's stack. */
	put(ENTRY_AREA(9) - 32, 0x33);
	put(ENTRY_AREA(9) - 16, USER(12, 0x880));
	put(ENTRY_AREA(9) - 8, 0x2b);
}

static void make_g(uint64_t g, uint64_t low, uint64_t high, uint64_t sp)
{
	put(g + GO_G_STACK_LOW, low);
	put(g + GO_G_STACK_HIGH, high);
	put(g + GO_G_M, MADE_M);
	put(g + GO_G_SP, sp);
	put(g + GO_G_SELF, g);
}

static void make_go(const struct go_stacks *go)
{
	put(MADE_TLS + (uint64_t)(int64_t)made_go.g, MADE_G);
	put(MADE_M + GO_M_G0, MADE_G0);
	put(MADE_M + go->gsignal, MADE_GSIGNAL);
	put(MADE_M + go->curg, MADE_G);
	make_g(MADE_G, USER(12, 0), USER(13, 0), USER(12, 0xa00));
	make_g(MADE_G0, USER(14, 0), USER(15, 0), USER(14, 0xc00));
	make_g(MADE_GSIGNAL, USER(10, 0), USER(11, 0), 0);
	put(USER(14, 0xc00) - 8, MADE_G);      /* mcall() pushed it */
	put(USER(14, 0x980), USER(12, 0xb00)); /* a frame of the vDSO, called by the goroutine */
	/* A signal's struct ucontext: the start of the handler's stack, and the stack pointer. */
	put(USER(10, 0x200), USER(10, 0));
	put(USER(10, 0x200) + 144, USER(12, 0x900));
}

static void make_thread(struct fuzz *fuzz, struct control *control, struct registers *regs)
{
	struct linux_stacks stacks = made_stacks;
	uint8_t how = fuzz_u8(fuzz);

	*regs = (struct registers){
		.rsp = made_places[how % 8],
		.rbp = USER(14, 0x980),
		.rip = how & 8 ? KERNEL(15, 0x20) : USER(15, 0x20),
		.fs_base = MADE_TLS,
		.gs_base_kernel = MADE_PER_CPU,
		.cr0 = 1U << 31,
		.cr3 = MADE_CR3,
		.cr4 = 1U << 5,
	};
	stacks.top_per_cpu = how & 16 ? 0 : stacks.top_per_cpu;
	stacks.tss_per_cpu = how & 32 ? stacks.tss_per_cpu : 0;
	control_set_linux_stacks(control, &stacks);
	control_set_go_stacks(control, MADE_CR3, NULL, false);
	if (how & 64)
		control_set_go_stacks(control, MADE_CR3, &made_go, how & 128);
	memset(memory->pool, 0, sizeof(memory->pool));
	make_kernel();
	make_go(&made_go);
	fuzz_patch(fuzz, (uint8_t *)memory->pool, sizeof(memory->pool));
}

/* --- a 32-bit kernel -------------------------------------------------------------------------- */

/*
 * All pages of the pool at 3 GiB and at 0. On i386 the last two are the page tables, and not
 * mapped.
 */
#define SHORT(page, offset) (0xc0000000 + (page) * GUEST_PAGE_SIZE + (offset))
#define SHORT_TASK          SHORT(2, 0)
#define SHORT_STACK         SHORT(4, 0) /* 8 KiB */
#define SHORT_IRQ           SHORT(6, 0)
#define SHORT_POOL          0x100 /* the frame of the pool's first page */

static const struct linux_stacks short_stacks = {
	.per_cpu_table = SHORT(0, 0x100),
	.current_per_cpu = 0x10,
	.task_stack = 20,
	.stack_bytes = 2 * GUEST_PAGE_SIZE,
};

/* User code, the task's stack, the interrupts' stack, and outside of all. */
static const uint64_t short_places[] = { 0x9100, SHORT_STACK + 0x1800, SHORT_IRQ + 0x1f00,
					 SHORT(10, 0x10) };

static void put_u32(uint64_t address, uint32_t value)
{
	memcpy((char *)memory->pool + address % FUZZ_GUEST_BYTES, &value, sizeof(value));
}

static void make_short(struct control *control)
{
	memset(memory->pool, 0, sizeof(memory->pool));
	put_u32(short_stacks.per_cpu_table, SHORT(1, 0));
	put_u32(SHORT(1, 0x10), SHORT_TASK);
	put_u32(SHORT_TASK + short_stacks.task_stack, SHORT_STACK);
	control_set_linux_stacks(control, &short_stacks);
}

static void make_i386(struct fuzz *fuzz, struct control *control, struct registers *regs)
{
	uint64_t user_regs = SHORT_IRQ - I386_STACK_PADDING - PT_I386_BYTES;

	make_short(control);
	for (uint32_t i = 0; i < 14; i++)
		put_u32(SHORT(14, 4 * i), (SHORT_POOL + i) << GUEST_PAGE_SHIFT | 7);
	put_u32(SHORT(15, 0), (SHORT_POOL + 14) << GUEST_PAGE_SHIFT | 7);
	put_u32(SHORT(15, 4 * 768), (SHORT_POOL + 14) << GUEST_PAGE_SHIFT | 7);
	put_u32(user_regs + PT_I386_AT(PT_I386_CS), 0x73);
	put_u32(user_regs + PT_I386_AT(PT_I386_SP), 0x9200);
	put_u32(SHORT_IRQ, SHORT_STACK + 0x1900); /* the stack that was interrupted */
	*regs = (struct registers){
		.rsp = short_places[fuzz_u8(fuzz) % 4],
		.rip = fuzz_u8(fuzz) & 1 ? 0x8000 : SHORT(8, 0),
		.cr0 = 1U << 31,
		.cr3 = (SHORT_POOL + 15) << GUEST_PAGE_SHIFT,
		.width = WIDTH_32,
	};
	fuzz_patch(fuzz, (uint8_t *)memory->pool, sizeof(memory->pool));
}

#define PT_ARM32_SP    (SHORT_IRQ - 8 - 72 + 4 * 13) /* the user's registers end the task's stack */
#define PT_ARM32_CPSR  (SHORT_IRQ - 8 - 72 + 4 * 16)
#define ARM32_ENTERING (SHORT_IRQ - 8)

/* The page tables are the guest's: long descriptors, from the second level of arm64 on. */
static void make_arm32(struct fuzz *fuzz, struct control *control, struct registers *regs)
{
	static const uint8_t modes[] = { ARM32_MODE_USR, ARM32_MODE_SVC, ARM32_MODE_IRQ,
					 ARM32_MODE_ABT };
	struct registers_arm64 *arm = &regs->arm64;
	uint8_t how = fuzz_u8(fuzz);

	make_short(control);
	put_u32(PT_ARM32_SP, 0x9200);
	put_u32(PT_ARM32_CPSR, ARM32_MODE_USR);
	*regs = (struct registers){ .arch = ARCH_ARM64 };
	arm->pstate = PSTATE_ARM64_AARCH32 | modes[how & 3];
	arm->spsr_el1 = how & 4 ? ARM32_MODE_USR : ARM32_MODE_SVC;
	arm->x[REGISTER_ARM32_SP] = 0x9280;
	arm->x[registers_arm32_sp_place(arm->pstate)] =
		how & 8 ? ARM32_ENTERING : short_places[how >> 4 & 3];
	arm->pc = how & 0x40 ? 0x8000 : SHORT(8, 0);
	arm->sctlr = SCTLR_ARM64_M;
	arm->tcr = TTBCR_ARM32_EAE | (how & 0x80 ? 1U << TTBCR_ARM32_EPD0_SHIFT : 0);
	arm->ttbr0 = arm->ttbr1 = 3 << GUEST_PAGE_SHIFT;
	fuzz_patch(fuzz, (uint8_t *)memory->pool, sizeof(memory->pool));
}

/* --- arm64 ------------------------------------------------------------------------------------ */

#define ARM64_TABLE    (4ULL << GUEST_PAGE_SHIFT)      /* the guest's, of both halves */
#define ARM64_EMPTY    (ARM64_TABLE - GUEST_PAGE_SIZE) /* a kernel's empty table */
#define ARM64_USER     KERNEL(9, 0)                    /* the task's own table */
#define ARM64_SAVED(n) (MADE_TOP - PT_ARM64_BYTES + PT_ARM64_AT(n))

static const struct linux_stacks arm64_stacks = {
	.kernel_cr3 = ARM64_TABLE,
	.current_per_cpu = CURRENT_IN_REGISTER,
	.entry_task_per_cpu = KERNEL(0, 0),
	.per_cpu_table = KERNEL(0, 0x100),
	.task_stack = 8,
	.stack_bytes = 4 * GUEST_PAGE_SIZE,
	.regs_below_top = PT_ARM64_BYTES,
	.task_mm = 16,
	.mm_pgd = 24,
};
static const struct go_stacks arm64_go = { .g = GO_G_IN_REGISTER, .gsignal = 80, .curg = 192 };

static void make_arm64_kernel(void)
{
	put(arm64_stacks.per_cpu_table, 0x10);
	put(arm64_stacks.entry_task_per_cpu + 0x10, MADE_TASK);
	put(MADE_TASK + arm64_stacks.task_stack, KERNEL(2, 0));
	put(MADE_TASK + arm64_stacks.task_mm, MADE_MM);
	put(MADE_MM + arm64_stacks.mm_pgd, ARM64_USER);
	put(ARM64_USER, 3 << GUEST_PAGE_SHIFT | 3);
	put(ARM64_USER + 8 * (USER(0, 0) >> 39), 3 << GUEST_PAGE_SHIFT | 3);
	put(ARM64_SAVED(PT_ARM64_X0 + REGISTER_ARM64_GO_G), MADE_G);
	put(ARM64_SAVED(PT_ARM64_X29), USER(14, 0x980));
	put(ARM64_SAVED(PT_ARM64_SP), USER(14, 0x900));
	put(ARM64_SAVED(PT_ARM64_PC), USER(15, 0x10));
	put(ARM64_SAVED(PT_ARM64_X13), 0x9200);
	put(KERNEL(8, 0x100), KERNEL(5, 0x100)); /* a frame of an interrupt, to the task's stack */
}

static void make_arm64(struct fuzz *fuzz, struct control *control, struct registers *regs)
{
	static const uint64_t pstates[] = { 0, 5, PSTATE_ARM64_AARCH32 | ARM32_MODE_USR, 4 };
	static const uint64_t stack_pointers[] = { KERNEL(5, 0x400), KERNEL(8, 0x80),
						   MADE_TOP - PT_ARM64_BYTES, MADE_TOP };
	struct linux_stacks stacks = arm64_stacks;
	uint8_t how = fuzz_u8(fuzz), where = fuzz_u8(fuzz);
	struct registers_arm64 *arm = &regs->arm64;

	*regs = (struct registers){ .arch = ARCH_ARM64 };
	*arm = (struct registers_arm64){
		.x = { [PT_ARM64_X13] = 0x9300,
		       [REGISTER_ARM64_GO_G] = where & 1 ? MADE_G : MADE_G0,
		       [REGISTER_ARM64_FP] = where & 2 ? KERNEL(8, 0x100) : USER(14, 0x980) },
		.pc = where & 4 ? KERNEL(15, 0x20) : USER(15, 0x20),
		.pstate = pstates[how & 3],
		.sp_el0 = where & 8 ? MADE_TASK : made_places[where >> 4 & 3],
		.sp_el1 = stack_pointers[where >> 6],
		.spsr_el1 = pstates[how >> 2 & 3],
		.elr_el1 = USER(15, 0x10),
		.sctlr = SCTLR_ARM64_M,
		.ttbr0 = how & 0x10 ? ARM64_EMPTY : ARM64_TABLE,
		.ttbr1 = ARM64_TABLE,
		.tcr = 2ULL << TCR_ARM64_TG1_SHIFT | 16ULL << TCR_ARM64_T1SZ_SHIFT | 16,
	};
	stacks.entry_task_per_cpu = how & 0x20 ? stacks.entry_task_per_cpu : 0;
	control_set_linux_stacks(control, &stacks);
	control_set_go_stacks(control, ARM64_TABLE, NULL, false);
	if (how & 0x40)
		control_set_go_stacks(control, ARM64_TABLE, &arm64_go, how & 0x80);
	memset(memory->pool, 0, sizeof(memory->pool));
	make_go(&arm64_go);
	make_arm64_kernel();
	fuzz_patch(fuzz, (uint8_t *)memory->pool, sizeof(memory->pool));
}

/* --- the copy --------------------------------------------------------------------------------- */

static void unwind(const struct sample_vcpu *vcpu)
{
	static const struct unwind_spaces none = { 0 };
	static struct unwind_stack stack;

	unwind_stack(vcpu, &none, UNWIND_AUTO, &stack);
	fuzz_must(stack.n_frames >= 1 && stack.n_frames <= UNWIND_MAX_FRAMES, "frames are limited");
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
	copy_head(&copied, regs, user, 0, VCPU_RUNNING, &record.vcpu);
	fuzz_must(sample_get_frame(&record.vcpu).value == copied.frame.value,
		  "a frame has 40 bits");
	record.sample = (struct sample){ .n_vcpus = 1, .weight = SAMPLE_WEIGHT_TICK };
	record.sample.size_bytes = (uint32_t)sizeof(record.sample) + record.vcpu.size_bytes;
	fuzz_must(record.sample.size_bytes <= sample_size_max(1), "a record fits");
	fuzz_must(sample_check(&record, record.sample.size_bytes), "a record is right");
	unwind(&record.vcpu);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct control *control;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct guest_info guest = { .type = GUEST_PVH, .n_vcpus = 1 };
	struct copier copier = { .guest = &guest, .now_ns = 1000000000 };
	struct copy_task running = { .task = 0 };
	struct registers regs;
	uint8_t flags = fuzz_u8(&fuzz);

	memory = fuzz_guest();
	if (!control) {
		fault_install();
		fuzz_succeed(control_create(&control));
	}
	if ((flags & 0xf0) == 0xa0) {
		make_i386(&fuzz, control, &regs);
	} else if ((flags & 0xf0) == 0xb0) {
		make_arm32(&fuzz, control, &regs);
	} else if ((flags & 0xf0) == 0xc0) {
		make_arm64(&fuzz, control, &regs);
	} else if (flags & 4) {
		make_thread(&fuzz, control, &regs);
	} else {
		take_stacks(&fuzz, control);
		take_regs(&fuzz, &regs);
		control_set_stack_top(control, regs.cr3, regs.rsp, regs.rsp + fuzz_u16(&fuzz));
		fuzz_guest_fill(memory, &fuzz);
	}
	copier.control = control;
	fuzz_succeed(frame_cache_create(&mapper, flags & 2 ? 4 : 64, FRAME_CACHE_ROUND_NS,
					&copier.cache));
	copy_poll_stacks(&copier);
	if (flags & 8) {
		copy_prepare_task(&copier, regs.gs_base_kernel, walk_root(&regs), &running);
		copier.running = &running;
	}
	frame_cache_stop(copier.cache);
	fault_arm();
	copy(&copier, &regs, flags & 1);
	fault_disarm();
	frame_cache_destroy(copier.cache);
	return 0;
}
