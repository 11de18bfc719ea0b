/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads bytes of a file from the guest's page cache; see page_cache.h. Resolver's thread, while the
 * guest runs.
 *
 * How an inode leads to a byte (Linux include/linux/fs.h):
 *
 *   inode.i_mapping -> address_space.i_pages: an XArray (xarray.h) of the file's pages
 *   entry    struct folio (before 5.16 struct page): the page is there
 *            value: the shadow of an evicted page, or the place in the swap
 *
 * A folio has 2^n adjacent pages; its entry may be in a node above the lowest level, with siblings
 * after it. folio.index is the index of its first page. The page frame number is
 *
 *   pfn = (folio - vmemmap) / sizeof(struct page) + index - folio.index
 *
 * because the kernel has all struct pages in one array, vmemmap. These numbers count the kernel's
 * pages, which on arm64 may have 16 or 64 KiB. The functions here count pages of 4 KiB, as Xen
 * does; only page_cache_find() deals with the kernel's pages. The kernel maps all memory in a row
 * from page_offset on (Linux Documentation/arch/x86/x86_64/mm.rst). Reads go through this mapping
 * and the kernel's page tables, so that they are also right for a PV guest, whose machine frames
 * are in another order. A kernel of 32 bits maps only the first 0.9 GiB, and puts its page cache
 * elsewhere if it can: there pages are read by their frames. Such kernels are never PV guests.
 *
 * Pages are looked up one by one, but read together, wherever they lie: each call of
 * memory_read_scattered() costs a mapping, of one page or of many. The pages of a file that was
 * unpacked into a tmpfs, or read in small pieces, lie far apart. The number of pages that are read
 * together grows with each success within a read; after a hole the caller starts with a new read.
 * So a file with holes costs at most a fixed multiple of its pages: the rest of the file is not
 * read again for each hole.
 */
#include "config.h"

#include "linux/process/page_cache.h"

#include "linux/kernel/arch.h"
#include "linux/kernel/member.h"
#include "linux/process/xarray.h"

#define FOLIO_MAX_PAGES (512U * 512) /* 1 GiB */
#define PAGE_MAX_BYTES  256          /* sizeof(struct page); 64 except with rare options */
#define PFN_MAX         (1ULL << 40)
#define FILE_MAX_BYTES  (1ULL << 62)
#define BURST_PAGES     4 /* pages read together at first; four times as many each time */
#define PAGE_CACHE_FEW  2 /* whole pages that are read one by one, and kept as copies */

static bool page_cache_has_layout(const struct layout *layout)
{
	return layout_has(layout, MAPPING_PAGES) && xarray_has_layout(layout) &&
	       (layout_has(layout, FOLIO_INDEX) || layout_has(layout, PAGE_INDEX)) &&
	       layout_has(layout, PAGE_SIZEOF) && layout_offset(layout, PAGE_SIZEOF) >= 8 &&
	       layout_offset(layout, PAGE_SIZEOF) <= PAGE_MAX_BYTES;
}

bool page_cache_init(struct page_cache *cache, const struct linux_guest *guest, uint64_t inode)
{
	struct page_cache made = { .guest = guest,
				   .root = guest->root,
				   .base = guest->page_offset };

	if (linux_is_short(guest)) {
		made.root = (struct memory_root){ .width = ROOT_PHYSICAL };
		made.base = 0;
	}
	if (!page_cache_has_layout(&guest->layout) ||
	    !member_read_pointer(guest, inode, INODE_MAPPING, &made.mapping) ||
	    !member_read_u64(guest, inode, INODE_SIZE, &made.size_bytes) ||
	    made.size_bytes > FILE_MAX_BYTES)
		return false;
	*cache = made;
	return true;
}

/* --- addresses of pages ----------------------------------------------------------------------- */

/* The address under cache->root of page number NUMBER of FOLIO, whose first page is number 0. */
static bool page_cache_page_address(const struct page_cache *cache, uint64_t folio, uint64_t number,
				    uint64_t *address)
{
	const struct linux_guest *guest = cache->guest;
	unsigned page_bytes = layout_offset(&guest->layout, PAGE_SIZEOF);
	uint64_t pfn;

	if (!linux_is_kernel_of(guest, folio) || folio < guest->vmemmap ||
	    (folio - guest->vmemmap) % page_bytes)
		return false;
	pfn = (folio - guest->vmemmap) / page_bytes + number;
	if (pfn >= PFN_MAX)
		return false;
	*address = cache->base + (pfn << arch_page_shift(guest->root));
	return linux_is_short(guest) || linux_is_kernel(*address);
}

