/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to import/: the fields of a pprof file, as they come out of a source. A file is one
 * message of Protocol Buffers, which has numbers and further messages. It is read from front to
 * back, and callers are told what it has. Main's thread.
 */
#ifndef IMPORT_PPROF_STREAM_H
#define IMPORT_PPROF_STREAM_H

#include <stdint.h>
#ifdef HAVE_NANOPB_FOLDER
#include <nanopb/pb_decode.h>
#else
#include <pb_decode.h>
#endif

#include "import/source.h"

#define PPROF_BUFFER_BYTES (64U << 10)

struct pprof_stream {
	struct import_source *source;
	char buffer[PPROF_BUFFER_BYTES];
	size_t at, n;
	uint64_t offset; /* place of the buffer's end in the content */
	bool ended;
	struct xtop_error *error; /* the error of source_read(); NULL: none */
	const char *damage;       /* what is wrong with the content; NULL: nothing */
	char what[256];           /* room for such a text */
};

/* Called for each number of a field, packed or not. False: the number is invalid. */
typedef bool pprof_number_fn(struct pprof_stream *stream, uint32_t tag, uint64_t value,
			     void *context);
/* Called for each message or string inside. FIELDS ends where the message ends. */
typedef bool pprof_message_fn(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
			      void *context);

/* Whether a file that begins with the N bytes at START may be pprof. It has no magic number. */
bool pprof_is_head(const char *start, size_t n);
/* Begins a file. The first N bytes of SOURCE, at START, were read before. */
void pprof_stream_begin(struct pprof_stream *stream, struct import_source *source,
			const char *start, size_t n);
/*
 * Reads the whole file and tells its fields. An error says at which byte the content is damaged,
 * and how.
 */
struct xtop_error *pprof_stream_read(struct pprof_stream *stream, pprof_number_fn *number,
				     pprof_message_fn *message, void *context);
/*
 * For a message_fn: reads all fields of a message inside. MESSAGE NULL: fields with a length are
 * packed numbers. False: the content is damaged.
 */
bool pprof_stream_read_fields(struct pprof_stream *stream, pb_istream_t *fields,
			      pprof_number_fn *number, pprof_message_fn *message, void *context);
/* For a message_fn: reads field TAG, whose numbers are packed: varints, up to the end. */
bool pprof_stream_read_packed(struct pprof_stream *stream, uint32_t tag, pb_istream_t *fields,
			      pprof_number_fn *number, void *context);
/* Remembers what is wrong with the content. Returns false. */
bool pprof_stream_fail(struct pprof_stream *stream, const char *what);

#endif
