/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules out of the code after an address: made functions, whose beginnings cannot be read. A rule
 * has to be right or missing, whatever stands after the function.
 */
#include "config.h"

#include <string.h>

#include "elf_tables.h"
#include "tests/support/tap.h"
#include "unwind/way_out.h"
#include "xtop/base/limit.h"

#define PLACE 0x1000

struct made_code {
	const uint8_t *bytes;
	size_t n;
	uint64_t missing; /* first address that cannot be read; 0: all can */
	unsigned n_reads;
};

static bool after_jumps;

static size_t read_made(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	struct made_code *code = context;
	uint64_t at = address - PLACE, end = code->missing ? code->missing - PLACE : code->n;

	code->n_reads++;
	if (at >= end)
		return 0;
	if (size_bytes > end - at)
		size_bytes = end - at;
	memcpy(buffer, code->bytes + at, size_bytes);
	return size_bytes;
}

static bool find(struct made_code code, uint64_t address, bool called, struct cfi_rule *rule,
		 bool *missing)
{
	const struct code_source source = { .read = read_made, .context = &code };
	struct way_out *way_out = way_out_create(&source);
	bool found = way_out && way_out_find(way_out, address, called, after_jumps, rule, missing);

	way_out_destroy(way_out);
	return found;
}

static void check_rule(struct made_code code, bool called, unsigned reg, int offset,
		       const char *what)
{
	struct cfi_rule rule = { .kind = RULE_NONE };
	bool missing, found = find(code, PLACE, called, &rule, &missing);

	check(found && rule.kind == RULE_CFA && rule.reg == reg && rule.offset == offset,
	      "%s: the caller's stack pointer is %d bytes above", what, offset);
}

static void check_no_rule(struct made_code code, bool called, bool is_missing, const char *what)
{
	struct cfi_rule rule;
	bool missing, found = find(code, PLACE, called, &rule, &missing);

	check(!found && missing == is_missing, "%s: no caller is found%s", what,
	      is_missing ? ", and code is missing" : "");
}

#define CODE(...)                                                                                  \
	(struct made_code)                                                                         \
	{                                                                                          \
		(const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), 0, 0   \
	}

/* The word, counted from the CFA, that RULE takes the register of SLOT from; 0: none. */
static int word_of(const struct cfi_rule *rule, enum cfi_preserved slot)
{
	return rule->slot[slot] == CFI_RULE_WORDS ? 0 : rule->low + rule->slot[slot];
}

static void test_registers(void)
{
	/* add $0x10,%rsp; pop %rbx; pop %rbp; pop %r12; ret */
	const struct made_code code = CODE(0x48, 0x83, 0xc4, 0x10, 0x5b, 0x5d, 0x41, 0x5c, 0xc3);
	struct cfi_rule rule = { .kind = RULE_NONE };
	bool missing = true;

	check(find(code, PLACE, true, &rule, &missing) && !missing, "the rule of a frame is found");
	check_u64(rule.offset, 0x10 + 3 * 8 + 8, "bytes from the stack pointer to the CFA");
	check(word_of(&rule, PRESERVED_RBX) == -4 && word_of(&rule, PRESERVED_RBP) == -3 &&
		      word_of(&rule, PRESERVED_R12) == -2 && word_of(&rule, PRESERVED_RETURN) == -1,
	      "the rule tells where rbx, rbp and r12 are saved");
	check(word_of(&rule, PRESERVED_R13) == 0 && rule.unchanged >> REG_R13 & 1,
	      "the rule leaves r13 unchanged");
}

