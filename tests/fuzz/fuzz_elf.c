/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file from the guest, of which some is not there. The input is two numbers for the hole,
 * flags and an address, then the file. fuzz_elf_host has files of dom0.
 */
#include "config.h"

#include "fuzz.h"
#include "xtop/elf/loads.h"
#include "xtop/symbol/image.h"

#define FLAG_NO_SIZE 1 /* nobody knows how large the file is */

static void read_image(const struct bytes *bytes)
{
	struct image *image;
	struct symtab_entry entry;

	fuzz_succeed(image_create("file", &image));
	error_destroy(image_read_elf(image, bytes));
	error_destroy(image_read_elf(image, bytes)); /* again, as when more is there */
	for (size_t i = 0; image->symtab && i < symtab_count(image->symtab); i++)
		symtab_find(image->symtab, symtab_at(image->symtab, i).start, &entry);
	fuzz_must(image->build_id.size_bytes <= BUILD_ID_MAX_BYTES, "a build-id fits");
	image_unref(image);
}

static void keep_bytes(void *context)
{
	(void)context;
}

/* The parts of the file as they are needed, at addresses near START and all over the file. */
static void read_parts(const struct bytes *bytes, uint64_t start)
{
	const struct image_source source = { *bytes, keep_bytes };
	const struct symtab *symtab;
	struct symtab_entry entry;
	struct image *image;
	uint64_t from, to;

	fuzz_succeed(image_create("file", &image));
	if (image_open_elf(image, bytes, &source)) {
		for (unsigned i = 0; i < 64; i++) {
			uint64_t address = i < 32 ? start + 64 * i : (uint64_t)i << 33;

			image_tables(image, address, &from, &to);
			fuzz_must(address >= from && address < to, "tables hold at their address");
			image_find_code(image, address, &from, &to);
		}
		symtab = image_symtab(image);
		for (size_t i = 0; symtab && i < symtab_count(symtab); i++)
			symtab_find(symtab, symtab_at(symtab, i).start, &entry);
		image_is_incomplete(image);
		fuzz_must(image_memory_bytes(image) > 0, "an image takes memory");
	}
	image_unref(image);
}

static void read_loads(const struct bytes *bytes, uint64_t start, uint64_t file_offset)
{
	struct loads loads;
	uint64_t bias;

	if (loads_read(bytes, &loads) == LOADS_READ)
		loads_bias(&loads, start, file_offset, &bias);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(input, size_bytes);
	struct fuzz_file file = { .hole_start = fuzz_u16(&fuzz), .hole_end = fuzz_u16(&fuzz) };
	uint8_t flags = fuzz_u8(&fuzz);
	uint64_t start = (uint64_t)fuzz_u8(&fuzz) << 12;
	struct bytes bytes;

	file.size_bytes = fuzz.left_bytes;
	file.bytes = fuzz_copy(&fuzz, file.size_bytes);
	bytes = fuzz_file_bytes(&file);
	if (flags & FLAG_NO_SIZE)
		bytes.size_bytes = UINT64_MAX;
	read_image(&bytes);
	read_parts(&bytes, start);
	read_loads(&bytes, start, start / 2);
	free((void *)file.bytes);
	return 0;
}
