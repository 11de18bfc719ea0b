/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of one function as the guest runs them, each with its share of the samples.
 * Enter follows a call or a jump. The trail of functions is the way back. The cursor stays on its
 * instruction while shares change.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ui/view.h"
#include "ui/views/annotate_jumps.h"
#include "ui/views/annotate_lines.h"
#include "xtop/query/instructions.h"

#define ANNOTATE_MAX_TRAIL   64  /* functions; the oldest one is dropped to make room */
#define ANNOTATE_JUMPS_WIDTH 60  /* columns from which on there is room for arrows */
#define ANNOTATE_NOTE_ROWS   10  /* rows from which on there is room for the notes */
#define ANNOTATE_MAX_LINES   512 /* largest number of instructions on the screen */

struct annotated {
	uint32_t frame;
	struct list list;
	bool placed; /* the cursor has been put on the hottest instruction */
};

struct view_annotate {
	struct view view;
	struct annotated trail[ANNOTATE_MAX_TRAIL];
	size_t n_trail; /* the last function is shown */
	struct instructions instructions;
	bool current; /* INSTRUCTIONS belong to the function shown */
	int first_row; /* row of the first line, as last drawn */
	size_t n_shown; /* instructions on the screen, as last drawn */
	int lines[ANNOTATE_MAX_LINES]; /* lines of the instructions from the list's top on */
};

static struct view_annotate *view_annotate(struct view *view)
{
	return (struct view_annotate *)view;
}

static struct annotated *annotate_top(struct view_annotate *annotate)
{
	return &annotate->trail[annotate->n_trail - 1];
}

/* Returns NULL until the annotation comes. */
static const struct annotation *annotate_get(struct view_annotate *annotate,
					     const struct ui_model *model)
{
	const struct annotation *annotation = model->code.annotation;

	return annotation && annotation->frame == annotate_top(annotate)->frame ? annotation : NULL;
}

static struct instruction_format annotate_format(const struct ui_model *model)
{
	return (struct instruction_format){ .syntax = model->rc->syntax,
					    .addresses = model->rc->addresses,
					    .raw_names = model->names.raw };
}

/* --- update ----------------------------------------------------------------------------------- */

static uint64_t annotate_key(const void *context, size_t row)
{
	const struct instructions *instructions = context;

	return row < instructions->n ? instructions->rows[row].distance : UINT64_MAX;
}

static struct xtop_error *annotate_update(struct view *view, const struct ui_model *model)
{
	struct view_annotate *annotate = view_annotate(view);
	struct annotated *top = annotate_top(annotate);
	const struct annotation *annotation = annotate_get(annotate, model);
	struct instructions *instructions = &annotate->instructions;
	struct xtop_error *error;

	annotate->current = false;
	if (annotation && annotation->lack == ANNOTATION_HAS_LINES) {
		annotate_lines_update(&top->list, annotation, model, !top->placed);
		top->placed = true;
	}
	if (!annotation || annotation->lack != ANNOTATION_HAS_CODE)
		return NULL;
	error = instructions_update(instructions, annotation);
	if (error)
		return error;
	annotate->current = true;
	list_update(&top->list, instructions->n, annotate_key, instructions);
	if (!top->placed && instructions->n) {
		top->placed = true;
		list_select(&top->list, instructions_hottest(instructions, model->shares.totals));
	}
	return NULL;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void annotate_draw_title(struct view_annotate *annotate, const struct ui_model *model,
				struct canvas *canvas, struct area area)
{
	const struct annotation *annotation = annotate_get(annotate, model);
	const struct frame *frame = frames_get(model->all->frames, annotate_top(annotate)->frame);
	double whole = model->shares.totals ? model->all->total_weight : model->all->live_weight;
	double self = !annotation            ? 0
		      : model->shares.totals ? annotation->self_ticks
					     : annotation->self_live;
	char name[SNAPSHOT_NAME_BYTES], text[128] = "";
	int width, column = 1;

