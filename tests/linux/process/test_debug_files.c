/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files in dom0: by build-id and by .gnu_debuglink, in a folder and below --root; files of
 * another build, damaged ones, names that lead elsewhere. Then real files: this program, taken apart
 * by objcopy and strip as packages do, and libc with Debian's libc6-dbg, if that is installed.
 */
#include "config.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/process/debug_files.h"
#include "tests/support/elf_image.h"
#include "tests/support/must.h"
#include "tests/support/own_program.h"
#include "tests/support/program.h"
#include "tests/support/shell.h"
#include "tests/support/tap.h"
#include "xtop/elf/elf.h"

#define ID_PATH  "/.build-id/07/07070707070707.debug" /* path by the build-id of program_make(.., 7) */
#define LINK     "prog.debug"

static char top[] = "/tmp/xtop-debug-XXXXXX";
static struct os_folders folders;
static struct debug_places places = { .folders = &folders };

static void write_file(const char *path, const void *bytes, size_t n)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", top, path);
	shell("mkdir -p $(dirname %s)", whole);
	file = fopen(whole, "w");
	if (!file || fwrite(bytes, n, 1, file) != 1 || fclose(file))
		exit(99);
}

static void remove_file(const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", top, path);
	if (unlink(whole))
		exit(99);
}

