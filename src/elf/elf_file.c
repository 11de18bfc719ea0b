/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF headers, tables and notes, of any file whose bytes can be read (System V gABI, chapters 4, 5):
 *
 *   header           e_phoff, e_phnum: program headers   e_shoff, e_shnum: section headers; with
 *                    e_shnum 0 the number stands in sh_size of section 0
 *   program header   PT_LOAD: p_filesz bytes at p_offset are loaded at p_vaddr; p_flags & PF_X: code
 *   section header   sh_addr .. + sh_size in memory if SHF_ALLOC; code if SHF_EXECINSTR; sh_name in
 *                    the string table that e_shstrndx names
 *   note             namesz descsz type name desc; NT_GNU_BUILD_ID of "GNU" holds the build-id
 *
 * The bytes are hostile, and of a guest's file some pages may not be there: that is no error, what
 * they hold is left out, file->incomplete says so. Each index, range and string is checked here
 * against the bytes that were read, each size against a limit before memory is taken for it.
 */
#include "config.h"

#include "xtop/elf_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/cleanup.h"
#include "xtop/types.h"

struct xtop_error *elf_damaged(const struct elf_file *file, const char *what)
{
	return error_create("%s: damaged ELF file: %s", file->path, what);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static bool elf_is_inside(const struct elf_file *file, uint64_t offset, uint64_t size_bytes)
{
	return offset <= file->bytes->size_bytes &&
	       size_bytes <= file->bytes->size_bytes - offset && offset <= INT64_MAX &&
	       size_bytes <= INT64_MAX;
}

static bool elf_add_gap(struct elf_blob *blob, size_t start, size_t end)
{
	struct bytes_gap *gaps;

	if (blob->n_gaps && blob->gaps[blob->n_gaps - 1].end == start) {
		blob->gaps[blob->n_gaps - 1].end = end;
		return true;
	}
	gaps = realloc(blob->gaps, (blob->n_gaps + 1) * sizeof(*gaps));
	if (!gaps)
		return false;
	blob->gaps = gaps;
	gaps[blob->n_gaps++] = (struct bytes_gap){ start, end };
	return true;
}

/* Reading stops before a page that is not there: it is a gap, and goes on behind it. */
static bool elf_fill(struct elf_file *file, uint64_t offset, struct elf_blob *blob)
{
	const struct bytes *bytes = file->bytes;

	for (size_t done = 0; done < blob->size_bytes;) {
		size_t got = bytes->read(bytes->context, offset + done, blob->bytes + done,
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
		memset(blob->bytes + done, 0, next - done);
		done = next;
	}
	return true;
}

bool elf_load(struct elf_file *file, uint64_t offset, uint64_t size_bytes, struct elf_blob *blob)
{
	*blob = (struct elf_blob){ 0 };
	if (!size_bytes || !elf_is_inside(file, offset, size_bytes))
		return false;
	blob->size_bytes = size_bytes;
	blob->bytes = malloc(size_bytes);
	if (blob->bytes && elf_fill(file, offset, blob))
		return true;
	elf_blob_deinit(blob);
	return false;
}

void elf_blob_deinit(struct elf_blob *blob)
{
	free(blob->bytes);
	free(blob->gaps);
	*blob = (struct elf_blob){ 0 };
}

bool elf_blob_has(const struct elf_blob *blob, size_t offset, size_t size_bytes)
{
	return offset <= blob->size_bytes && size_bytes <= blob->size_bytes - offset &&
	       !bytes_gaps_touch(blob->gaps, blob->n_gaps, offset, offset + size_bytes);
}

/* --- headers ---------------------------------------------------------------------------------- */

/* Only what runs in an x86-64 guest: ELF64, little-endian, EM_X86_64, with addresses. */
static struct xtop_error *elf_check_header(const struct elf_file *file)
{
	const Elf64_Ehdr *header = &file->header;
	const char *path = file->path;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return error_create("%s: not an ELF file", path);
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return error_create("%s: a 32-bit ELF file; only x86-64 guests can be named", path);
	if (header->e_machine != EM_X86_64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return error_create(
			"%s: an ELF file for another machine (e_machine %u), not x86-64", path,
			header->e_machine);
	if (header->e_type == ET_REL)
		return error_create(
			"%s: a relocatable file (.o, .ko) has no addresses yet: give what it was "
			"linked into, or for a kernel module the guest's /proc/kallsyms",
			path);
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return error_create("%s: neither an executable nor a shared object (e_type %u)",
				    path, header->e_type);
	return NULL;
}

static void elf_read_segments(struct elf_file *file)
{
	const Elf64_Ehdr *header = &file->header;
	_cleanup_(elf_blob_deinit) struct elf_blob blob = { 0 };
	size_t n = header->e_phnum;

	if (!n || header->e_phentsize != sizeof(Elf64_Phdr))
		return;
	if (n > ELF_MAX_SEGMENTS)
		n = ELF_MAX_SEGMENTS;
	if (!elf_load(file, header->e_phoff, n * sizeof(Elf64_Phdr), &blob) || blob.n_gaps)
		return;
	memcpy(file->segments, blob.bytes, blob.size_bytes);
	file->n_segments = n;
}

/* 0: none. Section 0 has the number if it did not fit. */
static bool elf_count_sections(struct elf_file *file, uint64_t *n)
{
	const Elf64_Ehdr *header = &file->header;
	Elf64_Shdr first;

	*n = header->e_shnum;
	if (*n || !header->e_shoff)
		return true;
	if (!elf_is_inside(file, header->e_shoff, sizeof(first)))
		return false;
	if (bytes_read(file->bytes, header->e_shoff, &first, sizeof(first)))
		*n = first.sh_size;
	else
		file->incomplete = true;
	return true;
}

static void elf_take_section(struct elf_section *section, const Elf64_Shdr *header)
{
	*section = (struct elf_section){ .header = *header };
	if (!(header->sh_flags & SHF_ALLOC))
		return;
	section->start = header->sh_addr;
	if (__builtin_add_overflow(header->sh_addr, header->sh_size, &section->end))
		section->end = UINT64_MAX;
	section->code = header->sh_flags & SHF_EXECINSTR;
}

static struct xtop_error *elf_read_sections(struct elf_file *file)
{
	_cleanup_(elf_blob_deinit) struct elf_blob blob = { 0 };
	Elf64_Shdr header;
	uint64_t n;

	if (!elf_count_sections(file, &n))
		return elf_damaged(file, "section headers");
	if (n > file->limits.sections)
		return error_create("%s: more than %zu sections", file->path,
				    file->limits.sections);
	if (!n)
		return NULL;
	if (file->header.e_shentsize != sizeof(header) ||
	    !elf_load(file, file->header.e_shoff, n * sizeof(header), &blob))
		return elf_damaged(file, "section headers");
	if (blob.n_gaps)
		return NULL;
	file->sections = calloc(n, sizeof(*file->sections));
	if (!file->sections)
		return error_create("%s: out of memory for %" PRIu64 " sections", file->path, n);
	file->n_sections = n;
	for (size_t i = 1; i < n; i++) {
		memcpy(&header, blob.bytes + i * sizeof(header), sizeof(header));
		elf_take_section(&file->sections[i], &header);
	}
	return NULL;
}

struct xtop_error *elf_file_init(struct elf_file *file, const struct bytes *bytes, const char *path,
				 const struct elf_limits *limits)
{
	struct xtop_error *error;

	*file = (struct elf_file){ .bytes = bytes, .path = path, .limits = *limits };
	if (!bytes_read(bytes, 0, &file->header, sizeof(file->header)))
		return error_create("%s: not an ELF file", path);
	error = elf_check_header(file);
	if (error)
		return error;
	elf_read_segments(file);
	error = elf_read_sections(file);
	if (error && limits->lenient) {
		error_destroy(error);
		error = NULL;
	}
	if (error)
		elf_file_deinit(file);
	return error;
}

void elf_file_deinit(struct elf_file *file)
{
	free(file->sections);
	file->sections = NULL;
	file->n_sections = 0;
}

bool elf_offset_of(const struct elf_file *file, uint64_t address, uint64_t *offset,
		   uint64_t *left_bytes)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		uint64_t distance = address - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
		    distance >= segment->p_filesz || segment->p_offset > UINT64_MAX - distance)
			continue;
		*offset = segment->p_offset + distance;
		*left_bytes = segment->p_filesz - distance;
		return true;
	}
	return false;
}

