/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the state before each instruction of one function (computed_state.h), along all ways that
 * control can go from its entry. Resolver's thread; bounded in time and memory.
 */
#ifndef XTOP_UNWIND_COMPUTED_FLOW_H
#define XTOP_UNWIND_COMPUTED_FLOW_H

#include "unwind/computed_state.h"
#include "xtop/base/limit.h"
#include "xtop/unwind/code.h"

#define FLOW_MAX_FUNCTION_BYTES LIMIT(256U << 10, 4096) /* python's interpreter has 60 KiB */
#define FLOW_MAX_WINDOWS        16 /* the function, and parts of it that lie elsewhere */

struct flow;

/* NULL: out of memory. One flow serves any number of functions, one after the other. */
struct flow *flow_create(const struct code_source *source);
void flow_destroy(struct flow *flow); /* NULL allowed */
size_t flow_memory_bytes(const struct flow *flow);

/*
 * Follows the function in [START, END). False: its code cannot be read, is too long, or is no
 * function; nothing is known of it. GUESSES: the bounds are guesses, and several functions may lie
 * between them.
 */
bool flow_run(struct flow *flow, uint64_t start, uint64_t end, bool guesses);

/*
 * The parts of the function that was run last. Part 0 is the function itself. Jumps lead from it to
 * the others while it still has its frame; ".cold" is such a part.
 */
size_t flow_count_windows(const struct flow *flow);
void flow_get_window(const struct flow *flow, size_t i, uint64_t *start, uint64_t *end);

/* Whether code was missing in the last run: nothing is known yet, and another try may help. */
bool flow_is_missing(const struct flow *flow);

/* Forgets the function that was run last. */
void flow_clear(struct flow *flow);

/*
 * Whether the function at START, which was run last, is the outermost of its chains. Such a
 * function begins by setting the frame pointer to zero (System V ABI AMD64 §3.4.1), or it sets the
 * stack pointer to a fixed place.
 */
bool flow_begins_chain(const struct flow *flow, uint64_t start);

/* Why nothing is known at an address. */
enum flow_state { FLOW_KNOWN, FLOW_UNREACHED, FLOW_BETWEEN, FLOW_OUTSIDE };

struct flow_place {
	const struct computed_state *state; /* of FLOW_KNOWN; until the next flow_run() */
	uint64_t next;                      /* the address behind the instruction */
	bool filler;
	bool entry; /* another function seems to begin here */
};
/* ADDRESS: of an instruction. */
enum flow_state flow_find(const struct flow *flow, uint64_t address, struct flow_place *place);

#endif
