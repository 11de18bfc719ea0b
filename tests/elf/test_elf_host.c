/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same file by both readers, as one of the guest's and as one of dom0's disk: the same
 * functions, build-id, segments and unwind tables. Files damaged at random: no reader crashes, and
 * what both accept is the same. Files that would cost too much are refused before libelf sees them.
 *
 *   test_elf_host [FILE]...    compares these, too: a vmlinux, for example
 */
#include "config.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "symbol/elf_frames.h"
#include "symbol/elf_symtab.h"
#include "tests/support/elf_image.h"
#include "tests/support/tap.h"
#include "tests/unwind/cfi_bytes.h"
#include "unwind/cfi_table.h"
#include "unwind/dwarf.h"
#include "xtop/base/cleanup.h"
#include "xtop/unwind/orc.h"
#include "xtop/unwind/unwind.h"

static const struct elf_limits limits = { .symbols = 1 << 22,
					  .names_bytes = 1 << 30,
					  .sections = ELF_MAX_SECTIONS,
					  .frames_bytes = 256 << 20,
					  .inflated_bytes = 256 << 20 };

/* What is made of one file by one reader. */
struct contents {
	char message[256]; /* why the file, or its symbols, were refused; "": they were not */
	struct symtab *tab;
	struct build_id build_id;
	struct loads loads;
	struct unwind_tables tables;
	bool incomplete;
};

static void fatal(struct xtop_error *error)
{
	if (!error)
		return;
	printf("Bail out! %s\n", error_message(error));
	exit(99);
}

static void keep_message(struct contents *contents, struct xtop_error *error)
{
	if (error)
		snprintf(contents->message, sizeof(contents->message), "%s", error_message(error));
	error_destroy(error);
}

/* FILE was opened with ERROR. */
static void fill(struct contents *contents, struct elf_file *file, struct xtop_error *error)
{
	struct elf_frames frames;
	struct elf_symtab_counts counts;

	*contents = (struct contents){ 0 };
	fatal(symtab_create(&contents->tab));
	if (!error) {
		keep_message(contents, elf_read_symbols(file, contents->tab, &counts));
		elf_find_build_id(file, &contents->build_id);
		elf_get_loads(file, &contents->loads);
		elf_read_frames(file, &frames);
		fatal(unwind_tables_build_cfi(&contents->tables, &frames.sections));
		contents->tables.orc = elf_read_orc(file);
		elf_frames_deinit(&frames);
		contents->incomplete = file->incomplete;
	}
	keep_message(contents, error);
	fatal(symtab_seal(contents->tab));
	elf_file_deinit(file);
}

static void contents_deinit(struct contents *contents)
{
	symtab_destroy(contents->tab);
	unwind_tables_deinit(&contents->tables);
}

static void read_guest(struct contents *contents, const int *fd)
{
	struct bytes bytes = elf_image_file_bytes(fd);
	struct elf_file file = { 0 };
	struct xtop_error *error = elf_file_init_guest(&file, &bytes, "file", &limits);

	fill(contents, &file, error);
}

static void read_host(struct contents *contents, int fd)
{
	struct elf_file file = { 0 };
	struct xtop_error *error = elf_file_init_host(&file, fd, "file", &limits);

	fill(contents, &file, error);
}

/* --- comparing -------------------------------------------------------------------------------- */

static bool same_symbols(const struct symtab *a, const struct symtab *b)
{
	if (symtab_count(a) != symtab_count(b))
		return false;
	for (size_t i = 0; i < symtab_count(a); i++) {
		struct symtab_entry left = symtab_at(a, i), right = symtab_at(b, i);

		if (left.start != right.start || left.end != right.end ||
		    strcmp(left.name, right.name) != 0)
			return false;
	}
	return true;
}

static bool same_build_id(const struct build_id *a, const struct build_id *b)
{
	return a->size_bytes == b->size_bytes && a->address == b->address &&
	       memcmp(a->bytes, b->bytes, a->size_bytes) == 0;
}

static bool same_loads(const struct loads *a, const struct loads *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (a->loads[i].offset != b->loads[i].offset ||
		    a->loads[i].address != b->loads[i].address ||
		    a->loads[i].file_bytes != b->loads[i].file_bytes ||
		    a->loads[i].executable != b->loads[i].executable)
			return false;
	return true;
}

