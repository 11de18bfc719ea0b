/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares of processes, threads, control groups and modules. Functions of their arguments alone; any
 * thread.
 */
#ifndef XTOP_GROUPS_H
#define XTOP_GROUPS_H

#include "xtop/weights.h"

struct group_row {
	/* The process or thread; for a module one of its functions, for a group a process. */
	uint32_t frame;
	const char *name;       /* "" for functions without a module, processes without a group */
	const char *cgroup;     /* of a process, and of the group itself; "" if none; else NULL */
	bool is_cgroup;         /* rows below are its processes and their threads */
	bool is_thread;         /* of the nearest row above that is a process */
	struct weights weights; /* children: a stack counts once */
	/*
	 * Self only: samples in functions without a name, whether or not their place in a file is
	 * known.
	 */
	struct weights unknown;
};

struct groups {
	size_t n;
	struct group_row *rows;
	struct weights whole;
};

/*
 * The hottest process first, by children; threads stand below their process. TOTALS: by all samples
 * since start or reset; otherwise by live weight.
 */
struct xtop_error *groups_build_processes(const struct snapshot *snapshot, bool totals,
					  struct groups *groups);
/*
 * The same, with a row for each control group above its processes. The hottest group first; the
 * processes that are in no group, or in an unknown one, are a group as well.
 */
struct xtop_error *groups_build_cgroups(const struct snapshot *snapshot, bool totals,
					struct groups *groups);
/* The hottest module first, by self. */
struct xtop_error *groups_build_modules(const struct snapshot *snapshot, bool totals,
					struct groups *groups);
void groups_deinit(struct groups *groups);

#endif
