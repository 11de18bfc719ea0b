/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to the user on the bottom line. After a wrong answer the question stays, with the
 * reason after the answer.
 */
#include "config.h"

#include "ui/questions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/figures.h"
#include "xtop/base/output.h"
#include "xtop/export/export.h"
#include "xtop/query/exits_profile.h"

static void question_start(struct ui *ui, enum question question, const char *label,
			   const char *text)
{
	prompt_start(&ui->prompt, label, text);
	ui->question = question;
}

static void question_refuse(struct ui *ui, struct xtop_error *error)
{
	snprintf(ui->prompt.error, sizeof(ui->prompt.error), "%s", error_message(error));
	error_destroy(error);
}

/* --- search: the cursor moves while the user types -------------------------------------------- */

void ui_set_search(struct ui *ui, struct filter *search)
{
	filter_destroy(ui->search);
	ui->model.search = ui->search = search;
	ui_update(ui);
}

/* Returns false if nothing in the view matches. */
static bool question_search_view(struct ui *ui, enum request_code code)
{
	struct request left = view_stack_handle(ui_views(ui), &ui->model, request_of(code));

	if (left.code == REQUEST_UPDATE)
		ui_update(ui);
	return left.code == REQUEST_UPDATE || left.code == REQUEST_NONE;
}

static void question_answer_search(struct ui *ui, enum prompt_result result)
{
	struct filter *search = NULL;
	struct xtop_error *error = NULL;
	bool not_here = ui->prompt.error[0];

	ui->prompt.error[0] = '\0';
	if (result == PROMPT_CANCELLED) {
		ui_set_search(ui, NULL);
		ui->question = QUESTION_NONE;
		return;
	}
	if (result == PROMPT_GOES_ON)
		return;
	if (ui->prompt.length)
		error = filter_create_search(ui->prompt.text, &search);
	if (error) { /* the search for the last correct regex goes on */
		question_refuse(ui, error);
		return;
	}
	if (result == PROMPT_CHANGED) {
		ui_set_search(ui, search);
		if (search && !question_search_view(ui, REQUEST_SEARCH_HERE))
			snprintf(ui->prompt.error, sizeof(ui->prompt.error), "not here");
		return;
	}
	filter_destroy(search);
	ui->question = QUESTION_NONE;
	/* while the user types, no branch is opened; now closed branches are searched, too */
	if (not_here && ui->search && !question_search_view(ui, REQUEST_SEARCH_NEXT))
		ui_message(ui, STYLE_NOTICE, "nothing here matches");
}

/* --- filter: applied while the user types, whenever the text is a regex ----------------------- */

static void ui_set_filter(struct ui *ui, struct filter *filter)
{
	filter_destroy(ui->filter);
	ui->filter = filter;
	ui_reselect(ui);
}

void ui_clear_filter(struct ui *ui)
{
	if (ui->filter)
		ui_set_filter(ui, NULL);
}

static bool question_apply_filter(struct ui *ui)
{
	struct filter *filter = NULL;
	struct xtop_error *error = NULL;

	ui->prompt.error[0] = '\0';
	if (ui->prompt.length)
		error = filter_create(ui->prompt.text, &filter);
	if (error) {
		question_refuse(ui, error);
		return false;
	}
	ui_set_filter(ui, filter);
	return true;
}

static void question_answer_filter(struct ui *ui, enum prompt_result result)
{
	if (result == PROMPT_CANCELLED)
		ui_clear_filter(ui);
	else if (!question_apply_filter(ui) || result == PROMPT_CHANGED)
		return;
	ui->question = QUESTION_NONE;
}

/* --- writing a profile ------------------------------------------------------------------------ */

/*
 * The folder for new files: the working directory, unless the session found that the user may not
 * write there.
 */
static const char *question_write_folder(const struct ui *ui)
{
	return ui->settings.write_folder ? ui->settings.write_folder : "";
}

/* Whether exits or neighbours are on the screen: the list of domains has none. */
static bool question_shows_trace(const struct ui *ui)
{
	return !ui->picker.is_shown && view_stack_shows_trace(&ui->guest->views);
}

/* A file has weights since start, or those of the range; never the live weights of the screen. */
static const char *question_write_label(const struct ui *ui)
{
	if (ui->model.is_range)
		return " Write the range to:";
	if (question_shows_trace(ui))
		return " Write exits since start to:";
	return ui->model.shares.totals ? " Write to:" : " Write all since start to:";
}

/*
 * Proposes DOMAIN-YYYYmmdd-HHMMSS with the ending of --format. The user may choose another format
 * by another ending. '_' replaces characters that are awkward in a file's name.
 */
