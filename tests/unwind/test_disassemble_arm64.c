/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions of arm64 as text are those of GNU's objdump: all of .text of the cross compiler's
 * libc (libc6-arm64-cross), and of the files that XTOP_DISASSEMBLE_ARM64 names. Where the texts
 * differ, the cause is one of those that cause_of() knows; disassemble_arm64.c lists the main
 * ones, and doc/MEASUREMENTS has their share.
 * Expected texts are objdump 2.40's.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objdump.h"
#include "tests/support/program_files.h"
#include "tests/support/tap.h"
#include "xtop/unwind/disassemble.h"

#define AT 0x10000ULL

static struct code code_of(const uint32_t *word, uint64_t address)
{
	return (struct code){ (const uint8_t *)word, sizeof(*word), address, 8, ARCH_ARM64 };
}

static const char *text_of(uint32_t word)
{
	static char text[DISASSEMBLE_TEXT_BYTES];
	const struct code code = code_of(&word, AT);

	disassemble_print(&code, SYNTAX_ATT, text);
	return text;
}

static void test_text(void)
{
	static const struct {
		uint32_t word;
		const char *text;
	} texts[] = {
		{ 0x94000004, "bl     0x10010" },
		{ 0x17ffffff, "b      0xfffc" },
		{ 0x54000041, "b.ne   0x10008" },
		{ 0x54ffffc2, "b.hs   0xfff8" }, /* objdump: b.cs  // b.hs, b.nlast */
		{ 0x34000060, "cbz    w0, 0x1000c" },
		{ 0xb5ffffff, "cbnz   xzr, 0xfffc" },
		{ 0xb6900045, "tbz    x5, #50, 0x10008" },
		{ 0x3707ffe1, "tbnz   w1, #0, 0xfffc" },
		{ 0xd63f0020, "blr    x1" },
		{ 0xd65f03c0, "ret" },
		{ 0xa9be7bfd, "stp    x29, x30, [sp, #-0x20]!" },
		{ 0xf9400bf3, "ldr    x19, [sp, #0x10]" },
		/* Capstone 4.0.2: #0xfffffffffffffff0 */
		{ 0xf85f06b7, "ldr    x23, [x21], #-0x10" },
		{ 0x5298b5c2, "mov    w2, #0xc5ae" },
		{ 0x12b01000, "mov    w0, #0x7f7fffff" },
		{ 0x92800000, "mov    x0, #0xffffffffffffffff" },
		{ 0xd2e00000, "movz   x0, #0, lsl #48" }, /* the manual prefers no mov here */
		{ 0xd503233f, "paciasp" },
		{ 0xd50323bf, "autiasp" },
		{ 0xd503245f, "bti    c" },
		{ 0xd503201f, "nop" },
		{ 0x88e57c62, "casa   w5, w2, [x3]" },
		{ 0xc8a4fe62, "casl   x4, x2, [x19]" },
		{ 0x08a27c20, "casb   w2, w0, [x1]" },
		{ 0x4860fea2, "caspal x0, x1, x2, x3, [x21]" },
		{ 0xb822001f, "stadd  w2, [x0]" },
		{ 0xb8e10000, "ldaddal w1, w0, [x0]" },
		{ 0xf822301f, "stset  x2, [x0]" },
		{ 0xf8e18002, "swpal  x1, x2, [x0]" },
		{ 0x782103e2, "ldaddh w1, w2, [sp]" },
		{ 0xd61f0220, "br     x17" },
		{ 0x003e6772, ".inst  0x003e6772" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_string(text_of(texts[i].word), texts[i].text, texts[i].text);
}

static struct code_step step_of(uint32_t word)
{
	const struct code code = code_of(&word, AT);

	return disassemble_step(&code);
}

static void check_step(uint32_t word, enum code_flow flow, uint64_t target, const char *what)
{
	struct code_step step = step_of(word);

	check(step.flow == flow && step.target == target && step.length == 4 && !step.bad,
	      "%s: flow %d, to %#" PRIx64, what, step.flow, step.target);
}

static void test_steps(void)
{
	const uint32_t word = 0xd65f03c0;
	struct code code = code_of(&word, AT);

	check_step(0x94000004, CODE_CALL, 0x10010, "bl");
	check_step(0x96000000, CODE_CALL, AT - 0x8000000, "bl as far back as it can");
	check_step(0x15ffffff, CODE_JUMP, AT + 0x7fffffc, "b as far as it can");
	check_step(0x54ffffc2, CODE_BRANCH, 0xfff8, "b.cs");
	check_step(0xb5ffffff, CODE_BRANCH, 0xfffc, "cbnz");
	check_step(0xb6900045, CODE_BRANCH, 0x10008, "tbz");
	check_step(0x3707ffe1, CODE_BRANCH, 0xfffc, "tbnz");
	check_step(0xd63f0020, CODE_CALL, 0, "blr");
	check_step(0xd63f087f, CODE_CALL, 0, "blraaz");
	check_step(0xd61f0220, CODE_INDIRECT, 0, "br");
	check_step(0xd71f0a11, CODE_INDIRECT, 0, "braa");
	check_step(0xd65f03c0, CODE_RETURN, 0, "ret");
	check_step(0xd65f0bff, CODE_RETURN, 0, "retaa");
	check_step(0xd69f03e0, CODE_RETURN, 0, "eret");
	check_step(0x10000063, CODE_NEXT, 0, "adr goes nowhere");
	check_step(0, CODE_NEXT, 0, "no instruction has four bytes, too");
	code.n = 3;
	check(disassemble_step(&code).bad && disassemble_step(&code).length == 1,
	      "an instruction that is cut off");
}

/* Every word has a text that ends, of plain characters. */
static void test_hostile(void)
{
	uint64_t state = 88172645463325252ULL;
	unsigned wrong = 0;

	for (int i = 0; i < 100000; i++) {
		const char *text;
		size_t n;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		text = text_of((uint32_t)(state >> 24));
		n = strlen(text);
		wrong += !n || n >= DISASSEMBLE_TEXT_BYTES - 1;
		for (; *text; text++)
			wrong += *text < ' ' || *text > '~';
	}
	check_u64(wrong, 0, "random words without a text of plain characters");
}

/* --- comparison with objdump ------------------------------------------------------------------ */

enum cause { SAME, CARRY, ALIAS, LIST, SYSTEM, UNKNOWN, DATA, OTHER, N_CAUSES };
static const char *const cause_names[] = {
	"the same but for the base of numbers",
	"conditions hs and lo, which objdump calls cs and cc",
	"another name for the same instruction", "registers of a list one by one",
	"names of system registers and instructions",
	"Capstone does not know it", "no instruction", "other" };

/* Objdump writes an address without "0x", and the symbol after it. */
static bool is_address(const char *text, char **end)
{
	strtoull(text, end, 16);
	return *end > text && strncmp(*end, " <", 2) == 0;
}

static bool is_number(const char *text)
{
	return strncmp(text, "0x", 2) == 0 || (*text >= '0' && *text <= '9');
}

/* Writes numbers in decimal without #, one blank between words, and none of objdump's remarks. */
static void normalize(const char *from, char to[DISASSEMBLE_TEXT_BYTES])
{
	size_t n = 0;
	char last = ' ', *end;

	while (*from && *from != '<' && strncmp(from, "//", 2) != 0 && n < 120) {
		if (last == ' ' && is_address(from, &end)) {
			n += (size_t)snprintf(to + n, 32, "%llu", strtoull(from, NULL, 16));
			from = end;
		} else if (strchr("#- ", last) && is_number(from)) {
			n += (size_t)snprintf(to + n, 32, "%llu", strtoull(from, &end, 0));
			from = end;
		} else {
			last = *from == '\t' ? ' ' : *from;
			from++;
			if (last == ' ' ? n && to[n - 1] != ' ' : last != '#' && last != '\n')
				to[n++] = last;
			continue;
		}
		last = '0';
	}
	while (n && to[n - 1] == ' ')
		n--;
	to[n] = '\0';
}

/* Gives a condition objdump's name. It stands after "b.", or is the last operand. */
static void rename_condition(char *text)
{
	size_t n = strlen(text);
	char *at = strncmp(text, "b.", 2) == 0 ? text + 2 : n > 4 ? text + n - 2 : text;

	if (strncmp(at, "cs", 2) == 0)
		memcpy(at, "hs", 2);
	else if (strncmp(at, "cc", 2) == 0)
		memcpy(at, "lo", 2);
}

static bool begins_with_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strncmp(text, *words, strlen(*words)) == 0)
			return true;
	return false;
}

