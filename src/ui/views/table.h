/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of functions on the screen, by the one table of columns: which of them there is room for,
 * where they stand, headers, rows, clicks on headers. For the views that have one.
 */
#ifndef UI_VIEWS_TABLE_H
#define UI_VIEWS_TABLE_H

#include "ui/view.h"

struct table_place {
	const struct column *column;
	int at, width;
};

struct table {
	int grown[N_COLUMNS];                 /* width of those that grow with their content */
	struct table_place places[N_COLUMNS]; /* as last drawn */
	size_t n_places;
};

/*
 * Places the columns IDS for the rows that ROW gives for FIRST .. LAST - 1; it gives NULL for lines
 * that are no functions. CHOSEN: the user named them, so none is left out.
 */
void table_place(struct table *table, struct column_context *context, const enum column_id *ids,
		 size_t n_ids, bool chosen, int columns, const void *rows,
		 const struct function_row *(*row)(const void *rows, size_t index), size_t first,
		 size_t last);
void table_draw_header(const struct table *table, const struct column *sort, struct canvas *canvas,
		       int row);
void table_draw_row(const struct table *table, const struct ui_model *model,
		    const struct column_context *context, struct canvas *canvas, int row,
		    const struct function_row *function);
/* The column whose header a click hit, NULL: none. */
const struct column *table_column_at(const struct table *table, int column);
/* STEP columns to the right of SORT among those shown, round and round. */
const struct column *table_next_column(const struct table *table, const struct column *sort,
				       int step);
/* Where the column ID stands; -1: it is not shown. */
int table_column_place(const struct table *table, enum column_id id);

#endif
