/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares of processes, threads, control groups and modules. Functions of their arguments alone; any
 * thread.
 */
#ifndef XTOP_GROUPS_H
#define XTOP_GROUPS_H

#include "xtop/query/weights.h"

struct group_row {
	/* The process or thread; for a module one of its functions, for a group one process. */
	uint32_t frame;
	const char *name;       /* "": functions without a module, processes without a group */
	const char *cgroup;     /* a process's or group's, "" if none; NULL in other rows */
	bool is_cgroup;         /* the rows below are its processes and their threads */
	bool is_thread;         /* its process is the nearest row of a process above */
	struct weights weights; /* children: a stack counts once */
	/*
	 * Samples in functions without a name, whether or not their place in a file is known. Only
	 * self is set.
	 */
	struct weights unknown;
};

struct groups {
	size_t n;
	struct group_row *rows;
	struct weights whole;
};

/*
 * One row for each process, the hottest first, by children; threads follow their process. TOTALS:
 * by all samples since start or reset; otherwise by live weight. Error: out of memory.
 */
struct xtop_error *groups_build_processes(const struct snapshot *snapshot, bool totals,
					  struct groups *groups);
/*
 * Builds the rows of processes and threads, with a row for each control group above its processes.
 * The hottest group comes first. Processes without a known group are a group, too.
 */
struct xtop_error *groups_build_cgroups(const struct snapshot *snapshot, bool totals,
					struct groups *groups);
/* One row for each module, the hottest first, by self. */
struct xtop_error *groups_build_modules(const struct snapshot *snapshot, bool totals,
					struct groups *groups);
/* Sorts modules by self, or by children; equal ones by name. */
void groups_sort_modules(struct groups *groups, bool totals, bool by_children);
void groups_deinit(struct groups *groups);

#endif
