/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions in a snapshot; see line_expander.h. One pass over the nodes
 * builds a new tree: each node becomes a chain of one or more nodes, and equal nodes are merged.
 *
 *   places     main (at 0x10)  main (at 0x24)        main
 *                  │               │           ─►     ├─ add (inlined)
 *   answers    main:7          add:3 in main:9        │
 *
 * What a frame becomes is kept from one snapshot to the next. If its line was not known, the module
 * asks for it again.
 */
#include "config.h"

#include "xtop/query/line_expander.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/vector.h"
#include "xtop/supervise/line_client.h"
#include "xtop/symbol/symbol.h"

#define LINE_EXPANDER_MAX_NODES (1U << 20)

/* A frame of the results, and its line, which is the name of the frame SOURCE. */
struct line_expander_link {
	uint32_t frame, source; /* SOURCE FRAME_NONE: the line is not known */
};

/* What a frame of the resolver becomes: links, outermost first. */
struct line_expander_chain {
	uint32_t first, n; /* part of expander->links; N 0: not known yet */
	bool waits;        /* the line was asked for and has not come */
};

struct line_expander {
	struct line_expander_settings settings;
	struct frames *frames;
	struct line_expander_chain *chains; /* one chain per frame of the resolver */
	size_t n_chains, chains_capacity;
	struct line_expander_link *links;
	size_t n_links, links_capacity;
	uint32_t *origins; /* the resolver's frame of each of the results'; beyond n_origins none */
	size_t n_origins, origins_capacity;
};

/* --- creation --------------------------------------------------------------------------------- */

struct xtop_error *line_expander_create(const struct line_expander_settings *settings,
					struct line_expander **expanderp)
{
	struct line_expander *expander = calloc(1, sizeof(*expander));
	struct xtop_error *error;

	if (!expander)
		return error_create("no memory for source lines");
	expander->settings = *settings;
	error = frames_create(symbol_demangle, &expander->frames);
	if (error) {
		free(expander);
		return error;
	}
	*expanderp = expander;
	return NULL;
}

void line_expander_destroy(struct line_expander *expander)
{
	if (!expander)
		return;
	frames_destroy(expander->frames);
	free(expander->chains);
	free(expander->links);
	free(expander->origins);
	free(expander);
}

void line_expander_set_inlined(struct line_expander *expander, bool inlined)
{
	expander->settings.inlined = inlined;
	expander->n_links = 0;
	expander->n_chains = 0; /* each frame becomes something else now */
}

bool line_expander_has_inlined(const struct line_expander *expander)
{
	return expander->settings.inlined;
}

/* --- what a frame becomes --------------------------------------------------------------------- */

bool line_expander_print(const struct line_frame *line, char *text, size_t capacity)
{
	const char *slash = strrchr(line->file, '/');

	if (!line->line || !*line->file)
		return false;
	snprintf(text, capacity, "%s:%u", slash ? slash + 1 : line->file, line->line);
	return true;
}

/* The frame of function NAME in the file BUILD. "(inlined)" and LINE (or "") end its name. */
static uint32_t line_expander_intern(struct line_expander *expander, const struct frame *of,
				     const struct build_id *build, const char *name, bool inlined,
				     const char *line)
{
	_cleanup_free_ char *demangled = symbol_demangle(name);
	char text[FRAME_NAME_BYTES];

	snprintf(text, sizeof(text), "%s%s%s%s", demangled ? demangled : name,
		 inlined ? LINE_EXPANDER_INLINED_MARK : "", *line ? " " : "", line);
	return frames_intern_function(
		expander->frames,
		&(struct frame_function){ of->kind, text, of->module, of->address, build, NULL });
}

static bool line_expander_add_link(struct line_expander *expander, uint32_t frame, const char *line)
{
	uint32_t source = FRAME_NONE;

	if (!vector_reserve(expander->links, expander->links_capacity, expander->n_links + 1))
		return false;
	if (*line)
		source = frames_intern(expander->frames, FRAME_KIND_MARK, line, NULL, 0);
	expander->links[expander->n_links++] = (struct line_expander_link){ frame, source };
	return true;
}

/* Best effort: without memory the origin is not known. A frame keeps its first origin. */
static void line_expander_set_origin(struct line_expander *expander, uint32_t frame,
				     uint32_t origin)
{
	if (frame < N_FRAME_IDS ||
	    !vector_reserve(expander->origins, expander->origins_capacity, (size_t)frame + 1))
		return;
	while (expander->n_origins <= frame)
		expander->origins[expander->n_origins++] = FRAME_NONE;
	if (expander->origins[frame] == FRAME_NONE)
		expander->origins[frame] = origin;
}

