/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied for the vCPU of a Linux guest: a guest that works like Linux,
 * with and without page-table isolation, and a guest in which every word is a lie. Each copy runs
 * as in the sampler: in the stop, with what is mapped, into a record that must then pass
 * sample_check().
 */
#include "config.h"

#include <stdlib.h>

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
#define EXCEPTION     0xfffffe0000009000ULL /* of 8 KiB, with a hole behind it */
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

static uint64_t root_of(uint64_t address)
{
	return address >> 63 ? kernel_cr3 : memory->regs[0].cr3;
}

static uint64_t frame_of(uint64_t address)
{
	return *memory_guest_entry(memory, root_of(address), 4, 1, address) >> 12;
}

/* SIZE bytes at ADDRESS; each word holds its own address. */
static void add_pages(uint64_t address, uint64_t size)
{
	for (uint64_t at = address & ~0xfffULL; at < address + size; at += GUEST_PAGE_SIZE) {
		uint64_t *page = memory_guest_page(memory, next_frame);

		for (unsigned i = 0; i < 512; i++)
			page[i] = at + 8 * i;
		memory_guest_map(memory, root_of(at), at, next_frame++);
	}
}

static uint64_t *word_at(uint64_t address)
{
	return (uint64_t *)memory_guest_page(memory, frame_of(address)) + address % 4096 / 8;
}

/* struct pt_regs below TOP: of user code, or of the kernel. */
static void put_regs(uint64_t top, uint64_t cs, uint64_t sp)
{
	*word_at(top - 168 + 136) = cs;
	*word_at(top - 168 + 152) = sp;
}

static void begin(void)
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

/* --- copies ----------------------------------------------------------------------------------- */

static bool is_the_guests(const struct sample_stack *piece)
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
static void check_record(void)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);
	bool right = true;

	record.vcpu = (struct sample_vcpu){
		.size_bytes = (uint32_t)(sizeof(record.vcpu) + copied.size_bytes),
		.state = VCPU_RUNNING,
		.n_stacks = (uint8_t)copied.n_stacks,
		.cut = (uint8_t)copied.cut,
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
static void copy_now(void)
{
	memory->stopped = true; /* so that the guest counts a mapping as misuse */
	frame_cache_stop(copier.cache);
	copy_vcpu(&copier, regs, memory->user[0], record.pieces, &copied);
	memory->stopped = false;
	check_record();
}

static void copy_prepared(void)
{
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	copier.now_ns += 2000000000; /* what was refused is asked for again */
	copy_prepare(&copier, regs, memory->user[0]);
	copy_now();
}

static void copy(void)
{
	copy_prepared();
	check(!copied.missed, "one look maps all that is needed");
}

/* A piece that is expected: kind, first byte, first byte behind. */
struct want {
	enum sample_stack_kind kind;
	uint64_t address, end;
};

static void check_pieces(const struct want *want, unsigned n, const char *what)
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

static void check_user_piece(uint64_t address, const char *what)
{
	const struct sample_stack *piece = sample_first_stack(&record.vcpu);
	uint64_t seen = 0;

	for (unsigned i = 0; i < copied.n_stacks; i++, piece = sample_next_stack(piece))
		if (piece->kind == STACK_USER)
			seen = piece->address;
	check_u64(seen, address, what);
}

static void check_cuts(enum sample_cut cut, enum sample_cut user_cut)
{
	check(copied.cut == cut && copied.user_cut == user_cut,
	      "cut %d, user's %d (expected %d, %d)", copied.cut, copied.user_cut, cut, user_cut);
}

/* --- before the stop -------------------------------------------------------------------------- */

/* What a new task needs is mapped once, before the stop. */
static void test_new_task(void)
{
	const struct want in_kernel[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };
	const struct want in_user[] = { { STACK_FIRST, USER + 0x8123,
					  USER + 0x8123 + STACKS_COROUTINE_BYTES } };
	struct copy_task running = { .task = 0 };
	unsigned maps;

	begin();
	memory_guest_map(memory, kernel_cr3, PGD, regs->cr3 >> 12);
	*word_at(MM + MM_PGD) = PGD;
	*word_at(STACK_TOP - 168 + 128) = USER;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	copy_now();
	check(copied.missed, "without that, pages are missing");
	copier.stacks.mm_pgd = MM_PGD;
	copy_prepare_task(&copier, PER_CPU, (struct memory_root){ .cr3 = kernel_cr3 }, &running);
	check(running.task == TASK && running.cr3 == regs->cr3,
	      "the task is %" PRIx64 " with page tables %" PRIx64, running.task, running.cr3);
	copy_now();
	check_pieces(in_kernel, 2, "its stacks in a system call");
	check(!copied.missed, "no page is missing");
	regs->rsp = USER + 0x8123;
	regs->rip = USER + 0x20;
	memory->user[0] = true;
	copy_now();
	check_pieces(in_user, 1, "its stack in user code");
	check(!copied.missed && copied.frame.value, "nor the page tables of its code");
	maps = memory->maps;
	*word_at(STACK_TOP - 168 + 152) = USER;
	copy_prepare_task(&copier, PER_CPU, (struct memory_root){ .cr3 = kernel_cr3 }, &running);
	check(memory->maps == maps, "nothing is read again for the same task");
	end();
}

/* Between two tasks CR3 is the next one's. The user's stack is the last one's. */
static void test_switched_tables(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };
	struct copy_task running = { .task = TASK };
	struct registers switched;

	begin();
	copy();
	check_pieces(want, 2, "before the switch");
	switched = *regs;
	switched.cr3 = memory_guest_new_table(memory) << 12;
	regs = &switched;
	copy_prepared();
	check(copied.n_stacks == 1, "by the next one's tables there is no user stack");
	running.cr3 = memory->regs[0].cr3;
	copier.running = &running;
	copy_prepared();
	check_pieces(want, 2, "by the task's own there is");
	check_u64(copied.frame.value, running.cr3 >> 12, "the sample says by which tables");
	running.task = TASK + 64;
	copy_prepared();
	check(copied.n_stacks == 1, "another task's are not used");
	check_u64(copied.frame.value, 0, "nor said");
	running.task = TASK;
	switched.cr3 = running.cr3 ^ CR3_USER_TABLE;
	copy_prepared();
	check_pieces(want, 2, "the next one's tables may lie beside the task's own");
	check_u64(copied.frame.value, running.cr3 >> 12,
		  "the sample says by which tables, then, too");
	end();
}

