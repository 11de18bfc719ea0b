/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor in rows that change their order. The rows belong to a view. The list knows the number of
 * rows, the selected row and the row on the first line.
 *
 * The reader looks at the selected row. When the order changes, the selected row keeps its line on
 * the screen and the others move around it. Until the reader moves the cursor, it stays on the
 * first row, the hottest one, as in htop.
 */
#ifndef UI_LIST_H
#define UI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/request.h"

/* Returns a number that identifies ROW, also in another order. CONTEXT has the rows. */
typedef uint64_t list_key(const void *context, size_t row);

struct list {
	size_t n, selected, top; /* unless n is 0: selected < n, top <= selected */
	size_t page;             /* lines at the last list_show() */
	bool moved;              /* the reader chose the row */
	uint64_t key;            /* the selected row's key */
	list_key *key_of;        /* NULL: a row's key is its number */
	const void *context;
};

/*
 * Tells the list that there are N rows, new or in another order. KEY_OF with CONTEXT returns their
 * keys until the next call. The cursor follows the selected row. If that row is gone, the cursor
 * keeps its number.
 */
void list_update(struct list *list, size_t n, list_key *key_of, const void *context);
/* Scrolls so that the selected row is among the PAGE lines to draw. */
void list_show(struct list *list, size_t page);
/* Moves the cursor. Returns false if CODE does not ask for that. */
bool list_request(struct list *list, enum request_code code);
/* Selects ROW for the reader; the last row if ROW is too large. */
void list_select(struct list *list, size_t row);
/* Moves the cursor to ROW without a choice of the reader. */
void list_place(struct list *list, size_t row);

/*
 * Scrolls N lines of text, of which PAGE are shown and none can be selected. The cursor is the
 * first line shown and moves to the end of the text.
 */
void list_scroll(struct list *list, size_t n, size_t page);

enum list_click {
	LIST_MISSED,   /* the line has no row */
	LIST_SELECTED, /* another row was selected */
	LIST_OPENED,   /* the row was selected already */
};
/* Handles a click on LINE, counted from 0 at the first line drawn. */
enum list_click list_click(struct list *list, int line);
/*
 * Selects the next row that MATCHES. CODE is REQUEST_SEARCH_HERE, _NEXT or _PREVIOUS. The search
 * wraps around at the ends. Returns false if no row matches.
 */
bool list_search(struct list *list, enum request_code code,
		 bool (*matches)(const void *context, size_t row), const void *context);

#endif
