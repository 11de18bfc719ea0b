/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole chains over stacks made by hand: a small kernel with one ORC row for each function, its
 * task, interrupt and exception stacks, the user code, and everything that can be wrong with them.
 */
#include "config.h"

#include "orc_rows.h"
#include "stack.h"

/* Functions of 0x100 bytes: where they are linked, and where they run. */
#define TEXT                 UINT64_C(0xffffffff81000000)
#define BIAS                 UINT64_C(0x2c600000)
#define AT(function, offset) (TEXT + BIAS + 0x100 * (function) + (offset))

enum function {
	LEAF,       /* sp + 8 */
	FRAME,      /* sp + 24, rbp in the word before the return address */
	BY_BP,      /* rbp + 16, same */
	KTHREAD,    /* it has no caller */
	INTERRUPT,  /* struct pt_regs at sp */
	SWITCH,     /* another stack pointer on top of the stack */
	NMI,        /* what the processor saved at sp */
	NORETURN,   /* sp + 8; its last instruction is a call */
	NOTHING,    /* the table has an entry that says nothing */
	BY_R10,     /* r10 is the caller's stack pointer */
	WRONG,      /* a register that does not exist */
	ODD,        /* sp + 12 */
	OLD_IRQ,    /* the third word is the address of pt_regs: before 5.12 */
	THUNKS,     /* __x86_indirect_thunk_*: the table says END, as in Linux 6.1 */
	ITS,        /* __x86_indirect_its_thunk_* */
	TRAMPOLINE, /* return_to_handler */
	AFTER,      /* sp + 8; follows a trampoline */
	KEEPS_BP,   /* sp + 8, rbp at rbp + 0 */
	BP_POINTS,  /* the word at rbp + 8 is the caller's stack pointer */
	TASK_SWITCH, /* __switch_to_asm: six registers are saved */
	POPS,       /* pt_regs, of which five registers are popped */
	POPPED,     /* all are, and the number of the system call is dropped */
	LEAVES,     /* hypercall stubs of a PVH guest: the table says nothing */
	PV_PAGE,    /* hypercall stubs of a PV guest, 24 of them: the table says END */
	N_FUNCTIONS = PV_PAGE + 3
};

static const struct orc_row rows[N_FUNCTIONS] = {
	[LEAF] = CALL(8),
	[FRAME] = CALL_BP(24, -16),
	[BY_BP] = { .sp_offset = 16,
		    .sp_reg = ORC_BP,
		    .type = ORC_CALL,
		    .bp_reg = ORC_PREV_SP,
		    .bp_offset = -16 },
	[KTHREAD] = { .type = ORC_END },
	[INTERRUPT] = ROW(ORC_REGS, ORC_SP, 0),
	[SWITCH] = ROW(ORC_CALL, ORC_SP_INDIRECT, 8),
	[NMI] = ROW(ORC_PARTIAL, ORC_SP, 0),
	[NORETURN] = CALL(8),
	[NOTHING] = { .type = ORC_NOTHING },
	[BY_R10] = ROW(ORC_CALL, ORC_R10, 0),
	[WRONG] = ROW(ORC_CALL, N_ORC_REGISTERS, 0),
	[ODD] = CALL(12),
	[OLD_IRQ] = ROW(ORC_REGS, ORC_SP_INDIRECT, 16),
	[THUNKS] = { .type = ORC_END },
	[ITS] = { .type = ORC_END },
	[TRAMPOLINE] = CALL(8),
	[AFTER] = CALL(8),
	[KEEPS_BP] = { .sp_offset = 8, .sp_reg = ORC_SP, .type = ORC_CALL, .bp_reg = ORC_BP },
	[BP_POINTS] = ROW(ORC_CALL, ORC_BP_INDIRECT, 8),
	[TASK_SWITCH] = CALL_BP(64, -16),
	[POPS] = ROW(ORC_REGS, ORC_SP, -40),
	[POPPED] = ROW(ORC_REGS, ORC_SP, -128),
	[LEAVES] = { .type = ORC_NOTHING },
	[PV_PAGE] = { .type = ORC_END },
};

