/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to sample/: stack bytes out of the stopped guest. Sampler's thread. */
#ifndef SAMPLE_COPY_H
#define SAMPLE_COPY_H

#include "xtop/control.h"
#include "xtop/guest.h"
#include "xtop/sample.h"

#define COPY_UNKNOWN_BYTES 4096 /* of a stack whose end was not learned, and nothing else tells */

struct copier {
	const struct guest_info *guest;
	struct frame_cache *cache;
	const struct control *control;
	struct stack_recipe recipe; /* copy_follow(); without current_per_cpu there is none */
	uint64_t now_ns;            /* for copy_prepare() */
};

/* What was taken of a vCPU besides its registers. */
struct copied {
	size_t size_bytes; /* of its pieces as they lie in the record */
	unsigned n_stacks;
	uint64_t task;
	frame_t code_frame; /* of user code of a Linux guest; 0: not read */
	enum sample_cut cut, user_cut;
	bool missed; /* a page was not mapped yet: copy_prepare() helps the next */
};

/* Takes the recipe that the resolver has written, if any, and if its numbers can be. Once a tick. */
void copy_follow(struct copier *copier);

/*
 * In the stop: the stacks of a vCPU with REGS that ran user code or not, as far as they are known
 * to live, to TO with room for SAMPLE_MAX_STACKS heads and SAMPLE_STACK_LIMIT_BYTES. Pages that are
 * not mapped yet are not waited for.
 */
void copy_vcpu(struct copier *copier, const struct registers *regs, bool user, char *to,
	       struct copied *copied);

/* Outside the stop: maps what copy_vcpu() would need for REGS now. */
void copy_prepare(struct copier *copier, const struct registers *regs, bool user);

#endif
