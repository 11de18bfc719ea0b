/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions and build-id of an ELF file, by libelf. Runs before sampling starts, on main's thread.
 *
 * What is used of the format (System V gABI, chapters 4 and 5; x86-64 psABI 4.2):
 *
 *   section header   sh_addr .. + sh_size in memory if SHF_ALLOC; code if SHF_EXECINSTR
 *   SHT_SYMTAB       every symbol, in .symtab; `strip` removes it
 *   SHT_DYNSYM       what other objects may link to, in .dynsym; stays
 *     st_name        offset into the string table that sh_link names
 *     st_info        binding (local, global, weak) and type
 *     st_shndx       section it lies in; SHN_UNDEF, SHN_ABS, SHN_COMMON: in none; SHN_XINDEX: the
 *                    number did not fit and stands in the SHT_SYMTAB_SHNDX section of this table
 *     st_value       its address, in executables and shared objects
 *     st_size        0: unknown
 *   note             namesz descsz type name desc; NT_GNU_BUILD_ID of "GNU" holds the build-id
 *
 * The bytes are hostile. libelf checks headers against the size of the file, but hands on what
 * stands in them: each index, range and string is checked here. The file is read, not
 * mapped: a file that shrinks meanwhile is a read error then, not a SIGBUS.
 */
#include "config.h"

#include "xtop/symbol.h"

#include <gelf.h>
#include <inttypes.h>
#include <string.h>

#include "xtop/cleanup.h"

#define ELF_MAX_SECTIONS    (1U << 20)
#define ELF_MAX_NOTES_BYTES (1U << 20) /* of a section or segment; Linux's .notes has 500 bytes */

struct elf_section {
	uint64_t start, end; /* in memory; empty when it is not there */
	bool code;
};

struct elf_reader {
	Elf *elf;
	const char *path;
	struct elf_section *sections;
	size_t n_sections;
};

/* One symbol table with what belongs to it. */
struct elf_table {
	size_t section; /* its own number */
	Elf_Data *symbols, *strings, *indices;
	size_t n;
};

static void elf_reader_deinit(struct elf_reader *reader)
{
	free(reader->sections);
	elf_end(reader->elf); /* NULL allowed */
}

static struct xtop_error *elf_damaged(const struct elf_reader *reader, const char *what)
{
	int code = elf_errno();

	return error_create("%s: damaged ELF file: %s%s%s", reader->path, what, code ? ": " : "",
			    code ? elf_errmsg(code) : "");
}

/* Only what runs in an x86-64 guest: ELF64, little-endian, EM_X86_64, with addresses. */
static struct xtop_error *elf_check_header(const struct elf_reader *reader)
{
	const char *path = reader->path;
	GElf_Ehdr header;

	if (elf_kind(reader->elf) != ELF_K_ELF)
		return error_create("%s: not an ELF file", path);
	if (!gelf_getehdr(reader->elf, &header))
		return elf_damaged(reader, "no header");
	if (header.e_ident[EI_CLASS] != ELFCLASS64)
		return error_create("%s: a 32-bit ELF file; only x86-64 guests can be named", path);
	if (header.e_machine != EM_X86_64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_create(
			"%s: an ELF file for another machine (e_machine %u), not x86-64", path,
			header.e_machine);
	if (header.e_type == ET_REL)
		return error_create(
			"%s: a relocatable file (.o, .ko) has no addresses yet: give what it was "
			"linked into, or for a kernel module the guest's /proc/kallsyms",
			path);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return error_create("%s: neither an executable nor a shared object (e_type %u)",
				    path, header.e_type);
	return NULL;
}

static struct xtop_error *elf_read_sections(struct elf_reader *reader)
{
	size_t n;

