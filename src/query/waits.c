/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of waits; see waits.h. One pass over the nodes that have weight of their own: such
 * a node and the nodes above it are a stack. Names are classified once for each frame.
 */
#include "config.h"

#include "xtop/query/waits.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/vector.h"

struct waits_pass {
	const struct snapshot *snapshot;
	struct wait_classes classes;
	struct waits_table table;
	size_t capacity;
	struct hash_table index;
};

struct waits_key {
	const struct waits_table *table;
	const struct waits_row *row;
};

static bool waits_is_same(const void *context, uint32_t number)
{
	const struct waits_key *key = context;
	const struct waits_row *a = &key->table->rows[number], *b = key->row;

	return a->process == b->process && a->thread == b->thread &&
	       a->site.frame == b->site.frame && a->site.kind == b->site.kind &&
	       a->site.idle == b->site.idle;
}

/* The row with ROW's process, thread and site; added if new. NULL: out of memory. */
static struct waits_row *waits_find_or_add(struct waits_pass *pass,
					   const struct waits_row *row)
{
	struct waits_table *table = &pass->table;
	const struct waits_key key = { table, row };
	uint64_t hash = hash_word(0, (uint64_t)row->process << 32 | row->thread);
	uint32_t number;

	hash = hash_word(hash, (uint64_t)row->site.frame << 32 |
				       (uint32_t)row->site.kind << 1 | row->site.idle);
	number = hash_table_find(&pass->index, hash, waits_is_same, &key);
	if (number != HASH_NONE)
		return &table->rows[number];
	if (!vector_reserve(table->rows, pass->capacity, table->n + 1) ||
	    !hash_table_add(&pass->index, hash, (uint32_t)table->n))
		return NULL;
	table->rows[table->n] = *row;
	return &table->rows[table->n++];
}

/* The stack of NODE, outermost first. Returns how many frames. */
static size_t waits_stack(const struct snapshot *snapshot, uint32_t node,
			  uint32_t stack[SNAPSHOT_MAX_DEPTH])
{
	size_t depth = snapshot->nodes[node].depth, n = depth;

	for (; n > 0; node = snapshot->nodes[node].parent)
		stack[--n] = snapshot->nodes[node].frame;
	return depth;
}

static bool waits_add_node(struct waits_pass *pass, uint32_t index)
{
	const struct snapshot *snapshot = pass->snapshot;
	const struct snapshot_node *node = &snapshot->nodes[index];
	uint32_t stack[SNAPSHOT_MAX_DEPTH];
	struct waits_row row = { 0 }, *found;
	size_t n;

	if (!snapshot_node_counts_self(node) || !node->depth || node->depth > SNAPSHOT_MAX_DEPTH)
		return true;
	n = waits_stack(snapshot, index, stack);
	row.process = frames_is_process(snapshot->frames, stack[0]) ? stack[0] : FRAME_NONE;
	row.thread = n > 1 && frames_is_thread(snapshot->frames, stack[1]) ? stack[1] : FRAME_NONE;
	row.site = wait_site_find(snapshot->frames, &pass->classes, stack, n);
	found = waits_find_or_add(pass, &row);
	if (found)
		weights_add_self(&found->weights, node);
	return found;
}

struct wait_site waits_site_of(const struct snapshot *snapshot, const struct wait_classes *classes,
			       uint32_t node)
{
	uint32_t stack[SNAPSHOT_MAX_DEPTH], depth = snapshot->nodes[node].depth;

	if (!depth || depth > SNAPSHOT_MAX_DEPTH)
		return (struct wait_site){ .frame = FRAME_NONE };
	return wait_site_find(snapshot->frames, classes, stack, waits_stack(snapshot, node, stack));
}

/* The innermost node of FRAME at INDEX or above; INDEX: there is none. */
static uint32_t waits_node_of(const struct snapshot *snapshot, uint32_t index, uint32_t frame)
{
	for (uint32_t at = index; at; at = snapshot->nodes[at].parent)
		if (snapshot->nodes[at].frame == frame)
			return at;
	return index;
}

