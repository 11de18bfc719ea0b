/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a table of functions in batch mode, for text and for JSON. Main's thread. */
#ifndef EXPORT_TABLE_ROWS_H
#define EXPORT_TABLE_ROWS_H

#include "xtop/export/export.h"

struct table_rows {
	struct function_table table;
	struct column_context context; /* what cells need besides the row */
	size_t n;                      /* how many of the first rows are printed */
};

/* The functions of SNAPSHOT, sorted as OPTIONS say. ROWS must not move: CONTEXT points to TABLE. */
struct xtop_error *table_rows_init(struct table_rows *rows, const struct snapshot *snapshot,
				   const struct table_options *options);
void table_rows_deinit(struct table_rows *rows);

/* The kind of a function in JSON: "kernel", ... (doc/FORMATS) */
const char *table_kind(enum frame_kind kind);

#endif
