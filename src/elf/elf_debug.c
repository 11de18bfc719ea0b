/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the symbols of a stripped file by the file's own hints (GDB manual, Separate Debug Files).
 * .gnu_debuglink has the name of the file with the symbols, and a checksum of that whole file:
 *
 *   name, NUL, padding to 4 bytes, CRC-32 (the one of IEEE 802.3, as zlib and xz have it)
 *
 * A build-id identifies the debug file more reliably, and also gives its name; elf_notes.c finds
 * the build-id.
 *
 * .gnu_debugdata has symbols in the file itself (GDB manual, MiniDebugInfo): an .xz file with an
 * ELF file in it, as Fedora and its relatives put into every program.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf_reader.h"
#include "xtop/base/cleanup.h"

#define CRC_CHUNK_BYTES (256U << 10)

bool elf_find_debug_link(struct elf_file *file, struct elf_debug_link *link)
{
	_cleanup_(elf_blob_deinit) struct elf_blob blob = { 0 };
	size_t index = elf_find_section(file, ".gnu_debuglink"), length, crc;

	if (!index || file->sections[index].header.sh_size > ELF_DEBUG_LINK_MAX_BYTES ||
	    !elf_load_section(file, index, &blob))
		return false;
	length = strnlen((const char *)blob.bytes, blob.size_bytes);
	crc = (length + sizeof(link->crc)) & ~(sizeof(link->crc) - 1);
	if (!length || length >= sizeof(link->name) ||
	    !elf_blob_has(&blob, 0, crc + sizeof(link->crc)))
		return false;
	memcpy(link->name, blob.bytes, length + 1);
	memcpy(&link->crc, blob.bytes + crc, sizeof(link->crc));
	return !strchr(link->name, '/');
}

/* Name, NUL, build-id up to the section's end (GDB manual, Separate Debug Files). */
void elf_find_alt_link(struct elf_file *file, struct elf_alt_link *link)
{
	_cleanup_(elf_blob_deinit) struct elf_blob blob = { 0 };
	size_t index = elf_find_section(file, ".gnu_debugaltlink"), length, left;

	*link = (struct elf_alt_link){ 0 };
	if (!index || file->sections[index].header.sh_size > ELF_DEBUG_LINK_MAX_BYTES ||
	    !elf_load_section(file, index, &blob))
		return;
	length = strnlen((const char *)blob.bytes, blob.size_bytes);
	left = blob.size_bytes - length;
	if (!length || length >= sizeof(link->name) || left < 2 ||
	    left - 1 > sizeof(link->build_id.bytes) || !elf_blob_has(&blob, 0, blob.size_bytes))
		return;
	memcpy(link->name, blob.bytes, length);
	link->build_id.size_bytes = left - 1;
	memcpy(link->build_id.bytes, blob.bytes + length + 1, left - 1);
}

struct xtop_error *elf_unpack_debugdata(struct elf_file *file, struct elf_blob *blob)
{
	_cleanup_(elf_blob_deinit) struct elf_blob packed = { 0 };
	size_t index = elf_find_section(file, ".gnu_debugdata");

	*blob = (struct elf_blob){ 0 };
	if (!index || !file->limits.unpacked_bytes)
		return NULL;
	if (file->sections[index].header.sh_size > file->limits.unpacked_bytes)
		return elf_damaged(file, ".gnu_debugdata is too large");
	if (!elf_load_section(file, index, &packed) || packed.n_gaps)
		return NULL;
	if (!elf_unpack_xz(&packed, file->limits.unpacked_bytes, file->work, blob))
		return elf_damaged(file, ".gnu_debugdata");
	return NULL;
}

bool elf_has_crc(struct elf_file *file, uint32_t crc, uint64_t max_bytes)
{
	_cleanup_free_ uint8_t *chunk = malloc(CRC_CHUNK_BYTES);
	uint32_t found = 0;
	uint64_t done = 0;

	if (!chunk || file->size_bytes > max_bytes)
		return false;
	while (done < file->size_bytes) {
		uint64_t left_bytes = file->size_bytes - done;
		size_t wanted = left_bytes < CRC_CHUNK_BYTES ? left_bytes : CRC_CHUNK_BYTES;

		if (elf_read(file, done, chunk, wanted) != wanted)
			return false;
		found = elf_crc32(chunk, wanted, found);
		done += wanted;
	}
	return found == crc;
}
