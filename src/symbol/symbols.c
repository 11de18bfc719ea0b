/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images that are known before sampling starts: one image for each file, kernel module or
 * recorded table. Main's thread fills it before sampling starts. It is read-only after that, but
 * for the unwind tables of files, which the resolver reads when it first needs them.
 *
 * The images lie in one space, at the addresses that they were linked for. An empty table is an
 * image that has no place there.
 */
#include "config.h"

#include "xtop/symbol/symbol.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"
#include "xtop/elf/elf.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"

#define SYMBOLS_LINUX_ENTRY "x86_64_start_kernel" /* x86-64 */

struct symbols {
	struct image **images;
	size_t n_images, images_capacity;
	struct space *space;
	struct work *work; /* what may break off reading an image; NULL: nothing may */
	char *warning; /* the warning about the first file that has one; or NULL */
};

static void cleanup_symtab(struct symtab **tab)
{
	symtab_destroy(*tab);
}

struct xtop_error *symbols_create(struct symbols **symbolsp)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	struct xtop_error *error;

	if (!symbols)
		return error_create("out of memory for symbols");
	error = space_create(&symbols->space);
	if (error) {
		free(symbols);
		return error;
	}
	*symbolsp = symbols;
	return NULL;
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	space_destroy(symbols->space);
	for (size_t i = 0; i < symbols->n_images; i++)
		image_unref(symbols->images[i]);
	free(symbols->images);
	free(symbols->warning);
	free(symbols);
}

/* --- the set of images ------------------------------------------------------------------------ */

static struct xtop_error *symbols_reserve(struct symbols *symbols)
{
	if (symbols->n_images == SYMBOLS_MAX_IMAGES)
		return error_create("more than %u files and modules with symbols",
				    SYMBOLS_MAX_IMAGES);
	if (!vector_reserve(symbols->images, symbols->images_capacity, symbols->n_images + 1))
		return error_create("out of memory for symbols");
	return NULL;
}

static uint64_t symbols_last_end(const struct symtab *tab)
{
	uint64_t end = 0;

	for (size_t i = 0; i < symtab_count(tab); i++) {
		struct symtab_entry entry = symtab_at(tab, i);

		if (entry.end > end)
			end = entry.end;
	}
	return end;
}

static struct xtop_error *symbols_map(struct symbols *symbols, struct image *image)
{
	struct mapping mapping = { .image = image, .kind = MAPPING_CODE };

	if (!symtab_count(image->symtab))
		return NULL;
	mapping.start = symtab_at(image->symtab, 0).start;
	mapping.end = symbols_last_end(image->symtab);
	return space_add(symbols->space, &mapping);
}

struct xtop_error *symbols_add_table(struct symbols *symbols, struct symtab *tab,
				     const char *module, const struct build_id *build_id)
{
	_cleanup_(cleanup_symtab) struct symtab *owned = tab;
	struct xtop_error *error = symbols_reserve(symbols);
	struct image *image;

	if (!error)
		error = image_create(module, &image);
	if (error)
		return error;
	image->symtab = no_cleanup_ptr(owned);
	image->work = symbols->work;
	if (build_id)
		image->build_id = *build_id;
	error = symbols_map(symbols, image);
	if (error) {
		image_unref(image);
		return error;
	}
	symbols->images[symbols->n_images++] = image;
	return NULL;
}

void symbols_set_work(struct symbols *symbols, struct work *work)
{
	symbols->work = work;
}

size_t symbols_count(const struct symbols *symbols)
{
	return symbols ? symbols->n_images : 0;
}

struct image *symbols_image(const struct symbols *symbols, size_t index)
{
	assert(index < symbols->n_images);
	return symbols->images[index];
}

const struct space *symbols_space(const struct symbols *symbols)
{
	return symbols->space;
}

const struct symtab *symbols_table(const struct symbols *symbols, size_t index)
{
	return symbols_image(symbols, index)->symtab;
}

const char *symbols_module(const struct symbols *symbols, size_t index)
{
	return symbols_image(symbols, index)->name;
}

const struct build_id *symbols_build_id(const struct symbols *symbols, size_t index)
{
	return &symbols_image(symbols, index)->build_id;
}

