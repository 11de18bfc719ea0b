/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions and build-id of an ELF file of dom0, one given by -k. Runs before sampling starts, on
 * main's thread. The format is elf_file.c's and elf_symbols.c's; here are the bytes and the limits.
 * The file is read, not mapped: a file that shrinks meanwhile is a read error then, not a SIGBUS.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/elf_frames.h"
#include "xtop/cleanup.h"

static const struct elf_limits elf_own_limits = {
	.symbols = SYMTAB_MAX_SYMBOLS,
	.names_bytes = SYMTAB_MAX_NAMES_BYTES,
	.sections = ELF_MAX_SECTIONS,
};

static size_t elf_pread(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t got = pread(*(const int *)context, (char *)buffer + done, size_bytes - done,
				    offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += got;
	}
	return done;
}

struct bytes elf_bytes_of(const int *fd, uint64_t size_bytes)
{
	return (struct bytes){ elf_pread, (void *)fd, size_bytes };
}

struct xtop_error *symbol_read_elf(int fd, const char *path, struct symtab *tab,
				   struct build_id *build_id, bool *unread)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	struct bytes bytes;
	struct xtop_error *error;
	struct stat status;
	size_t n_added;

	if (fstat(fd, &status) < 0)
		return error_create_errno(errno, "%s: cannot read it as ELF", path);
	bytes = elf_bytes_of(&fd, status.st_size);
	error = elf_file_init(&file, &bytes, path, &elf_own_limits);
	if (!error)
		error = elf_read_symbols(&file, tab, &n_added);
	if (error)
		return error;
	if (file.incomplete)
		return elf_damaged(&file, "it could not be read to its end");
	if (!n_added)
		return error_create(
			"%s: no functions in it, it is stripped: give the unstripped file, or the "
			"text of nm or System.map",
			path);
	elf_find_build_id(&file, build_id);
	*unread = elf_frames_are_foreign(&file);
	return NULL;
}
