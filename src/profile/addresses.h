/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many samples hit which instruction: counts by function and by distance from the function's
 * start, in bytes. Only innermost frames count. Live weights decay as the profile's do. There are
 * at most ADDRESSES_MAX counts. When there is no room, the lightest quarter is dropped. The
 * function still has its weight in the profile, so an annotation can say how much is missing.
 * Resolver's thread.
 */
#ifndef PROFILE_ADDRESSES_H
#define PROFILE_ADDRESSES_H

#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/profile/annotation.h"

#define ADDRESSES_MAX LIMIT(32768, 64) /* 2 MiB with their table */

struct addresses;

/* HALF_LIFE_NS 0: no decay. */
struct xtop_error *addresses_create(uint64_t half_life_ns, struct addresses **addressesp);
void addresses_destroy(struct addresses *addresses); /* NULL allowed */
/* Adds a sample of TICKS at TIME_NS. Best effort: without memory nothing is counted. */
void addresses_add(struct addresses *addresses, uint32_t frame, uint32_t distance,
		   uint64_t time_ns, double ticks);
void addresses_reset(struct addresses *addresses);
/*
 * Frames got better names. FIND_BETTER returns the frame that takes FRAME's place, mostly FRAME
 * itself, and adds to *SHIFT, which is 0 before, what the distances grow by.
 */
void addresses_rename(struct addresses *addresses,
		      uint32_t (*find_better)(void *context, uint32_t frame, uint32_t *shift),
		      void *context);
/* Gives ANNOTATION the counts of its frame, with live weights at TIME_NS. Error: out of memory. */
struct xtop_error *addresses_get(const struct addresses *addresses, uint64_t time_ns,
				 struct annotation *annotation);
size_t addresses_memory_bytes(const struct addresses *addresses);

#endif