static bool same_cfi(const struct cfi *a, const struct cfi *b)
{
	if (!a || !b)
		return a == b;
	return a->base == b->base && a->span == b->span && a->n_rows == b->n_rows &&
	       a->n_rules == b->n_rules && a->n_fdes == b->n_fdes && a->n_refused == b->n_refused &&
	       a->n_asks == b->n_asks &&
	       memcmp(a->addresses, b->addresses, a->n_rows * sizeof(*a->addresses)) == 0 &&
	       memcmp(a->row_rules, b->row_rules, a->n_rows * sizeof(*a->row_rules)) == 0 &&
	       memcmp(a->rules, b->rules, a->n_rules * sizeof(*a->rules)) == 0;
}

static bool same_orc(const struct orc *a, const struct orc *b)
{
	_cleanup_free_ void *left = NULL, *right = NULL;
	size_t size_bytes;

	if (!a || !b)
		return a == b;
	size_bytes = orc_pack_bytes(a);
	if (orc_pack_bytes(b) != size_bytes)
		return false;
	left = calloc(1, size_bytes);
	right = calloc(1, size_bytes);
	orc_pack(a, left);
	orc_pack(b, right);
	return memcmp(left, right, size_bytes) == 0;
}

static bool same_tables(const struct unwind_tables *a, const struct unwind_tables *b)
{
	return same_cfi(a->cfi, b->cfi) && same_orc(a->orc, b->orc) && !a->dwarf == !b->dwarf &&
	       (!a->dwarf || dwarf_memory_bytes(a->dwarf) == dwarf_memory_bytes(b->dwarf));
}

/* What a file must have at least. */
struct wanted {
	size_t n_symbols, n_fdes;
	bool build_id, orc;
};

static void check_fd(const char *what, int fd, struct wanted wanted)
{
	struct contents guest, host;
	const struct cfi *cfi;
	size_t n_fdes;

	read_guest(&guest, &fd);
	read_host(&host, fd);
	cfi = host.tables.cfi;
	check(!*guest.message && !*host.message && !guest.incomplete && !host.incomplete,
	      "%s: both readers accept it%s%s", what, guest.message, host.message);
	n_fdes = cfi ? cfi->n_fdes : 0;
	check(symtab_count(host.tab) >= wanted.n_symbols && n_fdes >= wanted.n_fdes,
	      "%s: %zu symbols, %zu functions with CFI", what, symtab_count(host.tab), n_fdes);
	check(!wanted.build_id || host.build_id.size_bytes, "%s: a build-id if it has one", what);
	check(!wanted.orc || host.tables.orc, "%s: ORC tables if it has them", what);
	check(same_symbols(guest.tab, host.tab), "%s: the same symbols", what);
	check(same_build_id(&guest.build_id, &host.build_id), "%s: the same build-id", what);
	check(same_loads(&guest.loads, &host.loads), "%s: the same segments", what);
	check(same_tables(&guest.tables, &host.tables), "%s: the same unwind tables", what);
	contents_deinit(&guest);
	contents_deinit(&host);
}

static void check_path(const char *path, struct wanted wanted)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		printf("ok %u - # SKIP no %s\n", ++tap_points, path);
	else
		check_fd(path, fd, wanted);
}

/* --- real files ------------------------------------------------------------------------------- */

static char libc_path[256];

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	snprintf(libc_path, sizeof(libc_path), "%s", info->dlpi_name);
	return 1;
}

/*
 * A copy of PATH without section headers: .dynsym is found by PT_DYNAMIC, .eh_frame by its segment.
 */
static void check_without_sections(const char *path)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC), fd = -1;
	size_t size = (size_t)lseek(from, 0, SEEK_END);
	_cleanup_free_ unsigned char *bytes = malloc(size);
	Elf64_Ehdr *header = (void *)bytes;

	if (!bytes || pread(from, bytes, size, 0) != (ssize_t)size)
		fatal(error_create("%s: cannot be read", path));
	header->e_shoff = 0;
	header->e_shnum = header->e_shstrndx = 0;
	fd = elf_image_bytes_fd(bytes, size);
	check_fd("no section headers", fd, (struct wanted){ 1000, 1000, true, false });
}

static void test_files(void)
{
	const char *source = getenv("srcdir");
	char path[512];

	dl_iterate_phdr(find_libc, NULL);
	check_path("/proc/self/exe", (struct wanted){ 50, 50, true, false });
	check_path(libc_path, (struct wanted){ 1000, 1000, true, false });
	check_without_sections(libc_path);
	check_path("tests/guests/tiny/tiny-fp", (struct wanted){ 20, 0, false, false });
	check_path("tests/guests/tiny/tiny-nofp", (struct wanted){ 20, 20, false, false });
	snprintf(path, sizeof(path), "%s/tests/unwind/recorded/tiny-nofp.elf",
		 source ? source : ".");
	check_path(path, (struct wanted){ 0, 20, false, false });
}