/*
 * With page-table isolation the kernel leaves by a stack of the processor. There CR3 is the user's
 * table, beside the task's own.
 */
static void test_leaving_isolated(void)
{
	struct copy_task running = { .task = TASK };
	struct registers leaving;

	begin();
	leaving = *regs;
	running.cr3 = regs->cr3 & ~CR3_USER_TABLE;
	leaving.cr3 = regs->cr3 | CR3_USER_TABLE;
	leaving.rsp = EXCEPTION_END - 16;
	regs = &leaving;
	copier.running = &running;
	copy();
	check_u64(copied.frame.value, 0, "on the way out the tables are the task's");
	leaving.rsp = STACK + 0x3c00;
	copy();
	check_u64(copied.frame.value, running.cr3 >> 12, "on its own stack, another one's");
	end();
}

/* The task has called exec() since its page tables were read: those of the registers are its own. */
static void test_exec(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };
	struct copy_task running = { .task = TASK };

	begin();
	memory_guest_map(memory, kernel_cr3, PGD, regs->cr3 >> 12);
	*word_at(MM + MM_PGD) = PGD;
	stacks.mm_pgd = MM_PGD;
	copy();
	running.cr3 = memory_guest_new_table(memory) << 12;
	copier.running = &running;
	copy_prepared();
	check_pieces(want, 2, "after exec()");
	check_u64(copied.frame.value, 0, "the stack is read by the tables of the registers");
	end();
}

/* Wrong numbers cost pages and nothing else. */
static void test_bad_task(void)
{
	const uint64_t words[] = { 0, 1, PGD + 1, USER, UINT64_MAX, UINT64_MAX - 7, STACK_TOP };
	uint64_t *places[5];

	begin();
	memory_guest_map(memory, kernel_cr3, PGD, regs->cr3 >> 12);
	*word_at(MM + MM_PGD) = PGD;
	stacks.mm_pgd = MM_PGD;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	places[0] = word_at(PER_CPU + CURRENT);
	places[1] = word_at(PER_CPU + TOP);
	places[2] = word_at(TASK + TASK_MM);
	places[3] = word_at(MM + MM_PGD);
	places[4] = word_at(STACK_TOP - 168 + 152);
	for (size_t i = 0; i < COUNT(places); i++)
		for (size_t j = 0; j < COUNT(words); j++) {
			struct copy_task running = { .task = 0 };
			uint64_t good = *places[i];

			*places[i] = words[j];
			copy_prepare_task(&copier, PER_CPU,
					  (struct memory_root){ .cr3 = kernel_cr3 }, &running);
			*places[i] = good;
			check(running.task == TASK || i == 0, "word %zu is %" PRIx64, i, words[j]);
		}
	check(frame_cache_pages(copier.cache) < 64, "few pages are mapped");
	end();
}

