/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks to the folder of a file that is to be written; see output.h. Each component is
 * opened with O_PATH and O_NOFOLLOW, and its owner is asked of the open descriptor: so it cannot be
 * exchanged between the question and the step. openat2() has no flag that asks for owners, and
 * Linux before 5.6 does not have it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_folder.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"

#define OUTPUT_MAX_LINKS 40 /* Linux has the same limit: MAXSYMLINKS */

struct output_walk {
	char path[PATH_MAX]; /* what is left to walk */
	int folder;          /* the folder that was reached; -1: the walk has failed */
	unsigned n_links;
};

static void output_walk_enter(struct output_walk *walk, int folder)
{
	close(walk->folder);
	walk->folder = folder;
}

static void output_walk_fail(struct output_walk *walk, int errno_value)
{
	output_walk_enter(walk, -1);
	errno = errno_value;
}

static bool output_may_follow(uid_t owner)
{
	const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	char text[16];

	snprintf(text, sizeof(text), "%u", (unsigned)owner);
	return owner == 0 || owner == geteuid() || (sudo && strcmp(sudo, text) == 0);
}

/* Puts the target of LINK, which belongs to OWNER, before what is left of the path. */
static void output_walk_follow(struct output_walk *walk, int link, uid_t owner)
{
	char path[2 * PATH_MAX];
	ssize_t length;

	if (!output_may_follow(owner) || ++walk->n_links > OUTPUT_MAX_LINKS) {
		output_walk_fail(walk, ELOOP);
		return;
	}
	length = readlinkat(link, "", path, PATH_MAX);
	if (length <= 0 || (size_t)length + 1 + strlen(walk->path) >= PATH_MAX) {
		output_walk_fail(walk, length < 0 ? errno : ENAMETOOLONG);
		return;
	}
	snprintf(path + length, sizeof(path) - (size_t)length, "/%s", walk->path);
	memcpy(walk->path, path, strlen(path) + 1);
}

/*
 * Takes the first component off the path that is left, and goes there. An absolute path's first
 * component has the slash, and begins at the root.
 */
static void output_walk_step(struct output_walk *walk)
{
	size_t slashes = strspn(walk->path, "/");
	size_t length = slashes + strcspn(walk->path + slashes, "/");
	char name[PATH_MAX];
	struct stat status;
	int next;

	memcpy(name, walk->path, length);
	name[length] = '\0';
	length += strspn(walk->path + length, "/");
	memmove(walk->path, walk->path + length, strlen(walk->path + length) + 1);
	next = openat(walk->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next >= 0 && fstat(next, &status) == 0 && S_ISLNK(status.st_mode)) {
		output_walk_follow(walk, next, status.st_uid);
		close(next);
	} else {
		output_walk_enter(walk, next);
	}
}

int output_folder_open(const char *path, const char **namep)
{
	const char *begin = path[0] == '/' ? "/" : ".";
	struct output_walk walk = { .folder = open(begin, O_PATH | O_DIRECTORY | O_CLOEXEC) };
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);

	*namep = slash ? slash + 1 : path;
	if (!folder || strlen(folder) >= PATH_MAX) {
		output_walk_fail(&walk, folder ? ENAMETOOLONG : ENOMEM);
		return -1;
	}
	memcpy(walk.path, folder, strlen(folder) + 1);
	while (walk.folder >= 0 && walk.path[0])
		output_walk_step(&walk);
	return walk.folder;
}

/* --- files in it ------------------------------------------------------------------------------ */

struct xtop_error *output_cannot_write(int errno_value, const char *path)
{
	switch (errno_value) {
	case ENOENT:
		return error_create("cannot write '%s': its folder does not exist", path);
	case ELOOP:
		return error_create(
			"cannot write '%s': it is a symbolic link; name the file itself", path);
	case EEXIST:
		return error_create(
			"cannot write '%s': it exists; remove it or choose another name", path);
	default:
		return error_create_errno(errno_value, "cannot write '%s'", path);
	}
}

struct xtop_error *output_open_folder(const char *path, int *folderp, const char **namep)
{
	*folderp = output_folder_open(path, namep);
	if (*folderp >= 0)
		return **namep ? NULL : output_cannot_write(*path ? EISDIR : ENOENT, path);
	if (errno == ELOOP)
		return error_create(
			"cannot write '%s': on the way to it is a symbolic link of another "
			"user; name the folder that the link names",
			path);
	return output_cannot_write(errno, path);
}

struct xtop_error *output_create_at(int folder, const char *name, const char *path, int *fdp)
{
	int fd = openat(folder, name,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);

	if (fd < 0)
		return output_cannot_write(errno, path);
	*fdp = fd;
	return NULL;
}

struct output_id output_id(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return (struct output_id){ 0 };
	return (struct output_id){ status.st_dev, status.st_ino };
}

bool output_remove_at(int folder, const char *name, const struct output_id *made)
{
	struct stat status;

	return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       status.st_dev == made->device && status.st_ino == made->inode &&
	       S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1 &&
	       !status.st_size && unlinkat(folder, name, 0) == 0;
}
