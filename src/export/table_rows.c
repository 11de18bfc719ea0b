/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a table of functions in batch mode. */
#include "config.h"

#include "export/table_rows.h"

struct xtop_error *table_rows_init(struct table_rows *rows, const struct snapshot *snapshot,
				   const struct table_options *options)
{
	struct xtop_error *error = functions_build(snapshot, options->filter, options->addresses,
						   &rows->table);

	if (error)
		return error;
	rows->context = (struct column_context){ .snapshot = snapshot,
						 .table = &rows->table,
						 .truncated_last = true,
						 .totals = options->totals,
						 .self_margin = options->sort->id == COLUMN_SELF,
						 .addresses = options->addresses };
	columns_sort(&rows->context, options->sort, rows->table.rows, rows->table.n);
	rows->n = rows->table.n;
	if (options->max_rows && options->max_rows < rows->n)
		rows->n = options->max_rows;
	return NULL;
}

void table_rows_deinit(struct table_rows *rows)
{
	functions_deinit(&rows->table);
}

const char *table_kind(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KIND_KERNEL:
		return "kernel";
	case FRAME_KIND_USERLAND:
		return "user";
	case FRAME_KIND_FUNCTION:
		return "function";
	case FRAME_KIND_MARK:
	case FRAME_KIND_ROOT:
	case FRAME_KIND_OWNER:
		break;
	}
	return "mark";
}
