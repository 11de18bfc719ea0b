/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes that are packed by xz, and the CRC-32 that xz has in common with .gnu_debuglink. The only
 * file that includes liblzma's header.
 *
 * The bytes may be a guest's. liblzma gets a limit for its memory, and is stopped when its output
 * exceeds the limit. It runs in the unprivileged process, on the resolver's thread, and starts no
 * threads of its own.
 */
#include "config.h"

#include <lzma.h>
#include <stdlib.h>

#include "elf/elf_reader.h"
#include "xtop/base/work.h"

/* `xz -9` makes a dictionary of 64 MiB, and a decoder needs little more (xz(1)). */
#define XZ_MAX_MEMORY_BYTES (66U << 20)
#define XZ_FIRST_BYTES      (64U << 10) /* room at first; doubled when it is full */
#define XZ_STEP_BYTES       (1U << 20)  /* unpacked between calls of work_is_over(): some 10 ms */

uint32_t elf_crc32(const uint8_t *bytes, size_t n, uint32_t before)
{
	return lzma_crc32(bytes, n, before);
}

/* Twice as much room as before, at most MAX_BYTES. False: there is no more, or no memory. */
static bool xz_grow(struct elf_blob *blob, size_t max_bytes)
{
	size_t wanted = blob->size_bytes ? 2 * blob->size_bytes : XZ_FIRST_BYTES;
	uint8_t *bytes;

	if (wanted > max_bytes)
		wanted = max_bytes;
	if (wanted <= blob->size_bytes)
		return false;
	bytes = realloc(blob->owned, wanted);
	if (!bytes)
		return false;
	blob->owned = bytes;
	blob->bytes = bytes;
	blob->size_bytes = wanted;
	return true;
}

/* Gives the decoder the next piece of the room. */
static bool xz_make_room(lzma_stream *stream, size_t max_bytes, struct elf_blob *blob)
{
	size_t done = stream->total_out, left;

	if (stream->avail_out)
		return true;
	if (done == blob->size_bytes && !xz_grow(blob, max_bytes))
		return false;
	left = blob->size_bytes - done;
	stream->next_out = (uint8_t *)blob->owned + done;
	stream->avail_out = left < XZ_STEP_BYTES ? left : XZ_STEP_BYTES;
	return true;
}

/*
 * Unpacks the whole stream. Returns whether the stream was right. The caller frees BLOB in any
 * case.
 */
static bool xz_run(lzma_stream *stream, size_t max_bytes, struct work *work, struct elf_blob *blob)
{
	lzma_ret result = LZMA_OK;

	while (result == LZMA_OK && !work_is_over(work) && xz_make_room(stream, max_bytes, blob))
		result = lzma_code(stream, LZMA_FINISH);
	blob->size_bytes = stream->total_out;
	return result == LZMA_STREAM_END;
}

bool elf_unpack_xz(const struct elf_blob *packed, size_t max_bytes, struct work *work,
		   struct elf_blob *blob)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	bool done;

	*blob = (struct elf_blob){ 0 };
	if (packed->n_gaps ||
	    lzma_stream_decoder(&stream, XZ_MAX_MEMORY_BYTES, 0) != LZMA_OK)
		return false;
	stream.next_in = packed->bytes;
	stream.avail_in = packed->size_bytes;
	done = xz_run(&stream, max_bytes, work, blob) && blob->size_bytes;
	lzma_end(&stream);
	if (!done)
		elf_blob_deinit(blob);
	return done;
}
