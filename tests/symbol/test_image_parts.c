/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of an ELF file that are read when they are needed have what the whole file has: names,
 * bounds and rules of unwinding, at every function of this program and of libc. Little is read for
 * a few addresses. Any page may be missing: then that image says so, and has nothing wrong.
 */
#include "config.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "symbol/image_parts.h"
#include "unwind/cfi_table.h"
#include "xtop/symbol/image.h"

#define MAX_PAGES 65536

struct copy {
	unsigned char *bytes;
	uint64_t size_bytes, read_bytes;
	bool read[MAX_PAGES];
	size_t gone; /* number of a page that cannot be read */
	uint64_t gone_from, gone_to; /* offsets of bytes that cannot be read, either */
	bool closed;
};

static struct copy copy;

static size_t copy_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct copy *from = context;
	size_t done = 0;

	while (done < size_bytes && offset + done < from->size_bytes) {
		uint64_t at = offset + done, n = 4096 - at % 4096;

		if (at / 4096 == from->gone || (at >= from->gone_from && at < from->gone_to))
			break;
		n = n < size_bytes - done ? n : size_bytes - done;
		n = n < from->size_bytes - at ? n : from->size_bytes - at;
		memcpy((char *)buffer + done, from->bytes + at, n);
		from->read[at / 4096] = true;
		done += n;
	}
	from->read_bytes += done;
	return done;
}

static void copy_close(void *context)
{
	((struct copy *)context)->closed = true;
}

static const struct bytes copy_bytes = { copy_read, &copy, 0 };

static struct bytes bytes_of_copy(void)
{
	struct bytes bytes = copy_bytes;

	bytes.size_bytes = copy.size_bytes;
	return bytes;
}

static void copy_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	free(copy.bytes);
	memset(&copy, 0, sizeof(copy));
	copy.gone = SIZE_MAX;
	if (fd < 0 || fstat(fd, &status))
		exit(99);
	copy.size_bytes = (uint64_t)status.st_size;
	copy.bytes = malloc(copy.size_bytes);
	if (!copy.bytes || read(fd, copy.bytes, copy.size_bytes) != (ssize_t)copy.size_bytes)
		exit(99);
	close(fd);
}

static struct image *read_whole(void)
{
	const struct bytes bytes = bytes_of_copy();
	struct image *image;

	must(image_create("whole", &image));
	must(image_read_elf(image, &bytes));
	return image;
}

/* NULL: the file is to be read whole. */
static struct image *open_parts(void)
{
	const struct bytes bytes = bytes_of_copy();
	const struct image_source source = { bytes, copy_close };
	struct image *image;

	must(image_create("parts", &image));
	if (image_open_elf(image, &bytes, &source))
		return image;
	image_unref(image);
	return NULL;
}

static size_t pages_read(void)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_PAGES; i++)
		n += copy.read[i];
	return n;
}

static bool same_name(struct image *parts, const struct symtab_entry *entry)
{
	struct symtab_entry found;

	return image_symtab(parts) && symtab_find(image_symtab(parts), entry->start, &found) &&
	       found.start == entry->start && found.end == entry->end &&
	       strcmp(found.name, entry->name) == 0;
}

