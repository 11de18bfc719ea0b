/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding by instructions of arm64, on any machine. Functions are as gcc makes them. At each of
 * their instructions the caller's stack pointer is known, and whether the return address is in x30
 * or in a word of the stack. tests/unwind/arm64 compares whole files with their tables.
 */
#include "config.h"

#include <string.h>

#include "elf_tables.h"
#include "tests/support/tap.h"
#include "unwind/computed.h"
#include "unwind/cursor_arm64.h"

#define PLACE   UINT64_C(0x10000)
#define STACK   UINT64_C(0x7ffc00000000)
#define WORDS   2048
#define LINK    (-1) /* the return address is in x30 */
#define IN_LINK UINT64_C(0x20000)
#define X20     22   /* number of x20 in a cursor */

#define X21_TO_X28 (0xffU << (X20 + 1))

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[WORDS];
} made;

struct made_code {
	const uint32_t *words;
	size_t size_bytes;
	bool bounds;     /* the bounds are known: all of the code is one function */
	uint64_t called; /* a function that the program's first code, at PLACE, has called */
};
#define CODE(words, bounds) ((struct made_code){ words, sizeof(words), bounds, 0 })

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct made_code *code = context;
	uint64_t at = address - PLACE, n = at < code->size_bytes ? code->size_bytes - at : 0;

	n = n < size_bytes ? n : size_bytes;
	memcpy(buffer, (const char *)code->words + at, n);
	return n;
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct made_code *code = context;

	if (!code->bounds || address - PLACE >= code->size_bytes)
		return false;
	*start = PLACE;
	*end = PLACE + code->size_bytes;
	return true;
}

static struct computed *create_computed(struct made_code *code)
{
	const struct code_source source = { .read = read_code,
					    .find_function = find_function,
					    .context = code,
					    .arch = ARCH_ARM64,
					    .entries = { .elf = code->bounds && !code->called
									? 0
									: PLACE,
							 .called = code->called } };
	struct computed *computed;

	elf_tables_fatal(computed_create(&source, PLACE, PLACE + code->size_bytes, &computed));
	return computed;
}

/* FP: x29, in words above the stack pointer. */
static struct cursor cursor_at(uint64_t address, bool interrupted, unsigned fp)
{
	struct registers_arm64 *regs = &made.vcpu.regs.arm64;
	struct cursor cursor;

	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .user = true,
					  .n_stacks = 1,
					  .regs = { .arch = ARCH_ARM64 } };
	made.stack = (struct sample_stack){ .kind = STACK_USER,
					    .address = STACK,
					    .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < WORDS; i++)
		made.words[i] = 0x30000 + i; /* each word tells its place */
	for (unsigned i = 0; i < 31; i++)
		regs->x[i] = 0xc00 + i;
	regs->x[29] = STACK + 8 * (uint64_t)fp;
	regs->x[30] = IN_LINK;
	regs->sp_el0 = STACK;
	regs->pc = address;
	cursor_init(&cursor, &made.vcpu);
	cursor.interrupted = interrupted;
	return cursor;
}

/*
 * Before instruction I the caller's stack pointer is N_WORDS above the function's, and word RETURNS
 * has the return address.
 */
static void check_from(struct computed *computed, const char *what, unsigned i, unsigned fp,
		       unsigned n_words, int returns)
{
	struct cursor cursor = cursor_at(PLACE + 4 * i, true, fp);
	enum unwind_step step = computed_step(computed, 0, &cursor);
	uint64_t wanted = returns == LINK ? IN_LINK : made.words[returns];

	check(step == STEP_CALLER && cursor.regs[REG_PC] == wanted &&
		      cursor.regs[REG_SP] == STACK + 8 * (uint64_t)n_words && !cursor.interrupted,
	      "%s, at instruction %u: step %d, pc %#jx, sp + %#jx", what, i, step,
	      (uintmax_t)cursor.regs[REG_PC], (uintmax_t)(cursor.regs[REG_SP] - STACK));
}

