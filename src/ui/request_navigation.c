/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that lead to other views and guests, and back. */
#include "config.h"

#include "ui/request_navigation.h"

#include "ui/questions.h"
#include "ui/view.h"
#include "ui/views/views.h"

/* Restricts all views to a part of the guest, and closes all views but the first. */
static void request_restrict(struct ui *ui, uint32_t process, const char *cgroup,
			     const char *module)
{
	ui->guest->process = process;
	ui->guest->cgroup = cgroup;
	ui->guest->module = module;
	view_stack_truncate(&ui->guest->views, 1);
	ui_reselect(ui);
}

/* --- going back ------------------------------------------------------------------------------- */

/* Drops a marked range and goes back to the newest picture. Returns false without a range. */
static bool request_drop_range(struct ui *ui)
{
	if (!guest_screen_drop_range(ui->guest))
		return false;
	ui_reselect(ui);
	return true;
}

/* Ends one of search, range, restriction and filter, in this order. */
static bool request_clear_one(struct ui *ui)
{
	if (ui->search) {
		ui_set_search(ui, NULL);
		return true;
	}
	if (request_drop_range(ui))
		return true;
	if (ui->guest->process != FRAME_NONE || ui->guest->cgroup || ui->guest->module) {
		request_restrict(ui, FRAME_NONE, NULL, NULL);
		return true;
	}
	if (!ui->filter)
		return false;
	ui_clear_filter(ui);
	return true;
}

/* Goes back from a pair to its first guest. Returns false if there is no pair. */
static bool request_leave_pair(struct ui *ui)
{
	if (!ui->pair)
		return false;
	ui_enter_guest(ui, ui->pair->now);
	return true;
}

/*
 * A guest picked from the list of domains is left for the list. If all guests are profiled, the
 * guest goes on to be profiled.
 */
static bool request_leave_guest(struct ui *ui)
{
	if (request_leave_pair(ui))
		return true;
	if (ui->guest->samples) {
		ui_enter_guest(ui, ui->guest->samples);
		return true;
	}
	if (ui->guest->picked)
		ui_remove_guest(ui, ui->guest);
	else if (ui->source->next)
		ui_enter_guest(ui, NULL);
	else
		return false;
	return true;
}

static bool request_leave_picker(struct ui *ui)
{
	if (ui_close_view(ui))
		return true;
	if (!ui->n_guests || (ui->source->next && !ui->guest))
		return false;
	ui_enter_guest(ui, ui->guest ? ui->guest : ui->guests[0]);
	return true;
}

static void request_back(struct ui *ui)
{
	if (ui->picker.is_shown)
		request_leave_picker(ui);
	else if ((ui_view(ui)->traits & VIEW_ENDS_SEARCH) && ui->search)
		ui_set_search(ui, NULL);
	else if ((ui_view(ui)->traits & VIEW_ENDS_RANGE) && request_drop_range(ui))
		return;
	else if (!ui_close_view(ui) && !request_clear_one(ui))
		request_leave_guest(ui);
}

static void request_back_or_quit(struct ui *ui)
{
	ui->quitting = ui->picker.is_shown ? !request_leave_picker(ui)
					   : !ui_close_view(ui) && !request_leave_guest(ui);
}

/* --- other views, other guests ---------------------------------------------------------------- */

/* Returns false if there is no picture to compare with. */
static bool request_set_baseline(struct ui *ui)
{
	struct xtop_error *error;

	if (ui->pair) {
		ui_message(ui, STYLE_NOTICE, "the baseline is what %s does now: d goes back",
			   ui->pair->base->name);
		return false;
	}
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
	if (ui->guest->baseline && ui_view(ui) != &baseline_ops)
		ui_switch_view(ui, &baseline_ops);
	else if (request_set_baseline(ui) || ui->guest->baseline)
		ui_switch_view(ui, &baseline_ops);
}

static void request_drop_baseline(struct ui *ui)
{
	if (request_leave_pair(ui))
		return;
	if (!ui->guest->baseline) {
		ui_message(ui, STYLE_NOTICE, "there is no baseline: b keeps one");
		return;
	}
	guest_screen_drop_baseline(ui->guest);
	ui->model.baseline = NULL;
	if (ui_view(ui) == &baseline_ops)
		ui_close_view(ui);
	ui_message(ui, STYLE_NOTICE, "baseline forgotten");
}

/* Whether there is a list of domains. Says so if there is none. */
static bool request_has_domains(struct ui *ui)
{
	if (!ui->source->list)
		ui_message(ui, STYLE_NOTICE,
			   "no list of domains: the guests were named with -d or -r");
	return ui->source->list;
}

static void request_domains(struct ui *ui)
{
	if (request_has_domains(ui))
		ui_enter_domains(ui);
}

/* Shows the waiting tasks of the guest shown. Returns false if they are not known. */
static bool request_enter_waits(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;

	if (guest->samples)
		return true;
	if (!guest->pipeline->waits) {
		ui_message(ui, STYLE_NOTICE,
			   ui->pair ? "two guests are compared by what they do: d goes back"
				    : "a profile has no tasks that wait");
		return false;
	}
	ui_error(ui, guest_screen_open_waits(guest, ui->settings.half_life_s));
	if (guest->waits)
		ui_enter_guest(ui, guest->waits);
	return guest->waits;
}

/* Goes from samples to waiting tasks, from other views of these to the first one, or back. */
static void request_waits(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;

	if (guest->samples && ui_view(ui) != &waits_ops)
		ui_switch_view(ui, &waits_ops);
	else if (guest->samples)
		ui_enter_guest(ui, guest->samples);
	else
		request_enter_waits(ui);
}