static void question_ask_write(struct ui *ui)
{
	char name[256], path[sizeof(name) + 8], stamp[32] = "";
	struct tm tm;
	size_t n;

	if (!ui->model.snapshot) {
		ui_message(ui, STYLE_NOTICE, "nothing to write yet");
		return;
	}
	if (localtime_r(&ui->wall_s, &tm))
		strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
	n = (size_t)snprintf(name, sizeof(name), "%s", ui->model.domain);
	for (size_t i = 0; i < n; i++)
		if (strchr("/ \\*?'\"$&|<>", name[i]) || (i == 0 && strchr(".-", name[i])))
			name[i] = '_';
	snprintf(name + n, sizeof(name) - n, "-%s%s", stamp,
		 export_find_ending_or("", ui->settings.write_format)->proposed);
	snprintf(path, sizeof(path), "%s%s", question_write_folder(ui), name);
	question_start(ui, QUESTION_WRITE, question_write_label(ui), path);
}

/* Says in TEXT which part of the picture is selected. Returns NULL if all of it is. */
static const char *question_describe_part(const struct ui *ui, char *text, size_t capacity)
{
	const struct selection *selection = &ui->selection;
	const char *process = "";

	if (selection_is_all(selection))
		return NULL;
	if (selection->process != FRAME_NONE)
		process = frames_get(ui->model.all->frames, selection->process)->name;
	snprintf(text, capacity, "stacks with%s%s%s%s%s%s%s%s%s",
		 selection->filter ? " filter " : "",
		 selection->filter ? filter_text(selection->filter) : "",
		 *process ? " process " : "", process, selection->module ? " file " : "",
		 selection->module ? selection->module : "",
		 selection->hide_kernel ? " kernel hidden" : "",
		 selection->hide_user ? " programs hidden" : "",
		 selection->hide_idle ? " idle pools hidden" : "");
	return text;
}

static const struct export_format *question_format(const struct ui *ui, const char *path)
{
	return export_find_ending_or(path, ui->settings.write_format);
}

/* The waits of the guest whose samples are shown; NULL if there are none. */
static const struct snapshot *question_find_waits(const struct ui *ui)
{
	const struct guest_screen *waits = ui->guest->waits;
	const struct snapshot *live = waits ? waits->live : NULL;

	return live && live->total_weight > 0 ? live : NULL;
}

/*
 * Whether a file at PATH gets the waits, too. They are left out beside a frozen picture or a range,
 * because the waits go on. They are also left out with source lines, because samples and waits then
 * have separate tables of frames.
 */
static bool question_adds_waits(const struct ui *ui, const char *path)
{
	const struct snapshot *waits = question_find_waits(ui);

	return waits && !ui->guest->frozen && waits->frames == ui->model.snapshot->frames &&
	       question_format(ui, path)->has_waits;
}

static struct xtop_error *question_export(const struct ui *ui, const char *path,
					  const struct snapshot *waits, FILE *stream)
{
	char part[256];
	const struct export_settings settings = {
		.addresses = ui->model.names.addresses,
		.clock = ui->model.time.clock,
		.by_cgroup = ui->model.names.by_cgroup,
		.part = question_describe_part(ui, part, sizeof(part)),
		.domain = ui->model.domain,
		.type = ui->guest->pipeline->guest.type,
		.wall_ns = export_wall_ns(ui->model.snapshot, ui->model.time.clock),
		.waits = waits && waits->total_weight > 0 ? waits : NULL,
	};

	return question_format(ui, path)->write(ui->model.snapshot, &settings, stream);
}

/* Writes the exits in nanoseconds, as far as the filter leaves them. */
static struct xtop_error *question_export_exits(const struct ui *ui, const char *path, FILE *stream)
{
	const struct export_settings settings = {
		.filter = ui->filter,
		.addresses = ui->model.names.addresses,
		.domain = ui->model.domain,
		.type = ui->guest->pipeline->guest.type,
	};
	struct snapshot *exits = NULL;
	struct xtop_error *error = exits_profile_create(ui->model.all, &exits);

	if (!error)
		error = question_format(ui, path)->write(exits, &settings, stream);
	snapshot_destroy(exits);
	return error;
}

/* Writes the picture shown in the format that the ending of PATH asks for. */
static struct xtop_error *question_export_all(const struct ui *ui, const char *path, FILE *stream)
{
	const struct snapshot *waits = question_find_waits(ui);
	struct snapshot selected;
	struct xtop_error *error;

	if (question_shows_trace(ui))
		return question_export_exits(ui, path, stream);
	if (!question_adds_waits(ui, path))
		return question_export(ui, path, NULL, stream);
	error = selection_apply(&ui->selection, waits, &selected);
	if (error)
		return error;
	error = question_export(ui, path, &selected, stream);
	selection_deinit(&selected, waits);
	return error;
}

static struct xtop_error *question_write_to(const struct ui *ui, const char *path, bool replace,
					    bool *existsp, uint64_t *bytesp)
{
	struct output_file *file;
	struct xtop_error *error =
		output_open_named(path, replace, ui->settings.opener, existsp, &file);
	FILE *stream;

	if (error)
		return error;
	error = output_begin(file, &stream);
	if (!error)
		error = question_export_all(ui, path, stream);
	if (!error) {
		*bytesp = output_size(file);
		return output_close(file);
	}
	output_discard(file);
	return error;
}