const char *symbols_warning(const struct symbols *symbols)
{
	return symbols->warning;
}

/* --- kallsyms: one image for each module ------------------------------------------------------ */

struct part {
	const char *name; /* "[nf_tables]", in the table that is split */
	struct symtab *tab;
};

/* Sorted by name; the first is "", the image itself. */
struct parts {
	struct part *list;
	size_t n, capacity;
};

static void parts_deinit(struct parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		symtab_destroy(parts->list[i].tab);
	free(parts->list);
}

static struct xtop_error *parts_insert(struct parts *parts, size_t at, const char *name)
{
	struct part part = { .name = name };
	struct xtop_error *error;

	if (parts->n == SYMBOLS_MAX_IMAGES)
		return error_create("symbols of more than %u kernel modules", SYMBOLS_MAX_IMAGES);
	if (!vector_reserve(parts->list, parts->capacity, parts->n + 1))
		return error_create("out of memory for symbols");
	error = symtab_create(&part.tab);
	if (error)
		return error;
	memmove(&parts->list[at + 1], &parts->list[at], (parts->n - at) * sizeof(part));
	parts->list[at] = part;
	parts->n++;
	return NULL;
}

/* Finds the table of module NAME, or adds one if there is none yet. */
static struct xtop_error *parts_find_or_add(struct parts *parts, const char *name,
					    struct symtab **tabp)
{
	size_t at = sorted_count_while(parts->n, i, strcmp(parts->list[i].name, name) < 0);
	struct xtop_error *error = NULL;

	if (at == parts->n || strcmp(parts->list[at].name, name) != 0)
		error = parts_insert(parts, at, name);
	if (!error)
		*tabp = parts->list[at].tab;
	return error;
}

static struct xtop_error *parts_split(struct parts *parts, const struct symtab *tab)
{
	struct xtop_error *error = parts_insert(parts, 0, "");

	for (size_t i = 0; !error && i < symtab_count(tab); i++) {
		struct symtab_entry entry = symtab_at(tab, i);
		const char *after = strchrnul(entry.name, '\t');
		struct symtab *target = NULL;

		error = parts_find_or_add(parts, *after ? after + 1 : "", &target);
		if (!error)
			error = symtab_add(target, &(struct symbol_definition){
							   .start = entry.start,
							   .size_bytes = entry.end - entry.start,
							   .rank = SYMBOL_GLOBAL,
							   .name = entry.name,
							   .name_bytes = after - entry.name });
	}
	for (size_t i = 0; !error && i < parts->n; i++)
		error = symtab_seal(parts->list[i].tab);
	return error;
}

static bool symbols_has_modules(const struct symtab *tab)
{
	for (size_t i = 0; i < symtab_count(tab); i++)
		if (strchr(symtab_at(tab, i).name, '\t'))
			return true;
	return false;
}

/* --- files ------------------------------------------------------------------------------------ */

/*
 * A Linux kernel has these two functions (init/main.c, arch/x86/kernel/head64.c), and nothing else
 * has both. They are __init, but kallsyms lists them for ever.
 */
static bool symbols_is_linux(const struct symtab *tab)
{
	unsigned found = 0;

	for (size_t i = 0; i < symtab_count(tab); i++) {
		const char *name = symtab_at(tab, i).name;

		found += strcmp(name, "start_kernel") == 0 ||
			 strcmp(name, SYMBOLS_LINUX_ENTRY) == 0;
	}
	return found >= 2;
}

/*
 * Adds TAB, which it takes, as one image; with modules in it, as one image for each. FILE_NAME is
 * the name of an image that has no better one.
 */
static struct xtop_error *symbols_add_image(struct symbols *symbols, struct symtab *tab,
					    const char *file_name, const struct build_id *build_id)
{
	_cleanup_(cleanup_symtab) struct symtab *whole = tab;
	_cleanup_(parts_deinit) struct parts parts = { 0 };
	struct xtop_error *error;

	if (!symbols_has_modules(tab))
		return symbols_add_table(symbols, no_cleanup_ptr(whole),
					 symbols_is_linux(tab) ? "[kernel]" : file_name, build_id);
	error = parts_split(&parts, tab);
	for (size_t i = 0; !error && i < parts.n; i++) {
		struct symtab *part = no_cleanup_ptr(parts.list[i].tab);
		const char *name = parts.list[i].name;

		if (!*name)
			name = symbols_is_linux(part) ? "[kernel]" : file_name;
		if (symtab_count(part))
			error = symbols_add_table(symbols, part, name, NULL);
		else
			symtab_destroy(part);
	}
	return error;
}

