/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The columns of the function table: one table serves the screen and batch output, so that both
 * say the same. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_COLUMNS_H
#define XTOP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/functions.h"
#include "xtop/history.h"

enum column_id {
	COLUMN_CHILDREN,
	COLUMN_SELF,
	COLUMN_SAMPLES,
	COLUMN_SYMBOL,
	COLUMN_MODULE,
	COLUMN_PROCESS,
	/* of the screen */
	COLUMN_HISTORY,
	COLUMN_BASE,
	COLUMN_NOW,
	COLUMN_DELTA,
	COLUMN_RATIO,
};
#define N_COLUMNS 11
#define N_COLUMNS_BATCH 6 /* the first ones */

/* A cell never needs more: the longest name, its tag, a NUL. */
#define COLUMN_CELL_BYTES (FRAME_NAME_BYTES + 8)

struct column_context {
	const struct snapshot *snapshot;
	const struct function_table *table;
	bool totals;    /* percents of all since start instead of live ones */
	bool addresses; /* unnamed frames as 0xADDR */
	bool raw_names;
	bool truncated_last; /* in a table of functions, as it is none; as a caller it has its place */
	const struct function_table *base; /* that table was joined with; NULL: there is no baseline */
	const struct history *history;     /* NULL: none */
	size_t history_cells;              /* width of that column */
};

struct column {
	enum column_id id;
	const char *name;   /* for -s: "children" */
	const char *header; /* "Children" */
	int width;          /* cells; 0: what is left; negative: at most that, grows with content */
	int min_screen;     /* columns a screen has to have for it to be shown there by default */
	bool right;         /* aligned right */
	bool shown_always;  /* else only when some row has something in it */
	/* Text of the cell into BUFFER, clean, cut between characters; returns its length in
	 * bytes. */
	size_t (*entry)(const struct column_context *context, const struct function_row *row,
			char *buffer, size_t capacity);
	/* As qsort(): the row to be shown first is less: numbers descend, names ascend. 0 for
	 * equal cells. */
	int (*compare)(const struct column_context *context, const struct function_row *a,
		       const struct function_row *b);
};

extern const struct column columns[N_COLUMNS]; /* by enum column_id */

/* By name or unique prefix of it, in any case. NULL: none. */
const struct column *column_by_name(const char *name);
/*
 * A list of names, between blanks or commas, into IDS, in that order, each once. NULL is success,
 * else the word that names no column, in WORD.
 */
const char *columns_parse(const char *list, enum column_id ids[N_COLUMNS], size_t *np,
			  char word[32]);
/* Against the baseline, in points; what a column sorts by that is not a cell. */
double column_delta(const struct column_context *context, const struct function_row *row);
/*
 * Ties are broken by children, self, name, address and frame: the order is always the same.
 */
void columns_sort(const struct column_context *context, const struct column *column,
		  struct function_row *rows, size_t n);

#endif
