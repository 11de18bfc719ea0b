/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An image out of an ELF file: its functions and its unwind tables. The resolver's thread. Where
 * the file is a guest's, or lies below --root, the limits here bound what it can cost: at most 64
 * MiB of names and 32 MiB of unwind tables are read, and what is kept is smaller.
 *
 * Nothing that is wrong after a good header is an error: an image without symbols still unwinds,
 * and one without tables still has names.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/elf_code.h"
#include "symbol/elf_frames.h"
#include "symbol/elf_go.h"
#include "symbol/elf_symtab.h"
#include "symbol/elf_tables.h"
#include "symbol/image_parts.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/limit.h"
#include "xtop/language/language.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/code.h"
#include "xtop/unwind/orc.h"

/* Limit for names, both read and kept. libLLVM, a large file, has 8 MB. */
#define IMAGE_MAX_NAMES_BYTES  LIMIT(64U << 20, 64U << 10)
#define IMAGE_MAX_FRAMES_BYTES LIMIT(32 << 20, 64 << 10)
/* Limit for .gnu_debugdata, which has functions alone. 100,000 functions take some 10 MiB. */
#define IMAGE_MAX_UNPACKED_BYTES LIMIT(32U << 20, 256U << 10)
/* All of a debug file that has no build-id is read for its CRC: 0.1 s. */
#define IMAGE_MAX_CRC_BYTES    (128U << 20)

static const struct elf_limits image_limits = {
	.symbols = 1 << 20,
	.names_bytes = IMAGE_MAX_NAMES_BYTES,
	.sections = 4096,
	.frames_bytes = IMAGE_MAX_FRAMES_BYTES,
	.unpacked_bytes = IMAGE_MAX_UNPACKED_BYTES,
	.lenient = true,
};

/* A kernel's symbols in memory: of its sections the loader has kept these alone. */
static const struct elf_limits image_loaded_limits = {
	.symbols = 1 << 20,
	.names_bytes = IMAGE_MAX_NAMES_BYTES,
	.sections = 4096,
	.lenient = true,
	.partial = true,
};

/*
 * For a file below --root, which may be a guest's, and for a debug file. libelf refuses a file with
 * damaged section headers.
 */
static const struct elf_limits image_root_limits = {
	.symbols = 1 << 20,
	.names_bytes = IMAGE_MAX_NAMES_BYTES,
	.sections = ELF_MAX_SECTIONS,
	.frames_bytes = IMAGE_MAX_FRAMES_BYTES,
	.unpacked_bytes = IMAGE_MAX_UNPACKED_BYTES,
};

/* A file that the user named by -k: a vmlinux with debugging information has 30 MiB of frames. */
static const struct elf_limits image_own_limits = {
	.short_kernels = true,
	.sections = ELF_MAX_SECTIONS,
	.frames_bytes = LIMIT(256 << 20, 64 << 10),
	.inflated_bytes = LIMIT(256 << 20, 64 << 10),
};

/* The names of a file that have been read. */
struct image_names {
	struct symtab *tab; /* NULL: none */
	bool cut, stripped; /* values for struct image's members with these names */
	size_t unpacked_bytes;
};

static struct xtop_error *image_open_guest(const struct image *image, const struct bytes *bytes,
					   const struct elf_limits *limits, struct elf_file *file)
{
	struct xtop_error *error = elf_file_init_guest(file, bytes, image->name, limits);

	file->work = image->work;
	return error;
}

static struct xtop_error *image_open_host(const struct image *image, int fd,
					  const struct elf_limits *limits, struct elf_file *file)
{
	struct xtop_error *error = elf_file_init_host(file, fd, image->name, limits);

	file->work = image->work;
	return error;
}

/* Adds to TAB the stubs in FROM, which may be NULL. *N counts them. */
static struct xtop_error *image_copy_stubs(const struct symtab *from, struct symtab *tab, size_t *n)
{
	struct xtop_error *error = NULL;

	for (size_t i = 0; from && i < symtab_count(from) && !error; i++) {
		struct symtab_entry entry = symtab_at(from, i);

		if (!entry.name || !symtab_entry_is_stub(&entry))
			continue;
		error = symtab_add(tab, &(struct symbol_definition){
						.start = entry.start,
						.size_bytes = entry.end - entry.start,
						.rank = SYMBOL_STUB,
						.name = entry.name,
						.name_bytes = strlen(entry.name) });
		++*n;
	}
	return error;
}

/*
 * Reads the symbols of a file. Symbols before damage or a limit are kept. BEFORE: the image's
 * symbols so far, if the file is a debug file, which has no PLT; else NULL.
 */
static struct xtop_error *image_read_symbols(struct elf_file *file, const struct elf_go *go,
					     const struct symtab *before,
					     struct image_names *names)
{
	struct symtab *tab;
	struct xtop_error *error = symtab_create(&tab), *damage;
	struct elf_symtab_counts counts;

