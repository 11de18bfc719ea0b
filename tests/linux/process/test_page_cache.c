/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files out of the page cache: all heights of the tree, large folios, holes, damaged trees. */
#include "config.h"

#include <stdlib.h>

#include "linux/process/page_cache.h"
#include "linux/process/perf_map.h"
#include "linux/process/xarray.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

#define PAGE GUEST_PAGE_SIZE

struct fixture {
	struct made_linux *made;
	struct page_cache cache;
	unsigned char content[300 * PAGE];
	unsigned char buffer[300 * PAGE];
};

static void begin(struct fixture *fixture)
{
	fixture->made = made_linux_create(MADE_TREE);
	for (size_t i = 0; i < sizeof(fixture->content); i++)
		fixture->content[i] = (unsigned char)(i * 31 + (i >> 12) * 7 + 1);
}

/* How many bytes of [offset, offset + n) are read. Checks that they are right. */
static size_t read_at(struct fixture *fixture, uint64_t offset, size_t n)
{
	struct bytes bytes = page_cache_bytes(&fixture->cache);
	size_t got;

	memset(fixture->buffer, 0xee, sizeof(fixture->buffer));
	got = bytes.read(bytes.context, offset, fixture->buffer, n);
	if (got && memcmp(fixture->buffer, fixture->content + offset, got) != 0)
		check(false, "wrong bytes at %#" PRIx64, offset);
	if (n < sizeof(fixture->buffer) && fixture->buffer[n] != 0xee)
		check(false, "no byte is written after the buffer");
	return got;
}

static uint64_t open_inode(struct fixture *fixture, size_t size)
{
	uint64_t inode = made_inode(fixture->made, size);

	if (!page_cache_init(&fixture->cache, &fixture->made->guest, inode))
		check(false, "an inode that cannot be read has no page cache");
	return inode;
}

static void test_sizes(struct fixture *fixture)
{
	static const size_t sizes[] = { 1, 100, PAGE, PAGE + 1, 64 * PAGE, 65 * PAGE, 300 * PAGE };

	begin(fixture);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		made_cache(fixture->made, open_inode(fixture, sizes[i]), fixture->content,
			   sizes[i]);
		check_u64(page_cache_bytes(&fixture->cache).size_bytes, sizes[i],
			  "the page cache knows the file's size");
		check_u64(read_at(fixture, 0, sizes[i]), sizes[i], "the whole file is read");
		check_u64(read_at(fixture, 0, sizes[i] + 1), sizes[i],
			  "nothing is read after the file");
		check_u64(read_at(fixture, sizes[i] - 1, 50), 1, "the last byte is read");
		check_u64(read_at(fixture, sizes[i], 1), 0,
			  "nothing is read at the end of the file");
	}
	check_u64(read_at(fixture, PAGE - 3, 7), 7, "a read over the end of a page succeeds");
	check_u64(read_at(fixture, 255 * PAGE + 9, 10 * PAGE), 10 * PAGE,
		  "a read over the end of a node succeeds");
	check(fixture->cache.n_absent == 0 && fixture->cache.n_refused == 0,
	      "no page of a whole file is missing");
	made_linux_destroy(fixture->made);
}

/* A tree of the greatest height. */
static void test_high(struct fixture *fixture)
{
	uint64_t inode, node, memory, folio;

	begin(fixture);
	inode = open_inode(fixture, 1ULL << 61);
	node = made_xa_node(fixture->made, 0);
	folio = made_folio(fixture->made, 63, 1, &memory);
	made_put(fixture->made->memory, fixture->made->guest.root, memory,
		 fixture->content + 63 * PAGE, PAGE);
	made_xa_slot(fixture->made, node, 63, folio);
	for (unsigned shift = 6; shift <= 60; shift += 6) {
		uint64_t above = made_xa_node(fixture->made, shift);

		made_xa_slot(fixture->made, above, 0, made_xa_entry(node));
		node = above;
	}
	made_xa_head(fixture->made, inode, made_xa_entry(node));
	check_u64(read_at(fixture, 63 * PAGE, PAGE), PAGE, "a tree of eleven levels is read");
	made_linux_destroy(fixture->made);
}

