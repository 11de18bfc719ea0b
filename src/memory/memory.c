/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of a running guest's pages, the walks of its page tables, and reads of a few bytes; see
 * memory.h. memory_stretches.c has the reads of many pages. Resolver's thread.
 *
 * Copies of pages are kept in a table by frame: open addressing, linear probing, at most half full.
 * It is not the table of hash.h, because all copies are forgotten again and again. A slot is
 * valid only while its generation is that of the table, so one addition forgets all copies. A frame
 * that cannot be read has a slot, too, without a page: the guest is not asked for it again before
 * the next memory_refresh(). When the table is full, everything is forgotten: pages from a thousand
 * reads ago are rarely read again, and page tables are soon copied again.
 *
 * What the walks of page tables have found is kept as well, with the page's copy, until a copy
 * changes: a sample reads a few words in each of a few pages, and each walk goes through four
 * tables.
 */
#include "config.h"

#include "memory/memory_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xtop/base/clock.h"
#include "xtop/base/hash.h"
#include "xtop/base/work.h"
#include "xtop/memory/walk.h"

#define MEMORY_TURNS LIMIT(256, 8) /* refreshes until room that was not needed is given back */

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
 * Gives memory for copies back that was not needed in the last MEMORY_TURNS refreshes. The search
 * for a kernel fills all the room for copies, but a sample needs only a few pages. With many guests
 * the unused room would be most of each guest's memory in xtop.
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

void memory_set_work(struct memory *memory, struct work *work)
{
	if (memory)
		memory->work = work;
}

struct work *memory_work(const struct memory *memory)
{
	return memory ? memory->work : NULL;
}

void memory_update_pages(struct memory *memory, uint64_t guest_pages)
{
	if (memory->ops->update_pages)
		memory->ops->update_pages(memory->context, guest_pages);
}

uint64_t memory_changes(const struct memory *memory)
{
	return memory->changes;
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

bool memory_is_watched(const struct memory *memory)
{
	return memory->watcher.use;
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

size_t memory_fetch(struct memory *memory, const frame_t *frames, size_t n, char *to)
{
	size_t n_ok = 0;

	memory->fetched = !work_is_over(memory->work);
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

/* Tells the watcher that a caller gets [OFFSET, OFFSET + SIZE_BYTES) of PAGE, the copy of FRAME. */
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

/* State of a walk, which reads one entry in each of several tables. */
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

enum walk_result memory_find_span(struct memory *memory, struct memory_root root, uint64_t address,
				  struct walk_span *span)
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

/* Where the result of the walk for PAGE of ROOT is, or would be. */
static struct memory_place *memory_find_place(struct memory *memory, struct memory_root root,
					      uint64_t page)
{
	return &memory->places[hash_slot(page ^ root.words[0], MEMORY_PLACES)];
}

/* Whether PLACE has the result of the walk for PAGE of ROOT. */
static bool memory_is_place(const struct memory *memory, const struct memory_place *place,
			    struct memory_root root, uint64_t page)
{
	return place->changes == memory->changes && place->page == page &&
	       place->root.words[0] == root.words[0] && place->root.words[1] == root.words[1];
}

bool memory_translate(struct memory *memory, struct memory_root root, uint64_t address,
		      frame_t *frame)
{
	uint64_t page = address >> GUEST_PAGE_SHIFT, changes = memory->changes;
	struct memory_place *place = memory_find_place(memory, root, page);

	if (memory_is_place(memory, place, root, page)) {
		*frame = place->frame;
		return true;
	}
	if (!memory_walk_to(memory, root, address, frame))
		return false;
	if (!memory->watcher.use && changes == memory->changes)
		*place = (struct memory_place){ changes, page, root, *frame, NULL };
	return true;
}

/* --- a few bytes ------------------------------------------------------------------------------ */

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
		return !work_is_over(memory->work) &&
		       memory->ops->read_part(memory->context, frame, offset, bytes, size_bytes);
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

/* Whether SIZE_BYTES at ADDRESS are in one page. */
static inline bool memory_is_in_page(uint64_t address, size_t size_bytes)
{
	return size_bytes <= GUEST_PAGE_SIZE - (address & GUEST_PAGE_MASK);
}

/*
 * The copy of SIZE_BYTES at ADDRESS if they are in one page, which was read before, and no copy has
 * changed since; otherwise NULL.
 */
static inline const char *memory_find_copy(struct memory *memory, struct memory_root root,
					   uint64_t address, size_t size_bytes)
{
	uint64_t page = address >> GUEST_PAGE_SHIFT;
	const struct memory_place *place = memory_find_place(memory, root, page);

	if (!memory_is_in_page(address, size_bytes) ||
	    !memory_is_place(memory, place, root, page) || !place->copy)
		return NULL;
	return place->copy + (address & GUEST_PAGE_MASK);
}

/* memory_read() of bytes of one page. Its copy is found at once if it was read before. */
static size_t memory_read_page(struct memory *memory, struct memory_root root, uint64_t address,
			       void *buffer, size_t size_bytes)
{
	const char *copy = memory_find_copy(memory, root, address, size_bytes);
	uint64_t page = address >> GUEST_PAGE_SHIFT;
	struct memory_place *place;

	if (copy) {
		memcpy(buffer, copy, size_bytes);
		return size_bytes;
	}
	size_bytes = memory_read_pieces(memory, root, address, buffer, size_bytes, false);
	place = memory_find_place(memory, root, page);
	if (size_bytes && memory_is_place(memory, place, root, page))
		place->copy = memory_probe(memory, place->frame.value)->page;
	return size_bytes;
}

size_t memory_read(struct memory *memory, struct memory_root root, uint64_t address, void *buffer,
		   size_t size_bytes)
{
	if (memory_is_in_page(address, size_bytes))
		return memory_read_page(memory, root, address, buffer, size_bytes);
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
	const char *copy = memory_find_copy(memory, root, address, sizeof(*value));
	uint64_t read;

	if (copy)
		memcpy(&read, copy, sizeof(read));
	else if (memory_read(memory, root, address, &read, sizeof(read)) != sizeof(read))
		return false;
	*value = read;
	return true;
}

bool memory_read_u32(struct memory *memory, struct memory_root root, uint64_t address,
		     uint32_t *value)
{
	const char *copy = memory_find_copy(memory, root, address, sizeof(*value));
	uint32_t read;

	if (copy)
		memcpy(&read, copy, sizeof(read));
	else if (memory_read(memory, root, address, &read, sizeof(read)) != sizeof(read))
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
