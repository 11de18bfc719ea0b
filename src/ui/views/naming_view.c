/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says which tables found a function's frames, and what would name a function without a name: its
 * file, build-id and package, and the options that would help. Shown on top of another view.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ui/view.h"
#include "xtop/query/counters.h"

#define NAMING_LABEL_CELLS 11

struct view_naming {
	struct view view;
	uint32_t frame;
};

static struct view_naming *view_naming(struct view *view)
{
	return (struct view_naming *)view;
}

/* The rest of the view: the next line goes to ROW. */
struct naming_page {
	struct canvas *canvas;
	int row, end, columns;
};

/* LABEL is "" if the line has none. */
static void naming_put(struct naming_page *page, const char *label, const char *text)
{
	int column = 1 + (*label ? NAMING_LABEL_CELLS : 0);

	if (page->row >= page->end)
		return;
	canvas_put(page->canvas, page->row, 1, NAMING_LABEL_CELLS, STYLE_TITLE, label);
	canvas_put_name(page->canvas, page->row++, column, page->columns - column - 1, STYLE_NORMAL,
			text);
}

static void naming_putf(struct naming_page *page, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void naming_putf(struct naming_page *page, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	naming_put(page, "", text);
}

/* Names the debug file by its build-id (linux/process/debug_files.c). */
static void naming_draw_options(struct naming_page *page, const struct frame_file *file)
{
	page->row++;
	if (file->incomplete)
		naming_putf(page, "--root=DIR       not all of the file is in the guest's memory");
	if (*file->build_id)
		naming_putf(page, "--debug-dir=DIR  .build-id/%.2s/%s.debug", file->build_id,
			    file->build_id + 2);
	else
		naming_putf(page, "--debug-dir=DIR  the file that its .gnu_debuglink names");
	if (*file->package)
		naming_putf(page, "                 from the debug package of %s", file->package);
	if (*file->build_id)
		naming_putf(page, "-k FILE          the same build, not stripped");
}

static void naming_draw_file(struct naming_page *page, const struct frame *frame)
{
	const struct frame_file *file = frame->file;

	naming_put(page, "File", *file->path ? file->path : frame->module);
	naming_put(page, "Build-id",
		   *file->build_id ? file->build_id : "none, or it cannot be read");
	naming_put(page, "Package", *file->package ? file->package : "the file does not say");
	naming_draw_options(page, file);
}

static void naming_draw_unknown(struct naming_page *page, const struct frame *frame)
{
	if (frame->kind == FRAME_KIND_KERNEL) {
		naming_putf(page, "No symbol covers this code of the kernel.");
		naming_putf(page, "-k FILE with a vmlinux of the same build would name it.");
	} else {
		naming_putf(page, "The file is not known. The overhead (o) counts the causes.");
	}
}

/* Draws which tables found the function's frames, the most trusted one first. */
static void naming_draw_found_by(struct naming_page *page, const struct snapshot *all, uint32_t id)
{
	char text[128] = "";
	size_t length = 0;

	if (!all->found_by || id >= all->n_frames || !all->found_by[id])
		return;
	for (int by = 0; by < N_UNWIND_BYS; by++)
		if (all->found_by[id] >> by & 1)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
						   length ? ", " : "", counter_unwind_by_words[by]);
	naming_put(page, "Found by", text);
}

static void naming_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			struct area area)
{
	uint32_t id = view_naming(view)->frame;
	struct naming_page page = { canvas, area.row, area.row + area.rows, area.columns };
	char name[SNAPSHOT_NAME_BYTES];
	const struct frame *frame;

	canvas_fill(canvas, page.row, 0, area.columns, STYLE_HEADER);
	if (!model->snapshot)
		return;
	frame = frames_get(model->all->frames, id);
	canvas_put_name(canvas, page.row++, 1, area.columns - 2, STYLE_HEADER,
			snapshot_raw_name(model->all, id, name));
	naming_draw_found_by(&page, model->all, id);
	if (frame->file)
		naming_draw_file(&page, frame);
	else if (frame->unknown)
		naming_draw_unknown(&page, frame);
	else if (strcmp(frame->raw_name, "[jit]") == 0)
		naming_putf(&page, "Compiled at run time: the process can name it in "
				   "/tmp/perf-PID.map.");
	else
		naming_putf(&page, "It has a name.");
}

static struct request naming_handle(struct view *view, const struct ui_model *model,
				    struct request request)
{
	(void)view, (void)model;
	return request;
}

static void naming_init(struct view *view, const struct view *below, uint32_t frame)
{
	(void)below;
	view_naming(view)->frame = frame;
}

/* clang-format off */
static const struct key naming_keys[] = {
	{ KEYS_BACK, { 'i', INPUT_ENTER }, .request = REQUEST_BACK },
};
/* clang-format on */

const struct view_ops naming_ops = {
	.name = "what would name a function",
	.size = sizeof(struct view_naming),
	.traits = VIEW_PASSING,
	.keys = naming_keys,
	.n_keys = sizeof(naming_keys) / sizeof(naming_keys[0]),
	.init = naming_init,
	.draw = naming_draw,
	.handle = naming_handle,
};
