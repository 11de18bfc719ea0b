/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The core of the screen; see core.h: for each guest a stack of views over one picture, one bottom
 * line. Knows requests, no keys; draws on a canvas, knows no terminal.
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
	if (error) {
		ui_destroy(ui);
		return error;
	}
	*uip = ui;
	return NULL;
}

/* False: nothing lies upon the list of domains. */
static bool ui_uncover_picker(struct ui *ui)
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

static void ui_drop_views(struct ui *ui, size_t n)
{
	struct guest_view *guest = ui->guest;

	while (guest->n_views > n) {
		struct view *view = guest->views[--guest->n_views];

		view->ops->destroy(view);
	}
}

/* Closes the view on top; the one at the bottom stays. */
static bool ui_pop(struct ui *ui)
{
	if (ui->guest->n_views == 1)
		return false;
	ui_drop_views(ui, ui->guest->n_views - 1);
	ui_update(ui);
	return true;
}

/* The function table is the first view; of the others one lies upon it at a time. */
static void ui_go(struct ui *ui, unsigned mask, struct view *view)
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

uint64_t ui_tick(struct ui *ui, uint64_t now_ns, time_t wall_s, bool *changedp)
{
	uint64_t wait_ns = NS_PER_S;

	ui->now_ns = now_ns;
	ui->wall_s = wall_s;
	if (!ui->started_ns)
		ui->started_ns = now_ns;
	if (ui->settings.time_s > 0 &&
	    (double)(now_ns - ui->started_ns) >= ui->settings.time_s * 1e9)
		ui->quitting = true;
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

static void ui_reset(struct ui *ui)
{
	struct guest_view *guest = ui->guest;

	if (guest->live && guest->live->at_end) {
		ui_message(ui, STYLE_NOTICE, "nothing more will come: the last view stays");
		return;
	}
	guest->pipeline->reset(guest->pipeline->context);
	guest->due_ns = ui->now_ns;
	ui_message(ui, STYLE_NOTICE,
		   guest->still ? "profile reset; the frozen picture stays" : "profile reset");
}

/* --- requests --------------------------------------------------------------------------------- */

/* What is active goes first, the latest first: search, restriction, filter. */
static bool ui_clear_one(struct ui *ui)
{
	if (ui->search) {
		ui_set_search(ui, NULL);
		return true;
	}
	if (ui->guest->process != FRAME_NONE || ui->guest->module) {
		ui_restrict(ui, FRAME_NONE, NULL);
		return true;
	}
	if (!ui->filter)
		return false;
	ui_clear_filter(ui);
	return true;
}

/* From the first view there is a way back only for who came from the list of domains. */
static bool ui_leave_guest(struct ui *ui)
{
	if (!ui->guest->picked)
		return false;
	ui_remove_guest(ui, ui->guest);
	return true;
}

static bool ui_leave_picker(struct ui *ui)
{
	if (ui_uncover_picker(ui))
		return true;
	if (!ui->n_guests)
		return false;
	ui_enter_guest(ui, ui->guest ? ui->guest : ui->guests[0]);
	return true;
}

static void ui_back(struct ui *ui)
{
	unsigned mask = ui_view(ui)->ops->mask;

	if (ui->picking) {
		ui_leave_picker(ui);
		return;
	}
	if ((mask & (VIEW_TOP | VIEW_TREES)) && ui->search) {
		ui_set_search(ui, NULL);
		return;
	}
	if (!ui_pop(ui) && !ui_clear_one(ui))
		ui_leave_guest(ui);
}

static void ui_back_or_quit(struct ui *ui)
{
	ui->quitting = ui->picking ? !ui_leave_picker(ui) : !ui_pop(ui) && !ui_leave_guest(ui);
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

/* Both hidden would leave nothing but the names of processes. */
static void ui_toggle_hidden(struct ui *ui, bool *which, bool *other)
{
	*which = !*which;
	*other = *other && !*which;
	ui_reselect(ui);
}

static void ui_baseline(struct ui *ui)
{
	if (ui->guest->baseline && ui_view(ui)->ops->mask != VIEW_BASELINE) {
		ui_go(ui, VIEW_BASELINE, view_baseline_create());
		return;
	}
	ui_set_baseline(ui);
	if (!ui->guest->baseline)
		return;
	ui_go(ui, VIEW_BASELINE, view_baseline_create());
}

static void ui_forget_baseline(struct ui *ui)
{
	if (!ui->guest->baseline) {
		ui_message(ui, STYLE_NOTICE, "there is no baseline: b keeps one");
		return;
	}
	ui_drop_baseline(ui);
	if (ui_view(ui)->ops->mask == VIEW_BASELINE)
		ui_pop(ui);
	ui_message(ui, STYLE_NOTICE, "baseline forgotten");
}

static void ui_pick(struct ui *ui)
{
	if (!ui->source->list) {
		ui_message(ui, STYLE_NOTICE, "there is no list of domains here");
		return;
	}
	ui->picking = true;
	ui->picker_due_ns = 0;
	ui_reselect(ui);
}

/* To another view, or to another guest. */
static bool ui_request_view(struct ui *ui, enum request request)
{
	switch ((int)request) {
	case REQUEST_HELP:
		ui_push(ui, view_help_create(ui_view(ui)->ops));
		return true;
	case REQUEST_CHOOSE:
		ui_push(ui, view_choose_create());
		return true;
	case REQUEST_VIEW_TOP:
		ui_drop_views(ui, 1);
		ui_update(ui);
		return true;
	case REQUEST_VIEW_TREE:
		ui_go(ui, VIEW_TREE, view_tree_create(false));
		return true;
	case REQUEST_VIEW_FLAME:
		ui_go(ui, VIEW_FLAME, view_flame_create(false));
		return true;
	case REQUEST_VIEW_VCPUS:
		ui_go(ui, VIEW_VCPUS, view_vcpus_create());
		return true;
	case REQUEST_VIEW_GROUPS:
		ui_go(ui, VIEW_GROUPS, view_groups_create());
		return true;
	case REQUEST_VIEW_OVERHEAD:
		ui_go(ui, VIEW_OVERHEAD, view_overhead_create());
		return true;
	case REQUEST_VIEW_DOMAINS:
		ui_pick(ui);
		return true;
	case REQUEST_BASELINE:
		ui_baseline(ui);
		return true;
	case REQUEST_BASELINE_DROP:
		ui_forget_baseline(ui);
		return true;
	case REQUEST_NEXT_GUEST:
		ui_next_guest(ui);
		return true;
	default:
		return false;
	}
}

/* What part is shown, and how. */
static bool ui_request_shown(struct ui *ui, enum request request)
{
	switch ((int)request) {
	case REQUEST_SORT_SELF:
		ui_set_sort(ui, &columns[COLUMN_SELF]);
		return true;
	case REQUEST_SORT_CHILDREN:
		ui_set_sort(ui, &columns[COLUMN_CHILDREN]);
		return true;
	case REQUEST_SORT_SAMPLES:
		ui_set_sort(ui, &columns[COLUMN_SAMPLES]);
		return true;
	case REQUEST_SORT_SYMBOL:
		ui_set_sort(ui, &columns[COLUMN_SYMBOL]);
		return true;
	case REQUEST_TOTALS:
		ui_toggle_totals(ui);
		return true;
	case REQUEST_PERCENTS:
		ui->of_filtered = !ui->of_filtered;
		ui_message(ui, STYLE_NOTICE, "percents are of %s",
			   ui->of_filtered ? "what the filter lets through" : "all");
		ui_reselect(ui);
		return true;
	case REQUEST_RAW_NAMES:
		ui->model.raw_names = !ui->model.raw_names;
		ui_update(ui);
		return true;
	case REQUEST_HIDE_KERNEL:
		ui_toggle_hidden(ui, &ui->selection.hide_kernel, &ui->selection.hide_user);
		return true;
	case REQUEST_HIDE_USER:
		ui_toggle_hidden(ui, &ui->selection.hide_user, &ui->selection.hide_kernel);
		return true;
	case REQUEST_HEADER:
		ui->no_header = !ui->no_header;
		return true;
	case REQUEST_FREEZE:
		ui_freeze(ui);
		return true;
	case REQUEST_EARLIER:
		ui_step_history(ui, -1);
		return true;
	case REQUEST_LATER:
		ui_step_history(ui, 1);
		return true;
	default:
		return false;
	}
}

/* What is the same in every view. */
static void ui_request(struct ui *ui, enum request request)
{
	switch ((int)request) {
	case REQUEST_BACK:
		ui_back(ui);
		break;
	case REQUEST_BACK_OR_QUIT:
		ui_back_or_quit(ui);
		break;
	case REQUEST_QUIT:
		ui->quitting = true;
		break;
	case REQUEST_SEARCH:
		ui_ask_search(ui);
		break;
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		ui_message(ui, STYLE_NOTICE,
			   ui->search ? "nothing here matches" : "nothing is searched for: / does");
		break;
	case REQUEST_FILTER:
		ui_ask_filter(ui);
		break;
	case REQUEST_THRESHOLD:
		ui_ask_threshold(ui);
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
	case REQUEST_SAVE:
		ui_save(ui);
		break;
	case REQUEST_REDRAW:
		ui->redraw = true;
		break;
	default:
		if (!ui_request_view(ui, request))
			ui_request_shown(ui, request);
		break;
	}
}

void ui_dispatch_request(struct ui *ui, enum request request)
{
	struct view *view = ui_view(ui);

	if (!view->ops->request(view, ui, request))
		ui_request(ui, request);
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