/* Whether the tables have the rule and the bounds that the whole file has at ADDRESS. */
static bool same_rule(const struct image *whole, const struct image *parts, uint64_t address)
{
	uint64_t from, to, starts[2] = { 0 }, ends[2] = { 0 };
	const struct unwind_tables *tables = image_tables(parts, address, &from, &to);
	const struct cfi_rule *a = whole->tables.cfi ? cfi_find(whole->tables.cfi, address) : NULL;
	const struct cfi_rule *b = tables->cfi ? cfi_find(tables->cfi, address) : NULL;
	bool found = unwind_tables_find_function(&whole->tables, address, &starts[0], &ends[0]);

	if (address < from || address >= to)
		return false;
	if (unwind_tables_find_function(tables, address, &starts[1], &ends[1]) != found ||
	    starts[0] != starts[1] || ends[0] != ends[1])
		return false;
	if (!a || !b) /* a row of RULE_NONE ends one table where the other table has no row at all */
		return (!a || a->kind == RULE_NONE) && (!b || b->kind == RULE_NONE);
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Compares every function, and the addresses around its bounds. */
static void compare(const char *what)
{
	struct image *whole = read_whole(), *parts = open_parts();
	size_t n = whole->symtab ? symtab_count(whole->symtab) : 0, names = 0, rules = 0;

	check(parts, "%s is read in parts", what);
	for (size_t i = 0; parts && i < n; i++) {
		struct symtab_entry entry = symtab_at(whole->symtab, i);

		names += !same_name(parts, &entry);
		rules += !same_rule(whole, parts, entry.start) ||
			 !same_rule(whole, parts, entry.start + 1) ||
			 !same_rule(whole, parts, entry.end - 1) ||
			 !same_rule(whole, parts, entry.end);
	}
	check(n > 100, "%s has %zu functions", what, n);
	check(!names, "%s: %zu names differ", what, names);
	check(!rules, "%s: %zu functions have other rules or bounds", what, rules);
	check(parts && image_is_incomplete(parts) == (copy.gone != SIZE_MAX) &&
		      !image_lacks_parts(parts),
	      "%s: no part was missing", what);
	check(parts && !whole->stripped == !parts->stripped &&
		      build_id_equal(&whole->build_id, &parts->build_id) &&
		      whole->init == parts->init,
	      "%s: notes are the same", what);
	image_unref(whole);
	image_unref(parts);
	check(copy.closed, "%s: the source is closed with the image", what);
}

/* One function needs a small part of what the whole file needs. */
static void compare_costs(const char *what)
{
	struct image *whole = read_whole(), *parts;
	size_t whole_pages = pages_read(), opened_pages, pages;
	struct symtab_entry entry = symtab_at(whole->symtab, symtab_count(whole->symtab) / 2);
	uint64_t start, end;

	memset(copy.read, 0, sizeof(copy.read));
	parts = open_parts();
	opened_pages = pages_read();
	image_tables(parts, entry.start, &start, &end);
	pages = pages_read();
	printf("# %s: %zu pages whole, %zu opened, %zu with the tables of a function\n", what,
	       whole_pages, opened_pages, pages);
	check(opened_pages <= 32, "%s: opening reads the headers and notes alone", what);
	check(pages - opened_pages <= 40, "%s: tables of one function", what);
	check(same_name(parts, &entry) && pages_read() < whole_pages,
	      "%s: names are not read before they are needed", what);
	image_unref(parts);
	image_unref(whole);
}

/*
 * The page with the first section headers is not in memory, as in most guests that read their files
 * from a disk. Then the symbols are those of the dynamic linker.
 */
static void lose_sections(void)
{
	uint64_t sections;

	memcpy(&sections, copy.bytes + offsetof(Elf64_Ehdr, e_shoff), sizeof(sections));
	copy.gone = sections / 4096;
	compare("libc without section headers");
	compare_costs("libc without section headers");
	copy.gone = SIZE_MAX;
}

/* Each page in turn is missing: nothing is wrong, and what is missing is told. */
static void lose_pages(const char *what)
{
	struct image *whole = read_whole();
	size_t n = symtab_count(whole->symtab), step = n / 40 + 1, wrong = 0, silent = 0, told = 0;
	size_t refused = 0;
	size_t n_pages = (copy.size_bytes + 4095) / 4096, page_step = n_pages / 150 + 1;

	for (size_t page = 0; page < n_pages; page += page_step) {
		struct image *parts;
		bool lost = false;

		copy.gone = page;
		parts = open_parts();
		refused += !parts;
		for (size_t i = 0; parts && i < n; i += step) {
			struct symtab_entry entry = symtab_at(whole->symtab, i), found;
			const struct symtab *symtab = image_symtab(parts);

			if (!symtab || !symtab_find(symtab, entry.start, &found)) {
				lost = true;
				continue;
			}
			/* an alias may stand for a name that is missing */
			wrong += found.start != entry.start || found.end != entry.end;
			lost |= !same_rule(whole, parts, entry.start);
		}
		silent += parts && lost && !image_is_incomplete(parts);
		told += parts && lost;
		image_unref(parts);
	}
	copy.gone = SIZE_MAX;
	check(!wrong, "%s: %zu functions have wrong bounds", what, wrong);
	check(!silent, "%s: %zu missing pages are not told", what, silent);
	check(told, "%s: %zu missing pages were told", what, told);
	check(refused <= 2, "%s: with all but %zu pages, parts are read", what, refused);
	image_unref(whole);
}

/* Makes .eh_frame of the file unreadable, but not its index. */
static bool lose_frames(void)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	memcpy(&header, copy.bytes, sizeof(header));
	for (unsigned i = 0; i < header.e_shnum; i++) {
		const char *names;

		memcpy(&section, copy.bytes + header.e_shoff + header.e_shstrndx * sizeof(section),
		       sizeof(section));
		names = (const char *)copy.bytes + section.sh_offset;
		memcpy(&section, copy.bytes + header.e_shoff + i * sizeof(section),
		       sizeof(section));
		if (strcmp(names + section.sh_name, ".eh_frame"))
			continue;
		copy.gone_from = (section.sh_offset + 4095) & ~4095ULL;
		copy.gone_to = section.sh_offset + section.sh_size;
		return copy.gone_from < copy.gone_to;
	}
	return false;
}

