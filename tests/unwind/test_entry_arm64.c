/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the frames of an arm64 kernel to the user code, over stacks made by hand: struct pt_regs at
 * the end of the task's stack, an interrupt in the kernel, the interrupts' stack, and the
 * instructions in which nothing is saved yet. Nothing is known of the code, so each step goes by
 * frame records.
 */
#include "config.h"

#include "chain.h"
#include "tests/support/tap.h"
#include "xtop/unwind/unwind.h"

#define IRQ   UINT64_C(0xffff800008000000) /* the interrupts' stack lies below the task's */
#define TASK  UINT64_C(0xffff80000abd0000)
#define USER  UINT64_C(0x0000ffff84ea1000)
#define WORDS 128

#define K(n) (UINT64_C(0xffff800008010000) + 16 * (n)) /* return addresses in the kernel */
#define U(n) (UINT64_C(0x400000) + 16 * (n))           /* addresses of the program */

/* Granules of 4 KiB and 48 bits in both halves. */
#define TCR       (2ULL << 30 | 16ULL << 16 | 16)
#define EL1H      5
#define EL0_FLAGS 0x60000000 /* pstate of user code with two conditions set */

/* Where the task's stack has what entry from user code saved: its last words. */
#define REGS (WORDS - PT_ARM64_BYTES / 8)

static struct {
	struct sample_vcpu vcpu;
	struct {
		struct sample_stack head;
		uint64_t words[WORDS];
	} pieces[3];
} made;
static struct unwind_stack stack;

enum piece { PIECE_IRQ, PIECE_TASK, PIECE_USER };

static uint64_t place(enum piece piece, unsigned word)
{
	return made.pieces[piece].head.address + 8 * word;
}

static void record(enum piece piece, unsigned word, uint64_t fp, uint64_t address)
{
	made.pieces[piece].words[word] = fp;
	made.pieces[piece].words[word + 1] = address;
}

/* A struct pt_regs at WORD of the task's stack, with its frame record. */
static void save(unsigned word, uint64_t fp, uint64_t sp, uint64_t pc, uint64_t pstate)
{
	uint64_t *saved = made.pieces[PIECE_TASK].words + word;
	bool user = !(pstate & 0xf);

	saved[PT_ARM64_X29] = fp;
	saved[PT_ARM64_SP] = sp;
	saved[PT_ARM64_PC] = pc;
	saved[PT_ARM64_PSTATE] = pstate;
	saved[PT_ARM64_SYSCALL] = UINT32_MAX;
	record(PIECE_TASK, word + PT_ARM64_STACKFRAME, user ? 0 : fp, user ? 0 : pc);
}

/*
 *   task    word 2   { ─► 6, K(1) }
 *           6        { ─► the record in pt_regs, K(2) }
 *           REGS     pt_regs of U(0), whose x29 is at word 4 of the user's stack
 *   user    4        { ─► 8, U(1) }
 *           8        { 0, U(2) }, 10: { 0, 0 } */
static void begin(void)
{
	static const uint64_t addresses[] = { IRQ, TASK, USER };

	memset(&made, 0, sizeof(made));
	for (unsigned i = 0; i < 3; i++)
		made.pieces[i].head = (struct sample_stack){ .address = addresses[i],
							     .size_bytes = 8 * WORDS };
	made.pieces[PIECE_TASK].head.kind = STACK_LINKED;
	made.pieces[PIECE_USER].head.kind = STACK_USER;
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 3,
					  .stack_cut = CUT_LIMIT,
					  .user_cut = CUT_LIMIT,
					  .regs = { .arch = ARCH_ARM64 } };
	made.vcpu.regs.arm64 = (struct registers_arm64){
		.pc = K(0), .pstate = EL1H, .sp_el0 = TASK + (1 << 20), .sp_el1 = TASK, .tcr = TCR,
	};
	made.vcpu.regs.arm64.x[29] = place(PIECE_TASK, 2);
	record(PIECE_TASK, 2, place(PIECE_TASK, 6), K(1));
	record(PIECE_TASK, 6, place(PIECE_TASK, REGS + PT_ARM64_STACKFRAME), K(2));
	save(REGS, place(PIECE_USER, 4), place(PIECE_USER, 0), U(0), EL0_FLAGS);
	record(PIECE_USER, 4, place(PIECE_USER, 8), U(1));
	record(PIECE_USER, 8, 0, U(2));
}

/*
 * Leaves the kernel one piece, the struct pt_regs at SP_EL1: that is what the sampler copies while
 * the kernel is entered. Returns the words of this piece. The other pieces are moved.
 */
