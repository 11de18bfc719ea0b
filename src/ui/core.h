/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UI without a terminal: time, snapshots and input come in, a canvas goes out. run.c puts it on
 * a terminal, tests drive it with scripted keys.
 *
 * All on one thread, main's. Snapshots taken are the UI's until it destroys them.
 */
#ifndef UI_CORE_H
#define UI_CORE_H

#include <time.h>

#include "ui/header.h"
#include "ui/prompt.h"
#include "ui/view.h"
#include "xtop/ui.h"

#define UI_MAX_VIEWS 4 /* top, callers, help */
#define UI_MIN_ROWS 10
#define UI_MIN_COLUMNS 40
#define UI_MIN_INTERVAL_S 0.1
#define UI_MAX_INTERVAL_S 3600

/* What the text on the bottom line is for. */
enum ui_prompt { UI_PROMPT_NONE, UI_PROMPT_FILTER, UI_PROMPT_WRITE, UI_PROMPT_REPLACE, UI_PROMPT_INTERVAL };

struct ui {
	const struct ui_source *source;
	struct ui_settings settings; /* strings in it are cleaned copies */
	char name[128], kind[128], system[128];
	struct ui_model model;
	struct snapshot *snapshot;   /* == model.snapshot */
	struct filter *filter;       /* == model.filter */
	struct header header;
	struct view *views[UI_MAX_VIEWS];
	size_t n_views;
	enum ui_prompt asking;
	struct prompt prompt;
	char path[PROMPT_MAX_BYTES]; /* UI_PROMPT_REPLACE: what to replace */
	char message[512];           /* on the bottom line until the next key */
	enum style message_style;
	bool frozen, quitting, redraw;
	bool waiting;                /* asked for a snapshot that did not come yet */
	uint64_t now_ns;             /* CLOCK_MONOTONIC, or the test's */
	time_t wall_s;
	uint64_t started_ns, taken_ns, due_ns;
	int rows, columns;           /* of the last ui_draw() */
};

struct xtop_error *ui_create(const struct ui_settings *settings, const struct ui_source *source,
			     struct ui **uip);
void ui_destroy(struct ui *ui); /* NULL allowed */

/*
 * It is NOW_NS: asks for a snapshot when one is due, takes what has come, ends at the time limit.
 * *CHANGEDP: there is something new to draw. Returns the ns until it wants to be called again.
 */
uint64_t ui_tick(struct ui *ui, uint64_t now_ns, time_t wall_s, bool *changedp);
/* SNAPSHOT is shown from now on, and owned; for ui_tick() and tests. */
void ui_show(struct ui *ui, struct snapshot *snapshot);
void ui_handle(struct ui *ui, const struct input *input);
void ui_draw(struct ui *ui, struct canvas *canvas);

/* --- for views and prompts */

/* VIEW comes on top and is the UI's; NULL says that memory is out. */
void ui_push(struct ui *ui, struct view *view);
/* Text for the bottom line. */
void ui_message(struct ui *ui, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void ui_error(struct ui *ui, struct xtop_error *error); /* the same; takes ERROR, NULL is no error */
void ui_update(struct ui *ui);    /* filter, sort or snapshot changed */
void ui_set_sort(struct ui *ui, const struct column *column);
struct view *ui_view(struct ui *ui);

/* --- actions.c: what the prompts are for */
void ui_ask_filter(struct ui *ui);
void ui_ask_write(struct ui *ui);
void ui_ask_interval(struct ui *ui);
void ui_clear_filter(struct ui *ui);
void ui_prompt_handle(struct ui *ui, uint32_t code);

#endif
