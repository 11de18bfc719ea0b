/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds states for code that no path leads to; see flow.h. Jumps by a register are not resolved, so
 * no path leads to the cases of a switch. The states at the function's indirect jumps are tried
 * there. A state is accepted if following it meets no contradiction: the state agrees with all
 * known code that it leads to, and at each return the stack and all preserved registers are as at
 * the entry. Resolver's thread.
 */
#include "config.h"

#include "unwind/flow.h"

#include <stdlib.h>
#include <string.h>

#define FLOW_MAX_TRIES  4 /* states that are tried for one piece of code */
#define FLOW_STUB_BYTES 8 /* the smallest stub of a PLT */
#define FLOW_PROLOGUE   4 /* first instructions, among which one may be a prologue's */

/* --- the head of a PLT ------------------------------------------------------------------------ */

bool flow_is_plt_head(struct flow *flow, uint32_t op)
{
	struct flow_window *window = &flow->windows[flow->ops[op].window];
	const struct instruction *push = &flow->ops[op].instruction;
	uint32_t next = flow->ops[op].offset + push->length, jump;

	if (push->effect != EFFECT_PUSH || push->source != REG_NONE || next >= window->size_bytes)
		return false;
	jump = flow_decode(flow, window, next);
	return jump != NO_OP && flow->ops[jump].instruction.flow == INSTRUCTION_INDIRECT;
}

uint32_t flow_head_state(struct flow *flow)
{
	struct computed_state head;

	computed_state_init(&head, flow->machine);
	head.regs[REG_SP].offset -= sizeof(uint64_t);
	return flow_number(flow, &head);
}

/* --- code that no path leads to --------------------------------------------------------------- */

/* Joins the states that a try has brought to known code. */
static void flow_join_tried(struct flow *flow)
{
	for (size_t i = 0; i < flow->joins.n; i++)
		flow_push_jump(flow, flow->joins.work[i].op, flow->joins.work[i].state);
	flow_drain(flow);
	flow->again = false;
}

enum flow_trial {
	TRY_PART,        /* code of the function */
	TRY_UNCONFIRMED, /* code of the function; the state needs no confirmation */
	TRY_ENTRY,       /* entry of another function, which must return */
	TRY_UNCONFIRMED_ENTRY, /* entry of another function, which may never return */
};

/* Tries STATE at OP. Returns false, with nothing changed, if STATE does not fit. */
static bool flow_try(struct flow *flow, uint32_t op, uint32_t state, enum flow_trial trial)
{
	bool well = flow->returns_well, badly = flow->returns_badly, leaves = flow->leaves;
	size_t n_windows = flow->n_windows;
	uint64_t outside = flow->outside;
	bool confirmed, fits;

	flow->trying = true;
	flow->contradicts = flow->agrees = flow->again = false;
	flow->returns_well = flow->leaves = false;
	flow->n_tried = flow->joins.n = 0;
	flow_push_jump(flow, op, state);
	flow_drain(flow);
	confirmed = trial == TRY_ENTRY ? flow->returns_well || flow->leaves : flow->agrees;
	fits = !flow->contradicts && !flow->failed &&
	       (confirmed || trial == TRY_UNCONFIRMED || trial == TRY_UNCONFIRMED_ENTRY);
	flow->trying = flow->contradicts = false;
	for (size_t i = 0; i < flow->n_tried; i++)
		flow->ops[flow->tried[i]].tried = false;
	for (size_t i = 0; i < flow->n_tried && !fits; i++)
		flow->ops[flow->tried[i]].state = flow->ops[flow->tried[i]].call = 0;
	flow->returns_badly = badly;
	if (!fits || trial >= TRY_ENTRY) {
		flow->returns_well = well;
		flow->leaves = leaves;
		flow->outside = outside;
	} else {
		flow->returns_well |= well;
		flow->leaves |= leaves;
	}
	if (fits)
		flow_join_tried(flow);
	else
		flow_close_windows(flow, n_windows);
	return fits;
}

/* The most recent distinct states, the latest first. */
struct flow_recent {
	uint32_t states[FLOW_MAX_TRIES];
	size_t n;
};

static void flow_remember(struct flow_recent *recent, uint32_t state)
{
	size_t i = 0;

	while (i < recent->n && recent->states[i] != state)
		i++;
	if (i == recent->n)
		i = recent->n < FLOW_MAX_TRIES ? recent->n++ : recent->n - 1;
	memmove(recent->states + 1, recent->states, i * sizeof(state));
	recent->states[0] = state;
}

static bool flow_try_recent(struct flow *flow, uint32_t op, const struct flow_recent *recent)
{
	for (size_t i = 0; i < recent->n && !flow->failed; i++) {
		uint32_t state = recent->states[i];

		if (!flow_try(flow, op, state, TRY_PART))
			continue;
		flow->ops[op].entry = state == flow->entry &&
				      flow_address(flow, &flow->ops[op]) % FLOW_ALIGNMENT == 0;
		return true;
	}
	return false;
}

