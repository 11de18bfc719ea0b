/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys and what they ask for. One table says which key makes which request in which view, how the
 * bottom line and the help call it; no other file knows a key.
 */
#ifndef UI_KEYS_H
#define UI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What came from the terminal: a character, or one of these. */
enum input_code {
	INPUT_NONE = 0,
	INPUT_CTRL_C = 3,
	INPUT_TAB = 9,
	INPUT_CTRL_L = 12,
	INPUT_ENTER = 13,
	INPUT_CTRL_U = 21,
	INPUT_ESCAPE = 27,
	INPUT_BACKSPACE = 127,
	INPUT_FIRST_SPECIAL = 0x110000, /* behind the last character */
	INPUT_UP = INPUT_FIRST_SPECIAL,
	INPUT_DOWN,
	INPUT_LEFT,
	INPUT_RIGHT,
	INPUT_PAGE_UP,
	INPUT_PAGE_DOWN,
	INPUT_HOME,
	INPUT_END,
	INPUT_DELETE,
	INPUT_CLICK, /* at row, column */
	INPUT_WHEEL_UP,
	INPUT_WHEEL_DOWN,
	INPUT_RESIZE,
	INPUT_F1 = INPUT_FIRST_SPECIAL + 0x100, /* to F12: INPUT_F(n) */
};
#define INPUT_F(n) ((uint32_t)INPUT_F1 + (n) - 1)

struct input {
	uint32_t code; /* a character or enum input_code */
	int row, column;
};

enum request {
	REQUEST_NONE,
	/* for the view */
	REQUEST_UP,
	REQUEST_DOWN,
	REQUEST_PAGE_UP,
	REQUEST_PAGE_DOWN,
	REQUEST_HOME,
	REQUEST_END,
	REQUEST_LEFT,
	REQUEST_RIGHT,
	REQUEST_OPEN,
	REQUEST_UNFOLD,   /* or fold what is unfolded */
	REQUEST_FOLD,
	REQUEST_UNFOLD_ALL,
	REQUEST_FOLD_ALL,
	REQUEST_SWITCH,   /* to the other list */
	REQUEST_INVERT,
	REQUEST_SORT_LEFT,
	REQUEST_SORT_RIGHT,
	REQUEST_SORT_NEXT,
	REQUEST_SEARCH_HERE, /* while it is typed: this row or the next that matches */
	REQUEST_SEARCH_NEXT,
	REQUEST_SEARCH_PREVIOUS,
	/* for all of the UI */
	REQUEST_BACK,
	REQUEST_BACK_OR_QUIT,
	REQUEST_QUIT,
	REQUEST_HELP,
	REQUEST_CHOOSE,
	REQUEST_VIEW_TOP,
	REQUEST_VIEW_TREE,
	REQUEST_VIEW_FLAME,
	REQUEST_VIEW_VCPUS,
	REQUEST_VIEW_GROUPS,
	REQUEST_VIEW_OVERHEAD,
	REQUEST_VIEW_DOMAINS,
	REQUEST_BASELINE,
	REQUEST_BASELINE_DROP,
	REQUEST_SORT_SELF,
	REQUEST_SORT_CHILDREN,
	REQUEST_SORT_SAMPLES,
	REQUEST_SORT_SYMBOL,
	REQUEST_TOTALS,   /* percents of all since start, or live */
	REQUEST_PERCENTS, /* of all, or of what the filter lets through */
	REQUEST_SEARCH,
	REQUEST_FILTER,
	REQUEST_THRESHOLD,
	REQUEST_RAW_NAMES,
	REQUEST_HIDE_KERNEL,
	REQUEST_HIDE_USER,
	REQUEST_HEADER,
	REQUEST_FREEZE,
	REQUEST_EARLIER,
	REQUEST_LATER,
	REQUEST_RESET,
	REQUEST_WRITE,
	REQUEST_INTERVAL,
	REQUEST_SAVE,     /* settings */
	REQUEST_NEXT_GUEST,
	REQUEST_REDRAW,
};

/* The views a key works in. */
enum view_mask {
	VIEW_TOP = 1 << 0,
	VIEW_CALLERS = 1 << 1,
	VIEW_TREE = 1 << 2,
	VIEW_FLAME = 1 << 3,
	VIEW_VCPUS = 1 << 4,
	VIEW_GROUPS = 1 << 5,
	VIEW_OVERHEAD = 1 << 6,
	VIEW_BASELINE = 1 << 7,
	VIEW_DOMAINS = 1 << 8,
	VIEW_CHOOSE = 1 << 9,
	VIEW_HELP = 1 << 10,
	VIEW_SORTED = VIEW_TOP | VIEW_BASELINE,
	VIEW_TREES = VIEW_TREE | VIEW_FLAME,
	/* with rows that are functions */
	VIEW_FUNCTIONS = VIEW_SORTED | VIEW_CALLERS | VIEW_TREES,
	VIEW_SEARCHED = VIEW_FUNCTIONS | VIEW_GROUPS,
	/* that show a guest's profile */
	VIEW_GUEST = VIEW_SEARCHED | VIEW_VCPUS | VIEW_OVERHEAD,
	/* that one does not work in, but passes through */
	VIEW_PASSING = VIEW_CHOOSE | VIEW_HELP,
	VIEW_ALL = VIEW_GUEST | VIEW_DOMAINS | VIEW_PASSING,
};

#define KEY_MAX_CODES 4

struct key {
	uint32_t codes[KEY_MAX_CODES]; /* 0-filled */
	enum request request;
	unsigned views;     /* enum view_mask */
	const char *names;  /* as the help names them, with the keys that go with them: "F1 h ?" */
	const char *label;  /* on the bottom line; NULL: not there */
	const char *help;   /* NULL: not in the help */
};

extern const struct key keys[];
extern const size_t n_keys;

enum request keys_lookup(uint32_t code, unsigned view);

/*
 * The bottom line of a view: entry INDEX of those that have room in COLUMNS. False: there are
 * fewer.
 */
struct key_place {
	const struct key *key;
	int column, name_width, width;
};
bool keys_bottom(unsigned view, int columns, size_t index, struct key_place *place);

#endif
