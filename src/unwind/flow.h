/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to the files of computed_flow.h: the state of a function while its instructions are read.
 * Resolver's thread.
 *
 *   flow_run.c      runs a function from its entry, and decides whether it is a function
 *   flow_code.c     decodes bytes and numbers states, each once
 *   flow_follow.c   follows all paths, from one instruction to the next
 *   flow_try.c      tries states for code that no path leads to
 *   flow_entry.c    tells where a chain of callers begins
 */
#ifndef XTOP_UNWIND_FLOW_H
#define XTOP_UNWIND_FLOW_H

#include "unwind/computed_flow.h"
#include "xtop/base/hash.h"

#define FLOW_ALIGNMENT 16 /* compilers align functions to so many bytes */
#define NO_OP          UINT32_MAX

/* A decoded instruction. */
struct flow_op {
	struct instruction instruction;
	uint32_t offset; /* offset in the window */
	uint32_t state;  /* number of the state + 1; 0: no path leads here */
	uint32_t call;   /* number + 1 of the call's op, if this op follows a call; else 0 */
	uint32_t since;  /* number + 1 of the first call since the stack pointer changed; else 0 */
	uint8_t window;  /* index of the window */
	bool ends;       /* the op is a call that never returns */
	bool entry;      /* another function seems to begin here */
	bool tried;      /* the state belongs to the current try */
};

/* A stretch of code. */
struct flow_window {
	uint64_t start;
	uint32_t size_bytes;
	uint8_t *bytes;
	uint32_t *ops; /* one per byte: number + 1 of the op that begins there */
};

/* An op that is to be followed with a state. */
struct flow_work {
	uint32_t op, state;
	uint32_t call; /* number + 1 of the call's op, if OP follows a call; else 0 */
	uint32_t since; /* number + 1 of the first call since the stack pointer changed; else 0 */
};

/* Work that is left to do, in any order. */
struct flow_list {
	struct flow_work *work;
	size_t n, capacity;
};

/* Size of the hash table of functions that never return, which all runs share. */
#define FLOW_ENDS LIMIT(1024, 16)

/* How a function changes to another stack (flow_entry.c). */
struct flow_change {
	bool changes;    /* the function changes to another stack */
	bool is_fixed;   /* an instruction sets the stack pointer to a fixed address */
	bool is_late;    /* the function uses the stack that it has at its entry */
	bool comes_back; /* the function comes back to that stack, or returns */
	bool jumps;      /* the function jumps away while it uses the other stack */
	bool by_pointer; /* a register or a word has the address that the function jumps to */
	bool by_link;    /* the function goes to the address in x30 while it uses the other stack */
	bool calls;      /* the function calls others */
};

struct flow {
	const struct code_source *source;
	struct flow_window windows[FLOW_MAX_WINDOWS];
	size_t n_windows;
	size_t n_asked; /* how many windows, the first ones, hold the function and its parents */
	struct flow_op *ops;
	size_t n_ops, ops_capacity;
	struct computed_state *states;
	size_t n_states, states_capacity;
	struct hash_table numbers; /* hash of a state -> the state's number */
	struct flow_list jumps;   /* targets of jumps, followed first */
	struct flow_list returns; /* ops after calls, which may never return */
	struct flow_list joins;   /* ops where a try has met known code */
	uint64_t ends[FLOW_ENDS]; /* functions that never return, by hash of address; 0: none */
	uint32_t *tried; /* ops that a try has reached */
	size_t n_tried, tried_capacity;
	uint64_t left_steps; /* steps that may still be made */
	uint32_t entry;   /* number of the state at the function's entry */
	uint32_t since;   /* number + 1 of a call on the followed path, as flow_op has it */
	bool trying;      /* a try is running (flow_try.c) */
	bool careful;     /* assume that calls in other functions' windows never return */
	uint64_t outside; /* a jump's target in the middle of another function; 0: none */
	bool returns_well;  /* the function returns with all preserved registers restored */
	bool returns_badly; /* the function returns without some preserved register */
	bool leaves;      /* the function seems to jump to another function */
	struct flow_change change;
	bool contradicts; /* an instruction contradicts the state that is tried */
	bool agrees;      /* an instruction confirms the state that is tried */
	bool again;       /* a call that never returns was found: run again */
	bool may_restart; /* the function will be run again if AGAIN is set */
	bool failed;      /* out of memory, or beyond a limit */
	bool missing;     /* some code could not be read in this turn */
	bool guesses;     /* the bounds of functions are guesses */
	const struct computed_machine *machine; /* the machine of the source's code */
};

