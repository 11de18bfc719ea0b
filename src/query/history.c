/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last ten minutes; see history.h. A ring of moments. A moment keeps nodes in pre-order.
 * It keeps only what cannot be computed again: frame, parent, and the node's own weight.
 *
 * A threshold on the weight that passes through a node decides which nodes are kept. Counting nodes
 * by quarters of powers of two finds the threshold in one pass, without sorting.
 */
#include "config.h"

#include "xtop/query/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "query/growth.h"
#include "query/history_locks.h"
#include "query/range.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/vector.h"
#include "xtop/query/functions.h"

struct history {
	size_t first, n;
	struct history_moment moments[HISTORY_MOMENTS];
	double *before; /* each frame's children_ticks at the last moment, N_BEFORE of them */
	struct growth *growth; /* how each snapshot grew from the last one */
	struct exits_growth exits;
	size_t n_before, before_capacity;
	double whole_before;   /* total_weight at the last moment */
	uint64_t started_ns;   /* time when the profile of BEFORE was started or reset */
};

struct xtop_error *history_create(struct history **historyp)
{
	struct history *history = calloc(1, sizeof(*history));
	struct xtop_error *error;

	if (!history)
		return error_create("no memory for the history");
	error = growth_create(&history->growth);
	if (error) {
		free(history);
		return error;
	}
	*historyp = history;
	return NULL;
}

static void history_clear(struct history_moment *moment)
{
	free(moment->nodes);
	free(moment->grown);
	free(moment->shares);
	exits_moment_destroy(moment->exits);
	snapshot_destroy(moment->head);
	*moment = (struct history_moment){ .n_nodes = 0 };
}

void history_destroy(struct history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < HISTORY_MOMENTS; i++)
		history_clear(&history->moments[i]);
	growth_destroy(history->growth);
	exits_growth_deinit(&history->exits);
	free(history->before);
	free(history);
}

static const struct history_moment *history_moment(const struct history *history, size_t moment)
{
	return &history->moments[(history->first + moment) % HISTORY_MOMENTS];
}

/* --- which nodes ------------------------------------------------------------------------------ */

#define LEVELS           512 /* weights from 2^-64 to 2^64 */
#define LEVELS_PER_POWER 4

/*
 * The level of a weight. The bits of IEEE 754 doubles that are not negative are in the same order
 * as the numbers:
 *
 *	63    sign, 0
 *	62-52 exponent + 1023
 *	51-0  fraction; its highest two bits tell the quarter
 */
static int history_level(double weight)
{
	const int64_t lowest = (1023 - 64) * LEVELS_PER_POWER;
	uint64_t bits;
	int64_t level;

	memcpy(&bits, &weight, sizeof(bits));
	level = (int64_t)(bits >> 50) - lowest;
	return level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : (int)level;
}

/* The weight that decides which nodes are kept: live weight, or else a small part of the ticks. */
static double history_weight(const struct snapshot *snapshot, size_t index)
{
	const struct snapshot_node *node = &snapshot->nodes[index];

	return node->children_live > 0 ? node->children_live : node->children_ticks * 1e-9;
}

/* The lowest level for which at most MOST nodes have this level or a higher one. */
static int history_threshold(const struct snapshot *snapshot, size_t most)
{
	size_t counts[LEVELS] = { 0 }, n = 0;
	int level = LEVELS;

	if (snapshot->n_nodes <= most)
		return 0;
	for (size_t i = 0; i < snapshot->n_nodes; i++)
		counts[history_level(history_weight(snapshot, i))]++;
	while (level > 0 && n + counts[level - 1] <= most)
		n += counts[--level];
	return level;
}

/*
 * A subtree that is left out adds its weight to an [evicted] node below its parent. Each node that
 * stays has at most one [evicted] below it, so half of the room is reserved for these.
 */
struct history_copy {
	struct history_node nodes[HISTORY_MOMENT_NODES];
	size_t n;
};

