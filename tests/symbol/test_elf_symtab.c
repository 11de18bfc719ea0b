/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files made here, field by field; the test's own executable against what nm says of it; and
 * the same files damaged, every byte and every length, which must neither crash nor hang.
 */
#include "config.h"

#include <fcntl.h>

#include "tests/support/elf_image.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/elf/elf.h"
#include "xtop/symbol/symbol.h"

#define TEXT             0x401000
#define INFO(bind, type) ELF64_ST_INFO(STB_##bind, STT_##type)

static char message[512];

/* A sealed table; NULL, and why in message, when the file is refused. */
static struct symtab *read_fd(int fd, struct build_id *build_id)
{
	struct symtab *tab = NULL;
	struct xtop_error *error;
	bool unread;

	*message = '\0';
	if (symtab_create(&tab))
		exit(99);
	error = symbol_read_elf(fd, "guest.elf", tab, build_id, &unread);
	if (!error)
		error = symtab_seal(tab);
	if (!error)
		return tab;
	snprintf(message, sizeof(message), "%s", error_message(error));
	error_destroy(error);
	symtab_destroy(tab);
	return NULL;
}

static struct symtab *read_image(const struct elf_image *image, struct build_id *build_id)
{
	_cleanup_close_ int fd = elf_image_fd(image);

	return read_fd(fd, build_id);
}

static const char *dump(const struct symtab *tab)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < symtab_count(tab) && used < sizeof(text); i++) {
		struct symtab_entry entry = symtab_at(tab, i);

		used += snprintf(text + used, sizeof(text) - used, "%" PRIx64 "-%" PRIx64 " %s;",
				 entry.start, entry.end, entry.name);
	}
	return text;
}

static void check_image(const char *what, const struct elf_image *image, const char *wanted)
{
	struct build_id build_id;
	struct symtab *tab = read_image(image, &build_id);

	if (tab)
		check_string(dump(tab), wanted, what);
	else
		check(false, "%s: refused: %s", what, message);
	symtab_destroy(tab);
}

static void check_refused(const char *what, const struct elf_image *image, const char *wanted)
{
	struct build_id build_id = { .address = 1 };
	struct symtab *tab = read_image(image, &build_id);

	check(!tab && strncmp(message, "guest.elf: ", 11) == 0 && strstr(message, wanted),
	      "%s: \"%s\" (expected \"guest.elf: ... %s\")", what, message, wanted);
	check(build_id.address == 1, "%s: the build-id is untouched", what);
	symtab_destroy(tab);
}

static const char names[] = "\0f\0g\0label\0.Llocal\0$x\0data\0weak\0ifunc";
enum {
	NAME_F = 1,
	NAME_G = 3,
	NAME_LABEL = 5,
	NAME_LOCAL = 11,
	NAME_X = 19,
	NAME_DATA = 22,
	NAME_WEAK = 27,
	NAME_IFUNC = 32
};

/* Section 1: code, TEXT..TEXT+0x100; section 2: data. */
static void make_image(struct elf_image *image)
{
	elf_image_init(image);
	elf_image_text(image, TEXT, 0x100);
	elf_image_section(image,
			  (Elf64_Shdr){ .sh_type = SHT_NOBITS,
					.sh_flags = SHF_ALLOC | SHF_WRITE,
					.sh_addr = 0x500000,
					.sh_size = 0x100,
					.sh_addralign = 1 },
			  NULL);
}

