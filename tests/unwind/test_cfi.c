/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of call-frame information (DWARF 5 §6.4.2): what each of them makes of a rule,
 * and programs that are damaged in every byte.
 */
#include "config.h"

#include "cfi_programs.h"
#include "tests/support/must.h"

static void test_instructions(void)
{
	check_program("nop", "rsp+8 ret-8", 0x00);
	check_program("def_cfa", "rbp+16 ret-8", 0x0c, 6, 16);
	check_program("def_cfa of every register", "r15+16 ret-8", 0x0c, 15, 16);
	check_program("def_cfa_register", "rbp+8 ret-8", 0x0d, 6);
	check_program("def_cfa_offset", "rsp+304 ret-8", 0x0e, 0xb0, 0x02);
	check_program("def_cfa_sf", "rbp+16 ret-8", 0x12, 6, 0x7e);
	check_program("def_cfa_offset_sf", "rsp+32 ret-8", 0x13, 0x7c);
	check_program("offset", "rsp+8 ret-8 rbx-24 rbp-16", 0x86, 2, 0x83, 3);
	check_program("offset_extended", "rsp+8 ret-8 r15-56", 0x05, 15, 7);
	check_program("offset_extended_sf", "rsp+8 ret-8 r12+16", 0x11, 12, 0x7e);
	check_program("GNU_negative_offset_extended", "rsp+8 ret-8 r13+24", 0x2f, 13, 3);
	check_program("restore", "rsp+8 ret-8", 0x86, 2, 0xc6);
	check_program("restore goes back to the CIE's rule", "rsp+8 ret-8", 0x90, 3, 0xd0);
	check_program("restore_extended", "rsp+8 ret-8", 0x8e, 2, 0x06, 14);
	check_program("undefined", "rsp+8 ret-8 rbx lost", 0x07, 3);
	check_program("undefined return address", "outermost", 0x07, 16);
	check_program("same_value", "rsp+8 ret-8", 0x86, 2, 0x08, 6);
	check_program("register", "ask", 0x09, 16, 1);
	check_program("a rule of a register that unwinding does not need is ignored", "rsp+8 ret-8",
		      0x09, 40, 1);
	check_program("remember and restore", "rsp+8 ret-8 rbp-16", 0x86, 2, 0x0a, 0x0e, 64, 0xc6,
		      0x0b);
	check_program("expression of the CFA", "ask", 0x0f, 3, 0x77, 16, 0x96);
	check_program("CFA read through a pointer", "*(rbp-8) ret-8", 0x0f, 3, 0x76, 0x78, 0x06);
	check_program("CFA in a PLT", "plt 11 ret-8", 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b,
		      0x2a, 0x33, 0x24, 0x22);
	check_program("CFA in a PLT for CET", "plt 10 ret-8", 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f,
		      0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22);
	check_program("expression", "ask", 0x10, 6, 2, 0x76, 0);
	check_program("val_expression", "ask", 0x16, 6, 2, 0x76, 0);
	check_program("val_offset of rsp 0", "rsp+8 ret-8", 0x14, 7, 0);
	check_program("val_offset", "ask", 0x14, 6, 2);
	check_program("val_offset_sf", "ask", 0x15, 6, 0x7e);
	check_program("GNU_args_size", "rsp+8 ret-8", 0x2e, 16);
	check_program("a caller-saved register", "rsp+8 ret-8", 0x82, 4);
	check_program("a vector register", "rsp+8 ret-8", 0x05, 17, 4);
	check_program("a register saved too far away is left to libunwind", "ask", 0x86, 100);
}

/* An expression as long as it may be, and one byte longer. */
static void check_long_expression(void)
{
	for (unsigned bytes = 256; bytes <= 257; bytes++) {
		uint8_t program[1 + 3 + 257] = { 0x41, 0x0f, (uint8_t)(bytes | 0x80), 2 };
		struct cfi *cfi;

		memset(program + 4, 0x96, 257);
		program[4] = 0x77;
		program[5] = 0;
		cfi = compile_program(program, 4 + bytes);
		check_string(rule_text(cfi, MADE_CODE + 16), bytes == 256 ? "ask" : "none",
			     bytes == 256 ? "the longest expression is left to libunwind"
					  : "a longer expression is refused");
		cfi_destroy(cfi);
	}
}

