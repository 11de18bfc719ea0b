/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions of arm64 as text; see disassemble.h. Capstone prints most instructions. The library
 * is loaded when it is first needed, because its 77,000 relocations would take a third of the
 * program's start. This file decodes branches, because all instructions have four bytes and few are
 * branches. It also prints common instructions that Capstone 4.0.2 does not know: the atomics of
 * Armv8.1, which are in each lock of a kernel, and the hints that sign addresses. Encodings are
 * from the Arm Architecture Reference Manual (DDI 0487), chapter C4.
 *
 * The text differs from objdump's in numbers, which are always hexadecimal, and in the conditions
 * hs and lo, which objdump calls cs and cc. tests/unwind/test_disassemble_arm64 compares both.
 */
#include "config.h"

#include "xtop/unwind/disassemble.h"

#include <capstone.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "xtop/base/library.h"

#define WORD_BYTES sizeof(uint32_t)

/* The library's version must be that of the headers, because structures depend on the version. */
#define CAPSTONE_LIBRARY_OF(version) "libcapstone.so." #version
#define CAPSTONE_LIBRARY_BY(version) CAPSTONE_LIBRARY_OF(version)
#define CAPSTONE_LIBRARY             CAPSTONE_LIBRARY_BY(CS_API_MAJOR)

/* Set once, by capstone_load(). `found` is false if the library or a function is missing. */
static struct {
	bool found;
	__typeof__(cs_open) *open;
	__typeof__(cs_disasm_iter) *disasm_iter;
	__typeof__(cs_close) *close;
} capstone;

static void capstone_load(void)
{
	static const struct library_function functions[] = {
		{ "cs_open", &capstone.open },
		{ "cs_disasm_iter", &capstone.disasm_iter },
		{ "cs_close", &capstone.close },
	};

	capstone.found = library_load(CAPSTONE_LIBRARY, functions,
				      sizeof(functions) / sizeof(functions[0]));
}

bool disassemble_arm64_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, capstone_load);
	return capstone.found;
}

static uint32_t arm64_word(const struct code *code)
{
	uint32_t word;

	memcpy(&word, code->bytes, sizeof(word));
	return word;
}

static uint32_t arm64_bits(uint32_t word, unsigned from, unsigned n)
{
	return word >> from & ((1U << n) - 1);
}

/* --- where control goes ----------------------------------------------------------------------- */

/* A branch's target: N signed bits from bit FROM on are the distance in words. */
static uint64_t arm64_target(const struct code *code, uint32_t word, unsigned from, unsigned n)
{
	int64_t distance = (int64_t)((uint64_t)arm64_bits(word, from, n) << (64 - n));

	return code->address + (uint64_t)(distance >> (64 - n)) * WORD_BYTES;
}

static bool arm64_is_direct(uint32_t word) /* b, bl */
{
	return (word & 0x7c000000) == 0x14000000;
}

static bool arm64_is_conditional(uint32_t word) /* b.cond */
{
	return (word & 0xff000010) == 0x54000000;
}

static bool arm64_is_comparison(uint32_t word) /* cbz, cbnz */
{
	return (word & 0x7e000000) == 0x34000000;
}

struct code_step disassemble_arm64_step(const struct code *code)
{
	struct code_step step = { .length = WORD_BYTES, .flow = CODE_NEXT };
	uint32_t word;

