/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made code in several parts, with known bounds: a compiler moves what is seldom needed away from
 * its function (".cold"). Where the parts of a function are read by the jumps between them, each
 * step finds the caller's address as many words above the stack pointer as the code has put there.
 */
#include "config.h"

#include "computed_code.h"

/* As glibc's __longjmp: its callers are on the stack until it takes another stack pointer. */
static void test_jump_out(void)
{
	static const uint8_t bytes[] = {
		0x4c, 0x8b, 0x47, 0x30, /* 1000: mov 0x30(%rdi),%r8 */
		0x48, 0x8b, 0x57, 0x38, /* 1004: mov 0x38(%rdi),%rdx */
		0x48, 0x8b, 0x1f,       /* 1008: mov (%rdi),%rbx */
		0x4c, 0x89, 0xc4,       /* 100b: mov %r8,%rsp */
		0xff, 0xe2,             /* 100e: jmp *%rdx */
	};
	struct code code = { bytes, sizeof(bytes), { { PLACE, PLACE + sizeof(bytes) } } };
	struct computed *computed = create_computed(&code);
	struct cursor cursor;

	check_step(computed, "a jump out of calls", 0x1000, 0);
	check_step(computed, "a jump out of calls", 0x1008, 0);
	check_step(computed, "a jump out of calls", 0x100b, 0);
	check(step_from(computed, 0x100e, &cursor) == STEP_NOT_COVERED,
	      "a jump out of calls, on the other stack");
	computed_destroy(computed);
}

/* Without tables .init, zeros up to the next section, and the PLT are one function. */
static void test_plt_head(void)
{
	static const uint8_t bytes[] = {
		0x48, 0x83, 0xec, 0x08, /* 1000: sub $8,%rsp */
		0xff, 0xd0,             /* 1004: call *%rax */
		0x48, 0x83, 0xc4, 0x08, /* 1006: add $8,%rsp */
		0xc3,                   /* 100a: ret */
		0, 0, 0, 0, 0,
		0xff, 0x35, 0xca, 0x2f, 0, 0, /* 1010: push word(%rip) */
		0xff, 0x25, 0xcc, 0x2f, 0, 0, /* 1016: jmp *word(%rip) */
		0x0f, 0x1f, 0x40, 0x00,
		0xff, 0x25, 0xca, 0x2f, 0, 0, /* 1020: jmp *word(%rip) */
		0x68, 0, 0, 0, 0,             /* 1026: push $0 */
		0xe9, 0xe0, 0xff, 0xff, 0xff, /* 102b: jmp 1010 */
	};
	struct code code = { bytes, sizeof(bytes), { { PLACE, 0x1030 } } };
	static const struct {
		uint64_t address;
		unsigned n_words;
	} steps[] = { { 0x1000, 0 }, { 0x1020, 0 }, { 0x1026, 0 }, { 0x102b, 1 }, { 0x1010, 1 },
		      { 0x1016, 2 } };

	for (unsigned first = 0; first < 3; first++) {
		struct computed *computed = create_computed(&code);

		for (unsigned i = 0; i < 6; i++)
			check_step(computed, "a PLT", steps[(first * 2 + i) % 6].address,
				   steps[(first * 2 + i) % 6].n_words);
		computed_destroy(computed);
	}
}

/*
 * The code at 1000 begins a chain, and jumps to a function that others call, too, as glibc's _start
 * of arm64 does after a call that never returns.
 */