static uint64_t *leave_regs_alone(void)
{
	struct sample_stack *head = &made.pieces[PIECE_IRQ].head;

	made.pieces[PIECE_TASK].head.address = IRQ;
	head->address = made.vcpu.regs.arm64.sp_el1 = TASK + 8 * REGS;
	head->size_bytes = PT_ARM64_BYTES;
	memcpy(made.pieces[PIECE_IRQ].words, made.pieces[PIECE_TASK].words + REGS, PT_ARM64_BYTES);
	memmove((char *)(head + 1) + PT_ARM64_BYTES, &made.pieces[PIECE_TASK],
		2 * sizeof(made.pieces[0]));
	return made.pieces[PIECE_IRQ].words;
}

static void walk_chain(void)
{
	unwind_stack(&made.vcpu, &(struct unwind_spaces){ .kernel = NULL }, UNWIND_AUTO, &stack);
}

static void check_chain(enum unwind_stop stop, const uint64_t *expected, const char *what)
{
	walk_chain();
	chain_check_addresses(&stack, stop, expected, what);
}

static void test_system_call(void)
{
	begin();
	check_chain(UNWIND_COMPLETE,
		    (uint64_t[]){ K(0), K(1), K(2), U(0), U(1), U(2), 0 },
		    "from the kernel to the program");
	check(stack.frames[3].flags == FRAME_USER &&
		      stack.frames[4].flags == (FRAME_USER | FRAME_RETURN),
	      "the interrupted user address is no return address");
}

static void test_kernel_thread(void)
{
	begin();
	save(REGS, 0, 0, 0, EL1H);
	record(PIECE_TASK, REGS + PT_ARM64_STACKFRAME, 0, 0);
	check_chain(UNWIND_COMPLETE, (uint64_t[]){ K(0), K(1), K(2), 0 },
		    "a kernel thread has no program");
}

/* Nothing was ever saved on the stack of the first CPU's idle task. */
static void test_idle_task(void)
{
	begin();
	memset(made.pieces[PIECE_TASK].words + REGS, 0, PT_ARM64_BYTES);
	made.vcpu.n_stacks = 2;
	made.vcpu.user_cut = CUT_NOT_PRESENT;
	walk_chain();
	check(stack.stop == UNWIND_COMPLETE && stack.n_frames == 3 &&
		      !stack.parts[UNWIND_USER].walked,
	      "the first CPU's idle task has no user code: %u frames, stop %u", stack.n_frames,
	      stack.stop);
}

/* The interrupt saved its registers at word 20; the interrupted code's x29 is at word 70. */
static void test_interrupted(void)
{
	begin();
	record(PIECE_TASK, 6, place(PIECE_TASK, 20 + PT_ARM64_STACKFRAME), K(2));
	save(20, place(PIECE_TASK, 70), place(PIECE_TASK, 66), K(3), EL1H);
	record(PIECE_TASK, 70, place(PIECE_TASK, REGS + PT_ARM64_STACKFRAME), K(4));
	check_chain(UNWIND_COMPLETE,
		    (uint64_t[]){ K(0), K(1), K(2), K(3), K(4), U(0), U(1), U(2), 0 },
		    "an interrupt in the kernel");
	check(!(stack.frames[3].flags & FRAME_RETURN),
	      "the interrupted kernel address is no return address");
}

/* Stacks may lie in any order: the record that the last one points to is further down. */
static void test_interrupt_stack(void)
{
	begin();
	made.vcpu.regs.arm64.sp_el1 = IRQ;
	made.vcpu.regs.arm64.x[29] = place(PIECE_IRQ, 4);
	record(PIECE_IRQ, 4, place(PIECE_IRQ, 8), K(8));
	record(PIECE_IRQ, 8, place(PIECE_TASK, 2), K(9));
	check_chain(UNWIND_COMPLETE,
		    (uint64_t[]){ K(0), K(8), K(9), K(1), K(2), U(0), U(1), U(2), 0 },
		    "the interrupts' stack");
	made.pieces[PIECE_IRQ].head.address = TASK + (1 << 20);
	made.vcpu.regs.arm64.sp_el1 = place(PIECE_IRQ, 0);
	made.vcpu.regs.arm64.x[29] = place(PIECE_IRQ, 4);
	record(PIECE_IRQ, 4, place(PIECE_IRQ, 8), K(8));
	check_chain(UNWIND_COMPLETE,
		    (uint64_t[]){ K(0), K(8), K(9), K(1), K(2), U(0), U(1), U(2), 0 },
		    "the interrupts' stack above the task's");
	record(PIECE_IRQ, 8, place(PIECE_IRQ, 2), K(9));
	walk_chain();
	check(stack.parts[UNWIND_KERNEL].stop == UNWIND_LOOP,
	      "a record further in on the same stack is a loop");
}