static void test_kinds(void)
{
	const Elf64_Sym symbols[] = {
		{ NAME_F, INFO(GLOBAL, FUNC), 0, 1, TEXT, 0x10 },
		{ NAME_G, INFO(LOCAL, FUNC), 0, 1, TEXT + 0x20, 0 },
		{ NAME_LABEL, INFO(GLOBAL, NOTYPE), 0, 1, TEXT + 0x30, 0 },
		{ NAME_LOCAL, INFO(LOCAL, NOTYPE), 0, 1, TEXT + 0x38, 0 },
		{ NAME_X, INFO(LOCAL, NOTYPE), 0, 1, TEXT + 0x38, 0 },
		{ NAME_DATA, INFO(LOCAL, OBJECT), 0, 1, TEXT + 0x40, 0x10 }, /* ends label */
		{ NAME_IFUNC, INFO(GLOBAL, GNU_IFUNC), 0, 1, TEXT + 0x80, 0x10 },
		{ NAME_WEAK, INFO(WEAK, FUNC), 0, 1, TEXT + 0xf0,
		  0x100 },                                            /* cut at the section's end */
		{ NAME_WEAK, INFO(WEAK, NOTYPE), 0, 2, 0x500000, 0 }, /* not among code */
		{ NAME_DATA, INFO(GLOBAL, OBJECT), 0, 2, 0x500010, 8 },
		{ NAME_G, INFO(GLOBAL, FUNC), 0, SHN_UNDEF, TEXT + 0xa0, 8 },
		{ NAME_G, INFO(GLOBAL, FUNC), 0, SHN_ABS, TEXT + 0xb0, 8 },
		{ NAME_G, INFO(GLOBAL, FUNC), 0, SHN_COMMON, TEXT + 0xc0, 8 },
		{ NAME_G, INFO(GLOBAL, FUNC), 0, 1, TEXT + 0x100, 8 }, /* after the section */
		{ NAME_G, INFO(GLOBAL, FUNC), 0, 1, TEXT - 1, 8 },
		{ 0, INFO(LOCAL, SECTION), 0, 1, TEXT + 0x90, 0 },
		{ NAME_G, INFO(LOCAL, FILE), 0, 1, TEXT + 0x91, 0 },
		{ NAME_G, INFO(LOCAL, TLS), 0, 1, TEXT + 0x92, 0 },
	};
	struct elf_image image;

	make_image(&image);
	elf_image_symbols(&image, SHT_SYMTAB, symbols, sizeof(symbols) / sizeof(symbols[0]), names,
			  sizeof(names));
	check_image("every kind of symbol", &image,
		    "401000-401010 f;401020-401030 g;401030-401040 label;401080-401090 "
		    "ifunc;4010f0-401100 weak;");
}

static void test_dynsym(void)
{
	const Elf64_Sym f = { NAME_F, INFO(GLOBAL, FUNC), 0, 1, TEXT, 8 },
			g = { NAME_G, INFO(GLOBAL, FUNC), 0, 1, TEXT, 8 };
	const Elf64_Sym data = { NAME_DATA, INFO(GLOBAL, OBJECT), 0, 2, 0x500000, 8 };
	struct elf_image image;

	make_image(&image);
	elf_image_symbols(&image, SHT_DYNSYM, &f, 1, names, sizeof(names));
	check_image(".dynsym alone", &image, "401000-401008 f;");
	elf_image_symbols(&image, SHT_SYMTAB, &g, 1, names, sizeof(names));
	check_image(".symtab before .dynsym", &image, "401000-401008 g;");
	make_image(&image);
	elf_image_symbols(&image, SHT_SYMTAB, &data, 1, names, sizeof(names));
	check_refused("no functions", &image,
		      "no functions in it, it is stripped: give the unstripped file");
	elf_image_symbols(&image, SHT_DYNSYM, &f, 1, names, sizeof(names));
	check_image(".symtab without functions", &image, "401000-401008 f;");
}

/* More than 65,279 sections: the number stands in a section of its own. */
static void test_extended_index(void)
{
	const Elf64_Sym f = { NAME_F, INFO(GLOBAL, FUNC), 0, SHN_XINDEX, TEXT, 8 };
	Elf32_Word indices[2] = { 0, 1 };
	struct elf_image image;
	unsigned table;

	make_image(&image);
	table = elf_image_symbols(&image, SHT_SYMTAB, &f, 1, names, sizeof(names));
	check_refused("SHN_XINDEX without the table", &image,
		      "no functions"); /* index 0: in no section */
	elf_image_section(&image,
			  (Elf64_Shdr){ .sh_type = SHT_SYMTAB_SHNDX,
					.sh_link = table,
					.sh_size = sizeof(indices),
					.sh_entsize = 4,
					.sh_addralign = 4 },
			  indices);
	check_image("SHN_XINDEX", &image, "401000-401008 f;");
}

