/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ORC tables of a vmlinux: found by their sections' names, of two layouts, and wrong ones. */
#include "config.h"

#include "tests/support/elf_image.h"
#include "tests/support/tap.h"
#include "unwind/orc_table.h"
#include "xtop/symbol/image.h"

#define TEXT    0xffffffff81000000ULL
#define IPS     0xffffffff82000000ULL
#define ENTRIES 0xffffffff82100000ULL
#define N       64
#define STEP    0x40 /* bytes of code for each entry */

/* The word after the offsets: sp_reg 5 is the stack pointer; type 0 (v1) or 2 (v3) is a call. */
#define FLAGS_V1 0x0005
#define FLAGS_V3 0x0205

static const char names[] = "\0.shstrtab\0.orc_unwind_ip\0.orc_unwind";
#define NAME_SHSTRTAB 1
#define NAME_IPS      11
#define NAME_ENTRIES  26

struct entry {
	int16_t sp_offset, bp_offset;
	uint16_t flags;
};

static unsigned add(struct elf_image *file, uint32_t name, uint64_t address, const void *bytes,
		    size_t size_bytes)
{
	return elf_image_section(
		file,
		(Elf64_Shdr){ .sh_name = name,
			      .sh_type = name == NAME_SHSTRTAB ? SHT_STRTAB : SHT_PROGBITS,
			      .sh_flags = address ? SHF_ALLOC : 0,
			      .sh_addr = address,
			      .sh_size = size_bytes,
			      .sh_addralign = 1 },
		bytes);
}

/* Entry i covers TEXT + i * STEP on: its caller's frame is 8 * (i + 1) bytes up. */
static void make(struct elf_image *file, uint16_t flags, size_t entries_bytes)
{
	struct entry entries[N];
	int32_t ips[N];

	for (int i = 0; i < N; i++) {
		ips[i] = (int32_t)(TEXT + i * STEP - (IPS + i * sizeof(ips[0])));
		entries[i] = (struct entry){ .sp_offset = (int16_t)(8 * (i + 1)), .flags = flags };
	}
	elf_image_init(file);
	elf_image_text(file, TEXT, N * STEP);
	add(file, NAME_IPS, IPS, ips, sizeof(ips));
	add(file, NAME_ENTRIES, ENTRIES, entries, entries_bytes);
	file->header.e_shstrndx = add(file, NAME_SHSTRTAB, 0, names, sizeof(names));
}

static bool copied; /* read_image() reads a copy of the tables, as a recording has it */

static int copy_tables(int fd)
{
	struct image *image;
	int copy;

	if (image_create("vmlinux", &image))
		abort();
	image_adopt_tables_file(image, fd);
	if (image_copy_tables(image, &copy) || copy < 0)
		abort();
	image_unref(image);
	return copy;
}

static struct image *read_image(const struct elf_image *file)
{
	int fd = copied ? copy_tables(elf_image_fd(file)) : elf_image_fd(file);
	struct image *image;

	if (image_create("vmlinux", &image))
		abort();
	error_destroy(image_read_tables(image, fd));
	close(fd);
	return image;
}

static void check_layout(uint16_t flags, const char *what)
{
	struct elf_image file;
	struct image *image;
	const struct orc_row *row;

	make(&file, flags, N * sizeof(struct entry));
	image = read_image(&file);
	check(image->tables.orc, "%s: ORC tables are read", what);
	for (int i = 0; image->tables.orc && i < N; i += 21) {
		row = orc_find(image->tables.orc, TEXT + i * STEP + 5);
		check(row && row->type == ORC_CALL && row->sp_reg == ORC_SP &&
			      row->sp_offset == 8 * (i + 1),
		      "%s: entry %d: offset %d", what, i, row ? row->sp_offset : 0);
	}
	check(!image->tables.orc || !orc_find(image->tables.orc, TEXT - 1),
	      "%s: no ORC row before the code", what);
	image_unref(image);
}

static void check_none(struct elf_image *file, const char *what)
{
	struct image *image = read_image(file);

	check(!image->tables.orc, "%s: no ORC tables", what);
	image_unref(image);
}

static void test_wrong(void)
{
	struct elf_image file;

	make(&file, FLAGS_V3, (N - 1) * sizeof(struct entry));
	check_none(&file, "fewer entries than addresses");
	make(&file, 0xffff, N * sizeof(struct entry));
	check_none(&file, "entries that mean nothing");
	make(&file, FLAGS_V3, N * sizeof(struct entry));
	file.sections[2].sh_size = UINT64_MAX;
	check_none(&file, "a section of 2^64 - 1 bytes");
	make(&file, FLAGS_V3, N * sizeof(struct entry));
	file.sections[2].sh_offset = 1 << 20;
	check_none(&file, "a section after the file's end");
	make(&file, FLAGS_V3, N * sizeof(struct entry));
	file.sections[3].sh_name = NAME_SHSTRTAB;
	check_none(&file, "one section of the two");
}

int main(void)
{
	check_layout(FLAGS_V1, "4.14 to 6.2");
	check_layout(FLAGS_V3, "6.4 and later");
	test_wrong();
	copied = true;
	check_layout(FLAGS_V3, "copied for a recording");
	return tap_done();
}
