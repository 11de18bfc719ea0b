/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a view that come in parts, such as reasons, then vCPUs: a list with the rows' keys and
 * functions. A head stands between two parts.
 */
#ifndef UI_VIEWS_ROWS_H
#define UI_VIEWS_ROWS_H

#include "ui/view.h"

struct rows_row {
	unsigned part, kind; /* a part may have rows of several kinds */
	size_t index;        /* number of what the row shows, as the view counts */
	uint64_t key;        /* identifies the row, also after sorting */
	uint32_t frame;      /* the row's function; FRAME_NONE: none */
};

/* All rows of a view. All zeros at first. */
struct rows {
	struct list list;
	struct rows_row *rows;
	size_t n;
	int first_line; /* the first row's line on the screen, at the last rows_draw() */
};

void rows_deinit(struct rows *rows);
/* Forgets the rows, and makes room for MOST. False: out of memory. */
bool rows_begin(struct rows *rows, size_t most);
void rows_add(struct rows *rows, struct rows_row row);
/* Call this when all rows have been added. */
void rows_end(struct rows *rows);
/* The selected row; NULL if there is none. */
const struct rows_row *rows_selected(const struct rows *rows);

typedef void rows_draw_fn(struct view *view, const struct ui_model *model,
			  const struct rows_row *row, struct canvas *canvas, int line);
typedef void rows_draw_head_fn(struct canvas *canvas, int line, unsigned part);
struct rows_drawing {
	struct view *view;
	rows_draw_fn *draw;
	rows_draw_head_fn *draw_head; /* NULL: there is one part */
};
/*
 * Chooses PAGE rows around the selected one. Returns the part of the first one, whose head the
 * caller draws; 0 if there are no rows.
 */
unsigned rows_show(struct rows *rows, size_t page);
/*
 * Draws the rows around the selected one from LINE on, as many as PAGE, besides the heads of later
 * parts. Returns the line after them.
 */
int rows_draw(struct rows *rows, const struct rows_drawing *drawing, const struct ui_model *model,
	      struct canvas *canvas, int line, size_t page);
/* As view_handle_list() and view_click_list(); LINE is the screen's. */
struct request rows_handle(struct rows *rows, const struct ui_model *model, struct request request);
struct request rows_click(struct rows *rows, int line);

#endif
