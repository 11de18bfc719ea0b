/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings: raw samples in a file, with what a replay needs to name them (doc/FORMATS has the
 * layout). Written from the records of the ring by the resolver's thread, through a callback; read
 * back by a replay thread that takes the sampler's place and fills the ring.
 *
 * Files are hostile: every length is checked against named limits (xtop/recording_format.h), and
 * memory grows with the bytes that are really there, not with what a length claims.
 */
#ifndef XTOP_RECORDING_H
#define XTOP_RECORDING_H

#include <stdbool.h>

#include "xtop/error.h"
#include "xtop/sample.h"
#include "xtop/symbol.h"

/* What was recorded: the head of the file. Strings are NUL-terminated, as recorded: not clean. */
struct recording_info {
	char domain[64];
	char uuid[40];
	uint32_t domid;
	enum guest_type type;
	unsigned n_vcpus;
	double freq_hz;       /* asked */
	uint64_t wallclock_s; /* since 1970, at the start */
};

/* --- writer: export/recording.c */
struct recording_writer;
/* Creates PATH anew: mode 0600, not through a symlink; an existing file is refused. */
struct xtop_error *recording_create(const char *path, struct recording_writer **writerp);
/* Writes INFO and the tables of SYMBOLS (NULL: none) with their build-ids; once, before samples. */
void recording_begin(struct recording_writer *writer, const struct recording_info *info,
		     const struct symbols *symbols);
/* One record of the ring, as it is: buffered, not synced. The first failure is kept and told by
 * recording_close(); after it nothing more is written, and the file stays readable up to it. */
void recording_write(struct recording_writer *writer, const void *record, size_t size_bytes);
/* The end mark, then close; frees WRITER, also on failure. NULL allowed. */
struct xtop_error *recording_close(struct recording_writer *writer);
/* Instead of it, when nothing was recorded: the file goes, too. NULL allowed. */
void recording_discard(struct recording_writer *writer);

/* --- reader: guest/recording.c */
struct recording;
/*
 * Checks magic and version, reads all up to the first sample: INFO, and symbols, which are added to
 * SYMBOLS (NULL: passed over). Errors: not a recording, a version or machine this xtop does not
 * know, cut short before INFO is whole, damaged tables. A pipe will do for PATH.
 */
struct xtop_error *recording_open(const char *path, struct symbols *symbols,
				  struct recording **recordingp);
void recording_destroy(struct recording *recording); /* NULL allowed */
const struct recording_info *recording_info(const struct recording *recording);
/*
 * The next sample that passes sample_check() and has no vCPU beyond info's n_vcpus, so that it is
 * at most sample_size_max(n_vcpus) long; NULL at the end. Lives until the next call. Times may go
 * back: a file's.
 */
const struct sample *recording_next(struct recording *recording, size_t *size_bytesp);
/*
 * After the end. What is wrong with the file, in one line without its name, or NULL: cut short
 * (with or without bytes behind the last whole chunk), refused records, a read error. Lives as long
 * as RECORDING.
 */
const char *recording_complaint(const struct recording *recording);
uint64_t recording_truncated_bytes(const struct recording *recording); /* behind the last whole chunk */
uint64_t recording_bad_records(const struct recording *recording);     /* refused */

#endif
