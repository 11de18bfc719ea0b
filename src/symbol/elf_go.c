/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds Go's table of functions in an ELF file, by the name of its section:
 *
 *   .gopclntab               in programs at fixed addresses
 *   .data.rel.ro.gopclntab   in position-independent ones (Go src/cmd/link/internal/ld/symtab.go)
 *
 * The page with the section headers is often not in the guest's memory, because the kernel does not
 * need it to run the program. Then the table is searched by its first bytes, in the segments of a
 * file that Go's linker has marked with a note. Resolver's thread.
 */
#include "config.h"

#include "symbol/elf_go.h"

#include <string.h>

#include "symbol/elf_go_text.h"
#include "xtop/base/types.h"

#define GO_ALIGNMENT 8 /* the table's alignment, a word; Go up to 1.25 aligns it to 32 bytes */

static bool elf_is_go_section(struct elf_file *file, size_t i)
{
	const char *name = elf_section_name(file, &file->sections[i]);

	return strcmp(name, ".gopclntab") == 0 || strcmp(name, ".data.rel.ro.gopclntab") == 0;
}

/* The section with the table; 0: none. */
static size_t elf_find_go_section(struct elf_file *file)
{
	for (size_t i = 1; i < file->n_sections; i++)
		if (elf_is_go_section(file, i))
			return i;
	return 0;
}

/* Sets *ADDRESS to the table's address in the image. */
static bool elf_load_go_section(struct elf_file *file, size_t i, struct elf_blob *blob,
				uint64_t *address)
{
	*address = file->sections[i].header.sh_addr;
	return file->sections[i].header.sh_size <= file->limits.frames_bytes &&
	       elf_load_section(file, i, blob);
}

/* --- if no section header names it ------------------------------------------------------------ */

/* The offset of the first bytes of a table within N bytes; N: there is none. */
static size_t elf_find_go_head(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i + GO_HEAD_BYTES <= n; i += GO_ALIGNMENT)
		if (go_is_head(bytes + i))
			return i;
	return n;
}

/* Searches [OFFSET, END) of the file, and moves *OFFSET to the table, or to END. */
static bool elf_search_go(struct elf_file *file, uint64_t *offset, uint64_t end)
{
	uint8_t page[GUEST_PAGE_SIZE];

	while (*offset < end) {
		size_t wanted = GUEST_PAGE_SIZE - *offset % GUEST_PAGE_SIZE, got, at;

		if (wanted > end - *offset)
			wanted = end - *offset;
		got = elf_read(file, *offset, page, wanted);
		at = elf_find_go_head(page, got);
		if (at < got) {
			*offset += at;
			return true;
		}
		*offset += wanted;
	}
	return false;
}

static bool elf_load_go_segment(struct elf_file *file, const Elf64_Phdr *segment,
				struct elf_blob *blob, uint64_t *address)
{
	uint64_t offset = segment->p_offset + -segment->p_vaddr % GO_ALIGNMENT, end, size_bytes;

	if (segment->p_type != PT_LOAD || segment->p_flags & PF_X ||
	    __builtin_add_overflow(segment->p_offset, segment->p_filesz, &end))
		return false;
	if (end > file->size_bytes)
		end = file->size_bytes;
	if (offset >= end || end - offset > file->limits.frames_bytes ||
	    !elf_search_go(file, &offset, end))
		return false;
	size_bytes = end - offset;
	*address = segment->p_vaddr + (offset - segment->p_offset);
	return elf_load(file, offset, size_bytes, blob);
}

static bool elf_load_go_searched(struct elf_file *file, struct elf_blob *blob, uint64_t *address)
{
	for (size_t i = 0; i < file->n_segments; i++)
		if (elf_load_go_segment(file, &file->segments[i], blob, address))
			return true;
	return false;
}

/* --- the stacks of threads -------------------------------------------------------------------- */

static bool elf_is_stacks_function(const struct go_function *function)
{
	static const char name[] = GO_STACKS_FUNCTION;

	return function->flags & (GO_ASSEMBLY | GO_UNMARKED) &&
	       function->name_bytes == sizeof(name) - 1 &&
	       memcmp(function->name, name, function->name_bytes) == 0;
}

/*
 * Learns from Go's code where threads' stacks are. Code that is not in memory now, or is of an
 * unknown kind, is not an error.
 */
static void elf_decode_go_stacks(struct elf_file *file, struct go_table *table)
{
	uint8_t code[GO_STACKS_CODE_BYTES];
	struct go_function function;
	uint64_t offset, left_bytes;
	size_t got;

	for (size_t i = 0; i < table->n_functions; i++) {
		if (!go_table_read(table, i, &function) || !elf_is_stacks_function(&function) ||
		    !elf_find_offset(file, function.start, &offset, &left_bytes))
			continue;
		got = elf_read(file, offset, code,
			       left_bytes < sizeof(code) ? left_bytes : sizeof(code));
		if (table->is_arm64 ? go_stacks_arm64_decode(code, got, &table->stacks)
				    : go_stacks_decode(code, got, &table->stacks))
			return;
	}
}

/* --- both ------------------------------------------------------------------------------------- */

bool elf_is_go(struct elf_file *file)
{
	return elf_find_go_section(file) || elf_has_go_note(file);
}

void elf_read_go(struct elf_file *file, struct elf_go *go)
{
	size_t section = elf_find_go_section(file);
	uint64_t address;

	*go = (struct elf_go){ 0 };
	if (section ? !elf_load_go_section(file, section, &go->blob, &address)
		    : !elf_has_go_note(file) || !elf_load_go_searched(file, &go->blob, &address))
		return;
	go->table = (struct go_table){ .bytes = go->blob.bytes,
				       .size_bytes = go->blob.size_bytes,
				       .gaps = go->blob.gaps,
				       .n_gaps = go->blob.n_gaps,
				       .entry = file->header.e_entry,
				       .work = file->work };
	go->found = go_table_init(&go->table) && (!go_table_lacks_text(&go->table) ||
						  elf_find_go_text(file, address, &go->table));
	if (go->found)
		elf_decode_go_stacks(file, &go->table);
}

void elf_go_deinit(struct elf_go *go)
{
	elf_blob_deinit(&go->blob);
}

struct xtop_error *elf_go_add_symbols(const struct elf_go *go, struct symtab *tab,
				      size_t *n_addedp)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; go->found && i < go->table.n_functions && !error; i++) {
		struct go_function function;

		if (!go_table_read(&go->table, i, &function))
			continue;
		error = symtab_add(tab, &(struct symbol_definition){
						.start = function.start,
						.size_bytes = function.end - function.start,
						.rank = SYMBOL_GLOBAL,
						.name = function.name,
						.name_bytes = function.name_bytes });
		*n_addedp += !error;
	}
	return error;
}
