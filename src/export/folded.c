/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks (doc/FORMATS): "outermost;...;innermost COUNT", one line for each stack, each stack
 * once, in the order of LC_ALL=C sort.
 *
 * Different nodes can have the same text: two frames that nobody can name, static functions of one
 * name. So the walk goes by text. A step takes all nodes with stacks of the same text, gathers
 * their children, and puts children of the same name together. Each name then has up to two items:
 *
 *	name COUNT       the line of the stack that ends here
 *	name;...         the lines of the functions that NAME called
 *
 * Names hold no ';', so the lines of one item are never mixed with the lines of another. Sorting
 * the items of each step sorts the file; note that "foo 7" < "foo(int) 7" < "foo1;a 7" < "foo;a 7".
 *
 * The walk keeps no lines. It keeps the path, and the siblings along the path on two stacks.
 * Its depth is the depth of the tree, at most SNAPSHOT_MAX_DEPTH. Names are clean (frames.h).
 */
#include "config.h"

#include "xtop/base/cleanup.h"
#include "xtop/base/vector.h"
#include "xtop/export/export.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "export/measure.h"

struct folded_node {
	const struct frame *frame;
	uint32_t index; /* index of the node in the snapshot */
};

struct folded_item {
	const struct frame *frame;
	char tail[24];   /* " COUNT", or ";" for the functions called */
	size_t first, n; /* the nodes with the name, in gathered */
};

struct folded {
	const struct snapshot *snapshot;
	const struct snapshot_node *nodes;
	bool addresses;
	FILE *file;
	double factor;                /* ticks are multiplied by it */
	double left;                  /* weight that is not printed yet, from -0.5 to 0.5 */
	bool has_weight;              /* some stack has weight */
	bool has_line;                /* some line was printed */
	struct folded_node *gathered; /* two stacks: each step pushes, and pops at its end */
	size_t n_gathered, gathered_capacity;
	struct folded_item *items;
	size_t n_items, items_capacity;
	char *path; /* "outermost;...;" */
	size_t path_bytes, path_capacity;
};

static const char *folded_text(const struct folded *folded, const struct frame *frame,
			       char buffer[FRAME_TEXT_BYTES])
{
	return frame_text(frame, folded->addresses, buffer);
}

static bool folded_push_node(struct folded *folded, uint32_t index)
{
	if (!vector_reserve(folded->gathered, folded->gathered_capacity, folded->n_gathered + 1))
		return false;
	folded->gathered[folded->n_gathered++] = (struct folded_node){
		.frame = frames_get(folded->snapshot->frames, folded->nodes[index].frame),
		.index = index,
	};
	return true;
}

/* Pushes an item of the N nodes at FIRST. COUNT 0: the item is the functions that they called. */
static bool folded_push_item(struct folded *folded, size_t first, size_t n, uint64_t count)
{
	struct folded_item *item;

	if (!vector_reserve(folded->items, folded->items_capacity, folded->n_items + 1))
		return false;
	item = &folded->items[folded->n_items++];
	*item = (struct folded_item){
		.frame = folded->gathered[first].frame, .tail = ";", .first = first, .n = n
	};
	if (count)
		snprintf(item->tail, sizeof(item->tail), " %" PRIu64, count);
	return true;
}

/*
 * Rounds TICKS to a whole number, which may be 0. The rest goes into the next line, so that the sum
 * of all lines is right.
 */
static uint64_t folded_round(struct folded *folded, double ticks)
{
	double count;

	folded->left += ticks * folded->factor;
	folded->has_weight |= ticks > 0;
	count = floor(folded->left + 0.5);
	if (!(count > 0))
		return 0;
	folded->left -= count;
	return (uint64_t)count;
}

static int folded_compare_nodes(const void *pointer_a, const void *pointer_b, void *folded)
{
	const struct folded_node *a = pointer_a, *b = pointer_b;
	char buffer_a[FRAME_TEXT_BYTES], buffer_b[FRAME_TEXT_BYTES];

	if (a->frame == b->frame)
		return 0;
	return strcmp(folded_text(folded, a->frame, buffer_a),
		      folded_text(folded, b->frame, buffer_b));
}

