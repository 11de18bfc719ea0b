/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guests on the screen and their pictures; see core.h. Sampling goes on behind a frozen picture
 * and behind the guest that is not looked at: snapshots of all come in and go into their histories.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ui/core.h"
#include "xtop/text.h"

#define NS_PER_S         1000000000ULL
#define FIRST_SAMPLES_NS (20 * 1000000ULL) /* until something is on the screen, look this often */
#define ANSWER_NS        (10 * 1000000ULL) /* how often to look whether the resolver has answered */

/* --- guests ----------------------------------------------------------------------------------- */

static void guest_view_destroy(struct guest_view *guest)
{
	if (!guest)
		return;
	while (guest->n_views) {
		struct view *view = guest->views[--guest->n_views];

		view->ops->destroy(view);
	}
	if (guest->has_selected)
		selection_release(&guest->selected, guest_view_shown(guest));
	snapshot_destroy(guest->live);
	snapshot_destroy(guest->still);
	snapshot_destroy(guest->baseline);
	history_destroy(guest->history);
	free(guest);
}

/* Header strings may be what the guest's owner called it: cleaned like every name. */
static void guest_view_name(struct guest_view *view, const struct ui_guest *guest)
{
	text_clean(view->name, sizeof(view->name), guest->name, strlen(guest->name));
	text_clean(view->kind, sizeof(view->kind), guest->kind, strlen(guest->kind));
	text_clean(view->system, sizeof(view->system), guest->system, strlen(guest->system));
}

struct xtop_error *ui_add_guest(struct ui *ui, const struct ui_pipeline *pipeline, bool picked)
{
	struct guest_view *guest;
	struct xtop_error *error;

	if (ui->n_guests == UI_MAX_GUESTS)
		return error_create("%d guests are profiled: leave one (q) before", UI_MAX_GUESTS);
	guest = calloc(1, sizeof(*guest));
	if (!guest)
		return error_create("out of memory");
	guest->pipeline = pipeline;
	guest->picked = picked;
	guest->process = FRAME_NONE;
	guest_view_name(guest, &pipeline->guest);
	error = history_create(&guest->history);
	guest->views[0] = view_top_create();
	guest->n_views = guest->views[0] != NULL;
	if (!error && !guest->n_views)
		error = error_create("out of memory");
	if (error) {
		guest_view_destroy(guest);
		return error;
	}
	ui->guests[ui->n_guests++] = guest;
	return NULL;
}

void ui_enter_guest(struct ui *ui, struct guest_view *guest)
{
	ui->guest = guest;
	ui->hint_sequence = 0; /* of another guest: pictures of both have the same numbers */
	ui->picking = !guest;
	ui_reselect(ui);
}

void ui_remove_guest(struct ui *ui, struct guest_view *guest)
{
	size_t at = 0;

	while (ui->guests[at] != guest)
		at++;
	ui->n_guests--;
	memmove(&ui->guests[at], &ui->guests[at + 1], (ui->n_guests - at) * sizeof(ui->guests[0]));
	if (ui->guest == guest)
		ui_enter_guest(ui, NULL);
	if (ui->picker)
		view_domains_leave(ui->picker, guest);
	filter_forget(ui->filter);
	filter_forget(ui->search);
	if (guest->picked && ui->source->close) {
		const struct ui_pipeline *pipeline = guest->pipeline;

		guest_view_destroy(guest);
		ui->source->close(ui->source->context, pipeline);
		return;
	}
	guest_view_destroy(guest);
}

void ui_next_guest(struct ui *ui)
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

/*
 * By its number; not all have a name. Who has one may be what another number rebooted as, until that
 * is noticed: there are no two of a name at a time.
 */
struct guest_view *ui_find_guest(const struct ui *ui, const struct ui_domain *domain)
{
	for (size_t i = 0; i < ui->n_guests; i++)
		if (ui->guests[i]->pipeline->guest.id == domain->id)
			return ui->guests[i];
	for (size_t i = 0; i < ui->n_guests && domain->name[0]; i++)
		if (!strcmp(ui->guests[i]->pipeline->guest.name, domain->name))
			return ui->guests[i];
	return NULL;
}

