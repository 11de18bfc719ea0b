/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares instructions as text with GNU's objdump: all of .text of libc and python3, of the i386
 * libc if it is installed (libc6-i386), and of the files that XTOP_DISASSEMBLE names (a vmlinux
 * takes minutes). Where the texts differ, the cause must be one that cause_of() knows;
 * disassemble_x86.c lists them, and doc/MEASUREMENTS has their share.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objdump.h"
#include "tests/support/program_files.h"
#include "tests/support/tap.h"
#include "xtop/unwind/disassemble.h"

static const char *att(const char *bytes, size_t n, uint64_t address)
{
	static char text[DISASSEMBLE_TEXT_BYTES];

	disassemble_print(&(struct code){ (const uint8_t *)bytes, n, address, 8, ARCH_X86 },
			  SYNTAX_ATT, text);
	return text;
}

static const char *att32(const char *bytes, size_t n, uint64_t address)
{
	static char text[DISASSEMBLE_TEXT_BYTES];

	disassemble_print(&(struct code){ (const uint8_t *)bytes, n, address, 4, ARCH_X86 },
			  SYNTAX_ATT, text);
	return text;
}

static const char *intel(const char *bytes, size_t n, uint64_t address)
{
	static char text[DISASSEMBLE_TEXT_BYTES];

	disassemble_print(&(struct code){ (const uint8_t *)bytes, n, address, 8, ARCH_X86 },
			  SYNTAX_INTEL, text);
	return text;
}

static void test_text(void)
{
	check_string(att("\x48\x8b\x44\x24\x08", 5, 0), "mov    0x8(%rsp),%rax",
		     "a load in AT&T's syntax");
	check_string(intel("\x48\x8b\x44\x24\x08", 5, 0), "mov    rax,qword ptr [rsp+0x8]",
		     "a load in Intel's syntax");
	check_string(att("\x74\x10", 2, 0x1000), "je     0x1012", "a branch, with GNU's name");
	check_string(att("\xff\xd0", 2, 0), "call   *%rax", "a call by a register has a star");
	check_string(att("\x0f\xb6\xc0", 3, 0), "movzbl %al,%eax",
		     "movzbl has both sizes in its name");
	check_string(att("\x48\x98", 2, 0), "cltq", "AT&T's own name");
	check_string(intel("\x48\x98", 2, 0), "cdqe", "the instruction by Intel's own name");
	check_string(att("\xd1\xe8", 2, 0), "shr    %eax", "a shift by one");
	check_string(att("\xf0\xff\x08", 3, 0), "lock decl (%rax)", "a prefix stays in front");
	check_string(att("\x0f\x1f\x44\x00\x00", 5, 0), "nopl   (%rax,%rax,1)", "a long nop");
	check_string(att("\xf2\x0f\x2c\x44\x24\x10", 6, 0), "cvttsd2si 0x10(%rsp),%eax",
		     "the register says the size of the integer");
	check_string(att("\x06", 1, 0), "(bad)", "no instruction of x86-64");
	check_string(att("\xe8\x00", 2, 0), "(bad)", "an instruction that is cut off");
}

/* Bytes that mean something else in 32-bit code than in 64-bit code. */
static void test_text_32(void)
{
	check_string(att("\x40\x89\xc8", 3, 0), "mov    %ecx,%eax", "a REX prefix");
	check_string(att32("\x40\x89\xc8", 3, 0), "inc    %eax", "in 32-bit code an instruction");
	check_string(att32("\x06", 1, 0), "push   %es", "an instruction that only 32-bit code has");
	check_string(att32("\xa1\x10\x20\x04\x08", 5, 0), "mov    0x8042010,%eax",
		     "an absolute address of four bytes");
	check_string(att32("\x8b\x45\xfc", 3, 0), "mov    -0x4(%ebp),%eax", "registers of 32 bits");
	check_string(att32("\x8b\x1d\x10\0\0\0", 6, 0), "mov    0x10,%ebx",
		     "nothing is relative to the instruction");
	check_string(att32("\xe8\xfb\xff\xff\xff", 5, 0xc1000000), "call   0xc1000000",
		     "a call to an address of 32 bits");
}