	if (elf_getshdrnum(reader->elf, &n))
		return elf_damaged(reader, "section headers");
	if (n > ELF_MAX_SECTIONS)
		return error_create("%s: more than %u sections", reader->path, ELF_MAX_SECTIONS);
	reader->sections = calloc(n + 1, sizeof(*reader->sections));
	if (!reader->sections)
		return error_create("%s: out of memory for %zu sections", reader->path, n);
	reader->n_sections = n;
	for (size_t i = 1; i < n; i++) {
		struct elf_section *section = &reader->sections[i];
		GElf_Shdr header;

		if (!gelf_getshdr(elf_getscn(reader->elf, i), &header))
			return elf_damaged(reader, "section headers");
		if (!(header.sh_flags & SHF_ALLOC))
			continue;
		section->start = header.sh_addr;
		if (__builtin_add_overflow(header.sh_addr, header.sh_size, &section->end))
			section->end = UINT64_MAX;
		section->code = header.sh_flags & SHF_EXECINSTR;
	}
	return NULL;
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* The SHT_SYMTAB_SHNDX section that belongs to TABLE; most files have none. */
static Elf_Data *elf_find_indices(const struct elf_reader *reader, size_t table)
{
	for (size_t i = 1; i < reader->n_sections; i++) {
		Elf_Scn *scn = elf_getscn(reader->elf, i);
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
		    header.sh_link == table)
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

/* Section I as a symbol table. TABLE->n 0: it is empty. */
static struct xtop_error *elf_open_table(const struct elf_reader *reader, size_t i,
					 struct elf_table *table)
{
	Elf_Scn *scn = elf_getscn(reader->elf, i);
	GElf_Shdr header, strings;

	*table = (struct elf_table){ .section = i };
	if (!gelf_getshdr(scn, &header) || header.sh_link >= reader->n_sections ||
	    !gelf_getshdr(elf_getscn(reader->elf, header.sh_link), &strings))
		return elf_damaged(reader, "symbol table without string table");
	if (header.sh_size / sizeof(Elf64_Sym) > SYMTAB_MAX_SYMBOLS)
		return error_create("%s: more than %u symbols", reader->path, SYMTAB_MAX_SYMBOLS);
	if (strings.sh_size > SYMTAB_MAX_NAMES_BYTES)
		return error_create("%s: more than %u MiB of symbol names", reader->path,
				    SYMTAB_MAX_NAMES_BYTES >> 20);
	table->symbols = elf_getdata(scn, NULL);
	table->strings = elf_getdata(elf_getscn(reader->elf, header.sh_link), NULL);
	if (!table->symbols || !table->strings)
		return elf_damaged(reader, "symbol table");
	if (table->symbols->d_type != ELF_T_SYM)
		return error_create("%s: compressed symbol table: decompress it (objcopy "
				    "--decompress-debug-sections)",
				    reader->path);
	if (table->symbols->d_buf && table->strings->d_buf)
		table->n = table->symbols->d_size / sizeof(Elf64_Sym);
	table->indices = elf_find_indices(reader, i);
	return NULL;
}

/* NULL: outside the string table, or not terminated in it. */
static const char *elf_symbol_name(const struct elf_table *table, const GElf_Sym *symbol,
				   size_t *bytesp)
{
	const char *strings = table->strings->d_buf, *end;
	size_t left = table->strings->d_size;

	if (symbol->st_name >= left)
		return NULL;
	left -= symbol->st_name;
	end = memchr(strings + symbol->st_name, '\0', left);
	if (!end)
		return NULL;
	*bytesp = end - (strings + symbol->st_name);
	return strings + symbol->st_name;
}

/* The section a symbol lies in; NULL: in none (undefined, absolute, common). */
static struct xtop_error *elf_symbol_section(const struct elf_reader *reader,
					     const GElf_Sym *symbol, Elf32_Word extended,
					     const struct elf_section **sectionp)
{
	size_t index = symbol->st_shndx == SHN_XINDEX ? extended : symbol->st_shndx;

	*sectionp = NULL;
	if (symbol->st_shndx == SHN_UNDEF ||
	    (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX))
		return NULL;
	if (index >= reader->n_sections)
		return elf_damaged(reader, "a symbol lies in a section that does not exist");
	*sectionp = &reader->sections[index];
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
static bool elf_is_function(const GElf_Sym *symbol, const struct elf_section *section,
			    const char *name)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return section->code && !elf_is_local_label(name);
	default:
		return false;
	}
}

static enum symbol_rank elf_symbol_rank(const GElf_Sym *symbol)
{
	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_LOCAL:
		return SYMBOL_LOCAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_GLOBAL;
	}
}

static struct xtop_error *elf_add_symbol(const struct elf_reader *reader,
					 const struct elf_table *table, const GElf_Sym *symbol,
					 Elf32_Word extended, struct symtab *tab, size_t *n_addedp)
{
	const struct elf_section *section;
	struct xtop_error *error;
	size_t name_bytes = 0;
	const char *name;

	error = elf_symbol_section(reader, symbol, extended, &section);
	if (error || !section || symbol->st_value < section->start ||
	    symbol->st_value >= section->end)
		return error;
	name = elf_symbol_name(table, symbol, &name_bytes);
	if (!name)
		return elf_damaged(reader, "a symbol's name lies outside the string table");
	if (GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && section->code)
		return symtab_add_bound(tab, symbol->st_value); /* ends what is before it */
	if (!elf_is_function(symbol, section, name))
		return NULL;
	++*n_addedp;
	error = symtab_add(tab, symbol->st_value, symbol->st_size, section->end,
			   elf_symbol_rank(symbol), name, name_bytes);
	return error_wrap(error, "%s", reader->path);
}

static struct xtop_error *elf_read_table(const struct elf_reader *reader, size_t section,
					 struct symtab *tab, size_t *n_addedp)
{
	struct elf_table table;
	struct xtop_error *error = elf_open_table(reader, section, &table);

	for (size_t i = 1; !error && i < table.n; i++) { /* symbol 0 is reserved */
		Elf32_Word extended = SHN_UNDEF;
		GElf_Sym symbol;

		if (gelf_getsymshndx(table.symbols, table.indices, i, &symbol, &extended))
			error = elf_add_symbol(reader, &table, &symbol, extended, tab, n_addedp);
		else
			error = elf_damaged(reader, "symbol table");
	}
	return error;
}

/* All tables of TYPE: the gABI allows one, which is what there is. */
static struct xtop_error *elf_read_tables(const struct elf_reader *reader, Elf64_Word type,
					  struct symtab *tab, size_t *n_addedp)
{
	struct xtop_error *error = NULL;

