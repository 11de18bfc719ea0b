/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to recording/: the chunks of a recording that is read (recording/format.h), one after
 * the other, out of a file or a pipe. A chunk larger than its type allows ends the reading. Memory
 * grows only as bytes arrive. First main's thread, then the replay thread.
 */
#ifndef RECORDING_CHUNKS_H
#define RECORDING_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/format.h"

struct chunks {
	FILE *file;
	uint64_t offset; /* bytes read so far */
	uint64_t whole;  /* offset after the last whole chunk */
	char *buffer; /* room for a note's head, then the last chunk's payload with its padding */
	size_t capacity; /* size of the buffer in bytes */
	bool ended;
	char complaint[160]; /* what is wrong with the file; "": nothing */
};

/* Reads up to SIZE_BYTES, outside any chunk. Returns how many were there. */
size_t chunks_read(struct chunks *chunks, void *target, size_t size_bytes);
/* Skips SIZE_BYTES. Returns false if the reading ended. */
bool chunks_skip(struct chunks *chunks, uint64_t size_bytes);
/* Reads the next chunk of a known type. Returns false if the reading ended. */
bool chunks_next(struct chunks *chunks, struct recording_chunk *chunk);
/* Ends the reading with a complaint. Returns false. */
__attribute__((format(printf, 2, 3))) bool chunks_stop(struct chunks *chunks, const char *format,
						       ...);
/*
 * How many bytes of the file lie after the last whole chunk. A pipe's unread bytes do not count.
 */
uint64_t chunks_bytes_after(const struct chunks *chunks);
void chunks_deinit(struct chunks *chunks); /* closes the file */

/* The payload of the last chunk, aligned to 8. */
static inline char *chunks_payload(const struct chunks *chunks)
{
	return chunks->buffer + sizeof(struct recording_note);
}

#endif
