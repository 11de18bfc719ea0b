/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step by frame pointers in 32-bit Arm code. The frame pointer is r11 in ARM code and r7 in
 * Thumb code. AAPCS32 does not say where the frame pointer points, and compilers differ (gcc 12,
 * clang 14):
 *
 *   word at         gcc, ARM    gcc, ARM, a leaf    clang
 *   fp - 4          caller's fp
 *   fp              lr          caller's fp         caller's fp
 *   fp + 4                                          lr
 *
 * The frame pointer of gcc's Thumb code does not lead to the caller. In a frame, one word must be
 * an address of code that has a name, and the other word must lead outwards or be 0. This tells the
 * kinds of frames apart, and one program may have both kinds.
 *
 * A leaf may have no frame: its caller's address is only in lr, as it is before a function has made
 * its frame. A function pops its return address into pc, so after a call lr points into the called
 * function, or deeper. In the innermost frame, the function's instructions tell where the return
 * address is (links_arm32.c). If they do not tell, or cannot be read:
 *
 *   pc is at the function's start       lr has the caller
 *   lr points into the same function    the function has made a call, so it has a frame
 *   the frame at fp has lr's value      the frame is the function's own
 *   otherwise                           lr has the caller
 *
 * The last line is a guess. The guess is wrong after a call of a function that has made calls.
 * Each frame is further out than the frame before, which bounds the walk. Resolver's thread; no
 * state but that of links_arm32.c.
 */
#include "config.h"

#include "unwind/cursor_arm32.h"
#include "unwind/fp.h"
#include "unwind/links_arm32.h"

#define FP_STACK_MAX_BYTES (1 << 20) /* no stack is longer */
#define WORD_BYTES         sizeof(uint32_t)

struct fp_frame {
	uint64_t fp;     /* the caller's frame pointer */
	uint64_t caller; /* return address, with ARM32_THUMB */
	uint64_t end;    /* address after the frame's words */
};

static unsigned fp_register(const struct cursor *cursor)
{
	return cursor->thumb ? REG_ARM32_R7 : REG_ARM32_R11;
}

static bool fp_is_outwards(uint64_t fp, uint64_t caller_fp)
{
	return !caller_fp || (caller_fp > fp && caller_fp - fp < FP_STACK_MAX_BYTES &&
			      caller_fp % WORD_BYTES == 0);
}

static bool fp_is_code(const struct unwind_space *space, uint64_t word)
{
	uint64_t start;

	return word > ARM32_THUMB && space->find_function(space, (word & ~ARM32_THUMB) - 1, &start);
}

/* Reads a frame with the frame pointer FP and its first word at START. False if there is none. */
static bool fp_read_from(const struct unwind_space *space, struct cursor *cursor, uint64_t fp,
			 uint64_t start, struct fp_frame *frame)
{
	uint64_t words[2];

	if (fp % WORD_BYTES || start < cursor->regs[REG_SP] ||
	    !cursor_read_short(cursor, start, words, 2) || !fp_is_outwards(fp, words[0]) ||
	    !fp_is_code(space, words[1]))
		return false;
	*frame = (struct fp_frame){ words[0], words[1], start + 2 * WORD_BYTES };
	return true;
}

static bool fp_read_gcc(const struct unwind_space *space, struct cursor *cursor, uint64_t fp,
			struct fp_frame *frame)
{
	return fp_read_from(space, cursor, fp, fp - WORD_BYTES, frame);
}

/* Reads a frame of gcc's or clang's kind. */
static bool fp_read(const struct unwind_space *space, struct cursor *cursor, uint64_t fp,
		    struct fp_frame *frame)
{
	return fp_read_gcc(space, cursor, fp, frame) || fp_read_from(space, cursor, fp, fp, frame);
}

/* --- the interrupted function ----------------------------------------------------------------- */

/*
 * Finds by the instructions whether lr has the return address. Returns false if they do not tell.
 */
