/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to guest/: what is left of an xtop whose processes were all killed at the same instruction.
 *
 * While a guest is sampled there is a file for it, which the sampler maps and marks before each stop
 * and after each release. All processes of that xtop hold a lock on it (flock(2): it belongs to the
 * open file that they inherited, and goes with the last of them). A file that nobody has locked is
 * what a killed xtop left, and its mark says whether a pause of ours may be left, too.
 *
 *   DIRECTORY/DOMID.UUID.PID      mode 0600, struct pause_record
 */
#ifndef GUEST_PAUSE_RECORD_H
#define GUEST_PAUSE_RECORD_H

#include <stdbool.h>

#include "xtop/domctl.h"

#define PAUSE_DIRECTORY "/run/xtop"

struct pause_record {
	char magic[8];
	uint32_t domid, pid;
	char uuid[40];
	struct pause_mark mark; /* written by the sampler at each stop */
};

/* An open record; the process that makes it hands it on by fork(). */
struct pause_file {
	struct pause_record *record; /* NULL: could not be made, and there is none */
	char *path;
	int fd;
};

/*
 * In DIRECTORY, which is made if its parent is there and is taken only if it is ours alone. Without
 * one sampling goes on: it is the last of several nets.
 */
void pause_file_create(const char *directory, const struct guest_info *info,
		       struct pause_file *file);
void pause_file_remove(struct pause_file *file); /* after the release */

/* What was found of a domain. */
struct pause_leftovers {
	unsigned live;    /* records of an xtop that still samples it */
	unsigned stale;   /* of others; removed */
	unsigned stopped; /* of these: killed while the guest stood still, and it has not run since */
	unsigned run;     /* as above, but the guest has run since: the pause is not that xtop's */
	uint32_t pid;     /* of the last one of these */
};

/*
 * Looks for records of the domain of INFO, which has used CPU_TIME_NS by now, and removes those of
 * dead ones.
 */
void pause_find_leftovers(const char *directory, const struct guest_info *info,
			  uint64_t cpu_time_ns, struct pause_leftovers *found);

#endif
