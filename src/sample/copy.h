/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to sample/: stack bytes out of the stopped guest. Sampler's thread. */
#ifndef SAMPLE_COPY_H
#define SAMPLE_COPY_H

#include "xtop/control.h"
#include "xtop/guest.h"

#define COPY_UNKNOWN_BYTES 4096 /* of a stack whose top was not learned yet */

struct copier {
	struct guest *guest;
	struct frame_cache *cache;
	const struct control *control;
	uint64_t now_ns; /* for copy_prepare() */
};

/*
 * In the stop: the stack of REGS from its stack pointer on, as far as it is known to live, into TO
 * with room for SAMPLE_STACK_LIMIT_BYTES. Pages that are not mapped yet are not waited for: the
 * copy ends there with CUT_NOT_MAPPED, and copy_prepare() afterwards helps the next.
 */
enum sample_cut copy_stack(struct copier *copier, const struct registers *regs, char *to,
			   size_t *size_bytesp);

/* Outside the stop: maps what copy_stack() would need for REGS now. */
void copy_prepare(struct copier *copier, const struct registers *regs);

#endif
