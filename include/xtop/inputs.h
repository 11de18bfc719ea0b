/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and folders to read that only who called xtop may open: opened at start, parsed when the
 * rights are gone, and again for each guest that is picked later. Main's thread.
 */
#ifndef XTOP_INPUTS_H
#define XTOP_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/error.h"

/* Opens PATH for reading now, or keeps what is wrong with it for who takes it. It outlives the inputs. */
struct xtop_error *inputs_add(const char *path);
/*
 * As open(PATH, O_RDONLY | O_CLOEXEC | O_NOCTTY), but of what was opened under this name, if
 * something was. The descriptor is the caller's, at the beginning; all of one name share their
 * place in the file, so that one is read to its end, or by pread(), before the next is taken.
 */
int inputs_take(const char *path);
/*
 * The same for what is read at offsets, and for each guest anew. A pipe can neither: *FDP is a copy of
 * what came out of it, in memory, of at most MAX_BYTES, and *IS_PIPEP says so. Errors name no path.
 */
struct xtop_error *inputs_take_copy(const char *path, uint64_t max_bytes, int *fdp, bool *is_pipep);
void inputs_close(void);

#endif
