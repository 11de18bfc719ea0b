/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a thread that runs Go (Go src/runtime/runtime2.go). The resolver learns where the
 * stacks are by decoding the program's own code; the sampler follows the pointers. Each thread has
 * a struct m, and each stack a struct g:
 *
 *   g's place ──────────► g ──► m ──┬─► g0        the thread's own stack: the scheduler, cgo's C
 *                                   ├─► gsignal   signal handlers
 *                                   └─► curg      the goroutine
 *
 * Calls change stacks: systemstack(), mcall(), morestack() and calls of C go from a goroutine to
 * g0, and a callback from C goes from g0 to the goroutine. For the stack that the thread has left,
 * sched.sp in the stack's g has the stack pointer, and sched.pc has the address where the code goes
 * on. On x86-64 the thread has g in a thread-local word, on arm64 in a register.
 */
#ifndef XTOP_GO_STACKS_H
#define XTOP_GO_STACKS_H

#include <stdint.h>

/* Bytes from the start of a g or an m. Go 1.2 to 1.27 have these offsets. */
#define GO_G_STACK_LOW  0
#define GO_G_STACK_HIGH 8
#define GO_G_M          48
#define GO_G_SP         56 /* sched.sp */
#define GO_G_PC         64 /* sched.pc */
#define GO_G_SELF       72 /* sched.g, which points to the g itself */
#define GO_M_G0         0

#define GO_G_IN_REGISTER 8 /* g is in x28; a multiple of 8, as all offsets are */

struct go_stacks {
	/* Distance of the thread-local word from the thread pointer; 0: not known. */
	int32_t g;              /* arm64: GO_G_IN_REGISTER */
	uint16_t gsignal, curg; /* bytes from the start of an m; they differ between versions */
};

#endif
