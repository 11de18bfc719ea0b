/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cursor in rows that change their order. The rows belong to a view. The list knows how many
 * there are, which one is selected and which one stands on the first line.
 *
 * The reader looks at the selected row. When the order changes, that row keeps its line on the
 * screen and the others move around it. Until the reader moves the cursor nothing is held: the
 * cursor stays on the first row, the hottest one, as in htop.
 */
#ifndef UI_LIST_H
#define UI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/request.h"

/* What tells ROW from other rows, also when their order has changed; CONTEXT: the rows. */
typedef uint64_t list_key(const void *context, size_t row);

struct list {
	size_t n, selected, top; /* selected < n, top <= selected, if n */
	size_t page;             /* lines at the last list_show() */
	bool moved;              /* the reader chose the row */
	uint64_t key;            /* of the selected row */
	list_key *key_of;        /* NULL: the row's number */
	const void *context;
};

/*
 * The rows are new, or in another order: N of them, described by KEY_OF and CONTEXT, which the list
 * keeps. The cursor follows the row with the key of the selected one. If that row is gone the
 * cursor keeps its number.
 */
void list_update(struct list *list, size_t n, list_key *key_of, const void *context);
/* PAGE lines are to be drawn: scrolls so that the selected row is among them. */
void list_show(struct list *list, size_t page);
/* True: CODE moves the cursor, and the cursor has moved. */
bool list_request(struct list *list, enum request_code code);
/* The reader chose ROW; the last one if there is no such row. */
void list_select(struct list *list, size_t row);
/* The cursor goes to ROW, but the reader did not choose it. */
void list_place(struct list *list, size_t row);

/*
 * For N lines of text, of which PAGE are shown: there are no rows to select. The cursor is the
 * first line shown and moves as far as the text goes.
 */
void list_scroll(struct list *list, size_t n, size_t page);

enum list_click {
	LIST_MISSED,   /* no row is there */
	LIST_SELECTED, /* another row than before */
	LIST_OPENED,   /* the row that the reader had selected */
};
/* A click on LINE of those that were drawn, from 0. */
enum list_click list_click(struct list *list, int line);
/*
 * Selects the next row that MATCHES. CODE is REQUEST_SEARCH_HERE, _NEXT or _PREVIOUS; the search
 * goes round at the ends. False: no row matches.
 */
bool list_search(struct list *list, enum request_code code,
		 bool (*matches)(const void *context, size_t row), const void *context);

#endif
