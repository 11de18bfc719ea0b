/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain through a signal's handler. The handler's return address is the first byte of the
 * trampoline, whose FDE begins one byte before, and whose CIE has the letter S.
 * Without tables, the code of the trampoline tells what it is.
 */
#include "config.h"

#include "cfi_bytes.h"
#include "elf_tables.h"
#include "tests/support/tap.h"
#include "xtop/unwind/code.h"
#include "xtop/unwind/unwind.h"

#define HANDLER     (MADE_CODE + 0x010)
#define CALLED      (MADE_CODE + 0x110) /* the function that the handler calls */
#define TRAMPOLINE  (MADE_CODE + 0x200)
#define INTERRUPTED (MADE_CODE + 0x300) /* the first byte of a function */
#define STACK       0x7ffe00000000ULL

static const uint8_t absolute[] = { 0x00 };
/* def_cfa rsp+8, return address at CFA-8 */
static const uint8_t usual[] = { 0x0c, 7, 8, 0x90, 1 };
/* def_cfa rsp+24, the interrupted address at CFA-8 */
static const uint8_t saved[] = { 0x0c, 7, 24, 0x90, 1 };

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[8];
} record;
static struct unwind_tables tables;
static struct unwind_stack stack;

static void add_function(struct cfi_bytes *made, uint64_t start, uint64_t length)
{
	struct {
		uint64_t start, length;
		uint8_t data_bytes;
	} __attribute__((packed)) pointers = { start, length, 0 };

	bytes_fde(made, &pointers, sizeof(pointers), NULL, 0);
}

static void make_tables(void)
{
	struct cfi_bytes made = { 0 };

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	add_function(&made, MADE_CODE, 0x100);
	add_function(&made, MADE_CODE + 0x100, 0x80);
	add_function(&made, INTERRUPTED, 0x100);
	bytes_cie(&made, "zRS", absolute, 1, saved, sizeof(saved));
	add_function(&made, TRAMPOLINE - 1, 10);
	tables.cfi = bytes_compile(&made);
}

static void find_code(const struct unwind_space *space, uint64_t address, bool tables_needed,
		      struct unwind_code *code)
{
	(void)space;
	(void)address;
	(void)tables_needed;
	*code = (struct unwind_code){
		.end = UINT64_MAX, .tables = &tables, .mapped = true, .possible = true
	};
}

static bool find_function(const struct unwind_space *space, uint64_t address, uint64_t *start)
{
	(void)space;
	(void)address;
	(void)start;
	return false;
}

/* Unwinds from the function that the handler calls. */
static void unwind(void)
{
	static const struct unwind_space space = { find_code, find_function };
	const struct unwind_spaces spaces = { .user = &space };
	const uint64_t words[] = { HANDLER, TRAMPOLINE, 0, 0, INTERRUPTED, 0 };

	record.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(record),
					    .state = VCPU_RUNNING,
					    .user = true,
					    .n_stacks = 1,
					    .regs = { .rip = CALLED, .rsp = STACK } };
	record.stack = (struct sample_stack){ .kind = STACK_USER,
					      .address = STACK,
					      .size_bytes = sizeof(record.words) };
	memcpy(record.words, words, sizeof(words));
	unwind_stack(&record.vcpu, &spaces, UNWIND_AUTO, &stack);
}

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	static const uint8_t trampoline[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };

	(void)context;
	for (size_t i = 0; i < size_bytes; i++) {
		uint64_t at = address + i - TRAMPOLINE;

		((uint8_t *)buffer)[i] = at < sizeof(trampoline) ? trampoline[at] : 0xc3; /* ret */
	}
	return size_bytes;
}

static bool find_no_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	(void)address;
	(void)start;
	(void)end;
	return false;
}

/* The handler has been called: the trampoline's address and a struct ucontext are on the stack. */
static void test_code_alone(void)
{
	static const struct unwind_space space = { find_code, find_function };
	const struct unwind_spaces spaces = { .user = &space };
	const struct code_source source = { .read = read_code, .find_function = find_no_function };
	static struct {
		struct sample_vcpu vcpu;
		struct sample_stack stack;
		uint64_t words[40];
	} made;

	tables = (struct unwind_tables){ 0 };
	elf_tables_fatal(unwind_tables_build_computed(&tables, &source, MADE_CODE, MADE_CODE + 0x1000));
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .user = true,
					  .n_stacks = 1,
					  .regs = { .rip = HANDLER, .rsp = STACK } };
	made.stack = (struct sample_stack){ .kind = STACK_USER,
					    .address = STACK,
					    .size_bytes = sizeof(made.words) };
	made.words[0] = TRAMPOLINE;
	made.words[1 + 5 + 15] = STACK + 8 * 30; /* rsp */
	made.words[1 + 5 + 16] = INTERRUPTED;
	unwind_stack(&made.vcpu, &spaces, UNWIND_AUTO, &stack);
	check(stack.n_frames >= 3, "%u frames without tables", stack.n_frames);
	check_u64(unwind_frame_code(&stack.frames[1]), TRAMPOLINE,
		  "the trampoline is found by its code");
	check_u64(unwind_frame_code(&stack.frames[2]), INTERRUPTED,
		  "the address that the signal has interrupted");
	unwind_tables_deinit(&tables);
}

int main(void)
{
	static const struct {
		const char *what;
		uint64_t code;
	} wanted[] = {
		{ "the innermost function is named by its address", CALLED },
		{ "the handler by the byte before its return address", HANDLER - 1 },
		{ "the trampoline by its first byte", TRAMPOLINE },
		{ "the interrupted function by its address", INTERRUPTED },
	};

	make_tables();
	unwind();
	check(stack.n_frames == 4 && stack.stop == UNWIND_COMPLETE, "4 frames: %u, stop %d",
	      stack.n_frames, stack.stop);
	for (unsigned i = 0; i < 4 && i < stack.n_frames; i++)
		check_u64(unwind_frame_code(&stack.frames[i]), wanted[i].code, wanted[i].what);
	unwind_tables_deinit(&tables);
	test_code_alone();
	return tap_done();
}
