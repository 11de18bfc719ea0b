/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything known about names: one image a file, kernel module or recorded table. Filled before
 * sampling starts, on main's thread; read-only then, but for the unwind tables of files, which the
 * resolver reads when it first needs them.
 *
 * The images lie in one space where they were linked to lie. A table that is empty is an image
 * without a place there.
 */
#include "config.h"

#include "xtop/symbol.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/elf_file.h"
#include "xtop/cleanup.h"
#include "xtop/inputs.h"
#include "xtop/image.h"

struct symbols {
	struct image **images;
	size_t n_images;
	struct space *space;
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
	free(symbols);
}

/* --- the set of images ------------------------------------------------------------------------ */

static struct xtop_error *symbols_reserve(struct symbols *symbols)
{
	struct image **images;

	if (symbols->n_images == SYMBOLS_MAX_IMAGES)
		return error_create("more than %u files and modules with symbols",
				    SYMBOLS_MAX_IMAGES);
	images = realloc(symbols->images, (symbols->n_images + 1) * sizeof(struct image *));
	if (!images)
		return error_create("out of memory for symbols");
	symbols->images = images;
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

size_t symbols_count(const struct symbols *symbols)
{
	return symbols->n_images;
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

/* --- kallsyms: one image a module ------------------------------------------------------------- */

struct module {
	const char *name; /* "[nf_tables]", in the table that is split */
	struct symtab *tab;
};

/* Sorted by name; the first is "", the image itself. */
struct modules {
	struct module *list;
	size_t n;
};

static void modules_deinit(struct modules *modules)
{
	for (size_t i = 0; i < modules->n; i++)
		symtab_destroy(modules->list[i].tab);
	free(modules->list);
}

static struct xtop_error *modules_insert(struct modules *modules, size_t at, const char *name)
{
	struct module *list = modules->list, module = { .name = name };
	struct xtop_error *error;

	if (modules->n == SYMBOLS_MAX_IMAGES)
		return error_create("symbols of more than %u kernel modules", SYMBOLS_MAX_IMAGES);
	list = realloc(list, (modules->n + 1) * sizeof(*list));
	if (!list)
		return error_create("out of memory for symbols");
	modules->list = list;
	error = symtab_create(&module.tab);
	if (error)
		return error;
	memmove(&list[at + 1], &list[at], (modules->n - at) * sizeof(*list));
	list[at] = module;
	modules->n++;
	return NULL;
}

/* The table of module NAME, made if it is the first time that it is seen. */
static struct xtop_error *modules_get(struct modules *modules, const char *name,
				      struct symtab **tabp)
{
	size_t low = 0, high = modules->n;
	struct xtop_error *error;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(modules->list[middle].name, name);

		if (order == 0) {
			*tabp = modules->list[middle].tab;
			return NULL;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	error = modules_insert(modules, low, name);
	if (!error)
		*tabp = modules->list[low].tab;
	return error;
}

static struct xtop_error *modules_split(struct modules *modules, const struct symtab *tab)
{
	struct xtop_error *error = modules_insert(modules, 0, "");

	for (size_t i = 0; !error && i < symtab_count(tab); i++) {
		struct symtab_entry entry = symtab_at(tab, i);
		const char *behind = strchrnul(entry.name, '\t');
		struct symtab *target = NULL;

		error = modules_get(modules, *behind ? behind + 1 : "", &target);
		if (!error)
			error = symtab_add(target, entry.start, entry.end - entry.start, 0,
					   SYMBOL_GLOBAL, entry.name, behind - entry.name);
	}
	for (size_t i = 0; !error && i < modules->n; i++)
		error = symtab_seal(modules->list[i].tab);
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
 * A Linux kernel for x86-64 has these two functions (init/main.c, arch/x86/kernel/head64.c), and
 * nothing else has both. They are __init, but kallsyms lists them for ever.
 */
static bool symbols_is_linux(const struct symtab *tab)
{
	unsigned found = 0;

	for (size_t i = 0; i < symtab_count(tab); i++) {
		const char *name = symtab_at(tab, i).name;

		found += strcmp(name, "start_kernel") == 0 ||
			 strcmp(name, "x86_64_start_kernel") == 0;
	}
	return found >= 2;
}

/*
 * TAB, taken over, as one image or, with modules in it, as one each. FILE_NAME is for what has no
 * better name.
 */
static struct xtop_error *symbols_add_image(struct symbols *symbols, struct symtab *tab,
					    const char *file_name, const struct build_id *build_id)
{
	_cleanup_(cleanup_symtab) struct symtab *whole = tab;
	_cleanup_(modules_deinit) struct modules modules = { 0 };
	struct xtop_error *error;

	if (!symbols_has_modules(tab))
		return symbols_add_table(symbols, no_cleanup_ptr(whole),
					 symbols_is_linux(tab) ? "[kernel]" : file_name, build_id);
	error = modules_split(&modules, tab);
	for (size_t i = 0; !error && i < modules.n; i++) {
		struct symtab *part = no_cleanup_ptr(modules.list[i].tab);
		const char *name = modules.list[i].name;

		if (!*name)
			name = symbols_is_linux(part) ? "[kernel]" : file_name;
		if (symtab_count(part))
			error = symbols_add_table(symbols, part, name, NULL);
		else
			symtab_destroy(part);
	}
	return error;
}

static struct xtop_error *symbols_open(const char *path, int *fdp, bool *is_pipe)
{
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;
	struct stat status;

	error = inputs_take_copy(path, SYMBOL_FILE_MAX_BYTES, &fd, is_pipe);
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

/* By its content: ELF, or else symbol text. */
static struct xtop_error *symbols_read(int fd, const char *path, struct symtab *tab,
				       struct build_id *build_id, bool *is_elf)
{
	char magic[SELFMAG];
	struct xtop_error *error;
	ssize_t got = pread(fd, magic, sizeof(magic), 0);

	if (got < 0)
		return error_create_errno(errno, "%s: cannot be read", path);
	*is_elf = got == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
	if (*is_elf)
		error = symbol_read_elf(fd, path, tab, build_id);
	else
		error = symbol_read_nm(fd, path, tab);
	return error ? error : error_wrap(symtab_seal(tab), "%s", path);
}

struct xtop_error *symbols_add_file(struct symbols *symbols, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_(cleanup_symtab) struct symtab *tab = NULL;
	struct build_id build_id = { 0 };
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;
	bool is_pipe, is_elf = false;

	error = symbols_open(path, &fd, &is_pipe);
	if (!error)
		error = symtab_create(&tab);
	if (!error)
		error = symbols_read(fd, path, tab, &build_id, &is_elf);
	if (!error && !symtab_count(tab))
		error = error_create("%s: no functions in it", path);
	if (error)
		return error;
	error = symbols_add_image(symbols, no_cleanup_ptr(tab), is_pipe ? "[symbols]" : name,
				  &build_id);
	if (!error && is_elf) {
		image_read_tables_later(symbols->images[symbols->n_images - 1], fd);
		fd = -1;
	}
	return error_wrap(error, "%s", path);
}
