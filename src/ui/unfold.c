/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of callers; see unfold.h. Built anew from each snapshot, for unfolded rows only. */
#include "config.h"

#include "ui/unfold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_NODE             UINT32_MAX
#define UNFOLD_MAX_BRANCHES 32 /* of one fork that are sorted; the rest is left over */

/*
 * The tree, grown from the function (node 0) towards its callers. A guest decides how many callers
 * a function has, so one is found among them by a hash of both, not by going through them.
 */
struct caller {
	uint32_t frame, first, next; /* first caller of it, next caller of the same */
	uint32_t from, hash_next;    /* whom it calls; next one in its hash chain */
	double weight;
};

struct callers {
	struct caller *nodes;
	uint32_t *heads;    /* of the hash chains, as many as capacity */
	size_t n, capacity; /* capacity: a power of two */
};

static uint32_t *callers_head(const struct callers *tree, uint32_t from, uint32_t frame)
{
	uint64_t key = (uint64_t)from << 32 | frame;

	return &tree->heads[(key * 0x9e3779b97f4a7c15ULL >> 32) & (tree->capacity - 1)];
}

static void callers_chain(struct callers *tree, uint32_t index)
{
	struct caller *node = &tree->nodes[index];
	uint32_t *head = callers_head(tree, node->from, node->frame);

	node->hash_next = *head;
	*head = index;
}

static bool callers_grow(struct callers *tree)
{
	size_t capacity = tree->capacity ? 2 * tree->capacity : 64;
	struct caller *nodes = reallocarray(tree->nodes, capacity, sizeof(*nodes));
	uint32_t *heads = NULL;

	if (nodes) {
		tree->nodes = nodes;
		heads = reallocarray(tree->heads, capacity, sizeof(*heads));
	}
	if (!heads)
		return false;
	tree->heads = heads;
	tree->capacity = capacity;
	memset(heads, 0xff, capacity * sizeof(*heads)); /* NO_NODE */
	for (uint32_t i = 1; i < tree->n; i++)
		callers_chain(tree, i);
	return true;
}

static void callers_deinit(struct callers *tree)
{
	free(tree->nodes);
	free(tree->heads);
}

static uint32_t callers_add(struct callers *tree, uint32_t from, uint32_t frame)
{
	if (tree->n == tree->capacity && !callers_grow(tree))
		return NO_NODE;
	tree->nodes[tree->n] = (struct caller){ frame, NO_NODE, NO_NODE, from, NO_NODE, 0 };
	return (uint32_t)tree->n++;
}

static uint32_t callers_step(struct callers *tree, uint32_t from, uint32_t frame)
{
	uint32_t at = *callers_head(tree, from, frame);

	while (at != NO_NODE && (tree->nodes[at].from != from || tree->nodes[at].frame != frame))
		at = tree->nodes[at].hash_next;
	if (at != NO_NODE)
		return at;
	at = callers_add(tree, from, frame);
	if (at != NO_NODE) {
		callers_chain(tree, at);
		tree->nodes[at].next = tree->nodes[from].first;
		tree->nodes[from].first = at;
	}
	return at;
}

/* The way from node INDEX out to the root carries WEIGHT. */
static bool callers_add_path(struct callers *tree, const struct ui_model *model,
			     const struct snapshot_node *nodes, size_t index, double weight)
{
	uint32_t at = 0;

	tree->nodes[0].weight += weight;
	for (index = nodes[index].parent; index; index = nodes[index].parent) {
		at = callers_step(tree, at, view_group(model, nodes[index].frame));
		if (at == NO_NODE)
			return false;
		tree->nodes[at].weight += weight;
	}
	return true;
}

