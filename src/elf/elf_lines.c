/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an address to source lines and inlined functions, by libdw (elfutils). The only file that
 * includes libdw's headers. This code runs in a process without rights (supervise/line_server.h): a
 * damaged file may make libdw crash. Then only this process ends.
 *
 *   .debug_info     units; in each a tree of functions, and of functions inlined in them
 *   .debug_line     rows of addresses, for each unit
 *   .symtab         where symbols are, for places that are counted from one
 *
 * An address is found in three steps: its unit, its function in the unit, and the blocks in that
 * function. libdw does not do the first two steps for all files: .debug_aranges is missing in
 * LLVM's files, and dwarf_getscopes() does not look into namespaces, in which Rust has its
 * functions. So this file makes tables of units and functions; the functions of a unit are read
 * when the unit is first needed.
 *
 * Memory. A vmlinux with DWARF has 400 MB and more. The file is mapped, not read, and its pages are
 * given back now and then (elf_lines_trim()): they stay in the page cache. libdw does not bound its
 * memory for units and lines: when libdw has taken much memory, its handle is closed and opened
 * again. The tables made here stay. The process has a limit besides (supervise/line_server.c).
 *
 * A kernel module is a relocatable file: its DWARF must be relocated first, which libdwfl does, in
 * private memory.
 */
#include "config.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_line_symbols.h"
#include "elf/elf_ranges.h"
#include "xtop/base/vector.h"
#include "xtop/elf/elf.h"
#include "xtop/supervise/line_client.h"

#define ELF_LINES_MAX_DIES    (16U << 20)  /* entries of one unit: siblings may form a circle */
/* levels of namespaces, types and blocks within each other */
#define ELF_LINES_MAX_DEPTH   64
#define ELF_LINES_HEAP_BYTES  (96U << 20)  /* bytes that libdw may keep between two questions */
#define ELF_LINES_PAGES_BYTES (64U << 20)  /* a smaller file's pages are not given back */
#define ELF_LINES_UNITS_ONCE  64           /* units that are read before pages are given back */

struct elf_unit {
	uint64_t die; /* the unit's entry */
	struct elf_ranges functions;
};

struct elf_lines {
	int fd, alt_fd;
	void *map, *alt_map;
	size_t map_bytes, alt_map_bytes;
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt_dwarf;
	/* libdwfl opens relocatable files, and owns their DWARF. NULL: the file is another one. */
	Dwfl *dwfl;
	Dwfl_Module *module;
	uint64_t bias; /* what was added to that module's addresses */
	size_t heap_bytes; /* bytes of the heap when libdw was opened */
	struct elf_ranges units; /* units by address */
	bool units_read;
	struct elf_unit *read;   /* units whose functions were read, in no order */
	size_t n_read, read_capacity;
	struct elf_line_symbols symbols;
	bool symbols_read;
	const char *symbol_file; /* the last source file that the symbols named; NULL: none yet */
};

/* --- the file --------------------------------------------------------------------------------- */

/*
 * Ends the process with a status that line_server.c explains to main. Without this handler libdw
 * calls exit().
 */
static void __attribute__((noreturn)) elf_lines_out_of_memory(void)
{
	_exit(ENOMEM);
}