static void put_folio(struct fixture *fixture, uint64_t memory, uint64_t index, unsigned n)
{
	made_put(fixture->made->memory, fixture->made->guest.root, memory,
		 fixture->content + index * PAGE, n * PAGE);
	memory_refresh(fixture->made->guest.memory);
}

static void test_folios(struct fixture *fixture, bool pages)
{
	uint64_t inode, top, leaf, memory, folio;

	begin(fixture);
	if (pages) /* before Linux 5.16 */
		made_without(fixture->made, FOLIO_INDEX);
	inode = open_inode(fixture, 300 * PAGE);
	top = made_xa_node(fixture->made, 6);
	leaf = made_xa_node(fixture->made, 0);
	made_xa_head(fixture->made, inode, made_xa_entry(top));
	made_xa_slot(fixture->made, top, 0, made_xa_entry(leaf));
	folio = made_folio(fixture->made, 8, 4, &memory);
	put_folio(fixture, memory, 8, 4);
	made_xa_slot(fixture->made, leaf, 8, folio);
	for (unsigned i = 9; i < 12; i++)
		made_xa_slot(fixture->made, leaf, i, 8 << 2 | 2);
	check_u64(read_at(fixture, 8 * PAGE, 4 * PAGE), 4 * PAGE, "a folio of four pages is read");
	check_u64(read_at(fixture, 10 * PAGE + 5, 100), 100, "a read within a folio succeeds");

	/* A folio of 128 pages: an entry of the node above, and a sibling. */
	folio = made_folio(fixture->made, 128, 128, &memory);
	put_folio(fixture, memory, 128, 128);
	made_xa_slot(fixture->made, top, 2, folio);
	made_xa_slot(fixture->made, top, 3, 2 << 2 | 2);
	check_u64(read_at(fixture, 128 * PAGE, 128 * PAGE), 128 * PAGE,
		  "a folio of 128 pages is read");
	check_u64(read_at(fixture, 200 * PAGE + 1, 1), 1,
		  "the second half of a folio is read through its sibling");
	check_u64(fixture->cache.n_refused, 0, "no entry of a whole file is refused");
	check_u64(read_at(fixture, 127 * PAGE, 2 * PAGE), 0, "a hole before a folio ends the read");
	check_u64(read_at(fixture, 255 * PAGE, 2 * PAGE), PAGE,
		  "a hole after a folio ends the read");
	made_linux_destroy(fixture->made);
}

static void test_holes(struct fixture *fixture)
{
	uint64_t inode, bulk;

	begin(fixture);
	inode = open_inode(fixture, 70 * PAGE);
	made_cache(fixture->made, inode, fixture->content, 70 * PAGE);
	made_cache_entry(fixture->made, inode, 3, 0);
	check_u64(read_at(fixture, 2 * PAGE, 3 * PAGE), PAGE,
		  "a read ends at a page that the guest never read");
	check_u64(fixture->cache.n_absent, 1, "the absent page is counted");
	check_u64(read_at(fixture, 4 * PAGE, 2 * PAGE), 2 * PAGE,
		  "the bytes after an absent page are read");
	made_cache_entry(fixture->made, inode, 3, 0x12345 << 1 | 1);
	check_u64(read_at(fixture, 3 * PAGE, 1), 0, "a read ends at an evicted page");
	check_u64(fixture->cache.n_evicted, 1, "the evicted page is counted");
	for (uint64_t entry = 256; entry <= 257; entry++) {
		made_cache_entry(fixture->made, inode, 3, entry << 2 | 2);
		check_u64(read_at(fixture, 3 * PAGE, 1), 0,
			  "a read ends at an entry that is being changed");
	}
	check_u64(fixture->cache.n_absent, 3, "both missing entries count as absent");
	check_u64(fixture->cache.n_refused, 0, "neither missing entry counts as refused");

	made_xa_head(fixture->made, inode, 0);
	check_u64(read_at(fixture, 0, 1), 0, "an empty tree yields nothing");
	check_u64(read_at(fixture, 69 * PAGE, 1), 0, "the end of an empty tree yields nothing");
	made_cache(fixture->made, inode, fixture->content, PAGE);
	check_u64(read_at(fixture, 0, PAGE), PAGE, "a tree whose head is its only entry is read");
	check_u64(read_at(fixture, PAGE, 1), 0, "nothing is read after the only entry");
	made_linux_destroy(fixture->made);

	begin(fixture); /* Pages that lie side by side are read together. */
	inode = open_inode(fixture, 64 * PAGE);
	{
		uint64_t memory, folio = made_folio(fixture->made, 0, 64, &memory);

		put_folio(fixture, memory, 0, 64);
		made_xa_head(fixture->made, inode, made_xa_entry(made_xa_node(fixture->made, 6)));
		for (unsigned i = 0; i < 64; i++)
			made_cache_entry(fixture->made, inode, i, folio);
	}
	read_at(fixture, 0, 1);
	bulk = memory_counts(fixture->made->guest.memory).batches;
	check_u64(read_at(fixture, 0, 64 * PAGE), 64 * PAGE, "64 adjacent pages are read");
	check(memory_counts(fixture->made->guest.memory).batches - bulk < 8,
	      "in few batches: %" PRIu64,
	      memory_counts(fixture->made->guest.memory).batches - bulk);
	made_linux_destroy(fixture->made);
}