	*names = (struct image_names){ 0 };
	if (error)
		return error;
	symtab_limit_names(tab, IMAGE_MAX_NAMES_BYTES);
	symtab_set_work(tab, file->work);
	damage = elf_read_symbols(file, tab, &counts);
	if (!damage)
		damage = image_copy_stubs(before, tab, &counts.n_stubs);
	if (!damage && go)
		damage = elf_go_add_symbols(go, tab, &counts.n_added);
	names->cut = damage;
	names->stripped = counts.stripped && !(go && go->found);
	names->unpacked_bytes = counts.unpacked_bytes;
	error_destroy(damage);
	if (counts.n_added + counts.n_stubs)
		error = symtab_seal(tab);
	if (!(counts.n_added + counts.n_stubs) || error || !symtab_count(tab))
		symtab_destroy(tab);
	else
		names->tab = tab;
	return error;
}

/* Best effort: skipped when allocation fails. */
static void image_read_link(struct image *image, struct elf_file *file)
{
	struct elf_debug_link link;
	size_t bytes;

	free(image->link); /* an earlier try may have left one */
	image->link = NULL;
	if (!elf_find_debug_link(file, &link))
		return;
	bytes = strlen(link.name) + 1;
	image->link = malloc(sizeof(*image->link) + bytes);
	if (!image->link)
		return;
	image->link->crc = link.crc;
	memcpy(image->link->name, link.name, bytes);
}

static struct xtop_error *image_read_frames(struct elf_file *file, const struct elf_go *go,
					    struct unwind_tables *tables)
{
	_cleanup_(elf_frames_deinit) struct elf_frames frames;
	struct xtop_error *error;

	elf_read_frames(file, &frames);
	error = unwind_tables_build_cfi(tables, &frames.sections);
	if (!error && elf_machine_is_arm(file))
		error = unwind_tables_build_exidx(tables, &frames.exidx);
	if (!error && go->found)
		error = unwind_tables_build_go(tables, &go->table);
	return error;
}

/* Best effort: skipped when allocation fails. */
static void image_read_package(struct image *image, struct elf_file *file)
{
	struct elf_package package;

	free(image->package); /* left by an earlier try */
	image->package = NULL;
	if (elf_find_package(file, &package) &&
	    asprintf(&image->package, "%s %s (%s)", package.name, package.version,
		     package.type) < 0)
		image->package = NULL;
}

static void image_set_names(struct image *image, const struct image_names *names)
{
	symtab_destroy(image->symtab); /* left by an earlier try, when less was there */
	image->symtab = names->tab;
	image->cut = names->cut;
	image->stripped = names->stripped;
	image_parts_forget_symbols(image->parts);
}

/* Reads what is small: everything but symbols and unwind tables. */
static void image_read_notes(struct image *image, struct elf_file *file)
{
	elf_find_init(file, &image->init, &image->fini);
	image->main = elf_find_main(file);
	image->entry = image->main ? file->header.e_entry : 0;
	if (!image->runtime)
		image->runtime = runtime_find(file, image->name);
	elf_find_build_id(file, &image->build_id);
	image_read_link(image, file);
	image_read_package(image, file);
	image->incomplete = file->incomplete;
}

/* Reads everything but ORC, which only kernels have. */
static struct xtop_error *image_read_file(struct image *image, struct elf_file *file)
{
	_cleanup_(elf_go_deinit) struct elf_go go;
	struct image_names names;
	struct xtop_error *error;

	elf_read_go(file, &go);
	error = image_read_symbols(file, &go, NULL, &names);
	if (!error)
		error = image_read_frames(file, &go, &image->tables);
	if (error) {
		symtab_destroy(names.tab);
		return error;
	}
	image_set_names(image, &names);
	image_read_notes(image, file);
	image->unpacked_bytes = names.unpacked_bytes;
	return NULL;
}

struct xtop_error *image_read_elf(struct image *image, const struct bytes *bytes)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct xtop_error *error = image_open_guest(image, bytes, &image_limits, &file);

	return error ? error : image_read_file(image, &file);
}

bool image_open_elf(struct image *image, const struct bytes *bytes,
		    const struct image_source *source)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct xtop_error *error = image_open_guest(image, bytes, &image_limits, &file);
	bool opened = !error && image_parts_attach(image, &file, source);

	if (opened)
		image_read_notes(image, &file);
	error_destroy(error);
	return opened;
}

struct xtop_error *image_read_host_elf(struct image *image, int fd, struct loads *loads)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct xtop_error *error = image_open_host(image, fd, &image_root_limits, &file);

	if (!error)
		error = image_read_file(image, &file);
	if (!error)
		elf_get_loads(&file, loads);
	return error;
}

/* --- debug files ------------------------------------------------------------------------------ */

static bool image_is_debug_file(const struct image *image, struct elf_file *file, bool by_link)
{
	struct build_id build_id;

	elf_find_build_id(file, &build_id);
	if (build_id.size_bytes && image->build_id.size_bytes)
		return build_id_equal(&build_id, &image->build_id);
	return by_link && image->link && elf_has_crc(file, image->link->crc, IMAGE_MAX_CRC_BYTES);
}

