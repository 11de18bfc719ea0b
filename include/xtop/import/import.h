/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads profiles that xtop or other tools have written: folded stacks, pprof, text of perf script,
 * and files of gperftools and speedscope. They become a profile of xtop's own, so that queries,
 * screen and export work on them. Such a profile has no raw samples, no times and no vCPUs. Main's
 * thread, without privilege. Files are hostile.
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
struct code_names; /* code_names.h */

/* Pointers outlive the import. */
struct import_settings {
	struct frames *frames; /* gets the names */
	bool strict;           /* a line that cannot be read is an error; else it is skipped */
	const char *value;     /* the type of the wanted values; NULL: the file's default */
	const struct code_names *names; /* the files of -k; NULL: none */
};

/*
 * Reads FILE to its end; it may be a pipe. The caller has already read the first N_HEAD bytes,
 * which are in HEAD. The file may be compressed. Memory is bounded, whatever the file's size.
 *
 * Errors name the place in the file, not the file. A damaged file is refused as a whole, but for
 * lines of text that are skipped.
 */
struct xtop_error *import_read(FILE *file, const void *head, size_t n_head,
			       const struct import_settings *settings, struct import **importp);
void import_destroy(struct import *import); /* NULL allowed */
/*
 * Builds a snapshot of what was read. The caller destroys it before FRAMES. Error: out of memory.
 */
struct xtop_error *import_snapshot(const struct import *import, struct snapshot **snapshotp);
const char *import_get_format(const struct import *import); /* "folded", "pprof", ... */
/*
 * The type of the values, if the file has several besides the count, or if import_settings.value
 * chose it; else "". Clean.
 */
const char *import_get_value(const struct import *import);
/*
 * The value after the one that was read, for import_settings; NULL: the file has no other. Not
 * clean; lives as long as the import.
 */
const char *import_next_value(const struct import *import);
/* What could not be read; NULL: nothing. Clean; lives as long as the import. */
const char *import_get_complaint(const struct import *import);

#endif
