/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the screen without a terminal, and the few changes that everything else is made of:
 * which guest is shown, which views lie over it, what they look at, and the bottom line's message.
 *
 * All on one thread, main's. These files work on the state; each one uses those before it: state.c,
 * questions.c, request_navigation.c and request_display.c, requests.c, ui.c.
 */
#ifndef UI_STATE_H
#define UI_STATE_H

#include <time.h>

#include "ui/domain_list.h"
#include "ui/header/hint.h"
#include "ui/pair.h"
#include "ui/prompt.h"

#define UI_MIN_INTERVAL_S 0.1
#define UI_MAX_INTERVAL_S 3600

/* What the prompt on the bottom line asks for. */
enum question {
	QUESTION_NONE, /* there is no prompt */
	QUESTION_SEARCH,
	QUESTION_FILTER,
	QUESTION_WRITE,
	QUESTION_REPLACE,
	QUESTION_INTERVAL,
	QUESTION_THRESHOLD,
};

/* The list of domains. */
struct domain_picker {
	bool is_shown;           /* instead of a guest */
	struct view_stack views; /* the list and its help; empty before the list was wanted */
	struct domain_list list;
	uint64_t due_ns; /* when to read the list again */
};

/* A message on the bottom line, until the next key. */
struct bottom_message {
	char text[512]; /* "" if there is none */
	enum style style;
};

struct ui {
	const struct ui_source *source;
	struct ui_settings settings;
	struct ui_rc rc;
	struct ui_model model;
	struct selection selection;  /* == *model.selection */
	struct filter *filter, *search;
	struct guest_screen *guests[UI_MAX_GUESTS];
	size_t n_guests;
	struct guest_screen *guest;  /* the one on the screen, or under the list; NULL: none */
	struct pair *pair;           /* GUEST is its screen; NULL: one guest is shown */
	struct domain_picker picker;
	enum question question;
	struct prompt prompt;
	char baseline[64]; /* model.baseline_name */
	char path[PROMPT_MAX_BYTES]; /* QUESTION_REPLACE: the file to replace */
	struct bottom_message message;
	struct hint hint;
	bool quitting, redraw;
	bool no_header;
	bool show_idle; /* among tasks that wait, those that wait for work */
	uint64_t now_ns;             /* CLOCK_MONOTONIC, or the test's */
	time_t wall_s;
	uint64_t started_ns;
	int rows;                    /* of the screen when it was drawn last */
};

/* A message for the bottom line. */
void ui_message(struct ui *ui, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same; takes ERROR, NULL is no error. */
void ui_error(struct ui *ui, struct xtop_error *error);

/* Computes anew what the view on top shows. What it looks at did not change. */
void ui_update(struct ui *ui);
/* Computes anew what views look at, and then updates: guest, picture or selection changed. */
void ui_reselect(struct ui *ui);
/* Reads the list of domains, and adds what profiling tells of them. */
void ui_read_domains(struct ui *ui);

/* --- views ------------------------------------------------------------------------------------ */

/* The views on the screen: of the guest, or of the list of domains. */
struct view_stack *ui_views(struct ui *ui);
const struct view_ops *ui_view(struct ui *ui); /* the view on top */
/* VIEW comes on top of the others. FRAME: the function it is for, or FRAME_NONE. */
void ui_open_view(struct ui *ui, const struct view_ops *view, uint32_t frame);
/* Closes the view on top. False: it is the first one and stays. */
bool ui_close_view(struct ui *ui);
/* VIEW comes on top of the first view, or is the first view; all others are closed. */
void ui_switch_view(struct ui *ui, const struct view_ops *view);

/* --- guests ----------------------------------------------------------------------------------- */

/* PICKED: from the list of domains. */
struct xtop_error *ui_add_guest(struct ui *ui, const struct ui_pipeline *pipeline, bool picked);
/* The guest that DOMAIN is profiled as; NULL: it is not profiled. */
struct guest_screen *ui_find_guest(const struct ui *ui, const struct ui_domain *domain);
/* Shows GUEST; NULL: there is none, the list of domains is shown. Another pair is left. */
void ui_enter_guest(struct ui *ui, struct guest_screen *guest);
/* Shows NOW against BASE. Both have a picture. */
struct xtop_error *ui_enter_pair(struct ui *ui, struct guest_screen *now,
				 struct guest_screen *base);
/* Shows the list of domains; the guest stays the one to come back to. */
void ui_enter_domains(struct ui *ui);
/* Ends profiling GUEST, if it was picked. If it is on the screen, the list of domains comes. */
void ui_remove_guest(struct ui *ui, struct guest_screen *guest);

#endif
