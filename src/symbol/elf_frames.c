/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind sections of an ELF file: .eh_frame, .eh_frame_hdr and .debug_frame by their names, or
 * the first two by PT_GNU_EH_FRAME. This segment covers .eh_frame_hdr, which begins with (LSB Core
 * 5.0 §10.6.2)
 *
 *   version 1, encoding of the pointer, of the count, of the table, pointer to .eh_frame
 *
 * The segment does not say how long .eh_frame is. .eh_frame is read up to the end of its own
 * segment; an entry of length zero ends the entries. A .debug_frame may be compressed; in the older
 * way the section is called .zdebug_frame then.
 */
#include "config.h"

#include <string.h>

#include "symbol/elf_frames.h"

static struct cfi_section elf_frame_section(const struct elf_file *file,
					    const struct elf_blob *blob, uint64_t address)
{
	return (struct cfi_section){ .bytes = blob->bytes,
				     .size_bytes = blob->size_bytes,
				     .address = address,
				     .gaps = blob->gaps,
				     .n_gaps = blob->n_gaps,
				     .is_short = elf_machine_is_short(file),
				     .is_arm64 = elf_machine_is_arm(file) };
}

static void elf_load_frame(struct elf_file *file, size_t i, struct elf_blob *blob,
			   struct cfi_section *section)
{
	const Elf64_Shdr *header = &file->sections[i].header;

	if (!blob->bytes && header->sh_size <= file->limits.frames_bytes &&
	    elf_load_section(file, i, blob))
		*section = elf_frame_section(file, blob, header->sh_addr);
}

static void elf_inflate_frame(struct elf_file *file, size_t i, bool zdebug,
			      struct elf_frames *frames)
{
	struct elf_blob *blob = &frames->debug_frame;

	if (!blob->bytes && file->sections[i].header.sh_size <= file->limits.frames_bytes &&
	    elf_inflate_section(file, i, zdebug, blob))
		frames->sections.debug_frame = elf_frame_section(file, blob, 0);
}

static void elf_load_exidx(struct elf_file *file, size_t i, struct elf_blob *blob,
			   struct exidx_section *section)
{
	const Elf64_Shdr *header = &file->sections[i].header;

	if (!blob->bytes && header->sh_size <= file->limits.frames_bytes &&
	    elf_load_section(file, i, blob))
		*section = (struct exidx_section){ .bytes = (const uint8_t *)blob->bytes,
						   .size_bytes = blob->size_bytes,
						   .address = (uint32_t)header->sh_addr };
}

static void elf_try_section(struct elf_file *file, size_t i, struct elf_frames *frames)
{
	const char *name = elf_section_name(file, &file->sections[i]);
	bool compressed = file->sections[i].header.sh_flags & SHF_COMPRESSED;
	struct cfi_sections *sections = &frames->sections;

	if (strcmp(name, ".debug_frame") == 0 && compressed)
		elf_inflate_frame(file, i, false, frames);
	else if (strcmp(name, ".debug_frame") == 0)
		elf_load_frame(file, i, &frames->debug_frame, &sections->debug_frame);
	else if (strcmp(name, ".zdebug_frame") == 0)
		elf_inflate_frame(file, i, true, frames);
	else if (strcmp(name, ".eh_frame") == 0 && !compressed)
		elf_load_frame(file, i, &frames->eh_frame, &sections->eh_frame);
	else if (strcmp(name, ".eh_frame_hdr") == 0 && !compressed)
		elf_load_frame(file, i, &frames->eh_frame_hdr, &sections->eh_frame_hdr);
	else if (strcmp(name, ".ARM.exidx") == 0 && !compressed)
		elf_load_exidx(file, i, &frames->index, &frames->exidx.index);
	else if (strcmp(name, ".ARM.extab") == 0 && !compressed)
		elf_load_exidx(file, i, &frames->table, &frames->exidx.table);
}

bool elf_frames_are_foreign(struct elf_file *file)
{
	bool foreign = false;

	for (size_t i = 1; i < file->n_sections && !foreign; i++) {
		const struct elf_section *section = &file->sections[i];
		Elf64_Chdr head;

		foreign = section->header.sh_flags & SHF_COMPRESSED &&
			  strcmp(elf_section_name(file, section), ".debug_frame") == 0 &&
			  section->header.sh_size >= sizeof(head) &&
			  elf_read(file, section->header.sh_offset, &head, sizeof(head)) ==
				  sizeof(head) &&
			  head.ch_type != ELFCOMPRESS_ZLIB;
	}
	return foreign;
}

/* --- files without section headers ------------------------------------------------------------ */

static void elf_load_frame_at(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			      uint64_t address, struct elf_blob *blob, struct cfi_section *section)
{
	if (!blob->bytes && size_bytes <= file->limits.frames_bytes &&
	    elf_load(file, offset, size_bytes, blob))
		*section = elf_frame_section(file, blob, address);
}

static void elf_frames_of_segment(struct elf_file *file, const Elf64_Phdr *segment,
				  struct elf_frames *frames)
{
	struct cfi_sections *sections = &frames->sections;
	uint64_t address, offset, left_bytes;

	elf_load_frame_at(file, segment->p_offset, segment->p_filesz, segment->p_vaddr,
			  &frames->eh_frame_hdr, &sections->eh_frame_hdr);
	if (!cfi_find_eh_frame(&sections->eh_frame_hdr, &address) ||
	    !elf_find_offset(file, address, &offset, &left_bytes))
		return;
	if (offset < file->size_bytes && left_bytes > file->size_bytes - offset)
		left_bytes = file->size_bytes - offset;
	if (left_bytes > file->limits.frames_bytes)
		left_bytes = file->limits.frames_bytes;
	elf_load_frame_at(file, offset, left_bytes, address, &frames->eh_frame,
			  &sections->eh_frame);
}

void elf_read_frames(struct elf_file *file, struct elf_frames *frames)
{
	*frames = (struct elf_frames){ .sections.work = file->work, .exidx.work = file->work };
	elf_find_entries(file, &frames->sections.entries);
	for (size_t i = 1; i < file->n_sections; i++)
		elf_try_section(file, i, frames);
	for (size_t i = 0; i < file->n_segments && !frames->eh_frame.bytes; i++)
		if (file->segments[i].p_type == PT_GNU_EH_FRAME)
			elf_frames_of_segment(file, &file->segments[i], frames);
}

void elf_frames_deinit(struct elf_frames *frames)
{
	elf_blob_deinit(&frames->eh_frame);
	elf_blob_deinit(&frames->eh_frame_hdr);
	elf_blob_deinit(&frames->debug_frame);
	elf_blob_deinit(&frames->index);
	elf_blob_deinit(&frames->table);
}
