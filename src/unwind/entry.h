/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps from a Linux kernel's frames to the user code that it serves, where no table tells how. */
#ifndef XTOP_UNWIND_ENTRY_H
#define XTOP_UNWIND_ENTRY_H

#include "unwind/cursor.h"
#include "xtop/unwind/unwind.h"

/*
 * By the registers at the top of a kernel stack. True: the cursor is the user code's now. False:
 * the cursor is unchanged.
 */
bool entry_find_regs(struct cursor *cursor);
/* The same for a vCPU in code that enters or leaves the kernel. USER may be NULL. */
bool entry_leave(const struct unwind_space *user, struct cursor *cursor);
/*
 * Whether the user stack is gone since the task's system call, execve() or exit(), gives up its
 * memory. The user registers then belong to a program that has ended.
 */
bool entry_has_no_memory(struct cursor *cursor);

/* --- i386: fp_i386.c -------------------------------------------------------------------------- */

/* If user code's registers lie on the kernel's stacks: the cursor is that code's now. */
bool entry_i386_search_user(struct cursor *cursor);

/* --- 32 bits on arm64: entry_arm32.c ---------------------------------------------------------- */

/* Whether the vCPU is in the kernel's first or last instructions of a system call. */
bool entry_arm32_is_entering(const struct cursor *cursor);
/*
 * The kernel's part has ended. True: the cursor is now the user code's that Linux serves. *ENDS:
 * the part has ended where the entry from that code has called a function.
 */
bool entry_arm32_find_user(struct cursor *cursor, bool *ends);

/* --- arm64: entry_arm64.c --------------------------------------------------------------------- */

/* Whether the vCPU is in the kernel's first or last instructions, which have no caller. */
bool entry_arm64_is_entering(const struct cursor *cursor);
/*
 * The vCPU is in the kernel, and the kernel's part has ended. This looks for the user code that
 * called it. *BROKEN: frames are missing between both parts. True: the cursor is the user code's
 * now. False: there is none, or it is not known.
 */
bool entry_arm64_find_user(struct cursor *cursor, bool complete, bool *broken);
/*
 * If RECORD, a frame record in a kernel stack, is part of a struct pt_regs that saves interrupted
 * kernel code: the cursor is that code's now, and all its registers are known.
 */
bool entry_arm64_interrupted(struct cursor *cursor, uint64_t record);

#endif
