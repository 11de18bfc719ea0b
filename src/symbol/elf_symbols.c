/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of an ELF file, out of its symbol tables (System V gABI, chapter 4; x86-64 psABI 4.2):
 *
 *   SHT_SYMTAB       every symbol, in .symtab; `strip` removes it
 *   SHT_DYNSYM       what other objects may link to, in .dynsym; stays, and is loaded
 *     st_name        offset into the string table that sh_link names
 *     st_info        binding (local, global, weak) and type
 *     st_shndx       section it lies in; SHN_UNDEF, SHN_ABS, SHN_COMMON: in none; SHN_XINDEX: the
 *                    number did not fit and stands in the SHT_SYMTAB_SHNDX section of this table
 *     st_value       its address, in executables and shared objects
 *     st_size        0: unknown
 *
 * Without section headers the segments tell what is code.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "xtop/elf_file.h"
#include "xtop/cleanup.h"

/* One symbol table with what belongs to it. */
struct elf_table {
	struct elf_blob symbols, strings, indices;
	size_t strings_end; /* behind the last NUL: what begins before that ends in the strings */
	size_t n;
};

/* What tables may lie over each other in the file: all of a type have together what one may have. */
struct elf_total {
	uint64_t symbols, strings_bytes; /* within the limits */
};

static void elf_table_deinit(struct elf_table *table)
{
	elf_blob_deinit(&table->symbols);
	elf_blob_deinit(&table->strings);
	elf_blob_deinit(&table->indices);
}

/* --- one symbol ------------------------------------------------------------------------------- */

static bool elf_load_strings(struct elf_file *file, uint64_t offset, uint64_t size_bytes,
			     struct elf_table *table)
{
	const uint8_t *last;

	if (!elf_load(file, offset, size_bytes, &table->strings))
		return false;
	last = memrchr(table->strings.bytes, '\0', size_bytes);
	table->strings_end = last ? (size_t)(last + 1 - table->strings.bytes) : 0;
	return true;
}

/*
 * NULL: not there now. Error: outside the string table, or not terminated in it. Of a name only as much
 * is looked at as is kept: a million symbols may all have one of 64 MiB.
 */
static struct xtop_error *elf_symbol_name(const struct elf_file *file,
					  const struct elf_table *table, const Elf64_Sym *symbol,
					  const char **namep, size_t *bytesp)
{
	if (symbol->st_name >= table->strings_end)
		return elf_damaged(file, "a symbol's name lies outside the string table");
	*namep = (const char *)table->strings.bytes + symbol->st_name;
	*bytesp = strnlen(*namep, SYMTAB_MAX_NAME_BYTES);
	if (!elf_blob_has(&table->strings, symbol->st_name, *bytesp + 1))
		*namep = NULL;
	return NULL;
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

static struct xtop_error *elf_symbol_home(const struct elf_file *file,
					  const struct elf_table *table, size_t i,
					  const Elf64_Sym *symbol, struct elf_home *home)
{
	uint32_t index = symbol->st_shndx;

	*home = (struct elf_home){ 0 };
	if (index == SHN_UNDEF || (index >= SHN_LORESERVE && index != SHN_XINDEX))
		return NULL;
	if (!file->n_sections) {
		*home = elf_segment_home(file, symbol->st_value);
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

/*
 * Names that no function has: what is left of an assembler's local labels (.L, .Ltmp) and mapping
 * symbols ($x, $d: AAELF64 and the RISC-V psABI; x86-64 has none, but tools that were ported do).
 */
static bool elf_is_local_label(const char *name)
{
	return name[0] == '.' || name[0] == '$' || (name[0] == 'L' && (unsigned char)name[1] < ' ');
}

/* Assembly without `.type f, @function` leaves STT_NOTYPE: code, if it stands among code. */
static bool elf_is_function(const Elf64_Sym *symbol, const struct elf_home *home, const char *name)
{
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return home->code && !elf_is_local_label(name);
	default:
		return false;
	}
}

static enum symbol_rank elf_symbol_rank(const Elf64_Sym *symbol)
{
	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return SYMBOL_LOCAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_GLOBAL;
	}
}

static struct xtop_error *elf_add_symbol(const struct elf_file *file, const struct elf_table *table,
					 size_t i, struct symtab *tab, size_t *n_addedp)
{
	struct xtop_error *error;
	const char *name = NULL;
	size_t name_bytes = 0;
	struct elf_home home;
	Elf64_Sym symbol;

	memcpy(&symbol, table->symbols.bytes + i * sizeof(symbol), sizeof(symbol));
	error = elf_symbol_home(file, table, i, &symbol, &home);
	if (error || symbol.st_value < home.start || symbol.st_value >= home.end)
		return error;
	error = elf_symbol_name(file, table, &symbol, &name, &name_bytes);
	if (error || !name)
		return error;
	if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && home.code)
		return symtab_add_bound(tab, symbol.st_value); /* ends what is before it */
	if (!elf_is_function(&symbol, &home, name))
		return NULL;
	++*n_addedp;
	error = symtab_add(tab, symbol.st_value, symbol.st_size, home.end, elf_symbol_rank(&symbol),
			   name, name_bytes);
	return error_wrap(error, "%s", file->path);
}