/* --- made ones -------------------------------------------------------------------------------- */

#define TEXT    0xffffffff81000000ULL
#define IPS     0xffffffff82000000ULL
#define ENTRIES 0xffffffff82100000ULL
#define N       64
#define STEP    0x40

static const char names[] = "\0.orc_unwind_ip\0.orc_unwind\0.debug_frame\0f";
enum { NAME_IPS = 1, NAME_ENTRIES = 16, NAME_DEBUG = 28, NAME_F = 41 };

static void add(struct elf_image *image, uint32_t name, uint64_t address, const void *bytes,
		size_t size_bytes)
{
	elf_image_section(image,
			  (Elf64_Shdr){ .sh_name = name,
					.sh_type = SHT_PROGBITS,
					.sh_flags = SHF_ALLOC,
					.sh_addr = address,
					.sh_size = size_bytes,
					.sh_addralign = 1 },
			  bytes);
}

/* As a vmlinux: code, ORC tables of Linux 6.4 and later, and a function. */
static void make_kernel(struct elf_image *image)
{
	const Elf64_Sym f = { NAME_F, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, TEXT, 8 };
	struct {
		int16_t sp_offset, bp_offset;
		uint16_t flags;
	} entries[N];
	int32_t ips[N];

	for (int i = 0; i < N; i++) {
		ips[i] = (int32_t)(TEXT + i * STEP - (IPS + i * sizeof(ips[0])));
		entries[i].sp_offset = (int16_t)(8 * (i + 1));
		entries[i].bp_offset = 0;
		entries[i].flags = 0x0205;
	}
	elf_image_init(image);
	elf_image_text(image, TEXT, N * STEP);
	add(image, NAME_IPS, IPS, ips, sizeof(ips));
	add(image, NAME_ENTRIES, ENTRIES, entries, sizeof(entries));
	elf_image_symbols(image, SHT_SYMTAB, &f, 1, names, sizeof(names));
	image->header.e_shstrndx = 4; /* the names of sections are among those of symbols */
}

static void test_kernel(void)
{
	struct elf_image image;
	_cleanup_close_ int fd = -1;

	make_kernel(&image);
	fd = elf_image_fd(&image);
	check_fd("a made kernel", fd, (struct wanted){ 1, 0, false, true });
}

/* Call-frame information in .debug_frame alone. */
static void test_debug_frame(void)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 }; /* CFA rsp + 8 */
	const Elf64_Sym f = { NAME_F, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, MADE_CODE, 16 };
	uint64_t pointers[2] = { MADE_CODE, 16 };
	struct cfi_bytes made = { .debug_frame = true };
	struct elf_image image;
	_cleanup_close_ int fd = -1;

	bytes_cie(&made, "", NULL, 0, program, sizeof(program));
	bytes_fde(&made, pointers, sizeof(pointers), NULL, 0);
	elf_image_init(&image);
	elf_image_text(&image, MADE_CODE, 16);
	add(&image, NAME_DEBUG, 0, made.bytes, made.n);
	elf_image_symbols(&image, SHT_SYMTAB, &f, 1, names, sizeof(names));
	image.header.e_shstrndx = 3;
	fd = elf_image_fd(&image);
	check_fd("a made .debug_frame", fd, (struct wanted){ 1, 1, false, false });
}

/* WANTED "": it is not refused. */
static void check_refused(const char *what, const struct elf_image *image, const char *wanted)
{
	_cleanup_close_ int fd = elf_image_fd(image);
	struct contents guest, host;

	read_guest(&guest, &fd);
	read_host(&host, fd);
	check(strstr(guest.message, wanted) && !*guest.message == !*wanted, "%s, guest: \"%s\"",
	      what, guest.message);
	check(strstr(host.message, wanted) && !*host.message == !*wanted, "%s, host: \"%s\"", what,
	      host.message);
	contents_deinit(&guest);
	contents_deinit(&host);
}