uint32_t line_expander_get_origin(const struct line_expander *expander, uint32_t frame)
{
	return frame < expander->n_origins ? expander->origins[frame] : FRAME_NONE;
}

/* The results' frame for the frame ID of FROM. A place in a function becomes its function. */
static uint32_t line_expander_translate(struct line_expander *expander, const struct snapshot *from,
					uint32_t id)
{
	const struct frame *frame = frames_get(from->frames, id);
	uint32_t translated;

	if (id < N_FRAME_IDS)
		return id;
	translated = frames_translate(from->frames, id, expander->frames);
	line_expander_set_origin(expander, translated, frame_get_function(frame, id));
	return translated;
}

void line_expander_translate_annotation(struct line_expander *expander, const struct snapshot *from,
					struct annotation *annotation)
{
	annotation->frame = line_expander_translate(expander, from, annotation->frame);
	for (size_t i = 0; i < annotation->n_targets; i++)
		if (annotation->targets[i].frame != FRAME_NONE)
			annotation->targets[i].frame = line_expander_translate(
				expander, from, annotation->targets[i].frame);
}

/*
 * Adds the links for ANSWER: the function itself, then the functions inlined in it, outermost
 * first. The function itself is named by its symbol, because DWARF may lack names of functions.
 */
static bool line_expander_add_answer(struct line_expander *expander, const struct snapshot *from,
				     uint32_t id, const struct line_answer *answer)
{
	const struct frame *frame = frames_get(from->frames, id);
	unsigned n = answer->n;
	bool ok = true;

	for (unsigned i = 0; ok && i < n; i++) {
		unsigned at = expander->settings.inlined ? n - 1 - i : 0;
		const struct line_frame *line = &answer->frames[at];
		char text[LINE_TEXT_BYTES + 16] = "";
		uint32_t function;

		line_expander_print(line, text, sizeof(text));
		if (i == 0 && (!expander->settings.in_names || !*text))
			function = line_expander_translate(expander, from, id);
		else
			function = line_expander_intern(
				expander, frame, frames_get_build(from->frames, frame),
				i == 0 ? frame->raw_name : line->function, i > 0,
				expander->settings.in_names ? text : "");
		ok = line_expander_add_link(expander, function, text);
		if (!expander->settings.inlined)
			break;
	}
	return ok;
}

/* Finds the functions at FRAME's place; asks for them if they are not known and ASK is set. */
static enum line_state line_expander_find_place(struct line_client *lines,
						const struct frame *frame, bool ask,
						struct line_answer *answer)
{
	struct line_place place = { .address = (uint64_t)frame->line_address };

	answer->n = 0;
	if (!frame->line_file)
		return LINE_OFF;
	if (frame->line_file == FRAME_LINE_KNOWN) {
		answer->n = 1;
		answer->frames[0] = (struct line_frame){ .function = frame->raw_name,
							 .file = frame->module,
							 .line = (uint32_t)frame->line_address };
		return LINE_KNOWN;
	}
	if (line_client_is_by_symbol(lines, frame->line_file))
		snprintf(place.symbol, sizeof(place.symbol), "%s", frame->raw_name);
	return line_client_find(lines, frame->line_file, &place, ask, answer);
}

/* Finds out what the frame ID becomes, if that is not known yet. False: out of memory. */
static bool line_expander_fill(struct line_expander *expander, const struct snapshot *from,
			       uint32_t id)
{
	const struct frame *frame = frames_get(from->frames, id);
	struct line_expander_chain *chain = &expander->chains[id];
	struct line_answer answer;
	bool ok;

	if (chain->n && !chain->waits)
		return true;
	chain->waits = line_expander_find_place(expander->settings.lines, frame, true, &answer) ==
		       LINE_WAITING;
	if (chain->n && chain->waits)
		return true;
	chain->first = (uint32_t)expander->n_links;
	ok = answer.n ? line_expander_add_answer(expander, from, id, &answer)
		      : line_expander_add_link(expander,
					       line_expander_translate(expander, from, id), "");
	chain->n = (uint32_t)expander->n_links - chain->first;
	return ok;
}

