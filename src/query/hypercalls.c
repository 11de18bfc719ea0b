/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hypercalls in which samples ended; see hypercalls.h. One pass over the nodes. */
#include "config.h"

#include "xtop/query/hypercalls.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"
#include "xtop/base/vector.h"

struct hypercalls_pass {
	struct hypercalls calls;
	size_t capacity;
	struct hash_table index;
};

struct hypercalls_key {
	const struct hypercalls *calls;
	const struct hypercalls_row *row;
};

static bool hypercalls_is_same(const void *context, uint32_t number)
{
	const struct hypercalls_key *key = context;
	const struct hypercalls_row *row = &key->calls->rows[number];

	return row->stub == key->row->stub &&
	       !memcmp(row->callers, key->row->callers, sizeof(row->callers));
}

/* The row with ROW's stub and callers; added if new. NULL: out of memory. */
static struct hypercalls_row *hypercalls_find_or_add(struct hypercalls_pass *pass,
						     const struct hypercalls_row *row)
{
	const struct hypercalls_key key = { &pass->calls, row };
	uint64_t hash = hash_bytes(hash_word(0, row->stub), row->callers, sizeof(row->callers));
	uint32_t number = hash_table_find(&pass->index, hash, hypercalls_is_same, &key);

	if (number != HASH_NONE)
		return &pass->calls.rows[number];
	if (!vector_reserve(pass->calls.rows, pass->capacity, pass->calls.n + 1) ||
	    !hash_table_add(&pass->index, hash, (uint32_t)pass->calls.n))
		return NULL;
	pass->calls.rows[pass->calls.n] = *row;
	return &pass->calls.rows[pass->calls.n++];
}

static bool hypercalls_add_node(struct hypercalls_pass *pass, const struct snapshot *snapshot,
				const struct snapshot_node *node)
{
	struct hypercalls_row row = { .stub = node->frame }, *found;
	uint32_t at = node->parent;

	for (size_t i = 0; i < HYPERCALLS_PATH; i++) {
		const struct frame *frame = frames_get(snapshot->frames, snapshot->nodes[at].frame);

		row.callers[i] =
			at && frame_is_function(frame) ? snapshot->nodes[at].frame : FRAME_NONE;
		if (row.callers[i] != FRAME_NONE)
			at = snapshot->nodes[at].parent;
	}
	found = hypercalls_find_or_add(pass, &row);
	if (found)
		weights_add_self(&found->weights, node);
	return found;
}

/* Compares two rows: by ticks, or if TOTALS is NULL by live weight. */
static int hypercalls_compare(const void *pointer_a, const void *pointer_b, void *totals)
{
	const struct hypercalls_row *a = pointer_a, *b = pointer_b;
	double x = totals ? a->weights.self_ticks : a->weights.self_live,
	       y = totals ? b->weights.self_ticks : b->weights.self_live;

	if (x != y)
		return x < y ? 1 : -1;
	return memcmp(a->callers, b->callers, sizeof(a->callers));
}

struct xtop_error *hypercalls_build(const struct snapshot *snapshot, bool totals,
				    struct hypercalls *calls)
{
	struct hypercalls_pass pass = { .capacity = 0 };
	bool failed = false;

	for (size_t i = 1; i < snapshot->n_nodes && !failed; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		if (snapshot_node_counts_self(node) &&
		    frames_get(snapshot->frames, node->frame)->hypercall)
			failed = !hypercalls_add_node(&pass, snapshot, node);
	}
	hash_table_deinit(&pass.index);
	if (failed) {
		hypercalls_deinit(&pass.calls);
		return error_create("no memory for the table of hypercalls");
	}
	if (pass.calls.n)
		qsort_r(pass.calls.rows, pass.calls.n, sizeof(*pass.calls.rows), hypercalls_compare,
			totals ? &pass : NULL);
	*calls = pass.calls;
	return NULL;
}

void hypercalls_deinit(struct hypercalls *calls)
{
	free(calls->rows);
	*calls = (struct hypercalls){ 0 };
}
