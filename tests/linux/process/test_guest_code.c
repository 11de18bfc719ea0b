/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's program without symbols and tables is unwound by its instructions, which are read out of
 * its page cache: functions begin where calls lead, or after the end of another one; code that is
 * missing is looked for again; a file that took the inode's place is not read.
 */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
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
#define LARGE_BYTES 0x800000
#define HALF_BYTES  0x90000 /* a little more than half of a turn may search */

struct fixture {
	struct made_linux *made;
	struct code_files *files;
	struct memory_budget budget;
	struct program program;
	uint64_t address;
};

static void put(struct fixture *fixture, uint64_t at, const char *bytes, size_t n)
{
	memcpy(fixture->program.bytes + PROGRAM_TEXT_OFFSET + (at - TEXT), bytes, n);
}

static void put_call(struct fixture *fixture, uint64_t at, uint64_t to)
{
	int32_t distance = (int32_t)(to - (at + 5));

	put(fixture, at, "\xe8", 1);
	put(fixture, at + 1, (const char *)&distance, 4);
}

static void make_program(struct fixture *fixture)
{
	program_make(&fixture->program, BASE, NULL, 7);
	((Elf64_Ehdr *)(void *)fixture->program.bytes)->e_entry = START;
	memset(fixture->program.bytes + PROGRAM_TEXT_OFFSET, 0x90, 0x1000);
	put(fixture, START, "\x31\xed", 2); /* xor %ebp,%ebp */
	put_call(fixture, START + 2, OUTER);
	put(fixture, START + 7, "\xf4", 1);             /* hlt */
	put(fixture, OUTER, "\x53\x48\x83\xec\x20", 5); /* push %rbx; sub $32,%rsp */
	put_call(fixture, OUTER + 5, INNER);
	put(fixture, OUTER + 10, "\xff\xd0\x48\x83\xc4\x20\x5b\xc3",
	    8); /* call *%rax; add; pop; ret */
	put(fixture, INNER, "\x48\x83\xec\x18\x90\x48\x83\xc4\x18\xc3",
	    10);                                                 /* sub $24; nop; add; ret */
	put(fixture, BY_POINTER, "\x55\x53\x90\x5b\x5d\xc3", 6); /* push rbp, rbx; nop; pops; ret */
}

static void begin_with(struct fixture *fixture, bool at_once)
{
	const struct code_files_settings settings = { .budget = &fixture->budget,
						      .debug.root_fd = -1,
						      .at_once = at_once };

	fixture->budget = (struct memory_budget){ .max_bytes = MEMORY_BUDGET_BYTES };
	fixture->made = made_linux_create(MADE_TREE);
	must(code_files_create(&fixture->made->guest, &settings, &fixture->files));
	make_program(fixture);
	fixture->address =
		made_file(fixture->made, "/bin/bare", fixture->program.bytes, PROGRAM_BYTES);
}

static void begin(struct fixture *fixture)
{
	begin_with(fixture, false);
}

static void end(struct fixture *fixture, struct code_file *file)
{
	code_file_close(file);
	code_files_destroy(fixture->files);
	check_u64(fixture->budget.used_bytes, 0, "the whole budget is given back");
	made_linux_destroy(fixture->made);
}

static struct code_file *open_file(struct fixture *fixture)
{
	struct guest_file source = { 0 };
	struct code_file *file = NULL;

	if (guest_file_find_inode(&fixture->made->guest, fixture->address, &source))
		file = code_files_open(fixture->files, &source, 0);
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

	return unwind_tables_guess_function(&file->image->tables, at, &start, &end) ? start : 0;
}

