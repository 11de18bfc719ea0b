/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding: registers and copied stack bytes of one vCPU -> the addresses of its call chain,
 * innermost first. Pure functions of their input; the resolver's thread.
 */
#ifndef XTOP_UNWIND_H
#define XTOP_UNWIND_H

#include "xtop/sample.h"

#define UNWIND_MAX_FRAMES 512

enum unwind_how { UNWIND_AUTO, UNWIND_FP, UNWIND_ORC, UNWIND_DWARF };

/* Why the walk ended. Only UNWIND_COMPLETE says that the outermost function was reached. */
enum unwind_stop {
	UNWIND_COMPLETE,
	UNWIND_CUT,       /* the stack bytes end before the stack does: the sample's cut says why */
	UNWIND_LOOP,      /* the next frame is not further out: a loop, or not a frame */
	UNWIND_BAD,       /* a frame pointer or return address that cannot be one */
	UNWIND_TOO_DEEP,  /* UNWIND_MAX_FRAMES */
	UNWIND_NO_TABLES, /* nothing says how to unwind there */
};
#define N_UNWIND_STOPS 6

enum unwind_frame_flag {
	FRAME_RETURN = 1 << 0, /* a return address: the call is at address - 1 */
	FRAME_GUESS = 1 << 1,  /* found by a heuristic */
	FRAME_USER = 1 << 2,   /* user code */
};

struct unwind_frame {
	uint64_t address;
	uint32_t flags; /* enum unwind_frame_flag */
};

struct unwind_stack {
	unsigned n_frames;
	enum unwind_stop stop;
	uint64_t reached; /* address just past the outermost stack byte that was used; 0: none */
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
};

struct symbols;

/*
 * Frame pointers. SYMBOLS may be NULL; with them a vCPU caught on the first byte of a function
 * still gets its caller, and a return address outside all known code ends the walk.
 * VCPU must have passed sample_check().
 */
void unwind_fp(const struct sample_vcpu *vcpu, const struct symbols *symbols,
	       struct unwind_stack *stack);

#endif
