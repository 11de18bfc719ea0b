/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind tables of this process: those of its files, and the vDSO's from memory. */
#ifndef TESTS_UNWIND_PROCESS_IMAGES_H
#define TESTS_UNWIND_PROCESS_IMAGES_H

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include "elf_tables.h"

#define PROCESS_MAX_IMAGES 32
#define PROCESS_MAX_FRAMES 64

struct process_image {
	struct elf_tables tables;
	uint64_t start, end, bias;
	char name[256];
};

struct process_images {
	struct process_image images[PROCESS_MAX_IMAGES];
	size_t n;
};

static inline int process_add_image(struct dl_phdr_info *info, size_t size, void *context)
{
	struct process_images *process = context;
	struct process_image *image = &process->images[process->n];
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct bytes bytes = { elf_tables_copy, (void *)vdso, 2 * 4096 };

	(void)size;
	if (process->n == PROCESS_MAX_IMAGES)
		return 1;
	*image = (struct process_image){ .start = UINT64_MAX, .bias = info->dlpi_addr };
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		image->start = start < image->start ? start : image->start;
		if (start + segment->p_memsz > image->end)
			image->end = start + segment->p_memsz;
	}
	snprintf(image->name, sizeof(image->name), "%s",
		 strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	bytes.size_bytes = (image->end - image->start + 4095) & ~4095ULL;
	if (image->start == (uint64_t)vdso)
		elf_tables_read(&image->tables, "vdso", &bytes);
	else
		elf_tables_open(&image->tables, path);
	process->n++;
	return 0;
}

static inline void process_images_init(struct process_images *process)
{
	process->n = 0;
	dl_iterate_phdr(process_add_image, process);
}

static inline void process_images_deinit(struct process_images *process)
{
	for (size_t i = 0; i < process->n; i++)
		elf_tables_close(&process->images[i].tables);
}

static inline const struct process_image *process_find(const struct process_images *process,
						       uint64_t address)
{
	static const struct process_image *last; /* one thread; images do not change */

	if (last && address - last->start < last->end - last->start)
		return last;
	for (size_t i = 0; i < process->n; i++)
		if (address >= process->images[i].start && address < process->images[i].end)
			return last = &process->images[i];
	return NULL;
}

static inline enum unwind_step process_step(const struct process_images *process,
					    struct cursor *cursor, bool libunwind)
{
	const struct process_image *image = process_find(process, cursor_pc(cursor));

	if (!image || !image->tables.cfi)
		return STEP_NOT_COVERED;
	return libunwind ? elf_tables_step_all(&image->tables, image->bias, cursor) :
			   elf_tables_step(&image->tables, image->bias, cursor);
}

#endif
