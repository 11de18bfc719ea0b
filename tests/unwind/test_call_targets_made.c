/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounds of functions by direct calls alone, in code that is made here: functions that no call
 * leads to, calls that never return, rare parts of functions, and constants that look like calls.
 */
#include "config.h"

#include "made_steps.h"

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

/* Checks that at each of ADDRESSES in CODE, REG points N_WORDS below the caller's address. */
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

/* Checks that nothing tells the caller at ADDRESS in CODE. */
static void check_unknown(struct made_code code, uint64_t address)
{
	const struct code_source source = { .read = read_made,
					    .find_function = find_no_function,
					    .context = &code,
					    .entries.elf = PLACE };
	struct cursor cursor = cursor_at(address);
	struct computed *computed;

	elf_tables_fatal(computed_create(&source, PLACE, PLACE + code.size_bytes, &computed));
	check(computed_step(computed, 0, &cursor) != STEP_CALLER,
	      "%#" PRIx64 ": its caller is not guessed", address);
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
		/* 1000: call 1010; jmp 1005 */
		0xe8,
		0x0b,
		0x00,
		0x00,
		0x00,
		0xeb,
		0xfe,
		0x90,
		0x90,
		0x90,
		0x90,
		0x90,
		0x90,
		0x90,
		0x90,
		0x90,
		/* 1010: push; call 101d ... */
		0x53,
		0xe8,
		0x07,
		0x00,
		0x00,
		0x00,
		0x5b,
		0x90,
		0xc3,
		/* 1019: push; nop; pop; ret */
		0x53,
		0x90,
		0x5b,
		0xc3,
		/* 101d: push; nop; pop; ret */
		0x53,
		0x90,
		0x5b,
		0xc3,
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "a function after a return",
		   1, (uint64_t[]){ 0x101a, 0x101e }, 2);
}

/* Nothing leads to 100d and 1013 but, it seems, the calls before them, which never return. */
static void test_behind_call(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x02, 0x00, 0x00, 0x00, 0xeb, 0xfe, /* 1000: call 1007; jmp 1005 */
		0x53, 0xe8, 0x0c, 0x00, 0x00, 0x00,       /* 1007: push %rbx; call 1019 */
		/* 100d: push %rbx; push %rbp; nop; pop ... */
		0x53, 0x55, 0x90, 0x5d, 0x5b, 0xc3,
		0x53, 0xe8, 0x00, 0x00, 0x00, 0x00,       /* 1013: push %rbx; call 1019 */
		0xeb, 0xfe,                               /* 1019: jmp 1019 */
	};
	const struct made_code code = { bytes, sizeof(bytes), false };

	check_made(code, "a function after a call", 1, (uint64_t[]){ 0x1008 }, 1);
	check_made(code, "a function after a call", 2, (uint64_t[]){ 0x100f }, 1);
	check_made(code, "a function that never returns, after a return", 1,
		   (uint64_t[]){ 0x1014 }, 1);
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

	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   "a push of an argument after a call is no function", 2,
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

	check_made(code, "after a loop of probes", 0x4000 / 8, (uint64_t[]){ 0x1020, 0x1021 }, 2);
	check_made(code, "after a loop of probes", 0, (uint64_t[]){ 0x1028 }, 1);
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

	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   "rbp that is no frame pointer", 3, (uint64_t[]){ 0x1011, 0x1015, 0x1017 }, 3);
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
#define FULL_BYTES     16 /* size of each function */

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

/* When the tables are full, further functions are not read, because they could not be stored. */
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
	check_u64(many.n_reads, 0, "full tables cause no reads of further functions: reads");
	computed_destroy(computed);
}

#define HOLED_BYTES 0x3000
#define HOLE        0x2000 /* first place of the missing code */

struct holed_code {
	unsigned n_reads;
	uint64_t turn;
};

static uint64_t turn_of_holed(void *context)
{
	return ((struct holed_code *)context)->turn;
}

/* 1000: call 1010; jmp 1005; nop ... */
static size_t read_holed(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	static const uint8_t begin[] = { 0xe8, 0x0b, 0, 0, 0, 0xeb, 0xfe };
	uint64_t at = address - PLACE, n = at < HOLE ? HOLE - at : 0;

	((struct holed_code *)context)->n_reads++;
	n = n < size_bytes ? n : size_bytes;
	memset(buffer, 0x90, n);
	for (uint64_t i = 0; i < n && at + i < sizeof(begin); i++)
		((uint8_t *)buffer)[i] = begin[at + i];
	return n;
}

/* A function of which code is missing is not read again for each of its samples. */
static void test_guess_waits(void)
{
	struct holed_code holed = { .turn = 1 };
	const struct code_source source = { .read = read_holed,
					    .find_function = find_no_function,
					    .context = &holed,
					    .turn = turn_of_holed };
	struct cursor cursor = cursor_at(PLACE);
	struct computed *computed;
	uint64_t start, end;
	bool found;

	elf_tables_fatal(computed_create(&source, PLACE, PLACE + HOLED_BYTES, &computed));
	computed_step(computed, 0, &cursor);
	found = computed_guess_function(computed, PLACE + 0x18, &start, &end);
	holed.n_reads = 0;
	for (unsigned i = 0; i < 10; i++)
		found |= computed_guess_function(computed, PLACE + 0x18, &start, &end);
	check(!found && !holed.n_reads, "the same turn: no more reads (%u)", holed.n_reads);
	holed.turn = 2;
	computed_guess_function(computed, PLACE + 0x18, &start, &end);
	check(holed.n_reads, "the next turn: %u reads", holed.n_reads);
	computed_destroy(computed);
}

#define RARE_BYTES 0x6000

