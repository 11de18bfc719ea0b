/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding: registers and copied stack bytes of one vCPU -> the addresses of its call chain,
 * innermost first. Pure functions of their input; the resolver's thread.
 */
#ifndef XTOP_UNWIND_H
#define XTOP_UNWIND_H

#include <stdbool.h>

#include "xtop/sample.h"

#define UNWIND_MAX_FRAMES 512

enum unwind_how { UNWIND_AUTO, UNWIND_FP, UNWIND_ORC, UNWIND_DWARF };

/* Why the walk ended. Only UNWIND_COMPLETE says that the outermost function was reached. */
enum unwind_stop {
	UNWIND_COMPLETE,
	UNWIND_CUT,       /* the stack bytes end before the stack does: the sample's cut says why */
	UNWIND_LOOP,      /* the next frame is not further out: a loop, or not a frame */
	UNWIND_BAD,       /* a frame pointer, return address or table that cannot be right */
	UNWIND_TOO_DEEP,  /* UNWIND_MAX_FRAMES */
	UNWIND_NO_TABLES, /* nothing says how to unwind there */
	UNWIND_REPLACED,  /* a tracer in the guest took the return address away (fgraph, kretprobes) */
};
#define N_UNWIND_STOPS 7

enum unwind_frame_flag {
	FRAME_RETURN = 1 << 0, /* a return address: the call is at address - 1 */
	FRAME_GUESS = 1 << 1,  /* found by a heuristic */
	FRAME_USER = 1 << 2,   /* user code */
	FRAME_BROKEN = 1 << 3, /* what lies between it and the frame before was not found */
};

struct unwind_frame {
	uint64_t address;
	uint32_t flags; /* enum unwind_frame_flag */
};

/* A stack has two parts, each of which may be missing: of the kernel, and of the user code it serves. */
enum unwind_part { UNWIND_KERNEL, UNWIND_USER };
#define N_UNWIND_PARTS 2

struct unwind_part_end {
	bool walked;           /* there are frames of it */
	enum unwind_stop stop; /* the kernel's is complete when it reached the user code's registers */
	enum sample_cut cut;   /* why the copy of its stack ends where it does */
	uint32_t pieces;       /* bit i: piece i of the sample was used */
	int last_piece;        /* where it ended; -1: nowhere that was copied */
};

struct unwind_stack {
	unsigned n_frames;
	enum unwind_stop stop; /* of the innermost part that is not complete */
	struct unwind_part_end parts[N_UNWIND_PARTS];
	uint64_t reached[SAMPLE_MAX_STACKS]; /* by piece: address just past the outermost byte used; 0: none */
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
};

struct space;

struct unwind_spaces {
	const struct space *kernel, *user; /* NULL: nothing is known of it */
	bool user_whole;                   /* `user` has all there is: elsewhere there is no code */
};

/*
 * UNWIND_AUTO takes for each frame what covers its address: ORC, compiled CFI, libunwind, and frame
 * pointers where nothing does. Any other way is the only one. VCPU must have passed sample_check().
 *
 * When the kernel's part ends early and the user registers are known all the same, the user part
 * goes on from there and its first frame is FRAME_BROKEN. In the kernel's first and last
 * instructions there is no more than one frame between, and the user part follows that.
 */
void unwind_stack(const struct sample_vcpu *vcpu, const struct unwind_spaces *spaces,
		  enum unwind_how how, struct unwind_stack *stack);

#endif