#define TASK    UINT64_C(0xffffc90000100000)
#define IRQ     UINT64_C(0xffffc90000200000)
#define EXC     UINT64_C(0xfffffe0000010000)
#define USER    UINT64_C(0x7ffc00001000)
#define N_TASK  128
#define PROGRAM UINT64_C(0x555555555000) /* user code: [PROGRAM, PROGRAM + 0x1000) */

static struct space *kernel, *user;
static struct unwind_spaces spaces;
static struct unwind_stack stack;

static struct image *make_image(const char *name)
{
	struct image *image;

	must(image_create(name, &image));
	must(symtab_create(&image->symtab));
	return image;
}

static void make_kernel(void)
{
	static const char *const names[N_FUNCTIONS] = {
		[THUNKS] = "__x86_indirect_thunk_rax",
		[ITS] = "__x86_indirect_its_thunk_rax",
		[TRAMPOLINE] = "return_to_handler",
		[TASK_SWITCH] = "__switch_to_asm",
	};
	struct image *image = make_image("[kernel]");
	struct orc_entry entries[N_FUNCTIONS];
	struct mapping mapping = {
		.start = AT(0, 0), .end = AT(N_FUNCTIONS, 0), .bias = BIAS, .image = image
	};

	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		const char *name = names[i] ? names[i] : "function";

		must(symtab_add(image->symtab, TEXT + 0x100 * i, 0x100, 0, SYMBOL_GLOBAL, name,
				strlen(name)));
		entries[i] = (struct orc_entry){ TEXT + 0x100 * i, rows[i] };
	}
	must(symtab_seal(image->symtab));
	must(orc_create_rows(entries, N_FUNCTIONS, TEXT, TEXT + 0x100 * N_FUNCTIONS,
			     &image->tables.orc));
	symtab_add_specials(image->symtab, image->tables.orc);
	orc_add_special(image->tables.orc, ORC_LEAVES, TEXT + 0x100 * LEAVES,
			TEXT + 0x100 * PV_PAGE);
	orc_add_special(image->tables.orc, ORC_HYPERCALLS, TEXT + 0x100 * PV_PAGE,
			TEXT + 0x100 * N_FUNCTIONS);
	must(space_create(&kernel));
	must(space_add(kernel, &mapping));
	image_unref(image);
}

/* A program without tables: frame pointers are left. */
static void make_user(void)
{
	struct image *image = make_image("program");
	struct mapping mapping = {
		.start = PROGRAM, .end = PROGRAM + 0x1000, .bias = PROGRAM, .image = image
	};

	must(symtab_seal(image->symtab));
	must(space_create(&user));
	must(space_add(user, &mapping));
	image_unref(image);
}

static void unwind_as(enum unwind_how how)
{
	memset(&stack, 0xa5, sizeof(stack));
	unwind_stack(&record.vcpu, &spaces, how, &stack);
}

#define GUESS (1U << 31) /* the frame is one */

struct expected {
	uint64_t address;
	uint32_t flags;
};

#define R          FRAME_RETURN
#define U          FRAME_USER
#define CHAIN(...) ((const struct expected[]){ __VA_ARGS__, { 0 } })

/* EXPECTED: innermost first, ended by address 0; GUESS beside the flags. */
static void check_chain(enum unwind_stop stop, const struct expected *expected, const char *what)
{
	unsigned n = 0, same = 0;

	for (; expected[n].address; n++)
		if (same == n && n < stack.n_frames &&
		    stack.frames[n].address == expected[n].address &&
		    stack.frames[n].flags == (expected[n].flags & ~GUESS) &&
		    (stack.frames[n].by == UNWIND_BY_GUESS) == !!(expected[n].flags & GUESS))
			same++;
	check(same == n && stack.n_frames == n && stack.stop == stop,
	      "%s: %u of %u frames right, of %u, stop %d (expected %d)", what, same, n,
	      stack.n_frames, stack.stop, stop);
}

