/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of stack are copied for a thread that runs Go, in a made-up Linux guest: on the
 * goroutine's stack, on g0's, in a signal handler, in the vDSO; and when every pointer is a lie.
 * test_go_threads copies the stacks of a program that runs.
 */
#include "config.h"

#include <stdlib.h>

#include "copy_guest.h"
#include "xtop/sample/go_stacks.h"

#define PER_CPU   0xffff888003a00000ULL
#define TLS       0x00007f0000001800ULL /* the thread pointer */
#define PROGRAM   0x00000000005a0000ULL
#define STRUCTS   0x000000c000000000ULL
#define M         STRUCTS
#define THREAD_G0 (STRUCTS + 0x400)
#define GSIGNAL   (STRUCTS + 0x600)
#define CURG      (STRUCTS + 0x800)
#define PARKED    (STRUCTS + 0xa00)
#define GOROUTINE 0x000000c000100000ULL /* stacks: this one of 8 KiB */
#define OTHER     0x000000c000200000ULL /* a parked goroutine's, of 8 KiB */
#define SIGNAL    0x000000c000300000ULL /* a stack of 32 KiB */
#define G0        0x00007ffe00000000ULL /* a stack of 16 KiB */

static const struct go_stacks go_stacks = { .g = -8, .gsignal = 80, .curg = 192 };

static struct {
	struct sample sample;
	struct sample_vcpu vcpu;
	char pieces[SAMPLE_STACK_LIMIT_BYTES +
		    SAMPLE_MAX_STACKS * (sizeof(struct sample_stack) + 8)];
} record;
static uint64_t next_frame;

/* --- the guest -------------------------------------------------------------------------------- */

static void add_pages(uint64_t address, uint64_t size)
{
	for (uint64_t at = address & ~0xfffULL; at < address + size; at += GUEST_PAGE_SIZE) {
		memory_guest_page(memory, next_frame);
		memory_guest_map(memory, regs->cr3, at, next_frame++);
	}
}

static void set(uint64_t address, uint64_t word)
{
	uint64_t frame = *memory_guest_entry(memory, regs->cr3, 4, 1, address) >> 12;

	((uint64_t *)memory_guest_page(memory, frame))[address % 4096 / 8] = word;
}

static void set_g(uint64_t g, uint64_t low, uint64_t bytes)
{
	set(g + GO_G_STACK_LOW, low);
	set(g + GO_G_STACK_HIGH, low + bytes);
	set(g + GO_G_M, M);
	set(g + GO_G_SELF, g);
}

static void begin(uint64_t sp)
{
	const struct linux_stacks stacks = { .current_per_cpu = 0x40,
					     .stack_bytes = 0x4000,
					     .regs_below_top = 168,
					     .irq_stack_bytes = 0x4000 };

	begin_guest(0);
	memory->user[0] = true;
	next_frame = 0x500;
	add_pages(PER_CPU, 0x1000);
	add_pages(TLS - 8, 0x1000);
	add_pages(STRUCTS, 0x1000);
	add_pages(GOROUTINE, 0x2000);
	add_pages(OTHER, 0x2000);
	add_pages(SIGNAL, 0x8000);
	add_pages(G0, 0x4000);
	set(TLS - 8, CURG);
	set(M + GO_M_G0, THREAD_G0);
	set(M + go_stacks.gsignal, GSIGNAL);
	set(M + go_stacks.curg, CURG);
	set_g(THREAD_G0, G0, 0x3000);
	set_g(GSIGNAL, SIGNAL, 0x8000);
	set_g(CURG, GOROUTINE, 0x2000);
	set_g(PARKED, OTHER, 0x2000);
	set(THREAD_G0 + GO_G_SP, G0 + 0x2f00);
	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
	control_set_go_stacks(control, regs->cr3, &go_stacks, false);
	regs->gs_base_kernel = PER_CPU;
	regs->fs_base = TLS;
	regs->rsp = sp;
	regs->rip = 0x401000;
	regs->cs = 0x33;
}

/* Outside the stop what is needed is mapped; then a copy in the stop. */
static void copy(void)
{
	copier.now_ns += 2000000000;
	copy_prepare(&copier, regs, true);
	memory->stopped = true;
	frame_cache_stop(copier.cache);
	copy_vcpu(&copier, regs, true, record.pieces, &copied);
	memory->stopped = false;
	record.vcpu = (struct sample_vcpu){
		.size_bytes = (uint32_t)(sizeof(record.vcpu) + copied.size_bytes),
		.state = VCPU_RUNNING,
		.n_stacks = (uint8_t)copied.n_stacks,
		.stack_cut = (uint8_t)copied.stack_cut,
	};
	record.sample = (struct sample){
		.size_bytes = (uint32_t)sizeof(record.sample) + record.vcpu.size_bytes,
		.n_vcpus = 1,
		.weight = SAMPLE_WEIGHT_TICK,
	};
	check(sample_check(&record, record.sample.size_bytes), "the record passes the check");
}

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