	for (size_t i = 1; !error && i < reader->n_sections; i++) {
		GElf_Shdr header;

		if (gelf_getshdr(elf_getscn(reader->elf, i), &header) && header.sh_type == type)
			error = elf_read_table(reader, i, tab, n_addedp);
	}
	return error;
}

static struct xtop_error *elf_read_symbols(const struct elf_reader *reader, struct symtab *tab)
{
	struct xtop_error *error;
	size_t n_added = 0;

	error = elf_read_tables(reader, SHT_SYMTAB, tab, &n_added);
	if (!error && !n_added)
		error = elf_read_tables(reader, SHT_DYNSYM, tab, &n_added);
	if (!error && !n_added)
		error = error_create(
			"%s: no functions in it, it is stripped: give the unstripped file, or the "
			"text of nm or System.map",
			reader->path);
	return error;
}

/* --- build-id --------------------------------------------------------------------------------- */

/* ADDRESS is where the notes are loaded, 0 if they are not. True when the build-id was there. */
static bool elf_find_build_id(Elf_Data *notes, uint64_t address, struct build_id *build_id)
{
	size_t offset = 0, next, name_offset, desc_offset;
	GElf_Nhdr note;

	while ((next = gelf_getnote(notes, offset, &note, &name_offset, &desc_offset)) > offset) {
		const char *bytes = notes->d_buf;

		offset = next;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp(bytes + name_offset, "GNU", sizeof("GNU")) != 0)
			continue;
		if (!note.n_descsz || note.n_descsz > BUILD_ID_MAX_BYTES)
			continue;
		build_id->size_bytes = note.n_descsz;
		memcpy(build_id->bytes, bytes + desc_offset, note.n_descsz);
		build_id->address = address ? address + desc_offset : 0;
		return true;
	}
	return false;
}

/* Whether SIZE_BYTES at ADDRESS lie in what is loaded from the file. */
static bool elf_is_loaded(const struct elf_reader *reader, uint64_t address, uint64_t size_bytes)
{
	size_t n;

	if (elf_getphdrnum(reader->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(reader->elf, i, &segment))
			return false;
		if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
		    address - segment.p_vaddr <= segment.p_filesz &&
		    size_bytes <= segment.p_filesz - (address - segment.p_vaddr))
			return true;
	}
	return false;
}

/* Notes are aligned to 4 bytes, or to 8 where the segment or section is (gABI, Note Section). */
static Elf_Type elf_note_type(uint64_t alignment)
{
	return alignment == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
}

static bool elf_build_id_of_segments(const struct elf_reader *reader, struct build_id *build_id)
{
	size_t n;

	if (elf_getphdrnum(reader->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;
		uint64_t address;
		Elf_Data *notes;

		if (!gelf_getphdr(reader->elf, i, &segment))
			return false;
		if (segment.p_type != PT_NOTE || segment.p_filesz > ELF_MAX_NOTES_BYTES ||
		    segment.p_offset > INT64_MAX)
			continue;
		notes = elf_getdata_rawchunk(reader->elf, segment.p_offset, segment.p_filesz,
					     elf_note_type(segment.p_align));
		address = elf_is_loaded(reader, segment.p_vaddr, segment.p_filesz) ? segment.p_vaddr
										   : 0;
		if (notes && elf_find_build_id(notes, address, build_id))
			return true;
	}
	return false;
}

/* Linux has the segment too; files made by hand or by objcopy may only have the section. */
static bool elf_build_id_of_sections(const struct elf_reader *reader, struct build_id *build_id)
{
	for (size_t i = 1; i < reader->n_sections; i++) {
		Elf_Scn *scn = elf_getscn(reader->elf, i);
		uint64_t address;
		GElf_Shdr header;
		Elf_Data *notes;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_NOTE ||
		    header.sh_size > ELF_MAX_NOTES_BYTES || (header.sh_flags & SHF_COMPRESSED))
			continue;
		notes = elf_getdata(scn, NULL);
		address =
			elf_is_loaded(reader, header.sh_addr, header.sh_size) ? header.sh_addr : 0;
		if (notes && notes->d_buf && elf_find_build_id(notes, address, build_id))
			return true;
	}
	return false;
}

struct xtop_error *symbol_read_elf(int fd, const char *path, struct symtab *tab,
				   struct build_id *build_id)
{
	_cleanup_(elf_reader_deinit) struct elf_reader reader = { .path = path };
	struct build_id found = { 0 };
	struct xtop_error *error;

	elf_version(EV_CURRENT);
	elf_errno(); /* forget what others left */
	reader.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!reader.elf)
		return error_create("%s: cannot read it as ELF: %s", path, elf_errmsg(-1));
	error = elf_check_header(&reader);
	if (!error)
		error = elf_read_sections(&reader);
	if (!error)
		error = elf_read_symbols(&reader, tab);
	if (error)
		return error;
	if (!elf_build_id_of_segments(&reader, &found))
		elf_build_id_of_sections(&reader, &found);
	*build_id = found;
	return NULL;
}