static void check_at(struct computed *computed, const char *what, unsigned i, unsigned n_words,
		     int returns)
{
	check_from(computed, what, i, 0, n_words, returns);
}

static void test_frame(void)
{
	static const uint32_t words[] = {
		0xd503233f, /* 0 paciasp */
		0xa9bd7bfd, /* 1 stp x29, x30, [sp, #-48]! */
		0x910003fd, /* 2 mov x29, sp */
		0xa90153f3, /* 3 stp x19, x20, [sp, #16] */
		0xf90013f5, /* 4 str x21, [sp, #32] */
		0x94000200, /* 5 bl */
		0xf94013f5, /* 6 ldr x21, [sp, #32] */
		0xa94153f3, /* 7 ldp x19, x20, [sp, #16] */
		0xa8c37bfd, /* 8 ldp x29, x30, [sp], #48 */
		0xd65f0bff, /* 9 retaa */
	};
	struct made_code code = CODE(words, true);
	struct computed *computed = create_computed(&code);
	struct cursor cursor;

	check_at(computed, "a frame", 0, 0, LINK);
	check_at(computed, "a frame", 1, 0, LINK);
	for (unsigned i = 2; i < 9; i++)
		check_at(computed, "a frame, saved", i, 6, 1);
	check_at(computed, "a frame", 9, 0, LINK);
	cursor = cursor_at(PLACE + 24, false, 0);
	check(computed_step(computed, 0, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_PC] == made.words[1] &&
		      cursor.regs[REG_ARM64_FP] == made.words[0] && cursor.regs[X20] == 0xc00 + 20,
	      "a caller's registers are read where the function has saved them");
	check(computed_is_return(computed, 0, PLACE + 24) &&
		      !computed_is_return(computed, 0, PLACE + 28),
	      "only an address after a call is a return address");
	computed_destroy(computed);
}

/* A leaf with room on the stack, and a way that calls, and ends by a jump to another function. */
static void test_leaf(void)
{
	static const uint32_t words[] = {
		0xb40000e0, /* 0 cbz x0, 7 */
		0xf81f0ffe, /* 1 str x30, [sp, #-16]! */
		0x94000200, /* 2 bl */
		0xaa0003f0, /* 3 mov x16, x0 */
		0xf84107fe, /* 4 ldr x30, [sp], #16 */
		0xd61f0200, /* 5 br x16 */
		0xd503201f, /* 6 nop */
		0xd10043ff, /* 7 sub sp, sp, #16 */
		0xf90007e0, /* 8 str x0, [sp, #8] */
		0x910043ff, /* 9 add sp, sp, #16 */
		0xd65f03c0, /* 10 ret */
	};
	struct made_code code = CODE(words, true);
	struct computed *computed = create_computed(&code);

	check_at(computed, "before sub sp", 0, 0, LINK);
	check_at(computed, "saved before a call", 2, 2, 0);
	check_at(computed, "saved after a call", 3, 2, 0);
	check_at(computed, "restored", 5, 0, LINK);
	check_at(computed, "without a frame", 7, 0, LINK);
	check_at(computed, "after sub sp", 8, 2, LINK);
	check_at(computed, "after sub sp", 9, 2, LINK);
	check_at(computed, "at the end", 10, 0, LINK);
	computed_destroy(computed);
}