static void wait_turns(unsigned n)
{
	const struct timespec time = { .tv_sec = (time_t)(n * GUEST_CODE_TURN_NS / 1000000000),
				       .tv_nsec = (long)(n * GUEST_CODE_TURN_NS % 1000000000) };

	nanosleep(&time, NULL);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_chain(struct fixture *fixture)
{
	static const uint64_t by_pointer[] = { 0, 0, OUTER + 12, 4, 5, 6, 7, 8, START + 7 };
	const struct unwind_stack *stack;
	struct code_file *file;
	size_t before;

	begin(fixture);
	file = open_file(fixture);
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
	before = fixture->budget.used_bytes;
	code_files_poll(fixture->files, 0);
	check(fixture->budget.used_bytes > before, "the budget is charged for instructions");
	end(fixture, file);
}

static void test_wrong_return(struct fixture *fixture)
{
	uint64_t words[sizeof(inner_words) / sizeof(inner_words[0])];
	const struct unwind_stack *stack;
	struct code_file *file;

	begin(fixture);
	file = open_file(fixture);
	memcpy(words, inner_words, sizeof(words));
	words[3]--;
	stack = walk(file, INNER + 4, words, sizeof(words) / sizeof(words[0]));
	check(stack->n_frames == 1 && stack->stop == UNWIND_BAD,
	      "an address that does not stand after a call is no caller");
	end(fixture, file);
}

static void test_missing(struct fixture *fixture, bool at_once)
{
	const struct unwind_stack *stack;
	struct code_file *file;
	uint64_t folio, memory, inode;

	begin_with(fixture, at_once);
	inode = made_inode_of(fixture->made, fixture->address);
	made_cache_entry(fixture->made, inode, 1, 0);
	file = open_file(fixture);
	stack = walk_inner(file);
	check(stack->n_frames == 1 && stack->stop != UNWIND_COMPLETE,
	      "code that is not in the page cache is not known (%u frames)", stack->n_frames);
	folio = made_folio(fixture->made, 1, 1, &memory);
	made_put(fixture->made->memory, fixture->made->guest.root, memory,
		 fixture->program.bytes + 0x1000, 0x1000);
	made_cache_entry(fixture->made, inode, 1, folio);
	if (at_once)
		walk_inner(file); /* after 1, 2, 4 questions again, whatever the clock says */
	else
		wait_turns(9); /* it was looked for up to three times: after 1, 2, 4 turns again */
	stack = walk_inner(file);
	check(is_whole(stack), "the code has come: the chain is whole (%u frames)%s",
	      stack->n_frames, at_once ? " at once" : "");
	end(fixture, file);
}

static void test_other_file(struct fixture *fixture)
{
	const struct unwind_stack *stack;
	struct code_file *file;

	begin(fixture);
	file = open_file(fixture);
	made_set(fixture->made, made_inode_of(fixture->made, fixture->address), INODE_GENERATION,
		 99);
	stack = walk_inner(file);
	check(stack->n_frames == 1, "code of an inode that is another file's now is not read");
	end(fixture, file);
}

static void test_budget(struct fixture *fixture)
{
	const struct unwind_stack *stack;
	struct code_file *file;
	uint64_t before;

	begin(fixture);
	file = open_file(fixture);
	before = fixture->budget.max_bytes;
	fixture->budget.max_bytes = 1;
	stack = walk_inner(file);
	check(stack->n_frames == 1, "code is not read without budget");
	fixture->budget.max_bytes = before;
	wait_turns(2);
	check(is_whole(walk_inner(file)), "code is read with budget");
	end(fixture, file);
}

/* Opens a program with BYTES of code, of which IN_CACHE are in the page cache. */
static struct code_file *open_large(struct fixture *fixture, size_t bytes, size_t in_cache)
{
	Elf64_Phdr *segments = (void *)(fixture->program.bytes + sizeof(Elf64_Ehdr));
	char *copy = calloc(1, in_cache);

	segments[1].p_filesz = segments[1].p_memsz = bytes;
	assert(copy);
	memcpy(copy, fixture->program.bytes, PROGRAM_BYTES);
	fixture->address = made_file(fixture->made, "/bin/large", copy, in_cache);
	made_set(fixture->made, made_inode_of(fixture->made, fixture->address), INODE_SIZE,
		 bytes + PROGRAM_TEXT_OFFSET);
	free(copy);
	return open_file(fixture);
}

/* How many pages are read for the function at AT. */
static uint64_t count_pages(const struct fixture *fixture, const struct code_file *file,
			    uint64_t at)
{
	uint64_t before = memory_counts(fixture->made->guest.memory).pages;

	walk(file, at, inner_words, 1);
	start_of(file, at);
	return memory_counts(fixture->made->guest.memory).pages - before;
}

/* The first names of a large program do not wait for a search that would not end in time. */
static void test_first_turn(struct fixture *fixture)
{
	struct code_file *file;
	uint64_t pages;

	begin(fixture);
	file = open_large(fixture, HALF_BYTES, HALF_BYTES + PROGRAM_TEXT_OFFSET);
	pages = count_pages(fixture, file, INNER + 4);
	check(pages < 16, "pages that are read in the first turn: %" PRIu64, pages);
	wait_turns(2);
	pages = count_pages(fixture, file, TEXT + HALF_BYTES / 2);
	check(pages > 64, "pages of a search in the next turn: %" PRIu64, pages);
	end(fixture, file);
}

/* A search of much code that is not in the page cache leaves room to follow a chain's code. */
static void test_search(struct fixture *fixture)
{
	const struct unwind_stack *stack;
	struct code_file *file;

	begin(fixture);
	file = open_large(fixture, LARGE_BYTES, PROGRAM_BYTES);
	walk(file, INNER + 4, inner_words, 1); /* the file is asked for code before */
	wait_turns(2);
	check(!start_of(file, TEXT + LARGE_BYTES / 2), "missing code has no functions");
	stack = walk_inner(file);
	check(is_whole(stack), "after a search a chain is whole (%u frames)", stack->n_frames);
	end(fixture, file);
}

/* A segment need not begin with a page: a process has what the file has before it, too. */
static void test_segment(struct fixture *fixture)
{
	static const uint64_t words[] = { OUTER + 12, 4, 5, 6, 7, 8, START + 7 };
	uint64_t stub = TEXT + 0xb0;
	const struct unwind_stack *stack;
	Elf64_Phdr *segments;
	struct code_file *file;

	begin(fixture);
	segments = (void *)(fixture->program.bytes + sizeof(Elf64_Ehdr));
	segments[1].p_vaddr += 0x20;
	segments[1].p_offset += 0x20;
	segments[1].p_filesz = segments[1].p_memsz = 0xc0;
	put(fixture, BY_POINTER + 0x10, "\xff\x35\x00\x20\x00\x00\xff\x25\x00\x20\x00\x00",
	    12);                                                      /* the head of a PLT */
	put(fixture, stub, "\x68\x02\x00\x00\x00\xe9\xe6\xff\xff\xff", 10); /* push; jmp */
	fixture->address =
		made_file(fixture->made, "/bin/stub", fixture->program.bytes, PROGRAM_BYTES);
	file = open_file(fixture);
	stack = walk(file, stub, words, sizeof(words) / sizeof(words[0]));
	check(stack->n_frames > 1 && stack->frames[1].address == OUTER + 12,
	      "a stub in a segment that begins within a page has its caller (%u frames)",
	      stack->n_frames);
	end(fixture, file);
}

int main(void)
{
	static struct fixture fixture;

	test_chain(&fixture);
	test_wrong_return(&fixture);
	test_missing(&fixture, false);
	test_missing(&fixture, true);
	test_other_file(&fixture);
	test_budget(&fixture);
	test_first_turn(&fixture);
	test_search(&fixture);
	test_segment(&fixture);
	return tap_done();
}