static void check_part(enum unwind_part part, bool walked, enum unwind_stop stop, uint32_t pieces,
		       int last_piece)
{
	const struct unwind_part_end *end = &stack.parts[part];

	check(end->walked == walked && end->stop == stop && end->pieces == pieces &&
		      (!walked || end->last_piece == last_piece),
	      "%s part: walked %d, stop %d, pieces %#x, last %d (expected %d, %d, %#x, %d)",
	      part == UNWIND_USER ? "user" : "kernel", end->walked, end->stop, end->pieces,
	      end->last_piece, walked, stop, pieces, last_piece);
}

static void begin_task(enum function function, uint64_t offset)
{
	record_begin(AT(function, offset), TASK);
	record_piece(TASK, N_TASK);
}

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
	check_u64(stack.reached[0], TASK + 88, "reached");

	/* A function may end with a call that never returns: the next function starts behind it. */
	begin_task(LEAF, 4);
	put(TASK, AT(NORETURN, 0x100)); /* NOTHING's first byte */
	put(TASK + 8, AT(KTHREAD, 4));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(LEAF, 4), 0 }, { AT(NORETURN, 0x100), R }, { AT(KTHREAD, 4), R }),
		    "the return address of a call that never returns");

	/* A function that jumped to LEAF is not on the stack. The bytes are as above. */
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
	check_u64(stack.n_frames, 5, "-u orc");
	unwind_as(UNWIND_DWARF);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(LEAF, 4), 0 }), "-u dwarf does not use ORC");
	record.vcpu.regs.rbp = TASK + 72;
	record.vcpu.regs.rip = AT(LEAF, 8);
	unwind_as(UNWIND_FP);
	check_chain(UNWIND_BAD, CHAIN({ AT(LEAF, 8), 0 }, { AT(KTHREAD, 4), R }),
		    "-u fp uses rbp only"); /* up to rbp 77 */
}

/* --- interrupts ------------------------------------------------------------------------------- */

#define SYSCALL (TASK + 8 * N_TASK - REGS_BYTES) /* pt_regs at the top of the task's stack */

/*
 * irq:  LEAF <- SWITCH, at the interrupt stack's last word task: ... SWITCH's caller INTERRUPT,
 * pt_regs <- LEAF + 0 <- FRAME <- INTERRUPT (system call), user
 */
static void put_interrupt(uint64_t cs)
{
	put(IRQ, AT(SWITCH, 8));
	put(IRQ + 8, TASK); /* the stack pointer it came from */
	put(TASK, AT(INTERRUPT, 8));
	put_regs(TASK + 8, AT(LEAF, 0), cs, TASK + 8 + REGS_BYTES, 5);
	put(TASK + 8 + REGS_BYTES, AT(FRAME, 9));
	put(TASK + 8 + REGS_BYTES + 16, 0x7ffc00001100);
	put(TASK + 8 + REGS_BYTES + 24, AT(INTERRUPT, 3));
	for (uint64_t at = TASK + 8 + REGS_BYTES + 32; at < SYSCALL; at += 8)
		put(at, 0);
}

/* FRAME's stack pointer after the return. pt_regs follow directly. */
#define SYSCALL_REGS (TASK + 8 + REGS_BYTES + 32)

static void check_interrupt(const char *what)
{
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(LEAF, 4), 0 }, { AT(SWITCH, 8), R }, { AT(INTERRUPT, 8), R },
			  { AT(LEAF, 0), 0 }, { AT(FRAME, 9), R }, { AT(INTERRUPT, 3), R },
			  { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    what);
}