	if (annotation && area.columns >= 60)
		snprintf(text, sizeof(text), "self %.2f  %llu samples  %.40s",
			 percent_of(self, whole), (unsigned long long)annotation->self_samples,
			 frame->module);
	else if (annotation)
		snprintf(text, sizeof(text), "%.2f", percent_of(self, whole));
	width = canvas_text_width(text);
	if (annotate->n_trail > 1)
		column += canvas_put(canvas, area.row, column, 4, STYLE_DIM, "… › ");
	canvas_put_name(canvas, area.row, column, area.columns - width - column - 3, STYLE_TITLE,
			view_frame_name(model, annotate_top(annotate)->frame, name));
	canvas_put(canvas, area.row, area.columns - width - 1, width, STYLE_NORMAL, text);
}

/* Writes what is missing to TEXT; "" if nothing is. */
static void annotate_warn(struct view_annotate *annotate, const struct ui_model *model,
			  const struct annotation *annotation, char text[160])
{
	double rest = instructions_rest(&annotate->instructions, annotation, model->shares.totals);

	text[0] = '\0';
	if (annotation->no_bounds)
		snprintf(text, 160,
			 "Where this function begins is not known: this is from a "
			 "sampled address on.");
	else if (annotation->size_bytes > annotation->n_bytes)
		snprintf(text, 160,
			 "The first %u of %llu bytes. %.2f %% of its samples are "
			 "further on.",
			 annotation->n_bytes, (unsigned long long)annotation->size_bytes, rest);
	else if (rest >= 0.05)
		snprintf(text, 160,
			 "%.2f %% of its samples are not counted by instruction any "
			 "more.",
			 rest);
	else if (!selection_is_all(model->selection) || model->is_range)
		snprintf(text, 160,
			 "Of all samples of the function: filters and ranges do not "
			 "count here.");
}

/* Says what the percents mean. Returns the number of lines. */
static int annotate_draw_notes(struct view_annotate *annotate, const struct ui_model *model,
			       const struct annotation *annotation, struct canvas *canvas,
			       struct area area)
{
	char text[160];

	if (area.rows < ANNOTATE_NOTE_ROWS)
		return 0;
	canvas_put(canvas, area.row, 1, area.columns - 1, STYLE_DIM,
		   "Percents stand at the instruction that the stopped vCPU would run next.");
	annotate_warn(annotate, model, annotation, text);
	canvas_put(canvas, area.row + 1, 1, area.columns - 1, STYLE_NOTICE, text);
	return text[0] ? 2 : 1;
}

/* The width of addresses in cells. */
static int annotate_address_width(const struct ui_model *model, const struct annotation *annotation)
{
	int width = 3;

	if (model->rc->addresses == ADDRESSES_ABSOLUTE)
		return annotation->address >> 48 ? 16 : 12;
	for (uint32_t bytes = annotation->n_bytes; bytes; bytes >>= 4)
		width++;
	return width;
}

static void annotate_draw_row(struct view_annotate *annotate, const struct ui_model *model,
			      struct canvas *canvas, size_t index, struct area cell, int column)
{
	const struct annotation *annotation = annotate_get(annotate, model);
	const struct instruction_row *row = &annotate->instructions.rows[index];
	const struct instruction_format format = annotate_format(model);
	double percent = instructions_percent(annotation, row, model->shares.totals);
	char address[24], text[INSTRUCTION_TEXT_BYTES];
	int width = annotate_address_width(model, annotation);
	bool match;

