/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The segments of an ELF file, and the way from the place where a file is mapped to the addresses
 * that its symbols have. Resolver's thread.
 *
 *   program header   PT_LOAD: p_filesz bytes at p_offset are loaded at p_vaddr; with PF_X: code
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
 * The bias is 0 for an executable at fixed addresses (ET_EXEC), and for a library that lies where
 * prelink wanted it; for other files of type ET_DYN it can be any number of pages. Two segments may
 * share a page of the file, which is then mapped twice. Callers ask for code, so an executable
 * segment is preferred.
 */
#include "config.h"

#include "elf/elf_machine.h"
#include "elf/elf_reader.h"
#include "xtop/base/types.h"

/* --- segments of a file ----------------------------------------------------------------------- */

size_t elf_count_segments(const struct elf_file *file)
{
	const Elf64_Ehdr *header = &file->header;
	size_t size_bytes = elf_sizes(header).segment;

	if (header->e_phentsize != size_bytes || header->e_phnum == PN_XNUM ||
	    !elf_is_inside(file, header->e_phoff, header->e_phnum * size_bytes))
		return 0;
	return header->e_phnum < ELF_MAX_SEGMENTS ? header->e_phnum : ELF_MAX_SEGMENTS;
}

void elf_read_segments(struct elf_file *file)
{
	char raw[ELF_MAX_SEGMENTS * sizeof(Elf64_Phdr)];
	size_t n = elf_count_segments(file), one_bytes = elf_sizes(&file->header).segment;

	if (elf_read(file, file->header.e_phoff, raw, n * one_bytes) != n * one_bytes) {
		file->incomplete = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		file->segments[i] = elf_decode_segment(&file->header, raw + i * one_bytes);
	file->n_segments = n;
}

bool elf_find_offset(const struct elf_file *file, uint64_t address, uint64_t *offset,
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

bool elf_read_at(struct elf_file *file, uint64_t address, void *buffer, size_t size_bytes)
{
	uint64_t offset, left_bytes;

	return elf_find_offset(file, address, &offset, &left_bytes) && size_bytes <= left_bytes &&
	       elf_read(file, offset, buffer, size_bytes) == size_bytes;
}

size_t elf_read_front(struct elf_file *file, uint64_t address, void *buffer, size_t size_bytes)
{
	uint64_t offset, left_bytes;

	if (!elf_find_offset(file, address, &offset, &left_bytes))
		return 0;
	return elf_read(file, offset, buffer, left_bytes < size_bytes ? left_bytes : size_bytes);
}

/* --- loads ------------------------------------------------------------------------------------ */

bool elf_find_physical(const struct elf_file *file, uint64_t physical, uint64_t *address)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD || physical - segment->p_paddr >= segment->p_memsz)
			continue;
		*address = segment->p_vaddr + (physical - segment->p_paddr);
		return true;
	}
	return false;
}

static bool loads_of_segments(const Elf64_Phdr *segments, size_t n, uint64_t entry,
			      struct loads *loads)
{
	struct loads found = { .entry = entry };

	for (size_t i = 0; i < n && found.n < LOADS_MAX; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_filesz)
			found.loads[found.n++] =
				(struct load){ .offset = segments[i].p_offset,
					       .address = segments[i].p_vaddr,
					       .file_bytes = segments[i].p_filesz,
					       .executable = segments[i].p_flags & PF_X };
	if (found.n)
		*loads = found;
	return found.n;
}

bool elf_get_loads(const struct elf_file *file, struct loads *loads)
{
	if (!loads_of_segments(file->segments, file->n_segments, file->header.e_entry, loads))
		return false;
	loads->words_of_4 = elf_machine_is_short(file);
	return true;
}

enum loads_result loads_read(const struct bytes *bytes, struct loads *loads)
{
	Elf64_Phdr segments[LOADS_MAX_SEGMENTS];
	char raw[sizeof(segments)];
	enum elf_header_kind kind;
	Elf64_Ehdr header;
	size_t size_bytes;

	if (bytes->size_bytes < sizeof(header))
		return LOADS_NO_ELF;
	if (!bytes_read(bytes, 0, &header, sizeof(header)))
		return LOADS_MISSING;
	kind = elf_classify_header(&header);
	if (kind != ELF_HEADER_GOOD)
		return kind == ELF_HEADER_32BIT ? LOADS_ELF32 : LOADS_NO_ELF;
	elf_widen_header(&header);
	size_bytes = elf_sizes(&header).segment;
	if (header.e_phentsize != size_bytes || !header.e_phnum ||
	    header.e_phnum > LOADS_MAX_SEGMENTS)
		return LOADS_NO_ELF;
	if (!bytes_read(bytes, header.e_phoff, raw, header.e_phnum * size_bytes))
		return LOADS_MISSING;
	for (size_t i = 0; i < header.e_phnum; i++)
		segments[i] = elf_decode_segment(&header, raw + i * size_bytes);
	if (!loads_of_segments(segments, header.e_phnum, header.e_entry, loads))
		return LOADS_NO_ELF;
	loads->words_of_4 = elf_machine_has_words_of_4(header.e_machine);
	return LOADS_READ;
}

/* Whether a mapping of LOAD, which is of whole pages, covers FILE_OFFSET. */
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
