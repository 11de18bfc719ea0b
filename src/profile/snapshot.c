/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots and the slot they pass through; see snapshot.h. The slot has one pointer. The
 * resolver exchanges it for a new snapshot, the reader for NULL. The side that gets a snapshot out
 * of an exchange owns it, so no snapshot is freed twice, lost, or freed while the reader uses it.
 */
#include "config.h"

#include "xtop/profile/snapshot.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct snapshot_slot {
	_Atomic(struct snapshot *) published;
	atomic_bool wanted;
	_Atomic uint64_t wanted_until_ns; /* 0: nobody has asked */
	atomic_uint annotated; /* the frame for which the reader wants an annotation */
};

/*
 * Sizes are rounded up to steps, so that malloc() can give out the memory of the last snapshot
 * again. Exact sizes grow by a few nodes each second, and need fresh pages of the kernel each time.
 * With 100,000 nodes these pages cost as much as all the work on the nodes.
 */
#define SNAPSHOT_STEP_NODES 16384

const struct snapshot_run snapshot_no_run = { .sampler.state = SAMPLER_ENDED };

struct snapshot_node *snapshot_nodes_create(size_t n)
{
	if (n > SNAPSHOT_STEP_NODES)
		n = (n + SNAPSHOT_STEP_NODES - 1) / SNAPSHOT_STEP_NODES * SNAPSHOT_STEP_NODES;
	return reallocarray(NULL, n, sizeof(struct snapshot_node));
}

void snapshot_nodes_close(struct snapshot_node *nodes, size_t n)
{
	for (size_t i = n; i-- > 1;) {
		struct snapshot_node *parent = &nodes[nodes[i].parent];

		parent->end = nodes[i].end > parent->end ? nodes[i].end : parent->end;
	}
}