/* An instruction that cannot be read, or that is not safe, leaves no rule. */
static void test_bad_instructions(void)
{
	check_program("an unknown opcode", "none", 0x1f);
	check_program("def_cfa cut short", "none", 0x0c);
	check_program("an expression cut short", "none", 0x0f, 200, 0x77);
	check_program("restore_state without remember_state", "none", 0x0b);
	check_program("def_cfa_offset of an expression", "none", 0x0f, 2, 0x77, 8, 0x0e, 16);
	check_program("a CFA by a register that does not exist", "none", 0x0c, 16, 8);
	check_program("an expression that loops", "none", 0x0f, 4, 0x30, 0x28, 0xfc, 0xff);
	check_program("an expression that jumps", "none", 0x0f, 4, 0x77, 8, 0x2f, 0);
	check_program("an expression that divides", "none", 0x0f, 3, 0x31, 0x30, 0x1b);
	check_program("an expression of an unknown operation", "none", 0x0f, 2, 0x77, 0xf0);
	check_program("an empty expression", "none", 0x0f, 0);
	check_program("a register's expression that loops", "none",
		      0x16, 6, 4, 0x30, 0x28, 0xfc, 0xff);
	check_program("a saved register's expression that divides", "none",
		      0x10, 6, 3, 0x31, 0x30, 0x1b);
	check_long_expression();
}

static void test_advances(void)
{
	static const uint8_t program[] = {
		0x41, 0x0e, 16,                             /* 1: advance_loc */
		0x02, 0x10, 0x0e, 24,                       /* 11: advance_loc1 */
		0x03, 0x20, 0x00, 0x0e, 32,                 /* 31: advance_loc2 */
		0x04, 0x40, 0,    0,    0,  0x0e, 40,       /* 71: advance_loc4 */
		0x01, 0x80, 0x10, 0x40, 0,  0,    0,  0, 0, /* 80: set_loc */
		0x0e, 48
	};
	struct cfi *cfi = compile_program(program, sizeof(program));
	static const struct {
		unsigned at;
		const char *rule;
	} wanted[] = { { 0, "rsp+8 ret-8" },     { 1, "rsp+16 ret-8" },    { 0x10, "rsp+16 ret-8" },
		       { 0x11, "rsp+24 ret-8" }, { 0x30, "rsp+24 ret-8" }, { 0x31, "rsp+32 ret-8" },
		       { 0x70, "rsp+32 ret-8" }, { 0x71, "rsp+40 ret-8" }, { 0x7f, "rsp+40 ret-8" },
		       { 0x80, "rsp+48 ret-8" }, { 0xff, "rsp+48 ret-8" }, { 0x100, "none" } };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		check_string(rule_text(cfi, MADE_CODE + wanted[i].at), wanted[i].rule,
			     "the rule after an advance");
	check_string(rule_text(cfi, MADE_CODE - 1), "none",
		     "an address before the function has no rule");
	cfi_destroy(cfi);
}

/* Rows before a broken instruction are kept, rows after it are not known. */
static void test_broken_later(void)
{
	static const uint8_t program[] = { 0x41, 0x0e, 16, 0x41, 0x1f, 0x41, 0x0e, 24 };
	static const uint8_t beyond[] = { 0x41, 0x0e, 16, 0x03, 0x00, 0x02, 0x0e, 24 };
	static const uint8_t back[] = {
		0x50, 0x0e, 16, 0x01, 0, 0x10, 0x40, 0, 0, 0, 0, 0, 0x0e, 24
	};
	struct cfi *cfi = compile_program(program, sizeof(program));

	check_string(rule_text(cfi, MADE_CODE + 1), "rsp+16 ret-8",
		     "the row before a broken instruction is kept");
	check_string(rule_text(cfi, MADE_CODE + 2), "none",
		     "the row at a broken instruction is unknown");
	check_u64(cfi->n_refused, 1, "a broken program counts as refused");
	cfi_destroy(cfi);
	cfi = compile_program(beyond, sizeof(beyond));
	check_string(rule_text(cfi, MADE_CODE + 0xff), "rsp+16 ret-8",
		     "an advance beyond the function's end ends the last row there");
	check_string(rule_text(cfi, MADE_CODE + 0x201), "none",
		     "an address after an advance beyond the end has no rule");
	cfi_destroy(cfi);
	cfi = compile_program(back, sizeof(back));
	check_string(rule_text(cfi, MADE_CODE + 0x20), "none", "a set_loc backwards is refused");
	cfi_destroy(cfi);
}

