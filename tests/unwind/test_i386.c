/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of 32-bit code: frame pointers, and call-frame information with the numbers of i386. The
 * stack begins at STACK, and esp points there. Words have 4 bytes.
 */
#include "config.h"

#include <string.h>

#include "tests/support/tap.h"
#include "unwind/cfi_table.h"
#include "unwind/cursor_x86.h"
#include "unwind/first_code.h"
#include "unwind/fp.h"
#include "xtop/unwind/unwind.h"

#define STACK 0xc0100000U
#define CODE  0xc0001000U
#define WORDS 64

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint32_t words[WORDS];
} made;

static uint32_t at(unsigned word)
{
	return STACK + 4 * word;
}

/* Starts at EIP. 32-bit code does not define the upper half of rbp. */
static void begin(uint32_t eip, uint32_t ebp, enum register_width width)
{
	memset(&made, 0, sizeof(made));
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1,
					  .stack_cut = CUT_LIMIT,
					  .regs = { .rip = eip,
						    .rbp = 0xabcd00000000ULL | ebp,
						    .rsp = STACK,
						    .rsi = 0x51,
						    .rdi = 0xd1,
						    .rbx = 0xb1,
						    .width = width } };
	made.stack = (struct sample_stack){ .address = STACK, .size_bytes = 4 * WORDS };
}

static void frame(unsigned word, uint32_t caller_ebp, uint32_t return_address)
{
	made.words[word] = caller_ebp;
	made.words[word + 1] = return_address;
}

/* --- where chains begin ----------------------------------------------------------------------- */

static bool find_entry(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	*start = CODE + 0x100;
	*end = CODE + 0x140;
	return address >= *start && address < *end;
}

/* A function in front of the entry, and after it, has a caller; a call may end the entry. */
static void test_first_code(void)
{
	const struct code_source source = { .find_function = find_entry,
					    .entries.elf = CODE + 0x110 };
	const struct code_source other = { .find_function = find_entry, .entries.elf = CODE };
	struct first_code *code = first_code_create(&source);
	struct cursor cursor;

	begin(CODE + 0x120, 0, WIDTH_32);
	cursor_init(&cursor, &made.vcpu);
	check(code && first_code_step(code, 0, &cursor) == STEP_OUTERMOST,
	      "the entry has no caller");
	cursor.interrupted = false;
	cursor.regs[REG_RIP] = CODE + 0x140;
	check(code && first_code_step(code, 0, &cursor) == STEP_OUTERMOST,
	      "an entry that ends in a call has no caller");
	cursor.regs[REG_RIP] = CODE + 0x100;
	check(code && first_code_step(code, 0, &cursor) == STEP_NOT_COVERED,
	      "a function before the entry has a caller");
	cursor.interrupted = true;
	cursor.regs[REG_RIP] = CODE + 0x140;
	check(code && first_code_step(code, 0, &cursor) == STEP_NOT_COVERED,
	      "a function after the entry has a caller");
	check(!first_code_create(&other), "an entry without bounds gives no first code");
	first_code_destroy(code);
}

/* --- frame pointers --------------------------------------------------------------------------- */

static void check_chain(enum unwind_stop stop, unsigned n, const char *what)
{
	const struct unwind_spaces spaces = { 0 };
	static struct unwind_stack stack;
	bool same;

	unwind_stack(&made.vcpu, &spaces, UNWIND_FP, &stack);
	same = stack.n_frames == n && stack.stop == stop;
	for (unsigned i = 0; i < n && same; i++)
		same = stack.frames[i].address == CODE + 0x100 * i;
	check(same, "%s: %u frames, stop %d (expected %u, %d)", what, stack.n_frames, stack.stop, n,
	      stop);
}

static void make_chain(enum register_width width)
{
	begin(CODE, at(3), width);
	frame(3, at(8), CODE + 0x100);
	frame(8, at(13), CODE + 0x200); /* not a multiple of 8 */
	frame(13, 0, CODE + 0x300);
}

