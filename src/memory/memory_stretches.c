/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Long stretches of a running guest's address space: reads of many pages, and which addresses are
 * mapped; see memory.h. Page tables are followed span by span, a span being what one entry
 * maps or leaves out. The pages that are read are not kept, but copies that memory.c keeps of them
 * are brought up to date. Resolver's thread.
 */
#include "config.h"

#include "memory/memory_state.h"

#include <assert.h>
#include <string.h>

/* --- many pages ------------------------------------------------------------------------------- */

/* Whole pages that are read at once, to neighbouring places in the caller's buffer. */
struct memory_batch {
	struct memory *memory;
	char *to; /* the place of the first page */
	size_t n; /* frames of the batch: MEMORY->frames */
	size_t there_bytes; /* read so far, by all batches */
	bool hidden;        /* the watcher is not told of these reads */
};

/*
 * Tells the watcher, and brings kept copies of these pages up to date. So a copy is never older
 * than the last read of its page; a recording relies on that.
 */
static void batch_publish(const struct memory_batch *batch)
{
	struct memory *memory = batch->memory;

	if (memory->watcher.read)
		memory->watcher.read(memory->watcher.context, memory->frames, batch->n, batch->to,
				     memory->ok);
	for (size_t i = 0; i < batch->n; i++)
		if (memory->ok[i])
			memory_correct_copy(memory, memory->frames[i],
					    batch->to + i * GUEST_PAGE_SIZE, 0, GUEST_PAGE_SIZE);
}

/*
 * Reads the pages of the batch; missing ones become zeros. Returns how many could be read before
 * the first missing one.
 */
static size_t batch_flush(struct memory_batch *batch)
{
	struct memory *memory = batch->memory;
	size_t n_ok = 0, n_front = 0;

	if (batch->n)
		n_ok = memory_fetch(memory, memory->frames, batch->n, batch->to);
	if (batch->n && memory->fetched && !batch->hidden)
		batch_publish(batch);
	while (n_front < batch->n && batch->memory->ok[n_front])
		n_front++;
	for (size_t i = n_front; i < batch->n; i++)
		if (!batch->memory->ok[i])
			memset(batch->to + i * GUEST_PAGE_SIZE, 0, GUEST_PAGE_SIZE);
	batch->there_bytes += n_ok * GUEST_PAGE_SIZE;
	batch->to += batch->n * GUEST_PAGE_SIZE;
	batch->n = 0;
	return n_front;
}

static void batch_add(struct memory_batch *batch, uint64_t frame, size_t n_pages)
{
	for (size_t i = 0; i < n_pages; i++) {
		if (batch->n == MEMORY_BATCH_PAGES)
			batch_flush(batch);
		batch->memory->frames[batch->n++] = FRAME(frame + i);
	}
}

static void batch_add_hole(struct memory_batch *batch, size_t size_bytes)
{
	batch_flush(batch);
	memset(batch->to, 0, size_bytes);
	batch->to += size_bytes;
}

/* Reads SIZE_BYTES at ADDRESS, both multiples of the page size. Returns how many could be read. */
static size_t bulk_pages(struct memory *memory, struct memory_root root, uint64_t address, char *to,
			 size_t size_bytes)
{
	struct memory_batch batch = { .memory = memory, .to = to };

	for (size_t done = 0; done < size_bytes;) {
		struct walk_span span;
		enum walk_result result = memory_find_span(memory, root, address + done, &span);
		size_t piece = size_bytes - done;

		if (span.rest_bytes < piece)
			piece = span.rest_bytes;
		if (result == WALK_OK)
			batch_add(&batch, span.frame.value, piece >> GUEST_PAGE_SHIFT);
		else
			batch_add_hole(&batch, piece);
		done += piece;
	}
	batch_flush(&batch);
	return batch.there_bytes;
}

/* Reads part of a page. If the page is missing, fills TO with zeros and returns 0. */
static size_t bulk_edge(struct memory *memory, struct memory_root root, uint64_t address, char *to,
			size_t size_bytes)
{
	size_t there = memory_read(memory, root, address, to, size_bytes);

	memset(to + there, 0, size_bytes - there);
	return there;
}

