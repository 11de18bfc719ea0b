/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .gnu_debugdata: a real program, made as Fedora's packages are made (GDB manual, MiniDebugInfo), by
 * both readers and as a file of -k. Then small files of our own: damaged in each byte, with pages
 * missing, larger than they may become, and with a dictionary that would take too much memory.
 */
#include "config.h"

#include <fcntl.h>
#include <link.h>
#include <lzma.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/elf_image.h"
#include "tests/support/make_xz.h"
#include "tests/support/must.h"
#include "tests/support/own_program.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"
#include "xtop/symbol/image.h"

#define MIB     (1U << 20)
#define ADDRESS (0x400000 + PROGRAM_FUNCTION)

static const char *name_at(const struct symtab *tab, uint64_t address)
{
	struct symtab_entry entry;

	return tab && symtab_find(tab, address, &entry) ? entry.name : "";
}

/* --- a real program --------------------------------------------------------------------------- */

/* A function that nothing exports, and one that the dynamic linker can find. */
static __attribute__((noinline, used)) int debugdata_hidden(int x)
{
	__asm__ volatile("");
	return 3 * x;
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_addr;
	return 1; /* the program is the first */
}

/* Follows the recipe of the GDB manual with this program. Returns false if a tool is missing. */
static bool make_mini(const char *folder)
{
	char command[8192];

	snprintf(command, sizeof(command),
		 "cd %s && cp %s whole && "
		 "nm -D whole --format=posix --defined-only | awk '{ print $1 }' | sort > dynsyms && "
		 "nm whole --format=posix --defined-only | "
		 "awk '{ if ($2 == \"T\" || $2 == \"t\" || $2 == \"D\") print $1 }' | sort > funcsyms && "
		 "comm -13 dynsyms funcsyms > keep_symbols && "
		 "objcopy --only-keep-debug whole debug && "
		 "objcopy -S --remove-section .gdb_index --remove-section .comment "
		 "--keep-symbols=keep_symbols debug mini && xz mini && "
		 "strip --strip-all -R .comment -o binary whole && cp binary bare && "
		 "objcopy --add-section .gnu_debugdata=mini.xz binary",
		 folder, own_program());
	return system(command) == 0;
}

static int open_in(const char *folder, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		exit(99);
	return fd;
}

static void check_readers(int fd, uint64_t address, const char *want, const char *what)
{
	struct loads loads = { .n = 0 };
	struct image *guest, *host;
	struct bytes bytes = elf_image_file_bytes(&fd);

	must(image_create("guest", &guest));
	must(image_create("host", &host));
	must(image_read_elf(guest, &bytes));
	must(image_read_host_elf(host, fd, &loads));
	check_string(name_at(guest->symtab, address), want, what);
	check_string(name_at(host->symtab, address), want,
		     "symbol of .gnu_debugdata in a file of dom0");
	check(guest->stripped == !*want && host->stripped == !*want && !guest->incomplete, "%s: %s",
	      what, *want ? "no debug file is needed" : "only a debug file would help");
	check(!*want || guest->unpacked_bytes > 0, "%zu bytes of .gnu_debugdata were unpacked",
	      guest->unpacked_bytes);
	image_unref(guest);
	image_unref(host);
}

static void close_nothing(void *context)
{
	(void)context;
}

/* The file opened in parts: .gnu_debugdata is unpacked when a name is needed. */
static void check_parts(int fd, uint64_t address)
{
	struct bytes bytes = elf_image_file_bytes(&fd);
	const struct image_source source = { bytes, close_nothing };
	struct image *image;

	must(image_create("parts", &image));
	check(image_open_elf(image, &bytes, &source), "a file with .gnu_debugdata is read in parts");
	check(image_awaits_symbols(image), ".gnu_debugdata is not unpacked at once");
	check_string(name_at(image_symtab(image), address), "debugdata_hidden",
		     "symbol of .gnu_debugdata in a file that is read in parts");
	check(!image->stripped && !image_is_incomplete(image), "no debug file is needed");
	image_unref(image);
}

static void check_given(int fd, uint64_t address)
{
	struct build_id id = { 0 };
	struct symtab *tab;
	bool unread;

	must(symtab_create(&tab));
	must(symbol_read_elf(fd, "binary", tab, &id, &unread));
	must(symtab_seal(tab));
	check_string(name_at(tab, address), "debugdata_hidden",
		     "symbol of .gnu_debugdata in a file of -k");
	symtab_destroy(tab);
}

static void test_real(void)
{
	char folder[] = "/tmp/xtop-debugdata-XXXXXX", command[64];
	uint64_t bias = 0, address;
	int fd;

	dl_iterate_phdr(find_bias, &bias);
	address = (uint64_t)&debugdata_hidden - bias;
	if (!mkdtemp(folder) || debugdata_hidden(1) != 3)
		exit(99);
	if (make_mini(folder)) {
		fd = open_in(folder, "bare");
		check_readers(fd, address, "", "a real program is stripped");
		close(fd);
		fd = open_in(folder, "binary");
		check_readers(fd, address, "debugdata_hidden",
			      "a real program with .gnu_debugdata");
		check_parts(fd, address);
		check_given(fd, address);
		close(fd);
	} else {
		printf("ok %u - # SKIP no binutils, or no xz\n", ++tap_points);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	if (system(command))
		exit(99);
}

/* --- small files ------------------------------------------------------------------------------ */

static unsigned char file_bytes[4 * MIB];

struct packed_file {
	uint64_t size_bytes, hole; /* HOLE: a page that cannot be read; 0: none */
};

static size_t packed_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	const struct packed_file *file = context;
	uint64_t end = file->hole && offset < file->hole ? file->hole : file->size_bytes;

	if (offset >= end || (file->hole && offset / 4096 == file->hole / 4096))
		return 0;
	if (size_bytes > end - offset)
		size_bytes = end - offset;
	memcpy(buffer, file_bytes + offset, size_bytes);
	return size_bytes;
}

