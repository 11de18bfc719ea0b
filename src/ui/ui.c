/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The core of the screen; see core.h: a stack of views over one snapshot, one bottom line. Knows
 * requests, no keys; draws on a canvas, knows no terminal.
 */
#include "config.h"

#include "ui/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S         1000000000ULL
#define FIRST_SAMPLES_NS (20 * 1000000ULL) /* until something is on the screen, look this often */
#define ANSWER_NS        (10 * 1000000ULL) /* how often to look whether the resolver has answered */

/* --- life ------------------------------------------------------------------------------------- */

/* Header strings may be what the guest's owner called it: cleaned like every name. */
static void ui_set_guest(struct ui *ui, const struct ui_guest *guest)
{
	text_clean(ui->name, sizeof(ui->name), guest->name, strlen(guest->name));
	text_clean(ui->kind, sizeof(ui->kind), guest->kind, strlen(guest->kind));
	text_clean(ui->system, sizeof(ui->system), guest->system, strlen(guest->system));
	ui->settings.guest.name = ui->name;
	ui->settings.guest.kind = ui->kind;
	ui->settings.guest.system = ui->system;
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
	ui_set_guest(ui, &settings->guest);
	ui->model.sort = settings->sort ? settings->sort : &columns[COLUMN_CHILDREN];
	ui->model.addresses = settings->addresses;
	ui->model.domain = ui->name;
	ui->model.totals = settings->half_life_s <= 0;
	if (settings->filter && settings->filter[0])
		error = filter_create(settings->filter, &ui->filter);
	ui->model.filter = ui->filter;
	if (!error) {
		ui_push(ui, view_top_create());
		if (!ui->n_views)
			error = error_create("out of memory");
	}
	if (error) {
		ui_destroy(ui);
		return error;
	}
	*uip = ui;
	return NULL;
}

void ui_destroy(struct ui *ui)
{
	if (!ui)
		return;
	while (ui->n_views) {
		struct view *view = ui->views[--ui->n_views];

		view->ops->destroy(view);
	}
	filter_destroy(ui->filter);
	snapshot_destroy(ui->snapshot);
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
	return ui->views[ui->n_views - 1];
}

void ui_update(struct ui *ui)
{
	struct view *view = ui_view(ui);

	if (ui->model.snapshot)
		ui_error(ui, view->ops->update(view, &ui->model));
}

void ui_push(struct ui *ui, struct view *view)
{
	if (!view) {
		ui_message(ui, STYLE_ALERT, "out of memory");
		return;
	}
	if (ui->n_views == UI_MAX_VIEWS) {
		view->ops->destroy(view);
		return;
	}
	ui->views[ui->n_views++] = view;
	ui_update(ui);
}

/* Closes the view on top; the one at the bottom stays. */
static bool ui_pop(struct ui *ui)
{
	struct view *view = ui_view(ui);

	if (ui->n_views == 1)
		return false;
	ui->n_views--;
	view->ops->destroy(view);
	ui_update(ui);
	return true;
}

void ui_set_sort(struct ui *ui, const struct column *column)
{
	ui->model.sort = column;
	ui_update(ui);
}

/* --- time and snapshots ----------------------------------------------------------------------- */

void ui_show(struct ui *ui, struct snapshot *snapshot)
{
	header_note(&ui->header, snapshot);
	snapshot_destroy(ui->snapshot);
	ui->model.snapshot = ui->snapshot = snapshot;
	ui->taken_ns = ui->now_ns;
	ui_update(ui);
}

/* Nothing more will come: the last picture stays. */
static bool ui_at_end(const struct ui *ui)
{
	return ui->snapshot && ui->snapshot->at_end;
}

static void ui_ask(struct ui *ui)
{
	bool empty = !ui->snapshot || !ui->snapshot->resolver.samples;
	uint64_t interval_ns = (uint64_t)(ui->settings.interval_s * 1e9);

	snapshot_request(ui->source->slot);
	ui->waiting = true;
	ui->due_ns = ui->now_ns +
		     (empty && interval_ns > FIRST_SAMPLES_NS ? FIRST_SAMPLES_NS : interval_ns);
}

/* A snapshot asked for before the freeze is not shown any more: what is on the screen stays. */
static bool ui_take(struct ui *ui)
{
	struct snapshot *snapshot = snapshot_take(ui->source->slot);

	if (!snapshot)
		return false;
	ui->waiting = false;
	if (ui->frozen) {
		snapshot_destroy(snapshot);
		return false;
	}
	ui_show(ui, snapshot);
	return true;
}

