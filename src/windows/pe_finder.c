/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds PE images; see pe_finder.h. Windows maps an image's header in front of its code. So the
 * header is in the first page below an address that begins with "MZ" and has a size that includes
 * the address. Pages in between may be missing: Windows frees code that only ran at boot, and reads
 * other code on demand.
 */
#include "config.h"

#include "windows/pe_finder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/limit.h"

#define PE_MAX_PAGES   LIMIT(8192, 64) /* ntoskrnl.exe has 16 MiB */
#define PE_MAX_MISSING LIMIT(1024, 32)

/* The image as a file that begins at its first byte. */
struct pe_memory {
	struct memory *memory;
	struct memory_root root;
	uint64_t start;
};

static size_t pe_memory_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	const struct pe_memory *image = context;

	return memory_read(image->memory, image->root, image->start + offset, buffer, size_bytes);
}

static bool pe_finder_try_start(struct pe_memory *image, uint64_t address, struct pe_place *place)
{
	const struct bytes bytes = { pe_memory_read, image, UINT64_MAX };

	if (!pe_read_head(&bytes, &place->head) ||
	    address - image->start >= place->head.size_bytes ||
	    image->start > UINT64_MAX - place->head.size_bytes)
		return false;
	place->start = image->start;
	if (!pe_read_name(&bytes, &place->head, place->name))
		place->name[0] = '\0';
	return true;
}

/* When the thread's work is over, memory_read() finds no pages, and the search ends. */
bool pe_finder_find(struct memory *memory, struct memory_root root, uint64_t address,
		    struct pe_place *place)
{
	struct pe_memory image = { memory, root, address & ~(uint64_t)GUEST_PAGE_MASK };
	unsigned missing = 0;
	char magic[2];

	for (unsigned i = 0; i < PE_MAX_PAGES && missing < PE_MAX_MISSING; i++) {
		if (memory_read(memory, root, image.start, magic, 2) != 2)
			missing++;
		else if (memcmp(magic, "MZ", 2) == 0 && pe_finder_try_start(&image, address, place))
			return true;
		if (image.start < GUEST_PAGE_SIZE)
			return false;
		image.start -= GUEST_PAGE_SIZE;
	}
	return false;
}

static struct xtop_error *pe_finder_read(const struct pe_memory *where,
					 const struct pe_place *place, struct image *image)
{
	struct pe_memory *kept = malloc(sizeof(*kept));
	const struct bytes bytes = { pe_memory_read, kept, UINT64_MAX };
	const struct code_source source = { .read = pe_memory_read,
					    .close = free,
					    .context = kept };

	if (!kept)
		return error_create("out of memory for a PE image");
	*kept = *where;
	return image_read_pe(image, &bytes, &place->head, &source);
}

struct xtop_error *pe_finder_add(struct memory *memory, struct memory_root root,
				 const struct pe_place *place, struct space *space)
{
	const struct pe_memory where = { memory, root, place->start };
	struct image *image = NULL;
	struct xtop_error *error;
	char name[40];

	snprintf(name, sizeof(name), "[image %llx]", (unsigned long long)place->start);
	error = image_create(place->name[0] ? place->name : name, &image);
	if (!error)
		image->work = memory_work(memory);
	if (!error)
		error = pe_finder_read(&where, place, image);
	if (!error)
		error = space_add(space, &(struct mapping){
						 .start = place->start,
						 .end = place->start + place->head.size_bytes,
						 .bias = place->start,
						 .image = image });
	image_unref(image);
	return error;
}
