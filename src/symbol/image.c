/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of one file's code; see image.h. The spaces that map an image share it by
 * reference. Its creator fills it in before the first space has it. Resolver's thread.
 */
#include "config.h"

#include "xtop/symbol/image.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/image_parts.h"
#include "xtop/language/language.h"

/*
 * A chain of places: each leads to the place of a later image of the same file, the last one to the
 * image.
 */
struct image_place {
	const struct image *image;  /* NULL: destroyed */
	struct image_place *successor; /* a reference; NULL: none */
	unsigned n_references;
};

static void image_free(struct image *image)
{
	if (!image)
		return;
	free(image->place);
	free(image->name);
	free(image->link);
	free(image->path);
	free(image->package);
	free(image);
}

struct xtop_error *image_create(const char *name, struct image **imagep)
{
	struct image *image = calloc(1, sizeof(*image));

	if (image) {
		image->name = strdup(name);
		image->place = calloc(1, sizeof(*image->place));
	}
	if (!image || !image->name || !image->place) {
		image_free(image);
		return error_create("out of memory for symbols");
	}
	*image->place = (struct image_place){ .image = image, .n_references = 1 };
	image->n_references = 1;
	image->tables_fd = -1;
	*imagep = image;
	return NULL;
}

void image_set_path(struct image *image, const char *path)
{
	free(image->path);
	image->path = strdup(path);
}

struct image *image_ref(struct image *image)
{
	assert(image->n_references > 0);
	image->n_references++;
	return image;
}

void image_unref(struct image *image)
{
	if (!image || --image->n_references > 0)
		return;
	symtab_destroy(image->symtab);
	image_parts_destroy(image->parts);
	unwind_tables_deinit(&image->tables);
	runtime_destroy(image->runtime);
	if (image->tables_fd >= 0)
		close(image->tables_fd);
	image->place->image = NULL;
	image_place_unref(image->place);
	image->place = NULL;
	image_free(image);
}

size_t image_memory_bytes(const struct image *image)
{
	size_t bytes = sizeof(*image) + sizeof(*image->place) + strlen(image->name) + 1;

	bytes += image->path ? strlen(image->path) + 1 : 0;
	bytes += image->package ? strlen(image->package) + 1 : 0;
	if (image->link)
		bytes += sizeof(*image->link) + strlen(image->link->name) + 1;
	if (image->symtab)
		bytes += symtab_memory_bytes(image->symtab);
	if (image->parts)
		bytes += image_parts_memory_bytes(image->parts);
	return bytes + unwind_tables_memory_bytes(&image->tables);
}

/* --- places ----------------------------------------------------------------------------------- */

struct image_place *image_place_ref(const struct image *image)
{
	image->place->n_references++;
	return image->place;
}

void image_place_unref(struct image_place *place)
{
	while (place && --place->n_references == 0) {
		struct image_place *successor = place->successor;

		free(place);
		place = successor;
	}
}

void image_set_successor(struct image *image, struct image *by)
{
	/* so the places form no circle */
	assert(image != by && !image->place->successor && !by->place->successor);
	image->place->successor = image_place_ref(by);
}

const struct image *image_place_get(struct image_place **placep)
{
	struct image_place *place = *placep;

	while (place->successor)
		place = place->successor;
	if (place != *placep) {
		place->n_references++;
		image_place_unref(*placep);
		*placep = place;
	}
	return place->image;
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* .fini has a few instructions, between which files of the program once put calls. */
#define IMAGE_FINI_BYTES 64

static bool image_find_fini(const struct image *image, uint64_t address, uint64_t *start,
			    uint64_t *end)
{
	if (!image->fini || address - image->fini >= IMAGE_FINI_BYTES)
		return false;
	*start = image->fini;
	*end = image->fini + IMAGE_FINI_BYTES;
	return true;
}

bool image_find_code(struct image *image, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct symtab *symtab = image_symtab(image);
	const struct unwind_tables *tables;
	struct symtab_entry entry;
	uint64_t from, to;

	if (unwind_tables_find_stub(&image->tables, address, start, end))
		return true;
	/* Unwinding takes a whole PLT for one function: stubs jump to its head. */
	if (symtab && symtab_find(symtab, address, &entry) && !symtab_entry_is_stub(&entry)) {
		*start = entry.start;
		*end = entry.end;
		return true;
	}
	tables = image_tables(image, address, &from, &to);
	return unwind_tables_find_function(tables, address, start, end) ||
	       image_parts_find_code(image, tables, address, start, end) ||
	       unwind_tables_find_gap(tables, image->init, address, start, end) ||
	       image_find_fini(image, address, start, end);
}
