/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a run writes. Main's thread. */
#ifndef XTOP_OUTPUT_H
#define XTOP_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "xtop/base/error.h"

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

/* The process with rights, for a main that has given up its own. */
struct output_opener {
	/*
	 * Opens the file PATH, which was named while xtop runs. REPLACE allows a PATH that exists.
	 * *EXISTSP becomes true if PATH was refused because it exists, and REPLACE would allow it.
	 */
	struct xtop_error *(*open)(const char *path, bool replace, int *fdp, bool *existsp);
	/* Removes PATH if it is the file that FD has open for writing, and empty. */
	void (*remove)(const char *path, int fd);
};

/*
 * Opens PATH for writing; "-" is stdout. A new file has mode 0600. An existing file is opened only
 * if REPLACE is true, the file has one link, and the file does not belong to another user in a
 * folder that all can write to. PATH itself must not be a symbolic link; for links on the way see
 * output_folder_open(). REPLACE also allows a character device, a FIFO (this waits for its reader),
 * and /dev/stdout and /dev/fd/N, which are written to like a pipe. OPENER removes a new file after
 * a failure, if this process cannot; NULL: nobody else can. OPENER outlives the file.
 */
struct xtop_error *output_open(const char *path, bool replace, const struct output_opener *opener,
			       struct output_file **filep);
/* As output_open(), for a file that is named while xtop runs: OPENER opens it. */
struct xtop_error *output_open_named(const char *path, bool replace,
				     const struct output_opener *opener, bool *existsp,
				     struct output_file **filep);
/* The stream to write to. The first call empties the file. */
struct xtop_error *output_begin(struct output_file *file, FILE **streamp);
/*
 * Flushes, checks and closes (stdout stays open); frees FILE. After a failure no partial file is
 * left.
 */
struct xtop_error *output_close(struct output_file *file);
void output_discard(struct output_file *file); /* NULL allowed */
uint64_t output_size(const struct output_file *file); /* bytes written so far */

/*
 * Flushes STREAM, and finds errors that a file system reports only when a file is closed, as NFS,
 * 9p, FUSE and quotas do (close(2)). To find these errors, the function closes a duplicate of the
 * descriptor, so that the caller can still empty the file. Returns false if something was not
 * written; errno says why, or is 0.
 */
bool output_flush(FILE *stream);
/* Writes all of BYTES to FD. False: not all were written; errno says why. */
bool output_write(int fd, const void *bytes, size_t size_bytes);

/* A file, whatever its name is. No number of a file is 0. */
struct output_id {
	dev_t device;
	ino_t inode; /* may be another file's when this one has no name and nobody has it open */
};

struct output_id output_id(int fd);
/* Removes NAME in FOLDER if it is MADE, a file of this user's that is empty. False: it stays. */
bool output_remove_at(int folder, const char *name, const struct output_id *made);
/*
 * Removes PATH if it is the file of FD, and empty; follows no link to it. If this process has no
 * right to, OPENER does; it may be NULL.
 */
void output_remove(const char *path, int fd, const struct output_opener *opener);

/* --- files that are named while xtop runs ----------------------------------------------------- */

/*
 * While xtop runs, main may have no right to open files for writing. The broker's child opens the
 * files for main and does not trust main: a name ends in one of ENDINGS, a list that NULL ends.
 * Such endings belong to profiles, while a program may run or read a Makefile, x.py or x.json that
 * appears beside it. No part of the path may begin with a dot, as do the files that shells and
 * desktops run. REPLACE and *EXISTSP: see struct output_opener.
 */
struct xtop_error *output_open_named_fd(const char *path, const char *const *endings, bool replace,
					int *fdp, bool *existsp);
/* Removes MADE, which output_open_named_fd() has created as PATH, if it is empty. */
void output_remove_named(const char *path, const struct output_id *made);

/*
 * Creates PATH with mode 0600. An existing PATH, also a symbolic link, is an error. The caller
 * closes the descriptor.
 */
struct xtop_error *output_create_fd(const char *path, int *fdp);

/*
 * Opens the folder of PATH with O_PATH, and sets *NAMEP to the last component of PATH, which may be
 * empty. A symbolic link on the way is followed only if the link belongs to root, to this process's
 * user or to the user who called sudo: nobody else decides where this process writes. Returns -1
 * and errno if the folder cannot be opened; ELOOP: a link of another user, too.
 */
int output_folder_open(const char *path, const char **namep);

#endif
