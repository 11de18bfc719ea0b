/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frame records of arm64 over stacks made by hand, on any machine. The stack begins at STACK, and
 * sp points there. A record at word i is { caller's x29, return address }.
 */
#include "config.h"

#include "chain.h"
#include "unwind/cursor_arm64.h"
#include "unwind/fp.h"

#define STACK UINT64_C(0xffff800008100000)
#define WORDS 80

/* Code: four functions of 0x100 bytes. */
#define CODE    UINT64_C(0xffff800008010000)
#define MAIN_FN (CODE + 0x000)
#define F       (CODE + 0x100)
#define G       (CODE + 0x200)
#define H       (CODE + 0x300)

/* Granules of 4 KiB and 48 bits in the upper half, 39 in the lower one. */
#define TCR (2ULL << 30 | 16ULL << 16 | 25)
/* What PAC puts above bit 47: all but bit 55, which tells the half. */
#define PAC UINT64_C(0x0053000000000000)

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[WORDS];
} made;
static struct unwind_stack stack;

static uint64_t at(unsigned word)
{
	return STACK + 8 * word;
}

static void record(unsigned word, uint64_t caller_fp, uint64_t return_address)
{
	made.words[word] = caller_fp;
	made.words[word + 1] = return_address;
}

/*
 *  word 2  { ──► 6, F + 8 }      H called by F
 *       6  { ──► 10, G + 8 }     F called by G
 *      10  { 0, MAIN + 8 }       G called by main, whose own x29 was 0
 */
static void begin(uint64_t pc, uint64_t fp, uint64_t link)
{
	memset(&made, 0, sizeof(made));
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1,
					  .stack_cut = CUT_LIMIT,
					  .regs = { .arch = ARCH_ARM64 } };
	made.vcpu.regs.arm64 = (struct registers_arm64){
		.pc = pc, .pstate = 5, .sp_el0 = 0x51, .sp_el1 = STACK, .tcr = TCR
	};
	made.vcpu.regs.arm64.x[29] = fp;
	made.vcpu.regs.arm64.x[30] = link;
	made.stack = (struct sample_stack){ .address = STACK, .size_bytes = 8 * WORDS };
	record(2, at(6), F + 8);
	record(6, at(10), G + 8);
	record(10, 0, MAIN_FN + 8);
}

static void check_chain(const struct symbols *symbols, enum unwind_stop stop,
			const uint64_t *expected, const char *what)
{
	chain_check(&made.vcpu, symbols, &stack, stop, expected, what);
}

/* --- records ---------------------------------------------------------------------------------- */

static void test_records(void)
{
	begin(H + 16, at(2), 0);
	check_chain(NULL, UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8),
		    "records up to x29 0");
	record(10, 0, 0);
	check_chain(NULL, UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8), "up to a record of zeros");
	begin(H + 16, 0, 0);
	check_chain(NULL, UNWIND_COMPLETE, CHAIN(H + 16),
		    "x29 0 without any record ends the chain");
	begin(H + 16, at(2), 0);
	record(6, at(2), G + 8);
	check_chain(NULL, UNWIND_LOOP, CHAIN(H + 16, F + 8, G + 8), "a record further in");
	begin(H + 16, at(2), 0);
	record(6, at(6), G + 8);
	check_chain(NULL, UNWIND_LOOP, CHAIN(H + 16, F + 8, G + 8), "a record that points to itself");
	begin(H + 16, at(2) + 4, 0);
	check_chain(NULL, UNWIND_BAD, CHAIN(H + 16), "x29 is no multiple of 8");
	begin(H + 16, at(2), 0);
	record(2, at(6), F + 6);
	check_chain(NULL, UNWIND_BAD, CHAIN(H + 16), "no instruction is at F + 6");
	begin(H + 16, at(2), 0);
	made.stack.size_bytes = 8 * 7;
	made.vcpu.size_bytes -= 8 * (WORDS - 7);
	check_chain(NULL, UNWIND_CUT, CHAIN(H + 16, F + 8), "half a record was copied");
	begin(H + 16, 0x1234567890, 0);
	check_chain(NULL, UNWIND_LOOP, CHAIN(H + 16), "x29 that is a plain number");
	begin(H + 16, at(2), 0);
	made.vcpu.regs.arm64.pstate = 4; /* EL1t */
	made.vcpu.regs.arm64.sp_el0 = STACK;
	made.vcpu.regs.arm64.sp_el1 = 0x51;
	check_chain(NULL, UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8),
		    "the kernel runs on sp_el0");
}

/* --- the link register ------------------------------------------------------------------------ */

