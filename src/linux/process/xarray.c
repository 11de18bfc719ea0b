/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks through the nodes of an XArray; see xarray.h. The guest may change the nodes meanwhile, or
 * may have crafted them as a trap: the shift must fall from node to node, and the depth is bounded.
 * Resolver's thread.
 */
#include "config.h"

#include "linux/process/xarray.h"

#include <string.h>

#include "linux/kernel/member.h"

#define XARRAY_MAX_DEPTH   12
#define XARRAY_MAX_SHIFT   60
#define XARRAY_SLOT_BITS   6
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

static bool xarray_read_slot(const struct linux_guest *guest, uint64_t node, unsigned slot,
			     uint64_t *entry)
{
	unsigned offset = layout_offset(&guest->layout, XA_NODE_SLOTS);

	return linux_is_kernel_of(guest, node) &&
	       linux_read_word(guest, node + offset + linux_word_bytes(guest) * slot, entry);
}

/*
 * Reads the entry of INDEX in NODE. A sibling refers to an earlier slot, whose entry is no sibling.
 */
static bool xarray_read_entry(const struct linux_guest *guest, uint64_t node, uint8_t shift,
			      uint64_t index, uint64_t *entry)
{
	unsigned slot = index >> shift & (XARRAY_NODE_SLOTS - 1);

	if (!xarray_read_slot(guest, node, slot, entry))
		return false;
	if (!xarray_is_sibling(*entry))
		return true;
	return *entry >> 2 < slot && xarray_read_slot(guest, node, *entry >> 2, entry) &&
	       !xarray_is_sibling(*entry);
}

/* Reads the shift of NODE, which is DEPTH nodes below the root and must be less than ABOVE. */
static bool xarray_read_shift(const struct linux_guest *guest, uint64_t node, unsigned depth,
			      unsigned above, uint8_t *shift)
{
	return depth < XARRAY_MAX_DEPTH && member_read(guest, node, XA_NODE_SHIFT, shift, 1) &&
	       *shift <= XARRAY_MAX_SHIFT && *shift % XARRAY_SLOT_BITS == 0 &&
	       (!depth || *shift < above);
}

bool xarray_find(const struct linux_guest *guest, uint64_t address, uint64_t index,
		 uint64_t *entryp)
{
	unsigned above = XARRAY_MAX_SHIFT + XARRAY_SLOT_BITS;
	uint64_t entry;

	if (!linux_read_word(guest, address + layout_offset(&guest->layout, XARRAY_HEAD), &entry))
		return false;
	if (!xarray_is_node(entry) && index)
		entry = 0; /* the only entry belongs to index 0 */
	for (unsigned depth = 0; xarray_is_node(entry); depth++) {
		uint64_t node = entry - 2;
		uint8_t shift;

		if (!xarray_read_shift(guest, node, depth, above, &shift))
			return false;
		if (!depth && index >> shift >= XARRAY_NODE_SLOTS) {
			entry = 0; /* the index is behind the last one */
			break;
		}
		above = shift;
		if (!xarray_read_entry(guest, node, shift, index, &entry))
			return false;
	}
	*entryp = entry;
	return true;
}

/* Reads all slots of NODE. */
static bool xarray_read_slots(const struct linux_guest *guest, uint64_t node,
			      uint64_t slots[XARRAY_NODE_SLOTS])
{
	size_t bytes = XARRAY_NODE_SLOTS * linux_word_bytes(guest);
	uint64_t address = node + layout_offset(&guest->layout, XA_NODE_SLOTS);
	uint32_t half[XARRAY_NODE_SLOTS];
	bool is_short = linux_is_short(guest);

	if (!linux_is_kernel_of(guest, node) ||
	    memory_read(guest->memory, guest->root, address, is_short ? (void *)half : slots,
			bytes) != bytes)
		return false;
	for (size_t i = 0; is_short && i < XARRAY_NODE_SLOTS; i++)
		slots[i] = half[i];
	return true;
}

/*
 * Finds the first slot with a node, from the slot of *INDEX on. *INDEX becomes the first index of
 * that slot if it is another slot. Returns 0 if there is none.
 */
static uint64_t xarray_next_node(const uint64_t slots[XARRAY_NODE_SLOTS], uint8_t shift,
				 uint64_t *index)
{
	unsigned first = *index >> shift & (XARRAY_NODE_SLOTS - 1), slot = first;

	while (slot < XARRAY_NODE_SLOTS && !xarray_is_node(slots[slot]))
		slot++;
	if (slot == XARRAY_NODE_SLOTS)
		return 0;
	if (slot > first)
		*index = ((*index >> shift) + (slot - first)) << shift;
	return slots[slot];
}

/* The first index after the node with SHIFT that has INDEX; 0 for the root. */
static uint64_t xarray_after(uint64_t index, uint8_t shift, unsigned depth)
{
	shift += XARRAY_SLOT_BITS;
	return depth && shift < 64 ? ((index >> shift) + 1) << shift : 0;
}

bool xarray_read_leaf(const struct linux_guest *guest, uint64_t address, uint64_t *index,
		      uint64_t entries[XARRAY_NODE_SLOTS], uint64_t *next)
{
	unsigned above = XARRAY_MAX_SHIFT + XARRAY_SLOT_BITS;
	uint64_t entry;

	*next = 0;
	if (!linux_read_word(guest, address + layout_offset(&guest->layout, XARRAY_HEAD), &entry))
		return false;
	if (!xarray_is_node(entry) && *index < XARRAY_NODE_SLOTS) {
		memset(entries, 0, XARRAY_NODE_SLOTS * sizeof(entries[0]));
		entries[0] = entry; /* only the entry of index 0, or nothing */
		return true;
	}
	for (unsigned depth = 0; xarray_is_node(entry); depth++) {
		uint64_t node = entry - 2;
		uint8_t shift;

		if (!xarray_read_shift(guest, node, depth, above, &shift) ||
		    (!depth && *index >> shift >= XARRAY_NODE_SLOTS) ||
		    !xarray_read_slots(guest, node, entries))
			return false;
		*next = depth ? *next : 0;
		if (!shift) {
			*next = (*index | (XARRAY_NODE_SLOTS - 1)) + 1;
			return true;
		}
		entry = xarray_next_node(entries, shift, index);
		*next = xarray_after(*index, entry ? shift - XARRAY_SLOT_BITS : shift,
				     entry ? 1 : depth);
		above = shift;
	}
	return false;
}
