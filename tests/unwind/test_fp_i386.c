/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chains of a 32-bit Linux kernel, over stacks made by hand: a system call, an exception in user
 * code, an interrupt in the kernel, the interrupts' stack, a thread of the kernel, and functions
 * that have not linked their frame yet; and the first and last instructions of a system call by
 * sysenter.
 */
#include "config.h"

#include <string.h>

#include "chain.h"
#include "tests/support/tap.h"
#include "xtop/base/registers_i386.h"
#include "xtop/unwind/unwind.h"

#define TASK  0xc1c24000U /* the upper part of a stack of 8 KiB was copied */
#define TASK_END (TASK + 0x2000)
#define IRQ   0xc1022000U
#define USER  0xbfc01000U
#define WORDS 128

#define K(n) (0xc3010000U + 16 * (n)) /* return addresses in the kernel */
#define U(n) (0x08049000U + 16 * (n)) /* addresses of the program */

#define REGS (WORDS - 2 - N_PT_I386) /* the user's registers on the task's stack */

#define USER_CS   0x73
#define KERNEL_CS 0x20000060U /* the upper half has a flag of the kernel's */

static struct {
	struct sample_vcpu vcpu;
	struct {
		struct sample_stack head;
		uint32_t words[WORDS];
	} pieces[3];
} made;
static struct unwind_stack stack;

enum piece { PIECE_TASK, PIECE_IRQ, PIECE_USER };

static uint32_t place(enum piece piece, unsigned word)
{
	return (uint32_t)made.pieces[piece].head.address + 4 * word;
}

static void put(enum piece piece, unsigned word, uint32_t value)
{
	made.pieces[piece].words[word] = value;
}

/* A frame at WORD: the caller's ebp, and the return address. */
static void link_frame(enum piece piece, unsigned word, uint32_t bp, uint32_t address)
{
	put(piece, word, bp);
	put(piece, word + 1, address);
}

static void save(unsigned word, uint32_t cs, uint32_t ip, uint32_t sp, uint32_t bp)
{
	put(PIECE_TASK, word + PT_I386_BP, bp);
	put(PIECE_TASK, word + PT_I386_IP, ip);
	put(PIECE_TASK, word + PT_I386_CS, cs);
	put(PIECE_TASK, word + PT_I386_SP, sp);
	put(PIECE_TASK, word + PT_I386_SS, cs == USER_CS ? 0x7b : 0x68);
}

/* What the kernel's ENCODE_FRAME_POINTER makes of the address of WORD. */
static uint32_t encoded(unsigned word)
{
	return place(PIECE_TASK, word) & 0x7fffffff;
}

/*
 *   task    word 2   { ─► REGS - 2, K(1) }
 *           REGS - 2 { ebp of the program, K(2) }: the last frame ends where its registers begin
 *           REGS     pt_regs of U(0), whose ebp is at word 4 of the user's stack
 *   user    4        { ─► 8, U(1) }
 *           8        { 0, U(2) }
 */
static void begin(void)
{
	static const uint32_t addresses[] = { TASK, IRQ, USER };

	memset(&made, 0, sizeof(made));
	for (unsigned i = 0; i < 3; i++)
		made.pieces[i].head = (struct sample_stack){
			.address = addresses[i], .size_bytes = sizeof(made.pieces[i].words)
		};
	made.pieces[PIECE_IRQ].head.kind = STACK_LINKED;
	made.pieces[PIECE_USER].head.kind = STACK_USER;
	made.vcpu = (struct sample_vcpu){
		.size_bytes = sizeof(made),
		.state = VCPU_RUNNING,
		.n_stacks = 3,
		.stack_cut = CUT_LIMIT,
		.user_cut = CUT_LIMIT,
		.regs = { .rip = K(0), .rsp = TASK, .width = WIDTH_32_PAE },
	};
	made.vcpu.regs.rbp = place(PIECE_TASK, 2);
	link_frame(PIECE_TASK, 2, place(PIECE_TASK, REGS - 2), K(1));
	link_frame(PIECE_TASK, REGS - 2, place(PIECE_USER, 4), K(2));
	save(REGS, USER_CS, U(0), place(PIECE_USER, 0), place(PIECE_USER, 4));
	link_frame(PIECE_USER, 4, place(PIECE_USER, 8), U(1));
	link_frame(PIECE_USER, 8, 0, U(2));
}

