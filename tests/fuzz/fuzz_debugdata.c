/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's file with a .gnu_debugdata section. The input is a kind and the section: as it stands,
 * as the chunks in an .xz file that is right otherwise, or as the ELF file that was packed. The
 * checksums of an .xz file would keep most inputs from getting that far.
 */
#include "config.h"

#include "fuzz.h"
#include "tests/support/make_xz.h"
#include "xtop/symbol/image.h"

#define SECTION_OFFSET 0x200

enum { AS_IT_STANDS, CHUNKS, PACKED, N_KINDS };

static size_t make_section(struct fuzz *fuzz, uint8_t kind, uint8_t *to)
{
	size_t n = fuzz->left_bytes < MAKE_XZ_MAX_BYTES ? fuzz->left_bytes : MAKE_XZ_MAX_BYTES;
	const uint8_t *bytes = fuzz_copy(fuzz, n);
	size_t size_bytes = n;

	if (kind == PACKED && n)
		size_bytes = make_xz(to, bytes, n, 0);
	else if (kind == CHUNKS && n)
		size_bytes = make_xz_chunks(to, bytes, n, 4 * n, 0);
	else if (n)
		memcpy(to, bytes, n);
	free((void *)bytes);
	return size_bytes;
}

/* Headers alone, and names after them. */
static void make_headers(uint8_t *to, size_t section_bytes)
{
	static const char names[] = "\0.gnu_debugdata\0.shstrtab";
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_shoff = 0x40,
			      .e_ehsize = sizeof(header),
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = 3,
			      .e_shstrndx = 2 };
	Elf64_Shdr sections[3] = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = SECTION_OFFSET,
			.sh_size = section_bytes },
		[2] = { .sh_name = 16, .sh_type = SHT_STRTAB, .sh_offset = 0x180,
			.sh_size = sizeof(names) },
	};

	memset(to, 0, SECTION_OFFSET);
	memcpy(to, &header, sizeof(header));
	memcpy(to + 0x40, sections, sizeof(sections));
	memcpy(to + 0x180, names, sizeof(names));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size_bytes)
{
	static uint8_t made[SECTION_OFFSET + MAKE_XZ_MAX_BYTES + MAKE_XZ_EXTRA_BYTES];
	struct fuzz fuzz = fuzz_begin(input, size_bytes);
	uint8_t kind = fuzz_u8(&fuzz) % N_KINDS;
	size_t n = make_section(&fuzz, kind, made + SECTION_OFFSET);
	struct fuzz_file file = { .size_bytes = SECTION_OFFSET + n };
	struct bytes bytes;
	struct image *image;

	make_headers(made, n);
	file.bytes = made;
	bytes = fuzz_file_bytes(&file);
	fuzz_succeed(image_create("file", &image));
	error_destroy(image_read_elf(image, &bytes));
	fuzz_must(!image->symtab || !image->stripped, "names come out of the section");
	image_unref(image);
	return 0;
}
