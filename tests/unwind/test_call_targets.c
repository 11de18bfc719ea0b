/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions begin, by direct calls alone: for libc, and for the files that COMPUTED_FILES
 * names, with : between them. Each instruction that an FDE covers makes one step on a made stack:
 * by the FDE, and by instructions without any bounds. Nearly all steps lead to the same place.
 * Parts of functions that lie elsewhere do not, as nothing tells whose they are (".cold").
 */
#include "config.h"

#include "elf_tables.h"
#include "tests/support/program_files.h"
#include "tests/support/tap.h"
#include "unwind/call_targets.h"
#include "unwind/computed.h"
#include "unwind/computed_machine.h"
#include "unwind/cursor_arm64.h"

#define STACK       0x7ffe00000000ULL
#define STACK_WORDS 8000

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[STACK_WORDS];
} made;

struct program {
	const struct computed_machine *machine;
	enum guest_arch arch;
	struct elf_file file;
	struct elf_tables tables;
	uint64_t n_same, n_unknown, n_wrong, n_starts, n_functions;
};

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	struct program *program = context;

	return read_file_code(&program->file, address, buffer, size_bytes);
}

static bool find_no_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	(void)address;
	(void)start;
	(void)end;
	return false;
}

static void make_stack(void)
{
	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .user = true,
					  .n_stacks = 1 };
	made.stack = (struct sample_stack){ .kind = STACK_USER,
					    .address = STACK,
					    .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < STACK_WORDS; i++)
		made.words[i] = 0x10000 + i; /* each word tells its place */
}

static struct cursor cursor_at(uint64_t address)
{
	struct cursor cursor;

	cursor_init(&cursor, &made.vcpu);
	for (unsigned i = 0; i < REG_PC; i++)
		cursor.regs[i] = 0x100 + i;
	cursor.regs[REG_PC] = address;
	cursor.regs[REG_SP] = STACK + 0x1000;
	cursor.regs[REG_RBP] = STACK + 0x7000;
	return cursor;
}

/* A cursor of arm64 has the stack pointer and the frame pointer in the same places. */
static struct cursor cursor_of(const struct program *program, uint64_t address)
{
	struct cursor cursor = cursor_at(address);

	if (program->arch != ARCH_ARM64)
		return cursor;
	cursor.arch = ARCH_ARM64;
	cursor.known = UINT32_MAX;
	for (unsigned i = REG_PC + 1; i < CURSOR_REGISTERS; i++)
		cursor.regs[i] = 0x100 + i;
	return cursor;
}

static enum unwind_step step_by_table(struct program *program, struct cursor *cursor)
{
	return program->arch == ARCH_ARM64 ? cfi_arm64_step(program->tables.cfi, 0, cursor)
					   : cfi_step(program->tables.cfi, 0, cursor);
}

/* On arm64 the table says that the return address is in x30, though a word may still have it. */
static bool is_in_link(const struct program *program, const struct cursor *cursor)
{
	return program->arch == ARCH_ARM64 &&
	       cursor->regs[REG_PC] == cursor_of(program, 0).regs[REG_ARM64_LR];
}

/* The made stack pointer and frame pointer do not belong together: FDEs with the first only. */
static void compare_at(struct program *program, struct computed *computed, uint64_t address)
{
	const struct cfi_rule *rule = cfi_find(program->tables.cfi, address);
	struct cursor wanted = cursor_of(program, address), got = wanted;

	if (!rule || rule->kind != program->machine->rule_cfa || rule->reg != REG_SP ||
	    step_by_table(program, &wanted) != STEP_CALLER)
		return;
	if (computed_step(computed, 0, &got) != STEP_CALLER)
		program->n_unknown++;
	else if (got.regs[REG_SP] == wanted.regs[REG_SP] &&
		 (got.regs[REG_PC] == wanted.regs[REG_PC] || is_in_link(program, &wanted)))
		program->n_same++;
	else if (program->n_wrong++ < 5)
		printf("#   %#" PRIx64 " leads elsewhere\n", address);
}