static void *elf_lines_map(int fd, size_t *size_bytes)
{
	struct stat status;
	void *map;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return NULL;
	*size_bytes = (size_t)status.st_size;
	map = mmap(NULL, *size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

/* Whether libelf will inflate a section; the names are ld's (elf_host.c). */
static bool elf_lines_is_compressed(Elf *elf)
{
	size_t n = 0, names = 0;

	elf_getshdrnum(elf, &n);
	elf_getshdrstrndx(elf, &names);
	for (size_t i = 1; i < n; i++) {
		Elf_Scn *section = elf_getscn(elf, i);
		GElf_Shdr header;
		const char *name;

		if (!section || !gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (header.sh_flags & SHF_COMPRESSED || (name && strncmp(name, ".zdebug", 7) == 0))
			return true;
	}
	return false;
}

/*
 * libelf writes to the headers of sections that it inflates, so it reads such a file into memory of
 * its own. libelf uses any other file as it is mapped.
 */
static Elf *elf_lines_begin_elf(int fd, void *map, size_t size_bytes)
{
	Elf *elf = map && elf_version(EV_CURRENT) != EV_NONE ? elf_memory(map, size_bytes) : NULL;

	if (!elf || !elf_lines_is_compressed(elf))
		return elf;
	elf_end(elf);
	return elf_begin(fd, ELF_C_READ, NULL);
}

static Dwarf *elf_lines_begin(int fd, void *map, size_t size_bytes, Elf **elf)
{
	*elf = elf_lines_begin_elf(fd, map, size_bytes);
	return *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
}

static int elf_lines_no_debuginfo(Dwfl_Module *module, void **data, const char *name,
				  Dwarf_Addr base, const char *file, const char *link,
				  GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc,
		(void)found;
	return -1;
}

static bool elf_lines_begin_module(struct elf_lines *lines)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = elf_lines_no_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	int fd = dup(lines->fd); /* libdwfl's from then on */

	lines->dwfl = dwfl_begin(&callbacks);
	if (!lines->dwfl || fd < 0)
		return false;
	lines->module = dwfl_report_offline(lines->dwfl, "file", "file", fd);
	if (!lines->module) {
		close(fd);
		return false;
	}
	dwfl_report_end(lines->dwfl, NULL, NULL);
	lines->dwarf = dwfl_module_getdwarf(lines->module, &lines->bias);
	return lines->dwarf;
}

static bool elf_lines_is_relocatable(const struct elf_lines *lines)
{
	const Elf64_Ehdr *header = lines->map;

	return lines->map_bytes >= sizeof(*header) && header->e_type == ET_REL;
}

static void elf_lines_end(struct elf_lines *lines)
{
	if (lines->dwfl)
		dwfl_end(lines->dwfl); /* DWARF with it */
	else
		dwarf_end(lines->dwarf);
	dwarf_end(lines->alt_dwarf);
	elf_end(lines->elf);
	elf_end(lines->alt_elf);
	lines->dwfl = NULL;
	lines->dwarf = lines->alt_dwarf = NULL;
	lines->elf = lines->alt_elf = NULL;
}

/* Bytes that malloc() has given out. 0: the C library does not tell (musl, glibc before 2.33). */
static size_t elf_lines_heap_bytes(void)
{
#ifdef HAVE_MALLINFO2
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

static bool elf_lines_start(struct elf_lines *lines)
{
	if (elf_lines_is_relocatable(lines))
		return elf_lines_begin_module(lines);
	lines->dwarf = elf_lines_begin(lines->fd, lines->map, lines->map_bytes, &lines->elf);
	lines->alt_dwarf = elf_lines_begin(lines->alt_fd, lines->alt_map, lines->alt_map_bytes,
					   &lines->alt_elf);
	if (lines->dwarf)
		dwarf_new_oom_handler(lines->dwarf, elf_lines_out_of_memory);
	if (lines->dwarf && lines->alt_dwarf)
		dwarf_setalt(lines->dwarf, lines->alt_dwarf);
	lines->heap_bytes = elf_lines_heap_bytes();
	return lines->dwarf;
}

static void elf_lines_close(void *context)
{
	struct elf_lines *lines = context;

	if (!lines)
		return;
	elf_lines_end(lines);
	if (lines->map)
		munmap(lines->map, lines->map_bytes);
	if (lines->alt_map)
		munmap(lines->alt_map, lines->alt_map_bytes);
	close(lines->fd);
	if (lines->alt_fd >= 0)
		close(lines->alt_fd);
	elf_ranges_deinit(&lines->units);
	for (size_t i = 0; i < lines->n_read; i++)
		elf_ranges_deinit(&lines->read[i].functions);
	free(lines->read);
	elf_line_symbols_deinit(&lines->symbols);
	free(lines);
}

static void *elf_lines_open(int fd, int alt_fd, const char **why)
{
	struct elf_lines *lines = calloc(1, sizeof(*lines));

	*why = "out of memory";
	if (!lines)
		return NULL;
	lines->fd = dup(fd);
	lines->alt_fd = alt_fd >= 0 ? dup(alt_fd) : -1;
	lines->map = elf_lines_map(lines->fd, &lines->map_bytes);
	lines->alt_map = elf_lines_map(lines->alt_fd, &lines->alt_map_bytes);
	*why = "it cannot be mapped";
	if (lines->map && elf_lines_start(lines))
		return lines;
	if (lines->map)
		*why = lines->dwfl ? dwfl_errmsg(-1) : dwarf_errmsg(-1);
	elf_lines_close(lines);
	return NULL;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Gives back the pages of large files: they stay in the page cache, and return when read. */
static void elf_lines_drop_pages(const struct elf_lines *lines)
{
	if (lines->map_bytes > ELF_LINES_PAGES_BYTES)
		madvise(lines->map, lines->map_bytes, MADV_DONTNEED);
	if (lines->alt_map && lines->alt_map_bytes > ELF_LINES_PAGES_BYTES)
		madvise(lines->alt_map, lines->alt_map_bytes, MADV_DONTNEED);
}

/*
 * Opens libdw again when it has taken much memory, or may have. The names of symbols lie in the
 * mapping, not in libdw's handle, unless that is libdwfl's.
 */
static void elf_lines_bound_heap(struct elf_lines *lines)
{
	size_t now = elf_lines_heap_bytes();

	if (lines->dwfl || !lines->dwarf ||
	    (now && now < lines->heap_bytes + ELF_LINES_HEAP_BYTES))
		return;
	elf_lines_end(lines);
#ifdef HAVE_MALLINFO2
	malloc_trim(0); /* glibc's, too; musl keeps no large areas */
#endif
	elf_lines_start(lines);
}

static void elf_lines_trim(void *context)
{
	struct elf_lines *lines = context;

	elf_lines_drop_pages(lines);
	elf_lines_bound_heap(lines);
}

/* --- symbols ---------------------------------------------------------------------------------- */

static void elf_lines_add_symbol(struct elf_lines *lines, const char *name, uint64_t address,
				 const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	if (type == STT_FILE)
		lines->symbol_file = name;
	if (!name || !*name || symbol->st_shndx == SHN_UNDEF ||
	    (type != STT_NOTYPE && type != STT_FUNC && type != STT_OBJECT))
		return;
	elf_line_symbols_add(
		&lines->symbols,
		&(struct elf_line_symbol){ .name = name,
					   .file = GELF_ST_BIND(symbol->st_info) == STB_LOCAL
							   ? lines->symbol_file
							   : NULL,
					   .address = address,
					   .size_bytes = symbol->st_size,
					   .section = symbol->st_shndx });
}

static void elf_lines_read_module_symbols(struct elf_lines *lines)
{
	int n = dwfl_module_getsymtab(lines->module);

	for (int i = 1; i < n; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name =
			dwfl_module_getsym_info(lines->module, i, &symbol, &address, NULL, NULL,
						NULL);

		elf_lines_add_symbol(lines, name, address - lines->bias, &symbol);
	}
	elf_line_symbols_mark_last(&lines->symbols);
}

/*
 * The bytes of section INDEX in the mapped file. NULL: the section is compressed, or beyond the
 * file's end.
 */
static const char *elf_lines_section(const struct elf_lines *lines, size_t index, GElf_Shdr *header)
{
	Elf_Scn *section = elf_getscn(lines->elf, index);

	if (!section || !gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS ||
	    header->sh_flags & SHF_COMPRESSED || header->sh_offset > lines->map_bytes ||
	    header->sh_size > lines->map_bytes - header->sh_offset)
		return NULL;
	return (const char *)lines->map + header->sh_offset;
}

/* Symbol INDEX of TABLE, a section of a 32-bit file if IS_SHORT. */
static GElf_Sym elf_lines_symbol(const char *table, size_t index, bool is_short)
{
	Elf32_Sym narrow;
	GElf_Sym symbol;

	if (!is_short) {
		memcpy(&symbol, table + index * sizeof(symbol), sizeof(symbol));
		return symbol;
	}
	memcpy(&narrow, table + index * sizeof(narrow), sizeof(narrow));
	return (GElf_Sym){ .st_name = narrow.st_name,
			   .st_info = narrow.st_info,
			   .st_shndx = narrow.st_shndx,
			   .st_value = narrow.st_value,
			   .st_size = narrow.st_size };
}

static void elf_lines_read_section_symbols(struct elf_lines *lines)
{
	bool is_short = gelf_getclass(lines->elf) == ELFCLASS32;
	size_t n = 0, symbol_bytes = is_short ? sizeof(Elf32_Sym) : sizeof(GElf_Sym);

	elf_getshdrnum(lines->elf, &n);
	for (size_t i = 1; i < n; i++) {
		GElf_Shdr header, names_header;
		const char *symbols = elf_lines_section(lines, i, &header), *names;

		if (!symbols || header.sh_type != SHT_SYMTAB)
			continue;
		names = elf_lines_section(lines, header.sh_link, &names_header);
		for (size_t j = 1; names && j < header.sh_size / symbol_bytes; j++) {
			GElf_Sym symbol = elf_lines_symbol(symbols, j, is_short);
			size_t left;

			if (symbol.st_name >= names_header.sh_size)
				continue;
			left = names_header.sh_size - symbol.st_name;
			if (strnlen(names + symbol.st_name, left) < left)
				elf_lines_add_symbol(lines, names + symbol.st_name, symbol.st_value,
						     &symbol);
		}
		return;
	}
}

static void elf_lines_read_symbols(struct elf_lines *lines)
{
	if (lines->symbols_read)
		return;
	lines->symbols_read = true;
	if (lines->dwfl)
		elf_lines_read_module_symbols(lines);
	else
		elf_lines_read_section_symbols(lines);
	elf_line_symbols_sort(&lines->symbols);
}

/* The address of PLACE's symbol. False: elf_line_symbols_find(). */
static bool elf_lines_find_symbol(struct elf_lines *lines, const struct line_place *place,
				  uint64_t *address)
{
	elf_lines_read_symbols(lines);
	return elf_line_symbols_find(&lines->symbols, place->symbol, place->size_bytes, address);
}

/* --- units and functions ---------------------------------------------------------------------- */

/* The ranges of DIE's own code. A function that was left out by the linker is at 0. */
static void elf_lines_add_die(struct elf_ranges *ranges, Dwarf_Die *die)
{
	uint64_t offset = dwarf_dieoffset(die);
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;

	for (unsigned i = 0; i < ELF_RANGES_MAX; i++) {
		next = dwarf_ranges(die, next, &base, &start, &end);
		if (next <= 0)
			return;
		elf_ranges_add(ranges, start, end, offset);
	}
}

static void elf_lines_read_units(struct elf_lines *lines)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t type;

	if (lines->units_read)
		return;
	lines->units_read = true;
	for (unsigned n = 1; dwarf_get_units(lines->dwarf, unit, &unit, NULL, &type, &die,
					     NULL) == 0; n++) {
		if (type != DW_UT_type && type != DW_UT_split_type)
			elf_lines_add_die(&lines->units, &die);
		if (n % ELF_LINES_UNITS_ONCE == 0)
			elf_lines_drop_pages(lines);
	}
	elf_lines_bound_heap(lines);
	elf_ranges_seal(&lines->units);
}

/*
 * Whether an entry with TAG may contain functions. A function may contain nested functions and
 * those of its local classes, such as the operator() of a C++ lambda.
 */
static bool elf_lines_is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
		return true;
	default:
		return false;
	}
}

static void elf_lines_read_scope(struct elf_unit *unit, Dwarf_Die *scope, unsigned depth,
				 unsigned *left)
{
	Dwarf_Die die;
	int more = dwarf_child(scope, &die);

	for (; more == 0 && *left > 0; more = dwarf_siblingof(&die, &die), (*left)--) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			elf_lines_add_die(&unit->functions, &die);
		if (elf_lines_is_scope(tag) && depth < ELF_LINES_MAX_DEPTH)
			elf_lines_read_scope(unit, &die, depth + 1, left);
	}
}

