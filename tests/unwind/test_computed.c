/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps by what instructions tell, on real stacks of this process, recorded before every instruction
 * of some work. Each step leads where the step by call-frame information leads. A return address
 * that does not stand after a call ends the chain.
 */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "process_images.h"
#include "stacks.h"
#include "tests/support/tap.h"
#include "unwind/computed.h"
#include "unwind/instruction.h"
#include "xtop/symbol/image.h"

static volatile unsigned sink;

/* --- the work --------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	sink++;
	return *(const int *)left - *(const int *)right;
}

__attribute__((noinline)) static unsigned recurse(unsigned depth)
{
	unsigned more = depth ? recurse(depth - 1) : 0;

	sink += more;
	return more + depth;
}

__attribute__((noinline)) static unsigned choose(unsigned number)
{
	switch (number) {
	case 0:
		return recurse(3);
	case 1:
		return sink + 5;
	case 2:
		return recurse(2) * 7;
	case 3:
		return sink * sink;
	case 4:
		return recurse(sink % 3);
	default:
		return 0;
	}
}

__attribute__((noinline)) static void grow(unsigned n)
{
	unsigned char *bytes = __builtin_alloca(n); /* the stack pointer moves by any number */

	memset(bytes, (int)n, n);
	sink += bytes[n / 2] + recurse(1);
}

static void work(void)
{
	int numbers[] = { 4, 2, 3, 1 };

	qsort(numbers, 4, sizeof(numbers[0]), compare);
	for (unsigned i = 0; i < 6; i++)
		sink += choose(i);
	for (unsigned i = 16; i < 80; i += 16)
		grow(i);
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct image *image_of_self(void)
{
	struct image *image;
	struct build_id build_id;
	bool unread;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	elf_tables_fatal(image_create("self", &image));
	elf_tables_fatal(symtab_create(&image->symtab));
	elf_tables_fatal(symbol_read_elf(fd, "self", image->symtab, &build_id, &unread));
	elf_tables_fatal(symtab_seal(image->symtab));
	elf_tables_fatal(image_read_tables(image, fd));
	close(fd);
	return image;
}

struct tally {
	uint64_t same, unknown, different;
};

/* Goes outwards by call-frame information, as far as this program's own code reaches. */
static void compare_chain(const struct image *image, uint64_t bias,
			  const struct sample_vcpu *vcpu, struct tally *tally)
{
	enum unwind_step step = STEP_CALLER;
	struct cursor cursor, wanted;

	cursor_init(&wanted, vcpu);
	while (step == STEP_CALLER) {
		cursor = wanted;
		step = cfi_step(image->tables.cfi, bias, &wanted);
		if (step != STEP_CALLER)
			break;
		if (computed_step(image->tables.computed, bias, &cursor) != STEP_CALLER)
			tally->unknown++;
		else if (cursor.regs[REG_PC] == wanted.regs[REG_PC] &&
			 cursor.regs[REG_SP] == wanted.regs[REG_SP])
			tally->same++;
		else
			tally->different++;
	}
}

static void test_steps(const struct image *image, uint64_t bias, const struct stacks *stacks)
{
	const struct sample_vcpu *vcpu = stacks_first(stacks);
	struct tally tally = { 0 };

	for (size_t i = 0; i < stacks->n;
	     i++, vcpu = (const void *)((const char *)vcpu + vcpu->size_bytes))
		compare_chain(image, bias, vcpu, &tally);
	printf("# %" PRIu64 " steps lead where the table says, %" PRIu64 " are not known\n",
	       tally.same, tally.unknown);
	check(tally.same > 1000, "steps: %" PRIu64, tally.same);
	check(tally.unknown * 100 <= tally.same, "unknown steps: %" PRIu64, tally.unknown);
	check_u64(tally.different, 0, "steps that lead elsewhere");
	check(computed_memory_bytes(image->tables.computed) < 4 << 20, "memory is bounded");
}

/* --- a return address that does not fit ------------------------------------------------------- */

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[32];
} made;

/* Walks from the first instruction of recurse(), with the return address ADDRESS. */
static void walk_from(const struct unwind_spaces *spaces, uint64_t address,
		      struct unwind_stack *stack)
{
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .user = true,
					  .n_stacks = 1 };
	made.vcpu.regs.rip = (uintptr_t)recurse;
	made.vcpu.regs.rsp = 0x7ff000001000;
	made.stack = (struct sample_stack){ .kind = STACK_USER,
					    .address = 0x7ff000001000,
					    .size_bytes = sizeof(made.words) };
	made.words[0] = address;
	unwind_stack(&made.vcpu, spaces, UNWIND_AUTO, stack);
}

/* The address after the first call instruction from CODE on. */
static uint64_t find_return(const uint8_t *code)
{
	while (code[0] != 0xe8 || !instruction_x86_ends_call(code + 5 - INSTRUCTION_MAX_CALL_BYTES))
		code++;
	return (uintptr_t)code + 5;
}

/*
 * The innermost function is unknown. It has two arguments on the stack, and takes them off before it
 * returns. Frame pointers lead to its caller, a part of recurse(), whose stack pointer is not known.
 */