/* Fillers behind the end of code are not compared: nobody is there. */
static void compare_function(struct program *program, struct computed *computed, uint64_t start,
			     uint64_t end)
{
	uint8_t *bytes = malloc(end - start);
	size_t n = read_code(program, start, bytes, end - start);
	struct instruction instruction;
	bool behind_end = false;
	uint64_t found, found_end;

	for (size_t at = 0; at < n; at += instruction.length) {
		if (!program->machine->decode(bytes + at, n - at, start + at, &instruction)) {
			instruction.length = 1;
			continue;
		}
		behind_end = behind_end && instruction.filler;
		if (!behind_end)
			compare_at(program, computed, start + at);
		behind_end |= instruction.flow != FLOW_NEXT && instruction.flow != FLOW_BRANCH;
	}
	program->n_functions++;
	program->n_starts += computed_find_function(computed, start, &found, &found_end) &&
			     found == start;
	free(bytes);
}

static struct computed *create_computed(struct program *program)
{
	const struct code_source source = { .read = read_code,
					    .find_function = find_no_function,
					    .context = program,
					    .entries.elf = program->file.header.e_entry,
					    .arch = program->arch };
	struct computed *computed;
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < program->file.n_segments; i++) {
		const Elf64_Phdr *segment = &program->file.segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		start = segment->p_vaddr < start ? segment->p_vaddr : start;
		end = segment->p_vaddr + segment->p_filesz > end ? segment->p_vaddr + segment->p_filesz
								  : end;
	}
	elf_tables_fatal(computed_create(&source, start, end, &computed));
	return computed;
}

static void compare_file(const char *path)
{
	struct program program = { .n_same = 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct computed *computed;
	double all;

	if (fd < 0 || !elf_tables_open(&program.tables, path)) {
		printf("# %s: no CFI\n", path);
		return;
	}
	elf_tables_fatal(elf_file_init_host(&program.file, fd, path, &elf_tables_limits));
	program.arch = program.file.header.e_machine == EM_AARCH64 ? ARCH_ARM64 : ARCH_X86;
	program.machine = computed_machine(program.arch);
	computed = create_computed(&program);
	for (size_t i = 0; i < program.tables.cfi->n_functions; i++)
		compare_function(&program, computed,
				 program.tables.cfi->base + program.tables.cfi->functions[i].start,
				 program.tables.cfi->base + program.tables.cfi->functions[i].end);
	all = (double)(program.n_same + program.n_unknown + program.n_wrong);
	printf("# %s: %.0f instructions: %.3f %% lead to the same caller, %.3f %% are not known, "
	       "%.3f %% lead elsewhere; %.1f %% of %" PRIu64 " functions begin where they are found\n",
	       path, all, 100 * (double)program.n_same / all, 100 * (double)program.n_unknown / all,
	       100 * (double)program.n_wrong / all,
	       100 * (double)program.n_starts / (double)program.n_functions, program.n_functions);
	check((double)program.n_same >= 0.95 * all, "%s: 95 %% lead to the same caller", path);
	check((double)program.n_wrong <= 0.01 * all,
	      "%s: one in a hundred leads elsewhere at most: such a caller stands behind no call", path);
	computed_destroy(computed);
	elf_file_deinit(&program.file);
	elf_tables_close(&program.tables);
	close(fd);
}

#define PLACE 0x1000

struct made_code {
	const uint8_t *bytes;
	size_t size_bytes;
	bool live; /* code may be missing, and come in a later turn */
};

static uint64_t take_turn(void *context)
{
	static uint64_t turns;

	(void)context;
	return ++turns;
}

static size_t read_made(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct made_code *code = context;
	uint64_t at = address - PLACE, n = at < code->size_bytes ? code->size_bytes - at : 0;

	n = n < size_bytes ? n : size_bytes;
	memcpy(buffer, code->bytes + at, n);
	return n;
}

/* In CODE, the caller's address lies N_WORDS above where REG points at each of ADDRESSES. */
static void check_made_from(struct made_code code, const char *what, enum unwind_register reg,
			    unsigned n_words, const uint64_t *addresses, size_t n)
{
	const struct code_source source = { .read = read_made,
					    .find_function = find_no_function,
					    .context = &code,
					    .turn = code.live ? take_turn : NULL,
					    .entries.elf = PLACE };
	struct computed *computed;

	elf_tables_fatal(computed_create(&source, PLACE, PLACE + code.size_bytes, &computed));
	for (size_t i = 0; i < n; i++) {
		struct cursor cursor = cursor_at(addresses[i]);
		uint64_t word = (cursor.regs[reg] - STACK) / 8 + n_words;

		check(computed_step(computed, 0, &cursor) == STEP_CALLER &&
			      cursor.regs[REG_PC] == made.words[word] &&
			      cursor.regs[REG_SP] == STACK + 8 * (word + 1),
		      "%s: %#" PRIx64 ": %u words lie below the caller's address", what,
		      addresses[i], n_words);
	}
	computed_destroy(computed);
}

static void check_made(struct made_code code, const char *what, unsigned n_words,
		       const uint64_t *addresses, size_t n)
{
	check_made_from(code, what, REG_SP, n_words, addresses, n);
}

/* Code made for size: no call leads to 1019, and it is not aligned. */
static void test_unaligned(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe,             /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53, 0xe8, 0x07, 0x00, 0x00, 0x00, 0x5b, 0x90, 0xc3, /* 1010: push; call 101d ... */
		0x53, 0x90, 0x5b, 0xc3,                               /* 1019: push; nop; pop; ret */
		0x53, 0x90, 0x5b, 0xc3,                               /* 101d: the same */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "behind a return", 1,
		   (uint64_t[]){ 0x101a, 0x101e }, 2);
}