/* Compares names with their tails as strcmp() does. No tail is empty. */
static int folded_compare_items(const void *pointer_a, const void *pointer_b, void *folded)
{
	const struct folded_item *a = pointer_a, *b = pointer_b;
	char buffer_a[FRAME_TEXT_BYTES], buffer_b[FRAME_TEXT_BYTES];
	const char *text_a = folded_text(folded, a->frame, buffer_a), *tail_a = a->tail;
	const char *text_b = folded_text(folded, b->frame, buffer_b), *tail_b = b->tail;

	for (;; text_a++, text_b++) {
		if (!*text_a && tail_a) {
			text_a = tail_a;
			tail_a = NULL;
		}
		if (!*text_b && tail_b) {
			text_b = tail_b;
			tail_b = NULL;
		}
		if (*text_a != *text_b || !*text_a)
			return (unsigned char)*text_a - (unsigned char)*text_b;
	}
}

/* Pushes the children, if they have weight, of the N nodes at FIRST; sorted by name. */
static bool folded_gather(struct folded *folded, size_t first, size_t n)
{
	const struct snapshot_node *nodes = folded->nodes;
	size_t from = folded->n_gathered;

	for (size_t i = first; i < first + n; i++) {
		uint32_t parent = folded->gathered[i].index;

		for (uint32_t child = parent + 1; child < nodes[parent].end;
		     child = nodes[child].end)
			if (snapshot_node_counts(&nodes[child]) && !folded_push_node(folded, child))
				return false;
	}
	qsort_r(folded->gathered + from, folded->n_gathered - from, sizeof(*folded->gathered),
		folded_compare_nodes, folded);
	return true;
}

/* Pushes the items of the nodes gathered from FIRST on; sorted. */
static bool folded_itemise(struct folded *folded, size_t first)
{
	size_t from = folded->n_items;

	for (size_t next; first < folded->n_gathered; first = next) {
		const struct folded_node *gathered = folded->gathered;
		double self = 0, children = 0;
		uint64_t count;

		for (next = first; next < folded->n_gathered &&
				   !folded_compare_nodes(&gathered[first], &gathered[next], folded);
		     next++) {
			self += folded->nodes[gathered[next].index].self_ticks;
			children += folded->nodes[gathered[next].index].children_ticks;
		}
		count = folded_round(folded, self);
		if (count && !folded_push_item(folded, first, next - first, count))
			return false;
		if (children > self && !folded_push_item(folded, first, next - first, 0))
			return false;
	}
	if (folded->n_items > from)
		qsort_r(folded->items + from, folded->n_items - from, sizeof(*folded->items),
			folded_compare_items, folded);
	return true;
}

static bool folded_push_path(struct folded *folded, const char *text)
{
	size_t length = strlen(text);

	if (!vector_reserve(folded->path, folded->path_capacity, folded->path_bytes + length + 1))
		return false;
	memcpy(folded->path + folded->path_bytes, text, length);
	folded->path[folded->path_bytes + length] = ';';
	folded->path_bytes += length + 1;
	return true;
}

static void folded_print(struct folded *folded, const struct folded_item *item)
{
	char buffer[FRAME_TEXT_BYTES];

	folded->has_line = true;
	if (folded->path_bytes)
		fwrite(folded->path, 1, folded->path_bytes, folded->file);
	fputs(folded_text(folded, item->frame, buffer), folded->file);
	fputs(item->tail, folded->file);
	putc('\n', folded->file);
}

static bool folded_step(struct folded *folded, size_t first, size_t n);