/* Another way to the same CRC-32: bit by bit. */
static uint32_t crc_of(const void *bytes, size_t n)
{
	uint32_t crc = ~0U;

	for (size_t i = 0; i < n; i++) {
		crc ^= ((const uint8_t *)bytes)[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
	}
	return ~crc;
}

/* --- made-up files ---------------------------------------------------------------------------- */

/* A stripped program with build-id ID (0: none), and a link with CRC to NAME if that is not NULL. */
static struct image *make_image(unsigned char id, const char *name, uint32_t crc)
{
	struct image *image;

	must(image_create("prog", &image));
	image->stripped = true;
	if (id) {
		image->build_id.size_bytes = 8;
		memset(image->build_id.bytes, id, 8);
	}
	if (name) {
		image->link = malloc(sizeof(*image->link) + strlen(name) + 1);
		image->link->crc = crc;
		strcpy(image->link->name, name);
	}
	return image;
}

static const char *name_at(const struct image *image, uint64_t address)
{
	struct symtab_entry entry;

	return image->symtab && symtab_find(image->symtab, address, &entry) ? entry.name : "";
}

/* WANT: the name that IMAGE, which is given up, gets. "": none. */
static void check_names(const char *what, struct image *image, const char *path, const char *want)
{
	bool found = debug_files_read(&places, image, path);

	check_string(name_at(image, PROGRAM_FUNCTION), want, what);
	check(found == !!*want && image->stripped == !found, "%s: and says so", what);
	image_unref(image);
}

static void test_by_id(void)
{
	struct program debug;

	program_make(&debug, 0, "by_id", 7);
	write_file("/debug" ID_PATH, debug.bytes, sizeof(debug.bytes));
	check_names("by build-id", make_image(7, NULL, 0), NULL, "by_id");
	check_names("another build-id", make_image(8, NULL, 0), NULL, "");
	check_names("no build-id", make_image(0, NULL, 0), NULL, "");
	program_make(&debug, 0, "forged", 6);
	write_file("/debug" ID_PATH, debug.bytes, sizeof(debug.bytes));
	check_names("the file has another build-id than its name", make_image(7, NULL, 0), NULL,
		    "");
	program_make(&debug, 0, "no_id", 0);
	write_file("/debug" ID_PATH, debug.bytes, sizeof(debug.bytes));
	check_names("the file has no build-id", make_image(7, NULL, 0), NULL, "");
	program_make(&debug, 0, NULL, 7);
	write_file("/debug" ID_PATH, debug.bytes, sizeof(debug.bytes));
	check_names("the file has no functions", make_image(7, NULL, 0), NULL, "");
	write_file("/debug" ID_PATH, "no ELF", 6);
	check_names("the file is no ELF file", make_image(7, NULL, 0), NULL, "");
	remove_file("/debug" ID_PATH);
	program_make(&debug, 0, "below_root", 7);
	write_file("/root/usr/lib/debug" ID_PATH, debug.bytes, sizeof(debug.bytes));
	check_names("by build-id, below --root", make_image(7, NULL, 0), NULL, "below_root");
	remove_file("/root/usr/lib/debug" ID_PATH);
}

/* As Fedora's packages have them: .build-id/ has relative links. */
static void test_symlink(void)
{
	struct program debug;

	program_make(&debug, 0, "linked", 7);
	write_file("/debug/usr/bin/prog.debug", debug.bytes, sizeof(debug.bytes));
	shell("ln -s ../../usr/bin/prog.debug %s/debug" ID_PATH, top);
	check_names("a link within the folder", make_image(7, NULL, 0), NULL, "linked");
	remove_file("/debug" ID_PATH);
	write_file("/outside/prog.debug", debug.bytes, sizeof(debug.bytes));
	shell("ln -s ../../../outside/prog.debug %s/debug" ID_PATH, top);
	check_names("a link out of the folder", make_image(7, NULL, 0), NULL, "");
	remove_file("/debug" ID_PATH);
	remove_file("/debug/usr/bin/prog.debug");
}

static void check_link(const char *file, const char *what)
{
	struct program debug;
	uint32_t crc;

	program_make(&debug, 0, "by_link", 0);
	crc = crc_of(debug.bytes, sizeof(debug.bytes));
	write_file(file, debug.bytes, sizeof(debug.bytes));
	check_names(what, make_image(7, LINK, crc), "/usr/bin/prog", "by_link");
	check_names("a wrong CRC", make_image(7, LINK, crc ^ 1), "/usr/bin/prog", "");
	check_names("another name", make_image(7, "other.debug", crc), "/usr/bin/prog", "");
	check_names("the path is not known", make_image(7, LINK, crc), NULL, "");
	program_make(&debug, 0, "other_build", 6);
	write_file(file, debug.bytes, sizeof(debug.bytes));
	crc = crc_of(debug.bytes, sizeof(debug.bytes));
	check_names("the right CRC, but another build-id", make_image(7, LINK, crc),
		    "/usr/bin/prog", "");
	check_names("the program has no build-id, so the CRC decides", make_image(0, LINK, crc),
		    "/usr/bin/prog", "other_build");
	remove_file(file);
}

static void test_by_link(void)
{
	struct program debug;

	check_link("/debug/usr/bin/" LINK, "by link, in the folder");
	check_link("/root/usr/bin/" LINK, "by link, beside the program");
	check_link("/root/usr/bin/.debug/" LINK, "by link, in .debug beside it");
	check_link("/root/usr/lib/debug/usr/bin/" LINK, "by link, below --root");
	program_make(&debug, 0, "outside", 0);
	write_file("/outside/" LINK, debug.bytes, sizeof(debug.bytes));
	check_names("a path out of the folder",
		    make_image(0, LINK, crc_of(debug.bytes, sizeof(debug.bytes))),
		    "/../outside/prog", "");
}

/* .gnu_debuglink as objcopy writes it, and damaged in each length. */
static void test_link_section(void)
{
	static const char names[] = "\0.gnu_debuglink\0.shstrtab";
	unsigned char section[64] = LINK "\0\0\x78\x56\x34\x12";
	static const char slash[] = "../a\0\0\0\0\1\2\3\4";
	struct elf_limits limits = { .sections = 100 };
	size_t whole = sizeof(LINK) + 1 + 4;

	for (size_t size = 0; size <= whole + sizeof(slash); size++) {
		bool is_slash = size > whole;
		struct elf_debug_link link = { .crc = 0 };
		struct elf_image image;
		struct elf_file file;
		struct bytes bytes;
		bool found;
		int fd;

		elf_image_init(&image);
		image.header.e_shstrndx = 2;
		elf_image_section(&image,
				  (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS,
						.sh_size = is_slash ? size - whole : size },
				  is_slash ? slash : (const char *)section);
		elf_image_section(&image,
				  (Elf64_Shdr){ .sh_name = 16, .sh_type = SHT_STRTAB,
						.sh_size = sizeof(names) },
				  names);
		fd = elf_image_fd(&image);
		bytes = elf_image_file_bytes(&fd);
		must(elf_file_init_guest(&file, &bytes, "prog", &limits));
		found = elf_find_debug_link(&file, &link);
		if (size == whole)
			check(found && link.crc == 0x12345678 && !strcmp(link.name, LINK),
			      "a section .gnu_debuglink is read");
		else if (found)
			check(false, "%zu bytes of a section are no link", size);
		elf_file_deinit(&file);
		close(fd);
	}
}

/* --- real files ------------------------------------------------------------------------------- */

/* A function of this program that nothing exports. */
static __attribute__((noinline, used)) int test_of_ours(int x)
{
	__asm__ volatile("");
	return 2 * x;
}

static struct image *read_image(const char *path)
{
	struct loads loads = { .n = 0 };
	struct image *image;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	must(image_create("real", &image));
	must(image_read_host_elf(image, fd, &loads));
	close(fd);
	return image;
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_addr;
	return 1; /* the program is the first */
}

/* WITH_ID: by its build-id; else by its link. */
static void check_own(bool with_id)
{
	uint64_t bias = 0, address;
	struct image *image;
	char path[128];

	dl_iterate_phdr(find_bias, &bias);
	address = (uint64_t)&test_of_ours - bias;
	shell("cd %s && rm -rf debug/* debug/.build-id && cp %s whole && "
	    "objcopy --only-keep-debug whole own.debug && cp whole own && "
	    "%s strip own && objcopy --add-gnu-debuglink=own.debug own",
	    top, own_program(),
	    with_id ? "" : "objcopy -R .note.gnu.build-id own.debug && "
			   "objcopy -R .note.gnu.build-id own && ");
	snprintf(path, sizeof(path), "%s/own", top);
	image = read_image(path);
	check_string(name_at(image, address), "", "a real program is stripped");
	check(image->stripped, "a stripped program is known to be stripped");
	check(!debug_files_read(&places, image, "/opt/own"),
	      "no debug file is found in an empty folder");
	if (with_id)
		shell("cd %s && id=$(readelf -n own | sed -n 's/.*Build ID: //p') && "
		    "mkdir -p debug/.build-id/${id%%${id#??}} && "
		    "cp own.debug debug/.build-id/${id%%${id#??}}/${id#??}.debug", top);
	else
		shell("cd %s && mkdir -p debug/opt && cp own.debug debug/opt/", top);
	check(debug_files_read(&places, image, "/opt/own"),
	      "the debug file of a real program is found");
	check_string(name_at(image, address), "test_of_ours",
		     with_id ? "objcopy --only-keep-debug, by build-id"
			     : "a debug file of objcopy is found by .gnu_debuglink");
	image_unref(image);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	snprintf(context, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

static void test_libc(void)
{
	struct os_folders system = { .n = 1 };
	struct debug_places there = { .folders = &system, .root_fd = -1 };
	char path[PATH_MAX] = "";
	struct symtab_entry entry;
	struct image *image;
	size_t n_before, n_after;
	bool found = false;

	system.fds[0] = open("/usr/lib/debug", O_PATH | O_DIRECTORY | O_CLOEXEC);
	dl_iterate_phdr(find_libc, path);
	image = read_image(path);
	n_before = image && image->symtab ? symtab_count(image->symtab) : 0;
	if (system.fds[0] < 0 || !image || !image->symtab ||
	    !debug_files_read(&there, image, NULL)) {
		printf("ok %u - # SKIP no debug file of libc: libc6-dbg has it\n", ++tap_points);
		image_unref(image);
		return;
	}
	n_after = symtab_count(image->symtab);
	for (size_t i = 0; i < n_after && !found; i++) {
		entry = symtab_at(image->symtab, i);
		found = !strcmp(entry.name, "_int_malloc");
	}
	check(found, "libc6-dbg names _int_malloc, which libc does not export");
	check(n_after > n_before, "%zu functions, %zu without it", n_after, n_before);
	image_unref(image);
	close(system.fds[0]);
}

static int open_folder(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		exit(99);
	return fd;
}

int main(void)
{
	if (!mkdtemp(top))
		exit(99);
	shell("cd %s && mkdir -p debug/.build-id/07 empty root", top);
	places.root_fd = open_folder("root");
	folders.fds[0] = open_folder("empty");
	folders.fds[1] = open_folder("debug");
	folders.n = 2;
	if (test_of_ours(1) != 2)
		exit(99);
	test_by_id();
	test_symlink();
	test_by_link();
	test_link_section();
	check_own(true);
	check_own(false);
	test_libc();
	shell("rm -r %s", top);
	return tap_done();
}
