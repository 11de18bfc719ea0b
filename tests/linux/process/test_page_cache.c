/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files out of the page cache: all heights of the tree, large folios, holes, damaged trees. */
#include "config.h"

#include <stdlib.h>

#include "linux/process/page_cache.h"
#include "linux/process/perf_map.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"

#define PAGE GUEST_PAGE_SIZE

static struct made_linux *made;
static struct page_cache cache;
static unsigned char content[300 * PAGE], buffer[300 * PAGE];

static void begin(void)
{
	made = made_linux_create(MADE_TREE);
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (unsigned char)(i * 31 + (i >> 12) * 7 + 1);
}

/* How many bytes of [offset, offset + n) are read. Checks that they are right. */
static size_t read_at(uint64_t offset, size_t n)
{
	struct bytes bytes = page_cache_bytes(&cache);
	size_t got;

	memset(buffer, 0xee, sizeof(buffer));
	got = bytes.read(bytes.context, offset, buffer, n);
	if (got && memcmp(buffer, content + offset, got) != 0)
		check(false, "wrong bytes at %#" PRIx64, offset);
	if (n < sizeof(buffer) && buffer[n] != 0xee)
		check(false, "no byte is written behind the buffer");
	return got;
}

static uint64_t open_inode(size_t size)
{
	uint64_t inode = made_inode(made, size);

	if (!page_cache_init(&cache, &made->guest, inode))
		check(false, "an inode that cannot be read has no page cache");
	return inode;
}

static void test_sizes(void)
{
	static const size_t sizes[] = { 1, 100, PAGE, PAGE + 1, 64 * PAGE, 65 * PAGE, 300 * PAGE };

	begin();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		made_cache(made, open_inode(sizes[i]), content, sizes[i]);
		check_u64(page_cache_bytes(&cache).size_bytes, sizes[i],
			  "the page cache knows the file's size");
		check_u64(read_at(0, sizes[i]), sizes[i], "the whole file is read");
		check_u64(read_at(0, sizes[i] + 1), sizes[i], "nothing is read behind the file");
		check_u64(read_at(sizes[i] - 1, 50), 1, "the last byte is read");
		check_u64(read_at(sizes[i], 1), 0, "nothing is read at the end of the file");
	}
	check_u64(read_at(PAGE - 3, 7), 7, "a read over the end of a page succeeds");
	check_u64(read_at(255 * PAGE + 9, 10 * PAGE), 10 * PAGE,
		  "a read over the end of a node succeeds");
	check(cache.n_absent == 0 && cache.n_refused == 0, "no page of a whole file is missing");
	made_linux_destroy(made);
}

/* A tree of the greatest height. */
static void test_high(void)
{
	uint64_t inode, node, memory, folio;

	begin();
	inode = open_inode(1ULL << 61);
	node = made_xa_node(made, 0);
	folio = made_folio(made, 63, 1, &memory);
	made_put(made->memory, made->guest.root, memory, content + 63 * PAGE, PAGE);
	made_xa_slot(made, node, 63, folio);
	for (unsigned shift = 6; shift <= 60; shift += 6) {
		uint64_t above = made_xa_node(made, shift);

		made_xa_slot(made, above, 0, made_xa_entry(node));
		node = above;
	}
	made_xa_head(made, inode, made_xa_entry(node));
	check_u64(read_at(63 * PAGE, PAGE), PAGE, "a tree of eleven levels is read");
	made_linux_destroy(made);
}

static void put_folio(uint64_t memory, uint64_t index, unsigned n)
{
	made_put(made->memory, made->guest.root, memory, content + index * PAGE, n * PAGE);
	memory_refresh(made->guest.memory);
}

static void test_folios(bool pages)
{
	uint64_t inode, top, leaf, memory, folio;

	begin();
	if (pages) /* before Linux 5.16 */
		made_without(made, FOLIO_INDEX);
	inode = open_inode(300 * PAGE);
	top = made_xa_node(made, 6);
	leaf = made_xa_node(made, 0);
	made_xa_head(made, inode, made_xa_entry(top));
	made_xa_slot(made, top, 0, made_xa_entry(leaf));
	folio = made_folio(made, 8, 4, &memory);
	put_folio(memory, 8, 4);
	made_xa_slot(made, leaf, 8, folio);
	for (unsigned i = 9; i < 12; i++)
		made_xa_slot(made, leaf, i, 8 << 2 | 2);
	check_u64(read_at(8 * PAGE, 4 * PAGE), 4 * PAGE, "a folio of four pages is read");
	check_u64(read_at(10 * PAGE + 5, 100), 100, "a read within a folio succeeds");

	/* A folio of 128 pages: an entry of the node above, and a sibling. */
	folio = made_folio(made, 128, 128, &memory);
	put_folio(memory, 128, 128);
	made_xa_slot(made, top, 2, folio);
	made_xa_slot(made, top, 3, 2 << 2 | 2);
	check_u64(read_at(128 * PAGE, 128 * PAGE), 128 * PAGE, "a folio of 128 pages is read");
	check_u64(read_at(200 * PAGE + 1, 1), 1,
		  "the second half of a folio is read through its sibling");
	check_u64(cache.n_refused, 0, "no entry of a whole file is refused");
	check_u64(read_at(127 * PAGE, 2 * PAGE), 0, "a hole before a folio ends the read");
	check_u64(read_at(255 * PAGE, 2 * PAGE), PAGE, "a hole behind a folio ends the read");
	made_linux_destroy(made);
}

