/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to import/: the bytes of a profile file, unpacked if the file is packed by gzip, xz or
 * zstd. They are read from front to back, so the file may be a pipe. Main's thread.
 */
#ifndef IMPORT_SOURCE_H
#define IMPORT_SOURCE_H

#include <stdbool.h>
#include <stdio.h>

#include "xtop/base/error.h"

struct import_source;

/*
 * The caller has already read the first N_HEAD bytes of FILE, which are in HEAD, and closes FILE.
 */
struct xtop_error *source_create(FILE *file, const void *head, size_t n_head,
				 struct import_source **sourcep);
void source_destroy(struct import_source *source); /* NULL allowed */
/*
 * Reads up to CAPACITY bytes into BUFFER. *NP is less than CAPACITY only at the end of the file. An
 * error names the place in the packed file.
 */
struct xtop_error *source_read(struct import_source *source, void *buffer, size_t capacity,
			       size_t *np);
/* For readers that read only once: what a pipe has is not kept any longer. */
void source_forget(struct import_source *source);
/* Begins with the file's first byte again. */
struct xtop_error *source_restart(struct import_source *source);

#endif
