/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cursor in rows that change their order. */
#include "config.h"

#include "ui/list.h"

static uint64_t list_key_at(const struct list *list, size_t row)
{
	return list->key_of ? list->key_of(list->context, row) : row;
}

static size_t list_clamp(const struct list *list, size_t row)
{
	return !list->n ? 0 : row < list->n ? row : list->n - 1;
}

void list_place(struct list *list, size_t row)
{
	list->selected = list_clamp(list, row);
	if (list->n)
		list->key = list_key_at(list, list->selected);
}

void list_select(struct list *list, size_t row)
{
	list_place(list, row);
	list->moved = true;
}

/* The row with the selected row's key; n if that row is gone. */
static size_t list_find_key(const struct list *list)
{
	size_t row = 0;

	while (row < list->n && list_key_at(list, row) != list->key)
		row++;
	return row;
}

void list_update(struct list *list, size_t n, list_key *key_of, const void *context)
{
	size_t line = list->selected - list->top, row = 0;

	list->n = n;
	list->key_of = key_of;
	list->context = context;
	if (list->moved) {
		row = list_find_key(list);
		row = row < n ? row : list->selected;
	}
	list_place(list, row);
	list->top = list->selected > line ? list->selected - line : 0;
}

void list_show(struct list *list, size_t page)
{
	size_t last_top = list->n > page ? list->n - page : 0;

	list->page = page;
	if (list->top > list->selected)
		list->top = list->selected;
	if (page && list->selected - list->top >= page)
		list->top = list->selected - page + 1;
	if (list->top > last_top)
		list->top = last_top;
}

void list_scroll(struct list *list, size_t n, size_t page)
{
	list_update(list, n > page ? n - page + 1 : 1, NULL, NULL);
	list->top = list->selected;
	list->page = page;
}

enum list_click list_click(struct list *list, int line)
{
	size_t row = list->top + (size_t)line;

	if (line < 0 || (size_t)line >= list->page || row >= list->n)
		return LIST_MISSED;
	if (list->moved && row == list->selected)
		return LIST_OPENED;
	list_select(list, row);
	return LIST_SELECTED;
}

bool list_request(struct list *list, enum request_code code)
{
	size_t step = list->page > 1 ? list->page - 1 : 1;

	switch ((int)code) {
	case REQUEST_UP:
		list_select(list, list->selected ? list->selected - 1 : 0);
		return true;
	case REQUEST_DOWN:
		list_select(list, list->selected + 1);
		return true;
	case REQUEST_PAGE_UP:
		list->top = list->top > step ? list->top - step : 0;
		list_select(list, list->selected > step ? list->selected - step : 0);
		return true;
	case REQUEST_PAGE_DOWN:
		list->top = list_clamp(list, list->top + step);
		list_select(list, list->selected + step);
		return true;
	case REQUEST_HOME:
		list_place(list, 0);
		list->top = 0;
		list->moved = false;
		return true;
	case REQUEST_END:
		list_select(list, list->n);
		return true;
	default:
		return false;
	}
}

bool list_search(struct list *list, enum request_code code,
		 bool (*matches)(const void *context, size_t row), const void *context)
{
	size_t step = code == REQUEST_SEARCH_PREVIOUS ? list->n - 1 : 1, row = list->selected;

	if (list->n && code != REQUEST_SEARCH_HERE)
		row = (row + step) % list->n;
	for (size_t i = 0; i < list->n; i++, row = (row + step) % list->n) {
		if (!matches(context, row))
			continue;
		list_select(list, row);
		return true;
	}
	return false;
}