/* All code is one function of 4 KiB, which begins here. */
static uint64_t function_start;

static void find_code(const struct unwind_space *space, uint64_t address, bool tables_needed,
		      struct unwind_code *code)
{
	static const struct unwind_tables none;

	(void)space, (void)tables_needed;
	*code = (struct unwind_code){ .start = 0xc3000000, .end = 0xc4000000, .tables = &none,
				      .possible = true };
	code->mapped = address - code->start < code->end - code->start;
}

static bool find_function(const struct unwind_space *space, uint64_t address, uint64_t *start)
{
	(void)space;
	*start = function_start ? function_start : address & ~UINT64_C(0xfff);
	return address >> 24 == 0xc3;
}

static void walk_chain(void)
{
	const struct unwind_space kernel = { find_code, find_function };
	const struct unwind_spaces spaces = { .kernel = &kernel };

	unwind_stack(&made.vcpu, &spaces, UNWIND_AUTO, &stack);
}

static void check_chain(const uint64_t *expected, const char *what)
{
	walk_chain();
	chain_check_addresses(&stack, UNWIND_COMPLETE, expected, what);
}

static void test_system_call(void)
{
	begin();
	made.vcpu.regs.rip = K(0) + 0x80;
	check_chain((uint64_t[]){ K(0) + 0x80, K(1), K(2), U(0), U(1), U(2), 0 },
		    "from the kernel to the program");
	check(stack.frames[3].flags == FRAME_USER &&
		      stack.frames[4].flags == (FRAME_USER | FRAME_RETURN),
	      "the interrupted user address is no return address");
}

static void test_exception(void)
{
	begin();
	made.vcpu.regs.rip = K(0) + 0x80;
	link_frame(PIECE_TASK, 2, encoded(REGS), K(1));
	check_chain((uint64_t[]){ K(0) + 0x80, K(1), U(0), U(1), U(2), 0 },
		    "an encoded frame pointer leads to the program");
	save(REGS, USER_CS, U(0), 0xc1c24000, 0);
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked, "a stack pointer of the kernel's is no program's");
}

/* The interrupt saved its registers at word 20; what it interrupted has its frame at word 50. */
static void test_interrupted(void)
{
	begin();
	made.vcpu.regs.rip = K(0) + 0x80;
	link_frame(PIECE_TASK, 2, encoded(20), K(1));
	save(20, KERNEL_CS, K(3) + 0x80, place(PIECE_TASK, 40), place(PIECE_TASK, 50));
	link_frame(PIECE_TASK, 50, place(PIECE_TASK, REGS - 2), K(4));
	check_chain((uint64_t[]){ K(0) + 0x80, K(1), K(3) + 0x80, K(4), K(2), U(0), U(1), U(2), 0 },
		    "an interrupt in the kernel");
	check(!(stack.frames[2].flags & FRAME_RETURN),
	      "the interrupted kernel address is no return address");
}

/* The interrupts' stack lies further down than the task's. */
static void test_interrupt_stack(void)
{
	begin();
	made.vcpu.regs.rip = K(0) + 0x80;
	made.vcpu.regs.rsp = IRQ;
	made.vcpu.regs.rbp = place(PIECE_IRQ, 4);
	link_frame(PIECE_IRQ, 4, place(PIECE_TASK, 2), K(8));
	check_chain((uint64_t[]){ K(0) + 0x80, K(8), K(1), K(2), U(0), U(1), U(2), 0 },
		    "the interrupts' stack");
	made.pieces[PIECE_IRQ].head.address = 0xc1c40000;
	made.vcpu.regs.rsp = place(PIECE_IRQ, 0);
	made.vcpu.regs.rbp = place(PIECE_IRQ, 4);
	link_frame(PIECE_IRQ, 4, place(PIECE_TASK, 2), K(8));
	check_chain((uint64_t[]){ K(0) + 0x80, K(8), K(1), K(2), U(0), U(1), U(2), 0 },
		    "the interrupts' stack above the task's");
	link_frame(PIECE_IRQ, 4, place(PIECE_IRQ, 4), K(8));
	walk_chain();
	check(stack.parts[UNWIND_KERNEL].stop == UNWIND_LOOP, "a frame in itself is a loop");
}