static void test_refused(void)
{
	const Elf64_Sym f = { NAME_F, INFO(GLOBAL, FUNC), 0, 1, TEXT, 8 };
	struct elf_image good, image;
	Elf64_Sym bad = f;

	make_image(&good);
	elf_image_symbols(&good, SHT_SYMTAB, &f, 1, names, sizeof(names));
	check_image("good", &good, "401000-401008 f;");

	image = good;
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	image.header.e_machine = EM_MIPS;
	check_refused("ELF32", &image, "a 32-bit ELF file");
	image = good;
	image.header.e_machine = EM_PPC64;
	check_refused("ppc64", &image,
		      "for another machine (e_machine 21), not x86-64, i386, arm64 or 32-bit Arm");
	image = good;
	image.header.e_type = ET_REL;
	check_refused("a .ko", &image, "a relocatable file (.o, .ko) has no addresses yet");
	image = good;
	image.header.e_type = ET_CORE;
	check_refused("a core", &image, "neither an executable nor a shared object (e_type 4)");
	image = good;
	memcpy(image.header.e_ident, "#!/b", 4);
	check_refused("a script", &image, "not an ELF file");
	image = good;
	image.header.e_shnum = 0;
	check_refused("no section headers", &image, "stripped");
	image = good;
	image.sections[4].sh_link = 77;
	check_refused("no string table", &image,
		      "damaged ELF file: symbol table without string table");
	image = good;
	image.sections[4].sh_size = 1ULL << 60;
	check_refused("a symbol table of an exabyte", &image, "more than 4194304 symbols");
	image = good;
	image.sections[4].sh_size = 1 << 20;
	check_refused("a symbol table after the file's end", &image,
		      "damaged ELF file: symbol table");
	image = good;
	image.sections[3].sh_size = 1ULL << 40;
	check_refused("a string table of a terabyte", &image, "more than 1024 MiB of symbol names");
	image = good;
	image.sections[3].sh_size = NAME_F + 1; /* "\0f": no NUL after */
	check_refused("an unterminated name", &image,
		      "a symbol's name lies outside the string table");

	make_image(&image);
	bad.st_name = sizeof(names);
	elf_image_symbols(&image, SHT_SYMTAB, &bad, 1, names, sizeof(names));
	check_refused("a name after the string table", &image,
		      "a symbol's name lies outside the string table");
	make_image(&image);
	bad = f;
	bad.st_shndx = 5;
	elf_image_symbols(&image, SHT_SYMTAB, &bad, 1, names, sizeof(names));
	check_refused("a section that is not there", &image,
		      "a symbol lies in a section that does not exist");
}

/* --- build-id --------------------------------------------------------------------------------- */

static const struct {
	Elf64_Nhdr other;
	char other_name[4];
	char other_bytes[8];
	Elf64_Nhdr note;
	char name[4];
	unsigned char bytes[8];
} notes = { { 4, 6, NT_GNU_ABI_TAG },  "GNU", "abcdef",
	    { 4, 8, NT_GNU_BUILD_ID }, "GNU", { 1, 2, 3, 4, 5, 6, 7, 8 } };
#define NOTES_ID_OFFSET 40

static void check_build_id(const char *what, const struct elf_image *image, size_t size_bytes,
			   uint64_t address)
{
	struct build_id build_id = { 0 };
	struct symtab *tab = read_image(image, &build_id);

	check(tab != NULL, "build-id of %s: the file is read: %s", what, message);
	check_u64(build_id.size_bytes, size_bytes, what);
	check(!size_bytes || memcmp(build_id.bytes, notes.bytes, sizeof(notes.bytes)) == 0,
	      "build-id of %s: bytes", what);
	check(build_id.address == address, "%s: at %#" PRIx64 " (expected %#" PRIx64 ")", what,
	      build_id.address, address);
	symtab_destroy(tab);
}

