/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows instructions along all paths; see flow.h. The first path that reaches an instruction sets
 * the instruction's state. A later path may bring a different stack pointer or different registers:
 *
 *   the stack pointers differ, and one path   that call never returns, like abort(): the code
 *   comes directly from a call                after the call belongs to the other path
 *   otherwise                                 values that differ are lost
 *
 * While a state is tried (flow_try.c), a path that brings a different stack pointer contradicts the
 * state. Resolver's thread.
 */
#include "config.h"

#include "unwind/flow.h"

#include <string.h>

#include "xtop/base/vector.h"

#define FLOW_PROLOGUE_BYTES 16 /* first instructions of a function, which may make a frame */
#define FLOW_RETURN_BYTES   4  /* the longest return instruction: arm64's */
/*
 * Size of a piece of stray code: the code is in no function, and functions with a frame jump to it.
 * A Linux kernel uses such code until it patches the jumps: a test of 7 bytes and jumps of 6 and 5
 * bytes, one piece after the other (Linux arch/x86/include/asm/cpufeature.h _static_cpu_has(),
 * section .altinstr_aux).
 */
#define FLOW_STRAY_BYTES 18

/* --- results of a try ------------------------------------------------------------------------- */

static bool flow_is_left(const struct flow *flow, uint32_t state)
{
	return computed_state_is_left(&flow->states[state], &flow->states[flow->entry]);
}

static void flow_contradict(struct flow *flow)
{
	flow->contradicts = flow->trying;
}

/* Notes that the function returns with STATE. */
static void flow_leave(struct flow *flow, uint32_t state)
{
	if (flow_is_left(flow, state)) {
		flow->agrees = flow->returns_well = true;
	} else if (computed_state_has_no_frame(&flow->states[state])) {
		flow->leaves = true; /* assembly may have its own rules for registers */
	} else {
		flow->returns_badly = true;
		flow_contradict(flow);
	}
}

/* --- following -------------------------------------------------------------------------------- */

void flow_push(struct flow *flow, struct flow_list *list, struct flow_work work)
{
	if (!vector_reserve(list->work, list->capacity, list->n + 1)) {
		flow->failed = true;
		return;
	}
	list->work[list->n++] = work;
}

void flow_push_jump(struct flow *flow, uint32_t op, uint32_t state)
{
	flow_push(flow, &flow->jumps, (struct flow_work){ op, state, 0, flow->since });
}

/*
 * Whether the code at TARGET is just a return. Linux kernels return by a jump to such code (Linux
 * arch/x86/lib/retpoline.S __x86_return_thunk).
 */
static bool flow_is_return(const struct flow *flow, uint64_t target)
{
	uint8_t bytes[FLOW_RETURN_BYTES];
	size_t n = flow->source->read(flow->source->context, target, bytes, sizeof(bytes));
	struct instruction instruction;

	return flow->machine->decode(bytes, n, target, &instruction) &&
	       instruction.flow == INSTRUCTION_RETURN;
}

/*
 * Opens a window for stray code. Bytes that cannot be read there do not count as missing: the
 * image's code may end there, and then reading again would not help.
 */
static bool flow_open_stray(struct flow *flow, uint64_t target)
{
	bool missing = flow->missing;
	bool opened = flow_open_window(flow, target, target + FLOW_STRAY_BYTES);

	flow->missing = missing;
	return opened && flow_window_at(flow, target);
}

/*
 * Opens the window of TARGET, which is in no window yet. Returns false if TARGET is not in another
 * part of the function. A jump without a frame to the start of another function is a tail call.
 */
static bool flow_reach(struct flow *flow, uint64_t target, uint32_t state)
{
	bool left = flow_is_left(flow, state);
	uint64_t start, end;

	/* the frame belonged to another function */
	if (computed_state_is_above(&flow->states[state])) {
		flow->returns_badly = true;
		flow_contradict(flow);
		return false;
	}
	if (!flow->source->find_function(flow->source->context, target, &start, &end)) {
		if (left)
			flow->agrees = flow->leaves = true;
		return !left && flow_open_stray(flow, target);
	}
	if (left && (start == target || (flow->guesses && target % FLOW_ALIGNMENT == 0))) {
		flow->agrees = flow->leaves = true;
		flow->returns_well |= start == target && flow_is_return(flow, target);
		return false;
	}
	if (start == target && (computed_state_is_elsewhere(&flow->states[state]) ||
				computed_state_begins_chain(&flow->states[state])))
		return false; /* the code that it jumps to has other callers */
	if (start != target && !flow->outside)
		flow->outside = target;
	return !left && flow_open_window(flow, start, end) && flow_window_at(flow, target);
}

