/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key table is unambiguous; the list keeps its cursor; the prompt edits. */
#include "config.h"

#include "ui/keys.h"

#include "tests/support/tap.h"
#include "ui/list.h"
#include "ui/prompt.h"
#include "ui/view.h"
#include "ui/views/views.h"

extern const struct view_ops help_ops, tree_ops;

static bool keys_share_code(const struct key *one, const struct key *other, uint32_t *codep)
{
	for (size_t i = 0; i < KEY_MAX_CODES; i++)
		for (size_t j = 0; j < KEY_MAX_CODES; j++)
			if (one->codes[i] && one->codes[i] == other->codes[j]) {
				*codep = one->codes[i];
				return true;
			}
	return false;
}

/* A view's own key comes before others in one case only: it replaces a row as a whole. */
static void test_view_keys(const struct view_ops *view)
{
	const struct key *list[KEYS_MAX];
	size_t n = keys_list(view, list);
	uint32_t code;

	for (size_t i = 0; i < n; i++) {
		if ((list[i]->label || list[i]->help) && !list[i]->names)
			check(false, "%s: a key is shown and has no name", view->name);
		if (i && list[i]->section < list[i - 1]->section)
			check(false, "%s: keys are not in the order of sections", view->name);
		for (size_t j = i + 1; j < n; j++)
			if (keys_share_code(list[i], list[j], &code))
				check(false, "%s: key %u makes two requests", view->name, code);
	}
	check(n > 0, "%s: the view has %zu keys", view->name, n);
}

static void test_table(void)
{
	for (size_t i = 0; i < n_all_views; i++)
		test_view_keys(all_views[i]);
	check(keys_find('Z', &top_ops).code == REQUEST_FREEZE, "the key Z freezes the picture");
	check(keys_find('z', &top_ops).code == REQUEST_RESET, "the key z resets the profile");
	check(keys_find('+', &callers_ops).code == REQUEST_NONE,
	      "+ does nothing in callers and callees");
	check(keys_find(0, &top_ops).code == REQUEST_NONE, "code 0 is no key");
}

