/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols as text: nm, System.map, /proc/kallsyms, and the names a JIT compiler writes. */
#include "config.h"

#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "fuzz.h"
#include "linux/process/perf_map.h"
#include "xtop/symbol/symbol.h"

static void check_table(const struct symtab *tab)
{
	struct symtab_entry entry;

	for (size_t i = 0; i < symtab_count(tab); i++) {
		entry = symtab_at(tab, i);
		fuzz_must(entry.start < entry.end && entry.name[0], "a symbol is one");
		fuzz_must(symtab_find(tab, entry.start, &entry), "it is found");
	}
}

static void read_perf_map(struct fuzz_file *file)
{
	struct bytes bytes = fuzz_file_bytes(file);
	struct symtab *tab = NULL;

	fuzz_succeed(perf_map_read(&bytes, NULL, &tab));
	if (tab)
		check_table(tab);
	symtab_destroy(tab);
}

static void read_nm(const struct fuzz_file *file)
{
	int fd = fuzz_file(file->bytes, file->size_bytes);
	struct symtab *tab;
	struct xtop_error *error;

	fuzz_succeed(symtab_create(&tab));
	error = symbol_read_nm(fd, "file", tab);
	if (!error)
		error = symtab_seal(tab);
	if (!error)
		check_table(tab);
	error_destroy(error);
	symtab_destroy(tab);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz_file file = { .bytes = bytes, .size_bytes = size_bytes };

	read_nm(&file);
	read_perf_map(&file);
	return 0;
}
