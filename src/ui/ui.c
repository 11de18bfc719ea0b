/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The UI without a terminal: life, time, input and drawing. */
#include "config.h"

#include "ui/ui.h"

#include <stdlib.h>
#include <string.h>

#include "ui/header/header.h"
#include "ui/header/minutes.h"
#include "ui/keys.h"
#include "ui/questions.h"
#include "ui/request_display.h"
#include "ui/requests.h"
#include "xtop/base/text.h"

#define NS_PER_S      1000000000ULL
#define THRESHOLD     0.5 /* percent; the usual value of perf's --percent-limit */
#define HINT_MIN_ROWS 16

/* --- life ------------------------------------------------------------------------------------- */

/* Cleans the name, without folders. */
static void ui_set_baseline_name(struct ui *ui, const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;

	if (path)
		text_clean(ui->baseline, sizeof(ui->baseline), name ? name + 1 : path, 256);
}

static void ui_init_model(struct ui *ui, const struct ui_settings *settings)
{
	ui_set_baseline_name(ui, settings->baseline);
	ui->selection.process = FRAME_NONE;
	ui->model = (struct ui_model){
		.selection = &ui->selection,
		.sort = settings->sort ? settings->sort : &columns[COLUMN_CHILDREN],
		.rc = &ui->rc,
		.shares = { .totals = settings->half_life_s <= 0, .margins = settings->margins },
		.names = { .addresses = settings->addresses, .by_cgroup = settings->by_cgroup },
		.time = { settings->clock, settings->shows_time },
		.code.lines = settings->lines,
		.threshold = THRESHOLD,
		.budget = settings->budget,
		.half_life_s = settings->half_life_s,
		.baseline_name = ui->baseline,
		.domain = "",
		.host = settings->host,
		.domains = &ui->picker.list,
	};
}

static struct xtop_error *ui_open_guests(struct ui *ui)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < ui->source->n_pipelines && !error; i++)
		error = ui_add_guest(ui, ui->source->pipelines[i], false);
	if (error)
		return error;
	ui_enter_guest(ui, ui->n_guests ? ui->guests[0] : NULL);
	return ui->quitting ? error_create("out of memory") : NULL;
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
	if (!error)
		error = ui_open_guests(ui);
	if (settings->notice)
		ui_message(ui, STYLE_ALERT, "%s", settings->notice);
	else if (ui->picker.is_shown)
		ui_message(ui, STYLE_NOTICE,
			   "Enter shows what runs inside a guest · F1 all keys · q quits");
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
	pair_destroy(ui->pair);
	ui->pair = NULL;
	ui->guest = NULL; /* so that ui_remove_guest() does not show the list of domains */
	while (ui->n_guests)
		ui_remove_guest(ui, ui->guests[ui->n_guests - 1]);
	view_stack_truncate(&ui->picker.views, 0);
	domain_list_deinit(&ui->picker.list);
	filter_destroy(ui->filter);
	filter_destroy(ui->search);
	free(ui);
}

/* --- time ------------------------------------------------------------------------------------- */

/* The time until the limit, but at most a second, in ns. At the limit the UI quits. */
static uint64_t ui_time_left(struct ui *ui)
{
	double left_ns;

	if (!(ui->settings.time_s > 0))
		return NS_PER_S;
	left_ns = ui->settings.time_s * 1e9 - (double)(ui->now_ns - ui->started_ns);
	ui->quitting |= left_ns <= 0;
	return left_ns > (double)NS_PER_S ? NS_PER_S : left_ns > 0 ? (uint64_t)left_ns + 1 : 0;
}

static uint64_t ui_interval_ns(const struct ui *ui)
{
	return (uint64_t)(ui->settings.interval_s * 1e9);
}

/* Returns true if the screen changes. */
static bool ui_tick_pair(struct ui *ui)
{
	bool changed = false;

	if (ui->pair)
		ui_error(ui, pair_update(ui->pair, ui->now_ns, &changed));
	if (changed && !ui->pair->screen->frozen)
		ui_reselect(ui);
	return changed;
}

/* Xen traces while a view that shows it is open for the guest on the screen. */
static void ui_update_trace(struct ui *ui, struct guest_screen *guest)
{
	bool wanted = guest == ui->guest && view_stack_needs_trace(&guest->views);
	const struct ui_pipeline *pipeline = guest->pipeline;

	if (wanted == guest->traces || !pipeline->trace)
		return;
	guest->traces = wanted;
	ui_error(ui, pipeline->trace(pipeline->context, wanted));
}

/* Lowers *WAIT_NSP to the guest's time. Returns true if the screen changes. */
static bool ui_tick_guest(struct ui *ui, struct guest_screen *guest, uint64_t *wait_nsp)
{
	bool changed = guest_screen_tick(guest, ui->now_ns, ui_interval_ns(ui)) &&
		       guest == ui->guest;
	const struct instruction_lines *lines = ui->model.code.lines;
	uint64_t wait_ns;

	ui_update_trace(ui, guest);
	if (changed && !guest->frozen)
		ui_reselect(ui);
	if (guest == ui->guest && lines && lines->poll)
		changed |= lines->poll(lines->context);
	wait_ns = guest_screen_wait_ns(guest, ui->now_ns);
	*wait_nsp = wait_ns < *wait_nsp ? wait_ns : *wait_nsp;
	return changed;
}

static bool ui_tick_guests(struct ui *ui, uint64_t *wait_nsp)
{
	bool changed = false;

	for (size_t i = 0; i < ui->n_guests; i++) {
		changed |= ui_tick_guest(ui, ui->guests[i], wait_nsp);
		if (ui->guests[i]->waits)
			changed |= ui_tick_guest(ui, ui->guests[i]->waits, wait_nsp);
	}
	return changed;
}