static const struct elf_unit *elf_lines_find_unit(struct elf_lines *lines, uint64_t offset,
						  Dwarf_Die *die)
{
	unsigned left = ELF_LINES_MAX_DIES;
	struct elf_unit *unit;

	if (!dwarf_offdie(lines->dwarf, offset, die))
		return NULL;
	for (size_t i = 0; i < lines->n_read; i++)
		if (lines->read[i].die == offset)
			return &lines->read[i];
	if (!vector_reserve(lines->read, lines->read_capacity, lines->n_read + 1))
		return NULL;
	unit = &lines->read[lines->n_read++];
	*unit = (struct elf_unit){ .die = offset };
	elf_lines_read_scope(unit, die, 0, &left);
	elf_ranges_seal(&unit->functions);
	return unit;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* The name for linkers, which has namespaces and classes; else the one in the source. */
static const char *elf_lines_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ? name : "";
}

/* Reads at which line of the surrounding function DIE was inlined. */
static void elf_lines_read_call(Dwarf_Die *unit, Dwarf_Die *die, struct line_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t n;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &number) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &n) == 0 && number < n) {
		const char *file = dwarf_filesrc(files, number, NULL, NULL);

		frame->file = file ? file : "";
	}
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &number) == 0)
		frame->line = number <= UINT32_MAX ? (uint32_t)number : 0;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_column, &attribute), &number) == 0)
		frame->column = number <= UINT32_MAX ? (uint32_t)number : 0;
}

