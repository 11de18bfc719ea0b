/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .ARM.exidx and .ARM.extab of 32-bit Arm. The instructions of test_programs() are what clang 14
 * makes of functions with locals of a variable size, of 70,000 bytes, with registers of floating
 * point, and of C++ that cleans up, as readelf -u showed them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/tap.h"
#include "unwind/cursor_arm32.h"
#include "unwind/exidx.h"
#include "unwind/links_arm32.h"

#define CODE   UINT32_C(0xc0010000)
#define INDEX  UINT32_C(0xc0020000)
#define TABLE  UINT32_C(0xc0021000)
#define STACK  UINT64_C(0xc0800000)
#define CALLER (CODE + 0x500)
#define WORDS  64

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint32_t words[WORDS];
} made;

/* --- instructions ----------------------------------------------------------------------------- */

/* "cfa rN+OFFSET, then rM at the distance from the CFA". */
static void describe(const struct cfi_rule *rule, char *text, size_t size)
{
	static const struct {
		unsigned slot;
		const char *name;
	} names[] = { { 1, "r4" }, { 2, "r5" }, { 3, "r6" }, { 4, "r7" }, { 5, "r8" },
		      { 6, "r9" }, { 7, "r10" }, { 8, "r11" }, { 0, "lr" } };
	int n;

	if (rule->kind == RULE_REGISTERS_ARM32) {
		snprintf(text, size, "all registers at sp%+d", rule->offset);
		return;
	}
	if (rule->kind != RULE_CFA_ARM32) {
		snprintf(text, size, "none");
		return;
	}
	n = snprintf(text, size, "%s%+d", rule->reg == REG_SP ? "sp"
			    : rule->reg == REG_ARM32_R11      ? "r11"
			    : rule->reg == REG_ARM32_R7       ? "r7"
							      : "?",
		     rule->offset);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (rule->slot[names[i].slot] < rule->n_words)
			n += snprintf(text + n, size - (size_t)n, " %s%+d", names[i].name,
				      4 * (rule->low + rule->slot[names[i].slot]));
}

