/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of columns; see xtop/columns.h. A new column is an entry here and a name in enum
 * column_id. */
#include "config.h"

#include "xtop/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct frame *column_frame(const struct column_context *context,
					const struct function_row *row)
{
	return frames_get(context->snapshot->frames, row->frame);
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static double children_percent(const struct column_context *context, const struct function_row *row)
{
	const struct weights *whole = &context->table->whole;

	if (context->totals)
		return percent(row->weights.children_total, whole->children_total);
	return percent(row->weights.children_live, whole->children_live);
}

static double self_percent(const struct column_context *context, const struct function_row *row)
{
	const struct weights *whole = &context->table->whole;

	if (context->totals)
		return percent(row->weights.self_total, whole->children_total);
	return percent(row->weights.self_live, whole->children_live);
}

/* --- cells ------------------------------------------------------------------------------------ */

static size_t children_entry(const struct column_context *context, const struct function_row *row,
			     char *buffer, size_t capacity)
{
	return snprintf(buffer, capacity, "%6.2f", children_percent(context, row));
}

static size_t self_entry(const struct column_context *context, const struct function_row *row,
			 char *buffer, size_t capacity)
{
	return snprintf(buffer, capacity, "%6.2f", self_percent(context, row));
}

/* Of all samples since start or reset, those that had the function in their stack. */
static size_t samples_entry(const struct column_context *context __attribute__((unused)),
			    const struct function_row *row, char *buffer, size_t capacity)
{
	return snprintf(buffer, capacity, "%" PRIu64, row->weights.children_total);
}

static const char *symbol_tag(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KIND_KERNEL:
		return "[k] ";
	case FRAME_KIND_USERLAND:
		return "[.] ";
	case FRAME_KIND_ROOT:
	case FRAME_KIND_PROCESS:
	case FRAME_KIND_THREAD:
	case FRAME_KIND_MARK:
		break;
	}
	return "";
}

static const char *symbol_text(const struct column_context *context, const struct function_row *row,
			       char address[FRAME_TEXT_BYTES])
{
	const struct frame *frame = column_frame(context, row);

	return context->raw_names && !frame->unknown
		       ? frame->raw_name
		       : frame_text(frame, context->addresses, address);
}

static size_t symbol_entry(const struct column_context *context, const struct function_row *row,
			   char *buffer, size_t capacity)
{
	char cell[COLUMN_CELL_BYTES], address[FRAME_TEXT_BYTES];
	int length =
		snprintf(cell, sizeof(cell), "%s%s", symbol_tag(column_frame(context, row)->kind),
			 symbol_text(context, row, address));

	return text_clean(buffer, capacity, cell, length); /* clean before: this only cuts */
}

static size_t module_entry(const struct column_context *context, const struct function_row *row,
			   char *buffer, size_t capacity)
{
	return text_clean(buffer, capacity, column_frame(context, row)->module, FRAME_MODULE_BYTES);
}

/* --- order ------------------------------------------------------------------------------------ */

static int descending(double a, double b)
{
	return (a < b) - (a > b);
}

static int children_compare(const struct column_context *context, const struct function_row *a,
			    const struct function_row *b)
{
	return descending(children_percent(context, a), children_percent(context, b));
}

static int self_compare(const struct column_context *context, const struct function_row *a,
			const struct function_row *b)
{
	return descending(self_percent(context, a), self_percent(context, b));
}

static int samples_compare(const struct column_context *context __attribute__((unused)),
			   const struct function_row *a, const struct function_row *b)
{
	return (a->weights.children_total < b->weights.children_total) -
	       (a->weights.children_total > b->weights.children_total);
}

static int symbol_compare(const struct column_context *context, const struct function_row *a,
			  const struct function_row *b)
{
	char address_a[FRAME_TEXT_BYTES], address_b[FRAME_TEXT_BYTES];

	return strcmp(symbol_text(context, a, address_a), symbol_text(context, b, address_b));
}

static int module_compare(const struct column_context *context, const struct function_row *a,
			  const struct function_row *b)
{
	return strcmp(column_frame(context, a)->module, column_frame(context, b)->module);
}

/* --- the table -------------------------------------------------------------------------------- */

const struct column columns[N_COLUMNS] = {
	[COLUMN_CHILDREN] = { COLUMN_CHILDREN, "children", "Children", 8, true, true,
			      children_entry, children_compare },
	[COLUMN_SELF] = { COLUMN_SELF, "self", "Self", 6, true, true, self_entry, self_compare },
	[COLUMN_SAMPLES] = { COLUMN_SAMPLES, "samples", "Samples", 9, true, true, samples_entry,
			     samples_compare },
	[COLUMN_SYMBOL] = { COLUMN_SYMBOL, "symbol", "Symbol", 0, false, true, symbol_entry,
			    symbol_compare },
	[COLUMN_MODULE] = { COLUMN_MODULE, "module", "Module", -24, false, false, module_entry,
			    module_compare },
};

const struct column *column_by_name(const char *name)
{
	const struct column *found = NULL;
	size_t length = strlen(name);

	for (size_t i = 0; i < N_COLUMNS; i++) {
		if (strncasecmp(columns[i].name, name, length))
			continue;
		if (!columns[i].name[length])
			return &columns[i];
		if (found)
			return NULL;
		found = &columns[i];
	}
	return found;
}

struct columns_order {
	const struct column_context *context;
	const struct column *column;
};

static int columns_compare(const void *pointer_a, const void *pointer_b, void *pointer_order)
{
	const struct function_row *a = pointer_a, *b = pointer_b;
	const struct columns_order *order = pointer_order;
	uint64_t address_a, address_b;
	int result = order->column->compare(order->context, a, b);

	if (!result)
		result = children_compare(order->context, a, b);
	if (!result)
		result = self_compare(order->context, a, b);
	if (!result)
		result = symbol_compare(order->context, a, b);
	if (result)
		return result;
	address_a = column_frame(order->context, a)->address;
	address_b = column_frame(order->context, b)->address;
	if (address_a != address_b)
		return address_a < address_b ? -1 : 1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

void columns_sort(const struct column_context *context, const struct column *column,
		  struct function_row *rows, size_t n)
{
	struct columns_order order = { .context = context, .column = column };

	qsort_r(rows, n, sizeof(*rows), columns_compare, &order);
}
