/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images out of ELF files: this program's and libc's, whole, without section headers, with pointers
 * that the dynamic linker relocated, with pages missing; the vDSO in memory; and files damaged in
 * every byte, which must neither crash nor hang.
 */
#include "config.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "tests/support/elf_image.h"
#include "tests/support/tap.h"
#include "unwind/cfi_table.h"
#include "xtop/symbol/image.h"

/* A copy of a file, and which of its pages can be read. */
struct copy {
	unsigned char *bytes;
	uint64_t size_bytes;
	bool gone[8192];     /* one per page: the page cannot be read */
	uint64_t read_bytes; /* bytes that were read so far */
};

static size_t copy_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct copy *copy = context;
	size_t done = 0;

	while (done < size_bytes && offset + done < copy->size_bytes) {
		uint64_t at = offset + done, n = 4096 - at % 4096;

		if (at / 4096 < 8192 && copy->gone[at / 4096])
			break;
		n = n < size_bytes - done ? n : size_bytes - done;
		n = n < copy->size_bytes - at ? n : copy->size_bytes - at;
		memcpy((char *)buffer + done, copy->bytes + at, n);
		done += n;
	}
	copy->read_bytes += done;
	return done;
}

static bool copy_file(struct copy *copy, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	bool ok = false;

	memset(copy, 0, sizeof(*copy));
	if (fd < 0)
		return false;
	if (!fstat(fd, &status)) {
		copy->size_bytes = status.st_size;
		copy->bytes = malloc(status.st_size);
		ok = read(fd, copy->bytes, status.st_size) == status.st_size;
	}
	close(fd);
	return ok;
}

static char message[512];

static struct image *read_copy(struct copy *copy)
{
	struct bytes bytes = { copy_read, copy, copy->size_bytes };
	struct xtop_error *error;
	struct image *image;

	if (image_create("file", &image))
		exit(99);
	error = image_read_elf(image, &bytes);
	if (!error)
		return image;
	snprintf(message, sizeof(message), "%s", error_message(error));
	error_destroy(error);
	image_unref(image);
	return NULL;
}

static Elf64_Ehdr *header_of(struct copy *copy)
{
	return (Elf64_Ehdr *)copy->bytes;
}

static Elf64_Phdr *segment_of(struct copy *copy, unsigned type)
{
	Elf64_Phdr *segments = (Elf64_Phdr *)(copy->bytes + header_of(copy)->e_phoff);

	for (unsigned i = 0; i < header_of(copy)->e_phnum; i++)
		if (segments[i].p_type == type)
			return &segments[i];
	return NULL;
}

static void strip_section_headers(struct copy *copy)
{
	header_of(copy)->e_shoff = 0;
	header_of(copy)->e_shnum = 0;
}

static const char *name_at(const struct image *image, uint64_t address)
{
	struct symtab_entry entry;

	return image && image->symtab && symtab_find(image->symtab, address, &entry) &&
			       entry.start == address
		       ? entry.name
		       : "none";
}

/* --- this program ----------------------------------------------------------------------------- */

__attribute__((noinline, used)) static int own_function(int x)
{
	return x * 3;
}

static uint64_t own_bias;

static int take_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	own_bias = info->dlpi_addr;
	return 1; /* the first is the program */
}

/* Whether this program's .symtab tells where the function at ADDRESS ends. */
static bool own_has_size(struct copy *copy, uint64_t address)
{
	const Elf64_Ehdr *header = header_of(copy);
	const Elf64_Shdr *sections = (const void *)(copy->bytes + header->e_shoff);

	for (unsigned i = 0; i < header->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(copy->bytes + sections[i].sh_offset);

		for (size_t n = sections[i].sh_size / sizeof(*symbols);
		     sections[i].sh_type == SHT_SYMTAB && n--;)
			if (symbols[n].st_value == address && symbols[n].st_size)
				return true;
	}
	return false;
}

/*
 * Functions by .eh_frame against those by .symtab: whatever address of a function is asked for, the
 * answer is where the symbol begins. Code that a compiler has split off has a symbol, too. Those of
 * arm64's crtbegin.o have no size: such a symbol ends at the next one.
 */
