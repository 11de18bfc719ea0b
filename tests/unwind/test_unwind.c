/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole chains over stacks made by hand (orc_guest.h): calls, interrupts and exceptions, and
 * everything that can be wrong with stacks and tables.
 */
#include "config.h"

#include "orc_guest.h"

/* --- calls ------------------------------------------------------------------------------------ */

/*
 * word 0  AFTER + 5      LEAF called by AFTER
 *      1  FRAME + 8      AFTER called by FRAME
 *      3  rbp = word 9
 *      4  BY_BP + 8      FRAME (3 words) called by BY_BP
 *      9  rbp = 77       BY_BP's frame
 *     10  KTHREAD + 4
 */
static void put_calls(void)
{
	put(TASK, AT(AFTER, 5));
	put(TASK + 8, AT(FRAME, 8));
	put(TASK + 24, TASK + 72);
	put(TASK + 32, AT(BY_BP, 8));
	put(TASK + 72, 77);
	put(TASK + 80, AT(KTHREAD, 4));
}

static void test_calls(void)
{
	begin_task(LEAF, 4);
	put_calls();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(LEAF, 4), 0 }, { AT(AFTER, 5), R }, { AT(FRAME, 8), R },
			  { AT(BY_BP, 8), R }, { AT(KTHREAD, 4), R }),
		    "a kernel thread");
	check_part(UNWIND_KERNEL, true, UNWIND_COMPLETE, 1, 0);
	check_part(UNWIND_USER, false, UNWIND_COMPLETE, 0, 0);
	check_u64(made.stack.reached[0], TASK + 88,
		  "the bytes up to the last return address count as reached");

	/* A function may end with a call that never returns: the next function starts after it. */
	begin_task(LEAF, 4);
	put(TASK, AT(NORETURN, 0x100)); /* NOTHING's first byte */
	put(TASK + 8, AT(KTHREAD, 4));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(LEAF, 4), 0 }, { AT(NORETURN, 0x100), R }, { AT(KTHREAD, 4), R }),
		    "the return address of a call that never returns");

	/* A function that jumped to LEAF has left nothing on the stack. */
	begin_task(LEAF, 0);
	put(TASK, AT(KTHREAD, 4));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, CHAIN({ AT(LEAF, 0), 0 }, { AT(KTHREAD, 4), R }),
		    "a tail call");

	begin_task(KEEPS_BP, 4);
	record.vcpu.regs.rbp = TASK + 64;
	put(TASK, AT(BP_POINTS, 4));
	put(TASK + 64, TASK + 80);
	put(TASK + 88, TASK + 160);
	put(TASK + 152, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(KEEPS_BP, 4), 0 }, { AT(BP_POINTS, 4), R }, { AT(KTHREAD, 9), R }),
		    "rbp and the caller's stack pointer, both found through rbp");
}

static void test_modes(void)
{
	begin_task(LEAF, 4);
	put_calls();
	unwind_as(UNWIND_ORC);
	check_u64(made.stack.n_frames, 5, "-u orc finds all frames");
	unwind_as(UNWIND_DWARF);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(LEAF, 4), 0 }), "-u dwarf does not use ORC");
	record.vcpu.regs.rbp = TASK + 72;
	record.vcpu.regs.rip = AT(LEAF, 8);
	unwind_as(UNWIND_FP);
	check_chain(UNWIND_BAD, CHAIN({ AT(LEAF, 8), 0 }, { AT(KTHREAD, 4), R }),
		    "-u fp uses rbp only"); /* up to rbp 77 */
}

/* --- interrupts ------------------------------------------------------------------------------- */

/*
 * irq:  LEAF <- SWITCH, whose frame ends with the interrupt stack's last word
 * task: INTERRUPT, SWITCH's caller, pt_regs <- LEAF + 0 <- FRAME <- INTERRUPT (system call), user
 */
static void put_interrupt(uint64_t cs)
{
	put(IRQ, AT(SWITCH, 8));
	put(IRQ + 8, TASK); /* the stack pointer before the switch */
	put(TASK, AT(INTERRUPT, 8));
	put_regs(TASK + 8, AT(LEAF, 0), cs, TASK + 8 + REGS_BYTES, 5);
	put(TASK + 8 + REGS_BYTES, AT(FRAME, 9));
	put(TASK + 8 + REGS_BYTES + 16, 0x7ffc00001100);
	put(TASK + 8 + REGS_BYTES + 24, AT(INTERRUPT, 3));
	for (uint64_t at = TASK + 8 + REGS_BYTES + 32; at < SYSCALL; at += 8)
		put(at, 0);
}

