/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares of processes, threads and modules; see groups.h. One pass in pre-order, as in
 * functions.c: nodes of a module below another node of the module are already counted.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/vector.h"
#include "xtop/query/groups.h"

#define NO_ROW UINT32_MAX

static double group_weight(const struct group_row *row, bool totals)
{
	return totals ? row->weights.children_ticks : row->weights.children_live;
}

static double group_self(const struct group_row *row, bool totals)
{
	return totals ? row->weights.self_ticks : row->weights.self_live;
}

static void group_add_self(struct group_row *row, const struct snapshot_node *node, bool unknown)
{
	weights_add_self(&row->weights, node);
	if (unknown)
		weights_add_self(&row->unknown, node);
}

/* --- processes and threads -------------------------------------------------------------------- */

/* A row while rows are sorted: threads come after their process. */
struct process_row {
	struct group_row row;
	uint32_t process;  /* the process's frame */
	double of_process; /* the process's weight */
};

static int process_compare(const void *pointer_a, const void *pointer_b, void *pointer_totals)
{
	const struct process_row *a = pointer_a, *b = pointer_b;
	const bool *totals = pointer_totals;
	double weight_a = group_weight(&a->row, *totals), weight_b = group_weight(&b->row, *totals);

	if (a->of_process != b->of_process)
		return a->of_process < b->of_process ? 1 : -1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->row.is_thread != b->row.is_thread)
		return a->row.is_thread ? 1 : -1;
	if (weight_a != weight_b)
		return weight_a < weight_b ? 1 : -1;
	return (a->row.frame > b->row.frame) - (a->row.frame < b->row.frame);
}

struct processes_pass {
	const struct frames *frames;
	struct groups groups;
	size_t rows_capacity, process_capacity;
	uint32_t *rows_of;    /* row of each frame */
	uint32_t *process_of; /* frame of each row */
	uint8_t *asked;       /* one enum group_known per frame; there are far more nodes */
};

/* Whether a frame has a name. */
enum group_known { GROUP_NOT_ASKED, GROUP_KNOWN, GROUP_UNKNOWN };

static bool processes_add_row(struct processes_pass *pass, const struct owner *owner,
			      uint32_t process)
{
	const struct frame *frame = frames_get(pass->frames, owner->frame);
	struct groups *groups = &pass->groups;

	if (!vector_reserve(groups->rows, pass->rows_capacity, groups->n + 1) ||
	    !vector_reserve(pass->process_of, pass->process_capacity, groups->n + 1))
		return false;
	groups->rows[groups->n] = (struct group_row){
		.frame = owner->frame,
		.name = frame->name,
		.cgroup = owner->kind == OWNER_PROCESS ? owner->cgroup : NULL,
		.is_thread = owner->kind == OWNER_THREAD,
	};
	pass->process_of[groups->n] = process;
	pass->rows_of[owner->frame] = (uint32_t)groups->n++;
	return true;
}

/* Adds NODE, which is a process or thread of PROCESS, to its row. False: out of memory. */
static bool processes_add(struct processes_pass *pass, const struct snapshot_node *node,
			  const struct owner *owner, uint32_t process)
{
	if (pass->rows_of[node->frame] == NO_ROW && !processes_add_row(pass, owner, process))
		return false;
	weights_add_children(&pass->groups.rows[pass->rows_of[node->frame]].weights, node);
	return true;
}

static bool processes_is_unknown(struct processes_pass *pass, const struct snapshot *snapshot,
				 uint32_t frame)
{
	if (pass->asked[frame] == GROUP_NOT_ASKED)
		pass->asked[frame] =
			frames_get(snapshot->frames, frame)->unknown ? GROUP_UNKNOWN : GROUP_KNOWN;
	return pass->asked[frame] == GROUP_UNKNOWN;
}

/* Adds the samples that end in NODE to OWNER, a process or thread. */
static void processes_add_self(struct processes_pass *pass, uint32_t owner,
			       const struct snapshot_node *node, bool unknown)
{
	if (owner != FRAME_NONE && pass->rows_of[owner] != NO_ROW)
		group_add_self(&pass->groups.rows[pass->rows_of[owner]], node, unknown);
}

/*
 * The owner of the nodes that come next. Processes are children of the root, threads of processes.
 */
struct processes_owner {
	uint32_t process, thread; /* frames */
};