static void test_arguments(const struct unwind_spaces *spaces)
{
	static struct unwind_stack stack;
	uint64_t inner = find_return((const uint8_t *)(uintptr_t)recurse);
	uint64_t outer = find_return((const uint8_t *)(uintptr_t)choose);
	uint64_t base = 0x7ff000001000;

	walk_from(spaces, 0, &stack); /* sets all the rest */
	made.vcpu.regs.rip = (uintptr_t)&made;
	made.vcpu.regs.rbp = base;
	memset(made.words, 0x11, sizeof(made.words));
	made.words[0] = base + 16 * sizeof(made.words[0]);
	made.words[1] = inner;
	made.words[16] = 0;
	made.words[17] = outer;
	unwind_stack(&made.vcpu, spaces, UNWIND_AUTO, &stack);
	check(stack.n_frames >= 3 && stack.frames[1].address == inner &&
		      stack.frames[2].address == outer,
	      "frame pointers lead on where the stack pointer is not sure (%u frames, stop %d)",
	      stack.n_frames, stack.stop);
}

static void test_return_address(struct image *image, uint64_t bias)
{
	static struct unwind_stack stack;
	const struct mapping mapping = { .start = bias,
					 .end = bias + (64 << 20),
					 .bias = bias,
					 .image = image };
	uint64_t address = find_return((const uint8_t *)(uintptr_t)choose);
	struct unwind_spaces spaces = { .user_whole = true };
	struct space *space;

	cfi_destroy(image->tables.cfi); /* only instructions tell the callers now */
	dwarf_destroy(image->tables.dwarf);
	image->tables.cfi = NULL;
	image->tables.dwarf = NULL;
	elf_tables_fatal(space_create(&space));
	elf_tables_fatal(space_add(space, &mapping));
	spaces.user = space_for_unwind(space);
	walk_from(&spaces, address, &stack);
	check(stack.n_frames >= 2 && stack.frames[1].address == address &&
		      stack.frames[1].by == UNWIND_BY_COMPUTED,
	      "a caller after a call is found, and marked (%u frames)", stack.n_frames);
	walk_from(&spaces, address + 1, &stack);
	check(stack.n_frames == 1 && stack.stop == UNWIND_BAD,
	      "an address that follows no call is no caller (%u frames)", stack.n_frames);
	walk_from(&spaces, 0, &stack);
	check(stack.n_frames == 1 && stack.stop == UNWIND_COMPLETE,
	      "a return address of zero ends the chain");
	test_arguments(&spaces);
	spaces.user_whole = false;
	walk_from(&spaces, address, &stack);
	made.vcpu.regs.rip = (uintptr_t)&made; /* no function */
	unwind_stack(&made.vcpu, &spaces, UNWIND_AUTO, &stack);
	check(stack.n_frames == 1 && stack.stop == UNWIND_NO_TABLES,
	      "a frame pointer of zero ends no chain in code that may not keep frame pointers");
	space_destroy(space);
}

/* --- .init and .fini -------------------------------------------------------------------------- */

extern const uint8_t _init[], _fini[];

/* This program as most are: neither symbol nor FDE tells where .init and .fini are. */
static struct image *stripped_image_of_self(void)
{
	struct image *image;
	struct loads loads;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	elf_tables_fatal(image_create("stripped", &image));
	elf_tables_fatal(image_read_host_elf(image, fd, &loads));
	elf_tables_fatal(image_read_tables(image, fd));
	close(fd);
	symtab_destroy(image->symtab);
	image->symtab = NULL;
	return image;
}

/* The program is at PLACE, and the return address lies WORDS words above rsp. */
static void check_init(const struct unwind_spaces *spaces, const uint8_t *place, unsigned words)
{
	static struct unwind_stack stack;
	uint64_t address = find_return((const uint8_t *)(uintptr_t)choose);

	walk_from(spaces, 0, &stack); /* sets all the rest */
	made.vcpu.regs.rip = (uintptr_t)place;
	memset(made.words, 0, sizeof(made.words));
	made.words[words] = address;
	unwind_stack(&made.vcpu, spaces, UNWIND_AUTO, &stack);
	check(stack.n_frames >= 2 && stack.frames[1].address == address &&
		      stack.frames[1].by == UNWIND_BY_COMPUTED,
	      "the caller of .init or .fini, %u words on the stack (%u frames)", words,
	      stack.n_frames);
}

static void test_init(uint64_t bias)
{
	struct image *image = stripped_image_of_self();
	const struct mapping mapping = { .start = bias,
					 .end = bias + (64 << 20),
					 .bias = bias,
					 .image = image };
	struct unwind_spaces spaces = { .user_whole = true };
	struct space *space;

	elf_tables_fatal(space_create(&space));
	elf_tables_fatal(space_add(space, &mapping));
	spaces.user = space_for_unwind(space);
	for (unsigned i = 0; i < 2; i++) {
		const uint8_t *start = i ? _fini : _init;
		unsigned endbr = start[0] == 0xf3 ? 4 : 0;

		check_init(&spaces, start, 0);
		check_init(&spaces, start + endbr, 0);
		check_init(&spaces, start + endbr + 4, 1); /* after sub rsp, 8 */
	}
	space_destroy(space);
	image_unref(image);
}

int main(void)
{
	static struct process_images process;
	struct stacks stacks = { 0 };
	struct image *image = image_of_self();

	process_images_init(&process);
	check(image->tables.cfi && image->tables.computed,
	      "the image has tables and readable code");
	stacks_record(&stacks, work, 1, 64 << 20);
	test_steps(image, process.images[0].bias, &stacks);
	test_return_address(image, process.images[0].bias);
	test_init(process.images[0].bias);
	stacks_deinit(&stacks);
	process_images_deinit(&process);
	image_unref(image);
	return tap_done();
}
