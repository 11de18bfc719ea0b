/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creating views, and the functions that views share. */
#include "config.h"

#include "ui/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "xtop/query/pass_through.h"

struct view *view_create(const struct view_ops *ops, const struct view *below, uint32_t frame)
{
	struct view *view = calloc(1, ops->size);

	if (!view)
		return NULL;
	view->ops = ops;
	if (ops->init)
		ops->init(view, below, frame);
	return view;
}

void view_destroy(struct view *view)
{
	if (view->ops->deinit)
		view->ops->deinit(view);
	free(view);
}

/* --- requests --------------------------------------------------------------------------------- */

struct request view_message(const char *format, ...)
{
	struct request request = { .code = REQUEST_MESSAGE };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(request.message, sizeof(request.message), format, arguments);
	va_end(arguments);
	return request;
}

static uint32_t view_frame_at(const struct list *list, size_t row, view_frame_fn *frame_of)
{
	return frame_of ? frame_of(list->context, row)
			: (uint32_t)list->key_of(list->context, row);
}

uint32_t view_selected(const struct list *list, view_frame_fn *frame_of)
{
	return list->n ? view_frame_at(list, list->selected, frame_of) : FRAME_NONE;
}

struct view_search {
	const struct list *list;
	const struct ui_model *model;
	view_frame_fn *frame_of;
};

static bool view_row_matches(const void *context, size_t row)
{
	const struct view_search *search = context;

	return view_matches(search->model, view_frame_at(search->list, row, search->frame_of));
}

struct request view_search(struct list *list, const struct ui_model *model, struct request request,
			   view_frame_fn *frame_of)
{
	struct view_search search = { list, model, frame_of };

	if (!model->search || request.code < REQUEST_SEARCH_HERE ||
	    request.code > REQUEST_SEARCH_PREVIOUS)
		return request;
	return list_search(list, request.code, view_row_matches, &search) ? request_of(REQUEST_NONE)
									  : request;
}

static struct request view_show(enum request_code code, uint32_t frame)
{
	if (frame == FRAME_NONE)
		return request_of(REQUEST_NONE);
	return (struct request){ .code = code, .frame = frame };
}

static struct request view_callers_of(uint32_t frame)
{
	return view_show(REQUEST_SHOW_CALLERS, frame);
}

struct request view_naming_of(uint32_t frame)
{
	return view_show(REQUEST_SHOW_NAMING, frame);
}

struct request view_annotation_of(uint32_t frame)
{
	return view_show(REQUEST_SHOW_ANNOTATION, frame);
}

struct request view_handle_list(struct list *list, const struct ui_model *model,
				struct request request, view_frame_fn *frame_of)
{
	if (list_request(list, request.code))
		return request_of(REQUEST_NONE);
	switch ((int)request.code) {
	case REQUEST_OPEN:
		return view_callers_of(view_selected(list, frame_of));
	case REQUEST_NAMING:
		return view_naming_of(view_selected(list, frame_of));
	default:
		return view_search(list, model, request, frame_of);
	}
}

struct request view_click_list(struct list *list, int line, view_frame_fn *frame_of)
{
	return list_click(list, line) == LIST_OPENED
		       ? view_callers_of(view_selected(list, frame_of))
		       : request_of(REQUEST_NONE);
}

uint64_t view_function_key(const void *table, size_t row)
{
	const struct function_table *functions = table;

	return row < functions->n ? functions->rows[row].frame : FRAME_NONE;
}

/* --- frames ----------------------------------------------------------------------------------- */

bool view_matches(const struct ui_model *model, uint32_t frame)
{
	return model->search && frame != FRAME_NONE &&
	       filter_matches(model->search, model->all->frames, frame);
}

/* For views without a column for the kind of a frame: marks unnamed kernel functions. */
const char *view_frame_name(const struct ui_model *model, uint32_t id,
			    char buffer[SNAPSHOT_NAME_BYTES])
{
	const struct frame *frame = frames_get(model->all->frames, id);

	if (frame->unknown && !frame->module[0] && !model->names.addresses &&
	    frame->kind == FRAME_KIND_KERNEL)
		return "[k] [unknown]";
	return model->names.raw && !frame->unknown
		       ? snapshot_raw_name(model->all, id, buffer)
		       : frame_text(frame, model->names.addresses, buffer);
}

