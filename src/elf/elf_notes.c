/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the notes of an ELF file say (System V gABI, chapter 5, Note Section): its build-id, which
 * package it comes from, where a PVH guest begins to run, where a PV guest has its hypercall page,
 * and whether Go's linker made it.
 *
 *   note             namesz descsz type name desc; NT_GNU_BUILD_ID of "GNU" holds the build-id,
 *                    type 4 of "Go" that of Go (Go src/cmd/link/internal/ld/elf.go), type
 *                    0xcafe1a7e of "FDO" a JSON object (systemd.io, Package Metadata for
 *                    Executable Files; `ld --package-metadata`), type 18 of "Xen" the physical
 *                    address of the entry in 32-bit mode, 4 or 8 bytes, and type 2 the virtual
 *                    address of the hypercall page (Xen public/elfnote.h)
 *
 * Name and desc are padded to 4 bytes, or to 8 where the segment or section is aligned to 8.
 */
#include "config.h"

#include <string.h>

#include "elf/elf_reader.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/types.h"

static size_t elf_align(size_t offset, size_t alignment)
{
	return (offset + alignment - 1) & ~(alignment - 1);
}

/* A kind of note, and how long its desc is at most. */
struct elf_note_kind {
	uint32_t type;
	const char *name;
	size_t max_bytes;
};

/* Where the desc is in the blob. */
struct elf_desc {
	size_t offset, size_bytes;
};

/* Go counts the zeros that fill its name up to four bytes. */
static bool elf_is_note(const struct elf_note_kind *kind, const Elf64_Nhdr *note,
			const uint8_t *name)
{
	size_t name_bytes = strlen(kind->name) + 1;

	return note->n_type == kind->type && note->n_namesz >= name_bytes &&
	       note->n_namesz <= elf_align(name_bytes, 4) &&
	       memcmp(name, kind->name, name_bytes) == 0 && note->n_descsz &&
	       note->n_descsz <= kind->max_bytes;
}

static bool elf_find_note(const struct elf_blob *notes, size_t alignment,
			  const struct elf_note_kind *kind, struct elf_desc *found)
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
		if (!elf_is_note(kind, &note, notes->bytes + name))
			continue;
		*found = (struct elf_desc){ desc, note.n_descsz };
		return true;
	}
	return false;
}

/* --- notes of a file -------------------------------------------------------------------------- */

/* ADDRESS: where the notes are loaded; 0: they are not. True: CONTEXT has what was looked for. */
typedef bool elf_notes_fn(void *context, const struct elf_blob *notes, size_t alignment,
			  uint64_t address);

struct elf_notes_search {
	elf_notes_fn *fn;
	void *context;
	/* what is left of ELF_MAX_NOTES_BYTES: many sections may name the same bytes */
	uint64_t left_bytes;
};

static bool elf_try_notes(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			  uint64_t alignment, uint64_t address, struct elf_notes_search *search)
{
	_cleanup_(elf_blob_deinit) struct elf_blob notes = { 0 };
	uint64_t found, loaded_bytes;

	if (size_bytes > search->left_bytes || !elf_load(file, offset, size_bytes, &notes))
		return false;
	search->left_bytes -= size_bytes;
	if (!elf_find_offset(file, address, &found, &loaded_bytes) || loaded_bytes < size_bytes)
		address = 0; /* not loaded */
	return search->fn(search->context, &notes, alignment == 8 ? 8 : 4, address);
}

/* Linux has the segment, too. Files made by hand or by objcopy may only have the section. */
static void elf_search_notes(struct elf_file *file, elf_notes_fn *fn, void *context)
{
	struct elf_notes_search search = { fn, context, ELF_MAX_NOTES_BYTES };

	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_NOTE &&
		    elf_try_notes(file, segment->p_offset, segment->p_filesz, segment->p_align,
				  segment->p_vaddr, &search))
			return;
	}
	for (size_t i = 1; i < file->n_sections; i++) {
		const Elf64_Shdr *header = &file->sections[i].header;

		if (header->sh_type == SHT_NOTE && !(header->sh_flags & SHF_COMPRESSED) &&
		    elf_try_notes(file, header->sh_offset, header->sh_size, header->sh_addralign,
				  header->sh_addr, &search))
			return;
	}
}

/* --- the build-id ----------------------------------------------------------------------------- */

bool elf_find_build_id_note(const struct elf_blob *notes, size_t alignment, uint64_t address,
			    struct build_id *build_id)
{
	static const struct elf_note_kind kind = { NT_GNU_BUILD_ID, "GNU", BUILD_ID_MAX_BYTES };
	struct elf_desc desc;

	if (!elf_find_note(notes, alignment, &kind, &desc))
		return false;
	build_id->size_bytes = desc.size_bytes;
	memcpy(build_id->bytes, notes->bytes + desc.offset, desc.size_bytes);
	build_id->address = address ? address + desc.offset : 0;
	return true;
}

static bool elf_find_build_id_here(void *context, const struct elf_blob *notes, size_t alignment,
				   uint64_t address)
{
	return elf_find_build_id_note(notes, alignment, address, context);
}

void elf_find_build_id(struct elf_file *file, struct build_id *build_id)
{
	*build_id = (struct build_id){ 0 };
	elf_search_notes(file, elf_find_build_id_here, build_id);
}

