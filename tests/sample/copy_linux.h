/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of copies from Linux on x86-64 share: a guest that works like Linux, with and
 * without page-table isolation, and the pieces that are copied of its vCPU. Each copy runs as in
 * the sampler: in the stop, with what is mapped, into a record that must then pass sample_check().
 */
#ifndef XTOP_TESTS_COPY_LINUX_H
#define XTOP_TESTS_COPY_LINUX_H

#include "sample/stacks_go.h"
#include "sample/stacks_x86.h"
#include "copy_guest.h" /* has names that headers use for parameters */

/* The guest. The upper half has its own page table, as with page-table isolation. */
#define PER_CPU       0xffff888003a00000ULL
#define CURRENT       0x1ac40 /* per-cpu, as are the next two; in one page */
#define TOP           0x1ac48
#define IRQ_POINTER   0x1ac50
#define TASK          0xffff888004000ec0ULL
#define TASK_STACK    32
#define TASK_MM       2328
#define MM            0xffff888004206600ULL
#define START_STACK   376
#define MM_PGD        72
#define PGD           0xffff888004300000ULL
#define STACK         0xffffc90000200000ULL /* the task's, of 16 KiB */
#define STACK_TOP     (STACK + 0x4000)
#define IRQ           0xffffc90000301000ULL /* vmap() aligns to pages only */
#define IRQ_END       (IRQ + 0x4000)
/* a stack of 8 KiB begins here; a hole follows the stack */
#define EXCEPTION     0xfffffe0000009000ULL
#define EXCEPTION_END (EXCEPTION + 0x2000)
#define TSS           0x6000 /* per-cpu */
#define ENTRY_AREA    0xfffffe0000100000ULL
#define LOADED_MM     0x1ac58 /* per-cpu */
#define USER          0x00007ffc12340000ULL
#define USER_BYTES    0x10000

static struct linux_stacks stacks;
static uint64_t kernel_cr3, next_frame;
static struct {
	struct sample sample;
	struct sample_vcpu vcpu;
	char pieces[SAMPLE_STACK_LIMIT_BYTES +
		    SAMPLE_MAX_STACKS * (sizeof(struct sample_stack) + 8)];
} record;

static inline uint64_t root_of(uint64_t address)
{
	return address >> 63 ? kernel_cr3 : memory->regs[0].cr3;
}

static inline uint64_t frame_of(uint64_t address)
{
	return *memory_guest_entry(memory, root_of(address), 4, 1, address) >> 12;
}

/* SIZE bytes at ADDRESS; each word holds its own address. */
static inline void add_pages(uint64_t address, uint64_t size)
{
	for (uint64_t at = address & ~0xfffULL; at < address + size; at += GUEST_PAGE_SIZE) {
		uint64_t *page = memory_guest_page(memory, next_frame);

		for (unsigned i = 0; i < 512; i++)
			page[i] = at + 8 * i;
		memory_guest_map(memory, root_of(at), at, next_frame++);
	}
}

static inline uint64_t *word_at(uint64_t address)
{
	return (uint64_t *)memory_guest_page(memory, frame_of(address)) + address % 4096 / 8;
}

/* struct pt_regs below TOP: of user code, or of the kernel. */
static inline void put_regs(uint64_t top, uint64_t cs, uint64_t sp)
{
	*word_at(top - 168 + 136) = cs;
	*word_at(top - 168 + 152) = sp;
}

static inline void begin(void)
{
	begin_guest(0);
	kernel_cr3 = memory_guest_new_table(memory) << 12;
	next_frame = 0x500;
	add_pages(PER_CPU + CURRENT, 32);
	add_pages(TASK, 64);
	add_pages(TASK + TASK_MM, 8);
	add_pages(MM, 1024);
	add_pages(STACK, 0x4000);
	add_pages(IRQ, 0x4000);
	add_pages(EXCEPTION, 0x2000);
	add_pages(USER, USER_BYTES);
	*word_at(PER_CPU + CURRENT) = TASK;
	*word_at(PER_CPU + TOP) = STACK_TOP;
	*word_at(PER_CPU + IRQ_POINTER) = IRQ_END - 8;
	*word_at(TASK + TASK_STACK) = STACK;
	*word_at(TASK + TASK_MM) = MM;
	put_regs(STACK_TOP, 0x33, USER + 0x8000);
	stacks = (struct linux_stacks){
		.kernel_cr3 = kernel_cr3,
		.current_per_cpu = CURRENT,
		.top_per_cpu = TOP,
		.irq_stack_per_cpu = IRQ_POINTER,
		.task_stack = TASK_STACK,
		.stack_bytes = 0x4000,
		.regs_below_top = 168,
		.irq_stack_bytes = 0x4000,
		.irq_above = 8,
		.task_mm = TASK_MM,
		.mm_start_stack = START_STACK,
	};
	regs->gs_base_kernel = PER_CPU;
	regs->rsp = STACK + 0x3c00;
	regs->cs = 0x10;
}

