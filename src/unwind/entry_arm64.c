/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the registers that Linux on arm64 has saved (struct pt_regs, vcpu_arm64.h): those of
 * interrupted kernel code, and those of the user code that entered the kernel.
 *
 * Each entry into the kernel makes a pt_regs that ends with a frame record. The chain of frame
 * pointers goes through this record (Linux arch/arm64/kernel/entry.S, kernel_entry):
 *
 *   from user code     the record is { 0, 0 }: the chain ends, and the user's registers lie before
 *                      the record
 *   from the kernel    the record is { x29, pc } of the interrupted code; from v6.13 on the record
 *                      is { 0, 0 }, too, and a third word tells the two kinds of entry apart
 *
 * So a chain that was followed to its end leads to the user's registers. Before the kernel has
 * saved them, and after it has restored them, the vCPU has them: SP_EL0 and ELR_EL1 are the user's.
 *
 * The user code may have 32 bits (bit 4 of pstate): then x0 to x14 are its r0 to r14.
 * Resolver's thread; pure functions.
 */
#include "config.h"

#include "unwind/entry.h"

#include "unwind/cursor_arm32.h"
#include "unwind/cursor_arm64.h"

/* exit, exit_group, execve, execveat: Linux include/uapi/asm-generic/unistd.h */
static const struct entry_calls entry_calls = { { 93, 94, 221, 281 } };
/* exit, execve, exit_group, execveat: Linux arch/arm64/include/asm/unistd32.h */
static const struct entry_calls entry_calls_32 = { { 1, 11, 248, 387 } };

/* Linux arch/arm64/include/asm/stacktrace/frame.h, enum frame_meta_type */
#define RECORD_OF_USER   1
#define RECORD_OF_KERNEL 2

/* Whether the frame record at RECORD is { 0, 0 } with the third word TYPE. */
static bool entry_is_typed(struct cursor *cursor, uint64_t record, uint64_t type)
{
	uint64_t words[3];

	return cursor_peek(cursor, record, words, 3) && !words[0] && !words[1] && words[2] == type;
}

/* The address of the struct pt_regs that has the frame record at RECORD. */
static uint64_t entry_find_pt_regs(uint64_t record, bool typed)
{
	return record -
	       PT_ARM64_AT(typed ? PT_ARM64_STACKFRAME_TYPED : PT_ARM64_STACKFRAME);
}

static void entry_set(struct cursor *cursor, const uint64_t *saved)
{
	if (pstate_arm64_is_user32(saved[PT_ARM64_PSTATE])) {
		cursor_arm32_set_saved(cursor, saved);
		return;
	}
	cursor_arm64_set(cursor, saved);
}

/*
 * The sampler sets user_cut only if a Linux task has a user stack. The idle task of the first CPU
 * has zeros in its pt_regs (Linux arch/arm64/kernel/head.S, init_cpu_task). These are no user
 * registers: no program runs at address 0 with its stack at 0.
 */
static bool entry_is_user_regs(const struct cursor *cursor, const uint64_t *saved)
{
	uint64_t pstate = saved[PT_ARM64_PSTATE];

	return cursor->vcpu->user_cut != CUT_NONE &&
	       (saved[pt_regs_arm64_sp(pstate)] || saved[PT_ARM64_PC]) &&
	       (pstate_arm64_is_user64(pstate) || pstate_arm64_is_user32(pstate)) &&
	       !entry_is_upper(saved[pt_regs_arm64_sp(pstate)]) &&
	       !entry_is_upper(saved[PT_ARM64_PC]);
}

/* Whether the copied user stack begins at SP. */
static bool entry_is_user_stack(const struct cursor *cursor, uint64_t sp)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece))
		if (piece->kind == STACK_USER)
			return piece->address == sp;
	return false;
}

/* Whether the user code of SAVED still has its memory: execve() and exit() give it up. */
static bool entry_has_memory(const struct cursor *cursor, const uint64_t *saved)
{
	bool is_32 = pstate_arm64_is_user32(saved[PT_ARM64_PSTATE]);

	return cursor->vcpu->user_cut != CUT_NOT_PRESENT ||
	       !entry_calls_have(is_32 ? &entry_calls_32 : &entry_calls,
				 (uint32_t)saved[PT_ARM64_SYSCALL]);
}

/*
 * Moves the cursor to the user code of a struct pt_regs at ADDRESS. Returns false if there is none.
 */
static bool entry_set_saved_user(struct cursor *cursor, uint64_t address)
{
	uint64_t saved[N_PT_ARM64];

	if (!cursor_peek(cursor, address, saved, N_PT_ARM64) ||
	    !entry_is_user_regs(cursor, saved) || !entry_has_memory(cursor, saved))
		return false;
	cursor_bytes(cursor, address, sizeof(saved)); /* now they count as reached */
	entry_set(cursor, saved);
	cursor->user = true;
	return true;
}

/*
 * Moves the cursor to the user code of a struct pt_regs of SIZE_BYTES that ends at END. Returns
 * false if the words there do not name the copied user stack.
 */
static bool entry_set_last(struct cursor *cursor, uint64_t end, uint64_t size_bytes)
{
	uint64_t saved[N_PT_ARM64];

	return cursor_peek(cursor, end - size_bytes, saved, N_PT_ARM64) &&
	       entry_is_user_stack(cursor, saved[pt_regs_arm64_sp(saved[PT_ARM64_PSTATE])]) &&
	       entry_set_saved_user(cursor, end - size_bytes);
}

/*
 * Finds the user's registers at the end of a kernel stack, if the chain did not lead there.
 */
