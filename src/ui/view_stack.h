/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views on top of each other; the screen shows the one on top. Besides the views, only
 * view_stack.c, keys.c and request_navigation.c know what is in a struct view_ops (view.h).
 */
#ifndef UI_VIEW_STACK_H
#define UI_VIEW_STACK_H

#include "ui/model.h"
#include "ui/request.h"
#include "ui/terminal/canvas.h"

/* The first view, another one, callers, instructions, the list of views, the help. */
#define VIEW_STACK_MAX 6

struct view;
struct view_ops;

/* Zeroed at first. All functions but view_stack_push() and _truncate() need a view in it. */
struct view_stack {
	struct view *views[VIEW_STACK_MAX];
	size_t n;
};

/*
 * Opens VIEW on top of the others. FRAME: the function it is for, or FRAME_NONE. Nothing happens
 * when the stack is full. Returns false if memory is out.
 */
bool view_stack_push(struct view_stack *stack, const struct view_ops *view, uint32_t frame);
/* Closes all views but the first N. */
void view_stack_truncate(struct view_stack *stack, size_t n);
/* The view at INDEX, from 0 at the bottom; NULL above the top. */
const struct view_ops *view_stack_at(const struct view_stack *stack, size_t index);

/* The function whose annotation a view needs, the topmost such view; FRAME_NONE: none does. */
uint32_t view_stack_annotates(const struct view_stack *stack);

/* Whether a view is there for which Xen has to trace. */
bool view_stack_needs_trace(const struct view_stack *stack);
/* Whether the view on top shows what Xen traces. */
bool view_stack_shows_trace(const struct view_stack *stack);

/* The operations of the view on top (view.h). */
struct xtop_error *view_stack_update(struct view_stack *stack, const struct ui_model *model);
void view_stack_draw(struct view_stack *stack, const struct ui_model *model,
		     struct canvas *canvas, struct area area);
struct request view_stack_handle(struct view_stack *stack, const struct ui_model *model,
				 struct request request);
struct request view_stack_click(struct view_stack *stack, const struct ui_model *model, int row,
				int column);

#endif
