/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image out of an ELF file: its functions and its unwind tables. The resolver's thread. Where
 * the file is a guest's, or lies below --root, the limits here bound what it can cost: at most 64
 * MiB of names and 32 MiB of unwind tables are read, and what is kept is smaller.
 *
 * Nothing that is wrong behind a good header is an error: an image without symbols still unwinds,
 * and one without tables still has names.
 */
#include "config.h"

#include "symbol/elf_frames.h"
#include "symbol/elf_go.h"
#include "symbol/elf_symtab.h"
#include "xtop/cleanup.h"
#include "xtop/image.h"
#include "xtop/limit.h"
#include "xtop/orc.h"

/* Read, and kept. libLLVM is a large file and has 8 MB. */
#define IMAGE_MAX_NAMES_BYTES  LIMIT(64U << 20, 64U << 10)
#define IMAGE_MAX_FRAMES_BYTES LIMIT(32 << 20, 64 << 10)

static const struct elf_limits image_limits = {
	.symbols = 1 << 20,
	.names_bytes = IMAGE_MAX_NAMES_BYTES,
	.sections = 4096,
	.frames_bytes = IMAGE_MAX_FRAMES_BYTES,
	.lenient = true,
};

/*
 * A file below --root, which may be a guest's, too. Its section headers must be right for libelf.
 */
static const struct elf_limits image_root_limits = {
	.symbols = 1 << 20,
	.names_bytes = IMAGE_MAX_NAMES_BYTES,
	.sections = ELF_MAX_SECTIONS,
	.frames_bytes = IMAGE_MAX_FRAMES_BYTES,
};

/* A file that the user named by -k: a vmlinux with debugging information has 30 MiB of frames. */
static const struct elf_limits image_own_limits = {
	.sections = ELF_MAX_SECTIONS,
	.frames_bytes = LIMIT(256 << 20, 64 << 10),
	.inflated_bytes = LIMIT(256 << 20, 64 << 10),
};

/* *TABP NULL: none. What comes before damage, or a limit, is kept. */
static struct xtop_error *image_read_symbols(struct elf_file *file, const struct elf_go *go,
					     struct symtab **tabp, bool *cut)
{
	struct symtab *tab;
	struct xtop_error *error = symtab_create(&tab), *damage;
	size_t n_added = 0;

	if (error)
		return error;
	symtab_limit_names(tab, IMAGE_MAX_NAMES_BYTES);
	damage = elf_read_symbols(file, tab, &n_added);
	if (!damage)
		damage = elf_go_add_symbols(go, tab, &n_added);
	*cut = damage;
	error_destroy(damage);
	if (n_added)
		error = symtab_seal(tab);
	if (!n_added || error || !symtab_count(tab)) {
		symtab_destroy(tab);
		tab = NULL;
	}
	*tabp = tab;
	return error;
}

static struct xtop_error *image_read_frames(struct elf_file *file, const struct elf_go *go,
					    struct unwind_tables *tables)
{
	_cleanup_(elf_frames_deinit) struct elf_frames frames;
	struct xtop_error *error;

	elf_read_frames(file, &frames);
	error = unwind_tables_build_cfi(tables, &frames.sections);
	if (!error && go->found)
		error = unwind_tables_build_go(tables, &go->table);
	return error;
}

/* All but ORC, which no file of a process has. */
static struct xtop_error *image_read_file(struct image *image, struct elf_file *file)
{
	_cleanup_(elf_go_deinit) struct elf_go go;
	struct symtab *tab = NULL;
	bool cut = false;
	struct xtop_error *error;

	elf_read_go(file, &go);
	error = image_read_symbols(file, &go, &tab, &cut);
	if (!error)
		error = image_read_frames(file, &go, &image->tables);
	if (error) {
		symtab_destroy(tab);
		return error;
	}
	symtab_destroy(image->symtab); /* of an earlier try, when less was there */
	image->symtab = tab;
	elf_find_build_id(file, &image->build_id);
	image->incomplete = file->incomplete;
	image->cut = cut;
	return NULL;
}

struct xtop_error *image_read_elf(struct image *image, const struct bytes *bytes)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct xtop_error *error = elf_file_init_guest(&file, bytes, image->name, &image_limits);

	return error ? error : image_read_file(image, &file);
}

struct xtop_error *image_read_host_elf(struct image *image, int fd, struct loads *loads)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct xtop_error *error = elf_file_init_host(&file, fd, image->name, &image_root_limits);

	if (!error)
		error = image_read_file(image, &file);
	if (!error)
		elf_get_loads(&file, loads);
	return error;
}

struct xtop_error *image_read_tables(struct image *image, int fd)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	_cleanup_(elf_go_deinit) struct elf_go go = { 0 };
	struct unwind_tables *tables = &image->tables;
	struct xtop_error *error = elf_file_init_host(&file, fd, image->name, &image_own_limits);

	if (error)
		return error;
	elf_read_go(&file, &go);
	error = image_read_frames(&file, &go, tables);
	if (error)
		return error;
	orc_destroy(tables->orc);
	tables->orc = elf_read_orc(&file);
	if (tables->orc && image->symtab)
		symtab_add_specials(image->symtab, tables->orc);
	return NULL;
}

void image_adopt_tables_file(struct image *image, int fd)
{
	if (image->tables_fd >= 0)
		close(image->tables_fd);
	image->tables_fd = fd;
}

/*
 * Without memory, or when the file is not ELF any more, there are no tables. Frame pointers remain.
 */
void image_build_tables(struct image *image)
{
	_cleanup_close_ int fd = image->tables_fd;

	if (fd < 0)
		return;
	image->tables_fd = -1;
	error_destroy(image_read_tables(image, fd));
}
