/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of 32 bits through both readers: its segment, its sections and its symbols are those that
 * the file has, as if they had 64 bits.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/tap.h"
#include "xtop/elf/elf.h"

#define TEXT 0xc0101000U

static const struct elf_limits limits = {
	.symbols = 16, .names_bytes = 64, .sections = 16, .frames_bytes = 4096
};

enum { SECTION_TEXT = 1, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_NAMES, N_SECTIONS };

static struct image {
	Elf32_Ehdr header;
	Elf32_Phdr segment;
	Elf32_Sym symbols[3];
	char strings[16];
	char names[32];
	Elf32_Shdr sections[N_SECTIONS];
} image;

#define AT(member) (Elf32_Off) offsetof(struct image, member)

static void image_make(void)
{
	image = (struct image){
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_EXEC,
			    .e_machine = EM_386,
			    .e_version = EV_CURRENT,
			    .e_entry = TEXT + 0x10,
			    .e_phoff = AT(segment),
			    .e_shoff = AT(sections),
			    .e_ehsize = sizeof(Elf32_Ehdr),
			    .e_phentsize = sizeof(Elf32_Phdr),
			    .e_phnum = 1,
			    .e_shentsize = sizeof(Elf32_Shdr),
			    .e_shnum = N_SECTIONS,
			    .e_shstrndx = SECTION_NAMES },
		.segment = { .p_type = PT_LOAD,
			     .p_offset = 0x20,
			     .p_vaddr = TEXT,
			     .p_paddr = 0x101000,
			     .p_filesz = 0x40,
			     .p_memsz = 0x2000,
			     .p_flags = PF_R | PF_X },
		.symbols = { { 0 },
			     { 1, TEXT, 0x10, ELF32_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SECTION_TEXT },
			     { 3, TEXT + 0x10, 4, ELF32_ST_INFO(STB_LOCAL, STT_FUNC), 0,
			       SECTION_TEXT } },
		.strings = "\0f\0gh",
		.names = "\0.text",
	};
	image.sections[SECTION_TEXT] = (Elf32_Shdr){ .sh_name = 1,
						     .sh_type = SHT_NOBITS,
						     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						     .sh_addr = TEXT,
						     .sh_size = 0x1000 };
	image.sections[SECTION_SYMBOLS] = (Elf32_Shdr){ .sh_type = SHT_SYMTAB,
							.sh_offset = AT(symbols),
							.sh_size = sizeof(image.symbols),
							.sh_link = SECTION_STRINGS,
							.sh_entsize = sizeof(Elf32_Sym) };
	image.sections[SECTION_STRINGS] = (Elf32_Shdr){ .sh_type = SHT_STRTAB,
							.sh_offset = AT(strings),
							.sh_size = sizeof(image.strings) };
	image.sections[SECTION_NAMES] = (Elf32_Shdr){ .sh_type = SHT_STRTAB,
						      .sh_offset = AT(names),
						      .sh_size = sizeof(image.names) };
}

static size_t image_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	(void)context;
	if (offset > sizeof(image) || size_bytes > sizeof(image) - offset)
		return 0;
	memcpy(buffer, (const char *)&image + offset, size_bytes);
	return size_bytes;
}

static const struct bytes image_bytes = { image_read, NULL, sizeof(image) };

static struct xtop_error *add_name(void *context, const struct elf_symbol *symbol)
{
	char *text = context;

	sprintf(text + strlen(text), "%s %jx+%jx %s;", symbol->name, (uintmax_t)symbol->address,
		(uintmax_t)symbol->size_bytes, symbol->in_code ? "code" : "data");
	return NULL;
}

static void check_file(struct elf_file *file, struct xtop_error *error, const char *reader)
{
	uint64_t offset = 0, left = 0;
	char text[256] = "";

	check(!error, "%s: the file is read: %s", reader, error ? error_message(error) : "");
	error_destroy(error);
	check(file->n_segments == 1 && file->segments[0].p_flags == (PF_R | PF_X) &&
		      file->segments[0].p_memsz == 0x2000,
	      "%s: one segment of code", reader);
	check(elf_find_offset(file, TEXT + 8, &offset, &left) && offset == 0x28 && left == 0x38,
	      "%s: an address of the segment has its offset", reader);
	check_u64(file->header.e_entry, TEXT + 0x10, "entry point of a 32-bit file");
	check_u64(elf_find_section(file, ".text"), SECTION_TEXT, "section of the name .text");
	check_u64(file->sections[SECTION_TEXT].end, TEXT + 0x1000, "end of .text");
	check(elf_machine_is_short(file), "%s: code of 32 bits", reader);
	error = elf_each_symbol(file, SHT_SYMTAB, add_name, text);
	check(!error, "%s: symbols are read", reader);
	error_destroy(error);
	check_string(text, "f c0101000+10 code;gh c0101010+4 code;", reader);
	elf_file_deinit(file);
}

static void test_guest(void)
{
	struct elf_file file = { 0 };

	check_file(&file, elf_file_init_guest(&file, &image_bytes, "guest", &limits), "guest");
}

static void test_host(void)
{
	int fd = memfd_create("test_elf_class", MFD_CLOEXEC);
	struct elf_file file = { 0 };

	check(write(fd, &image, sizeof(image)) == sizeof(image),
	      "a 32-bit file is written for the host reader");
	check_file(&file, elf_file_init_host(&file, fd, "host", &limits), "host");
	close(fd);
}

/* In 32-bit Arm code bit 0 of a function's address says that it is Thumb code. */
static void test_thumb(void)
{
	image.header.e_machine = EM_ARM;
	image.symbols[1].st_value |= 1;
	test_guest();
	image.header.e_machine = EM_386;
	image.symbols[1].st_value &= ~1U;
}

static void test_loads(void)
{
	struct loads loads;
	uint64_t bias = 7;

	check(loads_read(&image_bytes, &loads) == LOADS_READ && loads.n == 1,
	      "a 32-bit file has one load");
	check(loads_bias(&loads, TEXT & ~0xfffU, 0, &bias) && bias == 0x20,
	      "bias of a 32-bit file's load");
}

static void test_refused(void)
{
	struct elf_limits kernel_limits = limits;
	struct elf_file file = { 0 };
	struct xtop_error *error;
	struct loads loads;

	image.header.e_machine = EM_X86_64;
	error = elf_file_init_guest(&file, &image_bytes, "x32", &limits);
	check(error && strstr(error_message(error), "a 32-bit ELF file"), "x32 is refused");
	error_destroy(error);
	check(loads_read(&image_bytes, &loads) == LOADS_ELF32, "x32 has no loads");
	kernel_limits.short_kernels = true;
	error = elf_file_init_guest(&file, &image_bytes, "kernel", &kernel_limits);
	check(!error && elf_machine_is_x86_64(&file) && !elf_machine_is_short(&file),
	      "a kernel of x86-64 in a file of class 32 is read if it is given");
	error_destroy(error);
	elf_file_deinit(&file);
	image.header.e_machine = EM_386;
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	check(loads_read(&image_bytes, &loads) == LOADS_NO_ELF,
	      "a 32-bit file with 64-bit segment headers is refused");
	image.header.e_phentsize = sizeof(Elf32_Phdr);
	image.header.e_shentsize = sizeof(Elf64_Shdr);
	error = elf_file_init_guest(&file, &image_bytes, "sections", &limits);
	check(error && strstr(error_message(error), "section headers"),
	      "a 32-bit file with 64-bit section headers is refused");
	error_destroy(error);
}

int main(void)
{
	image_make();
	test_guest();
	test_host();
	test_thumb();
	test_loads();
	test_refused();
	return tap_done();
}
