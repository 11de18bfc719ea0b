/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of 32 bits: this file converts their structures to those of 64 bits, so that no other file
 * knows of the two classes (System V gABI, chapter 4). In ELF32 an address, an offset and a size
 * have 4 bytes, and the members of program headers and symbols have another order. Any thread; pure
 * functions.
 */
#include "config.h"

#include <string.h>

#include "elf/elf_reader.h"

static bool elf_is_short(const Elf64_Ehdr *header)
{
	return header->e_ident[EI_CLASS] == ELFCLASS32;
}

void elf_widen_header(Elf64_Ehdr *header)
{
	Elf32_Ehdr from;

	if (!elf_is_short(header))
		return;
	memcpy(&from, header, sizeof(from));
	header->e_entry = from.e_entry;
	header->e_phoff = from.e_phoff;
	header->e_shoff = from.e_shoff;
	header->e_flags = from.e_flags;
	header->e_ehsize = from.e_ehsize;
	header->e_phentsize = from.e_phentsize;
	header->e_phnum = from.e_phnum;
	header->e_shentsize = from.e_shentsize;
	header->e_shnum = from.e_shnum;
	header->e_shstrndx = from.e_shstrndx;
}

struct elf_sizes elf_sizes(const Elf64_Ehdr *header)
{
	if (elf_is_short(header))
		return (struct elf_sizes){ sizeof(Elf32_Phdr), sizeof(Elf32_Shdr),
					   sizeof(Elf32_Sym), sizeof(Elf32_Dyn),
					   sizeof(Elf32_Addr) };
	return (struct elf_sizes){ sizeof(Elf64_Phdr), sizeof(Elf64_Shdr), sizeof(Elf64_Sym),
				   sizeof(Elf64_Dyn), sizeof(Elf64_Addr) };
}

Elf64_Phdr elf_decode_segment(const Elf64_Ehdr *header, const void *bytes)
{
	Elf64_Phdr wide;
	Elf32_Phdr from;

	if (!elf_is_short(header)) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide;
	}
	memcpy(&from, bytes, sizeof(from));
	return (Elf64_Phdr){ .p_type = from.p_type,
			     .p_flags = from.p_flags,
			     .p_offset = from.p_offset,
			     .p_vaddr = from.p_vaddr,
			     .p_paddr = from.p_paddr,
			     .p_filesz = from.p_filesz,
			     .p_memsz = from.p_memsz,
			     .p_align = from.p_align };
}

Elf64_Shdr elf_decode_section(const Elf64_Ehdr *header, const void *bytes)
{
	Elf64_Shdr wide;
	Elf32_Shdr from;

	if (!elf_is_short(header)) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide;
	}
	memcpy(&from, bytes, sizeof(from));
	return (Elf64_Shdr){ .sh_name = from.sh_name,
			     .sh_type = from.sh_type,
			     .sh_flags = from.sh_flags,
			     .sh_addr = from.sh_addr,
			     .sh_offset = from.sh_offset,
			     .sh_size = from.sh_size,
			     .sh_link = from.sh_link,
			     .sh_info = from.sh_info,
			     .sh_addralign = from.sh_addralign,
			     .sh_entsize = from.sh_entsize };
}

Elf64_Sym elf_decode_sym32(const void *bytes)
{
	Elf32_Sym from;

	memcpy(&from, bytes, sizeof(from));
	return (Elf64_Sym){ .st_name = from.st_name,
			    .st_info = from.st_info,
			    .st_other = from.st_other,
			    .st_shndx = from.st_shndx,
			    .st_value = from.st_value,
			    .st_size = from.st_size };
}

Elf64_Sym elf_decode_sym(const Elf64_Ehdr *header, const void *bytes)
{
	Elf64_Sym wide;

	if (!elf_is_short(header)) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide;
	}
	wide = elf_decode_sym32(bytes);
	if (header->e_machine == EM_ARM && ELF64_ST_TYPE(wide.st_info) == STT_FUNC)
		wide.st_value &= ~1ULL; /* Thumb code (AAELF32 §5.5.3) */
	return wide;
}

Elf64_Dyn elf_decode_dyn(const Elf64_Ehdr *header, const void *bytes)
{
	Elf64_Dyn wide;
	Elf32_Dyn from;

	if (!elf_is_short(header)) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide;
	}
	memcpy(&from, bytes, sizeof(from));
	return (Elf64_Dyn){ .d_tag = from.d_tag, .d_un = { .d_val = from.d_un.d_val } };
}
