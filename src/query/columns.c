/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of columns; see columns.h. A new column is an entry in the table below and a name
 * in enum column_id.
 */
#include "config.h"

#include "xtop/query/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "query/interval.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/text.h"
#include "xtop/query/diff.h"

static const struct frame *column_frame(const struct column_context *context,
					const struct function_row *row)
{
	return frames_get(context->snapshot->frames, row->frame);
}

static double column_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static double column_children_percent(const struct column_context *context,
				      const struct function_row *row)
{
	const struct weights *whole = &context->table->whole;

	if (context->totals)
		return column_percent(row->weights.children_ticks, whole->children_ticks);
	return column_percent(row->weights.children_live, whole->children_live);
}

static double column_self_percent(const struct column_context *context,
				  const struct function_row *row)
{
	const struct weights *whole = &context->table->whole;

	if (context->totals)
		return column_percent(row->weights.self_ticks, whole->children_ticks);
	return column_percent(row->weights.self_live, whole->children_live);
}

/* --- cells ------------------------------------------------------------------------------------ */

static size_t column_children_entry(const struct column_context *context,
				    const struct function_row *row, char *buffer, size_t capacity)
{
	return snprintf(buffer, capacity, "%6.2f", column_children_percent(context, row));
}

static size_t column_self_entry(const struct column_context *context,
				const struct function_row *row, char *buffer, size_t capacity)
{
	return snprintf(buffer, capacity, "%6.2f", column_self_percent(context, row));
}

/* How many samples since start or reset had the function in their stack. */
static size_t column_samples_entry(const struct column_context *context __attribute__((unused)),
				   const struct function_row *row, char *buffer, size_t capacity)
{
	return snprintf(buffer, capacity, "%" PRIu64, row->weights.children_total);
}

static const char *column_symbol_tag(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KIND_KERNEL:
		return "[k] ";
	case FRAME_KIND_USERLAND:
		return "[.] ";
	case FRAME_KIND_FUNCTION:
	case FRAME_KIND_ROOT:
	case FRAME_KIND_OWNER:
	case FRAME_KIND_MARK:
		break;
	}
	return "";
}

static const char *column_symbol_text(const struct column_context *context,
				      const struct function_row *row,
				      char buffer[FRAME_NAME_BYTES])
{
	return context->raw_names && !column_frame(context, row)->unknown
		       ? snapshot_raw_name(context->snapshot, row->frame, buffer)
		       : functions_name(context->snapshot->frames, row, context->addresses,
					buffer);
}

static size_t column_symbol_entry(const struct column_context *context,
				  const struct function_row *row, char *buffer, size_t capacity)
{
	char cell[COLUMN_CELL_BYTES], address[FRAME_NAME_BYTES];
	int length = snprintf(cell, sizeof(cell), "%s%s",
			      column_symbol_tag(column_frame(context, row)->kind),
			      column_symbol_text(context, row, address));

	return text_clean(buffer, capacity, cell, length); /* CELL is clean: this only cuts it */
}

static size_t column_module_entry(const struct column_context *context,
				  const struct function_row *row, char *buffer, size_t capacity)
{
	return text_clean(buffer, capacity, column_frame(context, row)->module, FRAME_MODULE_BYTES);
}

/* The process that has most of the function, and how many other processes have part of it. */
static size_t column_process_entry(const struct column_context *context,
				   const struct function_row *row, char *buffer, size_t capacity)
{
	const struct frame *process;
	char cell[COLUMN_CELL_BYTES];
	int length;

	*buffer = '\0';
	if (row->process == FRAME_NONE)
		return 0;
	process = frames_get(context->snapshot->frames, row->process);
	if (row->n_processes > 1)
		length = snprintf(cell, sizeof(cell), "%s +%" PRIu32, process->name,
				  row->n_processes - 1);
	else
		length = snprintf(cell, sizeof(cell), "%s", process->name);
	return text_clean(buffer, capacity, cell, length);
}

