/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of 32-bit Arm code over stacks made by hand, on any machine, as gcc 12 and clang 14 make
 * them. The stack begins at STACK, and sp points there.
 */
#include "config.h"

#include "chain.h"

#define STACK UINT32_C(0xc0800000)
#define WORDS 32

/* Code: four functions of 0x100 bytes. */
#define CODE    UINT64_C(0xc0010000)
#define MAIN_FN (CODE + 0x000)
#define F       (CODE + 0x100)
#define G       (CODE + 0x200)
#define H       (CODE + 0x300)

#define SVC   0x13
#define IRQ   0x12
#define THUMB 0x20

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint32_t words[WORDS];
} made;
static struct unwind_stack stack;
static struct symbols *symbols;

static uint32_t at(unsigned word)
{
	return STACK + 4 * word;
}

static void begin(uint64_t cpsr, uint64_t pc, uint32_t fp, uint64_t link)
{
	uint64_t *x = made.vcpu.regs.arm64.x;

	memset(&made, 0, sizeof(made));
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1,
					  .stack_cut = CUT_LIMIT,
					  .regs = { .arch = ARCH_ARM64 } };
	made.vcpu.regs.arm64.pc = pc;
	made.vcpu.regs.arm64.pstate = cpsr;
	for (unsigned i = 0; i < 31; i++)
		x[i] = 0xdead000000000001 + 4 * i; /* upper halves are not defined */
	x[cpsr & THUMB ? 7 : 11] = fp | 0xbad00000000;
	x[(cpsr & 0x1f) == SVC ? 19 : 17] = STACK;
	x[(cpsr & 0x1f) == SVC ? 18 : 16] = link;
	made.stack = (struct sample_stack){ .address = STACK, .size_bytes = 4 * WORDS };
}

/* push {fp, lr}; add fp, sp, #4 */
static void gcc_frame(unsigned word, uint32_t caller_fp, uint64_t return_address)
{
	made.words[word - 1] = caller_fp;
	made.words[word] = (uint32_t)return_address;
}

/* push {r11, lr}; mov r11, sp */
static void clang_frame(unsigned word, uint32_t caller_fp, uint64_t return_address)
{
	made.words[word] = caller_fp;
	made.words[word + 1] = (uint32_t)return_address;
}

static void check_chain(enum unwind_stop stop, const uint64_t *expected, const char *what)
{
	chain_check(&made.vcpu, symbols, &stack, stop, expected, what);
}

/* H is called by F, F by G, and G by main, whose own frame pointer was 0. */
static void make_gcc(uint64_t cpsr, uint64_t link)
{
	begin(cpsr, H + 16, at(3), link);
	gcc_frame(3, at(7), F + 8);
	gcc_frame(7, at(11), G + 8);
	gcc_frame(11, 0, MAIN_FN + 8);
}

static void make_clang(uint64_t cpsr, uint64_t thumb, uint64_t link)
{
	begin(cpsr, H + 16, at(3), link);
	clang_frame(3, at(7), (F + 8) | thumb);
	clang_frame(7, at(11), (G + 8) | thumb);
	clang_frame(11, 0, (MAIN_FN + 8) | thumb);
}

static void test_frames(void)
{
	const uint64_t *whole = CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8);

	make_gcc(SVC, H + 12);
	check_chain(UNWIND_COMPLETE, whole, "gcc");
	make_gcc(IRQ, H + 12);
	check_chain(UNWIND_COMPLETE, whole, "sp and lr of irq mode");
	make_clang(SVC, 0, H + 12);
	check_chain(UNWIND_COMPLETE, whole, "clang");
	make_clang(SVC | THUMB, 1, (H + 12) | 1);
	check_chain(UNWIND_COMPLETE, whole, "clang, Thumb: r7, and bit 0 of addresses");
	make_gcc(SVC, H + 12);
	clang_frame(7, at(12), G + 8);
	gcc_frame(12, 0, MAIN_FN + 8);
	made.words[6] = 0; /* a word below F's frame */
	made.words[2] = at(7);
	check_chain(UNWIND_COMPLETE, whole, "frames of gcc and of clang in one chain");
}

static void test_damaged(void)
{
	make_gcc(SVC, H + 12);
	gcc_frame(7, at(3), G + 8);
	check_chain(UNWIND_BAD, CHAIN(H + 16, F + 8), "the caller's frame lies further in");
	make_gcc(SVC, H + 12);
	gcc_frame(7, at(11), MAIN_FN - 0x1000);
	check_chain(UNWIND_BAD, CHAIN(H + 16, F + 8), "a return address without a function");
	make_gcc(SVC, H + 12);
	made.vcpu.regs.arm64.x[11] = at(3) + 2;
	check_chain(UNWIND_BAD, CHAIN(H + 16), "r11 is no multiple of 4");
	make_gcc(SVC, H + 12);
	made.stack.size_bytes = 4 * 7;
	check_chain(UNWIND_CUT, CHAIN(H + 16, F + 8), "the copied stack ends");
}

/* What is in lr when the function has no frame of its own. */
static void test_leaves(void)
{
	const uint64_t *whole = CHAIN(H + 16, F + 24, G + 8, MAIN_FN + 8);

	begin(SVC, H + 16, at(7), F + 24);
	gcc_frame(7, at(11), G + 8);
	gcc_frame(11, 0, MAIN_FN + 8);
	check_chain(UNWIND_COMPLETE, whole, "gcc, no frame");
	made.vcpu.regs.arm64.x[11] = at(2); /* str fp, [sp, #-4]!; add fp, sp, #0 */
	made.words[2] = at(7);
	check_chain(UNWIND_COMPLETE, whole, "gcc, the caller's fp alone is saved");
	begin(SVC, H + 16, at(7), F + 24);
	clang_frame(7, at(11), G + 8);
	clang_frame(11, 0, MAIN_FN + 8);
	check_chain(UNWIND_COMPLETE, whole, "clang, no frame");
	made.vcpu.regs.arm64.pc = H;
	check_chain(UNWIND_COMPLETE, CHAIN(H, F + 24, G + 8, MAIN_FN + 8), "the first instruction");
	make_clang(SVC, 0, F + 8);
	check_chain(UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8),
		    "a frame that has what lr has counts once");
}

int main(void)
{
	symbols = chain_symbols(CODE);
	test_frames();
	test_damaged();
	test_leaves();
	symbols_destroy(symbols);
	return tap_done();
}