/* The guest has given back the memory of a page among others that lie side by side. */
static void test_given_back(struct fixture *fixture)
{
	uint64_t inode, memory, folio;

	begin(fixture);
	inode = open_inode(fixture, 64 * PAGE);
	folio = made_folio(fixture->made, 0, 64, &memory);
	put_folio(fixture, memory, 0, 64);
	made_xa_head(fixture->made, inode, made_xa_entry(made_xa_node(fixture->made, 6)));
	for (unsigned i = 0; i < 64; i++)
		made_cache_entry(fixture->made, inode, i, folio);
	made_refuse(fixture->made->memory, fixture->made->guest.root, memory + 10 * PAGE, true);
	memory_refresh(fixture->made->guest.memory);
	check_u64(read_at(fixture, 0, 64 * PAGE), 10 * PAGE,
		  "the pages before memory that cannot be read are kept");
	check_u64(fixture->cache.n_refused, 1, "memory that cannot be read is counted as refused");
	check(fixture->cache.wasted_bytes >= PAGE && fixture->cache.wasted_bytes <= 54 * PAGE,
	      "what was copied in vain is charged: %" PRIu64, fixture->cache.wasted_bytes);
	check_u64(read_at(fixture, 11 * PAGE, 53 * PAGE), 53 * PAGE,
		  "the pages after memory that cannot be read are read");
	made_linux_destroy(fixture->made);
}

/* One byte at OFFSET cannot be read, and is counted as refused. */
static void check_refused(struct fixture *fixture, const char *what, uint64_t offset)
{
	uint64_t before = fixture->cache.n_refused;

	check(read_at(fixture, offset, 1) == 0 && fixture->cache.n_refused == before + 1,
	      "nothing is read through %s", what);
}

static void test_damaged_nodes(struct fixture *fixture)
{
	uint64_t inode, node, below;

	begin(fixture);
	inode = open_inode(fixture, 300 * PAGE);
	node = made_xa_node(fixture->made, 6);
	made_xa_head(fixture->made, inode, made_xa_entry(node));
	made_xa_slot(fixture->made, node, 0, made_xa_entry(node));
	check_refused(fixture, "a node below itself", 0);
	below = made_xa_node(fixture->made, 12);
	made_xa_slot(fixture->made, node, 0, made_xa_entry(below));
	check_refused(fixture, "a higher node below a lower one", 0);
	below = made_xa_node(fixture->made, 3);
	made_xa_slot(fixture->made, node, 0, made_xa_entry(below));
	check_refused(fixture, "a shift that is no multiple of 6", 0);
	made_xa_head(fixture->made, inode, made_xa_entry(made_xa_node(fixture->made, 66)));
	check_refused(fixture, "a shift beyond the index", 0);
	made_xa_head(fixture->made, inode, made_xa_entry(made_xa_node(fixture->made, 255)));
	check_refused(fixture, "the largest shift", 0);
	made_xa_head(fixture->made, inode, 0x7f0000001000 | 2);
	check_refused(fixture, "a node outside the kernel", 0);
	made_xa_head(fixture->made, inode, 0xffffffffc0000000 | 2);
	check_refused(fixture, "a node that cannot be read", 0);
	made_linux_destroy(fixture->made);
}

