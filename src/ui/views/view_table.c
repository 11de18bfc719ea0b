/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of functions on the screen. */
#include "config.h"

#include "ui/views/view_table.h"

#include <math.h>

/* The rest column takes the cells that other columns leave, at least MIN_REST. */
#define MIN_REST 16
/* It is wider than WIDE_REST only if names need it: columns far to the right are hard to read. */
#define WIDE_REST 48

/* --- places ----------------------------------------------------------------------------------- */

/* The widest cell among the lines to draw. It only grows, so that columns do not move. */
static int table_grown_width(struct table *table, const struct column_context *context,
			     const struct column *column, const struct table_lines *rows)
{
	int *grown = &table->grown[column->id],
	    most = column->width < 0 ? -column->width : column->width;
	char text[COLUMN_CELL_BYTES];

	if (!*grown && column->shown_always)
		*grown = canvas_text_width(column->header) + 1;
	for (size_t i = rows->first; i < rows->end; i++) {
		const struct function_row *function = rows->function_at(rows->context, i);
		int width = 0;

		if (function && column->entry(context, function, text, sizeof(text)))
			width = canvas_text_width(text);
		if (width && width < canvas_text_width(column->header))
			width = canvas_text_width(column->header);
		*grown = width > *grown ? width : *grown;
	}
	return *grown < most ? *grown : most;
}

/* The width of the rest column if LEFT cells are left for it. */
static int table_rest_width(const struct table *table, size_t rest, int left)
{
	int grown = table->grown[table->places[rest].column->id];

	grown = grown < WIDE_REST ? WIDE_REST : grown;
	return left < grown ? left : grown;
}

/* Sets the columns' places: one cell for the cursor's mark, two cells after each column. */
static void table_arrange(struct table *table, size_t rest, int columns_)
{
	int at = 1, used = 1;

	for (size_t i = 0; i < table->n_places; i++)
		used += table->places[i].width + 2;
	if (used < columns_ && rest < table->n_places)
		table->places[rest].width =
			table_rest_width(table, rest, table->places[rest].width + columns_ - used);
	for (size_t i = 0; i < table->n_places; i++) {
		table->places[i].at = at;
		at += table->places[i].width + 2;
	}
}

void table_place(struct table *table, struct column_context *context,
		 const struct table_choice *choice, const struct table_lines *rows, int columns_)
{
	size_t rest = N_COLUMNS;
	int used = 1;

	table->n_places = 0;
	context->history_cells = columns_ >= 160 ? 30 : columns_ >= 100 ? 20 : 10;
	for (size_t i = 0; i < choice->n; i++) {
		const struct column *column = &columns[choice->ids[i]];
		int width = column->width;

		if (!choice->by_user && columns_ < column->min_screen)
			continue;
		if (column->id == COLUMN_HISTORY)
			width = context->history && context->history_cells
					? (int)context->history_cells
					: 0;
		else if (width < 0 || !column->shown_always)
			width = table_grown_width(table, context, column, rows);
		if (column->width && !width)
			continue;
		if (!column->width) {
			table_grown_width(table, context, column, rows);
			rest = table->n_places;
		}
		if (column->width &&
		    used + width + 2 + (rest == N_COLUMNS ? MIN_REST : 0) > columns_ + 2)
			continue; /* no room for it */
		table->places[table->n_places++] = (struct table_place){ column, 0, width };
		used += width + 2 + (column->width ? 0 : MIN_REST);
	}
	table_arrange(table, rest, columns_);
}

const struct column *table_column_at(const struct table *table, int column)
{
	for (size_t i = 0; i < table->n_places; i++)
		if (column >= table->places[i].at &&
		    column <= table->places[i].at + table->places[i].width &&
		    table->places[i].column->id != COLUMN_HISTORY)
			return table->places[i].column;
	return NULL;
}

const struct column *table_next_column(const struct table *table, const struct column *sort,
				       int step)
{
	size_t n = table->n_places, at = 0;

	while (at < n && table->places[at].column != sort)
		at++;
	if (at == n) { /* SORT is not on the screen: begin with the first column that is */
		at = n - 1;
		step = 1;
	}
	for (size_t i = 0; i < n; i++) {
		at = (at + n + (size_t)step) % n;
		if (table->places[at].column->id != COLUMN_HISTORY) /* it has no order */
			return table->places[at].column;
	}
	return sort;
}

int table_column_place(const struct table *table, enum column_id id)
{
	for (size_t i = 0; i < table->n_places; i++)
		if (table->places[i].column->id == id)
			return table->places[i].at;
	return -1;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* The mark of the sorted column is in the gap after the header. */
void table_draw_header(const struct table *table, const struct column *sort, struct canvas *canvas,
		       int row)
{
	canvas_fill(canvas, row, 0, canvas_columns(canvas), STYLE_HEADER);
	for (size_t i = 0; i < table->n_places; i++) {
		const struct table_place *place = &table->places[i];
		bool sorted = place->column == sort;
		enum style style = sorted ? STYLE_SORTED : STYLE_HEADER;
		int end = place->at + place->width;

		if (place->column->right)
			canvas_put_right(canvas, row, place->at, place->width, style,
					 place->column->header);
		else
			end = place->at + canvas_put(canvas, row, place->at, place->width, style,
						     place->column->header);
		if (sorted)
			canvas_put(canvas, row, end, 1, style, "▾");
	}
}

/* Growth is hot, decline is warm; small and insignificant changes are dim. */
static enum style table_delta_style(const struct column_context *context,
				    const struct function_row *row)
{
	double points = column_delta(context, row);

	if (column_delta_is_open(context, row))
		return STYLE_DIM;
	return style_of_change(points);
}

static enum style table_cell_style(const struct ui_model *model,
				   const struct column_context *context, enum column_id id,
				   const struct function_row *row)
{
	double whole = weights_children(model, &context->table->whole);
	double children = percent_of(weights_children(model, &row->weights), whole);
	double self = percent_of(weights_self(model, &row->weights), whole);

	if (model->shares.margins && !context->base && column_share_is_open(context, row))
		return STYLE_DIM;
	switch (id) {
	case COLUMN_CHILDREN:
		return style_of_percent(children);
	case COLUMN_SELF:
	case COLUMN_NOW:
		return style_of_percent(self);
	case COLUMN_DELTA:
	case COLUMN_INTERVAL:
		return table_delta_style(context, row);
	case COLUMN_SYMBOL:
		if (view_matches(model, row->frame))
			return STYLE_MATCH;
		break;
	case COLUMN_SAMPLES:
	case COLUMN_MODULE:
	case COLUMN_PROCESS:
	case COLUMN_SOURCE:
	case COLUMN_HISTORY:
	case COLUMN_BASE:
	case COLUMN_RATIO:
	case COLUMN_MARGIN:
		break;
	}
	if (context->base ? fabs(column_delta(context, row)) < 0.5 : children < 0.5)
		return STYLE_DIM;
	return frames_get(model->all->frames, row->frame)->unknown ? STYLE_DIM : STYLE_NORMAL;
}

void table_draw_row(const struct table *table, const struct ui_model *model,
		    const struct column_context *context, struct canvas *canvas, int row,
		    const struct function_row *function)
{
	char text[COLUMN_CELL_BYTES];

	for (size_t i = 0; i < table->n_places; i++) {
		const struct table_place *place = &table->places[i];
		enum style style = table_cell_style(model, context, place->column->id, function);

		place->column->entry(context, function, text, sizeof(text));
		if (place->column->right)
			canvas_put_right(canvas, row, place->at, place->width, style, text);
		else
			canvas_put_name(canvas, row, place->at, place->width, style, text);
	}
}
