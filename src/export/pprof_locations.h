/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The locations of a pprof file. A location is a function, or an inlined function together with the
 * location of the function around it. A location has one line for each of its functions.
 */
#ifndef EXPORT_PPROF_LOCATIONS_H
#define EXPORT_PPROF_LOCATIONS_H

#include <stddef.h>

#include "xtop/base/hash.h"
#include "xtop/profile/frames.h"

struct pprof_place {
	uint32_t frame;
	uint32_t outer; /* number of the location around; 0 if the function is not inlined */
};

struct pprof_locations {
	struct pprof_place *list; /* locations by number, from 1 on */
	size_t n, capacity;
	uint32_t *alone; /* numbers of frames that are not inlined, by frame; 0: none yet */
	struct hash_table inlined;
	bool failed;     /* memory was out: some numbers are 0, so the file must not be used */
};

/* Ids of frames are below N_FRAMES. */
bool pprof_locations_init(struct pprof_locations *locations, uint32_t n_frames);
void pprof_locations_deinit(struct pprof_locations *locations);
uint32_t pprof_locations_get(struct pprof_locations *locations, uint32_t frame, uint32_t outer);

/* The length of the mark at the end of an inlined function's name (line_expander.h); else 0. */
size_t pprof_inlined_mark(const struct frame *frame);
/* FRAME is inlined into OUTER, which called it: both have the same code. */
bool pprof_is_inlined(const struct frame *frame, const struct frame *outer);

#endif
