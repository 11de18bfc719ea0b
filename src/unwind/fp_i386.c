/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step by frame pointers in a kernel of i386, which has no unwind tables and keeps frame
 * pointers (CONFIG_UNWINDER_FRAME_POINTER). fp_x86.c explains the frames. Besides them a Linux
 * kernel has:
 *
 *   ebp without its highest bit   The address with this bit set is a struct pt_regs of an interrupt
 *                                 or exception (Linux arch/x86/entry/entry_32.S,
 *                                 ENCODE_FRAME_POINTER).
 *   esp at a struct pt_regs       The struct is at the end of a kernel stack. The vCPU is in the
 *                                 code of a system call, which does not change the user's ebp.
 *   esp in a pt_regs at the end   The vCPU is in entry code, on the CPU's entry stack. Values that
 *     of a page                   are not pushed yet are in their registers (registers_i386.h).
 *   esp at the end of a page,     sysenter: the user's values are still, or again, in registers.
 *     or a pt_regs without esp    The caller of __kernel_vsyscall() is on the user's stack.
 *   ebp on another stack          The frame is on an interrupt's stack, and ebp leads to the
 *                                 interrupted stack (arch/x86/kernel/irq_32.c).
 *
 * In a thread's first pt_regs all registers are zeros (arch/x86/kernel/process.c, copy_thread()):
 * the thread's chain ends there. Resolver's thread; a pure function of its input.
 */
#include "config.h"

#include <string.h>

#include "unwind/cursor_x86.h"
#include "unwind/entry.h"
#include "unwind/fp.h"
#include "xtop/base/kernel_32.h"
#include "xtop/base/registers_i386.h"

#define FP_ENCODED     0x80000000ULL
#define FP_NOP_BYTES   5  /* size of ftrace's call, which is before the frame is linked */
#define FP_ENTRY_BYTES 40 /* first bytes of a function, in which its frame may not be linked yet */

static bool fp_is_kernel(uint64_t address)
{
	return address >= KERNEL_32_START && address < KERNEL_32_END;
}

/* --- struct pt_regs --------------------------------------------------------------------------- */

static void fp_set_regs(struct cursor *cursor, uint64_t address, const uint64_t *saved)
{
	cursor_bytes(cursor, address, PT_I386_BYTES); /* now these bytes count as reached */
	memset(cursor->regs, 0, sizeof(cursor->regs));
	cursor->regs[REG_RBX] = saved[PT_I386_BX];
	cursor->regs[REG_RCX] = saved[PT_I386_CX];
	cursor->regs[REG_RDX] = saved[PT_I386_DX];
	cursor->regs[REG_RSI] = saved[PT_I386_SI];
	cursor->regs[REG_RDI] = saved[PT_I386_DI];
	cursor->regs[REG_RBP] = saved[PT_I386_BP];
	cursor->regs[REG_RAX] = saved[PT_I386_AX];
	cursor->regs[REG_RIP] = saved[PT_I386_IP];
	cursor->regs[REG_RSP] = saved[PT_I386_SP];
	cursor->known = CURSOR_KNOWS_ALL;
	cursor->interrupted = true;
}

static bool fp_is_user_regs(const struct cursor *cursor, const uint64_t *saved)
{
	return (saved[PT_I386_CS] & CS_PRIVILEGE) == CS_PRIVILEGE &&
	       (saved[PT_I386_SS] & CS_PRIVILEGE) == CS_PRIVILEGE &&
	       !fp_is_kernel(saved[PT_I386_SP]) && cursor_piece(cursor, saved[PT_I386_SP]) >= 0;
}

/* Moves the cursor to the user code whose registers lie at ADDRESS. Returns false if none do. */
static bool fp_i386_find_user(struct cursor *cursor, uint64_t address)
{
	uint64_t saved[N_PT_I386];

	if (!fp_is_kernel(address) || !cursor_peek_short(cursor, address, saved, N_PT_I386) ||
	    !fp_is_user_regs(cursor, saved))
		return false;
	fp_set_regs(cursor, address, saved);
	cursor->user = true;
	return true;
}

/* Where the user's registers would begin on PIECE; 0 if PIECE is no kernel stack. */
static uint64_t fp_top(const struct sample_stack *piece)
{
	if (piece->kind == STACK_USER)
		return 0;
	return piece->address + piece->size_bytes - I386_STACK_PADDING - PT_I386_BYTES;
}

/* Whether ADDRESS is where one of the kernel's stacks would have the user's registers. */
static bool fp_is_top(const struct cursor *cursor, uint64_t address)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece))
		if (address && fp_top(piece) == address)
			return true;
	return false;
}

bool entry_i386_search_user(struct cursor *cursor)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece))
		if (fp_i386_find_user(cursor, fp_top(piece)))
			return true;
	return false;
}