static void check_interrupt(const char *what)
{
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(LEAF, 4), 0 }, { AT(SWITCH, 8), R }, { AT(INTERRUPT, 8), R },
			  { AT(LEAF, 0), 0 }, { AT(FRAME, 9), R }, { AT(INTERRUPT, 3), R },
			  { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    what);
}

static void test_interrupt(void)
{
	static const uint64_t segments[] = { KERNEL_CS, PV_CS };

	for (int i = 0; i < 2; i++) {
		record_begin(AT(LEAF, 4), IRQ);
		record_piece(IRQ, 8);
		record_piece(TASK, N_TASK);
		record_piece(USER, 16);
		put_interrupt(segments[i]);
		put_regs(SYSCALL_REGS, PROGRAM + 0x10, USER_CS, USER, USER);
		put_user_stack();
		unwind_as(UNWIND_AUTO);
		check_interrupt(i ? "interrupt stack, task stack, user stack under PV"
				  : "interrupt stack, task stack, user stack");
		check_part(UNWIND_KERNEL, true, UNWIND_COMPLETE, 3, 2);
		check_part(UNWIND_USER, true, UNWIND_COMPLETE, 4, 2);
		check(made.stack.reached[0] == IRQ + 16 &&
			      made.stack.reached[1] == SYSCALL_REGS + REGS_BYTES &&
			      made.stack.reached[2] == USER + 16,
		      "the bytes used of each piece count as reached");
	}

	/* Before Linux 5.12 the entry code itself runs on the interrupt stack. */
	record_begin(AT(OLD_IRQ, 4), IRQ);
	record_piece(IRQ, 8);
	record_piece(TASK, N_TASK);
	put(IRQ + 16, TASK);
	put_regs(TASK, AT(LEAF, 0), KERNEL_CS, TASK + REGS_BYTES, 5);
	put(TASK + REGS_BYTES, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(OLD_IRQ, 4), 0 }, { AT(LEAF, 0), 0 }, { AT(KTHREAD, 9), R }),
		    "an interrupt stack before 5.12");
}

/*
 * An NMI in the first instructions of an NMI, in kernel code that had interrupts off:
 *
 *   exc +0x400  pt_regs of the first one's entry: NMI + 4, its frame at exc + 0x800
 *   exc +0x800  rip cs rflags rsp ss: LEAF on the task stack
 */
static void test_exceptions(void)
{
	record_begin(AT(LEAF, 8), EXC);
	record_piece(EXC, 512);
	record_piece(TASK, N_TASK);
	put(EXC, AT(INTERRUPT, 7));
	put_regs(EXC + 8, AT(NMI, 4), KERNEL_CS, EXC + 0x800, 5);
	put_iret(EXC + 0x800, AT(LEAF, 1), KERNEL_CS, TASK);
	put(TASK, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(LEAF, 8), 0 }, { AT(INTERRUPT, 7), R }, { AT(NMI, 4), 0 },
			  { AT(LEAF, 1), 0 }, { AT(KTHREAD, 9), R }),
		    "nested NMI, exception stack to task stack");

	/*
	 * In the entry code, right after the exception: rbp and other registers are still the
	 * user's.
	 */
	record_begin(AT(NMI, 2), EXC);
	record.vcpu.regs.rbp = USER;
	record_piece(EXC, 16);
	record_piece(USER, 16);
	put_iret(EXC, PROGRAM + 0x10, USER_CS, USER);
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(NMI, 2), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "user code was interrupted, its registers are not saved yet");
}

/* A register is used only while it is known for the frame: after an interrupt, not after a call. */
static void test_registers(void)
{
	begin_task(INTERRUPT, 4);
	put_regs(TASK, AT(BY_R10, 1), KERNEL_CS, TASK + REGS_BYTES, 5);
	put(TASK + 56, TASK + 512); /* r10 */
	put(TASK + 504, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(INTERRUPT, 4), 0 }, { AT(BY_R10, 1), 0 }, { AT(KTHREAD, 9), R }),
		    "r10 of the interrupted code");
	begin_task(LEAF, 4);
	record.vcpu.regs.r10 = TASK + 512;
	put(TASK, AT(BY_R10, 1));
	put(TASK + 504, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, CHAIN({ AT(LEAF, 4), 0 }, { AT(BY_R10, 1), R }),
		    "r10 of a caller is lost");
}

