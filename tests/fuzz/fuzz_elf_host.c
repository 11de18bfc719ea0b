/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file on dom0's disk, which libelf reads: below --root, and named by -k. The input is the
 * file. fuzz_elf_tables unwinds in such a file. libelf itself is not built with the sanitizers, but
 * its blocks of memory are checked.
 */
#include "config.h"

#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "fuzz.h"
#include "xtop/elf/loads.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"

/*
 * The file is its own debug file, too. The tables of a file that -k names have ORC and compressed
 * sections.
 */
static void read_image(int fd)
{
	struct loads loads = { .n = 0 };
	struct image *image;

	fuzz_succeed(image_create("file", &image));
	error_destroy(image_read_host_elf(image, fd, &loads));
	if (image_read_debug_file(image, fd, true))
		fuzz_must(image->symtab && !image->stripped, "a debug file has the names");
	error_destroy(image_read_tables(image, fd));
	fuzz_must(loads.n <= LOADS_MAX, "segments fit");
	fuzz_must(image->build_id.size_bytes <= BUILD_ID_MAX_BYTES, "a build-id fits");
	image_unref(image);
}

static void read_symbols(int fd)
{
	struct build_id build_id = { 0 };
	struct symtab *tab;
	struct xtop_error *error;
	bool unread;

	fuzz_succeed(symtab_create(&tab));
	error = symbol_read_elf(fd, "file", tab, &build_id, &unread);
	if (!error)
		error = symtab_seal(tab);
	error_destroy(error);
	symtab_destroy(tab);
}

/* As -k adds it, which takes what is no ELF for the text of nm. */
static void add_file(int fd)
{
	struct symbols *symbols;
	struct image *image;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fuzz_succeed(symbols_create(&symbols));
	error_destroy(symbols_add_file(symbols, &(struct host_files){ 0 }, path));
	for (size_t i = 0; i < symbols_count(symbols); i++) {
		image = symbols_image(symbols, i);
		fuzz_must(image->symtab == symbols_table(symbols, i), "an image has its table");
		if (symtab_count(image->symtab))
			space_find(symbols_space(symbols), symtab_at(image->symtab, 0).start);
	}
	symbols_warning(symbols);
	symbols_destroy(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size_bytes)
{
	int fd = fuzz_file(input, size_bytes);

	read_image(fd);
	read_symbols(fd);
	add_file(fd);
	return 0;
}
