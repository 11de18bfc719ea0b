/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views on top of each other. */
#include "config.h"

#include "ui/view_stack.h"

#include "ui/view.h"

static struct view *view_stack_top(const struct view_stack *stack)
{
	return stack->views[stack->n - 1];
}

bool view_stack_push(struct view_stack *stack, const struct view_ops *view, uint32_t frame)
{
	struct view *below = stack->n ? view_stack_top(stack) : NULL;

	if (stack->n == VIEW_STACK_MAX)
		return true;
	stack->views[stack->n] = view_create(view, below, frame);
	if (!stack->views[stack->n])
		return false;
	stack->n++;
	return true;
}

void view_stack_truncate(struct view_stack *stack, size_t n)
{
	while (stack->n > n)
		view_destroy(stack->views[--stack->n]);
}

const struct view_ops *view_stack_at(const struct view_stack *stack, size_t index)
{
	return index < stack->n ? stack->views[index]->ops : NULL;
}

bool view_stack_shows_trace(const struct view_stack *stack)
{
	return view_stack_top(stack)->ops->needs == VIEW_NEEDS_TRACE;
}

bool view_stack_needs_trace(const struct view_stack *stack)
{
	for (size_t i = 0; i < stack->n; i++)
		if (stack->views[i]->ops->needs == VIEW_NEEDS_TRACE)
			return true;
	return false;
}

uint32_t view_stack_annotates(const struct view_stack *stack)
{
	for (size_t i = stack->n; i-- > 0;)
		if (stack->views[i]->ops->annotates)
			return stack->views[i]->ops->annotates(stack->views[i]);
	return FRAME_NONE;
}

struct xtop_error *view_stack_update(struct view_stack *stack, const struct ui_model *model)
{
	struct view *view = view_stack_top(stack);

	return view->ops->update ? view->ops->update(view, model) : NULL;
}

void view_stack_draw(struct view_stack *stack, const struct ui_model *model, struct canvas *canvas,
		     struct area area)
{
	struct view *view = view_stack_top(stack);

	view->ops->draw(view, model, canvas, area);
}

struct request view_stack_handle(struct view_stack *stack, const struct ui_model *model,
				 struct request request)
{
	struct view *view = view_stack_top(stack);

	return view->ops->handle(view, model, request);
}

struct request view_stack_click(struct view_stack *stack, const struct ui_model *model, int row,
				int column)
{
	struct view *view = view_stack_top(stack);

	return view->ops->click ? view->ops->click(view, model, row, column)
				: request_of(REQUEST_NONE);
}
