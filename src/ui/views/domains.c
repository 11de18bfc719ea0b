/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All domains, as xentop lists them; Enter profiles one. The share of a physical CPU is the
 * difference between two looks. Whatever is said of a domain may come from its owner: cleaned here.
 * What runs inside is known of those that are or were profiled.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ui/core.h"
#include "ui/list.h"
#include "xtop/text.h"

#define DOMAINS_MAX 4096

struct domain_row {
	struct ui_domain domain; /* as it came: open() wants it so */
	char name[sizeof(((struct ui_domain *)0)->name)], inside[96], state[12], type[8];
	double cpu_percent; /* negative: not known yet */
	bool profiled;      /* now */
};

/* What rows are in order of, as the columns stand. */
enum domains_sort { SORT_NAME, SORT_ID, SORT_CPU, SORT_MEMORY, N_SORTS };

struct view_domains {
	struct view view;
	struct ui *ui;
	struct list list;
	struct domain_row *rows;
	size_t n;
	uint64_t looked_ns;
	int first_row;
	enum domains_sort sort;
	int ends[N_SORTS]; /* of those columns on the screen */
};

static struct view_domains *view_domains(struct view *view)
{
	return (struct view_domains *)view;
}

/* --- update ----------------------------------------------------------------------------------- */

static struct domain_row *domains_find(const struct view_domains *domains, uint32_t id)
{
	for (size_t i = 0; i < domains->n; i++)
		if (domains->rows[i].domain.id == id)
			return &domains->rows[i];
	return NULL;
}

static void domain_clean(struct domain_row *row)
{
	const struct ui_domain *domain = &row->domain;

	text_clean(row->name, sizeof(row->name), domain->name, sizeof(domain->name));
	text_clean(row->inside, sizeof(row->inside), domain->inside, sizeof(domain->inside));
	text_clean(row->state, sizeof(row->state), domain->state, sizeof(domain->state));
	text_clean(row->type, sizeof(row->type), domain->type, sizeof(domain->type));
}

static double domains_cpu_percent(const struct view_domains *domains, const struct ui_domain *now,
				  uint64_t ns)
{
	const struct domain_row *before = domains_find(domains, now->id);

	if (!before || !ns || now->cpu_ns < before->domain.cpu_ns)
		return -1;
	return 100.0 * (double)(now->cpu_ns - before->domain.cpu_ns) / (double)ns;
}

/* Figures: the largest first. What is equal stands in order of their numbers, as they were created. */
static int domain_compare(const void *a, const void *b, void *sort)
{
	const struct domain_row *x = a, *y = b;
	int order = 0;

	switch (*(enum domains_sort *)sort) {
	case SORT_NAME:
		order = strcmp(x->name, y->name);
		break;
	case SORT_CPU:
		order = (x->cpu_percent < y->cpu_percent) - (x->cpu_percent > y->cpu_percent);
		break;
	case SORT_MEMORY:
		order = (x->domain.memory_kib < y->domain.memory_kib) -
			(x->domain.memory_kib > y->domain.memory_kib);
		break;
	case SORT_ID:
	case N_SORTS:
		break;
	}
	return order ? order : (x->domain.id > y->domain.id) - (x->domain.id < y->domain.id);
}

/* Until the cursor is moved it is on the first one that can be profiled, and stays on it. */
static size_t domains_home(const struct view_domains *domains, size_t found)
{
	size_t at = 0;

	if (found < domains->n && !domains->rows[found].domain.obstacle)
		return found;
	while (at < domains->n && domains->rows[at].domain.obstacle)
		at++;
	return at < domains->n ? at : 0;
}

/* Rows are new, or are to be in another order. */
static void domains_settle(struct view_domains *domains)
{
	size_t found = 0;

	if (domains->n)
		qsort_r(domains->rows, domains->n, sizeof(domains->rows[0]), domain_compare,
			&domains->sort);
	while (found < domains->n && domains->rows[found].domain.id != domains->list.key)
		found++;
	list_settle(&domains->list, domains->n, found);
	if (!domains->list.moved)
		domains->list.selected = domains_home(domains, found);
	if (domains->n)
		domains->list.key = domains->rows[domains->list.selected].domain.id;
}

static void domains_go_home(struct view_domains *domains)
{
	domains->list.selected = domains_home(domains, domains->n);
	if (domains->n)
		domains->list.key = domains->rows[domains->list.selected].domain.id;
}

