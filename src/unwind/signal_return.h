/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to unwinding by instructions: the code that a signal's handler returns to, in programs
 * whose C library has no tables for it. It asks the kernel to go on with what the signal has
 * interrupted:
 *
 *   mov $15,%eax; syscall        rt_sigreturn: Linux arch/x86/entry/syscalls/syscall_64.tbl
 *
 * The stack pointer is at struct ucontext then, which has all registers (Linux
 * arch/x86/include/uapi/asm/ucontext.h, sigcontext.h). x86-64 only. Resolver's thread; pure
 * functions.
 */
#ifndef XTOP_UNWIND_SIGNAL_RETURN_H
#define XTOP_UNWIND_SIGNAL_RETURN_H

#include "unwind/cursor.h"

#define SIGNAL_RETURN_BYTES 9 /* the longer form: mov $15,%rax; syscall */

/* Whether CODE begins with code that a signal's handler returns to. */
bool signal_return_begins(const uint8_t *code, size_t n);
/* Whether CODE is such code's system call. BEFORE is what lies before CODE. */
bool signal_return_ends(const uint8_t *code, size_t n, const uint8_t *before, size_t n_before);
/* A step from such code to the code that the signal has interrupted. */
enum unwind_step signal_return_step(struct cursor *cursor);

#endif