/* --- what cannot be right --------------------------------------------------------------------- */

static void test_bad(void)
{
	static const struct {
		enum function function;
		const char *what;
	} tables[] = { { WRONG, "a register that does not exist" },
		       { ODD, "a stack pointer that is not aligned" } };

	for (size_t i = 0; i < 2; i++) {
		begin_task(tables[i].function, 4);
		put(TASK, AT(KTHREAD, 9));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_BAD, CHAIN({ AT(tables[i].function, 4), 0 }), tables[i].what);
	}
	begin_task(BY_BP, 4);
	record.vcpu.regs.rbp = USER;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, CHAIN({ AT(BY_BP, 4), 0 }), "a kernel frame in user memory");
	begin_task(LEAF, 4);
	put(TASK, AT(N_FUNCTIONS, 1));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, CHAIN({ AT(LEAF, 4), 0 }), "a return address after all code");
	begin_task(LEAF, 4);
	put(TASK, 0x1234567812345678);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, CHAIN({ AT(LEAF, 4), 0 }),
		    "a return address that is not canonical");
	begin_task(LEAF, 4);
	record.vcpu.regs.rsp = TASK + 8 * N_TASK;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, CHAIN({ AT(LEAF, 4), 0 }), "the stack bytes were not copied");
	begin_task(KTHREAD, 9);
	record.vcpu.stack_cut = CUT_FAULT;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, CHAIN({ AT(KTHREAD, 9), 0 }), "an end in a copy with a fault");
}

/* The walk goes outwards on one stack, and to another stack a few times only. */
static void test_loops(void)
{
	unsigned n_frames;

	begin_task(INTERRUPT, 4);
	put_regs(TASK, AT(INTERRUPT, 9), KERNEL_CS, TASK, 5);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_LOOP, CHAIN({ AT(INTERRUPT, 4), 0 }),
		    "pt_regs that point to themselves");

	record_begin(AT(LEAF, 4), TASK);
	record_piece(TASK - 64, N_TASK);
	put(TASK, AT(BY_BP, 9));
	record.vcpu.regs.rbp = TASK - 8;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_LOOP, CHAIN({ AT(LEAF, 4), 0 }, { AT(BY_BP, 9), R }),
		    "a frame below the stack pointer");

	begin_task(INTERRUPT, 4);
	record_piece(IRQ, N_TASK);
	put_regs(TASK, AT(INTERRUPT, 9), KERNEL_CS, IRQ, 5);
	put_regs(IRQ, AT(INTERRUPT, 9), KERNEL_CS, TASK, 5);
	unwind_as(UNWIND_AUTO);
	n_frames = made.stack.n_frames;
	check(made.stack.stop == UNWIND_LOOP && n_frames > 4 && n_frames < 12,
	      "two stacks that point at each other: %u frames", n_frames);
}

static void test_deep(void)
{
	record_begin(AT(LEAF, 4), TASK);
	record_piece(TASK, UNWIND_MAX_FRAMES + 88);
	for (size_t i = 0; i < UNWIND_MAX_FRAMES + 88; i++)
		put(TASK + 8 * i, AT(LEAF, 8));
	unwind_as(UNWIND_AUTO);
	check(made.stack.n_frames == UNWIND_MAX_FRAMES && made.stack.stop == UNWIND_TOO_DEEP,
	      "a chain deeper than the limit: %u frames, stop %d", made.stack.n_frames,
	      made.stack.stop);
}

/* --- where nothing is known ------------------------------------------------------------------- */

/* Code that the table says nothing about, with and without words that look like a frame. */
static void test_guess(void)
{
	begin_task(NOTHING, 4);
	record.vcpu.regs.rbp = TASK + 16;
	put(TASK + 16, 0);
	put(TASK + 24, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(NOTHING, 4), 0 }, { AT(KTHREAD, 9), R | GUESS }),
		    "rbp leads to code with a table");
	unwind_as(UNWIND_ORC);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(NOTHING, 4), 0 }),
		    "with tables alone the walk ends");
	put(TASK + 24, 0x1234);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(NOTHING, 4), 0 }), "rbp leads to no code");
	record.vcpu.regs.rbp = 0;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(NOTHING, 4), 0 }), "rbp 0 proves nothing");
}