static void test_fp(void)
{
	make_chain(WIDTH_32_PAE);
	check_chain(UNWIND_COMPLETE, 4, "a kernel with PAE, up to ebp 0");
	make_chain(WIDTH_32);
	check_chain(UNWIND_COMPLETE, 4, "a kernel without PAE, up to ebp 0");
	make_chain(WIDTH_64);
	made.vcpu.user = 1;
	made.vcpu.regs.cs = CS_USER_32;
	check_chain(UNWIND_COMPLETE, 4, "a program below a 64-bit kernel");
	made.vcpu.regs.cs = CS_USER_32_PV;
	check_chain(UNWIND_COMPLETE, 4, "a program below a PV kernel");
	make_chain(WIDTH_32_PAE);
	made.words[8] = at(8);
	check_chain(UNWIND_LOOP, 3, "a frame that points to itself");
	make_chain(WIDTH_32_PAE);
	made.words[3] = at(8) + 2;
	check_chain(UNWIND_BAD, 2, "an ebp that is no multiple of 4");
	make_chain(WIDTH_32_PAE);
	made.stack.size_bytes = 4 * 9;
	check_chain(UNWIND_CUT, 2, "half a frame was copied");
}

/* What the kernel has saved of user code tells whether that has 32 bits. */
static void test_saved_registers(void)
{
	uint64_t saved[N_PT_REGS];
	struct cursor cursor;

	begin(CODE, 0, WIDTH_64);
	for (unsigned i = 0; i < N_PT_REGS; i++)
		saved[i] = 0xdead00000000ULL | i;
	saved[PT_REGS_CS] = 0x33;
	cursor_init(&cursor, &made.vcpu);
	cursor_set_pt_regs(&cursor, saved);
	check(cursor.word_bytes == 8 && cursor.regs[REG_RBX] == (0xdead00000000ULL | PT_REGS_RBX),
	      "64-bit user code has whole registers");
	saved[PT_REGS_CS] = CS_USER_32;
	cursor_set_pt_regs(&cursor, saved);
	check(cursor.word_bytes == 4 && cursor.regs[REG_RBX] == PT_REGS_RBX &&
		      cursor.regs[REG_RSP] == PT_REGS_RSP,
	      "32-bit user code has no upper halves of registers");
}

/* --- call-frame information ------------------------------------------------------------------- */

/*
 * A function as gcc -m32 makes it, at CODE:
 *
 *   0  push %ebp   1  mov %esp,%ebp   3  push %ebx, push %esi   5  ...
 */
static const struct {
	uint8_t cie[20], fde[36];
} eh_frame = {
	.cie = { 16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x7c, 8, 1, 0x00, 0x0c, 4, 4 },
	/*
	 * Compilers have "eip at CFA - 4" in the CIE; here it is in the FDE, so the CIE has 20
	 * bytes.
	 */
	.fde = { 32,   0,    0,    0,    24,   0,    0,    0,       /* length, CIE */
		 0x00, 0x10, 0x00, 0xc0, 0x40, 0x00, 0x00, 0x00, 0, /* CODE, 0x40 */
		 0x88, 1,                                           /* eip at CFA - 4 */
		 0x41, 0x0e, 8,    0x85, 2,                         /* 1: CFA esp + 8 */
		 0x42, 0x0d, 5,                                     /* 3: CFA ebp + 8 */
		 0x42, 0x83, 3,    0x86, 4 },                       /* 5: ebx, esi */
};

static struct cfi *compile(bool is_short)
{
	const struct cfi_sections sections = {
		.eh_frame = { .bytes = eh_frame.cie,
			      .size_bytes = sizeof(eh_frame),
			      .address = 0xc0200000,
			      .is_short = is_short },
	};
	struct cfi *cfi = NULL;
	struct xtop_error *error = cfi_compile(&sections, &cfi);

	check(!error, "a table of i386 is made");
	error_destroy(error);
	return cfi;
}

static void check_step(struct cfi *cfi, uint32_t offset, uint32_t ebp, uint64_t caller_sp,
		       const char *what)
{
	enum unwind_step step;
	struct cursor cursor;

	begin(CODE + offset, ebp, WIDTH_32_PAE);
	made.words[0] = 0x5151;
	made.words[1] = 0xb1b1;
	made.words[2] = 0xebeb;
	made.words[3] = CODE + 0x500;
	made.stack.address = made.vcpu.regs.rsp = STACK;
	if (offset < 5) /* less has been pushed: esp is further out */
		made.vcpu.regs.rsp = offset ? at(2) : at(3);
	cursor_init(&cursor, &made.vcpu);
	step = cfi_step(cfi, 0, &cursor);
	check(step == STEP_CALLER && cursor.regs[REG_RIP] == CODE + 0x500 &&
		      cursor.regs[REG_RSP] == caller_sp,
	      "%s: step %d, eip %#jx, esp %#jx", what, step, (uintmax_t)cursor.regs[REG_RIP],
	      (uintmax_t)cursor.regs[REG_RSP]);
	check(cursor.regs[REG_RBP] == (offset ? 0xebeb : ebp) &&
		      cursor.regs[REG_RBX] == (offset < 5 ? 0xb1 : 0xb1b1) &&
		      cursor.regs[REG_RSI] == (offset < 5 ? 0x51 : 0x5151) &&
		      cursor.regs[REG_RDI] == 0xd1,
	      "%s: ebp %#jx, ebx %#jx, esi %#jx, edi %#jx", what, (uintmax_t)cursor.regs[REG_RBP],
	      (uintmax_t)cursor.regs[REG_RBX], (uintmax_t)cursor.regs[REG_RSI],
	      (uintmax_t)cursor.regs[REG_RDI]);
}