static void put_user_stack(void)
{
	put(USER, 0);
	put(USER + 8, PROGRAM + 0x20);
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
		check_interrupt(i ? "the same under PV"
				  : "interrupt stack, task stack, user stack");
		check_part(UNWIND_KERNEL, true, UNWIND_COMPLETE, 3, 2);
		check_part(UNWIND_USER, true, UNWIND_COMPLETE, 4, 2);
		check(stack.reached[0] == IRQ + 16 &&
			      stack.reached[1] == SYSCALL_REGS + REGS_BYTES &&
			      stack.reached[2] == USER + 16,
		      "reached, for each piece");
	}

	/* Before 5.12: the entry code itself is on the interrupt stack. */
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

/* --- special code ----------------------------------------------------------------------------- */

/*
 * A retpoline (arch/x86/lib/retpoline.S), 32 bytes a register:
 *          6.1   6.17
 *            0   0   call     before it the caller is on top; also at 3, the jump without a call
 *            5   5   a trap
 *           12   6   mov %reg, (%rsp)    the inner call's return address is on top
 *           16  10   ret                 now the target of the jump is on top
 */
static void test_retpolines(void)
{
	static const unsigned offsets[] = { 0, 3, 6, 10, 12, 16, 64, 64 + 6, 64 + 12, 64 + 16 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		unsigned inner = offsets[i] % 32 > 3;

		begin_task(THUNKS, offsets[i]);
		put(TASK, inner ? AT(THUNKS, offsets[i] / 32 * 32 + 5) : AT(FRAME, 8));
		if (inner)
			put(TASK + 8, AT(FRAME, 8));
		put(TASK + 8 * inner + 24, AT(KTHREAD, 9));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ AT(THUNKS, offsets[i]), 0 }, { AT(FRAME, 8), R },
				  { AT(KTHREAD, 9), R }),
			    "retpoline");
	}
	begin_task(ITS, 16);
	put(TASK, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, CHAIN({ AT(ITS, 16), 0 }, { AT(KTHREAD, 9), R }),
		    "a thunk that only jumps");
}

/* A PVH guest's stub never moves the stack pointer. A PV guest's has pushed WORDS. */
static void test_hypercalls(void)
{
	static const struct {
		enum function page;
		unsigned offset, words;
	} places[] = {
		/* mov $n, %eax; vmcall; ret */
		{ LEAVES, 0, 0 }, { LEAVES, 5, 0 }, { LEAVES, 8, 0 }, { LEAVES, 64 + 8, 0 },
		/* push %rcx; push %r11; mov $n, %eax; syscall; pop %r11; pop %rcx; ret */
		{ PV_PAGE, 0, 0 }, { PV_PAGE, 1, 1 }, { PV_PAGE, 3, 2 }, { PV_PAGE, 8, 2 },
		{ PV_PAGE, 10, 2 }, { PV_PAGE, 12, 1 }, { PV_PAGE, 13, 0 },
		{ PV_PAGE, 32, 0 }, { PV_PAGE, 22 * 32 + 10, 2 },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t at = AT(places[i].page, places[i].offset);
		uint64_t top = TASK + 8 * places[i].words;

		begin_task(places[i].page, places[i].offset);
		for (uint64_t pushed = TASK; pushed < top; pushed += 8)
			put(pushed, AT(LEAF, 9)); /* rcx and r11 may look like anything */
		put(top, AT(FRAME, 8));
		put(top + 24, AT(KTHREAD, 9));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ at, 0 }, { AT(FRAME, 8), R }, { AT(KTHREAD, 9), R }),
			    "hypercall");
	}

	/* Events are delivered when a hypercall ends: the upcall's registers are in the stub. */
	begin_task(INTERRUPT, 4);
	put_regs(TASK, AT(PV_PAGE, 10), PV_CS, TASK + REGS_BYTES, 5);
	put(TASK + REGS_BYTES + 16, AT(FRAME, 8));
	put(TASK + REGS_BYTES + 40, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(INTERRUPT, 4), 0 }, { AT(PV_PAGE, 10), 0 }, { AT(FRAME, 8), R },
			  { AT(KTHREAD, 9), R }),
		    "an upcall in a hypercall");
}