static struct xtop_error *symbols_open(struct inputs *inputs, const char *path, int *fdp,
				       bool *is_pipe)
{
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;
	struct stat status;

	error = inputs_open_copy(inputs, path, SYMBOL_FILE_MAX_BYTES, &fd, is_pipe);
	if (error)
		return error_wrap(error, "%s", path);
	if (fstat(fd, &status) < 0)
		return error_create_errno(errno, "%s: cannot be read", path);
	if (!S_ISREG(status.st_mode))
		return error_create("%s: %s, not a symbol file", path,
				    S_ISDIR(status.st_mode) ? "a directory" : "a device or socket");
	*fdp = fd;
	fd = -1;
	return NULL;
}

/* Reads a file: ELF, if its first bytes say so, or else symbol text. */
static struct xtop_error *symbols_read(int fd, const char *path, struct symtab *tab,
				       struct build_id *build_id, bool *is_elf, bool *unread)
{
	char magic[4];
	struct xtop_error *error;
	ssize_t got = pread(fd, magic, sizeof(magic), 0);

	if (got < 0)
		return error_create_errno(errno, "%s: cannot be read", path);
	*is_elf = elf_has_magic(magic, (size_t)got);
	if (*is_elf)
		error = symbol_read_elf(fd, path, tab, build_id, unread);
	else
		error = symbol_read_nm(fd, path, tab);
	return error ? error : error_wrap(symtab_seal(tab), "%s", path);
}

/* Best effort: skipped when allocation fails. */
static void symbols_set_warning(struct symbols *symbols, const char *name)
{
	if (symbols->warning)
		return;
	if (asprintf(&symbols->warning,
		     "%s: .debug_frame is not compressed by zlib, and not read: "
		     "objcopy --decompress-debug-sections helps",
		     name) < 0)
		symbols->warning = NULL;
}

/* The name of the file's image: PATH without folders, and without what tells how it is packed. */
static void symbols_name_file(const char *path, bool is_pipe, char *name, size_t capacity)
{
	static const char *const endings[] = { ".gz", ".xz", ".zst" };
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strlen(base);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t bytes = strlen(endings[i]);

		if (n > bytes && !strcmp(base + n - bytes, endings[i])) {
			n -= bytes;
			break;
		}
	}
	snprintf(name, capacity, "%.*s", (int)n, base);
	if (is_pipe)
		snprintf(name, capacity, "[symbols]");
}

struct xtop_error *symbols_add_file(struct symbols *symbols, const struct host_files *files,
				    const char *path)
{
	_cleanup_(cleanup_symtab) struct symtab *tab = NULL;
	char name[NAME_MAX + 1];
	struct build_id build_id = { 0 };
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;
	bool is_pipe, is_elf = false, unread = false;

	error = symbols_open(files->inputs, path, &fd, &is_pipe);
	if (!error)
		error = symtab_create(&tab);
	if (!error)
		error = symbols_read(fd, path, tab, &build_id, &is_elf, &unread);
	if (!error && !symtab_count(tab))
		error = error_create("%s: no functions in it", path);
	if (error)
		return error;
	symbols_name_file(path, is_pipe, name, sizeof(name));
	error = symbols_add_image(symbols, no_cleanup_ptr(tab), name, &build_id);
	if (!error && is_elf) {
		symbols->images[symbols->n_images - 1]->lines =
			line_client_add_file(files->lines, fd, -1, name, NULL, 0);
		image_adopt_tables_file(symbols->images[symbols->n_images - 1], fd);
		fd = -1;
	}
	if (!error && unread)
		symbols_set_warning(symbols, name);
	return error_wrap(error, "%s", path);
}
