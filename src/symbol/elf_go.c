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
#include "xtop/base/limit.h"
#include "xtop/base/types.h"
#include "xtop/elf/elf_pages.h"

/* Limit for the range of a table of which only some pages are read. */
#define GO_MAX_TABLE_BYTES LIMIT(512U << 20, 256U << 10)

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

/* Where the table lies: offset in the file, size, address in the image. */
struct go_place {
	uint64_t offset, size_bytes, address;
};

static void elf_find_go_in_section(const struct elf_file *file, size_t i, struct go_place *place)
{
	const Elf64_Shdr *header = &file->sections[i].header;

	*place = (struct go_place){ header->sh_offset,
				    header->sh_type == SHT_NOBITS ? 0 : header->sh_size,
				    header->sh_addr };
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

static bool elf_find_go_in_segment(struct elf_file *file, const Elf64_Phdr *segment,
				   struct go_place *place)
{
	uint64_t offset = segment->p_offset + -segment->p_vaddr % GO_ALIGNMENT, end;

	if (segment->p_type != PT_LOAD || segment->p_flags & PF_X ||
	    __builtin_add_overflow(segment->p_offset, segment->p_filesz, &end))
		return false;
	if (end > file->size_bytes)
		end = file->size_bytes;
	if (offset >= end || end - offset > file->limits.frames_bytes ||
	    !elf_search_go(file, &offset, end))
		return false;
	*place = (struct go_place){ offset, end - offset,
				    segment->p_vaddr + (offset - segment->p_offset) };
	return true;
}

static bool elf_find_go(struct elf_file *file, struct go_place *place)
{
	size_t section = elf_find_go_section(file);

	*place = (struct go_place){ 0 };
	if (section)
		elf_find_go_in_section(file, section, place);
	for (size_t i = 0; !section && elf_has_go_note(file) && i < file->n_segments; i++)
		if (elf_find_go_in_segment(file, &file->segments[i], place))
			break;
	return place->size_bytes;
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
 * Learns where threads' stacks are from the code of runtime.systemstack(). Returns false if
 * function I is another one, or if its code is of an unknown kind or not in memory now.
 */
static bool elf_try_go_stacks(struct elf_file *file, struct go_table *table, size_t i)
{
	uint8_t code[GO_STACKS_CODE_BYTES];
	struct go_function function;
	size_t got;

	if (!go_table_read(table, i, &function) || !elf_is_stacks_function(&function))
		return false;
	got = elf_read_front(file, function.start, code, sizeof(code));
	return table->is_arm64 ? go_stacks_arm64_decode(code, got, &table->stacks)
			       : go_stacks_decode(code, got, &table->stacks);
}

/*
 * Finds runtime.systemstack(), from the entry point outwards: both are assembly of the runtime.
 * With a C linker the entry point is C's, and the function lies near the start of Go's code,
 * because the linker puts a package after those that it uses.
 */
static void elf_decode_go_stacks(struct elf_file *file, struct go_table *table)
{
	size_t n = table->n_functions, middle = go_table_find(table, file->header.e_entry) % n;

	for (size_t i = 0; i < n; i++)
		if ((i <= middle && elf_try_go_stacks(file, table, middle - i)) ||
		    (i < n - middle && i && elf_try_go_stacks(file, table, middle + i)))
			return;
}

/* --- the table, with the stacks --------------------------------------------------------------- */

bool elf_is_go(struct elf_file *file)
{
	return elf_find_go_section(file) || elf_has_go_note(file);
}

static void elf_init_go(struct elf_file *file, const struct go_place *place, struct elf_go *go)
{
	go->table.entry = file->header.e_entry;
	go->table.work = file->work;
	go->found =
		go_table_init(&go->table) && (!go_table_lacks_text(&go->table) ||
					      elf_find_go_text(file, place->address, &go->table));
	if (go->found)
		elf_decode_go_stacks(file, &go->table);
}

void elf_read_go(struct elf_file *file, struct elf_go *go)
{
	struct go_place place;

	*go = (struct elf_go){ 0 };
	if (!elf_find_go(file, &place) || place.size_bytes > file->limits.frames_bytes ||
	    !elf_load(file, place.offset, place.size_bytes, &go->blob))
		return;
	go->table = (struct go_table){ .bytes = go->blob.bytes,
				       .size_bytes = go->blob.size_bytes,
				       .gaps = go->blob.gaps,
				       .n_gaps = go->blob.n_gaps };
	elf_init_go(file, &place, go);
}

static bool elf_need_go(void *context, size_t offset, size_t size_bytes)
{
	struct elf_go *go = context;
	bool there = elf_pages_need(go->pages, offset, size_bytes);

	go->incomplete |= !there;
	return there;
}

void elf_open_go(struct elf_file *file, const struct bytes *bytes, struct elf_go *go)
{
	struct go_place place;

	*go = (struct elf_go){ 0 };
	if (!elf_find_go(file, &place) || place.size_bytes > GO_MAX_TABLE_BYTES)
		return;
	go->pages = elf_pages_create(bytes, place.offset, place.size_bytes);
	if (!go->pages)
		return;
	go->table = (struct go_table){ .bytes = elf_pages_bytes(go->pages),
				       .size_bytes = place.size_bytes,
				       .need = elf_need_go,
				       .need_context = go };
	elf_init_go(file, &place, go);
}

void elf_go_deinit(struct elf_go *go)
{
	elf_blob_deinit(&go->blob);
	elf_pages_destroy(go->pages);
}

size_t elf_go_memory_bytes(const struct elf_go *go)
{
	return go->pages ? elf_pages_memory_bytes(go->pages) : 0;
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

/* --- late names ------------------------------------------------------------------------------- */

struct xtop_error *elf_go_add_late_symbols(const struct elf_go *go, struct symtab *tab,
					   size_t *n_addedp)
{
	struct xtop_error *error = NULL;
	uint64_t start, end;

	for (size_t i = 0; go->found && i < go->table.n_functions && !error; i++) {
		if (!go_table_get_range(&go->table, i, &start, &end))
			continue;
		error = symtab_add(tab, &(struct symbol_definition){ .start = start,
								     .size_bytes = end - start,
								     .rank = SYMBOL_GLOBAL,
								     .name_at = ELF_GO_NAMES_AT +
										(uint32_t)i });
		*n_addedp += !error;
	}
	return error;
}

size_t elf_go_read_name(const struct elf_go *go, uint64_t at, char *name, size_t size_bytes)
{
	struct go_function function;

	if (!go->found || at - ELF_GO_NAMES_AT >= go->table.n_functions ||
	    !go_table_read(&go->table, at - ELF_GO_NAMES_AT, &function))
		return 0;
	if (function.name_bytes < size_bytes)
		size_bytes = function.name_bytes + 1;
	memcpy(name, function.name, size_bytes - 1);
	name[size_bytes - 1] = '\0';
	return size_bytes;
}
