/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the views do not take themselves of what keys and clicks ask for: the same in every view.
 */
#include "config.h"

#include "ui/core.h"

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
		ui_message(ui, STYLE_NOTICE,
			   "the guests were named (-d): without it there is a list");
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
