/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps by libunwind for the rows that the compiled table leaves to it: expressions, registers in
 * registers, a signal frame with all registers. Rows that are not safe never reach libunwind.
 */
#include "config.h"

#include "cfi_bytes.h"
#include "tests/support/tap.h"
#include "unwind/dwarf.h"

static const uint8_t usual[] = { 0x0c, 7, 8, 0x90, 1 };
static const uint8_t absolute[] = { 0x00 };
static const struct {
	uint64_t start, length;
	uint8_t data_bytes;
} __attribute__((packed)) plain = { MADE_CODE, 0x100, 0 };

#define BIAS 0x7f0000000000ULL

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[32];
} made_stack = { .vcpu = { .n_stacks = 1 }, .stack = { .address = 0x7000, .size_bytes = 256 } };

static struct dwarf *create(const struct cfi_bytes *made, bool all)
{
	struct cfi_sections sections = bytes_sections(made);
	struct dwarf *dwarf = NULL;
	struct cfi *cfi = bytes_compile(made);
	struct xtop_error *error = dwarf_create(&sections, all ? NULL : cfi, &dwarf);

	check(!error, "functions are copied for libunwind");
	cfi_destroy(cfi);
	return dwarf;
}

static void start_at(struct cursor *cursor, uint64_t offset)
{
	for (unsigned i = 0; i < 32; i++)
		made_stack.words[i] = 0xa00 + i;
	cursor_init(cursor, &made_stack.vcpu);
	cursor->regs[REG_RIP] = BIAS + MADE_CODE + offset;
	cursor->regs[REG_RSP] = 0x7010;
	cursor->regs[REG_RBP] = 0x7040;
	cursor->regs[REG_RDX] = 0xdddd;
}

/* Makes a step in a function with PROGRAM twice: the second answer is from libunwind's cache. */
static enum unwind_step step(const char *augmentation, const void *program, size_t bytes,
			     struct cursor *cursor)
{
	struct cfi_bytes made = { 0 };
	struct cursor first = *cursor;
	enum unwind_step result = STEP_NOT_COVERED;
	struct dwarf *dwarf;

	bytes_cie(&made, augmentation, absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), program, bytes);
	dwarf = create(&made, false);
	if (dwarf) {
		result = dwarf_step(dwarf, BIAS, cursor);
		check(dwarf_step(dwarf, BIAS, &first) == result &&
			      memcmp(first.regs, cursor->regs, sizeof(first.regs)) == 0,
		      "a step from libunwind's cache has the same result");
	}
	dwarf_destroy(dwarf);
	return result;
}

static void test_expressions(void)
{
	static const uint8_t cfa[] = { 0x0f, 5, 0x77, 8, 0x23, 24, 0x96 }; /* rsp + 8 + 24 */
	static const uint8_t rbp[] = { 0x10, 6, 2, 0x76, 8 };              /* rbp at rbp + 8 */
	static const uint8_t value[] = { 0x16, 3, 2, 0x76, 8 };            /* rbx is rbp + 8 */
	static const uint8_t rip[] = { 0x0f, 11,   0x77, 8,    0x80, 0,   0x4f,
				       0x1a, 0x31, 0x2a, 0x33, 0x24, 0x22 }; /* depends on rip & 31 */
	struct cursor cursor;

	start_at(&cursor, 4);
	check(step("zR", cfa, sizeof(cfa), &cursor) == STEP_CALLER,
	      "a CFA by an expression leads to the caller");
	check_u64(cursor.regs[REG_RSP], 0x7030, "a step by libunwind: rsp is the CFA");
	check_u64(cursor.regs[REG_RIP], 0xa05, "return address below the CFA");
	check(!(cursor.known >> REG_RDX & 1) && (cursor.known >> REG_R15 & 1),
	      "only what functions preserve is known");
	start_at(&cursor, 4);
	check(step("zR", rbp, sizeof(rbp), &cursor) == STEP_CALLER,
	      "rbp by an expression leads to the caller");
	check_u64(cursor.regs[REG_RBP], 0xa09, "rbp that an expression leads to");
	start_at(&cursor, 4);
	check(step("zR", value, sizeof(value), &cursor) == STEP_CALLER, "rbx is an expression");
	check_u64(cursor.regs[REG_RBX], 0x7048, "rbx that is an expression's value");
	start_at(&cursor, 0x20);
	check(step("zR", rip, sizeof(rip), &cursor) == STEP_CALLER, "rip in an expression");
	check_u64(cursor.regs[REG_RIP], 0xa02, "rip in an expression has the guest's low bits: 0");
	start_at(&cursor, 0x21);
	check(step("zR", rip, sizeof(rip), &cursor) == STEP_CALLER, "rip in an expression");
	check_u64(cursor.regs[REG_RIP], 0xa03, "rip in an expression has the guest's low bits: 1");
}

