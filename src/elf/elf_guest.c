/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of the guest's ELF files. The bytes are hostile. Some pages may not be in the guest's
 * memory now; a missing page is no error: its content is left out, and file->incomplete says so.
 *
 * Each index, range and string is checked against the bytes that were read, and each size against a
 * limit before memory is taken for it. Resolver's thread.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf_reader.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/types.h"
#include "xtop/base/vector.h"

/* --- bytes ------------------------------------------------------------------------------------ */

static size_t elf_guest_read(struct elf_file *file, uint64_t offset, void *buffer,
			     size_t size_bytes)
{
	return file->bytes->read(file->bytes->context, offset, buffer, size_bytes);
}

static bool elf_add_gap(struct elf_blob *blob, size_t start, size_t end)
{
	if (blob->n_gaps && blob->gaps[blob->n_gaps - 1].end == start) {
		blob->gaps[blob->n_gaps - 1].end = end;
		return true;
	}
	if (!vector_reserve(blob->gaps, blob->gaps_capacity, blob->n_gaps + 1))
		return false;
	blob->gaps[blob->n_gaps++] = (struct bytes_gap){ start, end };
	return true;
}

/* Reading stops before a page that is not there. The page becomes a gap, and reading goes on. */
static bool elf_fill_blob(struct elf_file *file, uint64_t offset, uint8_t *target,
			  struct elf_blob *blob)
{
	for (size_t done = 0; done < blob->size_bytes;) {
		size_t got = elf_guest_read(file, offset + done, target + done,
					    blob->size_bytes - done);
		uint64_t next;

		if (got > blob->size_bytes - done)
			got = blob->size_bytes - done;
		done += got;
		if (done == blob->size_bytes)
			break;
		file->incomplete = true;
		next = ((offset + done) | GUEST_PAGE_MASK) + 1 - offset;
		if (next > blob->size_bytes)
			next = blob->size_bytes;
		if (!elf_add_gap(blob, done, next))
			return false;
		memset(target + done, 0, next - done);
		done = next;
	}
	return true;
}

static bool elf_guest_load(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			   struct elf_blob *blob)
{
	blob->size_bytes = size_bytes;
	blob->bytes = blob->owned = malloc(size_bytes);
	if (blob->owned && elf_fill_blob(file, offset, blob->owned, blob))
		return true;
	elf_blob_deinit(blob);
	return false;
}

static bool elf_guest_load_section(struct elf_file *file, size_t index, struct elf_blob *blob)
{
	const Elf64_Shdr *header = &file->sections[index].header;

	return elf_guest_load(file, header->sh_offset, header->sh_size, blob);
}

static const struct elf_reader elf_guest_reader = {
	.read = elf_guest_read,
	.load = elf_guest_load,
	.load_section = elf_guest_load_section,
};

/* --- headers ---------------------------------------------------------------------------------- */

static struct xtop_error *elf_guest_read_sections(struct elf_file *file)
{
	_cleanup_(elf_blob_deinit) struct elf_blob blob = { 0 };
	size_t index = file->header.e_shstrndx, size = elf_sizes(&file->header).section, n = 0;
	struct xtop_error *error = elf_count_sections(file, &n);
	Elf64_Shdr header;

	if (error || !n)
		return error;
	if (!elf_load(file, file->header.e_shoff, n * size, &blob))
		return elf_damaged(file, "section headers");
	if (blob.n_gaps)
		return NULL;
	error = elf_reserve_sections(file, n);
	if (error)
		return error;
	for (size_t i = 1; i < n; i++) {
		header = elf_decode_section(&file->header, blob.bytes + i * size);
		elf_set_section(&file->sections[i], &header);
	}
	header = elf_decode_section(&file->header, blob.bytes);
	elf_load_names(file, index == SHN_XINDEX ? header.sh_link : index);
	return NULL;
}

struct xtop_error *elf_file_init_guest(struct elf_file *file, const struct bytes *bytes,
				       const char *path, const struct elf_limits *limits)
{
	struct xtop_error *error;

	*file = (struct elf_file){ .path = path,
				   .limits = *limits,
				   .reader = &elf_guest_reader,
				   .size_bytes = bytes->size_bytes,
				   .bytes = bytes,
				   .fd = -1 };
	error = elf_read_header(file);
	if (error)
		return error;
	elf_read_segments(file);
	error = elf_guest_read_sections(file);
	if (error && limits->lenient) {
		error_destroy(error);
		error = NULL;
	}
	if (error)
		elf_file_deinit(file);
	return error;
}