/* --- the package ------------------------------------------------------------------------------ */

#define NT_PACKAGE          0xcafe1a7e
#define PACKAGE_MAX_BYTES   4096
#define PACKAGE_VALUE_BYTES 96

/* A JSON string from *AT on, its quotes left off, cut to CAPACITY. False: there is none. */
static bool package_read_string(const char **at, const char *end, char *to, size_t capacity)
{
	size_t n = 0;

	if (*at == end || **at != '"')
		return false;
	for (++*at; *at < end && **at && **at != '"'; ++*at) {
		bool escaped = **at == '\\' && *at + 1 < end;

		*at += escaped;
		if (n + 1 < capacity)
			to[n++] = escaped && !strchr("\"\\/", **at) ? '?' : **at;
	}
	to[n] = '\0';
	return *at < end && *(*at)++ == '"';
}

static bool package_skip(const char **at, const char *end, char mark)
{
	while (*at < end && **at && strchr(" \t\r\n", **at))
		++*at;
	if (*at == end || **at != mark)
		return false;
	for (++*at; *at < end && **at && strchr(" \t\r\n", **at);)
		++*at;
	return true;
}

/* { "type":"deb", "name":"systemd", ... }: all values that the specification has are strings. */
static void package_parse(const char *at, const char *end, struct elf_package *package)
{
	char key[PACKAGE_VALUE_BYTES], value[ELF_PACKAGE_TEXT_BYTES];
	bool more = package_skip(&at, end, '{');

	while (more && package_read_string(&at, end, key, sizeof(key)) &&
	       package_skip(&at, end, ':') && package_read_string(&at, end, value, sizeof(value))) {
		if (strcmp(key, "name") == 0)
			memcpy(package->name, value, sizeof(value));
		else if (strcmp(key, "version") == 0)
			memcpy(package->version, value, sizeof(value));
		else if (strcmp(key, "type") == 0)
			memcpy(package->type, value, sizeof(value));
		more = package_skip(&at, end, ',');
	}
}

static bool elf_find_package_here(void *context, const struct elf_blob *notes, size_t alignment,
				  uint64_t address)
{
	static const struct elf_note_kind kind = { NT_PACKAGE, "FDO", PACKAGE_MAX_BYTES };
	struct elf_package *package = context;
	struct elf_desc desc;
	const char *text;

	(void)address;
	if (!elf_find_note(notes, alignment, &kind, &desc))
		return false;
	text = (const char *)notes->bytes + desc.offset;
	package_parse(text, text + desc.size_bytes, package);
	return package->name[0];
}

bool elf_find_package(struct elf_file *file, struct elf_package *package)
{
	*package = (struct elf_package){ 0 };
	elf_search_notes(file, elf_find_package_here, package);
	return package->name[0];
}

/* --- where the image begins to run ------------------------------------------------------------ */

#define NT_XEN_HYPERCALL_PAGE 2
#define NT_XEN_PHYS32_ENTRY   18

/* A note of Xen's with an address. */
struct elf_xen_note {
	uint32_t type;
	uint64_t address; /* 0: not found */
};

static bool elf_find_xen_note_here(void *context, const struct elf_blob *notes, size_t alignment,
				   uint64_t address)
{
	struct elf_xen_note *wanted = context;
	struct elf_note_kind kind = { wanted->type, "Xen", sizeof(wanted->address) };
	struct elf_desc desc;

	(void)address;
	if (!elf_find_note(notes, alignment, &kind, &desc))
		return false;
	memcpy(&wanted->address, notes->bytes + desc.offset, desc.size_bytes);
	return true;
}

void elf_find_entries(struct elf_file *file, struct entry_points *entries)
{
	struct elf_xen_note entry = { .type = NT_XEN_PHYS32_ENTRY };

	*entries = (struct entry_points){ .elf = file->header.e_entry,
					  .called = elf_find_called(file) };
	elf_search_notes(file, elf_find_xen_note_here, &entry);
	if (entry.address)
		elf_find_physical(file, entry.address, &entries->pvh);
}

bool elf_find_hypercall_page(struct elf_file *file, uint64_t *address)
{
	struct elf_xen_note page = { .type = NT_XEN_HYPERCALL_PAGE };

	elf_search_notes(file, elf_find_xen_note_here, &page);
	if (!page.address || page.address % GUEST_PAGE_SIZE)
		return false;
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD ||
		    page.address - segment->p_vaddr >= segment->p_memsz)
			continue;
		*address = page.address;
		return true;
	}
	return false;
}

/* --- Go --------------------------------------------------------------------------------------- */

#define NT_GO_BUILD_ID        4
#define GO_BUILD_ID_MAX_BYTES 4096

static bool elf_find_go_note_here(void *context, const struct elf_blob *notes, size_t alignment,
				  uint64_t address)
{
	static const struct elf_note_kind kind = { NT_GO_BUILD_ID, "Go", GO_BUILD_ID_MAX_BYTES };
	struct elf_desc desc;
	bool *found = context;

	(void)address;
	*found = elf_find_note(notes, alignment, &kind, &desc);
	return *found;
}

bool elf_has_go_note(struct elf_file *file)
{
	bool found = false;

	elf_search_notes(file, elf_find_go_note_here, &found);
	return found;
}
