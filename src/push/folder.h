/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: a folder of files with a total bound; the oldest are removed first. The names'
 * order is that of age. Other files in the folder are left alone. The sender's process.
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
 * The folder behind FD, which the folder then owns, also after an error. Its files are those whose
 * names begin with PREFIX and end in ENDING.
 */
struct xtop_error *folder_open(int fd, const char *prefix, const char *ending, uint64_t max_bytes,
			       struct folder **folderp);
void folder_close(struct folder *folder); /* leaves the files; FOLDER may be NULL */
/* whether the folder has a file of that name, whoever wrote it */
bool folder_has(const struct folder *folder, const char *name);
/*
 * Adds the file NAME, the youngest, of N parts. First removes the oldest until there is room.
 * After an error there is no such file.
 */
struct xtop_error *folder_add(struct folder *folder, const char *name,
			      const struct folder_part *parts, size_t n);
size_t folder_count(const struct folder *folder);
uint64_t folder_bytes(const struct folder *folder);
uint64_t folder_removed(const struct folder *folder); /* number of files removed to make room */
const char *folder_first(const struct folder *folder); /* the oldest file; NULL if there is none */
const char *folder_last(const struct folder *folder);
/*
 * Reads all of the oldest file, at most MAX_BYTES, which the caller frees. NULL: it cannot be read.
 */
void *folder_read_first(const struct folder *folder, size_t max_bytes, size_t *size_bytesp);
void folder_remove_first(struct folder *folder);

#endif