/* The address under cache->root of the kernel's page INDEX of the file, which is in FOLIO. */
static bool page_cache_folio_address(const struct page_cache *cache, uint64_t folio, uint64_t index,
				     uint64_t *address)
{
	const struct linux_guest *guest = cache->guest;
	uint64_t first;

	return linux_is_kernel_of(guest, folio) &&
	       member_read_word(guest, folio,
				layout_has(&guest->layout, FOLIO_INDEX) ? FOLIO_INDEX : PAGE_INDEX,
				&first) &&
	       first <= index && index - first < FOLIO_MAX_PAGES &&
	       page_cache_page_address(cache, folio, index - first, address);
}

/*
 * Finds the address of page INDEX of the file under cache->root, and returns NULL. Otherwise
 * returns the counter of the reason for the failure.
 */
static uint64_t *page_cache_find(struct page_cache *cache, uint64_t index, uint64_t *address)
{
	const struct linux_guest *guest = cache->guest;
	uint64_t pages = cache->mapping + layout_offset(&guest->layout, MAPPING_PAGES), entry;
	/* log2 of the number of frames in a page of the kernel */
	unsigned log = arch_page_shift(guest->root) - GUEST_PAGE_SHIFT;
	uint64_t in_page = index & ((1U << log) - 1);

	index >>= log;
	if (!xarray_find(guest, pages, index, &entry))
		return &cache->n_refused;
	if (xarray_is_value(entry))
		return &cache->n_evicted;
	if (!entry || xarray_is_internal(entry))
		return &cache->n_absent;
	if (!page_cache_folio_address(cache, entry, index, address))
		return &cache->n_refused;
	*address += in_page << GUEST_PAGE_SHIFT;
	return NULL;
}

bool page_cache_find_frame(struct page_cache *cache, uint64_t index, frame_t *frame)
{
	uint64_t address;

	return !page_cache_find(cache, index, &address) &&
	       memory_translate(cache->guest->memory, cache->root, address, frame);
}

/* --- many frames ------------------------------------------------------------------------------ */

/* The last leaf of the XArray that was read. */
struct page_cache_leaf {
	uint64_t number;  /* the leaf's indices / XARRAY_NODE_SLOTS */
	bool asked, read; /* read: ENTRIES are those of the leaf */
	uint64_t entries[XARRAY_NODE_SLOTS];
};

static void page_cache_read_leaf(const struct page_cache *cache, uint64_t number,
				 struct page_cache_leaf *leaf)
{
	const struct linux_guest *guest = cache->guest;
	uint64_t pages = cache->mapping + layout_offset(&guest->layout, MAPPING_PAGES), next;
	uint64_t index = number * XARRAY_NODE_SLOTS;

	if (leaf->asked && leaf->number == number)
		return;
	leaf->asked = true;
	leaf->number = number;
	leaf->read = xarray_read_leaf(guest, pages, &index, leaf->entries, &next) &&
		     index / XARRAY_NODE_SLOTS == number;
}

/*
 * Whether the entry of SLOT is a folio of one page. A larger one has siblings after it, or, before
 * 5.17, the same entry in all of its slots (Linux commit 6b24ca4a1a8d ("mm: Use multi-index entries
 * in the page cache")).
 */
static bool page_cache_is_single(const struct page_cache_leaf *leaf, unsigned slot)
{
	uint64_t entry = leaf->entries[slot];
	uint64_t after = slot + 1 < XARRAY_NODE_SLOTS ? leaf->entries[slot + 1] : 0;

	return !xarray_is_value(entry) && !xarray_is_internal(entry) &&
	       !xarray_is_internal(after) && after != entry &&
	       (!slot || leaf->entries[slot - 1] != entry);
}

void page_cache_find_frames(struct page_cache *cache, uint64_t index, frame_t *frames, size_t n)
{
	unsigned log = arch_page_shift(cache->guest->root) - GUEST_PAGE_SHIFT;
	struct page_cache_leaf leaf = { .asked = false };

	for (size_t i = 0; i < n; i++) {
		uint64_t at = index + i, page = at >> log, address;
		unsigned slot = page % XARRAY_NODE_SLOTS;

		frames[i] = FRAME(0);
		page_cache_read_leaf(cache, page / XARRAY_NODE_SLOTS, &leaf);
		if (!leaf.read || (leaf.entries[slot] && !page_cache_is_single(&leaf, slot)))
			page_cache_find_frame(cache, at, &frames[i]);
		else if (leaf.entries[slot] &&
			 page_cache_page_address(cache, leaf.entries[slot], 0, &address))
			memory_translate(cache->guest->memory, cache->root,
					 address + ((at & ((1U << log) - 1)) << GUEST_PAGE_SHIFT),
					 &frames[i]);
	}
}