static void test_cfi(void)
{
	struct cfi *cfi = compile(true);

	check(cfi && cfi->n_fdes == 1 && !cfi->n_refused && !cfi->n_asks,
	      "a table of one function is made");
	if (!cfi)
		return;
	check_step(cfi, 0, 0x1234, at(4), "at a function's first instruction");
	check_step(cfi, 1, 0x1234, at(4), "after ebp was pushed");
	check_step(cfi, 3, at(2), at(4), "ebp is the frame's");
	check_step(cfi, 5, at(2), at(4), "ebx and esi were pushed");
	begin(CODE + 5, at(WORDS), WIDTH_32_PAE);
	{
		struct cursor cursor;

		cursor_init(&cursor, &made.vcpu);
		check(cfi_step(cfi, 0, &cursor) == STEP_CUT && cursor.regs[REG_RIP] == CODE + 5,
		      "a frame that was not copied is cut");
		begin(CODE + 5, at(2), WIDTH_64);
		cursor_init(&cursor, &made.vcpu);
		check(cfi_step(cfi, 0, &cursor) == STEP_BAD, "64-bit code has no such table");
	}
	cfi_destroy(cfi);
	check(!compile(false), "in a file of 64 bits the entries are refused");
}

/*
 * main(), as gcc -m32 makes it to align the stack:
 *
 *   0  lea 4(%esp),%ecx   4  and, push -4(%ecx), push %ebp, mov %esp,%ebp   c  push %ecx   d  ...
 */
static const struct {
	uint8_t cie[20], fde[44];
} realigned = {
	.cie = { 16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x7c, 8, 1, 0x00, 0x0c, 4, 4 },
	.fde = { 40,   0,    0,    0,    24,   0,    0,    0,                /* length, CIE */
		 0x00, 0x10, 0x00, 0xc0, 0x40, 0x00, 0x00, 0x00, 0,          /* CODE, 0x40 */
		 0x88, 1,                                                    /* eip at CFA - 4 */
		 0x44, 0x0c, 1,    0,                                        /* 4: CFA ecx */
		 0x49, 0x10, 5,    2,    0x75, 0x00,                         /* d: ebp at ebp */
		 0x0f, 3,    0x75, 0x7c, 0x06,                               /* CFA at ebp - 4 */
		 0x00 },
};

/* The step out of main() gives the right stack pointer, by which its callers are found, not ebp. */
static void test_realigned(void)
{
	const struct cfi_sections sections = {
		.eh_frame = { .bytes = realigned.cie,
			      .size_bytes = sizeof(realigned),
			      .address = 0xc0200000,
			      .is_short = true },
	};
	struct cfi *cfi = NULL;
	struct cursor cursor;

	error_destroy(cfi_compile(&sections, &cfi));
	check(cfi && !cfi->n_refused, "main() with an aligned stack");
	if (!cfi)
		return;
	begin(CODE + 0x10, at(4), WIDTH_32_PAE);
	made.words[3] = at(12);
	made.words[4] = 0xebeb;
	made.words[5] = CODE + 0x666; /* the copy of the return address */
	made.words[11] = CODE + 0x500;
	cursor_init(&cursor, &made.vcpu);
	check(cfi_step(cfi, 0, &cursor) == STEP_CALLER && cursor.regs[REG_RIP] == CODE + 0x500 &&
		      cursor.regs[REG_RSP] == at(12),
	      "main() with an aligned stack: the caller and its stack pointer are found");
	check(!(cursor.known >> REG_RBP & 1) && cursor.known >> REG_RBX & 1,
	      "main() with an aligned stack: ebp is unknown and ebx unchanged");
	cfi_destroy(cfi);
}

int main(void)
{
	test_first_code();
	test_fp();
	test_saved_registers();
	test_cfi();
	test_realigned();
	return tap_done();
}
