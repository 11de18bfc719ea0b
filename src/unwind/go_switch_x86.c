/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps from one stack of a Go thread to the other on x86-64; see go_switch.h. The sampler has
 * copied the other stack from the word below its saved stack pointer on. These functions save a
 * stack pointer when they change stacks (Go src/runtime/asm_amd64.s):
 *
 *   systemstack, asmcgocall   save their own stack pointer. The return address lies DEPTH bytes
 *                             above; their rows give DEPTH
 *   mcall, morestack          save the caller's stack pointer. The return address lies below
 *   time.now, nanotime1 ...   keep their own stack pointer in r12, up to Go 1.16 in rbp; g is still
 *                             the goroutine (src/runtime/sys_linux_amd64.s)
 *   cgocallback               saves its own stack pointer on g0's stack. It makes a frame of the
 *                             same size on the goroutine's stack, on top of the frame that called C
 *
 *          g0's stack                   goroutine's stack
 *     rsp -> | malloc        |            | ret to main   | <- saved by asmcgocall
 *            | asmcgocall    | ---------> | main.main     |
 *                                         | goexit        |
 *
 * If C and Go call each other several times, the walk changes stacks several times. When the walk
 * comes back to a stack, the return address is a few words above the place where the walk left, and
 * is searched for there.
 *
 * If asmcgocall runs on g0's own stack, it does not change stacks. It then keeps the stack pointer
 * at rsp + 40 with a zero above; since Go 1.21 at rsp.
 */
#include "config.h"

#include "unwind/go_switch.h"



#define GO_SEARCHED_WORDS 11 /* asmcgocall's frame above the callback's has at most 72 bytes */

/* struct ucontext at rsp: 5 words, then these registers (Linux uapi/asm/sigcontext.h). */
#define UCONTEXT_REGISTERS 40
static const uint8_t go_sigcontext[] = { REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13,
					 REG_R14, REG_R15, REG_RDI, REG_RSI, REG_RBP, REG_RBX,
					 REG_RDX, REG_RAX, REG_RCX, REG_RSP, REG_RIP };

/* --- the cursor ------------------------------------------------------------------------------- */

/*
 * Whether the function still runs on the stack that it was called on: the frame pointer points to
 * the function's own frame, or to the caller's frame. Functions have no frame yet where they call
 * morestack(), and call nothing else without one.
 */
static bool go_is_unswitched(const struct go_leave *leave)
{
	struct cursor *cursor = leave->cursor;
	uint64_t slot = cursor->regs[REG_RSP] + leave->depth, word;
	const struct cfi_rule *rule;

	if (!(cursor->known >> REG_RBP & 1) || !cursor_read(cursor, slot, &word, 1))
		return false;
	rule = go_rule_before(leave, word);
	if (!rule)
		return false;
	if (leave->depth && cursor->regs[REG_RBP] == slot - 8)
		return true;
	return rule->kind == RULE_CFA && rule->reg == REG_RSP &&
	       (rule->offset == sizeof(word) ||
		cursor->regs[REG_RBP] == slot + rule->offset - 8);
}

/* Steps to the caller, whose return address lies at SLOT. CHANGED: SLOT is on the other stack. */
static enum unwind_step go_return(const struct go_leave *leave, uint64_t slot, bool changed)
{
	struct cursor *cursor = leave->cursor;
	uint64_t word, rbp = cursor->regs[REG_RBP];

	if (!cursor_read(cursor, slot, &word, 1) ||
	    (leave->depth && !cursor_read(cursor, slot - 8, &rbp, 1)))
		return STEP_CUT;
	if (!word)
		return STEP_OUTERMOST;
	if (changed && !go_switches_change(cursor))
		return STEP_LOOP;
	cursor->regs[REG_RIP] = word;
	cursor->regs[REG_RSP] = slot + 8;
	cursor->regs[REG_RBP] = rbp;
	cursor->known &= 1U << REG_RIP | 1U << REG_RSP | 1U << REG_RBP;
	cursor->interrupted = false;
	return STEP_CALLER;
}

/* --- steps out of each function --------------------------------------------------------------- */

static enum unwind_step go_leave_systemstack(const struct go_leave *leave)
{
	if (go_is_unswitched(leave))
		return STEP_NOT_COVERED;
	if (leave->cursor->go.side != GO_SIDE_G0)
		return STEP_CUT;
	return go_return(leave, leave->cursor->go.other_sp + leave->depth, true);
}

/*
 * Without the other stack, or if the goroutine runs on another thread now, the chain ends here. A
 * running goroutine has no saved stack pointer, or the one that a change of stacks has saved.
 */
static enum unwind_step go_leave_mcall(const struct go_leave *leave)
{
	uint64_t slot = leave->cursor->go.other_sp - 8, word;
	struct go_leave bare = *leave;

	if (go_is_unswitched(leave))
		return STEP_NOT_COVERED;
	if (leave->cursor->go.side != GO_SIDE_G0 || !cursor_read(leave->cursor, slot, &word, 1) ||
	    !go_rule_before(leave, word) ||
	    go_rows_find_switch(leave->rows, word - leave->bias - 1))
		return STEP_OUTERMOST;
	bare.depth = 0; /* the frame lies below the copied bytes */
	leave->cursor->known &= ~(1U << REG_RBP);
	return go_return(&bare, slot, true);
}

/* Finds the stack pointer that asmcgocall keeps at rsp + AT when it does not change stacks. */
static bool go_find_kept_sp(const struct go_leave *leave, unsigned at, uint64_t *sp)
{
	uint64_t rsp = leave->cursor->regs[REG_RSP], words[2];

	if (!cursor_read(leave->cursor, rsp + at, words, 2) || words[1])
		return false;
	*sp = words[0];
	return *sp == rsp + at + 24 || *sp == rsp + at + 32 || *sp == rsp + at + 16;
}