/* GUEST is or was profiled. */
static void domain_look_inside(struct domain_row *row, const struct guest_view *guest)
{
	const char *inside =
		guest->live && guest->live->system[0] ? guest->live->system : guest->system;

	if (inside[0])
		snprintf(row->domain.inside, sizeof(row->domain.inside), "%.95s", inside);
}

/* What is known of it from profiling, now or at the look before. */
static void domains_look_inside(const struct view_domains *domains, struct domain_row *row)
{
	const struct guest_view *guest = ui_find_guest(domains->ui, &row->domain);
	const struct domain_row *before = domains_find(domains, row->domain.id);

	row->profiled = guest != NULL;
	if (row->domain.inside[0])
		return;
	if (before)
		memcpy(row->domain.inside, before->domain.inside, sizeof(row->domain.inside));
	if (guest)
		domain_look_inside(row, guest);
}

void view_domains_leave(struct view *view, const struct guest_view *guest)
{
	struct domain_row *row = domains_find(view_domains(view), guest->pipeline->guest.id);

	if (!row)
		return;
	row->profiled = false;
	domain_look_inside(row, guest);
	domain_clean(row);
}

/* A look within a hundredth of a second of the one before would make shares of noise. */
static struct xtop_error *domains_update(struct view *view, const struct ui_model *model)
{
	struct view_domains *domains = view_domains(view);
	const struct ui_source *source = domains->ui->source;
	uint64_t ns = domains->ui->now_ns - domains->looked_ns;
	struct ui_domain *list = NULL;
	struct domain_row *rows;
	struct xtop_error *error;
	size_t n = 0;

	(void)model;
	if (!source->list)
		return NULL;
	if (domains->n && ns < 10000000)
		return NULL;
	error = source->list(source->context, &list, &n);
	if (error)
		return error;
	n = n < DOMAINS_MAX ? n : DOMAINS_MAX;
	rows = calloc(n + 1, sizeof(*rows));
	for (size_t i = 0; i < n && rows; i++) {
		rows[i].domain = list[i];
		rows[i].cpu_percent =
			domains_cpu_percent(domains, &list[i], domains->looked_ns ? ns : 0);
		domains_look_inside(domains, &rows[i]);
		domain_clean(&rows[i]);
	}
	free(list);
	if (!rows)
		return error_create("out of memory");
	free(domains->rows);
	domains->rows = rows;
	domains->n = n;
	domains->looked_ns = domains->ui->now_ns;
	domains_settle(domains);
	return NULL;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Narrow screens have room for the essential ones only. */
struct domains_columns {
	int name, type, state, vcpus, memory, inside; /* widths; 0: not shown */
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
		       bool right, const char *text)
{
	if (!width)
		return column;
	if (right)
		canvas_put_right(canvas, row, column, width, style, text);
	else
		canvas_put_name(canvas, row, column, width, style, text);
	return column + width + 1;
}

static int domains_put_sorted(struct view_domains *domains, struct canvas *canvas, int row, int at,
			      int width, enum domains_sort sort, const char *name)
{
	bool sorted = domains->sort == sort;
	char text[16];

	snprintf(text, sizeof(text), "%s%s", name, sorted ? "▾" : "");
	at = domains_put(canvas, row, at, width, sorted ? STYLE_SORTED : STYLE_HEADER,
			 sort != SORT_NAME, text);
	domains->ends[sort] = at;
	return at;
}

static void domains_draw_header(struct view_domains *domains, struct canvas *canvas, int row,
				const struct domains_columns *shown)
{
	int at = 2;

	canvas_fill(canvas, row, 0, canvas_columns(canvas), STYLE_HEADER);
	at = domains_put_sorted(domains, canvas, row, at, shown->name, SORT_NAME, "Name");
	at = domains_put_sorted(domains, canvas, row, at, 4, SORT_ID, "Id");
	at = domains_put(canvas, row, at, shown->type, STYLE_HEADER, false, "Type");
	at = domains_put(canvas, row, at, shown->state, STYLE_HEADER, false, "State");
	at = domains_put(canvas, row, at, shown->vcpus, STYLE_HEADER, true, "vCPU");
	at = domains_put_sorted(domains, canvas, row, at, 6, SORT_CPU, "CPU %");
	at = domains_put_sorted(domains, canvas, row, at, shown->memory, SORT_MEMORY, "Memory");
	if (shown->inside)
		canvas_put(canvas, row, at + 1, canvas_columns(canvas) - at - 1, STYLE_HEADER,
			   "What runs inside");
}

static void domains_draw_row(const struct domain_row *domain, struct canvas *canvas, int row,
			     const struct domains_columns *shown)
{
	enum style style = domain->domain.obstacle ? STYLE_DIM : STYLE_NORMAL;
	char text[32];
	int at = 2;

	at = domains_put(canvas, row, at, shown->name, domain->profiled ? STYLE_TITLE : style,
			 false, domain->name);
	snprintf(text, sizeof(text), "%u", domain->domain.id);
	at = domains_put(canvas, row, at, 4, style, true, text);
	at = domains_put(canvas, row, at, shown->type, style, false, domain->type);
	at = domains_put(canvas, row, at, shown->state, style, false, domain->state);
	snprintf(text, sizeof(text), "%u", domain->domain.n_vcpus);
	at = domains_put(canvas, row, at, shown->vcpus, style, true, text);
	snprintf(text, sizeof(text), "%.1f", domain->cpu_percent);
	at = domains_put(canvas, row, at, 6,
			 domain->cpu_percent >= 50  ? STYLE_HOT
			 : domain->cpu_percent >= 5 ? STYLE_WARM
						    : style,
			 true, domain->cpu_percent < 0 ? "-" : text);
	format_bytes(domain->domain.memory_kib * 1024, text);
	at = domains_put(canvas, row, at, shown->memory, style, true, text);
	if (shown->inside)
		canvas_put_name(canvas, row, at + 1, canvas_columns(canvas) - at - 1, STYLE_DIM,
				domain->domain.obstacle ? domain->domain.obstacle : domain->inside);
}

static void domains_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
			 struct area area)
{
	struct view_domains *domains = view_domains(view);
	struct domains_columns shown = domains_columns(area.columns);
	const char *host = domains->ui->settings.host;
	size_t page = area.rows > 2 ? (size_t)area.rows - 2 : 0;
	int column = 1;