static void test_own_functions(const struct image *image, struct copy *copy)
{
	unsigned n = 0, different = 0;

	for (size_t i = 0; image && i < symtab_count(image->symtab); i++) {
		struct symtab_entry entry = symtab_at(image->symtab, i);
		uint64_t middle = entry.start + (entry.end - entry.start) / 2, start, end;

		if (!unwind_tables_find_function(&image->tables, entry.start, &start, &end) ||
		    !own_has_size(copy, entry.start))
			continue;
		n++;
		if (start == entry.start && end == entry.end &&
		    unwind_tables_find_function(&image->tables, middle, &start, &end) &&
		    start == entry.start)
			continue;
		different++;
		printf("# %s: %" PRIx64 " to %" PRIx64 ", not to %" PRIx64 "\n", entry.name, start,
		       end, entry.end);
	}
	check(n > 100 && !different, "%u functions have the bounds of their symbols, %u do not", n,
	      different);
}

static void test_own(void)
{
	uint64_t address;
	struct image *image;
	struct copy copy;

	dl_iterate_phdr(take_bias, NULL);
	address = (uint64_t)(uintptr_t)own_function - own_bias;
	check(copy_file(&copy, "/proc/self/exe"), "this program is copied");
	image = read_copy(&copy);
	check(image != NULL, "this program is read: %s", message);
	check_string(name_at(image, address), "own_function",
		     "name of a static function of this program");
	check(image && image->tables.cfi && image->tables.cfi->n_fdes > 20,
	      "this program has an unwind table");
	check(image && !image->incomplete, "no bytes of this program are missing");
	check(image && image->build_id.size_bytes == 20, "this program has a build-id");
	test_own_functions(image, &copy);
	image_unref(image);

	copy.gone[header_of(&copy)->e_shoff / 4096] = true;
	image = read_copy(&copy);
	check(image && image->incomplete, "section headers that are missing are noticed");
	check(image && image->tables.cfi && image->tables.cfi->n_fdes > 20,
	      "an unwind table is found without section headers");
	check(image && image->build_id.size_bytes == 20,
	      "a build-id is found without section headers");
	memset(copy.gone, 0, sizeof(copy.gone));
	if (image) { /* read the image again, now that the page is there */
		struct bytes bytes = { copy_read, &copy, copy.size_bytes };

		check(!image_read_elf(image, &bytes) && !image->incomplete,
		      "a program that is read again is whole");
		check_string(name_at(image, address), "own_function",
			     "name of a static function after the second reading");
	}
	image_unref(image);
	free(copy.bytes);
}

/* --- libc, which has no .symtab --------------------------------------------------------------- */

static struct {
	uint64_t bias, address;
	char path[256];
} libc;

static int take_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	libc.bias = info->dlpi_addr;
	snprintf(libc.path, sizeof(libc.path), "%s", info->dlpi_name);
	return 1;
}

/* As glibc does in memory (elf/get-dynamic-info.h). */
static void relocate_dynamic(struct copy *copy, uint64_t bias)
{
	Elf64_Phdr *segment = segment_of(copy, PT_DYNAMIC);
	Elf64_Dyn *entry = (Elf64_Dyn *)(copy->bytes + segment->p_offset);

	for (; entry->d_tag != DT_NULL; entry++)
		switch (entry->d_tag) {
		case DT_HASH:
		case DT_GNU_HASH:
		case DT_STRTAB:
		case DT_SYMTAB:
		case DT_RELA:
		case DT_JMPREL:
		case DT_PLTGOT:
		case DT_VERSYM:
			entry->d_un.d_ptr += bias;
		}
}