#define PROGRAM(wanted, ...)                                                                      \
	do {                                                                                      \
		static const uint8_t bytes[] = { __VA_ARGS__ };                                   \
		struct cfi_rule rule = exidx_rule(bytes, sizeof(bytes));                          \
		char text[256];                                                                   \
                                                                                                  \
		describe(&rule, text, sizeof(text));                                              \
		check(strcmp(text, wanted) == 0, "%s: %s", #__VA_ARGS__, text);                   \
	} while (0)

static void test_programs(void)
{
	PROGRAM("sp+0", 0xb0, 0xb0, 0xb0);
	PROGRAM("sp+40 r4-36 r5-32 r6-28 r7-24 r8-20 r9-16 r10-12 r11-8 lr-4", 0x00, 0xaf, 0xb0);
	PROGRAM("sp+48 r4-24 r5-20 r6-16 r7-12 r11-8 lr-4", 0x05, 0x84, 0x8f);
	PROGRAM("r11+8 r11-8 lr-4", 0x9b, 0x84, 0x80);
	PROGRAM("r11+8 r4-24 r5-20 r6-16 r7-12 r11-8 lr-4", 0x9b, 0x43, 0x84, 0x8f, 0xb0, 0xb0);
	PROGRAM("r11+8 r11-8 lr-4", 0x9b, 0x45, 0xc9, 0x82, 0x84, 0x80);
	PROGRAM("sp+16 r4-16 r5-12 r7-8 lr-4", 0x84, 0x0b);
}

static void test_others(void)
{
	PROGRAM("sp+4 r4-4", 0xa0);
	PROGRAM("sp+32 lr-4", 0xb1, 0x0f, 0x02, 0x84, 0x00);
	PROGRAM("sp+1552", 0xb2, 0x81, 0x02, 0x01);
	PROGRAM("sp+28", 0xb3, 0x82);
	PROGRAM("sp+20", 0xb9);
	PROGRAM("sp+32", 0xc8, 0x03, 0xb0);
	PROGRAM("sp+24", 0xd2);
	PROGRAM("sp+24", 0xc6, 0x02);
	PROGRAM("sp+8", 0xc7, 0x05);
	PROGRAM("sp+16", 0xc1);
	PROGRAM("sp+8 r7-8 lr-4", 0x88, 0x08); /* popped into pc */
	PROGRAM("none", 0x80, 0x00);           /* refuse to unwind */
	PROGRAM("none", 0x82, 0x00);           /* sp */
	PROGRAM("all registers at sp+0", 0xb1, 0x0f, 0x8f, 0xff, 0xb0, 0xb0); /* __irq_svc() */
	PROGRAM("all registers at sp+8", 0x01, 0xb1, 0x0f, 0x8f, 0xff);
	PROGRAM("none", 0x8f, 0xff);                   /* r0 to r3 are missing */
	PROGRAM("none", 0xb1, 0x0f, 0x8f, 0xff, 0x00); /* sp is not what it was */
	PROGRAM("none", 0x9d);
	PROGRAM("none", 0x9f);
	PROGRAM("none", 0xa8, 0x9b); /* r11 after a pop */
	PROGRAM("none", 0xb1, 0x00);
	PROGRAM("none", 0xb1, 0x10);
	PROGRAM("none", 0xb4);
	PROGRAM("none", 0xca);
	PROGRAM("none", 0xe0);
	PROGRAM("none", 0x84); /* cut short */
	PROGRAM("none", 0xb2, 0x80);
	PROGRAM("none", 0xb2, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
	/* r4 and lr are further apart than a rule has words */
	PROGRAM("none", 0xa0, 0x3f, 0x84, 0x00);
}

/* --- sections --------------------------------------------------------------------------------- */

static uint32_t index_words[16], table_words[16];

static uint32_t prel31(uint32_t from, uint32_t to)
{
	return (to - from) & 0x7fffffff;
}

/* Writes entry I of the index, which describes the code at CODE + OFFSET. */
static void put(unsigned i, uint32_t offset, uint32_t word)
{
	index_words[2 * i] = prel31(INDEX + 8 * i, CODE + offset);
	index_words[2 * i + 1] = word;
}

static void put_far(unsigned i, uint32_t offset, unsigned at)
{
	put(i, offset, prel31(INDEX + 8 * i + 4, TABLE + 4 * at));
}

static struct exidx *compile(unsigned n_entries)
{
	const struct exidx_sections sections = {
		.index = { (const uint8_t *)index_words, 8 * n_entries, INDEX },
		.table = { (const uint8_t *)table_words, sizeof(table_words), TABLE },
	};
	struct exidx *exidx = NULL;
	struct xtop_error *error = exidx_compile(&sections, &exidx);

	check(!error, "an index is compiled");
	error_destroy(error);
	return exidx;
}

/* The value of word I of the stack. */
static uint64_t word(unsigned i)
{
	return CODE + 0x600 + 4 * i;
}

static void begin(uint32_t offset, struct cursor *cursor)
{
	struct registers_arm64 *regs = &made.vcpu.regs.arm64;

	made.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made),
					  .state = VCPU_RUNNING,
					  .n_stacks = 1,
					  .stack_cut = CUT_LIMIT,
					  .regs = { .arch = ARCH_ARM64 } };
	made.stack = (struct sample_stack){ .address = STACK, .size_bytes = sizeof(made.words) };
	for (unsigned i = 0; i < WORDS; i++)
		made.words[i] = (uint32_t)word(i);
	*regs = (struct registers_arm64){ .pc = CODE + offset,
					  .pstate = PSTATE_ARM64_AARCH32 | ARM32_MODE_SVC };
	regs->x[registers_arm32_sp_place(regs->pstate)] = STACK;
	regs->x[registers_arm32_sp_place(regs->pstate) - 1] = CALLER; /* lr */
	regs->x[11] = STACK + 32;
	cursor_init(cursor, &made.vcpu);
}