static enum cause cause_of(const char *ours, const char *theirs)
{
	static const char *const aliases[] = { "mov ", "uxtl", "sxtl", "mvn ", "ngc", "cset", "bfc ",
					       NULL };
	static const char *const system[] = { "msr ", "mrs ", "sys", "hint ", "tlbi ", "at ", "dc ",
					      "ic ", "sb", "dsb ", NULL };
	char own[DISASSEMBLE_TEXT_BYTES], other[DISASSEMBLE_TEXT_BYTES];

	normalize(ours, own);
	normalize(theirs, other);
	if (strncmp(other, "udf ", 4) == 0 || strncmp(other, ".inst ", 6) == 0)
		return DATA;
	if (strncmp(own, ".inst ", 6) == 0)
		return UNKNOWN;
	if (strcmp(own, other) == 0)
		return SAME;
	rename_condition(other);
	if (strcmp(own, other) == 0)
		return CARRY;
	if (begins_with_one_of(own, system))
		return SYSTEM;
	if (strchr(own, '{'))
		return LIST;
	if (strncmp(other, "fmov ", 5) == 0) /* the digits after the point differ */
		return SAME;
	return begins_with_one_of(other, aliases) && strncmp(own, other, strcspn(other, " "))
		       ? ALIAS
		       : OTHER;
}

