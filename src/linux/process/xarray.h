/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds entries of Linux's XArray by their index (Linux include/linux/xarray.h, lib/xarray.c, from
 * v4.20). The maple tree uses the same encoding of entries. Resolver's thread; the guest runs
 * meanwhile.
 *
 *   entry    NULL                       nothing
 *            bits 1:0 = 10, > 4096      node, at entry - 2
 *            bits 1:0 = 10, <= 62 << 2  sibling: refers to the entry in slot (entry >> 2)
 *            bits 1:0 = 10, others      retry or zero: nothing now
 *            bit 0 = 1                  value, an integer
 *            otherwise                  pointer to the user's object
 *   node     shift; slots[64]: the entry of an index is in slot (index >> shift) & 63
 */
#ifndef XTOP_PROCESS_XARRAY_H
#define XTOP_PROCESS_XARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/kernel/linux_guest.h"

#define XARRAY_NODE_SLOTS   64
#define XARRAY_MAX_INTERNAL 4096 /* internal entries above are nodes: Linux xa_is_node() */

static inline bool xarray_is_internal(uint64_t entry)
{
	return (entry & 3) == 2;
}

static inline bool xarray_is_node(uint64_t entry)
{
	return xarray_is_internal(entry) && entry > XARRAY_MAX_INTERNAL;
}

static inline bool xarray_is_value(uint64_t entry)
{
	return entry & 1;
}

/* Whether BTF has the members that xarray_find() needs. */
bool xarray_has_layout(const struct layout *layout);
/*
 * Finds the entry of INDEX in the struct xarray at ADDRESS. 0 or an internal entry means that
 * nothing is there now. Returns false and leaves *entry untouched if a node cannot be read or is no
 * node.
 */
bool xarray_find(const struct linux_guest *guest, uint64_t address, uint64_t index,
		 uint64_t *entry);
/*
 * Reads the leaf that has *INDEX, or the first leaf after it: the 64 entries of the indices
 * [*INDEX & ~63, (*INDEX & ~63) + 64), internal entries included. *INDEX becomes the first index of
 * that leaf if it is another one. *NEXT becomes the index, after *INDEX, at which to continue; 0
 * if nothing follows. Returns false if no leaf was found up to *NEXT.
 */
bool xarray_read_leaf(const struct linux_guest *guest, uint64_t address, uint64_t *index,
		      uint64_t entries[XARRAY_NODE_SLOTS], uint64_t *next);

#endif
