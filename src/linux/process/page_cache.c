/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a file out of the guest's page cache. Resolver's thread, while the guest runs.
 *
 * From an inode to a byte (Linux include/linux/fs.h, xarray.h, lib/xarray.c, from v4.20):
 *
 *   inode.i_mapping -> address_space.i_pages.xa_head: an entry
 *   entry    NULL                       nothing
 *            bits 1:0 = 10, > 4096      node at entry - 2
 *            bits 1:0 = 10, <= 62 << 2  sibling: the entry is the one in slot (entry >> 2)
 *            bits 1:0 = 10, others      retry, zero: nothing now
 *            bit 0 = 1                  value: shadow of an evicted page, or where in the swap
 *            else                       struct folio (before 5.16 struct page)
 *   node     shift; slots[64]: the entry of an index is in slot (index >> shift) & 63
 *
 * A folio has 2^n pages that lie side by side; its entry may stand in a node above the lowest, with
 * siblings behind it. folio.index is the index of its first page, and its number
 *
 *   pfn = (folio - vmemmap) / sizeof(struct page) + index - folio.index
 *
 * since the kernel has all struct pages in one array, vmemmap. All memory is mapped in a row from
 * page_offset on (Linux Documentation/arch/x86/x86_64/mm.rst); reading there, through the kernel's
 * page tables, is right for a PV guest too, whose frames are not in that order.
 *
 * Pages are looked up one by one and read in runs of what lies side by side, as each read of
 * memory_read_bulk() may cost a mapping.
 */
#include "config.h"

#include "linux/process/page_cache.h"

#include <string.h>

#include "linux/kernel/member.h"

#define XARRAY_MAX_DEPTH    12
#define XARRAY_MAX_SHIFT    60
#define XARRAY_NODE_SLOTS   64
#define XARRAY_MAX_SIBLING  (62U << 2 | 2)
#define XARRAY_MAX_INTERNAL 4096         /* entries above are nodes: Linux xa_is_node() */
#define FOLIO_MAX_PAGES     (512U * 512) /* 1 GiB */
#define PAGE_MAX_BYTES      256          /* sizeof(struct page); 64 but with rare options */
#define PFN_MAX             (1ULL << 40)
#define FILE_MAX_BYTES      (1ULL << 62)

bool page_cache_init(struct page_cache *cache, const struct linux_guest *linux_guest,
		     uint64_t inode)
{
	static const enum layout_member needed[] = { MAPPING_PAGES, XARRAY_HEAD, XA_NODE_SHIFT,
						     XA_NODE_SLOTS, PAGE_SIZEOF };
	struct page_cache made = { .linux_guest = linux_guest };
	const struct layout *layout = &linux_guest->layout;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!layout_has(layout, needed[i]))
			return false;
	if (!layout_has(layout, FOLIO_INDEX) && !layout_has(layout, PAGE_INDEX))
		return false;
	if (layout_offset(layout, PAGE_SIZEOF) < 8 ||
	    layout_offset(layout, PAGE_SIZEOF) > PAGE_MAX_BYTES)
		return false;
	if (!member_read_pointer(linux_guest, inode, INODE_MAPPING, &made.mapping) ||
	    !member_read_u64(linux_guest, inode, INODE_SIZE, &made.size_bytes) ||
	    made.size_bytes > FILE_MAX_BYTES)
		return false;
	*cache = made;
	return true;
}

/* --- from an index to an entry ---------------------------------------------------------------- */

static bool xarray_is_internal(uint64_t entry)
{
	return (entry & 3) == 2;
}

static bool xarray_is_node(uint64_t entry)
{
	return xarray_is_internal(entry) && entry > XARRAY_MAX_INTERNAL;
}

static bool xarray_read_slot(const struct linux_guest *linux_guest, uint64_t node, unsigned slot,
			     uint64_t *entry)
{
	return linux_is_kernel(node) &&
	       linux_read_u64(linux_guest,
			      node + layout_offset(&linux_guest->layout, XA_NODE_SLOTS) + 8 * slot,
			      entry);
}

/* The entry below NODE; a sibling stands for one before it. */
static bool xarray_step(const struct linux_guest *linux_guest, uint64_t node, uint8_t shift,
			uint64_t index, uint64_t *entry)
{
	unsigned slot = index >> shift & (XARRAY_NODE_SLOTS - 1);

	if (!xarray_read_slot(linux_guest, node, slot, entry))
		return false;
	if (!xarray_is_internal(*entry) || *entry > XARRAY_MAX_SIBLING)
		return true;
	return *entry >> 2 < slot && xarray_read_slot(linux_guest, node, *entry >> 2, entry) &&
	       !(xarray_is_internal(*entry) && *entry <= XARRAY_MAX_SIBLING);
}

