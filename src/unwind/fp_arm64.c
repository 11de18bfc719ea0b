/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of unwinding by arm64's frame records (AAPCS64 §6.4.6 "The frame pointer"):
 *
 *        x29 ──►  caller's x29 ──► its caller's ...  0 in the outermost function
 *        x29 + 8  return address, which may carry an authentication code
 *
 * A call puts the return address into x30 and not on the stack. So a leaf may have no record: its
 * caller is in x30 only, and x29 is the caller's. The same holds before a function has made its
 * record, and when it has taken the record down again. For the vCPU's own frame:
 *
 *   pc is at the function's start               x30 is the caller
 *   x30 points into the same function           it has called somebody since, so it has a record
 *   the record at x29 has what x30 has          this is the function's own record
 *   otherwise                                   x30 is the caller
 *
 * A signal's handler returns to the vDSO's __kernel_rt_sigreturn(). Debian's vDSO has no tables,
 * and older ones tell neither sp nor pc of what was interrupted (Linux arch/arm64/kernel/vdso/).
 * The kernel's frame at the stack pointer tells both.
 *
 * The second case is wrong for a function that calls itself, in its first instructions: one frame
 * of the recursion is missing then. Each record is further out than the one before, or on another
 * stack, which unwind.c counts. This bounds the walk and catches loops. Resolver's thread; a pure
 * function of its input.
 */
#include "config.h"

#include "unwind/cursor_arm64.h"
#include "unwind/entry.h"
#include "unwind/fp.h"

#define FP_STACK_MAX_BYTES (1 << 20) /* no stack is longer */
#define INSTRUCTION_BYTES  4

#define KNOWN_BY_RECORD (1U << REG_PC | 1U << REG_SP | 1U << REG_ARM64_FP)

/* *RECORD: the words at x29. False: they are not there, or are no record. */
static bool fp_read_record(struct cursor *cursor, uint64_t record[2])
{
	uint64_t fp = cursor->regs[REG_ARM64_FP];

	return fp && fp % sizeof(*record) == 0 && fp >= cursor->regs[REG_SP] &&
	       cursor_read(cursor, fp, record, 2);
}

/* Whether the caller of the interrupted function is in x30, as CALLER. */
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

/* From the interrupts' stack the records lead to the task's, which may lie anywhere. */
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
	/* The record lies anywhere in its frame: the caller's stack pointer is there, or above. */
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
