/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What needs a word from the user: search, filter, writing a file, figures. Each asks on the bottom
 * and does its work when the answer comes; what is wrong with an answer is said beside it.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ui/core.h"
#include "xtop/export.h"
#include "xtop/output.h"

static void ui_ask(struct ui *ui, enum ui_prompt what, const char *label, const char *text)
{
	prompt_start(&ui->prompt, label, text);
	ui->asking = what;
}

/* The error goes behind the text that is wrong, the prompt stays. */
static void ui_refuse(struct ui *ui, struct xtop_error *error)
{
	snprintf(ui->prompt.error, sizeof(ui->prompt.error), "%s", error_message(error));
	error_destroy(error);
}

/* --- search: the cursor goes along while it is typed ------------------------------------------- */

void ui_ask_search(struct ui *ui)
{
	ui_ask(ui, UI_PROMPT_SEARCH, " Search:", "");
}

void ui_set_search(struct ui *ui, struct filter *search)
{
	filter_destroy(ui->search);
	ui->model.search = ui->search = search;
	ui_update(ui);
}

static void ui_answer_search(struct ui *ui, enum prompt_result result)
{
	struct filter *search = NULL;
	struct xtop_error *error = NULL;
	bool not_here = ui->prompt.error[0];

	ui->prompt.error[0] = '\0';
	if (result == PROMPT_CANCELLED) {
		ui_set_search(ui, NULL);
		ui->asking = UI_PROMPT_NONE;
		return;
	}
	if (result == PROMPT_GOES_ON)
		return;
	if (ui->prompt.length)
		error = filter_create(ui->prompt.text, &search);
	if (error) { /* what is searched for is still what was right before */
		ui_refuse(ui, error);
		return;
	}
	if (result == PROMPT_CHANGED) {
		ui_set_search(ui, search);
		if (search && !ui_search(ui, REQUEST_SEARCH_HERE))
			snprintf(ui->prompt.error, sizeof(ui->prompt.error), "not here");
		return;
	}
	filter_destroy(search);
	ui->asking = UI_PROMPT_NONE;
	/* while it was typed nothing was opened for it: now closed branches are looked at, too */
	if (not_here && ui->search && !ui_search(ui, REQUEST_SEARCH_NEXT))
		ui_message(ui, STYLE_NOTICE, "nothing here matches");
}

/* --- filter: applied while it is typed, as long as it is a regex ------------------------------ */

void ui_ask_filter(struct ui *ui)
{
	ui_ask(ui, UI_PROMPT_FILTER, " Filter:", ui->filter ? filter_text(ui->filter) : "");
}

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

static bool ui_apply_filter(struct ui *ui)
{
	struct filter *filter = NULL;
	struct xtop_error *error = NULL;

	ui->prompt.error[0] = '\0';
	if (ui->prompt.length)
		error = filter_create(ui->prompt.text, &filter);
	if (error) {
		ui_refuse(ui, error);
		return false;
	}
	ui_set_filter(ui, filter);
	return true;
}

static void ui_answer_filter(struct ui *ui, enum prompt_result result)
{
	if (result == PROMPT_CANCELLED)
		ui_clear_filter(ui);
	else if (!ui_apply_filter(ui) || result == PROMPT_CHANGED)
		return;
	ui->asking = UI_PROMPT_NONE;
}

/* --- writing a folded file -------------------------------------------------------------------- */

/*
 * Where xtop was started, if it may write there now that it is another user than root: else where
 * everybody may.
 */
static const char *ui_write_folder(void)
{
	static const char tmp[] = "/tmp/";

	return eaccess(".", W_OK | X_OK) && !eaccess(tmp, W_OK | X_OK) ? tmp : "";
}

/* DOMAIN-YYYYmmdd-HHMMSS.folded, the domain's name fit for a file's. */
void ui_ask_write(struct ui *ui)
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
	snprintf(name + n, sizeof(name) - n, "-%s.folded", stamp);
	snprintf(path, sizeof(path), "%s%s", ui_write_folder(), name);
	ui_ask(ui, UI_PROMPT_WRITE, " Write to:", path);
}

static struct xtop_error *ui_write_to(const struct ui *ui, const char *path, bool replace)
{
	struct output_file *file;
	struct xtop_error *error = output_open(path, replace, &file);
	FILE *stream;

	if (error)
		return error;
	error = output_stream(file, &stream);
	if (!error)
		error = export_folded(ui->model.snapshot, NULL, ui->model.addresses, stream);
	if (!error)
		return output_close(file);
	output_discard(file);
	return error;
}

