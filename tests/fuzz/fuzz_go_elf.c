/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's file that Go's linker wrote, with its table of functions and the code that tells where
 * threads keep their stacks. The file is right; the input is a hole, which file, and what to change
 * in it.
 */
#include "config.h"

#include "fuzz.h"
#include "tests/support/elf_image.h"
#include "tests/support/make_go.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/go.h"

#define TEXT 0x401000ULL

/* Which file. */
enum {
	FLAG_LAYOUT = 3, /* enum make_go_layout */
	FLAG_NO_SECTIONS = 4,
	FLAG_PIE = 8, /* how systemstack() finds g, and the name of the section */
	FLAG_TELL_TEXT = 16,
	FLAG_NO_SIZE = 32, /* nobody knows how large the file is */
	N_FILES = 32,
};

#define FILLER_BYTES 4096 /* before the table: the search goes over a page */
#define MAX_BYTES    16384

static const struct make_go_function functions[] = {
	{ "_rt0_amd64_linux", 0x20, GO_ASSEMBLY, { { 0, 0x20 } } },
	{ GO_STACKS_FUNCTION, 0x80, GO_ASSEMBLY | GO_SP_WRITE, { { 0, 0x80 } } },
	{ "main.main", 0x40, 0, { { 0, 4 }, { 40, 0x38 }, { 0, 4 } } },
	{ "runtime.goexit", 0x20, GO_TOP | GO_ASSEMBLY, { { 0, 0x20 } } },
};
#define CODE_BYTES  0x100
#define CODE_STACKS 0x20 /* systemstack() */

/* systemstack() of Go 1.19 at a fixed address, and of Go 1.27, position-independent. */
static const char stacks_fixed[] =
	"\x48\x8b\x7c\x24\x08\x64\x48\x8b\x04\x25\xf8\xff\xff\xff\x48\x8b\x58\x30\x48\x3b\x43"
	"\x50\x74\x5b\x48\x8b\x13\x48\x39\xd0\x74\x53\x48\x3b\x83\xc0\x00\x00\x00\x75\x52\xe8"
	"\xd2\xf1\xff\xff\x64\x48\x89\x14\x25\xf8\xff\xff\xff\x49\x89\xd6\x48\x8b\x5a\x38";
static const char stacks_pie[] =
	"\x55\x48\x89\xe5\x48\xc7\xc1\xf0\xff\xff\xff\x64\x48\x8b\x01\x48\x8b\x58\x30\x48\x3b"
	"\x43\x48\x74\x53\x48\x8b\x13\x48\x39\xd0\x74\x4b\x48\x3b\x83\xb8\x00\x00\x00\x75\x4a"
	"\xe8\xd0\xf1\xff\xff\x64\x48\x89\x11\x49\x89\xd6\x48\x8b\x62\x38";

static struct file {
	uint8_t bytes[MAX_BYTES];
	size_t size_bytes; /* 0: not made yet */
} files[N_FILES];

/* --- the file --------------------------------------------------------------------------------- */

/* Adds a section that has NAME and BYTES, and SEGMENT, which has its place and size. */
static void add(struct elf_image *image, uint32_t name, Elf64_Phdr segment, const void *bytes)
{
	unsigned number = elf_image_section(
		image,
		(Elf64_Shdr){ .sh_name = name,
			      .sh_type = segment.p_type == PT_NOTE ? SHT_NOTE : SHT_PROGBITS,
			      .sh_flags = SHF_ALLOC | (segment.p_flags & PF_X ? SHF_EXECINSTR : 0),
			      .sh_addr = segment.p_vaddr,
			      .sh_size = segment.p_filesz,
			      .sh_addralign = 8 },
		bytes);

	segment.p_offset = image->sections[number].sh_offset;
	segment.p_memsz = segment.p_filesz;
	segment.p_align = 8;
	image->segments[image->header.e_phnum++] = segment;
}

/* Go's own note comes first. */
static const struct {
	struct {
		Elf64_Nhdr head;
		char name[4], id[8];
	} go, gnu;
	Elf64_Nhdr head;
	char name[4], package[56];
} notes = {
	.go = { { 4, 8, 4 }, "Go", "build-1" },
	.gnu = { { 4, 8, NT_GNU_BUILD_ID }, "GNU", "build-2" },
	.head = { 4, sizeof(notes.package), 0xcafe1a7e },
	.name = "FDO",
	.package = "{ \"type\":\"deb\", \"name\":\"a\\/b\", \"version\":\"1.2-3\" }",
};

