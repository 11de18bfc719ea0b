/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A view: one way to look at a picture. Each view has a file of its own in views/ with one table of
 * operations, NAME_ops, which views/views.c lists.
 *
 * A view sees the model and nothing else of the core. It draws only in its area. It may keep what
 * it computed from a snapshot, but not the snapshot.
 */
#ifndef UI_VIEW_H
#define UI_VIEW_H

#include "ui/key.h"
#include "ui/list.h"
#include "ui/model.h"
#include "ui/terminal/canvas.h"

/* What views of waiting tasks show before the first look. A recording may have none at all. */
#define VIEW_NO_LOOK_YET \
	"No look at the guest's tasks yet. A recording has them only with --waits."

struct view;

/* What must be there before the view can be shown. */
enum view_need {
	VIEW_NEEDS_NOTHING,
	VIEW_NEEDS_WAITS,    /* the guest's tasks that wait */
	VIEW_NEEDS_BASELINE, /* a picture to compare with; the one shown becomes it */
	VIEW_NEEDS_DOMAINS,  /* the list of domains */
};

/* While the model has no snapshot, update() is not called; the others are. */
struct view_ops {
	const char *name; /* "the call tree" */
	size_t size;      /* bytes of the view's struct, which begins with struct view */
	unsigned traits;  /* enum view_trait */
	enum view_need needs;
	struct key opener;      /* the key that opens the view; without codes: none */
	const struct key *keys; /* keys that work in the view only; NULL if there are none */
	size_t n_keys;
	/*
	 * After all of it was zeroed; may be NULL. BELOW: the view it was opened from, NULL: none.
	 * FRAME: the function it was opened for, or FRAME_NONE.
	 */
	void (*init)(struct view *view, const struct view *below, uint32_t frame);
	/* The model changed, or the view returned REQUEST_UPDATE. NULL: nothing to compute. */
	struct xtop_error *(*update)(struct view *view, const struct ui_model *model);
	void (*draw)(struct view *view, const struct ui_model *model, struct canvas *canvas,
		     struct area area);
	/* Returns what is left to do: REQUEST itself if it is not the view's. */
	struct request (*handle)(struct view *view, const struct ui_model *model,
				 struct request request);
	/* A click in the area as it was last drawn; NULL: there is nothing to click on. */
	struct request (*click)(struct view *view, const struct ui_model *model, int row,
				int column);
	/* The function whose annotation the view needs; NULL: none. */
	uint32_t (*annotates)(const struct view *view);
	void (*deinit)(struct view *view); /* frees what it holds; NULL: nothing */
};

struct view {
	const struct view_ops *ops;
};

/* NULL: out of memory. */
struct view *view_create(const struct view_ops *ops, const struct view *below, uint32_t frame);
void view_destroy(struct view *view);

/* --- pieces that views share ------------------------------------------------------------------ */

/* REQUEST_MESSAGE with that text. */
struct request view_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* These open another view for FRAME. FRAME_NONE: there is nothing to do. */
struct request view_naming_of(uint32_t frame);     /* what would name it */
struct request view_annotation_of(uint32_t frame); /* its instructions */

/* The function of ROW, or FRAME_NONE. CONTEXT is the list's. */
typedef uint32_t view_frame_fn(const void *context, size_t row);
/* The function under the cursor, or FRAME_NONE. FRAME_OF NULL: the rows' keys are functions. */
uint32_t view_selected(const struct list *list, view_frame_fn *frame_of);
/*
 * What all lists of functions do: the cursor moves or goes to a row that is searched for, and the
 * callers of the selected function are opened, or what would name it. Returns REQUEST if it is
 * something else, and if no row matches.
 */
struct request view_handle_list(struct list *list, const struct ui_model *model,
				struct request request, view_frame_fn *frame_of);
/* A click on LINE of the list: a click on the selected row opens the callers of its function. */
struct request view_click_list(struct list *list, int line, view_frame_fn *frame_of);
/*
 * If REQUEST is one of the searches, the cursor goes to a row whose function is searched for (see
 * list_search()). Returns REQUEST if it is none of the searches, and if no row matches.
 */
struct request view_search(struct list *list, const struct ui_model *model,
			   struct request request, view_frame_fn *frame_of);
/* A list_key for the rows of a struct function_table: their functions. */
uint64_t view_function_key(const void *table, size_t row);

/* Whether FRAME is searched for. */
bool view_matches(const struct ui_model *model, uint32_t frame);
/* The text to show for FRAME, kept in BUFFER if it is not the frame's own. */
const char *view_frame_name(const struct ui_model *model, uint32_t frame,
			    char buffer[SNAPSHOT_NAME_BYTES]);
/* The source line of FRAME, "tcp.c:1478"; "": none is known, or the user wants none. */
const char *view_frame_source(const struct ui_model *model, uint32_t frame);

/*
 * What the selection leaves of the baseline, in SELECTED, and NULL if there is no baseline, or no
 * memory for that. *WHOLEP: what 100 % of it is. Closed by view_close_baseline().
 */
const struct snapshot *view_open_baseline(const struct ui_model *model, struct snapshot *selected,
					  struct weights *wholep);
/* The same without the functions that are folded away in the model. Closed in the same way. */
const struct snapshot *view_open_folded_baseline(const struct ui_model *model,
						 struct snapshot *selected,
						 struct weights *wholep);
void view_close_baseline(const struct ui_model *model, struct snapshot *selected);
/* More by half a point is hot, less is warm, the rest is dim. */
enum style style_of_change(double points);
/* Like perf's colours: hot from 5 % on, warm from 0.5 % on. */
enum style style_of_percent(double percent);
/* A share in 7 cells, coloured by its size. */
void view_put_share(struct canvas *canvas, int row, int column, double percent);
/* The same, coloured by how much it changed. */
void view_put_changed(struct canvas *canvas, int row, int column, double percent, double points);
/* Marks the row under the cursor. */
void view_mark_row(struct canvas *canvas, int row, int column, int width);
/* The same in one of two lists: ACTIVE, the one with the cursor, or the other. */
void view_mark_in_list(struct canvas *canvas, int row, int column, int width, bool active);
/* Says that a profile file has nothing of what this view shows. */
void view_draw_sums_only(const struct ui_model *model, struct canvas *canvas, struct area area);
/* Says why there are no rows. */
void view_draw_empty(const struct ui_model *model, struct canvas *canvas, struct area area);

#endif