	instructions_print_address(annotation, row, &format, address);
	instructions_print(annotation, model->all->frames, row, &format, text);
	match = model->search && filter_matches_text(model->search, text);
	if (row->samples)
		view_put_share(canvas, cell.row, 1, percent);
	canvas_put_right(canvas, cell.row, 9, width, STYLE_DIM, address);
	canvas_put(canvas, cell.row, column, cell.columns - column,
		   match          ? STYLE_MATCH
		   : row->missing ? STYLE_DIM
				  : STYLE_NORMAL,
		   text);
	if (index == annotate_top(annotate)->list.selected)
		view_mark_row(canvas, cell.row, 0, cell.columns);
}

/* Finds the source line of instruction INDEX. Returns false if it is the same as BEFORE. */
static bool annotate_find_line(struct view_annotate *annotate, const struct ui_model *model,
			       const struct annotation *annotation, size_t index,
			       const struct instruction_line *before, struct instruction_line *line)
{
	const struct instruction_lines *lines = model->rc->no_source ? NULL : model->code.lines;

	return lines &&
	       lines->find(lines->context, annotation, annotate->instructions.rows[index].distance,
			   line) &&
	       strcmp(line->place, before->place) != 0;
}

/* Computes which instructions fit into ROWS lines, from the list's top on. */
static void annotate_lay_out(struct view_annotate *annotate, const struct ui_model *model,
			     const struct annotation *annotation, int rows)
{
	const struct list *list = &annotate_top(annotate)->list;
	struct instruction_line line, before = { .place = "" };
	int used = 0;

	annotate->n_shown = 0;
	for (size_t i = list->top; i < list->n && used < rows; i++) {
		if (annotate_find_line(annotate, model, annotation, i, &before, &line)) {
			before = line;
			used++;
		}
		if (used >= rows || annotate->n_shown == ANNOTATE_MAX_LINES)
			break;
		annotate->lines[annotate->n_shown++] = used++;
	}
}

/* Scrolls so that the selected instruction and the source lines above it are shown. */
static void annotate_show(struct view_annotate *annotate, const struct ui_model *model,
			  const struct annotation *annotation, int rows)
{
	struct list *list = &annotate_top(annotate)->list;

	list_show(list, rows > 0 ? (size_t)rows : 0);
	annotate_lay_out(annotate, model, annotation, rows);
	while (list->top < list->selected && list->selected - list->top >= annotate->n_shown) {
		list->top++;
		annotate_lay_out(annotate, model, annotation, rows);
	}
}

static void annotate_draw_line(const struct instruction_line *line, struct canvas *canvas,
			       struct area cell, int column)
{
	column +=
		canvas_put(canvas, cell.row, column, cell.columns - column, STYLE_DIM, line->place);
	canvas_put(canvas, cell.row, column + 2, cell.columns - column - 2, STYLE_TITLE,
		   line->text);
}

static void annotate_draw_rows(struct view_annotate *annotate, const struct ui_model *model,
			       const struct annotation *annotation, struct canvas *canvas,
			       struct area area)
{
	struct list *list = &annotate_top(annotate)->list;
	int width = annotate_address_width(model, annotation), column = 9 + width + 1;
	int arrows = column;
	bool has_arrows = model->rc->jumps && area.columns >= ANNOTATE_JUMPS_WIDTH;
	struct area rows = { area.row + 1, area.rows - 1, area.columns };
	struct instruction_line line, before = { .place = "" };

	column += has_arrows ? JUMP_CELLS : 1;
	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_put_right(canvas, area.row, 1, 7, STYLE_HEADER, "Percent");
	canvas_put_right(canvas, area.row, 9, width, STYLE_HEADER, width < 7 ? "Addr" : "Address");
	canvas_put(canvas, area.row, column, area.columns - column, STYLE_HEADER, "Instruction");
	annotate->first_row = rows.row;
	annotate_show(annotate, model, annotation, rows.rows);
	for (size_t i = 0; i < annotate->n_shown; i++) {
		struct area cell = { rows.row + annotate->lines[i], 1, rows.columns };
		struct area above = { cell.row - 1, 1, rows.columns };

		annotate_draw_row(annotate, model, canvas, list->top + i, cell, column);
		if (!annotate_find_line(annotate, model, annotation, list->top + i, &before, &line))
			continue;
		before = line;
		annotate_draw_line(&line, canvas, above, column);
	}
	if (has_arrows && rows.rows > 0)
		jumps_draw(&annotate->instructions,
			   &(struct jump_rows){ list->top, annotate->n_shown, annotate->lines },
			   list->selected, canvas, rows, arrows);
}

/* Says why there are no instructions. */
static const char *annotate_lack(struct view_annotate *annotate, const struct ui_model *model)
{
	const struct annotation *annotation = annotate_get(annotate, model);

	if (!model->code.can_come)
		return "Two guests are compared: d goes back to one, which has instructions.";
	if (!annotation)
		return "Waiting for the code ...";
	if (annotation->lack == ANNOTATION_NO_CODE)
		return "This is no function, or an inlined one: it has no code of its own.";
	if (annotation->lack == ANNOTATION_ARM32)
		return "Instructions of a 32-bit Arm guest cannot be shown.";
	if (annotation->lack == ANNOTATION_NO_LINES)
		return model->code.lines ? "No line of this interpreted function is known."
					 : "An interpreted function: only --lines finds its lines.";
	if (annotation->self_samples)
		return "Its code could not be read yet, or is not in the recording.";
	return "No sample ended in this function itself: its code was not read.";
}

static void annotate_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			  struct area area)
{
	struct view_annotate *annotate = view_annotate(view);
	const struct annotation *annotation = annotate_get(annotate, model);
	struct area rest = { area.row + 1, area.rows - 1, area.columns };
	int lines;

	if (!model->snapshot)
		return;
	if (!model->all->run) {
		view_draw_sums_only(model, canvas, area);
		return;
	}
	annotate_draw_title(annotate, model, canvas, area);
	if (annotation && annotation->lack == ANNOTATION_HAS_LINES) {
		annotate_lines_draw(&annotate_top(annotate)->list, annotation, model, canvas, rest);
		return;
	}
	if (!annotation || !annotate->current) {
		canvas_put(canvas, area.row + area.rows / 3, 2, area.columns - 2, STYLE_NORMAL,
			   annotate_lack(annotate, model));
		return;
	}
	lines = annotate_draw_notes(annotate, model, annotation, canvas, rest);
	rest.row += lines;
	rest.rows -= lines;
	annotate_draw_rows(annotate, model, annotation, canvas, rest);
}

