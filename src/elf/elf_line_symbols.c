/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols of a file with DWARF; see elf_line_symbols.h. */
#include "config.h"

#include "elf/elf_line_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"

#define LINE_SYMBOLS_MAX           (4U << 20)
#define LINE_SYMBOLS_PADDING_BYTES 80          /* CONFIG_FUNCTION_ALIGNMENT is 64 at most */
#define LINE_SYMBOLS_PAGE_BYTES    (64U << 10) /* the largest page of a kernel */

void elf_line_symbols_add(struct elf_line_symbols *symbols, const struct elf_line_symbol *symbol)
{
	if (symbols->n < LINE_SYMBOLS_MAX &&
	    vector_reserve(symbols->list, symbols->capacity, symbols->n + 1))
		symbols->list[symbols->n++] = *symbol;
}

static int line_symbols_compare_addresses(const void *a, const void *b)
{
	const struct elf_line_symbol *x = a, *y = b;

	if (x->section != y->section)
		return (x->section > y->section) - (x->section < y->section);
	return (x->address > y->address) - (x->address < y->address);
}

void elf_line_symbols_mark_last(struct elf_line_symbols *symbols)
{
	struct elf_line_symbol *list = symbols->list;

	if (symbols->n)
		qsort(list, symbols->n, sizeof(*list), line_symbols_compare_addresses);
	for (size_t i = symbols->n; i-- > 0;)
		list[i].is_last = i + 1 == symbols->n || list[i].section != list[i + 1].section ||
				  (list[i].address == list[i + 1].address && list[i + 1].is_last);
}

static int line_symbols_compare_names(const void *a, const void *b)
{
	return strcmp(((const struct elf_line_symbol *)a)->name,
		      ((const struct elf_line_symbol *)b)->name);
}

void elf_line_symbols_sort(struct elf_line_symbols *symbols)
{
	if (symbols->n)
		qsort(symbols->list, symbols->n, sizeof(*symbols->list),
		      line_symbols_compare_names);
}

/*
 * Whether SYMBOL has about SIZE_BYTES, a size from kallsyms. Kallsyms know only where the next
 * symbol begins, so their sizes include the padding before the next symbol. The last function of a
 * module ends with the page (Linux kernel/module/kallsyms.c, find_kallsyms_symbol()).
 */
static bool line_symbol_has_size(const struct elf_line_symbol *symbol, uint64_t size_bytes)
{
	return !size_bytes || !symbol->size_bytes ||
	       (symbol->size_bytes <= size_bytes &&
		size_bytes - symbol->size_bytes <
			(symbol->is_last ? LINE_SYMBOLS_PAGE_BYTES : LINE_SYMBOLS_PADDING_BYTES));
}

static bool line_symbols_end_alike(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	return a_bytes >= b_bytes && memcmp(a + a_bytes - b_bytes, b, b_bytes) == 0 &&
	       (a_bytes == b_bytes || a[a_bytes - b_bytes - 1] == '/');
}

/*
 * Whether FILE, a name of FILE_BYTES, is SYMBOL's source file. One of the two names may lack its
 * folders. FILE_BYTES 0: any file is.
 */
static bool line_symbol_is_in(const struct elf_line_symbol *symbol, const char *file,
			      size_t file_bytes)
{
	size_t n = symbol->file ? strlen(symbol->file) : 0;

	return !file_bytes || (n && (line_symbols_end_alike(symbol->file, n, file, file_bytes) ||
				     line_symbols_end_alike(file, file_bytes, symbol->file, n)));
}

bool elf_line_symbols_find(const struct elf_line_symbols *symbols, const char *name,
			   uint64_t size_bytes, uint64_t *address)
{
	const struct elf_line_symbol *found = NULL;
	const char *hash = strchr(name, '#'), *file = name;
	size_t i;

	if (hash)
		name = hash + 1;
	i = sorted_count_while(symbols->n, at, strcmp(symbols->list[at].name, name) < 0);
	for (; i < symbols->n && strcmp(symbols->list[i].name, name) == 0; i++) {
		const struct elf_line_symbol *symbol = &symbols->list[i];

		if (!line_symbol_has_size(symbol, size_bytes) ||
		    !line_symbol_is_in(symbol, file, hash ? (size_t)(hash - file) : 0))
			continue;
		if (found && found->address != symbol->address)
			return false;
		found = symbol;
	}
	if (!found)
		return false;
	*address = found->address;
	return true;
}

void elf_line_symbols_deinit(struct elf_line_symbols *symbols)
{
	free(symbols->list);
}