static void make_file(struct file *file, unsigned flags)
{
	static const char names[] =
		"\0.text\0.note.go.buildid\0.gopclntab\0.data.rel.ro.gopclntab\0.shstrtab";
	static struct elf_image image;
	static uint8_t table[FILLER_BYTES + 2048], code[CODE_BYTES];
	size_t n;

	elf_image_init(&image);
	memset(table, 0, sizeof(table));
	memset(code, 0xcc, sizeof(code));
	if (flags & FLAG_PIE)
		memcpy(code + CODE_STACKS, stacks_pie, sizeof(stacks_pie) - 1);
	else
		memcpy(code + CODE_STACKS, stacks_fixed, sizeof(stacks_fixed) - 1);
	n = make_go(&(struct make_go_program){ (enum make_go_layout)(flags & FLAG_LAYOUT), TEXT,
					       flags & FLAG_TELL_TEXT, functions,
					       sizeof(functions) / sizeof(*functions) },
		    table + FILLER_BYTES, sizeof(table) - FILLER_BYTES);
	image.header.e_entry = TEXT;
	add(&image, 7,
	    (Elf64_Phdr){ .p_type = PT_NOTE,
			  .p_flags = PF_R,
			  .p_vaddr = TEXT - 0x100,
			  .p_filesz = sizeof(notes) },
	    &notes);
	add(&image, 1,
	    (Elf64_Phdr){ .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_vaddr = TEXT,
			  .p_filesz = sizeof(code) },
	    code);
	add(&image, flags & FLAG_PIE ? 35 : 24,
	    (Elf64_Phdr){ .p_type = PT_LOAD,
			  .p_flags = PF_R,
			  .p_vaddr = TEXT + 0x1000,
			  .p_filesz = FILLER_BYTES + n },
	    table);
	image.sections[3].sh_offset += FILLER_BYTES;
	image.sections[3].sh_addr += FILLER_BYTES;
	image.sections[3].sh_size = n;
	image.header.e_shstrndx =
		(uint16_t)elf_image_section(&image,
					    (Elf64_Shdr){ .sh_name = 58,
							  .sh_type = SHT_STRTAB,
							  .sh_size = sizeof(names),
							  .sh_addralign = 1 },
					    names);
	if (flags & FLAG_NO_SECTIONS)
		image.header.e_shnum = image.header.e_shstrndx = 0;
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	file->size_bytes = elf_image_bytes(&image, file->bytes, sizeof(file->bytes));
}

/* --- use of the input ------------------------------------------------------------------------- */

static struct image *read_image(const struct bytes *bytes)
{
	struct image *image;

	fuzz_succeed(image_create("file", &image));
	error_destroy(image_read_elf(image, bytes));
	fuzz_must(image->build_id.size_bytes <= BUILD_ID_MAX_BYTES, "a build-id fits");
	return image;
}

static const struct file *get_file(unsigned flags)
{
	struct file *file = &files[flags];
	struct fuzz_file whole;
	struct bytes bytes;
	struct image *image;

	if (file->size_bytes)
		return file;
	make_file(file, flags);
	whole = (struct fuzz_file){ .bytes = file->bytes, .size_bytes = file->size_bytes };
	bytes = fuzz_file_bytes(&whole);
	image = read_image(&bytes);
	fuzz_must(image->symtab && symtab_count(image->symtab) == 4, "functions are found");
	fuzz_must(image->tables.go != NULL, "rows are found");
	fuzz_must(image->build_id.size_bytes == sizeof(notes.gnu.id), "the build-id is found");
	image_unref(image);
	return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(input, size_bytes);
	struct fuzz_file file = { .hole_start = fuzz_u16(&fuzz), .hole_end = fuzz_u16(&fuzz) };
	uint8_t flags = fuzz_u8(&fuzz);
	const struct file *whole = get_file(flags % N_FILES);
	uint8_t *copy = malloc(whole->size_bytes); /* the sanitizers watch its end */
	struct bytes bytes;

	if (!copy)
		abort();
	memcpy(copy, whole->bytes, whole->size_bytes);
	fuzz_patch(&fuzz, copy, whole->size_bytes);
	file.bytes = copy;
	file.size_bytes = whole->size_bytes;
	bytes = fuzz_file_bytes(&file);
	if (flags & FLAG_NO_SIZE)
		bytes.size_bytes = UINT64_MAX;
	image_unref(read_image(&bytes));
	free(copy);
	return 0;
}
