/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the screen without a terminal, and the basic changes of it: the guest shown, the
 * views, what the views look at, and the message on the bottom line.
 *
 * Main's thread. These files work on the state, and each uses only files before it: state.c,
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

/* The question of the prompt on the bottom line. */
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
	bool has_opened;         /* a domain was opened, with a message about keys */
	struct view_stack views; /* the list and its help; empty before the list was wanted */
	struct domain_list list;
	uint64_t due_ns; /* time to read the list again */
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
	struct selection selection;  /* model.selection points to it */
	struct filter *filter, *search;
	struct guest_screen *guests[UI_MAX_GUESTS];
	size_t n_guests;
	struct guest_screen *guest;  /* the guest shown, or below the list; NULL if there is none */
	/* the pair whose screen is GUEST; NULL if one guest is shown */
	struct pair *pair;
	struct domain_picker picker;
	enum question question;
	struct prompt prompt;
	char baseline[64]; /* model.baseline_name points to it */
	char path[PROMPT_MAX_BYTES]; /* QUESTION_REPLACE: the file to replace */
	struct bottom_message message;
	struct hint hint;
	bool quitting, redraw;
	bool no_header;
	bool show_idle; /* waiting tasks include those that wait for work */
	uint64_t now_ns;             /* CLOCK_MONOTONIC, or a test's time */
	time_t wall_s;
	uint64_t started_ns;
	int rows;                    /* height of the screen when it was last drawn */
};

/* Shows a message on the bottom line. */
void ui_message(struct ui *ui, enum style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Shows ERROR as a message and destroys it. NULL is no error. */
void ui_error(struct ui *ui, struct xtop_error *error);

/* Updates the view on top; the model's pictures have not changed. */
void ui_update(struct ui *ui);
/* Sets the model's pictures after guest, picture or selection changed. Then updates the view. */
void ui_reselect(struct ui *ui);
/* Reads the list of domains, and adds what profiling has found out about them. */
void ui_read_domains(struct ui *ui);

/* --- views ------------------------------------------------------------------------------------ */

/* The views on the screen: those of the guest, or of the list of domains. */
struct view_stack *ui_views(struct ui *ui);
const struct view_ops *ui_view(struct ui *ui); /* the view on top */
/* Opens VIEW on top of the others. FRAME: the function it is opened for, or FRAME_NONE. */
void ui_open_view(struct ui *ui, const struct view_ops *view, uint32_t frame);
/* Closes the view on top. Returns false for the first view, which is never closed. */
bool ui_close_view(struct ui *ui);
/* Closes all views but the first one, and opens VIEW unless it is the first one. */
void ui_switch_view(struct ui *ui, const struct view_ops *view);

/* --- guests ----------------------------------------------------------------------------------- */

/* PICKED: the user picked the guest from the list of domains. */
struct xtop_error *ui_add_guest(struct ui *ui, const struct ui_pipeline *pipeline, bool picked);
/* The guest screen of DOMAIN; NULL if DOMAIN is not profiled. */
struct guest_screen *ui_find_guest(const struct ui *ui, const struct ui_domain *domain);
/* Shows GUEST; NULL: shows the list of domains. Leaves a pair whose screen is not GUEST. */
void ui_enter_guest(struct ui *ui, struct guest_screen *guest);
/* Compares NOW with BASE. Both must have a picture. */
struct xtop_error *ui_enter_pair(struct ui *ui, struct guest_screen *now,
				 struct guest_screen *base);
/* Shows the list of domains. The guest is shown again when the user leaves the list. */
void ui_enter_domains(struct ui *ui);
/* Removes GUEST; ends profiling if the user picked it. Shows the list if GUEST is shown. */
void ui_remove_guest(struct ui *ui, struct guest_screen *guest);

#endif