/* A frame whose size is in a register, and one whose size no code tells. */
static void test_large(void)
{
	static const uint32_t large[] = {
		0xa9bf7bfd, /* 0 stp x29, x30, [sp, #-16]! */
		0xd284000d, /* 1 mov x13, #0x2000 */
		0x910003fd, /* 2 mov x29, sp */
		0xcb2d63ff, /* 3 sub sp, sp, x13 */
		0x94000200, /* 4 bl */
		0xd284000d, /* 5 mov x13, #0x2000 */
		0x8b2d63ff, /* 6 add sp, sp, x13 */
		0xa8c17bfd, /* 7 ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* 8 ret */
	};
	static const uint32_t moved[] = {
		0xa9bf7bfd, /* 0 stp x29, x30, [sp, #-16]! */
		0x910003fd, /* 1 mov x29, sp */
		0xcb2063ff, /* 2 sub sp, sp, x0 */
		0x94000200, /* 3 bl */
		0x910003bf, /* 4 mov sp, x29 */
		0xa8c17bfd, /* 5 ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* 6 ret */
	};
	struct made_code code = CODE(large, true);
	struct computed *computed = create_computed(&code);

	check_at(computed, "a large frame", 4, 0x402, 0x401);
	check_at(computed, "a large frame", 5, 0x402, 0x401);
	check_at(computed, "a large frame", 7, 2, 1);
	check_at(computed, "a large frame", 8, 0, LINK);
	computed_destroy(computed);
	code = CODE(moved, true);
	computed = create_computed(&code);
	check_from(computed, "alloca", 4, 100, 102, 101);
	check_from(computed, "alloca", 5, 0, 2, 1);
	check_at(computed, "alloca", 6, 0, LINK);
	computed_destroy(computed);
}

/*
 * Two rare parts end in calls that never return. gcc saves x20 in the first one only. If control
 * went on from the first to the second, nothing could tell where x20 is.
 */
static void test_rare_parts(void)
{
	static const uint32_t words[] = {
		0xd10083ff, /* 0 sub sp, sp, #32 */
		0xa9007bfd, /* 1 stp x29, x30, [sp] */
		0xb40000e0, /* 2 cbz x0, 9 */
		0xb4000121, /* 3 cbz x1, 12 */
		0x94000200, /* 4 bl */
		0xa9407bfd, /* 5 ldp x29, x30, [sp] */
		0x910083ff, /* 6 add sp, sp, #32 */
		0xd65f03c0, /* 7 ret */
		0xd503201f, /* 8 nop */
		0xf9000ff4, /* 9 str x20, [sp, #24] */
		0xaa0003f4, /* 10 mov x20, x0 */
		0x94000100, /* 11 bl abort */
		0x940000ff, /* 12 bl abort */
	};
	struct made_code code = CODE(words, true);
	struct computed *computed = create_computed(&code);
	struct cursor cursor = cursor_at(PLACE + 48, true, 0);

	check(computed_step(computed, 0, &cursor) == STEP_CALLER && cursor.known >> X20 & 1 &&
		      cursor.regs[X20] == 0xc00 + 20,
	      "x20 is not saved in the second part");
	cursor = cursor_at(PLACE + 44, true, 0);
	check(computed_step(computed, 0, &cursor) == STEP_CALLER &&
		      cursor.regs[X20] == made.words[3],
	      "x20 is saved in the first part");
	computed_destroy(computed);
}

/* A function after another one, that only a call leads to. */
static void test_no_bounds(void)
{
	static const uint32_t words[] = {
		0xd280001d, /* 0 mov x29, #0: the program's entry */
		0x94000003, /* 1 bl 4 */
		0x17ffffff, /* 2 b 1 */
		0xd503201f, /* 3 nop */
		0xa9bf7bfd, /* 4 stp x29, x30, [sp, #-16]! */
		0x94000005, /* 5 bl 10 */
		0xa8c17bfd, /* 6 ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* 7 ret */
		0xd503201f, /* 8 nop */
		0xd503201f, /* 9 nop */
		0xd10043ff, /* 10 sub sp, sp, #16 */
		0x910043ff, /* 11 add sp, sp, #16 */
		0xd65f03c0, /* 12 ret */
	};
	struct made_code code = CODE(words, false);
	struct computed *computed = create_computed(&code);
	struct cursor cursor = cursor_at(PLACE + 8, false, 0);

	check_at(computed, "code that a call leads to", 6, 2, 1);
	check_at(computed, "code that another call leads to", 11, 2, LINK);
	check(computed_step(computed, 0, &cursor) == STEP_OUTERMOST, "the entry has no caller");
	computed_destroy(computed);
}