static void test_damaged_siblings(struct fixture *fixture)
{
	uint64_t inode, node;

	begin(fixture);
	inode = open_inode(fixture, 300 * PAGE);
	node = made_xa_node(fixture->made, 0);
	made_xa_head(fixture->made, inode, made_xa_entry(node));
	made_xa_slot(fixture->made, node, 5, 5 << 2 | 2);
	check_refused(fixture, "a sibling of itself", 5 * PAGE);
	made_xa_slot(fixture->made, node, 5, 9 << 2 | 2);
	check_refused(fixture, "a sibling of a slot after it", 5 * PAGE);
	made_xa_slot(fixture->made, node, 4, 3 << 2 | 2);
	made_xa_slot(fixture->made, node, 5, 4 << 2 | 2);
	check_refused(fixture, "a sibling of a sibling", 5 * PAGE);
	made_linux_destroy(fixture->made);
}

static void test_damaged_folios(struct fixture *fixture)
{
	uint64_t inode, node, memory, folio;

	begin(fixture);
	inode = open_inode(fixture, 300 * PAGE);
	node = made_xa_node(fixture->made, 0);
	made_xa_head(fixture->made, inode, made_xa_entry(node));
	folio = made_folio(fixture->made, 2, 1, &memory);
	made_xa_slot(fixture->made, node, 2, folio + 4);
	check_refused(fixture, "a pointer between two struct pages", 2 * PAGE);
	made_xa_slot(fixture->made, node, 2, MADE_VMEMMAP - 64);
	check_refused(fixture, "a pointer before all struct pages", 2 * PAGE);
	made_xa_slot(fixture->made, node, 2, 0x1000);
	check_refused(fixture, "a folio outside the kernel", 2 * PAGE);
	made_xa_slot(fixture->made, node, 2, folio);
	made_set(fixture->made, folio, FOLIO_INDEX, 3);
	check_refused(fixture, "a folio of pages after this one", 2 * PAGE);
	made_set(fixture->made, folio, FOLIO_INDEX, 1ULL << 63);
	check_refused(fixture, "a folio of pages far after this one", 2 * PAGE);
	made_xa_slot(fixture->made, node, 2, MADE_VMEMMAP + (1ULL << 40) * 64);
	check_refused(fixture, "a frame number beyond all memory", 2 * PAGE);
	made_set(fixture->made, folio, FOLIO_INDEX, 2);
	made_xa_slot(fixture->made, node, 2, folio);
	made_unmap(fixture->made->memory, fixture->made->guest.root, memory, PAGE);
	memory_refresh(fixture->made->guest.memory);
	check_refused(fixture, "memory that the guest gave back", 2 * PAGE);
	made_linux_destroy(fixture->made);
}

static void test_damaged_inode(struct fixture *fixture)
{
	uint64_t inode;

	begin(fixture);
	inode = open_inode(fixture, 300 * PAGE);
	fixture->cache.size_bytes = UINT64_MAX;
	made_xa_head(fixture->made, inode, made_xa_entry(made_xa_node(fixture->made, 60)));
	check_u64(read_at(fixture, 0, 1), 0,
		  "a file of the largest size with an empty tree yields nothing");
	check(!page_cache_init(&fixture->cache, &fixture->made->guest, 0x1000),
	      "an inode outside the kernel has no page cache");
	made_set(fixture->made, inode, INODE_SIZE, UINT64_MAX);
	check(!page_cache_init(&fixture->cache, &fixture->made->guest, inode),
	      "a file of negative size has no page cache");
	made_set(fixture->made, inode, INODE_SIZE, 5);
	check(page_cache_init(&fixture->cache, &fixture->made->guest, inode),
	      "an inode with a sensible size has a page cache");
	fixture->made->guest.layout.values[PAGE_SIZEOF] = 0;
	check(!page_cache_init(&fixture->cache, &fixture->made->guest, inode),
	      "a struct page of no bytes is refused");
	fixture->made->guest.layout.values[PAGE_SIZEOF] = 64;
	made_without(fixture->made, XA_NODE_SHIFT);
	check(!page_cache_init(&fixture->cache, &fixture->made->guest, inode),
	      "BTF without xa_node.shift is refused");
	made_linux_destroy(fixture->made);
}

