/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a Linux kernel to the user code it serves, where no table says the way. */
#ifndef XTOP_UNWIND_ENTRY_H
#define XTOP_UNWIND_ENTRY_H

#include "unwind/cursor.h"
#include "xtop/unwind.h"

/* True: the cursor is the user code's now. Else it is as it was. */
bool entry_find_regs(struct cursor *cursor); /* by the registers at the top of a kernel stack */
/* The cursor is where the vCPU was, in code that enters or leaves the kernel; USER may be NULL. */
bool entry_leave(const struct unwind_space *user, struct cursor *cursor);
/* Whether the user code's registers, and the memory they point to, are of a program that is no more. */
bool entry_is_new_program(struct cursor *cursor);

#endif