/*
 * A PV guest's stub of iret: it pushes rcx, r11 and rax, and Xen takes flags and the words of iret.
 */
static void test_hypercall_iret(void)
{
	static const struct {
		unsigned offset, words;
	} places[] = { { 0, 0 }, { 1, 1 }, { 3, 2 }, { 4, 3 }, { 9, 3 } };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t at = AT(PV_PAGE, 23 * 32 + places[i].offset);
		uint64_t iret = TASK + 8 * (places[i].words + 1);

		record_begin(at, TASK);
		record.vcpu.regs.rbp = USER;
		record_piece(TASK, N_TASK);
		record_piece(USER, 16);
		put_iret(iret, PROGRAM + 0x10, USER_CS, USER);
		put_user_stack();
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ at, 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
			    "back to user code");
		put_iret(iret, AT(LEAF, 3), PV_CS, TASK + 80);
		put(TASK + 80, AT(KTHREAD, 9));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ at, 0 }, { AT(LEAF, 3), 0 }, { AT(KTHREAD, 9), R }),
			    "back to interrupted kernel code");
	}
}

/*
 * The table knows of another alternative, with one call: its row has a word more than the saved
 * registers and the return address. The calls of this one begin at 0x2f and 0x35 (Linux 5.10).
 */
static void test_task_switch(void)
{
	static const struct {
		uint64_t offset;
		unsigned calls; /* whose return addresses are on top */
	} places[] = { { 0x28, 0 }, { 0x2f, 0 }, { 0x35, 1 }, { 0x3b, 2 }, { 0x3f, 0 } };
	static const uint64_t returns[] = { 0x34, 0x3a };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t at = TASK;

		begin_task(TASK_SWITCH, places[i].offset);
		for (unsigned call = places[i].calls; call > 0; call--, at += 8)
			put(at, AT(TASK_SWITCH, returns[call - 1]));
		for (unsigned saved = 0; saved < 5; saved++, at += 8)
			put(at, 0x1234);
		put(at, TASK + 200); /* rbp */
		put(at + 8, AT(BY_BP, 9));
		put(TASK + 208, AT(KTHREAD, 4));
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE,
			    CHAIN({ AT(TASK_SWITCH, places[i].offset), 0 }, { AT(BY_BP, 9), R },
				  { AT(KTHREAD, 4), R }),
			    "__switch_to_asm fills the return stack buffer");
	}
}

static void test_trampolines(void)
{
	begin_task(LEAF, 4);
	put(TASK, AT(TRAMPOLINE, 0));
	put(TASK + 8, AT(KTHREAD, 9));
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_REPLACED, CHAIN({ AT(LEAF, 4), 0 }, { AT(TRAMPOLINE, 0), R }),
		    "a tracer's return address");

	record_piece(USER, 16);
	put_regs(SYSCALL, PROGRAM + 0x10, USER_CS, USER, USER);
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_REPLACED,
		    CHAIN({ AT(LEAF, 4), 0 }, { AT(TRAMPOLINE, 0), R },
			  { PROGRAM + 0x10, U | FRAME_BROKEN }, { PROGRAM + 0x20, U | R }),
		    "a tracer's return address, and the user code below");
	check_part(UNWIND_KERNEL, true, UNWIND_REPLACED, 1, 0);
	check_part(UNWIND_USER, true, UNWIND_COMPLETE, 2, 1);
}

/* --- from the kernel to user code ------------------------------------------------------------- */

/* The kernel's part ends early at AFTER. The user's registers end SLACK bytes before the top. */
static void begin_broken(uint64_t slack)
{
	begin_task(LEAF, 4);
	record_piece(USER, 16);
	put(TASK, AT(WRONG, 5));
	put_regs(SYSCALL - slack, PROGRAM + 0x10, USER_CS, USER, USER);
	put_user_stack();
}

