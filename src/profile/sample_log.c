/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a replay; see sample_log.h. */
#include "config.h"

#include "xtop/profile/sample_log.h"

#include <stdlib.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"

struct sample_log {
	struct logged_sample *samples;
	size_t n_samples, samples_capacity;
	struct logged_node *nodes;
	size_t n_nodes, nodes_capacity;
	struct hash_table index; /* finds a node by parent and frame */
	struct clocks *clocks; /* ascending by time, unless the recording lies */
	size_t n_clocks, clocks_capacity;
	uint64_t lost;
};

struct xtop_error *sample_log_create(struct sample_log **logp)
{
	_cleanup_free_ struct sample_log *log = calloc(1, sizeof(*log));

	if (!log || !vector_reserve(log->nodes, log->nodes_capacity, 1))
		return error_create("no memory to keep samples");
	log->nodes[0] = (struct logged_node){ 0 };
	log->n_nodes = 1;
	*logp = no_cleanup_ptr(log);
	return NULL;
}

void sample_log_destroy(struct sample_log *log)
{
	if (!log)
		return;
	hash_table_deinit(&log->index);
	free(log->samples);
	free(log->clocks);
	free(log->nodes);
	free(log);
}

struct log_key {
	const struct sample_log *log;
	struct logged_node node;
};

static bool log_is_node(const void *context, uint32_t number)
{
	const struct log_key *key = context;
	const struct logged_node *node = &key->log->nodes[number];

	return node->frame == key->node.frame && node->parent == key->node.parent;
}

/* The node of FRAME below PARENT. HASH_NONE: there is no room. */
static uint32_t log_find_or_add_node(struct sample_log *log, uint32_t parent, uint32_t frame)
{
	const struct log_key key = { log, { .frame = frame, .parent = parent } };
	uint64_t hash = hash_word(hash_word(0, parent), frame);
	uint32_t number = hash_table_find(&log->index, hash, log_is_node, &key);

	if (number != HASH_NONE)
		return number;
	if (log->n_nodes == SAMPLE_LOG_MAX_NODES ||
	    !vector_reserve(log->nodes, log->nodes_capacity, log->n_nodes + 1) ||
	    !hash_table_add(&log->index, hash, (uint32_t)log->n_nodes))
		return HASH_NONE;
	log->nodes[log->n_nodes] = key.node;
	return (uint32_t)log->n_nodes++;
}

void sample_log_add(struct sample_log *log, struct logged_sample *sample, const uint32_t *frames,
		    size_t n)
{
	uint32_t node = 0;

	for (size_t i = 0; i < n && node != HASH_NONE; i++)
		node = log_find_or_add_node(log, node, frames[i]);
	if (node == HASH_NONE || log->n_samples == SAMPLE_LOG_MAX_SAMPLES ||
	    !vector_reserve(log->samples, log->samples_capacity, log->n_samples + 1)) {
		log->lost++;
		return;
	}
	sample->node = node;
	log->samples[log->n_samples++] = *sample;
}

/*
 * The index still has the nodes by their old names. Later chains with the new name get nodes of
 * their own, and both read the same.
 */
void sample_log_rename(struct sample_log *log,
		       uint32_t (*find_better)(void *context, uint32_t frame), void *context)
{
	for (size_t i = 1; i < log->n_nodes; i++)
		log->nodes[i].frame = find_better(context, log->nodes[i].frame);
}

void sample_log_clear(struct sample_log *log)
{
	log->n_samples = 0;
	log->lost = 0;
}

const struct logged_sample *sample_log_get(const struct sample_log *log, size_t *np)
{
	*np = log->n_samples;
	return log->samples;
}

struct logged_node sample_log_node(const struct sample_log *log, uint32_t node)
{
	return log->nodes[node];
}

void sample_log_add_clocks(struct sample_log *log, const struct clocks *clocks)
{
	if (log->n_clocks == SAMPLE_LOG_MAX_CLOCKS ||
	    !vector_reserve(log->clocks, log->clocks_capacity, log->n_clocks + 1))
		return;
	log->clocks[log->n_clocks++] = *clocks;
}

/* The index of the last reading at or before TIME_NS; 0 if there is none. */
static size_t log_find_clocks(const struct sample_log *log, uint64_t time_ns)
{
	size_t n = sorted_count(log->clocks, log->n_clocks, at_ns, time_ns);

	return n ? n - 1 : 0;
}

bool sample_log_convert(const struct sample_log *log, enum clock_kind kind, uint64_t time_ns,
			uint64_t *converted_ns)
{
	size_t i = log_find_clocks(log, time_ns), next = i + 1;

	if (kind == CLOCK_DOM0) {
		*converted_ns = time_ns;
		return true;
	}
	if (!log->n_clocks)
		return false;
	while (i > 0 && !log->clocks[i].known[kind])
		i--;
	while (next < log->n_clocks && !log->clocks[next].known[kind])
		next++;
	if (next == log->n_clocks)
		return clocks_convert(&log->clocks[i], kind, time_ns, converted_ns);
	return clocks_convert_between(&log->clocks[i], &log->clocks[next], kind, time_ns,
				      converted_ns);
}

uint64_t sample_log_lost(const struct sample_log *log)
{
	return log->lost;
}