static void test_registers(void)
{
	static const uint8_t rdx[] = { 0x0e, 0, 0x09, 16,
				       1 }; /* vfork's way: CFA rsp, return in rdx */
	struct cursor cursor;

	start_at(&cursor, 4);
	check(step("zR", rdx, sizeof(rdx), &cursor) == STEP_CALLER,
	      "a return address in rdx leads to the caller");
	check_u64(cursor.regs[REG_RIP], 0xdddd, "return address that was in rdx");
	check_u64(cursor.regs[REG_RSP], 0x7010, "rsp of the caller whose return address is in rdx");
	start_at(&cursor, 4);
	cursor.known &= ~(1U << REG_RDX);
	check(step("zR", rdx, sizeof(rdx), &cursor) == STEP_BAD, "rdx is not known");
	check_u64(cursor.regs[REG_RSP], 0x7010, "a step that is bad leaves rsp unchanged");
}

/* Like glibc's __restore_rt, but shorter: all registers are saved, also rsp. */
static void test_signal(void)
{
	static const uint8_t program[] = { 0x0f, 4,  0x77, 0xf0, 0,    0x06, /* CFA: *(rsp + 112) */
					   0x10, 16, 3,    0x77, 0xf8, 0,    /* rip at rsp + 120 */
					   0x10, 7,  3,    0x77, 0xf0, 0,    /* rsp at rsp + 112 */
					   0x10, 1,  2,    0x77, 16,         /* rdx at rsp + 16 */
					   0x10, 6,  2,    0x77, 24 };       /* rbp at rsp + 24 */
	struct cursor cursor;

	start_at(&cursor, 4);
	check(step("zRS", program, sizeof(program), &cursor) == STEP_CALLER,
	      "a signal frame leads to the caller");
	check_u64(cursor.regs[REG_RSP], 0xa10, "rsp that a signal frame saved");
	check_u64(cursor.regs[REG_RIP], 0xa11, "rip that a signal frame saved");
	check_u64(cursor.regs[REG_RDX], 0xa04, "rdx that a signal frame saved");
	check_u64(cursor.regs[REG_RBP], 0xa05, "rbp that a signal frame saved");
	check(cursor.interrupted, "the code below a signal frame counts as interrupted");
	check(cursor.known >> REG_RDX & 1, "all registers are known after a signal frame");
}

static void test_ends(void)
{
	static const uint8_t cfa[] = { 0x0f, 4, 0x77, 8, 0x23, 24 };
	static const uint8_t far[] = { 0x0f, 4, 0x77, 0x80, 0x08, 0x06 }; /* *(rsp + 1024) */
	struct cursor cursor;

	start_at(&cursor, 4);
	made_stack.words[5] = 0;
	check(step("zR", cfa, sizeof(cfa), &cursor) == STEP_OUTERMOST,
	      "a return address of 0 ends the chain");
	start_at(&cursor, 4);
	cursor.regs[REG_RSP] = 0x7100;
	check(step("zR", cfa, sizeof(cfa), &cursor) == STEP_CUT,
	      "a step without its stack bytes is cut");
	start_at(&cursor, 4);
	check(step("zR", far, sizeof(far), &cursor) == STEP_NOT_COVERED,
	      "libunwind does not get a row that compiled CFI has");
	start_at(&cursor, 0x100);
	check(step("zR", cfa, sizeof(cfa), &cursor) == STEP_NOT_COVERED,
	      "code after the function is not covered");
}