static void waits_move_to_site(const struct snapshot *from, const struct wait_classes *classes,
			       uint32_t index, struct snapshot_node *to)
{
	const struct snapshot_node *node = &from->nodes[index];
	uint32_t at = index;

	if (snapshot_node_counts_self(node))
		at = waits_node_of(from, index, waits_site_of(from, classes, index).frame);
	to[at].self_live += node->self_live;
	to[at].self_ticks += node->self_ticks;
	to[at].self_total += node->self_total;
	to[at].children_live += node->self_live;
	to[at].children_ticks += node->self_ticks;
	to[at].children_total += node->self_total;
}

struct xtop_error *waits_weigh_sites(const struct snapshot *from, struct snapshot *to)
{
	struct wait_classes classes = { calloc(from->n_frames, 1), from->n_frames };
	struct snapshot made = *from;

	made.nodes = classes.classes ? snapshot_nodes_create(from->n_nodes) : NULL;
	if (!made.nodes) {
		free(classes.classes);
		return error_create("no memory for the sites of %zu nodes", from->n_nodes);
	}
	for (uint32_t i = 0; i < from->n_nodes; i++) {
		made.nodes[i] = from->nodes[i];
		made.nodes[i].self_live = made.nodes[i].children_live = 0;
		made.nodes[i].self_ticks = made.nodes[i].children_ticks = 0;
		made.nodes[i].self_total = made.nodes[i].children_total = 0;
	}
	for (uint32_t i = 0; i < from->n_nodes; i++)
		waits_move_to_site(from, &classes, i, made.nodes);
	snapshot_nodes_sum(made.nodes, from->n_nodes);
	free(classes.classes);
	*to = made;
	return NULL;
}

