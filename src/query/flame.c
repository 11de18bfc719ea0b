/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree as a picture of cells; see flame.h. Each function lies below its caller
 * and is as wide as its share. Widths are kept as fractions on the way down and rounded only
 * where a cell is made, so that a cell never reaches beyond its caller's cell. A function narrower
 * than half a column has no cell, and nothing below it is walked: the number of possible cells
 * bounds the work.
 */
#include "config.h"

#include "xtop/query/flame.h"

#include <stdlib.h>

#include "query/branches.h"
#include "xtop/base/vector.h"

struct flame_layout {
	const struct flame_settings *settings;
	struct branches branches;
	struct branches base; /* steps through settings.base, if that is set */
	struct flame *flame;
	size_t capacity;
	bool failed; /* out of memory */
};

/* A place of the tree, and its share of the picture: the columns [x, x + width). */
struct flame_place {
	uint32_t first, n; /* members of the place */
	uint32_t cell;
	double weight, x, width;
	uint32_t base_first, base_n; /* members of BASE */
};

/* Adds the cell of BRANCH below the cell PARENT, and returns its number. */
static uint32_t flame_add(struct flame_layout *layout, uint32_t parent, const struct branch *branch,
			  double x, double width)
{
	struct flame *flame = layout->flame;
	const struct flame_cell *above = flame->n ? &flame->cells[parent] : NULL;
	struct flame_cell cell = { .frame = branch->frame,
				   .parent = parent,
				   .key = above ? branches_key(above->key, branch->frame) : 0,
				   .depth = above ? above->depth + 1 : 0,
				   .x = (int)(x + 0.5),
				   .weights = branch->weights,
				   .base = branch->base };

	cell.width = (int)(x + width + 0.5) - cell.x;
	if (!vector_reserve(flame->cells, layout->capacity, flame->n + 1)) {
		layout->failed = true;
		return 0;
	}
	flame->depth = cell.depth > flame->depth ? cell.depth : flame->depth;
	flame->cells[flame->n] = cell;
	return (uint32_t)flame->n++;
}

/* One step inwards or outwards, in both runs. False: out of memory. */
static bool flame_step(struct flame_layout *layout, const struct flame_place *place, size_t *fromp)
{
	struct branches *branches = &layout->branches;

	if (!branches_step(branches, place->first, place->n, fromp))
		return false;
	return !layout->settings->base || branches_match(branches, *fromp, &layout->base,
							 place->base_first, place->base_n);
}

/* Adds the cells below PLACE. */
static void flame_fill(struct flame_layout *layout, struct flame_place place)
{
	struct branches *branches = &layout->branches;
	struct branches_mark mark = branches_mark(branches);
	struct branches_mark base_mark = branches_mark(&layout->base);
	size_t from;
	double x = place.x;

	if (layout->flame->cells[place.cell].depth + 1 >= layout->settings->max_depth)
		return;
	if (!flame_step(layout, &place, &from)) {
		layout->failed = true;
		return;
	}
	for (size_t i = from, end = branches->n; i < end && !layout->failed; i++) {
		struct branch branch = branches->list[i];
		double weight = branches_weight(branches, &branch.weights),
		       width = place.width * weight / place.weight;
		uint32_t cell;

		if ((int)(x + width + 0.5) > (int)(x + 0.5)) {
			cell = flame_add(layout, place.cell, &branch, x, width);
			if (layout->failed)
				break;
			flame_fill(layout,
				   (struct flame_place){ branch.first, branch.n, cell, weight, x,
							 width, branch.base_first, branch.base_n });
		}
		x += width;
	}
	branches_pop(branches, mark);
	branches_pop(&layout->base, base_mark);
}

/*
 * Goes down the zoom path to the place that fills the width. The cells above fill the width, too.
 */
static void flame_zoom(struct flame_layout *layout, struct flame_place *place)
{
	struct branches *branches = &layout->branches;

	layout->flame->zoomed = true;
	for (size_t i = 0; i < layout->settings->n_zoom && !layout->failed; i++) {
		size_t from;

		if (!flame_step(layout, place, &from)) {
			layout->failed = true;
			return;
		}
		while (from < branches->n &&
		       branches->list[from].frame != layout->settings->zoom[i])
			from++;
		if (from == branches->n) {
			layout->flame->zoomed = false;
			return;
		}
		place->first = branches->list[from].first;
		place->n = branches->list[from].n;
		place->base_first = branches->list[from].base_first;
		place->base_n = branches->list[from].base_n;
		place->weight = branches_weight(branches, &branches->list[from].weights);
		place->cell =
			flame_add(layout, place->cell, &branches->list[from], 0, place->width);
	}
}

static bool flame_start(const struct flame_settings *settings, struct branches *branches)
{
	return settings->inverted ? branches_start_leaves(branches)
				  : branches_start_root(branches);
}

/* Starts the walk of the other run, if there is one, beside this run's walk. */
static struct xtop_error *flame_start_base(struct flame_layout *layout, struct flame_place *place)
{
	const struct flame_settings *settings = layout->settings;
	struct xtop_error *error;

	if (!settings->base)
		return NULL;
	error = branches_init(&layout->base, settings->base, settings->addresses, settings->totals,
			      !settings->inverted);
	if (!error && !flame_start(settings, &layout->base))
		error = error_create("no memory for a flame graph");
	place->base_n = (uint32_t)layout->base.n_members;
	return error;
}

struct xtop_error *flame_build(const struct snapshot *snapshot,
			       const struct flame_settings *settings, struct flame *flame)
{
	struct flame built = { .zoomed = true };
	struct flame_layout layout = { .settings = settings, .flame = &built };
	struct branch root = { .frame = FRAME_ROOT, .weights = weights_of(&snapshot->nodes[0]) };
	struct flame_place place = { .width = settings->columns };
	struct xtop_error *error = branches_init(&layout.branches, snapshot, settings->addresses,
						 settings->totals, !settings->inverted);

	if (!error)
		error = flame_start_base(&layout, &place);
	if (error) {
		branches_deinit(&layout.branches);
		branches_deinit(&layout.base);
		return error;
	}
	if (settings->base)
		root.base = weights_of(&settings->base->nodes[0]);
	layout.failed = !flame_start(settings, &layout.branches);
	if (!layout.failed) {
		place.n = (uint32_t)layout.branches.n_members;
		place.weight = branches_weight(&layout.branches, &root.weights);
		flame_add(&layout, 0, &root, 0, place.width);
	}
	if (!layout.failed) {
		flame_zoom(&layout, &place);
		if (!layout.failed && built.zoomed)
			flame_fill(&layout, place);
	}
	branches_deinit(&layout.branches);
	branches_deinit(&layout.base);
	if (layout.failed) {
		flame_deinit(&built);
		return error_create("no memory for a flame graph");
	}
	*flame = built;
	return NULL;
}

void flame_deinit(struct flame *flame)
{
	free(flame->cells);
	*flame = (struct flame){ 0 };
}
