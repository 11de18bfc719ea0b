/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stubs of a procedure linkage table, which have no symbols: each jumps to the address in one
 * word of the global offset table, and a relocation tells whose address that is: in .rela.plt, or
 * in .rela.dyn for the stubs in .plt.got, of functions whose address the program takes, too.
 *
 *   x86-64   [endbr64] jmp *word(%rip)                 .plt, .plt.sec, .plt.got
 *            mov word(%rip),%r11                       retpolines of LLD
 *            [endbr64] push $i; jmp                    .plt with .plt.sec: relocation i
 *   arm64    [bti c] adrp x16, page; ldr x17, [x16, #place]
 *
 * The head of the table reads a word without a relocation, and gets no name. Main's thread for a
 * file given by -k, else the resolver's.
 */
#include "config.h"

#include "symbol/elf_plt.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/limit.h"
#include "xtop/base/sorted.h"

#define PLT_MAX_STUBS LIMIT(1U << 16, 64)
#define PLT_MAX_OTHERS    LIMIT(4096, 64) /* relocations of .rela.dyn */
#define PLT_LARGEST_BYTES 32 /* the largest stub; most have 16 */
#define PLT_STUB_BYTES    16
#define PLT_MAX_BYTES     (2 * PLT_LARGEST_BYTES * PLT_MAX_STUBS)
#define PLT_WORD          8   /* stubs of x86-64 are aligned to 8 bytes or more */
#define PLT_NAME_BYTES    256 /* bytes of a name that are read at first; few names are longer */

/* A word that a stub reads, and the number of its relocation. */
struct plt_word {
	uint64_t address;
	size_t relocation;
};

/* The relocations of .rela.plt and .rela.dyn, and where the names of their symbols are. */
struct elf_plt {
	struct elf_file *file;
	struct symtab *tab;
	struct elf_blob stubs, others;
	struct plt_word *words; /* ascending */
	size_t n, n_stubs;      /* relocations from `n_stubs` on are the others */
	struct elf_stub_tables tables;
	size_t *n_added;
};

static void plt_deinit(struct elf_plt *plt)
{
	elf_blob_deinit(&plt->stubs);
	elf_blob_deinit(&plt->others);
	free(plt->words);
}

static Elf64_Rela plt_relocation(const struct elf_plt *plt, size_t i)
{
	const uint8_t *at = i < plt->n_stubs ? plt->stubs.bytes : plt->others.bytes;
	Elf64_Rela relocation;

	memcpy(&relocation, at + (i < plt->n_stubs ? i : i - plt->n_stubs) * sizeof(relocation),
	       sizeof(relocation));
	return relocation;
}

static int plt_compare(const void *a, const void *b)
{
	const struct plt_word *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static bool plt_list_words(struct elf_plt *plt)
{
	plt->words = reallocarray(NULL, plt->n, sizeof(*plt->words));
	if (!plt->words)
		return false;
	for (size_t i = 0; i < plt->n; i++)
		plt->words[i] = (struct plt_word){ plt_relocation(plt, i).r_offset, i };
	qsort(plt->words, plt->n, sizeof(*plt->words), plt_compare);
	return true;
}

/* Loads the relocations at PLACE, at most MOST, into BLOB. Returns how many; 0: none were read. */
static size_t plt_load(struct elf_file *file, const struct elf_place *place, size_t most,
		       struct elf_blob *blob)
{
	size_t n = place->size_bytes / sizeof(Elf64_Rela);

	return n && n <= most && elf_load(file, place->offset, place->size_bytes, blob) &&
			       !blob->n_gaps
		       ? n
		       : 0;
}

/* False: the file has no relocations of stubs, they cannot be read now, or memory is out. */
static bool plt_open(struct elf_file *file, struct elf_plt *plt)
{
	struct elf_stub_tables *tables = &plt->tables;

	if (elf_machine_is_short(file) || !elf_find_stub_tables(file, tables) ||
	    tables->strings_at > UINT32_MAX ||
	    tables->strings_bytes > UINT32_MAX - tables->strings_at)
		return false;
	plt->n_stubs = plt_load(file, &tables->stubs, PLT_MAX_STUBS, &plt->stubs);
	plt->n = plt->n_stubs;
	if (!file->n_sections || file->sections[elf_find_section(file, ".plt.got")].code)
		plt->n += plt_load(file, &tables->others, PLT_MAX_OTHERS, &plt->others);
	return plt->n && plt_list_words(plt);
}

/* Reads the name at AT in the file, and adds SYMBOL_STUB_SUFFIX. Returns its length; 0: none. */
static size_t plt_read_name(const struct elf_plt *plt, uint64_t at,
			    char name[SYMTAB_MAX_NAME_BYTES + sizeof(SYMBOL_STUB_SUFFIX)])
{
	uint64_t left_bytes = plt->tables.strings_at + plt->tables.strings_bytes - at;
	size_t n = 0;

	for (size_t room = PLT_NAME_BYTES; !n && room <= SYMTAB_MAX_NAME_BYTES;
	     room = room < SYMTAB_MAX_NAME_BYTES ? SYMTAB_MAX_NAME_BYTES : SIZE_MAX) {
		size_t got = elf_read(plt->file, at, name, left_bytes < room ? left_bytes : room);

		n = strnlen(name, got);
		if (n == got)
			n = 0; /* longer, or not there now */
	}
	if (n) {
		memcpy(name + n, SYMBOL_STUB_SUFFIX, sizeof(SYMBOL_STUB_SUFFIX));
		n += sizeof(SYMBOL_STUB_SUFFIX) - 1;
	}
	return n;
}

/*
 * Adds the stub at START, which relocation I belongs to, in a section that ends at LIMIT. A stub
 * without a name ends the one before.
 */
static struct xtop_error *plt_add(struct elf_plt *plt, uint64_t start, uint64_t limit, size_t i)
{
	struct symbol_definition stub = { .start = start, .limit = limit, .rank = SYMBOL_STUB };
	uint64_t number = ELF64_R_SYM(plt_relocation(plt, i).r_info);
	char name[SYMTAB_MAX_NAME_BYTES + sizeof(SYMBOL_STUB_SUFFIX)];
	Elf64_Sym symbol;

	if (!number ||
	    elf_read(plt->file, plt->tables.symbols_at + number * sizeof(symbol), &symbol,
		     sizeof(symbol)) != sizeof(symbol) ||
	    !symbol.st_name || symbol.st_name >= plt->tables.strings_bytes)
		return symtab_add_bound(plt->tab, start);
	stub.name_at = (uint32_t)(plt->tables.strings_at + symbol.st_name);
	if (!plt->file->limits.late_names) {
		stub.name = name;
		stub.name_bytes = plt_read_name(plt, stub.name_at, name);
	}
	if (stub.name && !stub.name_bytes)
		return symtab_add_bound(plt->tab, start);
	++*plt->n_added;
	return symtab_add(plt->tab, &stub);
}

/* Finds the relocation of the word at ADDRESS. */
static bool plt_find(const struct elf_plt *plt, uint64_t address, size_t *i)
{
	size_t n = sorted_count(plt->words, plt->n, address, address);

	if (!n || plt->words[n - 1].address != address)
		return false;
	*i = plt->words[n - 1].relocation;
	return true;
}

/* --- one stub --------------------------------------------------------------------------------- */

/* A place in the code of a section. */
struct plt_code {
	const uint8_t *bytes;
	size_t size_bytes, at;
	uint64_t address; /* the address of the byte at `at` */
};

/* Whether a stub's code lies at CODE: *START becomes where it begins, and *I its relocation. */
typedef bool plt_match_fn(const struct elf_plt *plt, const struct plt_code *code, uint64_t *start,
			  size_t *i);

/* Whether the bytes at CODE are N BYTES and then a number of 32 bits. */
static bool plt_has(const struct plt_code *code, const uint8_t *bytes, size_t n, int32_t *number)
{
	if (code->size_bytes - code->at < n + sizeof(*number) ||
	    memcmp(code->bytes + code->at, bytes, n) != 0)
		return false;
	memcpy(number, code->bytes + code->at + n, sizeof(*number));
	return true;
}

static bool plt_match_x86(const struct elf_plt *plt, const struct plt_code *code, uint64_t *start,
			  size_t *i)
{
	static const uint8_t jump[] = { 0xff, 0x25 }, load[] = { 0x4c, 0x8b, 0x1d };
	static const uint8_t push[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x68 };
	uint8_t first = code->bytes[code->at]; /* most bytes begin none of them: saves time */
	uint64_t next;
	int32_t number;

	if (first != *jump && first != *load && first != *push)
		return false;
	*start = code->address & ~(uint64_t)(PLT_WORD - 1);
	if (plt_has(code, push, sizeof(push), &number)) {
		*i = (uint32_t)number;
		return code->address == *start && *i < plt->n_stubs;
	}
	next = code->address + sizeof(number);
	if (plt_has(code, jump, sizeof(jump), &number))
		next += sizeof(jump);
	else if (plt_has(code, load, sizeof(load), &number))
		next += sizeof(load);
	else
		return false;
	return plt_find(plt, next + (uint64_t)(int64_t)number, i);
}

static bool plt_match_arm64(const struct elf_plt *plt, const struct plt_code *code,
			    uint64_t *start, size_t *i)
{
	uint32_t words[2], before;
	uint64_t pages;

	if (code->size_bytes - code->at < sizeof(words) || code->address % sizeof(before))
		return false;
	memcpy(words, code->bytes + code->at, sizeof(words));
	if ((words[0] & 0x9f00001f) != 0x90000010 || (words[1] & 0xffc003ff) != 0xf9400211)
		return false;
	*start = code->address;
	if (code->at >= sizeof(before)) {
		memcpy(&before, code->bytes + code->at - sizeof(before), sizeof(before));
		if (before == 0xd503245f) /* bti c */
			*start -= sizeof(before);
	}
	pages = (uint64_t)((int64_t)((uint64_t)(words[0] >> 5 & 0x7ffff) << 45) >> 43) |
		(words[0] >> 29 & 3);
	return plt_find(plt,
			(code->address & ~UINT64_C(4095)) + pages * 4096 +
				8 * (words[1] >> 10 & 4095),
			i);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Adds the stubs in [START, END), at OFFSET in the file. END bounds the last stub. */
static struct xtop_error *plt_add_range(struct elf_plt *plt, uint64_t start, uint64_t end,
					uint64_t offset)
{
	plt_match_fn *match = elf_machine_is_x86_64(plt->file) ? plt_match_x86 : plt_match_arm64;
	_cleanup_(elf_blob_deinit) struct elf_blob blob = { 0 };
	uint64_t stub, last = 0, limit = end;
	struct xtop_error *error = NULL;
	struct plt_code code;
	size_t i;

	if (end - start > PLT_MAX_BYTES || !elf_load(plt->file, offset, end - start, &blob) ||
	    blob.n_gaps)
		return NULL;
	code = (struct plt_code){ blob.bytes, blob.size_bytes, 0, start };
	for (; code.at < code.size_bytes && !error; code.at++, code.address++) {
		if (!match(plt, &code, &stub, &i) || stub < start || stub == last)
			continue;
		if (!plt->file->n_sections)
			limit = code.address + PLT_STUB_BYTES;
		error = plt_add(plt, stub, limit, i);
		last = stub;
	}
	return error;
}

static struct xtop_error *plt_add_sections(struct elf_plt *plt)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	uint64_t room = PLT_LARGEST_BYTES * (plt->n + 2);
	struct xtop_error *error = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !error; i++) {
		const struct elf_section *section =
			&plt->file->sections[elf_find_section(plt->file, names[i])];

		if (section->code && section->end - section->start <= room)
			error = plt_add_range(plt, section->start, section->end,
					      section->header.sh_offset);
	}
	return error;
}

/*
 * Adds the stubs of a file without sections. In the file, the words that stubs read have addresses
 * in the PLT, to which the first call through each of them goes: in a stub, or in the head.
 */
static struct xtop_error *plt_add_near_words(struct elf_plt *plt)
{
	uint64_t low = UINT64_MAX, high = 0, word, offset, left_bytes, room;

	for (size_t i = 0; i < plt->n_stubs; i++)
		if (elf_read_at(plt->file, plt_relocation(plt, i).r_offset, &word, sizeof(word)) &&
		    word) {
			low = word < low ? word : low;
			high = word > high ? word : high;
		}
	room = PLT_LARGEST_BYTES * (plt->n_stubs + 2);
	low &= ~(uint64_t)(PLT_STUB_BYTES - 1);
	if (low > high || high - low > room)
		return NULL;
	if (elf_find_offset(plt->file, low - PLT_LARGEST_BYTES, &offset, &left_bytes))
		low -= PLT_LARGEST_BYTES;
	else if (!elf_find_offset(plt->file, low, &offset, &left_bytes)) /* a segment begins here */
		return NULL;
	room += high - low;
	return plt_add_range(plt, low, low + (room < left_bytes ? room : left_bytes), offset);
}

struct xtop_error *elf_add_plt(struct elf_file *file, struct symtab *tab, size_t *n)
{
	_cleanup_(plt_deinit) struct elf_plt plt = { .file = file, .tab = tab, .n_added = n };
	bool incomplete = file->incomplete;
	struct xtop_error *error;

	if (file->n_sections)
		return plt_open(file, &plt) ? plt_add_sections(&plt) : NULL;
	error = plt_open(file, &plt) ? plt_add_near_words(&plt) : NULL;
	file->incomplete = incomplete; /* missing words are no reason to read the file again */
	return error;
}