static bool is_jit(void *context, const struct mapping *mapping)
{
	(void)context;
	return mapping->kind == MAPPING_ANONYMOUS;
}

/* Code of a JIT: frame pointers, and then known code again. */
static void test_jit(void)
{
	const uint64_t jit = 0xffffffffc0100000;
	struct mapping mapping = { .start = jit, .end = jit + 0x1000, .kind = MAPPING_ANONYMOUS };

	begin_task(LEAF, 4);
	record.vcpu.regs.rbp = TASK + 32;
	put(TASK, jit + 0x10);
	put(TASK + 40, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, CHAIN({ AT(LEAF, 4), 0 }), "the JIT's code is not mapped yet");
	must(space_add(made.kernel, &mapping));
	unwind_as(UNWIND_AUTO);
	check_chain(
		UNWIND_COMPLETE,
		CHAIN({ AT(LEAF, 4), 0 }, { jit + 0x10, R }, { AT(KTHREAD, 9), R | GUESS }),
		"the JIT's code is mapped");
	space_remove_if(made.kernel, is_jit, NULL);
}

static void test_nothing_known(void)
{
	struct unwind_spaces kept = made.spaces;

	made.spaces = (struct unwind_spaces){ 0 };
	begin_task(LEAF, 4);
	record.vcpu.regs.rbp = TASK + 16;
	put(TASK + 24, AT(BY_BP, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, CHAIN({ AT(LEAF, 4), 0 }, { AT(BY_BP, 9), R }),
		    "without any space frame pointers are used");
	unwind_as(UNWIND_ORC);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(LEAF, 4), 0 }),
		    "without any space there are no tables");
	record.vcpu.regs.rbp = 0;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(LEAF, 4), 0 }),
		    "without any space rbp 0 ends nothing");
	made.spaces = kept;
}

/* --- random samples --------------------------------------------------------------------------- */

static uint64_t next_random(void)
{
	static uint64_t state = 11;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 16;
}

static uint64_t random_word(void)
{
	static const uint64_t bases[] = { TASK, IRQ, USER, PROGRAM };

	switch (next_random() % 8) {
	default:
		return AT(next_random() % N_FUNCTIONS, next_random() % 0x100);
	case 1:
		return bases[next_random() % 4] + 8 * (next_random() % 130);
	case 2:
		return next_random() % 2 ? USER_CS : KERNEL_CS;
	case 3:
		return next_random();
	}
}

/* The result is bounded, and only copied bytes are read; ASan watches the reads. */
static void test_random(void)
{
	unsigned bad = 0, frames = 0;

	for (unsigned round = 0; round < 30000; round++) {
		record_begin(AT(next_random() % N_FUNCTIONS, next_random() % 0x100), TASK);
		record_piece(TASK, 128);
		record_piece(IRQ, 64);
		record_piece(USER, 64);
		record.vcpu.regs.rbp = random_word();
		for (unsigned i = 0; i < 128; i++)
			put(TASK + 8 * i, random_word());
		for (unsigned i = 0; i < 64; i++) {
			put(IRQ + 8 * i, random_word());
			put(USER + 8 * i, random_word());
		}
		unwind_as((enum unwind_how)(round % 4));
		frames += made.stack.n_frames;
		bad += made.stack.n_frames < 1 || made.stack.n_frames > UNWIND_MAX_FRAMES;
		bad += (unsigned)made.stack.stop >= N_UNWIND_STOPS;
		bad += made.stack.reached[0] > TASK + 1024 || made.stack.reached[1] > IRQ + 512 ||
		       made.stack.reached[2] > USER + 512;
	}
	check_u64(bad, 0, "random stacks with a result out of bounds");
	check(frames > 32000, "%u frames in random stacks", frames);
}

int main(void)
{
	begin_guest();
	test_calls();
	test_modes();
	test_interrupt();
	test_exceptions();
	test_registers();
	test_bad();
	test_loops();
	test_deep();
	test_guess();
	test_jit();
	test_nothing_known();
	test_random();
	end_guest();
	return tap_done();
}