static void test_ways(void)
{
	check_rule(CODE(0xc9, 0xc3), true, REG_RBP, 16, "leave; ret");
	/* lea -0x10(%rbp),%rsp; pop %rbx; pop %r12; pop %rbp; ret */
	check_rule(CODE(0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x41, 0x5c, 0x5d, 0xc3), true, REG_RBP, 16,
		   "a stack pointer out of the frame pointer");
	/* pop %rbx; jmp *0x1000(%rip): a stub of a PLT */
	check_rule(CODE(0x5b, 0xff, 0x25, 0, 0x10, 0, 0), true, REG_RSP, 16,
		   "a jump to another function");
	/* mov %rbx,%rdi; jmp *%rax */
	check_no_rule(CODE(0x48, 0x89, 0xdf, 0xff, 0xe0), false, false, "a switch");
	/* push %rax; push %rax; call; pop %rcx; pop %rcx; pop %rbx; ret */
	check_rule(CODE(0x50, 0x50, 0xe8, 0, 0, 0, 0, 0x59, 0x59, 0x5b, 0xc3), false, REG_RSP, 16,
		   "an argument on the stack");
	/* add $0x18,%r15; pop %rbx; ret: PHP's handlers change r15 for their caller */
	check_rule(CODE(0x49, 0x83, 0xc7, 0x18, 0x5b, 0xc3), true, REG_RSP, 16,
		   "a register that is not given back");
	/* jne to the last two; pop %rcx; pop %rcx; pop %rbx; ret; pop %rbx; ret */
	check_no_rule(CODE(0x75, 0x04, 0x59, 0x59, 0x5b, 0xc3, 0x5b, 0xc3), true, false,
		      "two returns that contradict each other");
}

/* After a jump to an unknown address stands another case of the switch, or another function. */
static void test_jumps(void)
{
	/* mov %rbx,%rdi; jmp *%rax; pop %rbx; pop %rbp; ret */
	const struct made_code code = CODE(0x48, 0x89, 0xdf, 0xff, 0xe0, 0x5b, 0x5d, 0xc3);
	const struct made_code hidden =
		CODE(0x0f, 0x84, 0xfa, 0x01, 0, 0, 0xff, 0xe0, 0x5b, 0x5d, 0xc3);
	struct cfi_rule rule = { .kind = RULE_NONE };
	bool found, missing;

	check_no_rule(code, false, false, "after a switch");
	after_jumps = true;
	check_rule(code, false, REG_RSP, 24, "after a switch, as a last resort");
	/* je beyond the code; jmp *%rax; pop %rbx; pop %rbp; ret */
	found = find(hidden, PLACE, false, &rule, &missing);
	check(found && rule.offset == 24 && missing,
	      "after a switch, while code without a switch is missing, *MISSING is set");
	/* je to the second return; jmp *%rax; pop %rbx; pop %rbp; ret; pop %rbx; ret */
	check_rule(CODE(0x74, 0x05, 0xff, 0xe0, 0x5b, 0x5d, 0xc3, 0x5b, 0xc3), true, REG_RSP, 16,
		   "a way that passes no jump to an unknown address counts");
	/* jmp *%rax; nop; pop %rbx; ret */
	check_no_rule(CODE(0xff, 0xe0, 0x90, 0x5b, 0xc3), true, false, "a jump, a filler");
	after_jumps = false;
}

/* After a call that never returns lies the code of another function. */
static void test_calls_without_return(void)
{
	/* je 1008; call; pop %rbx; pop %rbp; pop %r12; ret; 1008: pop %rbx; ret */
	check_rule(CODE(0x74, 0x0a, 0xe8, 0, 0, 0, 0, 0x5b, 0x5d, 0x41, 0x5c, 0xc3, 0x5b, 0xc3),
		   true, REG_RSP, 16, "the way without a call counts");
	/* call; nop; pop %rbx; ret */
	check_no_rule(CODE(0xe8, 0, 0, 0, 0, 0x90, 0x5b, 0xc3), true, false, "a call, a filler");
	/* call; push %rbx; pop %rbx; ret */
	check_no_rule(CODE(0xe8, 0, 0, 0, 0, 0x53, 0x5b, 0xc3), true, false,
		      "a call before a whole function");
	/* call; pop; pop; ret: the stack pointer is aligned at a call */
	check_no_rule(CODE(0xe8, 0, 0, 0, 0, 0x5b, 0x5d, 0xc3), true, false,
		      "a frame that no call can have");
}

static void check_rule_at(struct made_code code, uint64_t address, int offset, const char *what)
{
	struct cfi_rule rule = { .kind = RULE_NONE };
	bool missing, found = find(code, address, false, &rule, &missing);

	check(found && rule.kind == RULE_CFA && rule.reg == REG_RSP && rule.offset == offset,
	      "%s: the caller's stack pointer is %d bytes above (%d)", what, offset, rule.offset);
}