static bool fp_find_link(const struct unwind_space *space, const struct cursor *cursor,
			 bool *in_link)
{
	uint64_t pc = cursor->regs[REG_PC];
	struct unwind_code code;

	space->find(space, pc, true, &code);
	return code.tables && code.tables->links &&
	       links_find(code.tables->links, pc - code.bias, cursor->thumb, in_link);
}

/* Whether lr has the return address of the interrupted function. */
static bool fp_caller_is_in_link(const struct unwind_space *space, struct cursor *cursor)
{
	uint64_t link = cursor->regs[REG_ARM32_LR], start, caller_start;
	bool has_name = space->find_function(space, cursor->regs[REG_PC], &start), in_link;
	struct fp_frame frame;

	if (!fp_is_code(space, link))
		return false;
	if (fp_find_link(space, cursor, &in_link))
		return in_link;
	if (has_name && cursor->regs[REG_PC] == start)
		return true;
	if (has_name && space->find_function(space, (link & ~ARM32_THUMB) - 1, &caller_start) &&
	    caller_start == start)
		return false;
	return !fp_read(space, cursor, cursor->regs[fp_register(cursor)], &frame) ||
	       frame.caller != link;
}

/* Restores r11 in a leaf of gcc's, which may have saved only its caller's frame pointer. */
static void fp_leave_gcc_leaf(const struct unwind_space *space, struct cursor *cursor)
{
	uint64_t *fp = &cursor->regs[REG_ARM32_R11], caller_fp;
	struct fp_frame frame;

	if (!cursor->thumb && *fp % WORD_BYTES == 0 && *fp >= cursor->regs[REG_SP] &&
	    !fp_read_gcc(space, cursor, *fp, &frame) &&
	    cursor_read_short(cursor, *fp, &caller_fp, 1) && caller_fp &&
	    fp_is_outwards(*fp, caller_fp) && fp_read_gcc(space, cursor, caller_fp, &frame))
		*fp = caller_fp;
}

static enum unwind_step fp_step_link(const struct unwind_space *space, struct cursor *cursor)
{
	fp_leave_gcc_leaf(space, cursor);
	cursor_arm32_go_to(cursor, cursor->regs[REG_ARM32_LR]);
	cursor->interrupted = false;
	cursor->known = 1U << REG_PC | 1U << REG_SP | 1U << REG_ARM32_R11 | 1U << REG_ARM32_R7;
	return STEP_CALLER;
}

/* --- a step ----------------------------------------------------------------------------------- */

/* The result of a step if there is no frame at FP. */
static enum unwind_step fp_refuse(struct cursor *cursor, uint64_t fp)
{
	uint64_t sp = cursor->regs[REG_SP], words[2];

	if (fp % WORD_BYTES)
		return STEP_BAD;
	if (fp < sp)
		return STEP_LOOP;
	if (!cursor_read_short(cursor, fp, words, 2))
		return fp - sp < FP_STACK_MAX_BYTES ? STEP_CUT : STEP_BAD;
	return words[0] || words[1] ? STEP_BAD : STEP_OUTERMOST;
}

static enum unwind_step fp_step_frame(const struct unwind_space *space, struct cursor *cursor)
{
	unsigned reg = fp_register(cursor);
	uint64_t fp = cursor->regs[reg];
	struct fp_frame frame;

	if (!(cursor->known >> reg & 1))
		return STEP_NOT_COVERED;
	if (!fp)
		return STEP_OUTERMOST;
	if (!fp_read(space, cursor, fp, &frame))
		return fp_refuse(cursor, fp);
	cursor->regs[reg] = frame.fp;
	cursor->regs[REG_SP] = frame.end;
	cursor_arm32_go_to(cursor, frame.caller);
	cursor->interrupted = false;
	cursor->known = 1U << REG_PC | 1U << REG_SP | 1U << reg;
	return STEP_CALLER;
}

/* Needs names, that is, SPACE, to tell the kinds of frames apart. */
enum unwind_step fp_arm32_step(const struct unwind_space *space, struct cursor *cursor)
{
	if (!space)
		return STEP_NOT_COVERED;
	if (cursor->interrupted && fp_caller_is_in_link(space, cursor))
		return fp_step_link(space, cursor);
	return fp_step_frame(space, cursor);
}