/* The index tells where functions begin whose entries are not in memory. */
static void find_bounds_by_index(const char *what)
{
	struct image *whole = read_whole(), *parts = open_parts();
	size_t n = symtab_count(whole->symtab), found = 0, wrong = 0;

	check(lose_frames(), "%s: entries of .eh_frame are lost", what);
	for (size_t i = 0; i < n; i++) {
		uint64_t start, end, from, to, middle;
		struct symtab_entry entry = symtab_at(whole->symtab, i);

		if (!unwind_tables_find_function(&whole->tables, entry.start, &start, &end))
			continue;
		middle = start + (end - start) / 2;
		if (!image_parts_find_code(parts, image_tables(parts, middle, &from, &to), middle,
					   &from, &to))
			continue;
		found++;
		wrong += from != start || to < end;
	}
	copy.gone_from = copy.gone_to = 0;
	check(found > 10, "%s: the index has %zu functions of %zu", what, found, n);
	check(!wrong, "%s: %zu functions of the index have wrong bounds", what, wrong);
	image_unref(whole);
	image_unref(parts);
}

struct late_reads {
	unsigned symbols, tables;
};

static void read_late_symbols(void *context, struct image *image)
{
	(void)image;
	((struct late_reads *)context)->symbols++;
}

static void read_late_tables(void *context, struct image *image)
{
	(void)image;
	((struct late_reads *)context)->tables++;
}

/* Parts that a function of the image's creator reads, as for a kernel in the guest's memory. */
static void read_late(void)
{
	struct late_reads reads = { 0 };
	struct image *image = NULL;

	must(image_create("late", &image));
	image->late = (struct image_late){ read_late_symbols, read_late_tables, &reads };
	check(image_awaits_symbols(image), "late symbols are awaited");
	image_symtab(image);
	image_symtab(image);
	check(reads.symbols == 1 && !reads.tables, "late symbols are read once, without tables");
	check(!image_awaits_symbols(image), "symbols that were read are not awaited");
	image_build_tables(image);
	image_build_tables(image);
	check(reads.symbols == 1 && reads.tables == 1, "late tables are read once");
	image_unref(image);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (strstr(info->dlpi_name, "libc.so"))
		*(const char **)context = info->dlpi_name;
	return 0;
}

int main(void)
{
	const char *libc = NULL;

	dl_iterate_phdr(find_libc, &libc);
	copy_file("/proc/self/exe");
	compare("this program");
	compare_costs("this program");
	lose_pages("this program");
	if (libc) {
		copy_file(libc);
		compare("libc");
		compare_costs("libc");
		lose_sections();
		lose_pages("libc");
		find_bounds_by_index("libc");
	}
	free(copy.bytes);
	read_late();
	return tap_done();
}