/* NODE has depth 1 or 2. False: out of memory. */
static bool processes_enter(struct processes_pass *pass, const struct snapshot *snapshot,
			    const struct snapshot_node *node, struct processes_owner *owner)
{
	const struct owner *entered =
		frames_get_owner(snapshot->frames, frames_get(snapshot->frames, node->frame));
	bool is_owner;

	if (node->depth == 1) {
		is_owner = entered && entered->kind == OWNER_PROCESS;
		owner->process = is_owner ? node->frame : FRAME_NONE;
		owner->thread = FRAME_NONE;
	} else {
		is_owner = entered && entered->kind == OWNER_THREAD && owner->process != FRAME_NONE;
		owner->thread = is_owner ? node->frame : FRAME_NONE;
	}
	return !is_owner || !snapshot_node_counts(node) ||
	       processes_add(pass, node, entered, owner->process);
}

static bool processes_collect(const struct snapshot *snapshot, struct processes_pass *pass)
{
	struct processes_owner owner = { FRAME_NONE, FRAME_NONE };

	for (uint32_t i = 1; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];
		bool unknown;

		if (node->depth <= 2 && !processes_enter(pass, snapshot, node, &owner))
			return false;
		if (!snapshot_node_counts_self(node))
			continue;
		unknown = processes_is_unknown(pass, snapshot, node->frame);
		processes_add_self(pass, owner.process, node, unknown);
		processes_add_self(pass, owner.thread, node, unknown);
	}
	return true;
}

static void groups_sort_processes(const struct processes_pass *pass, struct process_row *order,
				  bool totals)
{
	struct group_row *rows = pass->groups.rows;
	size_t n = pass->groups.n;

	for (size_t i = 0; i < n; i++) {
		uint32_t process = pass->process_of[i];

		order[i].row = rows[i];
		order[i].process = process;
		order[i].of_process = group_weight(&rows[pass->rows_of[process]], totals);
	}
	qsort_r(order, n, sizeof(*order), process_compare, &totals);
	for (size_t i = 0; i < n; i++)
		rows[i] = order[i].row;
}

static void processes_deinit(struct processes_pass *pass)
{
	free(pass->rows_of);
	free(pass->process_of);
	free(pass->asked);
}

struct xtop_error *groups_build_processes(const struct snapshot *snapshot, bool totals,
					  struct groups *groups)
{
	struct processes_pass pass = { .frames = snapshot->frames,
				       .groups.whole = weights_of(&snapshot->nodes[0]) };
	_cleanup_free_ struct process_row *order = NULL;

	pass.rows_of = malloc(snapshot->n_frames * sizeof(*pass.rows_of));
	pass.asked = calloc(snapshot->n_frames, sizeof(*pass.asked));
	if (pass.rows_of && pass.asked) {
		memset(pass.rows_of, 0xff, snapshot->n_frames * sizeof(*pass.rows_of));
		if (processes_collect(snapshot, &pass))
			order = malloc((pass.groups.n + 1) * sizeof(*order));
	}
	if (order)
		groups_sort_processes(&pass, order, totals);
	processes_deinit(&pass);
	if (!order) {
		groups_deinit(&pass.groups);
		return error_create("no memory for the table of processes");
	}
	*groups = pass.groups;
	return NULL;
}

/* --- modules ---------------------------------------------------------------------------------- */

#define GROUPS_MAX_MODULES 4096 /* the last row counts all further modules */

/* What the pass knows of a frame. */
struct module_frame {
	uint32_t row; /* row + 1 of the frame's module; NO_ROW: none; 0: not known yet */
	bool unknown;
};

struct modules_pass {
	struct groups groups;
	size_t rows_capacity, until_capacity;
	struct hash_table by_name;   /* rows */
	uint32_t *until;             /* one per row: the end of the last outermost node's subtree */
	struct module_frame *frames; /* one element per frame */
};

struct modules_key {
	const struct groups *groups;
	const char *name;
};

static bool modules_is_same(const void *context, uint32_t row)
{
	const struct modules_key *key = context;

	return strcmp(key->groups->rows[row].name, key->name) == 0;
}