static void test_user_regs(void)
{
	const struct expected *whole =
		CHAIN({ AT(LEAF, 4), 0 }, { AT(WRONG, 5), R }, { PROGRAM + 0x10, U | FRAME_BROKEN },
		      { PROGRAM + 0x20, U | R });
	const struct expected *half = CHAIN({ AT(LEAF, 4), 0 }, { AT(WRONG, 5), R });

	begin_broken(0);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, whole, "user registers at the stack's top");
	begin_broken(16);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, whole, "user registers 16 bytes before the top");
	begin_broken(0);
	put(SYSCALL + 8 * 17, KERNEL_CS);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, half, "kernel registers at the top");
	begin_broken(0);
	put(SYSCALL + 8 * 19, USER + 0x10000);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_BAD, half, "registers with another user stack");
	check_u64(stack.reached[0], TASK + 8,
		  "bytes that were only looked at do not count as reached");
	check_part(UNWIND_USER, false, UNWIND_COMPLETE, 0, 0);
}

/* The end of a system call pops the user's registers; rbp is the fifth. */
static void test_popped_regs(void)
{
	const uint64_t rsp = SYSCALL_REGS + 8 * 5;

	record_begin(AT(POPS, 4), rsp);
	record_piece(rsp, REGS_BYTES / 8 - 5);
	record_piece(USER, 16);
	put_iret(SYSCALL_REGS + 8 * 16, PROGRAM + 0x10, USER_CS, USER);
	record.vcpu.regs.rbp = USER;
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(POPS, 4), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "registers of which five are popped");
	record_begin(AT(POPS, 4), rsp);
	record_piece(rsp, REGS_BYTES / 8 - 6);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, CHAIN({ AT(POPS, 4), 0 }), "the others were not copied");
	record_begin(AT(POPPED, 4), SYSCALL_REGS + 8 * 16);
	record_piece(SYSCALL_REGS + 8 * 16, REGS_BYTES / 8 - 16);
	record_piece(USER, 16);
	put_iret(SYSCALL_REGS + 8 * 16, PROGRAM + 0x10, USER_CS, USER);
	record.vcpu.regs.rbp = USER;
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(POPPED, 4), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "registers of which all are popped");
}

/* No user stack was copied: the frame is known, but its callers are not, even if rbp is 0. */
static void test_user_cut(void)
{
	begin_task(INTERRUPT, 4);
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER, 0);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U }),
		    "the user stack was not copied");
	check_part(UNWIND_KERNEL, true, UNWIND_COMPLETE, 1, -1);
	check_part(UNWIND_USER, true, UNWIND_CUT, 0, -1);
	begin_task(INTERRUPT, 4);
	record_piece(USER, 16);
	put_user_stack();
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER - 4000, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "the stack pointer lies below the stack that is there");
}

/* In execve() the memory is the new program's, but the registers are the old program's. */
static void test_last_calls(void)
{
	const struct expected *whole = CHAIN({ AT(INTERRUPT, 4), 0 });
	const struct expected *cut = CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U });
	/* execve(), execveat(), exit(), exit_group(), and those of programs of 32 bits */
	const uint64_t calls[] = { 59, 322, 60, 231, 11, 358, 1, 252 };

	record_begin(AT(INTERRUPT, 4), SYSCALL);
	record_piece(SYSCALL, REGS_BYTES / 8);
	record.vcpu.user_cut = CUT_NOT_PRESENT;
	for (unsigned i = 0; i < 8; i++) {
		put_regs(SYSCALL, PROGRAM + 0x10, i < 4 ? USER_CS : CS_USER_32, USER, USER);
		put(SYSCALL + 8 * 15, calls[i]);
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE, whole, "a system call that gives up the memory: no user code");
		check_part(UNWIND_USER, false, UNWIND_COMPLETE, 0, 0);
	}
	put(SYSCALL + 8 * 15, 60);
	unwind_as(UNWIND_AUTO);
	check_part(UNWIND_USER, true, UNWIND_CUT, 0, -1); /* another call, in a program of 32 bits */
	put_regs(SYSCALL, PROGRAM + 0x10, USER_CS, USER, USER);
	put(SYSCALL + 8 * 15, calls[0]);
	record.vcpu.user_cut = CUT_NOT_MAPPED;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, cut, "the stack may still be there");
	record.vcpu.user_cut = CUT_NOT_PRESENT;
	put(SYSCALL + 8 * 15, 1);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, cut, "another system call");
	spaces.user_ended = true;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "the task has ended in it: no user code");
	record.vcpu.user_cut = CUT_NOT_MAPPED;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_CUT, cut, "its stack may still have been there");
	spaces.user_ended = false;
}

