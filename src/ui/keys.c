/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key table; see keys.h. Order is that of the help, and of the bottom line. */
#include "config.h"

#include "ui/keys.h"

#include <string.h>

/* clang-format off: one entry, one or two lines */
const struct key keys[] = {
	{ { INPUT_F(1), 'h', '?' }, REQUEST_HELP, VIEW_LISTS, "F1 h ?", "Help", "this help" },
	{ { INPUT_UP, 'k' }, REQUEST_UP, VIEW_ALL, "Up Down k j", NULL, "one row up or down" },
	{ { INPUT_DOWN, 'j' }, REQUEST_DOWN, VIEW_ALL, NULL, NULL, NULL },
	{ { INPUT_PAGE_UP },
	  REQUEST_PAGE_UP,
	  VIEW_ALL,
	  "PgUp PgDn Space",
	  NULL,
	  "one page up or down" },
	{ { INPUT_PAGE_DOWN, ' ' }, REQUEST_PAGE_DOWN, VIEW_ALL, NULL, NULL, NULL },
	{ { INPUT_HOME, 'g' },
	  REQUEST_HOME,
	  VIEW_ALL,
	  "Home End g G",
	  NULL,
	  "to the first row, and stay with whatever is first; to the last" },
	{ { INPUT_END, 'G' }, REQUEST_END, VIEW_ALL, NULL, NULL, NULL },
	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' },
	  REQUEST_OPEN,
	  VIEW_LISTS,
	  "Enter Right l",
	  NULL,
	  "callers and callees of the function" },
	{ { INPUT_TAB }, REQUEST_SWITCH, VIEW_CALLERS, "Tab", NULL, "to the other list" },
	{ { INPUT_ESCAPE }, REQUEST_BACK, VIEW_TOP, "Esc", NULL, "clear the filter" },
	{ { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE },
	  REQUEST_BACK,
	  VIEW_CALLERS | VIEW_HELP,
	  "Esc Left",
	  "Back",
	  "back the way you came" },
	{ { INPUT_F(1), 'h', '?', INPUT_ENTER }, REQUEST_BACK, VIEW_HELP, NULL, NULL, NULL },
	{ { INPUT_F(4), '/' },
	  REQUEST_FILTER,
	  VIEW_LISTS,
	  "F4 /",
	  "Filter",
	  "only stacks that match a regex by function, module or process" },
	{ { INPUT_F(5), '+', '=' },
	  REQUEST_UNFOLD,
	  VIEW_TOP,
	  "F5 +",
	  "Unfold",
	  "show who calls it, below the row" },
	{ { '-', 'c' }, REQUEST_FOLD, VIEW_TOP, "- C", NULL, "hide that again; for all rows" },
	{ { 'C' }, REQUEST_FOLD_ALL, VIEW_TOP, NULL, NULL, NULL },
	{ { INPUT_F(6) },
	  REQUEST_SORT_NEXT,
	  VIEW_TOP,
	  "F6 < >",
	  "Sort",
	  "sort by the next column; by the one left, right" },
	{ { '<', ',' }, REQUEST_SORT_LEFT, VIEW_TOP, NULL, NULL, NULL },
	{ { '>', '.' }, REQUEST_SORT_RIGHT, VIEW_TOP, NULL, NULL, NULL },
	{ { '1' },
	  REQUEST_SORT_SELF,
	  VIEW_TOP,
	  "1 2 3 4",
	  NULL,
	  "sort by self, children, samples, name" },
	{ { '2' }, REQUEST_SORT_CHILDREN, VIEW_TOP, NULL, NULL, NULL },
	{ { '3' }, REQUEST_SORT_SAMPLES, VIEW_TOP, NULL, NULL, NULL },
	{ { '4' }, REQUEST_SORT_SYMBOL, VIEW_TOP, NULL, NULL, NULL },
	{ { 't' },
	  REQUEST_TOTALS,
	  VIEW_LISTS,
	  "t",
	  NULL,
	  "shares of all since start, or live ones" },
	{ { INPUT_F(8), 'Z' },
	  REQUEST_FREEZE,
	  VIEW_LISTS,
	  "F8 Z",
	  "Freeze",
	  "keep this picture while sampling goes on" },
	{ { INPUT_F(9), 'w' }, REQUEST_WRITE, VIEW_LISTS, "F9 w", "Write", "write a folded file" },
	{ { 'z' }, REQUEST_RESET, VIEW_LISTS, "z", NULL, "forget all samples and begin anew" },
	{ { 's' }, REQUEST_INTERVAL, VIEW_LISTS, "s", NULL, "seconds between refreshes" },
	{ { INPUT_CTRL_L }, REQUEST_REDRAW, VIEW_ALL, "Ctrl-L", NULL, "draw the screen anew" },
	{ { 'q' }, REQUEST_BACK_OR_QUIT, VIEW_ALL, "q", NULL, "back; at the top: quit" },
	{ { INPUT_F(10), INPUT_CTRL_C }, REQUEST_QUIT, VIEW_ALL, "F10 Ctrl-C", "Quit", "quit" },
	{ { INPUT_WHEEL_UP }, REQUEST_UP, VIEW_ALL, NULL, NULL, NULL },
	{ { INPUT_WHEEL_DOWN }, REQUEST_DOWN, VIEW_ALL, NULL, NULL, NULL },
};
/* clang-format on */

const size_t n_keys = sizeof(keys) / sizeof(keys[0]);

enum request keys_lookup(uint32_t code, unsigned view)
{
	if (!code)
		return REQUEST_NONE;
	for (size_t i = 0; i < n_keys; i++)
		for (size_t j = 0; j < KEY_MAX_CODES; j++)
			if (keys[i].codes[j] == code && (keys[i].views & view))
				return keys[i].request;
	return REQUEST_NONE;
}

/* "F10" of "F10 Ctrl-C": the key that the bottom line names. */
static int key_name_width(const struct key *key)
{
	return (int)strcspn(key->names, " ");
}

/* Where one key names itself, of COLUMN on. */
static struct key_place key_place(const struct key *key, int column)
{
	int name_width = key_name_width(key);

	return (struct key_place){ key, column, name_width, name_width + (int)strlen(key->label) };
}

static const struct key *keys_last_labelled(unsigned view)
{
	size_t i = n_keys;

	while (i > 0 && (!keys[i - 1].label || !(keys[i - 1].views & view)))
		i--;
	return i ? &keys[i - 1] : NULL;
}

/* The way out is always named: where not all fit, the last key keeps its place and others go. */
bool keys_bottom(unsigned view, int columns, size_t index, struct key_place *place)
{
	const struct key *last = keys_last_labelled(view);
	int column = 0, reserved = last ? key_place(last, 0).width : 0;

	for (size_t i = 0; i < n_keys; i++) {
		const struct key *key = &keys[i];

		if (!key->label || !(key->views & view))
			continue;
		*place = key_place(key, column);
		if (column + place->width + (key == last ? 0 : 1 + reserved) > columns)
			continue;
		column += place->width + 1;
		if (!index--)
			return true;
	}
	return false;
}