/* Nothing leads to 100d and 1013 but, it seems, the calls before them, which never return. */
static void test_behind_call(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xfe, /* 1000: call 1007; jmp 1005 */
		0x53, 0xe8, 0x0c, 0x00, 0x00, 0x00,       /* 1007: push %rbx; call 1019 */
		0x53, 0x55, 0x90, 0x5d, 0x5b, 0xc3,       /* 100d: push %rbx; push %rbp; nop; pop ... */
		0x53, 0xe8, 0x00, 0x00, 0x00, 0x00,       /* 1013: push %rbx; call 1019 */
		0xeb, 0xfe,                               /* 1019: jmp 1019 */
	};
	const struct made_code code = { bytes, sizeof(bytes), false };

	check_made(code, "behind a call", 1, (uint64_t[]){ 0x1008 }, 1);
	check_made(code, "behind a call", 2, (uint64_t[]){ 0x100f }, 1);
	check_made(code, "never returns, behind a return", 1, (uint64_t[]){ 0x1014 }, 1);
}

/* A call may be followed by a push of the next call's argument. That is no function. */
static void test_argument(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xfe, /* 1000: call 1007; jmp 1005 */
		0x53, 0xe8, 0x0f, 0x00, 0x00, 0x00,       /* 1007: push %rbx; call 101c */
		0x53, 0xe8, 0x09, 0x00, 0x00, 0x00,       /* 100d: push %rbx; call 101c */
		0x48, 0x83, 0xc4, 0x08, 0x5b, 0xc3,       /* 1013: add $8,%rsp; pop %rbx; ret */
		0x90, 0x90, 0x90, 0xc3,                   /* 101c: ret */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "an argument", 2,
		   (uint64_t[]){ 0x100e, 0x1013 }, 2);
}

/* gcc -fstack-clash-protection touches each page of a large frame. */
static void test_probes(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xfe,       /* 1000: call 1007; jmp 1005 */
		0x4c, 0x8d, 0x9c, 0x24, 0x00, 0xc0, 0xff, 0xff, /* 1007: lea -0x4000(%rsp),%r11 */
		0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00,       /* 100f: sub $0x1000,%rsp */
		0x48, 0x83, 0x0c, 0x24, 0x00,                   /* 1016: orq $0,(%rsp) */
		0x4c, 0x39, 0xdc, 0x75, 0xef,                   /* 101b: cmp %r11,%rsp; jne 100f */
		0x90,                                           /* 1020: nop */
		0x48, 0x81, 0xc4, 0x00, 0x40, 0x00, 0x00,       /* 1021: add $0x4000,%rsp */
		0xc3,                                           /* 1028: ret */
	};
	const struct made_code code = { bytes, sizeof(bytes), false };

	check_made(code, "behind a loop of probes", 0x4000 / 8, (uint64_t[]){ 0x1020, 0x1021 }, 2);
	check_made(code, "behind a loop of probes", 0, (uint64_t[]){ 0x1028 }, 1);
}

