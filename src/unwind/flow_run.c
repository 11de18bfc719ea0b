/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs one function; see computed_flow.h. flow_follow.c follows the instructions from the entry,
 * and flow_try.c guesses states for code that no path leads to. The result shows whether the code
 * is a function, or a part of another function. Resolver's thread.
 *
 *   entry ─► instruction ─► next ...            the state before each instruction
 *                       └► target of a jump
 */
#include "config.h"

#include "unwind/flow.h"

#include <stdlib.h>

#define FLOW_MAX_RESTARTS 64
#define FLOW_STEPS_A_BYTE 64 /* limit of steps for each byte of code */
#define FLOW_BASE_STEPS   4096
#define FLOW_MAX_PARENTS  3 /* how deep parts of functions may nest */

/* --- life ------------------------------------------------------------------------------------- */

struct flow *flow_create(const struct code_source *source)
{
	struct flow *flow = calloc(1, sizeof(*flow));

	if (!flow)
		return NULL;
	flow->source = source;
	flow->machine = computed_machine(source->arch);
	return flow;
}

void flow_destroy(struct flow *flow)
{
	if (!flow)
		return;
	flow_close_windows(flow, 0);
	hash_table_deinit(&flow->numbers);
	free(flow->ops);
	free(flow->states);
	free(flow->jumps.work);
	free(flow->returns.work);
	free(flow->joins.work);
	free(flow->tried);
	free(flow);
}

size_t flow_memory_bytes(const struct flow *flow)
{
	return sizeof(*flow) + flow->ops_capacity * sizeof(*flow->ops) +
	       flow->states_capacity * sizeof(*flow->states) +
	       (flow->jumps.capacity + flow->returns.capacity) * sizeof(struct flow_work) +
	       flow->tried_capacity * sizeof(*flow->tried);
}

/* --- runs from the entry ---------------------------------------------------------------------- */

static void flow_forget(struct flow *flow)
{
	for (size_t i = 0; i < flow->n_ops; i++)
		flow->ops[i].state = flow->ops[i].call = flow->ops[i].since = 0;
}

static void flow_run_entry(struct flow *flow)
{
	uint32_t state, op = flow_decode(flow, &flow->windows[0], 0);

	flow_forget_states(flow);
	if (op == NO_OP)
		return;
	if (flow->guesses)
		flow_find_entries(flow);
	state = flow_is_plt_head(flow, op) ? flow_head_state(flow) : flow->entry;
	for (unsigned i = 0; i <= FLOW_MAX_RESTARTS; i++) {
		flow->again = flow->contradicts = false;
		flow->may_restart = i < FLOW_MAX_RESTARTS;
		flow->since = 0;
		flow_forget(flow);
		flow_push_jump(flow, op, state);
		flow_drain(flow);
		if (!flow->again)
			break;
	}
	flow->contradicts = flow->may_restart = false;
	flow->since = 0;
	flow_find_change(flow);
}

/* --- a function ------------------------------------------------------------------------------- */

static void flow_reset(struct flow *flow)
{
	flow_close_windows(flow, 0);
	flow->n_ops = flow->jumps.n = flow->returns.n = 0;
	flow->trying = flow->contradicts = flow->agrees = flow->again = flow->failed = false;
	flow->returns_well = flow->returns_badly = flow->leaves = flow->missing = false;
	flow->outside = 0;
	flow->careful = false;
	flow->change = (struct flow_change){ 0 };
}

/*
 * Whether INSTRUCTION jumps into the middle of another function. A part may begin with the end of
 * its function, "pop; pop; ret". Then no path in the part leads to the jump back to the function.
 */
static bool flow_jumps_outside(struct flow *flow, const struct instruction *instruction)
{
	uint64_t start, end;

	return (instruction->flow == INSTRUCTION_JUMP || instruction->flow == INSTRUCTION_BRANCH) &&
	       instruction->target && !flow_window_at(flow, instruction->target) &&
	       flow->source->find_function(flow->source->context, instruction->target, &start,
					   &end) &&
	       start != instruction->target;
}

