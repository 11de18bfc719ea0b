/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps from code of a Linux kernel for which the ORC tables have no entry or a wrong entry:
 * retpolines, hypercall stubs, trampolines, the switch of tasks. symbol/ adds the ranges of such
 * code (orc.h, enum orc_special). orc_step_x86.c tries these ranges first. Resolver's thread; steps
 * are pure functions.
 */
#include "config.h"

#include "unwind/orc_table.h"
#include "unwind/stubs.h"

/*
 * A retpoline (Linux arch/x86/lib/retpoline.S), and on the right its alternative:
 *
 *    0  call inner    5 bytes; before it the caller is on top         0  lfence
 *    5  a trap that never runs: 1 byte, or 7 before 6.2               3  jmp *%reg
 *       inner: mov %reg, (%rsp)
 *       ret           the caller is one word below the top
 */
#define RETPOLINE_BYTES 32
#define RETPOLINE_TRAP  5

/*
 * __switch_to_asm saves six registers on the task's stack (Linux asm/switch_to.h, struct
 * inactive_task_frame: r15 r14 r13 r12 rbx rbp, return address), and changes to the other task's
 * stack. Then it fills the return stack buffer (asm/nospec-branch.h, __FILL_RETURN_BUFFER): an
 * alternative has the calls below, and the add drops their return addresses. Before 6.0 the rows
 * here describe another alternative, with a call at another place.
 *
 *       call inner    the address after it is on top
 *       a trap        that never runs
 *       inner: call next
 *       a trap        both addresses are on top
 *       next: add $16, %rsp
 */
#define SWITCH_SAVED 6
#define SWITCH_RBP   5
#define SWITCH_CALLS 2

void orc_add_special(struct orc *orc, enum orc_special kind, uint64_t start, uint64_t end)
{
	struct orc_special_range *last = &orc->specials[orc->n_specials];

	if (start >= end)
		return;
	if (orc->n_specials && last[-1].kind == kind && start >= last[-1].start &&
	    start <= last[-1].end + RETPOLINE_BYTES) {
		if (end > last[-1].end)
			last[-1].end = end;
	} else if (orc->n_specials < ORC_MAX_SPECIALS) {
		*last = (struct orc_special_range){ start, end, kind };
		orc->n_specials++;
	} else {
		return;
	}
	if (orc->specials_start == orc->specials_end || start < orc->specials_start)
		orc->specials_start = start;
	if (end > orc->specials_end)
		orc->specials_end = end;
}

bool orc_find_special(const struct orc *orc, uint64_t address, enum orc_special *kind,
		      uint64_t *start)
{
	if (address - orc->specials_start >= orc->specials_end - orc->specials_start)
		return false;
	for (size_t i = 0; i < orc->n_specials; i++)
		if (address >= orc->specials[i].start && address < orc->specials[i].end) {
			*kind = orc->specials[i].kind;
			*start = orc->specials[i].start;
			return true;
		}
	return false;
}

/* How many words on top of the stack are return addresses between START and ADDRESS. */
static unsigned orc_switch_calls(struct cursor *cursor, uint64_t start, uint64_t address)
{
	uint64_t word;
	unsigned n = 0;

	while (n < SWITCH_CALLS && cursor_read(cursor, cursor->regs[REG_RSP] + 8 * n, &word, 1) &&
	       word - start < address - start)
		n++;
	return n;
}

/*
 * A step from __switch_to_asm, which begins at START in the image. STEP_NOT_COVERED where not all
 * registers are saved: the rows are right there.
 */
static enum unwind_step orc_step_switch(const struct orc *orc, uint64_t bias,
					struct cursor *cursor, uint64_t start)
{
	const struct orc_row *row = orc_find(orc, cursor->regs[REG_RIP] - bias);
	unsigned calls;

	if (!row || row->type != ORC_CALL || row->sp_reg != ORC_SP ||
	    row->sp_offset < 8 * (SWITCH_SAVED + 1))
		return STEP_NOT_COVERED;
	calls = orc_switch_calls(cursor, start + bias, cursor->regs[REG_RIP]);
	if (!cursor_read(cursor, cursor->regs[REG_RSP] + 8 * (calls + SWITCH_RBP),
			 &cursor->regs[REG_RBP], 1))
		return STEP_CUT;
	return cursor_step_leaf(cursor, calls + SWITCH_SAVED);
}

/*
 * Uses the return address itself to find a trampoline, not the byte before: the code before a
 * trampoline did not make the call.
 */
enum unwind_step orc_step_special(const struct orc *orc, uint64_t bias, struct cursor *cursor)
{
	uint64_t address = cursor->regs[REG_RIP] - bias, start;
	enum orc_special kind;

	if (!orc_find_special(orc, address, &kind, &start))
		return STEP_NOT_COVERED;
	if (kind == ORC_TRAMPOLINES)
		return STEP_REPLACED;
	if (!cursor->interrupted)
		return STEP_NOT_COVERED;
	if (kind == ORC_SWITCH)
		return orc_step_switch(orc, bias, cursor, start);
	if (kind == ORC_HYPERCALLS)
		return stubs_step_pv(cursor, address - start);
	return cursor_step_leaf(cursor,
				kind == ORC_RETPOLINES &&
					(address - start) % RETPOLINE_BYTES >= RETPOLINE_TRAP);
}