	if (code->n < WORD_BYTES)
		return (struct code_step){ .length = 1, .flow = CODE_NEXT, .bad = true };
	word = arm64_word(code);
	if (arm64_is_direct(word)) {
		step.flow = word >> 31 ? CODE_CALL : CODE_JUMP;
		step.target = arm64_target(code, word, 0, 26);
	} else if (arm64_is_conditional(word) || arm64_is_comparison(word)) {
		step.flow = CODE_BRANCH;
		step.target = arm64_target(code, word, 5, 19);
	} else if ((word & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		step.flow = CODE_BRANCH;
		step.target = arm64_target(code, word, 5, 14);
	} else if ((word & 0xfeff0000) == 0xd63f0000) { /* blr, blraa and the like */
		step.flow = CODE_CALL;
	} else if ((word & 0xfeff0000) == 0xd61f0000) { /* br, braa and the like */
		step.flow = CODE_INDIRECT;
	} else if ((word & 0xff3f0000) == 0xd61f0000) { /* ret, retaa, eret */
		step.flow = CODE_RETURN;
	}
	return step;
}

/* --- text ------------------------------------------------------------------------------------- */

static void arm64_print(char text[DISASSEMBLE_TEXT_BYTES], const char *name, const char *operands)
{
	snprintf(text, DISASSEMBLE_TEXT_BYTES, *operands ? "%-6s %s" : "%s", name, operands);
}

/* The name of a register, in an operand where number 31 is the zero register. */
static const char *arm64_register(unsigned number, bool is_long, char name[8])
{
	if (number == 31)
		snprintf(name, 8, "%czr", is_long ? 'x' : 'w');
	else
		snprintf(name, 8, "%c%u", is_long ? 'x' : 'w', number & 31);
	return name;
}

/* The name of a register, in an operand where number 31 is the stack pointer. */
static const char *arm64_base(unsigned number, char name[8])
{
	return number == 31 ? "sp" : arm64_register(number, true, name);
}

static bool arm64_print_branch(const struct code *code, uint32_t word, char *text)
{
	static const char conditions[16][8] = { "b.eq", "b.ne", "b.hs", "b.lo", "b.mi", "b.pl",
						"b.vs", "b.vc", "b.hi", "b.ls", "b.ge", "b.lt",
						"b.gt", "b.le", "b.al", "b.nv" };
	struct code_step step = disassemble_arm64_step(code);
	char operands[64], name[8];

	if (!step.target)
		return false;
	if (arm64_is_direct(word) || arm64_is_conditional(word)) {
		snprintf(operands, sizeof(operands), "0x%" PRIx64, step.target);
		arm64_print(text, arm64_is_conditional(word) ? conditions[word & 15] :
				  word >> 31		     ? "bl" : "b", operands);
	} else if (arm64_is_comparison(word)) {
		snprintf(operands, sizeof(operands), "%s, 0x%" PRIx64,
			 arm64_register(word & 31, word >> 31, name), step.target);
		arm64_print(text, word & 1 << 24 ? "cbnz" : "cbz", operands);
	} else {
		snprintf(operands, sizeof(operands), "%s, #%u, 0x%" PRIx64,
			 arm64_register(word & 31, word >> 31, name),
			 (word >> 31) << 5 | arm64_bits(word, 19, 5), step.target);
		arm64_print(text, word & 1 << 24 ? "tbnz" : "tbz", operands);
	}
	return true;
}

/* Prints the "Hints" of C4.1. */
static bool arm64_print_hint(uint32_t word, char *text)
{
	static const char *const names[40] = {
		"nop", "yield", "wfe", "wfi", "sev", "sevl", "dgh", "xpaclri",
		[8] = "pacia1716", [10] = "pacib1716", [12] = "autia1716", [14] = "autib1716",
		[16] = "esb", "psb    csync", "tsb    csync", [20] = "csdb", [22] = "clearbhb",
		[24] = "paciaz", "paciasp", "pacibz", "pacibsp", "autiaz", "autiasp", "autibz",
		"autibsp", "bti", [34] = "bti    c", [36] = "bti    j", [38] = "bti    jc",
	};
	uint32_t number = arm64_bits(word, 5, 7);

	if ((word & 0xfffff01f) != 0xd503201f || number >= 40 || !names[number])
		return false;
	arm64_print(text, names[number], "");
	return true;
}

/* Appends to WHAT "a" for acquires, "l" for releases, and the letter of the size in memory. */
static void arm64_name_atomic(uint32_t word, const char *what, bool acquires, bool releases,
			      char name[24])
{
	static const char sizes[4][2] = { "b", "h", "", "" };

	snprintf(name, 24, "%s%s%s%s", what, acquires ? "a" : "", releases ? "l" : "",
		 sizes[word >> 30]);
}

/* Prints "Compare and swap" and "Compare and swap pair" of C4.1. */
static bool arm64_print_swap(uint32_t word, char *text)
{
	bool pair = (word & 0xbfa07c00) == 0x08207c00, is_long = word >> 30 == (pair ? 1 : 3);
	unsigned from = arm64_bits(word, 16, 5), to = word & 31;
	char name[24], operands[64], names[5][8];
	const char *base = arm64_base(arm64_bits(word, 5, 5), names[0]);

	if ((!pair && (word & 0x3fa07c00) != 0x08a07c00) || (pair && (from | to) & 1))
		return false;
	arm64_name_atomic(pair ? 3U << 30 : word, pair ? "casp" : "cas", word & 1 << 22,
			  word & 1 << 15, name);
	arm64_register(from, is_long, names[1]);
	arm64_register(to, is_long, names[3]);
	if (pair)
		snprintf(operands, sizeof(operands), "%s, %s, %s, %s, [%s]", names[1],
			 arm64_register(from + 1, is_long, names[2]), names[3],
			 arm64_register(to + 1, is_long, names[4]), base);
	else
		snprintf(operands, sizeof(operands), "%s, %s, [%s]", names[1], names[3], base);
	arm64_print(text, name, operands);
	return true;
}

/* Prints the "Atomic memory operations" of C4.1. If the old value is dropped, ldadd is stadd. */
static bool arm64_print_atomic(uint32_t word, char *text)
{
	static const char operations[8][8] = { "add", "clr", "eor", "set",
					       "smax", "smin", "umax", "umin" };
	bool swap = arm64_bits(word, 12, 4) == 8, is_long = word >> 30 == 3;
	bool acquires = word & 1 << 23, store = !swap && !acquires && (word & 31) == 31;
	char what[16], name[24], operands[64], names[3][8];
	const char *base = arm64_base(arm64_bits(word, 5, 5), names[0]);

	if ((word & 0x3f200c00) != 0x38200000 || (!swap && word & 1 << 15))
		return false;
	snprintf(what, sizeof(what), "%s%s", swap ? "swp" : store ? "st" : "ld",
		 swap ? "" : operations[arm64_bits(word, 12, 3)]);
	arm64_name_atomic(word, what, acquires, word & 1 << 22, name);
	arm64_register(arm64_bits(word, 16, 5), is_long, names[1]);
	arm64_register(word & 31, is_long, names[2]);
	if (store)
		snprintf(operands, sizeof(operands), "%s, [%s]", names[1], base);
	else
		snprintf(operands, sizeof(operands), "%s, %s, [%s]", names[1], names[2], base);
	arm64_print(text, name, operands);
	return true;
}

/* Prints movz and movn as "mov" with the whole number, as C6.2 "MOV (wide immediate)" prefers. */
static bool arm64_print_move(uint32_t word, char *text)
{
	bool is_long = word >> 31, inverted = !(word & 1 << 30);
	uint32_t number = arm64_bits(word, 5, 16), shift = arm64_bits(word, 21, 2) * 16;
	uint64_t value = (uint64_t)number << shift;
	char name[8], operands[64];

	if ((word & 0x3f800000) != 0x12800000 || (!number && shift) || (!is_long && shift > 16) ||
	    (inverted && !is_long && number == 0xffff))
		return false;
	if (inverted)
		value = is_long ? ~value : (uint32_t)~value;
	snprintf(operands, sizeof(operands), "%s, #0x%" PRIx64,
		 arm64_register(word & 31, is_long, name), value);
	arm64_print(text, "mov", operands);
	return true;
}

/* Corrects Capstone 4.0.2, which writes "[x0], #0xfffffffffffffff0" for "[x0], #-0x10". */
static void arm64_mend_distance(char operands[DISASSEMBLE_TEXT_BYTES])
{
	char *at = strstr(operands, "], #0xffffffffffffff");
	uint64_t distance;

	if (!at)
		return;
	distance = strtoull(at + 4, NULL, 16);
	snprintf(at, DISASSEMBLE_TEXT_BYTES - (size_t)(at - operands), "], #-0x%" PRIx64,
		 -distance);
}

static bool arm64_print_other(const struct code *code, char *text)
{
	const uint8_t *bytes = code->bytes;
	size_t left_bytes = WORD_BYTES;
	uint64_t address = code->address;
	char operands[DISASSEMBLE_TEXT_BYTES];
	cs_insn decoded = { 0 }; /* the details are left out */
	csh handle;
	bool done;

	if (!disassemble_arm64_load() ||
	    capstone.open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle) != CS_ERR_OK)
		return false;
	done = capstone.disasm_iter(handle, &bytes, &left_bytes, &address, &decoded);
	capstone.close(&handle);
	if (!done)
		return false;
	snprintf(operands, sizeof(operands), "%s", decoded.op_str);
	arm64_mend_distance(operands);
	arm64_print(text, decoded.mnemonic, operands);
	return true;
}

void disassemble_arm64_print(const struct code *code, char text[DISASSEMBLE_TEXT_BYTES])
{
	char operands[16];
	uint32_t word;

	if (code->n < WORD_BYTES) {
		arm64_print(text, "(bad)", "");
		return;
	}
	word = arm64_word(code);
	if (arm64_print_branch(code, word, text) || arm64_print_hint(word, text) ||
	    arm64_print_swap(word, text) || arm64_print_atomic(word, text) ||
	    arm64_print_move(word, text) || arm64_print_other(code, text))
		return;
	/* objdump prints unknown instructions in this way */
	snprintf(operands, sizeof(operands), "0x%08" PRIx32, word);
	arm64_print(text, ".inst", operands);
}