/* --- as Linux runs ---------------------------------------------------------------------------- */

static void test_system_call(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };
	const struct want learned[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP },
					{ STACK_USER, USER + 0x8000, USER + 0x8abc } };

	begin();
	copy();
	check_pieces(want, 2, "a system call");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	check(copied.task == TASK, "its task is %" PRIx64, copied.task);
	control_set_stack_top(control, regs->cr3, USER + 0x8000, USER + 0x8abc);
	control_set_stack_top(control, regs->cr3, STACK, STACK + 0x3d00);
	copy();
	check_pieces(learned, 2, "the user stack as learned, the task's whole");
	end();
}

static void test_task_stack_by_task(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP - 16 }, user_piece };

	begin();
	stacks.top_per_cpu = 0;
	stacks.top_padding = 16;
	put_regs(STACK_TOP, 0, 0);
	put_regs(STACK_TOP - 16, 0x33, USER + 0x8000);
	copy();
	check_pieces(want, 2, "top by task->stack, less the padding");
	*word_at(PER_CPU + TOP) = STACK_TOP - 16;
	stacks.top_per_cpu = TOP;
	copy();
	check_pieces(want, 2, "the same by the per-cpu top");
	end();
}

static void test_one_table(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP } };

	begin();
	stacks.kernel_cr3 = 0;
	regs->cr3 = kernel_cr3;
	copy();
	check_pieces(want, 1, "the vCPU's own table for the kernel");
	check_cuts(CUT_LIMIT, CUT_NOT_PRESENT);
	check(copied.task == TASK, "and nothing was mapped for its task");
	end();
}

static void test_user_mode(void)
{
	const struct want want[] = { { STACK_FIRST, USER + 0x123,
				       USER + 0x123 + STACKS_COROUTINE_BYTES } };

	begin();
	memory->user[0] = true;
	regs->rsp = USER + 0x123;
	copy();
	check_pieces(want, 1, "user code");
	check_cuts(CUT_LIMIT, CUT_NONE);
	check(copied.task == TASK, "its task is read through the kernel's table");
	stacks.kernel_cr3 = 0;
	copy();
	check_pieces(want, 1, "user code, no table for the kernel");
	check(copied.task == 0, "no task then");
	end();
}

/* Only the frame of the page that user code ran in is wanted: it is neither read nor mapped. */
static void test_code_frame(void)
{
	const uint64_t code = 0x0000555555554000ULL;

	begin();
	add_pages(code, 0x1000);
	regs->rip = code + 0x123;
	copy();
	check_u64(copied.frame.value, 0, "no code frame for kernel code");
	memory->user[0] = true;
	regs->rsp = USER + 0x120;
	copy_now();
	check(copied.missed && copied.frame.value == 0, "page tables not mapped yet");
	copy();
	check_u64(copied.frame.value, frame_of(code), "of user code");
	check(!frame_cache_find(copier.cache, FRAME(frame_of(code))), "the page is not mapped");
	regs->rip = code + 0x1000;
	copy();
	check_u64(copied.frame.value, 0, "a page that is not there");
	regs->rip = 0x0000800000000000ULL;
	copy();
	check_u64(copied.frame.value, 0, "an address that is none");
	regs->rip = 0xffffffffff600000ULL;
	copy();
	check_u64(copied.frame.value, 0, "vsyscall: the kernel's half");
	regs->rip = code;
	*memory_guest_entry(memory, regs->cr3, 4, 1, code) = 0x000ffffffffff000ULL | PTE_P;
	copy();
	check_u64(copied.frame.value, 0xffffffffffULL, "the last frame there can be");
	stacks.current_per_cpu = 0;
	copy();
	check_u64(copied.frame.value, 0, "no code frame for a guest that is no Linux");
	end();
}

static void check_user_bytes(uint64_t bytes, const char *what)
{
	const struct want want = { STACK_FIRST, USER + 0x120, USER + 0x120 + bytes };

	copy();
	check_pieces(&want, 1, what);
}

