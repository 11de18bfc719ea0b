/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels of arm64 with pages of 16 and 64 KiB: files out of the page cache, and where a process has
 * them. The guest has 2 MiB of memory, all of it in one block of the direct map, with the struct pages:
 *
 *   0         the only page table
 *   0x10000   inode, struct address_space, a node of the page cache, two folios
 *   0x40000   struct pages: 64 bytes for each page
 *   0x80000   pages of the file
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "linux/process/guest_file.h"
#include "linux/process/process.h"
#include "tests/support/tap.h"

#define BYTES   (2U << 20)
#define INODE   0x10000
#define MAPPING 0x10100
#define NODE    0x10200
#define VMEMMAP 0x40000
#define FILE_AT 0x80000
#define PAGES   4U /* pages of the file */

#define PAGE_STRUCT_BYTES 64
#define SLOTS             40
#define BLOCK             0x401 /* valid, accessed */

struct fixture {
	uint8_t bytes[BYTES];
	uint8_t buffer[PAGES << 16];
	struct linux_guest guest;
	struct page_cache cache;
};

/* bits: of addresses, so that the top table has entries of whole blocks */
static const struct size {
	const char *name;
	unsigned granule1, page_shift, bits;
} sizes[] = { { "16 KiB", 1, 14, 36 }, { "64 KiB", 3, 16, 42 } };

static void must(struct xtop_error *error)
{
	if (!error)
		return;
	printf("Bail out! %s\n", error_message(error));
	exit(99);
}

static void read_frames(void *context, const frame_t *frames, size_t n, void *to, bool *ok)
{
	const struct fixture *fixture = context;

	for (size_t i = 0; i < n; i++) {
		ok[i] = frames[i].value < BYTES >> GUEST_PAGE_SHIFT;
		if (ok[i])
			memcpy((char *)to + i * GUEST_PAGE_SIZE,
			       fixture->bytes + frames[i].value * GUEST_PAGE_SIZE, GUEST_PAGE_SIZE);
	}
}

static void close_frames(void *context)
{
	(void)context;
}

static void put(struct fixture *fixture, uint64_t at, uint64_t value)
{
	memcpy(fixture->bytes + at, &value, sizeof(value));
}

/* Page INDEX of the file, alone or with those after it, has its struct page. Returns the entry. */
static uint64_t put_folio(struct fixture *fixture, const struct size *size, unsigned index)
{
	uint64_t folio = VMEMMAP +
			 ((FILE_AT >> size->page_shift) + index) * PAGE_STRUCT_BYTES;

	put(fixture, folio + 32, index);
	return fixture->guest.page_offset + folio;
}

/* Pages 0 and 1 are folios of their own, 2 and 3 are one. */
static void begin(struct fixture *fixture, const struct size *size)
{
	static const struct memory_ops ops = { .read = read_frames, .close = close_frames };
	struct layout *layout = &fixture->guest.layout;

	memset(fixture->bytes, 0, sizeof(fixture->bytes));
	fixture->guest = (struct linux_guest){ .page_offset = -(1ULL << size->bits) };
	fixture->guest.vmemmap = fixture->guest.page_offset + VMEMMAP;
	fixture->guest.root = (struct memory_root){ .arm64 = { .kind = ROOT_ARM64,
							       .size0 = 64 - size->bits,
							       .size1 = 64 - size->bits,
							       .granule1 = size->granule1 } };
	layout_init(layout);
	layout->values[INODE_MAPPING] = 0;
	layout->values[INODE_SIZE] = 8;
	layout->values[MAPPING_PAGES] = 0;
	layout->values[XARRAY_HEAD] = 8;
	layout->values[XA_NODE_SHIFT] = 0;
	layout->values[XA_NODE_SLOTS] = SLOTS;
	layout->values[FOLIO_INDEX] = 32;
	layout->values[PAGE_SIZEOF] = PAGE_STRUCT_BYTES;
	put(fixture, 0, BLOCK);
	put(fixture, INODE, fixture->guest.page_offset + MAPPING);
	put(fixture, INODE + 8, PAGES << size->page_shift);
	put(fixture, MAPPING + 8, fixture->guest.page_offset + NODE + 2);
	put(fixture, NODE + SLOTS, put_folio(fixture, size, 0));
	put(fixture, NODE + SLOTS + 8, put_folio(fixture, size, 1));
	put(fixture, NODE + SLOTS + 16, put_folio(fixture, size, 2));
	put(fixture, NODE + SLOTS + 24, 2 << 2 | 2); /* a sibling */
	for (unsigned i = 0; i < PAGES << size->page_shift; i++)
		fixture->bytes[FILE_AT + i] = (uint8_t)(i * 31 + (i >> 12) * 7 + 1);
	must(memory_create(&ops, fixture, &fixture->guest.memory));
	if (!page_cache_init(&fixture->cache, &fixture->guest, fixture->guest.page_offset + INODE))
		exit(99);
}