static void test_refused(void)
{
	struct elf_image good, image;

	make_kernel(&good);
	image = good;
	image.header.e_shentsize = 40;
	check_refused("section headers of another size", &image,
		      "damaged ELF file: section headers");
	image = good;
	image.header.e_shnum = 0x8000;
	check_refused("section headers behind the file's end", &image,
		      "damaged ELF file: section headers");
	image = good;
	image.header.e_phnum = PN_XNUM;
	check_refused("segments behind the file's end", &image, "");
	image = good;
	image.header.e_shstrndx = SHN_XINDEX;
	image.sections[0].sh_link = 0x7fffffff;
	check_refused("names in a section that is not there", &image, "");
	image = good;
	image.sections[5].sh_offset = UINT64_MAX - 8;
	check_refused("a symbol table at the end of all numbers", &image,
		      "damaged ELF file: symbol table");
	image = good;
	image.sections[5].sh_size -= 4;
	check_refused("a symbol table with a part of a symbol", &image, "");
	image = good;
	image.sections[5].sh_size = 1ULL << 62;
	check_refused("a symbol table of exabytes", &image, "more than 4194304 symbols");
	image = good;
	image.sections[4].sh_size = 1ULL << 40;
	check_refused("names of a terabyte", &image, "more than 1024 MiB of symbol names");
	image = good;
	image.header.e_machine = EM_PPC64;
	check_refused("another machine", &image, "for another machine");
}

/* More sections than any file has, as section 0 says. libelf would take memory for them. */
static void test_many_sections(void)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr first;
	} file = { .first.sh_size = ELF_MAX_SECTIONS + 1 };
	_cleanup_close_ int fd = -1;
	struct contents guest, host;
	struct elf_image image;

	elf_image_init(&image);
	file.header = image.header;
	file.header.e_shnum = 0;
	file.header.e_shoff = sizeof(file.header);
	fd = elf_image_bytes_fd(&file, sizeof(file));
	read_guest(&guest, &fd);
	read_host(&host, fd);
	check_string(guest.message, "file: more than 131072 sections", "a file of the guest");
	check_string(host.message, "file: more than 131072 sections", "a file of dom0");
	contents_deinit(&guest);
	contents_deinit(&host);
}

/* Another process makes the file shorter while it is read: no SIGBUS. */
static void test_shorter(void)
{
	struct elf_file file = { 0 };
	struct elf_blob blob = { 0 };
	struct elf_image image;
	_cleanup_close_ int fd = -1;

	make_kernel(&image);
	fd = elf_image_fd(&image);
	fatal(elf_file_init_host(&file, fd, "file", &limits));
	if (ftruncate(fd, sizeof(Elf64_Ehdr)))
		fatal(error_create("cannot be truncated"));
	check(!elf_load_section(&file, 2, &blob) && file.incomplete,
	      "a section that went away is not read");
	file.incomplete = false;
	check(!elf_load(&file, sizeof(Elf64_Ehdr), 16, &blob) && file.incomplete,
	      "a range that went away is not read");
	elf_file_deinit(&file);
}

/* --- files that would cost much --------------------------------------------------------------- */

#define MIB            ((size_t)1 << 20)
#define N_REPEATED     400
#define REPEATED_NAMES "\0.debug_frame"

/* N_REPEATED sections like SECTION, each a page behind the one before it; HEAD begins each. */
static int make_repeated(Elf64_Shdr section, const void *head, size_t head_bytes)
{
	static Elf64_Shdr sections[2 + N_REPEATED];
	struct elf_image image;
	int fd;

	elf_image_init(&image);
	image.header.e_shnum = 2 + N_REPEATED;
	image.header.e_shstrndx = 1;
	image.header.e_shoff = MIB;
	sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				    .sh_offset = sizeof(image.header),
				    .sh_size = sizeof(REPEATED_NAMES) };
	for (size_t i = 0; i < N_REPEATED; i++) {
		sections[2 + i] = section;
		sections[2 + i].sh_offset = 2 * MIB + 4096 * i;
	}
	fd = elf_image_bytes_fd(&image.header, sizeof(image.header));
	if (pwrite(fd, REPEATED_NAMES, sizeof(REPEATED_NAMES), sizeof(image.header)) < 0 ||
	    pwrite(fd, sections, sizeof(sections), MIB) != sizeof(sections) ||
	    ftruncate(fd, 8 * MIB))
		fatal(error_create("cannot be written"));
	for (size_t i = 0; i < N_REPEATED; i++)
		if (pwrite(fd, head, head_bytes, (off_t)sections[2 + i].sh_offset) < 0)
			fatal(error_create("cannot be written"));
	return fd;
}

