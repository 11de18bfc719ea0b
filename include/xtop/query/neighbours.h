/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One function, the focus: who calls it, whom it calls, and the hottest whole stacks through it.
 * Functions of their arguments alone; any thread.
 */
#ifndef XTOP_NEIGHBOURS_H
#define XTOP_NEIGHBOURS_H

#include "xtop/query/functions.h"

#define NEIGHBOURS_MAX_CHAINS 64

/* A whole stack through the focus: walk up by parent from the leaf to node 0. */
struct chain {
	uint32_t node;          /* the leaf of the stack, or of the first stack with this text */
	struct weights weights; /* self: exactly this stack; children: also longer stacks */
};

/*
 * Each sample with the focus in its stack counts once among the callers and once among the
 * callees. With recursion the focus is in a stack several times. The user wants to know the two
 * ends of the recursion: who started it, and what it is busy with. So
 *
 *   caller   who called the outermost occurrence    callers sum to focus.children
 *   callee   whom the innermost occurrence called   callees sum to focus.children; the focus
 *                                                   itself is one of them, with focus.self
 *
 *   samples  stack                  caller   callee
 *        5   main;f                 main     (itself)
 *        3   main;f;f;g             main     g           recursive
 *        2   main;f;g;f             main     (itself)    recursive
 *        1   main;f;g;f;h           main     h           recursive
 *        1   main;f;g               main     g
 *
 * (perf and kcachegrind count each occurrence, so that shares of recursive functions sum to more
 * than 100 %.) How much of the focus is recursive, directly or not, is a number of its own.
 */
struct neighbours {
	struct function_table callers; /* only children are set; the root or a process may be one */
	struct function_table callees; /* only children are set; the focus's row has its self */
	size_t n_chains;
	struct chain *chains; /* hottest first by live self, at most NEIGHBOURS_MAX_CHAINS */
	struct weights focus;
	struct weights recursive; /* stacks that hold the focus more than once; only children */
	struct weights whole;     /* 100 % */
};

/*
 * FRAME is below n_frames and may be a process. A frame that is in no stack has no neighbours.
 * functions.h explains FILTER and ADDRESSES. Error: out of memory.
 */
struct xtop_error *neighbours_build(const struct snapshot *snapshot, const struct filter *filter,
				    bool addresses, uint32_t frame, struct neighbours *neighbours);
void neighbours_deinit(struct neighbours *neighbours);

#endif
