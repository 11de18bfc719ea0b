/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All domains, as in xentop. Enter profiles the selected one. Texts may come from the owner of a
 * domain, so they are cleaned here.
 */
#include "config.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "ui/domain_list.h"
#include "ui/figures.h"
#include "ui/view.h"
#include "xtop/base/text.h"

struct domain_row {
	struct domain_entry entry;
	char name[sizeof(((struct ui_domain *)0)->name)], inside[96], state[12],
		type[8]; /* clean */
};

/* The columns to sort by, from left to right. */
enum domains_sort { SORT_NAME, SORT_ID, SORT_CPU, SORT_MEMORY, N_SORTS };

struct view_domains {
	struct view view;
	struct list list;
	struct domain_row *rows;
	size_t n;
	int first_row;
	enum domains_sort sort;
	int ends[N_SORTS]; /* the screen's column at which each of them ends */
};

static struct view_domains *view_domains(struct view *view)
{
	return (struct view_domains *)view;
}

/* --- update ----------------------------------------------------------------------------------- */

static void domain_clean(struct domain_row *row)
{
	const struct ui_domain *domain = &row->entry.domain;

	text_clean(row->name, sizeof(row->name), domain->name, sizeof(domain->name));
	text_clean(row->inside, sizeof(row->inside), domain->inside, sizeof(domain->inside));
	text_clean(row->state, sizeof(row->state), domain->state, sizeof(domain->state));
	text_clean(row->type, sizeof(row->type), domain->type, sizeof(domain->type));
}

/* Large figures come first. Equal rows are in the order of ids, the oldest domain first. */
static int domain_compare(const void *a, const void *b, void *sort)
{
	const struct domain_row *x = a, *y = b;
	int order = 0;

	switch (*(enum domains_sort *)sort) {
	case SORT_NAME:
		order = strcmp(x->name, y->name);
		break;
	case SORT_CPU:
		order = (x->entry.cpu_percent < y->entry.cpu_percent) -
			(x->entry.cpu_percent > y->entry.cpu_percent);
		break;
	case SORT_MEMORY:
		order = (x->entry.domain.memory_kib < y->entry.domain.memory_kib) -
			(x->entry.domain.memory_kib > y->entry.domain.memory_kib);
		break;
	case SORT_ID:
	case N_SORTS:
		break;
	}
	return order ? order
		     : (x->entry.domain.id > y->entry.domain.id) -
			       (x->entry.domain.id < y->entry.domain.id);
}

static uint64_t domains_key(const void *context, size_t row)
{
	const struct view_domains *domains = context;

	return row < domains->n ? domains->rows[row].entry.domain.id : UINT64_MAX;
}

/* The row with KEY if that domain can be profiled, else the first row that can be. */
static size_t domains_home(const struct view_domains *domains, uint64_t key)
{
	size_t home = domains->n;

	for (size_t i = domains->n; i-- > 0;) {
		if (domains->rows[i].entry.domain.obstacle)
			continue;
		if (domains->rows[i].entry.domain.id == key)
			return i;
		home = i;
	}
	return home < domains->n ? home : 0;
}

/* Sorts the rows. Until the user moves the cursor, it stays on a domain that can be profiled. */
static void domains_arrange(struct view_domains *domains)
{
	uint64_t key = domains->list.key;

	if (domains->n)
		qsort_r(domains->rows, domains->n, sizeof(domains->rows[0]), domain_compare,
			&domains->sort);
	list_update(&domains->list, domains->n, domains_key, domains);
	if (!domains->list.moved)
		list_place(&domains->list, domains_home(domains, key));
}

static struct xtop_error *domains_update(struct view *view, const struct ui_model *model)
{
	struct view_domains *domains = view_domains(view);
	struct domain_row *rows = calloc(model->domains->n + 1, sizeof(*rows));

	if (!rows)
		return error_create("out of memory");
	for (size_t i = 0; i < model->domains->n; i++) {
		rows[i].entry = model->domains->entries[i];
		domain_clean(&rows[i]);
	}
	free(domains->rows);
	domains->rows = rows;
	domains->n = model->domains->n;
	domains_arrange(domains);
	return NULL;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Narrow screens show only the essential columns. */
struct domains_columns {
	int name, type, state, vcpus, memory, inside; /* widths; 0 if not shown */
};

static struct domains_columns domains_columns(int columns_)
{
	struct domains_columns shown = { .name = columns_ < 60 ? 13 : 16 };

