/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the place a file is mapped at to the addresses that its symbols have. Resolver's thread.
 *
 * A mapping covers whole pages, so it begins up to a page before the segment (System V gABI,
 * Program Header: p_vaddr and p_offset are congruent modulo the page size):
 *
 *   file     |....[ segment ...........]..|         p_offset, p_filesz
 *   mapping  |page|page|page|page|page|page|
 *            ^ FILE_OFFSET at START
 *
 *   address in the file of START = p_vaddr + (FILE_OFFSET - p_offset)
 *   bias = START - that
 *
 * 0 for an executable at fixed addresses (ET_EXEC) and for what prelink put where it wanted to be;
 * anything for ET_DYN. Two segments may share a page of the file, which is then mapped twice: code
 * is what is asked for, so an executable segment is preferred.
 */
#include "config.h"

#include "xtop/loads.h"

#include <elf.h>
#include <string.h>

#include "xtop/types.h"

static bool loads_is_x86_64(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_machine == EM_X86_64 &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum &&
	       header->e_phnum <= LOADS_MAX_SEGMENTS;
}

/* i386, or x32; the fields looked at lie where they do in ELF64. */
static bool loads_is_elf32(const Elf64_Ehdr *header)
{
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS32 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (header->e_machine == EM_386 || header->e_machine == EM_X86_64);
}

enum loads_result loads_read(const struct bytes *bytes, struct loads *loads)
{
	Elf64_Phdr segments[LOADS_MAX_SEGMENTS];
	struct loads read = { .n = 0 };
	Elf64_Ehdr header;

	if (bytes->size_bytes < sizeof(header))
		return LOADS_NO_ELF;
	if (!bytes_read(bytes, 0, &header, sizeof(header)))
		return LOADS_MISSING;
	if (!loads_is_x86_64(&header))
		return loads_is_elf32(&header) ? LOADS_ELF32 : LOADS_NO_ELF;
	if (!bytes_read(bytes, header.e_phoff, segments, header.e_phnum * sizeof(segments[0])))
		return LOADS_MISSING;
	for (unsigned i = 0; i < header.e_phnum && read.n < LOADS_MAX; i++) {
		const Elf64_Phdr *segment = &segments[i];

		if (segment->p_type == PT_LOAD && segment->p_filesz)
			read.loads[read.n++] =
				(struct load){ .offset = segment->p_offset,
					       .address = segment->p_vaddr,
					       .file_bytes = segment->p_filesz,
					       .executable = segment->p_flags & PF_X };
	}
	if (!read.n)
		return LOADS_NO_ELF;
	*loads = read;
	return LOADS_READ;
}

/* Whole pages. */
static bool loads_covers(const struct load *load, uint64_t file_offset)
{
	uint64_t first = load->offset & ~(uint64_t)GUEST_PAGE_MASK;

	return file_offset >= first &&
	       file_offset - first < load->file_bytes + (load->offset - first);
}

bool loads_bias(const struct loads *loads, uint64_t start, uint64_t file_offset, uint64_t *bias)
{
	const struct load *found = NULL;

	for (unsigned i = 0; i < loads->n; i++)
		if (loads_covers(&loads->loads[i], file_offset) &&
		    (!found || (loads->loads[i].executable && !found->executable)))
			found = &loads->loads[i];
	if (!found)
		return false;
	*bias = start - (found->address + (file_offset - found->offset));
	return true;
}