static void test_holes(void)
{
	uint64_t inode, bulk;

	begin();
	inode = open_inode(70 * PAGE);
	made_cache(made, inode, content, 70 * PAGE);
	made_cache_entry(made, inode, 3, 0);
	check_u64(read_at(2 * PAGE, 3 * PAGE), PAGE,
		  "a read ends at a page that the guest never read");
	check_u64(cache.n_absent, 1, "the absent page is counted");
	check_u64(read_at(4 * PAGE, 2 * PAGE), 2 * PAGE,
		  "the bytes behind an absent page are read");
	made_cache_entry(made, inode, 3, 0x12345 << 1 | 1);
	check_u64(read_at(3 * PAGE, 1), 0, "a read ends at an evicted page");
	check_u64(cache.n_evicted, 1, "the evicted page is counted");
	for (uint64_t entry = 256; entry <= 257; entry++) {
		made_cache_entry(made, inode, 3, entry << 2 | 2);
		check_u64(read_at(3 * PAGE, 1), 0, "a read ends at an entry that is being changed");
	}
	check_u64(cache.n_absent, 3, "both missing entries count as absent");
	check_u64(cache.n_refused, 0, "neither missing entry counts as refused");

	made_xa_head(made, inode, 0);
	check_u64(read_at(0, 1), 0, "an empty tree yields nothing");
	check_u64(read_at(69 * PAGE, 1), 0, "the end of an empty tree yields nothing");
	made_cache(made, inode, content, PAGE);
	check_u64(read_at(0, PAGE), PAGE, "a tree whose head is its only entry is read");
	check_u64(read_at(PAGE, 1), 0, "nothing is read behind the only entry");
	made_linux_destroy(made);

	begin(); /* Pages that lie side by side are read together. */
	inode = open_inode(64 * PAGE);
	{
		uint64_t memory, folio = made_folio(made, 0, 64, &memory);

		put_folio(memory, 0, 64);
		made_xa_head(made, inode, made_xa_entry(made_xa_node(made, 6)));
		for (unsigned i = 0; i < 64; i++)
			made_cache_entry(made, inode, i, folio);
	}
	read_at(0, 1);
	bulk = memory_counts(made->guest.memory).batches;
	check_u64(read_at(0, 64 * PAGE), 64 * PAGE, "64 adjacent pages are read");
	check(memory_counts(made->guest.memory).batches - bulk < 8, "in few batches: %" PRIu64,
	      memory_counts(made->guest.memory).batches - bulk);
	made_linux_destroy(made);
}

/* The guest has given back the memory of a page among others that lie side by side. */
static void test_given_back(void)
{
	uint64_t inode, memory, folio;

	begin();
	inode = open_inode(64 * PAGE);
	folio = made_folio(made, 0, 64, &memory);
	put_folio(memory, 0, 64);
	made_xa_head(made, inode, made_xa_entry(made_xa_node(made, 6)));
	for (unsigned i = 0; i < 64; i++)
		made_cache_entry(made, inode, i, folio);
	made_refuse(made->memory, made->guest.root, memory + 10 * PAGE, true);
	memory_refresh(made->guest.memory);
	check_u64(read_at(0, 64 * PAGE), 10 * PAGE,
		  "the pages before memory that cannot be read are kept");
	check_u64(cache.n_refused, 1, "memory that cannot be read is counted as refused");
	check(cache.wasted_bytes >= PAGE && cache.wasted_bytes <= 54 * PAGE,
	      "what was copied in vain is charged: %" PRIu64, cache.wasted_bytes);
	check_u64(read_at(11 * PAGE, 53 * PAGE), 53 * PAGE,
		  "the pages behind memory that cannot be read are read");
	made_linux_destroy(made);
}