/* A stub of a PLT and its head: two words lie below the return address when the head jumps. */
static void test_plt(void)
{
	const struct made_code code =
		CODE(0xff, 0x35, 0, 0x20, 0, 0,     /* 1000: push word(%rip) */
		     0xff, 0x25, 0, 0x20, 0, 0,     /* 1006: jmp *word(%rip) */
		     0x0f, 0x1f, 0x40, 0,           /* 100c: a filler */
		     0xff, 0x25, 0, 0x20, 0, 0,     /* 1010: jmp *word(%rip) */
		     0x68, 0, 0, 0, 0,              /* 1016: push $0 */
		     0xe9, 0xe0, 0xff, 0xff, 0xff); /* 101b: jmp 1000 */

	check_rule_at(code, PLACE, 16, "the head of a PLT");
	check_rule_at(code, PLACE + 6, 24, "the jump in a PLT's head");
	check_rule_at(code, PLACE + 0x10, 8, "a stub of a PLT");
	check_rule_at(code, PLACE + 0x16, 8, "a PLT stub's second way");
	check_rule_at(code, PLACE + 0x1b, 16, "a PLT stub's jump to the head");
}

/* The PLT of LLD's -z retpolineplt. What a call there returns to only waits. */
static void test_retpoline_plt(void)
{
	const struct made_code code =
		CODE(0xff, 0x35, 0, 0x20, 0, 0,       /* 1000: push word(%rip) */
		     0x4c, 0x8b, 0x1d, 0, 0x20, 0, 0, /* 1006: mov word(%rip),%r11 */
		     0xe8, 0x0e, 0, 0, 0,             /* 100d: call 1020 */
		     0xf3, 0x90, 0x0f, 0xae, 0xe8,    /* 1012: pause; lfence */
		     0xeb, 0xf9,                      /* 1017: jmp 1012 */
		     0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
		     0x4c, 0x89, 0x1c, 0x24, 0xc3,    /* 1020: mov %r11,(%rsp); ret */
		     0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
		     0x4c, 0x8b, 0x1d, 0, 0x20, 0, 0, /* 1030: mov word(%rip),%r11 */
		     0xe8, 0xe4, 0xff, 0xff, 0xff,    /* 1037: call 1020 */
		     0xe9, 0xd1, 0xff, 0xff, 0xff,    /* 103c: jmp 1012 */
		     0x68, 0, 0, 0, 0,                /* 1041: push $0 */
		     0xe9, 0xb5, 0xff, 0xff, 0xff);   /* 1046: jmp 1000 */
	struct cfi_rule rule;
	bool missing;

	check_rule_at(code, PLACE, 16, "the head of a retpoline PLT");
	check_rule_at(code, PLACE + 6, 24, "its load");
	check_rule_at(code, PLACE + 0xd, 24, "its call");
	check_rule_at(code, PLACE + 0x30, 8, "its stub");
	check_rule_at(code, PLACE + 0x37, 8, "the stub's call");
	check_rule_at(code, PLACE + 0x41, 8, "the stub's second way");
	check_rule_at(code, PLACE + 0x46, 16, "the stub's jump to the head");
	check(find(code, PLACE + 0x12, true, &rule, &missing) && rule.offset == 24,
	      "where the head's call returns to");
	check(find(code, PLACE + 0x3c, true, &rule, &missing) && rule.offset == 8,
	      "where the stub's call returns to");
}

/* With -z now stubs jump to the head, which jumps by a call. No load precedes this call. */
static void test_retpoline_now(void)
{
	const struct made_code code =
		CODE(0xe8, 0x0b, 0, 0, 0,             /* 1000: call 1010 */
		     0xf3, 0x90, 0x0f, 0xae, 0xe8,    /* 1005: pause; lfence */
		     0xeb, 0xf9,                      /* 100a: jmp 1005 */
		     0xcc, 0xcc, 0xcc, 0xcc,
		     0x4c, 0x89, 0x1c, 0x24, 0xc3,    /* 1010: mov %r11,(%rsp); ret */
		     0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
		     0x4c, 0x8b, 0x1d, 0, 0x20, 0, 0, /* 1020: mov word(%rip),%r11 */
		     0xe9, 0xd4, 0xff, 0xff, 0xff,    /* 1027: jmp 1000 */
		     0xcc, 0xcc, 0xcc, 0xcc);
	struct cfi_rule rule;
	bool missing;

	check_rule_at(code, PLACE, 8, "the head of a retpoline PLT without lazy binding");
	check_rule_at(code, PLACE + 0x14, 16, "its ret, which has the target on the stack");
	check_rule_at(code, PLACE + 0x20, 8, "its stub");
	check_rule_at(code, PLACE + 0x27, 8, "the stub's jump to the head");
	check(find(code, PLACE + 5, true, &rule, &missing) && rule.offset == 8,
	      "where the call of such a head returns to");
}