static void check_step(struct exidx *exidx, uint32_t offset, uint64_t pc, uint64_t sp,
		       const char *what)
{
	struct cursor cursor;
	enum unwind_step step;

	begin(offset, &cursor);
	step = exidx_step(exidx, 0, &cursor);
	check(step == STEP_CALLER && cursor.regs[REG_PC] == pc && cursor.regs[REG_SP] == sp,
	      "%s: step %d, pc %#jx, sp %#jx", what, step, (uintmax_t)cursor.regs[REG_PC],
	      (uintmax_t)cursor.regs[REG_SP]);
}

static void check_none(struct exidx *exidx, uint32_t offset, const char *what)
{
	struct cursor cursor;

	begin(offset, &cursor);
	check(exidx_step(exidx, 0, &cursor) == STEP_NOT_COVERED, "%s", what);
}

/* Checks where a chain ends in a program whose code at OFFSET cannot be unwound. */
static void check_end(struct exidx *exidx, uint32_t offset)
{
	struct cursor cursor;

	begin(offset, &cursor);
	cursor.interrupted = false;
	check(exidx_step(exidx, 0, &cursor) == STEP_NOT_COVERED,
	      "code of a program that cannot be unwound may have a caller");
	cursor.regs[REG_ARM32_R11] = 0;
	check(exidx_step(exidx, 0, &cursor) == STEP_OUTERMOST,
	      "code that cannot be unwound has no caller if r11 is 0");
	cursor.known &= ~(1U << REG_ARM32_R11);
	check(exidx_step(exidx, 0, &cursor) == STEP_NOT_COVERED,
	      "code that cannot be unwound may have a caller if r11 is unknown");
	cursor.known |= 1U << REG_ARM32_R11;
	cursor.interrupted = true;
	check(exidx_step(exidx, 0, &cursor) == STEP_NOT_COVERED,
	      "interrupted code that cannot be unwound may have a caller");
}

static void test_sections(void)
{
	struct exidx *exidx;

	put(0, 0x00, 0x8000afb0);  /* the rule is in the entry itself */
	put_far(1, 0x40, 0);       /* form 81: two bytes, and four in each further word */
	put_far(2, 0x80, 2);       /* form 80: three bytes */
	put_far(3, 0xc0, 3);       /* g++'s form, which begins with a routine */
	put(4, 0x100, 1);          /* cannot be unwound */
	put(5, 0x140, 0x81b0b0b0); /* a form that only .ARM.extab has */
	put_far(6, 0x180, 100);    /* outside of .ARM.extab */
	put(7, 0x1c0, 0x808480b0);
	table_words[0] = 0x81019b43;
	table_words[1] = 0x848fb0b0;
	table_words[2] = 0x80a8b0b0;
	table_words[3] = 0x7fff0000;
	table_words[4] = 0x019b4384;
	table_words[5] = 0x8fb0b0b0;
	exidx = compile(8);
	if (!exidx)
		return;
	check_step(exidx, 0x20, word(9), STACK + 40, "a rule in the index entry itself");
	check_step(exidx, 0x60, word(9), STACK + 40, "r11, in .ARM.extab");
	check_step(exidx, 0xa0, word(1), STACK + 8, "an .ARM.extab entry with three instructions");
	check_step(exidx, 0xe0, word(9), STACK + 40, "an .ARM.extab entry of g++, with a routine");
	check_none(exidx, 0x120, "interrupted code that cannot be unwound is not covered");
	check_end(exidx, 0x120);
	check_none(exidx, 0x160, "an entry with an unknown form gives no rule");
	check_none(exidx, 0x1a0, "an entry outside of .ARM.extab gives no rule");
	check_step(exidx, 0x1d0, word(1), STACK + 8, "code of the last entry");
	check_none(exidx, 0x1c0 + 0x800, "code far after the last entry has no rule");
	exidx_destroy(exidx);
	put(1, 0x400, 0x808480b0);
	put(2, 0x80, 0x8001afb0);
	put(3, 0x500, 1);
	exidx = compile(4);
	check_step(exidx, 0x420, word(1), STACK + 8, "an entry that descends is left out");
	exidx_destroy(exidx);
	check(!compile(0), "an index without entries gives no table");
}

/* --- the function that was interrupted -------------------------------------------------------- */