/* peak_bytes() is the most memory in use from now on (proc(5), clear_refs). */
static void peak_restart(void)
{
	_cleanup_close_ int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "5", 1) != 1)
		printf("# the peak is that since the program's start\n");
}

static size_t peak_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (size_t)usage.ru_maxrss << 10;
}

/* Sections that lie over each other: all of them have N_REPEATED MiB, the file has 8. */
static void check_repeated(const char *what, Elf64_Shdr section, const void *head,
			   size_t head_bytes)
{
	_cleanup_close_ int fd = make_repeated(section, head, head_bytes);
	struct contents host;
	size_t before;

	peak_restart();
	before = peak_bytes();
	read_host(&host, fd);
	check(peak_bytes() - before < 64 * MIB, "%s: %zu MiB", what,
	      (peak_bytes() - before) / MIB);
	check(!host.build_id.size_bytes && !host.tables.cfi, "%s: nothing found", what);
	contents_deinit(&host);
}

static void test_repeated(void)
{
	const Elf64_Chdr damaged = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 4 * MIB };
	const Elf64_Nhdr note = { .n_descsz = MIB - sizeof(note) };

	check_repeated("many notes", (Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_size = MIB }, &note,
		       sizeof(note));
	check_repeated("many compressed sections",
		       (Elf64_Shdr){ .sh_name = 1,
				     .sh_type = SHT_PROGBITS,
				     .sh_flags = SHF_COMPRESSED,
				     .sh_size = MIB },
		       &damaged, sizeof(damaged));
}

/* --- damage ----------------------------------------------------------------------------------- */

/* This program, its headers, symbol and string table hit at random. */
static void test_damage(void)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t size = (size_t)lseek(own, 0, SEEK_END);
	_cleanup_free_ unsigned char *good = malloc(size), *bytes = malloc(size);
	unsigned accepted = 0, refused = 0, different = 0, alone = 0;
	uint32_t state = 1;

	if (!good || !bytes || pread(own, good, size, 0) != (ssize_t)size)
		exit(99);
	for (int round = 0; round < 200; round++) {
		_cleanup_close_ int fd = -1;
		struct contents guest, host;

		memcpy(bytes, good, size);
		for (int i = 0; i < 1 + 10 * (round % 3); i++) {
			size_t at;

			state = state * 1664525 + 1013904223;
			/* section headers are at the end */
			at = i % 2 ? state % size : size - 1 - state % (size / 16);
			bytes[i % 8 == 2 ? 16 + at % 48 : at] = state >> 24;
		}
		state = state * 1664525 + 1013904223;
		fd = elf_image_bytes_fd(bytes, round % 5 ? size : state % size);
		read_guest(&guest, &fd);
		read_host(&host, fd);
		if (*guest.message && *host.message)
			refused++;
		else if (*guest.message || *host.message)
			alone++;
		else if (same_symbols(guest.tab, host.tab) &&
			 same_tables(&guest.tables, &host.tables))
			accepted++;
		else
			different++;
		contents_deinit(&guest);
		contents_deinit(&host);
	}
	printf("# damaged: %u read, %u refused, %u refused by one reader\n", accepted, refused,
	       alone);
	check(accepted > 20 && refused > 20, "damaged files are read or refused");
	check_u64(different, 0, "read differently");
}

/* More program headers than the file has room for: both readers see none. */
static void test_many_segments(void)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = -1;
	size_t size = (size_t)lseek(own, 0, SEEK_END);
	_cleanup_free_ unsigned char *bytes = malloc(size);
	struct contents guest, host;
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;

	if (!bytes || pread(own, bytes, size, 0) != (ssize_t)size)
		exit(99);
	header->e_phnum = (Elf64_Half)(size / sizeof(Elf64_Phdr) + 1);
	header->e_shnum = 0;
	header->e_shoff = 0;
	fd = elf_image_bytes_fd(bytes, size);
	read_guest(&guest, &fd);
	read_host(&host, fd);
	check(!guest.tables.cfi && !host.tables.cfi && same_tables(&guest.tables, &host.tables),
	      "too many segments: neither reader finds unwind tables");
	contents_deinit(&guest);
	contents_deinit(&host);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		check_path(argv[i], (struct wanted){ 0, 0, false, false });
	test_files();
	test_kernel();
	test_debug_frame();
	test_refused();
	test_many_sections();
	test_shorter();
	test_repeated();
	test_many_segments();
	test_damage();
	return tap_done();
}
