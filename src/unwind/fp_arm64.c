/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of unwinding by arm64's frame records (AAPCS64 §6.4.6 "The frame pointer"):
 *
 *        x29 ──►  caller's x29 ──► its caller's ...  0 in the outermost function
 *        x29 + 8  return address, which may carry an authentication code
 *
 * A call puts the return address into x30 and not on the stack. So a leaf may have no record: the
 * return address is only in x30, and x29 has the caller's value. This is also true before a
 * function has made its record, and after it has removed the record. In the innermost frame:
 *
 *   pc is at the function's start               x30 has the caller
 *   x30 points into the same function           the function has made a call, so it has a record
 *   the record at x29 has x30's value           the record is the function's own
 *   otherwise                                   x30 has the caller
 *
 * The second case is wrong in the first instructions of a function that calls itself: one frame of
 * the recursion is missing then.
 *
 * A signal handler returns to the vDSO's __kernel_rt_sigreturn(). Debian's vDSO has no tables, and
 * older tables tell neither sp nor pc of the interrupted code (Linux arch/arm64/kernel/vdso/). The
 * kernel's signal frame at the stack pointer tells both.
 *
 * Each record is further out than the record before, or on another stack; unwind.c counts changes
 * of the stack. This bounds the walk and catches loops. Resolver's thread; a pure function of its
 * input.
 */
#include "config.h"

#include "unwind/cursor_arm64.h"
#include "unwind/entry.h"
#include "unwind/fp.h"

#define FP_STACK_MAX_BYTES (1 << 20) /* no stack is longer */
#define INSTRUCTION_BYTES  4

#define KNOWN_BY_RECORD (1U << REG_PC | 1U << REG_SP | 1U << REG_ARM64_FP)

/* Reads the record at x29. Returns false if it was not copied, or cannot be a record. */
static bool fp_read_record(struct cursor *cursor, uint64_t record[2])
{
	uint64_t fp = cursor->regs[REG_ARM64_FP];

	return fp && fp % sizeof(*record) == 0 && fp >= cursor->regs[REG_SP] &&
	       cursor_read(cursor, fp, record, 2);
}

/* Whether CALLER, the address in x30, is the caller of the interrupted function. */
static bool fp_caller_is_in_link(const struct unwind_space *space, struct cursor *cursor,
				 uint64_t caller)
{
	uint64_t pc = cursor->regs[REG_PC], start, caller_start, record[2];
	bool has_name;

	if (!space || !caller || caller % INSTRUCTION_BYTES ||
	    !space->find_function(space, caller - 1, &caller_start))
		return false;
	has_name = space->find_function(space, pc, &start);
	if (has_name && pc == start)
		return true;
	if (has_name && caller_start == start)
		return false;
	return !fp_read_record(cursor, record) || cursor_arm64_strip(cursor, record[1]) != caller;
}

/* Whether FP is on another stack than SP: records lead from the interrupts' stack to the task's. */
static bool fp_is_on_other_stack(const struct cursor *cursor, uint64_t fp, uint64_t sp)
{
	int piece = cursor_piece(cursor, fp);

	return piece >= 0 && piece != cursor_piece(cursor, sp) && fp >> 63 == sp >> 63;
}

static enum unwind_step fp_step_record(struct cursor *cursor)
{
	uint64_t fp = cursor->regs[REG_ARM64_FP], sp = cursor->regs[REG_SP], record[2], caller;

	if (!fp)
		return STEP_OUTERMOST;
	if (fp % sizeof(*record))
		return STEP_BAD;
	if (fp < sp && !fp_is_on_other_stack(cursor, fp, sp))
		return STEP_LOOP;
	if (!cursor_read(cursor, fp, record, 2))
		return fp - sp < FP_STACK_MAX_BYTES ? STEP_CUT : STEP_BAD;
	if (!cursor->user && entry_arm64_interrupted(cursor, fp))
		return STEP_CALLER;
	if (!record[1])
		return STEP_OUTERMOST;
	caller = cursor_arm64_strip(cursor, record[1]);
	if (caller % INSTRUCTION_BYTES)
		return STEP_BAD;
	cursor->regs[REG_ARM64_FP] = record[0];
	cursor->regs[REG_PC] = caller;
	/* The record may lie anywhere in its frame: the caller's stack pointer is not below fp. */
	cursor->regs[REG_SP] = fp + sizeof(record);
	cursor->interrupted = false;
	cursor->known = KNOWN_BY_RECORD;
	return STEP_CALLER;
}

enum unwind_step fp_arm64_step(const struct unwind_space *space, struct cursor *cursor)
{
	uint64_t link = cursor_arm64_strip(cursor, cursor->regs[REG_ARM64_LR]);

	if (cursor_arm64_leave_signal(cursor))
		return STEP_CALLER;
	if (!(cursor->known >> REG_ARM64_FP & 1))
		return STEP_NOT_COVERED;
	if (!cursor->interrupted || !fp_caller_is_in_link(space, cursor, link))
		return fp_step_record(cursor);
	cursor->regs[REG_PC] = link;
	cursor->interrupted = false;
	cursor->known = KNOWN_BY_RECORD;
	return STEP_CALLER;
}
