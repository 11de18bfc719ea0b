/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frame pointers over stacks made by hand. The stack begins at STACK, and rsp points there unless a
 * test says otherwise. A frame at word i is { caller's rbp, return address }.
 */
#include "config.h"

#include "chain.h"
#include "unwind/fp.h"

#define STACK       UINT64_C(0xffffc90000100000)
#define STACK_WORDS (SAMPLE_STACK_LIMIT_BYTES / 8)

/* Code: four functions of 0x100 bytes from 0xffffffff81000000 on. */
#define CODE    UINT64_C(0xffffffff81000000)
#define MAIN_FN (CODE + 0x000)
#define F       (CODE + 0x100)
#define G       (CODE + 0x200)
#define H       (CODE + 0x300)

/* A vCPU record with up to three pieces of stack. */
static union {
	struct sample_vcpu vcpu;
	char bytes[sizeof(struct sample_vcpu) + SAMPLE_STACK_LIMIT_BYTES + 1024];
	uint64_t align;
} record;
static uint64_t words[STACK_WORDS];
static struct unwind_stack stack;

static uint64_t at(size_t word)
{
	return STACK + 8 * word;
}

static void frame(size_t word, uint64_t caller_rbp, uint64_t return_address)
{
	words[word] = caller_rbp;
	words[word + 1] = return_address;
}

static void add_piece(uint64_t address, const void *bytes, uint32_t size_bytes)
{
	struct sample_stack *piece = (struct sample_stack *)(record.bytes + record.vcpu.size_bytes);

	*piece = (struct sample_stack){ .address = address, .size_bytes = size_bytes };
	memcpy(piece + 1, bytes, size_bytes);
	record.vcpu.n_stacks++;
	record.vcpu.size_bytes += (uint32_t)sizeof(*piece) + ((size_bytes + 7) & ~7U);
}

static void begin(uint64_t rip, uint64_t rbp)
{
	memset(&record, 0, sizeof(record));
	record.vcpu = (struct sample_vcpu){
		.size_bytes = sizeof(record.vcpu),
		.state = VCPU_RUNNING,
		.stack_cut = CUT_LIMIT,
		.regs = { .rip = rip, .rbp = rbp, .rsp = STACK },
	};
}

static void run(const struct symbols *symbols)
{
	const struct space *space = symbols ? symbols_space(symbols) : NULL;
	const struct unwind_spaces spaces = { .kernel = space_for_unwind(space),
					      .user = space_for_unwind(space) };

	unwind_stack(&record.vcpu, &spaces, UNWIND_FP, &stack);
}

/* The address just past the outermost byte used of any piece. */
static uint64_t reached(void)
{
	uint64_t most = 0;

	for (size_t i = 0; i < SAMPLE_MAX_STACKS; i++)
		most = stack.reached[i] > most ? stack.reached[i] : most;
	return most;
}

/* Unwinds with the first N_WORDS of the stack copied. */
static void unwind(const struct symbols *symbols, size_t n_words)
{
	add_piece(STACK, words, (uint32_t)(8 * n_words));
	memset(&stack, 0xa5, sizeof(stack));
	run(symbols);
}

/* EXPECTED: the addresses, innermost first, ended by 0. */
static void check_stack(enum unwind_stop stop, const uint64_t *expected, uint64_t want_reached,
			const char *what)
{
	check(chain_is(&stack, expected) && stack.stop == stop && reached() == want_reached,
	      "%s: %u frames, stop %d, reached +%#" PRIx64 " (expected %u, %d, +%#" PRIx64 ")",
	      what, stack.n_frames, stack.stop, reached() ? reached() - STACK : 0,
	      chain_length(expected), stop, want_reached ? want_reached - STACK : 0);
}

/*
 *  word 2  { ──► 6, F + 8 }      H called by F
 *       6  { ──► 10, G + 8 }     F called by G
 *      10  { 0, MAIN + 8 }       G called by main, whose own rbp was 0
 */
static void chain(void)
{
	memset(words, 0, sizeof(words));
	frame(2, at(6), F + 8);
	frame(6, at(10), G + 8);
	frame(10, 0, MAIN_FN + 8);
}

static void test_normal(void)
{
	chain();
	begin(H + 16, at(2));
	unwind(NULL, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8), at(12),
		    "up to rbp 0");

	frame(10, at(20), MAIN_FN + 8);
	frame(20, at(30), 0); /* start-up code has no caller */
	begin(H + 16, at(2));
	unwind(NULL, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8), at(22),
		    "up to return address 0");

	begin(H + 16, 0);
	unwind(NULL, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 16), 0, "rbp is 0 in the first frame");
	begin(H + 16, STACK);
	frame(0, 0, F + 8);
	unwind(NULL, 2);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 16, F + 8), at(2),
		    "rbp is rsp, and only two words were copied");
}

