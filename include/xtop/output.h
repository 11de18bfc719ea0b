/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a run writes. Main's thread. */
#ifndef XTOP_OUTPUT_H
#define XTOP_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "xtop/error.h"

/*
 * A file that is written when the run ends, but opened when it begins: what cannot be
 * written is told before the guest is touched, and the rights needed are those of the start. That
 * rules out a temporary and rename(), which needs rights on the folder at the end; instead an old
 * file stays as it is until output_stream(), and a new one is empty until then.
 *
 *   output_open ── run fails ──► output_discard: the old file as it was, or no file
 *        └─ output_stream, write ─► output_close: the new content, whole, or (error) no content
 */
struct output_file;

/*
 * PATH for writing, "-" is stdout. Created 0600; an existing file is taken when REPLACE and it has
 * one link and is not somebody else's in a folder all can write. Never through a symlink. With
 * REPLACE also a character device, a FIFO (waits for its reader), and /dev/stdout, /dev/fd/N: those
 * take what comes, as a pipe does.
 */
struct xtop_error *output_open(const char *path, bool replace, struct output_file **filep);
/* Where to write. The first call empties the file. */
struct xtop_error *output_stream(struct output_file *file, FILE **streamp);
/*
 * Flushes, checks and closes (stdout stays open); frees FILE. After a failure nothing half-written
 * is left.
 */
struct xtop_error *output_close(struct output_file *file);
void output_discard(struct output_file *file); /* NULL allowed */

/*
 * Removes an empty file that was created by this run: by unlink(), and where the rights for that are
 * gone through REMOVE, if one was set.
 */
void output_set_remover(void (*remove)(const char *path));
void output_remove(const char *path);

/*
 * PATH created anew, 0600, not through a symlink; an existing one is refused. The descriptor is the
 * caller's.
 */
struct xtop_error *output_create_fd(const char *path, int *fdp);

#endif
