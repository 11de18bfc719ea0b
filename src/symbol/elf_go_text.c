/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the address of a Go program's code where the table of functions has 0 for it: always since
 * Go 1.26, and before in position-independent programs that a C linker has made. Go's runtime has
 * the address in a structure (Go src/runtime/symtab.go, struct moduledata):
 *
 *   pcHeader              the address of the table of functions
 *   ...                   other tables
 *   minpc, maxpc, text    where the first function begins, the last one ends, the code begins
 *
 * The table tells the distances of minpc and maxpc from text, so the three words are recognized
 * wherever they lie in the structure. In a program at fixed addresses they lie in its data. In a
 * position-independent one they are the addends of relocations, unless the linker has packed the
 * relocations: then they lie in the data, too. The bytes are hostile. Resolver's thread.
 */
#include "config.h"

#include "symbol/elf_go_text.h"

#include <string.h>

#include "xtop/base/types.h"

#define GO_MODULE_BYTES 512 /* text is word 22 up to Go 1.26 */

/* A search in words that come with ascending addresses. */
struct go_text_search {
	uint64_t table;           /* address of the table */
	uint64_t first, last_end; /* what the table has for minpc and maxpc, relative to the code */
	bool in_module;           /* a pointer to the table was seen, at `module` */
	uint64_t module;
	uint64_t at;         /* address of the last word */
	uint64_t words[2];   /* the last two words, the older one first */
	unsigned n_words;    /* how many of them lie side by side, up to the last word */
	bool missing;        /* some bytes could not be read */
	uint64_t left_bytes; /* bytes that may still be read: segments may overlap */
};

/* Takes the next word. Returns whether WORD is the address of the code. */
static bool go_text_take(struct go_text_search *search, uint64_t at, uint64_t word)
{
	if (at - search->at != sizeof(word))
		search->n_words = 0;
	if (search->n_words == 2 && search->in_module && at - search->module < GO_MODULE_BYTES &&
	    word && search->words[0] - word == search->first &&
	    search->words[1] - word == search->last_end)
		return true;
	if (word == search->table) {
		search->in_module = true;
		search->module = at;
	}
	search->words[0] = search->words[1];
	search->words[1] = word;
	search->n_words += search->n_words < 2;
	search->at = at;
	return false;
}

static bool elf_search_relocations(struct elf_file *file, struct go_text_search *search,
				   uint64_t *text)
{
	uint32_t relative = elf_machine_is_x86_64(file) ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
	uint64_t offset, size_bytes;
	Elf64_Rela some[128];

	if (!elf_find_relocations(file, &offset, &size_bytes) || size_bytes > search->left_bytes)
		return false;
	search->left_bytes -= size_bytes;
	for (uint64_t done = 0; done < size_bytes; done += sizeof(some)) {
		uint64_t left = size_bytes - done;
		size_t got = elf_read(file, offset + done, some,
				      left < sizeof(some) ? left : sizeof(some));

		search->missing |= got < sizeof(some) && got < left;
		for (size_t i = 0; i < got / sizeof(*some); i++) {
			if (ELF64_R_TYPE(some[i].r_info) != relative ||
			    !go_text_take(search, some[i].r_offset, (uint64_t)some[i].r_addend))
				continue;
			*text = (uint64_t)some[i].r_addend;
			return true;
		}
	}
	return false;
}

static bool elf_search_data(struct elf_file *file, const Elf64_Phdr *segment,
			    struct go_text_search *search, uint64_t *text)
{
	uint64_t from = -segment->p_vaddr % sizeof(*text), words[512];

	if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) ||
	    segment->p_filesz > search->left_bytes)
		return false;
	search->left_bytes -= segment->p_filesz;
	for (; from < segment->p_filesz; from += sizeof(words)) {
		uint64_t left = segment->p_filesz - from;
		size_t got = elf_read(file, segment->p_offset + from, words,
				      left < sizeof(words) ? left : sizeof(words));

		search->missing |= got < sizeof(words) && got < left;
		for (size_t i = 0; i < got / sizeof(*words); i++) {
			if (!go_text_take(search, segment->p_vaddr + from + i * sizeof(*words),
					  words[i]))
				continue;
			*text = words[i];
			return true;
		}
	}
	return false;
}

bool elf_find_go_text(struct elf_file *file, uint64_t address, struct go_table *table)
{
	struct go_text_search search = { .table = address,
					 .left_bytes = file->limits.frames_bytes };
	bool found;

	if (!go_table_get_bounds(table, &search.first, &search.last_end))
		return false;
	found = elf_search_relocations(file, &search, &table->text);
	search.in_module = false;
	for (size_t i = 0; i < file->n_segments && !found; i++)
		found = elf_search_data(file, &file->segments[i], &search, &table->text);
	file->incomplete |= search.missing && !found;
	return found;
}
