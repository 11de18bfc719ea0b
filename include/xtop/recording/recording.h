/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings: raw samples in a file, with what a replay needs to name them: the tables of -k and
 * the pages of guest memory that the resolver read. doc/FORMATS has the layout. The resolver's
 * thread writes a recording, in the order in which it works. A replay thread takes the sampler's
 * place: it reads the recording and fills the ring.
 *
 * Files are hostile. Every length is checked against a named limit (src/recording/format.h), and
 * memory grows with the bytes that are really there, not with what a length claims.
 */
#ifndef XTOP_RECORDING_H
#define XTOP_RECORDING_H

#include <stdbool.h>
#include <stdio.h>

#include "xtop/base/error.h"
#include "xtop/base/output.h"
#include "xtop/memory/memory.h"
#include "xtop/sample/control.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/symbol.h"

struct sampler_counts;
struct takers_table;
struct trace_chunk;

/* What the samples are for. */
enum recording_report {
	RECORDING_OF_TIME,   /* a profile: samples tell where the guest's time goes */
	RECORDING_OF_STACKS, /* the report of --crash about a guest that runs */
	RECORDING_OF_CRASH,  /* the report of --crash about a guest that has crashed */
	N_RECORDING_REPORTS
};

/* What the head of the file says. Strings end in a NUL, and are not clean. */
struct recording_info {
	char domain[64];
	char uuid[40];
	uint32_t domid;
	enum guest_type type;
	enum guest_arch arch; /* machine whose registers the samples have */
	unsigned n_vcpus;
	double freq_hz;       /* rate that was asked for */
	uint64_t wallclock_s; /* seconds since 1970 at the start */
	enum recording_report report;
};

/* What several clocks showed at one moment. */
struct recording_clocks {
	uint64_t time_ns; /* the clock of the samples */
	uint64_t utc_ns;  /* dom0's CLOCK_REALTIME */
	uint64_t xen_ns;  /* Xen's system time; 0: not known */
};

/* --- writer: recording/writer.c --------------------------------------------------------------- */

struct recording_writer;

/* Which part of a sample is recorded: the stack bytes that nobody needs are left out. */
struct recording_needs {
	unsigned n_vcpus; /* only the first vCPUs of the sample are recorded */
	struct {
		bool all; /* all bytes of the vCPU's stacks are needed */
		/* For each stack the address just past the outermost byte that is needed. */
		uint64_t ends[SAMPLE_MAX_STACKS];
	} vcpus[GUEST_MAX_VCPUS];
};

/* Adds the sample's next vCPU. ENDS: for each of its stacks; NULL: all bytes are needed. */
static inline void recording_needs_add(struct recording_needs *needs, const uint64_t *ends)
{
	needs->vcpus[needs->n_vcpus].all = !ends;
	if (ends)
		memcpy(needs->vcpus[needs->n_vcpus].ends, ends, sizeof(needs->vcpus[0].ends));
	needs->n_vcpus++;
}

/* Creates PATH: mode 0600, not through a symlink. A file that exists is refused. */
struct xtop_error *recording_writer_open(const char *path, struct recording_writer **writerp);
/*
 * Writes INFO, the names of SYMBOLS (NULL: none) with their build-ids, and the unwind tables of the
 * files that they come from. Call this once, before the first sample.
 */
void recording_writer_begin(struct recording_writer *writer, const struct recording_info *info,
			    const struct symbols *symbols);
/* From now on the pages that are read of MEMORY are recorded. WRITER outlives MEMORY. */
void recording_writer_watch(struct recording_writer *writer, struct memory *memory);
/*
 * Writes SAMPLE, a record of the ring that passed sample_check(), after the resolver has added it.
 * NEEDS: which part of the sample is written; NULL: all of it. Buffered, not synced. After the
 * first failure nothing more is written, and the file stays readable up to there;
 * recording_writer_close() returns that failure.
 */
void recording_writer_write(struct recording_writer *writer, const struct sample *sample,
			    const struct recording_needs *needs);
