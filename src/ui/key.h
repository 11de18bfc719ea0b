/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row of a key table: which keys make which request, and what the bottom line and the help call
 * the keys. keys.c has the keys that views share. Each view has its own keys in its view_ops
 * (view.h).
 */
#ifndef UI_KEY_H
#define UI_KEY_H

#include "ui/request.h"
#include "ui/terminal/input.h"

#define KEY_MAX_CODES 4

/* What a view shows, and what can be done in it. A set of traits is a mask. */
enum view_trait {
	VIEW_GUEST = 1 << 0,         /* shows a guest's profile */
	VIEW_FUNCTIONS = 1 << 1,     /* rows are functions */
	VIEW_OPENS_CALLERS = 1 << 2, /* Enter shows callers and callees of the selected function */
	VIEW_SEARCHED = 1 << 3,      /* searches find rows */
	VIEW_COLUMNS = 1 << 4,       /* rows are sorted by a column, which the user chooses */
	VIEW_INVERTS = 1 << 5,       /* call chains can begin with the innermost function */
	VIEW_FOLDS = 1 << 6,         /* pass-through functions can be folded away */
	VIEW_SOURCES = 1 << 7,       /* rows have room for source lines */
	VIEW_STACKED = 1 << 8,       /* lies upon the view that it was opened from */
	VIEW_PASSING = 1 << 9,       /* lies upon another view for a moment */
	/* What Esc does before it closes the view */
	VIEW_ENDS_SEARCH = 1 << 10,
	VIEW_ENDS_RANGE = 1 << 11, /* gives up the marked range of time */
	/* Which keys go back, unless the view is stacked or passing: exactly one of these */
	VIEW_BACK_BY_ESC = 1 << 12,
	VIEW_BACK_BY_BACKSPACE = 1 << 13, /* Esc and Backspace */
	VIEW_BACK_BY_LEFT = 1 << 14,      /* Esc, Backspace and Left */
};

/*
 * The help and the bottom line list keys by section. In a section, keys that open views come first,
 * then shared keys, then keys of the view on top.
 */
enum key_section {
	KEYS_FIND,    /* F1 to F4: help, views, search, filter */
	KEYS_TREE,    /* F5, F6: the call tree; order of rows */
	KEYS_FLAME,   /* F7 */
	KEYS_MOVE,    /* one row up or down, sideways */
	KEYS_PAGE,    /* one page up or down, the ends */
	KEYS_OPEN,    /* what the selected row leads to */
	KEYS_SWITCH,  /* another list or guest */
	KEYS_UNFOLD,  /* rows below the selected one */
	KEYS_PROFILE, /* views of samples and waits */
	KEYS_VIEWS,   /* other views */
	KEYS_COMPARE, /* the baseline */
	KEYS_SHOW,    /* which part of the profile is shown, and how */
	KEYS_DETAIL,  /* what is known of the selected function; the header */
	KEYS_PICTURE, /* F8, F9: which picture is shown, and what becomes of it */
	KEYS_BACK,    /* back, F10: quit */
	N_KEY_SECTIONS
};

struct key {
	enum key_section section;
	uint32_t codes[KEY_MAX_CODES]; /* 0-filled */
	enum request_code request;
	unsigned views;    /* traits; the key works in views with one of them. 0: in all views */
	const char *names; /* key, and others that its line in the help explains: "F1 h ?" */
	const char *label; /* the key's word on the bottom line; NULL: it is not there */
	const char *help;  /* NULL if the key has no line in the help */
	const struct view_ops *opens; /* REQUEST_VIEW: the view to open; else NULL */
};

#endif