void snapshot_nodes_sum(struct snapshot_node *nodes, size_t n)
{
	for (size_t i = n; i-- > 1;) {
		struct snapshot_node *parent = &nodes[nodes[i].parent];

		parent->children_live += nodes[i].children_live;
		parent->children_ticks += nodes[i].children_ticks;
		parent->children_total += nodes[i].children_total;
	}
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

void snapshot_run_destroy(struct snapshot_run *run)
{
	if (!run)
		return;
	free(run->calls);
	free(run->events);
	free(run->takers);
	exits_table_destroy(run->exits);
	free(run);
}

void snapshot_waits_destroy(struct snapshot_waits *waits)
{
	if (!waits)
		return;
	free(waits->rows);
	free(waits->locks);
	free(waits->lock_tasks);
	free(waits);
}

int snapshot_compare_lock_tasks(const void *a, const void *b)
{
	uint32_t left = ((const struct snapshot_lock_task *)a)->pid,
		 right = ((const struct snapshot_lock_task *)b)->pid;

	return (left > right) - (left < right);
}

void snapshot_destroy(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	snapshot_destroy(snapshot->before);
	free(snapshot->nodes);
	annotation_destroy(snapshot->annotation);
	free(snapshot->effects);
	free(snapshot->found_by);
	free(snapshot->sources);
	snapshot_run_destroy(snapshot->run);
	snapshot_waits_destroy(snapshot->waits);
	free(snapshot);
}

int snapshot_compare_places(const void *a, const void *b)
{
	const struct snapshot_place *x = a, *y = b;

	return (x->frame > y->frame) - (x->frame < y->frame);
}

const char *snapshot_raw_name(const struct snapshot *snapshot, uint32_t id,
			      char buffer[SNAPSHOT_NAME_BYTES])
{
	const struct frame *frame = frames_get(snapshot->frames, id);
	const struct snapshot_place key = { .frame = id }, *place;

	place = bsearch(&key, snapshot->places, snapshot->n_places, sizeof(key),
			snapshot_compare_places);
	if (!place || (size_t)snprintf(buffer, SNAPSHOT_NAME_BYTES, "%s (0x%" PRIx64 ")",
				       frame->raw_name, frame->address + place->distance_bytes) >=
			      SNAPSHOT_NAME_BYTES)
		return frame->raw_name;
	return buffer;
}

const char *snapshot_source(const struct snapshot *snapshot, uint32_t frame)
{
	uint32_t source = FRAME_NONE;

	if (snapshot->sources && frame < snapshot->n_frames)
		source = snapshot->sources[frame];
	return source == FRAME_NONE ? "" : frames_get(snapshot->frames, source)->name;
}

/*
 * Sets the pointer at TOP to a copy of the N elements at FROM. FROM NULL: the pointer is untouched.
 * False: out of memory.
 */
static bool snapshot_copy_array(const void *from, size_t n, size_t size_bytes, void *top)
{
	void *copy;

	if (!from)
		return true;
	copy = reallocarray(NULL, n ? n : 1, size_bytes);
	if (copy) {
		memcpy(copy, from, n * size_bytes);
		memcpy(top, &copy, sizeof(copy));
	}
	return copy;
}

/* NULL: out of memory. */
static struct snapshot_run *snapshot_copy_run(const struct snapshot_run *from, unsigned with)
{
	struct snapshot_run *to = malloc(sizeof(*to));

	if (!to)
		return NULL;
	*to = *from;
	to->calls = NULL;
	to->events = NULL;
	to->takers = NULL;
	to->exits = NULL;
	if (with & SNAPSHOT_WITH_CALLS) {
		snapshot_copy_array(from->calls, from->n_vcpus, sizeof(*from->calls), &to->calls);
		snapshot_copy_array(from->events, from->n_vcpus, sizeof(*from->events),
				    &to->events);
		if (from->exits)
			to->exits = exits_table_copy(from->exits, SIZE_MAX, SIZE_MAX);
		snapshot_copy_array(from->takers, 1, sizeof(*from->takers), &to->takers);
	}
	return to;
}

/* NULL: out of memory. */
static struct snapshot_waits *snapshot_copy_waits(const struct snapshot_waits *from, unsigned with)
{
	struct snapshot_waits *to = malloc(sizeof(*to));

	if (!to)
		return NULL;
	*to = *from;
	to->rows = NULL;
	to->locks = NULL;
	to->lock_tasks = NULL;
	if (!(with & SNAPSHOT_WITH_ROWS)) {
		to->n_rows = to->n_locks = to->n_lock_tasks = 0;
		return to;
	}
	if (snapshot_copy_array(from->rows, from->n_rows, sizeof(*from->rows), &to->rows) &&
	    snapshot_copy_array(from->locks, from->n_locks, sizeof(*from->locks), &to->locks) &&
	    snapshot_copy_array(from->lock_tasks, from->n_lock_tasks, sizeof(*from->lock_tasks),
				&to->lock_tasks))
		return to;
	snapshot_waits_destroy(to);
	return NULL;
}

struct snapshot *snapshot_create_like(const struct snapshot *from, size_t n_nodes, unsigned with)
{
	struct snapshot *to = snapshot_create(n_nodes);
	struct snapshot_node *nodes;

	if (!to)
		return NULL;
	nodes = to->nodes;
	*to = *from;
	to->nodes = nodes;
	to->n_nodes = n_nodes;
	to->before = NULL;
	to->annotation = NULL;
	to->effects = NULL;
	to->found_by = NULL;
	to->sources = NULL;
	to->run = from->run ? snapshot_copy_run(from->run, with) : NULL;
	to->waits = from->waits ? snapshot_copy_waits(from->waits, with) : NULL;
	if (!to->run == !from->run && !to->waits == !from->waits)
		return to;
	snapshot_destroy(to);
	return NULL;
}

struct snapshot *snapshot_copy(const struct snapshot *from)
{
	struct snapshot *to =
		snapshot_create_like(from, from->n_nodes, SNAPSHOT_WITH_CALLS | SNAPSHOT_WITH_ROWS);

	if (!to)
		return NULL;
	memcpy(to->nodes, from->nodes, from->n_nodes * sizeof(*to->nodes));
	/* Best effort: without memory the copy has no source lines, and does not know what told
	 * where frames are. */
	snapshot_copy_array(from->found_by, from->n_frames, sizeof(*from->found_by), &to->found_by);
	snapshot_copy_array(from->sources, from->n_frames, sizeof(*from->sources), &to->sources);
	if (snapshot_copy_array(from->effects, from->n_frames, sizeof(*from->effects),
				&to->effects))
		return to;
	snapshot_destroy(to);
	return NULL;
}

struct xtop_error *snapshot_slot_create(struct snapshot_slot **slotp)
{
	struct snapshot_slot *slot = malloc(sizeof(*slot));

	if (!slot)
		return error_create("no memory for the snapshot slot");
	atomic_init(&slot->published, NULL);
	atomic_init(&slot->wanted, false);
	atomic_init(&slot->wanted_until_ns, 0);
	atomic_init(&slot->annotated, FRAME_NONE);
	*slotp = slot;
	return NULL;
}

void snapshot_slot_destroy(struct snapshot_slot *slot)
{
	if (!slot)
		return;
	/* Both sides have ended: their threads were joined, which orders all accesses. */
	snapshot_destroy(atomic_load_explicit(&slot->published, memory_order_relaxed));
	free(slot);
}

/* Relaxed: the request carries no data. */
void snapshot_request(struct snapshot_slot *slot)
{
	atomic_store_explicit(&slot->wanted, true, memory_order_relaxed);
}

bool snapshot_wanted(const struct snapshot_slot *slot)
{
	return atomic_load_explicit(&slot->wanted, memory_order_relaxed);
}

void snapshot_request_until(struct snapshot_slot *slot, uint64_t end_ns)
{
	atomic_store_explicit(&slot->wanted_until_ns, end_ns, memory_order_relaxed);
}

uint64_t snapshot_wanted_until(const struct snapshot_slot *slot)
{
	return atomic_load_explicit(&slot->wanted_until_ns, memory_order_relaxed);
}

/* Relaxed: the frame's id carries no other data. */
void snapshot_annotate(struct snapshot_slot *slot, uint32_t frame)
{
	atomic_store_explicit(&slot->annotated, frame, memory_order_relaxed);
}

uint32_t snapshot_annotated(const struct snapshot_slot *slot)
{
	return atomic_load_explicit(&slot->annotated, memory_order_relaxed);
}

struct snapshot *snapshot_take(struct snapshot_slot *slot)
{
	/* Acquire: from here on this thread sees the nodes and names that the resolver wrote. */
	return atomic_exchange_explicit(&slot->published, NULL, memory_order_acquire);
}

void snapshot_publish(struct snapshot_slot *slot, struct snapshot *snapshot)
{
	/*
	 * First clear the requests, then hand over; the release below keeps this order. So a reader
	 * that already has this snapshot and asks for the next one does not lose that request.
	 */
	atomic_store_explicit(&slot->wanted, false, memory_order_relaxed);
	atomic_store_explicit(&slot->wanted_until_ns, 0, memory_order_relaxed);
	/*
	 * Release: the reader may read what was written so far. Acquire: this thread may free the
	 * snapshot that it gets.
	 */
	snapshot_destroy(
		atomic_exchange_explicit(&slot->published, snapshot, memory_order_acq_rel));
}
