/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that come in parts; see rows.h. */
#include "config.h"

#include "ui/views/rows.h"

#include <stdlib.h>

static uint64_t rows_key(const void *context, size_t row)
{
	const struct rows *rows = context;

	return row < rows->n ? rows->rows[row].key : UINT64_MAX;
}

static uint32_t rows_frame(const void *context, size_t row)
{
	const struct rows *rows = context;

	return row < rows->n ? rows->rows[row].frame : FRAME_NONE;
}

void rows_deinit(struct rows *rows)
{
	free(rows->rows);
	rows->rows = NULL;
	rows->n = 0;
}

bool rows_begin(struct rows *rows, size_t most)
{
	rows_deinit(rows);
	rows->rows = calloc(most + 1, sizeof(*rows->rows));
	return rows->rows;
}

void rows_add(struct rows *rows, struct rows_row row)
{
	rows->rows[rows->n++] = row;
}

void rows_end(struct rows *rows)
{
	list_update(&rows->list, rows->n, rows_key, rows);
}

const struct rows_row *rows_selected(const struct rows *rows)
{
	return rows->list.selected < rows->n ? &rows->rows[rows->list.selected] : NULL;
}

/* Whether a head stands before ROW. The head of the first row on the screen is the caller's. */
static bool rows_has_head(const struct rows *rows, size_t row)
{
	return row > rows->list.top && row < rows->n &&
	       rows->rows[row].part != rows->rows[row - 1].part;
}

unsigned rows_show(struct rows *rows, size_t page)
{
	list_show(&rows->list, page);
	return rows->n ? rows->rows[rows->list.top].part : 0;
}

int rows_draw(struct rows *rows, const struct rows_drawing *drawing, const struct ui_model *model,
	      struct canvas *canvas, int line, size_t page)
{
	struct list *list = &rows->list;

	rows->first_line = line;
	list_show(list, page);
	for (size_t i = list->top; i < list->n && i < list->top + page; i++) {
		if (rows_has_head(rows, i))
			drawing->draw_head(canvas, line++, rows->rows[i].part);
		drawing->draw(drawing->view, model, &rows->rows[i], canvas, line);
		if (i == list->selected)
			view_mark_row(canvas, line, 0, canvas_columns(canvas));
		line++;
	}
	return line;
}

struct request rows_handle(struct rows *rows, const struct ui_model *model, struct request request)
{
	return view_handle_list(&rows->list, model, request, rows_frame);
}

struct request rows_click(struct rows *rows, int line)
{
	int at = line - rows->first_line;

	for (size_t row = rows->list.top; at >= 0 && row <= rows->list.top + (size_t)at; row++) {
		if (!rows_has_head(rows, row))
			continue;
		if (row - rows->list.top == (size_t)at)
			return request_of(REQUEST_NONE); /* the head itself */
		at--;
	}
	return view_click_list(&rows->list, at, rows_frame);
}