/* The first and last instructions of the kernel, for which the tables say END. */
static void begin_entry(uint64_t rsp)
{
	record_begin(AT(KTHREAD, 4), rsp);
	record.vcpu.regs.rcx = PROGRAM + 0x10;
	record.vcpu.regs.r11 = 0x246;
	record.vcpu.regs.rbp = USER;
	if (rsp == TASK)
		record_piece(TASK, N_TASK);
	record_piece(USER, 16);
	put_user_stack();
}

static void test_entry(void)
{
	const struct expected *whole =
		CHAIN({ AT(KTHREAD, 4), 0 }, { PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R });
	const struct expected *half = CHAIN({ AT(KTHREAD, 4), 0 });

	begin_entry(TASK);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "sysret: rcx is the user's rip");
	begin_entry(USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "syscall: still on the user's stack");
	begin_entry(TASK);
	record.vcpu.regs.rsp = 0x4666000; /* CR3, while the kernel switches page tables */
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "syscall: the user's stack pointer is not in rsp");
	begin_entry(TASK);
	record.vcpu.regs.r11 = 0x100000246;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, half, "r11 cannot be rflags");
	put_iret(TASK, PROGRAM + 0x10, USER_CS, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "iret: the words are on top");
	begin_entry(TASK);
	record.vcpu.regs.rcx = PROGRAM + 0x1010;
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, half, "rcx is no address of code");
	put_iret(TASK + 8, PROGRAM + 0x10, USER_CS, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, whole, "iret: one word below the top");
	for (unsigned above = 16; above <= 24; above += 8) {
		begin_entry(TASK);
		record.vcpu.regs.rcx = 0;
		put_iret(TASK + above, PROGRAM + 0x10, USER_CS, USER);
		unwind_as(UNWIND_AUTO);
		check_chain(UNWIND_COMPLETE, whole,
			    "iret: below Xen's rcx and r11, and an error code");
	}
	put_iret(TASK + 24, PROGRAM + 0x10, KERNEL_CS, USER);
	put_iret(TASK + 32, PROGRAM + 0x10, USER_CS, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, half, "iret: four words below the top is too far");
	put_iret(TASK + 8, PROGRAM + 0x10, KERNEL_CS, USER);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, half, "iret: back to the kernel");
	begin_task(LEAF, 4);
	put(TASK, AT(KTHREAD, 4));
	record.vcpu.regs.rcx = PROGRAM + 0x10;
	record.vcpu.regs.r11 = 0x246;
	record_piece(USER, 16);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, CHAIN({ AT(LEAF, 4), 0 }, { AT(KTHREAD, 4), R }),
		    "a kernel thread whose caller is such code has no user part");
}

