/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions of A64: what they do to the stack pointer and to preserved registers, and where
 * control goes. The words are GNU as's for the text beside them.
 */
#include "config.h"

#include <string.h>

#include "tests/support/tap.h"
#include "unwind/instruction_arm64.h"

#define ADDRESS 0x10000

static const struct {
	uint32_t word;
	const char *text;
	struct instruction wanted;
} effects[] = {
	{ 0xa9be7bfd, "stp x29, x30, [sp, #-32]!",
	  { .effect = EFFECT_STORE, .dest = CODE_ARM64_SP, .source = CODE_ARM64_FP, .value = -32,
	    .moves = -32, .pair = true, .second = CODE_ARM64_LR } },
	{ 0xa90153f3, "stp x19, x20, [sp, #16]",
	  { .effect = EFFECT_STORE, .dest = CODE_ARM64_SP, .source = CODE_ARM64_X19, .value = 16,
	    .pair = true, .second = CODE_ARM64_X20 } },
	{ 0xa9014fe0, "stp x0, x19, [sp, #16]",
	  { .effect = EFFECT_STORE, .dest = CODE_ARM64_SP, .source = REG_NONE, .value = 16,
	    .pair = true, .second = CODE_ARM64_X19 } },
	{ 0xa8c27bfd, "ldp x29, x30, [sp], #32",
	  { .effect = EFFECT_LOAD, .dest = CODE_ARM64_FP, .source = CODE_ARM64_SP, .moves = 32,
	    .pair = true, .second = CODE_ARM64_LR } },
	{ 0xa9414fe0, "ldp x0, x19, [sp, #16]",
	  { .effect = EFFECT_LOAD, .dest = CODE_ARM64_X19, .source = CODE_ARM64_SP,
	    .value = 24 } },
	{ 0xa94103f3, "ldp x19, x0, [sp, #16]",
	  { .effect = EFFECT_LOAD, .dest = CODE_ARM64_X19, .source = CODE_ARM64_SP,
	    .value = 16 } },
	{ 0xa8c107e0, "ldp x0, x1, [sp], #16",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_SP, .value = 16 } },
	{ 0xa8c10801, "ldp x1, x2, [x0], #16",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0xa9415013, "ldp x19, x20, [x0, #16]",
	  { .dest = REG_NONE, .source = REG_NONE,
	    .lost = 1U << CODE_ARM64_X19 | 1U << CODE_ARM64_X20 } },
	{ 0x6dbc27e8, "stp d8, d9, [sp, #-64]!",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_SP,
	    .value = -64 } },
	{ 0xacc227e8, "ldp q8, q9, [sp], #64",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_SP, .value = 64 } },
	{ 0x694153f3, "ldpsw x19, x20, [sp, #8]",
	  { .dest = REG_NONE, .source = REG_NONE,
	    .lost = 1U << CODE_ARM64_X19 | 1U << CODE_ARM64_X20 } },
	{ 0x294153f3, "ldp w19, w20, [sp, #8]",
	  { .dest = REG_NONE, .source = REG_NONE,
	    .lost = 1U << CODE_ARM64_X19 | 1U << CODE_ARM64_X20 } },
	{ 0x290153f3, "stp w19, w20, [sp, #8]",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0xf81f0ffe, "str x30, [sp, #-16]!",
	  { .effect = EFFECT_STORE, .dest = CODE_ARM64_SP, .source = CODE_ARM64_LR, .value = -16,
	    .moves = -16 } },
	{ 0xf84107fe, "ldr x30, [sp], #16",
	  { .effect = EFFECT_LOAD, .dest = CODE_ARM64_LR, .source = CODE_ARM64_SP,
	    .moves = 16 } },
	{ 0xf90013f5, "str x21, [sp, #32]",
	  { .effect = EFFECT_STORE, .dest = CODE_ARM64_SP, .source = CODE_ARM64_X21,
	    .value = 32 } },
	{ 0xf81f83b5, "stur x21, [x29, #-8]",
	  { .effect = EFFECT_STORE, .dest = CODE_ARM64_FP, .source = CODE_ARM64_X21,
	    .value = -8 } },
	{ 0xf94013f5, "ldr x21, [sp, #32]",
	  { .effect = EFFECT_LOAD, .dest = CODE_ARM64_X21, .source = CODE_ARM64_SP,
	    .value = 32 } },
	{ 0xf90007ff, "str xzr, [sp, #8]",
	  { .effect = EFFECT_STORE, .dest = CODE_ARM64_SP, .source = REG_NONE, .value = 8 } },
	{ 0xb90023f5, "str w21, [sp, #32]",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0xb94023f5, "ldr w21, [sp, #32]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X21 } },
	{ 0xb98023f5, "ldrsw x21, [sp, #32]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X21 } },
	{ 0xf9400415, "ldr x21, [x0, #8]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X21 } },
	{ 0xf8617815, "ldr x21, [x0, x1, lsl #3]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X21 } },
	{ 0xf8408e75, "ldr x21, [x19, #8]!",
	  { .effect = EFFECT_LOAD, .dest = CODE_ARM64_X21, .source = CODE_ARM64_X19, .value = 8,
	    .moves = 8 } },
	{ 0x38401696, "ldrb w22, [x20], #1",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_X20, .source = CODE_ARM64_X20, .value = 1,
	    .lost = 1U << CODE_ARM64_X22 } },
	{ 0xfc1f0fe8, "str d8, [sp, #-16]!",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_SP,
	    .value = -16 } },
	{ 0x58000013, "ldr x19, .",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0xf9800260, "prfm pldl1keep, [x19]",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0xc85f7c13, "ldxr x19, [x0]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0xc8147c13, "stxr w20, x19, [x0]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X20 } },
	{ 0xf8210013, "ldadd x1, x19, [x0]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0xc8b37c01, "cas x19, x1, [x0]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x48347c02, "casp x20, x21, x2, x3, [x0]",
	  { .dest = REG_NONE, .source = REG_NONE,
	    .lost = 1U << CODE_ARM64_X20 | 1U << CODE_ARM64_X21 } },
	{ 0xc8335414, "stxp w19, x20, x21, [x0]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x191406b3, "cpyfp [x19]!, [x20]!, x21!",
	  { .dest = REG_NONE, .source = REG_NONE,
	    .lost = 1U << CODE_ARM64_X19 | 1U << CODE_ARM64_X20 | 1U << CODE_ARM64_X21 } },
	{ 0x19d50693, "setp [x19]!, x20!, x21",
	  { .dest = REG_NONE, .source = REG_NONE,
	    .lost = 1U << CODE_ARM64_X19 | 1U << CODE_ARM64_X20 } },
	{ 0x918107ff, "addg sp, sp, #16, #1",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_SP } },
	{ 0xd18107f3, "subg x19, sp, #16, #1",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x9ad4127f, "irg sp, x19, x20",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_SP } },
	{ 0x4cdf7260, "ld1 {v0.16b}, [x19], #16",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x4c407260, "ld1 {v0.16b}, [x19]",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0xd10043ff, "sub sp, sp, #16",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_SP,
	    .value = -16 } },
	{ 0xd14007ff, "sub sp, sp, #4096",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_SP,
	    .value = -4096 } },
	{ 0x910043ff, "add sp, sp, #16",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_SP, .value = 16 } },
	{ 0x910003fd, "mov x29, sp",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_FP, .source = CODE_ARM64_SP } },
	{ 0x910143fd, "add x29, sp, #80",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_FP, .source = CODE_ARM64_SP, .value = 80 } },
	{ 0x910003bf, "mov sp, x29",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_FP } },
	{ 0xd10043bf, "sub sp, x29, #16",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_SP, .source = CODE_ARM64_FP,
	    .value = -16 } },
	{ 0xf1000673, "subs x19, x19, #1",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0xf100067f, "cmp x19, #1",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0x11000673, "add w19, w19, #1",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x910023e0, "add x0, sp, #8",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0x91002013, "add x19, x0, #8",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0xaa0003f3, "mov x19, x0",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0xaa1303f0, "mov x16, x19",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_X16, .source = CODE_ARM64_X19 } },
	{ 0xaa1f03fd, "mov x29, xzr",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_FP, .begins = true } },
	{ 0xd280001d, "mov x29, #0",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_FP, .begins = true } },
	{ 0xd286ce0d, "mov x13, #13936",
	  { .effect = EFFECT_NUMBER, .dest = CODE_ARM64_X13, .source = REG_NONE,
	    .value = 13936 } },
	{ 0xf2a0002d, "movk x13, #1, lsl #16",
	  { .effect = EFFECT_ADD, .dest = CODE_ARM64_X13, .source = CODE_ARM64_X13,
	    .value = 65536 } },
	{ 0xcb2d63ff, "sub sp, sp, x13",
	  { .effect = EFFECT_MOVE, .dest = CODE_ARM64_SP, .source = CODE_ARM64_X13,
	    .value = -1 } },
	{ 0x8b2c63ff, "add sp, sp, x12",
	  { .effect = EFFECT_MOVE, .dest = CODE_ARM64_SP, .source = CODE_ARM64_X12,
	    .value = 1 } },
	{ 0xcb2063ff, "sub sp, sp, x0",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_SP } },
	{ 0x927be81f, "and sp, x0, #-32",
	  { .effect = EFFECT_ALIGN, .dest = CODE_ARM64_SP, .source = REG_NONE } },
	{ 0xf27be813, "ands x19, x0, #-32",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x90000013, "adrp x19, .",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0xfa540260, "ccmp x19, x20, #0, eq",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0x9a950293, "csel x19, x20, x21, eq",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x9e660013, "fmov x19, d0",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x9e670013, "fmov d19, x0",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0x0e013c13, "umov w19, v0.b[0]",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0x1e612813, "fadd d19, d0, d1",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0x043f57ff, "addvl sp, sp, #-1",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_SP } },
	{ 0xd503201f, "nop",
	  { .dest = REG_NONE, .source = REG_NONE, .filler = true } },
	{ 0xd503245f, "bti c",
	  { .dest = REG_NONE, .source = REG_NONE, .marks_target = true } },
	{ 0xd503233f, "paciasp",
	  { .dest = REG_NONE, .source = REG_NONE, .marks_target = true } },
	{ 0xd50323bf, "autiasp",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0xd53bd053, "mrs x19, tpidr_el0",
	  { .dest = REG_NONE, .source = REG_NONE, .lost = 1U << CODE_ARM64_X19 } },
	{ 0xd51bd053, "msr tpidr_el0, x19",
	  { .dest = REG_NONE, .source = REG_NONE } },
	{ 0xd4000001, "svc #0",
	  { .dest = REG_NONE, .source = REG_NONE } },
};