static inline bool is_the_guests(const struct sample_stack *piece)
{
	const unsigned char *bytes = (const unsigned char *)(piece + 1);

	for (uint32_t i = 0; i < piece->size_bytes; i++) {
		uint64_t at = piece->address + i;
		const unsigned char *page = memory_guest_page(memory, frame_of(at));

		if (bytes[i] != page[at & 0xfff])
			return false;
	}
	return true;
}

/* As the sampler puts it into the ring. */
static inline void check_record(void)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);
	bool right = true;

	record.vcpu = (struct sample_vcpu){
		.size_bytes = (uint32_t)(sizeof(record.vcpu) + copied.size_bytes),
		.state = VCPU_RUNNING,
		.n_stacks = (uint8_t)copied.n_stacks,
		.stack_cut = (uint8_t)copied.stack_cut,
		.user_cut = (uint8_t)copied.user_cut,
	};
	record.sample = (struct sample){
		.size_bytes = (uint32_t)sizeof(record.sample) + record.vcpu.size_bytes,
		.n_vcpus = 1,
		.weight = SAMPLE_WEIGHT_TICK,
	};
	if (!check(sample_check(&record, record.sample.size_bytes), "the record is one"))
		return;
	for (unsigned i = 0; i < copied.n_stacks; i++, piece = sample_next_stack(piece))
		right &= is_the_guests(piece);
	if (!right)
		check(false, "a byte is not the guest's");
}

/* In the stop, with what is mapped. */
static inline void copy_now(void)
{
	memory->stopped = true; /* so that the guest counts a mapping as misuse */
	frame_cache_stop(copier.cache);
	copy_vcpu(&copier, regs, memory->user[0], record.pieces, &copied);
	memory->stopped = false;
	check_record();
}

static inline void copy_prepared(void)
{
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	copier.now_ns += 2000000000; /* what was refused is asked for again */
	copy_prepare(&copier, regs, memory->user[0]);
	copy_now();
}

static inline void copy(void)
{
	copy_prepared();
	check(!copied.missed, "one look maps all that is needed");
}

/* A piece that is expected: kind, first byte, first byte after. */
struct want {
	enum sample_stack_kind kind;
	uint64_t address, end;
};

static inline void check_pieces(const struct want *want, unsigned n, const char *what)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);

	check_u64(copied.n_stacks, n, what);
	for (unsigned i = 0; i < n && i < copied.n_stacks; i++, piece = sample_next_stack(piece))
		check(piece->kind == want[i].kind && piece->address == want[i].address &&
			      piece->address + piece->size_bytes == want[i].end,
		      "%s: piece %u of kind %u from %" PRIx64 " to %" PRIx64, what, i, piece->kind,
		      piece->address, piece->address + piece->size_bytes);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct want user_piece = { STACK_USER, USER + 0x8000,
					USER + 0x8000 + STACKS_COROUTINE_BYTES };

static inline void check_user_piece(uint64_t address, const char *what)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);
	uint64_t seen = 0;

	for (unsigned i = 0; i < copied.n_stacks; i++, piece = sample_next_stack(piece))
		if (piece->kind == STACK_USER)
			seen = piece->address;
	check_u64(seen, address, what);
}

static inline void check_cuts(enum sample_cut cut, enum sample_cut user_cut)
{
	check(copied.stack_cut == cut && copied.user_cut == user_cut,
	      "cut %d, user's %d (expected %d, %d)", copied.stack_cut, copied.user_cut, cut,
	      user_cut);
}

#endif