static bool line_expander_reserve_chains(struct line_expander *expander, size_t n)
{
	if (n <= expander->n_chains)
		return true;
	if (!vector_reserve(expander->chains, expander->chains_capacity, n))
		return false;
	memset(expander->chains + expander->n_chains, 0,
	       (n - expander->n_chains) * sizeof(*expander->chains));
	expander->n_chains = n;
	return true;
}

/* --- asking ----------------------------------------------------------------------------------- */

struct line_expander_asked {
	uint32_t frame;
	double weight;
};

static int line_expander_compare_asked(const void *a, const void *b)
{
	double x = ((const struct line_expander_asked *)a)->weight,
	       y = ((const struct line_expander_asked *)b)->weight;

	return (x < y) - (x > y);
}

static void line_expander_ask_one(struct line_client *lines, const struct snapshot *from,
				  uint32_t id)
{
	struct line_answer answer;

	line_expander_find_place(lines, frames_get(from->frames, id), true, &answer);
}

/* Asks for the lines of all frames with weight, the heaviest first. */
static struct xtop_error *line_expander_ask_all(struct line_client *lines,
						const struct snapshot *from)
{
	_cleanup_free_ struct line_expander_asked *asked = calloc(from->n_frames, sizeof(*asked));
	uint32_t n = 0;

	if (!asked)
		return error_create("no memory for source lines");
	for (uint32_t i = 0; i < from->n_frames; i++)
		asked[i].frame = i;
	for (size_t i = 0; i < from->n_nodes; i++)
		asked[from->nodes[i].frame].weight +=
			from->nodes[i].children_live + 1e-6 * from->nodes[i].children_ticks;
	for (uint32_t i = 0; i < from->n_frames; i++)
		if (asked[i].weight > 0 && frames_get(from->frames, i)->line_file)
			asked[n++] = asked[i];
	if (n)
		qsort(asked, n, sizeof(*asked), line_expander_compare_asked);
	for (uint32_t i = 0; i < n; i++)
		line_expander_ask_one(lines, from, asked[i].frame);
	return NULL;
}

struct xtop_error *line_expander_ask(struct line_client *lines, const struct snapshot *from,
				     double seconds)
{
	struct xtop_error *error = line_expander_ask_all(lines, from);

	if (!error)
		line_client_wait(lines, seconds);
	return error;
}

bool line_expander_poll(struct line_expander *expander)
{
	return expander && line_client_poll(expander->settings.lines);
}

void line_expander_find(struct line_client *lines, const struct frame *frame,
			struct line_answer *answer)
{
	line_expander_find_place(lines, frame, false, answer);
}

/* --- the new tree ----------------------------------------------------------------------------- */

struct line_expander_node {
	uint32_t frame, parent, depth;
	uint32_t first, last, next; /* children, and the next sibling; 0: none */
	double self_live, self_ticks;
	uint64_t self_total;
};

/* How much weight of FRAME is at the line SOURCE. */
struct line_expander_weight {
	uint32_t frame, source;
	double weight;
};

struct line_expander_tree {
	struct line_expander *expander;
	const struct snapshot *from;
	struct line_expander_node *nodes; /* the first is the root */
	size_t n, capacity;
	struct hash_table index; /* all nodes but the root */
	uint32_t *at;            /* the last node of the chain of each of FROM's nodes */
	uint32_t room;           /* number of nodes that a path may still gain in depth */
	struct line_expander_weight *weights;
	size_t n_weights, weights_capacity;
	struct hash_table weight_index;
};

static void line_expander_tree_deinit(struct line_expander_tree *tree)
{
	free(tree->nodes);
	free(tree->at);
	free(tree->weights);
	hash_table_deinit(&tree->index);
	hash_table_deinit(&tree->weight_index);
}

struct line_expander_key {
	const struct line_expander_tree *tree;
	uint32_t a, b;
};

static bool line_expander_is_node(const void *context, uint32_t index)
{
	const struct line_expander_key *key = context;
	const struct line_expander_node *node = &key->tree->nodes[index];

	return node->parent == key->a && node->frame == key->b;
}

static bool line_expander_is_weight(const void *context, uint32_t index)
{
	const struct line_expander_key *key = context;
	const struct line_expander_weight *weight = &key->tree->weights[index];

	return weight->frame == key->a && weight->source == key->b;
}

static uint64_t line_expander_hash(uint32_t a, uint32_t b)
{
	return hash_word(HASH_ODD, (uint64_t)a << 32 | b);
}