/* alloca() in a case of a switch, which leads back: the stack pointer is not known, rbp is. */
static void test_alloca(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xfe, /* 1000: call 1007; jmp 1005 */
		0x55, 0x48, 0x89, 0xe5,                   /* 1007: push %rbp; mov %rsp,%rbp */
		0x85, 0xff, 0x74, 0x02,                   /* 100b: test %edi,%edi; je 1011 */
		0xff, 0xe0,                               /* 100f: jmp *%rax */
		0xc9, 0xc3,                               /* 1011: leave; ret */
		0x48, 0x83, 0xec, 0x10, 0xeb, 0xf2,       /* 1013: sub $16,%rsp; jmp 100b */
	};

	check_made_from((struct made_code){ bytes, sizeof(bytes), false }, "alloca in a switch", REG_RBP, 1,
			(uint64_t[]){ 0x100b, 0x100f, 0x1011, 0x1013, 0x1017 }, 5);
}

/*
 * rbp points to a local variable. 101d, where the stack pointer does not fit, does not
 * take the stack pointer from known code.
 */
static void test_no_frame_pointer(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xfe, /* 1000: call 1007; jmp 1005 */
		0x55, 0x48, 0x83, 0xec, 0x10,             /* 1007: push %rbp; sub $16,%rsp */
		0x48, 0x8d, 0x6c, 0x24, 0x08,             /* 100c: lea 8(%rsp),%rbp */
		0x85, 0xff, 0x74, 0x02,                   /* 1011: test %edi,%edi; je 1017 */
		0xff, 0xe0,                               /* 1015: jmp *%rax */
		0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3,       /* 1017: add $16,%rsp; pop %rbp; ret */
		0x48, 0x83, 0xec, 0x10, 0xeb, 0xee,       /* 101d: sub $16,%rsp; jmp 1011 */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "no frame pointer", 3,
		   (uint64_t[]){ 0x1011, 0x1015, 0x1017 }, 3);
}

/* A jump beyond all code, as data may have it: no later turn brings what lies there. */
static void test_beyond_code(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xfe, /* 1000: call 1007; jmp 1005 */
		0x53, 0x85, 0xff,                         /* 1007: push %rbx; test %edi,%edi */
		0x0f, 0x85, 0xf0, 0x00, 0x00, 0x00,       /* 100a: jne 1100 */
		0x90, 0x5b, 0xc3,                         /* 1010: nop; pop %rbx; ret */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), true }, "a jump beyond all code", 1,
		   (uint64_t[]){ 0x1008, 0x1010 }, 2);
}

#define FULL_FUNCTIONS (1U << 17) /* what computed.c keeps (COMPUTED_MAX_FUNCTIONS) */
#define FULL_MORE      16
#define FULL_BYTES     16 /* of each function */

struct many_functions {
	unsigned n_reads;
};

static size_t read_many(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	((struct many_functions *)context)->n_reads++;
	for (size_t i = 0; i < size_bytes; i++)
		((uint8_t *)buffer)[i] = (address + i) % FULL_BYTES ? 0xcc : 0xc3; /* int3, ret */
	return size_bytes;
}

static bool find_many(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	*start = address - address % FULL_BYTES;
	*end = *start + FULL_BYTES;
	return true;
}

/* When the tables are full, further functions are not read, as nothing of them can be kept. */
static void test_full(void)
{
	struct many_functions many = { 0 };
	const struct code_source source = { .read = read_many,
					    .find_function = find_many,
					    .context = &many,
					    .turn = take_turn };
	struct computed *computed;
	struct cursor cursor;

	elf_tables_fatal(computed_create(
		&source, PLACE, PLACE + (FULL_FUNCTIONS + FULL_MORE) * FULL_BYTES, &computed));
	for (unsigned i = 0; i < FULL_FUNCTIONS; i++) {
		cursor = cursor_at(PLACE + (uint64_t)i * FULL_BYTES);
		computed_step(computed, 0, &cursor);
	}
	check(many.n_reads >= FULL_FUNCTIONS, "each of %u functions is read", FULL_FUNCTIONS);
	many.n_reads = 0;
	for (unsigned i = 0; i < FULL_MORE * FULL_BYTES; i++) {
		cursor = cursor_at(PLACE + FULL_FUNCTIONS * FULL_BYTES + i);
		computed_step(computed, 0, &cursor);
	}
	check_u64(many.n_reads, 0, "full tables: reads for functions of which nothing is kept");
	computed_destroy(computed);
}

