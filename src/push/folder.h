/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: a folder of files with a bound for their total size; the oldest files are
 * removed first. Names sort by age. Other files in the folder are left alone. The sender's process.
 */
#ifndef PUSH_FOLDER_H
#define PUSH_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"

#define FOLDER_NAME_BYTES 200
#define FOLDER_MAX_FILES  65536

struct folder;

/* A part of a file's bytes. */
struct folder_part {
	const void *bytes;
	size_t size_bytes;
};

/*
 * Opens the folder FD. FD belongs to the folder from now on, also after an error. The folder's
 * files are those whose names begin with PREFIX and end in ENDING.
 */
struct xtop_error *folder_open(int fd, const char *prefix, const char *ending, uint64_t max_bytes,
			       struct folder **folderp);
void folder_close(struct folder *folder); /* NULL allowed; the files stay */
/* Whether there is a file NAME, whoever wrote it. */
bool folder_has(const struct folder *folder, const char *name);
/*
 * Adds the file NAME, which has N parts, as the youngest. First removes the oldest files until
 * there is room. After an error there is no such file.
 */
struct xtop_error *folder_add(struct folder *folder, const char *name,
			      const struct folder_part *parts, size_t n);
size_t folder_count(const struct folder *folder);
uint64_t folder_bytes(const struct folder *folder);
uint64_t folder_removed(const struct folder *folder); /* files removed to make room */
/* The names of the oldest and the youngest file. NULL: the folder is empty. */
const char *folder_first(const struct folder *folder);
const char *folder_last(const struct folder *folder);
/*
 * Reads all bytes of the oldest file, which the caller frees. NULL: the file cannot be read, or has
 * more than MAX_BYTES.
 */
void *folder_read_first(const struct folder *folder, size_t max_bytes, size_t *size_bytesp);
void folder_remove_first(struct folder *folder);

#endif