/*
 * As main() of busybox: only a pointer leads to the function at 6, and neither this function nor
 * the one before it returns.
 */
static void test_behind_call(void)
{
	static const uint32_t words[] = {
		0xd280001d, /* 0 mov x29, #0: the program's entry */
		0x94000003, /* 1 bl 4 */
		0x17ffffff, /* 2 b 1 */
		0xd503201f, /* 3 nop */
		0xf81f0ffe, /* 4 str x30, [sp, #-16]! */
		0x94000007, /* 5 bl 12 */
		0xa9be53f3, /* 6 stp x19, x20, [sp, #-32]! */
		0xd2800000, /* 7 mov x0, #0 */
		0xf9000bfe, /* 8 str x30, [sp, #16] */
		0x97fffffb, /* 9 bl 4 */
		0x94000002, /* 10 bl 12 */
		0xd503201f, /* 11 nop */
		0xd10043ff, /* 12 sub sp, sp, #16 */
		0x14000000, /* 13 b 13 */
	};
	struct made_code code = CODE(words, false);
	struct computed *computed = create_computed(&code);

	check_at(computed, "after a call that never returns", 10, 4, 2);
	check_at(computed, "code before a call that never returns", 5, 2, 0);
	computed_destroy(computed);
}

/*
 * A function that never returns, and in which gcc has put other instructions before the frame. The
 * second code makes no frame: it may be a part of a function, and run in a frame of any size.
 */
static void test_never_returns(void)
{
	static const uint32_t words[] = {
		0x52800022, /* 0 mov w2, #1 */
		0x90000000, /* 1 adrp x0, buffer */
		0x91010000, /* 2 add x0, x0, #64 */
		0x52800021, /* 3 mov w1, #1 */
		0xaa0003e3, /* 4 mov x3, x0 */
		0xf81c0ffe, /* 5 str x30, [sp, #-64]! */
		0x390063e2, /* 6 strb w2, [sp, #24] */
		0x94000200, /* 7 bl longjmp */
	};
	static const uint32_t part[] = {
		0x52800020, /* 0 mov w0, #1 */
		0x94000200, /* 1 bl abort */
	};
	struct made_code code = CODE(words, true);
	struct computed *computed = create_computed(&code);
	struct cursor cursor = cursor_at(PLACE + 32, false, 0);

	check_at(computed, "before a late frame", 0, 0, LINK);
	check_at(computed, "before a late frame", 5, 0, LINK);
	check_at(computed, "a late frame", 6, 8, 0);
	check(computed_step(computed, 0, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_PC] == made.words[0] &&
		      cursor.regs[REG_SP] == STACK + 64,
	      "a function that calls at its end has a caller");
	computed_destroy(computed);
	code = CODE(part, true);
	computed = create_computed(&code);
	cursor = cursor_at(PLACE + 4, true, 0);
	check(computed_step(computed, 0, &cursor) == STEP_NOT_COVERED,
	      "code without a frame may be a part of a function");
	computed_destroy(computed);
}

/*
 * As __cxa_vec_delete2() of libstdc++: nothing leads to 10, a handler of exceptions. It runs in the
 * frame of 5, not in the frame of the tail call before. Nothing shows which of the two it is.
 */