/* The child of PARENT for FRAME; added if new. 0: out of memory. */
static uint32_t line_expander_find_or_add_child(struct line_expander_tree *tree, uint32_t parent,
						uint32_t frame)
{
	const struct line_expander_key key = { tree, parent, frame };
	uint64_t hash = line_expander_hash(parent, frame);
	uint32_t index = hash_table_find(&tree->index, hash, line_expander_is_node, &key);
	struct line_expander_node *above;

	if (index != HASH_NONE)
		return index;
	index = (uint32_t)tree->n;
	if (!vector_reserve(tree->nodes, tree->capacity, tree->n + 1) ||
	    !hash_table_add(&tree->index, hash, index))
		return 0;
	above = &tree->nodes[parent];
	tree->nodes[tree->n++] = (struct line_expander_node){ .frame = frame,
							      .parent = parent,
							      .depth = above->depth + 1 };
	if (above->last)
		tree->nodes[above->last].next = index;
	else
		above->first = index;
	above->last = index;
	return index;
}

static bool line_expander_add_weight(struct line_expander_tree *tree,
				     const struct line_expander_link *link, double weight)
{
	const struct line_expander_key key = { tree, link->frame, link->source };
	uint64_t hash = line_expander_hash(link->frame, link->source);
	uint32_t index;

	if (link->source == FRAME_NONE)
		return true;
	index = hash_table_find(&tree->weight_index, hash, line_expander_is_weight, &key);
	if (index != HASH_NONE) {
		tree->weights[index].weight += weight;
		return true;
	}
	if (!vector_reserve(tree->weights, tree->weights_capacity, tree->n_weights + 1) ||
	    !hash_table_add(&tree->weight_index, hash, (uint32_t)tree->n_weights))
		return false;
	tree->weights[tree->n_weights++] =
		(struct line_expander_weight){ link->frame, link->source, weight };
	return true;
}

/* Puts the chain of node I below its parent. False: out of memory. */
static bool line_expander_add_node(struct line_expander_tree *tree, size_t i)
{
	const struct snapshot_node *node = &tree->from->nodes[i];
	const struct line_expander_chain *chain = &tree->expander->chains[node->frame];
	double weight = node->children_live + 1e-6 * node->children_ticks;
	uint32_t at = tree->at[node->parent];

	for (uint32_t j = 0; j < chain->n; j++) {
		const struct line_expander_link link = tree->expander->links[chain->first + j];

		if (j && (tree->nodes[at].depth >= node->depth + tree->room ||
			  tree->n >= LINE_EXPANDER_MAX_NODES))
			break;
		at = line_expander_find_or_add_child(tree, at, link.frame);
		if (!at || !line_expander_add_weight(tree, &link, weight))
			return false;
	}
	tree->at[i] = at;
	tree->nodes[at].self_live += node->self_live;
	tree->nodes[at].self_ticks += node->self_ticks;
	tree->nodes[at].self_total += node->self_total;
	return true;
}

static bool line_expander_grow(struct line_expander_tree *tree)
{
	const struct snapshot *from = tree->from;
	uint32_t deepest = 0;

	tree->at = calloc(from->n_nodes + 1, sizeof(*tree->at));
	if (!tree->at || !vector_reserve(tree->nodes, tree->capacity, 1))
		return false;
	tree->nodes[tree->n++] = (struct line_expander_node){
		.frame = FRAME_ROOT,
		.self_live = from->nodes[0].self_live,
		.self_ticks = from->nodes[0].self_ticks,
		.self_total = from->nodes[0].self_total,
	};
	for (size_t i = 0; i < from->n_nodes; i++)
		if (from->nodes[i].depth > deepest)
			deepest = from->nodes[i].depth;
	tree->room = deepest < SNAPSHOT_MAX_DEPTH ? SNAPSHOT_MAX_DEPTH - deepest : 0;
	for (size_t i = 1; i < from->n_nodes; i++)
		if (!line_expander_fill(tree->expander, from, from->nodes[i].frame) ||
		    !line_expander_add_node(tree, i))
			return false;
	return true;
}

/* --- the new snapshot ------------------------------------------------------------------------- */

