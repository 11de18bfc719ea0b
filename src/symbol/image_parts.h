/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of an image's file that are read when they are first needed. Resolver's thread.
 */
#ifndef XTOP_SYMBOL_IMAGE_PARTS_H
#define XTOP_SYMBOL_IMAGE_PARTS_H

#include "xtop/elf/elf.h"
#include "xtop/symbol/image.h"

struct image_parts;

/*
 * Lets the symbols and unwind tables of IMAGE, which FILE has, be read from SOURCE when they are
 * needed. Returns false, and takes nothing, if the file has to be read whole.
 */
bool image_parts_attach(struct image *image, struct elf_file *file,
			const struct image_source *source);
void image_parts_destroy(struct image_parts *parts); /* NULL allowed */
size_t image_parts_memory_bytes(const struct image_parts *parts);
/*
 * Finds the bounds of the function at ADDRESS in the file's index. TABLES, the tables for ADDRESS,
 * lack the function because bytes of the file are missing now.
 */
bool image_parts_find_code(const struct image *image, const struct unwind_tables *tables,
			   uint64_t address, uint64_t *start, uint64_t *end);
/* Says that the image has got other symbols: its own file's symbols are not read any more. */
void image_parts_forget_symbols(struct image_parts *parts); /* NULL allowed */

/* Calls *READP, one of IMAGE's late readers, if it is not NULL, and makes it NULL. */
void image_read_late(struct image *image, image_read_fn **readp);

#endif