static const struct {
	uint32_t word;
	const char *text;
	enum instruction_flow flow;
	int32_t distance; /* 0: no target */
	bool tail;
	bool by_link;
} flows[] = {
	{ 0x94000002, "bl .+8", INSTRUCTION_CALL, 8, false, false },
	{ 0xd63f0020, "blr x1", INSTRUCTION_CALL, 0, false, false },
	{ 0x17ffffff, "b .-4", INSTRUCTION_JUMP, -4, false, false },
	{ 0x54000080, "b.eq .+16", INSTRUCTION_BRANCH, 16, false, false },
	{ 0xb4000080, "cbz x0, .+16", INSTRUCTION_BRANCH, 16, false, false },
	{ 0x35ffff93, "cbnz w19, .-16", INSTRUCTION_BRANCH, -16, false, false },
	{ 0x36180080, "tbz w0, #3, .+16", INSTRUCTION_BRANCH, 16, false, false },
	{ 0xd61f0020, "br x1", INSTRUCTION_INDIRECT, 0, false, false },
	{ 0xd61f0200, "br x16", INSTRUCTION_INDIRECT, 0, true, false },
	{ 0xd61f03c0, "br x30", INSTRUCTION_INDIRECT, 0, false, true },
	{ 0xd65f03c0, "ret", INSTRUCTION_RETURN, 0, false, true },
	{ 0xd65f0bff, "retaa", INSTRUCTION_RETURN, 0, false, true },
	{ 0xd65f0020, "ret x1", INSTRUCTION_INDIRECT, 0, false, false },
	{ 0xd69f03e0, "eret", INSTRUCTION_END, 0, false, false },
	{ 0xd4207d00, "brk #1000", INSTRUCTION_TRAP, 0, false, false },
	{ 0x00000000, "udf #0", INSTRUCTION_TRAP, 0, false, false },
};

