/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the parts of a recording one after the other; see chunks.h. */
#include "config.h"

#include "recording/chunks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xtop/base/vector.h"

#define CHUNKS_FIRST_BYTES (64 << 10) /* the first bytes of a payload, read at once */

/* --- bytes ------------------------------------------------------------------------------------ */

size_t chunks_read(struct chunks *chunks, void *target, size_t size_bytes)
{
	size_t n = fread(target, 1, size_bytes, chunks->file);

	chunks->offset += n;
	return n;
}

uint64_t chunks_bytes_after(const struct chunks *chunks)
{
	struct stat status;

	if (fstat(fileno(chunks->file), &status) == 0 && S_ISREG(status.st_mode) &&
	    (uint64_t)status.st_size > chunks->offset)
		return (uint64_t)status.st_size - chunks->whole;
	return chunks->offset - chunks->whole;
}

bool chunks_stop(struct chunks *chunks, const char *format, ...)
{
	va_list arguments;

	chunks->ended = true;
	va_start(arguments, format);
	vsnprintf(chunks->complaint, sizeof(chunks->complaint), format, arguments);
	va_end(arguments);
	return false;
}

/* The file ended or could not be read where more should have come. */
static bool chunks_stop_short(struct chunks *chunks)
{
	uint64_t bytes_after = chunks->offset - chunks->whole;

	if (ferror(chunks->file))
		return chunks_stop(chunks, "read error after %" PRIu64 " bytes: %s", chunks->offset,
				   strerror(errno));
	if (!bytes_after)
		return chunks_stop(chunks, "cut short: it has no end mark");
	return chunks_stop(chunks,
			   "cut short: it has no end mark, and its last %" PRIu64
			   " bytes are no whole record",
			   bytes_after);
}

/* Makes room in the buffer for a note's head and PAYLOAD_BYTES. */
static bool chunks_reserve(struct chunks *chunks, size_t payload_bytes)
{
	size_t wanted = sizeof(struct recording_note) + payload_bytes;

	return vector_reserve(chunks->buffer, chunks->capacity, wanted) ||
	       chunks_stop(chunks, "out of memory for a chunk of %zu bytes", payload_bytes);
}

/* Reads SIZE_BYTES into the buffer, which doubles as bytes arrive. */
static bool chunks_read_payload(struct chunks *chunks, size_t size_bytes)
{
	size_t have = 0, want;

	while (have < size_bytes) {
		want = have ? 2 * have : CHUNKS_FIRST_BYTES;
		if (want > size_bytes)
			want = size_bytes;
		if (!chunks_reserve(chunks, want))
			return false;
		if (chunks_read(chunks, chunks_payload(chunks) + have, want - have) != want - have)
			return chunks_stop_short(chunks);
		have = want;
	}
	return true;
}

bool chunks_skip(struct chunks *chunks, uint64_t size_bytes)
{
	if (!chunks_reserve(chunks, CHUNKS_FIRST_BYTES))
		return false;
	while (size_bytes) {
		size_t n = size_bytes < chunks->capacity ? (size_t)size_bytes : chunks->capacity;

		if (chunks_read(chunks, chunks->buffer, n) != n)
			return chunks_stop_short(chunks);
		size_bytes -= n;
	}
	return true;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* The largest payload of a known type; 0: not known. */
static uint64_t chunks_max_bytes(uint32_t type)
{
	switch (type) {
	case RECORDING_INFO:
		return RECORDING_MAX_INFO_BYTES;
	case RECORDING_SYMBOLS:
		return RECORDING_MAX_SYMBOLS_BYTES;
	case RECORDING_TABLES:
		return RECORDING_MAX_TABLES_BYTES;
	case RECORDING_SAMPLE:
		return RECORDING_MAX_SAMPLE_BYTES;
	case RECORDING_END:
		return RECORDING_MAX_END_BYTES;
	case RECORDING_PAGE:
		return RECORDING_MAX_PAGE_BYTES;
	case RECORDING_TIME:
	case RECORDING_POLL:
	case RECORDING_WAITS:
		return RECORDING_MAX_TIME_BYTES;
	case RECORDING_CLOCKS:
		return RECORDING_MAX_CLOCKS_BYTES;
	case RECORDING_TRACE:
		return RECORDING_MAX_TRACE_BYTES;
	case RECORDING_TAKERS:
		return RECORDING_MAX_TAKERS_BYTES;
	default:
		return 0;
	}
}

/* Reads the payload of CHUNK into the buffer, or skips it if its type is not known. */
static bool chunks_read_chunk(struct chunks *chunks, const struct recording_chunk *chunk)
{
	uint64_t limit = chunks_max_bytes(chunk->type);

	if (!limit && (chunk->flags & RECORDING_CHUNK_REQUIRED))
		return chunks_stop(chunks,
				   "it needs a newer xtop from byte %" PRIu64
				   " on (chunk type 0x%08x)",
				   chunks->whole, chunk->type);
	if (chunk->size_bytes > (limit ? limit : INT64_MAX))
		return chunks_stop(chunks,
				   "damaged at byte %" PRIu64 ": a chunk of %" PRIu64 " bytes",
				   chunks->whole, chunk->size_bytes);
	if (!limit)
		return chunks_skip(chunks, (chunk->size_bytes + 7) & ~7ULL);
	return chunks_read_payload(chunks, recording_pad(chunk->size_bytes));
}

bool chunks_next(struct chunks *chunks, struct recording_chunk *chunk)
{
	while (!chunks->ended) {
		if (chunks_read(chunks, chunk, sizeof(*chunk)) != sizeof(*chunk))
			return chunks_stop_short(chunks);
		if (!chunks_read_chunk(chunks, chunk))
			return false;
		chunks->whole = chunks->offset;
		if (chunks_max_bytes(chunk->type))
			return true;
	}
	return false;
}

void chunks_deinit(struct chunks *chunks)
{
	if (chunks->file)
		fclose(chunks->file);
	free(chunks->buffer);
}