/* --- requests --------------------------------------------------------------------------------- */

static void annotate_push(struct view_annotate *annotate, uint32_t frame)
{
	if (annotate->n_trail == ANNOTATE_MAX_TRAIL)
		memmove(annotate->trail, annotate->trail + 1,
			--annotate->n_trail * sizeof(annotate->trail[0]));
	memset(&annotate->trail[annotate->n_trail], 0, sizeof(annotate->trail[0]));
	annotate->trail[annotate->n_trail++].frame = frame;
	annotate->current = false;
}

/* Follows the call or jump under the cursor. */
static struct request annotate_open(struct view_annotate *annotate, const struct ui_model *model)
{
	const struct annotation *annotation = annotate_get(annotate, model);
	struct list *list = &annotate_top(annotate)->list;
	const struct instruction_row *row;
	uint32_t frame = FRAME_NONE;

	if (!annotation || !annotate->current || !list->n)
		return request_of(REQUEST_NONE);
	row = &annotate->instructions.rows[list->selected];
	if (row->jump != INSTRUCTION_NONE) {
		list_select(list, row->jump);
		return request_of(REQUEST_NONE);
	}
	if (row->target != INSTRUCTION_NONE)
		frame = annotation->targets[row->target].frame;
	if (frame == annotation->frame) { /* it calls itself */
		list_select(list, 0);
		return request_of(REQUEST_NONE);
	}
	if (frame != FRAME_NONE) {
		annotate_push(annotate, frame);
		return request_of(REQUEST_UPDATE);
	}
	return view_message(row->flow == CODE_CALL || row->flow == CODE_JUMP ||
					    row->flow == CODE_BRANCH
				    ? "nobody knows a function there"
				    : "no call or jump with a known target");
}

struct annotate_search {
	struct view_annotate *annotate;
	const struct ui_model *model;
	const struct annotation *annotation;
	struct instruction_format format;
};

static bool annotate_row_matches(const void *context, size_t row)
{
	const struct annotate_search *search = context;
	char text[INSTRUCTION_TEXT_BYTES];

	instructions_print(search->annotation, search->model->all->frames,
			   &search->annotate->instructions.rows[row], &search->format, text);
	return filter_matches_text(search->model->search, text);
}

static struct request annotate_find(struct view_annotate *annotate, const struct ui_model *model,
				    struct request request)
{
	const struct annotate_search search = { annotate, model, annotate_get(annotate, model),
						annotate_format(model) };

	if (!model->search || !search.annotation || !annotate->current ||
	    request.code < REQUEST_SEARCH_HERE || request.code > REQUEST_SEARCH_PREVIOUS)
		return request;
	return list_search(&annotate_top(annotate)->list, request.code, annotate_row_matches,
			   &search)
		       ? request_of(REQUEST_NONE)
		       : request;
}

static void annotate_select_hottest(struct view_annotate *annotate, const struct ui_model *model)
{
	const struct annotation *annotation = annotate_get(annotate, model);
	struct list *list = &annotate_top(annotate)->list;

	if (!annotation || !list->n)
		return;
	if (annotation->lack == ANNOTATION_HAS_LINES)
		annotate_lines_select_hottest(list, annotation, model);
	else if (annotate->current)
		list_select(list,
			    instructions_hottest(&annotate->instructions, model->shares.totals));
}