/* --- the tests -------------------------------------------------------------------------------- */

static void test_goroutine(void)
{
	const struct want want[] = { { STACK_FIRST, GOROUTINE + 0x1800, GOROUTINE + 0x2000 },
				     { STACK_G0, G0 + 0x2ef8, G0 + 0x3200 } };

	begin(GOROUTINE + 0x1800);
	copy();
	check_pieces(want, 1, "a goroutine's stack, to its end");
	control_set_go_stacks(control, regs->cr3, &go_stacks, true);
	control_set_go_stacks(control, regs->cr3, &go_stacks, false);
	copy();
	check_pieces(want, 2, "a goroutine that C has called: g0's stack as well");
	end();
}

static void test_g0(void)
{
	const struct want want[] = { { STACK_FIRST, G0 + 0x2800, G0 + 0x3200 },
				     { STACK_GOROUTINE, GOROUTINE + 0x17f8, GOROUTINE + 0x2000 } };
	const struct want parked[] = { want[0],
				       { STACK_GOROUTINE, OTHER + 0x1ef8, OTHER + 0x2000 } };

	begin(G0 + 0x2800);
	set(TLS - 8, THREAD_G0);
	set(CURG + GO_G_SP, GOROUTINE + 0x1800);
	copy();
	check_pieces(want, 2, "a thread on g0's stack: the goroutine's as well");
	control_set_stack_top(control, regs->cr3, G0 + 0x2800, G0 + 0x2900);
	copy();
	check_pieces(want, 2, "a thread on g0's stack that was used less the last time");
	set(CURG + GO_G_SP, 0);
	copy();
	check_pieces(want, 1, "a goroutine that has left no stack pointer has no piece");
	set(M + go_stacks.curg, 0);
	set(G0 + 0x2f00 - 8, PARKED);
	set(PARKED + GO_G_SP, OTHER + 0x1f00);
	copy();
	check_pieces(parked, 2, "the scheduler, after a goroutine was parked");
	set(PARKED + GO_G_SELF, 0);
	copy();
	check_pieces(want, 1, "a parked goroutine is none if what lies there is no g");
	end();
}

static void test_signal(void)
{
	const uint64_t ucontext = SIGNAL + 0x7000;
	const struct want want[] = { { STACK_FIRST, SIGNAL + 0x6f00, SIGNAL + 0x8000 },
				     { STACK_GO_OUTER, G0 + 0x2810, G0 + 0x3200 },
				     { STACK_GOROUTINE, GOROUTINE + 0x17f8, GOROUTINE + 0x2000 } };

	begin(SIGNAL + 0x6f00);
	copy();
	check_pieces(want, 1, "a handler whose ucontext is not found");
	set(TLS - 8, THREAD_G0);
	set(CURG + GO_G_SP, GOROUTINE + 0x1800);
	set(ucontext + 16, SIGNAL);
	set(ucontext + 160, G0 + 0x2810);
	copy();
	check_pieces(want, 3, "a signal on g0's stack");
	end();
}

static void test_vdso(void)
{
	const struct want want[] = { { STACK_FIRST, G0 + 0x2800, G0 + 0x3200 },
				     { STACK_GO_OUTER, GOROUTINE + 0x18c0, GOROUTINE + 0x2000 } };

	begin(G0 + 0x2800);
	regs->rbp = G0 + 0x2810;
	set(G0 + 0x2810, GOROUTINE + 0x1900);
	set(CURG + GO_G_SP, GOROUTINE + 0x200); /* the stack pointer of an older call */
	copy();
	check_pieces(want, 2, "a call of the vDSO, with the goroutine as g");
	end();
}

/* The first samples of a process come before the resolver knows that it runs Go. */
static void test_before(void)
{
	const struct want want = { STACK_FIRST, GOROUTINE + 0x100, GOROUTINE + 0x2000 };

	begin(GOROUTINE + 0x100);
	control_set_go_stacks(control, regs->cr3, NULL, false);
	copy();
	check_pieces(&want, 1, "a goroutine's stack, to its end");
	end();
}

/*
 * A copy on g0's stack, which ends at the thread pointer; only its usual structures are believed.
 */
