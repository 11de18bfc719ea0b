/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that both readers refuse, or of which they read only a part. Files that would cost too much
 * are refused before libelf sees them.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "elf_contents.h"
#include "xtop/base/cleanup.h"

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
	check_refused("section headers after the file's end", &image,
		      "damaged ELF file: section headers");
	image = good;
	image.header.e_phnum = PN_XNUM;
	check_refused("segments after the file's end", &image, "");
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
	check_string(guest.message, "file: more than 131072 sections",
		     "too many sections in a file of the guest");
	check_string(host.message, "file: more than 131072 sections",
		     "too many sections in a file of dom0");
	contents_deinit(&guest);
	contents_deinit(&host);
}

/* More program headers than the file's first MiB has room for: both readers see none. */
static void test_many_segments(void)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = -1;
	size_t size = 1 << 20;
	_cleanup_free_ unsigned char *bytes = calloc(1, size);
	struct contents guest, host;
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;

	if (!bytes || pread(own, bytes, size, 0) <= 0)
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

/* --- files that would cost much --------------------------------------------------------------- */

#define MIB            ((size_t)1 << 20)
#define N_REPEATED     400
#define REPEATED_NAMES "\0.debug_frame"

/* N_REPEATED sections like SECTION, each a page after the one before it; HEAD begins each. */
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
		must(error_create("cannot be written"));
	for (size_t i = 0; i < N_REPEATED; i++)
		if (pwrite(fd, head, head_bytes, (off_t)sections[2 + i].sh_offset) < 0)
			must(error_create("cannot be written"));
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
	check(peak_bytes() - before < 64 * MIB, "%s: %zu MiB more memory", what,
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

int main(void)
{
	test_refused();
	test_many_sections();
	test_many_segments();
	test_repeated();
	return tap_done();
}
