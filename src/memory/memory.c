/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a running guest's memory; see xtop/memory.h. Resolver's thread.
 *
 * Copies of pages are kept in a table by frame: open addressing, linear probing, at most half full.
 * It is not the table of xtop/hash.h, because all copies are forgotten again and again. A slot is
 * valid only while its generation is that of the table, so one addition forgets all copies. A frame
 * that cannot be read has a slot, too, without a page: the guest is not asked for it again before
 * the next memory_refresh(). When the table is full, everything is forgotten: pages from a thousand
 * reads ago are rarely read again, and page tables are soon copied again.
 *
 * What the walks of page tables have found is kept as well, until a copy changes: a sample reads a
 * few words in each of a few pages, and each walk goes through four tables.
 */
#include "config.h"

#include "xtop/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xtop/clock.h"
#include "xtop/guest.h"
#include "xtop/hash.h"
#include "xtop/walk.h"
#include "xtop/work.h"

#define MEMORY_SLOTS (2 * MEMORY_CACHE_PAGES)
#define MEMORY_TURNS LIMIT(256, 8) /* refreshes until room that was not needed is given back */
#define MEMORY_PLACES 64

/* Where a page is, by a walk. */
struct memory_place {
	uint64_t changes; /* the memory's then */
	uint64_t page;    /* number of the page in the address space of ROOT */
	struct memory_root root;
	frame_t frame;
};

struct memory_slot {
	uint64_t frame, generation;
	char *page; /* NULL: the frame cannot be read */
};

struct memory {
	const struct memory_ops *ops;
	void *context;
	char *pages; /* room for MEMORY_CACHE_PAGES; the first n_pages are in use */
	size_t n_pages, n_taken; /* n_taken: slots in use, also those without a page */
	size_t n_resident;       /* pages that were in use since room was given back */
	size_t n_most;           /* pages in use at most in these turns */
	unsigned turns;
	uint64_t generation; /* starts at 1, so that a slot of zeros is free */
	uint64_t changes;    /* of copies; starts at 1, so that a place of zeros is free */
	struct memory_counts counts;
	struct memory_watcher watcher; /* any of its functions may be NULL */
	struct memory_slot slots[MEMORY_SLOTS];
	struct memory_place places[MEMORY_PLACES]; /* by page; not if a watcher asks what is used */
	/* the current batch */
	frame_t frames[MEMORY_BATCH_PAGES];
	bool ok[MEMORY_BATCH_PAGES];
	bool fetched; /* memory_ops.read() was called. False: the thread's work was over */
};

struct xtop_error *memory_create(const struct memory_ops *ops, void *context,
				 struct memory **memoryp)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (memory)
		memory->pages =
			aligned_alloc(GUEST_PAGE_SIZE, MEMORY_CACHE_PAGES * GUEST_PAGE_SIZE);
	if (!memory || !memory->pages) {
		free(memory);
		ops->close(context);
		return error_create("out of memory");
	}
	memory->ops = ops;
	memory->context = context;
	memory->generation = memory->changes = 1;
	*memoryp = memory;
	return NULL;
}

void memory_destroy(struct memory *memory)
{
	if (!memory)
		return;
	memory->ops->close(memory->context);
	free(memory->pages);
	free(memory);
}

/*
 * Gives back the room that no turn has needed for a while. The search for a kernel fills all of it,
 * and a sample needs a few pages: with many guests that is most of what each of them has.
 */
static void memory_give_back(struct memory *memory)
{
	if (memory->n_resident > memory->n_most)
		madvise(memory->pages + memory->n_most * GUEST_PAGE_SIZE,
			(memory->n_resident - memory->n_most) * GUEST_PAGE_SIZE, MADV_DONTNEED);
	memory->n_resident = memory->n_most;
	memory->n_most = 0;
	memory->turns = 0;
}

void memory_refresh(struct memory *memory)
{
	if (memory->n_pages > memory->n_most)
		memory->n_most = memory->n_pages;
	if (memory->n_pages > memory->n_resident)
		memory->n_resident = memory->n_pages;
	memory->generation++;
	memory->changes++;
	memory->n_pages = memory->n_taken = 0;
	if (++memory->turns >= MEMORY_TURNS)
		memory_give_back(memory);
}