static void test_kernel_thread(void)
{
	begin();
	made.vcpu.regs.rip = K(0) + 0x80;
	made.vcpu.user_cut = CUT_NONE;
	link_frame(PIECE_TASK, 2, encoded(REGS), K(1));
	save(REGS, 0, 0, 0, 0);
	check_chain((uint64_t[]){ K(0) + 0x80, K(1), 0 }, "a kernel thread has no program");
}

static void test_entry(void)
{
	begin();
	function_start = K(0);
	put(PIECE_TASK, 0, K(5));
	check_chain((uint64_t[]){ K(0), K(5), K(1), K(2), U(0), U(1), U(2), 0 },
		    "before the frame is linked");
	made.vcpu.regs.rip = K(0) + 5;
	check_chain((uint64_t[]){ K(0) + 5, K(5), K(1), K(2), U(0), U(1), U(2), 0 },
		    "after ftrace's five bytes");
	made.vcpu.regs.rip = K(0) + 11;
	put(PIECE_TASK, 0, place(PIECE_TASK, 2));
	put(PIECE_TASK, 1, K(5));
	check_chain((uint64_t[]){ K(0) + 11, K(5), K(1), K(2), U(0), U(1), U(2), 0 },
		    "after push %ebp");
	function_start = 0;
}

/*
 * Checks the chain while the stack pointer is SP words below the end of the CPU's entry stack. ebp
 * is the 12th word that is pushed.
 */
static void check_entry_stack(unsigned sp, const char *what)
{
	bool pushed = sp >= N_PT_I386 - PT_I386_BP;

	begin();
	made.pieces[PIECE_TASK].head.address = 0xff404000 - 4 * WORDS;
	save(WORDS - N_PT_I386, USER_CS, U(0), place(PIECE_USER, 0), pushed ? place(PIECE_USER, 4) : 0);
	made.vcpu.regs.rip = K(0) + 0x80;
	made.vcpu.regs.rsp = place(PIECE_TASK, WORDS - sp);
	made.vcpu.regs.rbp = pushed ? 0 : place(PIECE_USER, 4);
	check_chain((uint64_t[]){ K(0) + 0x80, U(0), U(1), U(2), 0 }, what);
}

static void test_entry_stack(void)
{
	check_entry_stack(5, "entry stack: the processor's words alone");
	check_entry_stack(11, "entry stack: before push %ebp");
	check_entry_stack(12, "entry stack: after push %ebp");
	check_entry_stack(N_PT_I386, "entry stack: all registers");
	put(PIECE_TASK, WORDS - 1, 0x68);
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked, "pt_regs with a kernel segment give no user part");
}

/* Leaves the words of PIECE from FIRST, an even number, on. A sample has no gaps between pieces. */
static void cut_piece(enum piece piece, unsigned first)
{
	char *to = (char *)made.pieces[piece].words, *from = to + 4 * first;

	made.pieces[piece].head.address += 4 * first;
	made.pieces[piece].head.size_bytes -= 4 * first;
	memmove(to, from, (size_t)((char *)(&made + 1) - from));
}

/*
 * The program's stack begins with what __kernel_vsyscall() has pushed, and the return address U(3):
 * ebp points there. The words of pt_regs from FIRST on are pushed; sp and ip are 0.
 */
static void begin_sysenter(unsigned first)
{
	begin();
	made.pieces[PIECE_TASK].head.address = TASK_END - 4 * WORDS;
	save(REGS, USER_CS, 0, 0, place(PIECE_USER, 0));
	put(PIECE_USER, 0, place(PIECE_USER, 4));
	put(PIECE_USER, 3, U(3));
	made.vcpu.regs.rip = K(0) + 0x80;
	made.vcpu.regs.rsp = place(PIECE_TASK, REGS + first);
	made.vcpu.regs.rbp = first > PT_I386_BP ? place(PIECE_USER, 0) : 0x12345678;
	cut_piece(PIECE_TASK, (REGS + first) & ~1U);
}

