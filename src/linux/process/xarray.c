/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The descent through an XArray's nodes; see xarray.h. The guest may change the nodes meanwhile, or
 * have made them to trap us: the shift must fall from node to node, and the depth is bounded.
 * Resolver's thread.
 */
#include "config.h"

#include "linux/process/xarray.h"

#include "linux/kernel/member.h"

#define XARRAY_MAX_DEPTH   12
#define XARRAY_MAX_SHIFT   60
#define XARRAY_SLOT_BITS   6
#define XARRAY_NODE_SLOTS  (1U << XARRAY_SLOT_BITS)
#define XARRAY_MAX_SIBLING (62U << 2 | 2)

bool xarray_has_layout(const struct layout *layout)
{
	return layout_has(layout, XARRAY_HEAD) && layout_has(layout, XA_NODE_SHIFT) &&
	       layout_has(layout, XA_NODE_SLOTS);
}

static bool xarray_is_sibling(uint64_t entry)
{
	return xarray_is_internal(entry) && entry <= XARRAY_MAX_SIBLING;
}

static bool xarray_read_slot(const struct linux_guest *linux_guest, uint64_t node, unsigned slot,
			     uint64_t *entry)
{
	return linux_is_kernel(node) &&
	       linux_read_u64(linux_guest,
			      node + layout_offset(&linux_guest->layout, XA_NODE_SLOTS) + 8 * slot,
			      entry);
}

/* The entry below NODE. A sibling stands for an entry in a slot before it, which is no sibling. */
static bool xarray_read_entry(const struct linux_guest *linux_guest, uint64_t node, uint8_t shift,
			      uint64_t index, uint64_t *entry)
{
	unsigned slot = index >> shift & (XARRAY_NODE_SLOTS - 1);

	if (!xarray_read_slot(linux_guest, node, slot, entry))
		return false;
	if (!xarray_is_sibling(*entry))
		return true;
	return *entry >> 2 < slot && xarray_read_slot(linux_guest, node, *entry >> 2, entry) &&
	       !xarray_is_sibling(*entry);
}

bool xarray_find(const struct linux_guest *linux_guest, uint64_t address, uint64_t index,
		 uint64_t *entryp)
{
	unsigned above = XARRAY_MAX_SHIFT + XARRAY_SLOT_BITS;
	uint64_t entry;

	if (!linux_read_u64(linux_guest, address + layout_offset(&linux_guest->layout, XARRAY_HEAD),
			    &entry))
		return false;
	if (!xarray_is_node(entry) && index)
		entry = 0; /* the only entry is that of index 0 */
	for (unsigned depth = 0; xarray_is_node(entry); depth++) {
		uint64_t node = entry - 2;
		uint8_t shift;

		if (depth == XARRAY_MAX_DEPTH ||
		    !member_read(linux_guest, node, XA_NODE_SHIFT, &shift, 1) ||
		    shift > XARRAY_MAX_SHIFT || shift % XARRAY_SLOT_BITS ||
		    (depth && shift >= above))
			return false;
		if (!depth && index >> shift >= XARRAY_NODE_SLOTS) {
			entry = 0; /* behind the last index */
			break;
		}
		above = shift;
		if (!xarray_read_entry(linux_guest, node, shift, index, &entry))
			return false;
	}
	*entryp = entry;
	return true;
}