/* A row that is not safe keeps its whole function from libunwind, but no other function. */
static void test_unsafe(void)
{
	static const uint8_t loops[] = { 0x0f, 5, 0x77, 8, 0x2f, 0xfb, 0xff };
	static const uint8_t no_cfa[] = { 0x00 };
	struct cfi_bytes made = { 0 };
	__typeof__(plain) second = { MADE_CODE + 0x100, 0x10, 0 },
			  third = { MADE_CODE + 0x200, 0x10, 0 };
	struct dwarf *dwarf;
	struct cursor cursor;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), loops, sizeof(loops));
	bytes_fde(&made, &second, sizeof(second), NULL, 0);
	bytes_cie(&made, "zR", absolute, 1, no_cfa,
		  1); /* libunwind 1.6 asserts that there is a CFA */
	bytes_fde(&made, &third, sizeof(third), no_cfa, 1);
	dwarf = create(&made, true);
	start_at(&cursor, 4);
	check(dwarf_step(dwarf, BIAS, &cursor) == STEP_NOT_COVERED,
	      "an expression with a loop is never evaluated");
	start_at(&cursor, 0x104);
	check(dwarf_step(dwarf, BIAS, &cursor) == STEP_CALLER,
	      "a safe function after an unsafe function is kept");
	start_at(&cursor, 0x204);
	check(dwarf_step(dwarf, BIAS, &cursor) == STEP_NOT_COVERED,
	      "a row without a CFA is not covered");
	dwarf_destroy(dwarf);
}

/* Only functions with rows for libunwind are given to it, also when one lies within another. */
static void test_within(void)
{
	static const uint8_t cfa[] = { 0x0f, 4, 0x77, 8, 0x23, 24 };
	struct cfi_bytes made = { 0 };
	__typeof__(plain) inner = { MADE_CODE + 0x40, 0x10, 0 };
	struct dwarf *dwarf;
	struct cursor cursor;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), NULL, 0);
	bytes_fde(&made, &inner, sizeof(inner), cfa, sizeof(cfa));
	dwarf = create(&made, false);
	start_at(&cursor, 0x44);
	check(dwarf_step(dwarf, BIAS, &cursor) == STEP_CALLER,
	      "the inner function of an overlap is found");
	start_at(&cursor, 4);
	check(dwarf_step(dwarf, BIAS, &cursor) == STEP_NOT_COVERED,
	      "the outer function of an overlap has no row for libunwind");
	dwarf_destroy(dwarf);
}

/*
 * Programs that are not safe are run, but not kept. Running is limited, too: 300 programs of 63 KiB
 * exceed the limit, and functions after them are left out.
 */
static void test_work(void)
{
	const unsigned n = 300;
	const uint32_t program_bytes = 63 << 10;
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections = { 0 };
	struct dwarf *dwarf = NULL;
	struct cursor cursor;
	uint8_t *bytes, *at;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), NULL, 0); /* the first one: within the limit */
	bytes = calloc(1, made.n + (n + 2) * (8 + sizeof(plain) + program_bytes));
	memcpy(bytes, made.bytes, made.n);
	at = bytes + made.n;
	for (unsigned i = 1; i <= n + 2; i++) {
		__typeof__(plain) function = { MADE_CODE + 0x100 * i, 0x100, 0 };
		uint32_t length = 4 + sizeof(function) + (i <= n + 1 ? program_bytes : 0),
			 cie = at + 4 - bytes;

		memcpy(at, &length, 4);
		memcpy(at + 4, &cie, 4);
		memcpy(at + 8, &function, sizeof(function));
		if (i <= n) /* DW_CFA_register: rbx is in a register that there is not, at last */
			memcpy(at + length + 4 - 3, (uint8_t[]){ 0x09, 3, 0x7f }, 3);
		at += 4 + length;
	}
	sections.eh_frame = (struct cfi_section){ .bytes = bytes,
						  .size_bytes = at - bytes,
						  .address = MADE_EH_FRAME };
	check(!dwarf_create(&sections, NULL, &dwarf), "%u programs that are not safe", n);
	start_at(&cursor, 4);
	check(dwarf && dwarf_step(dwarf, BIAS, &cursor) == STEP_CALLER,
	      "a function before many unsafe functions is kept");
	start_at(&cursor, 0x104);
	check(dwarf && dwarf_step(dwarf, BIAS, &cursor) == STEP_NOT_COVERED,
	      "an unsafe function is not covered");
	start_at(&cursor, 0x100 * (n + 1) + 4);
	check(dwarf && dwarf_step(dwarf, BIAS, &cursor) == STEP_NOT_COVERED,
	      "a safe function beyond the limit of programs is dropped");
	start_at(&cursor, 0x100 * (n + 2) + 4);
	check(dwarf && dwarf_step(dwarf, BIAS, &cursor) == STEP_CALLER,
	      "a short function within the limit of programs is kept");
	dwarf_destroy(dwarf);
	free(bytes);
}

int main(void)
{
	test_within();
	test_work();
	test_expressions();
	test_registers();
	test_signal();
	test_ends();
	test_unsafe();
	return tap_done();
}