/* The caller's stack pointer of H's frame at word 2, if word 1 has the address of word CFA. */
static uint64_t caller_stack(size_t cfa)
{
	struct cursor cursor;

	begin(H + 16, at(2));
	words[1] = at(cfa);
	words[cfa - 1] = F + 8;
	record.vcpu.n_stacks = 0;
	add_piece(STACK, words, 8 * 16);
	cursor_init(&cursor, &record.vcpu);
	fp_x86_step(NULL, &cursor);
	fp_x86_correct_stack(&cursor);
	return cursor.regs[REG_SP];
}

/*
 * gcc's prologue of an aligned frame: lea 8(%rsp),%r10; and $-64,%rsp; push -8(%r10); push %rbp; mov
 * %rsp,%rbp; push %r10
 */
static void test_aligned(void)
{
	chain();
	check_u64(caller_stack(6), at(6), "a frame that is aligned has its caller's stack pointer");
	chain();
	check_u64(caller_stack(13), at(4), "further away than the alignment: none is there");
}

static void test_user(void)
{
	chain();
	begin(H + 16, at(2));
	record.vcpu.user = 1;
	unwind(NULL, 64);
	check(stack.n_frames == 4 && stack.frames[0].flags == FRAME_USER &&
		      stack.frames[3].flags == (FRAME_USER | FRAME_RETURN),
	      "frames of user code are marked");
}

/* Frames only go outwards: the walk ends at a frame that goes inwards, stays, or overlaps. */
static void test_loops(void)
{
	chain();
	frame(6, at(2), G + 8);
	begin(H + 16, at(2));
	unwind(NULL, 64);
	check_stack(UNWIND_LOOP, CHAIN(H + 16, F + 8, G + 8), at(8), "6 points back to word 2");

	chain();
	frame(6, at(6), G + 8);
	begin(H + 16, at(2));
	unwind(NULL, 64);
	check_stack(UNWIND_LOOP, CHAIN(H + 16, F + 8, G + 8), at(8), "6 points to itself");

	chain();
	frame(6, at(7), G + 8);
	begin(H + 16, at(2));
	unwind(NULL, 64);
	check_stack(UNWIND_LOOP, CHAIN(H + 16, F + 8, G + 8), at(8), "6 points into its frame");

	chain();
	begin(H + 16, STACK - 8);
	unwind(NULL, 64);
	check_stack(UNWIND_LOOP, CHAIN(H + 16), 0, "rbp below rsp");
	begin(H + 16, 0x1000);
	unwind(NULL, 64);
	check_stack(UNWIND_LOOP, CHAIN(H + 16), 0, "rbp of user space, rsp of the kernel");
}

static void test_bad(void)
{
	chain();
	begin(H + 16, at(2) + 4);
	unwind(NULL, 64);
	check_stack(UNWIND_BAD, CHAIN(H + 16), 0, "unaligned rbp");

	chain();
	frame(6, at(10) + 1, G + 8);
	begin(H + 16, at(2));
	unwind(NULL, 64);
	check_stack(UNWIND_BAD, CHAIN(H + 16, F + 8, G + 8), at(8), "an unaligned rbp further out");

	chain();
	frame(6, at(10), 0x1234567812345678);
	begin(H + 16, at(2));
	unwind(NULL, 64);
	check_stack(UNWIND_BAD, CHAIN(H + 16, F + 8), at(8),
		    "a return address that is not canonical");

	chain();
	begin(H + 16, STACK + (2 << 20));
	unwind(NULL, 64);
	check_stack(UNWIND_BAD, CHAIN(H + 16), 0, "rbp 2 MiB away from rsp");
	begin(H + 16, UINT64_MAX - 7);
	unwind(NULL, 64);
	check_stack(UNWIND_BAD, CHAIN(H + 16), 0, "rbp at the end of the address space");
}

