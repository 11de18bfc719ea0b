/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step by ORC, from a frame of a Linux kernel to the caller's frame. Linux
 * arch/x86/kernel/unwind_orc.c makes such steps on the live stack. Resolver's thread; a pure
 * function.
 *
 * An entry says where the caller's frame is (called sp here), what lies there, and where the
 * caller's rbp is:
 *
 *   CALL      return address at sp - 8; the caller's stack pointer is sp
 *   REGS      all registers of the interrupted code, as the entry code saved them (struct pt_regs)
 *   PARTIAL   only the words that the processor saved: rip cs rflags rsp ss
 *
 *   sp is     SP, BP: register + offset;  BP_INDIRECT: the word at rbp + offset
 *             R10, R13, DX, DI, AX: the register's value, if it is known in this frame
 *             SP_INDIRECT with CALL (from 5.12 on, where a function switches stacks): the word at
 *             rsp, plus offset
 *             SP_INDIRECT otherwise (before 5.12, hand-written entry code only): the word at
 *             rsp + offset
 *
 * Saved registers with user privilege belong to user code, and end the kernel's part. Under Xen PV
 * the kernel's own frames have privilege 0, too, because Xen clears the bits (x86_64/entry.S).
 */
#include "config.h"

#include "unwind/cursor_x86.h"
#include "unwind/orc_table.h"
#include "xtop/base/registers_x86.h"

static enum unwind_step orc_read_word(struct cursor *cursor, uint64_t address, uint64_t *word)
{
	return cursor_read(cursor, address, word, 1) ? STEP_CALLER : STEP_CUT;
}

static enum unwind_step orc_register_value(const struct cursor *cursor, enum unwind_register reg,
					   uint64_t *value)
{
	*value = cursor->regs[reg];
	return cursor->known >> reg & 1 ? STEP_CALLER : STEP_BAD;
}

/* Computes *SP. Returns STEP_CALLER on success. */
static enum unwind_step orc_find_sp(const struct orc_row *row, struct cursor *cursor, uint64_t *sp)
{
	uint64_t offset = (uint64_t)(int64_t)row->sp_offset;
	enum unwind_step step;

	switch (row->sp_reg) {
	case ORC_SP:
		*sp = cursor->regs[REG_RSP] + offset;
		return STEP_CALLER;
	case ORC_BP:
		*sp = cursor->regs[REG_RBP] + offset;
		return STEP_CALLER;
	case ORC_BP_INDIRECT:
		return orc_read_word(cursor, cursor->regs[REG_RBP] + offset, sp);
	case ORC_SP_INDIRECT:
		if (row->type != ORC_CALL)
			return orc_read_word(cursor, cursor->regs[REG_RSP] + offset, sp);
		step = orc_read_word(cursor, cursor->regs[REG_RSP], sp);
		if (step == STEP_CALLER)
			*sp += offset;
		return step;
	case ORC_R10:
		return orc_register_value(cursor, REG_R10, sp);
	case ORC_R13:
		return orc_register_value(cursor, REG_R13, sp);
	case ORC_DX:
		return orc_register_value(cursor, REG_RDX, sp);
	case ORC_DI:
		return orc_register_value(cursor, REG_RDI, sp);
	case ORC_AX:
		return orc_register_value(cursor, REG_RAX, sp);
	default:
		return STEP_BAD;
	}
}

static enum unwind_step orc_find_bp(const struct orc_row *row, struct cursor *cursor, uint64_t sp,
				    uint64_t *bp)
{
	uint64_t offset = (uint64_t)(int64_t)row->bp_offset;

	switch (row->bp_reg) {
	case ORC_UNDEFINED:
		*bp = cursor->regs[REG_RBP];
		return STEP_CALLER;
	case ORC_PREV_SP:
		return orc_read_word(cursor, sp + offset, bp);
	case ORC_BP:
		return orc_read_word(cursor, cursor->regs[REG_RBP] + offset, bp);
	default:
		return STEP_BAD;
	}
}

static enum unwind_step orc_step_call(struct cursor *cursor, uint64_t sp, uint64_t bp)
{
	uint64_t address;

	if (!cursor_read(cursor, sp - 8, &address, 1))
		return STEP_CUT;
	cursor->regs[REG_RIP] = address;
	cursor->regs[REG_RSP] = sp;
	cursor->regs[REG_RBP] = bp;
	cursor->known = 1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBP;
	return STEP_CALLER;
}

static enum unwind_step orc_step_regs(const struct orc_row *row, struct cursor *cursor, uint64_t sp,
				      uint64_t bp)
{
	uint64_t saved[N_PT_REGS];

	if (!cursor_read_pt_regs(cursor, sp, saved))
		return STEP_CUT;
	cursor_set_pt_regs(cursor, saved);
	if (row->bp_reg != ORC_UNDEFINED)
		cursor->regs[REG_RBP] = bp;
	return cursor_resume(cursor, saved[PT_REGS_CS]);
}

/* Whether ADDRESS may be in a kernel stack: in the upper half, and aligned. */
static bool orc_is_stack(uint64_t address)
{
	return address >> 63 && address % 8 == 0;
}

static enum unwind_step orc_step_row(const struct orc_row *row, struct cursor *cursor)
{
	uint64_t sp, bp = 0;
	enum unwind_step step = orc_find_sp(row, cursor, &sp);

	if (step == STEP_CALLER && !orc_is_stack(sp))
		return STEP_BAD;
	if (step == STEP_CALLER)
		step = orc_find_bp(row, cursor, sp, &bp);
	if (step != STEP_CALLER)
		return step;
	if (row->type == ORC_CALL)
		step = orc_step_call(cursor, sp, bp);
	else if (row->type == ORC_REGS)
		step = orc_step_regs(row, cursor, sp, bp);
	else
		step = cursor_step_partial(cursor, sp, bp);
	if (step == STEP_CALLER || step == STEP_USER)
		cursor->interrupted = row->signal || step == STEP_USER;
	return step;
}

enum unwind_step orc_step(const struct orc *orc, uint64_t bias, struct cursor *cursor)
{
	const struct orc_row *row;
	enum unwind_step step;

	if (cursor->user)
		return STEP_NOT_COVERED;
	step = orc_step_special(orc, bias, cursor);
	if (step != STEP_NOT_COVERED)
		return step;
	row = orc_find(orc, cursor_pc(cursor) - bias);
	switch (row ? row->type : ORC_NOTHING) {
	case ORC_NOTHING:
		return STEP_NOT_COVERED;
	case ORC_END:
		return STEP_OUTERMOST;
	case ORC_CALL:
	case ORC_REGS:
	case ORC_PARTIAL:
		return orc_step_row(row, cursor);
	default:
		return STEP_BAD;
	}
}