/* Nothing is saved: SP_EL0 is still the user's. */
static void test_entering(void)
{
	begin();
	made.vcpu.regs.arm64.sp_el0 = place(PIECE_USER, 0);
	made.vcpu.regs.arm64.elr_el1 = U(5);
	made.vcpu.regs.arm64.spsr_el1 = EL0_FLAGS;
	made.vcpu.regs.arm64.x[29] = place(PIECE_USER, 4);
	walk_chain();
	check_chain(UNWIND_COMPLETE, (uint64_t[]){ K(0), U(5), U(1), U(2), 0 },
		    "the kernel was just entered");
	check(!(stack.frames[0].flags & FRAME_USER) && stack.frames[1].flags == FRAME_USER,
	      "a vCPU that enters the kernel has one kernel frame");
	made.vcpu.regs.arm64.spsr_el1 = EL1H;
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked,
	      "a vCPU that was interrupted in the kernel has no user part");
	made.vcpu.regs.arm64.spsr_el1 = EL0_FLAGS;
	made.vcpu.n_stacks = 2;
	made.vcpu.user_cut = CUT_NONE;
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked, "a unikernel leaves anything in SP_EL0");
}

static void test_broken(void)
{
	begin();
	record(PIECE_TASK, 6, place(PIECE_TASK, 2), K(2));
	walk_chain();
	check(stack.stop == UNWIND_LOOP && stack.n_frames == 6 &&
		      stack.frames[3].address == U(0) &&
		      stack.frames[3].flags == (FRAME_USER | FRAME_BROKEN),
	      "the user's registers are found without the chain");
	begin();
	record(PIECE_TASK, 6, place(PIECE_TASK, 30) + 4, K(2));
	walk_chain();
	check(stack.stop == UNWIND_BAD, "a frame pointer that is not aligned");
}

/* exec() has given up the memory of the program whose registers are saved. */
static void test_exec(void)
{
	begin();
	made.pieces[PIECE_TASK].words[REGS + PT_ARM64_SYSCALL] = 221;
	made.vcpu.user_cut = CUT_NOT_PRESENT;
	check_chain(UNWIND_COMPLETE, (uint64_t[]){ K(0), K(1), K(2), 0 }, "in execve()");
	made.pieces[PIECE_TASK].words[REGS + PT_ARM64_SYSCALL] = 63;
	walk_chain();
	check(stack.parts[UNWIND_USER].walked, "read() keeps its user part");
}

/* Saves registers as Linux 6.13 and later do: the record has a type. */
static void save_typed(unsigned word, uint64_t fp, uint64_t sp, uint64_t pc, uint64_t pstate)
{
	uint64_t *saved = made.pieces[PIECE_TASK].words + word;

	save(word, fp, sp, pc, pstate);
	memset(saved + PT_ARM64_STACKFRAME_TYPED, 0, 3 * sizeof(*saved));
	saved[PT_ARM64_STACKFRAME_TYPED + 2] = pstate & 0xf ? 2 : 1;
}

static void test_typed(unsigned n_words)
{
	unsigned regs = WORDS - n_words;

	begin();
	memset(made.pieces[PIECE_TASK].words + REGS, 0, PT_ARM64_BYTES);
	record(PIECE_TASK, 6, place(PIECE_TASK, regs + PT_ARM64_STACKFRAME_TYPED), K(2));
	/*
	 * The program's address is small, so the words before these registers could be registers as
	 * well. Only the record's type tells them apart.
	 */
	save_typed(regs, place(PIECE_USER, 4), place(PIECE_USER, 0), 0x400020, EL0_FLAGS);
	made.pieces[PIECE_TASK].words[regs + 30] = 0x400040;
	check_chain(UNWIND_COMPLETE, (uint64_t[]){ K(0), K(1), K(2), 0x400020, U(1), U(2), 0 },
		    "Linux 6.13 on: from the kernel to the program");
	made.pieces[PIECE_TASK].words[regs + 30] = 0;

	record(PIECE_TASK, 6, place(PIECE_TASK, 20 + PT_ARM64_STACKFRAME_TYPED), K(2));
	save_typed(20, place(PIECE_TASK, 70), place(PIECE_TASK, 66), K(3), EL1H);
	record(PIECE_TASK, 70, place(PIECE_TASK, regs + PT_ARM64_STACKFRAME_TYPED), K(4));
	check_chain(UNWIND_COMPLETE,
		    (uint64_t[]){ K(0), K(1), K(2), K(3), K(4), 0x400020, U(1), U(2), 0 },
		    "an interrupt in the kernel");

	record(PIECE_TASK, 6, place(PIECE_TASK, 2), K(2));
	walk_chain();
	check(stack.stop == UNWIND_LOOP && stack.frames[3].address == 0x400020,
	      "Linux 6.13 on: a chain with a loop, and the user code after it");
}