static bool fp_leave_entry_stack(struct cursor *cursor)
{
	uint64_t sp = cursor->regs[REG_SP], address = i386_entry_regs(sp);
	uint64_t saved[N_PT_I386] = { [PT_I386_BP] = cursor->regs[REG_RBP] };
	uint64_t place = address + PT_I386_AT(PT_I386_BP);

	if (!address || !cursor->interrupted ||
	    !cursor_read_short(cursor, address + PT_I386_AT(PT_I386_IP), &saved[PT_I386_IP],
			       N_PT_I386 - PT_I386_IP) ||
	    (uint16_t)saved[PT_I386_CS] != I386_USER_CS ||
	    (uint16_t)saved[PT_I386_SS] != I386_USER_SS || !fp_is_user_regs(cursor, saved))
		return false;
	if (sp <= place && !cursor_read_short(cursor, place, &saved[PT_I386_BP], 1))
		return false;
	fp_set_regs(cursor, address, saved);
	cursor->known = 1U << REG_PC | 1U << REG_SP | 1U << REG_RBP;
	cursor->user = true;
	return true;
}

/* --- sysenter --------------------------------------------------------------------------------- */

/*
 * Whether the kernel is about to return to the user code of SAVED, the pt_regs at ADDRESS: the
 * kernel pops these registers, or it is on the entry stack.
 */
static bool fp_is_sysexit(const struct cursor *cursor, uint64_t address, const uint64_t *saved)
{
	uint64_t sp = cursor->regs[REG_SP];

	return (i386_is_sysenter(sp) || (sp >= address && sp - address <= PT_I386_BYTES)) &&
	       saved[PT_I386_SP] && saved[PT_I386_SP] == cursor->regs[REG_RCX] &&
	       saved[PT_I386_IP] == cursor->regs[REG_RDX];
}

/*
 * Whether the kernel is still filling SAVED, the user's pt_regs at ADDRESS. *BP is then set to the
 * saved ebp, which is the user's stack pointer, if ebp was saved already.
 */
static bool fp_is_half_saved(const struct cursor *cursor, uint64_t address, const uint64_t *saved,
			     uint64_t *bp)
{
	uint64_t sp = cursor->regs[REG_SP];

	if (sp < address || sp - address > PT_I386_AT(PT_I386_SP) || saved[PT_I386_SP])
		return false;
	if (sp <= address + PT_I386_AT(PT_I386_BP))
		*bp = saved[PT_I386_BP];
	return true;
}

/*
 * BP is the stack pointer in __kernel_vsyscall(). The address in this function is not saved yet, so
 * the user's part begins with the function's caller.
 */
static bool fp_leave_vsyscall(struct cursor *cursor, uint64_t bp)
{
	uint64_t words[N_VSYSCALL_I386];

	if (fp_is_kernel(bp) || bp % sizeof(uint32_t) || cursor_piece(cursor, bp) < 0 ||
	    !cursor_read_short(cursor, bp, words, N_VSYSCALL_I386))
		return false;
	cursor->regs[REG_RBP] = words[VSYSCALL_I386_BP];
	cursor->regs[REG_PC] = words[VSYSCALL_I386_RETURN];
	cursor->regs[REG_SP] = bp + N_VSYSCALL_I386 * sizeof(uint32_t);
	cursor->known = 1U << REG_PC | 1U << REG_SP | 1U << REG_RBP;
	cursor->interrupted = false;
	cursor->user = true;
	return true;
}

/* Reads the pt_regs at ADDRESS. Words that the kernel has not pushed yet read as 0. */
static bool fp_read_pushed(struct cursor *cursor, uint64_t address, uint64_t *saved)
{
	uint64_t sp = cursor->regs[REG_SP];
	size_t first = 0;

	if (sp > address && sp - address <= PT_I386_AT(PT_I386_SP))
		first = (sp - address) / sizeof(uint32_t);
	memset(saved, 0, N_PT_I386 * sizeof(saved[0]));
	return cursor_peek_short(cursor, address + PT_I386_AT(first), saved + first,
				 N_PT_I386 - first);
}

/* Finds the user's pt_regs on any of the kernel's stacks. Sets *ADDRESS to 0 if there is none. */
static void fp_find_top(struct cursor *cursor, uint64_t *address, uint64_t *saved)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	*address = 0;
	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t top = fp_top(piece);

		if (fp_is_kernel(top) && fp_read_pushed(cursor, top, saved) &&
		    (uint16_t)saved[PT_I386_SS] == I386_USER_SS) {
			*address = top;
			return;
		}
	}
}

/* Leaves code that restores the user's registers: ebp may have the user's value already. */
static bool fp_leave_sysexit(struct cursor *cursor, uint64_t address, uint64_t *saved)
{
	uint64_t sp = cursor->regs[REG_SP];

	if (!fp_is_user_regs(cursor, saved))
		return false;
	if (sp < address || sp > address + PT_I386_AT(PT_I386_BP))
		saved[PT_I386_BP] = cursor->regs[REG_RBP];
	fp_set_regs(cursor, address, saved);
	cursor->known = 1U << REG_PC | 1U << REG_SP | 1U << REG_RBP;
	cursor->user = true;
	return true;
}

