/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs unwinding instructions of 32-bit Arm code (IHI 0038 §10.3). A virtual stack pointer, vsp,
 * begins at sp. A register is popped from the place where the function has saved it:
 *
 *   00nnnnnn           vsp += 4 n + 4
 *   01nnnnnn           vsp -= 4 n + 4
 *   1000rrrr rrrrrrrr  pop r15 .. r4, one bit for each; all 0: refuse to unwind
 *   1001nnnn           vsp = r[n], not 13 or 15
 *   1010Lnnn           pop r4 .. r[4 + n], and lr if L
 *   10110000           finish
 *   10110001 0000rrrr  pop r3 .. r0
 *   10110010 uleb128   vsp += 0x204 + 4 * uleb128
 *   10110011 sssscccc  pop c + 1 double registers, and a word (FSTMFDX)
 *   10111nnn           pop n + 1 double registers, and a word
 *   11000110 sssscccc  pop c + 1 registers of iWMMXt, 8 bytes each
 *   11000111 0000rrrr  pop control registers of iWMMXt, 4 bytes each
 *   11000nnn           pop n + 1 registers of iWMMXt, n up to 5
 *   1100100s sssscccc  pop c + 1 double registers (VPUSH)
 *   11010nnn           pop n + 1 double registers (VPUSH)
 *
 * All other codes are spare. The bytes are the guest's. Resolver's thread; pure functions.
 */
#include "config.h"

#include "unwind/exidx.h"

#include <limits.h>
#include <string.h>


#define EXIDX_MAX_FRAME_BYTES (1 << 20) /* no stack is longer */
#define EXIDX_NOWHERE         INT_MAX
#define EXIDX_REGISTERS       16
#define EXIDX_SP              13
#define EXIDX_LR              14
#define EXIDX_PC              15
#define WORD                  4

struct exidx_run {
	const uint8_t *at, *end;
	unsigned base; /* number of the register that offsets are relative to */
	int vsp;       /* offset of the virtual stack pointer from the base register */
	int places[EXIDX_REGISTERS]; /* register -> offset of its popped word, or EXIDX_NOWHERE */
	bool has_sp;                 /* sp was popped: no further instruction is allowed */
	bool refused, finished;
};

static uint8_t exidx_byte(struct exidx_run *run)
{
	if (run->at == run->end) {
		run->refused = true;
		return 0;
	}
	return *run->at++;
}

static void exidx_move(struct exidx_run *run, int64_t bytes)
{
	int64_t vsp = run->vsp + bytes;

	if (vsp > EXIDX_MAX_FRAME_BYTES || vsp < -EXIDX_MAX_FRAME_BYTES)
		run->refused = true;
	else
		run->vsp = (int)vsp;
}

/* Pops the registers of MASK, in which bit 0 is r0. The lowest register has the lowest place. */
static void exidx_pop(struct exidx_run *run, unsigned mask)
{
	for (unsigned i = 0; i < EXIDX_REGISTERS; i++) {
		if (!(mask >> i & 1))
			continue;
		run->places[i] = run->vsp;
		exidx_move(run, WORD);
	}
	run->has_sp |= mask >> EXIDX_SP & 1;
}

/* vsp = r[NUMBER]. Refused after a pop, because popped places are relative to the old base. */
static void exidx_set_base(struct exidx_run *run, unsigned number)
{
	for (unsigned i = 0; i < EXIDX_REGISTERS; i++)
		run->refused |= run->places[i] != EXIDX_NOWHERE;
	run->refused |= number == EXIDX_SP || number == EXIDX_PC;
	run->base = number;
	run->vsp = 0;
}

static void exidx_move_far(struct exidx_run *run)
{
	uint64_t value = 0;
	uint8_t byte;

	for (unsigned shift = 0;; shift += 7) {
		byte = exidx_byte(run);
		if (shift < 28)
			value |= (uint64_t)(byte & 0x7f) << shift;
		else if (byte)
			run->refused = true;
		if (!(byte & 0x80) || run->refused)
			break;
	}
	exidx_move(run, 0x204 + 4 * (int64_t)value);
}

/* Runs an instruction 1011xxxx. */
static void exidx_run_b(struct exidx_run *run, uint8_t byte)
{
	if (byte == 0xb0) {
		run->finished = true;
	} else if (byte == 0xb1) {
		byte = exidx_byte(run);
		run->refused |= !byte || byte > 15;
		exidx_pop(run, byte);
	} else if (byte == 0xb2) {
		exidx_move_far(run);
	} else if (byte == 0xb3) {
		exidx_move(run, 8 * ((exidx_byte(run) & 15) + 1) + WORD);
	} else if (byte >= 0xb8) {
		exidx_move(run, 8 * ((byte & 7) + 1) + WORD);
	} else {
		run->refused = true;
	}
}