void memory_update_pages(struct memory *memory, uint64_t guest_pages)
{
	if (memory->ops->update_pages)
		memory->ops->update_pages(memory->context, guest_pages);
}

struct memory_counts memory_counts(const struct memory *memory)
{
	return memory->counts;
}

void memory_set_watcher(struct memory *memory, const struct memory_watcher *watcher)
{
	memory->watcher = *watcher;
	memory_refresh(memory);
}

uint64_t memory_now_ns(struct memory *memory)
{
	uint64_t now_ns =
		memory->ops->now_ns ? memory->ops->now_ns(memory->context) : clock_now_ns();

	if (memory->watcher.time)
		memory->watcher.time(memory->watcher.context, now_ns);
	return now_ns;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Reads N pages to TO, and sets ok[] and fetched. Returns how many could be read. */
static size_t memory_fetch(struct memory *memory, const frame_t *frames, size_t n, char *to)
{
	size_t n_ok = 0;

	memory->fetched = !work_is_over();
	if (!memory->fetched) {
		memset(memory->ok, 0, n * sizeof(memory->ok[0]));
		return 0;
	}
	memory->ops->read(memory->context, frames, n, to, memory->ok);
	for (size_t i = 0; i < n; i++)
		n_ok += memory->ok[i];
	memory->counts.batches++;
	memory->counts.pages += n_ok;
	memory->counts.refused += n - n_ok;
	return n_ok;
}

/* The slot of FRAME, or the free slot for it. There is always one: half of all slots are free. */
static struct memory_slot *memory_probe(struct memory *memory, uint64_t frame)
{
	size_t i = hash_slot(frame, MEMORY_SLOTS);

	while (memory->slots[i].generation == memory->generation && memory->slots[i].frame != frame)
		i = (i + 1) % MEMORY_SLOTS;
	return &memory->slots[i];
}

/* Reads FRAME to PAGE, the copy that is kept. */
static bool memory_fetch_copy(struct memory *memory, frame_t frame, char *page)
{
	bool ok = memory_fetch(memory, &frame, 1, page);

	if (memory->watcher.copy && memory->fetched)
		memory->watcher.copy(memory->watcher.context, frame, page, ok);
	return ok;
}

/* The copy of FRAME, valid until the next call. NULL: the frame cannot be read. */
static const char *memory_page(struct memory *memory, frame_t frame)
{
	struct memory_slot *slot = memory_probe(memory, frame.value);
	char *page;

	if (slot->generation == memory->generation)
		return slot->page;
	if (memory->n_taken == MEMORY_CACHE_PAGES) {
		memory_refresh(memory);
		slot = memory_probe(memory, frame.value);
	}
	page = memory->pages + memory->n_pages * GUEST_PAGE_SIZE;
	*slot = (struct memory_slot){ .frame = frame.value, .generation = memory->generation };
	memory->n_taken++;
	if (!memory_fetch_copy(memory, frame, page))
		return NULL;
	memory->n_pages++;
	slot->page = page;
	return page;
}

/* Takes slots for those of the batch's N frames that have none; these come first then. */
static size_t memory_take_slots(struct memory *memory, size_t n)
{
	size_t taken = 0;

	for (size_t i = 0; i < n; i++) {
		frame_t frame = memory->frames[i];
		struct memory_slot *slot = memory_probe(memory, frame.value);

		if (slot->generation == memory->generation)
			continue;
		*slot = (struct memory_slot){ .frame = frame.value,
					      .generation = memory->generation };
		memory->frames[taken++] = frame;
	}
	memory->n_taken += taken;
	return taken;
}

void memory_prefetch(struct memory *memory, struct memory_root root, const uint64_t *addresses,
		     size_t n)
{
	char *pages;
	size_t found = 0;

	for (size_t i = 0; i < n && i < MEMORY_BATCH_PAGES; i++)
		found += memory_translate(memory, root, addresses[i], &memory->frames[found]);
	if (memory->n_taken + found > MEMORY_CACHE_PAGES)
		memory_refresh(memory);
	if (found > MEMORY_CACHE_PAGES)
		return;
	found = memory_take_slots(memory, found);
	if (!found)
		return;
	pages = memory->pages + memory->n_pages * GUEST_PAGE_SIZE;
	memory_fetch(memory, memory->frames, found, pages);
	memory->n_pages += found;
	for (size_t i = 0; i < found; i++) {
		char *page = pages + i * GUEST_PAGE_SIZE;

		if (memory->ok[i])
			memory_probe(memory, memory->frames[i].value)->page = page;
		if (memory->watcher.copy && memory->fetched)
			memory->watcher.copy(memory->watcher.context, memory->frames[i], page,
					     memory->ok[i]);
	}
}

/* [OFFSET, OFFSET + SIZE_BYTES) of PAGE, the copy of FRAME, goes to a caller. */
static void memory_use(struct memory *memory, frame_t frame, const char *page, size_t offset,
		       size_t size_bytes)
{
	if (memory->watcher.use)
		memory->watcher.use(memory->watcher.context, frame, page, offset, size_bytes);
}

void memory_correct_copy(struct memory *memory, frame_t frame, const char *page, size_t offset,
			 size_t size_bytes)
{
	struct memory_slot *slot = memory_probe(memory, frame.value);

	if (slot->generation != memory->generation || !slot->page)
		return;
	memcpy(slot->page + offset, page + offset, size_bytes);
	memory->changes++;
}

/* --- page tables ------------------------------------------------------------------------------ */

/* A walk asks for one table after the other, and reads one entry in each. */
struct memory_walk {
	struct memory *memory;
	struct memory_root root;
	gva_t address;
	unsigned step; /* tables that were asked for */
};

/* Tells the watcher which entry of the table in FRAME the walk reads. */
static void memory_use_entry(const struct memory_walk *walk, frame_t frame, const char *page)
{
	size_t index = walk_index(walk->root, walk->address, walk->step);
	unsigned n = walk_n_places(walk->root, walk->step);

	for (unsigned i = 0; i < n; i++)
		memory_use(walk->memory, frame, page,
			   index * sizeof(uint64_t) + i * (GUEST_PAGE_SIZE / n), sizeof(uint64_t));
}

static const volatile uint64_t *memory_table(void *context, frame_t frame)
{
	struct memory_walk *walk = context;
	const char *page = memory_page(walk->memory, frame);

	if (page && walk->memory->watcher.use)
		memory_use_entry(walk, frame, page);
	walk->step++;
	return (const volatile uint64_t *)(const void *)page;
}

static enum walk_result memory_find_span(struct memory *memory, struct memory_root root,
					 uint64_t address, struct walk_span *span)
{
	struct memory_walk walk = { .memory = memory, .root = root, .address = GVA(address) };
	const struct walk_reader reader = { .table = memory_table, .context = &walk };

	return walk_find_span(&reader, root, walk.address, span);
}

static bool memory_walk_to(struct memory *memory, struct memory_root root, uint64_t address,
			   frame_t *frame)
{
	struct memory_walk walk = { .memory = memory, .root = root, .address = GVA(address) };
	const struct walk_reader reader = { .table = memory_table, .context = &walk };
	frame_t found = FRAME(0);

	if (walk_find_frame(&reader, root, walk.address, &found) != WALK_OK)
		return false;
	*frame = found;
	return true;
}

bool memory_translate(struct memory *memory, struct memory_root root, uint64_t address,
		      frame_t *frame)
{
	uint64_t page = address >> GUEST_PAGE_SHIFT, changes = memory->changes;
	struct memory_place *place =
		&memory->places[hash_slot(page ^ root.words[0], MEMORY_PLACES)];

	if (place->changes == changes && place->page == page &&
	    place->root.words[0] == root.words[0] && place->root.words[1] == root.words[1]) {
		*frame = place->frame;
		return true;
	}
	if (!memory_walk_to(memory, root, address, frame))
		return false;
	if (!memory->watcher.use && changes == memory->changes)
		*place = (struct memory_place){ changes, page, root, *frame };
	return true;
}

/* --- a few bytes ------------------------------------------------------------------------------ */

/* SIZE_BYTES, or less if the address space ends before that. */
static size_t memory_clamp(uint64_t address, size_t size_bytes)
{
	uint64_t behind = UINT64_MAX - address; /* bytes behind the first */

	return size_bytes && size_bytes - 1 > behind ? behind + 1 : size_bytes;
}

/* How many of SIZE_BYTES at ADDRESS are in the first page. */
static size_t memory_piece(uint64_t address, size_t size_bytes)
{
	size_t in_page = GUEST_PAGE_SIZE - (address & GUEST_PAGE_MASK);

	return in_page < size_bytes ? in_page : size_bytes;
}

static bool memory_read_kept(struct memory *memory, frame_t frame, size_t offset, void *bytes,
			     size_t size_bytes)
{
	const char *page = memory_page(memory, frame);

	if (!page)
		return false;
	memory_use(memory, frame, page, offset, size_bytes);
	memcpy(bytes, page + offset, size_bytes);
	return true;
}

/* Reads FRAME again into its copy, if it has one. */
static void memory_renew(struct memory *memory, frame_t frame)
{
	struct memory_slot *slot = memory_probe(memory, frame.value);

	if (slot->generation != memory->generation || !slot->page)
		return;
	memory->changes++;
	if (!memory_fetch_copy(memory, frame, slot->page))
		slot->page = NULL; /* the next memory_refresh() frees the room of the copy */
}

/* Reads bytes of FRAME as they are now. A watcher sees whole pages. */
static bool memory_read_part(struct memory *memory, frame_t frame, size_t offset, void *bytes,
			     size_t size_bytes)
{
	if (memory->ops->read_part && !memory->watcher.copy) {
		memory->counts.batches++;
		memory->counts.pages++;
		return !work_is_over() && memory->ops->read_part(memory->context, frame, offset,
								 bytes, size_bytes);
	}
	memory_renew(memory, frame);
	return memory_read_kept(memory, frame, offset, bytes, size_bytes);
}

static size_t memory_read_pieces(struct memory *memory, struct memory_root root, uint64_t address,
				 void *buffer, size_t size_bytes, bool again)
{
	size_t done = 0;

	size_bytes = memory_clamp(address, size_bytes);
	while (done < size_bytes) {
		uint64_t at = address + done;
		size_t piece = memory_piece(at, size_bytes - done);
		char *to = (char *)buffer + done;
		frame_t frame;

		if (!memory_translate(memory, root, at, &frame) ||
		    !(again ? memory_read_part : memory_read_kept)(
			    memory, frame, at & GUEST_PAGE_MASK, to, piece))
			break;
		done += piece;
	}
	return done;
}

size_t memory_read(struct memory *memory, struct memory_root root, uint64_t address, void *buffer,
		   size_t size_bytes)
{
	return memory_read_pieces(memory, root, address, buffer, size_bytes, false);
}

size_t memory_read_again(struct memory *memory, struct memory_root root, uint64_t address,
			 void *buffer, size_t size_bytes)
{
	return memory_read_pieces(memory, root, address, buffer, size_bytes, true);
}

bool memory_read_u64(struct memory *memory, struct memory_root root, uint64_t address,
		     uint64_t *value)
{
	uint64_t read;

	if (memory_read(memory, root, address, &read, sizeof(read)) != sizeof(read))
		return false;
	*value = read;
	return true;
}

bool memory_read_u32(struct memory *memory, struct memory_root root, uint64_t address,
		     uint32_t *value)
{
	uint32_t read;

	if (memory_read(memory, root, address, &read, sizeof(read)) != sizeof(read))
		return false;
	*value = read;
	return true;
}

bool memory_read_string(struct memory *memory, struct memory_root root, uint64_t address,
			char *buffer, size_t capacity)
{
	size_t done = 0;

	if (!capacity)
		return false;
	buffer[0] = '\0';
	while (done < capacity - 1) {
		size_t piece = memory_piece(address + done, capacity - 1 - done);
		size_t got = memory_read(memory, root, address + done, buffer + done, piece);

		buffer[done + got] = '\0';
		if (memchr(buffer + done, '\0', got))
			return true;
		/* Page 0 does not follow the last page of the address space. */
		if (got < piece || address + done + got < address)
			return false;
		done += got;
	}
	return true;
}

/* --- many pages ------------------------------------------------------------------------------- */

/* Whole pages that are read at once, to neighbouring places in the caller's buffer. */
struct memory_batch {
	struct memory *memory;
	char *to; /* the place of the first page */
	size_t n; /* frames of the batch: MEMORY->frames */
	size_t there_bytes; /* read so far, by all batches */
	bool hidden;        /* from the watcher */
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

size_t memory_look_over(struct memory *memory, struct memory_root root, uint64_t address,
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
