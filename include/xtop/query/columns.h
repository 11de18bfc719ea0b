/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The columns of the function table. The screen and batch output use one table of columns, so both
 * show the same. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_COLUMNS_H
#define XTOP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "xtop/query/functions.h"
#include "xtop/query/history.h"

enum column_id {
	COLUMN_CHILDREN,
	COLUMN_SELF,
	COLUMN_SAMPLES,
	COLUMN_SYMBOL,
	COLUMN_MODULE,
	COLUMN_PROCESS,
	COLUMN_SOURCE,
	/* only on the screen */
	COLUMN_HISTORY,
	COLUMN_BASE,
	COLUMN_NOW,
	COLUMN_DELTA,
	COLUMN_RATIO,
	COLUMN_INTERVAL,
	COLUMN_MARGIN,
};
#define N_COLUMNS       14
#define N_COLUMNS_BATCH 7 /* the first columns */

/* Room for the longest cell: the longest name, its tag, a NUL. */
#define COLUMN_CELL_BYTES (FRAME_NAME_BYTES + 8)

struct column_context {
	const struct snapshot *snapshot;
	const struct function_table *table;
	bool totals;    /* percents of all samples since start, not of live weights */
	bool addresses; /* unnamed frames as 0xADDR */
	bool raw_names;
	bool self_margin;    /* the margin column tells how sure self is, not children */
	bool truncated_last; /* the row of [truncated] comes last, whatever its weight */
	const struct function_table *base; /* TABLE was joined with it; NULL: no baseline */
	const struct snapshot *base_snapshot;
	double limit; /* the largest significant chance, from columns_judge() */
	const struct history *history;     /* NULL: none */
	size_t history_cells;              /* width of the history column */
};

struct column {
	enum column_id id;
	const char *name;   /* the word that -s takes: "children" */
	const char *header; /* "Children" */
	int width;          /* cells; 0: rest of the line; negative: as needed, at most -WIDTH */
	int min_screen;     /* a narrower screen does not show the column by default */
	bool right;         /* aligned right */
	bool shown_always;  /* false: only if some row has something in it */
	/*
	 * Writes the cell's text into BUFFER: clean, and cut between characters. Returns its
	 * length in bytes.
	 */
	size_t (*entry)(const struct column_context *context, const struct function_row *row,
			char *buffer, size_t capacity);
	/* Negative if A is shown before B, as for qsort(). Numbers descend, names ascend. */
	int (*compare)(const struct column_context *context, const struct function_row *a,
		       const struct function_row *b);
};

extern const struct column columns[N_COLUMNS]; /* indexed by enum column_id */

/* Finds a column by its name or a unique prefix of it, in upper or lower case. NULL: none. */
const struct column *column_find(const char *name);
/*
 * Parses a list of names, separated by blanks or commas, into IDS: in that order, each once. NULL
 * is success. Otherwise returns WORD, which holds the word that names no column.
 */
const char *columns_parse(const char *list, enum column_id ids[N_COLUMNS], size_t *np,
			  char word[32]);
/*
 * How far the true share, of self or of children, may be from the row's, in percentage points,
 * with 95 % confidence. False: too few samples tell.
 */
bool column_find_margin(const struct column_context *context, const struct function_row *row,
			bool self, double *marginp);
/* Whether the row's share may be 0, as the margin column tells. */
bool column_share_is_open(const struct column_context *context, const struct function_row *row);
/* The difference to the baseline, in percentage points. */
double column_delta(const struct column_context *context, const struct function_row *row);
/*
 * *CHANGEDP: how many of the N ROWS differ significantly from the baseline. As in --diff, chance
 * alone causes at most DIFF_FALSE_DISCOVERIES of them. *KNOWNP: how many rows have enough samples
 * to tell. *LIMITP: the value for context->limit. Error: out of memory.
 */
struct xtop_error *columns_judge(const struct column_context *context,
				 const struct function_row *rows, size_t n, double *limitp,
				 size_t *knownp, size_t *changedp);
/* Whether the row's difference may be chance: it is not significant among all rows. */
bool column_delta_is_open(const struct column_context *context, const struct function_row *row);
/* Sorts ROWS. Breaks ties by children, self, name, address and frame, so the order is unique. */
void columns_sort(const struct column_context *context, const struct column *column,
		  struct function_row *rows, size_t n);

#endif