/* A stack that was never seen is copied as far as its creator says. */
static void test_new_stack(void)
{
	begin();
	memory->user[0] = true;
	regs->rsp = USER + 0x120;
	*word_at(MM + START_STACK) = USER + 0x5000;
	check_user_bytes(0x4ee0, "a program's, to start_stack");
	regs->fs_base = USER + 0x2000;
	check_user_bytes(0x1ee0, "a thread's, to its thread pointer");
	control_set_stack_top(control, regs->cr3, regs->rsp, USER + 0x1000);
	check_user_bytes(0xee0, "what was learned is better");
	regs->fs_base = 0;
	*word_at(MM + START_STACK) = USER + 0x4120;
	regs->rsp = USER + 0x120 + STACK_REGION_BYTES;
	copy();
	check_u64(record.vcpu.n_stacks, 1, "pieces");
	check_u64(sample_first_stack(&record.vcpu)->size_bytes, STACKS_COROUTINE_BYTES,
		  "a start that is not above the stack pointer is none");
	end();
	begin();
	memory->user[0] = true;
	regs->rsp = USER + 0x120;
	add_pages(USER + USER_BYTES, 0x1000);
	*word_at(MM + START_STACK) = USER + 0x121 + SAMPLE_STACK_LIMIT_BYTES;
	check_user_bytes(STACKS_COROUTINE_BYTES, "nor one too far away");
	*word_at(MM + START_STACK) = USER + 0x120 + SAMPLE_STACK_LIMIT_BYTES;
	check_user_bytes(SAMPLE_STACK_LIMIT_BYTES, "just not too far");
	*word_at(TASK + TASK_MM) = 0;
	check_user_bytes(STACKS_COROUTINE_BYTES, "a task without memory");
	*word_at(TASK + TASK_MM) = MM;
	stacks.mm_start_stack = 0;
	check_user_bytes(STACKS_COROUTINE_BYTES, "a kernel whose start_stack nobody knows");
	end();
}

/* The same for a system call. */
static void test_new_stack_in_kernel(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP },
				     { STACK_USER, USER + 0x8000, USER + 0xa340 } };

	begin();
	*word_at(MM + START_STACK) = USER + 0xa340;
	copy();
	check_pieces(want, 2, "a system call on a new stack");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	end();
}

/*
 * The first instructions of a system call run on the user's stack; pt_regs are of the call before.
 */
static void test_entry(void)
{
	const struct want want[] = { { STACK_FIRST, USER + 0x9008,
				       USER + 0x9008 + STACKS_COROUTINE_BYTES } };

	begin();
	regs->rsp = USER + 0x9008;
	copy();
	check_pieces(want, 1, "just entered");
	check_cuts(CUT_LIMIT, CUT_NONE);
	end();
}

static void test_interrupt(void)
{
	const struct want want[] = { { STACK_FIRST, IRQ_END - 0x208, IRQ_END },
				     { STACK_LINKED, STACK + 0x3a40, STACK_TOP },
				     user_piece };
	const struct want last[] = { { STACK_FIRST, IRQ_END - 8, IRQ_END }, want[1], user_piece };

	begin();
	regs->rsp = IRQ_END - 0x208;
	*word_at(IRQ_END - 8) = STACK + 0x3a40;
	copy();
	check_pieces(want, 3, "on the interrupt stack");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	regs->rsp = IRQ_END - 8;
	copy();
	check_pieces(last, 3, "about to leave it");
	regs->rsp = IRQ_END - 0x208;
	stacks.irq_stack_per_cpu = 0;
	copy();
	check_pieces(want, 3, "whose end is told by the hole behind it");
	add_pages(IRQ_END, 0x4000);
	copy();
	check_u64(copied.n_stacks, 2, "no link onto a stack whose end is not known");
	control_set_stack_top(control, regs->cr3, regs->rsp, IRQ_END);
	copy();
	check_pieces(want, 3, "whose end was learned");
	end();
}

static void test_exception(void)
{
	const struct want want[] = { { STACK_FIRST, EXCEPTION_END - 0x300, EXCEPTION_END },
				     { STACK_LINKED, STACK + 0x3a40, STACK_TOP },
				     user_piece };
	const struct want both[] = { { STACK_FIRST, EXCEPTION_END - 0x300, EXCEPTION_END },
				     { STACK_LINKED, IRQ_END - 0x80, IRQ_END },
				     { STACK_LINKED, STACK + 0x3a40, STACK_TOP },
				     user_piece };

	begin();
	regs->rsp = EXCEPTION_END - 0x300;
	*word_at(EXCEPTION_END - 16) = STACK + 0x3a40;
	*word_at(EXCEPTION_END - 8) = 0x18;
	copy();
	check_pieces(want, 3, "on an exception stack");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	*word_at(EXCEPTION_END - 16) = IRQ_END - 0x80;
	*word_at(IRQ_END - 8) = STACK + 0x3a40;
	copy();
	check_pieces(both, 4, "an exception in an interrupt");
	add_pages(EXCEPTION_END, 0x1000);
	control_set_stack_top(control, regs->cr3, regs->rsp, EXCEPTION_END);
	copy();
	check_pieces(both, 4, "without a hole, but learned");
	end();
}