/* The manual's section "Keys of htop and perf": keys that people have in their fingers. */
static void test_known_keys(void)
{
	static const struct {
		uint32_t code;
		const struct view_ops *view;
		int request;
		const struct view_ops *opens;
	} known[] = {
		{ INPUT_F(1), &top_ops, REQUEST_VIEW, &help_ops },
		{ 'h', &top_ops, REQUEST_VIEW, &help_ops },
		{ '?', &top_ops, REQUEST_VIEW, &help_ops },
		{ INPUT_HOME, &top_ops, REQUEST_HOME, NULL },
		{ INPUT_WHEEL_DOWN, &top_ops, REQUEST_DOWN, NULL },
		{ INPUT_ENTER, &top_ops, REQUEST_OPEN, NULL },
		{ INPUT_F(3), &top_ops, REQUEST_SEARCH, NULL },
		{ '/', &top_ops, REQUEST_SEARCH, NULL },
		{ INPUT_F(4), &top_ops, REQUEST_FILTER, NULL },
		{ '\\', &top_ops, REQUEST_FILTER, NULL },
		{ INPUT_F(5), &top_ops, REQUEST_VIEW, &tree_ops },
		{ 't', &top_ops, REQUEST_VIEW, &tree_ops },
		{ INPUT_F(6), &top_ops, REQUEST_SORT_NEXT, NULL },
		{ '<', &top_ops, REQUEST_SORT_LEFT, NULL },
		{ '>', &top_ops, REQUEST_SORT_RIGHT, NULL },
		{ '+', &top_ops, REQUEST_UNFOLD, NULL },
		{ '-', &top_ops, REQUEST_FOLD, NULL },
		{ 'e', &top_ops, REQUEST_UNFOLD, NULL },
		{ 'C', &top_ops, REQUEST_FOLD_ALL, NULL },
		{ 'E', &tree_ops, REQUEST_UNFOLD_ALL, NULL },
		{ '*', &tree_ops, REQUEST_UNFOLD_ALL, NULL },
		{ 'C', &tree_ops, REQUEST_FOLD_ALL, NULL },
		{ 'L', &tree_ops, REQUEST_THRESHOLD, NULL },
		{ 'Z', &top_ops, REQUEST_FREEZE, NULL },
		{ 'z', &top_ops, REQUEST_RESET, NULL },
		{ 'K', &top_ops, REQUEST_HIDE_KERNEL, NULL },
		{ 'U', &top_ops, REQUEST_HIDE_USER, NULL },
		{ 'F', &top_ops, REQUEST_PERCENTS, NULL },
		{ 'V', &top_ops, REQUEST_RAW_NAMES, NULL },
		{ 'P', &top_ops, REQUEST_WRITE, NULL },
		{ INPUT_F(10), &tree_ops, REQUEST_QUIT, NULL },
		{ 'q', &top_ops, REQUEST_BACK_OR_QUIT, NULL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct request request = keys_find(known[i].code, known[i].view);

		check((int)request.code == known[i].request && request.view == known[i].opens,
		      "key %#x in %s", known[i].code, known[i].view->name);
	}
}

static size_t help_lines(const struct view_ops *view, const struct key *list[KEYS_MAX])
{
	size_t n_keys = keys_list(view, list), n = 0;

	for (size_t i = 0; i < n_keys; i++)
		if (list[i]->help)
			list[n++] = list[i];
	return n;
}

/*
 * The help of each view fits on 80x24: 19 lines, or two columns of 19 lines with 26 cells of text.
 */
static void test_help_fits(void)
{
	for (size_t i = 0; i < n_all_views; i++) {
		const struct key *list[KEYS_MAX];
		size_t n = help_lines(all_views[i], list);

		for (size_t j = 0; j < n && n > 19; j++)
			if (strlen(list[j]->help) > 26 || strlen(list[j]->names) > 12)
				check(false, "a line of help is too long: %s, %s", list[j]->names,
				      list[j]->help);
		check(n <= 38, "%s: %zu lines of help", all_views[i]->name, n);
	}
}

/* The bottom line of 80 columns has room for F1 to F10. */
static void test_bottom_names_all(void)
{
	struct key_place place;

	for (uint32_t n = 0; n < 10; n++)
		check(keys_bottom(&top_ops, 80, n, &place) && place.key->codes[0] == INPUT_F(n + 1),
		      "F%u is on the bottom line", n + 1);
}

static void test_bottom(void)
{
	struct key_place place;
	size_t n = 0;

	for (int width = 8; width < 100; width++) {
		bool quit = false;
		int end = 0;

		for (size_t i = 0; keys_bottom(&top_ops, width, i, &place); i++) {
			quit = quit || place.key->request == REQUEST_QUIT;
			if (place.column < end || place.column + place.width > width)
				check(false, "%d columns: entry %zu overlaps", width, i);
			end = place.column + place.width;
			n++;
		}
		if (!quit)
			check(false, "%d columns: no key to quit", width);
	}
	check(n > 300, "%zu keys stand in order, quit always among them", n);
}

#define SELECTED 4711

/* Rows of which the one at *CONTEXT has the key SELECTED. */
static uint64_t row_key(const void *context, size_t row)
{
	return row == *(const size_t *)context ? SELECTED : row;
}

/* N rows. The selected one moves from index 5, on line 2, to index TO: where is it drawn? */
static size_t line_after_move(size_t n, size_t to, size_t page)
{
	struct list list = { .n = n, .selected = 5, .top = 3, .moved = true, .key = SELECTED };

	list_show(&list, page);
	list_update(&list, n, row_key, &to);
	list_show(&list, page);
	check(list.selected == to, "the cursor follows the row to %zu", to);
	return list.selected - list.top;
}

static void test_list(void)
{
	struct list list = { .n = 0 };

	check_u64(line_after_move(100, 50, 10), 2, "the row keeps its line when it falls to 50");
	check_u64(line_after_move(100, 2, 10), 2, "the row keeps its line when it rises to 2");
	check_u64(line_after_move(100, 1, 10), 1,
		  "the row is drawn higher when there are too few rows above");
	check_u64(line_after_move(100, 99, 10), 9,
		  "the row is drawn lower when there are too few rows below");
	list_update(&list, 0, NULL, NULL);
	list_show(&list, 10);
	for (enum request_code request = REQUEST_UP; request <= REQUEST_END; request++)
		list_request(&list, request);
	check_u64(list.selected, 0, "the cursor stays at 0 in an empty list");
	list = (struct list){ .n = 0 };
	list_update(&list, 100, NULL, NULL);
	list_show(&list, 10);
	list_request(&list, REQUEST_PAGE_DOWN);
	list_show(&list, 10);
	check(list.selected == 9 && list.top == 9, "the cursor after a page down: %zu, top %zu",
	      list.selected, list.top);
	list_request(&list, REQUEST_END);
	list_show(&list, 10);
	check(list.selected == 99 && list.top == 90, "the cursor at the end: %zu, top %zu",
	      list.selected, list.top);
	list_update(&list, 5, NULL, NULL);
	list_show(&list, 10);
	check(list.selected == 4 && list.top == 0,
	      "the cursor stays in the list when rows go: %zu, top %zu", list.selected, list.top);
	list_request(&list, REQUEST_HOME);
	list_update(&list, 100, NULL, NULL);
	check_u64(list.selected, 0, "after Home the cursor stays on the first row");
}

static void test_prompt(void)
{
	struct prompt prompt;

	prompt_start(&prompt, "Name:", "ab");
	prompt_handle(&prompt, 0x540d);
	prompt_handle(&prompt, INPUT_LEFT);
	prompt_handle(&prompt, 'x');
	check_string(prompt.text, "abx名", "x is inserted before a wide character");
	prompt_handle(&prompt, INPUT_DELETE);
	check_string(prompt.text, "abx", "the wide character is deleted as a whole");
	prompt_handle(&prompt, INPUT_HOME);
	check(prompt_handle(&prompt, INPUT_BACKSPACE) == PROMPT_GOES_ON,
	      "there is nothing to delete on the left");
	prompt_handle(&prompt, 0xe9);
	prompt_handle(&prompt, INPUT_END);
	prompt_handle(&prompt, INPUT_BACKSPACE);
	check_string(prompt.text, "éab", "é is inserted and x deleted");
	check(prompt_handle(&prompt, INPUT_ENTER) == PROMPT_DONE, "Enter ends the prompt");
	check(prompt_handle(&prompt, INPUT_ESCAPE) == PROMPT_CANCELLED, "Esc cancels the prompt");
	check(prompt_handle(&prompt, 27 + 1) == PROMPT_GOES_ON, "control characters do not get in");
	for (int i = 0; i < 2 * PROMPT_MAX_BYTES; i++)
		prompt_handle(&prompt, 0x1f600);
	check(prompt.length < PROMPT_MAX_BYTES, "a prompt's text is bounded: %zu bytes",
	      prompt.length);
}

int main(void)
{
	test_table();
	test_known_keys();
	test_help_fits();
	test_bottom_names_all();
	test_bottom();
	test_list();
	test_prompt();
	return tap_done();
}