/* Prints the sorted lines of the nodes gathered from FIRST on. The path has their callers. */
static bool folded_print_gathered(struct folded *folded, size_t first)
{
	size_t items_from = folded->n_items, path_bytes = folded->path_bytes;
	bool ok = folded_itemise(folded, first);

	for (size_t i = items_from, end = folded->n_items; ok && i < end; i++) {
		const struct folded_item item = folded->items[i]; /* the array moves as it grows */
		char buffer[FRAME_TEXT_BYTES];

		if (item.tail[0] != ';') {
			folded_print(folded, &item);
			continue;
		}
		ok = folded_push_path(folded, folded_text(folded, item.frame, buffer)) &&
		     folded_step(folded, item.first, item.n);
		folded->path_bytes = path_bytes;
	}
	folded->n_items = items_from;
	return ok;
}

/* Prints the lines below the N gathered nodes at FIRST. The path has the text of their stacks. */
static bool folded_step(struct folded *folded, size_t first, size_t n)
{
	size_t nodes_from = folded->n_gathered;
	bool ok = folded_gather(folded, first, n) && folded_print_gathered(folded, nodes_from);

	folded->n_gathered = nodes_from;
	return ok;
}

/* --- stacks below control groups -------------------------------------------------------------- */

static const char *folded_cgroup(const struct folded *folded, const struct frame *frame)
{
	const struct owner *owner = frames_get_owner(folded->snapshot->frames, frame);

	return owner && *owner->cgroup ? owner->cgroup : "[no cgroup]";
}

/* Compares groups' names with ';' appended as strcmp() does; then names of frames. */
static int folded_compare_cgroups(const void *pointer_a, const void *pointer_b, void *pointer)
{
	const struct folded_node *a = pointer_a, *b = pointer_b;
	const struct folded *folded = pointer;
	const char *text_a = folded_cgroup(folded, a->frame),
		   *text_b = folded_cgroup(folded, b->frame);

	while (*text_a && *text_a == *text_b) {
		text_a++;
		text_b++;
	}
	if (*text_a == *text_b)
		return folded_compare_nodes(a, b, pointer);
	return (unsigned char)(*text_a ? *text_a : ';') - (unsigned char)(*text_b ? *text_b : ';');
}

/* Prints all lines. The root is gathered; its children are gathered group by group. */
static bool folded_step_by_cgroup(struct folded *folded)
{
	size_t first = folded->n_gathered, end, next;
	bool ok = folded_gather(folded, 0, 1);

	end = folded->n_gathered;
	if (end > first)
		qsort_r(folded->gathered + first, end - first, sizeof(*folded->gathered),
			folded_compare_cgroups, folded);
	for (; ok && first < end; first = next) {
		const char *cgroup = folded_cgroup(folded, folded->gathered[first].frame);

		for (next = first; next < end && ok; next++) {
			const struct folded_node node = folded->gathered[next];

			if (strcmp(folded_cgroup(folded, node.frame), cgroup) != 0)
				break;
			ok = folded_push_node(folded, node.index);
		}
		ok = ok && folded_push_path(folded, cgroup) && folded_print_gathered(folded, end);
		folded->path_bytes = 0;
		folded->n_gathered = end;
	}
	return ok;
}

struct xtop_error *export_folded(const struct snapshot *snapshot,
				 const struct export_settings *settings, FILE *file)
{
	_cleanup_free_ struct snapshot_node *copy = NULL;
	struct folded folded = {
		.snapshot = snapshot,
		.addresses = settings->addresses,
		.file = file,
		.factor = measure_find_ticks_factor(snapshot),
	};
	struct xtop_error *error = filter_nodes(settings->filter, snapshot, &copy, &folded.nodes);
	bool ok;

	if (error)
		return error;
	ok = folded_push_node(&folded, 0) &&
	     (settings->by_cgroup ? folded_step_by_cgroup(&folded) : folded_step(&folded, 0, 1));
	free(folded.gathered);
	free(folded.items);
	free(folded.path);
	if (!ok)
		return error_create("no memory to write folded stacks");
	if (folded.has_weight && !folded.has_line)
		return error_create("folded stacks have whole numbers, and all would be 0: "
				    "--format=speedscope has fractions");
	return NULL;
}