static struct code_step step_of(const char *bytes, size_t n, uint64_t address, uint8_t word_bytes)
{
	return disassemble_step(
		&(struct code){ (const uint8_t *)bytes, n, address, word_bytes, ARCH_X86 });
}

static void test_steps_32(void)
{
	struct code_step step = step_of("\xe8\x10\0\0\0", 5, 0xfffffff8, 4);

	check(step.flow == CODE_CALL && step.target == 0xd && step.length == 5,
	      "32-bit code: a call, whose target has 32 bits");
	step = step_of("\x40\x74\xfd", 3, 0x1000, 4);
	check(step.flow == CODE_NEXT && step.length == 1, "32-bit code: an increment has one byte");
	step = step_of("\x74\xfd", 2, 0x1001, 4);
	check(step.flow == CODE_BRANCH && step.target == 0x1000,
	      "32-bit code: a branch has its target");
	step = step_of("\xeb\xfe", 2, 0xc1000000, 4);
	check(step.flow == CODE_JUMP && step.target == 0xc1000000,
	      "32-bit code: a jump has its target");
	step = step_of("\xff\x25\x10\0\0\0", 6, 0x1000, 4);
	check(step.flow == CODE_INDIRECT && !step.target,
	      "32-bit code: an indirect jump has no target");
	step = step_of("\xc2\x08\0", 3, 0x1000, 4);
	check(step.flow == CODE_RETURN && !step.target && step.length == 3,
	      "32-bit code: a return that drops words");
	step = step_of("\xff\xd0", 2, 0x1000, 4);
	check(step.flow == CODE_CALL && !step.target,
	      "32-bit code: an indirect call has no target");
	step = step_of("\xe8\x10", 2, 0x1000, 4);
	check(step.bad && step.length == 1, "a call that is cut off");
}

static void test_steps(void)
{
	struct code_step step = step_of("\xe8\x10\0\0\0", 5, 0x1000, 8);

	check(step.flow == CODE_CALL && step.target == 0x1015 && step.length == 5,
	      "a call has its target");
	step = step_of("\xeb\xfe", 2, 0x1000, 8);
	check(step.flow == CODE_JUMP && step.target == 0x1000, "a jump has its target");
	step = step_of("\xff\x25\x10\0\0\0", 6, 0x1000, 8);
	check(step.flow == CODE_INDIRECT && !step.target,
	      "the word that an indirect jump reads is no target");
	step = step_of("\xff\xe0", 2, 0x1000, 8);
	check(step.flow == CODE_INDIRECT && !step.target, "a jump to an address in a register");
	step = step_of("\xf3\xc3", 2, 0x1000, 8);
	check(step.flow == CODE_RETURN && step.length == 2, "a return with a prefix");
	step = step_of("\xc2\x08\0", 3, 0x1000, 8);
	check(step.flow == CODE_RETURN && !step.target, "a return that drops words");
	step = step_of("\x48\xcf", 2, 0x1000, 8);
	check(step.flow == CODE_RETURN, "a return from an interrupt");
	step = step_of("\x06", 1, 0, 8);
	check(step.bad && step.length == 1, "bytes without meaning are passed one by one");
}

/* Every byte sequence has a text that ends, and a length. */
static void test_hostile(void)
{
	uint64_t state = 88172645463325252ULL;
	unsigned wrong = 0;

	for (int i = 0; i < 200000; i++) {
		char text[DISASSEMBLE_TEXT_BYTES];
		uint8_t bytes[16];
		struct code_step step;
		struct code code;
		size_t n;

		for (size_t j = 0; j < sizeof(bytes); j++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			bytes[j] = (uint8_t)(state >> 24);
		}
		n = 1 + state % sizeof(bytes);
		code = (struct code){ bytes, n, state, i & 2 ? 4 : 8, ARCH_X86 };
		step = disassemble_step(&code);
		disassemble_print(&code, i & 1 ? SYNTAX_ATT : SYNTAX_INTEL, text);
		wrong += !step.length || step.length > n || !*text ||
			 strlen(text) >= sizeof(text) - 1;
	}
	check_u64(wrong, 0, "random bytes with a wrong length");
}