	(void)model;
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
}

/* --- requests --------------------------------------------------------------------------------- */

static void domains_set_sort(struct view_domains *domains, enum domains_sort sort)
{
	domains->sort = sort;
	domains_settle(domains);
}

static bool domains_request_sort(struct view_domains *domains, enum request request)
{
	int step = request == REQUEST_SORT_LEFT ? N_SORTS - 1 : 1;

	if (request != REQUEST_SORT_LEFT && request != REQUEST_SORT_RIGHT &&
	    request != REQUEST_SORT_NEXT)
		return false;
	domains_set_sort(domains, (enum domains_sort)(((int)domains->sort + step) % N_SORTS));
	return true;
}

static bool domains_request(struct view *view, struct ui *ui, enum request request)
{
	struct view_domains *domains = view_domains(view);
	struct ui_domain domain;

	if (list_request(&domains->list, request)) {
		if (domains->list.moved && domains->n)
			domains->list.key = domains->rows[domains->list.selected].domain.id;
		else
			domains_go_home(domains);
		return true;
	}
	if (request != REQUEST_OPEN)
		return domains_request_sort(domains, request);
	if (domains->n) {
		domain = domains->rows[domains->list.selected].domain;
		ui_profile_domain(ui, &domain);
	}
	return true;
}

/* Columns that nothing is sorted by stand with what is right of them. */
static void domains_click_header(struct view_domains *domains, int column)
{
	for (int sort = 0; sort < N_SORTS; sort++) {
		if (column < domains->ends[sort]) {
			domains_set_sort(domains, (enum domains_sort)sort);
			return;
		}
	}
}

/* A click on the selected one profiles it. */
static void domains_click(struct view *view, struct ui *ui, int row, int column)
{
	struct view_domains *domains = view_domains(view);
	enum list_click click = list_click(&domains->list, row - domains->first_row);

	if (row == domains->first_row - 1)
		domains_click_header(domains, column);
	if (click == LIST_OPENED)
		domains_request(view, ui, REQUEST_OPEN);
	else if (click == LIST_SELECTED)
		domains->list.key = domains->rows[domains->list.selected].domain.id;
}

static void domains_destroy(struct view *view)
{
	free(view_domains(view)->rows);
	free(view);
}

static const struct view_ops domains_ops = {
	.mask = VIEW_DOMAINS,
	.name = "the list of domains",
	.update = domains_update,
	.draw = domains_draw,
	.request = domains_request,
	.click = domains_click,
	.destroy = domains_destroy,
};

struct view *view_domains_create(struct ui *ui)
{
	struct view_domains *domains = calloc(1, sizeof(*domains));

	if (!domains)
		return NULL;
	domains->view.ops = &domains_ops;
	domains->ui = ui;
	domains->sort = SORT_ID;
	return &domains->view;
}
