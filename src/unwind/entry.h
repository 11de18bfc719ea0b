/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps from a Linux kernel's frames to the user code that called it, where no table tells how. */
#ifndef XTOP_UNWIND_ENTRY_H
#define XTOP_UNWIND_ENTRY_H

#include "unwind/cursor.h"
#include "xtop/unwind/unwind.h"

/*
 * Moves the cursor to the user code whose registers lie at the top of a kernel stack. Returns
 * false, with the cursor unchanged, if there are no user registers.
 */
bool entry_find_regs(struct cursor *cursor);
/*
 * Moves the cursor to the user code if the vCPU runs code that enters or leaves the kernel. Returns
 * false, with the cursor unchanged, if the vCPU runs other code. USER is the user code's address
 * space, or NULL.
 */
bool entry_leave(const struct unwind_space *user, struct cursor *cursor);
/*
 * Whether the user stack is gone because the task is in execve() or exit(), which give up the
 * task's memory. The user registers then belong to a program that has ended.
 */
bool entry_has_no_memory(struct cursor *cursor);

/* Whether ADDRESS is in the kernel's half of 64-bit addresses. */
static inline bool entry_is_upper(uint64_t address)
{
	return address >> 63;
}

/* The numbers of the system calls that give up the task's memory: execve(), exit() and the like. */
struct entry_calls {
	uint32_t numbers[4];
};

static inline bool entry_calls_have(const struct entry_calls *calls, uint64_t number)
{
	return number == calls->numbers[0] || number == calls->numbers[1] ||
	       number == calls->numbers[2] || number == calls->numbers[3];
}

/* --- i386: fp_i386.c -------------------------------------------------------------------------- */

/* Searches the kernel's stacks for user code's registers, and moves the cursor to that code. */
bool entry_i386_search_user(struct cursor *cursor);

/* --- 32 bits on arm64: entry_arm32.c ---------------------------------------------------------- */

/* Whether the vCPU is in the kernel's first or last instructions of a system call. */
bool entry_arm32_is_entering(const struct cursor *cursor);
/*
 * Moves the cursor to the user code that entered the kernel, when the kernel's part has ended.
 * *ENDS: the part ended properly, at the entry code's call. Returns false if there is no user code.
 */
bool entry_arm32_find_user(struct cursor *cursor, bool *ends);

/* --- arm64: entry_arm64.c --------------------------------------------------------------------- */

/* Whether the vCPU is in the kernel's first or last instructions, which have no caller. */
bool entry_arm64_is_entering(const struct cursor *cursor);
/*
 * Moves the cursor to the user code that entered the kernel, when the kernel's part has ended.
 * COMPLETE: the part ended at the outermost kernel frame. *BROKEN: frames are missing between both
 * parts. Returns false if there is no user code, or if it is unknown.
 */
bool entry_arm64_find_user(struct cursor *cursor, bool complete, bool *broken);
/*
 * Moves the cursor to interrupted kernel code if RECORD, a frame record in a kernel stack, is part
 * of the struct pt_regs that has this code's registers; all registers are known then. Returns false
 * if RECORD is not.
 */
bool entry_arm64_interrupted(struct cursor *cursor, uint64_t record);

#endif