static const uint64_t sysenter_chain[] = { K(0) + 0x80, U(3), U(1), U(2), 0 };

static void test_sysenter(void)
{
	static const struct {
		unsigned first;
		const char *what;
	} places[] = {
		{ PT_I386_SS, "sysenter: ss is pushed" },
		{ PT_I386_SP, "sysenter: ss and sp are pushed" },
		{ PT_I386_IP, "sysenter: the words that other entries save" },
		{ PT_I386_AX, "sysenter: before ebp is pushed" },
		{ PT_I386_BP, "sysenter: after the push of ebp" },
		{ 0, "sysenter: all registers" },
	};

	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		begin_sysenter(places[i].first);
		check_chain(sysenter_chain, places[i].what);
	}
	begin_sysenter(PT_I386_SP);
	made.pieces[PIECE_TASK].head.address = 0xff404000;
	made.vcpu.regs.rsp = 0xff404000;
	check_chain(sysenter_chain, "sysenter: on the empty entry stack");
	made.vcpu.regs.rbp = TASK;
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked || stack.stop != UNWIND_COMPLETE,
	      "an ebp of the kernel gives no user part");
}

/* The entry stack has flags and eax. ecx and edx have the user's stack pointer and address. */
static void test_sysexit(void)
{
	begin();
	made.pieces[PIECE_IRQ].head.address = 0xff404000 - 4 * WORDS;
	made.vcpu.regs.rip = K(0) + 0x80;
	made.vcpu.regs.rsp = 0xff404000 - 8;
	made.vcpu.regs.rbp = place(PIECE_USER, 4);
	made.vcpu.regs.rcx = place(PIECE_USER, 0);
	made.vcpu.regs.rdx = U(0);
	check_chain((uint64_t[]){ K(0) + 0x80, U(0), U(1), U(2), 0 }, "sysexit");
}

/* Checks the chain while the kernel pops registers from the task's stack, from word FIRST on. */
static void check_popped(unsigned first, const char *what)
{
	begin();
	made.vcpu.regs.rip = K(0) + 0x80;
	made.vcpu.regs.rsp = place(PIECE_TASK, REGS + first);
	made.vcpu.regs.rbp = first > PT_I386_BP ? place(PIECE_USER, 4) : 0x12345678;
	made.vcpu.regs.rcx = place(PIECE_USER, 0);
	made.vcpu.regs.rdx = U(0);
	cut_piece(PIECE_TASK, (REGS + first) & ~1U);
	check_chain((uint64_t[]){ K(0) + 0x80, U(0), U(1), U(2), 0 }, what);
}

static void test_broken(void)
{
	begin();
	made.vcpu.regs.rip = K(0) + 0x80;
	link_frame(PIECE_TASK, 2, 0xc1c20000, K(1));
	walk_chain();
	check(stack.n_frames == 5 && stack.frames[2].address == U(0) &&
		      stack.frames[2].flags == (FRAME_USER | FRAME_BROKEN) &&
		      stack.stop != UNWIND_COMPLETE,
	      "the user's registers are found without the chain");
}

/* A kernel of 64 bits saves other words, and no frame pointer of it is encoded. */
static void test_wide(void)
{
	begin();
	made.vcpu.regs.width = WIDTH_64;
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked, "a stack with words of 8 bytes gives no user part");
}

int main(void)
{
	test_system_call();
	test_exception();
	test_interrupted();
	test_interrupt_stack();
	test_kernel_thread();
	test_entry();
	test_entry_stack();
	test_sysenter();
	test_sysexit();
	check_popped(PT_I386_SI, "sysexit: some registers are popped");
	check_popped(PT_I386_BP, "sysexit: all but ebp");
	check_popped(PT_I386_AX, "sysexit: ebp is popped, too");
	test_broken();
	test_wide();
	return tap_done();
}
