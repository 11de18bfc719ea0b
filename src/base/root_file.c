/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files below --root DIR; see root_file.h. Any thread.
 *
 * The path comes from the guest, and so may the directory tree: its symbolic links may point
 * anywhere, and its names may be devices or FIFOs, whose opening has effects. So the path is walked
 * here, one component at a time, as chroot() to DIR would walk it. Each component is first opened
 * with O_PATH, which has no effects (open(2)). Only a regular file is then opened for reading.
 *
 *   .., at DIR itself      stays at DIR
 *   symbolic link          its target takes its place in the path; /target begins at DIR
 *
 * The folders on the way stay open, and ".." goes back to one of them: a folder that is moved away
 * meanwhile leads nobody out of DIR. openat2() with RESOLVE_IN_ROOT would do the walk at once, but
 * the sandbox forbids this call, because its filter does not see the flags in memory.
 */
#include "config.h"

#include "xtop/base/root_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_FILE_MAX_DEPTH 64 /* folders below DIR */
#define ROOT_FILE_MAX_LINKS 40 /* Linux has the same limit: MAXSYMLINKS */

struct root_walk {
	char path[PATH_MAX]; /* the part of the path that is left to walk */
	int folders[ROOT_FILE_MAX_DEPTH]; /* folders[0] is DIR, the caller's */
	unsigned depth;                   /* index in folders[] of the folder that is walked */
	unsigned n_links;
};

static void root_walk_leave(struct root_walk *walk, unsigned depth)
{
	while (walk->depth > depth)
		close(walk->folders[walk->depth--]);
}

/* Takes the next component off the path. False: there is none. */
static bool root_walk_next(struct root_walk *walk, char *name)
{
	const char *start = walk->path + strspn(walk->path, "/");
	size_t length = strcspn(start, "/");

	if (!length || length > NAME_MAX)
		return false;
	memcpy(name, start, length);
	name[length] = '\0';
	memmove(walk->path, start + length, strlen(start + length) + 1);
	return true;
}

/* Puts the target of the link LINK before what is left of the path. */
static bool root_walk_follow(struct root_walk *walk, int link)
{
	char target[PATH_MAX];
	size_t left = strlen(walk->path);
	ssize_t length = readlinkat(link, "", target, sizeof(target));

	if (length <= 0 || (size_t)length + left >= sizeof(walk->path) ||
	    ++walk->n_links > ROOT_FILE_MAX_LINKS)
		return false;
	memmove(walk->path + length, walk->path, left + 1);
	memcpy(walk->path, target, (size_t)length);
	if (target[0] == '/')
		root_walk_leave(walk, 0);
	return true;
}

/*
 * Opens for reading the file behind FD, an O_PATH descriptor, so that nobody can exchange the file
 * in between.
 */
static int root_walk_reopen(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/*
 * True: the walk goes on. False: it has ended, and *FILE may be open. Closes FD if it is not kept.
 */
static bool root_walk_enter(struct root_walk *walk, int fd, struct root_file *file)
{
	struct stat status;
	bool known = fstat(fd, &status) == 0, more = false;

	if (known && S_ISDIR(status.st_mode) && walk->depth + 1 < ROOT_FILE_MAX_DEPTH) {
		walk->folders[++walk->depth] = fd;
		return true;
	}
	if (known && S_ISLNK(status.st_mode))
		more = root_walk_follow(walk, fd);
	else if (known && S_ISREG(status.st_mode) && !walk->path[0])
		*file = (struct root_file){ .fd = root_walk_reopen(fd),
					    .size_bytes = (uint64_t)status.st_size };
	close(fd);
	return more;
}

static bool root_walk_step(struct root_walk *walk, const char *name, struct root_file *file)
{
	int fd;

	if (strcmp(name, ".") == 0)
		return true;
	if (strcmp(name, "..") == 0) {
		root_walk_leave(walk, walk->depth ? walk->depth - 1 : 0);
		return true;
	}
	fd = openat(walk->folders[walk->depth], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && root_walk_enter(walk, fd, file);
}

bool root_file_open(int root_fd, const char *path, struct root_file *file)
{
	struct root_walk walk = { .folders = { root_fd } };
	struct root_file found = { .fd = -1 };
	char name[NAME_MAX + 1];

	if (root_fd < 0 || strlen(path) >= sizeof(walk.path))
		return false;
	memcpy(walk.path, path, strlen(path) + 1);
	while (root_walk_next(&walk, name) && root_walk_step(&walk, name, &found))
		;
	root_walk_leave(&walk, 0);
	if (found.fd < 0)
		return false;
	*file = found;
	return true;
}

void root_file_close(struct root_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