bool elf_load_names(struct elf_file *file, struct elf_blob *names)
{
	size_t index = file->header.e_shstrndx;
	const Elf64_Shdr *header;

	if (!file->n_sections)
		return false;
	if (index == SHN_XINDEX) {
		Elf64_Shdr first;

		if (!bytes_read(file->bytes, file->header.e_shoff, &first, sizeof(first)))
			return false;
		index = first.sh_link;
	}
	if (!index || index >= file->n_sections)
		return false;
	header = &file->sections[index].header;
	return header->sh_size <= ELF_MAX_NAMES_BYTES &&
	       elf_load(file, header->sh_offset, header->sh_size, names);
}

const char *elf_section_name(const struct elf_blob *names, const struct elf_section *section)
{
	size_t offset = section->header.sh_name;

	if (offset >= names->size_bytes ||
	    !memchr(names->bytes + offset, '\0', names->size_bytes - offset))
		return "";
	return (const char *)names->bytes + offset;
}

/* --- build-id --------------------------------------------------------------------------------- */

static size_t elf_align(size_t offset, size_t alignment)
{
	return (offset + alignment - 1) & ~(alignment - 1);
}

/* Notes are aligned to 4 bytes, or to 8 where the segment or section is (gABI, Note Section). */
static bool elf_scan_notes(const struct elf_blob *notes, size_t alignment, uint64_t address,
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
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp(notes->bytes + name, "GNU", sizeof("GNU")) != 0 || !note.n_descsz ||
		    note.n_descsz > BUILD_ID_MAX_BYTES)
			continue;
		build_id->size_bytes = note.n_descsz;
		memcpy(build_id->bytes, notes->bytes + desc, note.n_descsz);
		build_id->address = address ? address + desc : 0;
		return true;
	}
	return false;
}

