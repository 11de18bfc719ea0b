/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What part of a snapshot is looked at. The result is a snapshot again, so that every question
 * (xtop/functions.h, xtop/call_tree.h) and every exporter takes it as if nothing were left out; it
 * is made once per snapshot. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_SELECTION_H
#define XTOP_SELECTION_H

#include "xtop/functions.h"

/* A stack counts when it passes all of them. */
struct selection {
	const struct filter *filter; /* has a frame that matches; NULL: any */
	uint32_t process;            /* frame of a process or thread it must be of; FRAME_NONE: any */
	const char *module;          /* has a function of that module; NULL: any */
	/*
	 * Functions taken out of the stacks. What they took is their caller's then, so that shares
	 * still are of all.
	 */
	bool hide_kernel, hide_user;
};

bool selection_is_all(const struct selection *selection);
/* *TO: FROM with other nodes, or the same when nothing is left out. FROM outlives it. */
struct xtop_error *selection_apply(const struct selection *selection, const struct snapshot *from,
				   struct snapshot *to);
void selection_release(struct snapshot *to, const struct snapshot *from);

#endif
