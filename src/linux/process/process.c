/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the areas with code of an mm_struct, and the file of each area; see process.h.
 * process_space.c builds a space from the areas. Resolver's thread; the guest runs meanwhile.
 *
 *   area with VM_EXEC, with a file     the file's image
 *                      at mm's vdso    the vDSO: an ELF file in memory, shared by all processes
 *                      otherwise       code that the process compiled itself: "[jit]" (jit_names.c)
 */
#include "config.h"

#include "linux/process/process.h"

#include <stdlib.h>

#include "linux/kernel/arch.h"
#include "linux/process/process_arch.h"

#define PROCESS_MAX_WALKS  8    /* walks that are made while the areas keep changing */
#define PROCESS_MAX_WALKED 1024 /* areas that are visited in these walks before the last one */

struct xtop_error *process_init(struct process *process)
{
	*process = (struct process){ 0 };
	return space_create(&process->space);
}

static void process_drop_areas(struct process *process)
{
	for (size_t i = 0; i < process->n_areas; i++)
		if (process->areas[i].file)
			code_file_close(process->areas[i].file);
	free(process->areas);
}

void process_deinit(struct process_reader *reader, struct process *process)
{
	space_destroy(process->space);
	process_drop_areas(process);
	jit_names_deinit(&process->jit, reader->budget);
	memory_budget_charge(reader->budget, &process->charged_bytes, 0);
	free(process->mappings);
	*process = (struct process){ 0 };
}

void process_poll_jit(struct process_reader *reader, struct process *process,
		      const struct task *task, uint64_t now_ns)
{
	if (process->has_jit && !jit_names_poll(&process->jit, reader->guest, reader->budget,
						&reader->allowance, task, now_ns))
		reader->no_room++;
}

/* --- the walk --------------------------------------------------------------------------------- */

/*
 * Keeps areas with code. Also keeps areas that map a file and are not writable, because they may
 * have parts of files with code.
 */
static bool process_visit(void *context, const struct vma *vma)
{
	struct process_reader *reader = context;

	reader->n_visited++;
	if (!(vma->flags & VMA_EXEC) && (!vma->file || vma->flags & VMA_WRITE))
		return true;
	if (reader->n_vmas == PROCESS_MAX_AREAS)
		reader->left_out++;
	else
		reader->vmas[reader->n_vmas++] = *vma;
	return true;
}

static size_t process_count_code(const struct process_reader *reader)
{
	size_t n = 0;

	for (size_t i = 0; i < reader->n_vmas; i++)
		n += (reader->vmas[i].flags & VMA_EXEC) != 0;
	return n;
}

/*
 * Charges the areas. If the budget is full, all areas are dropped. The old areas are released from
 * the budget first.
 */
static void process_limit_areas(struct process_reader *reader, struct process *process)
{
	size_t n = process_count_code(reader);

	memory_budget_charge(reader->budget, &process->charged_bytes, 0);
	if (n && memory_budget_is_full(reader->budget)) {
		reader->left_out += n;
		reader->n_vmas = 0;
		process->torn = true; /* worth another try */
		n = 0;
	}
	memory_budget_charge(reader->budget, &process->charged_bytes, n * PROCESS_AREA_BYTES);
}

/* --- the file of an area ---------------------------------------------------------------------- */

/*
 * Finds the bytes of the vDSO. The kernel's own copy is complete. Otherwise the process's mapping
 * has the pages that the process used. All processes share this memory, and its first frame
 * identifies it.
 */
static bool process_find_vdso(const struct process_reader *reader, const struct process *process,
			      const struct vma *vma, struct guest_file *source)
{
	const struct linux_guest *guest = reader->guest;
	uint64_t address, size_bytes;
	frame_t frame;

	if (process_arch_find_vdso(guest, process->mm, &address, &size_bytes)) {
		source->identity.inode_number = address;
		source->root = guest->root;
	} else {
		address = vma->start;
		size_bytes = vma->end - vma->start;
		if (!memory_translate(guest->memory, process->root, address, &frame))
			return false;
		source->identity.inode_number = frame.value;
	}
	source->identity.size_bytes = size_bytes;
	source->pieces[0] =
		(struct guest_file_piece){ .address = address, .size_bytes = size_bytes };
	source->n_pieces = 1;
	return true;
}