/* The copy ends at word 11: main's return address is not in it. */
static void test_cut(void)
{
	chain();
	begin(H + 16, at(2));
	unwind(NULL, 11);
	check_stack(UNWIND_CUT, CHAIN(H + 16, F + 8, G + 8), at(8), "half of the frame was copied");
	begin(H + 16, at(2));
	unwind(NULL, 10);
	check_stack(UNWIND_CUT, CHAIN(H + 16, F + 8, G + 8), at(8),
		    "nothing of the frame was copied");
	begin(H + 16, at(2));
	memset(&stack, 0, sizeof(stack));
	run(NULL);
	check_stack(UNWIND_CUT, CHAIN(H + 16), 0, "a stack of which nothing was copied");
}

/* Zeros in the place of a page that is gone look like an outermost frame, but are not one. */
static void test_faulted(void)
{
	chain();
	frame(10, 0, 0);
	begin(H + 16, at(2));
	record.vcpu.stack_cut = CUT_FAULT;
	unwind(NULL, 64);
	check_stack(UNWIND_CUT, CHAIN(H + 16, F + 8, G + 8), at(12),
		    "an end in a copy with a fault");
}

static void test_pieces(void)
{
	chain();
	begin(H + 16, at(2));
	add_piece(STACK - 4096, words, 64);
	add_piece(at(6), &words[6], 64);
	unwind(NULL, 4);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8), at(12),
		    "frames in two of three pieces");
}

static void test_depth(void)
{
	memset(words, 0, sizeof(words));
	for (size_t i = 0; i < STACK_WORDS / 2; i++)
		frame(2 * i, at(2 * i + 2), F + 1 + i);
	begin(H + 16, at(0));
	unwind(NULL, STACK_WORDS);
	check(stack.n_frames == UNWIND_MAX_FRAMES && stack.stop == UNWIND_TOO_DEEP,
	      "deep: %u frames, stop %d", stack.n_frames, stack.stop);
	check(stack.frames[UNWIND_MAX_FRAMES - 1].address == F + UNWIND_MAX_FRAMES - 1,
	      "the last frame that fits");

	frame(2 * (UNWIND_MAX_FRAMES - 2), 0, F + UNWIND_MAX_FRAMES - 1);
	begin(H + 16, at(0));
	unwind(NULL, STACK_WORDS);
	check(stack.n_frames == UNWIND_MAX_FRAMES && stack.stop == UNWIND_COMPLETE,
	      "just deep enough: %u frames, stop %d", stack.n_frames, stack.stop);
}

/* --- stacks with symbols ---------------------------------------------------------------------- */

static struct symbols *create_symbols(void)
{
	static const char *const names[] = { "main", "f", "g", "h" };
	struct symbols *symbols;
	struct symtab *tab;

	must(symbols_create(&symbols));
	must(symtab_create(&tab));
	for (unsigned i = 0; i < 4; i++)
		must(symtab_add(tab, &(struct symbol_definition){ .start = CODE + 0x100 * i,
								  .size_bytes = 0x100,
								  .rank = SYMBOL_GLOBAL,
								  .name = names[i],
								  .name_bytes = 1 + 3 * !i }));
	must(symtab_seal(tab));
	must(symbols_add_table(symbols, tab, "kernel", NULL));
	return symbols;
}

/*
 * At the first byte of H the caller is on top of the stack, and rbp is still the caller's:
 *
 *  word 0  F + 8                  H called by F
 *       2  { ──► 6, G + 8 }       rbp: F called by G
 *       6  { 0, MAIN + 8 }        G called by main
 */