void ui_profile_domain(struct ui *ui, const struct ui_domain *domain)
{
	struct guest_view *guest = ui_find_guest(ui, domain);
	const struct ui_pipeline *pipeline;
	struct xtop_error *error = NULL;

	if (domain->obstacle) {
		ui_message(ui, STYLE_NOTICE, "%s", domain->obstacle);
		return;
	}
	if (!guest) {
		error = ui->source->open(ui->source->context, domain, &pipeline);
		if (!error) {
			error = ui_add_guest(ui, pipeline, true);
			if (error)
				ui->source->close(ui->source->context, pipeline);
		}
		if (error) {
			ui_error(ui, error);
			return;
		}
		guest = ui->guests[ui->n_guests - 1];
	}
	ui_enter_guest(ui, guest);
}

/* --- snapshots -------------------------------------------------------------------------------- */

struct snapshot *guest_view_shown(const struct guest_view *guest)
{
	return guest->still ? guest->still : guest->live;
}

bool guest_view_is_old(const struct guest_view *guest)
{
	return guest->still != NULL;
}

/* Before the picture it was made from goes. */
static void guest_view_unselect(struct guest_view *guest)
{
	if (guest->has_selected)
		selection_release(&guest->selected, guest_view_shown(guest));
	guest->has_selected = false;
}

/* It may have come back as another domain; what its pipeline says besides is the header's. */
static void guest_view_look(struct guest_view *guest)
{
	const struct ui_pipeline *pipeline = guest->pipeline;

	if (pipeline->message)
		pipeline->message(pipeline->context);
	guest_view_name(guest, &pipeline->guest);
}

/* SNAPSHOT is the newest. True: it is the one shown. */
static bool guest_view_take(struct guest_view *guest, struct snapshot *snapshot, uint64_t now_ns)
{
	guest_view_look(guest);
	header_note(&guest->header, snapshot);
	history_note(guest->history, snapshot);
	if (!guest->still)
		guest_view_unselect(guest);
	snapshot_destroy(guest->live);
	guest->live = snapshot;
	guest->taken_ns = now_ns;
	return !guest->still;
}

void ui_show(struct ui *ui, struct snapshot *snapshot)
{
	if (guest_view_take(ui->guest, snapshot, ui->now_ns))
		ui_reselect(ui);
}

/* Nothing more will come: the last picture stays. */
static bool guest_view_at_end(const struct guest_view *guest)
{
	return guest->live && guest->live->at_end;
}

/* The first picture has one sample: those that follow it come sooner than the interval, each less so. */
static void guest_view_ask(struct guest_view *guest, const struct ui *ui)
{
	bool empty = !guest->live || !guest->live->resolver.samples;
	uint64_t interval_ns = (uint64_t)(ui->settings.interval_s * 1e9);

	snapshot_request(guest->pipeline->slot);
	guest->waiting = true;
	guest->wait_ns = empty ? FIRST_SAMPLES_NS : 2 * guest->wait_ns;
	if (!guest->wait_ns || guest->wait_ns > interval_ns || guest->wait_ns > NS_PER_S)
		guest->wait_ns = interval_ns;
	guest->due_ns = ui->now_ns + guest->wait_ns;
}

/* True: the screen changes. */
static bool guest_view_tick(struct guest_view *guest, struct ui *ui)
{
	struct snapshot *snapshot = snapshot_take(guest->pipeline->slot);
	bool changed = false;

	if (snapshot) {
		guest->waiting = false;
		changed = guest_view_take(guest, snapshot, ui->now_ns) && guest == ui->guest;
	}
	if (ui->now_ns >= guest->due_ns) {
		if (guest_view_at_end(guest))
			guest->due_ns = ui->now_ns + NS_PER_S;
		else
			guest_view_ask(guest, ui);
		changed |= guest == ui->guest && guest->still; /* its age changes */
	}
	return changed;
}

bool ui_tick_guests(struct ui *ui, uint64_t *wait_nsp)
{
	bool changed = false;

	for (size_t i = 0; i < ui->n_guests; i++) {
		struct guest_view *guest = ui->guests[i];
		uint64_t wait_ns;

		if (guest_view_tick(guest, ui)) {
			changed = true;
			if (!guest->still)
				ui_reselect(ui);
		}
		wait_ns = guest->due_ns - ui->now_ns;
		if (guest->waiting && wait_ns > ANSWER_NS)
			wait_ns = ANSWER_NS;
		*wait_nsp = wait_ns < *wait_nsp ? wait_ns : *wait_nsp;
	}
	return changed;
}

