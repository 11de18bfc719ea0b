/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of a snapshot is looked at. The result is again a snapshot, so every question
 * (src/query) and every exporter uses it like any other. It is built once for each snapshot.
 * Functions of their arguments alone; any thread.
 */
#ifndef XTOP_SELECTION_H
#define XTOP_SELECTION_H

#include "xtop/query/filter.h"

/* A stack counts when it meets all of these conditions. */
struct selection {
	const struct filter *filter; /* the stack has a matching frame; NULL: any stack */
	uint32_t process;            /* frame of the process or thread; FRAME_NONE: any */
	const char *cgroup;          /* control group of the process, "": none; NULL: any */
	const char *module;          /* the stack has a function of this module; NULL: any */
	/*
	 * Functions of this kind are removed from the stacks. Their callers get their weight, so
	 * shares are still shares of all samples.
	 */
	bool hide_kernel, hide_user;
	bool hide_idle; /* a snapshot of waits does not count stacks that wait for work */
};

/* Whether nothing is left out. */
bool selection_is_all(const struct selection *selection);
/*
 * *TO becomes FROM with nodes of its own, or with FROM's nodes when nothing is left out. FROM
 * outlives *TO. Error: out of memory.
 */
struct xtop_error *selection_apply(const struct selection *selection, const struct snapshot *from,
				   struct snapshot *to);
void selection_deinit(struct snapshot *to, const struct snapshot *from);

#endif
