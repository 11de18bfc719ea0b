/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes with their threads, and modules: two lists side by side, or one at a time. The user may
 * list processes below their control groups. Enter restricts all views to the process, group or
 * module under the cursor.
 */
#include "config.h"

#include <string.h>

#include "ui/view.h"
#include "xtop/base/hash.h"
#include "xtop/query/groups.h"

#define GROUPS_SIDE_BY_SIDE 76           /* columns from which on both lists are shown */
#define GROUPS_CGROUP_AT    28           /* first cell of the column of control groups */
#define GROUPS_CGROUP_MIN   44           /* width of a list that has this column */
#define GROUPS_SELF_AT      10           /* first cells of the modules' columns */
#define GROUPS_MODULE_AT    19
#define GROUPS_CGROUP_KEY   (1ULL << 63) /* bit of a group's key that no frame's key has */

enum groups_side { GROUPS_PROCESSES, GROUPS_MODULES };

struct view_groups {
	struct view view;
	struct groups groups[2];
	struct list lists[2];
	enum groups_side side;
	bool chosen; /* the user chose the side */
	bool side_by_side;
	bool by_children;            /* how modules are sorted; not by self */
	bool by_cgroup, has_cgroups; /* how processes were listed, and whether groups are known */
	int first_row, columns;
};

static struct view_groups *view_groups(struct view *view)
{
	return (struct view_groups *)view;
}

/* --- update ----------------------------------------------------------------------------------- */

static uint64_t groups_key(const void *context, size_t row)
{
	const struct groups *groups = context;

	const char *name = row < groups->n ? groups->rows[row].name : "";

	if (row >= groups->n)
		return FRAME_NONE;
	/* The hottest process of a group changes, the name does not. */
	return groups->rows[row].is_cgroup ? GROUPS_CGROUP_KEY | hash_bytes(0, name, strlen(name))
					   : groups->rows[row].frame;
}

static void groups_update_list(struct view_groups *view, enum groups_side side)
{
	const struct groups *groups = &view->groups[side];

	list_update(&view->lists[side], groups->n, groups_key, groups);
}

static uint32_t groups_frame(const void *context, size_t row)
{
	const struct groups *groups = context;

	return row < groups->n ? groups->rows[row].frame : FRAME_NONE;
}

static struct xtop_error *groups_update_processes(struct view_groups *view,
						  const struct ui_model *model)
{
	struct groups *groups = &view->groups[GROUPS_PROCESSES];
	struct xtop_error *error =
		model->names.by_cgroup
			? groups_build_cgroups(model->snapshot, model->shares.totals, groups)
			: groups_build_processes(model->snapshot, model->shares.totals, groups);

	view->by_cgroup = model->names.by_cgroup;
	view->has_cgroups = false;
	for (size_t i = 0; i < groups->n && !view->has_cgroups; i++)
		view->has_cgroups = groups->rows[i].cgroup && groups->rows[i].cgroup[0];
	return error;
}

static struct xtop_error *groups_update(struct view *view, const struct ui_model *model)
{
	struct view_groups *groups = view_groups(view);
	struct xtop_error *error;

	groups_deinit(&groups->groups[0]);
	groups_deinit(&groups->groups[1]);
	error = groups_update_processes(groups, model);
	if (!error)
		error = groups_build_modules(model->snapshot, model->shares.totals,
					     &groups->groups[1]);
	groups_sort_modules(&groups->groups[1], model->shares.totals, groups->by_children);
	groups_update_list(groups, GROUPS_PROCESSES);
	groups_update_list(groups, GROUPS_MODULES);
	if (!groups->chosen) /* a unikernel has no processes */
		groups->side = groups->groups[0].n ? GROUPS_PROCESSES : GROUPS_MODULES;
	return error;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static const char *group_name(const struct group_row *row)
{
	return row->name[0] ? row->name : row->is_cgroup ? "(in no cgroup)" : "(of no module)";
}

/* Draws the indentation of a thread or of a process in a group. Returns the name's column. */
static int groups_draw_fork(const struct view_groups *view, struct canvas *canvas,
			    const struct group_row *group, int row, int at, int width)
{
	if (view->by_cgroup && group->is_thread)
		at += canvas_put(canvas, row, at, width, STYLE_DIM, "   ");
	if (group->is_thread || (view->by_cgroup && !group->is_cgroup))
		at += canvas_put(canvas, row, at, width, STYLE_DIM, "└─ ");
	return at;
}

static bool groups_has_cgroup_column(const struct view_groups *view, int width)
{
	return view->has_cgroups && !view->by_cgroup && width >= GROUPS_CGROUP_MIN;
}

/* Draws the column of control groups, if there is one. Returns where the name must end. */
static int groups_draw_cgroup(const struct view_groups *view, struct canvas *canvas,
			      const struct group_row *group, int row, int column, int width)
{
	int at = column + GROUPS_CGROUP_AT;

	if (!group->cgroup || !groups_has_cgroup_column(view, width))
		return column + width;
	canvas_put_name(canvas, row, at, column + width - at, STYLE_DIM, group->cgroup);
	return at - 1;
}

/* A row of the list that begins at COLUMN. */
struct groups_place {
	enum groups_side side;
	size_t index;
	int column, width;
};

static void groups_draw_row(const struct view_groups *view, const struct ui_model *model,
			    struct canvas *canvas, const struct groups_place *place, int row)
{
	enum groups_side side = place->side;
	int column = place->column, width = place->width;
	const struct group_row *group = &view->groups[side].rows[place->index];
	double whole = weights_children(model, &model->whole);
	double children = percent_of(weights_children(model, &group->weights), whole),
	       self = percent_of(weights_self(model, &group->weights), whole);
	int at = column + 1, end;

