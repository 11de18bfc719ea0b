/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The core of the screen; see core.h: for each guest a stack of views over one picture, one bottom
 * line. Knows no key and no terminal; what is asked for is done in requests.c.
 */
#include "config.h"

#include "ui/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S      1000000000ULL
#define THRESHOLD     0.5 /* percent; as perf's --percent-limit is used */
#define HINT_MIN_ROWS 16

/* --- life ------------------------------------------------------------------------------------- */

static void ui_init_model(struct ui *ui, const struct ui_settings *settings)
{
	ui->selection.process = FRAME_NONE;
	ui->model = (struct ui_model){
		.selection = &ui->selection,
		.sort = settings->sort ? settings->sort : &columns[COLUMN_CHILDREN],
		.rc = &ui->rc,
		.totals = settings->half_life_s <= 0,
		.addresses = settings->addresses,
		.threshold = THRESHOLD,
		.budget = settings->budget,
		.domain = "",
	};
}

static struct xtop_error *ui_open_guests(struct ui *ui)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < ui->source->n_pipelines && !error; i++)
		error = ui_add_guest(ui, ui->source->pipelines[i], false);
	if (!error)
		ui_enter_guest(ui, ui->n_guests ? ui->guests[0] : NULL);
	if (!error && ui->picking && !ui->picker)
		error = error_create("out of memory");
	return error;
}

struct xtop_error *ui_create(const struct ui_settings *settings, const struct ui_source *source,
			     struct ui **uip)
{
	struct ui *ui = calloc(1, sizeof(*ui));
	struct xtop_error *error = NULL;

	if (!ui)
		return error_create("out of memory");
	ui->source = source;
	ui->settings = *settings;
	ui->rc = settings->rc;
	ui_init_model(ui, settings);
	if (settings->filter && settings->filter[0])
		error = filter_create(settings->filter, &ui->filter);
	ui->selection.filter = ui->filter;
	if (!error)
		error = ui_open_guests(ui);
	if (settings->notice)
		ui_message(ui, STYLE_ALERT, "%s", settings->notice);
	if (error) {
		ui_destroy(ui);
		return error;
	}
	*uip = ui;
	return NULL;
}

bool ui_uncover_picker(struct ui *ui)
{
	if (!ui->over_picker)
		return false;
	ui->over_picker->ops->destroy(ui->over_picker);
	ui->over_picker = NULL;
	return true;
}

void ui_destroy(struct ui *ui)
{
	if (!ui)
		return;
	ui->guest = NULL; /* none is entered any more */
	while (ui->n_guests)
		ui_remove_guest(ui, ui->guests[ui->n_guests - 1]);
	ui_uncover_picker(ui);
	if (ui->picker)
		ui->picker->ops->destroy(ui->picker);
	filter_destroy(ui->filter);
	filter_destroy(ui->search);
	free(ui);
}

/* --- messages and views ----------------------------------------------------------------------- */

void ui_message(struct ui *ui, enum style style, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ui->message, sizeof(ui->message), format, arguments);
	va_end(arguments);
	ui->message_style = style;
}

void ui_error(struct ui *ui, struct xtop_error *error)
{
	if (error)
		ui_message(ui, STYLE_ALERT, "%s", error_message(error));
	error_destroy(error);
}

struct view *ui_view(struct ui *ui)
{
	if (ui->picking)
		return ui->over_picker ? ui->over_picker : ui->picker;
	return ui->guest->views[ui->guest->n_views - 1];
}

void ui_update(struct ui *ui)
{
	struct view *view = ui_view(ui);

	if (ui->picking || ui->model.snapshot)
		ui_error(ui, view->ops->update(view, &ui->model));
}