/* One byte at OFFSET cannot be read, and is counted as refused. */
static void check_refused(const char *what, uint64_t offset)
{
	uint64_t before = cache.n_refused;

	check(read_at(offset, 1) == 0 && cache.n_refused == before + 1, "nothing is read through %s", what);
}

static void test_damaged_nodes(void)
{
	uint64_t inode, node, below;

	begin();
	inode = open_inode(300 * PAGE);
	node = made_xa_node(made, 6);
	made_xa_head(made, inode, made_xa_entry(node));
	made_xa_slot(made, node, 0, made_xa_entry(node));
	check_refused("a node below itself", 0);
	below = made_xa_node(made, 12);
	made_xa_slot(made, node, 0, made_xa_entry(below));
	check_refused("a higher node below a lower one", 0);
	below = made_xa_node(made, 3);
	made_xa_slot(made, node, 0, made_xa_entry(below));
	check_refused("a shift that is no multiple of 6", 0);
	made_xa_head(made, inode, made_xa_entry(made_xa_node(made, 66)));
	check_refused("a shift beyond the index", 0);
	made_xa_head(made, inode, made_xa_entry(made_xa_node(made, 255)));
	check_refused("the largest shift", 0);
	made_xa_head(made, inode, 0x7f0000001000 | 2);
	check_refused("a node outside the kernel", 0);
	made_xa_head(made, inode, 0xffffffffc0000000 | 2);
	check_refused("a node that cannot be read", 0);
	made_linux_destroy(made);
}

static void test_damaged_siblings(void)
{
	uint64_t inode, node;

	begin();
	inode = open_inode(300 * PAGE);
	node = made_xa_node(made, 0);
	made_xa_head(made, inode, made_xa_entry(node));
	made_xa_slot(made, node, 5, 5 << 2 | 2);
	check_refused("a sibling of itself", 5 * PAGE);
	made_xa_slot(made, node, 5, 9 << 2 | 2);
	check_refused("a sibling of a slot behind it", 5 * PAGE);
	made_xa_slot(made, node, 4, 3 << 2 | 2);
	made_xa_slot(made, node, 5, 4 << 2 | 2);
	check_refused("a sibling of a sibling", 5 * PAGE);
	made_linux_destroy(made);
}

static void test_damaged_folios(void)
{
	uint64_t inode, node, memory, folio;

	begin();
	inode = open_inode(300 * PAGE);
	node = made_xa_node(made, 0);
	made_xa_head(made, inode, made_xa_entry(node));
	folio = made_folio(made, 2, 1, &memory);
	made_xa_slot(made, node, 2, folio + 4);
	check_refused("a pointer between two struct pages", 2 * PAGE);
	made_xa_slot(made, node, 2, MADE_VMEMMAP - 64);
	check_refused("a pointer before all struct pages", 2 * PAGE);
	made_xa_slot(made, node, 2, 0x1000);
	check_refused("a folio outside the kernel", 2 * PAGE);
	made_xa_slot(made, node, 2, folio);
	made_set(made, folio, FOLIO_INDEX, 3);
	check_refused("a folio of pages behind this one", 2 * PAGE);
	made_set(made, folio, FOLIO_INDEX, 1ULL << 63);
	check_refused("a folio of pages far behind this one", 2 * PAGE);
	made_xa_slot(made, node, 2, MADE_VMEMMAP + (1ULL << 40) * 64);
	check_refused("a frame number beyond all memory", 2 * PAGE);
	made_set(made, folio, FOLIO_INDEX, 2);
	made_xa_slot(made, node, 2, folio);
	made_unmap(made->memory, made->guest.root, memory, PAGE);
	memory_refresh(made->guest.memory);
	check_refused("memory that the guest gave back", 2 * PAGE);
	made_linux_destroy(made);
}

static void test_damaged_inode(void)
{
	uint64_t inode;

	begin();
	inode = open_inode(300 * PAGE);
	cache.size_bytes = UINT64_MAX;
	made_xa_head(made, inode, made_xa_entry(made_xa_node(made, 60)));
	check_u64(read_at(0, 1), 0, "a file of the largest size with an empty tree yields nothing");
	check(!page_cache_init(&cache, &made->guest, 0x1000),
	      "an inode outside the kernel has no page cache");
	made_set(made, inode, INODE_SIZE, UINT64_MAX);
	check(!page_cache_init(&cache, &made->guest, inode),
	      "a file of negative size has no page cache");
	made_set(made, inode, INODE_SIZE, 5);
	check(page_cache_init(&cache, &made->guest, inode),
	      "an inode with a sensible size has a page cache");
	made->guest.layout.values[PAGE_SIZEOF] = 0;
	check(!page_cache_init(&cache, &made->guest, inode),
	      "a struct page of no bytes is refused");
	made->guest.layout.values[PAGE_SIZEOF] = 64;
	made_without(made, XA_NODE_SHIFT);
	check(!page_cache_init(&cache, &made->guest, inode),
	      "BTF without xa_node.shift is refused");
	made_linux_destroy(made);
}

