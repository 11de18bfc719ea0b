/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carrying out requests that are the same in all views, and requests of views; see requests.h. */
#include "config.h"

#include "ui/requests.h"

#include "ui/questions.h"

/* Restricts all views. Closes all but the first. */
static void request_restrict(struct ui *ui, uint32_t process, const char *module)
{
	ui->guest->process = process;
	ui->guest->module = module;
	view_stack_truncate(&ui->guest->views, 1);
	ui_reselect(ui);
}

/* --- back ------------------------------------------------------------------------------------- */

/* Ends one of search, restriction and filter, the first of these that there is. */
static bool request_clear_one(struct ui *ui)
{
	if (ui->search) {
		ui_set_search(ui, NULL);
		return true;
	}
	if (ui->guest->process != FRAME_NONE || ui->guest->module) {
		request_restrict(ui, FRAME_NONE, NULL);
		return true;
	}
	if (!ui->filter)
		return false;
	ui_clear_filter(ui);
	return true;
}

/* A guest is left only for the list of domains that it was picked from. */
static bool request_leave_guest(struct ui *ui)
{
	if (!ui->guest->picked)
		return false;
	ui_remove_guest(ui, ui->guest);
	return true;
}

static bool request_leave_picker(struct ui *ui)
{
	if (ui_close_view(ui))
		return true;
	if (!ui->n_guests)
		return false;
	ui_enter_guest(ui, ui->guest ? ui->guest : ui->guests[0]);
	return true;
}

static void request_back(struct ui *ui)
{
	if (ui->picking)
		request_leave_picker(ui);
	else if ((ui_view(ui) & (VIEW_TOP | VIEW_TREES)) && ui->search)
		ui_set_search(ui, NULL);
	else if (!ui_close_view(ui) && !request_clear_one(ui))
		request_leave_guest(ui);
}

static void request_back_or_quit(struct ui *ui)
{
	ui->quitting = ui->picking ? !request_leave_picker(ui)
				   : !ui_close_view(ui) && !request_leave_guest(ui);
}

/* --- other views, other guests ---------------------------------------------------------------- */

/* False: there is no picture to compare with. */
static bool request_set_baseline(struct ui *ui)
{
	struct xtop_error *error;

	if (!ui->model.all) {
		ui_message(ui, STYLE_NOTICE, "nothing to compare with yet");
		return false;
	}
	error = guest_screen_set_baseline(ui->guest, ui->now_ns);
	if (error) {
		ui_error(ui, error);
		return false;
	}
	ui->model.baseline = ui->guest->baseline;
	ui_message(ui, STYLE_NOTICE,
		   "baseline kept: b takes another, B forgets it, q goes back without forgetting");
	return true;
}

/*
 * Shows the comparison with the baseline. If there is no baseline, or the comparison is on the
 * screen already, the picture becomes the baseline first.
 */
static void request_baseline(struct ui *ui)
{
	if (ui->guest->baseline && ui_view(ui) != VIEW_BASELINE)
		ui_switch_view(ui, VIEW_BASELINE);
	else if (request_set_baseline(ui) || ui->guest->baseline)
		ui_switch_view(ui, VIEW_BASELINE);
}

static void request_drop_baseline(struct ui *ui)
{
	if (!ui->guest->baseline) {
		ui_message(ui, STYLE_NOTICE, "there is no baseline: b keeps one");
		return;
	}
	guest_screen_drop_baseline(ui->guest);
	ui->model.baseline = NULL;
	if (ui_view(ui) == VIEW_BASELINE)
		ui_close_view(ui);
	ui_message(ui, STYLE_NOTICE, "baseline forgotten");
}

static void request_domains(struct ui *ui)
{
	if (ui->source->list)
		ui_enter_domains(ui);
	else
		ui_message(ui, STYLE_NOTICE,
			   "no list of domains: the guests were named with -d or -r");
}

static void request_view(struct ui *ui, unsigned view, uint32_t frame)
{
	if (view == VIEW_DOMAINS)
		request_domains(ui);
	else if (view == VIEW_BASELINE)
		request_baseline(ui);
	else if (view & (VIEW_PASSING | VIEW_CALLERS))
		ui_open_view(ui, view, frame);
	else
		ui_switch_view(ui, view);
}

static void request_next_guest(struct ui *ui)
{
	size_t at = 0;

	if (ui->n_guests < 2) {
		ui_message(ui, STYLE_NOTICE, "there is no other guest%s",
			   ui->source->list ? ": D shows the domains" : "");
		return;
	}
	while (ui->guests[at] != ui->guest)
		at++;
	ui_enter_guest(ui, ui->guests[(at + 1) % ui->n_guests]);
}

static struct xtop_error *request_open_domain(struct ui *ui, const struct ui_domain *domain)
{
	const struct ui_pipeline *pipeline;
	struct xtop_error *error = ui->source->open(ui->source->context, domain, &pipeline);

	if (error)
		return error;
	error = ui_add_guest(ui, pipeline, true);
	if (error)
		ui->source->close(ui->source->context, pipeline);
	return error;
}

static void request_profile(struct ui *ui, const struct ui_domain *domain)
{
	struct guest_screen *guest = ui_find_guest(ui, domain);
	struct xtop_error *error = NULL;

	if (domain->obstacle) {
		ui_message(ui, STYLE_NOTICE, "%s", domain->obstacle);
		return;
	}
	if (!guest)
		error = request_open_domain(ui, domain);
	if (error)
		ui_error(ui, error);
	else
		ui_enter_guest(ui, guest ? guest : ui->guests[ui->n_guests - 1]);
}