/* --- flow_code.c ------------------------------------------------------------------------------ */

/* Returns false if the code cannot be read, or is too long. */
bool flow_open_window(struct flow *flow, uint64_t start, uint64_t end);
void flow_close_windows(struct flow *flow, size_t n); /* all but the first N */
struct flow_window *flow_window_at(const struct flow *flow, uint64_t address); /* NULL: none */
/* The op at OFFSET, which is decoded at the first call. NO_OP: no instruction begins there. */
uint32_t flow_decode(struct flow *flow, struct flow_window *window, uint32_t offset);
uint64_t flow_address(const struct flow *flow, const struct flow_op *op);
/* The number of STATE. If there is no room, sets `failed` and returns 0, the entry's number. */
uint32_t flow_number(struct flow *flow, const struct computed_state *state);
/* Drops all numbers. The state at a function's entry gets the number 0 next. */
void flow_forget_states(struct flow *flow);

/* --- flow_follow.c ---------------------------------------------------------------------------- */

void flow_push(struct flow *flow, struct flow_list *list, struct flow_work work);
/* Adds work to `jumps`: follow OP with STATE. */
void flow_push_jump(struct flow *flow, uint32_t op, uint32_t state);
/* Does all work that is left. A contradiction or a failure ends the work early. */
void flow_drain(struct flow *flow);
/* Whether INSTRUCTION saves a register, or takes room on the stack. */
bool flow_makes_frame(const struct instruction *instruction);
/* Whether INSTRUCTION makes a frame, or marks the target of jumps and calls. */
bool flow_is_prologue(const struct instruction *instruction);
/*
 * Whether the code in [OFFSET, END) of WINDOW makes a frame before it jumps or calls. Compilers may
 * put other instructions first. On arm64 no frame exists before: a function moves the stack pointer
 * once before all calls, or by a register (alloca()).
 */
bool flow_begins_frame(struct flow *flow, struct flow_window *window, uint32_t offset,
		       uint32_t end);

/* --- flow_entry.c ----------------------------------------------------------------------------- */

/* Sets flow->change after the paths from the entry were followed. */
void flow_find_change(struct flow *flow);
/* Whether the function changes to another stack, and stays on that stack for ever. */
bool flow_changes_stack(const struct flow *flow);
/*
 * Whether the function goes to another context, as longjmp() does: it calls nothing, takes a stack
 * pointer that something has saved, and jumps away.
 */
bool flow_jumps_to_context(const struct flow *flow);

/* --- flow_try.c ------------------------------------------------------------------------------- */

/*
 * Whether OP begins the head of a PLT. The head pushes a word and jumps. The stubs after it have
 * pushed a word already when they jump to the head.
 */
bool flow_is_plt_head(struct flow *flow, uint32_t op);
/* The number of the state in which stubs jump to the head of a PLT. */
uint32_t flow_head_state(struct flow *flow);
/*
 * If the bounds are guesses: finds functions that begin after a call, and sets `entry` in their
 * first ops. Such a call never returns. No op has a state before or afterwards.
 */
void flow_find_entries(struct flow *flow);
/* Finds states for the code that no path leads to. */
void flow_fill(struct flow *flow);

#endif
