/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that change which picture is shown, and how. */
#include "config.h"

#include "ui/request_display.h"

/* --- the picture, and its part ---------------------------------------------------------------- */

static void request_freeze(struct ui *ui)
{
	if (!ui->guest->live) {
		ui_message(ui, STYLE_NOTICE, "nothing to freeze yet");
		return;
	}
	ui_error(ui, guest_screen_freeze(ui->guest, ui->now_ns));
	ui_reselect(ui);
}

static void request_step_history(struct ui *ui, int step)
{
	const char *notice = NULL;

	if (ui->model.all && !ui->model.all->run) {
		ui_message(ui, STYLE_NOTICE,
			   "a profile has one picture: earlier ones need raw samples");
		return;
	}
	ui_error(ui, guest_screen_step(ui->guest, step, &notice));
	if (notice)
		ui_message(ui, STYLE_NOTICE, "%s", notice);
	else
		ui_reselect(ui);
}

static void request_mark(struct ui *ui, bool begin, size_t moment)
{
	const char *notice = NULL;

	if (moment >= history_count(ui->guest->history)) {
		ui_message(ui, STYLE_NOTICE, "there is no picture to mark yet");
		return;
	}
	ui_error(ui, guest_screen_mark(ui->guest, begin, moment, &notice));
	if (notice)
		ui_message(ui, STYLE_NOTICE, "%s", notice);
	else
		ui_reselect(ui);
}

void request_click_history(struct ui *ui, size_t moment)
{
	const struct guest_screen *guest = ui->guest;
	bool begin = !guest->range.begin || guest->range.end;

	if (!begin && history_head(guest->history, moment)->sequence <= guest->range.begin)
		begin = true;
	if (begin)
		guest_screen_drop_range(ui->guest);
	request_mark(ui, begin, moment);
	if (begin)
		ui_reselect(ui);
}

static void request_totals(struct ui *ui)
{
	if (ui->settings.half_life_s <= 0) {
		ui_message(ui, STYLE_NOTICE,
			   "without a half-life there are only shares since start");
		return;
	}
	ui->model.shares.totals = !ui->model.shares.totals;
	ui_update(ui);
}

static void request_percents(struct ui *ui)
{
	ui->model.shares.of_filtered = !ui->model.shares.of_filtered;
	ui_message(ui, STYLE_NOTICE, "percents are of %s",
		   ui->model.shares.of_filtered ? "what the filter lets through" : "all");
	ui_reselect(ui);
}

/* Hides or shows WHICH. If both were hidden only process names would be left: OTHER is shown. */
static void request_hide(struct ui *ui, bool *which, bool *other)
{
	*which = !*which;
	*other = *other && !*which;
	ui_reselect(ui);
}

static void request_sort(struct ui *ui, const struct column *column)
{
	ui->model.sort = column;
	ui_update(ui);
}

static void request_value(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;
	const struct ui_pipeline *pipeline = guest->pipeline;
	struct xtop_error *error;

	if (!pipeline->read_next_value || !guest->live) {
		ui_message(ui, STYLE_NOTICE, "only profile files have several values");
		return;
	}
	if (guest->frozen)
		error = error_create("the picture is frozen: Z shows the newest");
	else
		error = pipeline->read_next_value(pipeline->context);
	if (error) {
		ui_error(ui, error);
		return;
	}
	guest_screen_tick(guest, ui->now_ns, 0);
	ui_reselect(ui);
}

static void request_interpreters(struct ui *ui)
{
	const struct guest_screen *guest = ui->guest;
	const struct ui_pipeline *pipeline = guest->pipeline;

	if (!pipeline->toggle_interpreters)
		ui_message(ui, STYLE_NOTICE, "Y is for a guest or a recording that is being read");
	else if (guest->live && guest->live->at_end)
		ui_message(ui, STYLE_NOTICE,
			   "no more samples will come: --interpreters is for all");
	else
		ui_message(ui, STYLE_NOTICE, "from now on stacks have the functions of %s",
			   pipeline->toggle_interpreters(pipeline->context)
				   ? "interpreters"
				   : "interpreted programs");
}

/* --- source lines ----------------------------------------------------------------------------- */

/* Returns false without source lines, and tells the user how to get them. */
static bool request_needs_lines(struct ui *ui)
{
	if (ui->model.code.lines)
		return true;
	ui_message(ui, STYLE_NOTICE, "source lines are looked for with the option --lines");
	return false;
}

static void request_toggle_inlined(struct ui *ui)
{
	bool inlined;

	if (!ui->guest || !ui->guest->expander)
		return;
	inlined = !line_expander_has_inlined(ui->guest->expander);
	guest_screen_set_inlined(ui->guest, inlined, ui->now_ns);
	ui_message(ui, STYLE_NOTICE, "inlined functions are %s from the next picture on",
		   inlined ? "frames" : "no frames");
	ui_reselect(ui);
}

