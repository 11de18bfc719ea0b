/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of an image's file that are read when they are first needed; see image_parts.h.
 *
 *   part            read with                            as far as
 *   headers, notes  the file's first process             all of them, a few pages
 *   CFI             the first address in a portion       256 functions (elf_portions.c)
 *   Go's table      the first address in a portion       64 functions (unwind/go_rows.c)
 *   symbols         the first name that is asked for     the table, without the names: an ELF
 *                                                        symbol table has no order. With the
 *                                                        names if they are in .gnu_debugdata,
 *                                                        which is packed
 *   a name          the first look-up of its function    the name (late_names.c)
 *
 * doc/DESIGN says which files are read whole. Resolver's thread.
 */
#include "config.h"

#include "symbol/image_parts.h"

#include <stdlib.h>

#include "symbol/elf_go.h"
#include "symbol/elf_portions.h"
#include "symbol/elf_symtab.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/work.h"

struct image_parts {
	struct image_source source;
	struct elf_limits limits;
	struct elf_portions *portions; /* NULL: the file has no index of its CFI, or not now */
	struct elf_go go;              /* Go's table of functions */
	struct bytes names;            /* SOURCE, with the names of Go's functions */
	bool symbols_due; /* the symbols have not been read yet */
	bool incomplete;  /* bytes of symbols could not be read */
};

static bool parts_has_symtab(const struct elf_file *file)
{
	for (size_t i = 1; i < file->n_sections; i++)
		if (file->sections[i].header.sh_type == SHT_SYMTAB &&
		    file->sections[i].header.sh_size > sizeof(Elf64_Sym))
			return true;
	return false;
}

/* Whether CFI that has no index is needed. Go's table is better where there is one. */
static bool parts_need_all_cfi(struct elf_file *file, const struct image_parts *parts)
{
	if (parts->portions || !file->n_sections)
		return false;
	return !parts->go.found || elf_find_section(file, ".eh_frame");
}

/* Bytes for late names; see struct bytes. */
static size_t parts_read_names(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct image_parts *parts = context;

	if (offset >= ELF_GO_NAMES_AT)
		return elf_go_read_name(&parts->go, offset, buffer, size_bytes);
	return parts->source.bytes.read(parts->source.bytes.context, offset, buffer, size_bytes);
}

static bool parts_build_go(struct image *image, const struct image_parts *parts)
{
	struct xtop_error *error =
		parts->go.found ? unwind_tables_build_go(&image->tables, &parts->go.table) : NULL;
	bool built = !error;

	error_destroy(error);
	return built;
}

bool image_parts_attach(struct image *image, struct elf_file *file,
			const struct image_source *source)
{
	bool has_symtab = parts_has_symtab(file);
	bool packed = !has_symtab && elf_find_section(file, ".gnu_debugdata");
	struct image_parts *parts = calloc(1, sizeof(*parts));

	if (!parts)
		return false;
	*parts = (struct image_parts){ .source = *source,
				       .limits = file->limits,
				       .symbols_due = true };
	parts->limits.late_names = !packed;
	parts->names = (struct bytes){ parts_read_names, parts, UINT64_MAX };
	if (elf_is_go(file))
		elf_open_go(file, &parts->source.bytes, &parts->go);
	if (elf_is_go(file) == parts->go.found)
		parts->portions = elf_portions_create(file, &parts->source.bytes, parts->go.found);
	if (elf_is_go(file) != parts->go.found || parts_need_all_cfi(file, parts) ||
	    !parts_build_go(image, parts)) {
		elf_portions_destroy(parts->portions);
		elf_go_deinit(&parts->go);
		free(parts);
		return false;
	}
	image->parts = parts;
	image->stripped = !has_symtab && !packed && !parts->go.found;
	return true;
}

void image_parts_destroy(struct image_parts *parts)
{
	if (!parts)
		return;
	elf_portions_destroy(parts->portions);
	elf_go_deinit(&parts->go);
	parts->source.close(parts->source.bytes.context);
	free(parts);
}