static void test_kernel_thread(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP } };

	begin();
	put_regs(STACK_TOP, 0, 0);
	copy();
	check_pieces(want, 1, "a kernel thread");
	check_cuts(CUT_LIMIT, CUT_NONE);
	check(copied.task == TASK, "has a task");
	end();
}

/* In an interrupt's first instructions the task's stack has the registers of the entry before. */
static void test_interrupt_entry(void)
{
	const uint64_t top = ENTRY_AREA + 0x1000;
	const struct want want[] = { { STACK_FIRST, top - 48, top },
				     { STACK_USER, USER + 0x4000,
				       USER + 0x4000 + STACKS_COROUTINE_BYTES } };

	begin();
	add_pages(ENTRY_AREA, 0x2000);
	*word_at(top - 32) = 0x33;
	*word_at(top - 16) = USER + 0x4000;
	*word_at(top - 8) = 0x2b;
	regs->rsp = top - 48;
	regs->gs_base = PER_CPU; /* before swapgs */
	regs->gs_base_kernel = 0;
	copy();
	check_pieces(want, 2, "an interrupt of user code");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	check(copied.task == TASK, "the GS bases are not swapped yet");
	*word_at(top - 32) = 0x10;
	regs->gs_base = 0;
	regs->gs_base_kernel = PER_CPU;
	copy();
	check_user_piece(USER + 0x8000, "of the kernel: the task's stack tells");
	*word_at(top - 32) = 0x33;
	regs->rsp = top - 32;
	copy();
	check_user_piece(USER + 0x8000, "no room for what the processor saves");
	end();
}

/* A system call with isolated page tables: rsp is CR3, and the user's is in the TSS. */
static void test_system_call_entry(void)
{
	const struct want want[] = { { STACK_USER, USER + 0x3008,
				       USER + 0x3008 + STACKS_COROUTINE_BYTES } };
	const uint64_t sp = USER + 0x3008;

	begin();
	add_pages(PER_CPU + TSS, 0x100);
	stacks.tss_per_cpu = TSS;
	*word_at(PER_CPU + TSS + 16) = sp << 32 | 0x12345678;
	*word_at(PER_CPU + TSS + 24) = 0x12345678ULL << 32 | sp >> 32;
	regs->rsp = regs->cr3 | 1ULL << 63 | 0x1003;
	copy();
	check_pieces(want, 1, "rsp is CR3 with flags");
	check_cuts(CUT_NONE, CUT_LIMIT);
	stacks.tss_per_cpu = 0;
	copy();
	check_u64(copied.n_stacks, 1, "the TSS is not known: the user stack by the task's stack");
	check_user_piece(USER + 0x8000, "that is, of the last entry");
	end();
}

/* A system call while it saves the user's registers: those below are of the last entry. */
static void test_system_call_pushes(void)
{
	const uint64_t sp = USER + 0x3008;
	const struct want want[] = { { STACK_FIRST, STACK_TOP - 8, STACK_TOP },
				     { STACK_USER, sp, sp + STACKS_COROUTINE_BYTES } };

	begin();
	add_pages(PER_CPU + TSS, 0x100);
	stacks.tss_per_cpu = TSS;
	*word_at(PER_CPU + TSS + 16) = sp << 32;
	*word_at(PER_CPU + TSS + 24) = sp >> 32;
	regs->rsp = STACK_TOP;
	copy();
	check_pieces(want + 1, 1, "nothing is pushed");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	regs->rsp = STACK_TOP - 8;
	copy();
	check_pieces(want, 2, "the stack segment is pushed");
	regs->rsp = STACK_TOP - 16;
	copy();
	check_user_piece(USER + 0x8000, "the stack pointer is pushed");
	stacks.tss_per_cpu = 0;
	regs->rsp = STACK_TOP - 8;
	copy();
	check_user_piece(USER + 0x8000, "the TSS is not known");
	end();
}