struct comparison {
	const struct objdump_text *text;
	uint64_t n, causes[N_CAUSES];
};

static void compare_line(void *context, char *line)
{
	struct comparison *comparison = context;
	const struct objdump_text *section = comparison->text;
	char text[DISASSEMBLE_TEXT_BYTES], *theirs;
	uint64_t address, distance;
	struct code code;
	enum cause cause;

	theirs = objdump_parse(section, line, &address);
	if (!theirs)
		return;
	distance = address - section->start;
	code = (struct code){ section->bytes + distance, section->size_bytes - distance, address, 8,
			      ARCH_ARM64 };
	theirs[strcspn(theirs, "\n")] = '\0';
	disassemble_print(&code, SYNTAX_ATT, text);
	cause = cause_of(text, theirs);
	if (cause == OTHER && comparison->causes[OTHER] < 20)
		printf("# %" PRIx64 ": %s, objdump: %s\n", address, text, theirs);
	comparison->n++;
	comparison->causes[cause]++;
}

#ifdef __aarch64__
#define OBJDUMP "objdump"
#else
#define OBJDUMP "aarch64-linux-gnu-objdump"
#endif

static void compare_text(const struct objdump_text *text)
{
	struct comparison comparison = { .text = text };

	objdump_lines(OBJDUMP, text, compare_line, &comparison);
	if (!objdump_report(text, comparison.n, comparison.causes, cause_names, N_CAUSES))
		return;
	check(comparison.causes[UNKNOWN] * 100 <= comparison.n, "one of 100 at most is not known");
	check(comparison.causes[OTHER] * 10000 <= comparison.n,
	      "one of 10,000 at most differs for no known cause: %" PRIu64,
	      comparison.causes[OTHER]);
}

static void compare_file(const char *path)
{
	objdump_with_text(path, compare_text);
}

int main(void)
{
	test_text();
	test_steps();
	test_hostile();
	compare_file("/usr/aarch64-linux-gnu/lib/libc.so.6");
	with_named_files("XTOP_DISASSEMBLE_ARM64", compare_file);
	return tap_done();
}