static bool decode(uint32_t word, struct instruction *instruction)
{
	return instruction_arm64_decode((const uint8_t *)&word, sizeof(word), ADDRESS, instruction);
}

static void test_effects(void)
{
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
		const struct instruction *wanted = &effects[i].wanted;
		struct instruction got = { 0 };

		check(decode(effects[i].word, &got) && got.length == 4 &&
			      got.flow == INSTRUCTION_NEXT && got.effect == wanted->effect &&
			      got.dest == wanted->dest && got.source == wanted->source &&
			      got.value == wanted->value && got.moves == wanted->moves &&
			      got.pair == wanted->pair &&
			      (!got.pair || got.second == wanted->second) &&
			      got.lost == wanted->lost && got.begins == wanted->begins &&
			      got.filler == wanted->filler &&
			      got.marks_target == wanted->marks_target,
		      "%s: effect %d, dest %d, source %d, value %d, moves %d, lost %#x",
		      effects[i].text, got.effect, got.dest, got.source, got.value, got.moves,
		      got.lost);
	}
}

static void test_flows(void)
{
	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		uint64_t target = flows[i].distance ? ADDRESS + (uint64_t)flows[i].distance : 0;
		struct instruction got = { 0 };

		check(decode(flows[i].word, &got) && got.flow == flows[i].flow &&
			      got.target == target && got.tail == flows[i].tail &&
			      got.by_link == flows[i].by_link,
		      "%s: flow %d, target %#llx", flows[i].text, got.flow,
		      (unsigned long long)got.target);
		check(got.flow != INSTRUCTION_CALL || got.lost >> CODE_ARM64_LR & 1,
		      "%s: x30 is lost if it is a call", flows[i].text);
	}
}

static void test_refused(void)
{
	const uint32_t bl = 0x94000002;
	struct instruction got;
	uint8_t before[INSTRUCTION_MAX_CALL_BYTES] = { 0 };

	check(!instruction_arm64_decode((const uint8_t *)&bl, 3, ADDRESS, &got),
	      "three bytes are no instruction");
	check(!instruction_arm64_decode((const uint8_t *)&bl, 4, ADDRESS + 2, &got),
	      "an address between instructions");
	check(!decode(0x02000000, &got) && !decode(0x00010000, &got),
	      "undefined words are no instruction");
	memcpy(before + 3, &bl, sizeof(bl));
	check(instruction_arm64_ends_call(before), "bl ends in a call");
	memcpy(before + 3, "\x1f\x20\x03\xd5", 4);
	check(!instruction_arm64_ends_call(before), "nop ends in no call");
}

int main(void)
{
	test_effects();
	test_flows();
	test_refused();
	return tap_done();
}