/* Looks in the first window for a jump outside, even in code that no path leads to. */
static void flow_find_outside(struct flow *flow)
{
	struct flow_window *window = &flow->windows[0];
	uint32_t offset = 0;

	while (offset < window->size_bytes && !flow->outside) {
		uint32_t op = flow_decode(flow, window, offset);

		if (op == NO_OP) {
			offset++;
			continue;
		}
		if (flow_jumps_outside(flow, &flow->ops[op].instruction))
			flow->outside = flow->ops[op].instruction.target;
		offset += flow->ops[op].instruction.length;
	}
}

/* Follows the function that flow->outside is in, with the part in [START, END). */
static bool flow_run_around(struct flow *flow, uint64_t start, uint64_t end)
{
	uint64_t outside = flow->outside, parent_start, parent_end;

	flow_reset(flow);
	if (!flow->source->find_function(flow->source->context, outside, &parent_start,
					 &parent_end) ||
	    !flow_open_window(flow, parent_start, parent_end) ||
	    !flow_open_window(flow, start, end))
		return false;
	flow->n_asked = 2;
	flow->left_steps += (parent_end - parent_start) * (uint64_t)FLOW_STEPS_A_BYTE;
	flow_run_entry(flow);
	return true;
}

/*
 * Runs the parent of [START, END). The code there does not return, but jumps into the middle of the
 * parent, so it is a part of the parent. The parent may be a part itself. Perhaps only a switch's
 * table leads from the parent to the part.
 */
static bool flow_run_parent(struct flow *flow, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < FLOW_MAX_PARENTS && flow->outside; i++) {
		if (!flow_run_around(flow, start, end))
			return false;
		if (flow->outside && !flow->returns_well)
			continue;
		flow_fill(flow);
		return !flow->failed && !flow->returns_badly;
	}
	return false;
}

/* The op after FIRST in WINDOW; FIRST if there is no other. */
static const struct flow_op *flow_op_after(const struct flow *flow,
					   const struct flow_window *window,
					   const struct flow_op *first)
{
	uint32_t next = first->offset + first->instruction.length;

	return next < window->size_bytes && window->ops[next] ? &flow->ops[window->ops[next] - 1]
							      : first;
}

/*
 * The first instruction after endbr64 and after the call of a tracer, which functions may begin
 * with (gcc -mfentry, as for Linux). NULL if there is no code.
 */
static const struct instruction *flow_first_instruction(const struct flow *flow)
{
	const struct flow_window *window = &flow->windows[0];
	const struct flow_op *first;

	if (!window->ops[0])
		return NULL;
	first = &flow->ops[window->ops[0] - 1];
	if (first->instruction.marks_target)
		first = flow_op_after(flow, window, first);
	if (first->instruction.flow == INSTRUCTION_CALL && first->instruction.target)
		first = flow_op_after(flow, window, first);
	return &first->instruction;
}

/*
 * Whether the stack is aligned at all calls that paths lead to, as it is in a function (psABI AMD64
 * §3.2.2), and not in a part of a function.
 */
static bool flow_aligns_calls(const struct flow *flow)
{
	bool calls = false;

	for (size_t i = 0; i < flow->n_ops; i++) {
		const struct flow_op *op = &flow->ops[i];

		if (!op->state || op->instruction.flow != INSTRUCTION_CALL)
			continue;
		if (!computed_state_is_aligned(&flow->states[op->state - 1]))
			return false;
		calls = true;
	}
	return calls;
}

/*
 * Whether code that never returns is a function. It may also be a part of a function that lies
 * elsewhere, such as a call of abort() in ".cold". This is a guess: a function that calls others
 * begins with a push of a register, or begins at an aligned address or aligns the stack, and moves
 * the stack pointer. On arm64 the frame tells (flow.h).
 */
static bool flow_is_function(struct flow *flow)
{
	const struct instruction *first = flow_first_instruction(flow);

	if (!flow->machine->return_bytes)
		return flow_begins_frame(flow, &flow->windows[0], 0, UINT32_MAX);
	return first && ((first->effect != EFFECT_ADD && flow_makes_frame(first)) ||
			 flow_is_plt_head(flow, flow->windows[0].ops[0] - 1) ||
			 (first->effect == EFFECT_ADD && first->dest == REG_SP &&
			  (flow->windows[0].start % FLOW_ALIGNMENT == 0 ||
			   flow_aligns_calls(flow))));
}

/*
 * Whether the function begins by saving a preserved register. If a part does so, it has no frame at
 * its start, and its state there is that of a function's entry. Other pushes may push the arguments
 * of a call.
 */
