/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder of files with a bound for their total size; see folder.h. A file is written under
 * another name and renamed when it is whole, so that nobody meets half a file.
 */
#include "config.h"

#include "push/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"
#include "xtop/base/vector.h"

#define FOLDER_PART_ENDING ".part"

struct folder_file {
	char *name;
	uint64_t bytes;
};

struct folder {
	int fd;
	const char *prefix, *ending;
	uint64_t max_bytes;
	struct folder_file *files; /* elements first to n - 1 are used, oldest first */
	size_t first, n, capacity;
	uint64_t bytes, removed;
};

/* --- the list --------------------------------------------------------------------------------- */

size_t folder_count(const struct folder *folder)
{
	return folder->n - folder->first;
}

uint64_t folder_bytes(const struct folder *folder)
{
	return folder->bytes;
}

uint64_t folder_removed(const struct folder *folder)
{
	return folder->removed;
}

const char *folder_first(const struct folder *folder)
{
	return folder_count(folder) ? folder->files[folder->first].name : NULL;
}

const char *folder_last(const struct folder *folder)
{
	return folder_count(folder) ? folder->files[folder->n - 1].name : NULL;
}

/* Adds a file to the list. Closes the gap at the front before the array grows. */
static bool folder_list(struct folder *folder, const char *name, uint64_t bytes)
{
	if (folder->first && folder->n == folder->capacity) {
		folder->n -= folder->first;
		memmove(folder->files, folder->files + folder->first,
			folder->n * sizeof(*folder->files));
		folder->first = 0;
	}
	if (!vector_reserve(folder->files, folder->capacity, folder->n + 1))
		return false;
	folder->files[folder->n].name = strdup(name);
	folder->files[folder->n].bytes = bytes;
	if (!folder->files[folder->n].name)
		return false;
	folder->n++;
	folder->bytes += bytes;
	return true;
}

void folder_remove_first(struct folder *folder)
{
	struct folder_file *file = &folder->files[folder->first];

	if (!folder_count(folder))
		return;
	unlinkat(folder->fd, file->name, 0);
	folder->bytes -= file->bytes;
	free(file->name);
	folder->first++;
}

static void folder_make_room(struct folder *folder, uint64_t bytes)
{
	while (folder_count(folder) && (folder->bytes + bytes > folder->max_bytes ||
					folder_count(folder) >= FOLDER_MAX_FILES)) {
		folder_remove_first(folder);
		folder->removed++;
	}
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool folder_ends_in(const char *name, const char *ending)
{
	size_t n = strlen(name), n_ending = strlen(ending);

	return n > n_ending && strcmp(name + n - n_ending, ending) == 0;
}

/* Lists NAME if it is a file of ours. Removes a file that an earlier run left half-written. */
static bool folder_meet(struct folder *folder, const char *name)
{
	struct stat status;

	if (strncmp(name, folder->prefix, strlen(folder->prefix)) != 0 ||
	    strlen(name) >= FOLDER_NAME_BYTES ||
	    fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
		return true;
	if (folder_ends_in(name, FOLDER_PART_ENDING))
		unlinkat(folder->fd, name, 0);
	if (!folder_ends_in(name, folder->ending))
		return true;
	return folder_list(folder, name, (uint64_t)status.st_size);
}

static int folder_compare(const void *a, const void *b)
{
	return strcmp(((const struct folder_file *)a)->name, ((const struct folder_file *)b)->name);
}

static struct xtop_error *folder_scan(struct folder *folder)
{
	int copy = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	bool ok = stream;

	if (!stream) {
		struct xtop_error *error = error_create_errno(errno, "cannot read the folder");

		if (copy >= 0)
			close(copy);
		return error;
	}
	while (ok && (entry = readdir(stream)))
		ok = folder_meet(folder, entry->d_name);
	closedir(stream);
	if (!ok)
		return error_create("no memory for the names of a folder");
	if (folder->n)
		qsort(folder->files, folder->n, sizeof(*folder->files), folder_compare);
	folder_make_room(folder, 0);
	return NULL;
}

struct xtop_error *folder_open(int fd, const char *prefix, const char *ending, uint64_t max_bytes,
			       struct folder **folderp)
{
	struct folder *folder = calloc(1, sizeof(*folder));
	struct xtop_error *error;

	if (!folder) {
		close(fd);
		return error_create("out of memory");
	}
	folder->fd = fd;
	folder->prefix = prefix;
	folder->ending = ending;
	folder->max_bytes = max_bytes;
	error = folder_scan(folder);
	if (error) {
		folder_close(folder);
		return error;
	}
	*folderp = folder;
	return NULL;
}

void folder_close(struct folder *folder)
{
	if (!folder)
		return;
	for (size_t i = folder->first; i < folder->n; i++)
		free(folder->files[i].name);
	free(folder->files);
	close(folder->fd);
	free(folder);
}

/* --- files ------------------------------------------------------------------------------------ */

static bool folder_write(int fd, const struct folder_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!output_write(fd, parts[i].bytes, parts[i].size_bytes))
			return false;
	return true;
}

/* Writes a file, and gives it NAME. Returns -1 and sets errno like open(2) and rename(2). */
static int folder_create(const struct folder *folder, const char *name,
			 const struct folder_part *parts, size_t n)
{
	char part[FOLDER_NAME_BYTES + sizeof(FOLDER_PART_ENDING)];
	int fd, result;

	snprintf(part, sizeof(part), "%s" FOLDER_PART_ENDING, name);
	fd = openat(folder->fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	result = folder_write(fd, parts, n) ? 0 : -1;
	if (close(fd) < 0)
		result = -1;
	if (result == 0)
		result = renameat(folder->fd, part, folder->fd, name);
	if (result < 0) {
		int errno_value = errno;

		unlinkat(folder->fd, part, 0);
		errno = errno_value;
	}
	return result;
}

bool folder_has(const struct folder *folder, const char *name)
{
	return faccessat(folder->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

struct xtop_error *folder_add(struct folder *folder, const char *name,
			      const struct folder_part *parts, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += parts[i].size_bytes;
	if (strlen(name) >= FOLDER_NAME_BYTES || bytes > folder->max_bytes)
		return error_create("a profile of %llu bytes is larger than what may be kept",
				    (unsigned long long)bytes);
	if (folder_has(folder, name))
		return error_create("'%s' exists: does another xtop write there?", name);
	folder_make_room(folder, bytes);
	if (folder_create(folder, name, parts, n) < 0)
		return error_create_errno(errno, "cannot write '%s'", name);
	if (folder_list(folder, name, bytes))
		return NULL;
	unlinkat(folder->fd, name, 0);
	return error_create("no memory for the names of a folder");
}

void *folder_read_first(const struct folder *folder, size_t max_bytes, size_t *size_bytesp)
{
	const char *name = folder_first(folder);
	_cleanup_close_ int fd =
		name ? openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct stat status;
	void *bytes;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
	    (uint64_t)status.st_size > max_bytes)
		return NULL;
	bytes = malloc((size_t)status.st_size);
	if (bytes && pread(fd, bytes, (size_t)status.st_size, 0) == status.st_size) {
		*size_bytesp = (size_t)status.st_size;
		return bytes;
	}
	free(bytes);
	return NULL;
}
