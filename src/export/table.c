/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of batch mode, on main's thread. For each interval (doc/FORMATS):
 *
 *	web01 dom 5 PVH: samples 2187, elapsed 22.1 s, rate 98.9 of 99 Hz, stopped 0.24 %, ...
 *	Children    Self    Samples  Symbol                        Module
 *	   71.24    0.02       1558  [k] do_syscall_64             [kernel]
 *	   22.41   22.40        490  [k] copy_user_generic_string  [kernel]
 *
 * and an empty line. In full, the head goes on with "lost 0, unknown 2.10 %, truncated 0.41 %". The
 * head is the title, a colon, and "name value" parts in a fixed order; a new part goes to the end.
 * Two spaces or more separate columns, and no cell holds two spaces in a row. Columns that may be
 * empty, module and process, come last, and are shown only if a row has a value in them. An
 * empty cell with another cell after it is "-". 100 % is all samples, or those that the filter
 * lets through. Names may be UTF-8, all else but the header of margins is ASCII.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "export/table_rows.h"

static double table_ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static void table_print_head(const struct snapshot *snapshot, const struct table_options *options,
			     FILE *file)
{
	const struct sampler_counts *sampler = &snapshot_get_run(snapshot)->sampler;
	const struct resolver_counts *resolver = &snapshot->resolver;
	uint64_t elapsed_ns = snapshot->started_ns ? snapshot->time_ns - snapshot->started_ns : 0;
	double worth =
		options->totals ? snapshot->worth_total.samples : snapshot->worth_live.samples;

	fprintf(file,
		"%s: samples %" PRIu64
		", elapsed %.1f s, rate %.1f of %g Hz, stopped %.2f %%, lost %" PRIu64
		", unknown %.2f %%",
		options->title, resolver->samples, elapsed_ns / 1e9,
		table_ratio(sampler->samples * 1e9, sampler->elapsed_ns), sampler->rate_asked_hz,
		100 * sampler->stopped_share, sampler->lost,
		100 * table_ratio(resolver->weight_unknown, resolver->weight));
	fprintf(file, ", truncated %.2f %%",
		100 * table_ratio(resolver->weight_truncated, resolver->weight));
	if (worth > 0 && fabs(worth - (double)resolver->samples) > (double)resolver->samples / 10)
		fprintf(file, ", worth %.0f", worth);
	if (sampler->missed)
		fprintf(file, ", missed %" PRIu64, sampler->missed);
	if (sampler->refused)
		fprintf(file, ", refused %" PRIu64, sampler->refused);
	if (options->filter)
		fprintf(file, ", filter %s", filter_text(options->filter));
	putc('\n', file);
}

/* The width of TEXT, clean UTF-8: one cell for each character. */
static size_t table_cells(const char *text)
{
	size_t cells = 0;

	for (; *text; text++)
		cells += ((unsigned char)*text & 0xc0) != 0x80;
	return cells;
}

/* Makes one space of each run of spaces, and removes leading spaces. */
static void table_cell(const struct column *column, const struct column_context *context,
		       const struct function_row *row, char cell[COLUMN_CELL_BYTES])
{
	char raw[COLUMN_CELL_BYTES], *to = cell;

	column->entry(context, row, raw, sizeof(raw));
	for (const char *from = raw; *from; from++)
		if (*from != ' ' || (to > cell && to[-1] != ' '))
			*to++ = *from;
	*to = '\0';
}

static const enum column_id table_columns[] = {
	COLUMN_CHILDREN, COLUMN_SELF,   COLUMN_MARGIN,  COLUMN_SAMPLES,
	COLUMN_SYMBOL,   COLUMN_MODULE, COLUMN_PROCESS, COLUMN_SOURCE,
};
#define N_TABLE_COLUMNS (sizeof(table_columns) / sizeof(table_columns[0]))

#define TABLE_PAD 60 /* a longer cell pushes the rest of its line to the right */

/* The width of COLUMN in all rows printed; 0 if the column is not shown. */
static size_t table_width(const struct column *column, const struct table_rows *rows)
{
	char cell[COLUMN_CELL_BYTES];
	size_t width = table_cells(column->header), widest = 0;

	if (column->width > 0 && (size_t)column->width > width)
		width = column->width;
	for (size_t i = 0; i < rows->n && widest < TABLE_PAD; i++) {
		size_t cells;

		table_cell(column, &rows->context, &rows->table.rows[i], cell);
		cells = table_cells(cell);
		widest = cells > widest ? cells : widest;
	}
	if (!widest && !column->shown_always)
		return 0;
	widest = widest < TABLE_PAD ? widest : TABLE_PAD;
	return widest > width ? widest : width;
}

static void table_print_cell(const char *text, const struct column *column, size_t width, int *owed,
			     FILE *file)
{
	size_t cells = table_cells(text);
	int gap = cells < width ? (int)(width - cells) : 0;

	fprintf(file, "%*s%s", *owed + (column->right ? gap : 0), "", text);
	*owed = 2 + (column->right ? 0 : gap);
}

/*
 * ROW NULL: the headers. Spaces after a cell are owed until the next cell is printed, so that
 * lines do not end in spaces.
 */
static void table_print_row(const struct column_context *context, const struct function_row *row,
			    const size_t widths[N_TABLE_COLUMNS], FILE *file)
{
	char cell[COLUMN_CELL_BYTES];
	size_t empty[N_TABLE_COLUMNS], n_empty = 0;
	int owed = 0;

	for (size_t i = 0; i < N_TABLE_COLUMNS; i++) {
		const struct column *column = &columns[table_columns[i]];

		if (!widths[i])
			continue;
		if (row)
			table_cell(column, context, row, cell);
		if (row && !cell[0]) {
			empty[n_empty++] = i;
			continue;
		}
		for (size_t j = 0; j < n_empty; j++)
			table_print_cell("-", &columns[table_columns[empty[j]]], widths[empty[j]],
					 &owed, file);
		n_empty = 0;
		table_print_cell(row ? cell : column->header, column, widths[i], &owed, file);
	}
	putc('\n', file);
}

struct xtop_error *export_table(const struct snapshot *snapshot,
				const struct table_options *options, FILE *file)
{
	struct table_rows rows;
	struct xtop_error *error = table_rows_init(&rows, snapshot, options);
	size_t widths[N_TABLE_COLUMNS] = { 0 };

	if (error)
		return error;
	for (size_t i = 0; i < N_TABLE_COLUMNS; i++)
		if (table_columns[i] != COLUMN_MARGIN || options->margins)
			widths[i] = table_width(&columns[table_columns[i]], &rows);
	table_print_head(snapshot, options, file);
	table_print_row(&rows.context, NULL, widths, file);
	for (size_t i = 0; i < rows.n; i++)
		table_print_row(&rows.context, &rows.table.rows[i], widths, file);
	putc('\n', file);
	table_rows_deinit(&rows);
	return NULL;
}