/*
 * Tries the recent states that have a frame pointer, without their stack pointers: alloca() moves
 * the stack pointer on some paths only.
 */
static bool flow_try_frames(struct flow *flow, uint32_t op, const struct flow_recent *recent)
{
	for (size_t i = 0; i < recent->n && !flow->failed; i++) {
		struct computed_state state = flow->states[recent->states[i]];

		if (computed_state_lose_stack(&state) &&
		    flow_try(flow, op, flow_number(flow, &state), TRY_PART))
			return true;
	}
	return false;
}

/*
 * Tries OP as the entry of another function: control does not come from the code before OP.
 * RETURNS: the function must return, or jump to another function.
 */
static bool flow_try_entry(struct flow *flow, uint32_t op, bool returns)
{
	if (!flow_try(flow, op, flow->entry, returns ? TRY_ENTRY : TRY_UNCONFIRMED_ENTRY))
		return false;
	flow->ops[op].entry = true;
	return true;
}

/* Whether OP looks like the start of a function. A few instructions may precede the prologue. */
static bool flow_looks_like_entry(struct flow *flow, uint32_t op)
{
	struct flow_window *window = &flow->windows[flow->ops[op].window];
	uint32_t offset = flow->ops[op].offset;

	for (unsigned i = 0; i < FLOW_PROLOGUE && offset < window->size_bytes; i++) {
		const struct instruction *instruction;
		uint32_t number = flow_decode(flow, window, offset);

		if (number == NO_OP)
			return false;
		instruction = &flow->ops[number].instruction;
		if (flow_is_prologue(instruction))
			return true;
		if (instruction->flow != INSTRUCTION_NEXT || instruction->filler ||
		    (instruction->effect != EFFECT_LOSE && instruction->effect != EFFECT_ADD))
			return false;
		offset += instruction->length;
	}
	return false;
}

/*
 * Whether OP makes a frame, directly or after endbr64. endbr64 alone also marks labels of jumps.
 */
static bool flow_begins_with_frame(struct flow *flow, uint32_t op)
{
	struct flow_window *window = &flow->windows[flow->ops[op].window];
	uint32_t next = flow->ops[op].offset + flow->ops[op].instruction.length;

	if (flow->ops[op].instruction.marks_target && next < window->size_bytes)
		op = flow_decode(flow, window, next);
	return op != NO_OP && flow_makes_frame(&flow->ops[op].instruction);
}

/*
 * Sets *STATEP to the join of all states of RECENT. Returns false if there is none, or if their
 * stack pointers differ.
 */
static bool flow_join_recent(struct flow *flow, const struct flow_recent *recent, uint32_t *statep)
{
	struct computed_state joined;

	if (!recent->n)
		return false;
	joined = flow->states[recent->states[0]];
	for (size_t i = 1; i < recent->n; i++) {
		const struct computed_state *other = &flow->states[recent->states[i]];

		if (computed_state_differ(&joined, other))
			return false;
		computed_state_join(&joined, other);
	}
	*statep = flow_number(flow, &joined);
	return !flow->failed;
}

/*
 * Tries the states at indirect jumps before OP, and then the states at calls: handlers of
 * exceptions run in the frame of a call. If bounds are guesses, the entry of another function is
 * tried first at aligned addresses. Such an entry is more likely than a case of a switch, and a
 * function that never returns would fit any state. gcc -Os does not align functions: at other
 * addresses an entry is tried after the states. Then comes a function that never returns, if the
 * code begins like a function. Nothing confirms a handler that only resumes the exception.
 */
static void flow_try_all(struct flow *flow, uint32_t op, const struct flow_recent *jumps,
			 const struct flow_recent *calls)
{
	uint64_t address = flow_address(flow, &flow->ops[op]);
	uint32_t state;

	if (flow_is_plt_head(flow, op) &&
	    flow_try(flow, op, flow_head_state(flow), TRY_UNCONFIRMED))
		return;
	if ((flow->ops[op].entry || (flow->guesses && address % FLOW_ALIGNMENT == 0)) &&
	    flow_try_entry(flow, op, true))
		return;
	if (flow_try_recent(flow, op, jumps) || flow_try_recent(flow, op, calls) ||
	    flow_try_frames(flow, op, jumps) || flow->failed)
		return;
	if ((flow->guesses || address % FLOW_STUB_BYTES == 0) && flow_try_entry(flow, op, true))
		return;
	if (flow->guesses && flow_begins_with_frame(flow, op) &&
	    flow_try_entry(flow, op, false))
		return;
	if ((flow_join_recent(flow, jumps, &state) ||
	     (!flow->guesses && !flow_begins_with_frame(flow, op) &&
	      flow_join_recent(flow, calls, &state))) &&
	    !flow->failed)
		flow_try(flow, op, state, TRY_UNCONFIRMED);
}