static void test_states(void)
{
	uint8_t program[2 * (CFI_MAX_STATES + 1) + 1] = { 0x41 };
	struct cfi *cfi;

	memset(program + 1, 0x0a, CFI_MAX_STATES);
	memset(program + 1 + CFI_MAX_STATES, 0x0b, CFI_MAX_STATES);
	cfi = compile_program(program, 1 + 2 * CFI_MAX_STATES);
	check_string(rule_text(cfi, MADE_CODE + 16), "rsp+8 ret-8",
		     "64 remembered states are restored");
	cfi_destroy(cfi);
	memset(program + 1, 0x0a, CFI_MAX_STATES + 1);
	cfi = compile_program(program, 2 + CFI_MAX_STATES);
	check_string(rule_text(cfi, MADE_CODE + 16), "none", "65 remembered states are refused");
	cfi_destroy(cfi);
}

/* --- damage ----------------------------------------------------------------------------------- */

static unsigned made_good, made_none;

static void try_bytes(const struct cfi_bytes *made)
{
	struct cfi *cfi = bytes_compile(made);

	if (cfi) {
		made_good++;
		for (uint32_t row = 1; row < cfi->n_rows; row++)
			if (cfi->addresses[row] <= cfi->addresses[row - 1])
				check(false, "the rows of a table ascend");
		for (uint64_t at = 0; at < 0x120; at++)
			rule_text(cfi, MADE_CODE + at);
	} else {
		made_none++;
	}
	cfi_destroy(cfi);
}

static void test_damage(void)
{
	static const uint8_t program[] = { 0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d, 6,    0x0a,
					   0x48, 0xc6, 0x0c, 7,    8, 0x41, 0x0b, 0x0f, 3,
					   0x76, 0x78, 0x06, 0x10, 3, 2,    0x76, 0x70 };
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct cfi_bytes good = { 0 }, bad;

	bytes_cie(&good, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&good, &plain, sizeof(plain), program, sizeof(program));
	bytes_fde(&good, &plain, sizeof(plain), program, sizeof(program));
	for (size_t i = 0; i < good.n; i++) {
		for (size_t j = 0; j < sizeof(values); j++) {
			bad = good;
			bad.bytes[i] = values[j];
			try_bytes(&bad);
		}
		bad = good;
		bad.n = i;
		try_bytes(&bad);
	}
	check(made_good > 100 && made_none > 10, "damaged bytes: %u tables, %u none", made_good,
	      made_none);
}

/* The rule at ADDRESS of a function whose file begins to run at ENTRY, and then calls CALLED. */
static void check_called(const char *what, uint64_t entry, uint64_t called, const void *program,
			 size_t bytes, uint64_t address, const char *wanted)
{
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections;
	struct cfi *cfi = NULL;

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), program, bytes);
	sections = bytes_sections(&made);
	sections.entries = (struct entry_points){ .elf = entry, .called = called };
	must(cfi_compile(&sections, &cfi));
	check_string(rule_text(cfi, address), wanted, what);
	cfi_destroy(cfi);
}

static void check_entry(const char *what, uint64_t entry, const void *program, size_t bytes,
			uint64_t address, const char *wanted)
{
	check_called(what, entry, 0, program, bytes, address, wanted);
}

/* _start has no caller from its first instruction on, even if its FDE says so only later. */
static void test_entry(void)
{
	static const uint8_t undefined[] = { 0x44, 0x07, 16 }, none[] = { 0x44 };

	check_entry("the first instruction of _start", MADE_CODE, undefined, sizeof(undefined),
		    MADE_CODE, "outermost");
	check_entry("the rest of _start", MADE_CODE, undefined, sizeof(undefined), MADE_CODE + 16,
		    "outermost");
	check_entry("another function that has no caller later", MADE_CODE - 16, undefined,
		    sizeof(undefined), MADE_CODE, "rsp+8 ret-8");
	check_entry("a function where the code begins", MADE_CODE, none, sizeof(none), MADE_CODE,
		    "rsp+8 ret-8");
	check_called("_start before a function that its FDE covers", MADE_CODE, MADE_CODE + 32,
		     undefined, sizeof(undefined), MADE_CODE + 31, "outermost");
	check_called("a function that is called has a caller, though _start's FDE covers it",
		     MADE_CODE, MADE_CODE + 32, undefined, sizeof(undefined), MADE_CODE + 32,
		     "none");
	check_called("a function that is called from elsewhere keeps its FDE's rule",
		     MADE_CODE - 16, MADE_CODE + 32, undefined, sizeof(undefined), MADE_CODE + 32,
		     "outermost");
}

int main(void)
{
	test_instructions();
	test_bad_instructions();
	test_advances();
	test_broken_later();
	test_states();
	test_damage();
	test_entry();
	return tap_done();
}