	shown.state = 8;
	shown.type = columns_ >= 50 ? 4 : 0;
	shown.vcpus = columns_ >= 60 ? 4 : 0;
	shown.memory = columns_ >= 66 ? 8 : 0;
	shown.inside = columns_ >= 80 ? 1 : 0;
	if (columns_ >= 110)
		shown.name = 28;
	return shown;
}

static int domains_put(struct canvas *canvas, int row, int column, int width, enum style style,
		       const char *text)
{
	if (!width)
		return column;
	canvas_put_name(canvas, row, column, width, style, text);
	return column + width + 1;
}

static int domains_put_right(struct canvas *canvas, int row, int column, int width,
			     enum style style, const char *text)
{
	if (!width)
		return column;
	canvas_put_right(canvas, row, column, width, style, text);
	return column + width + 1;
}

static int domains_put_sorted(struct view_domains *domains, struct canvas *canvas, int row, int at,
			      int width, enum domains_sort sort)
{
	static const char *const names[] = { "Name", "Id", "CPU %", "Memory" };
	bool sorted = domains->sort == sort;
	enum style style = sorted ? STYLE_SORTED : STYLE_HEADER;
	char text[16];

	snprintf(text, sizeof(text), "%s%s", names[sort], sorted ? "▾" : "");
	at = sort == SORT_NAME ? domains_put(canvas, row, at, width, style, text)
			       : domains_put_right(canvas, row, at, width, style, text);
	domains->ends[sort] = at;
	return at;
}

static void domains_draw_header(struct view_domains *domains, struct canvas *canvas, int row,
				const struct domains_columns *shown)
{
	int at = 2;

	canvas_fill(canvas, row, 0, canvas_columns(canvas), STYLE_HEADER);
	at = domains_put_sorted(domains, canvas, row, at, shown->name, SORT_NAME);
	at = domains_put_sorted(domains, canvas, row, at, 4, SORT_ID);
	at = domains_put(canvas, row, at, shown->type, STYLE_HEADER, "Type");
	at = domains_put(canvas, row, at, shown->state, STYLE_HEADER, "State");
	at = domains_put_right(canvas, row, at, shown->vcpus, STYLE_HEADER, "vCPU");
	at = domains_put_sorted(domains, canvas, row, at, 6, SORT_CPU);
	at = domains_put_sorted(domains, canvas, row, at, shown->memory, SORT_MEMORY);
	if (shown->inside)
		canvas_put(canvas, row, at + 1, canvas_columns(canvas) - at - 1, STYLE_HEADER,
			   "What runs inside");
}

static void domains_draw_row(const struct domain_row *domain_row, struct canvas *canvas, int row,
			     const struct domains_columns *shown)
{
	const struct domain_entry *entry = &domain_row->entry;
	const struct ui_domain *domain = &entry->domain;
	enum style style = domain->obstacle ? STYLE_DIM : STYLE_NORMAL;
	char text[32];
	int at = 2;

	at = domains_put(canvas, row, at, shown->name, entry->profiled ? STYLE_TITLE : style,
			 domain_row->name);
	snprintf(text, sizeof(text), "%u", domain->id);
	at = domains_put_right(canvas, row, at, 4, style, text);
	at = domains_put(canvas, row, at, shown->type, style, domain_row->type);
	at = domains_put(canvas, row, at, shown->state, style, domain_row->state);
	snprintf(text, sizeof(text), "%u", domain->n_vcpus);
	at = domains_put_right(canvas, row, at, shown->vcpus, style, text);
	snprintf(text, sizeof(text), "%.1f", entry->cpu_percent);
	at = domains_put_right(canvas, row, at, 6,
			       entry->cpu_percent >= 50  ? STYLE_HOT
			       : entry->cpu_percent >= 5 ? STYLE_WARM
							 : style,
			       entry->cpu_percent < 0 ? "-" : text);
	format_bytes(domain->memory_kib * 1024, text);
	at = domains_put_right(canvas, row, at, shown->memory, style, text);
	if (shown->inside)
		canvas_put_name(canvas, row, at + 1, canvas_columns(canvas) - at - 1, STYLE_DIM,
				domain->obstacle ? domain->obstacle : domain_row->inside);
}

static bool domains_have_guest(const struct view_domains *domains)
{
	for (size_t i = 0; i < domains->n; i++)
		if (!domains->rows[i].entry.domain.obstacle)
			return true;
	return false;
}

static void domains_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			 struct area area)
{
	struct view_domains *domains = view_domains(view);
	struct domains_columns shown = domains_columns(area.columns);
	const char *host = model->host;
	size_t page = area.rows > 2 ? (size_t)area.rows - 2 : 0;
	int column = 1;

	column += canvas_put(canvas, area.row, column, 4, STYLE_TITLE, "xtop");
	canvas_printf(canvas, area.row, column, STYLE_NORMAL, "%s%s · %zu domain%s",
		      host && host[0] ? " · " : "", host ? host : "", domains->n,
		      domains->n == 1 ? "" : "s");
	domains->first_row = area.row + 2;
	domains_draw_header(domains, canvas, area.row + 1, &shown);
	list_show(&domains->list, page);
	for (size_t i = 0; i < page && domains->list.top + i < domains->n; i++) {
		int row = domains->first_row + (int)i;

		domains_draw_row(&domains->rows[domains->list.top + i], canvas, row, &shown);
		if (domains->list.top + i == domains->list.selected)
			view_mark_row(canvas, row, 0, area.columns);
	}
	if (domains->n && page > domains->n + 1 && !domains_have_guest(domains))
		canvas_put(canvas, domains->first_row + (int)domains->n + 1, 2, area.columns - 2,
			   STYLE_NOTICE, "No guest is here to look into. One that starts appears.");
}

