/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an address in a space to a frame of the profile. Resolver's thread.
 *
 * What has no name gets one from where it lies in its file. If some of the file was missing it is
 * remembered: when the file has been read again and more is known, names_renew() tells what is called
 * what from then on. What is remembered keeps no image alive.
 */
#ifndef XTOP_PROFILE_NAMES_H
#define XTOP_PROFILE_NAMES_H

#include <stdbool.h>

#include "xtop/frames.h"
#include "xtop/image.h"
#include "xtop/limit.h"
#include "xtop/snapshot.h"

/* Address -> frame id, direct-mapped: most samples come from few addresses. */
#define NAMES_CACHE_SLOTS LIMIT(16384, 256)
#define NAMES_MAX_LATE    LIMIT(16384, 64) /* remembered for a better name, until it has one or its file is gone */

enum name_quality {
	NAME_SYMBOL,  /* of a function */
	NAME_OFFSET,  /* "libc.so.6+0x2724a", or "[jit]": code whose function nobody can name */
	NAME_UNKNOWN, /* nothing is known of the address */
};

struct name_answer {
	enum name_quality quality;
	enum unknown_cause cause; /* unless NAME_SYMBOL */
};

struct names;

struct xtop_error *names_create(struct frames *frames, struct names **namesp);
void names_destroy(struct names *names); /* NULL allowed */

/*
 * The frame of ADDRESS in SPACE (NULL: nothing is known). KIND is FRAME_KIND_KERNEL or _USERLAND.
 * BY_OFFSET: what has no symbol is named by its place in the file; else it is unknown.
 */
uint32_t names_find(struct names *names, const struct space *space, uint64_t address,
		    enum frame_kind kind, bool by_offset, struct name_answer *answer);

/*
 * Looks for what had no symbol once more. True: some have one now, and names_now() says which frame
 * has become which; until the next call.
 */
bool names_renew(struct names *names);
uint32_t names_now(void *names, uint32_t frame);

#endif