/* --- dispatch --------------------------------------------------------------------------------- */

static bool carry_out_sort(struct ui *ui, const struct request *request)
{
	switch ((int)request->code) {
	case REQUEST_SORT:
		request_sort(ui, request->column);
		return true;
	case REQUEST_SORT_SELF:
		request_sort(ui, &columns[COLUMN_SELF]);
		return true;
	case REQUEST_SORT_CHILDREN:
		request_sort(ui, &columns[COLUMN_CHILDREN]);
		return true;
	case REQUEST_SORT_SAMPLES:
		request_sort(ui, &columns[COLUMN_SAMPLES]);
		return true;
	case REQUEST_SORT_SYMBOL:
		request_sort(ui, &columns[COLUMN_SYMBOL]);
		return true;
	default:
		return false;
	}
}

/* Chooses the picture, or a range of time. */
static bool carry_out_picture(struct ui *ui, enum request_code code)
{
	switch ((int)code) {
	case REQUEST_FREEZE:
		request_freeze(ui);
		return true;
	case REQUEST_EARLIER:
		request_step_history(ui, -1);
		return true;
	case REQUEST_LATER:
		request_step_history(ui, 1);
		return true;
	case REQUEST_VALUE:
		request_value(ui);
		return true;
	case REQUEST_RANGE_BEGIN:
	case REQUEST_RANGE_END:
		request_mark(ui, code == REQUEST_RANGE_BEGIN, guest_screen_moment(ui->guest));
		return true;
	default:
		return false;
	}
}

/* Changes how code is shown: instructions, source lines, inlined functions. */
static bool carry_out_code(struct ui *ui, enum request_code code)
{
	switch ((int)code) {
	case REQUEST_SOURCES:
		if (request_needs_lines(ui))
			ui->model.names.sources = !ui->model.names.sources;
		return true;
	case REQUEST_INLINED:
		if (request_needs_lines(ui))
			request_toggle_inlined(ui);
		return true;
	case REQUEST_INTERPRETERS:
		request_interpreters(ui);
		return true;
	case REQUEST_SYNTAX:
		ui->rc.syntax = ui->rc.syntax == SYNTAX_ATT ? SYNTAX_INTEL : SYNTAX_ATT;
		return true;
	case REQUEST_CODE_ADDRESSES:
		ui->rc.addresses = ui->rc.addresses == ADDRESSES_RELATIVE ? ADDRESSES_ABSOLUTE
									  : ADDRESSES_RELATIVE;
		return true;
	case REQUEST_JUMPS:
		ui->rc.jumps = !ui->rc.jumps;
		return true;
	case REQUEST_SOURCE_LINES:
		if (request_needs_lines(ui))
			ui->rc.no_source = !ui->rc.no_source;
		return true;
	default:
		return false;
	}
}

/* Changes what part of the profile is shown, and how. */
static bool carry_out_part(struct ui *ui, enum request_code code)
{
	switch ((int)code) {
	case REQUEST_TOTALS:
		request_totals(ui);
		return true;
	case REQUEST_MARGINS:
		ui->model.shares.margins = !ui->model.shares.margins;
		return true;
	case REQUEST_PERCENTS:
		request_percents(ui);
		return true;
	case REQUEST_RAW_NAMES:
		ui->model.names.raw = !ui->model.names.raw;
		ui_update(ui);
		return true;
	case REQUEST_CGROUPS:
		ui->model.names.by_cgroup = !ui->model.names.by_cgroup;
		ui_update(ui);
		return true;
	case REQUEST_HIDE_KERNEL:
		request_hide(ui, &ui->selection.hide_kernel, &ui->selection.hide_user);
		return true;
	case REQUEST_HIDE_USER:
		request_hide(ui, &ui->selection.hide_user, &ui->selection.hide_kernel);
		return true;
	case REQUEST_HIDE_IDLE:
		ui->show_idle = !ui->show_idle;
		ui_reselect(ui);
		return true;
	case REQUEST_PASS_THROUGH:
		ui->rc.fold = !ui->rc.fold;
		ui_reselect(ui);
		return true;
	case REQUEST_HEADER:
		ui->no_header = !ui->no_header;
		return true;
	default:
		return false;
	}
}

bool request_change_display(struct ui *ui, const struct request *request)
{
	return carry_out_sort(ui, request) || carry_out_picture(ui, request->code) ||
	       carry_out_code(ui, request->code) || carry_out_part(ui, request->code);
}
