/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's program without symbols and tables is unwound by its instructions, which are read out of
 * its page cache: functions begin where calls lead, or behind the end of another one; code that is
 * missing is looked for again; a file that took the inode's place is not read.
 */
#include "config.h"

#include <time.h>

#include "linux/process/code_files.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"

#define BASE  0x400000ULL
#define TEXT  (BASE + PROGRAM_TEXT)
#define START (TEXT + 0x00) /* the entry; calls OUTER */
#define OUTER (TEXT + 0x20) /* saves rbx; calls INNER, and the function that is in a register */
#define INNER (TEXT + 0x60)
#define BY_POINTER (TEXT + 0x90) /* nothing calls it directly */
#define STACK 0x7ffe00001000ULL

static struct made_linux *made;
static struct code_files *files;
static struct memory_budget budget;
static struct program program;
static uint64_t address;

static void put(uint64_t at, const char *bytes, size_t n)
{
	memcpy(program.bytes + PROGRAM_TEXT_OFFSET + (at - TEXT), bytes, n);
}

static void put_call(uint64_t at, uint64_t to)
{
	int32_t distance = (int32_t)(to - (at + 5));

	put(at, "\xe8", 1);
	put(at + 1, (const char *)&distance, 4);
}

static void make_program(void)
{
	program_make(&program, BASE, NULL, 7);
	((Elf64_Ehdr *)(void *)program.bytes)->e_entry = START;
	memset(program.bytes + PROGRAM_TEXT_OFFSET, 0x90, 0x1000);
	put(START, "\x31\xed", 2); /* xor %ebp,%ebp */
	put_call(START + 2, OUTER);
	put(START + 7, "\xf4", 1); /* hlt */
	put(OUTER, "\x53\x48\x83\xec\x20", 5); /* push %rbx; sub $32,%rsp */
	put_call(OUTER + 5, INNER);
	put(OUTER + 10, "\xff\xd0\x48\x83\xc4\x20\x5b\xc3", 8); /* call *%rax; add; pop; ret */
	put(INNER, "\x48\x83\xec\x18\x90\x48\x83\xc4\x18\xc3", 10); /* sub $24; nop; add; ret */
	put(BY_POINTER, "\x55\x53\x90\x5b\x5d\xc3", 6); /* push rbp, rbx; nop; pops; ret */
}

static void begin_with(bool at_once)
{
	const struct code_files_settings settings = { .budget = &budget,
						      .root_fd = -1,
						      .at_once = at_once };

	budget = (struct memory_budget){ .max_bytes = MEMORY_BUDGET_BYTES };
	made = made_linux_create(MADE_TREE);
	must(code_files_create(&made->guest, &settings, &files));
	make_program();
	address = made_file(made, "/bin/bare", program.bytes, PROGRAM_BYTES);
}

static void begin(void)
{
	begin_with(false);
}

static void end(struct code_file *file)
{
	code_file_close(file);
	code_files_destroy(files);
	check_u64(budget.used_bytes, 0, "the whole budget is given back");
	made_linux_destroy(made);
}

static struct code_file *open_file(void)
{
	struct guest_file source = { 0 };
	struct code_file *file = NULL;

	if (guest_file_find_inode(&made->guest, address, &source))
		file = code_files_open(files, &source, 0);
	check(file && file->image->tables.computed,
	      "an image without tables gets access to its code");
	return file;
}

/* --- a stack ---------------------------------------------------------------------------------- */

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[32];
} sampled;

/* Walks from RIP, with WORDS on the stack. */
static const struct unwind_stack *walk(const struct code_file *file, uint64_t rip,
				       const uint64_t *words, size_t n)
{
	static struct unwind_stack stack;
	const struct mapping mapping = { .start = TEXT,
					 .end = TEXT + 0x1000,
					 .file_offset = PROGRAM_TEXT_OFFSET,
					 .image = file->image,
					 .kind = MAPPING_CODE };
	struct unwind_spaces spaces = { .user_whole = true };
	struct space *space;

	memset(&sampled, 0, sizeof(sampled));
	sampled.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(sampled),
					     .state = VCPU_RUNNING,
					     .user = true,
					     .n_stacks = 1 };
	sampled.vcpu.regs.rip = rip;
	sampled.vcpu.regs.rsp = STACK;
	sampled.vcpu.regs.rbp = 1;
	sampled.stack = (struct sample_stack){ .kind = STACK_USER,
					       .address = STACK,
					       .size_bytes = sizeof(sampled.words) };
	memcpy(sampled.words, words, n * sizeof(*words));
	must(space_create(&space));
	must(space_add(space, &mapping));
	spaces.user = space_for_unwind(space);
	unwind_stack(&sampled.vcpu, &spaces, UNWIND_AUTO, &stack);
	space_destroy(space);
	return &stack;
}

static const uint64_t inner_words[] = { 1, 2, 3, OUTER + 10, 4, 5, 6, 7, 8, START + 7 };

