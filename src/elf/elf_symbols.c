/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbols of an ELF file, one after the other (System V gABI, chapter 4):
 *
 *   SHT_SYMTAB       every symbol, in .symtab; `strip` removes it
 *   SHT_DYNSYM       what other objects may link to, in .dynsym; it stays, and is loaded
 *     st_name        offset into the string table that sh_link names
 *     st_info        binding (local, global, weak) and type
 *     st_shndx section it lies in; SHN_UNDEF, SHN_ABS, SHN_COMMON: in none; SHN_XINDEX: the
 *                    number did not fit and stands in the SHT_SYMTAB_SHNDX section of this table
 *     st_value       its address, in executables and shared objects
 *     st_size        0: unknown
 *
 * Without section headers the segments say what is code.
 */
#include "config.h"

#include <string.h>

#include "elf/elf_reader.h"
#include "xtop/base/cleanup.h"

/* Sections of one type. For each of them all sections are searched (elf_load_indices()). */
#define ELF_MAX_TABLES 64
/* How far a function without a size may reach at most where its section's end is not known. */
#define ELF_SIZELESS_BYTES (64 << 10)

/* One symbol table, with what belongs to it. */
struct elf_table {
	struct elf_blob symbols, strings, indices;
	/* end of the last NUL: every name that begins before strings_end is terminated */
	size_t strings_end;
	uint64_t strings_at, late_bytes; /* limits.late_names: where the names are in the file */
	size_t n;
};

/*
 * What all tables of a type may still have together. Tables may overlap in the file, so they share
 * one limit.
 */
struct elf_total {
	uint64_t symbols, strings_bytes; /* sizes that the limits allow */
	unsigned tables;
};

static void elf_table_deinit(struct elf_table *table)
{
	elf_blob_deinit(&table->symbols);
	elf_blob_deinit(&table->strings);
	elf_blob_deinit(&table->indices);
}

/* --- one symbol ------------------------------------------------------------------------------- */

/*
 * Decodes a symbol. Reads at most ELF_MAX_NAME_BYTES of the name: a million symbols may all have a
 * name of 64 MiB.
 */
static struct elf_symbol elf_symbol_of(Elf64_Sym raw, const char *names, size_t names_bytes)
{
	struct elf_symbol symbol = { .address = raw.st_value,
				     .size_bytes = raw.st_size,
				     .name_offset = raw.st_name,
				     .section = raw.st_shndx,
				     .type = ELF64_ST_TYPE(raw.st_info),
				     .binding = ELF64_ST_BIND(raw.st_info) };

	if (raw.st_name < names_bytes) {
		size_t left_bytes = names_bytes - raw.st_name;

		symbol.name = names + raw.st_name;
		symbol.name_bytes = strnlen(symbol.name, left_bytes < ELF_MAX_NAME_BYTES
								 ? left_bytes
								 : ELF_MAX_NAME_BYTES);
	}
	return symbol;
}

struct elf_symbol elf_decode_symbol(const void *symbols, bool is_short, size_t i,
				    const char *names, size_t names_bytes)
{
	const char *at = (const char *)symbols + i * elf_symbol_bytes(is_short);
	Elf64_Sym raw;

	if (is_short)
		raw = elf_decode_sym32(at);
	else
		memcpy(&raw, at, sizeof(raw));
	return elf_symbol_of(raw, names, names_bytes);
}

/* Where a symbol lies: a section, or a segment where no sections are known. */
struct elf_home {
	uint64_t start, end; /* start == end: nowhere */
	bool code;
};

static struct elf_home elf_segment_home(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_memsz &&
		    segment->p_memsz <= UINT64_MAX - segment->p_vaddr)
			return (struct elf_home){ segment->p_vaddr,
						  segment->p_vaddr + segment->p_memsz,
						  segment->p_flags & PF_X };
	}
	return (struct elf_home){ 0 };
}

static struct xtop_error *elf_find_home(const struct elf_file *file, const struct elf_table *table,
					size_t i, const struct elf_symbol *symbol,
					struct elf_home *home)
{
	uint32_t index = symbol->section;