static int waits_compare_waits(const void *pointer_a, const void *pointer_b)
{
	const struct snapshot_wait *a = pointer_a, *b = pointer_b;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Sets the members of the table's rows that only the snapshot's rows tell. */
static struct xtop_error *waits_join(struct waits_pass *pass)
{
	const struct snapshot_waits *waits = pass->snapshot->waits;
	_cleanup_free_ struct snapshot_wait *sorted = NULL;

	if (!waits || !waits->n_rows)
		return NULL;
	sorted = reallocarray(NULL, waits->n_rows, sizeof(*sorted));
	if (!sorted)
		return error_create("no memory for the table of waits");
	memcpy(sorted, waits->rows, waits->n_rows * sizeof(*sorted));
	qsort(sorted, waits->n_rows, sizeof(*sorted), waits_compare_waits);
	for (size_t i = 0; i < pass->table.n; i++) {
		struct waits_row *row = &pass->table.rows[i];
		const struct snapshot_wait key = { .process = row->process,
						   .thread = row->thread,
						   .site = row->site.frame,
						   .kind = (uint8_t)row->site.kind };
		const struct snapshot_wait *found =
			bsearch(&key, sorted, waits->n_rows, sizeof(key), waits_compare_waits);

		if (!found)
			continue;
		row->known = true;
		row->now = found->now;
		row->states = found->states;
		row->longest_ns = found->longest_ns;
	}
	return NULL;
}

static void waits_set_means(struct waits_pass *pass)
{
	const struct snapshot_waits *waits = pass->snapshot->waits;

	for (size_t i = 0; waits && i < pass->table.n; i++) {
		struct waits_row *row = &pass->table.rows[i];

		if (waits->span_live > 0)
			row->mean = row->weights.self_live / waits->span_live;
		if (waits->span_ticks > 0)
			row->mean_total = row->weights.self_ticks / waits->span_ticks;
	}
}

struct xtop_error *waits_build(const struct snapshot *snapshot, struct waits_table *table)
{
	struct waits_pass pass = { .snapshot = snapshot,
				   .classes = { calloc(snapshot->n_frames, 1),
						snapshot->n_frames } };
	struct xtop_error *error = NULL;

	if (!pass.classes.classes)
		error = error_create("no memory for the table of waits");
	for (uint32_t i = 1; i < snapshot->n_nodes && !error; i++)
		if (!waits_add_node(&pass, i))
			error = error_create("no memory for the table of waits");
	if (!error)
		error = waits_join(&pass);
	waits_set_means(&pass);
	free(pass.classes.classes);
	hash_table_deinit(&pass.index);
	if (error)
		waits_deinit(&pass.table);
	else
		*table = pass.table;
	return error;
}

struct xtop_error *waits_build_filtered(const struct snapshot *snapshot,
					const struct filter *filter, struct waits_table *table)
{
	struct snapshot filtered = *snapshot;
	struct snapshot_node *copy = NULL;
	const struct snapshot_node *nodes;
	struct xtop_error *error = filter_nodes(filter, snapshot, &copy, &nodes);

	if (error)
		return error;
	filtered.nodes = copy ? copy : snapshot->nodes;
	error = waits_build(&filtered, table);
	free(copy);
	return error;
}

void waits_deinit(struct waits_table *table)
{
	free(table->rows);
	*table = (struct waits_table){ 0 };
}

/* --- order ------------------------------------------------------------------------------------ */

struct waits_sorting {
	const struct frames *frames;
	enum waits_order order;
	bool totals;
};

static double waits_figure(const struct waits_row *row, const struct waits_sorting *sorting)
{
	switch (sorting->order) {
	case WAITS_BY_NOW:
		return row->now;
	case WAITS_BY_LONGEST:
		return (double)row->longest_ns;
	case WAITS_BY_MEAN:
	case N_WAITS_ORDERS:
		break;
	}
	return sorting->totals ? row->mean_total : row->mean;
}

static int waits_compare_names(const struct frames *frames, uint32_t a, uint32_t b)
{
	if (a == b || a == FRAME_NONE || b == FRAME_NONE)
		return (a > b) - (a < b);
	return strcmp(frames_get(frames, a)->name, frames_get(frames, b)->name);
}

static int waits_compare_rows(const void *pointer_a, const void *pointer_b, void *pointer)
{
	const struct waits_row *a = pointer_a, *b = pointer_b;
	const struct waits_sorting *sorting = pointer;
	double x = waits_figure(a, sorting), y = waits_figure(b, sorting);
	int order;

	if (x != y)
		return x < y ? 1 : -1;
	order = waits_compare_names(sorting->frames, a->process, b->process);
	if (!order)
		order = waits_compare_names(sorting->frames, a->thread, b->thread);
	if (!order)
		order = waits_compare_names(sorting->frames, a->site.frame, b->site.frame);
	return order ? order : (a->site.kind > b->site.kind) - (a->site.kind < b->site.kind);
}

void waits_sort(struct waits_table *table, const struct frames *frames, enum waits_order order,
		bool totals)
{
	struct waits_sorting sorting = { frames, order, totals };

	if (table->n)
		qsort_r(table->rows, table->n, sizeof(*table->rows), waits_compare_rows, &sorting);
}

/* --- what rows say ---------------------------------------------------------------------------- */

const char *waits_states(const struct waits_row *row, char buffer[WAITS_STATES_BYTES])
{
	size_t n = 0;

	for (unsigned state = 0; state < N_OS_WAIT_STATES; state++)
		if (row->states >> state & 1)
			buffer[n++] = os_wait_letter(state);
	buffer[n] = '\0';
	return n ? buffer : "-";
}

struct waits_idle waits_count_idle(const struct waits_table *table)
{
	struct waits_idle idle = { 0 };

	for (size_t i = 0; i < table->n; i++) {
		const struct waits_row *row = &table->rows[i];

		if (!row->site.idle)
			continue;
		idle.now += row->now;
		idle.mean += row->mean;
		idle.mean_total += row->mean_total;
	}
	return idle;
}