static bool callers_collect(struct callers *tree, const struct ui_model *model,
			    const struct snapshot_node *nodes, uint32_t frame)
{
	size_t index = 1;

	if (callers_add(tree, NO_NODE, frame) == NO_NODE)
		return false;
	while (index < model->snapshot->n_nodes) {
		double weight = model->totals ? (double)nodes[index].children_total
					      : nodes[index].children_live;

		if (view_group(model, nodes[index].frame) != frame) {
			index++;
			continue;
		}
		if (weight > 0 && !callers_add_path(tree, model, nodes, index, weight))
			return false;
		index = nodes[index].end; /* calls of itself are inside */
	}
	return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct layout {
	const struct callers *tree;
	struct unfolding *unfolding;
};

static struct unfold_line *layout_add(struct layout *layout, uint64_t parent_key, uint32_t frame)
{
	struct unfold_line *line;

	if (layout->unfolding->n == UNFOLD_MAX_LINES)
		return NULL;
	line = &layout->unfolding->lines[layout->unfolding->n++];
	*line = (struct unfold_line){ .frame = frame, .percent = -1 };
	line->key = (parent_key ^ ((uint64_t)frame + 1)) * 0x9e3779b97f4a7c15ULL;
	return line;
}

/*
 * The heaviest branches of NODE, sorted; what does not fit or is too light is counted and summed.
 */
static size_t layout_branches(const struct callers *tree, uint32_t node, uint32_t *branches,
			      size_t *n_leftp, double *leftp)
{
	double least = tree->nodes[0].weight * UNFOLD_MIN_PERCENT / 100;
	size_t n = 0;

	*n_leftp = 0;
	*leftp = 0;
	for (uint32_t at = tree->nodes[node].first; at != NO_NODE; at = tree->nodes[at].next) {
		uint32_t moving = at;

		for (size_t i = 0; i < n; i++) { /* insertion: the lighter one moves on */
			if (tree->nodes[moving].weight > tree->nodes[branches[i]].weight) {
				uint32_t lighter = branches[i];

				branches[i] = moving;
				moving = lighter;
			}
		}
		if (n < UNFOLD_MAX_BRANCHES && tree->nodes[moving].weight >= least) {
			branches[n++] = moving;
		} else if (tree->nodes[moving].weight > 0) {
			(*n_leftp)++;
			*leftp += tree->nodes[moving].weight;
		}
	}
	return n;
}

static bool layout_is_straight(const struct callers *tree, uint32_t node)
{
	uint32_t only = tree->nodes[node].first;

	return only != NO_NODE && tree->nodes[only].next == NO_NODE &&
	       tree->nodes[only].weight >= 0.9995 * tree->nodes[node].weight;
}

/*
 * The callers of NODE, which is inside FORKS forks with BARS. Depth is bounded by the forks
 * allowed.
 */
static void layout_callers(struct layout *layout, uint32_t node, uint64_t key, unsigned forks,
			   uint32_t bars)
{
	const struct callers *tree = layout->tree;
	uint32_t branches[UNFOLD_MAX_BRANCHES];
	struct unfold_line *line;
	size_t n, n_left;
	double left;

	while (forks && layout_is_straight(tree, node)) {
		node = tree->nodes[node].first;
		line = layout_add(layout, key, tree->nodes[node].frame);
		if (!line)
			return;
		line->forks = forks;
		line->bars = bars;
		key = line->key;
	}
	if (forks == UNFOLD_MAX_FORKS)
		return;
	n = layout_branches(tree, node, branches, &n_left, &left);
	for (size_t i = 0; i < n; i++) {
		uint32_t below = i + 1 < n || n_left ? bars | 1U << forks : bars;

		line = layout_add(layout, key, tree->nodes[branches[i]].frame);
		if (!line)
			return;
		line->percent = percent_of(tree->nodes[branches[i]].weight, tree->nodes[0].weight);
		line->forks = forks + 1;
		line->bars = below;
		layout_callers(layout, branches[i], line->key, forks + 1, below);
	}
	line = n && n_left ? layout_add(layout, key, FRAME_NONE) : NULL;
	if (line) {
		line->percent = percent_of(left, tree->nodes[0].weight);
		line->more = n_left;
		line->forks = forks + 1;
		line->bars = bars;
	}
}

struct xtop_error *unfold_build(const struct ui_model *model, const struct snapshot_node *nodes,
				uint32_t frame, struct unfolding *unfolding)
{
	struct callers tree = { .nodes = NULL };
	struct layout layout = { &tree, unfolding };

	unfolding->n = 0;
	unfolding->lines = calloc(UNFOLD_MAX_LINES, sizeof(*unfolding->lines));
	if (!unfolding->lines || !callers_collect(&tree, model, nodes, frame)) {
		unfold_free(unfolding);
		callers_deinit(&tree);
		return error_create("out of memory");
	}
	layout_callers(&layout, 0, frame, 0, 0);
	callers_deinit(&tree);
	return NULL;
}

void unfold_free(struct unfolding *unfolding)
{
	free(unfolding->lines);
	unfolding->lines = NULL;
	unfolding->n = 0;
}

void unfold_draw_line(const struct ui_model *model, const struct unfold_line *line,
		      struct canvas *canvas, int row, int column, int width)
{
	int end = column + width;
	char buffer[32];

	for (unsigned fork = 0; fork < line->forks && column < end; fork++) {
		bool bar = line->bars >> fork & 1,
		     own = fork + 1 == line->forks && line->percent >= 0;
		const char *text = own ? bar ? "├─ " : "└─ " : bar ? "│  " : "   ";

		column += canvas_put(canvas, row, column, end - column, STYLE_DIM, text);
	}
	if (line->percent >= 0) {
		snprintf(buffer, sizeof(buffer), "%5.1f", line->percent);
		canvas_put(canvas, row, column, end - column, style_of_percent(line->percent),
			   buffer);
	}
	column += 6;
	if (line->frame == FRAME_NONE) {
		snprintf(buffer, sizeof(buffer), "… %zu more", line->more);
		canvas_put(canvas, row, column, end - column, STYLE_DIM, buffer);
		return;
	}
	canvas_put_name(canvas, row, column, end - column, STYLE_NORMAL,
			view_frame_name(model, line->frame, buffer));
}
