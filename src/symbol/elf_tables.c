/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies the unwind tables of an ELF file into an ELF file of their own: what image_read_tables()
 * would read, and nothing else. A recording carries this copy, so that a replay reads the same
 * tables by the same code.
 *
 *   ELF header      as in the file, without segments
 *   contents        of the sections in elf_tables_names, each at a multiple of 8
 *   names           of the sections
 *   section headers none, those sections, one without content for all code, the names
 *
 * ORC tables need to know where code begins and ends, so one section stands for all code.
 */
#include "config.h"

#include "symbol/elf_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"

static const char *const elf_tables_names[] = { ".eh_frame",    ".eh_frame_hdr",
						".debug_frame", ".zdebug_frame",
						".gopclntab",   ".data.rel.ro.gopclntab",
						".orc_unwind",  ".orc_unwind_ip",
						".ARM.exidx",   ".ARM.extab" };

#define COPY_BYTES   (64 << 10)
#define MAX_SECTIONS (sizeof(elf_tables_names) / sizeof(elf_tables_names[0]) + 3)
#define NAMES_BYTES  256

struct elf_tables {
	struct elf_file *file;
	int fd;                 /* the copy's descriptor */
	uint64_t size_bytes;    /* size of the copy so far */
	Elf64_Shdr headers[MAX_SECTIONS];
	uint16_t n_headers;
	char names[NAMES_BYTES];
	uint32_t names_bytes;
};

static bool elf_tables_write(struct elf_tables *tables, const void *bytes, size_t size_bytes)
{
	if (write(tables->fd, bytes, size_bytes) != (ssize_t)size_bytes)
		return false;
	tables->size_bytes += size_bytes;
	return true;
}

static bool elf_tables_pad(struct elf_tables *tables)
{
	static const char zeros[8];

	return elf_tables_write(tables, zeros, -tables->size_bytes % 8);
}

/* Copies SIZE_BYTES of the file from OFFSET on. */
static bool elf_tables_copy(struct elf_tables *tables, uint64_t offset, uint64_t size_bytes)
{
	_cleanup_free_ char *buffer = malloc(COPY_BYTES);

	while (buffer && size_bytes) {
		size_t n = size_bytes < COPY_BYTES ? (size_t)size_bytes : COPY_BYTES;

		if (elf_read(tables->file, offset, buffer, n) != n ||
		    !elf_tables_write(tables, buffer, n))
			return false;
		offset += n;
		size_bytes -= n;
	}
	return buffer;
}

/* Adds a header like HEADER, for the content that is written to the copy next. */
static void elf_tables_add_header(struct elf_tables *tables, const char *name,
				  const Elf64_Shdr *header)
{
	size_t name_bytes = strlen(name) + 1;
	Elf64_Shdr *added = &tables->headers[tables->n_headers++];

	*added = *header;
	added->sh_name = tables->names_bytes;
	added->sh_offset = tables->size_bytes;
	added->sh_link = added->sh_info = 0;
	memcpy(tables->names + tables->names_bytes, name, name_bytes);
	tables->names_bytes += (uint32_t)name_bytes;
}

/* --- what is wanted --------------------------------------------------------------------------- */

static const char *elf_tables_wanted(const struct elf_file *file, size_t i)
{
	const char *name = elf_section_name(file, &file->sections[i]);

	for (size_t j = 0; j < sizeof(elf_tables_names) / sizeof(elf_tables_names[0]); j++)
		if (strcmp(name, elf_tables_names[j]) == 0)
			return elf_tables_names[j];
	return NULL;
}

/* Whether the copy has a section NAME. Readers use the first one of each name. */
static bool elf_tables_has(const struct elf_tables *tables, const char *name)
{
	for (uint16_t i = 1; i < tables->n_headers; i++)
		if (strcmp(tables->names + tables->headers[i].sh_name, name) == 0)
			return true;
	return false;
}

static bool elf_tables_add_wanted(struct elf_tables *tables)
{
	const struct elf_file *file = tables->file;

	for (size_t i = 1; i < file->n_sections; i++) {
		const Elf64_Shdr *header = &file->sections[i].header;
		const char *name = elf_tables_wanted(file, i);

		if (!name || header->sh_type == SHT_NOBITS || elf_tables_has(tables, name) ||
		    header->sh_size > file->limits.frames_bytes)
			continue;
		elf_tables_add_header(tables, name, header);
		if (!elf_tables_copy(tables, header->sh_offset, header->sh_size) ||
		    !elf_tables_pad(tables))
			return false;
	}
	return true;
}

static void elf_tables_add_code(struct elf_tables *tables)
{
	Elf64_Shdr code = { .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR };
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 1; i < tables->file->n_sections; i++) {
		const struct elf_section *section = &tables->file->sections[i];

		if (!section->code || section->start >= section->end)
			continue;
		start = section->start < start ? section->start : start;
		end = section->end > end ? section->end : end;
	}
	if (start >= end)
		return;
	code.sh_addr = start;
	code.sh_size = end - start;
	elf_tables_add_header(tables, ".text", &code);
}

static bool elf_tables_finish(struct elf_tables *tables)
{
	Elf64_Shdr names = { .sh_type = SHT_STRTAB, .sh_addralign = 1 };
	Elf64_Ehdr header = tables->file->header;

	elf_tables_add_code(tables);
	elf_tables_add_header(tables, ".shstrtab", &names);
	tables->headers[tables->n_headers - 1].sh_size = tables->names_bytes;
	if (!elf_tables_write(tables, tables->names, tables->names_bytes) ||
	    !elf_tables_pad(tables))
		return false;
	/* the copy has 64 bits; e_machine says what the code is */
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ehsize = sizeof(header);
	header.e_shentsize = sizeof(Elf64_Shdr);
	header.e_phoff = 0;
	header.e_phnum = 0;
	header.e_shoff = tables->size_bytes;
	header.e_shnum = tables->n_headers;
	header.e_shstrndx = tables->n_headers - 1;
	return elf_tables_write(tables, tables->headers,
				tables->n_headers * sizeof(tables->headers[0])) &&
	       pwrite(tables->fd, &header, sizeof(header), 0) == sizeof(header);
}

/*
 * Whether readers find the tables by their sections. If they find them by segments, the copy is the
 * whole file: a file without section headers has nothing more to leave out.
 */
static bool elf_tables_are_sections(const struct elf_file *file)
{
	bool wanted = false, segment = false;

	for (size_t i = 1; i < file->n_sections; i++)
		wanted |= strcmp(elf_section_name(file, &file->sections[i]), ".eh_frame") == 0;
	for (size_t i = 0; i < file->n_segments; i++)
		segment |= file->segments[i].p_type == PT_GNU_EH_FRAME;
	return wanted || (file->n_sections && !segment);
}

static bool elf_tables_write_all(struct elf_tables *tables)
{
	static const Elf64_Ehdr none;

	if (!elf_tables_are_sections(tables->file))
		return elf_tables_copy(tables, 0, tables->file->size_bytes);
	return elf_tables_write(tables, &none, sizeof(none)) && elf_tables_add_wanted(tables) &&
	       elf_tables_finish(tables);
}

struct xtop_error *elf_copy_tables(struct elf_file *file, int *fdp)
{
	struct elf_tables tables = { .file = file, .n_headers = 1, .names_bytes = 1 };
	_cleanup_close_ int fd = memfd_create("xtop-tables", MFD_CLOEXEC);

	tables.fd = fd;
	if (fd < 0 || !elf_tables_write_all(&tables))
		return error_create_errno(errno, "%s: cannot copy its unwind tables", file->path);
	*fdp = fd;
	fd = -1;
	return NULL;
}