/* --- tables ----------------------------------------------------------------------------------- */

static struct xtop_error *elf_check_table(const struct elf_file *file, uint64_t n,
					  uint64_t strings_bytes, struct elf_total *total)
{
	if (n > file->limits.symbols - total->symbols)
		return error_create("%s: more than %zu symbols", file->path, file->limits.symbols);
	if (strings_bytes > file->limits.names_bytes - total->strings_bytes)
		return error_create("%s: more than %zu MiB of symbol names", file->path,
				    file->limits.names_bytes >> 20);
	total->symbols += n;
	total->strings_bytes += strings_bytes;
	return NULL;
}

/*
 * The SHT_SYMTAB_SHNDX section that belongs to section SECTION, as far as TABLE has symbols; most files
 * have none.
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
static struct xtop_error *elf_open_section(struct elf_file *file, size_t i, struct elf_total *total,
					   struct elf_table *table)
{
	const Elf64_Shdr *header = &file->sections[i].header, *strings;
	struct xtop_error *error;

	if (!header->sh_link || header->sh_link >= file->n_sections)
		return elf_damaged(file, "symbol table without string table");
	strings = &file->sections[header->sh_link].header;
	error = elf_check_table(file, header->sh_size / sizeof(Elf64_Sym), strings->sh_size, total);
	if (error)
		return error;
	if ((header->sh_flags | strings->sh_flags) & SHF_COMPRESSED)
		return error_create("%s: compressed symbol table: decompress it (objcopy "
				    "--decompress-debug-sections)",
				    file->path);
	if (!header->sh_size || !strings->sh_size)
		return NULL;
	if (!elf_load(file, header->sh_offset, header->sh_size, &table->symbols) ||
	    !elf_load_strings(file, strings->sh_offset, strings->sh_size, table))
		return elf_damaged(file, "symbol table");
	table->n = header->sh_size / sizeof(Elf64_Sym);
	elf_load_indices(file, i, table);
	return NULL;
}

static struct xtop_error *elf_add_table(struct elf_file *file, const struct elf_table *table,
					struct symtab *tab, size_t *n_addedp)
{
	struct xtop_error *error = NULL;

	for (size_t i = 1; !error && i < table->n; i++) /* symbol 0 is reserved */
		error = elf_add_symbol(file, table, i, tab, n_addedp);
	return error;
}

/* All tables of TYPE: the gABI allows one, which is what there is. */
static struct xtop_error *elf_read_tables(struct elf_file *file, Elf64_Word type,
					  struct symtab *tab, size_t *n_addedp)
{
	struct xtop_error *error = NULL;
	struct elf_total total = { 0 };

	for (size_t i = 1; !error && i < file->n_sections; i++) {
		_cleanup_(elf_table_deinit) struct elf_table table = { 0 };

		if (file->sections[i].header.sh_type != type)
			continue;
		error = elf_open_section(file, i, &total, &table);
		if (!error)
			error = elf_add_table(file, &table, tab, n_addedp);
	}
	return error;
}

/* .dynsym without section headers. Best effort: what makes no sense is no symbols. */
static struct xtop_error *elf_read_dynamic(struct elf_file *file, struct symtab *tab,
					   size_t *n_addedp)
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
	if (!elf_load(file, dynamic.symbols_offset, dynamic.n_symbols * sizeof(Elf64_Sym),
		      &table.symbols) ||
	    !elf_load_strings(file, dynamic.strings_offset, dynamic.strings_bytes, &table))
		return NULL;
	table.n = dynamic.n_symbols;
	return elf_add_table(file, &table, tab, n_addedp);
}

struct xtop_error *elf_read_symbols(struct elf_file *file, struct symtab *tab, size_t *n_addedp)
{
	struct xtop_error *error;

	*n_addedp = 0;
	if (!file->n_sections)
		return elf_read_dynamic(file, tab, n_addedp);
	error = elf_read_tables(file, SHT_SYMTAB, tab, n_addedp);
	if (!error && (!*n_addedp || file->incomplete))
		error = elf_read_tables(file, SHT_DYNSYM, tab, n_addedp);
	return error;
}