/*
 * gcc puts the rare parts of all functions together (".text.unlikely"). Nothing calls them, so they
 * lie between the same bounds. A function jumps to its own part there. Nothing leads to the other
 * parts, and they say nothing about this part, so it is followed without them.
 */
static void test_rare_parts(void)
{
	static const uint8_t functions[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00,                         /* 1000: call 1010 */
		/* 1005: call 1020; jmp 100a */
		0xe8, 0x16, 0x00, 0x00, 0x00, 0xeb, 0xfe,
		0x90, 0x90, 0x90, 0x90,
		/* 1010: push; test %edi,%edi */
		0x53, 0x85, 0xff,
		0x0f, 0x85, 0x17, 0x00, 0x00, 0x00,                   /* 1013: jne 1030 */
		0x90, 0x5b, 0xc3,                                     /* 1019: nop; pop %rbx; ret */
		0x90, 0x90, 0x90, 0x90,
		/* 1020: push; call 1010; pop; ret */
		0x53, 0xe8, 0xea, 0xff, 0xff, 0xff, 0x5b, 0xc3,
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
 * CALLED: a call leads to the function at 1020; else only a pointer does. The call in its rare part
 * never returns, but nothing says so, and another function's part follows the call.
 */
static void test_behind_rare_call(bool called)
{
	struct made_code code;
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
	code = (struct made_code){ bytes, sizeof(bytes), false };
	check_made(code,
		   called ? "a called function with another function's part after a call"
			  : "a function with another function's part after a call",
		   1, (uint64_t[]){ 0x1021, 0x1029 }, 2);
	check_unknown(code, 0x1040);
}

/* A constant looks like a call of 1021, and a zero, as long fillers have it, stands before that. */
static void test_constants(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53,                                           /* 1010: push %rbx */
		/* 1011: mov $...,%rax */
		0x48, 0xb8, 0xe8, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x90, 0xb9, 0x00, 0x00, 0x00, 0x00,             /* 101b: nop; mov $0,%ecx */
		0x90, 0x5b, 0xc3,                               /* 1021: nop; pop %rbx; ret */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   "a constant that looks like a call", 1, (uint64_t[]){ 0x1011, 0x1021, 0x1022 },
		   3);
}

/* A constant looks like a call of 1020, which is aligned, as functions often are. */
static void test_aligned_constant(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53,                                           /* 1010: push %rbx */
		/* 1011: mov $...,%rax */
		0x48, 0xb8, 0xe8, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x90, 0x89, 0xc0, 0x89, 0xc0,                   /* 101b: nop; mov; mov */
		0x90, 0x5b, 0xc3,                               /* 1020: nop; pop %rbx; ret */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   "a constant that looks like a call of an aligned place", 1,
		   (uint64_t[]){ 0x101c, 0x1020, 0x1021 }, 3);
}

/* A constant looks like a call of what stands after it. */
static void test_call_of_next(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x53,                                           /* 1010: push %rbx */
		/* 1011: mov $0xe8,%rax */
		0x48, 0xb8, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x90, 0x5b, 0xc3,                               /* 101b: nop; pop %rbx; ret */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   "a constant that looks like a call of the next instruction", 1,
		   (uint64_t[]){ 0x1011, 0x101b, 0x101c }, 3);
}

/* A function that calls another one in its own place, by a pointer, and has no frame. */
static void test_pointer_only(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		/* 1010: mov 8(%rdi),%rax; jmp *48(%rax) */
		0x48, 0x8b, 0x47, 0x08, 0xff, 0x60, 0x30,
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false }, "a jump by a pointer alone", 0,
		   (uint64_t[]){ 0x1010, 0x1014 }, 2);
}

/*
 * An interpreter: a jump by a register ends each case. rbx differs between the two jumps that are
 * known, the stack pointer does not, and nothing contradicts the case after them.
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

/*
 * A switch compiled with -fcf-protection: endbr64 marks each case, and does not begin a function.
 */
static void test_marked_cases(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00, 0xeb, 0xfe, 0x90, /* 1000: call 1010; jmp 1005 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		/* 1010: endbr64; push %rbx; jmp *%rax */
		0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0xff, 0xe0, 0x90,
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0xf3, 0x0f, 0x1e, 0xfa,                         /* 1020: endbr64 */
		/* 1024: xor %ebx,%ebx; call *%rax; jmp *%rax */
		0x31, 0xdb, 0xff, 0xd0, 0xff, 0xe0,
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   "a case with endbr64 of an interpreter", 1,
		   (uint64_t[]){ 0x1015, 0x1020, 0x1024, 0x1026, 0x1028 }, 5);
}

/* 1010 does not return itself, and jumps to its rare part at 1031. Yet it is no part of 1020. */
static void test_ends_in_jump(void)
{
	static const uint8_t bytes[] = {
		0xe8, 0x0b, 0x00, 0x00, 0x00,                         /* 1000: call 1010 */
		/* 1005: call 1020; jmp 100a */
		0xe8, 0x16, 0x00, 0x00, 0x00, 0xeb, 0xfe,
		0x90, 0x90, 0x90, 0x90,
		0x90, 0x85, 0xff, 0x75, 0x1c,                         /* 1010: test; jne 1031 */
		0xe9, 0x06, 0x00, 0x00, 0x00,                         /* 1015: jmp 1020 */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		/* 1020: push; call 1010; pop; ret */
		0x53, 0xe8, 0xea, 0xff, 0xff, 0xff, 0x5b, 0xc3,
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0xe9, 0xde, 0xff, 0xff, 0xff,                   /* 1031: nop; jmp 1015 */
	};

	check_made((struct made_code){ bytes, sizeof(bytes), false },
		   "a function that ends in a jump", 0, (uint64_t[]){ 0x1010, 0x1015 }, 2);
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
	test_guess_waits();
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
	return tap_done();
}