/* Ten fillers, then a stub and the head. Only what is near the head is a stub. */
static void test_stub(void)
{
	static const uint8_t bytes[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
					 0x68, 0,    0,    0,    0,          /* push $0 */
					 0xff, 0x35, 0,    0x20, 0,    0,    /* push word(%rip) */
					 0xff, 0x25, 0,    0x20, 0,    0 };  /* jmp *word(%rip) */
	struct made_code code = { bytes, sizeof(bytes), 0, 0 };
	const struct code_source source = { .read = read_made, .context = &code };
	struct way_out *way_out = way_out_create(&source);
	struct cfi_rule rule;

	check(way_out && way_out_find_stub(way_out, PLACE + 10, false, &rule) && rule.offset == 8,
	      "a stub is found without its function");
	check(way_out && !way_out_find_stub(way_out, PLACE, false, &rule),
	      "code that comes to one is none");
	way_out_destroy(way_out);
}

/* The bytes are: call; filler; jmp *%rdx; filler. Further on the jump stands among other code. */
static void test_lone_jump(void)
{
	static const uint8_t bytes[0x30] = { [0x08] = 0xe8,
					     [0x0d] = 0x0f, 0x1f, 0x00,
					     [0x10] = 0xff, 0xe2, 0x66, 0x90,
					     [0x1e] = 0x48, 0x89,
					     [0x20] = 0xff, 0xe2, 0x66, 0x90 };
	const struct made_code code = { bytes, sizeof(bytes), 0, 0 };
	struct cfi_rule rule;
	bool missing;

	check_rule_at(code, PLACE + 0x10, 8, "a function that only jumps");
	check(!find(code, PLACE + 0x20, false, &rule, &missing),
	      "a jump among other code is no function that only jumps");
}

static void test_signal_return(void)
{
	/* mov $15,%rax; syscall; ret */
	const struct made_code code =
		CODE(0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05, 0xc3);
	struct cfi_rule rule = { .kind = RULE_NONE };
	bool missing;

	check(find(code, PLACE, true, &rule, &missing) && rule.kind == RULE_SIGNAL_RETURN,
	      "a signal's handler returns there");
	check(find(code, PLACE + 7, false, &rule, &missing) && rule.kind == RULE_SIGNAL_RETURN,
	      "the system call there");
	check_rule(CODE(0x48, 0xc7, 0xc0, 14, 0, 0, 0, 0x0f, 0x05, 0xc3), false, REG_RSP, 8,
		   "another system call");
}

static void check_end(struct made_code code, bool ends, const char *what)
{
	const struct code_source source = { .read = read_made, .context = &code };
	struct way_out *way_out = way_out_create(&source);

	check(way_out && way_out_ends_thread(way_out, PLACE) == ends, "%s: the thread %s", what,
	      ends ? "ends" : "goes on");
	way_out_destroy(way_out);
}

/* BYTES 7 to 10 are the code, and the others lie before it. */
static void check_end_at(const uint8_t bytes[11], bool ends, const char *what)
{
	struct made_code code = { bytes, 11, 0, 0 };
	const struct code_source source = { .read = read_made, .context = &code };
	struct way_out *way_out = way_out_create(&source);

	check(way_out && way_out_ends_thread(way_out, PLACE + 7) == ends, "%s: the thread %s", what,
	      ends ? "ends" : "goes on");
	way_out_destroy(way_out);
}

