/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to sample/: stack bytes out of the stopped guest. Sampler's thread. */
#ifndef SAMPLE_COPY_H
#define SAMPLE_COPY_H

#include "xtop/control.h"
#include "xtop/guest.h"
#include "xtop/sample.h"

#define COPY_UNKNOWN_BYTES 4096 /* copied of a stack if nothing tells its end */

struct copier {
	const struct guest_info *guest;
	struct frame_cache *cache;
	const struct control *control;
	struct linux_stacks stacks; /* copy_poll_stacks(); current_per_cpu 0: no Linux */
	uint64_t now_ns;            /* for copy_prepare() */
};

/* What was copied of a vCPU besides its registers. */
struct copied {
	size_t size_bytes; /* of its pieces as they lie in the record */
	unsigned n_stacks;
	uint64_t task;
	frame_t code_frame; /* of user code of a Linux guest; 0: not read */
	enum sample_cut cut, user_cut;
	bool missed; /* a page was not mapped yet: copy_prepare() helps the next copy */
};

/*
 * Outside the stop, once a tick: reads what the resolver has written about the stacks of a Linux
 * guest. A description with impossible numbers counts as none.
 */
void copy_poll_stacks(struct copier *copier);

/*
 * In the stop: copies the stacks of a vCPU with REGS, as far as they are known to be live, to TO.
 * USER: the vCPU ran user code. TO has room for SAMPLE_MAX_STACKS heads and
 * SAMPLE_STACK_LIMIT_BYTES. A page that is not mapped yet ends the copy of its stack.
 */
void copy_vcpu(struct copier *copier, const struct registers *regs, bool user, char *to,
	       struct copied *copied);

/* Outside the stop: maps the pages that copy_vcpu() would need for REGS now. */
void copy_prepare(struct copier *copier, const struct registers *regs, bool user);

#endif