/* The line that most of the function's weight passes through; only if lines were asked for. */
static size_t column_source_entry(const struct column_context *context,
				  const struct function_row *row, char *buffer, size_t capacity)
{
	return text_clean(buffer, capacity, snapshot_source(context->snapshot, row->frame),
			  FRAME_NAME_BYTES);
}

#define HISTORY_MAX_CELLS 60

/* The height of a bar for PERCENT, 0 to 7. The scale is not linear, so that small shares show. */
static size_t column_history_level(float percent)
{
	static const float bounds[] = { 0.5, 2, 5, 10, 20, 40, 60 };
	size_t level = 0;

	while (level < sizeof(bounds) / sizeof(bounds[0]) && percent >= bounds[level])
		level++;
	return level;
}

static size_t column_history_entry(const struct column_context *context,
				   const struct function_row *row, char *buffer, size_t capacity)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t n = context->history_cells < HISTORY_MAX_CELLS ? context->history_cells
							      : HISTORY_MAX_CELLS,
	       length = 0;
	float percents[HISTORY_MAX_CELLS];

	*buffer = '\0';
	if (!context->history || !n)
		return 0;
	history_shares(context->history, context->snapshot->sequence,
		       column_frame(context, row)->group, n, percents);
	for (size_t i = 0; i < n; i++)
		length += snprintf(buffer + length, capacity - length, "%s",
				   percents[i] < 0    ? " "
				   : percents[i] == 0 ? "·"
						      : bars[column_history_level(percents[i])]);
	return length;
}

/* --- against a baseline: the arithmetic of perf diff ------------------------------------------ */

/* Self is compared, not children: the children of all callers would show the same change again. */
static double column_base_percent(const struct column_context *context,
				  const struct function_row *row, bool *foundp)
{
	const struct weights *whole = &context->base->whole;
	const struct function_row *base;

	*foundp = row->base != 0;
	if (!row->base)
		return 0;
	base = &context->base->rows[row->base - 1];
	if (context->totals)
		return column_percent(base->weights.self_ticks, whole->children_ticks);
	return column_percent(base->weights.self_live, whole->children_live);
}

double column_delta(const struct column_context *context, const struct function_row *row)
{
	bool found;

	return context->base ? column_self_percent(context, row) -
				       column_base_percent(context, row, &found)
			     : 0;
}

static size_t column_base_entry(const struct column_context *context,
				const struct function_row *row, char *buffer, size_t capacity)
{
	bool found;
	double base;

	*buffer = '\0';
	if (!context->base)
		return 0;
	base = column_base_percent(context, row, &found);
	return found ? snprintf(buffer, capacity, "%6.2f", base)
		     : snprintf(buffer, capacity, "%s", "–");
}

static size_t column_now_entry(const struct column_context *context, const struct function_row *row,
			       char *buffer, size_t capacity)
{
	*buffer = '\0';
	return context->base ? column_self_entry(context, row, buffer, capacity) : 0;
}

static size_t column_delta_entry(const struct column_context *context,
				 const struct function_row *row, char *buffer, size_t capacity)
{
	*buffer = '\0';
	return context->base ? snprintf(buffer, capacity, "%+7.2f", column_delta(context, row)) : 0;
}

/* A function without weight in the baseline has no ratio. */
static size_t column_ratio_entry(const struct column_context *context,
				 const struct function_row *row, char *buffer, size_t capacity)
{
	double base, ratio;
	bool found;

	*buffer = '\0';
	if (!context->base)
		return 0;
	base = column_base_percent(context, row, &found);
	if (!(base > 0))
		return snprintf(buffer, capacity, "%s", "–");
	ratio = column_self_percent(context, row) / base;
	return snprintf(buffer, capacity, ratio < 100 ? "%.2f" : "%.0f", ratio);
}