static void forget_tag(struct copy *copy, int64_t tag)
{
	Elf64_Phdr *segment = segment_of(copy, PT_DYNAMIC);
	Elf64_Dyn *entry = (Elf64_Dyn *)(copy->bytes + segment->p_offset);

	for (; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			entry->d_tag = DT_DEBUG;
}

static void check_libc(const char *what, struct copy *copy, size_t n_symbols, size_t n_fdes)
{
	struct image *image = read_copy(copy);

	check(image != NULL, "%s: %s", what, image ? "read" : message);
	check_string(name_at(image, libc.address), "gnu_get_libc_version", what);
	check(image && symtab_count(image->symtab) == n_symbols, "%s: %zu symbols (expected %zu)",
	      what, image && image->symtab ? symtab_count(image->symtab) : 0, n_symbols);
	check(image && image->tables.cfi && image->tables.cfi->n_fdes == n_fdes,
	      "%s: %zu functions with CFI (expected %zu)", what,
	      image && image->tables.cfi ? image->tables.cfi->n_fdes : 0, n_fdes);
	image_unref(image);
}

static void test_libc(void)
{
	struct image *image;
	size_t n_symbols, n_fdes;
	Elf64_Phdr *hdr;
	uint64_t hole;
	struct copy copy;

	dl_iterate_phdr(take_libc, NULL);
	if (!check(*libc.path && copy_file(&copy, libc.path), "libc is copied: %s", libc.path))
		return;
	libc.address = (uint64_t)(uintptr_t)gnu_get_libc_version - libc.bias;
	image = read_copy(&copy);
	check_string(name_at(image, libc.address), "gnu_get_libc_version",
		     "libc: name of a function in .dynsym");
	if (!image)
		return;
	n_symbols = symtab_count(image->symtab);
	n_fdes = image->tables.cfi->n_fdes;
	check(n_symbols > 1000 && n_fdes > 1000, "libc: %zu symbols, %zu functions with CFI",
	      n_symbols, n_fdes);
#ifdef __x86_64__ /* the libc of arm64 has no such rows */
	check(image->tables.dwarf, "libc has rows that need DWARF's expressions");
#endif
	image_unref(image);

	strip_section_headers(&copy);
	image = read_copy(&copy);
	check_string(name_at(image, libc.address), "gnu_get_libc_version",
		     "libc without section headers: name of a function");
	/* Without section headers a last symbol ends with its segment, not with its section. */
	n_symbols = image && image->symtab ? symtab_count(image->symtab) : 0;
	check(n_symbols > 1000, "libc without section headers: %zu symbols", n_symbols);
	image_unref(image);
	check_libc("libc without section headers", &copy, n_symbols, n_fdes);
	relocate_dynamic(&copy, libc.bias);
	check_libc("libc, relocated", &copy, n_symbols, n_fdes);
	forget_tag(&copy, DT_GNU_HASH);
	forget_tag(&copy, DT_HASH);
	check_libc("libc without a hash table", &copy, n_symbols, n_fdes);

	hdr = segment_of(&copy, PT_GNU_EH_FRAME);
	hole = (hdr->p_offset + hdr->p_filesz) / 4096 + 3;
	copy.gone[hole] = true;
	image = read_copy(&copy);
	check(image && image->incomplete, "a missing page of .eh_frame is noticed");
	check(image && image->tables.cfi && image->tables.cfi->n_fdes < n_fdes &&
		      image->tables.cfi->n_fdes > n_fdes / 2,
	      "functions with CFI without one page of .eh_frame: %zu of %zu",
	      image && image->tables.cfi ? image->tables.cfi->n_fdes : 0, n_fdes);
	image_unref(image);
	free(copy.bytes);
}

static void test_vdso(void)
{
	const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	struct copy copy = { 0 };
	struct image *image;

	if (!vdso) {
		printf("ok %u - # SKIP no vDSO\n", ++tap_points);
		return;
	}
	copy.size_bytes = 4096; /* section headers may lie after this page */
	copy.bytes = malloc(copy.size_bytes);
	memcpy(copy.bytes, vdso, copy.size_bytes);
	image = read_copy(&copy);
	check(image && image->symtab && symtab_count(image->symtab) >= 2, "the vDSO has symbols");
	check(image && image->tables.cfi, "the vDSO has CFI");
	image_unref(image);
	free(copy.bytes);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void test_refused(void)
{
	struct copy copy = { .bytes = (unsigned char *)"#!/bin/sh\n", .size_bytes = 10 };

	check(!read_copy(&copy) && strstr(message, "file: not an ELF file"), "a script: %s",
	      message);
}

/*
 * Damages a small program of the build. This test itself would take 30 times as long to read, and
 * has nothing more that could be damaged.
 */
static void test_damage(void)
{
	static const unsigned char values[] = { 0, 0x7f, 0xff };
	const char *build = getenv("top_builddir");
	char path[512];
	unsigned good = 0, refused = 0;
	struct copy whole, copy;
	Elf64_Phdr *dynamic;
	uint64_t from, to;

	snprintf(path, sizeof(path), "%s/tests/lines/inlined", build ? build : ".");
	if (!check(copy_file(&whole, path), "a small program of the build is copied"))
		return;
	strip_section_headers(&whole);
	dynamic = segment_of(&whole, PT_DYNAMIC);
	copy = whole;
	for (unsigned part = 0; part < 3; part++) {
		from = part == 0 ? 0 : part == 1 ? dynamic->p_offset : 0x2a0;
		to = part == 0 ? 64 + 14 * 56 : part == 1 ? from + dynamic->p_filesz : 0x600;
		for (uint64_t at = from; at < to; at++)
			for (unsigned i = 0; i < sizeof(values); i++) {
				unsigned char was = copy.bytes[at];
				struct image *image;

				copy.bytes[at] = values[i];
				image = read_copy(&copy);
				if (image)
					good++;
				else
					refused++;
				image_unref(image);
				copy.bytes[at] = was;
			}
	}
	check(good > 1000 && refused > 10, "damaged files: %u read, %u refused", good, refused);
	free(whole.bytes);
}

/*
 * Makes a file of code, symbols and their names, with N_TABLES section headers that all describe
 * these symbols and names. Unless BEHIND is 0, after each of them comes the header of a section of
 * type BEHIND with BEHIND_BYTES, which belongs to the table.
 */
static Elf64_Sym *make_tables(struct copy *copy, unsigned n_symbols, uint64_t strings_bytes,
			      unsigned n_tables, unsigned behind, uint64_t behind_bytes)
{
	unsigned n_sections = 3 + n_tables * (behind ? 2 : 1);
	uint64_t symbols_at = sizeof(Elf64_Ehdr) + n_sections * sizeof(Elf64_Shdr),
		 strings_at = symbols_at + n_symbols * sizeof(Elf64_Sym);
	Elf64_Shdr *sections;

	*copy = (struct copy){ .size_bytes = strings_at + strings_bytes };
	copy->bytes = calloc(1, copy->size_bytes);
	*header_of(copy) = (Elf64_Ehdr){ .e_ident = ELFMAG "\2\1\1",
					 .e_type = ET_EXEC,
					 .e_machine = EM_X86_64,
					 .e_version = EV_CURRENT,
					 .e_shoff = sizeof(Elf64_Ehdr),
					 .e_shentsize = sizeof(Elf64_Shdr),
					 .e_shnum = (uint16_t)n_sections };
	sections = (Elf64_Shdr *)(header_of(copy) + 1);
	sections[1] = (Elf64_Shdr){ .sh_type = SHT_NOBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				    .sh_addr = 0x400000,
				    .sh_size = 1 << 20 };
	sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				    .sh_offset = strings_at,
				    .sh_size = strings_bytes };
	for (unsigned i = 3; i < n_sections; i++)
		if (behind && i % 2 == 0)
			sections[i] = (Elf64_Shdr){ .sh_type = behind,
						    .sh_link = i - 1,
						    .sh_offset = symbols_at,
						    .sh_size = behind_bytes };
		else
			sections[i] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
						    .sh_link = 2,
						    .sh_offset = symbols_at,
						    .sh_size = n_symbols * sizeof(Elf64_Sym) };
	return (Elf64_Sym *)(copy->bytes + symbols_at);
}