bool image_read_debug_file(struct image *image, int fd, bool by_link)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct xtop_error *error = image_open_host(image, fd, &image_root_limits, &file);
	struct image_names names = { 0 };

	if (!error && image_is_debug_file(image, &file, by_link))
		error = image_read_symbols(&file, NULL, image->symtab, &names);
	error_destroy(error);
	if (!names.tab || names.stripped) {
		symtab_destroy(names.tab);
		return false;
	}
	image_set_names(image, &names);
	return true;
}

bool image_has_lines(const struct image *image, int fd, bool by_link, struct elf_alt_link *alt)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct elf_limits limits = image_root_limits;
	struct xtop_error *error;
	bool found;

	limits.relocatable = true; /* a kernel module */
	error = image_open_host(image, fd, &limits, &file);
	found = !error && image_is_debug_file(image, &file, by_link) &&
		(elf_find_section(&file, ".debug_info") ||
		 elf_find_section(&file, ".zdebug_info"));

	if (found)
		elf_find_alt_link(&file, alt);
	error_destroy(error);
	return found;
}

bool image_is_build(int fd, const struct build_id *id)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct elf_limits limits = image_root_limits;
	struct build_id found = { 0 };
	struct xtop_error *error;

	limits.relocatable = true; /* a kernel module, or the file that dwz made */
	error = elf_file_init_host(&file, fd, "", &limits);
	if (!error)
		elf_find_build_id(&file, &found);
	error_destroy(error);
	return build_id_equal(&found, id);
}

/* --- files of -k ------------------------------------------------------------------------------ */

/*
 * Adds the hypercall page, which Xen's note or a symbol tells of. The note comes first: another
 * symbol at the page may hide that name. A copy in a recording has no notes.
 */
static struct xtop_error *image_find_stubs(struct image *image, struct elf_file *file)
{
	uint64_t page;

	if (elf_find_hypercall_page(file, &page))
		return unwind_tables_build_stubs(&image->tables, page);
	for (size_t i = 0; image->symtab && i < symtab_count(image->symtab); i++) {
		struct symtab_entry entry = symtab_at(image->symtab, i);

		if (entry.start % GUEST_PAGE_SIZE == 0 &&
		    strcmp(entry.name, SYMBOL_HYPERCALL_PAGE) == 0)
			return unwind_tables_build_stubs(&image->tables, entry.start);
	}
	return NULL;
}

struct xtop_error *image_read_tables(struct image *image, int fd)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	_cleanup_(elf_go_deinit) struct elf_go go = { 0 };
	struct unwind_tables *tables = &image->tables;
	struct xtop_error *error = image_open_host(image, fd, &image_own_limits, &file);

	if (error)
		return error;
	elf_read_go(&file, &go);
	error = image_read_frames(&file, &go, tables);
	if (!error)
		error = image_find_stubs(image, &file);
	if (error)
		return error;
	orc_destroy(tables->orc);
	tables->orc = elf_read_orc(&file);
	if (tables->orc && image->symtab)
		symtab_add_specials(image->symtab, tables->orc);
	/* Linux changes its code when it boots, and has tables for it. */
	return tables->orc ? NULL : elf_code_attach(&file, fd, image);
}

void image_adopt_tables_file(struct image *image, int fd)
{
	if (image->tables_fd >= 0)
		close(image->tables_fd);
	image->tables_fd = fd;
}

struct xtop_error *image_copy_tables(const struct image *image, int *fdp)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct xtop_error *error;

	*fdp = -1;
	if (image->tables_fd < 0)
		return NULL;
	error = image_open_host(image, image->tables_fd, &image_own_limits, &file);
	return error ? error : elf_copy_tables(&file, fdp);
}

/*
 * Without memory, or when the file is not ELF any more, there are no tables. Frame pointers remain.
 */
void image_build_tables(struct image *image)
{
	_cleanup_close_ int fd = image->tables_fd;

	image_read_late(image, &image->late.tables);
	if (fd < 0)
		return;
	image->tables_fd = -1;
	error_destroy(image_read_tables(image, fd));
}

/* --- a kernel's symbols in memory ------------------------------------------------------------- */

/* Only the instructions of x86-64 are read. */
static struct xtop_error *image_attach_code(struct image *image, struct elf_file *file,
					    const struct code_source *source)
{
	struct code_source with_entries = *source;
	uint64_t start, end;

	if (!image->symtab || !elf_machine_is_x86_64(file)) {
		source->close(source->context);
		return NULL;
	}
	symtab_extent(image->symtab, &start, &end);
	elf_find_entries(file, &with_entries.entries);
	with_entries.work = file->work;
	return unwind_tables_build_computed(&image->tables, &with_entries, start, end);
}

struct xtop_error *image_read_loaded_elf(struct image *image, const struct bytes *bytes,
					 const struct code_source *source)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct xtop_error *error =
		image_open_guest(image, bytes, &image_loaded_limits, &file);

	if (!error)
		error = image_read_file(image, &file);
	if (!error)
		error = image_find_stubs(image, &file);
	if (error)
		source->close(source->context);
	return error ? error : image_attach_code(image, &file, source);
}