/* --- requests --------------------------------------------------------------------------------- */

static void domains_set_sort(struct view_domains *domains, enum domains_sort sort)
{
	domains->sort = sort;
	domains_arrange(domains);
}

static struct request domains_next_sort(struct view_domains *domains, int step)
{
	domains_set_sort(domains,
			 (enum domains_sort)(((int)domains->sort + N_SORTS + step) % N_SORTS));
	return request_of(REQUEST_NONE);
}

static struct request domains_open(const struct view_domains *domains)
{
	if (!domains->n)
		return request_of(REQUEST_NONE);
	return (struct request){ .code = REQUEST_PROFILE,
				 .domain = &domains->rows[domains->list.selected].entry.domain };
}

static struct request domains_handle(struct view *view, const struct ui_model *model,
				     struct request request)
{
	struct view_domains *domains = view_domains(view);

	(void)model;
	if (list_request(&domains->list, request.code)) {
		if (!domains->list.moved) /* REQUEST_HOME */
			list_place(&domains->list, domains_home(domains, UINT64_MAX));
		return request_of(REQUEST_NONE);
	}
	switch ((int)request.code) {
	case REQUEST_OPEN:
		return domains_open(domains);
	case REQUEST_SORT_LEFT:
		return domains_next_sort(domains, -1);
	case REQUEST_SORT_RIGHT:
	case REQUEST_SORT_NEXT:
		return domains_next_sort(domains, 1);
	default:
		return request;
	}
}

/* A click on a column without an order goes to the next column to the right that has one. */
static void domains_click_header(struct view_domains *domains, int column)
{
	for (int sort = 0; sort < N_SORTS; sort++) {
		if (column < domains->ends[sort]) {
			domains_set_sort(domains, (enum domains_sort)sort);
			return;
		}
	}
}

/* A click on the selected row profiles the domain. */
static struct request domains_click(struct view *view, const struct ui_model *model, int row,
				    int column)
{
	struct view_domains *domains = view_domains(view);

	(void)model;
	if (row == domains->first_row - 1)
		domains_click_header(domains, column);
	return list_click(&domains->list, row - domains->first_row) == LIST_OPENED
		       ? domains_open(domains)
		       : request_of(REQUEST_NONE);
}

static void domains_init(struct view *view, const struct view *below, uint32_t frame)
{
	(void)below;
	(void)frame;
	view_domains(view)->sort = SORT_ID;
}

static void domains_deinit(struct view *view)
{
	free(view_domains(view)->rows);
}

/* clang-format off */
static const struct key domains_keys[] = {
	{ KEYS_OPEN, { INPUT_ENTER, '\n', INPUT_RIGHT, 'l' }, .request = REQUEST_OPEN,
	  .names = "Enter", .label = "Profile", .help = "profile the domain" },
	{ KEYS_PICTURE, { 's' }, .request = REQUEST_INTERVAL,
	  .names = "s", .help = "seconds between refreshes" },
};
/* clang-format on */

const struct view_ops domains_ops = {
	.name = "the list of domains",
	.size = sizeof(struct view_domains),
	.traits = VIEW_COLUMNS | VIEW_BACK_BY_ESC,
	.needs = VIEW_NEEDS_DOMAINS,
	.opener = { KEYS_VIEWS, { 'D' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .names = "D R", .help = "domains; report of --crash", .opens = &domains_ops },
	.keys = domains_keys,
	.n_keys = sizeof(domains_keys) / sizeof(domains_keys[0]),
	.init = domains_init,
	.update = domains_update,
	.draw = domains_draw,
	.handle = domains_handle,
	.click = domains_click,
	.deinit = domains_deinit,
};
