/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores the code of the function that is followed, and the states before its instructions; see
 * flow.h. Each instruction is decoded once, when it is first reached. Equal states have the same
 * number, so states are compared by their numbers. Resolver's thread.
 */
#include "config.h"

#include "unwind/flow.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"

#define FLOW_MAX_STATES LIMIT(8192, 64)

/* --- states ----------------------------------------------------------------------------------- */

struct flow_wanted {
	const struct flow *flow;
	const struct computed_state *state;
};

static bool flow_is_same_state(const void *context, uint32_t number)
{
	const struct flow_wanted *wanted = context;

	return memcmp(&wanted->flow->states[number], wanted->state, sizeof(*wanted->state)) == 0;
}

uint32_t flow_number(struct flow *flow, const struct computed_state *state)
{
	const struct flow_wanted wanted = { flow, state };
	uint64_t hash = hash_bytes(0, state, sizeof(*state));
	uint32_t number = hash_table_find(&flow->numbers, hash, flow_is_same_state, &wanted);

	if (number != HASH_NONE)
		return number;
	if (flow->n_states == FLOW_MAX_STATES ||
	    !vector_reserve(flow->states, flow->states_capacity, flow->n_states + 1) ||
	    !hash_table_add(&flow->numbers, hash, (uint32_t)flow->n_states)) {
		flow->failed = true;
		return 0;
	}
	flow->states[flow->n_states] = *state;
	return (uint32_t)flow->n_states++;
}

void flow_forget_states(struct flow *flow)
{
	struct computed_state entry;

	hash_table_deinit(&flow->numbers);
	flow->numbers = (struct hash_table){ 0 };
	flow->n_states = 0;
	computed_state_init(&entry, flow->machine);
	flow->entry = flow_number(flow, &entry);
}

/* --- code ------------------------------------------------------------------------------------- */

void flow_close_windows(struct flow *flow, size_t n)
{
	while (flow->n_windows > n) {
		flow->n_windows--;
		free(flow->windows[flow->n_windows].bytes);
		free(flow->windows[flow->n_windows].ops);
	}
}

bool flow_open_window(struct flow *flow, uint64_t start, uint64_t end)
{
	struct flow_window *window = &flow->windows[flow->n_windows];
	uint32_t size_bytes;

	if (flow->n_windows == FLOW_MAX_WINDOWS || start >= end ||
	    end - start > FLOW_MAX_FUNCTION_BYTES)
		return false;
	size_bytes = (uint32_t)(end - start);
	*window = (struct flow_window){ .start = start,
					.bytes = malloc(size_bytes),
					.ops = calloc(size_bytes, sizeof(*window->ops)) };
	if (window->bytes && window->ops)
		window->size_bytes = (uint32_t)flow->source->read(flow->source->context, start,
								  window->bytes, size_bytes);
	flow->missing |= flow->source->turn && window->size_bytes < size_bytes;
	if (!window->size_bytes) {
		free(window->bytes);
		free(window->ops);
		return false;
	}
	flow->n_windows++;
	return true;
}

struct flow_window *flow_window_at(const struct flow *flow, uint64_t address)
{
	for (size_t i = 0; i < flow->n_windows; i++)
		if (address - flow->windows[i].start < flow->windows[i].size_bytes)
			return (struct flow_window *)&flow->windows[i];
	return NULL;
}

uint32_t flow_decode(struct flow *flow, struct flow_window *window, uint32_t offset)
{
	struct flow_op op = { .offset = offset, .window = (uint8_t)(window - flow->windows) };

	if (window->ops[offset])
		return window->ops[offset] - 1;
	if (!flow->machine->decode(window->bytes + offset, window->size_bytes - offset,
				   window->start + offset, &op.instruction))
		return NO_OP;
	if (!vector_reserve(flow->ops, flow->ops_capacity, flow->n_ops + 1)) {
		flow->failed = true;
		return NO_OP;
	}
	flow->ops[flow->n_ops] = op;
	window->ops[offset] = (uint32_t)++flow->n_ops;
	return window->ops[offset] - 1;
}

uint64_t flow_address(const struct flow *flow, const struct flow_op *op)
{
	return flow->windows[op->window].start + op->offset;
}