static bool process_find_file(const struct process_reader *reader, const struct vma *vma,
			      struct guest_file *source)
{
	if (!guest_file_find_inode(reader->guest, vma->file, source))
		return false;
	for (size_t i = 0; i < reader->n_vmas; i++)
		if (reader->vmas[i].file == vma->file)
			guest_file_add_mapping(source, &reader->vmas[i]);
	return true;
}

/* Fills in AREA from VMA, and opens its file if it has one that can be read. */
static void process_read_area(struct process_reader *reader, struct process *process,
			      const struct vma *vma, uint64_t now_ns, struct process_area *area)
{
	struct guest_file source = { .guest = reader->guest, .root = process->root };
	bool vdso = !vma->file && vma->start == process->key.vdso;
	bool found;

	*area = (struct process_area){ .vma = *vma, .is_file = vma->file || vdso };
	if (!area->is_file) {
		process->has_jit = true;
		return;
	}
	if (vdso)
		area->vma.page_offset = 0;
	found = vdso ? process_find_vdso(reader, process, vma, &source)
		     : process_find_file(reader, vma, &source);
	if (!found) {
		process->torn = true;
		return;
	}
	area->file = code_files_open(reader->files, &source, now_ns);
	process->torn |= !area->file; /* put off, or no room: worth another try */
	if (area->file && area->file->state == CODE_FILE_NO_ELF && vma->file)
		process->has_jit = true; /* compilers use memory files, too: memfd_create() */
}

/* Returns false if the areas have changed since process->key was read. */
static bool process_walk(struct process_reader *reader, const struct process *process)
{
	reader->n_vmas = reader->n_visited = 0;
	return vmas_walk(reader->guest, process->mm, process_visit, reader) == VMAS_DONE &&
	       reader->n_visited == process->key.map_count;
}

/*
 * Walks the areas until they are complete. A program that has just started maps its libraries: some
 * sixty areas in the time of a few walks. A sample without them has a short chain. So a walk during
 * which the areas changed is repeated at once. Returns false if they changed in each of the walks.
 */
static bool process_walk_until_whole(struct process_reader *reader, struct process *process)
{
	const struct linux_guest *guest = reader->guest;
	bool whole = process_walk(reader, process);
	size_t walked = reader->n_visited;

	for (unsigned i = 1; !whole && i < PROCESS_MAX_WALKS && walked < PROCESS_MAX_WALKED; i++) {
		memory_refresh(guest->memory);
		if (!vmas_read_key(guest, process->mm, &process->key))
			return false;
		whole = process_walk(reader, process);
		walked += reader->n_visited;
	}
	return whole;
}

bool process_read_areas(struct process_reader *reader, struct process *process, uint64_t now_ns)
{
	struct process_area *areas, *area;
	bool whole = process_walk_until_whole(reader, process);

	code_files_begin_walk(reader->files);
	areas = calloc(process_count_code(reader) + 1, sizeof(*areas));
	if (!areas)
		return false;
	process->torn = !whole;
	process->has_jit = false;
	process_limit_areas(reader, process);
	if (!arch_read_root(reader->guest, process->key.pgd, &process->root)) {
		process->torn = true;
		reader->n_vmas = 0;
	}
	area = areas;
	for (size_t i = 0; i < reader->n_vmas; i++)
		if (reader->vmas[i].flags & VMA_EXEC)
			process_read_area(reader, process, &reader->vmas[i], now_ns, area++);
	process_drop_areas(process);
	process->areas = areas;
	process->n_areas = (size_t)(area - areas);
	return true;
}
