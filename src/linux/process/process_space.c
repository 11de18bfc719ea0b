/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the space of a process from its areas; see process.h. A file's image is relocated by the
 * file's PT_LOADs. The space is filled again only if a mapping has changed: each filling raises the
 * space's generation, and everything that was looked up in the space is looked up again. Resolver's
 * thread.
 */
#include "config.h"

#include <stdlib.h>

#include "linux/kernel/arch.h"
#include "linux/process/process.h"

/* Fills in *MAPPINGP. PAGE_SHIFT is the kernel's. Returns false if the area's file is unknown. */
static bool process_map_area(const struct process *process, const struct process_area *area,
			     unsigned page_shift, struct mapping *mappingp)
{
	const struct vma *vma = &area->vma;
	const struct code_file *file = area->file;
	struct mapping mapping = { .start = vma->start,
				   .end = vma->end,
				   .file_offset = vma->page_offset << page_shift,
				   .kind = MAPPING_CODE };

	if (area->is_file && !file)
		return false;
	*mappingp = mapping;
	if (!area->is_file || (file->state == CODE_FILE_NO_ELF && process->jit.image)) {
		mappingp->kind = MAPPING_ANONYMOUS;
		mappingp->image = process->jit.image; /* has the process's addresses: no bias */
	} else if (!file->loads.n) {
		mappingp->image = file->image;
		mappingp->bias = vma->start - mapping.file_offset; /* no addresses are known */
	} else if (loads_bias(&file->loads, vma->start, mapping.file_offset, &mappingp->bias)) {
		mappingp->image = file->image;
	} else {
		mappingp->kind = MAPPING_ANONYMOUS; /* bytes of the file outside its segments */
	}
	return true;
}

static bool process_is_same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->file_offset == b->file_offset && a->image == b->image && a->kind == b->kind;
}

/*
 * Whether the process has these mappings. Images are compared by their addresses. This is safe: the
 * space has references to the images of its mappings, so that no new image can have the address of
 * an old one.
 */
static bool process_has_mappings(const struct process *process, const struct mapping *mappings,
				 size_t n)
{
	if (n != process->n_mappings)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!process_is_same_mapping(&process->mappings[i], &mappings[i]))
			return false;
	return true;
}

void process_fill_space(struct process_reader *reader, struct process *process)
{
	struct mapping *mappings = calloc(process->n_areas + 1, sizeof(*mappings));
	unsigned page_shift = arch_page_shift(reader->guest->root);
	struct xtop_error *error = NULL;
	size_t n = 0;

	if (!mappings)
		return;
	for (size_t i = 0; i < process->n_areas; i++)
		n += process_map_area(process, &process->areas[i], page_shift, &mappings[n]);
	mappings[n++] = reader->fixed;
	process->changes = code_files_changes(reader->files);
	if (process->names == code_files_names(reader->files) &&
	    process_has_mappings(process, mappings, n)) {
		free(mappings);
		return;
	}
	process->names = code_files_names(reader->files);
	free(process->mappings);
	process->mappings = mappings;
	process->n_mappings = n;
	space_clear(process->space);
	for (size_t i = 0; !error && i < n; i++)
		error = space_add(process->space, &mappings[i]);
	error_destroy(error); /* out of memory: the space has only the first mappings */
}
