/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind tables of a file or of memory, twice: compiled, and for libunwind alone. */
#ifndef TESTS_UNWIND_ELF_TABLES_H
#define TESTS_UNWIND_ELF_TABLES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/elf_frames.h"
#include "unwind/dwarf.h"

struct elf_tables {
	struct cfi *cfi;
	struct dwarf *unusual, *all;
	uint64_t first; /* address of the first segment in the file */
};

static inline size_t elf_tables_copy(void *context, uint64_t offset, void *buffer,
				     size_t size_bytes)
{
	memcpy(buffer, (const char *)context + offset, size_bytes);
	return size_bytes;
}

static inline void elf_tables_fatal(struct xtop_error *error)
{
	if (!error)
		return;
	printf("Bail out! %s\n", error_message(error));
	exit(99);
}

static const struct elf_limits elf_tables_limits = { .symbols = 1 << 22,
						     .names_bytes = 1 << 30,
						     .sections = 4096,
						     .frames_bytes = 256 << 20,
						     .inflated_bytes = 256 << 20,
						     .lenient = true };

/* FILE was opened with ERROR. False: it cannot be read. */
static inline bool elf_tables_fill(struct elf_tables *tables, struct elf_file *file,
				   struct xtop_error *error)
{
	struct elf_frames frames;

	*tables = (struct elf_tables){ 0 };
	if (error) {
		printf("# %s\n", error_message(error));
		error_destroy(error);
		return false;
	}
	for (size_t i = file->n_segments; i-- > 0;)
		if (file->segments[i].p_type == PT_LOAD)
			tables->first = file->segments[i].p_vaddr;
	elf_read_frames(file, &frames);
	frames.sections.entries.elf = 0; /* no FDE says it, so libunwind does not know it */
	elf_tables_fatal(cfi_compile(&frames.sections, &tables->cfi));
	elf_tables_fatal(dwarf_create(&frames.sections, NULL, &tables->all));
	if (tables->cfi)
		elf_tables_fatal(dwarf_create(&frames.sections, tables->cfi, &tables->unusual));
	elf_frames_deinit(&frames);
	elf_file_deinit(file);
	return tables->cfi != NULL;
}

static inline bool elf_tables_read(struct elf_tables *tables, const char *path,
				   const struct bytes *bytes)
{
	struct elf_file file;

	return elf_tables_fill(tables, &file,
			       elf_file_init_guest(&file, bytes, path, &elf_tables_limits));
}

static inline bool elf_tables_open(struct elf_tables *tables, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file file;
	bool ok;

	*tables = (struct elf_tables){ 0 };
	if (fd < 0)
		return false;
	ok = elf_tables_fill(tables, &file,
			     elf_file_init_host(&file, fd, path, &elf_tables_limits));
	close(fd);
	return ok;
}

static inline void elf_tables_close(struct elf_tables *tables)
{
	cfi_destroy(tables->cfi);
	dwarf_destroy(tables->unusual);
	dwarf_destroy(tables->all);
}

/* One step with the mechanisms in the order of unwind/mechanisms.h. */
static inline enum unwind_step elf_tables_step(const struct elf_tables *tables, uint64_t bias,
					       struct cursor *cursor)
{
	enum unwind_step step = cfi_step(tables->cfi, bias, cursor);

	if (step == STEP_NOT_COVERED && tables->unusual)
		step = dwarf_step(tables->unusual, bias, cursor);
	return step;
}

static inline enum unwind_step elf_tables_step_all(const struct elf_tables *tables, uint64_t bias,
						   struct cursor *cursor)
{
	return tables->all ? dwarf_step(tables->all, bias, cursor) : STEP_NOT_COVERED;
}

#endif
