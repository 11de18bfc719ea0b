/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .dynsym as the dynamic linker finds it, for a file whose section headers are stripped or not in
 * memory (System V gABI, chapter 5, Dynamic Section). PT_DYNAMIC is pairs of tag and value:
 *
 *   DT_SYMTAB DT_STRTAB DT_STRSZ   where the symbols and their names are
 *   DT_HASH                        nbucket nchain ...: nchain symbols
 *   DT_GNU_HASH                    nbuckets first bloom_words shift bloom[8 * words] buckets[]
 *                                  chain[]: a bucket is the first symbol of a chain, and the last
 *                                  word of a chain is odd
 *
 *   DT_RELA DT_RELASZ              relocations
 *   DT_RELACOUNT                   how many of them, the first ones, have no symbol
 *   DT_JMPREL DT_PLTRELSZ          relocations of the words that the stubs of the PLT read
 *   DT_INIT DT_FINI                .init and .fini, functions that have no FDE
 *
 * The addresses are the file's. In a running process glibc may have changed them
 * (elf/get-dynamic-info.h: it adds the load address in place, but not in the vDSO). The load
 * address is found by trying. The tables are in the first pages, so the load address is a little
 * below the lowest table. With the right load address, symbol 0 is all zeros, and string 0 is
 * empty.
 */
#include "config.h"

#include <string.h>

#include "elf/elf_reader.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/types.h"

#define ELF_MAX_DYNAMIC   1024 /* entries of PT_DYNAMIC */
#define DYNAMIC_MAX_TRIES 64   /* pages below the lowest table */

struct elf_tags {
	/* 0: not there */
	uint64_t symbols, strings, strings_bytes, hash, gnu_hash, init, fini, rela, rela_bytes;
	uint64_t n_relative, stubs, stubs_bytes;
};

static void elf_set_tag(struct elf_tags *tags, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		tags->symbols = entry->d_un.d_ptr;
		break;
	case DT_STRTAB:
		tags->strings = entry->d_un.d_ptr;
		break;
	case DT_STRSZ:
		tags->strings_bytes = entry->d_un.d_val;
		break;
	case DT_HASH:
		tags->hash = entry->d_un.d_ptr;
		break;
	case DT_GNU_HASH:
		tags->gnu_hash = entry->d_un.d_ptr;
		break;
	case DT_RELA:
		tags->rela = entry->d_un.d_ptr;
		break;
	case DT_RELASZ:
		tags->rela_bytes = entry->d_un.d_val;
		break;
	case DT_RELACOUNT:
		tags->n_relative = entry->d_un.d_val;
		break;
	case DT_JMPREL:
		tags->stubs = entry->d_un.d_ptr;
		break;
	case DT_PLTRELSZ:
		tags->stubs_bytes = entry->d_un.d_val;
		break;
	case DT_INIT:
		tags->init = entry->d_un.d_ptr;
		break;
	case DT_FINI:
		tags->fini = entry->d_un.d_ptr;
		break;
	}
}

/* Reads the tags of PT_DYNAMIC. All are 0 if the file has no dynamic section that can be read. */
static void elf_read_tags(struct elf_file *file, struct elf_tags *tags)
{
	_cleanup_(elf_blob_deinit) struct elf_blob blob = { 0 };
	size_t size_bytes = elf_sizes(&file->header).dynamic;
	const Elf64_Phdr *segment = NULL;

	*tags = (struct elf_tags){ 0 };
	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].p_type == PT_DYNAMIC)
			segment = &file->segments[i];
	if (!segment || segment->p_filesz / size_bytes > ELF_MAX_DYNAMIC ||
	    !elf_load(file, segment->p_offset, segment->p_filesz, &blob))
		return;
	for (size_t at = 0; elf_blob_has(&blob, at, size_bytes); at += size_bytes) {
		Elf64_Dyn entry = elf_decode_dyn(&file->header, blob.bytes + at);

		if (entry.d_tag == DT_NULL)
			break;
		elf_set_tag(tags, &entry);
	}
}

static bool elf_bias_fits(struct elf_file *file, const struct elf_tags *tags, uint64_t bias)
{
	static const char null[sizeof(Elf64_Sym)];
	size_t size_bytes = elf_sizes(&file->header).symbol;
	char first[sizeof(null)], empty;

	return elf_read_at(file, tags->symbols - bias, first, size_bytes) &&
	       memcmp(first, null, size_bytes) == 0 &&
	       elf_read_at(file, tags->strings - bias, &empty, 1) && !empty;
}

static uint64_t elf_first_address(const struct elf_file *file)
{
	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].p_type == PT_LOAD)
			return file->segments[i].p_vaddr & ~GUEST_PAGE_MASK;
	return 0;
}

