/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of a snapshot is looked at. The result is a snapshot again, so that every question
 * (src/query) and every exporter takes it as if nothing were left out. It is made once for each
 * snapshot. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_SELECTION_H
#define XTOP_SELECTION_H

#include "xtop/filter.h"

/* A stack counts when it passes all of them. */
struct selection {
	const struct filter *filter; /* the stack has a matching frame; NULL: any stack */
	uint32_t process;            /* frame of the stack's process or thread; FRAME_NONE: any */
	const char *cgroup;          /* of the stack's process, "": none; NULL: any */
	const char *module;          /* the stack has a function of this module; NULL: any */
	/*
	 * Functions of that kind are taken out of the stacks. Their callers get their weight, so
	 * that shares are still shares of all samples.
	 */
	bool hide_kernel, hide_user;
	bool hide_idle; /* in a snapshot of waits: stacks that wait for work (xtop/wait_sites.h) */
};

bool selection_is_all(const struct selection *selection);
/* *TO: FROM with other nodes, or with the same ones when nothing is left out. FROM outlives *TO. */
struct xtop_error *selection_apply(const struct selection *selection, const struct snapshot *from,
				   struct snapshot *to);
void selection_deinit(struct snapshot *to, const struct snapshot *from);

#endif