static void flow_jump(struct flow *flow, uint64_t target, uint32_t state)
{
	struct flow_window *window = flow_window_at(flow, target);
	uint32_t offset, op;

	if (!target)
		return;
	if (!window && !flow_reach(flow, target, state))
		return;
	window = flow_window_at(flow, target);
	offset = (uint32_t)(target - window->start);
	if (offset && !window->ops[offset] && window->ops[offset - 1] &&
	    instruction_skips_prefix(window->bytes + offset - 1, window->size_bytes - offset + 1))
		offset--;
	op = flow_decode(flow, window, offset);
	if (op == NO_OP)
		flow_contradict(flow);
	else
		flow_push_jump(flow, op, state);
}

/*
 * Follows a conditional jump. A conditional jump to the start of another function usually leads to
 * a rare part of this function, which has an FDE of its own. Such a jump does not confirm a try.
 */
static void flow_branch(struct flow *flow, uint64_t target, uint32_t state)
{
	bool leaves = flow->leaves;

	flow_jump(flow, target, state);
	if (flow->trying)
		flow->leaves = leaves;
}

/* --- calls that never return ------------------------------------------------------------------ */

/* Notes that CALL never returns. */
static void flow_end_call(struct flow *flow, uint32_t call)
{
	struct flow_op *op = &flow->ops[call - 1];
	uint64_t target = op->instruction.target;

	op->ends = true;
	if (target && op->instruction.flow == INSTRUCTION_CALL)
		flow->ends[hash_slot(target, FLOW_ENDS)] = target;
}

/* --- two paths -------------------------------------------------------------------------------- */

/*
 * A call that never returns may have arguments on the stack, which nobody then takes away. If only
 * a table of jumps leads to the code after that call, the code seems to have these words on its
 * stack, until its path meets another path without them. So of two depths the deeper one is wrong.
 * Notes that the first call at this depth never returns. Returns false if that call is not known.
 */
static bool flow_end_deeper(struct flow *flow, const struct flow_op *op, uint32_t number)
{
	const struct computed_state *old = &flow->states[op->state - 1];
	const struct computed_state *state = &flow->states[number];
	uint32_t call = 0;

	if (computed_state_is_deeper(state, old))
		call = flow->since;
	else if (computed_state_is_deeper(old, state))
		call = op->since;
	if (!call)
		return false;
	flow->ops[call - 1].ends = true;
	flow->again = true;
	return true;
}

/*
 * Handles a path that reaches OP with *STATE, when OP has a state already. CALL: the path comes
 * directly from this call. Returns true, with *STATE joined, if the path has to be followed
 * further.
 */
static bool flow_meet(struct flow *flow, struct flow_op *op, uint32_t *state, uint32_t call)
{
	struct computed_state joined;
	uint32_t number;
	bool differ;

	differ = computed_state_differ(&flow->states[op->state - 1], &flow->states[*state]);
	if (!flow->trying && call != op->call)
		differ |= computed_state_mix(&flow->states[op->state - 1], &flow->states[*state],
					     &flow->states[flow->entry]);
	if (flow->trying) {
		if (differ)
			flow_contradict(flow);
		flow->agrees |= !op->tried;
		flow_push(flow, &flow->joins,
			  (struct flow_work){ (uint32_t)(op - flow->ops), *state, 0, 0 });
		return false;
	}
	if (differ && call && !op->call) {
		flow_end_call(flow, call);
		return false;
	}
	if (differ && op->call && !call) {
		flow_end_call(flow, op->call);
		flow->again = true;
		return false;
	}
	if (differ && flow->may_restart && flow_end_deeper(flow, op, *state))
		return false;
	joined = flow->states[op->state - 1];
	computed_state_join(&joined, &flow->states[*state]);
	number = flow_number(flow, &joined);
	if (number == op->state - 1)
		return false;
	*state = number;
	return true;
}

/* Sets the state of an op. Returns false if the path brings nothing new and ends here. */
static bool flow_arrive(struct flow *flow, uint32_t number, uint32_t *state, uint32_t call)
{
	struct flow_op *op = &flow->ops[number];

	if (op->state == *state + 1) {
		if (!call)
			op->call = 0;
		if (op->since != flow->since)
			op->since = 0;
		flow->agrees |= !op->tried;
		return false;
	}
	if (op->state && !flow_meet(flow, op, state, call))
		return false;
	if (flow->trying && !op->state) {
		if (!vector_reserve(flow->tried, flow->tried_capacity, flow->n_tried + 1)) {
			flow->failed = true;
			return false;
		}
		flow->tried[flow->n_tried++] = number;
		op->tried = true;
	}
	op->since = op->state ? 0 : flow->since;
	op->state = *state + 1;
	op->call = call;
	return true;
}