/*
 * An ELF file whose only section, besides the names, has PACKED_BYTES at file offset 0x1000. Returns
 * the offset after them.
 */
static struct packed_file put_file(const void *packed, size_t packed_bytes)
{
	static const char names[] = "\0.gnu_debugdata\0.shstrtab";
	Elf64_Ehdr *header = (void *)file_bytes;
	Elf64_Shdr *sections = (void *)(file_bytes + 0x400);

	memset(file_bytes, 0, 0x1000);
	*header = (Elf64_Ehdr){ .e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_shoff = 0x400,
				.e_ehsize = sizeof(*header),
				.e_shentsize = sizeof(*sections),
				.e_shnum = 3,
				.e_shstrndx = 2 };
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(file_bytes + 0x800, names, sizeof(names));
	sections[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 0x1000,
				    .sh_size = packed_bytes, .sh_addralign = 1 };
	sections[2] = (Elf64_Shdr){ .sh_name = 16, .sh_type = SHT_STRTAB, .sh_offset = 0x800,
				    .sh_size = sizeof(names), .sh_addralign = 1 };
	if (packed_bytes > sizeof(file_bytes) - 0x1000)
		abort();
	memcpy(file_bytes + 0x1000, packed, packed_bytes);
	return (struct packed_file){ .size_bytes = 0x1000 + packed_bytes };
}

static struct image *read_packed(struct packed_file *file)
{
	struct bytes bytes = { packed_read, file, file->size_bytes };
	struct image *image;

	must(image_create("small", &image));
	must(image_read_elf(image, &bytes));
	return image;
}

static size_t make_small(unsigned char *packed, uint8_t dictionary)
{
	struct program inner;

	program_make(&inner, 0x400000, "packed", 0);
	return make_xz(packed, inner.bytes, sizeof(inner.bytes), dictionary);
}

static void check_small(const char *what, const void *packed, size_t n, const char *want, bool cut)
{
	struct packed_file file = put_file(packed, n);
	struct image *image = read_packed(&file);

	check_string(name_at(image->symtab, ADDRESS), want, what);
	check(image->cut == cut && image->stripped == !*want, "%s: %s", what,
	      cut ? "cut" : "whole");
	image_unref(image);
}

static void test_small(void)
{
	unsigned char packed[PROGRAM_BYTES + MAKE_XZ_EXTRA_BYTES], spoilt[sizeof(packed)];
	size_t n = make_small(packed, 0), n_read = 0, n_spoilt = 0;
	struct packed_file file;
	struct image *image;

	check_small("a small file with .gnu_debugdata", packed, n, "packed", false);
	check_small("an empty .gnu_debugdata is as good as none", packed, 0, "", false);
	file = put_file(packed, n);
	file.hole = 0x2000;
	image = read_packed(&file);
	check(!image->symtab && image->incomplete && !image->cut,
	      "a page of the section is not in the guest's memory");
	image_unref(image);
	for (size_t i = 0; i < n; i += i < 64 || i > n - 64 ? 1 : 13) {
		memcpy(spoilt, packed, n);
		n_spoilt++;
		spoilt[i] ^= 0xff;
		file = put_file(spoilt, n);
		image = read_packed(&file);
		n_read += !image->cut && image->symtab;
		image_unref(image);
	}
	check(n_read > n_spoilt / 2 && n_read < n_spoilt - 64,
	      "%zu of %zu damaged files read: their bytes have no checksum", n_read, n_spoilt);
	for (size_t i = 0; i < n; i += i < 64 || i > n - 64 ? 1 : 61) {
		file = put_file(packed, i);
		image = read_packed(&file);
		if (image->symtab || (i && !image->cut))
			check(false, "%zu of %zu bytes are read", i, n);
		image_unref(image);
	}
	make_small(packed, 20); /* 4 MiB */
	check_small("a dictionary of 4 MiB", packed, n, "packed", false);
	make_small(packed, 28); /* 64 MiB, as of xz -9 */
	check_small("a dictionary of 64 MiB", packed, n, "packed", false);
	make_small(packed, 30); /* 128 MiB */
	check_small("a dictionary of 128 MiB", packed, n, "", true);
	make_small(packed, 40); /* 4 GiB */
	check_small("a dictionary of 4 GiB", packed, n, "", true);
}

static size_t peak_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (size_t)usage.ru_maxrss >> 10;
}

/* 512 MiB of zeros in some 75 KiB. */
static void test_bomb(void)
{
	static unsigned char zeros[MIB], packed[MIB];
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t before;

	if (lzma_easy_encoder(&stream, 0, LZMA_CHECK_NONE) != LZMA_OK)
		exit(99);
	stream.next_out = packed;
	stream.avail_out = sizeof(packed);
	for (unsigned i = 0; i < 512; i++) {
		stream.next_in = zeros;
		stream.avail_in = sizeof(zeros);
		if (lzma_code(&stream, LZMA_RUN) != LZMA_OK)
			exit(99);
	}
	if (lzma_code(&stream, LZMA_FINISH) != LZMA_STREAM_END)
		exit(99);
	before = peak_mib();
	check_small("512 MiB in a small section", packed, stream.total_out, "", true);
	lzma_end(&stream);
	check(peak_mib() - before < 80,
	      "512 MiB in a small section take %zu MiB of memory", peak_mib() - before);
}

int main(void)
{
	test_real();
	test_small();
	test_bomb();
	return tap_done();
}