static bool elf_find_bias(struct elf_file *file, const struct elf_tags *tags, uint64_t *biasp)
{
	uint64_t lowest = tags->symbols < tags->strings ? tags->symbols : tags->strings, bias;

	if (elf_bias_fits(file, tags, 0)) {
		*biasp = 0;
		return true;
	}
	bias = (lowest & ~GUEST_PAGE_MASK) - elf_first_address(file);
	for (unsigned i = 0; i < DYNAMIC_MAX_TRIES; i++, bias -= GUEST_PAGE_SIZE)
		if (elf_bias_fits(file, tags, bias)) {
			*biasp = bias;
			return true;
		}
	return false;
}

/* Number of symbols by DT_GNU_HASH; 0: the table does not tell. */
static uint64_t elf_count_by_gnu_hash(struct elf_file *file, uint64_t address)
{
	uint32_t header[4], last = 0, word, buckets[256];
	uint64_t at, n_symbols;

	if (!elf_read_at(file, address, header, sizeof(header)) ||
	    header[0] > file->limits.symbols || header[2] > file->limits.symbols)
		return 0;
	at = address + sizeof(header) + (uint64_t)elf_sizes(&file->header).address * header[2];
	for (uint32_t i = 0; i < header[0]; i += 256) {
		uint32_t n = header[0] - i < 256 ? header[0] - i : 256;

		if (!elf_read_at(file, at + 4ULL * i, buckets, n * sizeof(word)))
			return 0;
		for (uint32_t j = 0; j < n; j++)
			last = buckets[j] > last ? buckets[j] : last;
	}
	if (last < header[1])
		return header[1];
	at += 4ULL * header[0] - 4ULL * header[1];
	for (n_symbols = last; n_symbols < file->limits.symbols; n_symbols++)
		if (!elf_read_at(file, at + 4 * n_symbols, &word, sizeof(word)))
			return 0;
		else if (word & 1)
			return n_symbols + 1;
	return 0;
}

static uint64_t elf_count_dynamic(struct elf_file *file, const struct elf_tags *tags,
				  uint64_t bias)
{
	uint32_t hash[2];
	uint64_t n = 0;

	if (tags->gnu_hash)
		n = elf_count_by_gnu_hash(file, tags->gnu_hash - bias);
	if (!n && tags->hash && elf_read_at(file, tags->hash - bias, hash, sizeof(hash)))
		n = hash[1];
	if (!n && tags->strings > tags->symbols) /* linkers put the names after the symbols */
		n = (tags->strings - tags->symbols) / elf_sizes(&file->header).symbol;
	return n;
}

/* Finds the dynamic symbols and their strings. dynamic->n_symbols becomes how many there can be. */
static bool elf_find_names(struct elf_file *file, struct elf_tags *tags, uint64_t *bias,
			   struct elf_dynamic *dynamic)
{
	uint64_t symbols_left, strings_left;

	elf_read_tags(file, tags);
	if (!tags->symbols || !tags->strings || !tags->strings_bytes ||
	    !elf_find_bias(file, tags, bias) ||
	    !elf_find_offset(file, tags->symbols - *bias, &dynamic->symbols_offset,
			     &symbols_left) ||
	    !elf_find_offset(file, tags->strings - *bias, &dynamic->strings_offset, &strings_left))
		return false;
	dynamic->n_symbols = symbols_left / elf_sizes(&file->header).symbol;
	dynamic->strings_bytes =
		tags->strings_bytes < strings_left ? tags->strings_bytes : strings_left;
	return true;
}

bool elf_find_dynamic(struct elf_file *file, struct elf_dynamic *dynamic)
{
	struct elf_tags tags;
	uint64_t bias, n;

	if (!elf_find_names(file, &tags, &bias, dynamic))
		return false;
	n = elf_count_dynamic(file, &tags, bias);
	dynamic->n_symbols = n < dynamic->n_symbols ? n : dynamic->n_symbols;
	return true;
}

/* Finds SIZE_BYTES at ADDRESS in the file; 0: there is no such table. */
static struct elf_place elf_find_table(struct elf_file *file, uint64_t address, uint64_t size_bytes)
{
	struct elf_place table = { 0 };
	uint64_t left_bytes;

	if (address && elf_find_offset(file, address, &table.offset, &left_bytes))
		table.size_bytes = size_bytes < left_bytes ? size_bytes : left_bytes;
	return table;
}

bool elf_find_stub_tables(struct elf_file *file, struct elf_stub_tables *tables)
{
	uint64_t bias, relative_bytes;
	struct elf_dynamic dynamic;
	struct elf_tags tags;

	if (!elf_find_names(file, &tags, &bias, &dynamic))
		return false;
	if (tags.n_relative > tags.rela_bytes / sizeof(Elf64_Rela))
		tags.n_relative = 0;
	relative_bytes = tags.n_relative * sizeof(Elf64_Rela);
	*tables = (struct elf_stub_tables){ .symbols_at = dynamic.symbols_offset,
					    .strings_at = dynamic.strings_offset,
					    .strings_bytes = dynamic.strings_bytes };
	if (tags.stubs)
		tables->stubs = elf_find_table(file, tags.stubs - bias, tags.stubs_bytes);
	if (tags.rela)
		tables->others = elf_find_table(file, tags.rela - bias + relative_bytes,
						tags.rela_bytes - relative_bytes);
	return tables->stubs.size_bytes || tables->others.size_bytes;
}

