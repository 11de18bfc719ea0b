/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the stacks of a snapshot. Main's thread. */
#include "config.h"

#include "export/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/vector.h"

struct xtop_error *stacks_init(struct stacks *stacks, const struct snapshot *snapshot,
			       const struct export_settings *settings)
{
	stacks->snapshot = snapshot;
	stacks->addresses = settings->addresses;
	stacks->lines = settings->lines;
	stacks->copy = NULL;
	stacks->next = 1;
	return filter_nodes(settings->filter, snapshot, &stacks->copy, &stacks->nodes);
}

void stacks_deinit(struct stacks *stacks)
{
	free(stacks->copy);
}

/* Splits the path of N frames into process, thread and functions. */
static void stacks_split(const struct stacks *stacks, size_t n, struct stack *stack)
{
	const struct frames *frames = stacks->snapshot->frames;
	size_t from = 0;

	stack->process = stack->thread = FRAME_NONE;
	if (frames_is_process(frames, stacks->path[from]))
		stack->process = stacks->path[from++];
	if (from < n && frames_is_thread(frames, stacks->path[from]))
		stack->thread = stacks->path[from++];
	from -= from == n;
	stack->frames = stacks->path + from;
	stack->n = n - from;
	stack->whole = stacks->path;
	stack->n_whole = n;
}

/* Nodes are in pre-order, so the nodes before have already set the frames above a node. */
bool stacks_next(struct stacks *stacks, struct stack *stack)
{
	while (stacks->next < stacks->snapshot->n_nodes) {
		const struct snapshot_node *node = &stacks->nodes[stacks->next++];
		const struct frame *frame = frames_get(stacks->snapshot->frames, node->frame);

		stacks->path[node->depth - 1] =
			stacks->addresses || (stacks->lines && frame->line_file) ? node->frame
										 : frame->group;
		if (!(node->self_ticks > 0))
			continue;
		stacks_split(stacks, node->depth, stack);
		stack->samples = node->self_total;
		stack->ticks = node->self_ticks;
		return true;
	}
	return false;
}

/* --- source lines ----------------------------------------------------------------------------- */

/* snapshot_source() has "FILE:LINE". */
struct source_position source_find(const struct snapshot *snapshot,
				   const struct export_settings *settings, uint32_t frame)
{
	const char *text = snapshot_source(snapshot, frame), *colon;
	const struct frame *function = frames_get(snapshot->frames, frame);

	if (!*text && settings->waits)
		text = snapshot_source(settings->waits, frame);
	if (!*text && function->program)
		return (struct source_position){ function->module, strlen(function->module),
						 (uint32_t)function->address };
	colon = strrchr(text, ':');
	if (!colon)
		return (struct source_position){ 0 };
	return (struct source_position){ text, (size_t)(colon - text),
					 (uint32_t)strtoul(colon + 1, NULL, 10) };
}

/* --- numbers ---------------------------------------------------------------------------------- */

static bool numbering_init_for(struct numbering *numbering, uint32_t n_frames)
{
	*numbering = (struct numbering){ 0 };
	numbering->numbers = calloc(n_frames, sizeof(*numbering->numbers));
	return numbering->numbers;
}

bool numbering_init(struct numbering *numbering, const struct snapshot *snapshot)
{
	return numbering_init_for(numbering, snapshot->n_frames);
}

bool numbering_init_both(struct numbering *numbering, const struct snapshot *snapshot,
			 const struct export_settings *settings)
{
	return numbering_init_for(numbering, stacks_n_frames(snapshot, settings));
}

void numbering_deinit(struct numbering *numbering)
{
	free(numbering->numbers);
	free(numbering->frames);
}

uint32_t numbering_get(struct numbering *numbering, uint32_t frame)
{
	uint32_t *number = &numbering->numbers[frame];

	if (*number)
		return *number - 1;
	if (!vector_reserve(numbering->frames, numbering->capacity, numbering->n + 1)) {
		numbering->failed = true;
		return 0;
	}
	numbering->frames[numbering->n++] = frame;
	*number = (uint32_t)numbering->n;
	return *number - 1;
}