/*
 * How much a share varies, as far as that is known. If 100 % is not all samples of the snapshot,
 * fewer samples count. For waits it is not known: looks at one task are not independent.
 */
static struct interval_side column_side(const struct column_context *context,
					const struct snapshot *snapshot,
					const struct weights *whole, uint32_t frame, bool self,
					double percent)
{
	const struct resolver_counts *counts = &snapshot->resolver;
	const struct batches_worth *worth =
		context->totals ? &snapshot->worth_total : &snapshot->worth_live;
	struct interval_side side = { .share = percent / 100,
				      .effect = 1,
				      .samples = (double)counts->samples };

	if (snapshot->effects && frame < snapshot->n_frames) {
		const struct snapshot_effect *effect = &snapshot->effects[frame];

		if (self)
			side.effect = context->totals ? effect->self_total : effect->self_live;
		else
			side.effect =
				context->totals ? effect->children_total : effect->children_live;
	}
	if (snapshot->effects) {
		side.batches = fmax(worth->batches, 1);
		side.samples = worth->samples;
	}
	if (counts->weight > 0 && whole->children_ticks < counts->weight)
		side.samples *= whole->children_ticks / counts->weight;
	if (context->snapshot->waits)
		side.samples = 0;
	return side;
}

static void column_sides(const struct column_context *context, const struct function_row *row,
			 struct interval_side *now_side, struct interval_side *base_side)
{
	bool found;
	double base = column_base_percent(context, row, &found);

	*now_side = column_side(context, context->snapshot, &context->table->whole, row->frame,
				true, column_self_percent(context, row));
	*base_side = column_side(context, context->base_snapshot, &context->base->whole, row->frame,
				 true, base);
}

static bool column_find_chance(const struct column_context *context, const struct function_row *row,
			       double *chancep)
{
	struct interval_side now_side, base_side;

	column_sides(context, row, &now_side, &base_side);
	return interval_find_chance(&now_side, &base_side, chancep);
}

struct xtop_error *columns_judge(const struct column_context *context,
				 const struct function_row *rows, size_t n, double *limitp,
				 size_t *knownp, size_t *changedp)
{
	_cleanup_free_ double *chances = calloc(n + 1, sizeof(*chances));
	size_t known = 0, changed = 0;
	double limit;

	if (!chances)
		return error_create("no memory to compare functions");
	for (size_t i = 0; i < n; i++)
		if (rows[i].frame != FRAME_TRUNCATED)
			known += column_find_chance(context, &rows[i], &chances[known]);
	limit = interval_find_limit(chances, known, DIFF_FALSE_DISCOVERIES);
	while (changed < known && chances[changed] <= limit)
		changed++;
	*limitp = limit;
	*knownp = known;
	*changedp = changed;
	return NULL;
}

bool column_delta_is_open(const struct column_context *context, const struct function_row *row)
{
	double chance;

	if (!context->base || !context->base_snapshot)
		return false;
	return !column_find_chance(context, row, &chance) || chance > context->limit;
}

static size_t column_interval_entry(const struct column_context *context,
				    const struct function_row *row, char *buffer, size_t capacity)
{
	struct interval_side now_side, base_side;
	struct interval interval;

	*buffer = '\0';
	if (!context->base || !context->base_snapshot)
		return 0;
	column_sides(context, row, &now_side, &base_side);
	interval = interval_of_difference(&now_side, &base_side);
	if (!interval.known)
		return snprintf(buffer, capacity, "%s", "–");
	return snprintf(buffer, capacity, "%+.1f..%+.1f", 100 * interval.low, 100 * interval.high);
}

/* --- how sure a share is ---------------------------------------------------------------------- */

bool column_find_margin(const struct column_context *context, const struct function_row *row,
			bool self, double *marginp)
{
	double percent =
		self ? column_self_percent(context, row) : column_children_percent(context, row);
	struct interval_side side = column_side(context, context->snapshot, &context->table->whole,
						row->frame, self, percent);

	if (!interval_find_margin(&side, marginp))
		return false;
	*marginp *= 100;
	return true;
}

