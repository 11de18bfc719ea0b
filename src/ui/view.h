/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A view: one way to look at a picture. Each view has its own file in views/ with one table,
 * NAME_ops, which views/views.c lists.
 *
 * A view sees only the model of the core. It draws only in its area. It may keep results that it
 * computed from a snapshot, but not the snapshot.
 */
#ifndef UI_VIEW_H
#define UI_VIEW_H

#include "ui/key.h"
#include "ui/list.h"
#include "ui/model.h"
#include "ui/terminal/canvas.h"

/* Shown by views of waiting tasks before the first look at tasks. */
#define VIEW_NO_LOOK_YET \
	"No look at the guest's tasks yet. A recording has them only with --waits."

struct view;

/* What must be there before the view can be shown. */
enum view_need {
	VIEW_NEEDS_NOTHING,
	VIEW_NEEDS_WAITS,    /* the guest's tasks that wait */
	VIEW_NEEDS_TAKERS,   /* looks at the host's other domains */
	VIEW_NEEDS_TRACE,    /* Xen traces as long as the view is open */
	VIEW_NEEDS_BASELINE, /* a picture to compare with; the one shown becomes it */
	VIEW_NEEDS_DOMAINS,  /* the list of domains */
};

/* All functions but update() are also called while the model has no snapshot. */
struct view_ops {
	const char *name; /* "the call tree" */
	size_t size;      /* bytes of the view's struct, which begins with struct view */
	unsigned traits;  /* enum view_trait */
	enum view_need needs;
	struct key opener;      /* the key that opens the view; without codes: none */
	const struct key *keys; /* keys that work in the view only; NULL if there are none */
	size_t n_keys;
	/*
	 * Sets up the zeroed view; may be NULL. BELOW: the view on top before, NULL if there was
	 * none. FRAME: the function that the view is opened for, or FRAME_NONE.
	 */
	void (*init)(struct view *view, const struct view *below, uint32_t frame);
	/*
	 * Computes what is drawn: the model changed, or REQUEST_UPDATE was returned. May be NULL.
	 */
	struct xtop_error *(*update)(struct view *view, const struct ui_model *model);
	void (*draw)(struct view *view, const struct ui_model *model, struct canvas *canvas,
		     struct area area);
	/* Returns what is left to do for the core: REQUEST itself if the view has no use for it. */
	struct request (*handle)(struct view *view, const struct ui_model *model,
				 struct request request);
	/* Handles a click in the area as last drawn. NULL if nothing can be clicked. */
	struct request (*click)(struct view *view, const struct ui_model *model, int row,
				int column);
	/* The function whose annotation the view needs. NULL if it never needs one. */
	uint32_t (*annotates)(const struct view *view);
	void (*deinit)(struct view *view); /* frees the view's memory; may be NULL */
};

struct view {
	const struct view_ops *ops;
};

/* Returns NULL if memory is out. */
struct view *view_create(const struct view_ops *ops, const struct view *below, uint32_t frame);
void view_destroy(struct view *view);

/* --- shared by views -------------------------------------------------------------------------- */

/* Makes a REQUEST_MESSAGE. */
struct request view_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Requests to open a view for FRAME. With FRAME_NONE there is nothing to do. */
struct request view_naming_of(uint32_t frame);     /* what would name the function */
struct request view_annotation_of(uint32_t frame); /* the function's instructions */

/* Returns the function of ROW, or FRAME_NONE. CONTEXT is the list's context. */
typedef uint32_t view_frame_fn(const void *context, size_t row);
/* The function under the cursor, or FRAME_NONE. With FRAME_OF NULL, keys of rows are functions. */
uint32_t view_selected(const struct list *list, view_frame_fn *frame_of);
/*
 * Handles the requests of every list of functions: moves and searches of the cursor, and opening
 * the callers or the naming of the selected function. Returns other requests unchanged, and a
 * search that finds no row.
 */
struct request view_handle_list(struct list *list, const struct ui_model *model,
				struct request request, view_frame_fn *frame_of);
/* Handles a click on LINE. A click on the selected row opens the callers of its function. */
struct request view_click_list(struct list *list, int line, view_frame_fn *frame_of);
/*
 * Handles searches: moves the cursor to a row with a matching function (list_search()). Returns
 * other requests unchanged, and a search that finds no row.
 */
struct request view_search(struct list *list, const struct ui_model *model,
			   struct request request, view_frame_fn *frame_of);
/* A list_key for rows of a struct function_table: the key of a row is its function. */
uint64_t view_function_key(const void *table, size_t row);

/* Whether FRAME matches the search. */
bool view_matches(const struct ui_model *model, uint32_t frame);
/* The name to show for FRAME. BUFFER holds names that the frame does not have itself. */
const char *view_frame_name(const struct ui_model *model, uint32_t frame,
			    char buffer[SNAPSHOT_NAME_BYTES]);
/* The source line of FRAME, "tcp.c:1478"; "" if it is unknown or the user hides lines. */
const char *view_frame_source(const struct ui_model *model, uint32_t frame);

/*
 * Selects from the baseline into SELECTED, and returns SELECTED. Returns NULL without a baseline or
 * without memory. *WHOLEP: what 100 % is. To be closed with view_close_baseline().
 */
const struct snapshot *view_open_baseline(const struct ui_model *model, struct snapshot *selected,
					  struct weights *wholep);
/* As view_open_baseline(), without the functions that are folded away in the model. */
const struct snapshot *view_open_folded_baseline(const struct ui_model *model,
						 struct snapshot *selected,
						 struct weights *wholep);
void view_close_baseline(const struct ui_model *model, struct snapshot *selected);
/* Half a point more is hot, half a point less is warm, others are dim. */
enum style style_of_change(double points);
/* Like perf's colours: hot from 5 % on, warm from 0.5 % on. */
enum style style_of_percent(double percent);
/* Puts a share in 7 cells, coloured by its size. */
void view_put_share(struct canvas *canvas, int row, int column, double percent);
/* Puts a share in 7 cells, coloured by its change. */
void view_put_changed(struct canvas *canvas, int row, int column, double percent, double points);
/* Marks the row under the cursor. */
void view_mark_row(struct canvas *canvas, int row, int column, int width);
/* Marks the selected row of one of two lists. ACTIVE: the list has the cursor. */
void view_mark_in_list(struct canvas *canvas, int row, int column, int width, bool active);
/* Says that a profile file lacks what the view shows. */
void view_draw_sums_only(const struct ui_model *model, struct canvas *canvas, struct area area);
/* Says why there are no rows. */
void view_draw_empty(const struct ui_model *model, struct canvas *canvas, struct area area);

#endif