/*
 * Reads the file COPY and frees it. Checks that less than MOST times its size is read, and that the
 * image's symbols are cut at a limit if CUT, otherwise not.
 */
static void check_read(struct copy *copy, bool cut, unsigned most, const char *what)
{
	struct image *image = read_copy(copy);

	check(image && image->cut == cut && copy->read_bytes < most * copy->size_bytes,
	      "%s: %" PRIu64 " MB read of a file of %" PRIu64, what, copy->read_bytes / 1000000,
	      copy->size_bytes / 1000000);
	image_unref(image);
	free(copy->bytes);
}

/* Sections of a file may overlap. All tables together may cost no more than one table may. */
static void test_many_tables(void)
{
	struct copy copy;

	make_tables(&copy, 200000, 1000, 100, 0, 0);
	check_read(&copy, true, 8, "a hundred tables over each other");
	make_tables(&copy, 10, 60 << 20, 20, 0, 0);
	check_read(&copy, true, 2, "twenty tables with the same names");
	make_tables(&copy, 10, 2 << 20, 100, SHT_SYMTAB_SHNDX, 2 << 20);
	header_of(&copy)->e_shnum -= 80 * 2; /* the names of 20 tables are within the limit */
	check_read(&copy, false, 25, "large tables of section numbers");
}

/*
 * 20,000 symbols have one name of 60 MB. To look for its end for each symbol would read 1.2 TB,
 * which takes minutes. Up to the limit of a name, all of them together read 80 MB.
 */