static void test_handler(void)
{
	static const uint32_t words[] = {
		0xa9be7bfd, /* 0 stp x29, x30, [sp, #-32]! */
		0x910003fd, /* 1 mov x29, sp */
		0xf9000bf3, /* 2 str x19, [sp, #16] */
		0xaa0003f3, /* 3 mov x19, x0 */
		0xd2800000, /* 4 mov x0, #0 */
		0x97fffffb, /* 5 bl 0 */
		0xf9400bf3, /* 6 ldr x19, [sp, #16] */
		0xa8c27bfd, /* 7 ldp x29, x30, [sp], #32 */
		0xd61f0200, /* 8 br x16 */
		0xd65f03c0, /* 9 ret */
		0x97fffff6, /* 10 bl 0 */
		0x910063e0, /* 11 add x0, sp, #24 */
		0x97fffff4, /* 12 bl 0 */
	};
	struct made_code code = CODE(words, true);
	struct computed *computed = create_computed(&code);
	struct cursor cursor = cursor_at(PLACE + 40, true, 0);

	check_at(computed, "before a handler", 5, 4, 1);
	check(computed_step(computed, 0, &cursor) == STEP_NOT_COVERED,
	      "a handler of exceptions has no known caller");
	computed_destroy(computed);
}

/*
 * A longjmp() reads the registers one after the other, and then changes stacks. The chain goes
 * first to its caller, and once x30 is loaded to where it jumps. There the stack pointer is unknown
 * before instruction 7, x20 before 4, and x21 to x28 always.
 */
static void test_jump(void)
{
	static const uint32_t words[] = {
		0xf9400013, /* 0 ldr x19, [x0] */
		0xa945101d, /* 1 ldp x29, x4, [x0, #80] */
		0xca03009e, /* 2 eor x30, x4, x3 */
		0xf9400414, /* 3 ldr x20, [x0, #8] */
		0xf9403404, /* 4 ldr x4, [x0, #104] */
		0xca030085, /* 5 eor x5, x4, x3 */
		0x910000bf, /* 6 mov sp, x5 */
		0xf100003f, /* 7 cmp x1, #0 */
		0xd61f03c0, /* 8 br x30 */
	};
	struct made_code code = CODE(words, true);
	struct computed *computed = create_computed(&code);

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct cursor cursor = cursor_at(PLACE + 4 * i, true, 4);
		uint32_t unknown;

		check_at(computed, "a jump out of calls", i, 0, LINK);
		computed_step(computed, 0, &cursor);
		unknown = ~cursor.known & cfi_machine_arm64.preserved_mask;
		check(i < 3 ? !(unknown >> REG_SP & 1)
			    : unknown == ((i < 7) << REG_SP | (i == 3) << X20 | X21_TO_X28),
		      "a jump out of calls, at instruction %u: unknown %#x", i, unknown);
	}
	computed_destroy(computed);
}

/* Entries of a kernel: the first CPU's is 0, the others' is 10. */
static void test_entries(void)
{
	static const uint32_t words[] = {
		0xd5034fdf, /* 0 msr daifset, #15 */
		0xd5381005, /* 1 mrs x5, sctlr_el1 */
		0x94000100, /* 2 bl */
		0x90000000, /* 3 adrp x0, stack */
		0x91010000, /* 4 add x0, x0, #64 */
		0x9100001f, /* 5 mov sp, x0 */
		0xaa1403e0, /* 6 mov x0, x20 */
		0x94000200, /* 7 bl */
		0xd503207f, /* 8 wfi */
		0x17ffffff, /* 9 b 8 */
	};
	static const uint32_t others[] = {
		0x90000000, /* 0 adrp x0, boot_data */
		0x91004000, /* 1 add x0, x0, #16 */
		0xf9400001, /* 2 ldr x1, [x0] */
		0x9100003f, /* 3 mov sp, x1 */
		0xf9400402, /* 4 ldr x2, [x0, #8] */
		0xd5184102, /* 5 msr sp_el0, x2 */
		0xd280001e, /* 6 mov x30, #0 */
		0x94000200, /* 7 bl */
		0xd4200000, /* 8 brk #0 */
	};
	struct made_code codes[] = { CODE(words, true), CODE(others, true) };

	for (unsigned i = 0; i < 2; i++) {
		struct computed *computed = create_computed(&codes[i]);
		struct cursor cursor = cursor_at(PLACE + 32, false, 0);

		check(computed_step(computed, 0, &cursor) == STEP_OUTERMOST,
		      "entry %u of a kernel has no caller", i);
		computed_destroy(computed);
	}
}

