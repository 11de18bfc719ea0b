/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads one file by both readers, as a file of the guest and as a file on dom0's disk: functions,
 * build-id, segments and unwind tables are equal. Files damaged at random: no reader crashes, and
 * what both accept is equal.
 *
 *   test_elf_host [FILE]...    compares these, too: a vmlinux, for example
 */
#include "config.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>

#include "elf_contents.h"
#include "tests/unwind/cfi_bytes.h"
#include "xtop/base/cleanup.h"

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
		must(error_create("%s: cannot be read", path));
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

/* --- made files ------------------------------------------------------------------------------- */

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
	add_section(&image, NAME_DEBUG, 0, made.bytes, made.n);
	elf_image_symbols(&image, SHT_SYMTAB, &f, 1, made_names, sizeof(made_names));
	image.header.e_shstrndx = 3;
	fd = elf_image_fd(&image);
	check_fd("a made .debug_frame", fd, (struct wanted){ 1, 1, false, false });
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
	must(elf_file_init_host(&file, fd, "file", &limits));
	if (ftruncate(fd, sizeof(Elf64_Ehdr)))
		must(error_create("cannot be truncated"));
	check(!elf_load_section(&file, 2, &blob) && file.incomplete,
	      "a section that went away is not read");
	file.incomplete = false;
	check(!elf_load(&file, sizeof(Elf64_Ehdr), 16, &blob) && file.incomplete,
	      "a range that went away is not read");
	elf_file_deinit(&file);
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
	check_u64(different, 0, "damaged files that the two readers read differently");
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		check_path(argv[i], (struct wanted){ 0, 0, false, false });
	test_files();
	test_kernel();
	test_debug_frame();
	test_shorter();
	test_damage();
	return tap_done();
}