/*
 * Where the head of a PLT begins after the zeros at OFFSET, with which linkers align sections;
 * OFFSET: it does not.
 */
static uint32_t flow_skip_zeros(struct flow *flow, struct flow_window *window, uint32_t offset)
{
	uint32_t at = offset, op = NO_OP;

	while ((window->start + at) % FLOW_ALIGNMENT && at < window->size_bytes &&
	       !window->bytes[at])
		at++;
	if (at > offset && at < window->size_bytes)
		op = flow_decode(flow, window, at);
	return op != NO_OP && flow_is_plt_head(flow, op) ? at : offset;
}

/*
 * Tries all code of WINDOW that has no state, in order. JUMPS has states of earlier windows, too.
 */
static void flow_fill_window(struct flow *flow, struct flow_window *window,
			     struct flow_recent *jumps)
{
	struct flow_recent calls = { 0 };
	uint32_t offset = 0;
	bool begins = true; /* control does not come from the instruction before */

	while (offset < window->size_bytes && !flow->failed) {
		uint32_t number;
		struct flow_op *op;

		offset = begins ? flow_skip_zeros(flow, window, offset) : offset;
		number = flow_decode(flow, window, offset);
		if (number == NO_OP) {
			offset++;
			begins = true;
			continue;
		}
		op = &flow->ops[number];
		if (begins && !op->state && !op->instruction.filler)
			flow_try_all(flow, number, jumps, &calls);
		op = &flow->ops[number];
		if (op->state && op->instruction.flow == INSTRUCTION_INDIRECT)
			flow_remember(jumps, op->state - 1);
		if (op->state && (op->instruction.flow == INSTRUCTION_CALL ||
				  op->instruction.flow == INSTRUCTION_JUMP))
			flow_remember(&calls, op->state - 1);
		begins = op->state || op->instruction.filler ||
			 (op->instruction.flow != INSTRUCTION_NEXT &&
			  op->instruction.flow != INSTRUCTION_BRANCH);
		offset += op->instruction.length;
	}
}

/* --- functions after calls -------------------------------------------------------------------- */

/* Adds to LIST the ops after calls in WINDOW that look like the start of a function. */
static void flow_list_prologues(struct flow *flow, struct flow_window *window,
				struct flow_list *list)
{
	uint32_t offset = 0;
	bool called = false;

	while (offset < window->size_bytes && !flow->failed) {
		uint32_t number = flow_decode(flow, window, offset);
		struct instruction instruction;

		if (number == NO_OP) {
			offset++;
			called = false;
			continue;
		}
		instruction = flow->ops[number].instruction;
		if (called && !instruction.filler && flow_looks_like_entry(flow, number))
			flow_push(flow, list, (struct flow_work){ .op = number });
		called = instruction.flow == INSTRUCTION_CALL || (called && instruction.filler);
		offset += instruction.length;
	}
}

/*
 * Forgets the states that the last try has set; only the entry's state is left. After a try that
 * exceeded a limit, the next try may still succeed.
 */
static void flow_forget_try(struct flow *flow, size_t n_windows)
{
	flow->failed = false;
	for (size_t i = 0; i < flow->n_tried; i++)
		flow->ops[flow->tried[i]].state = flow->ops[flow->tried[i]].call = 0;
	flow->n_tried = 0;
	flow_close_windows(flow, n_windows);
	flow_forget_states(flow);
}

/*
 * Tries the last entry first, so that a function before it that never returns ends at this entry.
 * Each entry is a separate try, so that many entries need no more room than one.
 */
void flow_find_entries(struct flow *flow)
{
	struct flow_list list = { 0 };
	uint64_t left_steps = flow->left_steps;
	size_t n_windows = flow->n_windows;

	flow_list_prologues(flow, &flow->windows[0], &list);
	while (list.n && flow->left_steps && !flow->failed) {
		flow_try_entry(flow, list.work[--list.n].op, true);
		flow_forget_try(flow, n_windows);
	}
	free(list.work);
	flow->left_steps = left_steps;
}

/*
 * If bounds are guesses, a window that a jump has opened may have parts of many functions: gcc puts
 * all rare parts together (".text.unlikely"). Only code that the function reaches there is part of
 * the function, so other code in this window is not tried.
 */
void flow_fill(struct flow *flow)
{
	size_t n = flow->guesses ? flow->n_asked : SIZE_MAX;
	struct flow_recent jumps = { 0 };

	for (unsigned pass = 0; pass < 2; pass++) /* a switch may jump backwards */
		for (size_t i = 0; i < flow->n_windows && i < n; i++)
			flow_fill_window(flow, &flow->windows[i], &jumps);
}