/* An index that is farther from the start of the folio than the largest folio has pages. */
static void test_far_folio(struct fixture *fixture)
{
	uint64_t inode, node, memory, folio;

	begin(fixture);
	inode = open_inode(fixture, 1ULL << 40);
	node = made_xa_node(fixture->made, 18);
	made_xa_head(fixture->made, inode, made_xa_entry(node));
	folio = made_folio(fixture->made, 0, 1, &memory);
	made_xa_slot(fixture->made, node, 2, folio);
	check_refused(fixture, "a page beyond the largest folio", 2ULL << 18 << 12);
	made_linux_destroy(fixture->made);
}

static bool is_frame(struct fixture *fixture, uint64_t index, uint64_t memory)
{
	frame_t frame;

	return page_cache_find_frame(&fixture->cache, index, &frame) &&
	       frame.value ==
		       made_frame(fixture->made->memory, fixture->made->guest.root, memory).value;
}

static void test_frames(struct fixture *fixture)
{
	uint64_t inode, node, memory, folio;
	frame_t frame;

	begin(fixture);
	inode = open_inode(fixture, 8 * PAGE);
	node = made_xa_node(fixture->made, 0);
	made_xa_head(fixture->made, inode, made_xa_entry(node));
	folio = made_folio(fixture->made, 2, 2, &memory);
	made_xa_slot(fixture->made, node, 2, folio);
	made_xa_slot(fixture->made, node, 3, 2 << 2 | 2);
	check(is_frame(fixture, 2, memory) && is_frame(fixture, 3, memory + PAGE),
	      "both pages of a folio have their frames");
	check(!page_cache_find_frame(&fixture->cache, 1, &frame),
	      "a page that is not there has no frame");
	check(!page_cache_find_frame(&fixture->cache, 1ULL << 52, &frame),
	      "a page after the last index has no frame");
	made_unmap(fixture->made->memory, fixture->made->guest.root, memory, PAGE);
	memory_refresh(fixture->made->guest.memory);
	check(!page_cache_find_frame(&fixture->cache, 2, &frame) &&
		      is_frame(fixture, 3, memory + PAGE),
	      "memory that the guest gave back has no frame");
	made_linux_destroy(fixture->made);
}

/* The number of pages, of the first N, whose frames are those that a look at each page finds. */
static unsigned count_same_frames(struct fixture *fixture, unsigned n)
{
	frame_t frames[2 * XARRAY_NODE_SLOTS], frame;
	unsigned same = 0;

	page_cache_find_frames(&fixture->cache, 0, frames, n);
	for (unsigned i = 0; i < n; i++) {
		if (!page_cache_find_frame(&fixture->cache, i, &frame))
			frame = FRAME(0);
		same += frames[i].value == frame.value;
	}
	return same;
}

/*
 * Pages one by one, a folio of two with a sibling, one of two as kernels before 5.17 have it, a
 * hole, a shadow, and a page in the next leaf.
 */
