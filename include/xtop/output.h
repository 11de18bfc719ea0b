/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a run writes. Main's thread. */
#ifndef XTOP_OUTPUT_H
#define XTOP_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "xtop/error.h"

/*
 * A file that is opened when the run begins, but written when the run ends. So the user hears of a
 * file that cannot be written before the guest is touched, and xtop may have given up its rights at
 * the end. A temporary file with rename() would need rights on the folder at the end. Instead an
 * old file stays as it is until output_begin(), and a new file is empty until then.
 *
 *   output_open ── run fails ──► output_discard: the old file as it was, or no file
 *        └─ output_begin, write ─► output_close: all of the new content, or (error) no content
 */
struct output_file;

/*
 * Opens PATH for writing; "-" is stdout. A new file has mode 0600. An existing file is opened only
 * with REPLACE, if it has one link, and does not belong to another user in a folder that all can
 * write to. A symbolic link is never followed. REPLACE also allows a character device, a FIFO (this
 * waits for its reader), and /dev/stdout and /dev/fd/N, which are written to like a pipe.
 */
struct xtop_error *output_open(const char *path, bool replace, struct output_file **filep);
/* The stream to write to. The first call empties the file. */
struct xtop_error *output_begin(struct output_file *file, FILE **streamp);
/*
 * Flushes, checks and closes (stdout stays open); frees FILE. After a failure no partial file is
 * left.
 */
struct xtop_error *output_close(struct output_file *file);
void output_discard(struct output_file *file); /* NULL allowed */

/*
 * Writes what STREAM holds, and asks the file system for errors that it reports only when a file is
 * closed: NFS, 9p, FUSE and quotas do (close(2)). For this a duplicate of the descriptor is closed,
 * so that the caller can still empty the file. False: something was not written; errno says why, or
 * is 0.
 */
bool output_flush(FILE *stream);

/*
 * output_remove() removes an empty file that this run has created: by unlink(), or through REMOVE,
 * if that is set, when this process has no rights to unlink().
 */
void output_set_remover(void (*remove)(const char *path));
void output_remove(const char *path);

/*
 * Creates PATH with mode 0600. An existing PATH, also a symbolic link, is an error. The caller
 * closes the descriptor.
 */
struct xtop_error *output_create_fd(const char *path, int *fdp);

#endif