/* The number of the state after OP, if control goes to the next instruction. */
static uint32_t flow_apply(struct flow *flow, const struct flow_op *op, uint32_t number)
{
	struct computed_state state;

	if (computed_state_is_kept(&flow->states[number], &op->instruction))
		return number;
	state = flow->states[number];
	computed_state_apply(&state, &op->instruction);
	return flow_number(flow, &state);
}

/* The number of the state after op NUMBER on the path that is followed; updates flow->since. */
static uint32_t flow_pass(struct flow *flow, uint32_t number, uint32_t before)
{
	const struct flow_op op = flow->ops[number];
	uint32_t after = flow_apply(flow, &op, before);

	if (flow->states[after].regs[REG_SP].offset != flow->states[before].regs[REG_SP].offset)
		flow->since = 0;
	else if (op.instruction.flow == INSTRUCTION_CALL && !flow->since)
		flow->since = number + 1;
	return after;
}

/*
 * The number of the state after a branch. "cmp %reg,%rsp; jne back" ends a loop that touches each
 * page of a large frame; after this branch, rsp equals the register.
 */
static uint32_t flow_equate(struct flow *flow, const struct flow_op *op,
			    const struct instruction *before, uint32_t number)
{
	struct computed_state state;

	if (!before->compares || op->instruction.target >= flow_address(flow, op))
		return number;
	state = flow->states[number];
	computed_state_equate(&state, before->source);
	return flow_number(flow, &state);
}

/* Follows the jumps of OP. Returns whether control may go on to the next instruction. */
static bool flow_follow_jumps(struct flow *flow, const struct flow_op *op, uint32_t state)
{
	struct instruction instruction = op->instruction;

	switch ((enum instruction_flow)instruction.flow) {
	case INSTRUCTION_NEXT:
		return true;
	case INSTRUCTION_CALL:
	case INSTRUCTION_TRAP:
		return !op->ends &&
		       (!instruction.target ||
			flow->ends[hash_slot(instruction.target, FLOW_ENDS)] != instruction.target);
	case INSTRUCTION_BRANCH:
		flow_branch(flow, instruction.target, state);
		return true;
	case INSTRUCTION_JUMP:
		flow_jump(flow, instruction.target, state);
		return false;
	case INSTRUCTION_RETURN:
		flow_leave(flow, state);
		return false;
	case INSTRUCTION_INDIRECT:
		if ((instruction.target || instruction.tail) && flow_is_left(flow, state))
			flow->agrees = flow->leaves = true;
		if (computed_state_is_above(&flow->states[state]))
			flow->returns_badly = true; /* the code pops more than it pushed */
		return false;
	case INSTRUCTION_END:
		return false;
	}
	return false;
}

bool flow_makes_frame(const struct instruction *instruction)
{
	return (instruction->effect == EFFECT_PUSH && instruction->source != REG_NONE) ||
	       (instruction->effect == EFFECT_STORE && instruction->dest == REG_SP &&
		instruction->moves < 0) ||
	       (instruction->effect == EFFECT_ADD && instruction->dest == REG_SP &&
		instruction->source == REG_SP && instruction->value < 0);
}

bool flow_is_prologue(const struct instruction *instruction)
{
	return instruction->marks_target || flow_makes_frame(instruction);
}

bool flow_begins_frame(struct flow *flow, struct flow_window *window, uint32_t offset,
		       uint32_t end)
{
	while (offset < end && offset < window->size_bytes) {
		uint32_t op = flow_decode(flow, window, offset);
		const struct instruction *instruction;

		if (op == NO_OP)
			return false;
		instruction = &flow->ops[op].instruction;
		if (flow_makes_frame(instruction))
			return true;
		if (instruction->flow != INSTRUCTION_NEXT)
			return false;
		offset += instruction->length;
	}
	return false;
}

/*
 * If bounds are guesses: whether a function begins at NEXT, or after the fillers at NEXT. The call
 * before NEXT never returns then. Without fillers, an aligned instruction like a prologue's is no
 * sign of a function: it may push an argument of the next call.
 */