static void test_jump_from_entry(void)
{
	static const uint8_t bytes[] = {
		0x31, 0xed,                   /* 1000: xor %ebp,%ebp */
		0xe8, 0xf9, 0x0f, 0, 0,       /* 1002: call 2000 */
		0xe9, 0x04, 0,    0, 0,       /* 1007: jmp 1010 */
		0x90, 0x90, 0x90, 0x90,       /* 100c: nop */
		0x48, 0x83, 0xec, 0x18,       /* 1010: sub $0x18,%rsp */
		0xe8, 0xe7, 0x0f, 0, 0,       /* 1014: call 2000 */
		0x48, 0x83, 0xc4, 0x18, 0xc3, /* 1019: add $0x18,%rsp; ret */
	};
	struct code code = { bytes, sizeof(bytes), { { PLACE, 0x100c }, { 0x1010, 0x101e } } };
	struct computed *computed = create_computed(&code);
	struct cursor cursor;

	check(step_from(computed, 0x1007, &cursor) == STEP_OUTERMOST,
	      "code that sets rbp to zero has no caller");
	check_step(computed, "the function that it jumps to", 0x1010, 0);
	check_step(computed, "the function that it jumps to", 0x1014, 3);
	computed_destroy(computed);
}

/* Followed alone, the part begins with the end of a function, and nothing leads to the rest. */
static void test_part_begins_with_end(void)
{
	static const uint8_t bytes[0x25] = {
		0x53,             /* 1000: push %rbx */
		0x85, 0xff,       /* 1001: test %edi,%edi */
		0x74, 0x1b,       /* 1003: je 1020 */
		0x85, 0xf6,       /* 1005: test %esi,%esi */
		0x74, 0x19,       /* 1007: je 1022 */
		0x90, 0x5b, 0xc3, /* 1009: nop; pop %rbx; ret */
		[0x20] = 0x5b, 0xc3, /* 1020: pop %rbx; ret */
		0x90, 0xeb, 0xe5, /* 1022: nop; jmp 100a */
	};
	struct code code = { bytes, sizeof(bytes), { { 0x1000, 0x100c }, { 0x1020, 0x1025 } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "a part that begins with an end", 0x1022, 1);
	check_step(computed, "a part that begins with an end", 0x1020, 1);
	check_step(computed, "a part that begins with an end", 0x1021, 0);
	check_step(computed, "the function of a part with an early end", 0x1001, 1);
	computed_destroy(computed);
}

/*
 * The part ends by a jump to another function. That the part cannot be followed says nothing about
 * that function.
 */
static void test_part_not_followed(void)
{
	static const uint8_t bytes[0x23] = {
		[0x10] = 0x53, 0x90, 0x5b, 0xc3, /* 1010: push %rbx; nop; pop %rbx; ret */
		[0x20] = 0x5b, 0xeb, 0xed,       /* 1020: pop %rbx; jmp 1010 */
	};
	struct code code = { bytes, sizeof(bytes), { { 0x1010, 0x1014 }, { 0x1020, 0x1023 } } };
	struct computed *computed = create_computed(&code);
	struct cursor cursor;

	check(step_from(computed, 0x1020, &cursor) != STEP_CALLER,
	      "a part whose function is not known has no caller");
	check_step(computed, "the function that a part jumps to", 0x1011, 1);
	computed_destroy(computed);
}

/* The part jumps to a function with a switch, whose cases jump to a third function and return. */
static void test_part_before_switch(void)
{
	static const uint8_t bytes[0x34] = {
		0xff, 0xe0,                      /* 1000: jmp *%rax */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* 1002 */
		0xeb, 0x26, 0xc3,                /* 1008: jmp 1030; ret */
		[0x20] = 0x90, 0x5b, 0x5d,       /* 1020: nop; pop %rbx; pop %rbp */
		0xeb, 0xdb,                      /* 1023: jmp 1000 */
		[0x30] = 0x53, 0x90, 0x5b, 0xc3, /* 1030: push %rbx; nop; pop %rbx; ret */
	};
	struct code code = {
		bytes,
		sizeof(bytes),
		{ { 0x1000, 0x100b }, { 0x1020, 0x1025 }, { 0x1030, 0x1034 } },
	};
	struct computed *computed = create_computed(&code);
	struct cursor cursor;

	check(step_from(computed, 0x1020, &cursor) != STEP_CALLER,
	      "a part that takes more off the stack than it has put there has no caller");
	computed_destroy(computed);
}

/*
 * A case of a switch ends in another switch, or in a rare part. Only the jump that leads to the
 * second switch, or to the part, shows the stack there. A jump to the start of the part is no tail
 * call.
 */
static void test_case_with_part(void)
{
	static const uint8_t bytes[0x23] = {
		0x53,                         /* 1000: push %rbx */
		0x85, 0xff,                   /* 1001: test %edi,%edi */
		0x74, 0x05,                   /* 1003: je 100a */
		0xff, 0xe0,                   /* 1005: jmp *%rax */
		0x90, 0x90, 0x90,             /* 1007 */
		0x5b, 0xc3,                   /* 100a: pop %rbx; ret */
		0x90, 0x90, 0x90, 0x90,       /* 100c */
		0x83, 0xea, 0x05,             /* 1010: sub $5,%edx */
		0x77, 0x0b,                   /* 1013: ja 1020 */
		0xff, 0xe1,                   /* 1015: jmp *%rcx */
		[0x20] = 0x90, 0x0f, 0x0b,    /* 1020: nop; ud2 */
	};
	struct code code = { bytes, sizeof(bytes), { { 0x1000, 0x1017 }, { 0x1020, 0x1023 } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "a case with a rare part", 0x1010, 1);
	check_step(computed, "a case with a rare part", 0x1015, 1);
	check_step(computed, "the function of a case with a rare part", 0x1001, 1);
	computed_destroy(computed);
}

/* A part that jumps into another part, which jumps into their function. */
static void test_part_of_a_part(void)
{
	static const uint8_t bytes[0x37] = {
		0x53, 0x55,          /* 1000: push %rbx; push %rbp */
		0x85, 0xff,          /* 1002: test %edi,%edi */
		0x74, 0x1a,          /* 1004: je 1020 */
		0x85, 0xf6,          /* 1006: test %esi,%esi */
		0x74, 0x26,          /* 1008: je 1030 */
		0x5d, 0x5b, 0xc3,    /* 100a: pop %rbp; pop %rbx; ret */
		[0x20] = 0x90, 0x90, /* 1020: nop; nop */
		0xeb, 0xe6,          /* 1022: jmp 100a */
		[0x30] = 0x90,       /* 1030: nop */
		0xeb, 0xee,          /* 1031: jmp 1021 */
	};
	struct code code = { bytes,
			     sizeof(bytes),
			     { { 0x1000, 0x100d }, { 0x1020, 0x1024 }, { 0x1030, 0x1033 } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "a part of a part", 0x1031, 2);
	check_step(computed, "a part that leads to a part of a part", 0x1021, 2);
	check_step(computed, "the function of parts that lie elsewhere", 0x1002, 2);
	computed_destroy(computed);
}

/*
 * gcc -O1 and clang -Os do not align functions. At 1015 one aligns the stack for a call that never
 * returns. At 1035 a part of a function, whose stack is aligned, takes room for an argument.
 */
static void test_ends_in_call(void)
{
	static const uint8_t bytes[0x40] = {
		[0x15] = 0x48, 0x83, 0xec, 0x38, 0x90,         /* 1015: sub $0x38,%rsp; nop */
		0xe8,          0,    0x10, 0,    0,            /* 101a: call longjmp */
		[0x35] = 0x48, 0x83, 0xec, 0x08, 0x6a, 0x07, /* 1035: sub $8,%rsp; push $7 */
		0xe8,          0,    0x10, 0,    0,            /* 103b: call abort */
	};
	struct code code = { bytes, sizeof(bytes), { { 0x1015, 0x101f }, { 0x1035, 0x1040 } } };
	struct computed *computed = create_computed(&code);
	struct cursor cursor;

	check_step(computed, "a function that never returns", 0x1015, 0);
	check_step(computed, "a function that never returns", 0x101a, 7);
	check(step_from(computed, 0x103b, &cursor) != STEP_CALLER,
	      "a part with an argument on the stack is no function");
	computed_destroy(computed);
}

/* OpenSSL's assembly takes the address of the saved registers, and returns by it. */
static void test_address_of_saved(void)
{
	static const uint8_t bytes[] = {
		0x53, 0x55,                   /* 1000: push %rbx; push %rbp */
		0x48, 0x8d, 0x64, 0x24, 0xe8, /* 1002: lea -0x18(%rsp),%rsp */
		0x31, 0xed,                   /* 1007: xor %ebp,%ebp */
		0x48, 0x8d, 0x74, 0x24, 0x18, /* 1009: lea 0x18(%rsp),%rsi */
		0x48, 0x8b, 0x2e,             /* 100e: mov (%rsi),%rbp */
		0x48, 0x8b, 0x5e, 0x08,       /* 1011: mov 8(%rsi),%rbx */
		0x48, 0x8d, 0x66, 0x10,       /* 1015: lea 0x10(%rsi),%rsp */
		0xc3,                         /* 1019: ret */
	};
	struct code code = { bytes, sizeof(bytes), { { 0x1000, 0x101a } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "before registers are restored by their address", 0x1009, 5);
	check_step(computed, "the end after registers restored by address", 0x1019, 0);
	computed_destroy(computed);
}

/* The part has no jump to its first byte, so it looks like another function around that place. */
static void test_return_by_jump(void)
{
	static const uint8_t bytes[0x42] = {
		0x48, 0x83, 0xec, 0x08,    /* 1000: sub $8,%rsp */
		0x85, 0xff,                /* 1004: test %edi,%edi */
		0x74, 0x19,                /* 1006: je 1021 */
		0x90,                      /* 1008: nop */
		0x48, 0x83, 0xc4, 0x08,    /* 1009: add $8,%rsp */
		0xeb, 0x31,                /* 100d: jmp 1040 */
		[0x20] = 0x90, 0x90,       /* 1020: nop; nop */
		0xeb, 0xe4,                /* 1022: jmp 1008 */
		[0x40] = 0xc3, 0xcc,       /* 1040: ret; int3 */
	};
	struct code code = { bytes,
			     sizeof(bytes),
			     { { 0x1000, 0x100f }, { 0x1020, 0x1024 }, { 0x1040, 0x1042 } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "returns by a jump to a return", 0x1004, 1);
	check_step(computed, "returns by a jump to a return", 0x100d, 0);
	check_step(computed, "a part of a function that returns by a jump", 0x1021, 1);
	computed_destroy(computed);
}

/*
 * gcc aligns a frame to more than the stack's alignment: r10 keeps the CFA at first, and a word in
 * the frame later. A called function changes r10, and rdi, which has an address in the frame. In a
 * caller's frame only rbp and the stack pointer lead to the word.
 */
static void test_aligned_frame(void)
{
	static const uint8_t bytes[] = {
		0x4c, 0x8d, 0x54, 0x24, 0x08,       /* 0: lea 8(%rsp),%r10 */
		0x48, 0x83, 0xe4, 0xe0,             /* 5: and $-32,%rsp */
		0x41, 0xff, 0x72, 0xf8,             /* 9: push -8(%r10) */
		0x55, 0x48, 0x89, 0xe5,             /* d: push %rbp; mov %rsp,%rbp */
		0x41, 0x54, 0x41, 0x52, 0x53,       /* 11: push %r12; push %r10; push %rbx */
		0x48, 0x83, 0xec, 0x20,             /* 16: sub $32,%rsp */
		0x48, 0x8d, 0x7d, 0xd0,             /* 1a: lea -0x30(%rbp),%rdi */
		0xe8, 0,    0x10, 0,    0,          /* 1e: call */
		0x48, 0x83, 0xc4, 0x20,             /* 23: add $32,%rsp */
		0x5b, 0x41, 0x5a, 0x41, 0x5c, 0x5d, /* 27: pop %rbx, %r10, %r12, %rbp */
		0x49, 0x8d, 0x62, 0xf8, 0xc3,       /* 2d: lea -8(%r10),%rsp; ret */
	};
	struct code code = { bytes, sizeof(bytes), { { PLACE, PLACE + sizeof(bytes) } } };
	struct computed *computed = create_computed(&code);
	struct cursor cursor;

	check_step(computed, "an aligned frame", PLACE, 0);
	step_from(computed, PLACE, &cursor);
	cursor_init(&cursor, &made.vcpu);
	cursor.interrupted = false;
	cursor.known = CFI_PRESERVED_MASK;
	cursor.regs[REG_PC] = PLACE + 0x23;
	cursor.regs[REG_SP] = STACK + 8;
	cursor.regs[REG_RBP] = STACK + 8 * 8;
	made.words[6] = STACK + 8 * 12;
	check(computed_step(computed, 0, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_PC] == made.words[11] &&
		      cursor.regs[REG_SP] == STACK + 8 * 12,
	      "the caller of a caller that has aligned its frame");
	cursor_init(&cursor, &made.vcpu);
	cursor.regs[REG_PC] = PLACE + 0x2d; /* the word is below the stack pointer */
	cursor.regs[REG_R10] = STACK + 8 * 12;
	made.words[6] = 0;
	check(computed_step(computed, 0, &cursor) == STEP_CALLER &&
		      cursor.regs[REG_PC] == made.words[11],
	      "the caller at the end of a function that has aligned its frame");
	computed_destroy(computed);
}

/*
 * No path leads to a handler of exceptions, which destroys the function's objects and lets the
 * exception go on. Nothing confirms the handler's frame, but all calls in the function have this
 * frame.
 */
static void test_handler(void)
{
	static const uint8_t bytes[] = {
		0x55,                         /* 1000: push %rbp */
		0x48, 0x89, 0xe5,             /* 1001: mov %rsp,%rbp */
		0x48, 0x83, 0xec, 0x10,       /* 1004: sub $0x10,%rsp */
		0xe8, 0xf3, 0x0f, 0x00, 0x00, /* 1008: call 2000 */
		0xc9, 0xc3,                   /* 100d: leave; ret */
		0x48, 0x89, 0xc7,             /* 100f: mov %rax,%rdi */
		0xe8, 0xe9, 0x0f, 0x00, 0x00, /* 1012: call 2000 */
		0x48, 0x8b, 0x7d, 0xf8,       /* 1017: mov -8(%rbp),%rdi */
		0xe8, 0xe0, 0x1f, 0x00, 0x00, /* 101b: call 3000 */
	};
	struct code code = { bytes, sizeof(bytes), { { 0x1000, 0x1000 + sizeof(bytes) } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "a call", 0x1008, 3);
	check_step(computed, "a handler", 0x100f, 3);
	check_step(computed, "a handler's last call", 0x101b, 3);
	computed_destroy(computed);
}

/* A thread of a kernel: it first calls a tracer, and never returns. */
static void test_never_returns(void)
{
	static const uint8_t bytes[0x42] = {
		0xe8, 0x3b, 0x00, 0x00, 0x00, /* 1000: call 1040 */
		0x53,                         /* 1005: push %rbx */
		0x85, 0xff,                   /* 1006: test %edi,%edi */
		0x74, 0x17,                   /* 1008: je 1021 */
		0x90,                         /* 100a: nop */
		0xeb, 0xfd,                   /* 100b: jmp 100a */
		[0x20] = 0x90, 0x90,          /* 1020: nop; nop */
		0xeb, 0xe6,                   /* 1022: jmp 100a */
		[0x40] = 0xc3, 0xcc,          /* 1040: ret; int3 */
	};
	struct code code = { bytes,
			     sizeof(bytes),
			     { { 0x1000, 0x100d }, { 0x1020, 0x1024 }, { 0x1040, 0x1042 } } };
	struct computed *computed = create_computed(&code);

	check_step(computed, "never returns, and saves a register first", 0x1006, 1);
	check_step(computed, "a part of a function that never returns", 0x1021, 1);
	computed_destroy(computed);
}

int main(void)
{
	test_jump_out();
	test_plt_head();
	test_jump_from_entry();
	test_part_begins_with_end();
	test_part_not_followed();
	test_part_before_switch();
	test_case_with_part();
	test_part_of_a_part();
	test_address_of_saved();
	test_ends_in_call();
	test_return_by_jump();
	test_aligned_frame();
	test_never_returns();
	test_handler();
	return tap_done();
}
