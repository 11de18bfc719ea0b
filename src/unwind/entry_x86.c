/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the user code's registers where the kernel's own chain does not lead to them.
 *
 * When user code enters the kernel, its registers become the first words of the task's stack, as
 * struct pt_regs (Linux arch/x86/include/asm/ptrace.h). With CONFIG_X86_FRED 16 bytes lie above:
 *
 *   r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax | ip cs flags sp ss |
 *
 * The processor saves the last five words, and iret restores them. The code that enters and leaves
 * the kernel has only ORC entries of type END. At a few of these instructions the general registers
 * have the user's values: not yet changed, or already restored (arch/x86/entry/entry_64.S):
 *
 *   system call   rcx and r11 have the user's rip and rflags: the processor put them there, or will
 *                 take them from there. rsp is the user's until the kernel changes the stack.
 *   other entry   The five words of iret are on the stack, possibly above an error code. In a PV
 *                 guest Xen pushes rcx and r11 on top, and the first two instructions pop them
 *                 (xen-asm.S; Xen arch/x86/x86_64/entry.S, create_bounce_frame).
 *
 * During execve() the saved registers belong to the old program until the new program starts, but
 * the old program's memory is gone. Such a sample has no user code.
 *
 * Saved registers count only if the user's stack was copied. Resolver's thread; pure functions.
 */
#include "config.h"

#include "unwind/entry.h"

#include "unwind/cursor_x86.h"
#include "xtop/base/registers_x86.h"

#define FRED_BYTES 16

#define ENTRY_WORDS_ABOVE 3 /* rcx, r11, error code */

/* execve, exit, exit_group, execveat: Linux arch/x86/entry/syscalls/syscall_64.tbl */
static const struct entry_calls entry_calls = { { 59, 60, 231, 322 } };
/* exit, execve, exit_group, execveat of 32-bit programs: syscall_32.tbl */
static const struct entry_calls entry_calls_32 = { { 1, 11, 252, 358 } };

#define RFLAGS_ONE  (1ULL << 1) /* always set */
#define RFLAGS_IF   (1ULL << 9) /* user code runs with interrupts on */
#define RFLAGS_BITS 22

static bool entry_is_user_selector(uint64_t selector)
{
	return (selector & CS_PRIVILEGE) == CS_PRIVILEGE && selector < 1 << 16;
}

/* Whether IRET has user code's words, and the user stack at its rsp was copied. */
static bool entry_is_user(const struct cursor *cursor, const uint64_t iret[N_IRET])
{
	return entry_is_user_selector(iret[IRET_CS]) && entry_is_user_selector(iret[IRET_SS]) &&
	       !entry_is_upper(iret[IRET_RSP]) && cursor_piece(cursor, iret[IRET_RSP]) >= 0 &&
	       iret[IRET_RFLAGS] & RFLAGS_ONE && !(iret[IRET_RFLAGS] >> RFLAGS_BITS);
}

/* Moves the cursor to the user code at RIP. The other registers have the user's values already. */
static void entry_set_user(struct cursor *cursor, uint64_t rip, uint64_t rsp)
{
	cursor->regs[REG_RIP] = rip;
	cursor->regs[REG_RSP] = rsp;
	cursor->interrupted = cursor->user = true;
}

/* Reads WORDS if they have user code's registers; WORDS + IRET are the words of iret. */
static bool entry_read(struct cursor *cursor, uint64_t address, uint64_t *words, size_t n,
		       size_t iret)
{
	if (!cursor_peek(cursor, address, words, n) || !entry_is_user(cursor, words + iret))
		return false;
	cursor_bytes(cursor, address, n * sizeof(*words)); /* now they are reached */
	return true;
}

static bool entry_set_regs(struct cursor *cursor, uint64_t top)
{
	uint64_t saved[N_PT_REGS];

	if (!entry_read(cursor, top - sizeof(saved), saved, N_PT_REGS, PT_REGS_PROCESSOR))
		return false;
	cursor_set_pt_regs(cursor, saved);
	cursor->interrupted = cursor->user = true;
	return true;
}

/* Whether TRY succeeds at the top of a kernel stack, or where FRED puts the registers. */
static bool entry_try_tops(struct cursor *cursor, bool (*try)(struct cursor *, uint64_t top))
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t top = piece->address + piece->size_bytes;

		if (entry_is_upper(piece->address) &&
		    (try(cursor, top) || try(cursor, top - FRED_BYTES)))
			return true;
	}
	return false;
}

bool entry_find_regs(struct cursor *cursor)
{
	return entry_try_tops(cursor, entry_set_regs);
}

/* Whether orig_ax in the struct pt_regs below TOP is a system call that gives up memory. */
static bool entry_is_last_call(struct cursor *cursor, uint64_t top)
{
	uint64_t saved[N_PT_REGS];

	return cursor_peek(cursor, top - sizeof(saved), saved, N_PT_REGS) &&
	       entry_is_user_selector(saved[PT_REGS_CS]) &&
	       entry_calls_have(code_word_bytes(WIDTH_64, saved[PT_REGS_CS]) == sizeof(uint32_t)
					? &entry_calls_32
					: &entry_calls,
				saved[PT_REGS_ORIG_RAX]);
}

bool entry_has_no_memory(struct cursor *cursor)
{
	return cursor->vcpu->user_cut == CUT_NOT_PRESENT &&
	       entry_try_tops(cursor, entry_is_last_call);
}

static bool entry_set_iret(struct cursor *cursor, uint64_t address)
{
	uint64_t iret[N_IRET];

	if (!entry_read(cursor, address, iret, N_IRET, 0))
		return false;
	entry_set_user(cursor, iret[IRET_RIP], iret[IRET_RSP]);
	cursor->word_bytes = code_word_bytes(WIDTH_64, iret[IRET_CS]);
	return true;
}

/* The user's stack pointer; 0 if the user's stack was not copied. */
static uint64_t entry_user_rsp(const struct cursor *cursor)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece))
		if (piece->kind == STACK_USER)
			return piece->address;
	return entry_is_upper(cursor->regs[REG_RSP]) ? 0 : cursor->regs[REG_RSP];
}

/* Whether rcx and r11 can be the user's rip and rflags. */
static bool entry_is_system_call(const struct unwind_space *user, const struct cursor *cursor)
{
	uint64_t rip = cursor->regs[REG_RCX], rflags = cursor->regs[REG_R11];
	struct unwind_code code;

	if (!(rflags & RFLAGS_ONE) || !(rflags & RFLAGS_IF) || rflags >> RFLAGS_BITS || !user ||
	    entry_is_upper(rip))
		return false;
	user->find(user, rip, false, &code);
	return code.mapped;
}

bool entry_leave(const struct unwind_space *user, struct cursor *cursor)
{
	uint64_t rsp = cursor->regs[REG_RSP], user_rsp = entry_user_rsp(cursor);

	for (unsigned above = 0; entry_is_upper(rsp) && above <= ENTRY_WORDS_ABOVE; above++)
		if (entry_set_iret(cursor, rsp + above * sizeof(rsp)))
			return true;
	if (!user_rsp || !entry_is_system_call(user, cursor))
		return false;
	entry_set_user(cursor, cursor->regs[REG_RCX], user_rsp);
	return true;
}