static void test_build_id(void)
{
	const Elf64_Sym f = { NAME_F, INFO(GLOBAL, FUNC), 0, 1, TEXT, 8 };
	const uint64_t at = 0x600000;
	struct elf_image image;
	unsigned section;
	uint64_t offset;

	make_image(&image);
	elf_image_symbols(&image, SHT_SYMTAB, &f, 1, names, sizeof(names));
	check_build_id("none", &image, 0, 0);
	section = elf_image_section(&image,
				    (Elf64_Shdr){ .sh_type = SHT_NOTE,
						  .sh_flags = SHF_ALLOC,
						  .sh_addr = at,
						  .sh_size = sizeof(notes),
						  .sh_addralign = 4 },
				    &notes);
	offset = image.sections[section].sh_offset;
	check_build_id("a section, not loaded", &image, 8, 0);
	image.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_offset = offset,
					  .p_vaddr = at,
					  .p_filesz = sizeof(notes),
					  .p_memsz = sizeof(notes) };
	image.header.e_phnum = 1;
	check_build_id("a section", &image, 8, at + NOTES_ID_OFFSET);
	image.segments[1] = image.segments[0];
	image.segments[1].p_type = PT_NOTE;
	image.segments[1].p_align = 4;
	image.header.e_phnum = 2;
	image.sections[section].sh_type = SHT_PROGBITS;
	check_build_id("a segment", &image, 8, at + NOTES_ID_OFFSET);
	image.segments[1].p_filesz = image.segments[0].p_filesz = sizeof(notes) - 1;
	check_build_id("a segment that is cut short", &image, 0, 0);
	image.segments[1].p_filesz = 1ULL << 40;
	check_build_id("a segment of a terabyte", &image, 0, 0);
	image.segments[1].p_filesz = sizeof(notes);
	image.segments[1].p_offset = UINT64_MAX - 3;
	check_build_id("a segment beyond the file", &image, 0, 0);
}

/* --- comparison with nm ----------------------------------------------------------------------- */

__attribute__((noinline, used)) static int own_local_function(int x)
{
	return x * 3;
}

__attribute__((noinline, used, visibility("default"))) int own_global_function(int x);
int own_global_function(int x)
{
	return own_local_function(x) + 1;
}

/*
 * Every T, t and i of nm starts a symbol of ours, and every symbol of ours starts at a name of nm.
 * W may be data, which nm does not tell; a leading dot is an assembler's local label.
 */
static void test_against_nm(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct build_id build_id;
	struct symtab *tab = read_fd(fd, &build_id);
	unsigned lines = 0, missing = 0, own = 0;
	uint64_t address, last = UINT64_MAX, starts = 0, stubs = 0;
	char type, name[4096], command[64];
	FILE *nm;

	check(tab != NULL, "the test's own executable: %s", message);
	/* not by /proc/PID/exe: under valgrind that is valgrind, only open() tells otherwise */
	snprintf(command, sizeof(command), "nm -n --defined-only /proc/%d/fd/%d", getpid(), fd);
	nm = popen(command, "r");
	while (nm && tab && fscanf(nm, "%" SCNx64 " %c %4095[^\n]\n", &address, &type, name) == 3) {
		struct symtab_entry entry;
		bool found = symtab_find(tab, address, &entry) && entry.start == address;

		if (!strchr("tTwWi", type) || *name == '.' || strstr(name, "etext"))
			continue;
		lines++;
		starts += found && address != last;
		last = address;
		missing += !found && (type | 0x20) != 'w';
		own += found && strncmp(name, "own_", 4) == 0;
		if (!found)
			printf("# not ours: %#" PRIx64 " %c %s\n", address, type, name);
	}
	check(nm && pclose(nm) == 0, "nm runs on the test's own executable");
	check(lines > 20, "nm lists functions: %u", lines);
	check_u64(missing, 0, "functions of nm that xtop does not have");
	for (size_t i = 0; tab && i < symtab_count(tab); i++)
		stubs += strstr(symtab_at(tab, i).name, SYMBOL_STUB_SUFFIX) != NULL;
	check_u64(tab ? symtab_count(tab) - stubs : 0, starts,
		  "functions that xtop has, besides the stubs of the PLT");
	check_u64(own, 2, "functions of the test itself");
	symtab_destroy(tab);
}

/* --- damage ----------------------------------------------------------------------------------- */

static unsigned damage_accepted, damage_refused;

static void try_bytes(const unsigned char *bytes, size_t size)
{
	_cleanup_close_ int fd = elf_image_bytes_fd(bytes, size);
	struct build_id build_id;
	struct symtab *tab = read_fd(fd, &build_id);
	struct symtab_entry entry;

	if (tab)
		damage_accepted++;
	else
		damage_refused++;
	for (size_t i = 0; tab && i < symtab_count(tab); i++) {
		entry = symtab_at(tab, i);
		if (entry.start >= entry.end || strlen(entry.name) > SYMTAB_MAX_NAME_BYTES)
			check(false,
			      "an impossible entry of a damaged file: %#" PRIx64 "-%#" PRIx64,
			      entry.start, entry.end);
	}
	symtab_destroy(tab);
}

