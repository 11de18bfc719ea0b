/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file from the guest, of which some is not there, and the same as a file of dom0's disk,
 * which libelf reads. The input is two numbers for the hole and flags, then the file.
 */
#include "config.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "xtop/image.h"
#include "xtop/loads.h"

#define FLAG_NO_SIZE 1 /* nobody knows how large the guest's file is */

static void check_image(struct image *image)
{
	struct symtab_entry entry;

	for (size_t i = 0; image->symtab && i < symtab_count(image->symtab); i++)
		symtab_lookup(image->symtab, symtab_at(image->symtab, i).start, &entry);
	fuzz_must(image->build_id.size_bytes <= BUILD_ID_MAX_BYTES, "a build-id fits");
	image_unref(image);
}

static void read_guest(const struct bytes *bytes)
{
	struct image *image;

	fuzz_succeed(image_create("file", &image));
	error_destroy(image_read_elf(image, bytes));
	error_destroy(image_read_elf(image, bytes)); /* again, as when more is there */
	check_image(image);
}

static void read_loads(const struct bytes *bytes, uint64_t start, uint64_t file_offset)
{
	struct loads loads;
	uint64_t bias;

	if (loads_read(bytes, &loads) == LOADS_READ)
		loads_bias(&loads, start, file_offset, &bias);
}

/* As a file below --root, and as one that -k names: its tables have ORC, and what is compressed. */
static void read_host(int fd)
{
	struct loads loads = { .n = 0 };
	struct image *image;

	fuzz_succeed(image_create("file", &image));
	error_destroy(image_read_host_elf(image, fd, &loads));
	error_destroy(image_read_tables(image, fd));
	fuzz_must(loads.n <= LOADS_MAX, "segments fit");
	check_image(image);
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

/* The same descriptor for all inputs: a file on disk costs more than the reading of it. */
static int make_file(const uint8_t *bytes, size_t size_bytes)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (pwrite(fd, bytes, size_bytes, 0) != (ssize_t)size_bytes ||
	    ftruncate(fd, (off_t)size_bytes))
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(input, size_bytes);
	struct fuzz_file file = { .hole_start = fuzz_u16(&fuzz), .hole_end = fuzz_u16(&fuzz) };
	uint8_t flags = fuzz_u8(&fuzz);
	uint64_t start = (uint64_t)fuzz_u8(&fuzz) << 12;
	struct bytes bytes;
	int fd;

	file.size_bytes = fuzz.left_bytes;
	file.bytes = fuzz_copy(&fuzz, file.size_bytes);
	bytes = fuzz_file_bytes(&file);
	if (flags & FLAG_NO_SIZE)
		bytes.size_bytes = UINT64_MAX;
	read_guest(&bytes);
	read_loads(&bytes, start, start / 2);
	fd = make_file(file.bytes, file.size_bytes);
	read_host(fd);
	read_symbols(fd);
	free((void *)file.bytes);
	return 0;
}