/* --- which picture, what part of it, and how -------------------------------------------------- */

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

	ui_error(ui, guest_screen_step(ui->guest, step, &notice));
	if (notice)
		ui_message(ui, STYLE_NOTICE, "%s", notice);
	else
		ui_reselect(ui);
}

static void request_reset(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;

	if (guest->live && guest->live->at_end) {
		ui_message(ui, STYLE_NOTICE, "no more samples will come: the profile stays");
		return;
	}
	guest->pipeline->reset(guest->pipeline->context);
	guest->due_ns = ui->now_ns;
	ui_message(ui, STYLE_NOTICE,
		   guest->still ? "profile reset; the frozen picture stays" : "profile reset");
}

static void request_totals(struct ui *ui)
{
	if (ui->settings.half_life_s <= 0) {
		ui_message(ui, STYLE_NOTICE,
			   "without a half-life there are only shares since start");
		return;
	}
	ui->model.totals = !ui->model.totals;
	ui_update(ui);
}

static void request_percents(struct ui *ui)
{
	ui->model.of_filtered = !ui->model.of_filtered;
	ui_message(ui, STYLE_NOTICE, "percents are of %s",
		   ui->model.of_filtered ? "what the filter lets through" : "all");
	ui_reselect(ui);
}

/* Hides or shows WHICH. OTHER is shown then: with both hidden, only process names are left. */
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

static void request_save(struct ui *ui)
{
	char path[512];
	struct xtop_error *error;

	ui->rc.sort = ui->model.sort;
	ui->rc.interval_s = ui->settings.interval_s;
	ui->rc.half_life_s = ui->settings.half_life_s;
	error = ui_rc_save(&ui->rc, path, sizeof(path));
	if (error)
		ui_error(ui, error);
	else
		ui_message(ui, STYLE_NOTICE, "saved in %s", path);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Requests that views make, and ways from view to view. False: it is none of these. */
static bool carry_out_way(struct ui *ui, const struct request *request)
{
	switch ((int)request->code) {
	case REQUEST_UPDATE:
		ui_update(ui);
		return true;
	case REQUEST_MESSAGE:
		ui_message(ui, STYLE_NOTICE, "%s", request->message);
		return true;
	case REQUEST_SORT:
		request_sort(ui, request->column);
		return true;
	case REQUEST_RESTRICT:
		request_restrict(ui, request->process, request->module);
		return true;
	case REQUEST_PROFILE:
		request_profile(ui, request->domain);
		return true;
	case REQUEST_CHOSEN:
		ui_close_view(ui);
		request_view(ui, request->view, FRAME_NONE);
		return true;
	case REQUEST_VIEW:
		request_view(ui, request->view, request->frame);
		return true;
	case REQUEST_BACK:
		request_back(ui);
		return true;
	case REQUEST_BACK_OR_QUIT:
		request_back_or_quit(ui);
		return true;
	case REQUEST_QUIT:
		ui->quitting = true;
		return true;
	case REQUEST_BASELINE_DROP:
		request_drop_baseline(ui);
		return true;
	case REQUEST_NEXT_GUEST:
		request_next_guest(ui);
		return true;
	default:
		return false;
	}
}

/* What part of the profile is shown, and how. False: it is none of these. */
static bool carry_out_look(struct ui *ui, enum request_code code)
{
	switch ((int)code) {
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
	case REQUEST_TOTALS:
		request_totals(ui);
		return true;
	case REQUEST_PERCENTS:
		request_percents(ui);
		return true;
	case REQUEST_RAW_NAMES:
		ui->model.raw_names = !ui->model.raw_names;
		ui_update(ui);
		return true;
	case REQUEST_HIDE_KERNEL:
		request_hide(ui, &ui->selection.hide_kernel, &ui->selection.hide_user);
		return true;
	case REQUEST_HIDE_USER:
		request_hide(ui, &ui->selection.hide_user, &ui->selection.hide_kernel);
		return true;
	case REQUEST_HEADER:
		ui->no_header = !ui->no_header;
		return true;
	case REQUEST_FREEZE:
		request_freeze(ui);
		return true;
	case REQUEST_EARLIER:
		request_step_history(ui, -1);
		return true;
	case REQUEST_LATER:
		request_step_history(ui, 1);
		return true;
	default:
		return false;
	}
}

static bool carry_out_rest(struct ui *ui, enum request_code code)
{
	switch ((int)code) {
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		ui_message(ui, STYLE_NOTICE,
			   ui->search ? "nothing here matches" : "no search yet: / starts one");
		return true;
	case REQUEST_RESET:
		request_reset(ui);
		return true;
	case REQUEST_SAVE:
		request_save(ui);
		return true;
	case REQUEST_REDRAW:
		ui->redraw = true;
		return true;
	default:
		return question_ask(ui, code);
	}
}

void ui_carry_out(struct ui *ui, struct request request)
{
	if (!carry_out_way(ui, &request) && !carry_out_look(ui, request.code))
		carry_out_rest(ui, request.code);
}

void ui_request(struct ui *ui, struct request request)
{
	ui_carry_out(ui, view_stack_handle(ui_views(ui), &ui->model, request));
}