/* Whether a recording has what VIEW shows of the host. */
static bool request_has_host(const struct ui *ui, const struct view_ops *view)
{
	const struct snapshot_run *run = ui->model.all ? snapshot_get_run(ui->model.all) : NULL;

	return run && (view->needs == VIEW_NEEDS_TRACE ? run->exits != NULL : run->takers != NULL);
}

/* Begins to look at the host. Returns false if nothing can be known of it. */
static bool request_host(struct ui *ui, const struct view_ops *view)
{
	struct guest_screen *guest = ui->guest;
	const struct ui_pipeline *pipeline = guest->pipeline;
	struct xtop_error *error;

	if (!pipeline->start_takers && !request_has_host(ui, view)) {
		ui_message(ui, STYLE_NOTICE, "%s: this recording has none", view->name);
		return false;
	}
	if (guest->samples)
		ui_enter_guest(ui, guest->samples);
	if (!pipeline->start_takers)
		return true;
	/* The views of exits name neighbours, too. ui.c has Xen trace. */
	error = pipeline->start_takers(pipeline->context);
	ui_error(ui, error);
	return !error;
}

static void request_view(struct ui *ui, const struct view_ops *view, uint32_t frame)
{
	if (view == &waits_ops)
		request_waits(ui);
	else if (view->needs == VIEW_NEEDS_WAITS && !request_enter_waits(ui))
		return;
	else if ((view->needs == VIEW_NEEDS_TAKERS || view->needs == VIEW_NEEDS_TRACE) &&
		 !request_host(ui, view))
		return;
	else if (view->needs == VIEW_NEEDS_DOMAINS)
		request_domains(ui);
	else if (view->needs == VIEW_NEEDS_BASELINE)
		request_baseline(ui);
	else if (view->traits & (VIEW_PASSING | VIEW_STACKED))
		ui_open_view(ui, view, frame);
	else
		ui_switch_view(ui, view);
}

/* The guest after GUEST. Without another guest, returns NULL and tells the user. */
static struct guest_screen *request_find_next(struct ui *ui, const struct guest_screen *guest)
{
	size_t at = 0;

	guest = guest->samples ? guest->samples : guest;
	if (ui->n_guests < 2) {
		ui_message(ui, STYLE_NOTICE, "there is no other guest%s",
			   ui->source->list ? ": D shows the domains" : "");
		return NULL;
	}
	while (ui->guests[at] != guest)
		at++;
	return ui->guests[(at + 1) % ui->n_guests];
}

static void request_compare(struct ui *ui, struct guest_screen *now)
{
	struct guest_screen *base = request_find_next(ui, now);

	if (!base)
		return;
	if (!now->live || !base->live)
		ui_message(ui, STYLE_NOTICE, "there is no picture of %s yet",
			   now->live ? base->name : now->name);
	else
		ui_error(ui, ui_enter_pair(ui, now, base));
}

/* In a pair, the next guest becomes the one compared with. */
static void request_next_guest(struct ui *ui)
{
	struct guest_screen *next;

	if (ui->pair) {
		request_compare(ui, ui->pair->base);
		return;
	}
	next = request_find_next(ui, ui->guest);
	if (next)
		ui_enter_guest(ui, next);
}

static void request_pair(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;

	if (!request_leave_pair(ui))
		request_compare(ui, guest->samples ? guest->samples : guest);
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
	if (error) {
		ui_error(ui, error);
		return;
	}
	if (!guest && !ui->picker.has_opened)
		ui_message(ui, STYLE_NOTICE,
			   "Enter shows who calls it · F2 other views · F1 all keys · q back");
	ui->picker.has_opened = true;
	ui_enter_guest(ui, guest ? guest : ui->guests[ui->n_guests - 1]);
}

static void request_profile_other(struct ui *ui, uint32_t domid)
{
	const struct domain_entry *entry;

	if (!request_has_domains(ui))
		return;
	ui_read_domains(ui);
	entry = domain_list_find(&ui->picker.list, domid);
	if (entry)
		request_profile(ui, &entry->domain);
	else
		ui_message(ui, STYLE_NOTICE, "there is no domain %u here", domid);
}

/* --- dispatch --------------------------------------------------------------------------------- */

bool request_navigate(struct ui *ui, const struct request *request)
{
	switch ((int)request->code) {
	case REQUEST_RESTRICT:
		request_restrict(ui, request->process, request->cgroup, request->module);
		return true;
	case REQUEST_PROFILE:
		request_profile(ui, request->domain);
		return true;
	case REQUEST_PROFILE_OTHER:
		request_profile_other(ui, request->domid);
		return true;
	case REQUEST_CHOSEN:
		ui_close_view(ui);
		request_view(ui, request->view, FRAME_NONE);
		return true;
	case REQUEST_VIEW:
		request_view(ui, request->view, FRAME_NONE);
		return true;
	case REQUEST_SHOW_CALLERS:
		request_view(ui, &callers_ops, request->frame);
		return true;
	case REQUEST_SHOW_NAMING:
		request_view(ui, &naming_ops, request->frame);
		return true;
	case REQUEST_SHOW_ANNOTATION:
		request_view(ui, &annotate_ops, request->frame);
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
	case REQUEST_PAIR:
		request_pair(ui);
		return true;
	case REQUEST_NEXT_GUEST:
		request_next_guest(ui);
		return true;
	default:
		return false;
	}
}
