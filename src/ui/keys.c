/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key table; see keys.h. Order is that of the help, and of the bottom line. */
#include "config.h"

#include "ui/keys.h"

#include <string.h>

/* clang-format off: a table */
const struct key keys[] = {
	{ { INPUT_F(1), 'h', '?' },
	  REQUEST_HELP,
	  VIEW_ALL & ~VIEW_HELP,
	  "F1 h ?",
	  "Help",
	  "this help" },
	{ { INPUT_F(2) }, REQUEST_CHOOSE, VIEW_GUEST, "F2", "View", "choose a view" },
	{ { INPUT_F(3), '/' },
	  REQUEST_SEARCH,
	  VIEW_SEARCHED,
	  "F3 /",
	  "Search",
	  "search; n N next, previous" },
	{ { 'n' }, REQUEST_SEARCH_NEXT, VIEW_SEARCHED, NULL, NULL, NULL },
	{ { 'N' }, REQUEST_SEARCH_PREVIOUS, VIEW_SEARCHED, NULL, NULL, NULL },
	{ { INPUT_F(4), '\\' },
	  REQUEST_FILTER,
	  VIEW_GUEST,
	  "F4 \\",
	  "Filter",
	  "only stacks that match" },
	{ { INPUT_F(5), 't' }, REQUEST_VIEW_TREE, VIEW_GUEST, "F5 t", "Tree", "call tree" },
	{ { INPUT_F(6) },
	  REQUEST_SORT_NEXT,
	  VIEW_SORTED | VIEW_DOMAINS,
	  "F6 < >",
	  "Sort",
	  "sort by another column" },
	{ { '<', ',' }, REQUEST_SORT_LEFT, VIEW_SORTED | VIEW_DOMAINS, NULL, NULL, NULL },
	{ { '>', '.' }, REQUEST_SORT_RIGHT, VIEW_SORTED | VIEW_DOMAINS, NULL, NULL, NULL },
	{ { INPUT_F(6), 'I' },
	  REQUEST_INVERT,
	  VIEW_TREES,
	  "F6 I",
	  "Invert",
	  "from the innermost out" },
	{ { INPUT_F(7), 'f' }, REQUEST_VIEW_FLAME, VIEW_GUEST, "F7 f", "Flame", "flame graph" },

	{ { INPUT_UP, 'k' }, REQUEST_UP, VIEW_ALL, "Up Down k j", NULL, "one row up or down" },
	{ { INPUT_DOWN, 'j' }, REQUEST_DOWN, VIEW_ALL, NULL, NULL, NULL },
	{ { INPUT_LEFT }, REQUEST_LEFT, VIEW_FLAME, "Left Right", NULL, "to the function beside" },
	{ { INPUT_RIGHT, 'l' }, REQUEST_RIGHT, VIEW_FLAME, NULL, NULL, NULL },
	{ { INPUT_PAGE_UP },
	  REQUEST_PAGE_UP,
	  VIEW_ALL & ~VIEW_FLAME,
	  "PgUp PgDn",
	  NULL,
	  "one page up or down" },
	{ { INPUT_PAGE_DOWN, ' ' }, REQUEST_PAGE_DOWN, VIEW_ALL & ~VIEW_FLAME, NULL, NULL, NULL },
	{ { INPUT_HOME, 'g' },
	  REQUEST_HOME,
	  VIEW_ALL,
	  "Home End g G",
	  NULL,
	  "to the first row, the last" },
	{ { INPUT_END, 'G' }, REQUEST_END, VIEW_ALL, NULL, NULL, NULL },

	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' },
	  REQUEST_OPEN,
	  VIEW_SORTED | VIEW_CALLERS,
	  "Enter Right",
	  NULL,
	  "callers and callees of it" },
	{ { INPUT_ENTER, '\n' },
	  REQUEST_OPEN,
	  VIEW_TREE,
	  "Enter",
	  NULL,
	  "callers and callees of it" },
	{ { INPUT_ENTER, '\n' },
	  REQUEST_OPEN,
	  VIEW_FLAME,
	  "Enter",
	  NULL,
	  "zoom: it fills the width" },
	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' },
	  REQUEST_OPEN,
	  VIEW_GROUPS,
	  "Enter Right",
	  NULL,
	  "show only that, everywhere" },
	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' },
	  REQUEST_OPEN,
	  VIEW_DOMAINS,
	  "Enter",
	  "Profile",
	  "profile the domain" },
	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' },
	  REQUEST_OPEN,
	  VIEW_CHOOSE,
	  "Enter",
	  "Open",
	  NULL },
	{ { INPUT_TAB },
	  REQUEST_SWITCH,
	  VIEW_CALLERS | VIEW_GROUPS,
	  "Tab",
	  NULL,
	  "to the other list" },
	{ { INPUT_TAB },
	  REQUEST_NEXT_GUEST,
	  VIEW_GUEST & ~(VIEW_CALLERS | VIEW_GROUPS),
	  "Tab",
	  NULL,
	  "to the next guest" },
	{ { '+', '=', 'e' }, REQUEST_UNFOLD, VIEW_TOP, "+ e", NULL, "show who calls it, or not" },
	{ { '+', '=', 'e', INPUT_RIGHT },
	  REQUEST_UNFOLD,
	  VIEW_TREE,
	  "+ e Right",
	  NULL,
	  "open or close it" },
	{ { 'l' }, REQUEST_UNFOLD, VIEW_TREE, NULL, NULL, NULL },
	{ { '-', 'c' }, REQUEST_FOLD, VIEW_TOP, "- c C", NULL, "hide that; C: all" },
	{ { '-', 'c', INPUT_LEFT },
	  REQUEST_FOLD,
	  VIEW_TREE,
	  "- c Left",
	  NULL,
	  "close it; or to its caller" },
	{ { 'E' }, REQUEST_UNFOLD_ALL, VIEW_TREE, "E C", NULL, "open all, close all" },
	{ { 'C' }, REQUEST_FOLD_ALL, VIEW_TOP | VIEW_TREE, NULL, NULL, NULL },
	{ { 'L' }, REQUEST_THRESHOLD, VIEW_TREE, "L", NULL, "least share to have a row" },

	{ { 'a' }, REQUEST_VIEW_TOP, VIEW_GUEST, "a", NULL, "all functions: the table" },
	{ { 'v' }, REQUEST_VIEW_VCPUS, VIEW_GUEST, "v", NULL, "virtual CPUs" },
	{ { 'p' }, REQUEST_VIEW_GROUPS, VIEW_GUEST, "p", NULL, "processes and modules" },
	{ { 'o' }, REQUEST_VIEW_OVERHEAD, VIEW_GUEST, "o", NULL, "overhead: what xtop takes" },
	{ { 'D' }, REQUEST_VIEW_DOMAINS, VIEW_GUEST, "D", NULL, "domains" },
	{ { 'b' }, REQUEST_BASELINE, VIEW_GUEST, "b B", NULL, "baseline: compare; forget" },
	{ { 'B' }, REQUEST_BASELINE_DROP, VIEW_GUEST, NULL, NULL, NULL },

	{ { '1' }, REQUEST_SORT_SELF, VIEW_TOP, "1 2 3 4", NULL, "by self, all, count, name" },
	{ { '2' }, REQUEST_SORT_CHILDREN, VIEW_TOP, NULL, NULL, NULL },
	{ { '3' }, REQUEST_SORT_SAMPLES, VIEW_TOP, NULL, NULL, NULL },
	{ { '4' }, REQUEST_SORT_SYMBOL, VIEW_TOP, NULL, NULL, NULL },
	{ { 'A' }, REQUEST_TOTALS, VIEW_GUEST, "A", NULL, "since start, or live" },
	{ { 'F' }, REQUEST_PERCENTS, VIEW_GUEST, "F", NULL, "% of all, or of filtered" },
	{ { 'K' }, REQUEST_HIDE_KERNEL, VIEW_GUEST, "K U", NULL, "hide kernel; user" },
	{ { 'U' }, REQUEST_HIDE_USER, VIEW_GUEST, NULL, NULL, NULL },
	{ { 'V' }, REQUEST_RAW_NAMES, VIEW_GUEST, "V", NULL, "raw names" },
	{ { 'H' }, REQUEST_HEADER, VIEW_GUEST, "H", NULL, "hide the lines on top" },

	{ { INPUT_F(8), 'Z' },
	  REQUEST_FREEZE,
	  VIEW_GUEST,
	  "F8 Z",
	  "Freeze",
	  "freeze; sampling goes on" },
	{ { '[' }, REQUEST_EARLIER, VIEW_GUEST, "[ ]", NULL, "earlier, later pictures" },
	{ { ']' }, REQUEST_LATER, VIEW_GUEST, NULL, NULL, NULL },
	{ { INPUT_F(9), 'w', 'P' },
	  REQUEST_WRITE,
	  VIEW_GUEST,
	  "F9 w P",
	  "Write",
	  "write a folded file" },
	{ { 'z' }, REQUEST_RESET, VIEW_GUEST, "z", NULL, "forget all, begin anew" },
	{ { 's' },
	  REQUEST_INTERVAL,
	  VIEW_GUEST | VIEW_DOMAINS,
	  "s",
	  NULL,
	  "seconds between refreshes" },
	{ { 'S' }, REQUEST_SAVE, VIEW_GUEST, "S", NULL, "save the settings" },
	{ { INPUT_ESCAPE },
	  REQUEST_BACK,
	  VIEW_TOP | VIEW_DOMAINS,
	  "Esc",
	  NULL,
	  "clear search, filter; back" },
	{ { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE },
	  REQUEST_BACK,
	  VIEW_CALLERS,
	  "Esc Left",
	  NULL,
	  "back the way you came" },
	{ { INPUT_ESCAPE, INPUT_BACKSPACE },
	  REQUEST_BACK,
	  VIEW_TREES,
	  "Esc",
	  NULL,
	  "clear the search; back" },
	{ { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE },
	  REQUEST_BACK,
	  VIEW_GROUPS | VIEW_VCPUS | VIEW_OVERHEAD | VIEW_BASELINE,
	  "Esc Left",
	  NULL,
	  "back" },
	{ { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE },
	  REQUEST_BACK,
	  VIEW_PASSING,
	  "Esc Left",
	  "Back",
	  "back" },
	{ { INPUT_F(1), 'h', '?', INPUT_ENTER }, REQUEST_BACK, VIEW_HELP, NULL, NULL, NULL },
	{ { INPUT_F(2) }, REQUEST_BACK, VIEW_CHOOSE, NULL, NULL, NULL },
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