static bool elf_try_notes(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			  uint64_t alignment, uint64_t address, struct build_id *build_id)
{
	_cleanup_(elf_blob_deinit) struct elf_blob notes = { 0 };
	uint64_t found, left_bytes;

	if (size_bytes > ELF_MAX_NOTES_BYTES || !elf_load(file, offset, size_bytes, &notes))
		return false;
	if (!elf_offset_of(file, address, &found, &left_bytes) || left_bytes < size_bytes)
		address = 0; /* not loaded */
	return elf_scan_notes(&notes, alignment == 8 ? 8 : 4, address, build_id);
}

/* Linux has the segment too; files made by hand or by objcopy may only have the section. */
void elf_find_build_id(struct elf_file *file, struct build_id *build_id)
{
	*build_id = (struct build_id){ 0 };
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_NOTE &&
		    elf_try_notes(file, segment->p_offset, segment->p_filesz, segment->p_align,
				  segment->p_vaddr, build_id))
			return;
	}
	for (size_t i = 1; i < file->n_sections; i++) {
		const Elf64_Shdr *header = &file->sections[i].header;

		if (header->sh_type == SHT_NOTE && !(header->sh_flags & SHF_COMPRESSED) &&
		    elf_try_notes(file, header->sh_offset, header->sh_size, header->sh_addralign,
				  header->sh_addr, build_id))
			return;
	}
}