/* --- comparison with objdump ------------------------------------------------------------------ */

enum cause { SAME, ZERO, INDEX, PREFIX, SHIFT, COMPARISON, X87, STRING, SYSTEM, CUT, OTHER, N_CAUSES };
static const char *const cause_names[] = { "the same",
					   "a displacement of 0 is not shown",
					   "an index that is no register is not shown",
					   "a prefix without effect is not shown",
					   "shifts by 1 have no operand for that",
					   "comparisons and products of vectors have a number",
					   "names of the x87",
					   "operands of string instructions",
					   "operands and names of system instructions",
					   "objdump ends an instruction at a symbol within it",
					   "other" };

/* Leaves one blank between words, and none at the beginning and the end. */
static void squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != ' ' || (to > text && to[-1] != ' '))
			*to++ = *from;
	while (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

static void remove_all(char *text, const char *what, size_t from, size_t n)
{
	for (char *at = text; (at = strstr(at, what));)
		memmove(at + from, at + from + n, strlen(at + from + n) + 1);
}

/* Objdump's text without prefixes that do nothing. */
static const char *without_prefixes(const char *text)
{
	static const char *const prefixes[] = { "cs ", "ds ", "es ", "ss ", "fs ", "gs ", "data16 ",
						"addr32 ", "repz ", "repnz ", "bnd ", "notrack " };
	bool again = true;

	while (again) {
		again = false;
		if (!strncmp(text, "rex", 3) && strchr(text, ' ')) {
			text = strchr(text, ' ') + 1;
			again = true;
		}
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (!strncmp(text, prefixes[i], strlen(prefixes[i]))) {
				text += strlen(prefixes[i]);
				again = true;
			}
	}
	return text;
}

static bool begins_with_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(text, *words, strlen(*words)))
			return true;
	return false;
}

/*
 * Objdump has other names for debug registers, and all of a register where a segment's 16 bits go.
 */
static bool moves_special_register(const char *text)
{
	static const char *const registers[] = { "%cs", "%ds", "%es", "%fs", "%gs", "%ss", "%dr", NULL };

	if (strncmp(text, "mov ", 4))
		return false;
	for (const char *at = text; (at = strchr(at, '%')); at++)
		if (begins_with_one_of(at, registers) && at[3] != ':')
			return true;
	return false;
}

/* Both texts are squeezed, and are changed here. */
static enum cause cause_of(char *ours, char *theirs)
{
	static const char *const vectors[] = { "vpcmp", "cmp", "vcmp", "pclmul", "vpclmul", "sha256",
					       "vpcom", NULL };
	static const char *const strings[] = { "movs", "stos", "lods", "scas", "cmps", "ins", "outs",
					       "rep ", "repe ", "repne ", NULL };
	static const char *const system[] = { "in ", "out ", "pushf", "popf", "lret", "monitor", "mwait",
 "sysret", "invpcid", "pvalidate",
					      "rmpadjust", "vmmcall", "vmgexit", "lsl", "iret", "xlat",
					      "enter", NULL };
	static const char *const shifts[] = { "sh", "sar", "sal", "ro", "rc", NULL };
	static const char *const floating[] = { "f", NULL };
	const char *rest;

	if (!strcmp(ours, theirs))
		return SAME;
	remove_all(theirs, "0x0(", 0, 3);
	if (!strcmp(ours, theirs))
		return ZERO;
	remove_all(theirs, ",%eiz,1", 0, 7); /* the longer coding of the same address */
	if (!strcmp(ours, theirs))
		return INDEX;
	/* binutils from 2.41 on: "shr $1,%rax" for d1 /5, the same code as "shr %rax". */
	if (begins_with_one_of(ours, shifts)) {
		remove_all(theirs, " $1,", 1, 3);
		if (!strcmp(ours, theirs))
			return SHIFT;
	}
	rest = without_prefixes(theirs);
	if (!strcmp(ours, rest) || !strcmp(without_prefixes(ours), rest))
		return PREFIX;
	if (begins_with_one_of(ours, strings))
		return STRING;
	if (begins_with_one_of(ours, floating))
		return X87;
	if (begins_with_one_of(ours, vectors))
		return COMPARISON;
	return begins_with_one_of(ours, system) || moves_special_register(ours) ? SYSTEM : OTHER;
}