/* Runs an instruction 11xxxxxx, which pops registers of coprocessors. */
static void exidx_run_c(struct exidx_run *run, uint8_t byte)
{
	if (byte == 0xc6 || byte == 0xc8 || byte == 0xc9) {
		exidx_move(run, 8 * ((exidx_byte(run) & 15) + 1));
	} else if (byte == 0xc7) {
		byte = exidx_byte(run);
		run->refused |= !byte || byte > 15;
		exidx_move(run, WORD * __builtin_popcount(byte));
	} else if (byte < 0xc6 || (byte & 0xf8) == 0xd0) {
		exidx_move(run, 8 * ((byte & 7) + 1));
	} else {
		run->refused = true;
	}
}

static void exidx_run_one(struct exidx_run *run)
{
	uint8_t byte = exidx_byte(run);
	unsigned mask;

	run->refused |= run->has_sp && byte != 0xb0;
	switch (byte >> 4) {
	case 0 ... 3:
		exidx_move(run, 4 * (byte & 0x3f) + 4);
		break;
	case 4 ... 7:
		exidx_move(run, -4 * (byte & 0x3f) - 4);
		break;
	case 8:
		mask = (byte & 15U) << 8 | exidx_byte(run);
		run->refused |= !mask;
		exidx_pop(run, mask << 4);
		break;
	case 9:
		exidx_set_base(run, byte & 15);
		break;
	case 10:
		mask = ((2U << (byte & 7)) - 1) << 4;
		exidx_pop(run, mask | (byte & 8 ? 1U << EXIDX_LR : 0));
		break;
	case 11:
		exidx_run_b(run, byte);
		break;
	default:
		exidx_run_c(run, byte);
		break;
	}
}

/* --- the rule --------------------------------------------------------------------------------- */

/* Where register NUMBER was popped from. The return address may have been popped into pc. */
static int exidx_place(const struct exidx_run *run, unsigned number)
{
	if (number == EXIDX_LR && run->places[EXIDX_PC] != EXIDX_NOWHERE)
		return run->places[EXIDX_PC];
	return run->places[number];
}

static struct cfi_rule exidx_make_rule(const struct exidx_run *run)
{
	const struct cfi_machine *machine = &cfi_machine_arm32;
	struct cfi_rule rule = { .kind = RULE_CFA_ARM32,
				 .reg = machine->registers[run->base],
				 .unchanged = machine->preserved_mask,
				 .offset = run->vsp };
	int low = INT_MAX, high = INT_MIN;

	memset(rule.slot, CFI_RULE_WORDS, sizeof(rule.slot));
	for (unsigned i = 0; i < machine->n_preserved; i++) {
		int place = exidx_place(run, machine->preserved_numbers[i]);

		if (place == EXIDX_NOWHERE)
			continue;
		low = place < low ? place : low;
		high = place > high ? place : high;
	}
	if (high < low)
		return rule;
	rule.low = (int16_t)((low - run->vsp) / WORD);
	rule.n_words = (uint8_t)((high - low) / WORD + 1);
	if ((low - run->vsp) / WORD != rule.low || (high - low) / WORD >= CFI_RULE_WORDS)
		return (struct cfi_rule){ .kind = RULE_NONE };
	for (unsigned i = 0; i < machine->n_preserved; i++) {
		int place = exidx_place(run, machine->preserved_numbers[i]);

		if (place == EXIDX_NOWHERE)
			continue;
		rule.slot[i] = (uint8_t)((place - low) / WORD);
		rule.saved |= 1U << machine->preserved_registers[i];
	}
	return rule;
}

/* The rule for Linux's entries from kernel code, which pop r0 to pc (entry-armv.S, svc_entry). */
static struct cfi_rule exidx_make_registers(const struct exidx_run *run)
{
	for (unsigned i = 0; i < EXIDX_REGISTERS; i++)
		if (run->places[i] == EXIDX_NOWHERE ||
		    run->places[i] != run->places[0] + WORD * (int)i)
			return (struct cfi_rule){ .kind = RULE_NONE };
	return (struct cfi_rule){ .kind = RULE_REGISTERS_ARM32,
				  .reg = cfi_machine_arm32.registers[run->base],
				  .offset = run->places[0] };
}

struct cfi_rule exidx_rule(const uint8_t *bytes, size_t n)
{
	struct exidx_run run = { .at = bytes, .end = bytes + n, .base = EXIDX_SP };

	for (unsigned i = 0; i < EXIDX_REGISTERS; i++)
		run.places[i] = EXIDX_NOWHERE;
	while (run.at < run.end && !run.finished && !run.refused)
		exidx_run_one(&run);
	if (run.refused)
		return (struct cfi_rule){ .kind = RULE_NONE };
	return run.has_sp ? exidx_make_registers(&run) : exidx_make_rule(&run);
}