static bool reads(struct fixture *fixture, uint64_t offset, size_t n)
{
	struct bytes file = page_cache_bytes(&fixture->cache);

	memset(fixture->buffer, 0xee, sizeof(fixture->buffer));
	return file.read(file.context, offset, fixture->buffer, n) == n &&
	       !memcmp(fixture->buffer, fixture->bytes + FILE_AT + offset, n);
}

static void test_cache(struct fixture *fixture, const struct size *size)
{
	uint64_t page = 1ULL << size->page_shift, n = page >> GUEST_PAGE_SHIFT;
	frame_t frame = FRAME(0), frames[PAGES << (16 - GUEST_PAGE_SHIFT)];
	uint64_t same = 0;

	begin(fixture, size);
	check(reads(fixture, 0, PAGES * page), "%s: the whole file", size->name);
	check(reads(fixture, page - 3, 7), "%s: over the end of a page", size->name);
	check(reads(fixture, 2 * page + 5 * GUEST_PAGE_SIZE / 2, page), "%s: in a large folio",
	      size->name);
	check(page_cache_find_frame(&fixture->cache, 3 * n + 2, &frame) &&
		      frame.value == (FILE_AT >> GUEST_PAGE_SHIFT) + 3 * n + 2,
	      "%s: a frame of the last page", size->name);
	put(fixture, NODE + SLOTS + 8, 0);
	memory_refresh(fixture->guest.memory);
	check(!page_cache_find_frame(&fixture->cache, n, &frame) &&
		      !page_cache_find_frame(&fixture->cache, 2 * n - 1, &frame) &&
		      page_cache_find_frame(&fixture->cache, 2 * n, &frame),
	      "%s: a hole is as large as a page", size->name);
	page_cache_find_frames(&fixture->cache, 0, frames, PAGES * n);
	for (uint64_t i = 0; i < PAGES * n; i++) {
		frame = FRAME(0);
		page_cache_find_frame(&fixture->cache, i, &frame);
		same += frames[i].value == frame.value;
	}
	check_u64(same, PAGES * n, "the frames of all pages are those of each");
	memory_destroy(fixture->guest.memory);
}

/* lld puts text a page after the file's start, here at the address of two pages. */
static void test_process(struct fixture *fixture, const struct size *size)
{
	uint64_t page = 1ULL << size->page_shift, base = 0x100000000;
	struct code_file file = { .loads = { .n = 2,
					     .loads = { { 0, 0, page / 2, false },
							{ page + 0x340, 2 * page + 0x340, 0x3000,
							  true } } } };
	struct process_area area = { .vma = { .start = base + 2 * page,
					      .end = base + 3 * page,
					      .flags = VMA_READ | VMA_EXEC,
					      .page_offset = 1 },
				     .file = &file,
				     .is_file = true };
	struct memory_budget budget = { .max_bytes = UINT64_MAX };
	struct code_files_settings settings = { .budget = &budget, .debug.root_fd = -1 };
	struct process_reader reader = { .guest = &fixture->guest };
	struct guest_file guest_file = { .guest = &fixture->guest };
	struct process process = { 0 };
	const struct mapping *mapping;

	begin(fixture, size);
	must(image_create("program", &file.image));
	must(code_files_create(&fixture->guest, &settings, &reader.files));
	must(process_init(&process));
	must(image_create("fixed", &reader.fixed.image));
	process.areas = &area;
	process.n_areas = 1;
	process_fill_space(&reader, &process);
	mapping = space_find(process.space, base + 2 * page + 0x400);
	check(mapping && mapping->file_offset == page && mapping->bias == base,
	      "%s: where a process has a file", size->name);
	guest_file_add_mapping(&guest_file, &area.vma);
	check_u64(guest_file.pieces[0].offset, page,
		  "the file offset of a mapping is in the kernel's pages");
	space_destroy(process.space);
	free(process.mappings);
	image_unref(reader.fixed.image);
	image_unref(file.image);
	code_files_destroy(reader.files);
	memory_destroy(fixture->guest.memory);
}

int main(void)
{
	static struct fixture fixture;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		test_cache(&fixture, &sizes[i]);
		test_process(&fixture, &sizes[i]);
	}
	return tap_done();
}
