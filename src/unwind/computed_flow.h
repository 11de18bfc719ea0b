/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the state before each instruction of one function (computed_state.h), along all paths that
 * control can take from the function's entry. flow_run.c implements it. Resolver's thread; bounded
 * in time and memory.
 */
#ifndef XTOP_UNWIND_COMPUTED_FLOW_H
#define XTOP_UNWIND_COMPUTED_FLOW_H

#include "unwind/computed_state.h"
#include "xtop/base/limit.h"
#include "xtop/unwind/code.h"

#define FLOW_MAX_FUNCTION_BYTES LIMIT(256U << 10, 4096) /* python's interpreter has 60 KiB */
#define FLOW_MAX_WINDOWS        16 /* the function, and its parts that lie elsewhere */

struct flow;

/* NULL: out of memory. One flow can run any number of functions, one after the other. */
struct flow *flow_create(const struct code_source *source);
void flow_destroy(struct flow *flow); /* NULL allowed */
size_t flow_memory_bytes(const struct flow *flow);

/*
 * Follows the function in [START, END). Returns false, with no result, if the code cannot be read,
 * is too long, or is no function. GUESSES: the bounds are guesses, and several functions may lie
 * between them.
 */
bool flow_run(struct flow *flow, uint64_t start, uint64_t end, bool guesses);

/*
 * The parts of the function that was run last. Part 0 is the function itself. The other parts are
 * reached by jumps from part 0 while the frame still exists; ".cold" code is such a part.
 */
size_t flow_count_windows(const struct flow *flow);
void flow_get_window(const struct flow *flow, size_t i, uint64_t *start, uint64_t *end);

/* Whether the last run failed because code was missing; a later run may succeed. */
bool flow_is_missing(const struct flow *flow);

/* Forgets the function that was run last. */
void flow_clear(struct flow *flow);

/*
 * Whether the function at START, which was run last, has no caller. Such a function begins by
 * setting the frame pointer to zero (System V ABI AMD64 §3.4.1), or it sets the stack pointer
 * before it has used the stack.
 */
bool flow_begins_chain(const struct flow *flow, uint64_t start);
/*
 * Whether the function that was run last has no caller at an instruction before which STATE holds:
 * the function has changed to another stack, and never comes back, or a new thread begins there.
 */
bool flow_has_left_stack(const struct flow *flow, const struct computed_state *state);

/*
 * Whether the function that was run last calls nothing, changes to another stack, and then goes to
 * the address in x30, as arm64's longjmp() and switches between threads do.
 */
bool flow_goes_by_link(const struct flow *flow);

enum flow_state {
	FLOW_KNOWN,     /* the state before the instruction is known */
	FLOW_UNREACHED, /* no path leads to the instruction */
	FLOW_BETWEEN,   /* no instruction begins at the address */
	FLOW_OUTSIDE,   /* the address is in no part of the function */
};

struct flow_place {
	const struct computed_state *state; /* set if FLOW_KNOWN; valid until the next flow_run() */
	uint64_t next;                      /* the address after the instruction */
	bool filler; /* the instruction only fills the space between functions */
	bool entry;  /* another function seems to begin here */
};
/* Finds the state before the instruction at ADDRESS. */
enum flow_state flow_find(const struct flow *flow, uint64_t address, struct flow_place *place);

#endif