static void test_ends(void)
{
	check_end(CODE(0xf4, 0x66, 0x90), true, "hlt, a filler: _start");
	check_end(CODE(0xf4, 0xeb, 0xfd), false, "hlt, jmp: a kernel that is idle");
	/* mov %rax,%rdi; mov $60,%eax; syscall */
	check_end(CODE(0x48, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05, 0xc3), true,
		  "after clone()");
	check_end(CODE(0x31, 0xff, 0xb8, 231, 0, 0, 0, 0x0f, 0x05), true, "exit_group");
	check_end(CODE(0x31, 0xff, 0xb8, 61, 0, 0, 0, 0x0f, 0x05, 0x5b, 0xc3), false,
		  "another system call");
	check_end_at((const uint8_t[]){ 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x48, 0x89, 0xdc, 0xc3 }, true,
		     "after a context's function");
	check_end_at((const uint8_t[]){ 0x90, 0x90, 0xe8, 0, 0, 0, 0, 0x48, 0x89, 0xdc, 0xc3 }, false,
		     "a call, and an array given back");
	/* je over the exit */
	check_end(CODE(0x74, 0x09, 0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05, 0x5b, 0xc3), false,
		  "an exit on one of two ways");
}

/* jne to a page that is missing; pop %rbx; ret */
static void test_missing(void)
{
	static uint8_t bytes[0x1000] = { 0x0f, 0x85, 0xfa, 0x0f, 0, 0, 0x5b, 0xc3 };
	struct made_code code = { bytes, sizeof(bytes), 0, 0 };

	check_rule(code, true, REG_RSP, 16, "a branch to a missing page");
	code.missing = PLACE + 6;
	check_no_rule(code, true, true, "a branch and code after it in missing pages");
	code.missing = PLACE;
	check_no_rule(code, true, true, "an address in a missing page");
}

/* Code that was read is kept for the next search. Only the code at the address is read again. */
static void test_kept(void)
{
	static uint8_t bytes[0x1000];
	struct made_code code = { bytes, sizeof(bytes), 0, 0 };
	const struct code_source source = { .read = read_made, .context = &code };
	struct way_out *way_out = way_out_create(&source);
	struct cfi_rule rule;
	bool missing, found = true;

	memset(bytes, 0x90, sizeof(bytes)); /* nop */
	bytes[0x9ff] = 0xc3;                /* ret */
	for (unsigned i = 0; i < 10; i++)
		found &= way_out_find(way_out, PLACE + 0x400 + i, false, false, &rule, &missing);
	way_out_destroy(way_out);
	check(found && code.n_reads == 4 + 9, "each search reads one piece of code (%u in all)",
	      code.n_reads);
}

/* Any bytes: the search ends, and says nothing or a rule that a step can carry out. */
static void test_any_bytes(void)
{
	static uint8_t bytes[0x4000];
	const struct made_code code = { bytes, sizeof(bytes), 0, 0 };
	uint64_t random = 88172645463325252ULL;
	unsigned n_found = 0, n_wrong = 0;

	for (unsigned round = 0; round < 20; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			bytes[i] = (uint8_t)(random >> 56);
		}
		for (unsigned i = 0; i < 100; i++) {
			struct cfi_rule rule;
			bool missing;

			if (!find(code, PLACE + i * 64, i & 1, &rule, &missing))
				continue;
			n_found++;
			n_wrong += rule.n_words > CFI_RULE_WORDS || rule.low >= 0 ||
				   (rule.reg != REG_SP && rule.reg != REG_RBP);
		}
	}
	check(!n_wrong, "any bytes: %u rules, and all of them can be used", n_found);
}

/* Jumps to everywhere: the room for ways and the steps are bounded. */
static void test_many_ways(void)
{
	static uint8_t bytes[0x8000];
	struct cfi_rule rule;
	bool missing;

	for (size_t i = 0; i + 6 <= sizeof(bytes); i += 6)
		memcpy(bytes + i, (const uint8_t[]){ 0x0f, 0x84, 0xfa, 0x1f, 0, 0 }, 6);
	check(!find((struct made_code){ bytes, sizeof(bytes), 0, 0 }, PLACE, true, &rule, &missing),
	      "the search of many ways that lead nowhere ends");
}

int main(void)
{
	test_registers();
	test_ways();
	test_jumps();
	test_calls_without_return();
	test_plt();
	test_retpoline_plt();
	test_retpoline_now();
	test_stub();
	test_lone_jump();
	test_signal_return();
	test_ends();
	test_missing();
	test_kept();
	test_any_bytes();
	test_many_ways();
	return tap_done();
}
