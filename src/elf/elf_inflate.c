/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections that were compressed, of files of dom0: ld and objcopy --compress-debug-sections do it to
 * .debug_frame. Two ways of saying so (gABI, Compressed Sections; binutils bfd/compress.c):
 *
 *   SHF_COMPRESSED   u32 type, u32 0, u64 size, u64 alignment; then, of type 1, a zlib stream
 *   .zdebug_*        "ZLIB", u64 size, big-endian; then a zlib stream
 *
 * By zlib, which every Debian has and libelf-dev brings. libelf's own elf_compress() does the same
 * with it, but wants the whole file as its own. Of type 2, zstd, nothing is read: nobody's default,
 * and objcopy --decompress-debug-sections helps, which symbols.c says.
 *
 * The resolver's thread. The bytes may be wrong: what is said of the size is checked against the
 * limit, and against what a stream of that length can become at most.
 */
#include "config.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "xtop/elf_file.h"

#define ZDEBUG_MAGIC      "ZLIB"
#define ZDEBUG_HEAD_BYTES 12
/* A match of 258 bytes takes two bits at least (RFC 1951 §3.2.5; zlib's "maximum expansion factor"). */
#define DEFLATE_MAX_RATIO 1032

/* Where the stream begins and what becomes of it; false: it is none of ours. */
static bool elf_packed_head(const struct elf_blob *packed, bool zdebug, size_t *head_bytes,
			    uint64_t *size_bytes)
{
	Elf64_Chdr head;

	if (zdebug) {
		if (packed->size_bytes < ZDEBUG_HEAD_BYTES ||
		    memcmp(packed->bytes, ZDEBUG_MAGIC, strlen(ZDEBUG_MAGIC)) != 0)
			return false;
		memcpy(size_bytes, packed->bytes + strlen(ZDEBUG_MAGIC), sizeof(*size_bytes));
		*size_bytes = be64toh(*size_bytes);
		*head_bytes = ZDEBUG_HEAD_BYTES;
		return true;
	}
	if (packed->size_bytes < sizeof(head))
		return false;
	memcpy(&head, packed->bytes, sizeof(head));
	*size_bytes = head.ch_size;
	*head_bytes = sizeof(head);
	return head.ch_type == ELFCOMPRESS_ZLIB;
}

bool elf_inflate(const struct elf_file *file, bool zdebug, struct elf_blob *blob)
{
	struct elf_blob inflated = { 0 };
	uint64_t size_bytes;
	size_t head_bytes;
	uLongf got;

	if (blob->n_gaps || !elf_packed_head(blob, zdebug, &head_bytes, &size_bytes) ||
	    !size_bytes || size_bytes > file->limits.inflated_bytes ||
	    size_bytes / DEFLATE_MAX_RATIO > blob->size_bytes)
		return false;
	inflated.bytes = malloc(size_bytes);
	inflated.size_bytes = got = size_bytes;
	if (!inflated.bytes ||
	    uncompress(inflated.bytes, &got, blob->bytes + head_bytes,
		       blob->size_bytes - head_bytes) != Z_OK ||
	    got != size_bytes) {
		elf_blob_deinit(&inflated);
		return false;
	}
	elf_blob_deinit(blob);
	*blob = inflated;
	return true;
}
