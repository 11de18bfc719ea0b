/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps from one stack of a Go thread to the other on arm64; see go_switch.h. The sampler has
 * copied the other stack from its saved stack pointer on, and has put the saved pc into the word
 * below. A function with a frame has its return address at the stack pointer, and x29 points 8
 * bytes below. These functions save a stack pointer when they change stacks (Go
 * src/runtime/asm_arm64.s):
 *
 *   systemstack, asmcgocall   save their own stack pointer, where the return address is
 *   mcall                     saves the caller's stack pointer. The return address is below
 *   morestack                 saves the caller's stack pointer, but the caller has no frame yet, so
 *                             morestack counts as outermost
 *   time.now, nanotime1 ...   keep their own stack pointer in x20, 8 bytes above x29, which the
 *                             vDSO preserves; g is still the goroutine
 *                             (src/runtime/sys_linux_arm64.s)
 *   cgocallback               saves its own stack pointer on g0's stack. It makes a frame of the
 *                             same size on the goroutine's stack, below the frame of asmcgocall()
 *
 * If C and Go call each other several times, the walk changes stacks several times. When the walk
 * comes back to a stack, the return address is a few words above the place where the walk left, and
 * is searched for there.
 *
 * If asmcgocall runs on g0's own stack, it does not change stacks. It then keeps the stack pointer
 * at sp + 8 with a zero below.
 */
#include "config.h"

#include "unwind/go_switch.h"

#include "unwind/cursor_arm64.h"

#define GO_SEARCHED_WORDS   11 /* asmcgocall's frame above the callback's has 16 bytes */
#define GO_ASMCGOCALL_DEPTH 16 /* asmcgocall()'s frame: the return address, and room for x29 */
#define GO_KEPT_BYTES       16 /* words that asmcgocall() keeps on the stack during the call */

/* --- the cursor ------------------------------------------------------------------------------- */

/* Whether the word at SP is a return address into this program. */
static bool go_has_return(const struct go_leave *leave, uint64_t sp)
{
	uint64_t word;

	return cursor_read(leave->cursor, sp, &word, 1) && go_rule_before(leave, word);
}

/*
 * Whether the function was interrupted on the stack that it was called on: the function has no
 * frame yet, or x29 still points to the function's frame.
 */
static bool go_is_unswitched(const struct go_leave *leave)
{
	const struct cursor *cursor = leave->cursor;

	return cursor->interrupted &&
	       (!leave->depth || (cursor->known >> REG_ARM64_FP & 1 &&
				  cursor->regs[REG_ARM64_FP] == cursor->regs[REG_SP] - 8));
}

/* Moves the cursor to PC with the stack pointer SP. CHANGED: SP is on the other stack. */
static enum unwind_step go_step_to(const struct go_leave *leave, uint64_t pc, uint64_t sp,
				   bool changed)
{
	struct cursor *cursor = leave->cursor;

	if (changed && !go_switches_change(cursor))
		return STEP_LOOP;
	cursor->regs[REG_PC] = pc;
	cursor->regs[REG_SP] = sp;
	cursor->known = 1U << REG_PC | 1U << REG_SP;
	cursor->interrupted = false;
	return STEP_CALLER;
}

/* Steps out of the frame of DEPTH bytes at SP. */
static enum unwind_step go_return(const struct go_leave *leave, uint64_t sp, uint64_t depth,
				  bool changed)
{
	uint64_t word;

	if (!cursor_read(leave->cursor, sp, &word, 1))
		return STEP_CUT;
	word = cursor_arm64_strip(leave->cursor, word);
	return word ? go_step_to(leave, word, sp + depth, changed) : STEP_OUTERMOST;
}

/* --- steps out of each function --------------------------------------------------------------- */

static enum unwind_step go_leave_systemstack(const struct go_leave *leave)
{
	struct cursor *cursor = leave->cursor;

	if (go_is_unswitched(leave))
		return STEP_NOT_COVERED;
	if (cursor->go.side == GO_SIDE_G0)
		return go_return(leave, cursor->go.other_sp, leave->depth, true);
	return go_has_return(leave, cursor->regs[REG_SP]) ? STEP_NOT_COVERED : STEP_CUT;
}

/* A running goroutine has no saved stack pointer, or the one that a change of stacks has saved. */
static enum unwind_step go_leave_mcall(const struct go_leave *leave)
{
	struct cursor *cursor = leave->cursor;
	uint64_t pc;

