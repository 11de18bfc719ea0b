/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind sections of an ELF file: .eh_frame, .eh_frame_hdr and .debug_frame by their names, or
 * the first two by PT_GNU_EH_FRAME, which covers .eh_frame_hdr; that begins (LSB Core 5.0 §10.6.2)
 *
 *   version 1, encoding of the pointer, of the count, of the table, pointer to .eh_frame
 *
 * How long .eh_frame is then nobody says: it is read up to its segment's end, and ends with a zero
 * length. A .debug_frame may be compressed (elf_inflate.c), or be called .zdebug_frame then.
 */
#include "config.h"

#include <string.h>

#include "symbol/elf_frames.h"
#include "xtop/cleanup.h"

static struct cfi_section elf_frame_section(const struct elf_blob *blob, uint64_t address)
{
	return (struct cfi_section){ .bytes = blob->bytes,
				     .size_bytes = blob->size_bytes,
				     .address = address,
				     .gaps = blob->gaps,
				     .n_gaps = blob->n_gaps };
}

static void elf_load_frame(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			   uint64_t address, struct elf_blob *blob, struct cfi_section *section)
{
	if (!blob->bytes && size_bytes <= file->limits.frames_bytes &&
	    elf_load(file, offset, size_bytes, blob))
		*section = elf_frame_section(blob, address);
}

static void elf_load_section(struct elf_file *file, const Elf64_Shdr *header, struct elf_blob *blob,
			     struct cfi_section *section)
{
	elf_load_frame(file, header->sh_offset, header->sh_size, header->sh_addr, blob, section);
}

static void elf_load_packed(struct elf_file *file, const Elf64_Shdr *header, bool zdebug,
			    struct elf_frames *frames)
{
	struct elf_blob *blob = &frames->debug_frame;
	struct cfi_section section = { 0 };

	if (blob->bytes || !file->limits.inflated_bytes)
		return;
	elf_load_section(file, header, blob, &section);
	if (blob->bytes && elf_inflate(file, zdebug, blob))
		frames->sections.debug_frame = elf_frame_section(blob, 0);
	else
		elf_blob_deinit(blob);
}

static void elf_try_section(struct elf_file *file, const struct elf_section *section,
			    const char *name, struct elf_frames *frames)
{
	const Elf64_Shdr *header = &section->header;
	struct cfi_sections *sections = &frames->sections;
	bool packed = header->sh_flags & SHF_COMPRESSED;

	if (header->sh_type == SHT_NOBITS)
		return;
	if (strcmp(name, ".debug_frame") == 0 && packed)
		elf_load_packed(file, header, false, frames);
	else if (strcmp(name, ".debug_frame") == 0)
		elf_load_section(file, header, &frames->debug_frame, &sections->debug_frame);
	else if (strcmp(name, ".zdebug_frame") == 0)
		elf_load_packed(file, header, true, frames);
	else if (strcmp(name, ".eh_frame") == 0 && !packed)
		elf_load_section(file, header, &frames->eh_frame, &sections->eh_frame);
	else if (strcmp(name, ".eh_frame_hdr") == 0 && !packed)
		elf_load_section(file, header, &frames->eh_frame_hdr, &sections->eh_frame_hdr);
}

/* The section says that it is compressed by something else than zlib. */
bool elf_frames_are_foreign(struct elf_file *file)
{
	_cleanup_(elf_blob_deinit) struct elf_blob names = { 0 };
	bool foreign = false;

	if (!elf_load_names(file, &names))
		return false;
	for (size_t i = 1; i < file->n_sections && !foreign; i++) {
		const struct elf_section *section = &file->sections[i];
		Elf64_Chdr head;

		foreign = section->header.sh_flags & SHF_COMPRESSED &&
			  strcmp(elf_section_name(&names, section), ".debug_frame") == 0 &&
			  section->header.sh_size >= sizeof(head) &&
			  bytes_read(file->bytes, section->header.sh_offset, &head, sizeof(head)) &&
			  head.ch_type != ELFCOMPRESS_ZLIB;
	}
	return foreign;
}

static void elf_frames_of_segment(struct elf_file *file, const Elf64_Phdr *segment,
				  struct elf_frames *frames)
{
	struct cfi_sections *sections = &frames->sections;
	uint64_t address, offset, left_bytes;

	elf_load_frame(file, segment->p_offset, segment->p_filesz, segment->p_vaddr,
		       &frames->eh_frame_hdr, &sections->eh_frame_hdr);
	if (!cfi_find_eh_frame(&sections->eh_frame_hdr, &address) ||
	    !elf_offset_of(file, address, &offset, &left_bytes))
		return;
	if (offset < file->bytes->size_bytes && left_bytes > file->bytes->size_bytes - offset)
		left_bytes = file->bytes->size_bytes - offset;
	if (left_bytes > file->limits.frames_bytes)
		left_bytes = file->limits.frames_bytes;
	elf_load_frame(file, offset, left_bytes, address, &frames->eh_frame, &sections->eh_frame);
}

void elf_read_frames(struct elf_file *file, struct elf_frames *frames)
{
	_cleanup_(elf_blob_deinit) struct elf_blob names = { 0 };

	*frames = (struct elf_frames){ 0 };
	if (elf_load_names(file, &names))
		for (size_t i = 1; i < file->n_sections; i++)
			elf_try_section(file, &file->sections[i],
					elf_section_name(&names, &file->sections[i]), frames);
	for (size_t i = 0; i < file->n_segments && !frames->eh_frame.bytes; i++)
		if (file->segments[i].p_type == PT_GNU_EH_FRAME)
			elf_frames_of_segment(file, &file->segments[i], frames);
}

void elf_frames_deinit(struct elf_frames *frames)
{
	elf_blob_deinit(&frames->eh_frame);
	elf_blob_deinit(&frames->eh_frame_hdr);
	elf_blob_deinit(&frames->debug_frame);
}
