/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of functions on the screen, for several views: which columns (columns.h) fit, their
 * places, headers, rows, clicks on headers.
 */
#ifndef UI_VIEWS_VIEW_TABLE_H
#define UI_VIEWS_VIEW_TABLE_H

#include "ui/view.h"

struct table_place {
	const struct column *column;
	int at, width;
};

struct table {
	int grown[N_COLUMNS];                 /* widths of columns that grow with their cells */
	struct table_place places[N_COLUMNS]; /* the columns' places when last drawn */
	size_t n_places;
};

/* The columns to show. */
struct table_choice {
	const enum column_id *ids;
	size_t n;
	bool by_user; /* the user named the columns: a narrow screen leaves out none */
};

/* The lines to draw: FIRST to END - 1. */
struct table_lines {
	const void *context;
	/* Returns the function of a line; NULL if the line is no function. */
	const struct function_row *(*function_at)(const void *context, size_t index);
	size_t first, end;
};

/* Computes the places of the columns on a screen with COLUMNS. */
void table_place(struct table *table, struct column_context *context,
		 const struct table_choice *choice, const struct table_lines *rows, int columns);
void table_draw_header(const struct table *table, const struct column *sort, struct canvas *canvas,
		       int row);
void table_draw_row(const struct table *table, const struct ui_model *model,
		    const struct column_context *context, struct canvas *canvas, int row,
		    const struct function_row *function);
/* The column whose header is at the screen's COLUMN; NULL if there is none. */
const struct column *table_column_at(const struct table *table, int column);
/* The next column to sort by, to the left (STEP is -1) or right (1) of SORT; wraps around. */
const struct column *table_next_column(const struct table *table, const struct column *sort,
				       int step);
/* The first cell of the column ID; -1 if the column is not shown. */
int table_column_place(const struct table *table, enum column_id id);

#endif
