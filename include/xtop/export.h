/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots as text: folded stacks, the table of batch mode, statistics. Main's thread. FILE stays
 * the caller's; a write error is found by the caller with ferror() and told there.
 */
#ifndef XTOP_EXPORT_H
#define XTOP_EXPORT_H

#include <stdio.h>

#include "xtop/columns.h"
#include "xtop/snapshot.h"

/*
 * folded.c: lines sorted as LC_ALL=C sort does, integer counts since start or reset. FILTER NULL:
 * all.
 */
struct xtop_error *export_folded(const struct snapshot *snapshot, const struct filter *filter,
				 bool addresses, FILE *file);

/* table.c: what batch mode prints at each interval: a short head, then the function table. */
struct table_options {
	const char *title;           /* domain, type, ...: clean */
	const struct column *sort;
	const struct filter *filter; /* NULL: none */
	bool totals;                 /* percents of all since start instead of live ones */
	bool addresses;
	size_t max_rows;             /* 0: all */
};
struct xtop_error *export_table(const struct snapshot *snapshot,
				const struct table_options *options, FILE *file);

/* stats.c: one JSON object (doc/FORMATS). */
struct stats_info {
	const char *domain; /* as given; any bytes: escaped here */
	const char *type;   /* "pv", "pvh", "hvm", "recording" */
	double wall_s;
	double ui_cpu_s;
	uint64_t rss_bytes;
};
struct xtop_error *export_stats(const struct snapshot *snapshot, const struct stats_info *info,
				FILE *file);

/*
 * file.c: a file that is written when the run ends, but opened when it begins: what cannot be
 * written is told before the guest is touched, and the rights needed are those of the start. That
 * rules out a temporary and rename(), which needs rights on the folder at the end; instead an old
 * file stays as it is until export_stream(), and a new one is empty until then.
 *
 *   export_open ── run fails ──► export_discard: the old file as it was, or no file
 *        └─ export_stream, write ─► export_close: the new content, whole, or (error) no content
 */
struct export_file;

/*
 * PATH for writing, "-" is stdout. Created 0600; an existing file is taken when REPLACE and it has
 * one link and is not somebody else's in a folder all can write. Never through a symlink. With
 * REPLACE also a character device, a FIFO (waits for its reader), and /dev/stdout, /dev/fd/N: those
 * take what comes, as a pipe does.
 */
struct xtop_error *export_open(const char *path, bool replace, struct export_file **filep);
/* Where to write. The first call empties the file. */
struct xtop_error *export_stream(struct export_file *file, FILE **streamp);
/*
 * Flushes, checks and closes (stdout stays open); frees FILE. After a failure nothing half-written
 * is left.
 */
struct xtop_error *export_close(struct export_file *file);
void export_discard(struct export_file *file); /* NULL allowed */

/*
 * Removes an empty file that was created by this run: by unlink(), and where the rights for that are
 * gone through REMOVE, if one was set.
 */
void export_set_remover(void (*remove)(const char *path));
void export_remove(const char *path);

/*
 * PATH created anew, 0600, not through a symlink; an existing one is refused. The descriptor is the
 * caller's.
 */
struct xtop_error *export_create_fd(const char *path, int *fdp);

#endif