static void test_link(const struct symbols *symbols)
{
	const uint64_t *whole = CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8);

	begin(H + 16, at(6), F + 8);
	check_chain(symbols, UNWIND_COMPLETE, whole, "a leaf without a record");
	begin(H + 16, at(2), F + 8);
	check_chain(symbols, UNWIND_COMPLETE, whole, "a leaf with a record");
	begin(H + 16, at(2), H + 12);
	check_chain(symbols, UNWIND_COMPLETE, whole,
		    "x30 that points into its own function: the record is used");
	begin(H + 16, at(6), F + 8);
	made.vcpu.regs.arm64.x[29] = 0;
	check_chain(symbols, UNWIND_COMPLETE, CHAIN(H + 16, F + 8), "a caller that has no record");
	begin(H, at(6), H + 32);
	record(6, at(10), G + 8);
	check_chain(symbols, UNWIND_COMPLETE, CHAIN(H, H + 32, G + 8, MAIN_FN + 8),
		    "a recursion, at the first instruction");
	begin(H + 16, at(2), 0x4141414141414140);
	check_chain(symbols, UNWIND_COMPLETE, whole, "x30 is no code");
	begin(H + 16, at(2), F + 9);
	check_chain(symbols, UNWIND_COMPLETE, whole, "x30 is not at an instruction");
	begin(H + 16, at(6), F + 8);
	check_chain(NULL, UNWIND_COMPLETE, CHAIN(H + 16, G + 8, MAIN_FN + 8),
		    "without symbols x30 is not believed");
}

/* --- authentication codes --------------------------------------------------------------------- */

static void test_pac(const struct symbols *symbols)
{
	begin(H + 16, at(2), H + 12);
	record(2, at(6), (F + 8) ^ PAC);
	record(6, at(10), (G + 8) ^ 0x21ULL << 48);
	check_chain(symbols, UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8),
		    "signed return addresses in records");
	begin(H + 16, at(6), (F + 8) ^ PAC);
	check_chain(symbols, UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8),
		    "a signed x30");
	begin(H + 16, at(2), F + 8);
	record(2, at(6), (F + 8) ^ PAC);
	check_chain(symbols, UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8),
		    "the own record has x30 signed");
	begin(0x400010, at(2), 0); /* a program's: 39 bits */
	made.vcpu.user = 1;
	made.vcpu.regs.arm64.pstate = 0;
	made.vcpu.regs.arm64.sp_el0 = STACK;
	record(2, 0, 0x2aULL << 56 | 0x3ULL << 39 | 0x400108);
	check_chain(NULL, UNWIND_COMPLETE, CHAIN(0x400010, 0x400108), "in a program of 39 bits");
	made.vcpu.regs.arm64.tcr = 0;
	record(2, 0, 0x7fULL << 48 | 0x123400400108);
	check_chain(NULL, UNWIND_COMPLETE, CHAIN(0x400010, 0x123400400108),
		    "48 bits if TCR is not known");
}

/* A handler has returned to code without tables, as in the vDSO; sp is at the signal's frame. */
static void test_signal(void)
{
	/* after struct siginfo, and the head of struct ucontext */
	uint64_t *saved = made.words + 39;
	struct cursor cursor;

	begin(G + 4, 0, 0);
	made.vcpu.user = true;
	made.vcpu.regs.arm64.pstate = 0;
	made.vcpu.regs.arm64.sp_el0 = STACK;
	for (unsigned i = 0; i < 31; i++)
		saved[i] = 0xd00 + i;
	saved[31] = 0x7000;
	saved[32] = H + 4;
	saved[35] = UINT64_C(0x0000021046508001);
	cursor_init(&cursor, &made.vcpu);
	cursor.interrupted = false;
	cursor.known = 1U << REG_PC | 1U << REG_SP;
	check(fp_arm64_step(NULL, &cursor) == STEP_CALLER && cursor.regs[REG_PC] == H + 4 &&
		      cursor.regs[REG_SP] == 0x7000 && cursor.interrupted &&
		      cursor.regs[REG_ARM64_FP] == 0xd00 + 29,
	      "a signal frame leads to the interrupted code");
	saved[35] = 0;
	cursor_init(&cursor, &made.vcpu);
	cursor.interrupted = false;
	cursor.known = 1U << REG_PC | 1U << REG_SP;
	check(fp_arm64_step(NULL, &cursor) == STEP_NOT_COVERED && !cursor.reached[0],
	      "words that are no signal frame do not count as reached");
}

int main(void)
{
	struct symbols *symbols = chain_symbols(CODE);

	test_records();
	test_link(symbols);
	test_pac(symbols);
	test_signal();
	symbols_destroy(symbols);
	return tap_done();
}