/* In INNER, which OUTER called, which the entry called. */
static const struct unwind_stack *walk_inner(const struct code_file *file)
{
	return walk(file, INNER + 4, inner_words, sizeof(inner_words) / sizeof(inner_words[0]));
}

static bool is_whole(const struct unwind_stack *stack)
{
	return stack->n_frames == 3 && stack->frames[1].address == OUTER + 10 &&
	       stack->frames[2].address == START + 7 && stack->stop == UNWIND_COMPLETE;
}

static uint64_t start_of(const struct code_file *file, uint64_t at)
{
	uint64_t start, end;

	return unwind_tables_find_function(&file->image->tables, at, &start, &end) ? start : 0;
}

static void wait_turns(unsigned n)
{
	const struct timespec time = { .tv_sec = (time_t)(n * GUEST_CODE_TURN_NS / 1000000000),
				       .tv_nsec = (long)(n * GUEST_CODE_TURN_NS % 1000000000) };

	nanosleep(&time, NULL);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_chain(void)
{
	static const uint64_t by_pointer[] = { 0, 0, OUTER + 12, 4, 5, 6, 7, 8, START + 7 };
	const struct unwind_stack *stack;
	struct code_file *file;
	size_t before;

	begin();
	file = open_file();
	before = image_memory_bytes(file->image);
	stack = walk_inner(file);
	check(is_whole(stack), "three frames, and the entry ends the chain (%u frames, stop %d)",
	      stack->n_frames, (int)stack->stop);
	check_u64(start_of(file, INNER + 4), INNER, "the inner function begins where a call leads");
	check_u64(start_of(file, OUTER + 9), OUTER, "the outer function begins where a call leads");
	stack = walk(file, BY_POINTER + 2, by_pointer, sizeof(by_pointer) / sizeof(by_pointer[0]));
	check(stack->n_frames == 3 && stack->frames[1].address == OUTER + 12,
	      "the caller of a function that only a pointer leads to (%u frames)", stack->n_frames);
	check_u64(start_of(file, BY_POINTER + 2), BY_POINTER,
		  "a function that only a pointer leads to has its beginning");
	check(image_memory_bytes(file->image) > before, "instructions that were read take memory");
	before = budget.used_bytes;
	code_files_poll(files);
	check(budget.used_bytes > before, "the budget is charged for instructions");
	end(file);
}

static void test_wrong_return(void)
{
	uint64_t words[sizeof(inner_words) / sizeof(inner_words[0])];
	const struct unwind_stack *stack;
	struct code_file *file;

	begin();
	file = open_file();
	memcpy(words, inner_words, sizeof(words));
	words[3]--;
	stack = walk(file, INNER + 4, words, sizeof(words) / sizeof(words[0]));
	check(stack->n_frames == 1 && stack->stop == UNWIND_BAD,
	      "an address that does not stand behind a call is no caller");
	end(file);
}

static void test_missing(bool at_once)
{
	const struct unwind_stack *stack;
	struct code_file *file;
	uint64_t folio, memory, inode;

	begin_with(at_once);
	inode = made_inode_of(made, address);
	made_cache_entry(made, inode, 1, 0);
	file = open_file();
	stack = walk_inner(file);
	check(stack->n_frames == 1 && stack->stop != UNWIND_COMPLETE,
	      "code that is not in the page cache is not known (%u frames)", stack->n_frames);
	folio = made_folio(made, 1, 1, &memory);
	made_put(made->memory, made->guest.root, memory, program.bytes + 0x1000, 0x1000);
	made_cache_entry(made, inode, 1, folio);
	if (at_once)
		walk_inner(file); /* after 1, 2, 4 questions again, whatever the clock says */
	else
		wait_turns(9); /* it was looked for up to three times: after 1, 2, 4 turns again */
	stack = walk_inner(file);
	check(is_whole(stack), "the code has come: the chain is whole (%u frames)%s",
	      stack->n_frames, at_once ? " at once" : "");
	end(file);
}

static void test_other_file(void)
{
	const struct unwind_stack *stack;
	struct code_file *file;

	begin();
	file = open_file();
	made_set(made, made_inode_of(made, address), INODE_GENERATION, 99);
	stack = walk_inner(file);
	check(stack->n_frames == 1, "code of an inode that is another file's now is not read");
	end(file);
}

static void test_budget(void)
{
	const struct unwind_stack *stack;
	struct code_file *file;
	uint64_t before;

	begin();
	file = open_file();
	before = budget.max_bytes;
	budget.max_bytes = 0;
	stack = walk_inner(file);
	check(stack->n_frames == 1, "code is not read without budget");
	budget.max_bytes = before;
	wait_turns(2);
	check(is_whole(walk_inner(file)), "code is read with budget");
	end(file);
}

int main(void)
{
	test_chain();
	test_wrong_return();
	test_missing(false);
	test_missing(true);
	test_other_file();
	test_budget();
	return tap_done();
}