/* current is still the last task; the stack is the next task's already. */
static void test_switch(void)
{
	const uint64_t next = STACK + 0x8000;
	const struct want want[] = { { STACK_FIRST, next + 0x3b00, next + 0x4000 },
				     { STACK_USER, USER + 0x4000,
				       USER + 0x4000 + STACKS_COROUTINE_BYTES } };

	begin();
	add_pages(next, 0x4000);
	put_regs(next + 0x4000, 0x33, USER + 0x4000);
	regs->rsp = next + 0x3b00;
	copy();
	check_pieces(want, 2, "while it switches");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	check_u64(copied.frame.value, regs->cr3 >> 12, "the sample says that it does, by its tables");
	put_regs(next + 0x4000, 0x10, USER + 0x4000);
	copy();
	check(copied.n_stacks == 2 && sample_first_stack(&record.vcpu)->kind == STACK_FIRST,
	      "the stack of a kernel thread has no proof");
	check_user_piece(USER + 0x8000, "so the user code is current's");
	check_u64(copied.frame.value, 0, "and the sample says nothing");
	end();
	begin();
	add_pages(ENTRY_AREA + 0x4000, 0x4000);
	put_regs(ENTRY_AREA + 0x8000, 0x33, USER + 0x4000);
	regs->rsp = ENTRY_AREA + 0x7000;
	copy();
	check_user_piece(USER + 0x8000, "no task's is among the processor's own");
	end();
}

/* The same in a PV kernel: CR3, too, is still the last task's. loaded_mm is the next task's. */
static void test_switch_tables(void)
{
	const uint64_t next = STACK + 0x8000;
	const struct want want[] = { { STACK_FIRST, next + 0x3b00, next + 0x4000 },
				     { STACK_USER, USER + 0x4000,
				       USER + 0x4000 + STACKS_COROUTINE_BYTES } };
	struct registers switched;

	begin();
	add_pages(next, 0x4000);
	put_regs(next + 0x4000, 0x33, USER + 0x4000);
	switched = *regs;
	switched.rsp = next + 0x3b00;
	switched.cr3 = memory_guest_new_table(memory) << 12;
	memory_guest_map(memory, kernel_cr3, PGD, regs->cr3 >> 12);
	*word_at(MM + MM_PGD) = PGD;
	*word_at(PER_CPU + LOADED_MM) = MM;
	stacks.mm_pgd = MM_PGD;
	regs = &switched;
	copy();
	check(copied.n_stacks == 1, "the last task's tables do not have the next one's stack");
	check_u64(copied.frame.value, switched.cr3 >> 12, "the sample says by which it was looked for");
	stacks.loaded_mm_per_cpu = LOADED_MM;
	copy();
	check_pieces(want, 2, "while a PV kernel switches");
	check_u64(copied.frame.value, memory->regs[0].cr3 >> 12, "by the next task's own tables");
	*word_at(PER_CPU + LOADED_MM) = 1; /* LOADED_MM_SWITCHING */
	copy();
	check(copied.n_stacks == 1, "no mm is loaded: by the tables of the registers");
	end();
}

/*
 * CR0 and CR4 are Xen's, kernel and user code both run in ring 3, and Xen tells the kernel by cs.
 */
static void test_pv(void)
{
	const struct want want[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP }, user_piece };

	begin();
	memory->guest.info.type = GUEST_PV;
	regs->cr0 = regs->cr4 = 0;
	regs->cs = 0xe033;
	put_regs(STACK_TOP, 0x33, USER + 0x8000);
	copy();
	check_pieces(want, 2, "PV, a system call");
	put_regs(STACK_TOP, 0xe030, STACK + 0x3e00);
	copy();
	check_pieces(want, 1, "PV, pt_regs of the kernel");
	check_cuts(CUT_LIMIT, CUT_NONE);
	end();
}

/* --- pages that are not mapped yet ------------------------------------------------------------ */

static void test_retake(void)
{
	const struct want want[] = { { STACK_FIRST, IRQ_END - 0x208, IRQ_END },
				     { STACK_LINKED, STACK + 0x3a40, STACK_TOP },
				     user_piece };

	begin();
	regs->rsp = IRQ_END - 0x208;
	*word_at(IRQ_END - 8) = STACK + 0x3a40;
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	copy_now();
	check(copied.missed && !copied.n_stacks && !copied.task, "at first nothing is mapped");
	check_cuts(CUT_NOT_MAPPED, CUT_NONE);
	copy();
	check_pieces(want, 3, "then all of it");
	memory_guest_map(memory, regs->cr3, USER + 0x8000, 0x4ff); /* the guest moves its page */
	memory_guest_page(memory, 0x4ff);
	copy_now();
	check(copied.missed, "the user's page is another");
	check_pieces(want, 2, "the others are there");
	check_cuts(CUT_LIMIT, CUT_NOT_MAPPED);
	copy();
	check_pieces(want, 3, "and that one then");
	end();
}

/* --- lies ------------------------------------------------------------------------------------- */

