/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The copy of a file's unwind tables that a recording carries gives the same tables as the file:
 * of this program, of libc, of a file without section headers. test_elf_orc_x86 has ORC.
 */
#include "config.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "unwind/cfi_table.h"
#include "xtop/symbol/image.h"

static struct image *read_tables(int fd)
{
	struct image *image;

	must(image_create("file", &image));
	must(image_read_tables(image, fd));
	return image;
}

static off_t size_of(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		abort();
	return status.st_size;
}

static bool cfi_equal(const struct cfi *a, const struct cfi *b)
{
	return a && b && a->base == b->base && a->span == b->span && a->n_rows == b->n_rows &&
	       a->n_rules == b->n_rules && a->n_functions == b->n_functions &&
	       a->n_fdes == b->n_fdes && a->n_asks == b->n_asks &&
	       !memcmp(a->addresses, b->addresses, a->n_rows * sizeof(a->addresses[0])) &&
	       !memcmp(a->row_rules, b->row_rules, a->n_rows * sizeof(a->row_rules[0])) &&
	       !memcmp(a->rules, b->rules, a->n_rules * sizeof(a->rules[0]));
}

/* Checks that the copy has at most 1 / PARTS of the file's size. Closes FD. */
static void check_copy(int fd, int parts, const char *what)
{
	struct image *image, *of_file, *of_copy;
	int copy;

	if (fd < 0)
		abort();
	of_file = read_tables(fd);
	must(image_create(what, &image));
	image_adopt_tables_file(image, fd);
	must(image_copy_tables(image, &copy));
	check(copy >= 0 && size_of(copy) * parts <= size_of(fd),
	      "%s: the copy of its tables has %jd bytes of %jd", what, (intmax_t)size_of(copy),
	      (intmax_t)size_of(fd));
	of_copy = read_tables(copy);
	check(cfi_equal(of_file->tables.cfi, of_copy->tables.cfi),
	      "%s: the copy has the same CFI rows: %u", what,
	      of_file->tables.cfi ? of_file->tables.cfi->n_rows : 0);
	check(!of_file->tables.dwarf == !of_copy->tables.dwarf,
	      "%s: the copy has the tables for libunwind", what);
	close(copy);
	image_unref(image);
	image_unref(of_file);
	image_unref(of_copy);
}

static int libc_find(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	*(int *)context = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	return 1;
}

/* A copy of this program without its section headers. */
static int open_stripped(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
	Elf64_Ehdr header;
	char buffer[65536];
	ssize_t n;

	to = memfd_create("stripped", MFD_CLOEXEC);
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, (size_t)n) != n)
			abort();
	close(from);
	if (pread(to, &header, sizeof(header), 0) != sizeof(header))
		abort();
	header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
	if (pwrite(to, &header, sizeof(header), 0) != sizeof(header))
		abort();
	return to;
}

static void test_none(void)
{
	struct image *image;
	int copy = 0;

	must(image_create("nm", &image));
	must(image_copy_tables(image, &copy));
	check(copy == -1, "an image of symbol text has no tables to copy");
	image_unref(image);
}

int main(void)
{
	int libc = -1;

	check_copy(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), 2, "this program");
	dl_iterate_phdr(libc_find, &libc);
	if (libc >= 0)
		check_copy(libc, 2, "libc");
	check_copy(open_stripped(), 1, "without section headers");
	test_none();
	return tap_done();
}
