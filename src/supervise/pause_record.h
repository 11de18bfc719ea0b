/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: finds out whether an xtop has left a guest paused, because all its
 * processes were killed at the same instruction.
 *
 * While a guest is sampled there is a file for it. The sampler maps this file, and writes a mark to
 * it before each stop and after each release. All processes of that xtop hold a lock on the file
 * (flock(2): the lock belongs to the open file that they have inherited, and ends with the last of
 * them). A file that nobody has locked was left by a killed xtop. Its mark says whether the guest
 * may still be paused.
 *
 *   DIRECTORY/DOMID.UUID.PID      mode 0600, struct pause_record
 */
#ifndef SUPERVISE_PAUSE_RECORD_H
#define SUPERVISE_PAUSE_RECORD_H

#include <stdbool.h>

#include "xtop/base/error.h"
#include "xtop/xen/domctl.h"

#define PAUSE_DIRECTORY "/run/xtop"

struct pause_record {
	char magic[8];
	uint32_t domid, pid;
	char uuid[40];
	struct pause_mark mark; /* mark that the sampler writes at each stop */
};

/* An open record. Child processes inherit it. */
struct pause_file {
	struct pause_record *record; /* the mapped file; NULL: it could not be made */
	char *path;
	int fd;
};

/*
 * Makes a file in DIRECTORY, in the name of the process PID. DIRECTORY is made if its parent
 * exists, and used only if nobody else can write to it. Best effort: without a file sampling goes
 * on, since the file is only the last of several safety nets.
 *
 * Error: SHARED is false, and another xtop samples the domain, or starts at this moment and takes
 * long. If two start at the same moment, one of them makes its file first, and the other finds it.
 */
struct xtop_error *pause_file_create(const char *directory, const struct guest_info *info,
				     uint32_t pid, bool shared, struct pause_file *file);
/* Whether a record can be made in DIRECTORY: makes one of no domain, and removes it. */
struct xtop_error *pause_try_directory(const char *directory);
void pause_file_remove(struct pause_file *file); /* call it after the release */

/*
 * Forgets the record without removing its file: another process has the file open, too, and removes
 * it. The lock lasts until no process has the file open.
 */
void pause_file_close(struct pause_file *file);

#define PAUSE_MAX_FOUND  16
#define PAUSE_NAME_BYTES 80

/* The records of a domain that were found. */
struct pause_found {
	unsigned live;    /* records of an xtop that samples the domain, or reads records */
	unsigned stale;   /* records of a dead xtop; at most PAUSE_MAX_FOUND */
	unsigned stopped; /* stale records with a stop after which the guest has not run */
	unsigned run;     /* stale records with a stop after which the guest has run */
	uint32_t pid;     /* process of the last xtop in `stopped` or `run` */
	int folder;       /* the folder of records; -1: none */
	struct {
		char name[PAUSE_NAME_BYTES];
		int fd;           /* holds the lock, so that no other xtop judges the record */
	} files[PAUSE_MAX_FOUND]; /* files of the stale records */
};

/*
 * Finds the records of the domain of INFO, which has used CPU_TIME_NS until now. Stale records stay
 * where they are, locked, until pause_close_records(): this process may be killed before it has
 * released the guest, and then the next xtop must find the records again.
 */
void pause_find_records(const char *directory, const struct guest_info *info, uint64_t cpu_time_ns,
			struct pause_found *found);
/* Closes FOUND. If REMOVE is set, removes the stale records: no pause of theirs is left. */
void pause_close_records(struct pause_found *found, bool remove);

#endif