static void test_endless_name(void)
{
	const unsigned n = 20000, strings_bytes = 60 << 20;
	struct copy copy;
	Elf64_Sym *symbols = make_tables(&copy, n, strings_bytes, 1, 0, 0);
	struct image *image;

	memset(copy.bytes + copy.size_bytes - strings_bytes, 'a', strings_bytes - 1);
	for (unsigned i = 1; i < n; i++)
		symbols[i] = (Elf64_Sym){ .st_name = 1,
					  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
					  .st_shndx = 1,
					  .st_value = 0x400000 + 16 * i };
	symbols[n - 1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	alarm(60);
	image = read_copy(&copy);
	alarm(0);
	check(image && !image->cut && image->symtab && symtab_count(image->symtab) == 1 &&
		      strlen(name_at(image, 0x400000 + 16 * (n - 1))) == SYMTAB_MAX_NAME_BYTES,
	      "a name of 60 MB of many symbols");
	image_unref(image);
	copy.bytes[copy.size_bytes - 1] = 'a';
	image = read_copy(&copy);
	check(image && image->cut && !image->symtab, "a name that does not end");
	image_unref(image);
	free(copy.bytes);
}

/*
 * 100,000 symbols of a file of 2.4 MB have one name of 4 KiB: its copies would take 390 MiB.
 * WITHIN: the names are ends of this name, so that not even a table of equal names would help.
 */
#define MANY       100000
#define LONG_BYTES 4095

static void test_shared_names(bool within)
{
	uint64_t symbols_bytes = MANY * sizeof(Elf64_Sym), strings_bytes = LONG_BYTES + 2;
	Elf64_Sym *symbols;
	Elf64_Ehdr *header;
	Elf64_Shdr *sections;
	Elf64_Phdr *segment;
	struct copy copy = { 0 };
	struct image *image;
	size_t bytes;

	copy.size_bytes = sizeof(*header) + sizeof(*segment) + 4 * sizeof(*sections) +
			  symbols_bytes + strings_bytes;
	copy.bytes = calloc(1, copy.size_bytes);
	header = header_of(&copy);
	segment = (Elf64_Phdr *)(header + 1);
	sections = (Elf64_Shdr *)(segment + 1);
	symbols = (Elf64_Sym *)(sections + 4);
	memcpy(header->e_ident, ELFMAG "\2\1\1", 7);
	header->e_type = ET_EXEC;
	header->e_machine = EM_X86_64;
	header->e_version = EV_CURRENT;
	header->e_phoff = sizeof(*header);
	header->e_phentsize = sizeof(*segment);
	header->e_phnum = 1;
	header->e_shoff = sizeof(*header) + sizeof(*segment);
	header->e_shentsize = sizeof(*sections);
	header->e_shnum = 4;
	*segment = (Elf64_Phdr){ .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_vaddr = 0x400000,
				 .p_memsz = 16ULL * MANY };
	sections[0] = (Elf64_Shdr){ .sh_type = SHT_NULL };
	sections[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				    .sh_link = 2,
				    .sh_size = symbols_bytes,
				    .sh_entsize = sizeof(*symbols),
				    .sh_offset = (unsigned char *)symbols - copy.bytes };
	sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				    .sh_size = strings_bytes,
				    .sh_offset = sections[1].sh_offset + symbols_bytes };
	sections[3] = (Elf64_Shdr){ .sh_type = SHT_NOBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				    .sh_addr = 0x400000,
				    .sh_size = 16ULL * MANY };
	memset(copy.bytes + sections[2].sh_offset + 1, 'a', LONG_BYTES);
	for (unsigned i = 1; i < MANY; i++)
		symbols[i] = (Elf64_Sym){ .st_name = within ? 1 + i % 100 : 1,
					  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					  .st_shndx = 3,
					  .st_value = 0x400000 + 16 * i,
					  .st_size = 16 };
	image = read_copy(&copy);
	bytes = image && image->symtab ? symtab_memory_bytes(image->symtab) : 0;
	check(bytes > 0 && bytes <= 65 << 20, "%s: %zu KiB are kept",
	      within ? "names within a name" : "one name", bytes >> 10);
	check(image && image->cut, "an image with symbols left out says so");
	check_string(name_at(image, 0x400010) != NULL && image && image->symtab &&
				     symtab_count(image->symtab) > 10000
			     ? "most"
			     : "few",
		     "most", "symbols before the limit are kept");
	image_unref(image);
	free(copy.bytes);
}

int main(void)
{
	test_many_tables();
	test_endless_name();
	test_shared_names(false);
	test_shared_names(true);
	test_own();
	test_libc();
	test_vdso();
	test_refused();
	test_damage();
	return tap_done();
}
