/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor in rows that change place. The rows belong to a view; the list knows how many there
 * are, which is selected and which stands on the first line.
 *
 * The reader's eye is on the selected row, so that row keeps its line on the screen when the order
 * changes and the others move around it. Until the cursor is moved there is no such row: then the
 * list stays at the hottest one, as htop does.
 */
#ifndef UI_LIST_H
#define UI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/keys.h"

struct list {
	size_t n, selected, top; /* selected < n, top <= selected, if n */
	size_t page;             /* lines there were at the last list_show() */
	bool moved;              /* the reader chose the row */
	uint64_t key;            /* which row that is, as the view tells rows apart */
};

/* There are N rows now, the one with KEY at FOUND, or n if it is gone. */
void list_settle(struct list *list, size_t n, size_t found);
/* PAGE lines are to be drawn; brings the selected row among them. */
void list_show(struct list *list, size_t page);
/* True: a request that moves the cursor, done. The view then sets the key. */
bool list_request(struct list *list, enum request request);
void list_select(struct list *list, size_t row);
/* A click on LINE of those that were drawn, 0 the first. Of a row that is selected anew the view then sets the key. */
enum list_click {
	LIST_MISSED,   /* no row is there */
	LIST_SELECTED, /* another row than before */
	LIST_OPENED,   /* the row that the reader had selected */
};
enum list_click list_click(struct list *list, int line);
/*
 * Moves the cursor to a row that MATCHES: REQUEST_SEARCH_HERE, _NEXT or _PREVIOUS, round and round.
 * False: there is none.
 */
bool list_search(struct list *list, enum request request,
		 bool (*matches)(const void *context, size_t row), const void *context);

#endif