	view_put_share(canvas, row, at, children);
	at += 9;
	if (side == GROUPS_MODULES) {
		view_put_share(canvas, row, at, self);
		at += 9;
	}
	if (side == GROUPS_PROCESSES)
		at = groups_draw_fork(view, canvas, group, row, at, width);
	end = groups_draw_cgroup(view, canvas, group, row, column, width);
	canvas_put_name(canvas, row, at, end - at,
			view_matches(model, group->frame) ? STYLE_MATCH
			: children < 0.5                  ? STYLE_DIM
			: group->is_cgroup                ? STYLE_TITLE
							  : STYLE_NORMAL,
			group_name(group));
	if (place->index == view->lists[side].selected)
		view_mark_in_list(canvas, row, column, width, side == view->side);
}

static void groups_draw_list(struct view_groups *view, const struct ui_model *model,
			     struct canvas *canvas, enum groups_side side, struct area area,
			     int column)
{
	struct list *list = &view->lists[side];
	enum style style = view->side == side ? STYLE_SORTED : STYLE_HEADER;
	size_t page = area.rows > 1 ? (size_t)area.rows - 1 : 0;

	canvas_fill(canvas, area.row, column, area.columns, STYLE_HEADER);
	if (side == GROUPS_PROCESSES) {
		canvas_put_right(canvas, area.row, column + 1, 8, STYLE_HEADER, "Share▾");
		canvas_put(canvas, area.row, column + 10, area.columns - 10, style,
			   view->by_cgroup ? "Container or unit" : "Process");
		if (groups_has_cgroup_column(view, area.columns))
			canvas_put(canvas, area.row, column + GROUPS_CGROUP_AT,
				   area.columns - GROUPS_CGROUP_AT, style, "Container or unit");
	} else {
		canvas_put(canvas, area.row, column, 9, STYLE_HEADER,
			   view->by_children ? "Children▾" : "Children");
		canvas_put_right(canvas, area.row, column + GROUPS_SELF_AT, 8, STYLE_HEADER,
				 view->by_children ? "Self" : "Self▾");
		canvas_put(canvas, area.row, column + GROUPS_MODULE_AT,
			   area.columns - GROUPS_MODULE_AT, style, "Module");
	}
	if (!view->side_by_side)
		canvas_put_right(canvas, area.row, column + 26, area.columns - 27, STYLE_HEADER,
				 side == GROUPS_PROCESSES ? "Tab: Module" : "Tab: Process");
	list_show(list, page);
	for (size_t i = 0; i < page && list->top + i < list->n; i++) {
		const struct groups_place place = { side, list->top + i, column, area.columns };

		groups_draw_row(view, model, canvas, &place, area.row + 1 + (int)i);
	}
	if (!list->n && page)
		canvas_put(canvas, area.row + 1, column + 10, area.columns - 10, STYLE_DIM,
			   side == GROUPS_PROCESSES ? "(none known)" : "(no functions yet)");
}

static void groups_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			struct area area)
{
	struct view_groups *groups = view_groups(view);
	int half = area.columns * 2 / 5;

	if (!model->snapshot || (!groups->groups[0].n && !groups->groups[1].n)) {
		view_draw_empty(model, canvas, area);
		return;
	}
	groups->side_by_side = area.columns >= GROUPS_SIDE_BY_SIDE;
	groups->columns = half;
	groups->first_row = area.row + 1;
	if (!groups->side_by_side) {
		groups_draw_list(groups, model, canvas, groups->side, area, 0);
		return;
	}
	groups_draw_list(groups, model, canvas, GROUPS_PROCESSES,
			 (struct area){ area.row, area.rows, half - 1 }, 0);
	groups_draw_list(groups, model, canvas, GROUPS_MODULES,
			 (struct area){ area.row, area.rows, area.columns - half }, half);
	canvas_fill(canvas, area.row, half - 1, 1, STYLE_HEADER);
}

