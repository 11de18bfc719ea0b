/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The section .text of a program's file, and what GNU's objdump says of its instructions. */
#ifndef TESTS_UNWIND_OBJDUMP_H
#define TESTS_UNWIND_OBJDUMP_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_tables.h"
#include "tests/support/tap.h"

struct objdump_text {
	const char *path;
	const uint8_t *bytes;
	uint64_t start, size_bytes; /* start: its address */
	uint8_t word_bytes;	    /* size of a word in the program: 4 or 8 */
	bool is_x86;
};

/* Calls USE for the section of the file. A file that is not there has none. */
static inline void objdump_with_text(const char *path, void (*use)(const struct objdump_text *text))
{
	struct elf_file file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t index;

	if (fd < 0)
		return;
	elf_tables_fatal(elf_file_init_host(&file, fd, path, &elf_tables_limits));
	index = elf_find_section(&file, ".text");
	if (index) {
		const Elf64_Shdr *section = &file.sections[index].header;
		uint8_t *bytes = malloc(section->sh_size);

		if (elf_read(&file, section->sh_offset, bytes, section->sh_size) ==
		    section->sh_size)
			use(&(struct objdump_text){ path, bytes, section->sh_addr, section->sh_size,
						    elf_machine_is_short(&file) ? 4 : 8,
						    !elf_machine_is_arm(&file) });
		free(bytes);
	}
	elf_file_deinit(&file);
	close(fd);
}

/*
 * Objdump's line of an instruction in TEXT: "  139220:\tbl\t13ad60 <x>". Its address goes to *ADDRESS.
 * Returns what follows the first tab; NULL: another line, or not in TEXT.
 */
static inline char *objdump_parse(const struct objdump_text *text, char *line, uint64_t *address)
{
	char *end;
	uint64_t at = strtoull(line, &end, 16);

	if (end == line || end[0] != ':' || end[1] != '\t' || at - text->start >= text->size_bytes)
		return NULL;
	*address = at;
	return end + 2;
}

/* Calls USE for each line that the program OBJDUMP prints. Without that program there is none. */
static inline void objdump_lines(const char *objdump, const struct objdump_text *text,
				 void (*use)(void *context, char *line), void *context)
{
	char command[5000], line[4096];
	FILE *output;

	snprintf(command, sizeof(command), "%s -d -z --no-show-raw-insn -w -j .text '%s' 2>/dev/null",
		 objdump, text->path);
	output = popen(command, "r");
	while (output && fgets(line, sizeof(line), output))
		use(context, line);
	if (output)
		pclose(output);
}

/*
 * Counts of instructions by the cause why texts differ: of N instructions, CAUSES[i] have the cause
 * NAMES[i]. Prints them. Returns false, and skips a point, if there is no objdump.
 */
static inline bool objdump_report(const struct objdump_text *text, uint64_t n, const uint64_t *causes,
				  const char *const *names, unsigned n_causes)
{
	if (!n) {
		printf("ok %u - # SKIP no objdump here\n", ++tap_points);
		return false;
	}
	for (unsigned i = 0; i < n_causes; i++)
		printf("# %s: %" PRIu64 " %s\n", text->path, causes[i], names[i]);
	check(n > 100000, "%s: %" PRIu64 " instructions", text->path, n);
	return true;
}

#endif
