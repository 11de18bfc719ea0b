/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzzers share: reading numbers from the front of their input, and bytes with holes. A
 * target is one file with LLVMFuzzerTestOneInput(). libFuzzer calls it with ever-new inputs, and
 * the sanitizers end the program when something is wrong. tests/fuzz/run starts the targets.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/bytes.h"
#include "xtop/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

/* The rest of the input; after its end all bytes are zero. */
struct fuzz {
	const uint8_t *at;
	size_t left_bytes;
};

static inline struct fuzz fuzz_begin(const uint8_t *bytes, size_t size_bytes)
{
	return (struct fuzz){ bytes, size_bytes };
}

static inline void fuzz_take(struct fuzz *fuzz, void *buffer, size_t size_bytes)
{
	size_t n = size_bytes < fuzz->left_bytes ? size_bytes : fuzz->left_bytes;

	memset(buffer, 0, size_bytes);
	if (!n)
		return;
	memcpy(buffer, fuzz->at, n);
	fuzz->at += n;
	fuzz->left_bytes -= n;
}

static inline uint8_t fuzz_u8(struct fuzz *fuzz)
{
	uint8_t value;

	fuzz_take(fuzz, &value, sizeof(value));
	return value;
}

static inline uint16_t fuzz_u16(struct fuzz *fuzz)
{
	uint16_t value;

	fuzz_take(fuzz, &value, sizeof(value));
	return value;
}

static inline uint32_t fuzz_u32(struct fuzz *fuzz)
{
	uint32_t value;

	fuzz_take(fuzz, &value, sizeof(value));
	return value;
}

static inline uint64_t fuzz_u64(struct fuzz *fuzz)
{
	uint64_t value;

	fuzz_take(fuzz, &value, sizeof(value));
	return value;
}

/* A copy of the next SIZE_BYTES, for free(): the sanitizer sees a read beyond them. */
static inline void *fuzz_copy(struct fuzz *fuzz, size_t size_bytes)
{
	void *copy = malloc(size_bytes ? size_bytes : 1);

	if (!copy)
		abort();
	fuzz_take(fuzz, copy, size_bytes);
	return copy;
}

/* A condition that must hold for every input. */
static inline void fuzz_must(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* A call that only lack of memory could make fail. */
static inline void fuzz_succeed(struct xtop_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "failed: %s\n", error_message(error));
	abort();
}

/* --- changes to valid bytes ------------------------------------------------------------------- */

/*
 * BYTES are whole and valid. The input says again and again what to change in them: where (3
 * bytes), how many bytes (1 byte, mod 8, plus 1), and the new bytes.
 */
static inline void fuzz_patch(struct fuzz *fuzz, uint8_t *bytes, size_t size_bytes)
{
	while (fuzz->left_bytes && size_bytes) {
		size_t at = fuzz_u16(fuzz), n;

		at = (at | (size_t)fuzz_u8(fuzz) << 16) % size_bytes;
		n = 1 + fuzz_u8(fuzz) % 8;
		fuzz_take(fuzz, bytes + at, n < size_bytes - at ? n : size_bytes - at);
	}
}

/* --- a file with holes ------------------------------------------------------------------------ */

struct fuzz_file {
	const uint8_t *bytes;
	size_t size_bytes;
	size_t hole_start, hole_end; /* cannot be read now */
};

/* Reads from the first END bytes, at OFFSET. Returns how many bytes there were. */
static inline size_t fuzz_read_part(const uint8_t *bytes, size_t end, uint64_t offset, void *buffer,
				    size_t size_bytes)
{
	if (offset >= end)
		return 0;
	if (size_bytes > end - offset)
		size_bytes = end - offset;
	memcpy(buffer, bytes + offset, size_bytes);
	return size_bytes;
}

static inline size_t fuzz_file_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	const struct fuzz_file *file = context;
	size_t end = file->size_bytes;

	if (offset < file->hole_start && file->hole_start < file->hole_end)
		end = file->hole_start < end ? file->hole_start : end;
	else if (offset < file->hole_end)
		return 0;
	return fuzz_read_part(file->bytes, end, offset, buffer, size_bytes);
}

static inline struct bytes fuzz_file_bytes(struct fuzz_file *file)
{
	return (struct bytes){ fuzz_file_read, file, file->size_bytes };
}

#endif