/* Asks before an existing file is replaced. */
static void question_write(struct ui *ui, const char *path, bool replace)
{
	uint64_t bytes = 0;
	bool exists;
	struct xtop_error *error = question_write_to(ui, path, replace, &exists, &bytes);
	char size[32];

	if (error && exists && !replace) {
		error_destroy(error);
		snprintf(ui->path, sizeof(ui->path), "%s", path);
		question_start(ui, QUESTION_REPLACE, " It exists; replace it (y/n)?", "");
		return;
	}
	if (error) {
		ui_error(ui, error);
		return;
	}
	format_count(bytes, size);
	ui_message(ui, STYLE_NOTICE, "wrote %s, %s bytes%s%s", path, size,
		   ui->filter ? ", filtered" : "",
		   question_find_waits(ui) && !question_adds_waits(ui, path) ? ", without the waits"
									     : "");
}

static void question_answer_write(struct ui *ui, enum prompt_result result)
{
	char path[PROMPT_MAX_BYTES];

	if (result == PROMPT_GOES_ON || result == PROMPT_CHANGED)
		return;
	ui->question = QUESTION_NONE;
	if (result == PROMPT_CANCELLED || !ui->prompt.length)
		return;
	snprintf(path, sizeof(path), "%.1000s", ui->prompt.text);
	export_complete_path(question_format(ui, path), path, sizeof(path));
	question_write(ui, path, false);
}

static void question_answer_replace(struct ui *ui, uint32_t code)
{
	ui->question = QUESTION_NONE;
	if (code == 'y' || code == 'Y')
		question_write(ui, ui->path, true);
	else
		ui_message(ui, STYLE_NOTICE, "nothing written");
}

/* --- figures ---------------------------------------------------------------------------------- */

static void question_ask_figure(struct ui *ui, enum question question, const char *label,
				double figure)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", figure);
	question_start(ui, question, label, text);
}

/* Returns true if the user gave a number from LEAST to MOST. Otherwise the question stays. */
static bool question_parse_figure(struct ui *ui, enum prompt_result result, double least,
				 double most, double *figurep)
{
	char *end;
	double figure = strtod(ui->prompt.text, &end);

	ui->prompt.error[0] = '\0';
	if (result == PROMPT_GOES_ON || result == PROMPT_CHANGED)
		return false;
	if (result == PROMPT_DONE &&
	    (end == ui->prompt.text || *end || !(figure >= least && figure <= most))) {
		snprintf(ui->prompt.error, sizeof(ui->prompt.error), "a number from %g to %g",
			 least, most);
		return false;
	}
	ui->question = QUESTION_NONE;
	if (result == PROMPT_DONE)
		*figurep = figure;
	return result == PROMPT_DONE;
}

static void question_answer_interval(struct ui *ui, enum prompt_result result)
{
	if (!question_parse_figure(ui, result, UI_MIN_INTERVAL_S, UI_MAX_INTERVAL_S,
				  &ui->settings.interval_s))
		return;
	for (size_t i = 0; i < ui->n_guests; i++) {
		ui->guests[i]->due_ns = ui->now_ns;
		if (ui->guests[i]->waits)
			ui->guests[i]->waits->due_ns = ui->now_ns;
	}
}

static void question_answer_threshold(struct ui *ui, enum prompt_result result)
{
	if (question_parse_figure(ui, result, 0, 100, &ui->model.threshold))
		ui_update(ui);
}

/* --- dispatch --------------------------------------------------------------------------------- */

bool question_ask(struct ui *ui, enum request_code code)
{
	switch ((int)code) {
	case REQUEST_SEARCH:
		question_start(ui, QUESTION_SEARCH, " Search:", "");
		return true;
	case REQUEST_FILTER:
		question_start(ui, QUESTION_FILTER,
			       " Filter:", ui->filter ? filter_text(ui->filter) : "");
		return true;
	case REQUEST_WRITE:
		question_ask_write(ui);
		return true;
	case REQUEST_INTERVAL:
		question_ask_figure(ui, QUESTION_INTERVAL,
				    " Seconds between refreshes:", ui->settings.interval_s);
		return true;
	case REQUEST_THRESHOLD:
		question_ask_figure(
			ui, QUESTION_THRESHOLD,
			" Smallest percentage with a row of its own:", ui->model.threshold);
		return true;
	default:
		return false;
	}
}

void question_handle(struct ui *ui, uint32_t code)
{
	enum prompt_result result;

	if (ui->question == QUESTION_REPLACE) {
		question_answer_replace(ui, code);
		return;
	}
	result = prompt_handle(&ui->prompt, code);
	switch (ui->question) {
	case QUESTION_SEARCH:
		question_answer_search(ui, result);
		break;
	case QUESTION_THRESHOLD:
		question_answer_threshold(ui, result);
		break;
	case QUESTION_FILTER:
		if (result != PROMPT_GOES_ON)
			question_answer_filter(ui, result);
		break;
	case QUESTION_WRITE:
		question_answer_write(ui, result);
		break;
	case QUESTION_INTERVAL:
		question_answer_interval(ui, result);
		break;
	case QUESTION_REPLACE:
	case QUESTION_NONE:
		break;
	}
}