/* The row + 1 of FRAME's module; adds a new module. ID: FRAME's id. 0: out of memory. */
static uint32_t modules_find_or_add(struct modules_pass *pass, uint32_t id,
				    const struct frame *frame)
{
	struct groups *groups = &pass->groups;
	struct modules_key key = { groups, frame->module };
	/* The guest chooses names. It does not know the seed, an address of this process. */
	uint64_t hash = hash_bytes((uintptr_t)pass, key.name, strlen(key.name));
	uint32_t row = hash_table_find(&pass->by_name, hash, modules_is_same, &key);

	if (row != HASH_NONE)
		return row + 1;
	if (groups->n == GROUPS_MAX_MODULES)
		return GROUPS_MAX_MODULES;
	row = (uint32_t)groups->n;
	if (!vector_reserve(groups->rows, pass->rows_capacity, groups->n + 1) ||
	    !vector_reserve(pass->until, pass->until_capacity, groups->n + 1) ||
	    !hash_table_add(&pass->by_name, hash, row))
		return 0;
	groups->rows[row] = (struct group_row){ .frame = id, .name = key.name };
	pass->until[row] = 0;
	groups->n++;
	return row + 1;
}

/* Whether FRAME is named by a place in a file, "libc.so.6+0x2724a" (profile/names.c). */
static bool modules_is_place(const struct frame *frame)
{
	size_t n = strlen(frame->module);

	return n && !strncmp(frame->name, frame->module, n) && !strncmp(frame->name + n, "+0x", 3);
}

/* Fills in what is known of the frame ID. False: out of memory. */
static bool modules_ask(struct modules_pass *pass, const struct snapshot *snapshot, uint32_t id)
{
	const struct frame *frame = frames_get(snapshot->frames, id);
	bool has_module = frame_is_function(frame);

	pass->frames[id].unknown = frame->unknown || modules_is_place(frame);
	pass->frames[id].row = has_module ? modules_find_or_add(pass, id, frame) : NO_ROW;
	return pass->frames[id].row;
}

static bool modules_collect(const struct snapshot *snapshot, struct modules_pass *pass)
{
	for (uint32_t i = 1, next; i < snapshot->n_nodes; i = next) {
		const struct snapshot_node *node = &snapshot->nodes[i];
		const struct module_frame *frame = &pass->frames[node->frame];

		next = snapshot_node_counts(node) ? i + 1 : node->end;
		if (!snapshot_node_counts(node))
			continue;
		if (!frame->row && !modules_ask(pass, snapshot, node->frame))
			return false;
		if (frame->row == NO_ROW)
			continue;
		assert(pass->groups.rows && pass->until); /* there is at least this row */
		if (snapshot_node_counts_self(node))
			group_add_self(&pass->groups.rows[frame->row - 1], node, frame->unknown);
		if (i < pass->until[frame->row - 1])
			continue;
		pass->until[frame->row - 1] = node->end;
		weights_add_children(&pass->groups.rows[frame->row - 1].weights, node);
	}
	return true;
}

struct modules_order {
	bool totals, by_children;
};

static double module_figure(const struct group_row *row, const struct modules_order *order)
{
	return order->by_children ? group_weight(row, order->totals)
				  : group_self(row, order->totals);
}

static int module_compare(const void *pointer_a, const void *pointer_b, void *pointer_order)
{
	const struct group_row *a = pointer_a, *b = pointer_b;
	double figure_a = module_figure(a, pointer_order),
	       figure_b = module_figure(b, pointer_order);

	if (figure_a != figure_b)
		return figure_a < figure_b ? 1 : -1;
	return strcmp(a->name, b->name);
}

void groups_sort_modules(struct groups *groups, bool totals, bool by_children)
{
	struct modules_order order = { totals, by_children };

	if (groups->n)
		qsort_r(groups->rows, groups->n, sizeof(*groups->rows), module_compare, &order);
}

struct xtop_error *groups_build_modules(const struct snapshot *snapshot, bool totals,
					struct groups *groups)
{
	_cleanup_free_ struct modules_pass *pass = calloc(1, sizeof(*pass));
	bool done = false;

	if (pass) {
		pass->frames = calloc(snapshot->n_frames, sizeof(*pass->frames));
		pass->groups.whole = weights_of(&snapshot->nodes[0]);
		done = pass->frames && modules_collect(snapshot, pass);
		free(pass->frames);
		free(pass->until);
		hash_table_deinit(&pass->by_name);
	}
	if (!done) {
		if (pass)
			groups_deinit(&pass->groups);
		return error_create("no memory for the table of modules");
	}
	*groups = pass->groups;
	groups_sort_modules(groups, totals, false);
	return NULL;
}

void groups_deinit(struct groups *groups)
{
	free(groups->rows);
	*groups = (struct groups){ 0 };
}