static void elf_lines_read_line(Dwarf_Die *unit, uint64_t address, struct line_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number = 0, column = 0;

	if (!file)
		return;
	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	frame->file = file;
	frame->line = number > 0 ? (uint32_t)number : 0;
	frame->column = column > 0 ? (uint32_t)column : 0;
}

static bool elf_lines_is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

/* The child of BLOCK that has ADDRESS. False: none has. */
static bool elf_lines_find_block(Dwarf_Die *block, uint64_t address, Dwarf_Die *found,
				 unsigned *left)
{
	Dwarf_Die die;
	int more = dwarf_child(block, &die);

	for (; more == 0 && *left > 0; more = dwarf_siblingof(&die, &die), (*left)--)
		if (elf_lines_is_block(dwarf_tag(&die)) && dwarf_haspc(&die, address) > 0) {
			*found = die;
			return true;
		}
	return false;
}

/* The functions at ADDRESS, outermost first. Functions deeper than LINE_MAX_DEPTH are left out. */
static unsigned elf_lines_walk(Dwarf_Die *function, uint64_t address,
			       Dwarf_Die dies[LINE_MAX_DEPTH])
{
	unsigned left = ELF_LINES_MAX_DIES, n = 0;
	Dwarf_Die block = *function, inner;

	dies[n++] = block;
	for (unsigned depth = 0; depth < ELF_LINES_MAX_DEPTH && n < LINE_MAX_DEPTH &&
				 elf_lines_find_block(&block, address, &inner, &left);
	     depth++) {
		block = inner;
		if (dwarf_tag(&block) == DW_TAG_inlined_subroutine)
			dies[n++] = block;
	}
	return n;
}