/* --- frozen pictures and those of the history ------------------------------------------------- */

static struct snapshot *snapshot_copy(const struct snapshot *from)
{
	struct snapshot *to = snapshot_create(from->n_nodes);
	struct snapshot_node *nodes;

	if (!to)
		return NULL;
	nodes = to->nodes;
	*to = *from;
	to->nodes = nodes;
	memcpy(nodes, from->nodes, from->n_nodes * sizeof(*nodes));
	return to;
}

/* STILL is shown from now on; NULL: what is newest. Takes STILL. */
static void guest_view_set_still(struct guest_view *guest, struct snapshot *still)
{
	guest_view_unselect(guest);
	snapshot_destroy(guest->still);
	guest->still = still;
}

/* Sampling goes on; the copy does not change. */
void ui_freeze(struct ui *ui)
{
	struct guest_view *guest = ui->guest;
	struct snapshot *still = NULL;

	if (!guest->live) {
		ui_message(ui, STYLE_NOTICE, "nothing to freeze yet");
		return;
	}
	if (!guest->still) {
		still = snapshot_copy(guest->live);
		if (!still) {
			ui_message(ui, STYLE_ALERT, "out of memory");
			return;
		}
		guest->still_ns = guest->taken_ns;
		guest->still_header = guest->header;
	}
	guest_view_set_still(guest, still);
	guest->due_ns = ui->now_ns;
	ui_reselect(ui);
}

/* The header of the picture at MOMENT shows what was new in it since the one before. */
static struct xtop_error *guest_view_go(struct guest_view *guest, size_t moment, uint64_t now_ns)
{
	struct snapshot *before = NULL, *still;
	struct xtop_error *error = history_get(guest->history, moment, &still);

	if (error)
		return error;
	guest->still_header = (struct header){ 0 };
	if (moment)
		error_destroy(history_get(guest->history, moment - 1, &before));
	if (before)
		header_note(&guest->still_header, before);
	header_note(&guest->still_header, still);
	snapshot_destroy(before);
	guest->still_ns = now_ns - history_age_ns(guest->history, moment);
	guest_view_set_still(guest, still);
	return NULL;
}

void ui_step_history(struct ui *ui, int step)
{
	struct guest_view *guest = ui->guest;
	size_t n = history_count(guest->history), at;

	if (!guest_view_shown(guest) || !n) {
		ui_message(ui, STYLE_NOTICE, "there is no earlier picture yet");
		return;
	}
	at = history_find(guest->history, guest_view_shown(guest)->sequence);
	if (at == n) /* newer than all */
		at = step < 0 ? n : n - 1;
	if (step < 0 ? at == 0 : at + 1 >= n) {
		ui_message(ui, STYLE_NOTICE,
			   step < 0 ? "this is the earliest picture there is"
				    : "this is the latest picture: Z goes on with new ones");
		return;
	}
	ui_error(ui, guest_view_go(guest, at + (size_t)step, guest->taken_ns));
	ui_reselect(ui);
}

/* --- baseline --------------------------------------------------------------------------------- */

void ui_set_baseline(struct ui *ui)
{
	struct snapshot *copy = ui->snapshot ? snapshot_copy(ui->snapshot) : NULL;

	if (!copy) {
		ui_message(ui, STYLE_NOTICE,
			   ui->snapshot ? "out of memory" : "nothing to compare with yet");
		return;
	}
	snapshot_destroy(ui->guest->baseline);
	ui->model.baseline = ui->guest->baseline = copy;
	ui->guest->baseline_ns = ui->guest->still ? ui->guest->still_ns : ui->now_ns;
	ui_message(ui, STYLE_NOTICE,
		   "baseline kept: b takes another, B forgets it, q goes back without forgetting");
}

void ui_drop_baseline(struct ui *ui)
{
	snapshot_destroy(ui->guest->baseline);
	ui->guest->baseline = NULL;
	ui->model.baseline = NULL;
}