size_t image_parts_memory_bytes(const struct image_parts *parts)
{
	return sizeof(*parts) + elf_go_memory_bytes(&parts->go) +
	       (parts->portions ? elf_portions_memory_bytes(parts->portions) : 0);
}

void image_parts_forget_symbols(struct image_parts *parts)
{
	if (parts)
		parts->symbols_due = false;
}

/* --- symbols ---------------------------------------------------------------------------------- */

static struct xtop_error *parts_read_symbols(struct image *image, struct elf_file *file,
					     struct symtab *tab, size_t *n)
{
	struct elf_symtab_counts counts;
	struct xtop_error *error = NULL, *damage;

	symtab_limit_names(tab, image->parts->limits.names_bytes);
	if (file->limits.late_names)
		error = symtab_set_late_names(tab, &image->parts->names);
	if (error)
		return error;
	symtab_set_work(tab, file->work);
	damage = elf_read_symbols(file, tab, &counts);
	if (!damage)
		damage = (file->limits.late_names ? elf_go_add_late_symbols : elf_go_add_symbols)(
			&image->parts->go, tab, &counts.n_added);
	image->cut = damage;
	image->stripped = counts.stripped && !image->parts->go.found;
	error_destroy(damage);
	*n = counts.n_added + counts.n_stubs;
	return *n ? symtab_seal(tab) : NULL;
}

/* Best effort: without memory the image has no symbols. */
static void parts_load_symbols(struct image *image)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct image_parts *parts = image->parts;
	struct symtab *tab = NULL;
	struct xtop_error *error;
	size_t n = 0;

	parts->symbols_due = false;
	work_begin(image->work, image->name);
	error = elf_file_init_guest(&file, &parts->source.bytes, image->name, &parts->limits);
	file.work = image->work;
	if (image->incomplete) /* the headers are known to be missing */
		file.incomplete = false;
	if (!error)
		error = symtab_create(&tab);
	if (!error)
		error = parts_read_symbols(image, &file, tab, &n);
	parts->incomplete |= error || file.incomplete;
	if (error || !n || !symtab_count(tab))
		symtab_destroy(tab);
	else
		image->symtab = tab;
	work_end(image->work);
	error_destroy(error);
}

const struct symtab *image_symtab(struct image *image)
{
	image_read_late(image, &image->late.symbols);
	if (image->parts && image->parts->symbols_due)
		parts_load_symbols(image);
	return image->symtab;
}

bool image_awaits_symbols(const struct image *image)
{
	return image->late.symbols || (image->parts && image->parts->symbols_due);
}

void image_read_late(struct image *image, image_read_fn **readp)
{
	image_read_fn *read = *readp;

	*readp = NULL;
	if (read)
		read(image->late.context, image);
}

/* --- tables ----------------------------------------------------------------------------------- */

const struct unwind_tables *image_tables(const struct image *image, uint64_t address,
					 uint64_t *start, uint64_t *end)
{
	if (image->parts && image->parts->portions)
		return elf_portions_find(image->parts->portions, &image->tables, address, start,
					 end);
	*start = 0;
	*end = UINT64_MAX;
	return &image->tables;
}

bool image_parts_find_code(const struct image *image, const struct unwind_tables *tables,
			   uint64_t address, uint64_t *start, uint64_t *end)
{
	uint64_t from, to;

	if (!image->parts || !image->parts->portions ||
	    !elf_portions_find_bounds(image->parts->portions, address, &from, &to) ||
	    unwind_tables_find_function(tables, from, start, end)) /* it ends before ADDRESS */
		return false;
	*start = from;
	*end = to;
	return true;
}

bool image_lacks_parts(const struct image *image)
{
	const struct image_parts *parts = image->parts;

	return parts && (parts->incomplete || parts->go.incomplete ||
			 (parts->portions && elf_portions_are_incomplete(parts->portions)) ||
			 (image->symtab && symtab_is_incomplete(image->symtab)));
}

bool image_is_incomplete(const struct image *image)
{
	return image->incomplete || image_lacks_parts(image);
}