/* What the present guest, and of it the present picture, gives the views to look at. */
static void ui_set_model(struct ui *ui)
{
	struct guest_view *guest = ui->guest;
	struct ui_model *model = &ui->model;

	ui->snapshot = guest ? guest_view_shown(guest) : NULL;
	ui->selection.filter = ui->filter;
	ui->selection.process = guest ? guest->process : FRAME_NONE;
	ui->selection.module = guest ? guest->module : NULL;
	model->all = ui->snapshot;
	model->snapshot = NULL;
	model->of_filtered = ui->of_filtered;
	model->baseline = guest ? guest->baseline : NULL;
	model->history = guest ? guest->history : NULL;
	model->header = !guest ? NULL : guest->still ? &guest->still_header : &guest->header;
	model->domain = guest ? guest->name : "";
}

void ui_reselect(struct ui *ui)
{
	struct guest_view *guest = ui->guest;
	struct xtop_error *error;

	if (ui->picking && !ui->picker)
		ui->picker = view_domains_create(ui);
	if (ui->picking && !ui->picker)
		ui->quitting = true; /* out of memory, and nothing to show */
	ui_set_model(ui);
	if (ui->snapshot) {
		if (guest->has_selected)
			selection_release(&guest->selected, ui->snapshot);
		error = selection_apply(&ui->selection, ui->snapshot, &guest->selected);
		guest->has_selected = !error;
		if (guest->has_selected) {
			ui->model.snapshot = &guest->selected;
			ui->model.whole = weights_of(ui->of_filtered ? &guest->selected.nodes[0]
								     : &ui->snapshot->nodes[0]);
		}
		ui_error(ui, error);
	}
	if (!ui->quitting)
		ui_update(ui);
}

void ui_push(struct ui *ui, struct view *view)
{
	struct guest_view *guest = ui->guest;

	if (!view) {
		ui_message(ui, STYLE_ALERT, "out of memory");
		return;
	}
	if (ui->picking && !ui->over_picker) {
		ui->over_picker = view;
		return;
	}
	if (ui->picking || guest->n_views == UI_MAX_VIEWS) {
		view->ops->destroy(view);
		return;
	}
	guest->views[guest->n_views++] = view;
	ui_update(ui);
}

void ui_drop_views(struct ui *ui, size_t n)
{
	struct guest_view *guest = ui->guest;

	while (guest->n_views > n) {
		struct view *view = guest->views[--guest->n_views];

		view->ops->destroy(view);
	}
}

bool ui_pop(struct ui *ui)
{
	if (ui->guest->n_views == 1)
		return false;
	ui_drop_views(ui, ui->guest->n_views - 1);
	ui_update(ui);
	return true;
}

void ui_go(struct ui *ui, unsigned mask, struct view *view)
{
	if (ui->guest->n_views > 1 && ui->guest->views[1]->ops->mask == mask) {
		if (view)
			view->ops->destroy(view);
		ui_drop_views(ui, 2);
		ui_update(ui);
		return;
	}
	ui_drop_views(ui, 1);
	ui_push(ui, view);
}

void ui_set_sort(struct ui *ui, const struct column *column)
{
	ui->model.sort = column;
	ui_update(ui);
}

void ui_restrict(struct ui *ui, uint32_t process, const char *module)
{
	ui->guest->process = process;
	ui->guest->module = module;
	ui_drop_views(ui, 1);
	ui_reselect(ui);
}

bool ui_search(struct ui *ui, enum request request)
{
	struct view *view = ui_view(ui);

	return view->ops->request(view, ui, request);
}

/* --- time ------------------------------------------------------------------------------------- */

/* At most a second, and not beyond the time limit. */
static uint64_t ui_time_left(struct ui *ui)
{
	double left_ns;

	if (!(ui->settings.time_s > 0))
		return NS_PER_S;
	left_ns = ui->settings.time_s * 1e9 - (double)(ui->now_ns - ui->started_ns);
	ui->quitting |= left_ns <= 0;
	return left_ns > (double)NS_PER_S ? NS_PER_S : left_ns > 0 ? (uint64_t)left_ns + 1 : 0;
}

