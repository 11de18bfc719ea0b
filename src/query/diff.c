/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two runs, function by function; see diff.h. Functions are matched by kind, name and
 * module, not by address, because addresses differ between boots. So static functions with the same
 * name in the same module are one function here. A folded file has neither kinds nor modules. If
 * one of the runs comes from such a file, the name alone counts.
 */
#include "config.h"

#include "xtop/query/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/interval.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/vector.h"
#include "xtop/query/functions.h"

/* A function in one of the two runs. */
struct diff_part {
	double share, effect;
};

struct diff_pair {
	const struct frame *frame;
	struct diff_part base, now;
	bool in_base, in_now;
};

struct diff_builder {
	bool children, by_name;
	struct diff_pair *pairs;
	size_t n, capacity;
	struct hash_table index;
};

static void cleanup_builder(struct diff_builder *builder)
{
	free(builder->pairs);
	hash_table_deinit(&builder->index);
}

/* --- matching --------------------------------------------------------------------------------- */

struct diff_wanted {
	const struct diff_builder *builder;
	const struct frame *frame;
};

static bool diff_is_same(const void *context, uint32_t pair)
{
	const struct diff_wanted *wanted = context;
	const struct frame *frame = wanted->builder->pairs[pair].frame;

	if (strcmp(frame->name, wanted->frame->name) != 0)
		return false;
	return wanted->builder->by_name || (frame->kind == wanted->frame->kind &&
					    !strcmp(frame->module, wanted->frame->module));
}

static uint64_t diff_hash(const struct diff_builder *builder, const struct frame *frame)
{
	uint64_t hash = hash_bytes(0, frame->name, strlen(frame->name));

	if (builder->by_name)
		return hash;
	return hash_bytes(hash_word(hash, frame->kind), frame->module, strlen(frame->module));
}

/* The pair of FRAME; added if new. NULL: out of memory. */
static struct diff_pair *diff_find_or_add(struct diff_builder *builder, const struct frame *frame)
{
	struct diff_wanted wanted = { builder, frame };
	uint64_t hash = diff_hash(builder, frame);
	uint32_t found = hash_table_find(&builder->index, hash, diff_is_same, &wanted);

	if (found != HASH_NONE)
		return &builder->pairs[found];
	if (!vector_reserve(builder->pairs, builder->capacity, builder->n + 1) ||
	    !hash_table_add(&builder->index, hash, (uint32_t)builder->n))
		return NULL;
	builder->pairs[builder->n] = (struct diff_pair){ .frame = frame };
	return &builder->pairs[builder->n++];
}

/* --- one side --------------------------------------------------------------------------------- */

static bool diff_add(struct diff_builder *builder, const struct diff_side *side, bool is_now,
		     const struct function_row *row, double whole)
{
	double share = (builder->children ? row->weights.children_ticks : row->weights.self_ticks) /
		       whole;
	double effect = 1;
	struct diff_pair *pair;
	struct diff_part *part;

	if (!(share > 0) || row->frame == FRAME_TRUNCATED)
		return true;
	pair = diff_find_or_add(builder, frames_get(side->snapshot->frames, row->frame));
	if (!pair)
		return false;
	if (side->batches)
		effect = batches_get_effect(side->batches, row->frame, false);
	part = is_now ? &pair->now : &pair->base;
	*(is_now ? &pair->in_now : &pair->in_base) = true;
	part->share += share;
	part->effect = fmax(part->effect, effect);
	return true;
}