const char *view_frame_source(const struct ui_model *model, uint32_t frame)
{
	return model->names.sources ? snapshot_source(model->all, frame) : "";
}

/* --- drawing ---------------------------------------------------------------------------------- */

enum style style_of_percent(double percent)
{
	return percent >= 5 ? STYLE_HOT : percent >= 0.5 ? STYLE_WARM : STYLE_DIM;
}

const struct snapshot *view_open_baseline(const struct ui_model *model, struct snapshot *selected,
					  struct weights *wholep)
{
	struct xtop_error *error;

	*wholep = (struct weights){ 0 };
	if (!model->baseline)
		return NULL;
	error = selection_apply(model->selection, model->baseline, selected);
	if (error) {
		error_destroy(error);
		return NULL;
	}
	*wholep = model_whole(model, selected, model->baseline);
	return selected;
}

const struct snapshot *view_open_folded_baseline(const struct ui_model *model,
						 struct snapshot *selected, struct weights *wholep)
{
	const struct snapshot *whole = view_open_baseline(model, selected, wholep);
	struct snapshot folded;
	struct xtop_error *error;

	if (!whole || !model->n_folded)
		return whole;
	error = pass_through_fold_same(model->snapshot, model->folded, whole, &folded);
	view_close_baseline(model, selected);
	if (error) {
		error_destroy(error);
		return NULL;
	}
	*selected = folded;
	return selected;
}

void view_close_baseline(const struct ui_model *model, struct snapshot *selected)
{
	selection_deinit(selected, model->baseline);
}

enum style style_of_change(double points)
{
	return points >= 0.5 ? STYLE_HOT : points <= -0.5 ? STYLE_WARM : STYLE_DIM;
}

void view_put_changed(struct canvas *canvas, int row, int column, double percent, double points)
{
	char text[32];

	snprintf(text, sizeof(text), "%7.2f", percent);
	canvas_put(canvas, row, column, 7, style_of_change(points), text);
}

void view_put_share(struct canvas *canvas, int row, int column, double percent)
{
	char text[32];

	snprintf(text, sizeof(text), "%7.2f", percent);
	canvas_put(canvas, row, column, 7, style_of_percent(percent), text);
}

void view_mark_row(struct canvas *canvas, int row, int column, int width)
{
	canvas_restyle(canvas, row, column, width, STYLE_SELECTED);
	canvas_put(canvas, row, column, 1, STYLE_SELECTED, "▌");
}

void view_mark_in_list(struct canvas *canvas, int row, int column, int width, bool active)
{
	if (active)
		view_mark_row(canvas, row, column, width);
	else
		canvas_restyle(canvas, row, column, width, STYLE_MARKED);
}

static const char *view_empty_reason(const struct ui_model *model)
{
	const struct snapshot *snapshot = model->snapshot;

	if (!snapshot)
		return "Waiting for the first picture ...";
	if (snapshot->nodes[0].children_total && model->selection->hide_kernel)
		return "All samples are kernel code, now hidden (K shows it).";
	if (snapshot->nodes[0].children_total && model->selection->hide_user)
		return "All samples are user code, now hidden (U shows it).";
	if (!selection_is_all(model->selection) && snapshot->resolver.samples)
		return model->selection->filter ? "No stack matches the filter (Esc clears it)."
						: "No stack is left (Esc shows all again).";
	if (snapshot->resolver.states[VCPU_BLOCKED])
		return "No samples: the guest is idle (W shows where its tasks wait).";
	return "No samples yet.";
}

void view_draw_empty(const struct ui_model *model, struct canvas *canvas, struct area area)
{
	canvas_put(canvas, area.row + area.rows / 3, 2, area.columns - 2, STYLE_NORMAL,
		   view_empty_reason(model));
}

void view_draw_sums_only(const struct ui_model *model, struct canvas *canvas, struct area area)
{
	(void)model;
	canvas_put(canvas, area.row + area.rows / 3, 2, area.columns - 2, STYLE_NORMAL,
		   "A profile has sums only: this needs raw samples.");
	canvas_put(canvas, area.row + area.rows / 3 + 1, 2, area.columns - 2, STYLE_DIM,
		   "xtop -d DOMAIN -w FILE records them, xtop -r FILE shows them.");
}