/*
 * The kernel's thunks against speculation have symbols inside instructions (Linux
 * arch/x86/lib/retpoline.S, srso_safe_ret). Objdump begins anew there, and shows a prefix alone, or
 * ".byte". xtop follows a function from its start.
 */
static bool is_cut(const char *theirs)
{
	return !strncmp(theirs, ".byte", 5) || (!strncmp(theirs, "rex", 3) && !strchr(theirs, ' '));
}

struct comparison {
	const struct objdump_text *text;
	uint64_t n, boundaries, causes[N_CAUSES];
	uint64_t address; /* start of our next instruction; 0: at objdump's next line */
};

static void compare_line(void *context, char *line)
{
	struct comparison *comparison = context;
	const struct objdump_text *section = comparison->text;
	char text[DISASSEMBLE_TEXT_BYTES], *theirs;
	uint64_t address, distance;
	struct code_step step;
	struct code code;
	enum cause cause;

	theirs = objdump_parse(section, line, &address);
	if (!theirs)
		return;
	distance = address - section->start;
	code = (struct code){ section->bytes + distance, section->size_bytes - distance, address,
			      section->word_bytes, ARCH_X86 };
	theirs[strcspn(theirs, "#<\n")] = '\0';
	squeeze(theirs);
	comparison->n++;
	comparison->boundaries += comparison->address && address != comparison->address;
	step = disassemble_step(&code);
	comparison->address = is_cut(theirs) ? 0 : address + step.length;
	disassemble_print(&code, SYNTAX_ATT, text);
	squeeze(text);
	if (step.target) { /* objdump writes 0x with some files, and without it with others */
		remove_all(text, " 0x", 1, 2);
		remove_all(theirs, " 0x", 1, 2);
	}
	cause = is_cut(theirs) ? CUT : cause_of(text, theirs);
	if (cause == OTHER && comparison->causes[OTHER] < 20)
		printf("# %" PRIx64 ": %s, objdump: %s\n", address, text, theirs);
	comparison->causes[cause]++;
}

static void compare_text(const struct objdump_text *text)
{
	struct comparison comparison = { .text = text, .address = text->start };

	if (!text->is_x86) {
		printf("ok %u - # SKIP %s has no code of x86\n", ++tap_points, text->path);
		return;
	}
	objdump_lines("objdump", text, compare_line, &comparison);
	if (!objdump_report(text, comparison.n, comparison.causes, cause_names, N_CAUSES))
		return;
	check_u64(comparison.boundaries, 0, "instructions that begin elsewhere");
	check((comparison.causes[OTHER] + comparison.causes[CUT]) * 10000 <= comparison.n,
	      "one of 10,000 at most differs for no known cause: %" PRIu64,
	      comparison.causes[OTHER]);
}

static void compare_file(const char *path)
{
	objdump_with_text(path, compare_text);
}

/* A file of lines "ours<tab>objdump's": texts that differ, which live_text has found. */
static void compare_texts(const char *path)
{
	uint64_t n = 0, others = 0;
	char line[4096], *theirs;
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		theirs = strchr(line, '\t');
		if (!theirs)
			continue;
		*theirs++ = '\0';
		squeeze(line);
		squeeze(theirs);
		n++;
		if (cause_of(line, theirs) != OTHER)
			continue;
		printf("# %s, objdump: %s\n", line, theirs);
		others++;
	}
	if (file)
		fclose(file);
	check(file && !others, "%s: of %" PRIu64 " texts %" PRIu64 " differ for no known cause", path,
	      n, others);
}

int main(void)
{
	test_text();
	test_text_32();
	test_steps();
	test_steps_32();
	test_hostile();
	with_libc_file(compare_file);
	compare_file("/usr/bin/python3.11");
	compare_file("/lib32/libc.so.6");
	with_named_files("XTOP_DISASSEMBLE", compare_file);
	if (getenv("XTOP_TEXTS"))
		compare_texts(getenv("XTOP_TEXTS"));
	return tap_done();
}