static bool fp_leave_sysenter(struct cursor *cursor)
{
	uint64_t bp = cursor->regs[REG_RBP], address, saved[N_PT_I386];

	fp_find_top(cursor, &address, saved);
	if (address && cursor->interrupted && fp_is_sysexit(cursor, address, saved))
		return fp_leave_sysexit(cursor, address, saved);
	if (cursor->interrupted && i386_is_sysenter(cursor->regs[REG_SP]))
		return fp_leave_vsyscall(cursor, bp);
	return address && fp_is_half_saved(cursor, address, saved, &bp) &&
	       fp_leave_vsyscall(cursor, bp);
}

/* --- saved registers -------------------------------------------------------------------------- */

/* Steps to the code whose pt_regs is at ADDRESS, which an encoded ebp named. */
static enum unwind_step fp_step_regs(struct cursor *cursor, uint64_t address)
{
	uint64_t saved[N_PT_I386];

	if (!cursor_peek_short(cursor, address, saved, N_PT_I386))
		return STEP_NOT_COVERED;
	if ((saved[PT_I386_CS] & CS_PRIVILEGE) == CS_PRIVILEGE)
		return fp_i386_find_user(cursor, address) ? STEP_USER : STEP_CUT;
	if (!saved[PT_I386_IP])
		return STEP_OUTERMOST;
	if (!fp_is_kernel(saved[PT_I386_IP]) || !fp_is_kernel(saved[PT_I386_SP]))
		return STEP_BAD;
	fp_set_regs(cursor, address, saved);
	return STEP_CALLER;
}

/* --- a function whose frame is not linked ----------------------------------------------------- */

/* Sets *PLACE to the return address's place on the stack. Returns false if the frame is linked. */
static bool fp_entry_place(struct cursor *cursor, uint64_t offset, uint64_t *place)
{
	uint64_t sp = cursor->regs[REG_SP], top;
	bool pushed = offset && offset < FP_ENTRY_BYTES && cursor_read_short(cursor, sp, &top, 1) &&
		      top == cursor->regs[REG_RBP];

	*place = sp + (pushed ? sizeof(uint32_t) : 0);
	return pushed || offset <= FP_NOP_BYTES;
}

static bool fp_step_entry(const struct unwind_space *space, struct cursor *cursor)
{
	uint64_t pc = cursor->regs[REG_PC], start, place, address;

	if (!space || !space->find_function(space, pc, &start) ||
	    !fp_entry_place(cursor, pc - start, &place) ||
	    !cursor_read_short(cursor, place, &address, 1) ||
	    !space->find_function(space, address - 1, &start))
		return false;
	cursor->regs[REG_PC] = address;
	cursor->regs[REG_SP] = place + sizeof(uint32_t);
	cursor->interrupted = false;
	return true;
}

/* --- a step ----------------------------------------------------------------------------------- */

static enum unwind_step fp_step_frame(struct cursor *cursor)
{
	uint64_t bp = cursor->regs[REG_RBP], words[2];

	if (!bp)
		return STEP_OUTERMOST;
	if (bp % sizeof(uint32_t))
		return STEP_BAD;
	if (!cursor_read_short(cursor, bp, words, 2))
		return bp - cursor->regs[REG_SP] < GUEST_PAGE_SIZE ? STEP_CUT : STEP_BAD;
	if (!words[1])
		return STEP_OUTERMOST;
	cursor->regs[REG_RBP] = words[0];
	cursor->regs[REG_PC] = words[1];
	cursor->regs[REG_SP] = bp + 2 * sizeof(uint32_t);
	cursor->interrupted = false;
	return STEP_CALLER;
}

enum unwind_step fp_i386_step(const struct unwind_space *space, struct cursor *cursor)
{
	uint64_t bp = cursor->regs[REG_RBP], sp = cursor->regs[REG_SP];
	enum unwind_step step = STEP_CALLER;

	if (!(cursor->known >> REG_RBP & 1))
		return STEP_NOT_COVERED;
	if (fp_is_top(cursor, sp) && fp_i386_find_user(cursor, sp))
		return STEP_USER;
	if (fp_leave_entry_stack(cursor) || fp_leave_sysenter(cursor))
		return STEP_USER;
	if (!(bp & FP_ENCODED) && fp_is_kernel(bp | FP_ENCODED)) {
		step = fp_step_regs(cursor, bp | FP_ENCODED);
		if (step != STEP_NOT_COVERED)
			return step;
		step = STEP_CALLER;
	}
	if (!cursor->interrupted || !fp_step_entry(space, cursor))
		step = fp_step_frame(cursor);
	if (step == STEP_CALLER)
		cursor->known = 1U << REG_PC | 1U << REG_SP | 1U << REG_RBP;
	return step;
}