bool elf_find_relocations(struct elf_file *file, uint64_t *offset, uint64_t *size_bytes)
{
	uint64_t bias, left_bytes;
	struct elf_tags tags;

	elf_read_tags(file, &tags);
	if (!tags.rela || !tags.symbols || !tags.strings || !elf_find_bias(file, &tags, &bias) ||
	    !elf_find_offset(file, tags.rela - bias, offset, &left_bytes))
		return false;
	*size_bytes = tags.rela_bytes < left_bytes ? tags.rela_bytes : left_bytes;
	return true;
}

/* --- one symbol ------------------------------------------------------------------------------- */

#define EXPORT_MAX_CHAIN 4096 /* symbols in one chain of the hash table */

/* The hash of DT_GNU_HASH (glibc sysdeps/generic/dl-new-hash.h). */
static uint32_t elf_hash_name(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* The tables of one file in which symbols are looked up. */
struct elf_exports {
	struct elf_file *file;
	uint64_t symbols, strings, chain; /* addresses; `chain` is that of symbol 0 */
	uint32_t n_buckets, first;
	uint64_t buckets;
};

static bool elf_open_exports(struct elf_file *file, struct elf_exports *exports)
{
	struct elf_tags tags;
	uint32_t header[4];
	uint64_t bias;

	elf_read_tags(file, &tags);
	if (!tags.symbols || !tags.strings || !tags.gnu_hash ||
	    !elf_find_bias(file, &tags, &bias) ||
	    !elf_read_at(file, tags.gnu_hash - bias, header, sizeof(header)) || !header[0])
		return false;
	*exports = (struct elf_exports){ .file = file,
					 .symbols = tags.symbols - bias,
					 .strings = tags.strings - bias,
					 .n_buckets = header[0],
					 .first = header[1] };
	exports->buckets = tags.gnu_hash - bias + sizeof(header) +
			   (uint64_t)elf_sizes(&file->header).address * header[2];
	exports->chain = exports->buckets + 4ULL * header[0] - 4ULL * header[1];
	return true;
}

/* Whether symbol I is defined and has the name NAME. */
static bool elf_is_export(const struct elf_exports *exports, uint32_t i, const char *name,
			  Elf64_Sym *symbol)
{
	bool is_short = elf_machine_is_short(exports->file);
	size_t size_bytes = elf_symbol_bytes(is_short), name_bytes = strlen(name) + 1;
	char bytes[sizeof(Elf64_Sym)], text[ELF_EXPORT_NAME_BYTES];

	if (!elf_read_at(exports->file, exports->symbols + (uint64_t)i * size_bytes, bytes,
			 size_bytes))
		return false;
	if (is_short)
		*symbol = elf_decode_sym32(bytes);
	else
		memcpy(symbol, bytes, sizeof(*symbol));
	return symbol->st_shndx != SHN_UNDEF && name_bytes <= sizeof(text) &&
	       elf_read_at(exports->file, exports->strings + symbol->st_name, text, name_bytes) &&
	       memcmp(text, name, name_bytes) == 0;
}

static bool elf_find_export(const struct elf_exports *exports, const char *name,
			    Elf64_Sym *symbol)
{
	uint32_t hash = elf_hash_name(name), i, word;

	if (!elf_read_at(exports->file, exports->buckets + 4ULL * (hash % exports->n_buckets), &i,
			 sizeof(i)) ||
	    i < exports->first)
		return false;
	for (unsigned n = 0; n < EXPORT_MAX_CHAIN; n++, i++) {
		if (!elf_read_at(exports->file, exports->chain + 4ULL * i, &word, sizeof(word)))
			return false;
		if ((word | 1) == (hash | 1) && elf_is_export(exports, i, name, symbol))
			return true;
		if (word & 1)
			return false;
	}
	return false;
}

void elf_find_exports(struct elf_file *file, const char *const *names, size_t n,
		      uint64_t *addresses)
{
	bool incomplete = file->incomplete;
	struct elf_exports exports;
	Elf64_Sym symbol;

	memset(addresses, 0, n * sizeof(*addresses));
	if (elf_open_exports(file, &exports))
		for (size_t i = 0; i < n; i++)
			if (elf_find_export(&exports, names[i], &symbol))
				addresses[i] = symbol.st_value;
	file->incomplete = incomplete; /* missing bytes here are no reason to read the file again */
}

void elf_find_init(struct elf_file *file, uint64_t *init, uint64_t *fini)
{
	size_t section = elf_find_section(file, ".fini");
	bool incomplete = file->incomplete;
	struct elf_tags tags;

	elf_read_tags(file, &tags);
	file->incomplete = incomplete; /* missing bytes here are no reason to read the file again */
	*init = tags.init;
	*fini = !tags.fini && section ? file->sections[section].start : tags.fini;
}
