/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to the files of computed_flow.h: the state of a function while its instructions are read.
 * Resolver's thread.
 *
 *   computed_flow.c   runs a function from its entry, and judges what it is
 *   flow_code.c       decodes its bytes and numbers its states, each once
 *   flow_follow.c     follows all ways, from one instruction to the next
 *   flow_try.c        tries states for code that nothing leads to
 */
#ifndef XTOP_UNWIND_FLOW_H
#define XTOP_UNWIND_FLOW_H

#include "unwind/computed_flow.h"
#include "xtop/base/hash.h"

#define FLOW_ALIGNMENT 16 /* of functions */
#define NO_OP          UINT32_MAX

struct flow_op {
	struct instruction instruction;
	uint32_t offset; /* in its window */
	uint32_t state;  /* number + 1; 0: nothing leads here */
	uint32_t call;   /* number + 1 of the op of the call that this one follows; 0: none */
	uint8_t window;
	bool ends;       /* the call never returns */
	bool entry;      /* another function seems to begin here */
	bool tried;      /* the state belongs to the current try */
};

struct flow_window {
	uint64_t start;
	uint32_t size_bytes;
	uint8_t *bytes;
	uint32_t *ops; /* for each byte: number + 1 of the op that begins there */
};

struct flow_work {
	uint32_t op, state;
	uint32_t call; /* number + 1 of the op of the call that OP follows; 0: none */
};

/* Work that is left to do, in any order. */
struct flow_list {
	struct flow_work *work;
	size_t n, capacity;
};

/* Functions that never return, by a hash of their addresses; 0: none. All runs share them. */
#define FLOW_ENDS LIMIT(1024, 16)

struct flow {
	const struct code_source *source;
	struct flow_window windows[FLOW_MAX_WINDOWS];
	size_t n_windows;
	size_t n_asked; /* of the first windows: the function that is run, behind its parent */
	struct flow_op *ops;
	size_t n_ops, ops_capacity;
	struct computed_state *states;
	size_t n_states, states_capacity;
	struct hash_table numbers; /* of states */
	struct flow_list jumps;   /* to be followed first */
	struct flow_list returns; /* what stands behind calls, which may never return */
	struct flow_list joins;   /* where a try has met known code */
	uint64_t ends[FLOW_ENDS];
	uint32_t *tried; /* ops that a try has reached */
	size_t n_tried, tried_capacity;
	uint64_t left_steps;
	uint32_t entry; /* the state at the function's entry */
	bool trying;
	bool careful; /* calls in windows of others are taken never to return */
	uint64_t outside; /* a jump's target in the middle of another function; 0: none */
	bool returns_well, returns_badly; /* with all preserved registers restored; without */
	bool leaves; /* by a jump to another function, it seems */
	bool contradicts; /* something contradicts the state that is tried */
	bool agrees;      /* something confirms that state */
	bool again;       /* a call that never returns was found */
	bool failed;      /* out of memory, or beyond a limit */
	bool missing;     /* some code could not be read in this turn */
	bool guesses;     /* the bounds of functions are guesses */
	const struct computed_machine *machine; /* of the source's code */
};

/* --- flow_code.c ------------------------------------------------------------------------------ */

/* False: the code cannot be read, or is too long. */
bool flow_open_window(struct flow *flow, uint64_t start, uint64_t end);
void flow_close_windows(struct flow *flow, size_t n); /* all but the first N */
struct flow_window *flow_window_at(const struct flow *flow, uint64_t address); /* NULL: none */
/* The op at OFFSET, decoded now if it was not. NO_OP: there is no instruction. */
uint32_t flow_decode(struct flow *flow, struct flow_window *window, uint32_t offset);
uint64_t flow_address(const struct flow *flow, const struct flow_op *op);
/* The number of STATE. 0, the entry's, when there is no room: then `failed` is set. */
uint32_t flow_number(struct flow *flow, const struct computed_state *state);
/* All numbers become invalid. The state at the entry of a function has the first. */
void flow_forget_states(struct flow *flow);

/* --- flow_follow.c ---------------------------------------------------------------------------- */

/* Adds work: OP is to be followed from STATE on. */
void flow_push_jump(struct flow *flow, uint32_t op, uint32_t state);
/* Does all work that is left; a contradiction or failure ends it early. */
void flow_drain(struct flow *flow);
/* Whether INSTRUCTION saves a register, or takes room on the stack. */
bool flow_makes_frame(const struct instruction *instruction);
/* The same, or a mark of targets. */
bool flow_is_prologue(const struct instruction *instruction);

/* --- flow_try.c ------------------------------------------------------------------------------- */

/*
 * Where bounds are guesses: finds functions behind calls, which then never return, and sets the
 * `entry` of their first ops. No op has a state before, nor afterwards.
 */
void flow_find_entries(struct flow *flow);
/* Finds states for the code that nothing leads to. */
void flow_fill(struct flow *flow);

#endif