static void test_user_code(void)
{
	spaces.user_whole = true;
	begin_task(INTERRUPT, 4);
	record_piece(USER, 16);
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER, USER);
	put(USER, 0);
	put(USER + 8, PROGRAM + 0x1234); /* no code of the program */
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U }),
		    "a return address where the process has no code");
	check_part(UNWIND_USER, true, UNWIND_NO_TABLES, 2, 1);
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE,
		    CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U },
			  { PROGRAM + 0x20, U | R | GUESS }),
		    "a program without tables: frames are guesses, and so is the end");
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER, 0);
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_NO_TABLES, CHAIN({ AT(INTERRUPT, 4), 0 }, { PROGRAM + 0x10, U }),
		    "rbp 0 without a frame before proves nothing");
	put_regs(TASK, PROGRAM + 0x10, USER_CS, USER, USER);
	put(USER + 8, PROGRAM + 0x1234);
	spaces.user_whole = false;
	unwind_as(UNWIND_AUTO);
	check_u64(stack.n_frames, 3, "when not all code is known, it is no guess: frames");

	record_begin(PROGRAM + 0x10, USER);
	record.vcpu.user = 1;
	record.vcpu.regs.rbp = USER;
	record_piece(USER, 16);
	put_user_stack();
	unwind_as(UNWIND_AUTO);
	check_chain(UNWIND_COMPLETE, CHAIN({ PROGRAM + 0x10, U }, { PROGRAM + 0x20, U | R }),
		    "a vCPU in user code");
	check_part(UNWIND_KERNEL, false, UNWIND_COMPLETE, 0, 0);
	check_part(UNWIND_USER, true, UNWIND_COMPLETE, 1, 0);
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
	check_chain(UNWIND_BAD, CHAIN({ AT(LEAF, 4), 0 }), "a return address behind all code");
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
	record.vcpu.cut = CUT_FAULT;
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
	n_frames = stack.n_frames;
	check(stack.stop == UNWIND_LOOP && n_frames > 4 && n_frames < 12,
	      "two stacks that point at each other: %u frames", n_frames);
}

static void test_deep(void)
{
	record_begin(AT(LEAF, 4), TASK);
	record_piece(TASK, 600);
	for (size_t i = 0; i < 600; i++)
		put(TASK + 8 * i, AT(LEAF, 8));
	unwind_as(UNWIND_AUTO);
	check(stack.n_frames == UNWIND_MAX_FRAMES && stack.stop == UNWIND_TOO_DEEP,
	      "deep: %u frames, stop %d", stack.n_frames, stack.stop);
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
	must(space_add(kernel, &mapping));
	unwind_as(UNWIND_AUTO);
	check_chain(
		UNWIND_COMPLETE,
		CHAIN({ AT(LEAF, 4), 0 }, { jit + 0x10, R }, { AT(KTHREAD, 9), R | GUESS }),
		"the JIT's code is mapped");
	space_remove_if(kernel, is_jit, NULL);
}

static void test_nothing_known(void)
{
	struct unwind_spaces kept = spaces;

	spaces = (struct unwind_spaces){ 0 };
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
	spaces = kept;
}

/* --- anything --------------------------------------------------------------------------------- */

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
		frames += stack.n_frames;
		bad += stack.n_frames < 1 || stack.n_frames > UNWIND_MAX_FRAMES;
		bad += (unsigned)stack.stop >= N_UNWIND_STOPS;
		bad += stack.reached[0] > TASK + 1024 || stack.reached[1] > IRQ + 512 ||
		       stack.reached[2] > USER + 512;
	}
	check_u64(bad, 0, "random stacks");
	check(frames > 32000, "%u frames in random stacks", frames);
}

int main(void)
{
	make_kernel();
	make_user();
	spaces = (struct unwind_spaces){ .kernel = space_for_unwind(kernel),
					  .user = space_for_unwind(user) };
	test_calls();
	test_modes();
	test_interrupt();
	test_exceptions();
	test_registers();
	test_retpolines();
	test_hypercalls();
	test_hypercall_iret();
	test_task_switch();
	test_trampolines();
	test_user_regs();
	test_popped_regs();
	test_user_cut();
	test_last_calls();
	test_entry();
	test_user_code();
	test_bad();
	test_loops();
	test_deep();
	test_guess();
	test_jit();
	test_nothing_known();
	test_random();
	space_destroy(kernel);
	space_destroy(user);
	return tap_done();
}