static void elf_lines_fill(Dwarf_Die *unit, Dwarf_Die *function, uint64_t address,
			   struct line_answer *answer)
{
	Dwarf_Die dies[LINE_MAX_DEPTH];
	unsigned n = elf_lines_walk(function, address, dies);

	for (unsigned i = 0; i < n; i++) {
		struct line_frame *frame = &answer->frames[i];

		*frame = (struct line_frame){ .function = elf_lines_name(&dies[n - 1 - i]),
					      .file = "" };
		if (i == 0)
			elf_lines_read_line(unit, address, frame);
		else
			elf_lines_read_call(unit, &dies[n - i], frame);
	}
	answer->n = n;
}

static void elf_lines_find(void *context, const struct line_place *place,
			   struct line_answer *answer)
{
	struct elf_lines *lines = context;
	const struct elf_range *in_unit, *in_function;
	const struct elf_unit *unit;
	uint64_t address = place->address, symbol = 0;
	Dwarf_Die unit_die, function;

	answer->n = 0;
	elf_lines_bound_heap(lines);
	if (!lines->dwarf ||
	    (place->symbol[0] &&
	     !elf_lines_find_symbol(lines, place, &symbol)))
		return;
	address += symbol;
	elf_lines_read_units(lines);
	in_unit = elf_ranges_find(&lines->units, address);
	unit = in_unit ? elf_lines_find_unit(lines, in_unit->die, &unit_die) : NULL;
	if (!unit)
		return;
	in_function = elf_ranges_find(&unit->functions, address);
	if (in_function && dwarf_offdie(lines->dwarf, in_function->die, &function)) {
		elf_lines_fill(&unit_die, &function, address, answer);
		return;
	}
	/* Assembler has lines, and no functions. */
	answer->frames[0] = (struct line_frame){ .function = "", .file = "" };
	elf_lines_read_line(&unit_die, address, &answer->frames[0]);
	answer->n = answer->frames[0].line != 0;
}

const struct line_reader elf_lines_reader = {
	.open = elf_lines_open,
	.find = elf_lines_find,
	.trim = elf_lines_trim,
	.close = elf_lines_close,
};