/* Addresses where no stack and no task can be. */
static const uint64_t bad_pointers[] = { 0,
					 8,
					 1ULL << 63,
					 (1ULL << 63) - 8,
					 UINT64_MAX,
					 UINT64_MAX - 7,
					 UINT64_MAX - 4095,
					 STACK_TOP + 4,
					 USER + 0x100,
					 0x0000800000000000,
					 0xffff7ffffffffff8,
					 0xffffc90000204008 };

static void test_bad_pointers(void)
{
	begin();
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		*word_at(PER_CPU + CURRENT) = bad_pointers[i];
		copy();
		check(copied.task == 0 || copied.task == bad_pointers[i], "a task at %" PRIx64,
		      bad_pointers[i]);
		check(copied.n_stacks == 2, "costs nothing else");
	}
	*word_at(PER_CPU + CURRENT) = TASK;
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		*word_at(PER_CPU + TOP) = bad_pointers[i];
		copy();
		check(copied.n_stacks >= 1 && copied.task == TASK,
		      "a top at %" PRIx64 ": %u pieces", bad_pointers[i], copied.n_stacks);
	}
	stacks.top_per_cpu = 0;
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		*word_at(TASK + TASK_STACK) = bad_pointers[i];
		copy();
		check(copied.n_stacks >= 1, "task->stack at %" PRIx64 ": %u pieces",
		      bad_pointers[i], copied.n_stacks);
	}
	end();
}

static void test_bad_registers(void)
{
	const struct want only[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP } };

	begin();
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		regs->gs_base_kernel = bad_pointers[i];
		copy();
		check(copied.task == 0, "no task by a GS base of %" PRIx64, bad_pointers[i]);
	}
	regs->gs_base_kernel = PER_CPU;
	for (size_t i = 0; i < COUNT(bad_pointers); i++) {
		if (bad_pointers[i] == USER + 0x100) /* a stack can be there */
			continue;
		put_regs(STACK_TOP, 0x33, bad_pointers[i]);
		copy();
		check_pieces(only, 1, "a user stack that cannot be");
		check_cuts(CUT_LIMIT, CUT_NOT_PRESENT);
	}
	memory->user[0] = true;
	regs->rsp = STACK + 0x3c00;
	copy();
	check_u64(copied.n_stacks, 0, "user code with a stack pointer of the kernel's");
	check_cuts(CUT_NOT_PRESENT, CUT_NONE);
	end();
}

/* A function has moved the stack pointer to pages that it has not touched yet. */
static void test_untouched(void)
{
	const uint64_t sp = USER - 0x1110;
	const struct want in_kernel[] = { { STACK_FIRST, STACK + 0x3c00, STACK_TOP },
					  { STACK_USER, USER, sp + STACKS_COROUTINE_BYTES } };
	const struct want in_user[] = { { STACK_FIRST, USER, sp + STACKS_COROUTINE_BYTES } };

	begin();
	put_regs(STACK_TOP, 0x33, sp);
	copy();
	check_pieces(in_kernel, 2, "a page fault: the stack from the first page on that is there");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	put_regs(STACK_TOP, 0x33, USER - 0x4010);
	copy();
	check_u64(copied.n_stacks, 1, "five pages that are not there");
	check_cuts(CUT_LIMIT, CUT_NOT_PRESENT);
	control_set_stack_top(control, regs->cr3, sp, sp + 0x100);
	put_regs(STACK_TOP, 0x33, sp);
	copy();
	check_u64(copied.n_stacks, 1, "what is known to be live is not there");
	memory->user[0] = true;
	control_set_stack_top(control, regs->cr3, sp, sp + STACKS_COROUTINE_BYTES);
	regs->rsp = sp;
	copy();
	check_pieces(in_user, 1, "the same in user code");
	end();
}

/* No circle of links is followed for ever, and nothing is copied twice. */
static void test_cycles(void)
{
	begin();
	regs->rsp = IRQ_END - 0x200;
	*word_at(IRQ_END - 8) = IRQ_END - 0x100;
	copy();
	check_u64(copied.n_stacks, 2, "an interrupt stack that interrupted itself");
	*word_at(IRQ_END - 8) = EXCEPTION_END - 0x100;
	*word_at(EXCEPTION_END - 8) = IRQ_END - 0x180;
	control_set_stack_top(control, regs->cr3, EXCEPTION, EXCEPTION_END);
	copy();
	check_u64(copied.n_stacks, 3, "two that interrupted each other");
	*word_at(EXCEPTION_END - 8) = IRQ_END - 0x280; /* below what was copied of it */
	copy();
	check_u64(copied.n_stacks, 4, "deeper each time: only so far");
	end();
}