#define RARE_BYTES 0x6000

/*
 * gcc puts the rare parts of all functions together (".text.unlikely"). Nothing calls them, so they
 * lie between the same bounds. A function jumps to its own part there, and the others, which nothing
 * leads to, say nothing of it: it is followed without them.
 */
static void test_rare_parts(void)
{
	static const uint8_t functions[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00,                         /* 1000: call 1010 */
		0xe8, 0x16, 0x00, 0x00, 0x00, 0xeb, 0xfe,             /* 1005: call 1020; jmp 100a */
		0x90, 0x90, 0x90, 0x90,
		0x53, 0x85, 0xff,                                     /* 1010: push; test %edi,%edi */
		0x0f, 0x85, 0x17, 0x00, 0x00, 0x00,                   /* 1013: jne 1030 */
		0x90, 0x5b, 0xc3,                                     /* 1019: nop; pop %rbx; ret */
		0x90, 0x90, 0x90, 0x90,
		0x53, 0xe8, 0xea, 0xff, 0xff, 0xff, 0x5b, 0xc3,       /* 1020: push; call 1010; pop; ret */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0xe9, 0xe3, 0xff, 0xff, 0xff,                   /* 1030: nop; jmp 1019 */
	};
	static const uint8_t part[] = { 0x31, 0xc0, 0x58, 0x58, 0x58, 0xff, 0xe0 }; /* another's */
	static uint8_t bytes[sizeof(functions) + RARE_BYTES];

	memcpy(bytes, functions, sizeof(functions));
	for (size_t i = sizeof(functions); i + sizeof(part) <= sizeof(bytes); i += sizeof(part))
		memcpy(bytes + i, part, sizeof(part));
	check_made((struct made_code){ bytes, sizeof(bytes), false }, "rare parts of many functions", 1,
		   (uint64_t[]){ 0x1011, 0x1019, 0x1030, 0x1031 }, 4);
}

/*
 * Only a pointer leads to 1020, or a call. The call in its rare part never returns, which nothing
 * says, and another function's part stands behind it.
 */
static void test_behind_rare_call(bool called)
{
	static uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00,             /* 1000: call 1010, or 1020 */
		0xe8, 0x26, 0x00, 0x00, 0x00, 0xeb, 0xfe, /* 1005: call 1030; jmp 100a */
		0x90, 0x90, 0x90, 0x90,
		0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* 1010: ret */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53, 0x85, 0xff,                         /* 1020: push %rbx; test %edi,%edi */
		0x0f, 0x85, 0x17, 0x00, 0x00, 0x00,       /* 1023: jne 1040 */
		0x5b, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, /* 1029: pop %rbx; ret */
		0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* 1030: ret */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0xe8, 0xca, 0xff, 0xff, 0xff,       /* 1040: nop; call 1010 */
		0x58, 0x58, 0xc3,                         /* 1046: pop; pop; ret: another's */
	};

	bytes[1] = called ? 0x1b : 0x0b;
	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   called ? "called, behind a call in a rare part" : "behind a call in a rare part",
		   1, (uint64_t[]){ 0x1021, 0x1029, 0x1040 }, 3);
}

/* A constant looks like a call of 1021, and a zero, as long fillers have it, stands before that. */
static void test_constants(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53,                                           /* 1010: push %rbx */
		0x48, 0xb8, 0xe8, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 1011: mov $...,%rax */
		0x90, 0xb9, 0x00, 0x00, 0x00, 0x00,             /* 101b: nop; mov $0,%ecx */
		0x90, 0x5b, 0xc3,                               /* 1021: nop; pop %rbx; ret */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "a constant like a call", 1,
		   (uint64_t[]){ 0x1011, 0x1021, 0x1022 }, 3);
}

