/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step on arm64 or in 32-bit Arm code by the compiled table, and DWARF's numbers of the
 * registers; see cfi_arm64.h. As on x86, the CFA is the caller's stack pointer. The return address
 * is in x30 (lr in 32-bit code) until a rule says where x30 was saved. A call changes x30, so only
 * the innermost function, or one that a signal interrupted, can have its return address in x30. A
 * function that never returns need not save x30; then its caller is lost. Resolver's thread.
 */
#include "config.h"

#include "unwind/cfi_arm64.h"

#include "unwind/cfi_table.h"
#include "unwind/cursor_arm32.h"
#include "unwind/cursor_arm64.h"

static const uint8_t arm64_preserved_registers[CFI_ARM64_PRESERVED] = {
	REG_ARM64_LR, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, REG_ARM64_FP,
};
static const uint8_t arm64_preserved_numbers[CFI_ARM64_PRESERVED] = {
	CFI_ARM64_LR, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
};

const struct cfi_machine cfi_machine_arm64 = {
	.word_bytes = 8,
	.n_places = CFI_ARM64_NUMBERS,
	.n_numbers = CFI_ARM64_NUMBERS,
	.return_number = CFI_ARM64_LR,
	.sp_number = CFI_ARM64_SP,
	.n_preserved = CFI_ARM64_PRESERVED,
	.keeps_return = true,
	.registers = cursor_arm64_registers,
	.preserved_registers = arm64_preserved_registers,
	.preserved_numbers = arm64_preserved_numbers,
	/* pc, sp, x29, and x19 to x28; x30 is known in the caller only if it was read */
	.preserved_mask = 1U << REG_PC | 1U << REG_SP | 1U << REG_ARM64_FP | 0x3ffU << 21,
	.rule_cfa = RULE_CFA_ARM64,
	.rule_deref = RULE_CFA_DEREF_ARM64,
};

_Static_assert(CFI_ARM64_PRESERVED <= CFI_MAX_PRESERVED, "each register has a slot");

/* DWARF's number -> register of a cursor: cursor_arm32_registers, and pc. */
static const uint8_t arm32_registers[CFI_ARM32_NUMBERS] = {
	0, 1, 2,  3,		 4,  5,	     13,	   REG_ARM32_R7,
	8, 9, 10, REG_ARM32_R11, 12, REG_SP, REG_ARM32_LR, REG_PC,
};
static const uint8_t arm32_preserved_registers[CFI_ARM32_PRESERVED] = {
	REG_ARM32_LR, 4, 5, 13, REG_ARM32_R7, 8, 9, 10, REG_ARM32_R11,
};
static const uint8_t arm32_preserved_numbers[CFI_ARM32_PRESERVED] = {
	CFI_ARM32_LR, 4, 5, 6, 7, 8, 9, 10, 11,
};

const struct cfi_machine cfi_machine_arm32 = {
	.word_bytes = 4,
	.n_places = CFI_ARM32_NUMBERS,
	.n_numbers = CFI_ARM32_NUMBERS,
	.return_number = CFI_ARM32_LR,
	.sp_number = CFI_ARM32_SP,
	.n_preserved = CFI_ARM32_PRESERVED,
	.keeps_return = true,
	.registers = arm32_registers,
	.preserved_registers = arm32_preserved_registers,
	.preserved_numbers = arm32_preserved_numbers,
	.preserved_mask = 1U << REG_PC | 1U << REG_SP | 1U << 4 | 1U << 5 | 1U << 13 |
			  1U << REG_ARM32_R7 | 1U << 8 | 1U << 9 | 1U << 10 | 1U << REG_ARM32_R11,
	.rule_cfa = RULE_CFA_ARM32,
	.rule_deref = RULE_CFA_DEREF_ARM32,
};

/*
 * Sets *CALLER to the return address; in 32-bit code, bit ARM32_THUMB tells the kind of the
 * caller's code. STEP_OUTERMOST if the return address is 0.
 */
static enum unwind_step arm_find_return(const struct cfi_rule *rule, const struct cursor *cursor,
					const uint64_t *words, uint64_t *caller)
{
	if (rule->slot[PRESERVED_RETURN] < rule->n_words)
		*caller = words[rule->slot[PRESERVED_RETURN]];
	else if (cursor->interrupted && cursor->known >> REG_ARM64_LR & 1)
		*caller = cursor->regs[REG_ARM64_LR];
	else
		return STEP_BAD;
	if (!cursor_is_arm32(cursor))
		*caller = cursor_arm64_strip(cursor, *caller);
	return *caller ? STEP_CALLER : STEP_OUTERMOST;
}