static void test_many_frames(struct fixture *fixture)
{
	uint64_t inode, root, nodes[2], memory, folio;

	begin(fixture);
	inode = open_inode(fixture, 2 * XARRAY_NODE_SLOTS * PAGE);
	root = made_xa_node(fixture->made, 6);
	made_xa_head(fixture->made, inode, made_xa_entry(root));
	for (unsigned i = 0; i < 2; i++) {
		nodes[i] = made_xa_node(fixture->made, 0);
		made_xa_slot(fixture->made, root, i, made_xa_entry(nodes[i]));
	}
	for (unsigned i = 0; i < 50; i++)
		made_xa_slot(fixture->made, nodes[0], i, made_folio(fixture->made, i, 1, &memory));
	folio = made_folio(fixture->made, 52, 2, &memory);
	made_xa_slot(fixture->made, nodes[0], 52, folio);
	made_xa_slot(fixture->made, nodes[0], 53, 52 << 2 | 2);
	folio = made_folio(fixture->made, 54, 2, &memory);
	made_xa_slot(fixture->made, nodes[0], 54, folio);
	made_xa_slot(fixture->made, nodes[0], 55, folio);
	made_xa_slot(fixture->made, nodes[0], 57, 3);
	made_xa_slot(fixture->made, nodes[1], 63, made_folio(fixture->made, 127, 1, &memory));
	check_u64(count_same_frames(fixture, 2 * XARRAY_NODE_SLOTS), 2 * XARRAY_NODE_SLOTS,
		  "the frames of many pages are those of each");
	check_u64(count_same_frames(fixture, 3), 3, "the frames of a few pages are those of each");
	made_linux_destroy(fixture->made);
}

/* --- what holes cost -------------------------------------------------------------------------- */

#define LARGE_PAGES 4096 /* 16 MiB, side by side */

/* How often a page was copied, or could not be. */
static uint64_t count_copies(struct fixture *fixture)
{
	struct memory_counts counts = memory_counts(fixture->made->guest.memory);

	return counts.pages + counts.refused;
}

/*
 * All callers go on after each hole. They copy no page again and again. The last one of every STEP
 * pages cannot be read: the guest has given it back.
 */
static void check_cost(struct fixture *fixture, unsigned step, const char *what)
{
	uint64_t inode, memory, folio, before;
	struct symtab *tab = NULL;
	struct bytes bytes;

	begin(fixture);
	inode = open_inode(fixture, LARGE_PAGES * PAGE);
	made_xa_head(fixture->made, inode, made_xa_entry(made_xa_node(fixture->made, 12)));
	folio = made_folio(fixture->made, 0, LARGE_PAGES, &memory);
	made_map(fixture->made->memory, fixture->made->guest.root, memory, LARGE_PAGES * PAGE,
		 MADE_WRITE);
	for (unsigned i = 0; i < LARGE_PAGES; i++) {
		made_cache_entry(fixture->made, inode, i, folio);
		if (i % step == step - 1)
			made_refuse(fixture->made->memory, fixture->made->guest.root,
				    memory + i * PAGE, true);
	}
	memory_refresh(fixture->made->guest.memory);
	bytes = page_cache_bytes(&fixture->cache);
	before = count_copies(fixture);
	if (perf_map_read(&bytes, NULL, &tab))
		exit(99);
	check(count_copies(fixture) - before <= 8 * LARGE_PAGES,
	      "%s: 16 MiB in %" PRIu64 " copies of pages", what, count_copies(fixture) - before);
	symtab_destroy(tab);
	made_linux_destroy(fixture->made);
}

static void test_cost(struct fixture *fixture)
{
	check_cost(fixture, LARGE_PAGES, "the last page is a hole");
	check_cost(fixture, 2, "every other page is a hole");
	check_cost(fixture, 1, "every page is a hole");
	check_cost(fixture, 100, "one of a hundred pages is a hole");
}

int main(void)
{
	static struct fixture fixture;

	test_cost(&fixture);
	test_frames(&fixture);
	test_many_frames(&fixture);
	test_sizes(&fixture);
	test_high(&fixture);
	test_folios(&fixture, false);
	test_folios(&fixture, true);
	test_holes(&fixture);
	test_given_back(&fixture);
	test_damaged_nodes(&fixture);
	test_damaged_siblings(&fixture);
	test_damaged_folios(&fixture);
	test_damaged_inode(&fixture);
	test_far_folio(&fixture);
	return tap_done();
}