static struct xtop_error *diff_add_side(struct diff_builder *builder, const struct diff_side *side,
					bool is_now)
{
	struct function_table table;
	struct xtop_error *error = functions_build(side->snapshot, NULL, false, &table);
	bool ok = true;

	if (error)
		return error;
	for (size_t i = 0; i < table.n && ok && table.whole.children_ticks > 0; i++)
		ok = diff_add(builder, side, is_now, &table.rows[i], table.whole.children_ticks);
	functions_deinit(&table);
	return ok ? NULL : error_create("no memory to compare functions");
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The vCPU-seconds a second of all functions together. NAN: not known. */
static double diff_cpu(const struct diff_side *side)
{
	return side->hz > 0 && side->seconds > 0
		       ? side->snapshot->total_weight / side->hz / side->seconds
		       : NAN;
}

static struct interval_side diff_interval_side(const struct diff_side *side,
					       const struct diff_part *part)
{
	struct batches_worth worth = { .samples = (double)side->snapshot->resolver.samples };

	if (side->batches)
		worth = batches_get_worth(side->batches, false);
	return (struct interval_side){ .share = part->share,
				       .samples = worth.samples,
				       .effect = fmax(part->effect, 1),
				       .batches = side->batches ? fmax(worth.batches, 1) : 0 };
}

static struct diff_row diff_row_of(const struct diff_side *now, const struct diff_side *base,
				   const struct diff_pair *pair)
{
	struct interval_side now_side = diff_interval_side(now, &pair->now);
	struct interval_side base_side = diff_interval_side(base, &pair->base);
	struct interval interval = interval_of_difference(&now_side, &base_side);

	return (struct diff_row){
		.frame = pair->frame,
		.base = pair->base.share,
		.now = pair->now.share,
		.base_cpu = pair->base.share * diff_cpu(base),
		.now_cpu = pair->now.share * diff_cpu(now),
		.in_base = pair->in_base,
		.in_now = pair->in_now,
		.known = interval.known,
		.low = interval.low,
		.high = interval.high,
		.chance = interval.chance,
	};
}

static int diff_compare(const void *pointer_a, const void *pointer_b)
{
	const struct diff_row *a = pointer_a, *b = pointer_b;
	double x = fabs(a->now - a->base), y = fabs(b->now - b->base);

	if (a->significant != b->significant)
		return a->significant ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(a->frame->name, b->frame->name);
}

/* Decides which rows are significant, and sorts the rows. */
static struct xtop_error *diff_judge(struct diff *diff)
{
	_cleanup_free_ double *chances = calloc(diff->n + 1, sizeof(*chances));
	size_t n = 0;
	double limit;

	if (!chances)
		return error_create("no memory to compare functions");
	for (size_t i = 0; i < diff->n; i++)
		if (diff->rows[i].known)
			chances[n++] = diff->rows[i].chance;
	limit = interval_find_limit(chances, n, DIFF_FALSE_DISCOVERIES);
	for (size_t i = 0; i < diff->n; i++) {
		struct diff_row *row = &diff->rows[i];

		row->significant = row->known && row->chance <= limit;
		diff->n_significant += row->significant;
	}
	if (diff->n)
		qsort(diff->rows, diff->n, sizeof(*diff->rows), diff_compare);
	return NULL;
}

struct xtop_error *diff_build(const struct diff_side *now, const struct diff_side *base,
			      bool children, struct diff *diff)
{
	_cleanup_(cleanup_builder) struct diff_builder builder = {
		.children = children,
		.by_name = snapshot_is_plain(now->snapshot) ||
					snapshot_is_plain(base->snapshot)
	};
	struct diff built = { .base_cpu = diff_cpu(base), .now_cpu = diff_cpu(now) };
	struct xtop_error *error = diff_add_side(&builder, base, false);

	if (!error)
		error = diff_add_side(&builder, now, true);
	if (error)
		return error;
	built.rows = calloc(builder.n + 1, sizeof(*built.rows));
	if (!built.rows)
		return error_create("no memory to compare functions");
	for (size_t i = 0; i < builder.n; i++)
		built.rows[built.n++] = diff_row_of(now, base, &builder.pairs[i]);
	error = diff_judge(&built);
	if (error)
		diff_deinit(&built);
	else
		*diff = built;
	return error;
}

void diff_deinit(struct diff *diff)
{
	free(diff->rows);
	*diff = (struct diff){ 0 };
}

const struct diff_row *diff_find_grown(const struct diff *diff)
{
	/* The rows are sorted by the size of their difference. */
	for (size_t i = 0; i < diff->n_significant; i++)
		if (diff->rows[i].now > diff->rows[i].base)
			return &diff->rows[i];
	return NULL;
}
