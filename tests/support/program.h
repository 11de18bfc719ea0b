/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF program of three pages, laid out as by a linker, for tests that map it. The first page has
 * the headers and the build-id, the second the code, the third the symbols.
 *
 *   file offset  0x0000  headers, .note.gnu.build-id      PT_LOAD R
 *                0x1000  code                             PT_LOAD R X, at ADDRESS + 0x2000
 *                0x2000  .symtab, .strtab, section headers
 *
 * The code's address is one page more than its offset, so a bias differs from a load address.
 */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_BYTES       0x3000
#define PROGRAM_TEXT_OFFSET 0x1000
#define PROGRAM_TEXT        0x2000 /* the code, from ADDRESS on */
#define PROGRAM_FUNCTION    0x2100 /* its function, from ADDRESS on: 0x80 bytes */

struct program {
	unsigned char bytes[PROGRAM_BYTES];
};

struct program_note {
	Elf64_Nhdr header;
	char name[4];
	unsigned char id[8];
};

/*
 * ADDRESS 0: a shared object. FUNCTION: the name of the function; NULL: stripped. ID: each of the 8
 * bytes of the build-id; 0: no build-id.
 */
static inline void program_make(struct program *program, uint64_t address, const char *function,
				unsigned char id)
{
	Elf64_Ehdr *header = (void *)program->bytes;
	Elf64_Phdr *segments = (void *)(program->bytes + sizeof(*header));
	struct program_note *note = (void *)(program->bytes + 0x400);
	Elf64_Sym *symbols = (void *)(program->bytes + 0x2000);
	char *strings = (char *)program->bytes + 0x2100;
	Elf64_Shdr *sections = (void *)(program->bytes + 0x2800);
	static const char names[] = "\0.text\0.symtab\0.strtab\0.note.gnu.build-id";

	memset(program, 0, sizeof(*program));
	*header = (Elf64_Ehdr){ .e_type = address ? ET_EXEC : ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_phoff = sizeof(*header),
				.e_shoff = 0x2800,
				.e_ehsize = sizeof(*header),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = id ? 3 : 2,
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = function ? 5 : 0,
				.e_shstrndx = function ? 4 : 0 };
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = address,
				    .p_filesz = 0x1000, .p_memsz = 0x1000, .p_align = 0x1000 };
	segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
				    .p_flags = PF_R | PF_X,
				    .p_offset = 0x1000,
				    .p_vaddr = address + PROGRAM_TEXT,
				    .p_filesz = 0x1080,
				    .p_memsz = 0x1080,
				    .p_align = 0x1000 };
	segments[2] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_flags = PF_R, .p_offset = 0x400,
				    .p_vaddr = address + 0x400, .p_filesz = sizeof(*note),
				    .p_memsz = sizeof(*note), .p_align = 4 };
	*note = (struct program_note){ { 4, 8, NT_GNU_BUILD_ID }, "GNU", { 0 } };
	memset(note->id, id, sizeof(note->id));
	if (!function) {
		header->e_shoff = 0;
		return;
	}
	symbols[1] = (Elf64_Sym){ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				  .st_shndx = 1, .st_value = address + PROGRAM_FUNCTION,
				  .st_size = 0x80 };
	strcpy(strings + 1, function);
	memcpy(program->bytes + 0x2400, names, sizeof(names));
	sections[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				    .sh_addr = address + PROGRAM_TEXT, .sh_offset = 0x1000,
				    .sh_size = 0x1000, .sh_addralign = 16 };
	sections[2] = (Elf64_Shdr){ .sh_name = 7, .sh_type = SHT_SYMTAB, .sh_offset = 0x2000,
				    .sh_size = 2 * sizeof(Elf64_Sym), .sh_link = 3, .sh_info = 1,
				    .sh_entsize = sizeof(Elf64_Sym), .sh_addralign = 8 };
	sections[3] = (Elf64_Shdr){ .sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = 0x2100,
				    .sh_size = strlen(function) + 2, .sh_addralign = 1 };
	sections[4] = (Elf64_Shdr){ .sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = 0x2400,
				    .sh_size = sizeof(names), .sh_addralign = 1 };
}

#endif
