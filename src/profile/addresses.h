/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many samples hit which instruction: counts by function and by distance from its start, of
 * innermost frames only. Their live weights decay as the profile's do. There are at most
 * ADDRESSES_MAX counts. When there is no room the lightest quarter is dropped; the function still
 * has its weight in the profile, so an annotation can say how much is missing. Resolver's thread.
 */
#ifndef PROFILE_ADDRESSES_H
#define PROFILE_ADDRESSES_H

#include "xtop/annotation.h"
#include "xtop/error.h"
#include "xtop/limit.h"

#define ADDRESSES_MAX LIMIT(32768, 64) /* 2 MiB with their table */

struct addresses;

/* HALF_LIFE_NS 0: no decay. */
struct xtop_error *addresses_create(uint64_t half_life_ns, struct addresses **addressesp);
void addresses_destroy(struct addresses *addresses); /* NULL allowed */
/* A sample of TICKS at TIME_NS. Best effort: nothing is counted when memory is out. */
void addresses_add(struct addresses *addresses, uint32_t frame, uint32_t distance,
		   uint64_t time_ns, double ticks);
void addresses_reset(struct addresses *addresses);
/*
 * Frames got better names: NOW returns the frame that takes FRAME's place, and *SHIFT, 0 before, is
 * what its distances grow by.
 */
void addresses_rename(struct addresses *addresses,
		      uint32_t (*now)(void *context, uint32_t frame, uint32_t *shift),
		      void *context);
/* ANNOTATION gets the counts of its frame as of TIME_NS. Error: out of memory. */
struct xtop_error *addresses_get(const struct addresses *addresses, uint64_t time_ns,
				 struct annotation *annotation);
size_t addresses_memory_bytes(const struct addresses *addresses);

#endif