static struct request annotate_handle(struct view *view, const struct ui_model *model,
				      struct request request)
{
	struct view_annotate *annotate = view_annotate(view);
	struct list *list = &annotate_top(annotate)->list;

	if (list_request(list, request.code)) {
		list->moved = true; /* the cursor must not follow the first row */
		return request_of(REQUEST_NONE);
	}
	switch ((int)request.code) {
	case REQUEST_OPEN:
		return annotate_open(annotate, model);
	case REQUEST_HOTTEST:
		annotate_select_hottest(annotate, model);
		return request_of(REQUEST_NONE);
	case REQUEST_BACK:
	case REQUEST_BACK_OR_QUIT:
		if (annotate->n_trail == 1)
			return request;
		annotate->n_trail--;
		annotate->current = false;
		return request_of(REQUEST_UPDATE);
	default:
		return annotate_find(annotate, model, request);
	}
}

/*
 * The instruction on LINE, counted from the list's top. A source line belongs to the instruction
 * below.
 */
static int annotate_at(const struct view_annotate *annotate, int line)
{
	int i = 0;

	while ((size_t)i < annotate->n_shown && annotate->lines[i] < line)
		i++;
	return i;
}

static struct request annotate_click(struct view *view, const struct ui_model *model, int row,
				     int column)
{
	struct view_annotate *annotate = view_annotate(view);
	int line = row - annotate->first_row;

	(void)column;
	if (!annotate->current || line < 0)
		return request_of(REQUEST_NONE);
	line = annotate_at(annotate, line);
	return list_click(&annotate_top(annotate)->list, line) == LIST_OPENED
		       ? annotate_open(annotate, model)
		       : request_of(REQUEST_NONE);
}

static uint32_t annotate_annotates(const struct view *view)
{
	const struct view_annotate *annotate = (const struct view_annotate *)view;

	return annotate->trail[annotate->n_trail - 1].frame;
}

static void annotate_init(struct view *view, const struct view *below, uint32_t frame)
{
	(void)below;
	annotate_push(view_annotate(view), frame);
}

static void annotate_deinit(struct view *view)
{
	instructions_deinit(&view_annotate(view)->instructions);
}

/* clang-format off */
static const struct key annotate_keys[] = {
	{ KEYS_MOVE, { INPUT_UP }, .request = REQUEST_UP,
	  .names = "Up Down", .help = "one row up or down" },
	{ KEYS_OPEN, { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, .request = REQUEST_OPEN,
	  .names = "Enter Right", .label = "Follow", .help = "follow the call or jump" },
	{ KEYS_OPEN, { 'H' }, .request = REQUEST_HOTTEST,
	  .names = "H", .label = "Hottest", .help = "to the hottest instruction" },
	{ KEYS_OPEN, { 'j' }, .request = REQUEST_JUMPS,
	  .names = "j", .label = "Jumps", .help = "jumps as arrows, or not" },
	{ KEYS_OPEN, { 's' }, .request = REQUEST_SOURCE_LINES,
	  .names = "s", .label = "Source", .help = "source lines, or not" },
	{ KEYS_OPEN, { 'I' }, .request = REQUEST_SYNTAX,
	  .names = "I", .label = "Intel", .help = "Intel's syntax, or AT&T's" },
	{ KEYS_OPEN, { 'r' }, .request = REQUEST_CODE_ADDRESSES,
	  .names = "r", .label = "Addresses", .help = "relative, or absolute" },
};
/* clang-format on */

const struct view_ops annotate_ops = {
	.name = "the instructions of a function",
	.size = sizeof(struct view_annotate),
	.traits = VIEW_GUEST | VIEW_SEARCHED | VIEW_STACKED,
	.keys = annotate_keys,
	.n_keys = sizeof(annotate_keys) / sizeof(annotate_keys[0]),
	.init = annotate_init,
	.update = annotate_update,
	.draw = annotate_draw,
	.handle = annotate_handle,
	.click = annotate_click,
	.annotates = annotate_annotates,
	.deinit = annotate_deinit,
};
