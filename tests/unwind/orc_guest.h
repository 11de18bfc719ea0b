/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest for whole chains over stacks made by hand: a small kernel with one ORC row for each
 * function, its task, interrupt and exception stacks, and a user program.
 */
#ifndef TESTS_UNWIND_ORC_GUEST_H
#define TESTS_UNWIND_ORC_GUEST_H

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

/* The guest that all tests share, and the last chain. */
static struct {
	struct space *kernel, *user;
	struct unwind_spaces spaces;
	struct unwind_stack stack;
} made;

static inline struct image *make_image(const char *name)
{
	struct image *image;

	must(image_create(name, &image));
	must(symtab_create(&image->symtab));
	return image;
}

static inline void make_kernel(void)
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

		must(symtab_add(image->symtab,
				&(struct symbol_definition){ .start = TEXT + 0x100 * i,
							     .size_bytes = 0x100,
							     .rank = SYMBOL_GLOBAL,
							     .name = name,
							     .name_bytes = strlen(name) }));
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
	must(space_create(&made.kernel));
	must(space_add(made.kernel, &mapping));
	image_unref(image);
}

/* A program without tables: frame pointers are left. */
static inline void make_user(void)
{
	struct image *image = make_image("program");
	struct mapping mapping = {
		.start = PROGRAM, .end = PROGRAM + 0x1000, .bias = PROGRAM, .image = image
	};

	must(symtab_seal(image->symtab));
	must(space_create(&made.user));
	must(space_add(made.user, &mapping));
	image_unref(image);
}

static inline void unwind_as(enum unwind_how how)
{
	memset(&made.stack, 0xa5, sizeof(made.stack));
	unwind_stack(&record.vcpu, &made.spaces, how, &made.stack);
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
static inline void check_chain(enum unwind_stop stop, const struct expected *expected, const char *what)
{
	unsigned n = 0, same = 0;

	for (; expected[n].address; n++)
		if (same == n && n < made.stack.n_frames &&
		    made.stack.frames[n].address == expected[n].address &&
		    made.stack.frames[n].flags == (expected[n].flags & ~GUESS) &&
		    (made.stack.frames[n].by == UNWIND_BY_GUESS) == !!(expected[n].flags & GUESS))
			same++;
	check(same == n && made.stack.n_frames == n && made.stack.stop == stop,
	      "%s: %u of %u frames right, of %u, stop %d (expected %d)", what, same, n,
	      made.stack.n_frames, made.stack.stop, stop);
}

static inline void check_part(enum unwind_part part, bool walked, enum unwind_stop stop, uint32_t pieces,
		       int last_piece)
{
	const struct unwind_part_end *end = &made.stack.parts[part];

	check(end->walked == walked && end->stop == stop && end->pieces == pieces &&
		      (!walked || end->last_piece == last_piece),
	      "%s part: walked %d, stop %d, pieces %#x, last %d (expected %d, %d, %#x, %d)",
	      part == UNWIND_USER ? "user" : "kernel", end->walked, end->stop, end->pieces,
	      end->last_piece, walked, stop, pieces, last_piece);
}

static inline void begin_task(enum function function, uint64_t offset)
{
	record_begin(AT(function, offset), TASK);
	record_piece(TASK, N_TASK);
}

#define SYSCALL (TASK + 8 * N_TASK - REGS_BYTES) /* pt_regs at the top of the task's stack */

/* The registers of the system call in put_interrupt(), and of one that pops them. */
#define SYSCALL_REGS (TASK + 8 + REGS_BYTES + 32)

static inline void put_user_stack(void)
{
	put(USER, 0);
	put(USER + 8, PROGRAM + 0x20);
}

static inline void begin_guest(void)
{
	make_kernel();
	make_user();
	made.spaces = (struct unwind_spaces){ .kernel = space_for_unwind(made.kernel),
					      .user = space_for_unwind(made.user) };
}

static inline void end_guest(void)
{
	space_destroy(made.kernel);
	space_destroy(made.user);
}

#endif
