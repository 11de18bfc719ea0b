/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies pieces of stacks; see piece_writer.h. The guest may have moved any page since the last
 * sample, so each sample translates every address anew, through page-table pages that stay mapped.
 * In the stop only pages that are already mapped are read. Outside the stop the same walk maps the
 * missing pages.
 */
#include "config.h"

#include <string.h>

#include "sample/piece_writer.h"
#include "xtop/base/hash.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/memory/walk.h"
#include "xtop/sample/recipe.h"

/*
 * Says why no page was found. This function and piece_writer_map() are not inline, because a stop
 * seldom needs them.
 */
static __attribute__((noinline)) enum sample_cut piece_writer_miss(struct piece_writer *writer,
								   enum walk_result result)
{
	writer->seen_address = PIECE_WRITER_NOTHING_SEEN;
	if (result != WALK_NOT_MAPPED)
		return CUT_NOT_PRESENT;
	writer->missed = true;
	return CUT_NOT_MAPPED;
}

/* Maps a page outside the stop. This may unmap other pages, so seen_address is not set. */
static __attribute__((noinline)) enum sample_cut
piece_writer_map(struct piece_writer *writer, struct memory_root root, uint64_t address)
{
	enum walk_result result = frame_cache_get_page(writer->cache, root, GVA(address),
						       writer->now_ns, &writer->seen);

	return result == WALK_OK ? CUT_NONE : piece_writer_miss(writer, result);
}

/* Sets writer->seen to the page that holds ADDRESS. The page is valid until the next call. */
static inline __attribute__((always_inline)) enum sample_cut
piece_writer_find_page(struct piece_writer *writer, struct memory_root root, uint64_t address)
{
	enum walk_result result;

	address &= ~(uint64_t)GUEST_PAGE_MASK;
	if (writer->seen_address == address && writer->seen_cr3 == root.cr3)
		return CUT_NONE;
	if (!writer->to)
		return piece_writer_map(writer, root, address);
	result = frame_cache_find_page(writer->cache, root, GVA(address), &writer->seen);
	if (result != WALK_OK)
		return piece_writer_miss(writer, result);
	writer->seen_address = address;
	writer->seen_cr3 = root.cr3;
	return CUT_NONE;
}

/* The byte at ADDRESS, which lies in the page that was found last. */
static inline const char *piece_writer_byte(const struct piece_writer *writer, uint64_t address)
{
	return (const char *)writer->seen + (address & GUEST_PAGE_MASK);
}

enum sample_cut piece_writer_read(struct piece_writer *writer, struct memory_root root,
				  uint64_t address, uint64_t *word)
{
	enum sample_cut cut;

	if (address % sizeof(*word))
		return CUT_NOT_PRESENT;
	cut = piece_writer_find_page(writer, root, address);
	if (cut == CUT_NONE)
		memcpy(word, piece_writer_byte(writer, address), sizeof(*word));
	return cut;
}

frame_t piece_writer_find_frame(struct piece_writer *writer, struct memory_root root,
				uint64_t address)
{
	enum walk_result result;
	frame_t frame;

	if (writer->to)
		result = frame_cache_find_frame(writer->cache, root, GVA(address), &frame);
	else
		result = frame_cache_get_frame(writer->cache, root, GVA(address), writer->now_ns,
					       &frame);
	writer->missed |= result == WALK_NOT_MAPPED;
	return result == WALK_OK ? frame : FRAME(0);
}

/*
 * Returns LENGTH, or less if the record or the address space ends before. A guest may put its stack
 * pointer near the end of the address space.
 */
static size_t piece_writer_clamp(const struct piece_writer *writer, uint64_t address,
				 uint64_t length)
{
	uint64_t limit = UINT64_MAX - address;

	if (limit > writer->left_bytes)
		limit = writer->left_bytes;
	return length < limit ? length : limit;
}

/* Copies from *AT to END, page by page, and moves *AT. TO is NULL when nothing is copied. */
static inline __attribute__((always_inline)) enum sample_cut
piece_writer_copy(struct piece_writer *writer, struct memory_root root, uint64_t *at, uint64_t end,
		  char *to)
{
	while (*at < end) {
		size_t size = GUEST_PAGE_SIZE - (*at & GUEST_PAGE_MASK);
		enum sample_cut cut = piece_writer_find_page(writer, root, *at);

		if (cut != CUT_NONE)
			return cut;
		if (size > end - *at)
			size = end - *at;
		if (to) {
			memcpy(to, piece_writer_byte(writer, *at), size);
			to += size;
		}
		*at += size;
	}
	return CUT_LIMIT;
}

