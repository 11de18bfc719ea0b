/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key table; see keys.h. The help and the bottom line list keys in the order of the table. */
#include "config.h"

#include "ui/keys.h"

#include <string.h>

/* clang-format off */
const struct key keys[] = {
	{ { INPUT_F(1), 'h', '?' }, REQUEST_VIEW, VIEW_HELP, VIEW_ALL & ~VIEW_HELP,
	  "F1 h ?", "Help", "this help" },
	{ { INPUT_F(2) }, REQUEST_VIEW, VIEW_CHOOSE, VIEW_GUEST,
	  "F2", "View", "choose a view" },
	{ { INPUT_F(3), '/' }, REQUEST_SEARCH, 0, VIEW_SEARCHED | VIEW_CRASH,
	  "F3 /", "Search", "search; n N next, previous" },
	{ { 'n' }, REQUEST_SEARCH_NEXT, 0, VIEW_SEARCHED | VIEW_CRASH, NULL, NULL, NULL },
	{ { 'N' }, REQUEST_SEARCH_PREVIOUS, 0, VIEW_SEARCHED | VIEW_CRASH, NULL, NULL, NULL },
	{ { INPUT_F(4), '\\' }, REQUEST_FILTER, 0, VIEW_GUEST,
	  "F4 \\", "Filter", "only stacks that match" },
	{ { INPUT_F(5), 't' }, REQUEST_VIEW, VIEW_TREE, VIEW_GUEST,
	  "F5 t", "Tree", "call tree" },
	{ { INPUT_F(6) }, REQUEST_SORT_NEXT, 0, VIEW_SORTED | VIEW_DOMAINS | VIEW_WAITS,
	  "F6 < >", "Sort", "sort by another column" },
	{ { '<', ',' }, REQUEST_SORT_LEFT, 0, VIEW_SORTED | VIEW_DOMAINS | VIEW_WAITS,
	  NULL, NULL, NULL },
	{ { '>', '.' }, REQUEST_SORT_RIGHT, 0, VIEW_SORTED | VIEW_DOMAINS | VIEW_WAITS,
	  NULL, NULL, NULL },
	{ { INPUT_F(6), 'I' }, REQUEST_INVERT, 0, VIEW_TREES,
	  "F6 I", "Invert", "from the innermost out" },
	{ { INPUT_F(7), 'f' }, REQUEST_VIEW, VIEW_FLAME, VIEW_GUEST,
	  "F7 f", "Flame", "flame graph" },

	{ { INPUT_UP }, REQUEST_UP, 0, VIEW_ANNOTATE,
	  "Up Down", NULL, "one row up or down" },
	{ { INPUT_UP, 'k' }, REQUEST_UP, 0, VIEW_ALL & ~VIEW_ANNOTATE,
	  "Up Down k j", NULL, "one row up or down" },
	{ { INPUT_DOWN }, REQUEST_DOWN, 0, VIEW_ALL, NULL, NULL, NULL },
	{ { 'j' }, REQUEST_DOWN, 0, VIEW_ALL & ~VIEW_ANNOTATE, NULL, NULL, NULL },
	{ { INPUT_LEFT }, REQUEST_LEFT, 0, VIEW_CRASH,
	  "Left Right", NULL, "the rest of long lines" },
	{ { INPUT_RIGHT, 'l' }, REQUEST_RIGHT, 0, VIEW_CRASH, NULL, NULL, NULL },
	{ { INPUT_LEFT }, REQUEST_LEFT, 0, VIEW_FLAME,
	  "Left Right", NULL, "to the function beside" },
	{ { INPUT_RIGHT, 'l' }, REQUEST_RIGHT, 0, VIEW_FLAME, NULL, NULL, NULL },
	{ { INPUT_PAGE_UP }, REQUEST_PAGE_UP, 0, VIEW_ALL & ~VIEW_FLAME,
	  "PgUp PgDn", NULL, "one page up or down" },
	{ { INPUT_PAGE_DOWN, ' ' }, REQUEST_PAGE_DOWN, 0, VIEW_ALL & ~VIEW_FLAME,
	  NULL, NULL, NULL },
	{ { INPUT_HOME, 'g' }, REQUEST_HOME, 0, VIEW_ALL,
	  "Home End g G", NULL, "to the first row, the last" },
	{ { INPUT_END, 'G' }, REQUEST_END, 0, VIEW_ALL, NULL, NULL, NULL },

	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, REQUEST_OPEN, 0,
	  VIEW_SORTED | VIEW_CALLERS | VIEW_WAITS | VIEW_LOCKS,
	  "Enter Right", NULL, "callers and callees of it" },
	{ { INPUT_ENTER, '\n' }, REQUEST_OPEN, 0, VIEW_TREE,
	  "Enter", NULL, "callers and callees of it" },
	{ { INPUT_ENTER, '\n' }, REQUEST_OPEN, 0, VIEW_FLAME,
	  "Enter", NULL, "zoom: it fills the width" },
	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, REQUEST_OPEN, 0, VIEW_GROUPS,
	  "Enter Right", NULL, "show only that, everywhere" },
	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, REQUEST_OPEN, 0, VIEW_DOMAINS,
	  "Enter", "Profile", "profile the domain" },
	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, REQUEST_OPEN, 0, VIEW_CHOOSE,
	  "Enter", "Open", NULL },
	{ { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, REQUEST_OPEN, 0, VIEW_ANNOTATE,
	  "Enter Right", "Follow", "follow the call or jump" },
	{ { 'H' }, REQUEST_HOTTEST, 0, VIEW_ANNOTATE,
	  "H", "Hottest", "to the hottest instruction" },
	{ { 'j' }, REQUEST_JUMPS, 0, VIEW_ANNOTATE,
	  "j", "Jumps", "jumps as arrows, or not" },
	{ { 's' }, REQUEST_SOURCE_LINES, 0, VIEW_ANNOTATE,
	  "s", "Source", "source lines, or not" },
	{ { 'I' }, REQUEST_SYNTAX, 0, VIEW_ANNOTATE,
	  "I", "Intel", "Intel's syntax, or AT&T's" },
	{ { 'r' }, REQUEST_CODE_ADDRESSES, 0, VIEW_ANNOTATE,
	  "r", "Addresses", "relative, or absolute" },
	{ { INPUT_TAB }, REQUEST_SWITCH, 0, VIEW_CALLERS | VIEW_GROUPS,
	  "Tab", NULL, "to the other list" },
	{ { INPUT_TAB }, REQUEST_SWITCH, 0, VIEW_CRASH,
	  "Tab", "Next", "to the vCPUs, the tasks, the log" },
	{ { INPUT_TAB }, REQUEST_NEXT_GUEST, 0, VIEW_GUEST & ~(VIEW_CALLERS | VIEW_GROUPS),
	  "Tab d", NULL, "the next guest; against it" },
	{ { 'd' }, REQUEST_PAIR, 0, VIEW_GUEST & ~(VIEW_CALLERS | VIEW_GROUPS), NULL, NULL, NULL },
	{ { 'd' }, REQUEST_PAIR, 0, VIEW_CALLERS | VIEW_GROUPS,
	  "d", NULL, "against the next guest" },
	{ { '+', '=', 'e' }, REQUEST_UNFOLD, 0, VIEW_TOP,
	  "+ e", NULL, "show who calls it, or not" },
	{ { '+', '=', 'e' }, REQUEST_UNFOLD, 0, VIEW_LOCKS,
	  "+ e", NULL, "the task's stack, or not" },
	{ { '+', '=', 'e', INPUT_RIGHT }, REQUEST_UNFOLD, 0, VIEW_TREE,
	  "+ e Right", NULL, "open or close it" },
	{ { 'l' }, REQUEST_UNFOLD, 0, VIEW_TREE, NULL, NULL, NULL },
	{ { '-', 'c' }, REQUEST_FOLD, 0, VIEW_TOP,
	  "- c C", NULL, "hide that; C: all" },
	{ { '-', 'c', INPUT_LEFT }, REQUEST_FOLD, 0, VIEW_TREE,
	  "- c Left", NULL, "close it; or to its caller" },
	{ { 'c' }, REQUEST_CGROUPS, 0, VIEW_GROUPS,
	  "c", NULL, "by container, unit, or not" },
	{ { 'E' }, REQUEST_UNFOLD_ALL, 0, VIEW_TREE,
	  "E C", NULL, "open all, close all" },
	{ { 'C' }, REQUEST_FOLD_ALL, 0, VIEW_TOP | VIEW_TREE, NULL, NULL, NULL },
	{ { 'L' }, REQUEST_THRESHOLD, 0, VIEW_TREE,
	  "L", NULL, "least share to have a row" },

	{ { 'a' }, REQUEST_VIEW, VIEW_TOP, VIEW_GUEST,
	  "a", NULL, "all functions: the table" },
	{ { 'v' }, REQUEST_VIEW, VIEW_VCPUS, VIEW_GUEST & ~VIEW_TREE,
	  "v p W L", NULL, "vCPUs; tasks; waits; locks" },
	{ { 'v' }, REQUEST_VIEW, VIEW_VCPUS, VIEW_TREE,
	  "v p W", NULL, "vCPUs; processes; waits" },
	{ { 'p' }, REQUEST_VIEW, VIEW_GROUPS, VIEW_GUEST, NULL, NULL, NULL },
	{ { 'W' }, REQUEST_VIEW, VIEW_WAITS, VIEW_GUEST, NULL, NULL, NULL },
	{ { 'L' }, REQUEST_VIEW, VIEW_LOCKS, VIEW_GUEST & ~VIEW_TREE, NULL, NULL, NULL },
	{ { 'I' }, REQUEST_HIDE_IDLE, 0, VIEW_WAITS,
	  "I", NULL, "hide who waits for work" },
	{ { 'o' }, REQUEST_VIEW, VIEW_OVERHEAD, VIEW_GUEST,
	  "o", NULL, "overhead: what xtop takes" },
	{ { 'D' }, REQUEST_VIEW, VIEW_DOMAINS, VIEW_GUEST,
	  "D R", NULL, "domains; report of --crash" },
	{ { 'R' }, REQUEST_VIEW, VIEW_CRASH, VIEW_GUEST, NULL, NULL, NULL },
	{ { 'b' }, REQUEST_VIEW, VIEW_BASELINE, VIEW_GUEST,
	  "b B", NULL, "baseline: compare; forget" },
	{ { 'B' }, REQUEST_BASELINE_DROP, 0, VIEW_GUEST, NULL, NULL, NULL },

	{ { '1' }, REQUEST_SORT_SELF, 0, VIEW_TOP,
	  "1 2 3 4", NULL, "by self, all, count, name" },
	{ { '2' }, REQUEST_SORT_CHILDREN, 0, VIEW_TOP, NULL, NULL, NULL },
	{ { '3' }, REQUEST_SORT_SAMPLES, 0, VIEW_TOP, NULL, NULL, NULL },
	{ { '4' }, REQUEST_SORT_SYMBOL, 0, VIEW_TOP, NULL, NULL, NULL },
	{ { 'A' }, REQUEST_TOTALS, 0, VIEW_GUEST,
	  "A", NULL, "since start, or live" },
	{ { 'F' }, REQUEST_PERCENTS, 0, VIEW_GUEST,
	  "F", NULL, "% of all, or of filtered" },
	{ { 'K' }, REQUEST_HIDE_KERNEL, 0, VIEW_GUEST,
	  "K U", NULL, "hide kernel; user" },
	{ { 'U' }, REQUEST_HIDE_USER, 0, VIEW_GUEST, NULL, NULL, NULL },
	{ { 'x' }, REQUEST_PASS_THROUGH, 0, VIEW_TOP | VIEW_TREES,
	  "x", NULL, "fold pass-through away" },
	{ { 'V' }, REQUEST_RAW_NAMES, 0, VIEW_GUEST,
	  "V", NULL, "raw names" },
	{ { 'M' }, REQUEST_SOURCES, 0, VIEW_CALLERS | VIEW_TREE,
	  "M X", NULL, "file:line; inlined or not" },
	{ { 'X' }, REQUEST_INLINED, 0, VIEW_CALLERS | VIEW_TREE, NULL, NULL, NULL },
	{ { 'X' }, REQUEST_INLINED, 0, VIEW_TREES & ~VIEW_TREE,
	  "X", NULL, "inlined functions, or not" },
	{ { 'i' }, REQUEST_NAMING, 0, VIEW_FUNCTIONS,
	  "i m", NULL, "what names it; its code" },
	{ { 'm' }, REQUEST_ANNOTATE, 0, VIEW_FUNCTIONS, NULL, NULL, NULL },
	{ { 'H' }, REQUEST_HEADER, 0, VIEW_GUEST & ~VIEW_ANNOTATE,
	  "H", NULL, "hide the lines on top" },

	{ { INPUT_F(8), 'Z' }, REQUEST_FREEZE, 0, VIEW_GUEST,
	  "F8 Z", "Freeze", "freeze; sampling goes on" },
	{ { '[' }, REQUEST_EARLIER, 0, VIEW_GUEST,
	  "[ ] { }", NULL, "earlier, later; mark range" },
	{ { ']' }, REQUEST_LATER, 0, VIEW_GUEST, NULL, NULL, NULL },
	{ { '{' }, REQUEST_RANGE_BEGIN, 0, VIEW_GUEST, NULL, NULL, NULL },
	{ { '}' }, REQUEST_RANGE_END, 0, VIEW_GUEST, NULL, NULL, NULL },
	{ { INPUT_F(9), 'w', 'P' }, REQUEST_WRITE, 0, VIEW_GUEST,
	  "F9 w P", "Write", "write a profile" },
	{ { 'z' }, REQUEST_RESET, 0, VIEW_GUEST,
	  "z S", NULL, "begin anew; save settings" },
	{ { 's' }, REQUEST_INTERVAL, 0, (VIEW_GUEST & ~VIEW_ANNOTATE) | VIEW_DOMAINS,
	  "s", NULL, "seconds between refreshes" },
	{ { 'S' }, REQUEST_SAVE, 0, VIEW_GUEST, NULL, NULL, NULL },
	{ { INPUT_ESCAPE }, REQUEST_BACK, 0, VIEW_TOP | VIEW_DOMAINS | VIEW_WAITS | VIEW_LOCKS,
	  "Esc", NULL, "clear search, range; back" },
	{ { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE }, REQUEST_BACK, 0,
	  VIEW_CALLERS | VIEW_ANNOTATE,
	  "Esc Left", NULL, "back the way you came" },
	{ { INPUT_ESCAPE, INPUT_BACKSPACE }, REQUEST_BACK, 0, VIEW_CRASH,
	  "Esc", NULL, "clear the search; back" },
	{ { INPUT_ESCAPE, INPUT_BACKSPACE }, REQUEST_BACK, 0, VIEW_TREES,
	  "Esc", NULL, "clear the search; back" },
	{ { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE }, REQUEST_BACK, 0,
	  VIEW_GROUPS | VIEW_VCPUS | VIEW_OVERHEAD | VIEW_BASELINE,
	  "Esc Left", NULL, "back" },
	{ { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE }, REQUEST_BACK, 0, VIEW_PASSING,
	  "Esc Left", "Back", "back" },
	{ { INPUT_F(1), 'h', '?', INPUT_ENTER }, REQUEST_BACK, 0, VIEW_HELP, NULL, NULL, NULL },
	{ { 'i', INPUT_ENTER }, REQUEST_BACK, 0, VIEW_NAMING, NULL, NULL, NULL },
	{ { INPUT_F(2) }, REQUEST_BACK, 0, VIEW_CHOOSE, NULL, NULL, NULL },
	{ { INPUT_CTRL_L }, REQUEST_REDRAW, 0, VIEW_ALL,
	  "Ctrl-L", NULL, "draw the screen anew" },
	{ { 'q' }, REQUEST_BACK_OR_QUIT, 0, VIEW_ALL,
	  "q", NULL, "back; at the top: quit" },
	{ { INPUT_F(10), INPUT_CTRL_C }, REQUEST_QUIT, 0, VIEW_ALL,
	  "F10 Ctrl-C", "Quit", "quit" },
	{ { INPUT_WHEEL_UP }, REQUEST_UP, 0, VIEW_ALL, NULL, NULL, NULL },
	{ { INPUT_WHEEL_DOWN }, REQUEST_DOWN, 0, VIEW_ALL, NULL, NULL, NULL },
};
/* clang-format on */

const size_t n_keys = sizeof(keys) / sizeof(keys[0]);

struct request keys_find(uint32_t code, unsigned view)
{
	for (size_t i = 0; i < n_keys && code; i++)
		for (size_t j = 0; j < KEY_MAX_CODES; j++)
			if (keys[i].codes[j] == code && (keys[i].views & view))
				return (struct request){ .code = keys[i].request,
							 .view = keys[i].opens };
	return request_of(REQUEST_NONE);
}

/* The bottom line shows the first name only: "F10" of "F10 Ctrl-C". */
static int key_name_width(const struct key *key)
{
	return (int)strcspn(key->names, " ");
}

/* The key's name and label, from COLUMN on. */
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

/* The last key is the way out. It always has room; other keys are left out for it. */
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