/* Stacks with learned ends; each points to the next. */
static void test_many_links(void)
{
	const uint64_t first = 0xffffc90001000000, step = 0x10000;
	const struct sample_stack *piece;

	begin();
	for (uint64_t at = first; at < first + 6 * step; at += step) {
		add_pages(at, 0x1000);
		*word_at(at + 0xff8) = at + step + 0xf00;
		control_set_stack_top(control, regs->cr3, at, at + 0x1000);
	}
	regs->rsp = first + 0xe00;
	copy();
	check_u64(copied.n_stacks, 1 + SAMPLE_MAX_LINKS + 1, "pieces of a long chain");
	piece = sample_first_stack(&record.vcpu);
	for (unsigned i = 0; i < SAMPLE_MAX_LINKS; i++)
		piece = sample_next_stack(piece);
	check(piece->kind == STACK_LINKED && piece->address == first + 3 * step + 0xf00,
	      "the last but one is the third link");
	end();
}

/* However long each stack claims to be, all together stay below the limit. */
static void test_limit(void)
{
	const struct sample_stack *piece;
	size_t sum = 0;

	begin();
	stacks.stack_bytes = SAMPLE_STACK_LIMIT_BYTES;
	add_pages(STACK_TOP - 0x10000, 0xc000);
	regs->rsp = STACK_TOP - 0xc000;
	control_set_stack_top(control, regs->cr3, USER + 0x8000, USER + 0x10000);
	copy();
	piece = sample_first_stack(&record.vcpu);
	for (unsigned i = 0; i < copied.n_stacks; i++, piece = sample_next_stack(piece))
		sum += piece->size_bytes;
	check(copied.n_stacks == 2 && sum == SAMPLE_STACK_LIMIT_BYTES, "%u pieces, %zu bytes",
	      copied.n_stacks, sum);
	regs->rsp = STACK_TOP - 0x10000;
	copy();
	check_u64(copied.n_stacks, 1, "nothing is left for the user's");
	check_cuts(CUT_LIMIT, CUT_LIMIT);
	end();
}

static void test_bad_stacks(void)
{
	const struct want unikernel[] = { { STACK_FIRST, STACK + 0x3000,
					    STACK + 0x3000 + COPY_UNKNOWN_BYTES } };
	struct linux_stacks good;
	uint32_t *numbers[] = { &stacks.stack_bytes,    &stacks.top_padding,
				&stacks.regs_below_top, &stacks.irq_stack_bytes,
				&stacks.irq_above,      &stacks.task_mm,
				&stacks.mm_start_stack, &stacks.mm_pgd };

	begin();
	good = stacks;
	regs->cr3 = kernel_cr3;
	regs->rsp = STACK + 0x3000;
	for (size_t i = 0; i < COUNT(numbers); i++)
		for (unsigned j = 0; j < 3; j++) {
			stacks = good;
			*numbers[i] = j == 0   ? 4
				      : j == 1 ? UINT32_MAX
					       : SAMPLE_STACK_LIMIT_BYTES + 8;
			copy();
			check_pieces(unikernel, 1, "a stacks that cannot be is none");
			check(copied.task == 0, "number %zu is %" PRIu32, i, *numbers[i]);
		}
	stacks = good;
	stacks.irq_stack_per_cpu = stacks.irq_stack_bytes = 0;
	copy();
	check(copied.task == TASK, "without an interrupt stack it is one");
	stacks.task_stack = UINT32_MAX;
	stacks.top_per_cpu = 0;
	copy();
	check(copied.task == TASK && copied.n_stacks == 1, "an offset may be anything");
	stacks = good;
	stacks.kernel_cr3 = UINT64_MAX;
	copy_prepared();
	check(copied.missed && copied.task == 0 && copied.n_stacks == 0, "a table that nobody has");
	check_cuts(CUT_NOT_MAPPED, CUT_NONE);
	end();
}

int main(void)
{
	test_new_task();
	test_bad_task();
	test_switched_tables();
	test_leaving_isolated();
	test_exec();
	test_system_call();
	test_task_stack_by_task();
	test_one_table();
	test_user_mode();
	test_code_frame();
	test_new_stack();
	test_new_stack_in_kernel();
	test_entry();
	test_interrupt();
	test_exception();
	test_kernel_thread();
	test_switch();
	test_switch_tables();
	test_interrupt_entry();
	test_system_call_entry();
	test_system_call_pushes();
	test_pv();
	test_retake();
	test_bad_pointers();
	test_bad_registers();
	test_untouched();
	test_cycles();
	test_many_links();
	test_limit();
	test_bad_stacks();
	return tap_done();
}