static void ui_write(struct ui *ui, const char *path, bool replace)
{
	struct xtop_error *error = ui_write_to(ui, path, replace);
	struct stat status;
	char size[32];

	if (error) {
		ui_error(ui, error);
		return;
	}
	format_count(stat(path, &status) ? 0 : (uint64_t)status.st_size, size);
	ui_message(ui, STYLE_NOTICE, "wrote %s, %s bytes%s", path, size,
		   ui->filter ? ", filtered" : "");
}

/*
 * A file that is there is replaced only after a yes. "-" means a file here: stdout is the screen.
 */
static void ui_answer_write(struct ui *ui, enum prompt_result result)
{
	struct stat status;
	char path[PROMPT_MAX_BYTES];

	if (result == PROMPT_GOES_ON || result == PROMPT_CHANGED)
		return;
	ui->asking = UI_PROMPT_NONE;
	if (result == PROMPT_CANCELLED || !ui->prompt.length)
		return;
	snprintf(path, sizeof(path), "%s%.1000s", strcmp(ui->prompt.text, "-") ? "" : "./",
		 ui->prompt.text);
	if (lstat(path, &status) || !S_ISREG(status.st_mode)) {
		ui_write(ui, path, false);
		return;
	}
	memcpy(ui->path, path, sizeof(ui->path));
	ui_ask(ui, UI_PROMPT_REPLACE, " It exists; replace it (y/n)?", "");
}

static void ui_answer_replace(struct ui *ui, uint32_t code)
{
	ui->asking = UI_PROMPT_NONE;
	if (code == 'y' || code == 'Y')
		ui_write(ui, ui->path, true);
	else
		ui_message(ui, STYLE_NOTICE, "nothing written");
}

/* --- refresh interval ------------------------------------------------------------------------- */

void ui_ask_interval(struct ui *ui)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", ui->settings.interval_s);
	ui_ask(ui, UI_PROMPT_INTERVAL, " Seconds between refreshes:", text);
}

static void ui_answer_interval(struct ui *ui, enum prompt_result result)
{
	char *end;
	double seconds = strtod(ui->prompt.text, &end);

	ui->prompt.error[0] = '\0';
	if (result == PROMPT_GOES_ON || result == PROMPT_CHANGED)
		return;
	if (result == PROMPT_DONE) {
		if (*end || !(seconds >= UI_MIN_INTERVAL_S && seconds <= UI_MAX_INTERVAL_S)) {
			snprintf(ui->prompt.error, sizeof(ui->prompt.error),
				 "a number from %g to %d", UI_MIN_INTERVAL_S, UI_MAX_INTERVAL_S);
			return;
		}
		ui->settings.interval_s = seconds;
		for (size_t i = 0; i < ui->n_guests; i++)
			ui->guests[i]->due_ns = ui->now_ns;
	}
	ui->asking = UI_PROMPT_NONE;
}

/* --- least share of a tree's row -------------------------------------------------------------- */

void ui_ask_threshold(struct ui *ui)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g", ui->model.threshold);
	ui_ask(ui, UI_PROMPT_THRESHOLD, " Least percent of a row of its own:", text);
}

static void ui_answer_threshold(struct ui *ui, enum prompt_result result)
{
	char *end;
	double percent = strtod(ui->prompt.text, &end);

	ui->prompt.error[0] = '\0';
	if (result == PROMPT_GOES_ON || result == PROMPT_CHANGED)
		return;
	if (result == PROMPT_DONE) {
		if (end == ui->prompt.text || *end || !(percent >= 0 && percent <= 100)) {
			snprintf(ui->prompt.error, sizeof(ui->prompt.error),
				 "a number from 0 to 100");
			return;
		}
		ui->model.threshold = percent;
	}
	ui->asking = UI_PROMPT_NONE;
	ui_update(ui);
}

/* --- settings --------------------------------------------------------------------------------- */

void ui_save(struct ui *ui)
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

void ui_prompt_handle(struct ui *ui, uint32_t code)
{
	enum prompt_result result;

	if (ui->asking == UI_PROMPT_REPLACE) {
		ui_answer_replace(ui, code);
		return;
	}
	result = prompt_handle(&ui->prompt, code);
	switch (ui->asking) {
	case UI_PROMPT_SEARCH:
		ui_answer_search(ui, result);
		break;
	case UI_PROMPT_THRESHOLD:
		ui_answer_threshold(ui, result);
		break;
	case UI_PROMPT_FILTER:
		if (result != PROMPT_GOES_ON)
			ui_answer_filter(ui, result);
		break;
	case UI_PROMPT_WRITE:
		ui_answer_write(ui, result);
		break;
	case UI_PROMPT_INTERVAL:
		ui_answer_interval(ui, result);
		break;
	case UI_PROMPT_REPLACE:
	case UI_PROMPT_NONE:
		break;
	}
}