static uint32_t history_clamp(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/*
 * Copies at most MOST nodes. open[d]: the kept node of depth d on the path to the current node;
 * evicted[d]: the [evicted] below that node, 0: none.
 */
static void history_copy_nodes(const struct snapshot *snapshot, size_t most,
			       struct history_copy *copy)
{
	int threshold = history_threshold(snapshot, most / 2);
	uint32_t open[SNAPSHOT_MAX_DEPTH + 1] = { 0 }, evicted[SNAPSHOT_MAX_DEPTH + 1] = { 0 };

	for (size_t i = 0; i < snapshot->n_nodes;) {
		const struct snapshot_node *node = &snapshot->nodes[i];
		uint32_t depth =
			node->depth < SNAPSHOT_MAX_DEPTH ? node->depth : SNAPSHOT_MAX_DEPTH;
		uint32_t parent = depth ? open[depth - 1] : 0,
			 *at = depth ? &evicted[depth - 1] : NULL;

		if (!depth || history_level(history_weight(snapshot, i)) >= threshold) {
			open[depth] = (uint32_t)copy->n;
			evicted[depth] = 0;
			copy->nodes[copy->n++] =
				(struct history_node){ node->frame, parent, (float)node->self_live,
						       (float)node->self_ticks,
						       history_clamp(node->self_total) };
			i++;
			continue;
		}
		if (!*at) {
			*at = (uint32_t)copy->n;
			copy->nodes[copy->n++] =
				(struct history_node){ FRAME_EVICTED, parent, 0, 0, 0 };
		}
		copy->nodes[*at].self_live += (float)node->children_live;
		copy->nodes[*at].self_ticks += (float)node->children_ticks;
		copy->nodes[*at].self_total =
			history_clamp(copy->nodes[*at].self_total + node->children_total);
		i = node->end;
	}
}

/* --- shares ----------------------------------------------------------------------------------- */

static bool history_reserve(struct history *history, size_t n_frames)
{
	if (n_frames <= history->n_before)
		return true;
	if (!vector_reserve(history->before, history->before_capacity, n_frames))
		return false;
	memset(history->before + history->n_before, 0,
	       (n_frames - history->n_before) * sizeof(*history->before));
	history->n_before = n_frames;
	return true;
}

/* The profile was reset, so counts start at 0 again. */
static void history_reset_counts(struct history *history, uint64_t started_ns)
{
	memset(history->before, 0, history->n_before * sizeof(*history->before));
	history->whole_before = 0;
	history->started_ns = started_ns;
}

/* How much NOW grew. A weight gets smaller when a branch was evicted; then all of NOW is new. */
static double history_grown(double now, double before)
{
	return now >= before ? now - before : now;
}

static int share_by_percent(const void *a, const void *b)
{
	float x = ((const struct history_share *)a)->percent,
	      y = ((const struct history_share *)b)->percent;

	return (x < y) - (x > y);
}

static int share_by_frame(const void *a, const void *b)
{
	uint32_t x = ((const struct history_share *)a)->frame,
		 y = ((const struct history_share *)b)->frame;

	return (x > y) - (x < y);
}

/* Computes each function's share of the samples since the last moment. Keeps the largest shares. */
static void history_add_shares(struct history *history, const struct snapshot *snapshot,
			       struct history_moment *moment)
{
	_cleanup_free_ struct history_share *shares = NULL;
	struct function_table table;
	double whole;
	size_t n = 0;

	if (!history_reserve(history, snapshot->n_frames))
		return;
	if (snapshot->started_ns != history->started_ns)
		history_reset_counts(history, snapshot->started_ns);
	whole = history_grown(snapshot->total_weight, history->whole_before);
	history->whole_before = snapshot->total_weight;
	error_destroy(functions_build(snapshot, NULL, false, &table));
	if (!table.rows)
		return;
	shares = malloc((table.n + 1) * sizeof(*shares));
	for (size_t i = 0; i < table.n; i++) {
		double *before = &history->before[table.rows[i].frame];
		double now = table.rows[i].weights.children_ticks;
		double grown = history_grown(now, *before);

		*before = now;
		if (shares && grown > 0 && whole > 0)
			shares[n++] =
				(struct history_share){ table.rows[i].frame,
							(float)(100.0 * grown / whole) };
	}
	functions_deinit(&table);
	if (n > HISTORY_MOMENT_SHARES) {
		qsort(shares, n, sizeof(*shares), share_by_percent);
		n = HISTORY_MOMENT_SHARES;
	}
	if (n)
		qsort(shares, n, sizeof(*shares), share_by_frame);
	moment->shares = realloc(no_cleanup_ptr(shares), (n + 1) * sizeof(*moment->shares));
	moment->n_shares = moment->shares ? n : 0;
}

/* --- moments ---------------------------------------------------------------------------------- */

static bool history_is_due(const struct history *history, const struct snapshot *snapshot)
{
	const struct history_moment *last;

	if (!history->n)
		return true;
	last = history_moment(history, history->n - 1);
	/* A refresh each second may come a little early. */
	return snapshot->time_ns >= last->head->time_ns + HISTORY_STEP_NS * 9 / 10 ||
	       snapshot->time_ns < last->head->time_ns;
}

/* Best effort: copies to TO what FROM knows of the host, but only the exits with most time. */
static void history_take_host(const struct snapshot_run *from, struct snapshot_run *to)
{
	if (from->exits)
		to->exits = exits_table_copy(from->exits, HISTORY_EXITS, HISTORY_EXIT_CAUSES);
	if (from->takers)
		to->takers = malloc(sizeof(*to->takers));
	if (to->takers)
		*to->takers = *from->takers;
}

/* A copy of at most MOST nodes, *NP of them. COPY is room to work. NULL: out of memory. */
static struct history_node *history_keep(const struct snapshot *snapshot, size_t most,
					 struct history_copy *copy, size_t *np)
{
	struct history_node *nodes;

	copy->n = 0;
	history_copy_nodes(snapshot, most, copy);
	assert(copy->n > 0); /* the root is there */
	nodes = malloc(copy->n * sizeof(*nodes));
	if (nodes)
		memcpy(nodes, copy->nodes, copy->n * sizeof(*nodes));
	*np = nodes ? copy->n : 0;
	return nodes;
}

void history_add(struct history *history, const struct snapshot *snapshot)
{
	struct history_moment *moment;
	_cleanup_free_ struct history_copy *copy = NULL;
	struct snapshot *head, *grown;

	/* Before a recording's first sample there is no time yet: ages would be counted from 0. */
	if (!snapshot->n_nodes || !snapshot->time_ns || !history_is_due(history, snapshot))
		return;
	copy = malloc(sizeof(*copy));
	head = copy ? snapshot_create_like(snapshot, 0, 0) : NULL;
	if (!head)
		return;
	if (history->n == HISTORY_MOMENTS)
		history->first = (history->first + 1) % HISTORY_MOMENTS;
	else
		history->n++;
	moment = &history->moments[(history->first + history->n - 1) % HISTORY_MOMENTS];
	history_clear(moment);
	moment->head = head;
	if (head->run) {
		history_take_host(snapshot->run, head->run);
		moment->exits = exits_growth_update(&history->exits, snapshot->run->exits,
						    head->run->exits);
	}
	if (head->waits)
		history_locks_take(snapshot, head->waits);
	moment->nodes = history_keep(snapshot, HISTORY_MOMENT_NODES, copy, &moment->n_nodes);
	grown = growth_update(history->growth, snapshot);
	if (grown)
		moment->grown =
			history_keep(grown, HISTORY_GROWN_NODES, copy, &moment->n_grown);
	snapshot_destroy(grown);
	history_add_shares(history, snapshot, moment);
}

size_t history_count(const struct history *history)
{
	return history->n;
}

static uint64_t history_sequence(const struct history *history, size_t moment)
{
	return history_moment(history, moment)->head->sequence;
}

uint64_t history_age_ns(const struct history *history, size_t moment)
{
	uint64_t newest = history_moment(history, history->n - 1)->head->time_ns,
		 then = history_moment(history, moment)->head->time_ns;

	return newest > then ? newest - then : 0;
}

size_t history_find(const struct history *history, uint64_t sequence)
{
	size_t moment = 0;

	while (moment < history->n && history_sequence(history, moment) < sequence)
		moment++;
	return moment;
}

static void history_expand(const struct history_moment *moment, struct snapshot *snapshot)
{
	struct snapshot_node *nodes = snapshot->nodes;

	for (uint32_t i = 0; i < moment->n_nodes; i++) {
		const struct history_node *from = &moment->nodes[i];

		nodes[i] = (struct snapshot_node){ .frame = from->frame,
						   .parent = from->parent,
						   .end = i + 1,
						   .depth = i ? nodes[from->parent].depth + 1 : 0,
						   .self_live = from->self_live,
						   .children_live = from->self_live,
						   .self_ticks = from->self_ticks,
						   .children_ticks = from->self_ticks,
						   .self_total = from->self_total,
						   .children_total = from->self_total };
	}
	snapshot_nodes_close(nodes, moment->n_nodes);
	snapshot_nodes_sum(nodes, moment->n_nodes);
}

static struct xtop_error *history_no_memory(void)
{
	return error_create("no memory for a picture of the past");
}

struct xtop_error *history_get(const struct history *history, size_t at,
			       struct snapshot **snapshotp)
{
	const struct history_moment *moment = history_moment(history, at);
	struct snapshot *snapshot = NULL;

	if (moment->nodes)
		snapshot = snapshot_create_like(moment->head, moment->n_nodes,
						SNAPSHOT_WITH_ROWS | SNAPSHOT_WITH_CALLS);
	if (!snapshot)
		return history_no_memory();
	history_expand(moment, snapshot);
	*snapshotp = snapshot;
	return NULL;
}

/* --- a range of time -------------------------------------------------------------------------- */

const struct snapshot *history_head(const struct history *history, size_t at)
{
	return history_moment(history, at)->head;
}

struct xtop_error *history_get_range(const struct history *history, size_t first, size_t last,
				     struct snapshot **snapshotp)
{
	struct range range = { .capacity = 0 };
	struct xtop_error *error = range_begin(&range, history_head(history, first));

	for (size_t i = first + 1; i <= last && !error; i++)
		error = range_add(&range, history_head(history, i - 1),
				  history_moment(history, i));
	if (!error)
		error = range_build(&range, history_head(history, first),
				    history_head(history, last), snapshotp);
	range_deinit(&range);
	return error;
}

static double history_ticks(const struct snapshot *head)
{
	double ticks = 0;

	for (unsigned i = 0; head->run && i < head->run->n_vcpus; i++)
		ticks += snapshot_vcpu_ticks(&head->run->vcpus[i]);
	return ticks;
}

/* Whether there was a sample between MOMENT and the one before, perhaps of an idle guest. */
static bool history_was_sampled(const struct history *history, size_t moment)
{
	const struct snapshot *head = history_head(history, moment);
	double before = moment ? history_ticks(history_head(history, moment - 1)) : 0;

	return !head->run || history_ticks(head) != before;
}

void history_shares(const struct history *history, uint64_t sequence, uint32_t frame, size_t n,
		    float *percents)
{
	size_t end = history_find(history, sequence + 1);
	struct history_share key = { .frame = frame };

	for (size_t i = 0; i < n; i++) {
		const struct history_moment *moment;
		const struct history_share *share;

		percents[i] = -1;
		if (i + end < n)
			continue;
		moment = history_moment(history, end + i - n);
		if (!moment->n_shares && !history_was_sampled(history, end + i - n))
			continue;
		share = moment->n_shares ? bsearch(&key, moment->shares, moment->n_shares,
						   sizeof(*moment->shares), share_by_frame)
					 : NULL;
		percents[i] = share ? share->percent : 0;
	}
}

static size_t history_run_bytes(const struct snapshot_run *run)
{
	return sizeof(*run) + (run->takers ? sizeof(*run->takers) : 0) +
	       (run->exits ? exits_table_memory_bytes(run->exits) : 0);
}

size_t history_memory_bytes(const struct history *history)
{
	size_t bytes = sizeof(*history) + growth_memory_bytes(history->growth) +
		       history->before_capacity * sizeof(*history->before) +
		       exits_growth_memory_bytes(&history->exits);

	for (size_t i = 0; i < HISTORY_MOMENTS; i++) {
		const struct history_moment *moment = &history->moments[i];
		const struct snapshot *head = moment->head;
		const struct snapshot_waits *waits = head ? head->waits : NULL;

		if (head)
			bytes += sizeof(*head) + (head->run ? history_run_bytes(head->run) : 0);
		bytes += (moment->n_nodes + moment->n_grown) * sizeof(*moment->nodes) +
			 moment->n_shares * sizeof(*moment->shares) +
			 (moment->exits ? exits_moment_memory_bytes(moment->exits) : 0);
		if (waits)
			bytes += sizeof(*waits) + waits->n_locks * sizeof(*waits->locks) +
				 waits->n_lock_tasks * sizeof(*waits->lock_tasks);
	}
	return bytes;
}