bool column_share_is_open(const struct column_context *context, const struct function_row *row)
{
	double percent = context->self_margin ? column_self_percent(context, row)
					      : column_children_percent(context, row);
	double margin;

	return column_find_margin(context, row, context->self_margin, &margin) && margin >= percent;
}

static size_t column_margin_entry(const struct column_context *context,
				  const struct function_row *row, char *buffer, size_t capacity)
{
	double margin;

	*buffer = '\0';
	if (!context->snapshot->effects) /* a profile file, a range: nothing was measured */
		return 0;
	if (!column_find_margin(context, row, context->self_margin, &margin))
		return snprintf(buffer, capacity, "%s", "–");
	return snprintf(buffer, capacity, "%.2f", margin);
}

/* --- order ------------------------------------------------------------------------------------ */

static int column_descending(double a, double b)
{
	return (a < b) - (a > b);
}

/* Percentages that read the same are equal: their rows do not change places all the time. */
static int column_descending_percent(double a, double b)
{
	return column_descending(rint(100 * a), rint(100 * b));
}

static int column_children_compare(const struct column_context *context,
				   const struct function_row *a, const struct function_row *b)
{
	return column_descending_percent(column_children_percent(context, a),
					 column_children_percent(context, b));
}

static int column_self_compare(const struct column_context *context, const struct function_row *a,
			       const struct function_row *b)
{
	return column_descending_percent(column_self_percent(context, a),
					 column_self_percent(context, b));
}

static int column_samples_compare(const struct column_context *context __attribute__((unused)),
				  const struct function_row *a, const struct function_row *b)
{
	return (a->weights.children_total < b->weights.children_total) -
	       (a->weights.children_total > b->weights.children_total);
}

/* An overloaded function comes first among its overloads: its name is made for shown rows only. */
static int column_symbol_compare(const struct column_context *context, const struct function_row *a,
				 const struct function_row *b)
{
	struct function_row x = *a, y = *b;
	char text_x[FRAME_NAME_BYTES], text_y[FRAME_NAME_BYTES];

	x.overloaded = y.overloaded = false;
	return strcmp(column_symbol_text(context, &x, text_x),
		      column_symbol_text(context, &y, text_y));
}

static int column_module_compare(const struct column_context *context, const struct function_row *a,
				 const struct function_row *b)
{
	return strcmp(column_frame(context, a)->module, column_frame(context, b)->module);
}

static int column_process_compare(const struct column_context *context,
				  const struct function_row *a, const struct function_row *b)
{
	const struct frames *frames = context->snapshot->frames;
	const char *name_a = a->process == FRAME_NONE ? "" : frames_get(frames, a->process)->name,
		   *name_b = b->process == FRAME_NONE ? "" : frames_get(frames, b->process)->name;

	return strcmp(name_a, name_b);
}

static int column_source_compare(const struct column_context *context, const struct function_row *a,
				 const struct function_row *b)
{
	return strcmp(snapshot_source(context->snapshot, a->frame),
		      snapshot_source(context->snapshot, b->frame));
}

static int column_base_compare(const struct column_context *context, const struct function_row *a,
			       const struct function_row *b)
{
	bool found;

	if (!context->base)
		return 0;
	return column_descending(column_base_percent(context, a, &found),
				 column_base_percent(context, b, &found));
}

static int column_delta_compare(const struct column_context *context, const struct function_row *a,
				const struct function_row *b)
{
	return column_descending(fabs(column_delta(context, a)), fabs(column_delta(context, b)));
}

static int column_ratio_compare(const struct column_context *context, const struct function_row *a,
				const struct function_row *b)
{
	double base_a, base_b;
	bool found;

	if (!context->base)
		return 0;
	base_a = column_base_percent(context, a, &found);
	base_b = column_base_percent(context, b, &found);
	return column_descending(base_a > 0 ? column_self_percent(context, a) / base_a : 0,
				 base_b > 0 ? column_self_percent(context, b) / base_b : 0);
}