size_t memory_read_bulk(struct memory *memory, struct memory_root root, uint64_t address,
			void *buffer, size_t size_bytes)
{
	size_t clamped = memory_clamp(address, size_bytes);
	size_t front = 0, pages, there;
	char *to = buffer;

	memset(to + clamped, 0, size_bytes - clamped);
	if (address & GUEST_PAGE_MASK)
		front = memory_piece(address, clamped);
	pages = (clamped - front) & ~(size_t)GUEST_PAGE_MASK;
	there = bulk_edge(memory, root, address, to, front);
	there += bulk_pages(memory, root, address + front, to + front, pages);
	return there + bulk_edge(memory, root, address + front + pages, to + front + pages,
				 clamped - front - pages);
}

/* Adds the N pages at ADDRESS to BATCH, up to the first that is not mapped. Returns how many. */
static size_t batch_add_front(struct memory_batch *batch, struct memory_root root, uint64_t address,
			      size_t n)
{
	assert(n <= MEMORY_BATCH_PAGES && !(address & GUEST_PAGE_MASK));
	while (batch->n < n) {
		uint64_t at = address + batch->n * GUEST_PAGE_SIZE, in_span;
		struct walk_span span;

		if (at < address || memory_find_span(batch->memory, root, at, &span) != WALK_OK)
			break;
		in_span = span.rest_bytes >> GUEST_PAGE_SHIFT;
		batch_add(batch, span.frame.value,
			  in_span < n - batch->n ? in_span : n - batch->n);
	}
	return batch->n;
}

size_t memory_read_pages(struct memory *memory, struct memory_root root, uint64_t address,
			 void *pages, size_t n)
{
	struct memory_batch batch = { .memory = memory, .to = pages };

	batch_add_front(&batch, root, address, n);
	return batch_flush(&batch);
}

size_t memory_read_scattered(struct memory *memory, struct memory_root root,
			     const uint64_t *addresses, void *pages, size_t n)
{
	struct memory_batch batch = { .memory = memory, .to = pages };
	frame_t frame;

	assert(n <= MEMORY_BATCH_PAGES);
	while (batch.n < n && memory_translate(memory, root, addresses[batch.n], &frame))
		batch_add(&batch, frame.value, 1);
	return batch_flush(&batch);
}

size_t memory_read_unwatched(struct memory *memory, struct memory_root root, uint64_t address,
			     void *pages, size_t n)
{
	struct memory_batch batch = { .memory = memory, .to = pages, .hidden = true };
	size_t n_mapped = batch_add_front(&batch, root, address, n), n_read = batch_flush(&batch);

	return memory->ops->now_ns ? n_mapped : n_read; /* now_ns: it is a recording */
}

/* --- what is mapped --------------------------------------------------------------------------- */

/* Extends the last of the *N RANGES by [START, END), or adds a range. False: there is no room. */
static bool ranges_add(struct memory_range *ranges, size_t *n, size_t max, uint64_t start,
		       uint64_t end, const struct walk_span *span)
{
	struct memory_range *last = *n ? &ranges[*n - 1] : NULL;

	if (last && last->end == start && last->writable == span->writable &&
	    last->executable == span->executable) {
		last->end = end;
		return true;
	}
	if (*n == max)
		return false;
	ranges[(*n)++] = (struct memory_range){
		.start = start,
		.end = end,
		.writable = span->writable,
		.executable = span->executable,
	};
	return true;
}

size_t memory_ranges(struct memory *memory, struct memory_root root, uint64_t from, uint64_t to,
		     struct memory_range *ranges, size_t max)
{
	size_t n = 0;

	/* Holes count too: a guest may have very many small ones. */
	for (size_t spans = 0; from < to && spans < MEMORY_MAX_LEAVES; spans++) {
		struct walk_span span;
		enum walk_result result = memory_find_span(memory, root, from, &span);
		uint64_t end = to - from > span.rest_bytes ? from + span.rest_bytes : to;

		if (result == WALK_OK && !ranges_add(ranges, &n, max, from, end, &span))
			break;
		from = end;
	}
	return n;
}
