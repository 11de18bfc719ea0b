/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files made in memory, byte by byte, so that tests can have any file, also a wrong one:
 * sections are added, then elf_image_fd() writes header, contents and section headers to a memfd.
 * Fields of image->header and image->sections may be bent before that.
 */
#ifndef TESTS_SYMBOL_ELF_IMAGE_H
#define TESTS_SYMBOL_ELF_IMAGE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xtop/base/bytes.h"

#define ELF_IMAGE_SECTIONS 16

struct elf_image {
	Elf64_Ehdr header;
	Elf64_Shdr sections[ELF_IMAGE_SECTIONS];
	Elf64_Phdr segments[4];
	char contents[8192]; /* the file's bytes from sizeof(header) on */
	size_t used;
};

static inline void elf_image_init(struct elf_image *image)
{
	*image = (struct elf_image){ .header = { .e_type = ET_EXEC,
						 .e_machine = EM_X86_64,
						 .e_version = EV_CURRENT,
						 .e_ehsize = sizeof(Elf64_Ehdr),
						 .e_shentsize = sizeof(Elf64_Shdr),
						 .e_phentsize = sizeof(Elf64_Phdr),
						 .e_shnum = 1 } };
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_ident[EI_VERSION] = EV_CURRENT;
}

/* Adds a section; returns its number. */
static inline unsigned elf_image_section(struct elf_image *image, Elf64_Shdr section,
					 const void *bytes)
{
	unsigned number = image->header.e_shnum++;

	image->used = (image->used + 7) & ~(size_t)7;
	section.sh_offset = sizeof(image->header) + image->used;
	if (bytes) {
		if (section.sh_size > sizeof(image->contents) - image->used)
			abort();
		memcpy(image->contents + image->used, bytes, section.sh_size);
		image->used += section.sh_size;
	}
	image->sections[number] = section;
	return number;
}

/* Code at ADDRESS; its bytes are not in the file. */
static inline unsigned elf_image_text(struct elf_image *image, uint64_t address,
				      uint64_t size_bytes)
{
	return elf_image_section(image,
				 (Elf64_Shdr){ .sh_type = SHT_NOBITS,
					       .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					       .sh_addr = address,
					       .sh_size = size_bytes,
					       .sh_addralign = 1 },
				 NULL);
}

/* Adds a symbol table: the null symbol, and N others with names in STRINGS, of STRINGS_BYTES. */
static inline unsigned elf_image_symbols(struct elf_image *image, unsigned type,
					 const Elf64_Sym *symbols, size_t n, const char *strings,
					 size_t strings_bytes)
{
	Elf64_Sym all[64] = { { 0 } };
	unsigned link;

	memcpy(all + 1, symbols, n * sizeof(*symbols));
	link = elf_image_section(
		image,
		(Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_size = strings_bytes, .sh_addralign = 1 },
		strings);
	return elf_image_section(image,
				 (Elf64_Shdr){ .sh_type = type,
					       .sh_size = (n + 1) * sizeof(*symbols),
					       .sh_link = link,
					       .sh_info = 1,
					       .sh_entsize = sizeof(*symbols),
					       .sh_addralign = 8 },
				 all);
}

/* The file as bytes; returns its size. */
static inline size_t elf_image_bytes(const struct elf_image *image, unsigned char *bytes,
				     size_t capacity)
{
	size_t segments = (sizeof(image->header) + image->used + 7) & ~(size_t)7;
	size_t sections = segments + sizeof(image->segments),
	       size = sections + sizeof(image->sections);
	Elf64_Ehdr header = image->header;

	if (size > capacity)
		abort();
	memset(bytes, 0, size);
	header.e_shoff = header.e_shnum ? sections : 0;
	header.e_phoff = header.e_phnum ? segments : 0;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), image->contents, image->used);
	memcpy(bytes + segments, image->segments, sizeof(image->segments));
	memcpy(bytes + sections, image->sections, sizeof(image->sections));
	return size;
}

static inline int elf_image_bytes_fd(const void *bytes, size_t size)
{
	int fd = memfd_create("elf_image", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	return fd;
}

static inline size_t elf_image_pread(void *context, uint64_t offset, void *buffer,
				     size_t size_bytes)
{
	ssize_t got = pread(*(const int *)context, buffer, size_bytes, (off_t)offset);

	return got < 0 ? 0 : (size_t)got;
}

/* The open file *FD, for the reader of the guest's files. */
static inline struct bytes elf_image_file_bytes(const int *fd)
{
	return (struct bytes){ elf_image_pread, (void *)fd, (uint64_t)lseek(*fd, 0, SEEK_END) };
}

static inline int elf_image_fd(const struct elf_image *image)
{
	unsigned char bytes[16384];
	size_t size = elf_image_bytes(image, bytes, sizeof(bytes));

	return elf_image_bytes_fd(bytes, size);
}

#endif