static void test_entry(const struct symbols *symbols)
{
	memset(words, 0, sizeof(words));
	words[0] = F + 8;
	frame(2, at(6), G + 8);
	frame(6, 0, MAIN_FN + 8);
	begin(H, at(2));
	unwind(symbols, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H, F + 8, G + 8, MAIN_FN + 8), at(8),
		    "first byte of a function");

	begin(H, at(2));
	unwind(NULL, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H, G + 8, MAIN_FN + 8), at(8),
		    "without symbols the caller is missed");
	begin(H + 1, at(2));
	unwind(symbols, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 1, G + 8, MAIN_FN + 8), at(8),
		    "second byte of a function");
	begin(H + 4, at(2));
	unwind(symbols, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 4, F + 8, G + 8, MAIN_FN + 8), at(8),
		    "after endbr64");
	words[0] = 0;
	begin(H, at(2));
	unwind(symbols, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H, G + 8, MAIN_FN + 8), at(8),
		    "the word on top is no code address");

	words[0] = MAIN_FN + 0x100; /* main ends with the call: the next byte is f's */
	begin(H, 0);
	unwind(symbols, 1);
	check_stack(UNWIND_COMPLETE, CHAIN(H, MAIN_FN + 0x100), at(1),
		    "the outermost caller, the last word of the copy");
}

/*
 * After rbp is pushed, and before rbp is set:
 *
 *  word 0  { ──► 2, F + 8 }       H called by F; rbp is still F's
 *       2  { 0, MAIN + 8 }        F called by main
 */
static void test_entry_pushed(const struct symbols *symbols)
{
	static const uint64_t offsets[] = { 1, 5 }; /* the code has no endbr64; it has one */

	memset(words, 0, sizeof(words));
	frame(0, at(2), F + 8);
	frame(2, 0, MAIN_FN + 8);
	for (size_t i = 0; i < 2; i++) {
		begin(H + offsets[i], at(2));
		unwind(symbols, 64);
		check_stack(UNWIND_COMPLETE, CHAIN(H + offsets[i], F + 8, MAIN_FN + 8), at(4),
			    "rbp is pushed");
	}
	begin(H + 4, at(0)); /* rbp is set, no endbr64: the word on top is no code address */
	unwind(symbols, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 4, F + 8, MAIN_FN + 8), at(4),
		    "the frame is linked");
	frame(0, 0, F + 8);
	begin(H + 1, 0);
	unwind(symbols, 2);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 1, F + 8), at(2), "a pushed rbp of 0");
}

static void test_known_code(const struct symbols *symbols)
{
	chain();
	begin(H + 16, at(2));
	unwind(symbols, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 16, F + 8, G + 8, MAIN_FN + 8), at(12),
		    "a chain in code that is wholly known");
	frame(6, at(10), CODE + 0x401);
	begin(H + 16, at(2));
	unwind(symbols, 64);
	check_stack(UNWIND_BAD, CHAIN(H + 16, F + 8), at(8),
		    "a return address outside all known code");
	frame(6, at(10), CODE + 0x400);
	begin(H + 16, at(2));
	unwind(symbols, 64);
	check_stack(UNWIND_COMPLETE, CHAIN(H + 16, F + 8, CODE + 0x400, MAIN_FN + 8), at(12),
		    "a return address after the last function");
}

/* --- random stacks ---------------------------------------------------------------------------- */

static uint64_t next_random(void)
{
	static uint64_t state = 5;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 16;
}

/* Half of the words look like frames. The result is bounded and lies inside the stack; ASan watches
 * the reads. */
static void test_random(const struct symbols *symbols)
{
	size_t bad = 0;

	for (unsigned round = 0; round < 20000; round++) {
		size_t n_words = next_random() % 256;

		for (size_t i = 0; i < n_words; i++)
			words[i] = next_random() % 2 ? at(next_random() % 260)
						     : CODE + next_random() % 0x500;
		begin(CODE + next_random() % 0x500, at(next_random() % 260));
		unwind(round % 2 ? symbols : NULL, n_words);
		bad += stack.n_frames < 1 || stack.n_frames > UNWIND_MAX_FRAMES ||
		       (unsigned)stack.stop >= N_UNWIND_STOPS;
		bad += reached() && (reached() <= STACK || reached() > at(n_words));
	}
	check_u64(bad, 0, "random stacks with a bad result");
}

int main(void)
{
	struct symbols *symbols = create_symbols();

	test_normal();
	test_aligned();
	test_user();
	test_loops();
	test_bad();
	test_cut();
	test_faulted();
	test_pieces();
	test_depth();
	test_entry(symbols);
	test_entry_pushed(symbols);
	test_known_code(symbols);
	test_random(symbols);
	symbols_destroy(symbols);
	return tap_done();
}
