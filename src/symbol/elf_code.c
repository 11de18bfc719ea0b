/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of a file of dom0, for unwinding where there are no tables; see elf_code.h. The file
 * stays open. Each function is read when a frame first lies in it. Its bounds are those of its
 * symbol, or else those of its FDE or of the gap between FDEs.
 */
#include "config.h"

#include "symbol/elf_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "xtop/elf/loads.h"
#include "xtop/unwind/code.h"
#include "xtop/unwind/entry_jumps.h"

struct elf_code {
	struct image *image; /* owns this */
	int fd;
	Elf64_Phdr segments[ELF_MAX_SEGMENTS]; /* segments that have code */
	size_t n_segments;
};

static size_t elf_code_read(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	const struct elf_code *code = context;
	ssize_t got = 0;

	for (size_t i = 0; i < code->n_segments; i++) {
		const Elf64_Phdr *segment = &code->segments[i];
		uint64_t distance = address - segment->p_vaddr;

		if (distance >= segment->p_filesz || segment->p_offset > INT64_MAX - distance)
			continue;
		if (size_bytes > segment->p_filesz - distance)
			size_bytes = segment->p_filesz - distance;
		do
			got = pread(code->fd, buffer, size_bytes,
				    (off_t)(segment->p_offset + distance));
		while (got < 0 && errno == EINTR);
		break;
	}
	return got > 0 ? (size_t)got : 0;
}

static bool elf_code_find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct elf_code *code = context;

	return image_find_code(code->image, address, start, end);
}

/* Code of a kernel that has just begun may use its physical addresses. */
static bool elf_code_place(void *context, uint64_t target, uint64_t *address)
{
	const struct elf_code *code = context;

	for (size_t i = 0; i < code->n_segments; i++) {
		const Elf64_Phdr *segment = &code->segments[i];

		if (target - segment->p_vaddr < segment->p_filesz) {
			*address = target;
			return true;
		}
	}
	for (size_t i = 0; i < code->n_segments; i++) {
		const Elf64_Phdr *segment = &code->segments[i];

		if (target - segment->p_paddr < segment->p_filesz) {
			*address = segment->p_vaddr + (target - segment->p_paddr);
			return true;
		}
	}
	return false;
}

static void elf_code_close(void *context)
{
	struct elf_code *code = context;

	close(code->fd);
	free(code);
}

/*
 * Whether the file has code of arm64 that runs as the file has it. A Linux kernel changes its code
 * when it boots (.altinstructions); its frame pointers lead everywhere.
 */
static bool elf_code_is_arm64(const struct elf_file *file)
{
	return elf_machine_is_arm(file) && !elf_machine_is_short(file) &&
	       !elf_find_section(file, ".altinstructions");
}

/* SEGMENT with what the file has before it in its first page: a process has these bytes, too. */
static Elf64_Phdr elf_code_widen(Elf64_Phdr segment)
{
	uint64_t before = load_bytes_before(segment.p_offset, segment.p_vaddr);

	segment.p_offset -= before;
	segment.p_vaddr -= before;
	segment.p_paddr -= before;
	segment.p_filesz += before;
	return segment;
}

struct xtop_error *elf_code_attach(struct elf_file *file, int fd, struct image *image)
{
	struct elf_code *code = calloc(1, sizeof(*code));
	struct code_source source = { .read = elf_code_read,
				      .find_function = elf_code_find_function,
				      .close = elf_code_close,
				      .context = code,
				      .work = file->work };
	uint64_t start = UINT64_MAX, end = 0;
	bool is_arm32 = elf_machine_is_arm(file) && elf_machine_is_short(file);
	bool is_arm64 = elf_code_is_arm64(file);

	if (!code)
		return error_create("out of memory for unwinding without tables");
	code->image = image;
	source.arch = is_arm64 ? ARCH_ARM64 : ARCH_X86;
	elf_find_entries(file, &source.entries);
	/* the instructions of other machines are not read */
	if (!is_arm32 && !is_arm64 && !elf_machine_is_x86_64(file)) {
		if (elf_machine_is_short(file))
			unwind_tables_build_first_code(&image->tables, &source);
		free(code);
		return NULL;
	}
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    segment->p_filesz > UINT64_MAX - segment->p_vaddr)
			continue;
		code->segments[code->n_segments++] = elf_code_widen(*segment);
		start = segment->p_vaddr < start ? segment->p_vaddr : start;
		if (segment->p_vaddr + segment->p_filesz > end)
			end = segment->p_vaddr + segment->p_filesz;
	}
	code->fd = code->n_segments ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (code->fd < 0 || start >= end) {
		if (code->fd >= 0)
			close(code->fd);
		free(code);
		return NULL;
	}
	if (!is_arm32 && !is_arm64)
		entry_jumps_find(&source, elf_code_place, code, &source.entries);
	return is_arm32 ? unwind_tables_build_links(&image->tables, &source)
			: unwind_tables_build_computed(&image->tables, &source, start, end);
}