/* Removes one guest that has ended. The guest shown stays: the user is reading its profile. */
static bool ui_remove_ended(struct ui *ui)
{
	const struct ui_source *source = ui->source;

	for (size_t i = ui->n_guests; i-- > 0;) {
		struct guest_screen *guest = ui->guests[i];
		const struct ui_pipeline *pipeline = guest->pipeline;
		bool picked = guest->picked; /* ui_remove_guest() closes it */

		if (guest == ui->guest || ui->pair || (guest->waits && guest->waits == ui->guest) ||
		    !source->is_over(source->context, pipeline))
			continue;
		ui_remove_guest(ui, guest);
		if (!picked)
			source->close(source->context, pipeline);
		return true;
	}
	return false;
}

/* If all guests are profiled: adds and removes guests that have come and gone. */
static void ui_tick_all(struct ui *ui)
{
	const struct ui_source *source = ui->source;
	const struct ui_pipeline *pipeline;

	if (!source->next)
		return;
	while (ui_remove_ended(ui))
		;
	while ((pipeline = source->next(source->context)))
		ui_error(ui, ui_add_guest(ui, pipeline, false));
}

uint64_t ui_tick(struct ui *ui, uint64_t now_ns, time_t wall_s, bool *changedp)
{
	uint64_t wait_ns;

	ui->now_ns = now_ns;
	ui->wall_s = wall_s;
	if (!ui->started_ns)
		ui->started_ns = now_ns;
	wait_ns = ui_time_left(ui);
	ui_tick_all(ui);
	*changedp = ui_tick_guests(ui, &wait_ns);
	*changedp |= ui_tick_pair(ui);
	if (!ui->picker.is_shown)
		return wait_ns;
	if (now_ns >= ui->picker.due_ns) {
		ui->picker.due_ns = now_ns + ui_interval_ns(ui);
		ui_read_domains(ui);
		ui_update(ui);
		*changedp = true;
	}
	return ui->picker.due_ns - now_ns < wait_ns ? ui->picker.due_ns - now_ns : wait_ns;
}

void ui_show(struct ui *ui, struct snapshot *snapshot)
{
	if (guest_screen_set_live(ui->guest, snapshot, ui->now_ns))
		ui_reselect(ui);
}

/* --- input ------------------------------------------------------------------------------------ */

static void ui_press(struct ui *ui, uint32_t code)
{
	struct request request = keys_find(code, ui_view(ui));

	if (request.code != REQUEST_NONE)
		ui_request(ui, request);
}

/* A click on a key's name on the bottom line presses the key. */
static void ui_click(struct ui *ui, int row, int column)
{
	struct key_place place;

	if (row == ui->model.screen.history_row && !ui->picker.is_shown && !ui->no_header) {
		size_t moment = minutes_moment_at(&ui->model, column);

		if (moment < history_count(ui->guest->history))
			request_click_history(ui, moment);
		return;
	}
	if (row != ui->rows - 1) {
		ui_carry_out(ui, view_stack_click(ui_views(ui), &ui->model, row, column));
		return;
	}
	for (size_t i = 0; keys_bottom(ui_view(ui), ui->model.screen.columns, i, &place); i++) {
		if (column >= place.column && column < place.column + place.width) {
			ui_press(ui, place.key->codes[0]);
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
	if (ui->question != QUESTION_NONE) {
		question_handle(ui, input->code);
		return;
	}
	ui->message.text[0] = '\0';
	if (input->code == INPUT_CLICK)
		ui_click(ui, input->row, input->column);
	else
		ui_press(ui, input->code);
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void ui_draw_bottom(struct ui *ui, struct canvas *canvas)
{
	int row = canvas_rows(canvas) - 1, columns_ = canvas_columns(canvas);
	struct key_place place;

	if (ui->question != QUESTION_NONE) {
		prompt_draw(&ui->prompt, canvas, row);
		return;
	}
	if (ui->message.text[0]) {
		canvas_fill(canvas, row, 0, columns_, ui->message.style);
		canvas_put_name(canvas, row, 1, columns_ - 2, ui->message.style, ui->message.text);
		return;
	}
	canvas_fill(canvas, row, 0, columns_, STYLE_LABEL);
	for (size_t i = 0; keys_bottom(ui_view(ui), columns_, i, &place); i++) {
		canvas_put(canvas, row, place.column, place.name_width, STYLE_KEY,
			   place.key->names);
		canvas_put(canvas, row, place.column + place.name_width,
			   place.width - place.name_width, STYLE_LABEL, place.key->label);
	}
}

void ui_draw(struct ui *ui, struct canvas *canvas)
{
	struct area area = { .rows = canvas_rows(canvas), .columns = canvas_columns(canvas) };
	struct ui_model *model = &ui->model;

	ui->rows = area.rows;
	model->screen.columns = area.columns;
	model->screen.now_ns = ui->now_ns;
	model->screen.typing_search = ui->question == QUESTION_SEARCH;
	canvas_clear(canvas);
	if (area.rows < UI_MIN_ROWS || area.columns < UI_MIN_COLUMNS) {
		canvas_printf(canvas, area.rows / 2, 0, STYLE_ALERT, "too small (< %dx%d)",
			      UI_MIN_COLUMNS, UI_MIN_ROWS);
		return;
	}
	model->screen.history_row = -1;
	if (!ui->picker.is_shown && !ui->no_header)
		area.row = header_draw(model, canvas);
	area.rows -= area.row + 1;
	if (!ui->picker.is_shown && canvas_rows(canvas) >= HINT_MIN_ROWS && area.rows > 2)
		area.rows -= hint_draw(&ui->hint, model, canvas, canvas_rows(canvas) - 2);
	view_stack_draw(ui_views(ui), model, canvas, area);
	ui_draw_bottom(ui, canvas);
}
