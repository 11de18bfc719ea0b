/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The locations of a pprof file. A location is a function; or a function that a compiler has
 * inlined, and the location of the function around it. It has one line for each of them.
 */
#ifndef EXPORT_PPROF_LOCATIONS_H
#define EXPORT_PPROF_LOCATIONS_H

#include <stddef.h>

#include "xtop/base/hash.h"
#include "xtop/profile/frames.h"

struct pprof_place {
	uint32_t frame;
	uint32_t outer; /* the number of the location around it; 0: it is not inlined */
};

struct pprof_locations {
	struct pprof_place *list; /* by number, from 1 on */
	size_t n, capacity;
	uint32_t *alone; /* by frame: its number, if it is not inlined; 0: none yet */
	struct hash_table inlined;
	bool failed;     /* out of memory: some have the number 0, so the file must not be used */
};

/* N_FRAMES: ids of frames are below. */
bool pprof_locations_init(struct pprof_locations *locations, uint32_t n_frames);
void pprof_locations_deinit(struct pprof_locations *locations);
uint32_t pprof_locations_get(struct pprof_locations *locations, uint32_t frame, uint32_t outer);

/* The length of the mark that the name of an inlined function ends in (line_expander.h); or 0. */
size_t pprof_inlined_mark(const struct frame *frame);
/* FRAME is inlined into OUTER, which called it: both have the same code. */
bool pprof_is_inlined(const struct frame *frame, const struct frame *outer);

#endif