/* push {r11, lr}; mov r11, sp; bl; pop {r11, pc} */
static const uint32_t code[] = { 0xe92d4800, 0xe1a0b00d, 0xebfffffe, 0xe8bd8800 };

static size_t read_code(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	(void)context;
	if (address - CODE >= sizeof(code))
		return 0;
	if (size_bytes > sizeof(code) - (address - CODE))
		size_bytes = sizeof(code) - (address - CODE);
	memcpy(buffer, (const char *)code + (address - CODE), size_bytes);
	return size_bytes;
}

static bool find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)context;
	*start = CODE;
	*end = CODE + sizeof(code);
	return address >= *start && address < *end;
}

/* Interrupted kernel code, whose r0 to pc are saved, and entries, which cannot be unwound. */
static void test_linux(void)
{
	const struct exidx_sections sections = {
		.index = { (const uint8_t *)index_words, 24, INDEX },
		.table = { (const uint8_t *)table_words, sizeof(table_words), TABLE },
		.is_linux = true,
	};
	struct exidx *exidx = NULL;
	struct cursor cursor;

	put(0, 0x00, 1);
	put_far(1, 0x40, 0);
	put(2, 0x80, 1);
	table_words[0] = 0x8101b10f;
	table_words[1] = 0x8fffb0b0;
	error_destroy(exidx_compile(&sections, &exidx));
	begin(0x60, &cursor);
	made.words[13] = (uint32_t)STACK + 80;
	made.words[15] = CODE + 0x300;
	made.words[16] = ARM32_MODE_SVC | PSTATE_ARM32_THUMB;
	check(exidx_step(exidx, 0, &cursor) == STEP_CALLER && cursor.interrupted && cursor.thumb &&
		      cursor.regs[REG_PC] == CODE + 0x300 && cursor.regs[REG_SP] == STACK + 80 &&
		      cursor.regs[REG_ARM32_LR] == word(14) && cursor.regs[4] == word(4),
	      "interrupted kernel code has all its registers");
	begin(0x60, &cursor);
	cursor.user = true;
	check(exidx_step(exidx, 0, &cursor) == STEP_NOT_COVERED,
	      "a program's table cannot give interrupted kernel code");
	begin(0x60, &cursor);
	cursor.regs[REG_SP] = STACK + sizeof(made.words) - 40;
	check(exidx_step(exidx, 0, &cursor) == STEP_CUT,
	      "registers of interrupted code that were not copied cut the chain");
	begin(0x20, &cursor);
	check(exidx_step(exidx, 0, &cursor) == STEP_NOT_COVERED,
	      "an interrupted kernel entry that cannot be unwound is not covered");
	begin(0x20, &cursor);
	cursor.interrupted = false;
	check(exidx_step(exidx, 0, &cursor) == STEP_OUTERMOST,
	      "a kernel entry that cannot be unwound has no caller after a call");
	exidx_destroy(exidx);
}

static void test_interrupted(void)
{
	const struct code_source source = { .read = read_code, .find_function = find_function };
	struct links *links = NULL;
	struct exidx *exidx;

	put(0, 0x00, 0x808480b0);
	put(1, 0x10, 1);
	exidx = compile(2);
	error_destroy(links_create(&source, &links));
	check_step(exidx, 0, word(1), STACK + 8, "without instructions the table counts");
	exidx_set_links(exidx, links);
	check_step(exidx, 0, CALLER, STACK, "the frame before the push");
	check_step(exidx, 8, word(1), STACK + 8, "the frame after the push");
	check_step(exidx, 12, word(1), STACK + 8, "the frame after a call");
	exidx_destroy(exidx);
	put(0, 0x00, 0x80038480); /* 16 bytes of this frame are not made yet */
	exidx = compile(2);
	exidx_set_links(exidx, links);
	check_step(exidx, 4, word(1), STACK + 8, "a larger frame of which two words exist");
	check_step(exidx, 0, CALLER, STACK, "a larger frame of which no word exists yet");
	exidx_destroy(exidx);
	links_destroy(links);
}

int main(void)
{
	test_programs();
	test_others();
	test_sections();
	test_linux();
	test_interrupted();
	return tap_done();
}