enum sample_cut piece_writer_add(struct piece_writer *writer, enum sample_stack_kind kind,
				 struct memory_root root, uint64_t address, uint64_t length)
{
	struct sample_stack *head = NULL;
	uint64_t at = address;
	enum sample_cut cut;
	size_t done;

	writer->end = address;
	if (writer->n == SAMPLE_MAX_STACKS)
		return CUT_LIMIT;
	if (writer->to)
		head = (struct sample_stack *)(writer->to + writer->size_bytes);
	cut = piece_writer_copy(writer, root, &at,
				address + piece_writer_clamp(writer, address, length),
				head ? (char *)(head + 1) : NULL);
	done = at - address;
	if (!done)
		return cut;
	if (head)
		*head = (struct sample_stack){ .address = address,
					       .size_bytes = (uint32_t)done,
					       .kind = kind };
	writer->size_bytes += sizeof(*head) + ((done + 7) & ~(size_t)7);
	writer->left_bytes -= done;
	writer->extents[writer->n].address = address;
	writer->extents[writer->n++].end = writer->end = at;
	return cut;
}

/*
 * Pages that are remembered; a power of two. A program of five functions has ten such pages, and if
 * two of them share a place, each node may find both again.
 */
#define READER_PAGES 32

/*
 * Reads the words of an interpreter's frames. The reads go back and forth between a few pages:
 * those of the nodes, and those that the nodes point to. In the stop no page is unmapped, so the
 * pages stay where they were found.
 */
struct piece_reader {
	struct piece_writer *writer;
	struct memory_root root;
	uint64_t pages[READER_PAGES]; /* addresses, never of page 0; 0: the place is free */
	const char *bytes[READER_PAGES]; /* set where `pages` is */
};

static void piece_reader_init(struct piece_reader *reader, struct piece_writer *writer,
			      struct memory_root root)
{
	reader->writer = writer;
	reader->root = root;
	memset(reader->pages, 0, sizeof(reader->pages));
}

/*
 * Finds the page PAGE. In the stop, remembers the page in pages[I]. Returns false if the page is
 * not there.
 */
static __attribute__((noinline)) bool piece_reader_find(struct piece_reader *reader, uint64_t page,
							 size_t i)
{
	if (piece_writer_find_page(reader->writer, reader->root, page) != CUT_NONE)
		return false;
	reader->pages[i] = reader->writer->to ? page : 0;
	reader->bytes[i] = reader->writer->seen;
	return true;
}

static bool piece_reader_read(void *context, uint64_t address, uint64_t *word)
{
	struct piece_reader *reader = context;
	uint64_t page = address & ~(uint64_t)GUEST_PAGE_MASK;
	size_t i = hash_slot(page, READER_PAGES);

	if (address % sizeof(*word) ||
	    ((reader->pages[i] != page || !page) && !piece_reader_find(reader, page, i)))
		return false;
	memcpy(word, reader->bytes[i] + (address & GUEST_PAGE_MASK), sizeof(*word));
	return true;
}

void piece_writer_add_list(struct piece_writer *writer, struct memory_root root,
			   uint64_t thread_pointer, const struct recipe *recipe)
{
	struct piece_reader reader;
	struct sample_stack *head = NULL;
	size_t bytes;

	if (writer->n == SAMPLE_MAX_STACKS)
		return;
	piece_reader_init(&reader, writer, root);
	if (writer->to)
		head = (struct sample_stack *)(writer->to + writer->size_bytes);
	bytes = sizeof(uint64_t) * recipe_follow(recipe, thread_pointer, piece_reader_read, &reader,
						 head ? (uint64_t *)(head + 1) : NULL,
						 writer->left_bytes / sizeof(uint64_t));
	if (!bytes)
		return;
	if (head)
		*head = (struct sample_stack){ .address = recipe->n_words,
					       .size_bytes = (uint32_t)bytes,
					       .kind = STACK_LIST };
	writer->size_bytes += sizeof(*head) + bytes;
	writer->left_bytes -= bytes;
	writer->extents[writer->n].address = writer->extents[writer->n].end = 0;
	writer->n++;
}

bool piece_writer_have(const struct piece_writer *writer, uint64_t address)
{
	for (unsigned i = 0; i < writer->n; i++)
		if (address - writer->extents[i].address <
		    writer->extents[i].end - writer->extents[i].address)
			return true;
	return false;
}