uint64_t ui_tick(struct ui *ui, uint64_t now_ns, time_t wall_s, bool *changedp)
{
	uint64_t wait_ns;

	ui->now_ns = now_ns;
	ui->wall_s = wall_s;
	if (!ui->started_ns)
		ui->started_ns = now_ns;
	wait_ns = ui_time_left(ui);
	*changedp = ui_tick_guests(ui, &wait_ns);
	if (!ui->picking)
		return wait_ns;
	if (now_ns >= ui->picker_due_ns) {
		ui->picker_due_ns = now_ns + (uint64_t)(ui->settings.interval_s * 1e9);
		ui_update(ui);
		*changedp = true;
	}
	return ui->picker_due_ns - now_ns < wait_ns ? ui->picker_due_ns - now_ns : wait_ns;
}

/* --- input ------------------------------------------------------------------------------------ */

static void ui_dispatch(struct ui *ui, uint32_t code)
{
	enum request request = keys_lookup(code, ui_view(ui)->ops->mask);

	if (request != REQUEST_NONE)
		ui_dispatch_request(ui, request);
}

/* On the bottom line a click presses the key that is named there. */
static void ui_click(struct ui *ui, int row, int column)
{
	struct view *view = ui_view(ui);
	struct key_place place;

	if (row != ui->rows - 1) {
		if (view->ops->click)
			view->ops->click(view, ui, row, column);
		return;
	}
	for (size_t i = 0; keys_bottom(view->ops->mask, ui->columns, i, &place); i++) {
		if (column >= place.column && column < place.column + place.width) {
			ui_dispatch(ui, place.key->codes[0]);
			return;
		}
	}
}

void ui_handle(struct ui *ui, const struct input *input)
{
	if (input->code == INPUT_CTRL_C) {
		ui->quitting = true;
		return;
	}
	if (input->code == INPUT_NONE || input->code == INPUT_RESIZE)
		return;
	if (ui->asking != UI_PROMPT_NONE) {
		ui_prompt_handle(ui, input->code);
		return;
	}
	ui->message[0] = '\0';
	if (input->code == INPUT_CLICK)
		ui_click(ui, input->row, input->column);
	else
		ui_dispatch(ui, input->code);
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void ui_draw_bottom(struct ui *ui, struct canvas *canvas)
{
	int row = canvas_rows(canvas) - 1, columns_ = canvas_columns(canvas);
	struct key_place place;

	if (ui->asking != UI_PROMPT_NONE) {
		prompt_draw(&ui->prompt, canvas, row);
		return;
	}
	if (ui->message[0]) {
		canvas_fill(canvas, row, 0, columns_, ui->message_style);
		canvas_put_name(canvas, row, 1, columns_ - 2, ui->message_style, ui->message);
		return;
	}
	canvas_fill(canvas, row, 0, columns_, STYLE_LABEL);
	for (size_t i = 0; keys_bottom(ui_view(ui)->ops->mask, columns_, i, &place); i++) {
		canvas_put(canvas, row, place.column, place.name_width, STYLE_KEY,
			   place.key->names);
		canvas_put(canvas, row, place.column + place.name_width,
			   place.width - place.name_width, STYLE_LABEL, place.key->label);
	}
}

void ui_draw(struct ui *ui, struct canvas *canvas)
{
	struct view *view = ui_view(ui);
	struct area area = { .rows = canvas_rows(canvas), .columns = canvas_columns(canvas) };

	ui->rows = area.rows;
	ui->columns = area.columns;
	canvas_clear(canvas);
	if (area.rows < UI_MIN_ROWS || area.columns < UI_MIN_COLUMNS) {
		canvas_printf(canvas, area.rows / 2, 0, STYLE_ALERT, "too small (%dx%d)",
			      UI_MIN_COLUMNS, UI_MIN_ROWS);
		return;
	}
	if (!ui->picking && !ui->no_header)
		area.row = header_draw(ui, canvas);
	area.rows -= area.row + 1;
	if (!ui->picking && canvas_rows(canvas) >= HINT_MIN_ROWS && area.rows > 2)
		area.rows -= header_draw_hint(ui, canvas, canvas_rows(canvas) - 2);
	view->ops->draw(view, &ui->model, canvas, area);
	ui_draw_bottom(ui, canvas);
}
