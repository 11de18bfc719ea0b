/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads profiles that xtop or other tools have written: folded stacks and pprof. They become a
 * profile of xtop's own, so that queries, screen and export work on them. Such a profile has no raw
 * samples, no times and no vCPUs. Main's thread, without privilege. Files are hostile.
 */
#ifndef XTOP_IMPORT_H
#define XTOP_IMPORT_H

#include <stdio.h>

#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/profile/frames.h"
#include "xtop/profile/snapshot.h"

/*
 * The most nodes of an imported profile. The limit is higher than for a guest's profile: a file may
 * have more different stacks than a guest shows in an hour.
 */
#define IMPORT_MAX_NODES LIMIT(1U << 20, 1U << 8)

struct import;

/*
 * Reads FILE to its end. The caller has already read the first N_HEAD bytes, which are in HEAD. The
 * file may be compressed by gzip. Memory is bounded, whatever the file's size. FRAMES gets the
 * names, and outlives the import.
 *
 * Errors name the place in the file, not the file. A damaged file is refused as a whole.
 */
struct xtop_error *import_read(FILE *file, const void *head, size_t n_head, struct frames *frames,
			       struct import **importp);
void import_destroy(struct import *import); /* NULL allowed */
/*
 * Builds a snapshot of what was read. The caller destroys it before FRAMES. Error: out of memory.
 */
struct xtop_error *import_snapshot(const struct import *import, struct snapshot **snapshotp);
const char *import_get_format(const struct import *import); /* "folded", "pprof" */

#endif