/* The symbol of a program's first code covers a function that this code has called. */
static void test_called(void)
{
	static const uint32_t words[] = {
		0xd280001e, /* 0 mov x30, #0 */
		0x90000000, /* 1 adrp x0, function */
		0x91004000, /* 2 add x0, x0, #16 */
		0x94000200, /* 3 bl */
		0xd503201f, /* 4 nop */
		0x14000200, /* 5 b */
	};
	struct made_code code = CODE(words, true);
	struct computed *computed;
	struct cursor cursor;

	code.called = PLACE + 16;
	computed = create_computed(&code);
	cursor = cursor_at(PLACE + 4, true, 0);
	check(computed_step(computed, 0, &cursor) == STEP_OUTERMOST, "the first code has no caller");
	check_at(computed, "what it has called", 4, 0, LINK);
	check_at(computed, "what it has called", 5, 0, LINK);
	computed_destroy(computed);
}

/* Code that changes the stack pointer by a register, and has a caller. */
static void test_other_stacks(void)
{
	static const uint32_t interrupt[] = {
		0xa9bf7bfd, /* 0 stp x29, x30, [sp, #-16]! */
		0x910003fd, /* 1 mov x29, sp */
		0xd538d083, /* 2 mrs x3, tpidr_el1 */
		0xf9400463, /* 3 ldr x3, [x3, #8] */
		0x9100007f, /* 4 mov sp, x3 */
		0xd63f0020, /* 5 blr x1 */
		0x910003bf, /* 6 mov sp, x29 */
		0xa8c17bfd, /* 7 ldp x29, x30, [sp], #16 */
		0xd65f03c0, /* 8 ret */
	};
	static const uint32_t room[] = {
		0xa9bf7bfd, /* 0 stp x29, x30, [sp, #-16]! */
		0x910003fd, /* 1 mov x29, sp */
		0x910003e8, /* 2 mov x8, sp */
		0xcb000108, /* 3 sub x8, x8, x0 */
		0x9100011f, /* 4 mov sp, x8 */
		0x94000100, /* 5 bl */
		0x94000100, /* 6 bl */
		0x17ffffff, /* 7 b 6 */
	};
	static const uint32_t change[] = {
		0x910003e9, /* 0 mov x9, sp */
		0xa905241d, /* 1 stp x29, x9, [x0, #80] */
		0xf900301e, /* 2 str x30, [x0, #96] */
		0xa945243d, /* 3 ldp x29, x9, [x1, #80] */
		0xf940303e, /* 4 ldr x30, [x1, #96] */
		0x9100013f, /* 5 mov sp, x9 */
		0xd65f03c0, /* 6 ret */
	};
	struct made_code codes[] = { CODE(interrupt, true), CODE(room, true), CODE(change, true) };

	for (unsigned i = 0; i < 3; i++) {
		struct computed *computed = create_computed(&codes[i]);
		struct cursor cursor = cursor_at(PLACE + 24, i == 2, 4);
		enum unwind_step step = computed_step(computed, 0, &cursor);

		check(i == 2 ? step != STEP_OUTERMOST : step == STEP_CALLER,
		      "code %u that changes the stack pointer has a caller: step %d", i, step);
		computed_destroy(computed);
	}
}

int main(void)
{
	test_entries();
	test_called();
	test_other_stacks();
	test_behind_call();
	test_never_returns();
	test_handler();
	test_jump();
	test_frame();
	test_leaf();
	test_large();
	test_rare_parts();
	test_no_bounds();
	return tap_done();
}
