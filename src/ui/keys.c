/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys that views share, and look-ups among all keys. */
#include "config.h"

#include "ui/keys.h"

#include <assert.h>
#include <string.h>

#include "ui/view.h"
#include "ui/views/views.h"

/* clang-format off */
/* Sorted by section. */
static const struct key shared_keys[] = {
	{ KEYS_FIND, { INPUT_F(3), '/' }, .request = REQUEST_SEARCH, .views = VIEW_SEARCHED,
	  .names = "F3 /", .label = "Search", .help = "search; n N next, previous" },
	{ KEYS_FIND, { 'n' }, .request = REQUEST_SEARCH_NEXT, .views = VIEW_SEARCHED },
	{ KEYS_FIND, { 'N' }, .request = REQUEST_SEARCH_PREVIOUS, .views = VIEW_SEARCHED },
	{ KEYS_FIND, { INPUT_F(4), '\\' }, .request = REQUEST_FILTER, .views = VIEW_GUEST,
	  .names = "F4 \\", .label = "Filter", .help = "only stacks that match" },
	{ KEYS_TREE, { INPUT_F(6) }, .request = REQUEST_SORT_NEXT, .views = VIEW_COLUMNS,
	  .names = "F6 < >", .label = "Sort", .help = "sort by another column" },
	{ KEYS_TREE, { '<', ',' }, .request = REQUEST_SORT_LEFT, .views = VIEW_COLUMNS },
	{ KEYS_TREE, { '>', '.' }, .request = REQUEST_SORT_RIGHT, .views = VIEW_COLUMNS },
	{ KEYS_TREE, { INPUT_F(6), 'I' }, .request = REQUEST_INVERT, .views = VIEW_INVERTS,
	  .names = "F6 I", .label = "Invert", .help = "from the innermost out" },

	{ KEYS_MOVE, { INPUT_UP, 'k' }, .request = REQUEST_UP,
	  .names = "Up Down k j", .help = "one row up or down" },
	{ KEYS_MOVE, { INPUT_DOWN }, .request = REQUEST_DOWN },
	{ KEYS_MOVE, { 'j' }, .request = REQUEST_DOWN },
	{ KEYS_MOVE, { INPUT_WHEEL_UP }, .request = REQUEST_UP },
	{ KEYS_MOVE, { INPUT_WHEEL_DOWN }, .request = REQUEST_DOWN },
	{ KEYS_PAGE, { INPUT_PAGE_UP }, .request = REQUEST_PAGE_UP,
	  .names = "PgUp PgDn", .help = "one page up or down" },
	{ KEYS_PAGE, { INPUT_PAGE_DOWN, ' ' }, .request = REQUEST_PAGE_DOWN },
	{ KEYS_PAGE, { INPUT_HOME, 'g' }, .request = REQUEST_HOME,
	  .names = "Home End g G", .help = "to the first row, the last" },
	{ KEYS_PAGE, { INPUT_END, 'G' }, .request = REQUEST_END },

	{ KEYS_OPEN, { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, .request = REQUEST_OPEN,
	  .views = VIEW_OPENS_CALLERS,
	  .names = "Enter Right", .help = "callers and callees of it" },
	{ KEYS_SWITCH, { INPUT_TAB }, .request = REQUEST_NEXT_GUEST, .views = VIEW_GUEST,
	  .names = "Tab d", .help = "the next guest; against it" },
	{ KEYS_SWITCH, { 'd' }, .request = REQUEST_PAIR, .views = VIEW_GUEST },
	{ KEYS_COMPARE, { 'B' }, .request = REQUEST_BASELINE_DROP, .views = VIEW_GUEST },

	{ KEYS_SHOW, { 'A' }, .request = REQUEST_TOTALS, .views = VIEW_GUEST,
	  .names = "A", .help = "since start, or live" },
	{ KEYS_SHOW, { 'F' }, .request = REQUEST_PERCENTS, .views = VIEW_GUEST,
	  .names = "F $", .help = "% of filtered; next value" },
	{ KEYS_SHOW, { '$' }, .request = REQUEST_VALUE, .views = VIEW_GUEST },
	{ KEYS_SHOW, { 'K' }, .request = REQUEST_HIDE_KERNEL, .views = VIEW_GUEST,
	  .names = "K U", .help = "hide kernel; user" },
	{ KEYS_SHOW, { 'U' }, .request = REQUEST_HIDE_USER, .views = VIEW_GUEST },
	{ KEYS_SHOW, { 'x' }, .request = REQUEST_PASS_THROUGH, .views = VIEW_FOLDS,
	  .names = "x", .help = "fold pass-through away" },
	{ KEYS_SHOW, { 'V' }, .request = REQUEST_RAW_NAMES, .views = VIEW_GUEST,
	  .names = "V Y", .help = "raw names; interpreters" },
	{ KEYS_SHOW, { 'Y' }, .request = REQUEST_INTERPRETERS, .views = VIEW_GUEST },
	{ KEYS_SHOW, { 'M' }, .request = REQUEST_SOURCES, .views = VIEW_SOURCES,
	  .names = "M X", .help = "file:line; inlined or not" },
	{ KEYS_SHOW, { 'X' }, .request = REQUEST_INLINED, .views = VIEW_SOURCES },
	{ KEYS_DETAIL, { 'i' }, .request = REQUEST_NAMING, .views = VIEW_FUNCTIONS,
	  .names = "i m", .help = "what names it; its code" },
	{ KEYS_DETAIL, { 'm' }, .request = REQUEST_ANNOTATE, .views = VIEW_FUNCTIONS },
	{ KEYS_DETAIL, { 'H' }, .request = REQUEST_HEADER, .views = VIEW_GUEST,
	  .names = "H", .help = "hide the lines on top" },

	{ KEYS_PICTURE, { INPUT_F(8), 'Z' }, .request = REQUEST_FREEZE, .views = VIEW_GUEST,
	  .names = "F8 Z", .label = "Freeze", .help = "freeze; sampling goes on" },
	{ KEYS_PICTURE, { '[' }, .request = REQUEST_EARLIER, .views = VIEW_GUEST,
	  .names = "[ ] { }", .help = "earlier, later; mark range" },
	{ KEYS_PICTURE, { ']' }, .request = REQUEST_LATER, .views = VIEW_GUEST },
	{ KEYS_PICTURE, { '{' }, .request = REQUEST_RANGE_BEGIN, .views = VIEW_GUEST },
	{ KEYS_PICTURE, { '}' }, .request = REQUEST_RANGE_END, .views = VIEW_GUEST },
	{ KEYS_PICTURE, { INPUT_F(9), 'w', 'P' }, .request = REQUEST_WRITE, .views = VIEW_GUEST,
	  .names = "F9 w P", .label = "Write", .help = "write a profile" },
	{ KEYS_PICTURE, { 'z' }, .request = REQUEST_RESET, .views = VIEW_GUEST,
	  .names = "z S", .help = "begin anew; save settings" },
	{ KEYS_PICTURE, { 's' }, .request = REQUEST_INTERVAL, .views = VIEW_GUEST,
	  .names = "s", .help = "seconds between refreshes" },
	{ KEYS_PICTURE, { 'S' }, .request = REQUEST_SAVE, .views = VIEW_GUEST },
	{ KEYS_BACK, { INPUT_ESCAPE }, .request = REQUEST_BACK, .views = VIEW_BACK_BY_ESC,
	  .names = "Esc", .help = "clear search, range; back" },
	{ KEYS_BACK, { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE }, .request = REQUEST_BACK,
	  .views = VIEW_STACKED,
	  .names = "Esc Left", .help = "back the way you came" },
	{ KEYS_BACK, { INPUT_ESCAPE, INPUT_BACKSPACE }, .request = REQUEST_BACK,
	  .views = VIEW_BACK_BY_BACKSPACE,
	  .names = "Esc", .help = "clear the search; back" },
	{ KEYS_BACK, { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE }, .request = REQUEST_BACK,
	  .views = VIEW_BACK_BY_LEFT,
	  .names = "Esc Left", .help = "back" },
	{ KEYS_BACK, { INPUT_ESCAPE, INPUT_LEFT, INPUT_BACKSPACE }, .request = REQUEST_BACK,
	  .views = VIEW_PASSING,
	  .names = "Esc Left", .label = "Back", .help = "back" },
	{ KEYS_BACK, { INPUT_CTRL_L }, .request = REQUEST_REDRAW,
	  .names = "Ctrl-L", .help = "draw the screen anew" },
	{ KEYS_BACK, { 'q' }, .request = REQUEST_BACK_OR_QUIT,
	  .names = "q", .help = "back; at the top: quit" },
	{ KEYS_BACK, { INPUT_F(10), INPUT_CTRL_C }, .request = REQUEST_QUIT,
	  .names = "F10 Ctrl-C", .label = "Quit", .help = "quit" },
};
/* clang-format on */
#define N_SHARED_KEYS (sizeof(shared_keys) / sizeof(shared_keys[0]))

/* --- all keys of a view ----------------------------------------------------------------------- */

static bool key_has(const struct key *key, uint32_t code)
{
	for (size_t i = 0; i < KEY_MAX_CODES; i++)
		if (key->codes[i] == code)
			return true;
	return false;
}

/* Whether KEY, a shared one or one that opens a view, works in VIEW. */
static bool key_works(const struct key *key, const struct view_ops *view)
{
	if (!key->codes[0] || (key->views && !(key->views & view->traits)))
		return false;
	for (size_t i = 0; i < view->n_keys; i++)
		if (key_has(&view->keys[i], key->codes[0]))
			return false;
	return true;
}

static size_t keys_list_section(const struct view_ops *view, enum key_section section,
				const struct key **list)
{
	const struct key *key;
	size_t n = 0;

	for (size_t i = 0; i < n_all_views; i++) {
		key = &all_views[i]->opener;
		if (key->section == section && key_works(key, view))
			list[n++] = key;
	}
	for (size_t i = 0; i < N_SHARED_KEYS; i++) {
		key = &shared_keys[i];
		if (key->section == section && key_works(key, view))
			list[n++] = key;
	}
	for (size_t i = 0; i < view->n_keys; i++)
		if (view->keys[i].section == section)
			list[n++] = &view->keys[i];
	return n;
}

size_t keys_list(const struct view_ops *view, const struct key *list[KEYS_MAX])
{
	size_t n = 0;

	assert(N_SHARED_KEYS + n_all_views + view->n_keys <= KEYS_MAX);
	for (unsigned section = 0; section < N_KEY_SECTIONS; section++)
		n += keys_list_section(view, section, list + n);
	return n;
}

struct request keys_find(uint32_t code, const struct view_ops *view)
{
	const struct key *list[KEYS_MAX];
	size_t n = code ? keys_list(view, list) : 0;

	for (size_t i = 0; i < n; i++)
		if (key_has(list[i], code))
			return (struct request){ .code = list[i]->request,
						 .view = list[i]->opens };
	return request_of(REQUEST_NONE);
}

/* --- the bottom line -------------------------------------------------------------------------- */

/* The bottom line shows the first name only: "F10" of "F10 Ctrl-C". */
static struct key_place key_place(const struct key *key, int column)
{
	int name_width = (int)strcspn(key->names, " ");

	return (struct key_place){ key, column, name_width, name_width + (int)strlen(key->label) };
}

/* The last key is the way out. It always has room; other keys are left out for it. */
bool keys_bottom(const struct view_ops *view, int width, size_t index, struct key_place *placep)
{
	const struct key *list[KEYS_MAX];
	size_t n = keys_list(view, list), n_labelled = 0;
	int column = 0, reserved;

	for (size_t i = 0; i < n; i++)
		if (list[i]->label)
			list[n_labelled++] = list[i];
	reserved = n_labelled ? key_place(list[n_labelled - 1], 0).width : 0;
	for (size_t i = 0; i < n_labelled; i++) {
		*placep = key_place(list[i], column);
		if (column + placep->width + (i + 1 == n_labelled ? 0 : 1 + reserved) > width)
			continue;
		column += placep->width + 1;
		if (!index--)
			return true;
	}
	return false;
}
