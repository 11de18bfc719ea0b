/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind tables of a file or of memory, twice: compiled, and for libunwind alone. */
#ifndef TESTS_UNWIND_ELF_TABLES_H
#define TESTS_UNWIND_ELF_TABLES_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/elf_frames.h"
#include "unwind/dwarf.h"

struct elf_tables {
	struct cfi *cfi;
	struct dwarf *unusual, *all;
	uint64_t first; /* address of the first segment in the file */
};

static inline size_t elf_tables_pread(void *context, uint64_t offset, void *buffer,
				      size_t size_bytes)
{
	ssize_t got = pread(*(int *)context, buffer, size_bytes, offset);

	return got < 0 ? 0 : got;
}

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

/* False: the file cannot be read. */
static inline bool elf_tables_read(struct elf_tables *tables, const char *path,
				   const struct bytes *bytes)
{
	const struct elf_limits limits = { .symbols = 1 << 22,
					   .names_bytes = 1 << 30,
					   .sections = 4096,
					   .frames_bytes = 256 << 20,
					   .inflated_bytes = 256 << 20,
					   .lenient = true };
	struct elf_frames frames;
	struct xtop_error *error;
	struct elf_file file;

	*tables = (struct elf_tables){ 0 };
	error = elf_file_init(&file, bytes, path, &limits);
	if (error) {
		printf("# %s\n", error_message(error));
		error_destroy(error);
		return false;
	}
	for (size_t i = file.n_segments; i-- > 0;)
		if (file.segments[i].p_type == PT_LOAD)
			tables->first = file.segments[i].p_vaddr;
	elf_read_frames(&file, &frames);
	elf_tables_fatal(cfi_compile(&frames.sections, &tables->cfi));
	elf_tables_fatal(dwarf_create(&frames.sections, NULL, &tables->all));
	if (tables->cfi)
		elf_tables_fatal(dwarf_create(&frames.sections, tables->cfi, &tables->unusual));
	elf_frames_deinit(&frames);
	elf_file_deinit(&file);
	return tables->cfi != NULL;
}

static inline bool elf_tables_open(struct elf_tables *tables, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes bytes = { elf_tables_pread, &fd, 0 };
	struct stat status;
	bool ok;

	*tables = (struct elf_tables){ 0 };
	if (fd < 0)
		return false;
	fstat(fd, &status);
	bytes.size_bytes = status.st_size;
	ok = elf_tables_read(tables, path, &bytes);
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
