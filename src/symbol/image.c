/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of one file's code; see xtop/image.h. Shared by reference between the spaces that
 * map it. Whoever fills it in is alone with it until the first space has it. Resolver's thread.
 */
#include "config.h"

#include "xtop/image.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/cfi.h"
#include "unwind/dwarf.h"
#include "unwind/orc.h"

struct xtop_error *image_create(const char *name, struct image **imagep)
{
	struct image *image = calloc(1, sizeof(*image));

	if (image)
		image->name = strdup(name);
	if (!image || !image->name) {
		free(image);
		return error_create("out of memory for symbols");
	}
	image->n_references = 1;
	image->tables_fd = -1;
	*imagep = image;
	return NULL;
}

struct image *image_ref(struct image *image)
{
	assert(image->n_references > 0);
	image->n_references++;
	return image;
}

/* The tables of all kinds: a new kind goes here and in unwind.c's list of steps. */
static void image_destroy_tables(struct image *image)
{
	symtab_destroy(image->symtab);
	orc_destroy(image->orc);
	cfi_destroy(image->cfi);
	dwarf_destroy(image->dwarf);
}

void image_unref(struct image *image)
{
	if (!image || --image->n_references > 0)
		return;
	image_destroy_tables(image);
	if (image->tables_fd >= 0)
		close(image->tables_fd);
	free(image->name);
	free(image);
}