static void test_damage(void)
{
	const Elf64_Sym symbols[] = { { NAME_F, INFO(GLOBAL, FUNC), 0, 1, TEXT, 8 },
				      { NAME_G, INFO(LOCAL, NOTYPE), 0, 1, TEXT + 8, 0 } };
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	unsigned char bytes[16384];
	struct elf_image image;
	size_t size;

	make_image(&image);
	elf_image_symbols(&image, SHT_SYMTAB, symbols, 2, names, sizeof(names));
	elf_image_section(
		&image,
		(Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_size = sizeof(notes), .sh_addralign = 4 },
		&notes);
	image.segments[0] = (Elf64_Phdr){ .p_type = PT_NOTE,
					  .p_offset = image.sections[5].sh_offset,
					  .p_filesz = sizeof(notes),
					  .p_align = 4 };
	image.header.e_phnum = 1;
	size = elf_image_bytes(&image, bytes, sizeof(bytes));
	for (size_t i = 0; i < size; i++) {
		unsigned char kept = bytes[i];

		for (size_t j = 0; j < sizeof(values); j++) {
			bytes[i] = values[j];
			if (values[j] != kept)
				try_bytes(bytes, size);
		}
		bytes[i] = kept;
	}
	for (size_t length = 0; length < size; length++)
		try_bytes(bytes, length);
	printf("# damaged files: %u accepted, %u refused\n", damage_accepted, damage_refused);
	check(damage_accepted > 100 && damage_refused > 100,
	      "damaged files are read or refused");
}

/* A real file: the test itself, its headers, symbol and string table hit at random. */
static void test_damaged_executable(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);
	_cleanup_free_ unsigned char *good = malloc(size), *bytes = malloc(size);
	uint32_t state = 1;

	if (!good || !bytes || pread(fd, good, size, 0) != size)
		exit(99);
	damage_accepted = damage_refused = 0;
	for (int round = 0; round < 150; round++) {
		memcpy(bytes, good, size);
		for (int i = 0; i < 1 + 40 * (round % 3); i++) {
			size_t at;

			state = state * 1664525 + 1013904223;
			at = i % 2 ? state % size
				   : size - 1 - state % (size / 4); /* tables stand at the end */
			bytes[i % 8 == 2 ? 16 + at % 48 : at] = state >> 24;
		}
		state = state * 1664525 + 1013904223;
		try_bytes(bytes, round % 5 ? (size_t)size : state % size);
	}
	printf("# damaged executables: %u accepted, %u refused\n", damage_accepted, damage_refused);
	check(damage_refused > 0, "damaged executables are refused");
}

/* A section's name begins wherever its header says. CONTENTS are all names. */
static void check_section_name(const char *contents, size_t size_bytes, uint32_t at,
			       const char *wanted, const char *what)
{
	const struct elf_limits limits = { .sections = 16 };
	struct elf_section section = { .header.sh_name = at };
	struct elf_file file = { 0 };
	struct elf_image image;
	_cleanup_close_ int fd = -1;
	struct bytes bytes;

	elf_image_init(&image);
	image.header.e_shstrndx = (Elf64_Half)elf_image_section(
		&image, (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_size = size_bytes }, contents);
	fd = elf_image_fd(&image);
	bytes = elf_image_file_bytes(&fd);
	/* The copy of the names is as long as they are, for the sanitizer. */
	if (elf_file_init_guest(&file, &bytes, "file", &limits))
		exit(99);
	check_string(elf_section_name(&file, &section), wanted, what);
	elf_file_deinit(&file);
}

static void test_section_names(void)
{
	const uint32_t outside[] = { 6, 7, 4096, UINT32_MAX };

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		check_section_name("\0.got.", 6, outside[i], "",
				   "a section's name after the names is empty");
	check_section_name("\0.got.", 6, 1, "", "a section's name without an end is empty");
	check_section_name("\0.got\0", 6, 1, ".got", "a section's name");
	check_section_name(".got.", 5, 0, "", "a section's name in names without a NUL is empty");
}

int main(void)
{
	test_section_names();
	test_kinds();
	test_dynsym();
	test_extended_index();
	test_refused();
	test_build_id();
	test_against_nm();
	test_damage();
	test_damaged_executable();
	return tap_done() + (own_global_function(1) == 0);
}