static void arm_restore(const struct cfi_machine *machine, const struct cfi_rule *rule,
			const uint64_t *words, struct cursor *cursor)
{
	for (unsigned i = 0; i < machine->n_preserved; i++)
		if (rule->slot[i] < rule->n_words)
			cursor->regs[machine->preserved_registers[i]] = words[rule->slot[i]];
}

/*
 * Computes *CFAP, or for RULE_CFA_DEREF_ARM64 its place. If the stack pointer is unknown, a
 * function that has saved x29 and x30 side by side has the place of these words in x29: its frame
 * record (AAPCS64 §6.4.6).
 */
static bool arm_find_cfa(const struct cfi_machine *machine, const struct cfi_rule *rule,
			 const struct cursor *cursor, uint64_t *cfap)
{
	unsigned record = rule->slot[CFI_ARM64_PRESERVED - 1];

	if (cursor->known >> rule->reg & 1) {
		*cfap = cursor->regs[rule->reg] + rule->offset;
		return true;
	}
	if (rule->kind != RULE_CFA_ARM64 || rule->reg != REG_SP || record >= rule->n_words ||
	    rule->slot[PRESERVED_RETURN] != record + 1 || !(cursor->known >> REG_ARM64_FP & 1))
		return false;
	*cfap = cursor->regs[REG_ARM64_FP] -
		machine->word_bytes * ((int64_t)rule->low + (int64_t)record);
	return true;
}

static enum unwind_step arm_rule_step(const struct cfi_machine *machine,
				      const struct cfi_rule *rule, struct cursor *cursor)
{
	uint64_t cfa, words[CFI_RULE_WORDS], caller;
	enum unwind_step step;

	if (!arm_find_cfa(machine, rule, cursor, &cfa))
		return STEP_BAD;
	if (rule->kind == machine->rule_deref && !cursor_read_words(cursor, cfa, &cfa, 1))
		return STEP_CUT;
	if (rule->n_words &&
	    !cursor_read_words(cursor, cfa + machine->word_bytes * (int64_t)rule->low, words,
			       rule->n_words))
		return STEP_CUT;
	step = arm_find_return(rule, cursor, words, &caller);
	if (step != STEP_CALLER)
		return step;
	arm_restore(machine, rule, words, cursor);
	if (cursor_is_arm32(cursor))
		cursor_arm32_go_to(cursor, caller);
	else
		cursor->regs[REG_PC] = caller;
	cursor->regs[REG_SP] = cfa;
	cursor->known = (cursor->known & rule->unchanged) | rule->saved;
	cursor->interrupted = rule->signal;
	return STEP_CALLER;
}

enum unwind_step cfi_arm32_rule_step(const struct cfi_rule *rule, struct cursor *cursor)
{
	return arm_rule_step(&cfi_machine_arm32, rule, cursor);
}

enum unwind_step cfi_arm64_rule_step(const struct cfi_rule *rule, struct cursor *cursor)
{
	bool is_32 = cursor_is_arm32(cursor);

	switch ((enum cfi_rule_kind)rule->kind) {
	case RULE_OUTERMOST:
		return STEP_OUTERMOST;
	case RULE_CFA_ARM64:
	case RULE_CFA_DEREF_ARM64:
		return is_32 ? STEP_NOT_COVERED : arm_rule_step(&cfi_machine_arm64, rule, cursor);
	case RULE_CFA_ARM32:
	case RULE_CFA_DEREF_ARM32:
		return is_32 ? arm_rule_step(&cfi_machine_arm32, rule, cursor) : STEP_NOT_COVERED;
	default:
		return STEP_NOT_COVERED;
	}
}

enum unwind_step cfi_arm64_step(struct cfi *cfi, uint64_t bias, struct cursor *cursor)
{
	const struct cfi_rule *rule = cfi_find(cfi, cursor_pc(cursor) - bias);

	if (!rule)
		return STEP_NOT_COVERED;
	if (rule->signal && !cursor_is_arm32(cursor) && cursor_arm64_leave_signal(cursor))
		return STEP_CALLER;
	return cfi_arm64_rule_step(rule, cursor);
}
