/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the screen and its changes. */
#include "config.h"

#include "ui/state.h"
#include "ui/views/views.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- messages --------------------------------------------------------------------------------- */

void ui_message(struct ui *ui, enum style style, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ui->message.text, sizeof(ui->message.text), format, arguments);
	va_end(arguments);
	ui->message.style = style;
}

void ui_error(struct ui *ui, struct xtop_error *error)
{
	if (error)
		ui_message(ui, STYLE_ALERT, "%s", error_message(error));
	error_destroy(error);
}

/* --- the model -------------------------------------------------------------------------------- */

/* Asks for the annotation that the views need, and passes on the one that has come. */
static void ui_update_annotation(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;

	guest_screen_annotate(guest, view_stack_annotates(&guest->views), ui->now_ns);
	ui->model.code.annotation = guest->annotation;
	ui->model.code.can_come = guest->pipeline->slot || guest->pipeline->annotate;
}

void ui_update(struct ui *ui)
{
	if (ui->guest)
		ui_update_annotation(ui);
	if (ui->picker.is_shown || ui->model.snapshot)
		ui_error(ui, view_stack_update(ui_views(ui), &ui->model));
}

/* Profiling finds out which system runs in a domain. The list remembers it afterwards. */
static void ui_set_inside(struct domain_entry *entry, const struct guest_screen *guest)
{
	const char *system = guest_screen_system(guest);

	if (!entry->inside_from_source && system[0])
		snprintf(entry->domain.inside, sizeof(entry->domain.inside), "%.95s", system);
}

void ui_read_domains(struct ui *ui)
{
	ui_error(ui, domain_list_read(&ui->picker.list, ui->source, ui->now_ns));
	for (size_t i = 0; i < ui->picker.list.n; i++) {
		struct domain_entry *entry = &ui->picker.list.entries[i];
		const struct guest_screen *guest = ui_find_guest(ui, &entry->domain);

		entry->profiled = guest != NULL;
		if (guest)
			ui_set_inside(entry, guest);
	}
}

/* Sets the model but for the selected pictures, which ui_select() makes. */
static void ui_set_model(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;
	struct ui_model *model = &ui->model;

	ui->selection.filter = ui->filter;
	ui->selection.process = guest ? guest->process : FRAME_NONE;
	ui->selection.cgroup = guest ? guest->cgroup : NULL;
	ui->selection.module = guest ? guest->module : NULL;
	ui->selection.hide_idle = guest && guest->pipeline->of_waits && !ui->show_idle;
	model->all = guest ? guest_screen_shown(guest) : NULL;
	model->snapshot = model->folded = NULL;
	model->baseline = guest ? guest->baseline : NULL;
	model->history = guest ? guest->history : NULL;
	model->recent = guest ? guest_screen_recent(guest) : NULL;
	model->is_range = guest && guest->is_range;
	model->domain = guest ? guest->name : "";
	model->guest = guest;
	model->n_guests = ui->n_guests;
}

static void ui_select(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;
	struct xtop_error *error = guest_screen_select(guest, &ui->selection);

	if (error) {
		ui_error(ui, error);
		return;
	}
	ui->model.snapshot = ui->model.folded = &guest->selected;
	ui->model.n_folded = 0;
	if (ui->rc.fold) {
		error = guest_screen_fold(guest, &ui->model.n_folded);
		if (!error)
			ui->model.folded = &guest->folded;
		ui_error(ui, error);
	}
	ui->model.whole = model_whole(&ui->model, &guest->selected, ui->model.all);
}

void ui_reselect(struct ui *ui)
{
	if (ui->picker.is_shown && !ui->picker.views.n &&
	    !view_stack_push(&ui->picker.views, &domains_ops, FRAME_NONE))
		ui->quitting = true; /* out of memory, and nothing to show */
	if (ui->picker.is_shown)
		ui_read_domains(ui);
	ui_set_model(ui);
	if (ui->model.all)
		ui_select(ui);
	if (!ui->quitting)
		ui_update(ui);
}

/* --- views ------------------------------------------------------------------------------------ */

struct view_stack *ui_views(struct ui *ui)
{
	return ui->picker.is_shown ? &ui->picker.views : &ui->guest->views;
}

const struct view_ops *ui_view(struct ui *ui)
{
	struct view_stack *views = ui_views(ui);

	return view_stack_at(views, views->n - 1);
}

void ui_open_view(struct ui *ui, const struct view_ops *view, uint32_t frame)
{
	if (view_stack_push(ui_views(ui), view, frame))
		ui_update(ui);
	else
		ui_message(ui, STYLE_ALERT, "out of memory");
}