/* --- bytes ------------------------------------------------------------------------------------ */

/*
 * Finds the addresses of the pages from INDEX on, at most MAX, up to the first one that is missing.
 * Returns their number.
 */
static size_t page_cache_find_run(struct page_cache *cache, uint64_t index, size_t max,
				  uint64_t *addresses)
{
	size_t n = 0;

	while (n < max) {
		uint64_t *missing = page_cache_find(cache, index + n, &addresses[n]);

		if (missing) {
			*missing += !n;
			break;
		}
		n++;
	}
	return n;
}

/*
 * Reads SIZE_BYTES from IN_PAGE on, in the first of the pages at ADDRESSES, up to the first page
 * that cannot be read. Small reads and parts of pages use the copies that memory.c keeps.
 */
static size_t page_cache_copy(const struct page_cache *cache, const uint64_t *addresses,
			      uint64_t in_page, char *buffer, size_t size_bytes)
{
	struct memory *memory = cache->guest->memory;
	size_t done = 0;

	while (done < size_bytes) {
		uint64_t at = in_page + done;
		size_t whole = (size_bytes - done) >> GUEST_PAGE_SHIFT, piece, got;
		const uint64_t *from = &addresses[at >> GUEST_PAGE_SHIFT];

		at &= GUEST_PAGE_MASK;
		if (at || whole <= PAGE_CACHE_FEW) {
			piece = GUEST_PAGE_SIZE - at;
			if (piece > size_bytes - done)
				piece = size_bytes - done;
			got = memory_read(memory, cache->root, *from + at, buffer + done, piece);
		} else {
			piece = whole * GUEST_PAGE_SIZE;
			got = GUEST_PAGE_SIZE * memory_read_scattered(memory, cache->root, from,
								      buffer + done, whole);
		}
		done += got;
		if (got < piece)
			break;
	}
	return done;
}

/*
 * Reads pages from the front of SIZE_BYTES at OFFSET, at most MAX_PAGES. *HOLE tells that the page
 * after them is missing.
 */
static size_t page_cache_read_run(struct page_cache *cache, uint64_t offset, char *buffer,
				  size_t size_bytes, size_t max_pages, bool *hole)
{
	uint64_t addresses[MEMORY_BATCH_PAGES], in_page = offset & GUEST_PAGE_MASK;
	size_t n = (in_page + size_bytes + GUEST_PAGE_MASK) >> GUEST_PAGE_SHIFT, got;

	n = page_cache_find_run(cache, offset >> GUEST_PAGE_SHIFT, n < max_pages ? n : max_pages,
				addresses);
	if (!n) {
		cache->wasted_bytes += GUEST_PAGE_SIZE;
		*hole = true;
		return 0;
	}
	n = n * GUEST_PAGE_SIZE - in_page;
	if (n > size_bytes)
		n = size_bytes;
	got = page_cache_copy(cache, addresses, in_page, buffer, n);
	*hole = got != n;
	if (*hole) { /* the guest has given the memory back */
		cache->n_refused++;
		cache->wasted_bytes += n - got;
	}
	return got;
}

static size_t page_cache_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct page_cache *cache = context;
	size_t done = 0, burst = BURST_PAGES;
	bool hole = false;

	if (offset >= cache->size_bytes)
		return 0;
	if (size_bytes > cache->size_bytes - offset)
		size_bytes = cache->size_bytes - offset;
	while (done < size_bytes && !hole) {
		done += page_cache_read_run(cache, offset + done, (char *)buffer + done,
					    size_bytes - done, burst, &hole);
		burst = burst * 4 < MEMORY_BATCH_PAGES ? burst * 4 : MEMORY_BATCH_PAGES;
	}
	return done;
}

struct bytes page_cache_bytes(struct page_cache *cache)
{
	return (struct bytes){ .read = page_cache_read,
			       .context = cache,
			       .size_bytes = cache->size_bytes };
}
