/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A compressed .debug_frame in a file on dom0's disk: both formats, and damaged ones. */
#include "config.h"

#include <endian.h>

#include "tests/support/elf_image.h"
#include "tests/support/tap.h"
#include "tests/unwind/cfi_bytes.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"

static const char names[] = "\0.shstrtab\0.debug_frame\0.zdebug_frame";
#define NAME_SHSTRTAB 1
#define NAME_DEBUG    11
#define NAME_ZDEBUG   24
#define N_FUNCTIONS   100

/* The section's bytes: a head, then the stream. */
struct packed {
	unsigned char bytes[4096];
	size_t head_bytes, size_bytes;
	size_t was_bytes;
};

/* N functions of 16 bytes, one after the other: CFA rsp + 8. */
static void make_frames(struct cfi_bytes *made)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 };

	*made = (struct cfi_bytes){ .debug_frame = true };
	bytes_cie(made, "", NULL, 0, program, sizeof(program));
	for (uint64_t i = 0; i < N_FUNCTIONS; i++) {
		uint64_t pointers[2] = { MADE_CODE + 16 * i, 16 };

		bytes_fde(made, pointers, sizeof(pointers), NULL, 0);
	}
}

/* RFC 1950 §9. */
static uint32_t adler32(const unsigned char *bytes, size_t n)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < n; i++) {
		a = (a + bytes[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

/* A zlib stream of one block that is stored as it is (RFC 1950 §2.2, RFC 1951 §3.2.4). */
static void put_stream(struct packed *packed)
{
	unsigned char *at = packed->bytes + packed->head_bytes;
	struct cfi_bytes made;
	uint16_t n;
	uint32_t sum;

	make_frames(&made);
	if (packed->head_bytes + made.n + 11 > sizeof(packed->bytes))
		abort();
	n = (uint16_t)made.n;
	sum = htobe32(adler32(made.bytes, made.n));
	memcpy(at, (const unsigned char[]){ 0x78, 0x01, 1, n & 0xff, n >> 8, ~n & 0xff,
					    (~n >> 8) & 0xff }, 7);
	memcpy(at + 7, made.bytes, made.n);
	memcpy(at + 7 + made.n, &sum, sizeof(sum));
	packed->size_bytes = packed->head_bytes + 7 + made.n + sizeof(sum);
	packed->was_bytes = made.n;
}

static void put_head(struct packed *packed, uint32_t type, uint64_t size_bytes)
{
	Elf64_Chdr head = { .ch_type = type, .ch_size = size_bytes, .ch_addralign = 8 };

	memcpy(packed->bytes, &head, sizeof(head));
}

static void make_packed(struct packed *packed)
{
	packed->head_bytes = sizeof(Elf64_Chdr);
	put_stream(packed);
	put_head(packed, ELFCOMPRESS_ZLIB, packed->was_bytes);
}

static void make_zdebug(struct packed *packed)
{
	uint64_t size_bytes;

	packed->head_bytes = 12;
	put_stream(packed);
	size_bytes = htobe64(packed->was_bytes);
	memcpy(packed->bytes, "ZLIB", 4);
	memcpy(packed->bytes + 4, &size_bytes, sizeof(size_bytes));
}

static void make_file(struct elf_image *file, const struct packed *packed, uint32_t name)
{
	elf_image_init(file);
	elf_image_text(file, MADE_CODE, 16 * N_FUNCTIONS);
	elf_image_section(file,
			  (Elf64_Shdr){ .sh_name = name,
					.sh_type = SHT_PROGBITS,
					.sh_flags = name == NAME_DEBUG ? SHF_COMPRESSED : 0,
					.sh_size = packed->size_bytes,
					.sh_addralign = 1 },
			  packed->bytes);
	file->header.e_shstrndx = elf_image_section(file,
						    (Elf64_Shdr){ .sh_name = NAME_SHSTRTAB,
								  .sh_type = SHT_STRTAB,
								  .sh_size = sizeof(names),
								  .sh_addralign = 1 },
						    names);
}

/* Functions in the table; OWN: the file is on dom0's disk, not the guest's. */
static size_t count(const struct packed *packed, uint32_t name, bool own)
{
	struct elf_image file;
	struct image *image;
	struct bytes bytes;
	size_t n;
	int fd;

	make_file(&file, packed, name);
	fd = elf_image_fd(&file);
	bytes = elf_image_file_bytes(&fd);
	if (image_create("file", &image))
		abort();
	error_destroy(own ? image_read_tables(image, fd) : image_read_elf(image, &bytes));
	close(fd);
	n = image->tables.cfi ? image->tables.cfi->n_fdes : 0;
	image_unref(image);
	return n;
}

/* Whether the user is warned of such a file, with a function in it. */
static bool is_warned(const struct packed *packed, uint32_t name)
{
	static const char strings[] = "\0f";
	const Elf64_Sym f = {
		.st_name = 1,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1,
		.st_value = MADE_CODE,
		.st_size = 16,
	};
	struct symbols *symbols;
	struct elf_image file;
	char path[64];
	bool warned;
	int fd;

	make_file(&file, packed, name);
	elf_image_symbols(&file, SHT_SYMTAB, &f, 1, strings, sizeof(strings));
	fd = elf_image_fd(&file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (symbols_create(&symbols) || symbols_add_file(symbols, &(struct host_files){ 0 }, path))
		abort();
	warned = symbols_warning(symbols) && strstr(symbols_warning(symbols), "objcopy");
	symbols_destroy(symbols);
	close(fd);
	return warned;
}

static void test_warning(void)
{
	struct packed packed;

	make_packed(&packed);
	check(!is_warned(&packed, NAME_DEBUG), "zlib: the user is not warned");
	put_head(&packed, 2, packed.was_bytes);
	check(is_warned(&packed, NAME_DEBUG), "zstd: the user is warned");
	put_head(&packed, 77, packed.was_bytes);
	check(is_warned(&packed, NAME_DEBUG), "an unknown compression: the user is warned");
	packed.size_bytes = sizeof(Elf64_Chdr) - 1;
	check(!is_warned(&packed, NAME_DEBUG), "too short for its header: the user is not warned");
	make_zdebug(&packed);
	check(!is_warned(&packed, NAME_ZDEBUG), ".zdebug_frame: the user is not warned");
}

static void test_right(void)
{
	struct packed packed;

	make_packed(&packed);
	check_u64(count(&packed, NAME_DEBUG, true), N_FUNCTIONS,
		  "SHF_COMPRESSED: functions of the section");
	check_u64(count(&packed, NAME_DEBUG, false), 0,
		  "a guest's compressed section is not inflated: functions");
	make_zdebug(&packed);
	check_u64(count(&packed, NAME_ZDEBUG, true), N_FUNCTIONS,
		  ".zdebug_frame: functions of the section");
}

static void test_wrong(void)
{
	struct packed packed;

	make_zdebug(&packed);
	packed.size_bytes = 4;
	check_u64(count(&packed, NAME_ZDEBUG, true), 0,
		  ".zdebug_frame of only its first word: functions");
	make_packed(&packed);
	put_head(&packed, ELFCOMPRESS_ZLIB, packed.was_bytes - 1);
	check_u64(count(&packed, NAME_DEBUG, true), 0,
		  "a stream larger than its header says: functions");
	put_head(&packed, ELFCOMPRESS_ZLIB, packed.was_bytes + 1);
	check_u64(count(&packed, NAME_DEBUG, true), 0,
		  "a stream smaller than its header says: functions");
	put_head(&packed, ELFCOMPRESS_ZLIB, 0);
	check_u64(count(&packed, NAME_DEBUG, true), 0, "a header that says 0 bytes: functions");
	put_head(&packed, ELFCOMPRESS_ZLIB, 200 << 20);
	check_u64(count(&packed, NAME_DEBUG, true), 0,
		  "a header that says more than the stream can become: functions");
	put_head(&packed, ELFCOMPRESS_ZLIB, UINT64_MAX);
	check_u64(count(&packed, NAME_DEBUG, true), 0,
		  "a header that says 2^64 - 1 bytes: functions");
	put_head(&packed, 2, packed.was_bytes); /* zstd */
	check_u64(count(&packed, NAME_DEBUG, true), 0,
		  "zlib data that its header calls zstd: functions");
	make_packed(&packed);
	packed.size_bytes -= 8;
	check_u64(count(&packed, NAME_DEBUG, true), 0,
		  "a compressed section that is cut short: functions");
	make_packed(&packed);
	packed.bytes[packed.size_bytes / 2] ^= 0x10;
	check_u64(count(&packed, NAME_DEBUG, true), 0, "a damaged compressed section: functions");
	packed.size_bytes = 3;
	check_u64(count(&packed, NAME_DEBUG, true), 0,
		  "a section too short for its header: functions");
	make_zdebug(&packed);
	packed.bytes[0] = 'z';
	check_u64(count(&packed, NAME_ZDEBUG, true), 0,
		  ".zdebug_frame without its magic: functions");
}

int main(void)
{
	test_right();
	test_wrong();
	test_warning();
	return tap_done();
}