static int column_margin_compare(const struct column_context *context, const struct function_row *a,
				 const struct function_row *b)
{
	return context->self_margin ? column_self_compare(context, a, b)
				    : column_children_compare(context, a, b);
}

/* --- the table -------------------------------------------------------------------------------- */

const struct column columns[N_COLUMNS] = {
	[COLUMN_CHILDREN] = { COLUMN_CHILDREN, "children", "Children", 8, 0, true, true,
			      column_children_entry, column_children_compare },
	[COLUMN_SELF] = { COLUMN_SELF, "self", "Self", 6, 0, true, true, column_self_entry,
			  column_self_compare },
	[COLUMN_SAMPLES] = { COLUMN_SAMPLES, "samples", "Samples", 9, 100, true, true,
			     column_samples_entry, column_samples_compare },
	[COLUMN_SYMBOL] = { COLUMN_SYMBOL, "symbol", "Symbol", 0, 0, false, true,
			    column_symbol_entry, column_symbol_compare },
	[COLUMN_MODULE] = { COLUMN_MODULE, "module", "Module", -24, 60, false, false,
			    column_module_entry, column_module_compare },
	[COLUMN_PROCESS] = { COLUMN_PROCESS, "process", "Process", -16, 100, false, false,
			     column_process_entry, column_process_compare },
	[COLUMN_SOURCE] = { COLUMN_SOURCE, "source", "Source", -32, 100, false, false,
			    column_source_entry, column_source_compare },
	[COLUMN_HISTORY] = { COLUMN_HISTORY, "history", "History", 10, 72, false, false,
			     column_history_entry, column_children_compare },
	[COLUMN_BASE] = { COLUMN_BASE, "base", "Base", 7, 0, true, false, column_base_entry,
			  column_base_compare },
	[COLUMN_NOW] = { COLUMN_NOW, "now", "Now", 7, 0, true, false, column_now_entry,
			 column_self_compare },
	[COLUMN_DELTA] = { COLUMN_DELTA, "delta", "Delta", 7, 0, true, false, column_delta_entry,
			   column_delta_compare },
	[COLUMN_RATIO] = { COLUMN_RATIO, "ratio", "Ratio", 6, 60, true, false, column_ratio_entry,
			   column_ratio_compare },
	[COLUMN_INTERVAL] = { COLUMN_INTERVAL, "interval", "95 %", 13, 72, true, false,
			      column_interval_entry, column_delta_compare },
	[COLUMN_MARGIN] = { COLUMN_MARGIN, "margin", "±", 6, 0, true, false, column_margin_entry,
			    column_margin_compare },
};

const struct column *column_find(const char *name)
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

const char *columns_parse(const char *list, enum column_id ids[N_COLUMNS], size_t *np,
			  char word[32])
{
	size_t n = 0;

	while (*(list += strspn(list, " ,\t"))) {
		size_t length = strcspn(list, " ,\t"), i = 0;
		const struct column *column;

		snprintf(word, 32, "%.*s", (int)(length < 31 ? length : 31), list);
		column = length < 32 ? column_find(word) : NULL;
		if (!column)
			return word;
		while (i < n && ids[i] != column->id)
			i++;
		if (i == n)
			ids[n++] = column->id;
		list += length;
	}
	*np = n;
	return NULL;
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
	int result = 0;

	if (order->context->truncated_last)
		result = (a->frame == FRAME_TRUNCATED) - (b->frame == FRAME_TRUNCATED);
	if (!result)
		result = order->column->compare(order->context, a, b);
	if (!result)
		result = column_children_compare(order->context, a, b);
	if (!result)
		result = column_self_compare(order->context, a, b);
	if (!result)
		result = column_symbol_compare(order->context, a, b);
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