/* Writes the nodes to TO in pre-order. NUMBERS: by node of the tree, the node's index in TO. */
static void line_expander_emit(const struct line_expander_tree *tree, struct snapshot *to,
			       uint32_t *numbers)
{
	uint32_t at = 0;

	for (size_t n = 0; n < tree->n; n++) {
		const struct line_expander_node *node = &tree->nodes[at];

		numbers[at] = (uint32_t)n;
		to->nodes[n] = (struct snapshot_node){
			.frame = node->frame,
			.parent = numbers[node->parent],
			.end = (uint32_t)n + 1,
			.depth = node->depth,
			.self_live = node->self_live,
			.children_live = node->self_live,
			.self_ticks = node->self_ticks,
			.children_ticks = node->self_ticks,
			.self_total = node->self_total,
			.children_total = node->self_total,
		};
		if (node->first) {
			at = node->first;
			continue;
		}
		while (at && !tree->nodes[at].next)
			at = tree->nodes[at].parent;
		at = tree->nodes[at].next;
	}
	snapshot_nodes_close(to->nodes, tree->n);
	snapshot_nodes_sum(to->nodes, tree->n);
}

/* Sets each function's line with most weight. Best effort: without memory no line is known. */
static void line_expander_set_sources(const struct line_expander_tree *tree, struct snapshot *to)
{
	_cleanup_free_ double *most = calloc(to->n_frames, sizeof(*most));

	to->sources = reallocarray(NULL, to->n_frames, sizeof(*to->sources));
	for (uint32_t i = 0; to->sources && i < to->n_frames; i++)
		to->sources[i] = FRAME_NONE;
	for (size_t i = 0; most && to->sources && i < tree->n_weights; i++) {
		const struct line_expander_weight *weight = &tree->weights[i];

		if (weight->weight <= most[weight->frame])
			continue;
		most[weight->frame] = weight->weight;
		to->sources[weight->frame] = weight->source;
	}
}

/* The results' frame for the function of the frame ID. */
static uint32_t line_expander_function(struct line_expander *expander, const struct snapshot *from,
				       uint32_t id)
{
	return line_expander_translate(expander, from, frames_get(from->frames, id)->group);
}

/* Translates RUN's frames: the hypercalls, and the last function of each vCPU. */
static void line_expander_translate_run(struct line_expander *expander, const struct snapshot *from,
					struct snapshot_run *run)
{
	for (unsigned i = 0; run->calls && i < run->n_vcpus; i++) {
		struct snapshot_call *calls = run->calls[i].calls;

		for (unsigned j = 0; j < SNAPSHOT_MAX_CALLS && calls[j].ticks > 0; j++)
			calls[j].frame = line_expander_function(expander, from, calls[j].frame);
	}
	for (unsigned i = 0; i < run->n_vcpus && i < GUEST_MAX_VCPUS; i++)
		run->vcpus[i].last_frame =
			line_expander_function(expander, from, run->vcpus[i].last_frame);
}

static struct xtop_error *line_expander_finish(const struct line_expander_tree *tree,
					       struct snapshot **top)
{
	_cleanup_free_ uint32_t *numbers = calloc(tree->n, sizeof(*numbers));
	/* Waits get lines only for files, which have no rows of waits and locks. */
	struct snapshot *to =
		numbers ? snapshot_create_like(tree->from, tree->n, SNAPSHOT_WITH_CALLS) : NULL;

	if (!to)
		return error_create("no memory for source lines");
	to->n_places = 0; /* only the resolver's own snapshot has them */
	line_expander_emit(tree, to, numbers);
	if (to->run)
		line_expander_translate_run(tree->expander, tree->from, to->run);
	to->frames = tree->expander->frames;
	to->n_frames = frames_count(tree->expander->frames);
	to->live_weight = to->nodes[0].children_live;
	to->total_weight = to->nodes[0].children_ticks;
	line_expander_set_sources(tree, to);
	*top = to;
	return NULL;
}

struct xtop_error *line_expander_apply(struct line_expander *expander, const struct snapshot *from,
				       double seconds, struct snapshot **top)
{
	_cleanup_(line_expander_tree_deinit) struct line_expander_tree tree = { .expander =
											expander,
										.from = from };
	struct xtop_error *error = line_expander_ask_all(expander->settings.lines, from);

	if (error)
		return error;
	line_client_wait(expander->settings.lines, seconds);
	if (!from->n_nodes || !line_expander_reserve_chains(expander, from->n_frames) ||
	    !line_expander_grow(&tree))
		return error_create("no memory for source lines");
	return line_expander_finish(&tree, top);
}
