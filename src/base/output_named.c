/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks and opens files that are named while xtop runs; see output.h. Runs in the broker's child,
 * or in main if there is no broker. The path may come from a main that an attacker controls.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"

/* A component of PATH begins with a dot, and is neither "." nor "..". */
static bool output_is_hidden(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");

		if (path[0] == '.' && length > 1 + (size_t)(path[1] == '.'))
			return true;
		path += length + (path[length] == '/');
	}
	return false;
}

static bool output_has_ending(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; output_endings[i]; i++) {
		size_t ending = strlen(output_endings[i]);

		if (length > ending && strcmp(path + length - ending, output_endings[i]) == 0)
			return true;
	}
	return false;
}

/* The file at PATH is opened first and then checked: it cannot be exchanged in between. */
static struct xtop_error *output_replace_named(const char *path, int *fdp)
{
	const char *name;
	_cleanup_close_ int folder = output_folder_open(path, &name);
	_cleanup_close_ int fd =
		openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_create_errno(errno, "cannot write '%s'", path);
	if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || status.st_uid != geteuid())
		return error_create("cannot write '%s': it exists, and is not a file of your own "
				    "with this one name",
				    path);
	*fdp = fd;
	fd = -1;
	return NULL;
}

/*
 * Whether PATH may be replaced. This is checked before the open, because opening a device has
 * effects.
 */
static bool output_is_replaceable(const char *path)
{
	const char *name;
	_cleanup_close_ int folder = output_folder_open(path, &name);
	struct stat status;

	return folder >= 0 && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(status.st_mode);
}

static struct xtop_error *output_refuse_ending(const char *path)
{
	char endings[128] = "";
	size_t used = 0;

	for (size_t i = 0; output_endings[i]; i++)
		used += (size_t)snprintf(endings + used, sizeof(endings) - used, "%s%s",
					 i ? ", " : "", output_endings[i]);
	return error_create("cannot write '%s': the name must end in one of %s", path, endings);
}

struct xtop_error *output_open_named_fd(const char *path, bool replace, int *fdp, bool *existsp)
{
	struct xtop_error *error;

	*existsp = false;
	if (output_is_hidden(path))
		return error_create("cannot write '%s': no part of the path may begin with a dot",
				    path);
	if (!output_has_ending(path))
		return output_refuse_ending(path);
	if (replace && output_is_replaceable(path))
		return output_replace_named(path, fdp);
	error = output_create_fd(path, fdp);
	*existsp = error && output_is_replaceable(path);
	return error;
}

void output_remove_named(const char *path)
{
	const char *name;
	_cleanup_close_ int folder = output_folder_open(path, &name);
	struct stat status;

	if (!output_is_hidden(path) && folder >= 0 &&
	    fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
	    !status.st_size && status.st_nlink == 1 && status.st_uid == geteuid())
		unlinkat(folder, name, 0);
}