static bool flow_meets_function(struct flow *flow, struct flow_window *window, uint32_t next)
{
	bool fills = false;

	if (flow->guesses && !flow->machine->return_bytes &&
	    flow_begins_frame(flow, window, next, next + FLOW_PROLOGUE_BYTES))
		return true;
	while (flow->guesses && next < window->size_bytes) {
		uint32_t op = flow_decode(flow, window, next);
		const struct instruction *instruction;

		if (op == NO_OP)
			return false;
		instruction = &flow->ops[op].instruction;
		if (!instruction->filler)
			return flow->ops[op].entry ||
			       ((fills || instruction->marks_target) &&
				(window->start + next) % FLOW_ALIGNMENT == 0 &&
				flow_is_prologue(instruction));
		fills = true;
		next += instruction->length;
	}
	return false;
}

/*
 * Notes that the code after a call is to be followed later, because the call may never return. If
 * bounds are guesses, a window that a jump has opened may have other functions' parts after such a
 * call. This code would contradict a try, so it is not followed.
 */
static void flow_return(struct flow *flow, struct flow_window *window, uint32_t next, uint32_t call,
			uint32_t state)
{
	uint32_t op;

	if ((flow->trying || flow->careful) && flow->guesses &&
	    window >= &flow->windows[flow->n_asked])
		return;
	op = flow_decode(flow, window, next);
	if (op == NO_OP)
		flow_contradict(flow);
	else if (flow_meets_function(flow, window, next))
		flow_end_call(flow, call + 1);
	else
		flow_push(flow, &flow->returns,
			  (struct flow_work){ op, state, call + 1, flow->since });
}

/*
 * Whether OP is a call after which the return address is lost. On arm64 a call overwrites the
 * return address, so code with calls has saved it before. STATE then belongs to another path, such
 * as a path without a frame in a function that has a handler of exceptions.
 */
static bool flow_loses_return(const struct flow *flow, const struct flow_op *op, uint32_t state)
{
	struct computed_state after;

	if (flow->machine->return_bytes || op->instruction.flow != INSTRUCTION_CALL)
		return false;
	after = flow->states[state];
	computed_state_apply(&after, &op->instruction);
	return computed_state_rule(&after, flow->machine).kind == RULE_NONE;
}

static bool flow_count_step(struct flow *flow)
{
	if (!flow->left_steps)
		flow->failed = true;
	else
		flow->left_steps--;
	return !flow->failed && !flow->contradicts;
}

/* Follows a path from instruction to instruction, up to a jump or a call. */
static void flow_follow(struct flow *flow, struct flow_work work)
{
	struct instruction before = { 0 };

	flow->since = work.since;
	while (flow_arrive(flow, work.op, &work.state, work.call) && flow_count_step(flow)) {
		struct flow_op op = flow->ops[work.op];
		struct flow_window *window = &flow->windows[op.window];
		uint32_t next = op.offset + op.instruction.length;

		if (flow->trying && flow_loses_return(flow, &op, work.state))
			flow_contradict(flow);
		if (!flow_follow_jumps(flow, &op, work.state) || next >= window->size_bytes)
			return;
		if (op.instruction.flow == INSTRUCTION_BRANCH)
			work.state = flow_equate(flow, &op, &before, work.state);
		work.state = flow_pass(flow, work.op, work.state);
		if (op.instruction.flow == INSTRUCTION_CALL ||
		    op.instruction.flow == INSTRUCTION_TRAP) {
			flow_return(flow, window, next, work.op, work.state);
			return;
		}
		if (!op.instruction.filler)
			work.call = 0;
		before = op.instruction;
		work.op = flow_decode(flow, window, next);
		if (work.op == NO_OP) {
			flow_contradict(flow);
			return;
		}
	}
}

/*
 * Takes the work with the lowest offset: calls that never return are mostly at the end of the code.
 */
static struct flow_work flow_take_return(struct flow *flow)
{
	struct flow_list *list = &flow->returns;
	struct flow_work work;
	size_t first = 0;

	for (size_t i = 1; i < list->n; i++)
		if (flow->ops[list->work[i].op].offset < flow->ops[list->work[first].op].offset)
			first = i;
	work = list->work[first];
	list->work[first] = list->work[--list->n];
	return work;
}

void flow_drain(struct flow *flow)
{
	while ((flow->jumps.n || flow->returns.n) && !flow->failed && !flow->contradicts &&
	       !flow->again)
		flow_follow(flow, flow->jumps.n ? flow->jumps.work[--flow->jumps.n]
						: flow_take_return(flow));
	flow->jumps.n = flow->returns.n = 0;
}