/* The resolver called os_poll() at NOW_NS and may have read memory for it. */
void recording_writer_write_poll(struct recording_writer *writer, uint64_t now_ns);
/* The resolver has read the guest's clocks at the moment of CLOCKS. */
void recording_writer_write_clocks(struct recording_writer *writer,
				   const struct recording_clocks *clocks);
/* The resolver ran a turn of a pass over all tasks at NOW_NS. PERIOD_NS: between two passes. */
void recording_writer_write_waits(struct recording_writer *writer, uint64_t now_ns,
				  uint64_t period_ns);
/* The resolver has added CHUNK of Xen's trace for domain DOMID. */
void recording_writer_write_trace(struct recording_writer *writer, uint32_t domid,
				  const struct trace_chunk *chunk);
/* A snapshot was made that has TABLE: who takes the guest's CPUs. */
void recording_writer_write_takers(struct recording_writer *writer,
				   const struct takers_table *table);
/* Returns the errno of the first failure; 0: there is none yet. */
int recording_writer_get_errno(const struct recording_writer *writer);
/* Sets the counters of the end mark: ticks that gave no sample. */
void recording_writer_set_counts(struct recording_writer *writer,
				 const struct sampler_counts *counts);
/* Writes the end mark, closes the file and frees WRITER, also on failure. NULL allowed. */
struct xtop_error *recording_writer_close(struct recording_writer *writer);
/*
 * Removes the file and frees WRITER, instead of recording_writer_close(), if nothing was recorded.
 * WRITER may be NULL. If this process may not remove the file, OPENER does; it may be NULL.
 */
void recording_writer_discard(struct recording_writer *writer, const struct output_opener *opener);

/* --- reader: recording/reader.c --------------------------------------------------------------- */

struct recording_reader;

/*
 * Whether the N bytes at HEAD, the first ones of a file, begin a recording. N must be at least 8.
 */
bool recording_is_head(const void *head, size_t n);
/*
 * Checks magic and version and reads all up to the first sample: INFO, and symbols with their
 * unwind tables, which are added to SYMBOLS (NULL: skipped). PATH may be a pipe. Errors: the file
 * is no recording, has a version or machine that this xtop does not know, is cut short before INFO
 * is whole, or has damaged tables.
 */
struct xtop_error *recording_reader_open(const char *path, struct symbols *symbols,
					 struct recording_reader **readerp);
/*
 * Opens FILE as recording_reader_open() opens PATH. The caller has already read the first N_HEAD
 * bytes of FILE, at most 8, which are in HEAD. The reader closes FILE, also after a failure. Errors
 * do not name the file.
 */
struct xtop_error *recording_reader_adopt(FILE *file, const void *head, size_t n_head,
					  struct symbols *symbols,
					  struct recording_reader **readerp);
void recording_reader_close(struct recording_reader *reader); /* NULL allowed */
const struct recording_info *recording_reader_get_info(const struct recording_reader *reader);
/* Whether the file's version has guest memory, even if this file has no page of it. */
bool recording_reader_has_memory(const struct recording_reader *reader);

/* The type of a chunk: its first four bytes are these letters. */
#define RECORDING_TYPE(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
/* Types of notes. */
#define RECORDING_PAGE RECORDING_TYPE('P', 'A', 'G', 'E')   /* a page of guest memory was read */
#define RECORDING_TIME RECORDING_TYPE('T', 'I', 'M', 'E')   /* what memory_now_ns() returned */
#define RECORDING_POLL RECORDING_TYPE('P', 'O', 'L', 'L')   /* os_poll() was called */
#define RECORDING_CLOCKS RECORDING_TYPE('C', 'L', 'C', 'K') /* the clocks were read */
#define RECORDING_WAITS RECORDING_TYPE('W', 'A', 'I', 'T')  /* os_read_waits() was called */
#define RECORDING_TRACE RECORDING_TYPE('T', 'R', 'A', 'C')  /* records of Xen's trace came */
#define RECORDING_TAKERS RECORDING_TYPE('T', 'A', 'K', 'E')  /* who takes the CPUs was shown */
#define RECORDING_MOMENT 0 /* only in the ring: struct recording_moment */

