/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the notes of an ELF file say (System V gABI, chapter 5, Note Section): its build-id, and
 * whether Go's linker made it.
 *
 *   note             namesz descsz type name desc; NT_GNU_BUILD_ID of "GNU" holds the build-id,
 *                    type 4 of "Go" that of Go (Go src/cmd/link/internal/ld/elf.go)
 *
 * Name and desc are padded to 4 bytes, or to 8 where the segment or section is aligned to 8.
 */
#include "config.h"

#include <string.h>

#include "elf/elf_reader.h"
#include "xtop/cleanup.h"

static size_t elf_align(size_t offset, size_t alignment)
{
	return (offset + alignment - 1) & ~(alignment - 1);
}

static bool elf_is_build_id(const Elf64_Nhdr *note, const uint8_t *name)
{
	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU") &&
	       memcmp(name, "GNU", sizeof("GNU")) == 0 && note->n_descsz &&
	       note->n_descsz <= BUILD_ID_MAX_BYTES;
}

bool elf_find_build_id_note(const struct elf_blob *notes, size_t alignment, uint64_t address,
			    struct build_id *build_id)
{
	size_t offset = 0;

	while (elf_blob_has(notes, offset, sizeof(Elf64_Nhdr))) {
		size_t name, desc;
		Elf64_Nhdr note;

		memcpy(&note, notes->bytes + offset, sizeof(note));
		name = offset + sizeof(note);
		desc = elf_align(name + note.n_namesz, alignment);
		if (!elf_blob_has(notes, name, note.n_namesz) ||
		    !elf_blob_has(notes, desc, note.n_descsz))
			return false;
		offset = elf_align(desc + note.n_descsz, alignment);
		if (!elf_is_build_id(&note, notes->bytes + name))
			continue;
		build_id->size_bytes = note.n_descsz;
		memcpy(build_id->bytes, notes->bytes + desc, note.n_descsz);
		build_id->address = address ? address + desc : 0;
		return true;
	}
	return false;
}

/* LEFT_BYTES: of ELF_MAX_NOTES_BYTES. Many sections may name the same bytes. */
static bool elf_try_notes(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			  uint64_t alignment, uint64_t address, uint64_t *left_bytes,
			  struct build_id *build_id)
{
	_cleanup_(elf_blob_deinit) struct elf_blob notes = { 0 };
	uint64_t found, loaded_bytes;

	if (size_bytes > *left_bytes || !elf_load(file, offset, size_bytes, &notes))
		return false;
	*left_bytes -= size_bytes;
	if (!elf_find_offset(file, address, &found, &loaded_bytes) || loaded_bytes < size_bytes)
		address = 0; /* not loaded */
	return elf_find_build_id_note(&notes, alignment == 8 ? 8 : 4, address, build_id);
}

/* Linux has the segment, too. Files made by hand or by objcopy may only have the section. */
void elf_find_build_id(struct elf_file *file, struct build_id *build_id)
{
	uint64_t left_bytes = ELF_MAX_NOTES_BYTES;

	*build_id = (struct build_id){ 0 };
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_NOTE &&
		    elf_try_notes(file, segment->p_offset, segment->p_filesz, segment->p_align,
				  segment->p_vaddr, &left_bytes, build_id))
			return;
	}
	for (size_t i = 1; i < file->n_sections; i++) {
		const Elf64_Shdr *header = &file->sections[i].header;

		if (header->sh_type == SHT_NOTE && !(header->sh_flags & SHF_COMPRESSED) &&
		    elf_try_notes(file, header->sh_offset, header->sh_size, header->sh_addralign,
				  header->sh_addr, &left_bytes, build_id))
			return;
	}
}

/* --- Go --------------------------------------------------------------------------------------- */

#define NT_GO_BUILD_ID 4

bool elf_has_go_note(struct elf_file *file)
{
	static const char name[4] = "Go";

	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		struct {
			Elf64_Nhdr note;
			char name[sizeof(name)];
		} first;

		if (segment->p_type == PT_NOTE &&
		    elf_read(file, segment->p_offset, &first, sizeof(first)) == sizeof(first) &&
		    first.note.n_type == NT_GO_BUILD_ID && first.note.n_namesz == sizeof(name) &&
		    memcmp(first.name, name, sizeof(name)) == 0)
			return true;
	}
	return false;
}