	*home = (struct elf_home){ 0 };
	if (index == SHN_UNDEF || (index >= SHN_LORESERVE && index != SHN_XINDEX))
		return NULL;
	if (file->limits.partial) { /* the number is of a section that may not be here */
		*home = (struct elf_home){ 0, symbol->address + ELF_SIZELESS_BYTES, false };
		return NULL;
	}
	if (!file->n_sections) {
		*home = elf_segment_home(file, symbol->address);
		return NULL;
	}
	if (index == SHN_XINDEX) {
		index = SHN_UNDEF;
		if (elf_blob_has(&table->indices, i * sizeof(index), sizeof(index)))
			memcpy(&index, table->indices.bytes + i * sizeof(index), sizeof(index));
	}
	if (index >= file->n_sections)
		return elf_damaged(file, "a symbol lies in a section that does not exist");
	*home = (struct elf_home){ file->sections[index].start, file->sections[index].end,
				   file->sections[index].code };
	return NULL;
}

static struct xtop_error *elf_hand_out(const struct elf_file *file, const struct elf_table *table,
				       size_t i, elf_symbol_fn *fn, void *context)
{
	const uint8_t *raw = table->symbols.bytes + i * elf_sizes(&file->header).symbol;
	struct elf_symbol symbol =
		elf_symbol_of(elf_decode_sym(&file->header, raw),
			      (const char *)table->strings.bytes, table->strings_end);
	struct elf_home home;
	struct xtop_error *error = elf_find_home(file, table, i, &symbol, &home);

	if (error || symbol.address < home.start || symbol.address >= home.end)
		return error;
	if (!symbol.name && symbol.name_offset >= table->late_bytes)
		return elf_damaged(file, "a symbol's name lies outside the string table");
	symbol.name_at = (uint32_t)(table->strings_at + symbol.name_offset);
	if (!table->late_bytes &&
	    !elf_blob_has(&table->strings, symbol.name_offset, symbol.name_bytes + 1))
		return NULL; /* not there now */
	symbol.home_end = home.end;
	symbol.in_code = home.code;
	return fn(context, &symbol);
}

/* --- tables ----------------------------------------------------------------------------------- */

static struct xtop_error *elf_check_table(const struct elf_file *file, uint64_t n,
					  uint64_t strings_bytes, struct elf_total *total)
{
	if (++total->tables > ELF_MAX_TABLES)
		return elf_damaged(file, "too many symbol tables");
	if (n > file->limits.symbols - total->symbols)
		return error_create("%s: more than %zu symbols", file->path, file->limits.symbols);
	if (strings_bytes > file->limits.names_bytes - total->strings_bytes)
		return error_create("%s: more than %zu MiB of symbol names", file->path,
				    file->limits.names_bytes >> 20);
	total->symbols += n;
	total->strings_bytes += strings_bytes;
	return NULL;
}

static void elf_find_strings_end(struct elf_table *table)
{
	const uint8_t *bytes = table->strings.bytes;
	const uint8_t *last = memrchr(bytes, '\0', table->strings.size_bytes);

	table->strings_end = last ? (size_t)(last + 1 - bytes) : 0;
}

/*
 * The SHT_SYMTAB_SHNDX section that belongs to section SECTION, as far as TABLE has symbols. Most
 * files have none.
 */
static void elf_load_indices(struct elf_file *file, size_t section, struct elf_table *table)
{
	uint64_t most = table->n * sizeof(Elf64_Word);

	for (size_t i = 1; i < file->n_sections; i++) {
		const Elf64_Shdr *header = &file->sections[i].header;

		if (header->sh_type == SHT_SYMTAB_SHNDX && header->sh_link == section) {
			elf_load(file, header->sh_offset,
				 header->sh_size < most ? header->sh_size : most, &table->indices);
			return;
		}
	}
}

/* Section I as a symbol table. TABLE->n 0: it is empty. */
static struct xtop_error *elf_load_table(struct elf_file *file, size_t i, struct elf_total *total,
					 struct elf_table *table)
{
	const Elf64_Shdr *header = &file->sections[i].header, *strings;
	struct xtop_error *error;