/*
 * What a recording has besides samples, in the form in which it goes through the ring. The payload
 * of the chunk follows. Only recorded_memory_apply() knows the payload of RECORDING_PAGE.
 */
struct recording_note {
	uint32_t no_sample; /* always 0; a sample has its size here, which is never 0 */
	uint32_t type;      /* RECORDING_PAGE, _TIME, _POLL, ..., or _MOMENT */
};
/* The payload of RECORDING_TRACE: a chunk of Xen's trace (trace_source.h). Its bytes follow. */
struct recording_trace {
	uint32_t domid;  /* the domain whose exits count */
	uint32_t cpu;    /* the physical CPU; UINT32_MAX: the bytes are a struct trace_hello */
	uint64_t cpu_ns; /* CPU time of the process that reads Xen's buffers */
	uint32_t size_bytes; /* size of the bytes that follow, without padding */
	uint32_t zero;       /* always 0 */
};
static inline bool recording_is_note(const void *record)
{
	return ((const struct recording_note *)record)->no_sample == 0;
}
/*
 * The replay runs ahead of the resolver by as much as fits into the ring. So once in each second of
 * the samples' clock the replay puts its counters after the last sample that they count.
 */
struct recording_moment {
	struct recording_note note; /* RECORDING_MOMENT */
	struct sampler_counts counts;
};
/* The time in NOTE, which is RECORDING_TIME, _POLL or _WAITS. */
static inline uint64_t recording_note_time(const struct recording_note *note)
{
	return *(const uint64_t *)(note + 1);
}
/* The time between two passes in NOTE, which is RECORDING_WAITS. */
static inline uint64_t recording_note_period(const struct recording_note *note)
{
	return ((const uint64_t *)(note + 1))[1];
}
/*
 * Returns the next record for the ring, a sample or a note; NULL at the end. The record lives until
 * the next call. The lengths in a note are right. A sample passes sample_check() and has no vCPU
 * beyond INFO's n_vcpus, so it has at most sample_size_max(n_vcpus) bytes. Times come from the file
 * and may go back.
 */
const void *recording_reader_next(struct recording_reader *reader, size_t *size_bytesp);
/* After the end: sets the counters of ticks that gave no sample; 0 where the end mark has none. */
void recording_reader_get_counts(const struct recording_reader *reader,
				 struct sampler_counts *counts);
/*
 * After the end: what is wrong with the file, one line without the file's name; NULL: nothing is
 * wrong. The file was cut short, with or without bytes after the last whole chunk, or records were
 * refused, or there was a read error. The text lives as long as READER.
 */
const char *recording_reader_get_complaint(const struct recording_reader *reader);

/* --- what a recording has of the host: recorded_host.c ---------------------------------------- */

/*
 * Decode a note RECORDING_TRACE or _TAKERS of SIZE_BYTES, padding included. Return false if its
 * lengths are wrong.
 */
bool recorded_trace_decode(const struct recording_note *note, size_t size_bytes, uint32_t *domidp,
			   struct trace_chunk *chunk);
bool recorded_takers_decode(const struct recording_note *note, size_t size_bytes,
			    struct takers_table *table);

/* --- the guest memory that a recording has: recorded_memory.c --------------------------------- */

struct recorded_memory;

/* Opens an empty memory: recorded_memory_apply() brings the pages. *MEMORYP owns *RECORDEDP. */
struct xtop_error *recorded_memory_open(struct memory **memoryp,
					struct recorded_memory **recordedp);
/* Applies RECORDING_PAGE or _TIME. Returns false: wrong lengths or type, or too many pages. */
bool recorded_memory_apply(struct recorded_memory *recorded, const struct recording_note *note,
			   size_t size_bytes);
/* The resolver is done with the sample, poll or turn for which the last notes were read. */
void recorded_memory_end_turn(struct recorded_memory *recorded);

#endif
