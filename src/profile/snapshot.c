/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots and the slot they pass through; see xtop/snapshot.h. The slot has one pointer, which
 * the resolver exchanges for its new snapshot and the reader for NULL. Whoever gets a snapshot
 * out of an exchange owns it, so none is freed twice, lost, or freed under its reader.
 */
#include "config.h"

#include "xtop/snapshot.h"

#include <stdatomic.h>
#include <stdlib.h>

struct snapshot_slot {
	_Atomic(struct snapshot *) published;
	atomic_bool wanted;
};

/*
 * In steps: a size that comes again finds the memory of the last one at hand. Exact sizes, which
 * grow by a few nodes each second, would get fresh pages of the kernel each time: with 100,000
 * nodes these cost as much as all the work that is done on them.
 */
#define SNAPSHOT_STEP_NODES 16384

struct snapshot_node *snapshot_nodes_create(size_t n)
{
	if (n > SNAPSHOT_STEP_NODES)
		n = (n + SNAPSHOT_STEP_NODES - 1) / SNAPSHOT_STEP_NODES * SNAPSHOT_STEP_NODES;
	return reallocarray(NULL, n, sizeof(struct snapshot_node));
}

struct snapshot *snapshot_create(size_t n_nodes)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return NULL;
	snapshot->n_nodes = n_nodes;
	snapshot->nodes = snapshot_nodes_create(n_nodes);
	if (snapshot->nodes || !n_nodes)
		return snapshot;
	free(snapshot);
	return NULL;
}

void snapshot_destroy(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	free(snapshot->nodes);
	free(snapshot);
}

struct xtop_error *snapshot_slot_create(struct snapshot_slot **slotp)
{
	struct snapshot_slot *slot = malloc(sizeof(*slot));

	if (!slot)
		return error_create("no memory for the snapshot slot");
	atomic_init(&slot->published, NULL);
	atomic_init(&slot->wanted, false);
	*slotp = slot;
	return NULL;
}

void snapshot_slot_destroy(struct snapshot_slot *slot)
{
	if (!slot)
		return;
	/* Both sides are done: their threads were joined, which orders everything. */
	snapshot_destroy(atomic_load_explicit(&slot->published, memory_order_relaxed));
	free(slot);
}

/* Carries no data: the resolver only learns that it is time to build one. */
void snapshot_request(struct snapshot_slot *slot)
{
	atomic_store_explicit(&slot->wanted, true, memory_order_relaxed);
}

bool snapshot_wanted(const struct snapshot_slot *slot)
{
	return atomic_load_explicit(&slot->wanted, memory_order_relaxed);
}

struct snapshot *snapshot_take(struct snapshot_slot *slot)
{
	/* Acquire: what the resolver wrote before it published, nodes and names, is seen from
	 * here on. */
	return atomic_exchange_explicit(&slot->published, NULL, memory_order_acquire);
}

void snapshot_publish(struct snapshot_slot *slot, struct snapshot *snapshot)
{
	/*
	 * First answer the request, then hand over, in this order by the release below: a reader
	 * that has this snapshot and asks for the next cannot have that request wiped out.
	 */
	atomic_store_explicit(&slot->wanted, false, memory_order_relaxed);
	/* Release: lets the reader read what was written so far. Acquire: what comes back may be
	 * freed. */
	snapshot_destroy(
		atomic_exchange_explicit(&slot->published, snapshot, memory_order_acq_rel));
}