/* --- programs of 32 bits ---------------------------------------------------------------------- */

#define USR    0x60000010
#define USER32 UINT32_C(0xbef10000)

/* Code of 32 bits: functions of 0x100 bytes, of which the first is not called. */
#define CODE32 UINT64_C(0x10000)
#define C(n)   (CODE32 + 0x100 * (n) + 8)

static struct symbols *symbols;

static void put32(unsigned word, uint32_t value)
{
	memcpy((char *)made.pieces[PIECE_USER].words + 4 * word, &value, sizeof(value));
}

/* { the caller's r11, return address } at WORD of the user's stack: as clang has it. */
static void frame32(unsigned word, unsigned caller, uint64_t address)
{
	put32(word, caller ? USER32 + 4 * caller : 0);
	put32(word + 1, (uint32_t)address);
}

/* r11, sp, lr and pc, as a kernel of 64 bits has them in a struct pt_regs: FROM is its x0. */
static void set32(uint64_t *from, unsigned fp, uint64_t lr)
{
	from[11] = USER32 + 4 * fp;
	from[13] = USER32;
	from[14] = lr;
}

/* The user's stack has frames at words 4 and 8: C(1) is called by C(2), and that by C(3). */
static void begin32(void)
{
	begin();
	memset(made.pieces[PIECE_USER].words, 0, sizeof(made.pieces[PIECE_USER].words));
	made.pieces[PIECE_USER].head.address = USER32;
	frame32(4, 8, C(2));
	frame32(8, 0, C(3));
	save(REGS, 0, 0, C(1), USR);
	record(PIECE_TASK, REGS + PT_ARM64_STACKFRAME, 0, 0);
	set32(made.pieces[PIECE_TASK].words + REGS, 4, C(1));
}

static void check_chain32(const uint64_t *expected, const char *what)
{
	const struct unwind_spaces spaces = { .user = space_for_unwind(symbols_space(symbols)) };

	unwind_stack(&made.vcpu, &spaces, UNWIND_AUTO, &stack);
	chain_check_addresses(&stack, UNWIND_COMPLETE, expected, what);
}

static void test_system_call32(void)
{
	begin32();
	check_chain32((uint64_t[]){ K(0), K(1), K(2), C(1), C(2), C(3), 0 },
		      "from the kernel to a 32-bit program");
	check(stack.n_frames == 6 && stack.frames[3].flags == FRAME_USER,
	      "the interrupted user address is no return address");
	save(REGS, 0, 0, C(1), USR | 0x20);
	made.pieces[PIECE_TASK].words[REGS + 11] = 0;
	made.pieces[PIECE_TASK].words[REGS + 7] = USER32 + 16;
	frame32(4, 8, C(2) | 1);
	frame32(8, 0, C(3) | 1);
	check_chain32((uint64_t[]){ K(0), K(1), K(2), C(1), C(2), C(3), 0 }, "Thumb code: r7");
}

/*
 * The kernel's chain is broken. The pt_regs at the end of the stack is then used if its x13 points
 * to the copied user stack.
 */
static void test_broken32(void)
{
	begin32();
	record(PIECE_TASK, 6, place(PIECE_TASK, 2), K(2));
	walk_chain();
	check(stack.n_frames > 3 && stack.frames[3].address == C(1) &&
		      stack.frames[3].flags == (FRAME_USER | FRAME_BROKEN),
	      "32-bit registers are found without the chain");
	made.pieces[PIECE_TASK].words[REGS + 13] = USER32 + 8;
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked,
	      "user registers without their copied stack are not used");
}

static void test_exec32(void)
{
	begin32();
	made.pieces[PIECE_TASK].words[REGS + PT_ARM64_SYSCALL] = 11;
	made.vcpu.user_cut = CUT_NOT_PRESENT;
	check_chain32((uint64_t[]){ K(0), K(1), K(2), 0 }, "in execve() of 32 bits");
	made.pieces[PIECE_TASK].words[REGS + PT_ARM64_SYSCALL] = 221;
	walk_chain();
	check(stack.parts[UNWIND_USER].walked,
	      "the number of execve() is another call in 32-bit code");
}