static enum unwind_step go_leave_asmcgocall(const struct go_leave *leave)
{
	uint64_t sp;

	if (go_is_unswitched(leave))
		return STEP_NOT_COVERED;
	if (!leave->cursor->interrupted &&
	    (go_find_kept_sp(leave, 40, &sp) || go_find_kept_sp(leave, 0, &sp)))
		return go_return(leave, sp + leave->depth, false);
	if (leave->cursor->go.side != GO_SIDE_G0)
		return STEP_CUT;
	return go_return(leave, leave->cursor->go.other_sp + leave->depth, true);
}

/*
 * Skips C's frames, as Go itself does: steps from the callback to the caller of asmcgocall(). The
 * CFA is asmcgocall()'s saved stack pointer, and asmcgocall()'s frame has 0 or 8 bytes. The word at
 * the place of the callback's return address is in systemstack_switch(), up to Go 1.15 in
 * asmcgocall().
 */
static enum unwind_step go_skip_c(const struct go_leave *leave, uint64_t cfa)
{
	struct go_leave bare = *leave;
	const struct go_switch *mark;
	uint64_t words[3];

	if (!cursor_read(leave->cursor, cfa - 8, words, 3))
		return STEP_NOT_COVERED;
	mark = go_rows_find_switch(leave->rows, words[0] - leave->bias);
	if (!mark || (mark->kind != GO_MARK && mark->kind != GO_ASMCGOCALL))
		return STEP_NOT_COVERED;
	bare.depth = 0; /* rbp is not saved there */
	leave->cursor->known &= ~(1U << REG_RBP);
	for (unsigned i = 1; i < 3; i++)
		if (go_rule_before(leave, words[i]))
			return go_return(&bare, cfa + 8 * (i - 1), false);
	return STEP_NOT_COVERED;
}

/* Steps to crosscall2(), on g0's stack. */
static enum unwind_step go_leave_callback(const struct go_leave *leave)
{
	struct cursor *cursor = leave->cursor;
	enum unwind_step step;
	uint64_t cfa = cursor->regs[REG_RSP] + leave->depth + 8, word;

	cursor->go.callback |= cursor->go.side == GO_SIDE_UNKNOWN;
	if (cursor->go.side != GO_SIDE_GOROUTINE)
		return go_skip_c(leave, cfa);
	for (unsigned i = 0; i < GO_SEARCHED_WORDS; i++) {
		uint64_t slot = cursor->go.other_sp + sizeof(word) * i + leave->depth;

		if (!cursor_read(cursor, slot, &word, 1) || !go_is_crosscall(leave, word))
			continue;
		step = go_return(leave, slot, true);
		if (step == STEP_CALLER)
			cursor->go.other_sp = cfa;
		return step;
	}
	return go_skip_c(leave, cfa);
}

/*
 * These functions keep their stack pointer in r12 or rbp. Their first instructions, before the
 * register is set, still run on the stack that the functions were called on. r12 may have the value
 * of an earlier call then.
 */
static enum unwind_step go_leave_vdso(const struct go_leave *leave)
{
	static const uint8_t kept[] = { REG_R12, REG_RBP };
	struct cursor *cursor = leave->cursor;

	if (go_is_unswitched(leave))
		return STEP_NOT_COVERED;
	for (unsigned i = 0; leave->depth && i < sizeof(kept); i++) {
		uint64_t slot = cursor->regs[kept[i]] + leave->depth, word;

		if (cursor->known >> kept[i] & 1 && cursor_read(cursor, slot, &word, 1) &&
		    go_rule_before(leave, word))
			return go_return(leave, slot, false);
	}
	return STEP_NOT_COVERED;
}

static enum unwind_step go_leave_signal(const struct go_leave *leave)
{
	enum { N = sizeof(go_sigcontext) };
	struct cursor *cursor = leave->cursor;
	uint64_t words[N];

	if (!cursor_read(cursor, cursor->regs[REG_RSP] + UCONTEXT_REGISTERS, words, N))
		return STEP_CUT;
	for (unsigned i = 0; i < N; i++)
		cursor->regs[go_sigcontext[i]] = words[i];
	cursor->known = CURSOR_KNOWS_ALL;
	cursor->interrupted = true;
	return STEP_CALLER;
}

enum unwind_step go_switch_x86_step(const struct go_switch *one, struct go_rows *rows,
				    uint64_t bias, struct cursor *cursor)
{
	static enum unwind_step (*const leaves[N_GO_SWITCH_KINDS])(const struct go_leave *) = {
		[GO_SYSTEMSTACK] = go_leave_systemstack, [GO_MCALL] = go_leave_mcall,
		[GO_MORESTACK] = go_leave_mcall,         [GO_ASMCGOCALL] = go_leave_asmcgocall,
		[GO_CALLBACK] = go_leave_callback,       [GO_VDSO] = go_leave_vdso,
	};
	const struct cfi_rule *rule = go_rows_find(rows, cursor_pc(cursor) - bias);
	struct go_leave leave = { rows, bias, cursor, 0 };

	if (one->kind == GO_SIGRETURN)
		return go_leave_signal(&leave);
	if (!rule || rule->kind != RULE_CFA || rule->reg != REG_RSP)
		return STEP_NOT_COVERED;
	leave.depth = (uint64_t)rule->offset - 8;
	go_switches_find_other(cursor);
	return leaves[one->kind] ? leaves[one->kind](&leave) : STEP_NOT_COVERED;
}