static void test_before_on_g0(void)
{
	const uint64_t fs = G0 + 0x3300;
	const struct want want[] = { { STACK_FIRST, G0 + 0x2800, G0 + 0x3200 },
				     { STACK_GOROUTINE, GOROUTINE + 0x17f8, GOROUTINE + 0x2000 } };
	const struct want thread = { STACK_FIRST, G0 + 0x2800, fs };

	begin(G0 + 0x2800);
	control_set_go_stacks(control, regs->cr3, NULL, false);
	regs->fs_base = fs;
	set(fs - 8, THREAD_G0);
	set(CURG + GO_G_SP, GOROUTINE + 0x1800);
	copy();
	check_pieces(want, 2, "on g0's stack, before Go is known");
	set(CURG + GO_G_M, M + 8);
	copy();
	check_pieces(&thread, 1, "no Go is guessed if what would be curg has another m");
	set(CURG + GO_G_M, M);
	set(fs - 8, TLS);
	copy();
	check_pieces(&thread, 1, "no Go is guessed if what would be g is not in Go's heap");
	set(fs - 8, THREAD_G0);
	control_set_stack_top(control, regs->cr3, G0 + 0x2800, G0 + 0x2900);
	copy();
	check_u64(copied.n_stacks, 1, "no Go is guessed for a stack that is known");
	end();
}

/*
 * The first thread on its g0's stack, which is the program's: g0 is data of the program, and the
 * thread pointer is elsewhere.
 */
static void test_before_on_first_g0(void)
{
	const uint64_t g0 = PROGRAM + 0x100;
	const struct want want[] = { { STACK_FIRST, G0 + 0x2800, G0 + 0x3200 },
				     { STACK_GOROUTINE, GOROUTINE + 0x17f8, GOROUTINE + 0x2000 } };

	begin(G0 + 0x2800);
	control_set_go_stacks(control, regs->cr3, NULL, false);
	add_pages(PROGRAM, 0x1000);
	set_g(g0, G0, 0x3000);
	set(M + GO_M_G0, g0);
	set(TLS - 8, g0);
	set(CURG + GO_G_SP, GOROUTINE + 0x1800);
	copy();
	check_pieces(want, 2, "the first thread on g0's stack, before Go is known");
	set(g0 + GO_G_STACK_HIGH, G0 + 0x2800);
	copy();
	check_u64(copied.n_stacks, 1, "no Go is guessed if the stack is not what would be g0's");
	set_g(g0, G0, 0x3000);
	set(M + GO_M_G0, PROGRAM + 0x200);
	set_g(PROGRAM + 0x200, G0, 0x3000);
	copy();
	check_u64(copied.n_stacks, 1, "no Go is guessed if what would be g is not g0");
	set(M + GO_M_G0, g0);
	set(M + go_stacks.curg, 0);
	copy();
	check_u64(copied.n_stacks, 1, "no Go is guessed if there is no goroutine");
	set(M + go_stacks.curg, CURG);
	regs->rip = 0x00007f0000401000ULL;
	copy();
	check_u64(copied.n_stacks, 1, "no Go is guessed for a program that lies anywhere");
	end();
}

/* A process whose page tables another one had, which did run Go. */
static void test_no_go(void)
{
	const struct want want = { STACK_FIRST, G0 + 0x800, G0 + 0x4000 };

	begin(G0 + 0x800);
	set(THREAD_G0 + GO_G_M, 0);
	copy();
	check_pieces(&want, 1, "a thread whose g0 has another m runs no Go");
	set(THREAD_G0 + GO_G_M, M);
	set(TLS - 8, 0);
	control_set_go_stacks(control, regs->cr3, NULL, false);
	copy();
	check_pieces(&want, 1, "a process that runs no Go any more");
	end();
}

/* Whatever the words are, the record is one, and nothing is mapped in the stop. */
static void test_lies(void)
{
	static const uint64_t words[] = { 0, 1, 8, UINT64_MAX, UINT64_MAX - 7, 1ULL << 63, M, CURG,
					  SIGNAL, SIGNAL + 0x8000, G0, GOROUTINE + 0x1000 };
	static const uint64_t places[] = { TLS - 8, M, M + 80, M + 192, CURG, CURG + 8, CURG + 56,
					   GSIGNAL, GSIGNAL + 8, THREAD_G0, THREAD_G0 + 8,
					   THREAD_G0 + 56 };
	static const uint64_t stacks[] = { G0 + 0x2800, GOROUTINE + 0x1800, SIGNAL + 0x6f00 };

	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
		for (unsigned j = 0; j < sizeof(words) / sizeof(*words); j++) {
			begin(stacks[(i + j) % 3]);
			control_set_go_stacks(control, regs->cr3, &go_stacks, true);
			set(SIGNAL + 0x7000 + 16, SIGNAL);
			set(SIGNAL + 0x7000 + 160, words[j]);
			set(places[i], words[j]);
			copy();
			end();
		}
}

int main(void)
{
	test_goroutine();
	test_g0();
	test_signal();
	test_vdso();
	test_before();
	test_before_on_g0();
	test_before_on_first_g0();
	test_no_go();
	test_lies();
	return tap_done();
}