	if (!header->sh_link || header->sh_link >= file->n_sections)
		return elf_damaged(file, "symbol table without string table");
	strings = &file->sections[header->sh_link].header;
	error = elf_check_table(file, header->sh_size / elf_sizes(&file->header).symbol,
				strings->sh_size, total);
	if (error)
		return error;
	if ((header->sh_flags | strings->sh_flags) & SHF_COMPRESSED)
		return error_create("%s: compressed symbol table: decompress it (objcopy "
				    "--decompress-debug-sections)",
				    file->path);
	if (!header->sh_size || !strings->sh_size)
		return NULL;
	if (file->limits.late_names && strings->sh_offset > UINT32_MAX - strings->sh_size)
		return elf_damaged(file, "names beyond 4 GiB");
	if (file->limits.late_names) {
		table->strings_at = strings->sh_offset;
		table->late_bytes = strings->sh_size;
	}
	if (!elf_load_section(file, i, &table->symbols) ||
	    (!table->late_bytes && !elf_load_section(file, header->sh_link, &table->strings)))
		return elf_damaged(file, "symbol table");
	if (!table->late_bytes)
		elf_find_strings_end(table);
	table->n = table->symbols.size_bytes / elf_sizes(&file->header).symbol;
	elf_load_indices(file, i, table);
	return NULL;
}

static struct xtop_error *elf_each_of_table(struct elf_file *file, const struct elf_table *table,
					    elf_symbol_fn *fn, void *context)
{
	size_t size_bytes = elf_sizes(&file->header).symbol;
	struct xtop_error *error = NULL;

	for (size_t i = 1; !error && i < table->n; i++) /* symbol 0 is reserved */
		if (elf_blob_has(&table->symbols, i * size_bytes, size_bytes))
			error = elf_hand_out(file, table, i, fn, context);
	return error;
}

/* The gABI allows one table of a type, and files have one. */
struct xtop_error *elf_each_symbol(struct elf_file *file, uint32_t type, elf_symbol_fn *fn,
				   void *context)
{
	struct xtop_error *error = NULL;
	struct elf_total total = { 0 };

	for (size_t i = 1; !error && i < file->n_sections; i++) {
		_cleanup_(elf_table_deinit) struct elf_table table = { 0 };

		if (file->sections[i].header.sh_type != type)
			continue;
		error = elf_load_table(file, i, &total, &table);
		if (!error)
			error = elf_each_of_table(file, &table, fn, context);
	}
	return error;
}

/* Best effort: where PT_DYNAMIC makes no sense, there are no symbols. */
struct xtop_error *elf_each_dynamic_symbol(struct elf_file *file, elf_symbol_fn *fn, void *context)
{
	_cleanup_(elf_table_deinit) struct elf_table table = { 0 };
	struct elf_total total = { 0 };
	struct elf_dynamic dynamic;
	struct xtop_error *error;

	if (!elf_find_dynamic(file, &dynamic))
		return NULL;
	error = elf_check_table(file, dynamic.n_symbols, dynamic.strings_bytes, &total);
	if (error)
		return error;
	if (file->limits.late_names && dynamic.strings_offset > UINT32_MAX - dynamic.strings_bytes)
		return NULL;
	if (file->limits.late_names) {
		table.strings_at = dynamic.strings_offset;
		table.late_bytes = dynamic.strings_bytes;
	}
	if (!elf_load(file, dynamic.symbols_offset,
		      dynamic.n_symbols * elf_sizes(&file->header).symbol, &table.symbols) ||
	    (!table.late_bytes &&
	     !elf_load(file, dynamic.strings_offset, dynamic.strings_bytes, &table.strings)))
		return NULL;
	if (!table.late_bytes)
		elf_find_strings_end(&table);
	table.n = table.symbols.size_bytes / elf_sizes(&file->header).symbol;
	return elf_each_of_table(file, &table, fn, context);
}