	if (cursor->go.side != GO_SIDE_G0)
		return cursor->interrupted ? STEP_NOT_COVERED : STEP_OUTERMOST;
	if (!cursor_read(cursor, cursor->go.other_sp - 8, &pc, 1) || !go_rule_before(leave, pc) ||
	    go_rows_find_switch(leave->rows, pc - leave->bias - 1))
		return STEP_OUTERMOST;
	return go_step_to(leave, pc, cursor->go.other_sp, true);
}

static enum unwind_step go_leave_asmcgocall(const struct go_leave *leave)
{
	struct cursor *cursor = leave->cursor;
	uint64_t sp = cursor->regs[REG_SP], kept[2];

	if (!cursor->interrupted && cursor_read(cursor, sp, kept, 2) && !kept[0] &&
	    kept[1] == sp + GO_KEPT_BYTES)
		return go_return(leave, kept[1], leave->depth, false);
	return go_leave_systemstack(leave);
}

/*
 * Skips C's frames, as Go itself does: steps from the callback, whose CFA is asmcgocall()'s stack
 * pointer, to the caller of asmcgocall(). The word at the place of the callback's return address is
 * in systemstack_switch().
 */
static enum unwind_step go_skip_c(const struct go_leave *leave)
{
	uint64_t sp = leave->cursor->regs[REG_SP], word;
	const struct go_switch *mark;

	if (!leave->depth || !cursor_read(leave->cursor, sp, &word, 1))
		return STEP_NOT_COVERED;
	mark = go_rows_find_switch(leave->rows, word - leave->bias);
	if (!mark || mark->kind != GO_MARK || !go_has_return(leave, sp + leave->depth))
		return STEP_NOT_COVERED;
	return go_return(leave, sp + leave->depth, GO_ASMCGOCALL_DEPTH, false);
}

/* Steps to crosscall2(), on g0's stack. */
static enum unwind_step go_leave_callback(const struct go_leave *leave)
{
	struct cursor *cursor = leave->cursor;
	uint64_t cfa = cursor->regs[REG_SP] + leave->depth, word;
	enum unwind_step step;

	cursor->go.callback |= cursor->go.side == GO_SIDE_UNKNOWN;
	if (cursor->go.side != GO_SIDE_GOROUTINE || go_is_unswitched(leave))
		return go_skip_c(leave);
	for (unsigned i = 0; i < GO_SEARCHED_WORDS; i++) {
		uint64_t sp = cursor->go.other_sp + sizeof(word) * i;

		if (!cursor_read(cursor, sp, &word, 1) || !go_is_crosscall(leave, word))
			continue;
		step = go_return(leave, sp, leave->depth, true);
		if (step == STEP_CALLER)
			cursor->go.other_sp = cfa;
		return step;
	}
	return go_skip_c(leave);
}

static enum unwind_step go_leave_vdso(const struct go_leave *leave)
{
	const struct cursor *cursor = leave->cursor;
	uint64_t sp = cursor->regs[REG_ARM64_FP] + 8;

	if (go_is_unswitched(leave) || !(cursor->known >> REG_ARM64_FP & 1) ||
	    !go_has_return(leave, sp))
		return STEP_NOT_COVERED;
	return go_return(leave, sp, leave->depth, false);
}

enum unwind_step go_switch_arm64_step(const struct go_switch *one, struct go_rows *rows,
				      uint64_t bias, struct cursor *cursor)
{
	static enum unwind_step (*const leaves[N_GO_SWITCH_KINDS])(const struct go_leave *) = {
		[GO_SYSTEMSTACK] = go_leave_systemstack,
		[GO_MCALL] = go_leave_mcall,
		[GO_ASMCGOCALL] = go_leave_asmcgocall,
		[GO_CALLBACK] = go_leave_callback,
		[GO_VDSO] = go_leave_vdso,
	};
	const struct cfi_rule *rule = go_rows_find(rows, cursor_pc(cursor) - bias);
	struct go_leave leave = { rows, bias, cursor, 0 };

	if (!rule || rule->kind != RULE_CFA_ARM64 || rule->reg != REG_SP)
		return STEP_NOT_COVERED;
	leave.depth = (uint64_t)rule->offset;
	go_switches_find_other(cursor);
	if (one->kind == GO_MORESTACK)
		return cursor->interrupted ? STEP_NOT_COVERED : STEP_OUTERMOST;
	return leaves[one->kind] ? leaves[one->kind](&leave) : STEP_NOT_COVERED;
}
