/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What both readers of ELF files share: the checks of the header, the number of sections, and the
 * way to a part of the file (System V gABI, chapter 4):
 *
 *   header           e_phoff, e_phnum: program headers   e_shoff, e_shnum: section headers; with
 *                    e_shnum 0 the number stands in sh_size of section 0
 *   section header   sh_addr .. + sh_size in memory if SHF_ALLOC; code if SHF_EXECINSTR; sh_name in
 *                    the string table that e_shstrndx names
 *
 * Each range is checked here against the file's size, and each number against a limit, before
 * memory is taken for it and before libelf sees it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf_machine.h"
#include "elf/elf_reader.h"

struct xtop_error *elf_damaged(const struct elf_file *file, const char *what)
{
	return error_create("%s: damaged ELF file: %s", file->path, what);
}

bool elf_machine_is_x86_64(const struct elf_file *file)
{
	return file->header.e_machine == EM_X86_64;
}

bool elf_machine_is_arm(const struct elf_file *file)
{
	return file->header.e_machine == EM_ARM || file->header.e_machine == EM_AARCH64;
}

bool elf_machine_is_short(const struct elf_file *file)
{
	return elf_machine_has_words_of_4(file->header.e_machine);
}

bool elf_has_magic(const void *bytes, size_t n)
{
	return n >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

/* --- parts of a file -------------------------------------------------------------------------- */

bool elf_is_inside(const struct elf_file *file, uint64_t offset, uint64_t size_bytes)
{
	return offset <= file->size_bytes && size_bytes <= file->size_bytes - offset &&
	       offset <= INT64_MAX && size_bytes <= INT64_MAX;
}

size_t elf_read(struct elf_file *file, uint64_t offset, void *buffer, size_t size_bytes)
{
	return file->reader->read(file, offset, buffer, size_bytes);
}

bool elf_load(struct elf_file *file, uint64_t offset, uint64_t size_bytes, struct elf_blob *blob)
{
	*blob = (struct elf_blob){ 0 };
	return size_bytes && elf_is_inside(file, offset, size_bytes) &&
	       file->reader->load(file, offset, size_bytes, blob);
}

/* Whether section INDEX has bytes in the file. */
static bool elf_section_is_inside(const struct elf_file *file, size_t index)
{
	const Elf64_Shdr *header;

	if (!index || index >= file->n_sections)
		return false;
	header = &file->sections[index].header;
	return header->sh_type != SHT_NOBITS && header->sh_size &&
	       elf_is_inside(file, header->sh_offset, header->sh_size);
}

bool elf_load_section(struct elf_file *file, size_t index, struct elf_blob *blob)
{
	*blob = (struct elf_blob){ 0 };
	return elf_section_is_inside(file, index) && file->reader->load_section(file, index, blob);
}

bool elf_inflate_section(struct elf_file *file, size_t index, bool zdebug, struct elf_blob *blob)
{
	*blob = (struct elf_blob){ 0 };
	return file->limits.inflated_bytes && file->reader->inflate_section &&
	       elf_section_is_inside(file, index) &&
	       file->reader->inflate_section(file, index, zdebug, blob);
}

void elf_blob_deinit(struct elf_blob *blob)
{
	free(blob->owned);
	free(blob->gaps);
	*blob = (struct elf_blob){ 0 };
}

bool elf_blob_has(const struct elf_blob *blob, size_t offset, size_t size_bytes)
{
	return offset <= blob->size_bytes && size_bytes <= blob->size_bytes - offset &&
	       !bytes_gaps_touch(blob->gaps, blob->n_gaps, offset, offset + size_bytes);
}

/* --- the header ------------------------------------------------------------------------------- */

enum elf_header_kind elf_classify_header(const Elf64_Ehdr *header)
{
	bool little = header->e_ident[EI_DATA] == ELFDATA2LSB;
	bool is_32bit = header->e_ident[EI_CLASS] == ELFCLASS32;

	if (!elf_has_magic(header->e_ident, sizeof(header->e_ident)))
		return ELF_HEADER_NO_ELF;
	/* ELF32 has e_ident and e_machine at the same offsets. */
	if (little && elf_machine_is_x32(header->e_machine, is_32bit))
		return ELF_HEADER_32BIT;
	if (!is_32bit && header->e_ident[EI_CLASS] != ELFCLASS64)
		return ELF_HEADER_32BIT_OTHER;
	if (!little || !elf_machine_is_read(header->e_machine, is_32bit))
		return is_32bit ? ELF_HEADER_32BIT_OTHER : ELF_HEADER_OTHER_MACHINE;
	if (header->e_type == ET_REL)
		return ELF_HEADER_RELOCATABLE;
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return ELF_HEADER_OTHER_TYPE;
	return ELF_HEADER_GOOD;
}

struct xtop_error *elf_read_header(struct elf_file *file)
{
	Elf64_Ehdr *header = &file->header;

	if (elf_read(file, 0, header, sizeof(*header)) != sizeof(*header))
		return error_create("%s: not an ELF file", file->path);
	elf_widen_header(header);
	switch (elf_classify_header(header)) {
	case ELF_HEADER_GOOD:
		break;
	case ELF_HEADER_NO_ELF:
		return error_create("%s: not an ELF file", file->path);
	case ELF_HEADER_32BIT:
		/* Multiboot loaders take no file of class 64: objcopy -O elf32-x86-64. */
		if (file->limits.short_kernels && header->e_type == ET_EXEC)
			break;
		/* fallthrough */
	case ELF_HEADER_32BIT_OTHER:
		return error_create("%s: a 32-bit ELF file; only " ELF_MACHINE_NAME
				    " guests can be named",
				    file->path);
	case ELF_HEADER_OTHER_MACHINE:
		return error_create("%s: an ELF file for another machine (e_machine %u), "
				    "not " ELF_MACHINE_NAME,
				    file->path, header->e_machine);
	case ELF_HEADER_RELOCATABLE:
		if (file->limits.relocatable)
			break;
		return error_create(
			"%s: a relocatable file (.o, .ko) has no addresses yet: give what it was "
			"linked into, or for a kernel module the guest's /proc/kallsyms",
			file->path);
	case ELF_HEADER_OTHER_TYPE:
		return error_create("%s: neither an executable nor a shared object (e_type %u)",
				    file->path, header->e_type);
	}
	return NULL;
}

/* --- sections --------------------------------------------------------------------------------- */

struct xtop_error *elf_count_sections(struct elf_file *file, size_t *np)
{
	const Elf64_Ehdr *header = &file->header;
	uint64_t n = header->e_shnum;
	size_t size_bytes = elf_sizes(header).section;
	char first[sizeof(Elf64_Shdr)];

	if (!n && header->e_shoff) {
		if (!elf_is_inside(file, header->e_shoff, size_bytes))
			return elf_damaged(file, "section headers");
		if (elf_read(file, header->e_shoff, first, size_bytes) == size_bytes)
			n = elf_decode_section(header, first).sh_size;
		else
			file->incomplete = true;
	}
	if (n > file->limits.sections)
		return error_create("%s: more than %zu sections", file->path,
				    file->limits.sections);
	if (n && (header->e_shentsize != size_bytes ||
		  !elf_is_inside(file, header->e_shoff, n * size_bytes)))
		return elf_damaged(file, "section headers");
	*np = n;
	return NULL;
}

struct xtop_error *elf_reserve_sections(struct elf_file *file, size_t n)
{
	file->sections = calloc(n, sizeof(*file->sections));
	if (!file->sections)
		return error_create("%s: out of memory for %zu sections", file->path, n);
	file->n_sections = n;
	return NULL;
}

void elf_set_section(struct elf_section *section, const Elf64_Shdr *header)
{
	*section = (struct elf_section){ .header = *header };
	if (!(header->sh_flags & SHF_ALLOC))
		return;
	section->start = header->sh_addr;
	if (__builtin_add_overflow(header->sh_addr, header->sh_size, &section->end))
		section->end = UINT64_MAX;
	section->code = header->sh_flags & SHF_EXECINSTR;
}

/*
 * Loads the names of sections. Bytes after the last NUL are left out, so that every name has an
 * end.
 */
void elf_load_names(struct elf_file *file, size_t index)
{
	struct elf_blob *names = &file->names;
	const uint8_t *last;

	if (index >= file->n_sections ||
	    file->sections[index].header.sh_size > ELF_MAX_NAMES_BYTES ||
	    !elf_load_section(file, index, names))
		return;
	last = memrchr(names->bytes, '\0', names->size_bytes);
	names->size_bytes = last ? (size_t)(last + 1 - names->bytes) : 0;
}

const char *elf_section_name(const struct elf_file *file, const struct elf_section *section)
{
	const struct elf_blob *names = &file->names;
	size_t offset = section->header.sh_name;

	return offset < names->size_bytes ? (const char *)names->bytes + offset : "";
}

size_t elf_find_section(const struct elf_file *file, const char *name)
{
	for (size_t i = 1; i < file->n_sections; i++)
		if (strcmp(elf_section_name(file, &file->sections[i]), name) == 0)
			return i;
	return 0;
}

void elf_file_deinit(struct elf_file *file)
{
	elf_blob_deinit(&file->names);
	free(file->sections);
	file->sections = NULL;
	file->n_sections = 0;
	if (file->reader && file->reader->close)
		file->reader->close(file);
}