/* A constant looks like a call of 1020, which is aligned, as functions often are. */
static void test_aligned_constant(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53,                                           /* 1010: push %rbx */
		0x48, 0xb8, 0xe8, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 1011: mov $...,%rax */
		0x90, 0x89, 0xc0, 0x89, 0xc0,                   /* 101b: nop; mov; mov */
		0x90, 0x5b, 0xc3,                               /* 1020: nop; pop %rbx; ret */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   "a constant like a call of an aligned place", 1,
		   (uint64_t[]){ 0x101c, 0x1020, 0x1021 }, 3);
}

/* A constant looks like a call of what stands behind it. */
static void test_call_of_next(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53,                                           /* 1010: push %rbx */
		0x48, 0xb8, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* 1011: mov $0xe8,%rax */
		0x90, 0x5b, 0xc3,                               /* 101b: nop; pop %rbx; ret */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "a constant, a call of the next place",
		   1, (uint64_t[]){ 0x1011, 0x101b, 0x101c }, 3);
}

/* A function that calls another one in its own place, by a pointer, and has no frame. */
static void test_pointer_only(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x48, 0x8b, 0x47, 0x08, 0xff, 0x60, 0x30, /* 1010: mov 8(%rdi),%rax; jmp *48(%rax) */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "a jump by a pointer alone", 0,
		   (uint64_t[]){ 0x1010, 0x1014 }, 2);
}

/*
 * An interpreter: a jump by a register ends each case. rbx differs between the two jumps that are
 * known, the stack pointer does not, and nothing contradicts the case behind them.
 */
static void test_cases(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xfe, /* 1000: call 1007; jmp 1005 */
		0x53, 0x85, 0xff, 0x74, 0x02,             /* 1007: push; test %edi,%edi; je 100e */
		0xff, 0xe0,                               /* 100c: jmp *%rax */
		0x31, 0xdb, 0xff, 0xe0,                   /* 100e: xor %ebx,%ebx; jmp *%rax */
		0x31, 0xc9, 0xff, 0xd0, 0xff, 0xe0,       /* 1012: xor; call *%rax; jmp *%rax */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "a case of an interpreter", 1,
		   (uint64_t[]){ 0x1010, 0x1012, 0x1014, 0x1016 }, 4);
}

/* The same, compiled with -fcf-protection: endbr64 marks each case. It does not begin a function. */
static void test_marked_cases(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0xff, 0xe0, 0x90, /* 1010: endbr64; push %rbx; jmp *%rax */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0xf3, 0x0f, 0x1e, 0xfa,                         /* 1020: endbr64 */
		0x31, 0xdb, 0xff, 0xd0, 0xff, 0xe0,             /* 1024: xor %ebx,%ebx; call *%rax; jmp *%rax */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "a marked case of an interpreter",
		   1, (uint64_t[]){ 0x1015, 0x1020, 0x1024, 0x1026, 0x1028 }, 5);
}

/* 1010 does not return itself, and jumps to its rare part at 1031. Yet it is no part of 1020. */
static void test_ends_in_jump(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00,                         /* 1000: call 1010 */
		0xe8, 0x16, 0x00, 0x00, 0x00, 0xeb, 0xfe,             /* 1005: call 1020; jmp 100a */
		0x90, 0x90, 0x90, 0x90,
		0x90, 0x85, 0xff, 0x75, 0x1c,                         /* 1010: test; jne 1031 */
		0xe9, 0x06, 0x00, 0x00, 0x00,                         /* 1015: jmp 1020 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53, 0xe8, 0xea, 0xff, 0xff, 0xff, 0x5b, 0xc3,       /* 1020: push; call 1010; pop; ret */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0xe9, 0xde, 0xff, 0xff, 0xff,                   /* 1031: nop; jmp 1015 */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "ends in a jump", 0,
		   (uint64_t[]){ 0x1010, 0x1015 }, 2);
}

int main(void)
{
	make_stack();
	test_unaligned();
	test_behind_call();
	test_argument();
	test_probes();
	test_alloca();
	test_no_frame_pointer();
	test_beyond_code();
	test_full();
	test_rare_parts();
	test_ends_in_jump();
	test_cases();
	test_marked_cases();
	test_call_of_next();
	test_behind_rare_call(false);
	test_behind_rare_call(true);
	test_constants();
	test_aligned_constant();
	test_pointer_only();
	with_libc_file(compare_file);
	with_named_files("COMPUTED_FILES", compare_file);
	return tap_done();
}