/* An index that is farther from the start of the folio than the largest folio has pages. */
static void test_far_folio(void)
{
	uint64_t inode, node, memory, folio;

	begin();
	inode = open_inode(1ULL << 40);
	node = made_xa_node(made, 18);
	made_xa_head(made, inode, made_xa_entry(node));
	folio = made_folio(made, 0, 1, &memory);
	made_xa_slot(made, node, 2, folio);
	check_refused("a page beyond the largest folio", 2ULL << 18 << 12);
	made_linux_destroy(made);
}

static bool is_frame(uint64_t index, uint64_t memory)
{
	frame_t frame;

	return page_cache_find_frame(&cache, index, &frame) &&
	       frame.value == made_frame(made->memory, made->guest.root, memory).value;
}

static void test_frames(void)
{
	uint64_t inode, node, memory, folio;
	frame_t frame;

	begin();
	inode = open_inode(8 * PAGE);
	node = made_xa_node(made, 0);
	made_xa_head(made, inode, made_xa_entry(node));
	folio = made_folio(made, 2, 2, &memory);
	made_xa_slot(made, node, 2, folio);
	made_xa_slot(made, node, 3, 2 << 2 | 2);
	check(is_frame(2, memory) && is_frame(3, memory + PAGE),
	      "both pages of a folio have their frames");
	check(!page_cache_find_frame(&cache, 1, &frame), "a page that is not there has no frame");
	check(!page_cache_find_frame(&cache, 1ULL << 52, &frame),
	      "a page behind the last index has no frame");
	made_unmap(made->memory, made->guest.root, memory, PAGE);
	memory_refresh(made->guest.memory);
	check(!page_cache_find_frame(&cache, 2, &frame) && is_frame(3, memory + PAGE),
	      "memory that the guest gave back has no frame");
	made_linux_destroy(made);
}

/* --- what holes cost -------------------------------------------------------------------------- */

#define LARGE_PAGES 4096 /* 16 MiB, side by side */

/* How often a page was copied, or could not be. */
static uint64_t count_copies(void)
{
	struct memory_counts counts = memory_counts(made->guest.memory);

	return counts.pages + counts.refused;
}

/*
 * All callers go on behind each hole. They copy no page again and again. The last one of every STEP
 * pages cannot be read: the guest has given it back.
 */
static void check_cost(unsigned step, const char *what)
{
	uint64_t inode, memory, folio, before;
	struct symtab *tab = NULL;
	struct bytes bytes;

	begin();
	inode = open_inode(LARGE_PAGES * PAGE);
	made_xa_head(made, inode, made_xa_entry(made_xa_node(made, 12)));
	folio = made_folio(made, 0, LARGE_PAGES, &memory);
	made_map(made->memory, made->guest.root, memory, LARGE_PAGES * PAGE, MADE_WRITE);
	for (unsigned i = 0; i < LARGE_PAGES; i++) {
		made_cache_entry(made, inode, i, folio);
		if (i % step == step - 1)
			made_refuse(made->memory, made->guest.root, memory + i * PAGE, true);
	}
	memory_refresh(made->guest.memory);
	bytes = page_cache_bytes(&cache);
	before = count_copies();
	if (perf_map_read(&bytes, NULL, &tab))
		exit(99);
	check(count_copies() - before <= 8 * LARGE_PAGES,
	      "%s: 16 MiB in %" PRIu64 " copies of pages", what, count_copies() - before);
	symtab_destroy(tab);
	made_linux_destroy(made);
}

static void test_cost(void)
{
	check_cost(LARGE_PAGES, "the last page is a hole");
	check_cost(2, "every other page is a hole");
	check_cost(1, "every page is a hole");
	check_cost(100, "one of a hundred pages is a hole");
}

int main(void)
{
	test_cost();
	test_frames();
	test_sizes();
	test_high();
	test_folios(false);
	test_folios(true);
	test_holes();
	test_given_back();
	test_damaged_nodes();
	test_damaged_siblings();
	test_damaged_folios();
	test_damaged_inode();
	test_far_folio();
	return tap_done();
}
