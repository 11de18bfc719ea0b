/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stub_names FILE: prints the stubs of a PLT that FILE has, as "ADDRESS NAME". FILE is read in four
 * ways: as a guest's file, whole, with names that are read late, and without section headers; and
 * as a file of dom0. Fails if they differ.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/must.h"
#include "xtop/elf/loads.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"

static size_t read_file(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	ssize_t got = pread(*(int *)context, buffer, size_bytes, (off_t)offset);

	return got < 0 ? 0 : (size_t)got;
}

/* read_file(), but the header says that the file has no sections, as in many guests' memory. */
static size_t read_without_sections(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	size_t n = read_file(context, offset, buffer, size_bytes);
	Elf64_Ehdr *header = buffer;

	if (!offset && n >= sizeof(*header))
		header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
	return n;
}

static void close_nothing(void *context)
{
	(void)context;
}

/* Adds the stubs of IMAGE to TEXT, which has SIZE_BYTES. */
static void list_stubs(struct image *image, char *text, size_t size_bytes)
{
	const struct symtab *symtab = image_symtab(image);
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; symtab && i < symtab_count(symtab) && used < size_bytes; i++) {
		struct symtab_entry entry = symtab_at(symtab, i);

		if (strstr(entry.name, SYMBOL_STUB_SUFFIX))
			used += (size_t)snprintf(text + used, size_bytes - used, "%" PRIx64 " %s\n",
						 entry.start, entry.name);
	}
	image_unref(image);
}

int main(int argc, char **argv)
{
	static char texts[4][1 << 16];
	int fd = open(argc > 1 ? argv[1] : "", O_RDONLY | O_CLOEXEC);
	struct image *image;
	struct image_source source;
	struct loads loads;
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return 2;
	source = (struct image_source){ { read_file, &fd, (uint64_t)status.st_size },
					close_nothing };
	must(image_create("whole", &image));
	must(image_read_elf(image, &source.bytes));
	list_stubs(image, texts[0], sizeof(texts[0]));
	must(image_create("parts", &image));
	if (image_open_elf(image, &source.bytes, &source))
		list_stubs(image, texts[1], sizeof(texts[1]));
	source.bytes.read = read_without_sections;
	must(image_create("without sections", &image));
	must(image_read_elf(image, &source.bytes));
	list_stubs(image, texts[3], sizeof(texts[3]));
	must(image_create("host", &image));
	must(image_read_host_elf(image, fd, &loads));
	list_stubs(image, texts[2], sizeof(texts[2]));
	close(fd);
	fputs(texts[0], stdout);
	if (!strcmp(texts[0], texts[1]) && !strcmp(texts[0], texts[2]) &&
	    !strcmp(texts[0], texts[3]))
		return 0;
	printf("with late names:\n%sas a file of dom0:\n%swithout sections:\n%s", texts[1],
	       texts[2], texts[3]);
	return 1;
}
