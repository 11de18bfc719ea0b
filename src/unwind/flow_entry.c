/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells where a chain of callers begins; see computed_flow.h. The code that a processor or a thread
 * runs first has no caller. Such code sets the frame pointer to 0, or it changes to a stack of its
 * own and never comes back:
 *
 *     mov $16,%eax; mov %eax,%ss; mov $stack_top,%rsp; call main; hlt
 *
 * Such code may also pop a word where a called function has its return address.
 * A function that changes to another stack for a while, for instance to handle an interrupt, comes
 * back to its own stack. longjmp() and switches between threads go on elsewhere, after a jump or a
 * return. System call entries, which return to user code by iret or sysret, have that code as their
 * caller. Resolver's thread.
 */
#include "config.h"

#include "unwind/flow.h"

/*
 * Whether the function makes a frame. A compiled function that never returns may set rbp to zero
 * like an outermost function, but it makes a frame.
 */
static bool flow_has_frame(const struct flow *flow)
{
	for (size_t i = 0; i < flow->n_ops; i++) {
		const struct instruction *instruction = &flow->ops[i].instruction;

		if (instruction->effect == EFFECT_PUSH ||
		    ((instruction->effect == EFFECT_ADD || instruction->moves) &&
		     instruction->dest == REG_SP))
			return true;
	}
	return false;
}

/* Whether the function sets the frame pointer to 0 before it does anything else of interest. */
static bool flow_clears_frame(const struct flow *flow)
{
	const struct flow_window *window = &flow->windows[0];
	uint32_t offset = 0;

	while (offset < window->size_bytes && window->ops[offset]) {
		const struct instruction *instruction =
			&flow->ops[window->ops[offset] - 1].instruction;

		if (instruction->effect != EFFECT_LOSE || instruction->flow != INSTRUCTION_NEXT)
			return false;
		if (instruction->begins && !(instruction->lost >> REG_SP & 1))
			return !flow_has_frame(flow);
		offset += instruction->length;
	}
	return false;
}

/* --- changes of the stack --------------------------------------------------------------------- */

/* Whether INSTRUCTION uses the stack pointer, or changes it by a number. */
static bool flow_uses_stack(const struct flow *flow, const struct instruction *instruction)
{
	switch ((enum instruction_effect)instruction->effect) {
	case EFFECT_PUSH:
	case EFFECT_POP:
	case EFFECT_LEAVE:
	case EFFECT_ALIGN:
		return true;
	case EFFECT_ADD:
	case EFFECT_LOAD:
		return instruction->source == REG_SP;
	case EFFECT_STORE:
		return instruction->dest == REG_SP || instruction->source == REG_SP;
	case EFFECT_MOVE:
		return instruction->dest == REG_SP;
	case EFFECT_LOSE:
	case EFFECT_NUMBER:
		break;
	}
	return instruction->flow == INSTRUCTION_RETURN ||
	       (instruction->flow == INSTRUCTION_CALL && flow->machine->return_bytes);
}

/* Whether INSTRUCTION may leave the function by a jump. */
static bool flow_jumps_away(const struct flow *flow, const struct instruction *instruction)
{
	return instruction->flow == INSTRUCTION_INDIRECT ||
	       ((instruction->flow == INSTRUCTION_JUMP ||
		 instruction->flow == INSTRUCTION_BRANCH) &&
		!flow_window_at(flow, instruction->target));
}

/* Notes in flow->change what OP does on another stack than the function's. */
static void flow_note_elsewhere(struct flow *flow, const struct flow_op *op)
{
	struct computed_state state = flow->states[op->state - 1];

	computed_state_apply(&state, &op->instruction);
	flow->change.changes = true;
	flow->change.comes_back |=
		op->instruction.flow == INSTRUCTION_RETURN || !computed_state_is_elsewhere(&state);
	flow->change.jumps |= flow_jumps_away(flow, &op->instruction);
	flow->change.by_pointer |= op->instruction.flow == INSTRUCTION_INDIRECT;
	flow->change.by_link |= op->instruction.by_link;
}

/* Whether the function can be left, other than by a call or an exception. */
static bool flow_can_be_left(const struct flow *flow)
{
	for (size_t i = 0; i < flow->n_ops; i++) {
		const struct instruction *instruction = &flow->ops[i].instruction;

		if (instruction->flow == INSTRUCTION_RETURN || flow_jumps_away(flow, instruction))
			return true;
	}
	return false;
}

/*
 * Whether the function first pops the word where a return address would be, and is never left. The
 * creator of a new thread's stack has put something else there:
 *
 *     pop %rdi; pop %rbx; push $0; call *%rbx; call exit_thread
 */
static bool flow_pops_first(const struct flow *flow)
{
	const struct flow_window *window = &flow->windows[0];
	uint32_t offset = 0;

	while (flow->machine->return_bytes && offset < window->size_bytes && window->ops[offset]) {
		const struct instruction *instruction =
			&flow->ops[window->ops[offset] - 1].instruction;

		if (instruction->effect == EFFECT_POP)
			return !flow_can_be_left(flow);
		if (flow_uses_stack(flow, instruction) || instruction->flow != INSTRUCTION_NEXT)
			return false;
		offset += instruction->length;
	}
	return false;
}

void flow_find_change(struct flow *flow)
{
	struct flow_change *change = &flow->change;

	if (flow->failed)
		return;
	for (size_t i = 0; i < flow->n_ops; i++) {
		const struct flow_op *op = &flow->ops[i];

		if (!op->state)
			continue;
		change->comes_back |= op->instruction.flow == INSTRUCTION_END;
		change->calls |= op->instruction.flow == INSTRUCTION_CALL;
		if (computed_state_is_elsewhere(&flow->states[op->state - 1]))
			flow_note_elsewhere(flow, op);
		else if (op->instruction.begins && op->instruction.lost >> REG_SP & 1)
			change->is_fixed = true;
		else
			change->is_late |= flow_uses_stack(flow, &op->instruction);
	}
}

bool flow_changes_stack(const struct flow *flow)
{
	return flow->change.changes && !flow->change.comes_back && !flow->change.jumps;
}

bool flow_jumps_to_context(const struct flow *flow)
{
	const struct flow_change *change = &flow->change;

	return change->changes && change->by_pointer && !change->comes_back && !change->is_fixed &&
	       !change->calls;
}

/* --- the results ------------------------------------------------------------------------------ */

bool flow_begins_chain(const struct flow *flow, uint64_t start)
{
	const struct flow_change *change = &flow->change;

	if (!flow->n_windows || flow->windows[0].start != start)
		return false;
	if (change->changes && !change->is_late && !change->comes_back &&
	    (change->is_fixed || !change->jumps))
		return true;
	return flow_clears_frame(flow) || flow_pops_first(flow);
}

bool flow_has_left_stack(const struct flow *flow, const struct computed_state *state)
{
	return computed_state_begins_chain(state) ||
	       (computed_state_is_elsewhere(state) && flow_changes_stack(flow));
}

bool flow_goes_by_link(const struct flow *flow)
{
	return flow->change.by_link && !flow->change.calls;
}