/* False: what stands there is no xarray, or not readable. */
static bool xarray_load(const struct linux_guest *linux_guest, uint64_t mapping, uint64_t index,
			uint64_t *entryp)
{
	const struct layout *layout = &linux_guest->layout;
	uint64_t entry, head = mapping + layout_offset(layout, MAPPING_PAGES) +
			       layout_offset(layout, XARRAY_HEAD);
	unsigned above = XARRAY_MAX_SHIFT + 6;

	if (!linux_read_u64(linux_guest, head, &entry))
		return false;
	if (!xarray_is_node(entry) && index)
		entry = 0; /* the only entry is that of index 0 */
	for (unsigned depth = 0; xarray_is_node(entry); depth++) {
		uint64_t node = entry - 2;
		uint8_t shift;

		if (depth == XARRAY_MAX_DEPTH ||
		    !member_read(linux_guest, node, XA_NODE_SHIFT, &shift, 1) ||
		    shift > XARRAY_MAX_SHIFT || shift % 6 || (depth && shift >= above))
			return false;
		if (!depth && index >> shift >= XARRAY_NODE_SLOTS) {
			entry = 0; /* behind the last */
			break;
		}
		above = shift;
		if (!xarray_step(linux_guest, node, shift, index, &entry))
			return false;
	}
	*entryp = entry;
	return true;
}

/* --- from an entry to memory ------------------------------------------------------------------ */

static bool page_cache_folio_address(const struct linux_guest *linux_guest, uint64_t folio,
				     uint64_t index, uint64_t *address)
{
	const struct layout *layout = &linux_guest->layout;
	unsigned page_bytes = layout_offset(layout, PAGE_SIZEOF);
	uint64_t first, pfn;

	if (!linux_is_kernel(folio) || folio < linux_guest->vmemmap ||
	    (folio - linux_guest->vmemmap) % page_bytes)
		return false;
	if (!member_read_u64(linux_guest, folio,
			     layout_has(layout, FOLIO_INDEX) ? FOLIO_INDEX : PAGE_INDEX, &first) ||
	    first > index || index - first >= FOLIO_MAX_PAGES)
		return false;
	pfn = (folio - linux_guest->vmemmap) / page_bytes + (index - first);
	if (pfn >= PFN_MAX)
		return false;
	*address = linux_guest->page_offset + (pfn << GUEST_PAGE_SHIFT);
	return linux_is_kernel(*address);
}

/* Where page INDEX of the file lies in the kernel's address space. NULL, or the counter of why not. */
static uint64_t *page_cache_find(struct page_cache *cache, uint64_t index, uint64_t *address)
{
	uint64_t entry;

	if (!xarray_load(cache->linux_guest, cache->mapping, index, &entry))
		return &cache->n_refused;
	if (entry & 1)
		return &cache->n_evicted;
	if (!entry || xarray_is_internal(entry))
		return &cache->n_absent;
	if (!page_cache_folio_address(cache->linux_guest, entry, index, address))
		return &cache->n_refused;
	return NULL;
}

bool page_cache_frame(struct page_cache *cache, uint64_t index, frame_t *frame)
{
	const struct linux_guest *linux_guest = cache->linux_guest;
	uint64_t address;

	return !page_cache_find(cache, index, &address) &&
	       memory_translate(linux_guest->memory, linux_guest->root, address, frame);
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Pages from INDEX on that lie side by side, at most MAX; 0: the first is not there. */
static size_t page_cache_run(struct page_cache *cache, uint64_t index, size_t max,
			     uint64_t *address)
{
	uint64_t next, *missing = page_cache_find(cache, index, address);
	size_t n = 1;

	if (missing) {
		++*missing;
		return 0;
	}
	while (n < max && !page_cache_find(cache, index + n, &next) &&
	       next == *address + n * GUEST_PAGE_SIZE)
		n++;
	return n;
}

/* Memory that is kept for small reads; for large ones in one go. */
static size_t page_cache_copy(const struct linux_guest *linux_guest, uint64_t address, void *buffer,
			      size_t size_bytes)
{
	if (size_bytes <= 2 * GUEST_PAGE_SIZE)
		return memory_read(linux_guest->memory, linux_guest->root, address, buffer,
				   size_bytes);
	return memory_read_bulk(linux_guest->memory, linux_guest->root, address, buffer,
				size_bytes);
}

static size_t page_cache_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct page_cache *cache = context;
	size_t done = 0;

	if (offset >= cache->size_bytes)
		return 0;
	if (size_bytes > cache->size_bytes - offset)
		size_bytes = cache->size_bytes - offset;
	while (done < size_bytes) {
		uint64_t at = offset + done, address, in_page = at & GUEST_PAGE_MASK;
		size_t left = size_bytes - done, n, got;

		n = page_cache_run(cache, at >> GUEST_PAGE_SHIFT,
				   (in_page + left + GUEST_PAGE_MASK) >> GUEST_PAGE_SHIFT,
				   &address);
		if (!n)
			break;
		n = n * GUEST_PAGE_SIZE - in_page;
		if (n > left)
			n = left;
		got = page_cache_copy(cache->linux_guest, address + in_page, (char *)buffer + done,
				      n);
		if (got != n) { /* memory that the guest gave back */
			cache->n_refused++;
			break;
		}
		done += n;
	}
	return done;
}

struct bytes page_cache_bytes(struct page_cache *cache)
{
	return (struct bytes){ .read = page_cache_read,
			       .context = cache,
			       .size_bytes = cache->size_bytes };
}
