/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an address in an address space to a frame of the profile. Resolver's thread.
 *
 * An address without a symbol is named by the place in its file where its function begins, if
 * unwind tables tell that; otherwise by its own place in the file. If a part of the file could not
 * be read, the frame is remembered. names_poll() finds out later whether the file has been read
 * again and has a symbol there now. Remembered frames keep no image alive.
 */
#ifndef XTOP_PROFILE_NAMES_H
#define XTOP_PROFILE_NAMES_H

#include <stdbool.h>

#include "xtop/base/limit.h"
#include "xtop/profile/frames.h"
#include "xtop/profile/snapshot.h"
#include "xtop/symbol/image.h"

/*
 * Slots of a cache from address to frame id. It is direct-mapped and not the hash table of
 * hash.h: there is a look-up for each frame of each sample, most samples come from few
 * addresses, and a miss costs only time.
 */
#define NAMES_CACHE_SLOTS LIMIT(16384, 256)
#define NAMES_MAX_LATE    LIMIT(16384, 64) /* the most frames that wait for a better name */
#define NAMES_MAX_PLACES  LIMIT(4096, 64)  /* the most functions with struct name_places */

enum name_quality {
	NAME_SYMBOL,   /* a function's name */
	NAME_FUNCTION, /* "libc.so.6+0x27240", where a function without a name begins */
	NAME_OFFSET,   /* "libc.so.6+0x2724a", or "[jit]": where its function begins is not known */
	NAME_UNKNOWN,  /* nothing is known of the address */
};

struct name_answer {
	const struct mapping *mapping; /* NULL: none. Lives until the space changes. */
	uint32_t frame;
	uint32_t distance; /* bytes from the function's start; 0 also if the start is not known */
	uint32_t size_bytes; /* the function's size; 0: where it begins and ends is not known */
	enum name_quality quality : 8;
	enum unknown_cause cause : 8; /* why there is no symbol, unless NAME_SYMBOL */
	enum frame_kind kind : 8;     /* FRAME's kind */
};

/*
 * Whether ANSWER is unnamed code that was compiled at run time, all of which is one frame: nothing
 * tells its functions apart, so a distance in that frame means nothing.
 */
static inline bool name_is_jit(const struct name_answer *answer)
{
	return answer->quality != NAME_SYMBOL && answer->cause == UNKNOWN_JIT;
}

struct names;

struct xtop_error *names_create(struct frames *frames, struct names **namesp);
void names_destroy(struct names *names); /* NULL allowed */

/*
 * The frame of ADDRESS in SPACE (NULL: nothing is known). KIND is FRAME_KIND_KERNEL or _USERLAND.
 * BY_OFFSET: an address without a symbol is named by its place in the file; otherwise it is
 * unknown. The sample's weight TICKS counts for the place in the function. The answer is valid
 * until the next call.
 */
const struct name_answer *names_find(struct names *names, const struct space *space,
				     uint64_t address, enum frame_kind kind, bool by_offset,
				     double ticks);

/*
 * Looks once more for symbols that were missing. True: some are known now, and until the next call
 * names_find_better() tells which frames have a better name.
 */
bool names_poll(struct names *names);
/* The frame that takes the place of FRAME, mostly FRAME itself. */
uint32_t names_find_better(void *names, uint32_t frame);
/*
 * The frame that takes the place of FRAME. *SHIFT becomes the difference that is added to distances
 * from the function's start. It is untouched if the result is FRAME.
 */
uint32_t names_find_better_shifted(void *names, uint32_t frame, uint32_t *shift);

/* Fills in the places of SNAPSHOT, which are counted since the last names_reset_places(). */
void names_get_places(const struct names *names, struct snapshot *snapshot);
void names_reset_places(struct names *names);

#endif
