/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A view: one way to look at a snapshot. Each has a file of its own in views/ and one table of
 * operations; the core (core.h) stacks views and hands requests to the one on top.
 *
 * A view draws only in its area. It may keep what it computed from a snapshot, but not the
 * snapshot.
 */
#ifndef UI_VIEW_H
#define UI_VIEW_H

#include <stdio.h>

#include "ui/keys.h"
#include "ui/terminal/canvas.h"
#include "xtop/columns.h"
#include "xtop/history.h"
#include "xtop/selection.h"

struct guest_view;
struct header;
struct ui;
struct view;

/* What all views look at; the core's, changed only between update() calls. */
struct ui_model {
	/* As filter, restriction and hiding leave it; NULL: none came yet. */
	const struct snapshot *snapshot;
	const struct snapshot *all;      /* with every node */
	const struct selection *selection;
	struct weights whole;            /* what 100 % is */
	bool of_filtered;                /* that is of SNAPSHOT, not of ALL */
	const struct snapshot *baseline; /* with every node; NULL: there is none */
	const struct history *history;
	const struct header *header;
	const struct filter *search;     /* NULL: none */
	const struct column *sort;
	const struct ui_rc *rc;
	bool totals; /* shares of all since start instead of live ones */
	bool addresses, raw_names;
	bool slow_line;   /* each byte counts: no column that is new at every refresh */
	double threshold; /* percent; of trees */
	double budget;
	uint64_t ui_cpu_ns; /* what the screen took so far */
	uint64_t memory_bytes; /* of all of xtop; 0: not known */
	const char *domain;
};

struct area {
	int row, rows, columns; /* from column 0 */
};

struct view_ops {
	unsigned mask;    /* enum view_mask: its own bit */
	const char *name; /* "the call tree" */
	/* Snapshot, filter or totals changed. */
	struct xtop_error *(*update)(struct view *view, const struct ui_model *model);
	void (*draw)(struct view *view, const struct ui_model *model, struct canvas *canvas,
		     struct area area);
	/* False: not mine. REQUEST_BACK not taken closes the view. */
	bool (*request)(struct view *view, struct ui *ui, enum request request);
	/* A click on a line of the area as it was last drawn; NULL: nothing to click on. */
	void (*click)(struct view *view, struct ui *ui, int row, int column);
	void (*destroy)(struct view *view);
};

struct view {
	const struct view_ops *ops;
};

/* NULL: out of memory. */
struct view *view_top_create(void);
struct view *view_callers_create(uint32_t frame);
struct view *view_tree_create(bool inverted);
struct view *view_flame_create(bool inverted);
struct view *view_vcpus_create(void);
struct view *view_groups_create(void);
struct view *view_overhead_create(void);
struct view *view_baseline_create(void);
struct view *view_domains_create(struct ui *ui);
/* GUEST is not profiled any more; what ran inside is still known. */
void view_domains_leave(struct view *view, const struct guest_view *guest);
struct view *view_choose_create(void);
struct view *view_help_create(const struct view_ops *ops); /* of the view to explain */

static inline double weights_children(const struct ui_model *model, const struct weights *weights)
{
	return model->totals ? (double)weights->children_total : weights->children_live;
}

static inline double weights_self(const struct ui_model *model, const struct weights *weights)
{
	return model->totals ? (double)weights->self_total : weights->self_live;
}

static inline double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* As perf colours it: over 5 % is hot, over 0.5 % warm. */
static inline enum style style_of_percent(double percent)
{
	return percent >= 5 ? STYLE_HOT : percent >= 0.5 ? STYLE_WARM : STYLE_DIM;
}

/* Instead of rows, when there are none: why. */
void view_draw_empty(const struct ui_model *model, struct canvas *canvas, struct area area);

/*
 * What FRAME is called where no column tells its kind: its name alone, but of those that nobody can
 * name whether they are the kernel's, if no module beside it does.
 */
static inline const char *view_frame_name(const struct ui_model *model, uint32_t id,
					  char buffer[FRAME_TEXT_BYTES])
{
	const struct frame *frame = frames_get(model->all->frames, id);

	if (frame->unknown && !frame->module[0] && !model->addresses &&
	    frame->kind == FRAME_KIND_KERNEL)
		return "[k] [unknown]";
	return model->raw_names && !frame->unknown
		       ? frame->raw_name
		       : frame_text(frame, model->addresses, buffer);
}

/* A share in 7 cells, coloured by its size. */
static inline void view_put_share(struct canvas *canvas, int row, int column, double percent)
{
	char text[32];

	snprintf(text, sizeof(text), "%7.2f", percent);
	canvas_put(canvas, row, column, 7, style_of_percent(percent), text);
}

/* The row under the cursor. */
static inline void view_mark_row(struct canvas *canvas, int row, int column, int width)
{
	canvas_restyle(canvas, row, column, width, STYLE_SELECTED);
	canvas_put(canvas, row, column, 1, STYLE_SELECTED, "▌");
}

/* The frame whose row FRAME is counted in. */
static inline uint32_t view_group(const struct ui_model *model, uint32_t frame)
{
	return model->addresses ? frame : frames_get(model->all->frames, frame)->group;
}

/* Whether FRAME is searched for. */
static inline bool view_matches(const struct ui_model *model, uint32_t frame)
{
	return model->search && frame != FRAME_NONE &&
	       filter_matches(model->search, model->all->frames, frame);
}

#endif