static bool entry_search_user(struct cursor *cursor)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	for (unsigned i = 0; i < cursor->vcpu->n_stacks; i++, piece = sample_next_stack(piece)) {
		uint64_t end = piece->address + piece->size_bytes;

		if (entry_is_upper(piece->address) &&
		    (entry_set_last(cursor, end, PT_ARM64_BYTES) ||
		     entry_set_last(cursor, end, PT_ARM64_BYTES_LEAST)))
			return true;
	}
	return false;
}

/* Moves the cursor to the user code whose pt_regs has RECORD, where the chain has ended. */
static bool entry_set_by_record(struct cursor *cursor, uint64_t record)
{
	bool typed = entry_is_typed(cursor, record, RECORD_OF_USER);

	return entry_set_saved_user(cursor, entry_find_pt_regs(record, typed));
}

/* --- entering and leaving --------------------------------------------------------------------- */

/* Reads the struct pt_regs at SP_EL1, which the kernel fills or empties. False if not copied. */
static bool entry_get_regs(const struct cursor *cursor, uint64_t *saved)
{
	const struct sample_stack *piece = sample_first_stack(cursor->vcpu);

	if (!cursor->vcpu->n_stacks || piece->kind != STACK_FIRST ||
	    piece->address != cursor->vcpu->regs.arm64.sp_el1 ||
	    piece->size_bytes < PT_ARM64_BYTES_LEAST || piece->size_bytes > PT_ARM64_BYTES)
		return false;
	memcpy(saved, piece + 1, PT_ARM64_BYTES_LEAST);
	return true;
}

/* Gets the user code's registers from memory and from the vCPU, as if all had been saved. */
static void entry_get_entering(const struct cursor *cursor, uint64_t *saved)
{
	const struct registers_arm64 *regs = &cursor->vcpu->regs.arm64;
	bool has_regs = entry_get_regs(cursor, saved);

	if (!has_regs || !registers_arm64_are_saved(regs, saved[PT_ARM64_PC]))
		memcpy(saved, regs->x, sizeof(regs->x));
	saved[PT_ARM64_SP] = regs->sp_el0;
	if (has_regs && !registers_arm64_came_from_user(regs))
		return;
	saved[PT_ARM64_PC] = regs->elr_el1;
	saved[PT_ARM64_PSTATE] = regs->spsr_el1;
}

/*
 * SP_EL0 is the user's stack pointer while the vCPU enters or leaves the kernel. The sampler copies
 * a user stack only for a Linux guest: in other guests SP_EL0 may have any value.
 */
bool entry_arm64_is_entering(const struct cursor *cursor)
{
	const struct registers_arm64 *regs = &cursor->vcpu->regs.arm64;
	uint64_t saved[N_PT_ARM64];

	if (entry_is_upper(regs->sp_el0))
		return false;
	entry_get_entering(cursor, saved);
	return entry_is_user_regs(cursor, saved) &&
	       entry_is_user_stack(cursor, saved[pt_regs_arm64_sp(saved[PT_ARM64_PSTATE])]);
}

static void entry_set_entering(struct cursor *cursor)
{
	uint64_t saved[N_PT_ARM64];

	entry_get_entering(cursor, saved);
	entry_set(cursor, saved);
	cursor->user = true;
}

/*
 * Moves the cursor to 32-bit user code that is entering the kernel: SP_EL0 is the task already, x0
 * to x29 are saved and cleared, and there is no frame record yet. The kernel saves the pc later.
 */
static bool entry_set_half_saved(struct cursor *cursor)
{
	const struct registers_arm64 *regs = &cursor->vcpu->regs.arm64;
	uint64_t saved[N_PT_ARM64];

	if (regs->x[REGISTER_ARM64_FP] || !pstate_arm64_is_user32(regs->spsr_el1) ||
	    !entry_get_regs(cursor, saved))
		return false;
	saved[PT_ARM64_PC] = regs->elr_el1;
	saved[PT_ARM64_PSTATE] = regs->spsr_el1;
	if (!entry_is_user_regs(cursor, saved) ||
	    !entry_is_user_stack(cursor, saved[PT_ARM64_X13]))
		return false;
	entry_set(cursor, saved);
	cursor->user = true;
	return true;
}

bool entry_arm64_find_user(struct cursor *cursor, bool complete, bool *broken)
{
	*broken = false;
	if (entry_arm64_is_entering(cursor)) {
		entry_set_entering(cursor);
		return true;
	}
	if (!entry_is_upper(cursor->vcpu->regs.arm64.sp_el0))
		return false; /* the saved registers are from an earlier entry */
	if (complete)
		return entry_set_by_record(cursor, cursor->regs[REG_ARM64_FP]) ||
		       entry_set_half_saved(cursor);
	*broken = true;
	return entry_search_user(cursor);
}

bool entry_arm64_interrupted(struct cursor *cursor, uint64_t record)
{
	bool typed = entry_is_typed(cursor, record, RECORD_OF_KERNEL);
	uint64_t address = entry_find_pt_regs(record, typed), saved[N_PT_ARM64];

	if (!entry_is_upper(record) || !cursor_peek(cursor, address, saved, N_PT_ARM64) ||
	    (!typed && (saved[PT_ARM64_STACKFRAME] != saved[PT_ARM64_X29] ||
			saved[PT_ARM64_STACKFRAME + 1] != saved[PT_ARM64_PC])) ||
	    !entry_is_upper(saved[PT_ARM64_PC]) || pstate_arm64_is_user(saved[PT_ARM64_PSTATE]) ||
	    saved[PT_ARM64_SP] < record)
		return false;
	cursor_bytes(cursor, address, sizeof(saved));
	entry_set(cursor, saved);
	return true;
}
