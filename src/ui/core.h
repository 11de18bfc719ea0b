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

#define UI_MAX_VIEWS 6 /* top, another, callers, chooser, help */
#define UI_MIN_ROWS 10
#define UI_MIN_COLUMNS 40
#define UI_MIN_INTERVAL_S 0.1
#define UI_MAX_INTERVAL_S 3600

/* What the text on the bottom line is for. */
enum ui_prompt {
	UI_PROMPT_NONE,
	UI_PROMPT_SEARCH,
	UI_PROMPT_FILTER,
	UI_PROMPT_WRITE,
	UI_PROMPT_REPLACE,
	UI_PROMPT_INTERVAL,
	UI_PROMPT_THRESHOLD,
};

/*
 * One guest on the screen: its pictures, and the views it is looked at with.
 *
 *   live       the newest that came
 *   still      frozen, or of the history; shown instead of the newest if there is one
 *   selected   of the one shown what filter and restriction leave; its nodes may be that one's
 */
struct guest_view {
	const struct ui_pipeline *pipeline;
	bool picked; /* from the list of domains: closed when it is left */
	char name[128], kind[128], system[128];
	struct snapshot *live, *still, *baseline;
	struct snapshot selected;
	bool has_selected;
	struct history *history;
	struct header header, still_header;
	uint32_t process; /* FRAME_NONE: all */
	const char *module; /* NULL: all; a frame's */
	struct view *views[UI_MAX_VIEWS];
	size_t n_views;
	bool waiting; /* asked for a snapshot that did not come yet */
	uint64_t taken_ns, still_ns, baseline_ns, due_ns;
	uint64_t wait_ns; /* from the picture asked for last to the next; 0: none was */
};

struct ui {
	const struct ui_source *source;
	struct ui_settings settings;
	struct ui_rc rc;
	struct ui_model model;
	struct selection selection;  /* == *model.selection */
	struct snapshot *snapshot;   /* the one shown, with every node; NULL: none came yet */
	struct filter *filter, *search;
	struct guest_view *guests[UI_MAX_GUESTS];
	size_t n_guests;
	struct guest_view *guest;    /* on the screen; NULL: none yet */
	struct view *picker;         /* the list of domains, NULL before it was wanted */
	struct view *over_picker;    /* its help; NULL: not on the screen */
	bool picking;                /* the list is on the screen */
	uint64_t picker_due_ns;
	enum ui_prompt asking;
	struct prompt prompt;
	char path[PROMPT_MAX_BYTES]; /* UI_PROMPT_REPLACE: what to replace */
	char message[512];           /* on the bottom line until the next key */
	enum style message_style;
	char hint[200];              /* what would help, above the bottom line; "" if nothing */
	uint64_t hint_sequence;      /* of the picture it is for */
	bool quitting, redraw;
	bool of_filtered;            /* percents are of what the filter lets through */
	bool no_header;
	uint64_t now_ns;             /* CLOCK_MONOTONIC, or the test's */
	time_t wall_s;
	uint64_t started_ns;
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
/* SNAPSHOT is the newest of the guest on the screen from now on, and owned; for tests. */
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
void ui_update(struct ui *ui);   /* what the view computes: sort or search changed */
void ui_reselect(struct ui *ui); /* and the selection before: filter or snapshot changed */
void ui_set_sort(struct ui *ui, const struct column *column);
struct view *ui_view(struct ui *ui);
bool ui_pop(struct ui *ui);            /* closes the view on top; false: it is the first one */
void ui_drop_views(struct ui *ui, size_t n); /* all but the first N */
/* To VIEW, whose mask is MASK: besides the first one there is one at a time. Takes VIEW. */
void ui_go(struct ui *ui, unsigned mask, struct view *view);
bool ui_uncover_picker(struct ui *ui); /* false: nothing lies upon the list of domains */
bool ui_search(struct ui *ui, enum request request); /* false: nothing here matches */
/* Every view from now on shows only what is of PROCESS, or of MODULE. */
void ui_restrict(struct ui *ui, uint32_t process, const char *module);

/* --- requests.c: the view's, or what is the same in all views */
void ui_dispatch_request(struct ui *ui, enum request request);

/* --- guests.c: which guest, which of its pictures */
struct xtop_error *ui_add_guest(struct ui *ui, const struct ui_pipeline *pipeline, bool picked);
void ui_remove_guest(struct ui *ui, struct guest_view *guest);
/* NULL: DOMAIN is not profiled. */
struct guest_view *ui_find_guest(const struct ui *ui, const struct ui_domain *domain);
void ui_enter_guest(struct ui *ui, struct guest_view *guest);
void ui_next_guest(struct ui *ui);
void ui_profile_domain(struct ui *ui, const struct ui_domain *domain);
bool ui_tick_guests(struct ui *ui, uint64_t *wait_nsp);
struct snapshot *guest_view_shown(const struct guest_view *guest);
bool guest_view_is_old(const struct guest_view *guest); /* not the newest: frozen */
void ui_freeze(struct ui *ui);
void ui_step_history(struct ui *ui, int step);
void ui_set_baseline(struct ui *ui);
void ui_drop_baseline(struct ui *ui);

/* --- actions.c: what the prompts are for */
void ui_ask_search(struct ui *ui);
void ui_ask_filter(struct ui *ui);
void ui_ask_write(struct ui *ui);
void ui_ask_interval(struct ui *ui);
void ui_ask_threshold(struct ui *ui);
void ui_set_search(struct ui *ui, struct filter *search);
void ui_clear_filter(struct ui *ui);
void ui_save(struct ui *ui);
void ui_prompt_handle(struct ui *ui, uint32_t code);

#endif