/* --- requests --------------------------------------------------------------------------------- */

/*
 * A restriction to a process or group combines with a restriction to a module. A process replaces a
 * group, and a group replaces a process.
 */
static struct request groups_open(const struct view_groups *view, const struct ui_model *model)
{
	const struct groups *groups = &view->groups[view->side];
	struct request request = { .code = REQUEST_RESTRICT,
				   .process = model->selection->process,
				   .cgroup = model->selection->cgroup,
				   .module = model->selection->module };
	const struct group_row *row;

	if (!groups->n)
		return request_of(REQUEST_NONE);
	row = &groups->rows[view->lists[view->side].selected];
	if (view->side == GROUPS_MODULES) {
		request.module = row->name;
	} else {
		request.process = row->is_cgroup ? FRAME_NONE : row->frame;
		request.cgroup = row->is_cgroup ? row->name : NULL;
	}
	return request;
}

/* Only modules have two figures to sort by. */
static struct request groups_sort(struct view_groups *view, bool by_children)
{
	view->by_children = by_children;
	return request_of(REQUEST_UPDATE);
}

static struct request groups_handle(struct view *view, const struct ui_model *model,
				    struct request request)
{
	struct view_groups *groups = view_groups(view);
	struct list *list = &groups->lists[groups->side];

	if (list_request(list, request.code))
		return request_of(REQUEST_NONE);
	switch ((int)request.code) {
	case REQUEST_OPEN:
		return groups_open(groups, model);
	case REQUEST_SWITCH:
		groups->side = groups->side == GROUPS_PROCESSES ? GROUPS_MODULES : GROUPS_PROCESSES;
		groups->chosen = true;
		return request_of(REQUEST_NONE);
	case REQUEST_SORT_LEFT:
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		return groups_sort(groups, !groups->by_children);
	default:
		return view_search(list, model, request, groups_frame);
	}
}

/* COLUMN: counted from the list's first cell. */
static struct request groups_click_header(struct view_groups *view, int column)
{
	if (view->side == GROUPS_PROCESSES || column >= GROUPS_MODULE_AT)
		return request_of(REQUEST_NONE);
	return groups_sort(view, column < GROUPS_SELF_AT);
}

/* A click on the selected row restricts all views to that row. */
static struct request groups_click(struct view *view, const struct ui_model *model, int row,
				   int column)
{
	struct view_groups *groups = view_groups(view);
	enum groups_side before = groups->side;
	enum list_click click;

	if (groups->side_by_side) {
		groups->side = column < groups->columns ? GROUPS_PROCESSES : GROUPS_MODULES;
		groups->chosen = true;
	}
	if (row == groups->first_row - 1)
		return groups_click_header(groups, groups->side_by_side ? column - groups->columns
									: column);
	click = list_click(&groups->lists[groups->side], row - groups->first_row);
	return click == LIST_OPENED && groups->side == before ? groups_open(groups, model)
							      : request_of(REQUEST_NONE);
}

static void groups_view_deinit(struct view *view)
{
	struct view_groups *groups = view_groups(view);

	groups_deinit(&groups->groups[0]);
	groups_deinit(&groups->groups[1]);
}

/* clang-format off */
static const struct key groups_keys[] = {
	{ KEYS_OPEN, { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, .request = REQUEST_OPEN,
	  .names = "Enter Right", .help = "show only that, everywhere" },
	{ KEYS_SWITCH, { INPUT_TAB }, .request = REQUEST_SWITCH,
	  .names = "Tab", .help = "to the other list" },
	{ KEYS_SWITCH, { 'd' }, .request = REQUEST_PAIR,
	  .names = "d", .help = "against the next guest" },
	{ KEYS_UNFOLD, { 'c' }, .request = REQUEST_CGROUPS,
	  .names = "c", .help = "by container, unit, or not" },
};
/* clang-format on */

const struct view_ops groups_ops = {
	.name = "processes and modules",
	.size = sizeof(struct view_groups),
	.traits = VIEW_GUEST | VIEW_SEARCHED | VIEW_COLUMNS | VIEW_ENDS_RANGE | VIEW_BACK_BY_LEFT,
	.opener = { KEYS_PROFILE,
		    { 'p' },
		    .request = REQUEST_VIEW,
		    .views = VIEW_GUEST,
		    .opens = &groups_ops },
	.keys = groups_keys,
	.n_keys = sizeof(groups_keys) / sizeof(groups_keys[0]),
	.update = groups_update,
	.draw = groups_draw,
	.handle = groups_handle,
	.click = groups_click,
	.deinit = groups_view_deinit,
};