static bool flow_saves_first(const struct flow *flow)
{
	const struct instruction *first = flow_first_instruction(flow);

	return first && first->effect != EFFECT_ADD && flow_makes_frame(first) &&
	       first->source < COMPUTED_REGISTERS &&
	       flow->states[flow->entry].regs[first->source].kind != VALUE_LOST;
}

/*
 * Whether the function has a guessed start that is aligned. Such a start is a call target, and the
 * function is no part of another function, because gcc does not align parts.
 */
static bool flow_is_called(const struct flow *flow)
{
	return flow->guesses && flow->windows[0].start % FLOW_ALIGNMENT == 0;
}

/* Follows the paths from the entry. Returns false if the code cannot be read. */
static bool flow_begin(struct flow *flow, uint64_t start, uint64_t end, bool careful)
{
	flow_reset(flow);
	flow->careful = careful;
	if (!flow_open_window(flow, start, end) || flow->missing)
		return false;
	flow->n_asked = 1;
	flow->left_steps = FLOW_BASE_STEPS + (end - start) * (uint64_t)FLOW_STEPS_A_BYTE;
	flow_run_entry(flow);
	return true;
}

/*
 * Runs the function in [START, END), or its parent if it is a part. A part may have a return that
 * only another jump of the parent leads to, so only the paths from the entry decide whether the
 * code returns. If some of these paths return well and others do not, the others went through a
 * call that never returns.
 *
 * Between guessed bounds there may be several functions. If all paths from the entry return well
 * and the other code does not fit, then the other code belongs to other functions, and only the
 * paths from the entry count.
 */
static bool flow_run_function(struct flow *flow, uint64_t start, uint64_t end)
{
	bool part, whole;

	if (!flow_begin(flow, start, end, false) ||
	    (flow->guesses && flow->returns_badly && flow->returns_well &&
	     !flow_begin(flow, start, end, true)))
		return false;
	if (flow->returns_badly && !flow->returns_well && !flow->outside)
		flow_find_outside(flow);
	part = flow->outside && !flow->returns_well && !flow_saves_first(flow) &&
	       !(flow->leaves && flow_is_called(flow));
	whole = flow->returns_well && !flow->returns_badly;
	if (!part)
		flow_fill(flow);
	if (whole && flow->guesses && flow->outside && flow->returns_badly)
		return flow_begin(flow, start, end, flow->careful) && !flow->failed;
	if (part || (flow->outside && flow->returns_badly))
		return flow_run_parent(flow, start, end);
	if (!flow->returns_well &&
	    (flow->returns_badly || (!flow->leaves && !flow_is_called(flow) &&
				     !flow_changes_stack(flow) && !flow_jumps_to_context(flow) &&
				     !flow_is_function(flow))))
		return false;
	return !flow->failed;
}

/* Drops all states if the function was not followed to its end, because they may be wrong. */
bool flow_run(struct flow *flow, uint64_t start, uint64_t end, bool guesses)
{
	bool known;

	flow->guesses = guesses;
	known = flow_run_function(flow, start, end) && !flow->missing;

	if (!known)
		flow_forget(flow);
	return known;
}

bool flow_is_missing(const struct flow *flow)
{
	return flow->missing;
}

size_t flow_count_windows(const struct flow *flow)
{
	return flow->n_windows;
}

void flow_get_window(const struct flow *flow, size_t i, uint64_t *start, uint64_t *end)
{
	*start = flow->windows[i].start;
	*end = *start + flow->windows[i].size_bytes;
}

enum flow_state flow_find(const struct flow *flow, uint64_t address, struct flow_place *place)
{
	const struct flow_window *window = flow_window_at(flow, address);
	const struct flow_op *op;

	*place = (struct flow_place){ 0 };
	if (!window)
		return FLOW_OUTSIDE;
	if (!window->ops[address - window->start])
		return FLOW_BETWEEN;
	op = &flow->ops[window->ops[address - window->start] - 1];
	place->next = address + op->instruction.length;
	place->filler = op->instruction.filler;
	place->entry = op->entry;
	if (!op->state)
		return FLOW_UNREACHED;
	place->state = &flow->states[op->state - 1];
	return FLOW_KNOWN;
}

void flow_clear(struct flow *flow)
{
	flow_close_windows(flow, 0);
}
