/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of cached kernels; see cache_folder.h. In the broker. The modification time of a file
 * tells when the file was last opened or written.
 */
#include "config.h"

#include "xtop/base/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/xdg.h"

#define CACHE_PREFIX "kernel."

struct cache_usage {
	unsigned files;
	uint64_t bytes;
	char oldest[NAME_MAX + 1];
	struct timespec oldest_time;
};

static bool cache_is_ours(const struct stat *status)
{
	return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

int cache_folder_open(const char *path)
{
	_cleanup_close_ int folder = -1;
	struct stat status;
	int opened;

	if (!xdg_make_folder(path))
		return -1;
	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 || fstat(folder, &status) < 0 || !cache_is_ours(&status))
		return -1;
	opened = folder;
	folder = -1;
	return opened;
}

/* --- room ------------------------------------------------------------------------------------- */

static bool cache_is_older(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* Adds the file NAME to USAGE, unless it is KEPT or no cache file. */
static void cache_count(int folder, const char *name, const char *kept, struct cache_usage *usage)
{
	struct timespec used = { 0 };
	struct stat status;

	if (strncmp(name, CACHE_PREFIX, strlen(CACHE_PREFIX)) != 0 || strcmp(name, kept) == 0 ||
	    fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
		return;
	if (status.st_size) /* empty files, of guests that are not Linux, are removed first */
		used = status.st_mtim;
	if (!usage->files++ || cache_is_older(&used, &usage->oldest_time)) {
		snprintf(usage->oldest, sizeof(usage->oldest), "%s", name);
		usage->oldest_time = used;
	}
	usage->bytes += (uint64_t)status.st_size;
}

static bool cache_measure(int folder, const char *kept, struct cache_usage *usage)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	*usage = (struct cache_usage){ 0 };
	if (!stream) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	while ((entry = readdir(stream)))
		cache_count(folder, entry->d_name, kept, usage);
	closedir(stream);
	return true;
}

/* Removes old files until the limits leave room for KEPT at its largest size. */
static void cache_make_room(int folder, const char *kept)
{
	struct cache_usage usage;

	while (cache_measure(folder, kept, &usage) &&
	       (usage.files >= CACHE_FOLDER_MAX_FILES ||
		usage.bytes > CACHE_FOLDER_MAX_BYTES - CACHE_FOLDER_FILE_BYTES))
		if (unlinkat(folder, usage.oldest, 0) < 0)
			return;
}

/* --- one file --------------------------------------------------------------------------------- */

static bool cache_is_uuid(const char *uuid)
{
	size_t length = strlen(uuid);

	return length && length < 64 &&
	       strspn(uuid, "0123456789abcdefghijklmnopqrstuvwxyz-") == length;
}

int cache_folder_open_file(int folder, const char *uuid)
{
	_cleanup_close_ int fd = -1;
	struct stat status;
	char name[80];
	int opened;

	if (folder < 0 || !cache_is_uuid(uuid))
		return -1;
	snprintf(name, sizeof(name), CACHE_PREFIX "%s", uuid);
	cache_make_room(folder, name);
	fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    !cache_is_ours(&status) || status.st_nlink != 1)
		return -1;
	futimens(fd, NULL);
	opened = fd;
	fd = -1;
	return opened;
}
