/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and folders that xtop reads with the rights of the user who called it. They are opened at
 * start, and parsed after xtop has given up its rights, once for each guest that is picked. Main's
 * thread.
 */
#ifndef XTOP_INPUTS_H
#define XTOP_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/base/error.h"

struct inputs;

struct xtop_error *inputs_create(struct inputs **inputsp);
/* INPUTS may be NULL. */
void inputs_destroy(struct inputs *inputs);
/*
 * Opens PATH for reading now. inputs_open() reports a failure of this open. PATH outlives INPUTS.
 */
struct xtop_error *inputs_add(struct inputs *inputs, const char *path);
/*
 * As open(PATH, O_RDONLY | O_CLOEXEC | O_NOCTTY), but returns a duplicate of the descriptor that
 * inputs_add() opened for this name, if there is one. INPUTS may be NULL: there is none. The caller
 * closes the duplicate. Reading begins at the start of the file. All duplicates of one name share
 * one file offset: read one to its end, or use pread(), before you open the next.
 */
int inputs_open(const struct inputs *inputs, const char *path);
/*
 * Opens a file as inputs_open() does, to be read at offsets and again for each guest. A pipe allows
 * neither: for a pipe *FDP is a copy in memory, of at most MAX_BYTES, and *IS_PIPEP is true. What
 * gzip, xz or zstd have packed is unpacked to such a copy. Errors do not name PATH.
 */
struct xtop_error *inputs_open_copy(struct inputs *inputs, const char *path, uint64_t max_bytes,
				    int *fdp, bool *is_pipep);

#endif
