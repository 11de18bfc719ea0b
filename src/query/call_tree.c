/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call tree as lines; see call_tree.h. Built anew from each snapshot. */
#include "config.h"

#include "xtop/query/call_tree.h"

#include <stdlib.h>

#include "query/branches.h"

/*
 * A branch with at least this share of the line above goes straight on: in percents the rest would
 * not show.
 */
#define STRAIGHT_SHARE 0.9995

/* --- folds ------------------------------------------------------------------------------------ */

static bool call_tree_is_open(const struct call_tree_folds *folds, uint64_t key, bool otherwise)
{
	for (size_t i = 0; folds && i < folds->n; i++)
		if ((folds->entries[i] & ~1ULL) == (key & ~1ULL))
			return folds->entries[i] & 1;
	return otherwise;
}

bool call_tree_set_open(struct call_tree_folds *folds, uint64_t key, bool open)
{
	size_t i = 0;

	while (i < folds->n && (folds->entries[i] & ~1ULL) != (key & ~1ULL))
		i++;
	if (i == CALL_TREE_MAX_FOLDS)
		return false;
	folds->entries[i] = (key & ~1ULL) | open;
	folds->n += i == folds->n;
	return true;
}

void call_tree_set_all(struct call_tree_folds *folds, bool open)
{
	folds->open = open;
	folds->n = 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct call_tree_layout {
	const struct call_tree_settings *settings;
	struct branches branches;
	struct branches base; /* steps through settings.base, if that is set */
	struct call_tree *tree;
	double least; /* the smallest weight of a branch with a line of its own */
	size_t max_lines;
	unsigned max_forks;
	bool failed; /* out of memory */
};

/* Where the layout is: a place of the tree, inside of FORKS forks with BARS. */
struct call_tree_place {
	uint32_t first, n; /* members of the place */
	double weight;
	uint64_t key, bars;
	unsigned forks;
	uint32_t base_first, base_n; /* members of BASE */
};

static struct call_tree_line *layout_add(struct call_tree_layout *layout,
					 const struct call_tree_place *place, uint32_t frame,
					 const struct weights *weights,
					 const struct weights *base)
{
	struct call_tree *tree = layout->tree;
	struct call_tree_line *line;

	if (tree->n == layout->max_lines) {
		tree->cut = true;
		return NULL;
	}
	line = &tree->lines[tree->n++];
	*line = (struct call_tree_line){ .frame = frame,
					 .key = branches_key(place->key, frame),
					 .weights = *weights,
					 .base = *base,
					 .forks = place->forks,
					 .bars = place->bars };
	if (layout->settings->kind != CALL_TREE_DOWN) {
		line->weights.self_live = 0;
		line->weights.self_ticks = 0;
		line->weights.self_total = 0;
	}
	return line;
}

static bool layout_opens(const struct call_tree_layout *layout, struct call_tree_line *line,
			 const struct branch *branch, bool otherwise)
{
	const struct call_tree_folds *folds = layout->settings->folds;

	line->has_branches = branches_has_any(&layout->branches, branch->first, branch->n);
	line->open = line->has_branches &&
		     call_tree_is_open(folds, line->key, otherwise || !folds || folds->open);
	return line->open;
}

static struct call_tree_place layout_enter(const struct call_tree_layout *layout,
					   const struct call_tree_line *line,
					   const struct branch *branch)
{
	return (struct call_tree_place){
		branch->first, branch->n,  branches_weight(&layout->branches, &branch->weights),
		line->key,     line->bars, line->forks, branch->base_first, branch->base_n
	};
}

static int branch_compare(const void *pointer_a, const void *pointer_b, void *pointer_branches)
{
	const struct branch *a = pointer_a, *b = pointer_b;
	double weight_a = branches_weight(pointer_branches, &a->weights),
	       weight_b = branches_weight(pointer_branches, &b->weights);

	if (weight_a != weight_b)
		return weight_a < weight_b ? 1 : -1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

/*
 * Sorts the branches from FROM on that have a line, and returns how many there are. The others are
 * counted in *N_LEFTP and summed in *LEFT.
 */
static size_t layout_sort(struct call_tree_layout *layout, size_t from, size_t *n_leftp,
			  struct weights *left, struct weights *left_base)
{
	struct branches *branches = &layout->branches;
	size_t n = 0, total = branches->n - from;

	*left = *left_base = (struct weights){ 0 };
	for (size_t i = 0; i < total; i++) {
		struct branch branch = branches->list[from + i];

		if (branches_weight(branches, &branch.weights) >= layout->least) {
			branches->list[from + n++] = branch;
			continue;
		}
		left->children_live += branch.weights.children_live;
		left->children_ticks += branch.weights.children_ticks;
		left->children_total += branch.weights.children_total;
		left_base->children_live += branch.base.children_live;
		left_base->children_ticks += branch.base.children_ticks;
	}
	*n_leftp = total - n;
	qsort_r(&branches->list[from], n, sizeof(*branches->list), branch_compare, branches);
	return n;
}

static void layout_place(struct call_tree_layout *layout, struct call_tree_place place);

/* One line for each branch, followed by the lines below it. */
static void layout_fork(struct call_tree_layout *layout, struct call_tree_place place, size_t from)
{
	struct branches *branches = &layout->branches;
	uint64_t bars = place.bars, bar = 1ULL << place.forks;
	struct call_tree_line *line;
	struct weights left, left_base;
	size_t n_left, n = layout_sort(layout, from, &n_left, &left, &left_base);

	place.forks++;
	for (size_t i = 0; i < n && !layout->failed; i++) {
		struct branch branch = branches->list[from + i];

		place.bars = i + 1 < n || n_left ? bars | bar : bars;
		line = layout_add(layout, &place, branch.frame, &branch.weights, &branch.base);
		if (!line)
			return;
		if (layout_opens(layout, line, &branch, false))
			layout_place(layout, layout_enter(layout, line, &branch));
	}
	place.bars = bars;
	line = n_left ? layout_add(layout, &place, FRAME_NONE, &left, &left_base) : NULL;
	if (line)
		line->more = n_left;
}

/* The lines below PLACE: straight on as long as there is only one branch, then the fork. */
static void layout_place(struct call_tree_layout *layout, struct call_tree_place place)
{
	struct branches *branches = &layout->branches;
	struct branches_mark mark = branches_mark(branches);
	struct branches_mark base_mark = branches_mark(&layout->base);

	for (;;) {
		struct call_tree_line *line;
		struct branch only;
		size_t from;

		if (!branches_step(branches, place.first, place.n, &from) ||
		    (layout->settings->base &&
		     !branches_match(branches, from, &layout->base, place.base_first,
				     place.base_n))) {
			layout->failed = true;
			break;
		}
		if (branches->n == from)
			break;
		only = branches->list[from];
		if (!place.forks || branches->n - from != 1 ||
		    branches_weight(branches, &only.weights) < STRAIGHT_SHARE * place.weight) {
			if (place.forks < layout->max_forks)
				layout_fork(layout, place, from);
			break;
		}
		line = layout_add(layout, &place, only.frame, &only.weights, &only.base);
		if (!line)
			break;
		line->straight = true;
		if (!layout_opens(layout, line, &only, true))
			break;
		place = layout_enter(layout, line, &only);
	}
	branches_pop(branches, mark);
	branches_pop(&layout->base, base_mark);
}

/* --- where a tree starts ---------------------------------------------------------------------- */

static bool layout_start_callers(struct branches *branches, uint32_t frame)
{
	const struct snapshot *snapshot = branches->snapshot;

	for (uint32_t i = 1; i < snapshot->n_nodes;) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		if (branches_group(branches, node->frame) != frame) {
			i++;
			continue;
		}
		if (!branches_add_subtree(branches, i))
			return false;
		i = node->end; /* recursive calls are inside */
	}
	return true;
}

static bool layout_start(const struct call_tree_settings *settings, struct branches *branches)
{
	switch (settings->kind) {
	case CALL_TREE_DOWN:
		return branches_start_root(branches);
	case CALL_TREE_INVERTED:
		return branches_start_leaves(branches);
	case CALL_TREE_CALLERS:
		return layout_start_callers(branches, settings->frame);
	}
	return true;
}

/* Starts the walk of the other run, if there is one, beside this run's walk. */
static struct xtop_error *layout_start_base(struct call_tree_layout *layout)
{
	const struct call_tree_settings *settings = layout->settings;
	struct xtop_error *error;

	if (!settings->base)
		return NULL;
	error = branches_init(&layout->base, settings->base, settings->addresses, settings->totals,
			      settings->kind == CALL_TREE_DOWN);
	if (!error && !layout_start(settings, &layout->base))
		error = error_create("no memory for a call tree");
	return error;
}

static struct weights layout_whole(const struct call_tree_layout *layout)
{
	const struct branches *branches = &layout->branches;
	struct weights whole = { 0 };

	for (size_t i = 0; i < branches->n_members; i++) {
		whole.children_live += branches->members[i].live;
		whole.children_ticks += branches->members[i].ticks;
		whole.children_total += branches->members[i].total;
	}
	return whole;
}

struct xtop_error *call_tree_build(const struct snapshot *snapshot,
				   const struct call_tree_settings *settings,
				   struct call_tree *tree)
{
	struct call_tree built = { .lines = NULL };
	struct call_tree_layout layout = {
		.settings = settings,
		.tree = &built,
		.max_lines = settings->max_lines < CALL_TREE_MAX_LINES ? settings->max_lines
								       : CALL_TREE_MAX_LINES,
		.max_forks = settings->max_forks < CALL_TREE_MAX_FORKS ? settings->max_forks
								       : CALL_TREE_MAX_FORKS,
	};
	struct xtop_error *error =
		branches_init(&layout.branches, snapshot, settings->addresses, settings->totals,
			      settings->kind == CALL_TREE_DOWN);

	if (!error)
		error = layout_start_base(&layout);
	if (error) {
		branches_deinit(&layout.branches);
		branches_deinit(&layout.base);
		return error;
	}
	built.lines = malloc(layout.max_lines * sizeof(*built.lines));
	layout.failed = !built.lines || !layout_start(settings, &layout.branches);
	if (!layout.failed) {
		built.whole = layout_whole(&layout);
		layout.least =
			settings->threshold * branches_weight(&layout.branches, &built.whole);
		layout_place(&layout,
			     (struct call_tree_place){ .n = (uint32_t)layout.branches.n_members,
						       .base_n = (uint32_t)layout.base.n_members,
						       .key = settings->kind == CALL_TREE_CALLERS
								      ? settings->frame
								      : 0 });
	}
	branches_deinit(&layout.branches);
	branches_deinit(&layout.base);
	if (layout.failed) {
		call_tree_deinit(&built);
		return error_create("no memory for a call tree");
	}
	*tree = built;
	return NULL;
}

void call_tree_deinit(struct call_tree *tree)
{
	free(tree->lines);
	*tree = (struct call_tree){ 0 };
}