/* The vCPU runs 32-bit user code, with the page tables of a kernel of 64 bits. */
static void test_user32(void)
{
	begin32();
	made.vcpu.user = true;
	made.vcpu.regs.arm64.pstate = USR;
	made.vcpu.regs.arm64.sp_el0 = 0;
	made.vcpu.regs.arm64.pc = C(1) | 0xbad00000000;
	set32(made.vcpu.regs.arm64.x, 4, C(1));
	check_chain32((uint64_t[]){ C(1), C(2), C(3), 0 }, "32-bit user code");
}

/* No register is saved, all registers are saved and cleared, or the kernel goes back. */
static void test_entering32(void)
{
	struct registers_arm64 *arm = &made.vcpu.regs.arm64;
	uint64_t *saved = made.pieces[PIECE_TASK].words + REGS;

	begin32();
	arm->sp_el0 = 0;
	arm->sp_el1 = TASK + 8 * WORDS;
	arm->elr_el1 = C(0);
	arm->spsr_el1 = USR;
	set32(arm->x, 4, C(0));
	saved[13] = USER32 + 64; /* left by an earlier entry */
	check_chain32((uint64_t[]){ K(0), C(0), C(2), C(3), 0 }, "32-bit code has entered the kernel");

	saved = leave_regs_alone();
	set32(saved, 20, C(0));
	saved[13] = USER32 + 64;
	saved[PT_ARM64_PC] = C(3);
	check_chain32((uint64_t[]){ K(0), C(0), C(2), C(3), 0 },
		      "32-bit entry: registers are being saved");

	set32(saved, 4, C(0));
	memset(arm->x, 0, sizeof(arm->x));
	check_chain32((uint64_t[]){ K(0), C(0), C(2), C(3), 0 },
		      "32-bit entry: registers are saved and cleared");
	memset(arm->x, 0xff, sizeof(arm->x));
	saved[PT_ARM64_PC] = C(0);
	check_chain32((uint64_t[]){ K(0), C(0), C(2), C(3), 0 },
		      "32-bit entry: the kernel returns to user code");
	arm->elr_el1 = K(9);
	arm->spsr_el1 = EL1H;
	saved[PT_ARM64_PSTATE] = USR;
	check_chain32((uint64_t[]){ K(0), C(0), C(2), C(3), 0 },
		      "on the way back, with ELR_EL1 of an interrupt in the kernel");
}

/* ELR_EL1 is that of an interrupt in the kernel, so the saved registers tell the 64-bit code. */
static void test_leaving(void)
{
	begin();
	made.vcpu.regs.arm64.sp_el0 = place(PIECE_USER, 0);
	made.vcpu.regs.arm64.elr_el1 = K(9);
	made.vcpu.regs.arm64.spsr_el1 = EL1H;
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked, "pt_regs away from SP_EL1 are not used");
	leave_regs_alone();
	check_chain(UNWIND_COMPLETE, (uint64_t[]){ K(0), U(0), U(1), U(2), 0 },
		    "the kernel is about to go back");
}

/* SP_EL0 is the task, x0 to x29 are saved and cleared, and neither record nor pc is saved yet. */
static void test_half_saved32(void)
{
	struct registers_arm64 *arm = &made.vcpu.regs.arm64;
	uint64_t *saved;

	begin32();
	saved = leave_regs_alone();
	memset(arm->x, 0, sizeof(arm->x));
	arm->elr_el1 = C(0);
	arm->spsr_el1 = USR;
	set32(saved, 4, C(0));
	saved[PT_ARM64_PC] = C(3);
	check_chain32((uint64_t[]){ K(0), C(0), C(2), C(3), 0 }, "half of the registers are saved");
	arm->spsr_el1 = EL0_FLAGS;
	walk_chain();
	check(!stack.parts[UNWIND_USER].walked,
	      "64-bit code gives no user part before its stack pointer is saved");
}

int main(void)
{
	symbols = chain_symbols(CODE32);

	test_typed(42);
	test_typed(40);
	test_system_call();
	test_kernel_thread();
	test_idle_task();
	test_interrupted();
	test_interrupt_stack();
	test_entering();
	test_broken();
	test_exec();
	test_system_call32();
	test_broken32();
	test_exec32();
	test_user32();
	test_entering32();
	test_half_saved32();
	test_leaving();
	symbols_destroy(symbols);
	return tap_done();
}
