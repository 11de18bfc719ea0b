/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings: raw samples in a file, with what a replay needs to name them (doc/FORMATS has the
 * layout): the tables of -k, and the pages of guest memory that the resolver read. Written by the
 * resolver's thread, in the order in which it did things; read back by a replay thread that takes the
 * sampler's place and fills the ring.
 *
 * Files are hostile: every length is checked against named limits (xtop/recording_format.h), and
 * memory grows with the bytes that are really there, not with what a length claims.
 */
#ifndef XTOP_RECORDING_H
#define XTOP_RECORDING_H

#include <stdbool.h>

#include "xtop/error.h"
#include "xtop/memory.h"
#include "xtop/sample.h"
#include "xtop/symbol.h"

struct sampler_counts;

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

/* --- writer: recording/writer.c */
struct recording_writer;
/* Creates PATH anew: mode 0600, not through a symlink; an existing file is refused. */
struct xtop_error *recording_create(const char *path, struct recording_writer **writerp);
/* Writes INFO and the tables of SYMBOLS (NULL: none) with their build-ids; once, before samples. */
void recording_begin(struct recording_writer *writer, const struct recording_info *info,
		     const struct symbols *symbols);
/* From now on all that is read of MEMORY is written, before the sample it is read for. WRITER outlives it. */
void recording_watch(struct recording_writer *writer, struct memory *memory);
/* One record of the ring, as it is, when it has been dealt with: buffered, not synced. The first
 * failure is kept and told by recording_close(); after it nothing more is written, and the file stays
 * readable up to it. */
void recording_write(struct recording_writer *writer, const void *record, size_t size_bytes);
/* The resolver looked around (os_poll()) at NOW_NS, and may have read memory for it. */
void recording_write_poll(struct recording_writer *writer, uint64_t now_ns);
/* The errno of that failure; 0: none yet. */
int recording_failed(const struct recording_writer *writer);
/* What goes into the end mark besides: the ticks that gave no sample. */
void recording_count(struct recording_writer *writer, const struct sampler_counts *counts);
/* The end mark, then close; frees WRITER, also on failure. NULL allowed. */
struct xtop_error *recording_close(struct recording_writer *writer);
/* Instead of it, when nothing was recorded: the file goes, too. NULL allowed. */
void recording_discard(struct recording_writer *writer);

/* --- reader: recording/reader.c */
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
/* It has guest memory, too, or would have if anything had been read. */
bool recording_has_memory(const struct recording *recording);

/*
 * What is in a recording besides samples, on its way through the ring. The payload of the chunk
 * follows: struct recording_page and lines, or a time.
 */
struct recording_note {
	uint32_t no_sample; /* 0: a sample begins with its size */
	uint32_t type;      /* RECORDING_PAGE, RECORDING_TIME, RECORDING_POLL */
};
static inline bool recording_is_note(const void *record)
{
	return ((const struct recording_note *)record)->no_sample == 0;
}
/* Of a note whose payload is a time. */
static inline uint64_t recording_note_time(const struct recording_note *note)
{
	return *(const uint64_t *)(note + 1);
}
/*
 * The next record for the ring: a note, whose lengths are right, or a sample that passes
 * sample_check() and has no vCPU beyond info's n_vcpus, so that it is at most
 * sample_size_max(n_vcpus) long; NULL at the end. Lives until the next call. Times may go back: a
 * file's.
 */
const void *recording_next(struct recording *recording, size_t *size_bytesp);
/* After the end: the ticks that gave no sample, into those counters; 0 where the end mark does not say. */
void recording_take_counts(const struct recording *recording, struct sampler_counts *counts);
/*
 * After the end. What is wrong with the file, in one line without its name, or NULL: cut short
 * (with or without bytes behind the last whole chunk), refused records, a read error. Lives as long
 * as RECORDING.
 */
const char *recording_complaint(const struct recording *recording);
uint64_t recording_truncated_bytes(const struct recording *recording); /* behind the last whole chunk */
uint64_t recording_bad_records(const struct recording *recording);     /* refused */

/* --- recorded_memory.c: the guest memory that a recording has ---------------------------------- */

struct recorded;

/* Empty; a page that did not come by recorded_take() is not there. *RECORDEDP is MEMORY's. */
struct xtop_error *recorded_open(struct memory **memoryp, struct recorded **recordedp);
/* A note of a recording (recording.h), in its turn. False: its lengths are wrong, or too many pages. */
bool recorded_take(struct recorded *recorded, const struct recording_note *note,
		   size_t size_bytes);
/* The sample, or the look around, that the last notes were for is done with. */
void recorded_end_turn(struct recorded *recorded);

#endif
