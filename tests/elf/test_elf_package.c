/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The package that a file says it comes from: notes as ld makes them, damaged ones, and a real file. */
#include "config.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/elf_image.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/elf/elf.h"

#define REAL "/lib/x86_64-linux-gnu/libsystemd.so.0" /* Debian builds systemd with such a note */

static const struct elf_limits limits = { .sections = 100 };

/* A note of type 0xcafe1a7e, "FDO". N: bytes of TEXT. */
static bool read_note(const char *text, size_t n, uint32_t type, struct elf_package *package)
{
	struct {
		Elf64_Nhdr header;
		char name[4], text[4096];
	} note = { { 4, n, type }, "FDO", "" };
	struct elf_image image;
	struct elf_file file;
	struct bytes bytes;
	bool found;
	int fd;

	memcpy(note.text, text, n);
	elf_image_init(&image);
	elf_image_section(&image,
			  (Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_addralign = 4,
					.sh_size = sizeof(note.header) + 4 + ((n + 3) & ~3UL) },
			  &note);
	fd = elf_image_fd(&image);
	bytes = elf_image_file_bytes(&fd);
	must(elf_file_init_guest(&file, &bytes, "file", &limits));
	found = elf_find_package(&file, package);
	elf_file_deinit(&file);
	close(fd);
	return found;
}

static void check_package(const char *text, const char *name, const char *version,
			  const char *type)
{
	struct elf_package package;
	bool found = read_note(text, strlen(text) + 1, 0xcafe1a7e, &package);

	check(found == !!*name, "package note %s: read or refused", text);
	check_string(package.name, name, "name of the package");
	check_string(package.version, version, "version of the package");
	check_string(package.type, type, "type of the package");
}

static void test_real(void)
{
	struct elf_package package;
	struct elf_file file;
	int fd = open(REAL, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		printf("ok %u - # SKIP no " REAL "\n", ++tap_points);
		return;
	}
	must(elf_file_init_host(&file, fd, REAL, &limits));
	if (elf_find_package(&file, &package)) {
		check_string(package.name, "systemd", "a real file: its source package");
		check(package.version[0] >= '1' && package.version[0] <= '9',
		      "a real file: version %s", package.version);
	} else {
		printf("ok %u - # SKIP no package in " REAL "\n", ++tap_points);
	}
	elf_file_deinit(&file);
	close(fd);
}

int main(void)
{
	static const char whole[] = "{\"type\":\"deb\",\"os\":\"Debian\",\"name\":\"systemd\","
				    "\"version\":\"252.38-1~deb12u1\",\"architecture\":\"amd64\"}";
	struct elf_package package;
	char longest[1024] = "{\"name\":\"";

	check_package(whole, "systemd", "252.38-1~deb12u1", "deb");
	check_package(" { \"name\" : \"a\\\\b\\\"c\\nd\" ,\t\"version\":\"\"}", "a\\b\"c?d", "", "");
	check_package("{}", "", "", "");
	check_package("[\"name\"]", "", "", "");
	check_package("{\"x\":1,\"name\":\"a\"}", "", "", "");
	check_package("{\"name\":\"a\",\"deep\":{\"name\":\"b\"}}", "a", "", "");
	check_package("{\"name\":\"a\"", "a", "", "");
	check_package("{\"name\":\"a", "", "", "");
	check_package("{\"name\":\"\\", "", "", "");
	memset(longest + strlen(longest), 'x', 600);
	strcat(longest, "\"}");
	check(read_note(longest, strlen(longest) + 1, 0xcafe1a7e, &package) &&
		      strlen(package.name) == ELF_PACKAGE_TEXT_BYTES - 1,
	      "a package's long name is cut");
	check(!read_note(whole, sizeof(whole), 0xcafe1a7f, &package),
	      "a note of another type names no package");
	for (size_t n = 1; n < sizeof(whole) - 1; n++)
		if (read_note(whole, n, 0xcafe1a7e, &package) && n < 42)
			check(false, "%zu bytes of a package note have a name", n);
	test_real();
	return tap_done();
}