bool ui_close_view(struct ui *ui)
{
	struct view_stack *views = ui_views(ui);

	if (views->n == 1)
		return false;
	view_stack_truncate(views, views->n - 1);
	ui_update(ui);
	return true;
}

void ui_switch_view(struct ui *ui, const struct view_ops *view)
{
	struct view_stack *views = ui_views(ui);

	for (size_t i = 0; i < 2; i++) {
		if (view_stack_at(views, i) != view)
			continue;
		view_stack_truncate(views, i + 1);
		ui_update(ui);
		return;
	}
	view_stack_truncate(views, 1);
	ui_open_view(ui, view, FRAME_NONE);
}

/* --- guests ----------------------------------------------------------------------------------- */

struct xtop_error *ui_add_guest(struct ui *ui, const struct ui_pipeline *pipeline, bool picked)
{
	struct xtop_error *error;

	if (ui->n_guests == UI_MAX_GUESTS)
		return error_create("%d guests are profiled already: leave one first (q)",
				    UI_MAX_GUESTS);
	error = guest_screen_create(pipeline, picked, ui->settings.half_life_s,
				    &ui->guests[ui->n_guests]);
	if (!error)
		ui->n_guests++;
	return error;
}

/*
 * Compares ids first, because not all domains have a name. After a reboot a guest has a new id,
 * which its pipeline learns later. Until then the name finds the guest: names of domains are
 * unique.
 */
struct guest_screen *ui_find_guest(const struct ui *ui, const struct ui_domain *domain)
{
	for (size_t i = 0; i < ui->n_guests; i++)
		if (ui->guests[i]->pipeline->guest.id == domain->id)
			return ui->guests[i];
	for (size_t i = 0; i < ui->n_guests && domain->name[0]; i++)
		if (!strcmp(ui->guests[i]->pipeline->guest.name, domain->name))
			return ui->guests[i];
	return NULL;
}

/* To be called when PAIR is no longer shown. Filters remember names of the pair's table. */
static void ui_destroy_pair(struct ui *ui, struct pair *pair)
{
	if (!pair)
		return;
	filter_invalidate(ui->filter);
	filter_invalidate(ui->search);
	pair_destroy(pair);
}

static void ui_show_guest(struct ui *ui, struct guest_screen *guest, struct pair *pair)
{
	struct pair *before = ui->pair;

	ui->guest = guest;
	ui->pair = pair;
	ui->hint = (struct hint){ .sequence = 0 }; /* sequence numbers of two guests may be equal */
	ui->picker.is_shown = !guest;
	ui_reselect(ui);
	if (before != pair)
		ui_destroy_pair(ui, before);
}

void ui_enter_guest(struct ui *ui, struct guest_screen *guest)
{
	bool same = ui->pair && guest == ui->pair->screen;

	ui_show_guest(ui, guest, same ? ui->pair : NULL);
}

struct xtop_error *ui_enter_pair(struct ui *ui, struct guest_screen *now,
				 struct guest_screen *base)
{
	struct pair *pair;
	struct xtop_error *error = pair_create(now, base, ui->settings.half_life_s, &pair);
	bool changed;

	if (error)
		return error;
	error = pair_update(pair, ui->now_ns, &changed);
	if (error) {
		pair_destroy(pair);
		return error;
	}
	ui_show_guest(ui, pair->screen, pair);
	ui_switch_view(ui, &baseline_ops);
	return NULL;
}

void ui_enter_domains(struct ui *ui)
{
	ui->picker.is_shown = true;
	ui->picker.due_ns = 0;
	ui_reselect(ui);
}

void ui_remove_guest(struct ui *ui, struct guest_screen *guest)
{
	const struct ui_pipeline *pipeline = guest->pipeline;
	struct domain_entry *entry = domain_list_find(&ui->picker.list, pipeline->guest.id);
	bool picked = guest->picked;
	size_t at = 0;

	while (ui->guests[at] != guest)
		at++;
	ui->n_guests--;
	memmove(&ui->guests[at], &ui->guests[at + 1], (ui->n_guests - at) * sizeof(ui->guests[0]));
	if (entry)
		ui_set_inside(entry, guest);
	if (ui->guest == guest || (guest->waits && ui->guest == guest->waits))
		ui_enter_guest(ui, NULL);
	filter_invalidate(ui->filter);
	filter_invalidate(ui->search);
	guest_screen_destroy(guest);
	if (picked && ui->source->close)
		ui->source->close(ui->source->context, pipeline);
}