uint64_t ui_tick(struct ui *ui, uint64_t now_ns, time_t wall_s, bool *changedp)
{
	uint64_t wait_ns;

	ui->now_ns = now_ns;
	ui->wall_s = wall_s;
	if (!ui->started_ns)
		ui->started_ns = now_ns;
	if (ui->settings.time_s > 0 &&
	    (double)(now_ns - ui->started_ns) >= ui->settings.time_s * 1e9)
		ui->quitting = true;
	*changedp = ui_take(ui);
	if (now_ns >= ui->due_ns) {
		if (ui->frozen || ui_at_end(ui)) {
			ui->due_ns = now_ns + NS_PER_S; /* no new picture, but its age changes */
			*changedp |= ui->frozen;
		} else {
			ui_ask(ui);
		}
	}
	wait_ns = ui->due_ns - now_ns;
	return ui->waiting && !ui->frozen && wait_ns > ANSWER_NS ? ANSWER_NS : wait_ns;
}

static void ui_freeze(struct ui *ui)
{
	if (!ui->snapshot) {
		ui_message(ui, STYLE_NOTICE, "nothing to freeze yet");
		return;
	}
	ui->frozen = !ui->frozen;
	ui->due_ns = ui->now_ns;
}

static void ui_reset(struct ui *ui)
{
	if (ui_at_end(ui)) {
		ui_message(ui, STYLE_NOTICE, "nothing more will come: the last view stays");
		return;
	}
	ui->source->reset(ui->source->context);
	ui->due_ns = ui->now_ns;
	ui_message(ui, STYLE_NOTICE,
		   ui->frozen ? "profile reset; the frozen picture stays" : "profile reset");
}

/* --- requests --------------------------------------------------------------------------------- */

static void ui_sort_by(struct ui *ui, enum column_id id)
{
	ui_set_sort(ui, &columns[id]);
}

static void ui_back(struct ui *ui)
{
	if (!ui_pop(ui) && ui->filter)
		ui_clear_filter(ui);
}

static void ui_toggle_totals(struct ui *ui)
{
	if (ui->settings.half_life_s <= 0) {
		ui_message(ui, STYLE_NOTICE,
			   "without a half-life there are only shares since start");
		return;
	}
	ui->model.totals = !ui->model.totals;
	ui_update(ui);
}

/* What is the same in every view. */
static void ui_request(struct ui *ui, enum request request)
{
	switch ((int)request) {
	case REQUEST_BACK:
		ui_back(ui);
		break;
	case REQUEST_BACK_OR_QUIT:
		ui->quitting = !ui_pop(ui);
		break;
	case REQUEST_QUIT:
		ui->quitting = true;
		break;
	case REQUEST_HELP:
		ui_push(ui, view_help_create(ui_view(ui)->ops->mask));
		break;
	case REQUEST_SORT_SELF:
		ui_sort_by(ui, COLUMN_SELF);
		break;
	case REQUEST_SORT_CHILDREN:
		ui_sort_by(ui, COLUMN_CHILDREN);
		break;
	case REQUEST_SORT_SAMPLES:
		ui_sort_by(ui, COLUMN_SAMPLES);
		break;
	case REQUEST_SORT_SYMBOL:
		ui_sort_by(ui, COLUMN_SYMBOL);
		break;
	case REQUEST_TOTALS:
		ui_toggle_totals(ui);
		break;
	case REQUEST_FILTER:
		ui_ask_filter(ui);
		break;
	case REQUEST_FREEZE:
		ui_freeze(ui);
		break;
	case REQUEST_RESET:
		ui_reset(ui);
		break;
	case REQUEST_WRITE:
		ui_ask_write(ui);
		break;
	case REQUEST_INTERVAL:
		ui_ask_interval(ui);
		break;
	case REQUEST_REDRAW:
		ui->redraw = true;
		break;
	default:
		break;
	}
}

/* --- input ------------------------------------------------------------------------------------ */

static void ui_dispatch(struct ui *ui, uint32_t code)
{
	struct view *view = ui_view(ui);
	enum request request = keys_lookup(code, view->ops->mask);

	if (request != REQUEST_NONE && !view->ops->request(view, ui, request))
		ui_request(ui, request);
}

/* On the bottom line a click presses the key that is named there. */
static void ui_click(struct ui *ui, int row, int column)
{
	struct view *view = ui_view(ui);
	struct key_place place;

	if (row != ui->rows - 1) {
		view->ops->click(view, ui, row, column);
		return;
	}
	for (size_t i = 0; keys_bottom(view->ops->mask, ui->columns, i, &place); i++)
		if (column >= place.column && column < place.column + place.width)
			ui_dispatch(ui, place.key->codes[0]);
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
	area.row = header_draw(ui, canvas);
	area.rows -= area.row + 1;
	view->ops->draw(view, &ui->model, canvas, area);
	ui_draw_bottom(ui, canvas);
}
